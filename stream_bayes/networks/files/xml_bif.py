"""Reading and writing Bayesian networks in XMLBIF 0.3.

    <BIF VERSION="0.3"><NETWORK><NAME>asia</NAME>
    <VARIABLE TYPE="nature"><NAME>smoke</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
    <DEFINITION><FOR>lung</FOR><GIVEN>smoke</GIVEN><TABLE>0.1 0.9 0.01 0.99</TABLE></DEFINITION>
    </NETWORK></BIF>

A table has a row for each combination of the labels of the given variables, the last of which changes first.
"""

from __future__ import annotations

from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.dot import spelled
from stream_bayes.core.values.values import shown
from stream_bayes.networks.files.bif import variable_properties
from stream_bayes.networks.files.bif_types import type_names
from stream_bayes.networks.files.network_draft import NetworkDraft
from stream_bayes.networks.files.xml_elements import XmlElement, parse_xml, xml_content

__all__ = ["parse_xml_bif", "xml_bif_text"]


def parse_xml_bif(data: bytes, source: str, tolerance: float) -> DiscreteNetwork:
    """Return the network of a file in XMLBIF. Raise `BadFormat` for anything else."""
    root = parse_xml(data, source)
    parts = NetworkDraft(source)
    networks = root.named("NETWORK") if root.tag == "BIF" else []
    if len(networks) != 1:
        parts.fail(root.line, f"expected <BIF> with one <NETWORK>, got <{root.tag}> with {len(networks)}")
    for element in networks[0].elements:
        if element.tag == "NAME":
            parts.name = element.text or parts.name
        elif element.tag == "PROPERTY":
            parts.properties += [element.text] if element.text else []
        elif element.tag == "VARIABLE":
            kind = element.attributes.get("TYPE", "nature")
            if kind not in ("nature", "discrete"):
                parts.fail(element.line, f"expected variables of the type 'nature', got {shown(kind)}")
            labels = [each.text for each in (*element.named("OUTCOME"), *element.named("VALUE"))]
            properties = [each.text for each in element.named("PROPERTY") if each.text]
            parts.add_variable(_one(parts, element, "NAME").text, labels, element.line, properties)
        elif element.tag in ("DEFINITION", "PROBABILITY"):
            table = _one(parts, element, "TABLE")
            numbers = [parts.number(text, table.line) for text in table.text.split()]
            given = [each.text for each in element.named("GIVEN")]
            parts.add_table(_one(parts, element, "FOR").text, given, numbers, element.line)
        else:
            parts.fail(
                element.line, f"expected NAME, PROPERTY, VARIABLE or DEFINITION, got {shown(element.tag)}"
            )
    return parts.network(tolerance)


def _one(parts: NetworkDraft, element: XmlElement, tag: str) -> XmlElement:
    elements = element.named(tag)
    if len(elements) != 1:
        parts.fail(element.line, f"expected one <{tag}> in <{element.tag}>, got {len(elements)}")
    return elements[0]


def xml_bif_text(network: DiscreteNetwork) -> str:
    """Return a network as a text in XMLBIF, which reads back to the last bit.

    Names and labels that are no strings are written as their `repr`, with a property that records their types.
    """
    variables = network.structure.variables
    name = {v: xml_content(text, "XMLBIF") for v, text in zip(variables, spelled(variables), strict=True)}
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<BIF VERSION="0.3">', "<NETWORK>"]
    lines += [f"<NAME>{xml_content(network.name, 'XMLBIF')}</NAME>"]
    lines += [f"<PROPERTY>{xml_content(text, 'XMLBIF')}</PROPERTY>" for text in network.properties]
    for v, name_type in zip(variables, type_names(variables), strict=True):
        labels = [xml_content(label, "XMLBIF") for label in spelled(network.states[v])]
        properties = [xml_content(text, "XMLBIF") for text in variable_properties(network, v, name_type)]
        lines += ['<VARIABLE TYPE="nature">', f"  <NAME>{name[v]}</NAME>"]
        lines += [f"  <OUTCOME>{label}</OUTCOME>" for label in labels]
        lines += [f"  <PROPERTY>{text}</PROPERTY>" for text in properties]
        lines += ["</VARIABLE>"]
    for v in variables:
        lines += ["<DEFINITION>", f"  <FOR>{name[v]}</FOR>"]
        lines += [f"  <GIVEN>{name[p]}</GIVEN>" for p in network.structure.parents(v)]
        table = network.tables[v].reshape(-1, network.tables[v].shape[-1]).tolist()
        rows = "\n".join(" ".join(map(repr, row)) for row in table)
        lines += [f"  <TABLE>{rows}</TABLE>", "</DEFINITION>"]
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])
