"""Credible intervals: exact for a Beta distribution, and from the variance of log-odds for all else, whose ends are in
`core.readings._interval_ends`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import scipy  # its submodules load on first use

from stream_bayes.core.readings._interval_ends import interval
from stream_bayes.errors import BadValue

__all__ = ["Intervals", "beta_interval", "ends_by_label", "ends_of", "odds_interval"]


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


def ends_by_label(intervals: Mapping[Any, tuple[float, float]], end: int) -> dict[Any, float]:
    """Return the lower end, 0, or the upper end, 1, of each label's interval.

    The interval of a mixture whose weights are held has the mixed ends: its parts learned from the same events, so that
    all are wrong in the same direction.
    """
    return {label: ends[end] for label, ends in intervals.items()}


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
