"""Reading and writing Bayesian networks in XDSL, the format of GeNIe and SMILE.

    <smile version="1.0" id="asia"><nodes>
      <cpt id="smoke"><state id="yes" /><state id="no" /><probabilities>0.5 0.5</probabilities></cpt>
      <cpt id="lung"><state id="yes" /><state id="no" /><parents>smoke</parents>
        <probabilities>0.1 0.9 0.01 0.99</probabilities></cpt>
    </nodes></smile>

Probabilities have a row for each combination of the parents' states, the last of which changes first. A node that
follows from its parents (`deterministic`) is read as a table of zeros and ones. Layout and comments are not read.

An influence diagram has nodes for decisions and utilities, too:

      <decision id="treat"><state id="yes" /><state id="no" /><parents>test</parents></decision>
      <utility id="price"><parents>treat</parents><utilities>-20 0</utilities></utility>

The parents of a decision are what is known when it is made; a path from one decision to another says which comes first.
A `mau` with weights is the weighted sum of its parents, utilities that count in it alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from stream_bayes.core.inference.influence_diagram import InfluenceDiagram
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.dot import spelled
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadFormat
from stream_bayes.networks.files.diagram_draft import DiagramDraft, nodes_of
from stream_bayes.networks.files.network_draft import NetworkDraft
from stream_bayes.networks.files.xml_elements import XmlElement, parse_xml, xml_attribute

__all__ = ["draft_of_xdsl", "identifiers", "xdsl_diagram_text", "xdsl_text"]

COLUMNS = 6
_TAGS = {
    "chance": ("cpt", "probabilities"),
    "decision": ("decision", ""),
    "utility": ("utility", "utilities"),
}
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def draft_of_xdsl(data: bytes, source: str) -> DiagramDraft:
    """Return the nodes of a file in XDSL. Raise `BadFormat` for anything else."""
    root = parse_xml(data, source)
    parts = DiagramDraft(source)
    nodes = root.named("nodes") if root.tag == "smile" else []
    if len(nodes) != 1:
        parts.fail(root.line, f"expected <smile> with one <nodes>, got <{root.tag}> with {len(nodes)}")
    parts.name = root.attributes.get("id") or parts.name
    for node in nodes[0].elements:
        name, labels = _id(node), _labels(node)
        if node.tag in ("cpt", "deterministic"):
            parts.add_variable(name, labels, node.line)
            parts.add_table(name, _parents(node), _numbers(parts, node, labels), node.line)
        elif node.tag == "decision":
            parts.add_decision(name, labels, node.line)
            parts.knowing[name] = _parents(node)
        elif node.tag == "utility":
            parts.add_utility(name, _parents(node), _floats(parts, node, "utilities"), node.line)
        elif node.tag == "mau" and not node.named("expression"):
            parts.add_sum(name, _parents(node), _floats(parts, node, "weights"), node.line)
        else:
            parts.fail(
                node.line,
                f"the node {shown(name)} is a <{node.tag}>; expected <cpt> or <deterministic>, the discrete "
                "nodes of chance, <decision>, <utility>, or a <mau> of weights. In GeNIe, change its type, or leave it "
                "out",
            )
    return parts


def _id(node: XmlElement) -> str:
    return node.attributes.get("id", "")


def _labels(node: XmlElement) -> list[str]:
    return [state.attributes.get("id", "") for state in node.named("state")]


def _parents(node: XmlElement) -> list[str]:
    return [parent for each in node.named("parents") for parent in each.text.split()]


def _floats(parts: NetworkDraft, node: XmlElement, tag: str) -> list[float]:
    return [parts.number(text, node.line) for each in node.named(tag) for text in each.text.split()]


def _numbers(parts: NetworkDraft, node: XmlElement, labels: list[str]) -> list[float]:
    if node.tag == "cpt":
        return _floats(parts, node, "probabilities")
    texts = [text for each in node.named("resultingstates") for text in each.text.split()]
    numbers = []
    for text in texts:
        if text not in labels:
            parts.fail(node.line, f"expected states among {shown(labels)}, got {shown(text)}")
        numbers += [float(label == text) for label in labels]
    return numbers


def identifiers(names: Sequence[Value], form: str) -> list[str]:
    """Return names of variables as texts. Raise `BadFormat` unless all are identifiers, as the format needs them."""
    texts = spelled(names)
    for text in texts:
        if not _IDENTIFIER.fullmatch(text):
            raise BadFormat(
                f"{form} cannot hold the name {shown(text)}: expected ASCII letters, digits and underscores, and no "
                "digit first; rename it, or write BIF or XMLBIF"
            )
    return texts


def xdsl_text(network: DiscreteNetwork) -> str:
    """Return a network as a text in XDSL, parents first as SMILE needs them."""
    structure = network.structure
    name = dict(zip(structure.variables, identifiers(structure.variables, "XDSL"), strict=True))
    nodes = [_chance_node(network, v, name) for v in structure.topological_order]
    return _whole_text(network.name, nodes, [name[v] for v in structure.topological_order])


def xdsl_diagram_text(diagram: InfluenceDiagram) -> str:
    """Return an influence diagram as a text in XDSL, parents first."""
    every = [*nodes_of(diagram)]
    texts = identifiers([node.name for node in every], "XDSL")
    name = {node.name: text for node, text in zip(every, texts, strict=True) if node.kind != "utility"}
    nodes = []
    for node, text in zip(every, texts, strict=True):
        tag, inner = _TAGS[node.kind]
        numbers = " ".join(map(repr, node.numbers))
        states = [] if node.kind == "utility" else _states(diagram.network, node.name)
        written = [f"\t\t\t<{inner}>{numbers}</{inner}>"] if inner else []
        nodes.append(_node(tag, text, states, [name[p] for p in node.parents], *written))
    return _whole_text(diagram.network.name, nodes, texts)


def _states(network: DiscreteNetwork, v: Value) -> list[str]:
    return [f"\t\t\t<state id={xml_attribute(label, 'XDSL')} />" for label in spelled(network.states[v])]


def _chance_node(network: DiscreteNetwork, v: Value, name: Mapping[Value, str]) -> list[str]:
    numbers = " ".join(map(repr, network.tables[v].ravel().tolist()))
    parents = [name[p] for p in network.structure.parents(v)]
    inner = f"\t\t\t<probabilities>{numbers}</probabilities>"
    return _node("cpt", name[v], _states(network, v), parents, inner)


def _node(tag: str, name: str, states: Sequence[str], parents: Sequence[str], *inner: str) -> list[str]:
    above = [f"\t\t\t<parents>{' '.join(parents)}</parents>"] if parents else []
    return [f'\t\t<{tag} id="{name}">', *states, *above, *inner, f"\t\t</{tag}>"]


def _whole_text(title: str, nodes: Sequence[Sequence[str]], names: Sequence[str]) -> str:
    whole = title if _IDENTIFIER.fullmatch(title) else "unknown"
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines += [f'<smile version="1.0" id="{whole}" numsamples="10000" discsamples="10000">', "\t<nodes>"]
    lines += [line for node in nodes for line in node]
    lines += ["\t</nodes>", "\t<extensions>", f'\t\t<genie version="1.0" app="stream-bayes" name="{whole}">']
    for k, name in enumerate(names):  # GeNIe and pyAgrum need a layout: a grid
        left, top = 120 * (k % COLUMNS), 80 * (k // COLUMNS)
        lines += [f'\t\t\t<node id="{name}">', f"\t\t\t\t<name>{name}</name>"]
        lines += [
            '\t\t\t\t<interior color="e5f6f7" />',
            '\t\t\t\t<outline color="000080" />',
            '\t\t\t\t<font color="000000" name="Arial" size="8" />',
            f"\t\t\t\t<position>{left} {top} {left + 100} {top + 50}</position>",
            "\t\t\t</node>",
        ]
    return "\n".join([*lines, "\t\t</genie>", "\t</extensions>", "</smile>", ""])
