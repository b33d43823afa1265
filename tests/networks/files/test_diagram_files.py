"""Influence diagrams in XDSL, NET and XMLBIF read back, and what does not fit is refused by name."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.errors import BadFormat, BadValue
from stream_bayes.networks import (
    Decision,
    InfluenceDiagram,
    Utility,
    read_diagram,
    read_network,
    write_diagram,
)

OIL = """<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="oil"><nodes>
  <cpt id="oil"><state id="dry"/><state id="wet"/><state id="soaking"/><probabilities>0.5 0.3 0.2</probabilities></cpt>
  <decision id="test"><state id="yes"/><state id="no"/></decision>
  <cpt id="result"><state id="closed"/><state id="open"/><state id="diffuse"/><parents>oil test</parents>
    <probabilities>0.1 0.3 0.6 0 0 1 0.3 0.4 0.3 0 0 1 0.5 0.4 0.1 0 0 1</probabilities></cpt>
  <decision id="drill"><state id="yes"/><state id="no"/><parents>test result</parents></decision>
  <utility id="gain"><parents>oil drill</parents><utilities>-70 0 50 0 200 0</utilities></utility>
  <utility id="price"><parents>test</parents><utilities>-10 0</utilities></utility>
</nodes></smile>
"""


def test_the_oil_wildcatter_of_the_textbooks_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "oil.xdsl"
    path.write_text(OIL)
    oil = read_diagram(path)
    assert oil.expected_utility() == pytest.approx(22.5)
    assert [row["test"] for row in oil.policy("test")] == ["yes"]
    best = {(row["test"], row["result"]): row["drill"] for row in oil.policy("drill")}
    assert best["yes", "closed"] == best["yes", "open"] == "yes" and best["yes", "diffuse"] == "no"
    write_diagram(oil, tmp_path / "again.xdsl.gz")
    again = read_diagram(tmp_path / "again.xdsl.gz")
    assert again.network == oil.network and again.policy("drill") == oil.policy("drill")
    assert [*again.decisions] == ["test", "drill"] and [*again.utilities] == ["gain", "price"]
    every = [*product(("dry", "wet", "soaking"), ("yes", "no"))]
    assert [again.worth_of("gain", each) for each in every] == [-70, 0, 50, 0, 200, 0]


def test_decisions_without_a_path_are_chained_when_written_and_refused_when_read(tmp_path: Path) -> None:
    coin = DiscreteNetwork(Structure({"coin": []}), {"coin": [True, False]}, {"coin": [0.25, 0.75]})
    diagram = InfluenceDiagram(
        coin,
        {
            "look": Decision(options=["yes", "no"]),
            "bet": Decision(knowing=["coin"], options=["heads", "tails"]),
        },
        {
            "win": Utility(
                ["coin", "bet"],
                dict(zip(product((True, False), ("heads", "tails")), (3, 0, 0, 1), strict=True)),
            )
        },
    )
    path = tmp_path / "bet.xdsl"
    write_diagram(diagram, path)
    again = read_diagram(path)
    assert [*again.decisions] == ["look", "bet"] and again.network.states["coin"] == ("True", "False")
    assert again.expected_utility() == diagram.expected_utility() == 1.5
    path.write_text(path.read_text().replace("<parents>coin look</parents>", "<parents>coin</parents>"))
    with pytest.raises(
        BadFormat, match=r"bet.xdsl:\d+: no path says which of the decisions 'bet' and 'look'"
    ):
        read_diagram(path)


@pytest.mark.parametrize(
    ("was", "now", "fault"),
    [
        ("<utilities>-10 0<", "<utilities>-10<", "expected 2 utilities of 'price' given \\['test'\\], got 1"),
        ("<utilities>-10 0<", "<utilities>-10 inf<", "finite number|expected a number"),
        ("<utilities>-10 0<", "<utilities>-10 1e999<", "finite number"),
        ("<parents>oil drill<", "<parents>oil dril<", "'gain' has the parent 'dril', which is no variable"),
        ("<parents>oil drill<", "<parents>oil oil<", "'gain' has a parent twice"),
        (
            "<parents>test result<",
            "<parents>test reslt<",
            "'drill' has the parent 'reslt', which is no variable",
        ),
        ('<utility id="price"', '<utility id="oil"', "'oil' is defined twice"),
        ('<decision id="drill"', '<decision id="test"', "'test' is defined twice"),
        (
            '<utility id="price"',
            '<mau id="price"',
            "expected 1 weights of 'price', one for each parent, got 0",
        ),
        ('<utility id="price"', '<maux id="price"', "'price' is a <maux>"),
        ('id="drill"><state id="yes"/><state id="no"/>', 'id="drill">', "'drill' has no labels"),
        ('<decision id="test">', '<decision id="test"><parents>result</parents>', "cycle"),
        ("<nodes>", "<nodes", "no XML, or cut off"),
        ("<smile", '<!DOCTYPE smile [<!ENTITY a "b">]><smile', "declares the entity 'a'"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(was: str, now: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "oil.xdsl"
    tag = now.split(" ")[0].removeprefix("<") if "<mau" in now else "utility"
    text = OIL.replace(was, now).replace("</utility>\n</nodes", f"</{tag}>\n</nodes")
    assert text != OIL
    path.write_text(text)
    with pytest.raises(BadFormat, match=fault) as error:
        read_diagram(path)
    assert "oil.xdsl" in str(error.value)


def test_every_file_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "oil.xdsl"
    for end in range(0, len(OIL) - 12, 37):
        path.write_text(OIL[:end])
        with pytest.raises(BadFormat):
            read_diagram(path)


def test_networks_and_diagrams_name_each_other(tmp_path: Path) -> None:
    path = tmp_path / "oil.xdsl"
    path.write_text(OIL)
    with pytest.raises(
        BadFormat, match="the node 'test' is a decision: read_diagram reads influence diagrams"
    ):
        read_network(path)
    path.write_text(
        '<smile id="n"><nodes><cpt id="a"><state id="x"/><probabilities>1</probabilities></cpt></nodes></smile>'
    )
    with pytest.raises(BadFormat, match="read_network reads a network of chance alone"):
        read_diagram(path)
    with pytest.raises(BadValue, match="influence diagrams: expected a name that ends in"):
        read_diagram(tmp_path / "oil.bif")
    with pytest.raises(BadValue, match="write_network writes networks"):
        write_diagram(read_network(path), tmp_path / "n.xdsl")  # type: ignore[arg-type]  # the wrong kind


OIL_NET = """net {}
decision test { states = ("yes" "no"); }
utility price {}
node oil { states = ("dry" "wet" "soaking"); }
node result { states = ("closed" "open" "diffuse"); }
decision drill { states = ("yes" "no"); }
utility gain {}
potential (gain | oil drill) { data = ((-70 0) (50 0) (200 0)); }
potential (price | test) { data = (-10 0); }
potential (oil) { data = (0.5 0.3 0.2); }
potential (result | oil test) {
  data = (((0.1 0.3 0.6) (0 0 1)) ((0.3 0.4 0.3) (0 0 1)) ((0.5 0.4 0.1) (0 0 1)));
}
potential (drill | test result) {}
"""
OIL_XML = """<BIF VERSION="0.3"><NETWORK><NAME>oil</NAME>
<VARIABLE TYPE="decision"><NAME>test</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<VARIABLE TYPE="utility"><NAME>price</NAME><OUTCOME>0</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>oil</NAME><OUTCOME>dry</OUTCOME><OUTCOME>wet</OUTCOME><OUTCOME>soaking</OUTCOME>
</VARIABLE>
<VARIABLE TYPE="nature"><NAME>result</NAME><OUTCOME>closed</OUTCOME><OUTCOME>open</OUTCOME><OUTCOME>diffuse</OUTCOME>
</VARIABLE>
<VARIABLE TYPE="decision"><NAME>drill</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
<VARIABLE TYPE="utility"><NAME>gain</NAME><OUTCOME>0</OUTCOME></VARIABLE>
<DEFINITION><FOR>drill</FOR><GIVEN>test</GIVEN><GIVEN>result</GIVEN></DEFINITION>
<DEFINITION><FOR>oil</FOR><TABLE>0.5 0.3 0.2</TABLE></DEFINITION>
<DEFINITION><FOR>result</FOR><GIVEN>oil</GIVEN><GIVEN>test</GIVEN>
<TABLE>0.1 0.3 0.6 0 0 1 0.3 0.4 0.3 0 0 1 0.5 0.4 0.1 0 0 1</TABLE></DEFINITION>
<DEFINITION><FOR>price</FOR><GIVEN>test</GIVEN><TABLE>-10 0</TABLE></DEFINITION>
<DEFINITION><FOR>gain</FOR><GIVEN>oil</GIVEN><GIVEN>drill</GIVEN><TABLE>-70 0 50 0 200 0</TABLE></DEFINITION>
</NETWORK></BIF>
"""


@pytest.mark.parametrize(("ending", "text"), [("net", OIL_NET), ("xml", OIL_XML), ("bifxml", OIL_XML)])
def test_diagrams_of_hugin_and_pyagrum_are_that_of_genie(ending: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "oil.xdsl").write_text(OIL)
    path = tmp_path / f"oil.{ending}"
    path.write_text(text)
    oil, genie = read_diagram(path), read_diagram(tmp_path / "oil.xdsl")
    assert oil.expected_utility() == pytest.approx(22.5) and [*oil.decisions] == ["test", "drill"]
    for end in ("net", "xml", "xdsl"):
        write_diagram(oil, tmp_path / f"again.{end}")
        again = read_diagram(tmp_path / f"again.{end}")
        assert again.network == oil.network and again.policy("drill") == oil.policy("drill")
        assert again.expected_utilities() == oil.expected_utilities() == genie.expected_utilities()
    with pytest.raises(BadFormat, match="is a decision: read_diagram"):
        read_network(path)


def test_xmlbif_keeps_options_that_are_no_texts(tmp_path: Path) -> None:
    coin = DiscreteNetwork(Structure({1: []}), {1: [True, False]}, {1: [0.25, 0.75]})
    win = Utility([1, "bet"], dict(zip(product((True, False), (1, 2)), (3.0, 0.1, 0.0, 1.0), strict=True)))
    diagram = InfluenceDiagram(coin, {"bet": Decision([1], [1, 2])}, {"win": win})
    write_diagram(diagram, tmp_path / "bet.xml")
    again = read_diagram(tmp_path / "bet.xml")
    assert again.policy("bet") == diagram.policy("bet") and again.utilities == {"win": win}


def test_utilities_of_a_weighted_sum_count_by_their_weights(tmp_path: Path) -> None:
    path = tmp_path / "oil.xdsl"
    weighed = '<mau id="half"><parents>gain</parents><weights>0.5</weights></mau>'
    whole = '<mau id="whole"><parents>half price</parents><weights>2 3</weights></mau>'
    constant = '<utility id="base"><utilities>7</utilities></utility>'
    path.write_text(OIL.replace("</nodes>", f"{whole}{weighed}{constant}</nodes>"))
    oil = read_diagram(path)
    assert oil.worth_of("gain", ("soaking", "yes")) == 200 and oil.worth_of("price", ("yes",)) == -30
    assert oil.expected_utilities()["no"] == pytest.approx(7 + 20)  # drilling blindly
    write_diagram(oil, tmp_path / "again.net")
    assert read_diagram(tmp_path / "again.net").expected_utilities() == oil.expected_utilities()
    for wrong, fault in (
        ("<parents>whole<", "cycle"),
        ("<parents>oil<", "the parent 'oil', which is no utility"),
    ):
        path.write_text(path.read_text().replace("<parents>gain<", wrong))
        with pytest.raises(BadFormat, match=fault):
            read_diagram(path)
        path.write_text(path.read_text().replace(wrong, "<parents>gain<"))


def test_a_diagram_of_rounded_tables_is_read(tmp_path: Path) -> None:
    path = tmp_path / "oil.net"
    path.write_text(OIL_NET.replace("(0.5 0.3 0.2)", "(0.4999 0.2999 0.1999)"))
    assert read_diagram(path).expected_utility() == pytest.approx(22.5, abs=0.1)
