"""A recalibration is what its formulas say, helps where probabilities are wrong, and elsewhere costs little."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.core.mixtures._recalibration import Recalibration
from tests.builds import examples

DOUBT = 1e-3
KNOTS = np.linspace(-8.0, 8.0, 33)


def answers(made: Recalibration, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    found = []
    for row, label in zip(rows, labels, strict=True):
        made.mix(np.ascontiguousarray(row), len(row))
        found.append(np.asarray(made.answer)[: len(row)].copy())
        made.learn(int(label), 1.0)
    return np.array(found)


def by_the_formulas(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the answers, computed with numpy's interpolation."""
    events, hits, trust = np.full(33, 20.0), 20.0 / (1.0 + np.exp(-KNOTS)), np.full(2, 0.5)
    found = []
    for row, label in zip(rows, labels, strict=True):
        plain = (1.0 - DOUBT) * row + DOUBT / len(row)
        odds = np.clip(np.log(plain / (1.0 - plain)), -8.0, 8.0)
        corrected = np.interp(odds, KNOTS, hits / events)
        corrected = (1.0 - DOUBT) * corrected / corrected.sum() + DOUBT / len(row)
        found.append(trust[0] * plain + trust[1] * corrected)
        trust = trust * [plain[label], corrected[label]]
        trust = 0.999 * trust / trust.sum() + 0.0005
        for k, each in enumerate(odds):
            near = np.maximum(0.0, 1.0 - np.abs(each - KNOTS) / 0.5)
            events, hits = events + near, hits + near * (k == label)
            full = np.minimum(1.0, 2000.0 / events)
            events, hits = events * full, hits * full
    return np.array(found)


def stream(seed: int, events: int, labels: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(labels, 0.4), events)
    return rows, np.array([rng.choice(labels, p=row) for row in rows])


@pytest.mark.parametrize("labels", [2, 3, 9])
def test_it_is_what_the_formulas_say(labels: int) -> None:
    rows, outcomes = stream(labels, 3000, labels)
    np.testing.assert_allclose(
        answers(Recalibration(), rows, outcomes), by_the_formulas(rows, outcomes), rtol=1e-8
    )


@pytest.mark.parametrize("exponent", [0.4, 2.5])
def test_probabilities_that_are_too_unsure_or_too_sure_are_corrected(exponent: float) -> None:
    rows, outcomes = stream(3, 6000, 3)
    wrong = rows**exponent / (rows**exponent).sum(axis=1, keepdims=True)
    found = answers(Recalibration(), wrong, outcomes)
    late, places = slice(2000, None), np.arange(6000)

    def loss(probabilities: np.ndarray) -> float:
        return float(-np.log(np.maximum(probabilities[places, outcomes], 1e-3))[late].mean())

    assert loss(found) < loss(rows) + 0.03
    assert loss(wrong) > loss(rows) + 0.06


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2, 5]))
def test_it_loses_next_to_nothing_to_what_it_is_given(seed: int, labels: int) -> None:
    rows, _ = stream(seed, 400, labels)
    outcomes = np.random.default_rng(seed).integers(0, labels, 400)  # whatever the probabilities
    places = np.arange(400)
    plain = (1.0 - DOUBT) * rows + DOUBT / labels
    found = answers(Recalibration(), rows, outcomes)
    lost = -np.log(found[places, outcomes]).sum() + np.log(plain[places, outcomes]).sum()
    assert lost <= math.log(2.0) + 400 * -math.log(1.0 - 0.001) + 1e-9
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_nothing_becomes_impossible_and_a_copy_goes_on_as_the_first() -> None:
    made = Recalibration()
    sure = np.array([1.0, 0.0])
    answers(made, np.tile(sure, (30_000, 1)), np.zeros(30_000, int))
    other = pickle.loads(pickle.dumps(made))
    third = Recalibration()
    third.load(made.state())
    for each in (made, other, third):
        each.mix(sure, 2)
        assert 1e-4 < each.answer[1] < 2e-3
        each.learn(1, 7.0)  # counts as one
        each.mix(sure, 2)
    assert made.answer[1] == other.answer[1] == third.answer[1]
    assert made.state() == other.state() == third.state()
    light = Recalibration()
    light.mix(sure, 2)
    before = light.state()
    light.learn(1, 0.0)
    assert {name: light.state()[name] for name in ("events", "hits")} == {
        name: before[name] for name in ("events", "hits")
    }
