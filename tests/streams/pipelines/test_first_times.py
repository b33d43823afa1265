"""A first record of the future starts no clock: it is named, and the records after it fade and wait as without it."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from stream_bayes.learners.base.state import text_of
from stream_bayes.streams.contracts.incidents import JUMPS
from stream_bayes.streams.engine.dead_letters import REFUSED
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.pipelines.pipeline import build

DAY = 86_400.0
FAR = 4.5e9  # of the year 2112
FADING = """
name = "fading"
source = { kind = "jsonl", path = "days.jsonl", target = "y", key = "id", time = "at" }
model = { kind = "nb", arguments = { half_life = "1d" } }
"""
NUMBERS = FADING.replace('"nb"', '"bayesian-regression"')
WAITING = """
name = "waiting"
source = { kind = "jsonl", path = "days.jsonl", target = "y", key = "id", time = "at" }
model = { kind = "nb" }
labels = { wait_for = "2d" }
"""


def engine_of(directory: Path, text: str, rows: list[dict[str, object]], batch: int = 100) -> Engine:
    directory.mkdir(exist_ok=True)
    (directory / "days.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (directory / "days.toml").write_text(f"batch = {batch}\n{text}")
    return build(load_config(directory / "days.toml"), directory)


def days(first: float, labels: tuple[object, ...]) -> list[dict[str, object]]:
    """One record at a first time, then one a day."""
    times = [first, *(number * DAY for number in range(1, len(labels)))]
    return [
        {"id": number, "sky": "grey", "y": y, "at": at}
        for number, (at, y) in enumerate(zip(times, labels, strict=True))
    ]


@pytest.mark.parametrize("batch", [1, 100])
@pytest.mark.parametrize(("text", "labels"), [(FADING, ("rain", *["sun"] * 4)), (NUMBERS, (9.0, *[5.0] * 4))])
def test_samples_after_a_first_one_of_the_future_count_as_without_it(
    tmp_path: Path, text: str, labels: tuple[object, ...], batch: int, caplog: pytest.LogCaptureFixture
) -> None:
    rows = days(FAR, labels)
    engine, other = (
        engine_of(tmp_path / "all", text, rows, batch),
        engine_of(tmp_path / "others", text, rows[1:]),
    )
    with caplog.at_level(logging.WARNING):
        engine.run()
    other.run()
    assert text_of(engine.step.model.freeze()()) == text_of(other.step.model.freeze()())
    assert engine.step.dead_letters.counts == {REFUSED: 1}
    assert "after the present, and no sample came before it" in engine.step.dead_letters.last[REFUSED][1]
    assert "days in the future" in caplog.text


def test_samples_expire_after_a_first_one_of_the_future(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = engine_of(tmp_path, WAITING, days(FAR, (None,) * 7))
    with caplog.at_level(logging.WARNING):
        engine.run()
    assert engine.step.pending is not None
    assert engine.step.pending.counts["expired"] == 4  # the first, and those of days 1 to 3 on day 6
    assert "days in the future" in caplog.text


def test_a_stream_that_lies_ahead_by_design_sets_a_larger_skew(tmp_path: Path) -> None:
    engine = engine_of(tmp_path, f'max_skew = "36500d"\n{FADING}', days(FAR, ("rain", "sun")))
    engine.run()
    assert not engine.step.dead_letters.counts


@pytest.mark.parametrize("text", [FADING, WAITING])
def test_records_after_a_first_one_of_1970_are_counted_while_the_clock_lags(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    rows = days(0.0, ("rain",) * 6)
    for row in rows[1:]:
        row["at"] = 1.7e9
    engine = engine_of(tmp_path / "clocked", text, rows)
    with caplog.at_level(logging.WARNING):
        engine.run()
    assert engine.times.incidents == {JUMPS: 5}
    assert "days ahead of the stream: the clock catches up in steps of max_skew" in caplog.text
    assert "5 records of this run had times further ahead of the stream than max_skew" in caplog.text
    other = engine_of(tmp_path / "unclocked", FADING.replace(', arguments = { half_life = "1d" }', ""), rows)
    other.run()
    assert not other.times.incidents
