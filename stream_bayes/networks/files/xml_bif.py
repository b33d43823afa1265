"""Reading and writing Bayesian networks in XMLBIF 0.3.

    <BIF VERSION="0.3"><NETWORK><NAME>asia</NAME>
    <VARIABLE TYPE="nature"><NAME>smoke</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
    <DEFINITION><FOR>lung</FOR><GIVEN>smoke</GIVEN><TABLE>0.1 0.9 0.01 0.99</TABLE></DEFINITION>
    </NETWORK></BIF>

A table has a row for each combination of the labels of the given variables, the last of which changes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stream_bayes.core.inference.influence_diagram import InfluenceDiagram
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.dot import spelled
from stream_bayes.core.values.values import Value, shown
from stream_bayes.networks.files.bif import variable_properties
from stream_bayes.networks.files.bif_types import type_names
from stream_bayes.networks.files.diagram_draft import DiagramDraft, nodes_of
from stream_bayes.networks.files.xml_elements import XmlElement, parse_xml, xml_content

__all__ = ["draft_of_xml_bif", "xml_bif_diagram_text", "xml_bif_text"]


def draft_of_xml_bif(data: bytes, source: str) -> DiagramDraft:
    """Return the nodes of a file in XMLBIF. Raise `BadFormat` for anything else."""
    root = parse_xml(data, source)
    parts = DiagramDraft(source)
    networks = root.named("NETWORK") if root.tag == "BIF" else []
    if len(networks) != 1:
        parts.fail(root.line, f"expected <BIF> with one <NETWORK>, got <{root.tag}> with {len(networks)}")
    utilities: dict[str, int] = {}
    definitions: list[XmlElement] = []
    for element in networks[0].elements:
        if element.tag == "NAME":
            parts.name = element.text or parts.name
        elif element.tag == "PROPERTY":
            parts.properties += [element.text] if element.text else []
        elif element.tag == "VARIABLE":
            name, kind = _one(parts, element, "NAME").text, element.attributes.get("TYPE", "nature")
            labels = [each.text for each in (*element.named("OUTCOME"), *element.named("VALUE"))]
            properties = [each.text for each in element.named("PROPERTY") if each.text]
            if kind in ("nature", "discrete"):
                parts.add_variable(name, labels, element.line, properties)
            elif kind == "decision":
                parts.add_decision(name, labels, element.line, properties)
            elif kind == "utility":
                utilities[name] = element.line
            else:
                parts.fail(
                    element.line, f"expected the type 'nature', 'decision' or 'utility', got {shown(kind)}"
                )
        elif element.tag in ("DEFINITION", "PROBABILITY"):
            definitions.append(element)
        else:
            parts.fail(
                element.line, f"expected NAME, PROPERTY, VARIABLE or DEFINITION, got {shown(element.tag)}"
            )
    for element in definitions:
        _read_definition(parts, element, utilities)
    if absent := [name for name in utilities if name not in parts.worths]:
        parts.fail(utilities[absent[0]], f"the utility {shown(absent[0])} has no definition")
    return parts


def _read_definition(parts: DiagramDraft, element: XmlElement, utilities: Mapping[str, int]) -> None:
    name = _one(parts, element, "FOR").text
    parents = [each.text for each in element.named("GIVEN")]
    if name in parts.knowing:
        parts.knowing[name] = parents
        return
    table = _one(parts, element, "TABLE")
    numbers = [parts.number(text, table.line) for text in table.text.split()]
    if name in utilities:
        parts.add_utility(name, parents, numbers, utilities[name])
    else:
        parts.add_table(name, parents, numbers, element.line)


def _one(parts: DiagramDraft, element: XmlElement, tag: str) -> XmlElement:
    elements = element.named(tag)
    if len(elements) != 1:
        parts.fail(element.line, f"expected one <{tag}> in <{element.tag}>, got {len(elements)}")
    return elements[0]


def xml_bif_text(network: DiscreteNetwork) -> str:
    """Return a network as a text in XMLBIF, which reads back to the last bit.

    Names and labels that are no strings are written as their `repr`, with a property that records their types.
    """
    variables = network.structure.variables
    name = dict(zip(variables, _texts(variables), strict=True))
    lines = _head(network)
    for v, name_type in zip(variables, type_names(variables), strict=True):
        lines += _variable("nature", name[v], *_labels(network, v, name_type))
    for v in variables:
        numbers = network.tables[v].ravel().tolist()
        parents = [name[p] for p in network.structure.parents(v)]
        lines += _definition(name[v], parents, numbers, len(network.states[v]))
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def xml_bif_diagram_text(diagram: InfluenceDiagram) -> str:
    """Return an influence diagram as a text in XMLBIF, which reads back to the last bit."""
    network, every = diagram.network, [*nodes_of(diagram)]
    texts = _texts([node.name for node in every])
    name = {node.name: text for node, text in zip(every, texts, strict=True) if node.kind != "utility"}
    types = dict(zip(name, type_names([*name]), strict=True))
    lines, definitions = _head(network), []
    for node, text in zip(every, texts, strict=True):
        if node.kind == "utility":
            lines += _variable("utility", text, ["0"], [])
        else:
            kind = "decision" if node.kind == "decision" else "nature"
            lines += _variable(kind, text, *_labels(network, node.name, types[node.name]))
        width = len(network.states[node.name]) if node.kind == "chance" else 1
        definitions += _definition(text, [name[p] for p in node.parents], node.numbers, width)
    return "\n".join([*lines, *definitions, "</NETWORK>", "</BIF>", ""])


def _texts(names: Sequence[Value]) -> list[str]:
    return [xml_content(text, "XMLBIF") for text in spelled(names)]


def _head(network: DiscreteNetwork) -> list[str]:
    return [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<BIF VERSION="0.3">',
        "<NETWORK>",
        f"<NAME>{xml_content(network.name, 'XMLBIF')}</NAME>",
        *(f"<PROPERTY>{xml_content(text, 'XMLBIF')}</PROPERTY>" for text in network.properties),
    ]


def _labels(network: DiscreteNetwork, v: Value, name_type: str) -> tuple[list[str], list[str]]:
    """Return the labels of a variable and its properties as they are written."""
    properties = variable_properties(network, v, name_type)
    return _texts(network.states[v]), [xml_content(text, "XMLBIF") for text in properties]


def _variable(kind: str, name: str, labels: Sequence[str], properties: Sequence[str]) -> list[str]:
    return [
        f'<VARIABLE TYPE="{kind}">',
        f"  <NAME>{name}</NAME>",
        *(f"  <OUTCOME>{label}</OUTCOME>" for label in labels),
        *(f"  <PROPERTY>{text}</PROPERTY>" for text in properties),
        "</VARIABLE>",
    ]


def _definition(name: str, parents: Sequence[str], numbers: Sequence[float], width: int) -> list[str]:
    """Return a definition with a table of rows of some width; without numbers, as of a decision, it has no table."""
    rows = "\n".join(
        " ".join(map(repr, numbers[start : start + width])) for start in range(0, len(numbers), width)
    )
    return [
        "<DEFINITION>",
        f"  <FOR>{name}</FOR>",
        *(f"  <GIVEN>{parent}</GIVEN>" for parent in parents),
        *([f"  <TABLE>{rows}</TABLE>"] if rows else []),
        "</DEFINITION>",
    ]
