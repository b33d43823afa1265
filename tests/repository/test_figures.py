"""One figure, one place: what the README and the pages say of speed is what benchmarks/README.md measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stream_bayes.learners.catalogue import DECLARED

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
MEASURED = (ROOT / "benchmarks" / "README.md").read_text("utf-8")


def figures(table: str) -> list[tuple[str, str, str]]:
    """Return (peer's time, our time, ratio) of each row with a ratio, without units."""
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()]
    numbers = [
        [re.sub(r" (us|ms)$", "", cell) for cell in row if re.fullmatch(r"[\d,.]+x?( us| ms)?", cell)]
        for row in rows
    ]
    return [(row[0], row[1], row[2]) for row in numbers if len(row) >= 3 and row[2].endswith("x")]


def number(ratio: str) -> float:
    return float(ratio.removesuffix("x").replace(",", ""))


def test_each_row_of_the_readme_is_a_row_that_was_measured() -> None:
    shown, measured = figures(README), set(figures(MEASURED))
    assert len(shown) >= 13
    assert [row for row in shown if row not in measured] == []


def test_the_readme_shows_a_row_that_the_peer_wins() -> None:
    assert any(number(ratio) < 1 for *_, ratio in figures(README))


def test_the_picture_shows_the_ratios_that_were_measured() -> None:
    picture = (ROOT / "docs" / "speed.svg").read_text("utf-8")
    shown = re.findall(r">([\d,.]+)x<", picture)[5:]  # the first are those of the axis
    measured = [number(row[2]) for row in figures(MEASURED)]
    assert len(shown) >= 15
    assert [
        one for one in shown if not any(number(one) == pytest.approx(ratio, rel=0.05) for ratio in measured)
    ] == []


def test_the_cost_of_the_default_is_the_same_on_every_page() -> None:
    cost = re.search(r"some (\d+) times AODE, (\d+) to (\d+)", str(DECLARED["adaptive"]))
    assert cost
    usual, least, most = cost.groups()
    for page in ("README.md", "docs/which-learner.md"):
        text = (ROOT / page).read_text("utf-8")
        assert f"some {usual} times as long as AODE ({least} to {most} over 33 streams)" in text, page
