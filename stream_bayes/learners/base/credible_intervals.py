"""Credible intervals: exact for a Beta distribution, and from the variance of log-odds for all else, whose ends are in
`core.readings._interval_ends`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import scipy  # its submodules load on first use

from stream_bayes.core.readings._interval_ends import interval
from stream_bayes.errors import BadValue

__all__ = ["Intervals", "beta_interval", "ends_of", "mixed_intervals", "odds_interval"]


class Intervals(NamedTuple):
    """The ends of the intervals of many rows, each as `predict_proba_many` gives the probabilities."""

    low: Any
    high: Any


@lru_cache(maxsize=16)
def ends_of(level: float) -> tuple[float, float]:
    """Return the share beyond each end of a central interval, and the deviations of a normal distribution up to it.

    Raises `BadValue` for a level that does not lie between 0 and 1.
    """
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
        raise BadValue(f"level lies between 0 and 1, not {level!r}")
    tail = (1.0 - level) / 2.0
    return tail, NormalDist().inv_cdf(1.0 - tail)


def odds_interval(share: float, variance: float, level: float) -> tuple[float, float]:
    """Return the interval of a probability, from the variance of its log-odds; it holds the probability."""
    tail, deviations = ends_of(level)
    low, high = interval(share, 1.0 - share, variance, tail, deviations)
    return low, high


def mixed_intervals(
    parts: list[tuple[float, Mapping[Any, tuple[float, float]]]], level: float
) -> dict[Any, tuple[float, float]]:
    """Return the intervals of a mixture of answers with spreads, the weights held. `parts` has the weight of each
    answer, and `{label: (probability, variance of its log-odds)}`.
    """
    intervals = {}
    for label in parts[0][1]:
        shares = [(weight, *answer[label]) for weight, answer in parts]
        share = min(1.0, math.fsum(weight * p for weight, p, _ in shares))  # as rounding may leave more
        spread = share * (1.0 - share)
        risen = math.fsum(weight * p * (1.0 - p) * variance for weight, p, variance in shares)
        intervals[label] = odds_interval(share, risen / spread if spread > 0.0 else 0.0, level)
    return intervals


def beta_interval(
    weight: float, other: float, level: float, mean: float | None = None
) -> tuple[float, float]:
    """Return the interval of a Beta distribution: the central one, or the nearest to it that holds the mean.

    A central interval leaves out the mean of a distribution that is very skewed, or at a very low level. `mean` is the
    mean as a model answers it, which rounding may have moved.
    """
    tail = (1.0 - level) / 2.0
    if weight <= 0.0:
        return 0.0, 0.0
    if other <= 0.0:
        return 1.0, 1.0
    mean = weight / (weight + other) if mean is None else mean
    inverse = scipy.special.betaincinv
    under = float(scipy.special.betainc(weight, other, mean))
    if under <= tail:
        return mean, float(inverse(weight, other, under + level))
    if 1.0 - under <= tail:
        return float(inverse(weight, other, under - level)), mean
    return float(inverse(weight, other, tail)), float(inverse(weight, other, 1.0 - tail))
