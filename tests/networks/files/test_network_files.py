"""XMLBIF, XDSL and NET: what is written reads back to the last bit, and files that are no networks are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.errors import BadFormat, BadValue
from stream_bayes.networks.bayes_net import BayesNet
from stream_bayes.networks.files import network_bytes, xml_elements
from stream_bayes.networks.files.network_files import read_diagram, read_network, write_network

ROWS = np.random.default_rng(5).dirichlet(np.ones(3), (2, 4))
NETWORK = DiscreteNetwork(
    Structure({"b": [], "a": [], "c": ["b", "a"]}),
    {"a": ["x", "<y> & 'z'", "é", "%"], "b": ["yes", "no"], "c": ["low", "mid", "high"]},
    {"a": [0.1, 0.2, 0.3, 0.4], "b": [1 / 3, 2 / 3], "c": ROWS},
    name="three",
)
XML = '<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>{}</NETWORK></BIF>'
COIN = "<VARIABLE><NAME>coin</NAME><OUTCOME>h</OUTCOME><OUTCOME>t</OUTCOME></VARIABLE>"
TABLE = "<DEFINITION><FOR>coin</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>"
NET = 'net {{}} node coin {{ states = ("h" "t"); }} {}'
XDSL = '<smile id="n"><nodes>{}</nodes></smile>'
CPT = '<cpt id="coin"><state id="h"/><state id="t"/><probabilities>0.5 0.5</probabilities></cpt>'


@pytest.mark.parametrize("ending", [".bif", ".xml", ".bifxml.gz", ".xdsl", ".net", ".net.gz"])
def test_a_network_reads_back_to_the_last_bit_with_its_parents_in_their_order(
    ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"three{ending}"
    write_network(NETWORK, path)
    again = read_network(path)
    assert again == NETWORK
    assert again.structure.parents("c") == ("b", "a")


def test_labels_that_are_no_strings_keep_their_types_in_xmlbif_and_are_texts_in_the_others(
    tmp_path: Path,
) -> None:
    model = BayesNet({"rain": [], 7: ["rain"]})
    model.learn_many([{"rain": True, 7: 1}, {"rain": False, 7: 2}])
    write_network(model, tmp_path / "m.xml")
    assert read_network(tmp_path / "m.xml") == model.to_network()
    write_network(model.do({"rain": True}), tmp_path / "m.bif")
    rain = DiscreteNetwork(Structure({"rain": []}), {"rain": [True, False]}, {"rain": [0.5, 0.5]})
    for ending in ("xdsl", "net"):
        write_network(rain, tmp_path / f"rain.{ending}")
        assert read_network(tmp_path / f"rain.{ending}").states["rain"] == ("True", "False")
        with pytest.raises(BadFormat, match="cannot hold the name '7'"):
            write_network(model, tmp_path / f"m.{ending}")


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("n.xml", f'<!DOCTYPE BIF [<!ENTITY a "b">]>{XML}', "declares the entity 'a'"),
        ("n.xml", '<!DOCTYPE BIF SYSTEM "other.dtd"><BIF>&a;</BIF>', "1:"),
        ("n.xml", XML.format(COIN), "variable 'coin' has no probabilities"),
        ("n.xml", XML.format(COIN + TABLE + TABLE), "given twice"),
        (
            "n.xml",
            XML.format(COIN + TABLE.replace("0.5 0.5", "0.5 0.25 0.25")),
            "expected 2 probabilities of 'coin'",
        ),
        ("n.xml", XML.format(COIN + TABLE.replace("0.5 0.5", "0.5 0.6")), "sum to 1.1"),
        ("n.xml", XML.format(COIN + TABLE.replace("0.5 0.5", "1_0 nan")), "expected a number, got '1_0'"),
        (
            "n.xml",
            XML.format(COIN.replace("<VARIABLE>", '<VARIABLE TYPE="utility">')),
            "the utility 'coin' has no definition",
        ),
        ("n.xml", "<a>" * 100 + "</a>" * 100, "at most 64 deep"),
        ("n.xdsl", "<a>" * 100 + "</a>" * 100, "at most 64 deep"),
        (
            "n.xdsl",
            '<!DOCTYPE a [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><smile>&c;</smile>',
            "declares the entity 'a'",
        ),
        ("n.xml", "<html></html>", "expected <BIF> with one <NETWORK>"),
        ("n.xdsl", XDSL.format(CPT.replace("cpt", "decision")), "is a decision: read_diagram"),
        ("n.xdsl", XDSL.format(CPT + CPT), "n.xdsl:1: 'coin' is defined twice"),
        (
            "n.xdsl",
            XDSL.format(CPT.replace("<probabilities>", "<parents>sky</parents><probabilities>")),
            "the parent 'sky', which is no variable",
        ),
        ("n.net", NET.format("utility u {}"), "the utility 'u' has no potential"),
        ("n.net", NET.format("continuous node u {}"), "'continuous' is not read"),
        ("n.net", NET.format("potential (coin) { model_data = (a); }"), "has a formula"),
        ("n.net", NET.format("potential (coin) { data = (0.5 0.5; }"), "expected a value or '\\)'"),
        ("n.net", NET.format("potential (coin) { data = " + "(" * 1000), "at most 100 deep"),
        ("n.net", 'net {} node coin { states = ("h', "quote has no end"),
    ],
)
def test_what_is_no_network_is_refused_with_its_reason(
    name: str, text: str, fault: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(BadFormat, match=fault) as refused:
        read_network(path)
    assert str(refused.value).startswith(str(path))


@pytest.mark.parametrize(
    ("name", "tool"),
    [("n.dne", "Netica"), ("N.DSL", "GeNIe 1"), ("n.xbl.gz", "BayesiaLab"), ("n.json", None)],
)
def test_a_format_of_another_tool_is_refused_by_name(name: str, tool: str | None, tmp_path: Path) -> None:
    for refused in (read_network, read_diagram, lambda path: write_network(NETWORK, path)):
        with pytest.raises(BadValue, match=r"\.xdsl") as error:
            refused(tmp_path / name)
        assert (f"files of {tool} are not read" in str(error.value)) == (tool is not None)


def test_endings_in_capitals_are_those_formats(tmp_path: Path) -> None:
    write_network(NETWORK, tmp_path / "N.XDSL")
    write_network(NETWORK, tmp_path / "N.BIF.GZ")
    assert (tmp_path / "N.XDSL").read_text().startswith("<?xml")
    assert read_network(tmp_path / "N.XDSL") == read_network(tmp_path / "N.BIF.GZ") == NETWORK


@pytest.mark.parametrize("ending", ["xml", "xdsl", "net"])
def test_a_file_that_is_cut_off_anywhere_is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"n.{ending}"
    write_network(NETWORK, path)
    data = path.read_bytes()
    end = len(data.rstrip())
    for size in range(0, end, 1 + end // 150):
        path.write_bytes(data[:size])
        with pytest.raises(BadFormat):
            read_network(path)


def test_a_node_that_follows_from_its_parents_is_a_table_and_a_huge_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "n.xdsl"
    path.write_text(
        XDSL.format(
            CPT + '<deterministic id="not"><state id="h"/><state id="t"/><parents>coin</parents>'
            "<resultingstates>t h</resultingstates></deterministic>"
        )
    )
    assert read_network(path).tables["not"].tolist() == [[0.0, 1.0], [1.0, 0.0]]
    monkeypatch.setattr(xml_elements, "MOST_PARTS", 20)
    with pytest.raises(BadFormat, match="at most 20 elements, attributes and texts"):
        read_network(path)
    monkeypatch.setattr(network_bytes, "MOST_BYTES", 100)
    with pytest.raises(BadFormat, match="at most 100 bytes"):
        read_network(path)
    with pytest.raises(BadValue, match=r"expected a name that ends in \.bif"):
        write_network(NETWORK, tmp_path / "n.txt")
