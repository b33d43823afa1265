"""P-values of scores: honest where events are as usual, and defined for any scores."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from stream_bayes.core.measures.score_tail import ScoreTail
from stream_bayes.core.measures.surprises import Surprises


@pytest.mark.parametrize("of", ["gaussian", "student", "names"])
@pytest.mark.parametrize("number", [60, 200, 2_000])
def test_events_as_usual_have_a_small_p_value_as_often_as_it_says(of: str, number: int) -> None:
    rng = np.random.default_rng(number)

    def scores(size: int) -> np.ndarray:
        if of == "gaussian":
            return 0.5 * rng.chisquare(6, size)
        if of == "student":
            return 2.0 * np.log1p(rng.standard_t(3, (size, 2)) ** 2 / 3.0).sum(axis=1)
        shares = np.array([0.5, 0.3, 0.15, 0.05])
        return -np.log(shares[rng.choice(4, (size, 3), p=shares)]).sum(axis=1)

    below = {0.1: 0, 0.01: 0, 0.001: 0}
    for _ in range(200):
        tail = ScoreTail(scores(number))
        for score in scores(500).tolist():
            p = tail.p_value(score)
            for level in below:
                below[level] += p <= level
    for level, hits in below.items():
        assert hits / 100_000 <= 1.25 * level + 2e-4, (level, hits)
    if of != "names":  # of few values, p-values come in steps
        assert below[0.1] / 100_000 > 0.07
        if number >= 200:
            assert below[0.01] / 100_000 > 0.004


def test_p_values_fall_with_the_score_without_a_floor_or_a_jump() -> None:
    tail = ScoreTail(np.random.default_rng(1).exponential(size=500).tolist())
    grid = [tail.p_value(score) for score in np.linspace(-1.0, 50.0, 2_000).tolist()]
    assert all(later <= earlier for earlier, later in itertools.pairwise(grid))
    assert grid[0] == 1.0 and 0.0 < grid[-1] < 1e-12
    assert max(a - b for a, b in itertools.pairwise(grid)) < 0.05


def test_odd_events_among_the_usual_ones_hide_no_others() -> None:
    usual = np.random.default_rng(2).exponential(size=400).tolist()
    tail = ScoreTail([*usual, 5_000.0, 30.0, 29.0])
    assert ScoreTail(usual).p_value(30.0) < 1e-6
    assert tail.p_value(5_000.0, is_one=True) < 1e-6
    assert tail.p_value(30.0, is_one=True) == pytest.approx(1 / 403)  # of 402 others one scores as high
    assert tail.p_value(25.0) == pytest.approx(3 / 404)


def test_few_equal_and_infinite_scores_have_p_values() -> None:
    assert ScoreTail([]).p_value(3.0) == 1.0
    assert ScoreTail([1.0]).p_value(3.0) == 0.5
    equal = ScoreTail([2.0] * 300)
    assert equal.p_value(2.0) == 1.0 and equal.p_value(2.5) == pytest.approx(1 / 301)
    assert ScoreTail([1.0] * 280 + [math.inf] * 20).p_value(math.inf) == pytest.approx(21 / 301)
    assert ScoreTail(range(300)).p_value(math.inf) == 0.0


def test_a_stream_has_the_p_values_of_its_newest_scores_and_goes_on_from_a_state() -> None:
    rng = np.random.default_rng(3)
    scores: list[float | None] = [
        float(score) if score < 4.0 else None for score in rng.exponential(size=2_500)
    ]
    scores[700], whole, parts = math.nan, Surprises(), Surprises()
    p_values = whole.add(scores, [1.0] * 2_500)
    assert p_values[700] is None and [p is None for p in p_values] == [s is None or s != s for s in scores]
    usual = scores[:700] + scores[701:]
    for at in (5, 500, 2_300):
        k, score = next((k, s) for k, s in enumerate(usual[at:], at) if s is not None)
        newest = [each for each in usual[:k][-1_000:] if each is not None]
        assert p_values[k + (k >= 700)] == ScoreTail(newest).p_value(score)
    in_parts = parts.add(scores[:1_700], [1.0] * 1_700)
    loaded = Surprises()
    loaded.load(parts.state())
    assert in_parts + loaded.add(scores[1_700:], [1.0] * 800) == p_values
    low = [p for p in p_values if p is not None]
    assert np.mean([p <= 0.05 for p in low]) == pytest.approx(0.05, abs=0.02)
