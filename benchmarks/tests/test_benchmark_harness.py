"""The benchmarks' harness: it measures in turn, judges right, and refuses the slow build. Nothing here is timed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sklearn")

import stream_bayes
from benchmarks.__main__ import all_cases, main
from benchmarks.harness import Case, Contest, Result, Side, measure
from benchmarks.picture import svg_of
from benchmarks.speed import engine

ROOT = Path(__file__).parents[2]


def side(name: str, log: list[str], seconds: float, events: int = 3) -> Side:
    def run(given: Any) -> float:
        log.append(f"{name} {list(given)}")
        return seconds * len(given)

    return Side(events, run, list, chunk=2)


def case(prepare: Callable[[], Contest], **settings: Any) -> Case:
    return Case("work", prepare, "peer", **settings)


def test_the_sides_run_in_turn_over_raw_events_taken_in_turn_and_the_first_passes_do_not_count() -> None:
    log: list[str] = []
    contest = Contest([1, 2, 3, 4], side("ours", log, 1e-6), side("peer", log, 8e-6, events=1))
    result = measure(case(lambda: contest), rounds=2)
    assert log == [
        *("peer [1]", "ours [2, 3]", "ours [4]"),
        *("peer [1]", "ours [2, 3]", "ours [4]"),
        *("peer [1]", "ours [2, 3]", "ours [4]"),
    ]
    assert result.ours == pytest.approx((1.0, 1.0))
    assert result.peer == pytest.approx((8.0, 8.0))
    assert result.ratio == pytest.approx(8.0)


def test_what_takes_long_is_measured_once() -> None:
    log: list[str] = []
    contest = Contest([1, 2, 3], side("ours", log, 0.02))
    result = measure(case(lambda: contest, once=True, unit="%"), rounds=10)
    assert log == ["ours [1, 2]", "ours [3]"]
    assert result.ours == pytest.approx((2.0,))


PEAKS = """
import sys
from benchmarks.speed import engine
from stream_bayes.streams.engine.step import Step

hoard, process = [], Step.process

def leaking(step, records):
    hoard.append(b"x" * 2**20)
    process(step, records)

if sys.argv[1] == "leaking":
    Step.process = leaking
print(*engine.peaks(60_000, settled=10_000))
"""


def growth(how: str) -> int:
    """By how many kilobytes the peak of a process of its own grows."""
    command = [sys.executable, "-c", PEAKS, how]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    first, last = map(int, done.stdout.split())
    return last - first


def test_memory_that_grows_with_the_stream_is_seen() -> None:
    assert growth("as it is") < 10 * 1024
    assert growth("leaking") > 30 * 1024  # of 50 that were kept


def never() -> Contest:
    raise AssertionError("not to be prepared")


@pytest.mark.parametrize(
    ("settings", "ours", "peer", "met"),
    [
        ({"target": 4.0}, (9.0, 2.0), (8.0, 20.0), True),  # the best passes count
        ({"target": 4.1}, (9.0, 2.0), (8.0, 20.0), False),
        ({"target": 4.0}, (2.0,), (), None),
        ({}, (2.0,), (8.0,), None),
        ({"limit": 2.0, "unit": "MB"}, (2.0,), (1.0,), True),
        ({"limit": 1.9, "unit": "MB"}, (2.0,), (8.0,), False),
    ],
)
def test_the_verdict(
    settings: dict[str, Any], ours: tuple[float, ...], peer: tuple[float, ...], met: bool | None
) -> None:
    result = Result(case(never, **settings), ours, peer)
    assert result.met is met
    assert json.loads(json.dumps(result.to_json()))["met"] is met


def test_every_line_of_the_report_has_a_name_of_its_own() -> None:
    works = [case.work for case in all_cases()]
    assert len(set(works)) == len(works)
    assert [case.work for case in all_cases() if case.target is not None and not case.peer] == []


@pytest.mark.skipif(not stream_bayes.compiled, reason="benchmarks refuse this build")
def test_a_run_prints_its_machine_its_table_and_its_tally(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "report.json"
    pattern = "learn_many, CodedColumns, 20 nominal, 2 classes$"
    assert main(["--only", pattern, "--rounds", "1", "--json", str(written)]) == 0
    printed = capsys.readouterr().out
    for part in ("cores", "river", "scikit-learn CategoricalNB", "ratio", ">= 2x", "of 1 targets met"):
        assert part in printed
    results = json.loads(written.read_text())["results"]
    assert [len(result["ours_rounds"]) for result in results] == [1, 1]
    assert results[0]["ratio"] > 0.0


@pytest.mark.skipif(not stream_bayes.compiled, reason="benchmarks refuse this build")
def test_what_matches_nothing_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "no such work"]) == 2
    assert "no such work" in capsys.readouterr().err


@pytest.mark.skipif(not stream_bayes.compiled, reason="benchmarks refuse this build")
def test_growth_of_memory_is_measured_in_a_process_of_its_own() -> None:
    assert 0.0 <= engine.growth(20_000, settled=8_000)(()) < 1.0


def test_the_uncompiled_build_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_bayes, "compiled", False)
    assert main(["--rounds", "1"]) == 2
    printed = capsys.readouterr()
    assert "uncompiled" in printed.err
    assert printed.out == ""


def test_the_picture_shows_each_label_whole() -> None:
    work = "predict a very long name of some work that takes many words, which no line of the picture holds alone"
    shown = Case(work, never, "a peer of a long name", target=2.0)
    drawn = svg_of([Result(shown, (1.0,), (8.0,))])
    texts = re.findall(r'<text x="(\d+)"[^>]*text-anchor="end">([^<]*)</text>', drawn)
    assert " ".join(text for _, text in texts) == f"{work} (vs a peer of a long name)"
    assert all(7 * len(text) <= int(x) for x, text in texts)  # 7 pixels a character
