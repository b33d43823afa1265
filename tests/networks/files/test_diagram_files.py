"""Influence diagrams in XDSL: decisions and utilities read back, and what does not fit is refused by name."""

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
        ("<parents>oil drill<", "<parents>oil oil<", "each once"),
        (
            "<parents>test result<",
            "<parents>test reslt<",
            "'drill' has the parent 'reslt', which is no variable",
        ),
        ('<utility id="price"', '<utility id="oil"', "'oil' is defined twice"),
        ('<decision id="drill"', '<decision id="test"', "'test' is defined twice"),
        ('<utility id="price"', '<mau id="price"', "'price' is a <mau>"),
        ('id="drill"><state id="yes"/><state id="no"/>', 'id="drill">', "'drill' has no labels"),
        ('<decision id="test">', '<decision id="test"><parents>result</parents>', "cycle"),
        ("<nodes>", "<nodes", "no XML, or cut off"),
        ("<smile", '<!DOCTYPE smile [<!ENTITY a "b">]><smile', "declares the entity 'a'"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(was: str, now: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "oil.xdsl"
    text = OIL.replace(was, now).replace(
        "</utility>\n</nodes", "</mau>\n</nodes" if "<mau" in now else "</utility>\n</nodes"
    )
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
        BadFormat, match="the node 'test' is a <decision>: read_diagram reads influence diagrams"
    ):
        read_network(path)
    path.write_text(
        '<smile id="n"><nodes><cpt id="a"><state id="x"/><probabilities>1</probabilities></cpt></nodes></smile>'
    )
    with pytest.raises(BadFormat, match="read_network reads a network of chance alone"):
        read_diagram(path)
    for name in ("oil.bif", "oil.net"):
        with pytest.raises(BadValue, match="influence diagrams are files of GeNIe"):
            read_diagram(tmp_path / name)
    with pytest.raises(BadValue, match="write_network writes networks"):
        write_diagram(read_network(path), tmp_path / "n.xdsl")  # type: ignore[arg-type]  # the wrong kind
