"""The site's pages are complete and true: every public name has an example, and the page of errors shows real ones."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path

import nbformat
import pytest
import yaml

from docs.site_hooks import FRONTS, NOT_OBJECTS, PAGES, reference

ROOT = Path(__file__).parents[2]
FAQ = (ROOT / "docs" / "faq.md").read_text("utf-8")
ANSWERS = re.findall(r"^## \d+\. (.+?)\n\n```pycon\n(.*?)^```\n\n(\S[^\n]*)", FAQ, re.MULTILINE | re.DOTALL)
# pyAgrum's library cannot be loaded into the process of the other tests, where examples run.
ELSEWHERE = {"to_pyagrum", "from_pyagrum"}
PUBLIC = [
    (path, name)
    for front in FRONTS
    for path in [front if front == "stream_bayes" else f"stream_bayes.{front}"]
    for name in importlib.import_module(path).__all__
    if name not in NOT_OBJECTS | ELSEWHERE and front != "errors"
]


def test_every_error_with_an_answer_is_a_session_to_run() -> None:
    assert len(ANSWERS) == FAQ.count("```pycon") >= 20


@pytest.mark.parametrize(("title", "session"), [answer[:2] for answer in ANSWERS], ids=lambda text: text[:30])
def test_an_error_of_the_page_is_printed_as_shown(
    title: str, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    test = doctest.DocTestParser().get_doctest(session, {}, title, "docs/faq.md", 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert test.examples[-1].exc_msg
    assert runner.run(test).failed == 0


@pytest.mark.parametrize(("path", "name"), PUBLIC, ids=lambda text: text)
def test_a_public_name_is_documented_with_an_example(path: str, name: str) -> None:
    found = getattr(importlib.import_module(path), name)
    if isinstance(found, type) and issubclass(found, Exception):
        assert inspect.getdoc(found)  # docs/faq.md shows errors
    elif callable(found):
        assert ">>> " in (inspect.getdoc(found) or "")


@pytest.mark.parametrize("front", FRONTS)
def test_the_reference_lists_every_public_name(front: str) -> None:
    path = front if front == "stream_bayes" else f"stream_bayes.{front}"
    names = set(importlib.import_module(path).__all__) - NOT_OBJECTS
    assert set(re.findall(rf"^::: {re.escape(path)}\.(\w+)$", reference(front), re.MULTILINE)) == names


def test_every_page_is_in_the_navigation() -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    listed = set(re.findall(r"[\w/-]+\.md", str(settings["nav"])))
    docs = ROOT / "docs"
    written = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    notebooks = {path.relative_to(docs).with_suffix(".md").as_posix() for path in docs.rglob("*.ipynb")}
    assert listed == written | notebooks | set(PAGES) | {f"reference/{front}.md" for front in FRONTS}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs/notebooks").glob("*.ipynb")), ids=lambda path: path.stem
)
def test_a_notebook_is_valid_and_kept_without_output(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.get("outputs") for cell in notebook.cells)
    assert notebook.cells[0].source.startswith("# ")
