"""Intervals of accuracy and log-loss, against their definitions and their coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from stream_bayes.core.measures.losses import Losses
from stream_bayes.errors import BadValue
from tests.core.measures.scored_streams import (
    LEAST,
    random_events,
    scored,
)


@pytest.mark.parametrize(("right", "n"), [(0, 10), (3, 10), (10, 10), (490, 500)])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_interval_of_the_accuracy_is_wilsons(right, n, level):
    losses = Losses()
    for i in range(n):
        losses.update("a", {"a": 1.0} if i < right else {"b": 1.0})
    expected = stats.binomtest(right, n).proportion_ci(level, method="wilson")
    assert losses.cumulative.accuracy_interval(level) == pytest.approx((expected.low, expected.high))


def test_the_interval_of_the_log_loss_is_the_normal_one():
    events = random_events(200, 3, seed=8)
    each = [-math.log(max(e[1][e[0]], LEAST)) for e in events]
    low, high = stats.norm.interval(0.9, np.mean(each), np.std(each, ddof=1) / math.sqrt(len(each)))
    assert scored(events).cumulative.log_loss_interval(0.9) == pytest.approx((low, high))


def test_the_interval_of_the_accuracy_stays_within_0_and_1():
    always, never = Losses(), Losses()
    for _ in range(60):
        always.update("a", {"a": 1.0})
        never.update("a", {"b": 1.0})
        assert 0 < always.cumulative.accuracy_interval()[0] < always.cumulative.accuracy_interval()[1] <= 1
        assert 0 <= never.cumulative.accuracy_interval()[0] < never.cumulative.accuracy_interval()[1] < 1


def test_one_event_gives_no_interval_of_the_log_loss():
    losses = Losses()
    losses.update("a", {"a": 0.5})
    assert all(map(math.isnan, losses.cumulative.log_loss_interval()))


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        losses = Losses(window=1)
        p = (rng.random(100) < 0.8).astype(float)
        losses.update_many(["a"] * 100, ["a", "b"], np.column_stack([p, 1 - p]))
        low, high = losses.cumulative.accuracy_interval(0.9)
        held += low <= 0.8 <= high
    assert 0.86 < held / 400 < 0.94


def test_fading_makes_an_interval_as_wide_as_so_many_events_allow():
    losses = Losses(half_life=100)
    losses.update_many(["a", "b"] * 5000, ["a"], np.ones((10_000, 1)))
    assert losses.fading.effective_events == pytest.approx(2 * 100 / math.log(2), rel=0.01)
    fading, cumulative = losses.fading.accuracy_interval(), losses.cumulative.accuracy_interval()
    assert fading[1] - fading[0] > 4 * (cumulative[1] - cumulative[0])


@pytest.mark.parametrize("level", [0, 1, 1.5, True, "0.9", math.nan])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(BadValue, match="level"):
        Losses().cumulative.accuracy_interval(level)
