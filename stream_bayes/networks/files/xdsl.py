"""Reading and writing Bayesian networks in XDSL, the format of GeNIe and SMILE.

    <smile version="1.0" id="asia"><nodes>
      <cpt id="smoke"><state id="yes" /><state id="no" /><probabilities>0.5 0.5</probabilities></cpt>
      <cpt id="lung"><state id="yes" /><state id="no" /><parents>smoke</parents>
        <probabilities>0.1 0.9 0.01 0.99</probabilities></cpt>
    </nodes></smile>

Probabilities have a row for each combination of the parents' states, the last of which changes first. A node that
follows from its parents (`deterministic`) is read as a table of zeros and ones. Layout and comments are not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.dot import spelled
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadFormat
from stream_bayes.networks.files.network_draft import NetworkDraft
from stream_bayes.networks.files.xml_elements import XmlElement, parse_xml, xml_attribute

__all__ = ["identifiers", "parse_xdsl", "xdsl_text"]

COLUMNS = 6
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def parse_xdsl(data: bytes, source: str, tolerance: float) -> DiscreteNetwork:
    """Return the network of a file in XDSL. Raise `BadFormat` for anything else, such as nodes that decide."""
    root = parse_xml(data, source)
    parts = NetworkDraft(source)
    nodes = root.named("nodes") if root.tag == "smile" else []
    if len(nodes) != 1:
        parts.fail(root.line, f"expected <smile> with one <nodes>, got <{root.tag}> with {len(nodes)}")
    parts.name = root.attributes.get("id") or parts.name
    for node in nodes[0].elements:
        if node.tag not in ("cpt", "deterministic"):
            parts.fail(
                node.line,
                f"the node {shown(node.attributes.get('id', ''))} is a <{node.tag}>; expected <cpt> or "
                "<deterministic>, the discrete nodes of chance. In GeNIe, change its type, or leave it out",
            )
        name = node.attributes.get("id", "")
        labels = [state.attributes.get("id", "") for state in node.named("state")]
        parts.add_variable(name, labels, node.line)
        given = [parent for each in node.named("parents") for parent in each.text.split()]
        parts.add_table(name, given, _numbers(parts, node, labels), node.line)
    return parts.network(tolerance)


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
    whole = network.name if _IDENTIFIER.fullmatch(network.name) else "unknown"
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines += [f'<smile version="1.0" id="{whole}" numsamples="10000" discsamples="10000">', "\t<nodes>"]
    for v in structure.topological_order:
        lines += [f'\t\t<cpt id="{name[v]}">']
        labels = [xml_attribute(label, "XDSL") for label in spelled(network.states[v])]
        lines += [f"\t\t\t<state id={label} />" for label in labels]
        if structure.parents(v):
            lines += [f"\t\t\t<parents>{' '.join(name[p] for p in structure.parents(v))}</parents>"]
        numbers = " ".join(map(repr, network.tables[v].ravel().tolist()))
        lines += [f"\t\t\t<probabilities>{numbers}</probabilities>", "\t\t</cpt>"]
    lines += ["\t</nodes>", "\t<extensions>", f'\t\t<genie version="1.0" app="stream-bayes" name="{whole}">']
    for k, v in enumerate(structure.topological_order):  # GeNIe and pyAgrum need a layout: a grid
        left, top = 120 * (k % COLUMNS), 80 * (k // COLUMNS)
        lines += [f'\t\t\t<node id="{name[v]}">', f"\t\t\t\t<name>{name[v]}</name>"]
        lines += [
            '\t\t\t\t<interior color="e5f6f7" />',
            '\t\t\t\t<outline color="000080" />',
            '\t\t\t\t<font color="000000" name="Arial" size="8" />',
            f"\t\t\t\t<position>{left} {top} {left + 100} {top + 50}</position>",
            "\t\t\t</node>",
        ]
    return "\n".join([*lines, "\t\t</genie>", "\t</extensions>", "</smile>", ""])
