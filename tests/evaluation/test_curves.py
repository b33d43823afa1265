"""Errors and costs at each threshold, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from stream_bayes.evaluation.curves import Scores


def test_errors_and_the_cheapest_threshold_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(5)
    positive = rng.random(400) < 0.3
    shares = np.clip(
        np.round(0.3 * positive + rng.normal(0.35, 0.2, 400), 2), 0.0, 1.0
    )  # many on a threshold itself
    scores = Scores()
    for share, is_label in zip(shares.tolist(), positive.tolist(), strict=True):
        scores.add(share, 1.0, is_label=is_label)
    costs = {}
    for each in scores.decisions()[:-1]:
        _, alarms, misses, _ = metrics.confusion_matrix(positive, shares >= each.threshold).ravel()
        assert (each.false_alarms, each.misses) == (alarms, misses), each.threshold
        costs[each.threshold] = 5.0 * misses + alarms
    cheapest = scores.cheapest(missed=5.0)
    assert cheapest.cost(5.0, 1.0) == min(costs.values()) == costs[cheapest.threshold]
    ties = [threshold for threshold, cost in costs.items() if cost == min(costs.values())]
    assert cheapest.threshold == min(ties, key=lambda threshold: abs(threshold - 1 / 6))
    assert dict(scores.costs(missed=5.0))[0.5] == pytest.approx(costs[0.5] / 400)
