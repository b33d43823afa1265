"""Networks in files of the formats that are read and written, chosen by the ending of the name.

    .bif                    the Interchange Format
    .xml .bifxml .xmlbif    the same as XML: WEKA, pyAgrum, AISpace
    .xdsl                   GeNIe and SMILE
    .net                    Hugin

Each may be compressed, with `.gz` after it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from stream_bayes.core.inference.influence_diagram import InfluenceDiagram
from stream_bayes.core.networks.discrete_network import FILE_TOLERANCE, DiscreteNetwork
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue
from stream_bayes.networks.files.bif import SupportsToNetwork, bif_text, parse_bif
from stream_bayes.networks.files.diagram_draft import DiagramDraft
from stream_bayes.networks.files.hugin_net import draft_of_net, net_diagram_text, net_text
from stream_bayes.networks.files.network_bytes import as_text, read_bytes, write_bytes
from stream_bayes.networks.files.xdsl import draft_of_xdsl, xdsl_diagram_text, xdsl_text
from stream_bayes.networks.files.xml_bif import draft_of_xml_bif, xml_bif_diagram_text, xml_bif_text

__all__ = ["ENDINGS", "read_diagram", "read_network", "write_diagram", "write_network"]


class NetworkFormat(NamedTuple):
    """A reader of a file's bytes, by its name and a tolerance, and a writer of texts; those of diagrams, if any."""

    parse: Callable[[bytes, str, float], DiscreteNetwork]
    text: Callable[[DiscreteNetwork], str]
    draft: Callable[[bytes, str], DiagramDraft] | None = None
    diagram_text: Callable[[InfluenceDiagram], str] | None = None


def _parse_bif(data: bytes, source: str, tolerance: float) -> DiscreteNetwork:
    return parse_bif(as_text(data, source), source=source, tolerance=tolerance)


def _draft_of_net(data: bytes, source: str) -> DiagramDraft:
    return draft_of_net(as_text(data, source), source)


def _with_diagrams(
    draft: Callable[[bytes, str], DiagramDraft],
    text: Callable[[DiscreteNetwork], str],
    diagram_text: Callable[[InfluenceDiagram], str],
) -> NetworkFormat:
    return NetworkFormat(
        lambda data, source, tolerance: draft(data, source).network(tolerance), text, draft, diagram_text
    )


_XML_BIF = _with_diagrams(draft_of_xml_bif, xml_bif_text, xml_bif_diagram_text)
ENDINGS = {
    ".bif": NetworkFormat(_parse_bif, bif_text),
    ".xml": _XML_BIF,
    ".bifxml": _XML_BIF,
    ".xmlbif": _XML_BIF,
    ".xdsl": _with_diagrams(draft_of_xdsl, xdsl_text, xdsl_diagram_text),
    ".net": _with_diagrams(_draft_of_net, net_text, net_diagram_text),
}


NOT_READ = {
    ".dne": "Netica",
    ".neta": "Netica",
    ".dsl": "GeNIe 1",
    ".dsc": "Microsoft's MSBN",
    ".xbl": "BayesiaLab",
    ".o3prm": "pyAgrum",
    ".uai": "the UAI competitions",
}  # formats by ending, of which the error names the tool


def read_network(path: str | os.PathLike[str], *, tolerance: float = FILE_TOLERANCE) -> DiscreteNetwork:
    """Read a network from a file in BIF, XMLBIF, XDSL (GeNIe) or NET (Hugin), by the ending of its name.

    Parameters
    ----------
    path
        The file: `.bif`, `.xml`, `.bifxml`, `.xmlbif`, `.xdsl` or `.net`, with or without `.gz` after it.
    tolerance
        The largest difference of a row's sum from 1: other tools round. Rows are kept as they are, and divided by
        their sums in answers.

    Raises
    ------
    BadFormat
        If the file is not a network of discrete variables, is cut off, or has entities of its own. The message begins
        with the file and the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> text = 'net {} node coin { states = ("heads" "tails"); } potential (coin) { data = (0.5 0.5); }'
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory) / "coin.net"
    ...     _ = path.write_text(text)
    ...     read_network(path).states["coin"]
    ('heads', 'tails')
    """
    chosen = _format_of(os.fspath(path))
    return chosen.parse(read_bytes(path), os.fspath(path), tolerance)


