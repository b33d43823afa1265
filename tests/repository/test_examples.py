"""What the README, the docs and the examples show runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stream_bayes import streams
from stream_bayes.streams.pipelines.config import load_config
from tests.forked_programs import run_programs

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WITH_A_BROKER = re.compile(
    r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL
)  # these need one, and are only compiled
WITH_BLOCKS = [page for page in PAGES if BLOCK.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: page.stem)
def test_each_block_of_python_in_the_docs_runs_and_prints(page: Path) -> None:
    blocks = BLOCK.findall(page.read_text("utf-8"))
    printed = run_programs(blocks, ROOT)
    assert [block for block, text in zip(blocks, printed, strict=True) if not text] == []


def test_each_block_that_needs_a_broker_calls_what_there_is() -> None:
    blocks = [block for page in PAGES for block in WITH_A_BROKER.findall(page.read_text("utf-8"))]
    assert blocks
    for block in blocks:
        compile(block, "a block of the docs", "exec")
        fronts = set(re.findall(r"\bstreams\.(\w+)", block))
        assert fronts and fronts <= set(dir(streams))


SHOWS_FIGURES = ROOT / "examples/drift.py"
EXAMPLES = sorted(set((ROOT / "examples").glob("*.py")) - {SHOWS_FIGURES})


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_and_says_something(path: Path) -> None:
    assert run_programs([path], ROOT) != [""]


def test_the_readme_has_a_block_to_run() -> None:
    assert ROOT / "README.md" in WITH_BLOCKS


@pytest.mark.parametrize(
    "page",
    [*PAGES, *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md"))],
    ids=lambda page: page.name,
)
def test_what_the_docs_link_to_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    # The site makes a page of each notebook.
    assert [link for link in missing if not (page.parent / link).with_suffix(".ipynb").exists()] == []


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_the_files_that_the_docs_name_are_there(page: str) -> None:
    named = re.findall(r"`(?:stream_bayes/)?([a-z_]+/[\w/]*(?:\.py)?)`", (ROOT / page).read_text("utf-8"))
    assert len(named) > 10
    tops = [ROOT, ROOT / "stream_bayes"]
    missing = [name for name in named if not any((top / name).exists() for top in tops)]
    assert [name for name in missing if "NAME" not in name] == []


def test_the_example_of_drift_ends_with_more_right_than_the_static_model() -> None:
    [printed] = run_programs([SHOWS_FIGURES], ROOT)
    right = {name: float(share) for name, share in re.findall(r"^(\w+): ([\d.]+)% right$", printed, re.M)}
    assert right["adaptive"] > right["static"] + 5.0
    assert printed.count("adopted") >= 2


def test_the_figures_of_the_first_example_are_those_that_it_prints() -> None:
    block = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)[0]
    stated = re.findall(r"# ([\d.]+) and ([\d.]+) %$", block, re.M)
    printed = re.findall(r"^Accuracy: ([\d.]+)%$", run_programs([block], ROOT)[0], re.M)
    assert [tuple(f"{float(share):.1f}" for share in printed)] == stated


def test_no_page_and_no_message_installs_a_package_that_is_not_published() -> None:
    sources = sorted((ROOT / "stream_bayes").rglob("*.py"))
    promising = [
        path
        for path in [*PAGES, *sources]
        if re.search(r"pip install ['\"]?stream-bayes", path.read_text("utf-8"))
    ]
    assert promising == []


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.name)
def test_a_pipeline_file_of_the_examples_is_valid(path: Path) -> None:
    config = load_config(path)
    assert config.model.predicts_numbers is (path.name == "power_kafka.toml")
