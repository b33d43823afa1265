"""The accuracy benchmark judges what was measured, and compares settings on equal terms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import naive_bayes

pytest.importorskip("sklearn")

import stream_bayes
from benchmarks import accuracy, settings
from benchmarks.__main__ import main
from benchmarks.accuracy import BEST, CANDIDATES, MIXTURE, OURS, READINGS, STREAMS, THEIRS, Stream, checks_of
from stream_bayes import KDB, LiveChoice, NaiveBayes
from stream_bayes.learners.classifiers.live_choice import ALL_READINGS
from stream_bayes.learners.classifiers.live_choice import READINGS as CHOSEN_AMONG
from stream_bayes.streams import compare
from tests.streams.recording_learners import Listening


class Sure(Listening):
    """Says "a" with a given probability."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def predict_proba_one(self, x: Any, **kwargs: Any) -> dict[Any, float]:
        return {"a": self.probability, "b": 1.0 - self.probability}


def judged(probabilities: dict[str, float], floor: float, aim: float) -> dict[str, tuple[bool, str]]:
    """Return the checks of learners on a stream where "a" comes in nine of ten events."""
    names = {**OURS, **THEIRS}
    learners = {name: Sure(probabilities.get(name, 0.9)) for name in names}
    stream: list[Any] = [({}, "b" if n % 10 == 0 else "a") for n in range(100)]
    checks = checks_of(Stream("tens", lambda: stream, floor, aim), compare(learners, stream))
    return {check.what.split(":")[0]: (check.met, check.found) for check in checks}


def test_every_check_can_be_met_and_missed() -> None:
    theirs = dict.fromkeys(THEIRS, 0.1)
    found = judged(theirs, floor=90.0, aim=90.0)
    assert all(met for met, _ in found.values())
    assert set(found) == {BEST, MIXTURE, *CANDIDATES}
    assert found["A2DE"][1] == "90.00 %, River GaussianNB 10.00 %"
    assert not any(judged({}, 90.0, 90.0)[name][0] for name in ("A2DE", MIXTURE))  # no better than River's
    assert not judged(theirs, floor=90.0, aim=90.1)["A2DE"][0]
    assert not judged({**theirs, BEST: 0.1}, 90.0, 90.0)[BEST][0]
    assert judged({**theirs, "TAN": 0.1}, 90.0, 90.0)[BEST][0]


def test_a_mixture_must_be_as_sure_as_the_surest_reading_and_aode_above_its_floor() -> None:
    stream: list[Any] = [({}, "b" if n % 10 == 0 else "a") for n in range(100)]
    for probability, floor, met in ((0.9, 90.0, [True, True]), (0.8, 90.1, [False, False])):
        learners = {name: Sure(probability if name == MIXTURE else 0.9) for name in {**OURS, **THEIRS}}
        checks = checks_of(Stream("tens", lambda: stream, floor), compare(learners, stream))
        assert [check.met for check in checks[1:]] == met


def test_the_readings_are_those_that_are_chosen_among_with_the_same_settings() -> None:
    assert len(READINGS) == len(CHOSEN_AMONG)
    assert set(CHOSEN_AMONG) < set(ALL_READINGS)
    stream = [(x, y) for x, y in STREAMS[0].make()][:200]
    for reading, name in zip(CHOSEN_AMONG, READINGS, strict=True):
        alone, chosen = READINGS[name](), LiveChoice(readings=(reading,))
        for x, y in stream:
            assert alone.predict_learn_one(x, y) == pytest.approx(chosen.predict_learn_one(x, y), abs=1e-12)


@pytest.mark.skipif(not stream_bayes.compiled, reason="benchmarks refuse this build")
def test_a_run_prints_the_standings_and_the_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = Stream("Tiny", lambda: list(STREAMS[0].make())[:120])
    monkeypatch.setattr(accuracy, "STREAMS", (tiny,))
    monkeypatch.setattr(accuracy, "THEIRS", {"River GaussianNB": naive_bayes.GaussianNB})
    written = tmp_path / "report.json"
    assert main(["--only", "^accuracy Tiny$", "--json", str(written)]) == 0
    printed = capsys.readouterr().out
    for part in ("Tiny", "120 events", "River GaussianNB", "LiveChoice, mixture", "of 2 checks met"):
        assert part in printed
    report = json.loads(written.read_text())
    assert report["results"] == []
    assert set(report["accuracy"]["streams"]["Tiny"]["learners"]) == {*OURS, "River GaussianNB"}


def test_settings_are_compared_on_the_same_events_and_seeds_of_a_stream_count_once() -> None:
    rng = np.random.default_rng(1)
    streams = []
    for name in ("one", "two", "two"):
        labels = rng.integers(0, 2, 150)
        streams.append((name, [({"a": float(rng.normal(y)), "b": float(y)}, int(y)) for y in labels]))
    found = settings.differences({"default": lambda: KDB(k=0), "other": NaiveBayes}, streams)
    assert found["default"]["right"].tolist() == [0.0, 0.0]
    expected = []
    for _, events in streams:
        result = compare({"default": KDB(k=0), "other": NaiveBayes()}, events)
        expected.append(result.difference("other", "default", "log_loss").value)
    assert found["other"]["log_loss"] == pytest.approx([expected[0], np.mean(expected[1:])])
    mean, tally = settings.summary(np.array([1.0, -3.0, 0.0]), 1, more_is_better=False)
    assert (mean, tally) == ("-0.7 ± 1.2", "1 : 1")


@pytest.mark.parametrize("name", settings.STREAMS)
def test_a_stream_of_settings_is_the_same_for_the_same_seed_and_another_for_another(name: str) -> None:
    make = settings.STREAMS[name]
    first, again, other = make(1), make(1), make(2)
    assert len(first) >= 150 and len({y for _, y in first}) >= 2
    assert first == again != other
