"""Following drift over streams that River makes: no worse where nothing changes, better by far where something does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import pytest
from river.datasets import synth

import stream_bayes
from stream_bayes import AODE, KDB, TAN, BayesNetClassifier, DriftAdaptive, LiveChoice

EVENTS = 2000 if stream_bayes.compiled else 1200  # of each world
KINDS: dict[str, Callable[[], Any]] = {
    "TAN": TAN,
    "AODE": AODE,
    "KDB": lambda: KDB(k=2),
    "LiveChoice": LiveChoice,
    "BayesNetClassifier": BayesNetClassifier,
}
EACH = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


def some(*worlds: Iterable[Any]) -> list[tuple[Any, Any]]:
    """So many events of each world, one world after the other."""
    return [event for world in worlds for event in islice(iter(world), EVENTS)]


CHANGING = {
    "Mixed": some(*(synth.Mixed(classification_function=which, seed=4 + which) for which in (0, 1))),
    "Sine": some(*(synth.Sine(classification_function=which, seed=6 + which) for which in (0, 1))),
}
STILL = {
    "Mixed": some(synth.Mixed(classification_function=0, seed=4)),
    "Hyperplane": some(synth.Hyperplane(seed=3, n_features=8, n_drift_features=2, mag_change=0.0)),
    "RandomRBF": some(
        synth.RandomRBF(seed_model=1, seed_sample=2, n_classes=3, n_features=6, n_centroids=20)
    ),
}


def right(model: Any, stream: list[tuple[Any, Any]]) -> float:
    """The share of events whose class was foretold."""
    answers = [model.predict_learn_one(x, y) for x, y in stream]
    return sum(
        max(p, key=p.__getitem__, default=None) == y for p, (_, y) in zip(answers, stream, strict=True)
    ) / len(stream)


@EACH
@pytest.mark.parametrize("name", CHANGING)
def test_where_the_world_changes_following_drift_is_better_by_far(make: Callable[[], Any], name: str) -> None:
    model = DriftAdaptive(make())
    assert right(model, CHANGING[name]) > right(make(), CHANGING[name]) + 0.1
    assert any(e["what"] == "adopted" and e["event"] > EVENTS for e in model.log.entries)


@EACH
@pytest.mark.parametrize("name", STILL)
def test_where_nothing_changes_following_drift_is_no_worse(make: Callable[[], Any], name: str) -> None:
    assert right(DriftAdaptive(make()), STILL[name]) >= right(make(), STILL[name])
