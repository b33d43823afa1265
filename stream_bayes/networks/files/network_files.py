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
from typing import NamedTuple

from stream_bayes.core.inference.influence_diagram import InfluenceDiagram
from stream_bayes.core.networks.discrete_network import TOLERANCE, DiscreteNetwork
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue
from stream_bayes.networks.files.bif import SupportsToNetwork, bif_text, parse_bif
from stream_bayes.networks.files.hugin_net import net_text, parse_net
from stream_bayes.networks.files.network_bytes import as_text, read_bytes, write_bytes
from stream_bayes.networks.files.xdsl import diagram_text, parse_diagram, parse_xdsl, xdsl_text
from stream_bayes.networks.files.xml_bif import parse_xml_bif, xml_bif_text

__all__ = ["ENDINGS", "read_diagram", "read_network", "write_diagram", "write_network"]


class NetworkFormat(NamedTuple):
    """A reader of a file's bytes, by its name and a tolerance, and a writer of texts."""

    parse: Callable[[bytes, str, float], DiscreteNetwork]
    text: Callable[[DiscreteNetwork], str]


def _parse_bif(data: bytes, source: str, tolerance: float) -> DiscreteNetwork:
    return parse_bif(as_text(data, source), source=source, tolerance=tolerance)


def _parse_net(data: bytes, source: str, tolerance: float) -> DiscreteNetwork:
    return parse_net(as_text(data, source), source, tolerance)


_XML_BIF = NetworkFormat(parse_xml_bif, xml_bif_text)
ENDINGS = {
    ".bif": NetworkFormat(_parse_bif, bif_text),
    ".xml": _XML_BIF,
    ".bifxml": _XML_BIF,
    ".xmlbif": _XML_BIF,
    ".xdsl": NetworkFormat(parse_xdsl, xdsl_text),
    ".net": NetworkFormat(_parse_net, net_text),
}


def read_network(path: str | os.PathLike[str], *, tolerance: float = TOLERANCE) -> DiscreteNetwork:
    """Read a network from a file in BIF, XMLBIF, XDSL (GeNIe) or NET (Hugin), by the ending of its name.

    Parameters
    ----------
    path
        The file: `.bif`, `.xml`, `.bifxml`, `.xmlbif`, `.xdsl` or `.net`, with or without `.gz` after it.
    tolerance
        The largest difference of a row's sum from 1. Rows are kept as they are.

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


def read_diagram(path: str | os.PathLike[str], *, tolerance: float = TOLERANCE) -> InfluenceDiagram:
    """Read an influence diagram from a file in XDSL (GeNIe): a network with decisions and utilities.

    The parents of a decision are what is known when it is made. Paths between decisions give their order.

    Parameters
    ----------
    path
        The file: `.xdsl`, with or without `.gz` after it.
    tolerance
        The largest difference of a row's sum from 1. Rows are kept as they are.

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
    _check_diagram(os.fspath(path))
    return parse_diagram(read_bytes(path), os.fspath(path), tolerance)


def write_diagram(diagram: InfluenceDiagram, path: str | os.PathLike[str]) -> None:
    """Write an influence diagram in XDSL (GeNIe). Labels that are no texts are written as their `repr`.

    Raises
    ------
    BadValue
        If the name does not end in `.xdsl` or `.xdsl.gz`.
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
    _check_diagram(os.fspath(path))
    if not isinstance(diagram, InfluenceDiagram):
        raise BadValue(
            f"diagram: expected an InfluenceDiagram, got {shown(diagram)}; write_network writes networks"
        )
    write_bytes(path, diagram_text(diagram).encode("utf-8"))


def _check_diagram(name: str) -> None:
    if not name.removesuffix(".gz").endswith(".xdsl"):
        raise BadValue(f"path: influence diagrams are files of GeNIe, .xdsl or .xdsl.gz; got {name!r}")


def _format_of(name: str) -> NetworkFormat:
    plain = name.removesuffix(".gz")
    for ending, chosen in ENDINGS.items():
        if plain.endswith(ending):
            return chosen
    raise BadValue(
        f"path: expected a name that ends in {', '.join(ENDINGS)}, or one of these and .gz; got {name!r}"
    )
