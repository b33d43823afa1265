"""One figure, one place: what the README and the pages say of speed is what benchmarks/README.md measured."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median

import pytest

from stream_bayes.learners.catalogue import DECLARED, LEARNERS, REGRESSORS, declaration_of

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


def test_the_cost_of_the_default_is_the_one_that_was_measured_on_every_page() -> None:
    lines = (ROOT / "benchmarks" / "streams" / "results-5000.jsonl").read_text("utf-8").splitlines()
    kept = {(row["model"], row["stream"]): row.get("microseconds") for row in map(json.loads, lines)}
    streams = {stream for model, stream in kept if model == "AODE"}
    times = [kept["AdaptiveBayes", stream] / kept["AODE", stream] for stream in streams]
    usual, least, most = (round(time) for time in (median(times), min(times), max(times)))
    assert f"some {usual} times AODE, {least} to {most}" in str(DECLARED["adaptive"])
    for page in ("README.md", "docs/which-learner.md"):
        text = (ROOT / page).read_text("utf-8")
        assert (
            f"some {usual} times as long as AODE ({least} to {most} over {len(streams)} streams)" in text
        ), page


VERB_OF = {  # the column of the table of verbs for each method that the README names
    "predict_interval_one": "intervals",
    "learn_many": "many rows",
    "explain_one": "explains features",
    "unlearn_one": "unlearn",
    "merge": "merge",
    "half_life": "half-life",
}


def test_what_the_readme_says_of_all_learners_and_of_most_is_what_their_table_says() -> None:
    said = re.search(r"Learners also have (.+?)\. Most have (.+?):\n\[a table\]", README, re.DOTALL)
    assert said is not None
    every, most = (
        [VERB_OF[name] for name in re.findall(r"`(\w+)`", part) if name in VERB_OF] for part in said.groups()
    )
    assert sorted([*every, *most]) == sorted(VERB_OF.values())
    names = [*LEARNERS, *REGRESSORS]
    lacking = {
        verb: [name for name in names if verb in declaration_of(name).cannot] for verb in VERB_OF.values()
    }
    assert [verb for verb in every if lacking[verb]] == []
    assert [verb for verb in most if not 0 < len(lacking[verb]) < len(names) / 2] == []
