"""Expectation maximisation in networks over names and numbers: events with gaps count by their expected sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes import MixedNetwork, Schema
from stream_bayes.data.schema import Nominal, Numeric
from stream_bayes.errors import BadValue, CannotMerge, NotSupported

X = list[dict[str, Any]]


def learned(events: X, structure: Any, steps: int = 1, **settings: Any) -> MixedNetwork:
    """Return a network that has run EM over all of some events, this many times."""
    model = MixedNetwork(structure, missing="window-em", window=len(events), strength=1e-6, **settings)
    model.learn_many(events)
    model._expect(steps)
    return model


def test_a_missing_cause_gives_the_line_of_batch_em() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(1.0, 1.0, 100)
    y = 2.0 * x + rng.normal(0.0, 1.0, 100)
    gap = (y > 2.5) & (rng.random(100) < 0.8)  # missing at random: whether x is there depends on y
    events = [{"y": b} if lost else {"x": a, "y": b} for a, b, lost in zip(x, y, gap, strict=True)]
    model = learned(events, {"x": [], "y": ["x"]}, steps=30)

    mean, spread, intercept, slope, noise = 0.0, 1.0, 0.0, 1.0, 1.0
    for _ in range(
        3000
    ):  # with the denominators of posterior means: n of a variance alone, n + 1 with one parent
        precision = 1.0 / spread + slope**2 / noise
        there = (mean / spread + slope * (y - intercept) / noise) / precision
        first = np.where(gap, there, x)
        second = np.where(gap, there**2 + 1.0 / precision, x**2)
        mean, spread = first.mean(), second.mean() - first.mean() ** 2
        slope = ((first * y).mean() - mean * y.mean()) / spread
        intercept = y.mean() - slope * mean
        noise = (y.var() - slope * ((first * y).mean() - mean * y.mean())) * 100 / 101
    line, alone = (model.families.numeric(v, {}).linear() for v in ("y", "x"))
    assert (line.intercept, *line.slopes) == pytest.approx((intercept, slope), abs=1e-3)
    assert line.variance == pytest.approx(noise, rel=1e-3)
    assert (alone.intercept, alone.variance) == pytest.approx((mean, spread), rel=1e-3)
    skipped = MixedNetwork({"x": [], "y": ["x"]}, strength=1e-6)
    skipped.learn_many(events)
    assert abs(skipped.query("x").mean - mean) > 0.1  # complete events alone are not those of the world


def test_missing_names_give_the_tables_of_batch_em() -> None:
    rng = np.random.default_rng(2)
    cause = rng.random(100) < 0.3
    deed = np.where(rng.random(100) < 0.9, cause, ~cause)
    gap = deed & (rng.random(100) < 0.6)
    events: X = [
        {"deed": "yn"[not b]} if lost else {"cause": "yn"[not a], "deed": "yn"[not b]}
        for a, b, lost in zip(cause, deed, gap, strict=True)
    ]
    model = learned(events, {"cause": [], "deed": ["cause"]}, steps=30)
    prior, given, without = 0.5, 0.6, 0.4
    for _ in range(3000):
        yes = np.where(deed, given * prior, (1 - given) * prior)
        no = np.where(deed, without * (1 - prior), (1 - without) * (1 - prior))
        share = np.where(gap, yes / (yes + no), cause)
        prior = share.mean()
        given, without = (share @ deed) / share.sum(), ((1 - share) @ deed) / (1 - share).sum()
    assert model.query("cause")["y"] == pytest.approx(prior, abs=1e-4)
    assert model.query("deed", {"cause": "y"})["y"] == pytest.approx(given, abs=1e-4)
    assert model.query("deed", {"cause": "n"})["y"] == pytest.approx(without, abs=1e-4)


def test_a_name_that_no_event_has_is_learned() -> None:
    rng = np.random.default_rng(3)
    events: X = []
    for _ in range(60):
        glad = rng.random() < 0.5
        events.append({v: float(rng.normal(4.0 * glad)) for v in ("sings", "dances", "jumps")})
    schema = Schema(
        {"mood": Nominal(["a", "b"]), "sings": Numeric(), "dances": Numeric(), "jumps": Numeric()}
    )
    structure = {"mood": [], "sings": ["mood"], "dances": ["mood"], "jumps": ["mood"]}
    model = learned(events, structure, steps=10, schema=schema)
    means = sorted(model.query("sings", {"mood": mood}).mean for mood in ("a", "b"))
    assert means == pytest.approx([0.0, 4.0], abs=0.6)
    assert model.score_one({"sings": 2.0, "dances": 2.0}) > model.score_one({"sings": 4.0, "dances": 4.0})


def test_gaps_in_every_event_leave_a_structure_and_finite_answers() -> None:
    rng = np.random.default_rng(4)
    model = MixedNetwork(missing="window-em", window=60)
    for k in range(60):
        a = float(rng.normal())
        event = {"a": a, "b": a + 0.3 * float(rng.normal()), "c": "pos" if a > 0 else "neg", "d": float(k)}
        del event["abc"[k % 3]]
        model.learn_one(event)
    assert np.isfinite(model.score_one({"b": 0.5})) and np.isfinite(model.score_one({"a": 1e9, "c": "new"}))
    again = MixedNetwork.from_state(model.state())
    for k in range(3):
        event = {"a": float(k), "d": 1.0}
        assert model.score_learn_one(event) == again.score_learn_one(event)


def test_expected_sums_are_not_taken_back() -> None:
    model = MixedNetwork({"a": []}, missing="window-em")
    model.learn_one({"a": 1.0})
    with pytest.raises(NotSupported, match="expected sums"):
        model.unlearn_one({"a": 1.0})
    with pytest.raises(CannotMerge, match="do not add up"):
        model.merge(model)
    with pytest.raises(BadValue, match="missing"):
        MixedNetwork(missing="em")
