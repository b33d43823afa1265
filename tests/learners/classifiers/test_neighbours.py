"""Nearest neighbours against the definition, computed event by event."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stream_bayes import NearestNeighbours, Schema
from stream_bayes.errors import CannotMerge, NotSupported

Event = tuple[dict[str, Any], str, float]


def events(count: int) -> list[Event]:
    rng = np.random.default_rng(1)
    made = []
    for number in range(count):
        x: dict[str, Any] = {
            "a": float(rng.normal()),
            "b": float(rng.normal(5.0, 3.0)),
            "c": "xyz"[rng.integers(3)],
        }
        y = "inside" if x["a"] ** 2 + ((x["b"] - 5.0) / 3.0) ** 2 < 1.0 else "outside"
        if number % 5 == 0:
            del x["b" if number % 2 else "c"]
        made.append((x, y, 0.5 if number % 7 == 0 else 1.0))
    return made


def by_definition(
    learned: list[Event], x: dict[str, Any], window: int, neighbours: int, half_life: float
) -> dict[str, float]:
    left = 0.5 ** (2.0 / window)
    deviations = {}
    for name in "ab":
        count = center = variance = 0.0
        for event, _, _ in learned:
            if name in event:
                count = left * count + 1.0
                step = event[name] - center
                center += step / count
                variance = (1.0 - 1.0 / count) * (variance + step * step / count)
        deviations[name] = math.sqrt(variance)
    kept = learned[-window:]
    labels = sorted({y for _, y, _ in learned})
    weights = [w * 0.5 ** ((len(kept) - 1 - n) / half_life) for n, (_, _, w) in enumerate(kept)]
    apart = []
    for event, _, _ in kept:
        squares = float(event.get("c") != x["c"]) if "c" in x else 0.0
        for name in "ab":
            if name in x:
                missing = name not in event
                squares += 2.0 if missing else ((event[name] - x[name]) / deviations[name]) ** 2
        apart.append(squares)
    nearest = sorted(range(len(kept)), key=lambda n: (apart[n], -n))[:neighbours]
    least = 0.1 * sum(apart[n] for n in nearest) / len(nearest)
    votes = dict.fromkeys(labels, 0.0)
    for n in nearest:
        votes[kept[n][1]] += weights[n] / (apart[n] + least + 1e-9)
    voters, total = sum(min(1.0, weights[n]) for n in nearest), sum(votes.values())
    shares = {
        y: (sum(w for w, (_, label, _) in zip(weights, kept, strict=True) if label == y) + 1.0)
        / (sum(weights) + len(labels))
        for y in labels
    }
    return {y: (voters * votes[y] / total + shares[y]) / (voters + 1.0) for y in labels}


@pytest.mark.parametrize("half_life", [None, 20.0])
def test_the_nearest_vote_as_defined(half_life: float | None) -> None:
    model = NearestNeighbours(window=50, neighbours=7, half_life=half_life)
    stream = events(160)
    for number, (x, y, w) in enumerate(stream):
        if number in (20, 49, 51, 159):
            expected = by_definition(stream[:number], x, 50, 7, half_life or math.inf)
            assert model.predict_proba_one(x) == pytest.approx(expected, rel=1e-9)
        model.learn_one(x, y, w)


def test_a_number_that_no_event_varies_in_and_a_value_never_learned_change_no_order() -> None:
    model = NearestNeighbours(neighbours=1)
    for number in range(20):
        model.learn_one({"same": 3.0, "a": float(number)}, "low" if number < 10 else "high")
    answer = model.predict_proba_one({"same": 9e9, "a": 2.0, "sky": "grey"})
    assert answer["low"] > 0.7


def test_what_the_window_has_lost_votes_no_more() -> None:
    model = NearestNeighbours(window=10, neighbours=3)
    for _ in range(10):
        model.learn_one({"a": "x"}, "old")
    for _ in range(10):
        model.learn_one({"a": "x"}, "new")
    assert model.predict_proba_one({"a": "x"})["new"] == pytest.approx((3.0 + 11.0 / 12.0) / 4.0)


def test_it_says_that_it_cannot_unlearn_or_be_merged() -> None:
    model = NearestNeighbours(schema=Schema({}, classes=["a", "b"]))
    with pytest.raises(NotSupported, match="keeps only the newest events; take NaiveBayes"):
        model.unlearn_one({}, "a")
    with pytest.raises(CannotMerge, match="merge NaiveBayes"):
        model.merge(model.clone())
