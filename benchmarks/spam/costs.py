"""Costs of verdicts when a lost ham costs many times as much as a spam in the inbox, and the least possible ones.

The best fixed threshold of an order is known only afterwards. Where a lost ham is 99 times as bad, it is decided by the
one to three highest ham scores of the order, so it flatters itself: with several orders of the same messages, one
threshold for all of them, chosen with all scores and labels at hand, shows how much of the gap is luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["cost_of", "least_cost", "one_threshold"]

Array = NDArray[Any]


def cost_of(called: Array, spam: Array, times: float) -> float:
    """Return the cost of calling some messages spam and letting in the others.

    Examples
    --------
    >>> cost_of(np.array([True, True, False]), np.array([True, False, True]), 9)
    10.0
    """
    return float(times * (called & ~spam).sum() + (~called & spam).sum())


def _costs(score: Array, spam: Array, times: float) -> tuple[Array, Array]:
    """Return thresholds, the highest first, and the cost of each; above all of them, nothing is called spam."""
    order = np.argsort(-score, kind="stable")
    lost = np.append(0, np.cumsum(~spam[order]))
    missed = spam.sum() - np.append(0, np.cumsum(spam[order]))
    return np.append(np.inf, score[order]), times * lost + missed


def least_cost(score: Array, spam: Array, times: float) -> float:
    """Return the cost of the best fixed threshold, known only afterwards."""
    return float(_costs(score, spam, times)[1].min())


def one_threshold(orders: Sequence[tuple[Array, Array]], times: float) -> tuple[float, float]:
    """Return the mean and the worst cost, over the best threshold of each order, of the best one for all orders.

    Parameters
    ----------
    orders
        Of each order the scores of its messages, and whether they are spam.
    times
        The cost of a lost ham, in missed spams.
    """
    candidates = np.unique(np.concatenate([score for score, _ in orders]))
    ratios = []
    for score, spam in orders:
        thresholds, costs = _costs(score, spam, times)
        # The last place whose threshold is at least the candidate: all that scores as high is called spam.
        place = np.searchsorted(-thresholds, -candidates, side="right") - 1
        ratios.append(costs[place] / costs.min())
    mean = np.mean(ratios, axis=0)
    best = int(mean.argmin())
    return float(mean[best]), float(max(ratio[best] for ratio in ratios))
