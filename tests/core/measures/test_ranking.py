from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.measures.ranking import BINS, ExactRanking, ScoreHistogram, bins_of, cells_of

halvings = st.integers(0, 80).map(lambda n: 2.0**-n)
scores = st.one_of(
    st.floats(0, 1), halvings, halvings.map(lambda p: 1 - p), halvings.map(lambda p: math.nextafter(p, 0))
)
samples = st.lists(st.tuples(scores, st.booleans(), st.sampled_from([0.0, 1.0, 0.3, 2.0])), max_size=30)


@given(st.lists(scores))
def test_a_higher_score_is_never_in_a_lower_bin(many):
    bins = bins_of(np.sort(np.array(many, float)))
    assert (np.diff(bins) >= 0).all()
    assert ((bins >= 0) & (bins < BINS)).all()


@given(st.floats(2.0**-13, 0.5), st.floats(2.0**-64, 2.0**-13))
def test_a_bin_is_as_narrow_as_is_said(middle, tail):
    for score, width in ((middle, 1 / 32), (tail, 1 / 4)):
        assert bins_of(np.array([score])) > bins_of(np.array([score / (1 + 1.0001 * width)]))


@given(st.floats(0.5, 1))
def test_a_probability_and_its_complement_lie_alike(score):
    high, low = bins_of(np.array([score, 1 - score]))
    assert high + low == BINS - 1


def test_nothing_and_certainty_are_the_first_and_the_last_bin():
    assert bins_of(np.array([0.0, -0.0, 5e-324, 1.0])).tolist() == [0, 0, 0, BINS - 1]


def table_of(many):
    return (
        np.array([[s for s, _, _ in many]]),
        np.where([own for _, own, _ in many], 0, 1),
        np.array([w for _, _, w in many]),
    )


@given(samples)
def test_the_histogram_is_off_by_no_more_than_it_says(many):
    table, labels, weights = table_of(many)
    histogram = ScoreHistogram()
    histogram.grow(1, weight=0.0)
    histogram.add(cells_of(table, labels), weights)
    ((area,), (error,)), ((exact,), _) = histogram.areas(), ExactRanking(table, labels, weights).areas()
    assert math.isnan(area) == math.isnan(exact)
    assert math.isnan(area) or abs(area - exact) <= error + 1e-12


@given(samples)
def test_the_exact_area_is_that_of_all_pairs(many):
    table, labels, weights = table_of(many)
    positives = [(s, w) for s, own, w in many if own]
    negatives = [(s, w) for s, own, w in many if not own]
    total = sum(w * v for _, w in positives for _, v in negatives)
    won = sum(w * v * ((s > t) + (s == t) / 2) for s, w in positives for t, v in negatives)
    ((area,), (error,)) = ExactRanking(table, labels, weights).areas()
    assert area == pytest.approx(won / total if total else math.nan, nan_ok=True)
    assert error == 0


def test_a_label_that_is_met_late_had_score_zero_until_then():
    late, early = ScoreHistogram(), ScoreHistogram()
    first, second = np.array([[0.9, 0.2]]), np.array([[0.3], [0.7]])
    early.grow(2, weight=0.0)
    early.add(cells_of(np.vstack([first, np.zeros((1, 2))]), np.array([0, 0])), np.array([1.0, 0.1]))
    late.grow(1, weight=0.0)
    late.add(cells_of(first, np.array([0, 0])), np.array([1.0, 0.1]))
    late.grow(2, weight=1.0 + 0.1)
    for histogram in (late, early):
        histogram.add(cells_of(second, np.array([1])), np.ones(1))
    assert (late.weight == early.weight).all()
