"""The benchmark of drifting streams reports what happened: turns, checks, delays and alarms."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stream_bayes
from benchmarks.drift import options, streams
from benchmarks.drift.streams import (
    ADAPTIVE_TREE,
    CHANGING,
    FOREST,
    OURS,
    STREAMS,
    Found,
    alarms_of,
    checks_of,
    contest,
    main,
    noticed,
)
from stream_bayes import DriftAdaptive, NaiveBayes

CHANGES = 500


def lights(part: int, seed: int) -> Iterator[tuple[dict[str, str], bool]]:
    """Return a class that follows a feature, and from one event on its opposite."""
    for n in range(2 * part):
        light = "on" if (n + seed) % 3 else "off"
        yield {"light": light}, (light == "on") == (n < part)


def staying(part: int, seed: int) -> Iterator[tuple[dict[str, str], bool]]:
    return itertools.islice(lights(2 * part, seed), 2 * part)


@pytest.mark.parametrize("name", [*STREAMS, *CHANGING])
def test_a_stream_is_the_same_from_the_same_seed_and_another_from_another(name: str) -> None:
    make = {**STREAMS, **CHANGING}[name]
    one, again, other = (list(make(300, seed)) for seed in (1, 1, 2))
    assert one == again != other
    assert len(one) in (600, 900)


@pytest.mark.parametrize("name", STREAMS)
def test_no_event_of_a_concept_comes_again_in_the_next(name: str) -> None:
    events = [str(x) for x, _ in STREAMS[name](2000, 1)]
    again = len(events) - len(set(events))
    assert again == 0 or name == "LED"  # whose events are 24 bits, and 7 of these say one of ten digits
    assert again < 100


def test_each_learner_is_asked_each_event_once() -> None:
    found = contest(
        "lights", list(lights(CHANGES, 0)), {"a": NaiveBayes, "b": lambda: DriftAdaptive(NaiveBayes())}
    )
    assert [(one.learner, one.events) for one in found] == [("a", 1000), ("b", 1000)]
    assert all(one.seconds > 0 for one in found)
    plain = NaiveBayes()
    right = 0
    for x, y in lights(CHANGES, 0):
        right += plain.predict_one(x) == y
        plain.learn_one(x, y)
    assert found[0].right == right
    assert found[0].noted is None
    assert found[1].noted is not None and found[1].noted[0][0] == "drift"
    assert found[1].accuracy > found[0].accuracy + 10


@pytest.mark.parametrize(
    ("ours", "took", "met"),
    [
        ((80, 90, 80), (1.0, 100.0), [True, True, True]),
        ((80, 80, 81), (1.0, 99.0), [False, True, False]),
        ((80, 70, 82), (0.5, 99.0), [True, False, True]),
    ],
)
def test_a_check_holds_or_not(ours: Any, took: tuple[float, float], met: list[bool]) -> None:
    right = dict(zip((OURS, ADAPTIVE_TREE, FOREST), ours, strict=True))
    if met[0]:
        right[ADAPTIVE_TREE] = right[OURS] - 1
    seconds = {OURS: took[0], ADAPTIVE_TREE: 5.0, FOREST: took[1]}
    found = [Found("s", name, 100, right[name], seconds[name]) for name in right]
    assert [check[2] for check in checks_of(found)] == met


def test_a_delay_is_counted_from_the_change_and_what_comes_before_is_false() -> None:
    found = noticed(lights(CHANGES, 0), "adwin")
    assert len(found) == 1 and CHANGES < found[0] < CHANGES + 100
    alarms = alarms_of("adwin", "lights", lights, CHANGES, [0, 1], changes=True)
    assert (alarms.missed, alarms.false, alarms.events) == (0, 0, 2 * CHANGES)
    assert alarms.delays[0] == found[0] - CHANGES
    early = alarms_of(
        "adwin", "lights", lambda part, seed: lights(part // 2, seed), CHANGES, [0], changes=True
    )
    assert (early.missed, early.false, early.delays) == (1, 1, ())
    still = alarms_of("adwin", "lights", staying, CHANGES, [0, 1], changes=False)
    assert (still.false, still.delays, still.events) == (0, (), 4 * CHANGES)


@pytest.mark.skipif(not stream_bayes.compiled, reason="benchmarks refuse this build")
def test_a_run_prints_its_tables_and_writes_what_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "DETECTORS", ("adwin", "ddm"))
    for shown in ("CHANGING", "STAYING"):
        monkeypatch.setattr(streams, shown, dict([*getattr(streams, shown).items()][-1:]))
    given = ["--part", "100", "--seeds", "1", "--streams", "SEA", "--json", str(tmp_path / "found.json")]
    assert main(given) == 0
    printed = capsys.readouterr().out
    for part in (OURS, FOREST, "within 1 of the forest", "adwin", "ddm"):
        assert part in printed
    report = json.loads((tmp_path / "found.json").read_text())
    assert {one["learner"] for one in report["accuracy"]} == set(streams.LEARNERS)
    assert len(report["detection"]) == 2 * 2


@pytest.mark.skipif(not stream_bayes.compiled, reason="benchmarks refuse this build")
def test_the_options_of_drift_are_measured_against_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    found = options.differences(options.LEARNERS["TAN"], "graph", part=500, seeds=1)
    assert set(found) == set(options.OPTIONS)
    assert any(difference != 0.0 for (difference,) in found.values())
    given = ["--learner", "TAN", "--kind", "none", "--seeds", "1", "--part", "200"]
    assert options.main(given) == 0
    printed = capsys.readouterr().out
    assert "retired=0" in printed and "+0.000" in printed
