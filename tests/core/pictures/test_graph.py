"""Drawings of networks are sound SVG that shows names as text, whatever the names are."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import pytest

from stream_bayes.core.networks.pictures import belief_bars, drawn_structure, links_of, table_bars
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.pictures.graph import Bar, Link, Node, drawn_graph
from stream_bayes.core.pictures.picture import BLUE, GREY, ORANGE, Curve, Label, Picture, Rectangle
from stream_bayes.core.pictures.text import text_of, visible, width_of
from stream_bayes.errors import BadValue, UnknownFeature

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "]]>&amp;&#x3c;",
    "a\x00b\x1b[31m\ud800\ufffe",
    "\u202etxt.exe\u2066",
    "line\nbreak\ttab",
    "名前が長い" * 40,
    "",
)


def curves(picture: Picture) -> list[Curve]:
    return [shape for shape in picture.shapes if isinstance(shape, Curve)]


def test_hostile_names_and_labels_stay_text() -> None:
    bars = {name: belief_bars({label: 1 / len(HOSTILE) for label in HOSTILE}) for name in HOSTILE}
    links = links_of(HOSTILE, list(pairwise(HOSTILE)))
    text = drawn_structure(HOSTILE, links, bars, title=HOSTILE[0]).svg()
    root = ElementTree.fromstring(text)  # it is XML
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags == {"svg", "title", "rect", "path", "polygon", "text"}
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
    assert "<script>alert(1)</script>" in {element.text for element in root.iter()}
    assert "\u202e" not in text and "\\u202etxt.exe" in text


def test_every_text_fits_into_its_place() -> None:
    name = "W" * 300
    picture = drawn_structure([name], [], {name: belief_bars({"M" * 200: 0.5, "x": 0.5})})
    (box, *_) = (shape for shape in picture.shapes if isinstance(shape, Rectangle))
    root = ElementTree.fromstring(picture.svg())
    labels = [shape for shape in picture.shapes if isinstance(shape, Label)]
    written = [element.text or "" for element in root.iter() if element.tag.endswith("text")]
    for label, text in zip(labels, written, strict=True):
        assert width_of(text, label.size) <= box.width
    assert sum("…" in text for text in written) == 2


def test_changes_and_confidence_are_seen_in_the_lines() -> None:
    before = Structure({"a": [], "b": ["a"], "c": ["b"], "d": []})
    after = Structure({"a": [], "b": ["a", "d"], "c": [], "d": []})
    links = links_of(after.variables, after.edges, before.difference(after), {("a", "b"): 0.4})
    picture = drawn_structure(after.variables, links)
    # a -> b was reversible, and points one way once d joins b.
    drawn = {line.hint: (line.stroke, line.is_dashed) for line in curves(picture)}
    assert drawn == {
        "a → b, reversed, confidence 40%": (ORANGE, False),
        "d → b, added": (BLUE, False),
        "b → c, removed": (GREY, True),
    }
    assert "40%" in [shape.text for shape in picture.shapes if isinstance(shape, Label)]
    assert picture.title.endswith("1 added, 1 reversed, 1 removed")


def test_a_removed_edge_that_runs_against_the_new_ones_leaves_those_downward() -> None:
    nodes = [Node(name) for name in "abc"]
    links = [Link(2, 0, "removed"), Link(0, 1), Link(1, 2)]
    picture = drawn_graph(nodes, links)
    removed, *kept = curves(picture)
    assert all(line.points[0][1] < line.points[-1][1] for line in kept)
    assert removed.points[0][1] > removed.points[-1][1]


def test_evidence_is_marked_and_intervals_are_drawn() -> None:
    bars = {
        "rain": belief_bars({"yes": 1.0, "no": 0.0}, "yes"),
        "wet": belief_bars({"y": 0.7}, ..., {"y": (0.5, 0.8)}),
    }
    picture = drawn_structure(["rain", "wet"], [], bars, evidence=["rain"])
    borders = {
        shape.hint: shape.stroke for shape in picture.shapes if isinstance(shape, Rectangle) and shape.stroke
    }
    assert borders["rain"] == ORANGE != borders["wet"]
    filled = {
        shape.hint: shape for shape in picture.shapes if isinstance(shape, Rectangle) and ": " in shape.hint
    }
    assert filled["yes: 1"].fill == ORANGE and filled["y: 0.7"].fill == BLUE
    bar = filled["y: 0.7"]
    thin = next(shape for shape in picture.shapes if isinstance(shape, Rectangle) and shape.height == 1.2)
    assert thin.x == pytest.approx(bar.x + bar.width * 0.5 / 0.7)
    assert thin.width == pytest.approx(bar.width * 0.3 / 0.7)


def test_rows_that_are_left_out_are_counted() -> None:
    table = np.full((5, 4, 2), 0.5)
    rows = table_bars(table, [list("abcde"), [1, 2, 3, 4]])
    assert len(rows) == 9 and rows[-1] == Bar("12 more rows")
    many = belief_bars(dict.fromkeys(range(100), 0.01), observed=77)
    assert many[-1].label == "93 more" and any(bar.is_observed for bar in many)
    assert sum(bar.shares[0] for bar in many) == pytest.approx(1.0)


def test_what_is_not_in_the_network_is_refused() -> None:
    with pytest.raises(BadValue, match="edges that are drawn"):
        links_of(["a", "b"], [("a", "b")], confidence={("b", "a"): 0.5})
    with pytest.raises(BadValue, match="from 0 to 1"):
        links_of(["a", "b"], [("a", "b")], confidence={("a", "b"): 1.5})
    with pytest.raises(UnknownFeature, match="'c'"):
        drawn_structure(["a"], [], evidence=["c"])


def test_names_that_look_alike_are_told_apart() -> None:
    assert (text_of(1), text_of("1")) == ("1", "1")
    names = [shape.text for shape in drawn_structure([1, "1"], []).shapes if isinstance(shape, Label)]
    assert len(set(names)) == 2
    assert visible("👩\u200d💻") == "👩\u200d💻"
