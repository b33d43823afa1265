"""The files of the page: small, whole, without inline code, and with places for every graph."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from stream_bayes.serve.app import PAGE
from stream_bayes.serve.graphs import MOST_NODES, change_svg, graph_of

FILES = sorted(path for path in PAGE.rglob("*") if path.is_file())
ROOT = Path(__file__).parents[2]


def test_the_page_weighs_at_most_350_kb() -> None:
    assert sum(path.stat().st_size for path in FILES) <= 350_000


def test_the_page_has_no_inline_code_and_loads_nothing_from_elsewhere() -> None:
    html = (PAGE / "index.html").read_text("utf-8")
    assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=|javascript:", html)
    for path in FILES:
        if path.parent == PAGE and path.suffix != ".svg":
            text = path.read_text("utf-8")
            assert not re.findall(r"https?://(?!www\.w3\.org/)", text), path
            assert not re.findall(r"""["'`(]/[a-z]""", text), (
                f"{path}: behind a proxy the service has a prefix"
            )


def test_every_file_that_is_named_is_there_and_every_file_is_named() -> None:
    html = (PAGE / "index.html").read_text("utf-8")
    named = {PAGE / name for name in re.findall(r'(?:src|href)="([\w./-]+\.\w+)"', html)}
    for path in PAGE.glob("*.js"):
        named |= {PAGE / name for name in re.findall(r'from "\./([\w-]+\.js)"', path.read_text("utf-8"))}
    named.add(PAGE / "report" / "service.js")  # in place of the other one, in reports
    licences = {path for path in FILES if "LICENSE" in path.name}
    assert named | {PAGE / "index.html"} == set(FILES) - licences
    assert {path.name.partition("-")[0] for path in (PAGE / "vendor").glob("*.js")} == {
        path.name.partition("-")[0] for path in licences
    }


def test_no_script_makes_markup_of_text() -> None:
    for path in (*PAGE.glob("*.js"), *PAGE.glob("report/*.js")):
        text = path.read_text("utf-8")
        markup = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
        assert not re.findall(markup, text), path


def test_the_files_are_in_the_wheel_and_the_sdist() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert '"stream_bayes.serve" = ["page/*", "page/*/*"]' in project
    depths = {len(path.relative_to(PAGE).parts) for path in FILES}
    assert depths == {1, 2}
    lines = (ROOT / "MANIFEST.in").read_text("utf-8").splitlines()
    assert lines.index("graft stream_bayes/serve/page") > next(
        number for number, line in enumerate(lines) if line.startswith("global-exclude")
    )


def test_a_graph_has_a_place_for_each_variable_and_a_row_for_each_value() -> None:
    values = {"rain": ["yes", "no"], "month": [str(n) for n in range(12)], "<b>": []}
    graph = graph_of([("month", "rain")], values)
    assert graph is not None
    rows = {node["name"]: [(row["label"], row["value"]) for row in node["rows"]] for node in graph["nodes"]}
    assert rows["rain"] == [("yes", "yes"), ("no", "no")] and rows["<b>"] == []
    assert len(rows["month"]) == 10 and rows["month"][-1] == ("3 more", None)
    (edge,) = graph["edges"]
    assert (edge["parent"], edge["child"]) == ("month", "rain") and edge["path"].startswith("M")
    assert graph_of([]) is None
    assert graph_of([(str(n), str(n + 1)) for n in range(MOST_NODES)]) is None


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", 'a"b', "\x00"])
def test_changed_edges_are_drawn_with_names_as_text(name: str) -> None:
    text = change_svg({"added": [[name, "wet"]], "removed": [["wet", "sky"]]})
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(text).iter()}
    assert "script" not in tags and "wet → sky, removed" in text


def test_in_a_report_the_answers_are_asked_for_as_the_service_is() -> None:
    names = [
        set(re.findall(r"export (?:async )?(?:function|class) (\w+)", (PAGE / name).read_text("utf-8")))
        for name in ("service.js", "report/service.js")
    ]
    assert names[0] == names[1] and "follow" in names[0]
