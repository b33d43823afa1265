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
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise, product

from stream_bayes.core.inference.influence_diagram import Decision, InfluenceDiagram, Utility
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.dot import spelled
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadFormat, BadStructure, BadValue
from stream_bayes.networks.files.network_draft import NetworkDraft
from stream_bayes.networks.files.xml_elements import XmlElement, parse_xml, xml_attribute

__all__ = ["diagram_text", "identifiers", "parse_diagram", "parse_xdsl", "xdsl_text"]

COLUMNS = 6
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def parse_xdsl(data: bytes, source: str, tolerance: float) -> DiscreteNetwork:
    """Return the network of a file in XDSL. Raise `BadFormat` for anything else, such as nodes that decide."""
    parts, further = _read_nodes(data, source)
    for node in further:
        parts.fail(
            node.line,
            f"the node {shown(_id(node))} is a <{node.tag}>: read_diagram reads influence diagrams",
        )
    return parts.network(tolerance)


def parse_diagram(data: bytes, source: str, tolerance: float) -> InfluenceDiagram:
    """Return the influence diagram of a file in XDSL. Raise `BadFormat` for anything else."""
    parts, further = _read_nodes(data, source)
    choices = [node for node in further if node.tag == "decision"]
    worths = [node for node in further if node.tag == "utility"]
    if not choices or not worths:
        parts.fail(1, "expected decisions and utilities; read_network reads a network of chance alone")
    for node in choices:
        labels = _labels(node)
        parts.add_variable(_id(node), labels, node.line)
        parts.add_table(_id(node), [], [1.0 / len(labels)] * len(labels), node.line)
    network = parts.network(tolerance)
    utilities: dict[str, Utility] = {}
    for node in worths:
        if _id(node) in parts.states or _id(node) in utilities:
            parts.fail(node.line, f"the node {shown(_id(node))} is defined twice")
        utilities[_id(node)] = _utility(parts, node)
    order = _ordered(parts, choices)
    names = [_id(node) for node in order]
    decisions = {_id(node): Decision([p for p in _parents(node) if p not in names]) for node in order}
    try:
        return InfluenceDiagram(network, decisions, utilities)
    except BadValue as error:
        raise BadFormat(f"{source}: {error}") from None


def _read_nodes(data: bytes, source: str) -> tuple[NetworkDraft, list[XmlElement]]:
    """Read the nodes of chance, and return those of decisions and utilities besides."""
    root = parse_xml(data, source)
    parts = NetworkDraft(source)
    nodes = root.named("nodes") if root.tag == "smile" else []
    if len(nodes) != 1:
        parts.fail(root.line, f"expected <smile> with one <nodes>, got <{root.tag}> with {len(nodes)}")
    parts.name = root.attributes.get("id") or parts.name
    further = []
    for node in nodes[0].elements:
        if node.tag in ("decision", "utility"):
            further.append(node)
            continue
        if node.tag not in ("cpt", "deterministic"):
            parts.fail(
                node.line,
                f"the node {shown(_id(node))} is a <{node.tag}>; expected <cpt> or <deterministic>, the discrete "
                "nodes of chance, <decision> or <utility>. In GeNIe, change its type, or leave it out",
            )
        labels = _labels(node)
        parts.add_variable(_id(node), labels, node.line)
        parts.add_table(_id(node), _parents(node), _numbers(parts, node, labels), node.line)
    return parts, further


def _id(node: XmlElement) -> str:
    return node.attributes.get("id", "")


def _labels(node: XmlElement) -> list[str]:
    return [state.attributes.get("id", "") for state in node.named("state")]


def _parents(node: XmlElement) -> list[str]:
    return [parent for each in node.named("parents") for parent in each.text.split()]


def _utility(parts: NetworkDraft, node: XmlElement) -> Utility:
    name, parents = shown(_id(node)), _parents(node)
    for parent in parents:
        if parent not in parts.states:
            parts.fail(
                node.line,
                f"the utility {name} has the parent {shown(parent)}, which is no variable of the file",
            )
    if not parents or len(set(parents)) < len(parents):
        parts.fail(node.line, f"the utility {name} needs a parent, and each once, got {shown(parents)}")
    texts = [text for each in node.named("utilities") for text in each.text.split()]
    states = [parts.states[parent] for parent in parents]
    expected = math.prod(map(len, states))
    if len(texts) != expected:
        parts.fail(
            node.line, f"expected {expected:,} utilities of {name} given {shown(parents)}, got {len(texts):,}"
        )
    numbers = [parts.number(text, node.line) for text in texts]
    return Utility(parents, dict(zip(product(*states), numbers, strict=True)))


def _ordered(parts: NetworkDraft, choices: Sequence[XmlElement]) -> list[XmlElement]:
    """Return decisions in the order of the paths between them."""
    node_of = {_id(node): node for node in choices}
    parents = {**parts.parents, **{name: _parents(node) for name, node in node_of.items()}}
    for name, node in node_of.items():
        if absent := [parent for parent in parents[name] if parent not in parts.states]:
            parts.fail(
                node.line,
                f"the decision {shown(name)} has the parent {shown(absent[0])}, which is no variable of the file",
            )
    try:
        whole = Structure(parents)
    except BadStructure as error:
        raise BadFormat(f"{parts.source}: {error}") from None
    order = [str(name) for name in whole.topological_order if name in node_of]
    for first, second in pairwise(order):
        if second not in whole.descendants(first):
            parts.fail(
                node_of[second].line,
                f"no path says which of the decisions {shown(first)} and {shown(second)} comes first; add an arc "
                "between them",
            )
    return [node_of[name] for name in order]


def _numbers(parts: NetworkDraft, node: XmlElement, labels: list[str]) -> list[float]:
    tag = "probabilities" if node.tag == "cpt" else "resultingstates"
    texts = [text for each in node.named(tag) for text in each.text.split()]
    if node.tag == "cpt":
        return [parts.number(text, node.line) for text in texts]
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


def diagram_text(diagram: InfluenceDiagram) -> str:
    """Return an influence diagram as a text in XDSL. Each decision is a parent of the next, which knows of it."""
    network, decisions, utilities = diagram.network, diagram.decisions, diagram.utilities
    variables = network.structure.variables
    texts = identifiers([*variables, *utilities], "XDSL")
    name, worths = dict(zip(variables, texts, strict=False)), texts[len(variables) :]
    before = dict(zip([*decisions][1:], decisions, strict=False))
    above = {d: [*each.knowing, *([before[d]] if d in before else [])] for d, each in decisions.items()}
    order = Structure({v: above.get(v, network.structure.parents(v)) for v in variables}).topological_order
    nodes = [
        _node("decision", name[v], _states(network, v), [name[p] for p in above[v]])
        if v in decisions
        else _chance_node(network, v, name)
        for v in order
    ]
    for text, (utility, worth) in zip(worths, utilities.items(), strict=True):
        every = product(*(network.states[v] for v in worth.of))
        numbers = " ".join(repr(diagram.worth_of(utility, labels)) for labels in every)
        inner = f"\t\t\t<utilities>{numbers}</utilities>"
        nodes.append(_node("utility", text, [], [name[v] for v in worth.of], inner))
    return _whole_text(network.name, nodes, [*(name[v] for v in order), *worths])


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