def write_network(network: DiscreteNetwork | SupportsToNetwork, path: str | os.PathLike[str]) -> None:
    """Write a network, or that of a `BayesNet`, in BIF, XMLBIF, XDSL or NET, by the ending of the file's name.

    BIF and XMLBIF keep everything. XDSL and NET hold no properties, and their labels are texts: others are written as
    their `repr`. The numbers are the same to the last bit in each.

    Raises
    ------
    BadValue
        If the ending is none of these.
    BadFormat
        If the format cannot hold a name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from stream_bayes.core.networks.structure import Structure
    >>> coin = DiscreteNetwork(Structure({"coin": []}), {"coin": ["heads", "tails"]}, {"coin": [0.5, 0.5]})
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory) / "coin.xdsl"
    ...     write_network(coin, path)
    ...     read_network(path) == coin
    True
    """
    chosen = _format_of(os.fspath(path))
    if not isinstance(network, DiscreteNetwork):
        if not hasattr(network, "to_network"):
            raise BadValue(
                f"network: expected a DiscreteNetwork, or a BayesNet that has learned one, got {shown(network)}"
            )
        network = network.to_network()
    write_bytes(path, chosen.text(network).encode("utf-8"))


def read_diagram(path: str | os.PathLike[str], *, tolerance: float = FILE_TOLERANCE) -> InfluenceDiagram:
    """Read an influence diagram from a file: a network with decisions and utilities.

    The parents of a decision are what is known when it is made. Paths between decisions give their order.

    Parameters
    ----------
    path
        The file: `.xdsl` (GeNIe), `.net` (Hugin), or `.xml`, `.bifxml` or `.xmlbif` (pyAgrum), with or without `.gz`
        after it.
    tolerance
        The largest difference of a row's sum from 1: other tools round. Rows are kept as they are, and divided by
        their sums in answers.

    Raises
    ------
    BadFormat
        If the file is no influence diagram of discrete variables whose utilities add up, is cut off, has entities of
        its own, or if the order of its decisions is open. The message begins with the file and the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> text = '''
    ... <smile id="walk"><nodes>
    ...   <cpt id="rain"><state id="yes"/><state id="no"/><probabilities>0.3 0.7</probabilities></cpt>
    ...   <decision id="umbrella"><state id="take"/><state id="leave"/></decision>
    ...   <utility id="comfort"><parents>rain umbrella</parents><utilities>70 0 20 100</utilities></utility>
    ... </nodes></smile>'''
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory) / "walk.xdsl"
    ...     _ = path.write_text(text)
    ...     walk = read_diagram(path)
    >>> round(walk.expected_utility(), 1), round(walk.value_of("rain"), 1)
    (70.0, 21.0)
    """
    chosen = _format_of(os.fspath(path), of_diagrams=True)
    assert chosen.draft is not None
    return chosen.draft(read_bytes(path), os.fspath(path)).diagram(tolerance)


def write_diagram(diagram: InfluenceDiagram, path: str | os.PathLike[str]) -> None:
    """Write an influence diagram in XDSL (GeNIe), NET (Hugin) or XMLBIF (pyAgrum), by the ending of the file's name.

    XMLBIF keeps the types of labels; in the others, labels that are no texts are written as their `repr`.

    Raises
    ------
    BadValue
        If the ending is none of these.
    BadFormat
        If a name is no identifier.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from stream_bayes.core.networks.structure import Structure
    >>> from stream_bayes.networks import Decision, Utility
    >>> rain = DiscreteNetwork(Structure({"rain": []}), {"rain": ["yes", "no"]}, {"rain": [0.3, 0.7]})
    >>> comfort = {("yes", "take"): 70, ("yes", "leave"): 0, ("no", "take"): 20, ("no", "leave"): 100}
    >>> walk = InfluenceDiagram(
    ...     rain,
    ...     decisions={"umbrella": Decision(options=["take", "leave"])},
    ...     utilities={"comfort": Utility(["rain", "umbrella"], comfort)},
    ... )
    >>> with TemporaryDirectory() as directory:
    ...     write_diagram(walk, Path(directory) / "walk.xdsl")
    ...     read_diagram(Path(directory) / "walk.xdsl").expected_utilities()
    {'leave': 70.0, 'take': 35.0}
    """
    chosen = _format_of(os.fspath(path), of_diagrams=True)
    if not isinstance(diagram, InfluenceDiagram):
        raise BadValue(
            f"diagram: expected an InfluenceDiagram, got {shown(diagram)}; write_network writes networks"
        )
    assert chosen.diagram_text is not None
    write_bytes(path, chosen.diagram_text(diagram).encode("utf-8"))


def _format_of(name: str, *, of_diagrams: bool = False) -> NetworkFormat:
    plain = name.casefold().removesuffix(".gz")
    able = {ending: each for ending, each in ENDINGS.items() if each.draft is not None or not of_diagrams}
    for ending, chosen in able.items():
        if plain.endswith(ending):
            return chosen
    what = "path: influence diagrams: expected" if of_diagrams else "path: expected"
    ending = Path(plain).suffix
    why = (
        f"; files of {NOT_READ[ending]} are not read: save it as one of these there, or in GeNIe"
        if ending in NOT_READ
        else ""
    )
    raise BadValue(
        f"{what} a name that ends in {', '.join(able)}, or one of these and .gz; got {name!r}{why}"
    )
