"""A regressor that follows drift: it sees and dates a change, adopts what is better, and reports nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stream_bayes
from stream_bayes import AdaptiveRegression, BayesianRegression, BayesianTree, DriftAdaptive, NaiveBayes
from stream_bayes.drift.adaptive_regression import DriftAdaptiveRegression
from stream_bayes.drift.forecast_changes import ForecastChanges
from stream_bayes.errors import BadState, BadValue, CannotMerge

Sample = tuple[dict[str, float], float]


def stream(seed: int, events: int, change: int, noise: float = 0.5, noise_after: float = 0.5) -> list[Sample]:
    """Return events whose slopes change at one of them, and whose noise may."""
    rng = np.random.default_rng(seed)
    samples = []
    for number in range(events):
        slopes = (2.0, -1.0) if number < change else (-1.0, 2.0)
        a, b = rng.normal(size=2).tolist()
        spread = noise if number < change else noise_after
        samples.append(({"a": a, "b": b}, slopes[0] * a + slopes[1] * b + spread * float(rng.normal())))
    return samples


def errors_of(model: Any, samples: list[Sample]) -> np.ndarray[Any, Any]:
    """Return the squared error of each prediction, made before the event was learned."""
    squares = []
    for x, y in samples:
        squares.append((model.predict_one(x) - y) ** 2)
        model.learn_one(x, y)
    return np.array(squares)


@pytest.mark.parametrize("make", [BayesianRegression, BayesianTree])
def test_a_change_is_seen_dated_and_followed(make: Callable[[], Any]) -> None:
    samples = stream(1, 1200, 800)
    model = DriftAdaptiveRegression(make())
    followed, plain = errors_of(model, samples), errors_of(make(), samples)
    drift, adopted = model.log.entries
    assert (drift["what"], adopted["what"], model.generation) == ("drift", "adopted", 1)
    assert drift["event"] <= 880 and abs(drift["since"] - 801) <= 15
    assert drift["score"]["after"] > drift["score"]["before"] + 0.1
    assert adopted["score"]["after"] < adopted["score"]["before"] - 0.3
    assert followed[-300:].mean() < 0.3  # the noise alone is 0.25
    assert followed[-300:].mean() < 0.4 * plain[-300:].mean()


def test_a_task_that_becomes_easier_is_followed_too() -> None:
    rng = np.random.default_rng(2)
    model = DriftAdaptiveRegression(BayesianRegression())
    for number in range(1500):
        a = float(rng.normal())
        model.learn_one({"a": a}, 2.0 * a + (5.0 if number < 800 else 0.05) * float(rng.normal()))
    assert model.log.entries[0]["score"]["after"] < model.log.entries[0]["score"]["before"]
    assert model.generation == 1
    low, high = model.predict_interval_one({"a": 0.0}, 0.9)
    assert high - low < 0.4  # of the noise alone 0.16, of all events some 13


def test_a_stream_without_change_has_none_reported() -> None:
    reported = 0
    for seed in range(20):
        rng, changes = np.random.default_rng(seed), ForecastChanges(1000)
        reported += any(changes.shows(float(below)) for below in rng.random(3000))
    assert reported <= 1  # 1 % of streams, at most


def test_a_false_report_costs_a_trial_and_nothing_else() -> None:
    rng = np.random.default_rng(3)
    noise, spread = [], 1.0
    for _ in range(2500):  # forecasts depend on one another: the noise changes slowly
        spread = math.exp(0.995 * math.log(spread) + 0.1 * float(rng.normal()))
        noise.append(spread * float(rng.normal()))
    samples = [
        ({"a": float(a)}, 3.0 * float(a) + each) for a, each in zip(rng.normal(size=2500), noise, strict=True)
    ]
    model = DriftAdaptiveRegression(BayesianRegression())
    followed, plain = errors_of(model, samples), errors_of(BayesianRegression(), samples)
    assert followed.mean() < 1.05 * plain.mean()
    assert {entry["what"] for entry in model.log.entries} <= {"drift", "adopted", "refused"}


def test_a_second_change_during_a_trial_begins_another() -> None:
    samples = [*stream(4, 800, 800), *stream(5, 200, 0), *stream(6, 300, 300)]
    model = DriftAdaptiveRegression(BayesianRegression(), judge_after=400, trials=1)
    for x, y in samples:
        model.learn_one(x, y)
    drifts = [entry for entry in model.log.entries if entry["what"] == "drift"]
    assert len(drifts) == 2 and abs(drifts[1]["since"] - 1001) <= 15


def test_it_is_saved_at_every_moment_of_a_trial(tmp_path: Path) -> None:
    samples = stream(7, 500, 300)
    model = DriftAdaptiveRegression(BayesianRegression(), judge_after=60)
    states = set()
    for number, (x, y) in enumerate(samples):
        model.learn_one(x, y)
        if number % 20 == 0:
            states.add(model.trial_ is not None)
            stream_bayes.save(model, tmp_path / "model.zip")
            model = stream_bayes.load(tmp_path / "model.zip")
    assert states == {True, False}
    unbroken = DriftAdaptiveRegression(BayesianRegression(), judge_after=60)
    for x, y in samples:
        unbroken.learn_one(x, y)
    assert model.log.entries == unbroken.log.entries and model.generation == 1
    assert model.predict_distribution_one(samples[0][0]) == unbroken.predict_distribution_one(samples[0][0])


def test_a_state_without_its_candidate_is_refused() -> None:
    model = DriftAdaptiveRegression(BayesianRegression(), judge_after=400)
    for x, y in stream(1, 900, 800):
        model.learn_one(x, y)
    assert model.trial_ is not None
    derived = model.derived_state() | {"trial": None}
    with pytest.raises(BadState, match="a trial without a candidate"):
        model.clone().load_parts({"meta": model.state()["store"], "arrays": model.state()["arrays"]}, derived)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: DriftAdaptiveRegression(NaiveBayes()), "must be a regressor"),  # type: ignore[arg-type]
        (lambda: DriftAdaptiveRegression(AdaptiveRegression()), "follows drift itself"),
        (lambda: DriftAdaptiveRegression(BayesianRegression(half_life="7d")), "stream time"),
        (lambda: DriftAdaptiveRegression(BayesianRegression(), window=10), "64 to 20,000"),
        (lambda: DriftAdaptive(BayesianRegression()), "DriftAdaptiveRegression"),  # type: ignore[arg-type]
    ],
)
def test_what_it_cannot_follow_is_refused_by_name(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(BadValue, match=text):
        make()


def test_merging_is_refused() -> None:
    with pytest.raises(CannotMerge, match="depends on the order of events"):
        DriftAdaptiveRegression(BayesianRegression()).merge(DriftAdaptiveRegression(BayesianRegression()))
