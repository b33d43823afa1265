"""Streams of predictions for tests of the losses."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from stream_bayes.core.measures.classification_measures import Measures
from stream_bayes.core.measures.losses import Losses
from tests.oracles import losses as oracle

NAMES = ["a", "b", "c", "d"]
LEAST = 1e-15

scores = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1))
answers = st.one_of(
    st.dictionaries(st.sampled_from(NAMES), scores, max_size=4),
    st.builds(lambda p: {"a": p, "b": 1 - p}, scores),
)
predictions = st.one_of(st.just(...), st.none(), st.sampled_from(NAMES))
weights = st.sampled_from([0.0, 1.0, 1.0, 1.0, 2.0, 0.3, 1.7])
streams = st.lists(st.tuples(st.sampled_from(NAMES), answers, predictions, weights), max_size=40)


def scored(events: list[oracle.Event], **options: Any) -> Losses:
    losses = Losses(**options)
    for label, probabilities, predicted, weight in events:
        losses.update(label, probabilities, predicted, weight)
    return losses


def frozen(losses: Losses) -> tuple[Any, ...]:
    """Everything that would be saved, to the bit."""
    state = losses.state()
    arrays = {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in state.pop("arrays").items()}
    return json.dumps(state, allow_nan=False), arrays


def values(measures: Measures, names: Any) -> dict[str, Any]:
    return {name: getattr(measures, name) for name in names}


def agree(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, dict):
            agree(found[name], value)
        elif value is None:
            assert found[name] is None, name
        else:
            assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-9, nan_ok=True), name


def random_events(n: int, labels: int, seed: int = 0, *, weighted: bool = False) -> list[oracle.Event]:
    """Answers that are right more often than not, some of them very sure."""
    rng = np.random.default_rng(seed)
    names = [f"l{i}" for i in range(labels)]
    events: list[oracle.Event] = []
    for _ in range(n):
        y = int(rng.integers(labels + 1)) % labels  # the first one more often
        p = rng.dirichlet(np.full(labels, rng.choice([0.05, 0.3, 3.0])))
        if rng.random() < 0.5:
            p[[y, int(p.argmax())]] = p[[int(p.argmax()), y]]
        p = p / p.sum()
        w = float(rng.integers(1, 4)) / 2 if weighted else 1.0
        events.append((names[y], dict(zip(names, p.tolist(), strict=True)), ..., w))
    return events
