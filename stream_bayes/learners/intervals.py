"""How sure a probability is: credible intervals from the counts behind it.

The tables are Dirichlet posteriors, each independent of the others. The log-odds of a class is then close to a sum
of independent log-Gamma variables whose cumulants are known, so an interval is two quantiles of it, by the delta method
with a correction for skewness (Cornish and Fisher), mapped back to probabilities. Without any evidence the
posterior is a Beta distribution and the interval exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scipy.special import betaincinv, digamma, ndtri, polygamma

from stream_bayes.core.values import Value

__all__ = ["Cumulants", "beta_interval", "log_gaussian", "log_odds_interval", "log_share", "log_shares", "log_weight"]


@dataclass(frozen=True)
class Cumulants:
    """Mean, variance and third cumulant of a random logarithm; those of independent ones add up."""

    mean: float = 0.0
    variance: float = 0.0
    third: float = 0.0

    def __add__(self, other: Cumulants) -> Cumulants:
        return Cumulants(self.mean + other.mean, self.variance + other.variance, self.third + other.third)


def log_share(own: float, total: float) -> Cumulants:
    """Of the logarithm of one share of a Dirichlet distribution, with parameters `own` and their sum `total`."""
    return log_shares([(own, 1.0)], total)


def log_shares(parts: list[tuple[float, float]], total: float) -> Cumulants:
    """Of a sum of `times` * log(share) over parts (parameter, times) of one Dirichlet distribution.

    A share is a Gamma variable over their sum, and the shares are independent of that sum: so the cumulants of the
    Gammas' logarithms, less those of the sum's, are the shares'.
    """
    count = math.fsum(times for _, times in parts)
    if any(own <= 0.0 for own, times in parts if times):
        return Cumulants(-math.inf, 0.0, 0.0)
    return Cumulants(
        math.fsum(times * float(digamma(own)) for own, times in parts) - count * float(digamma(total)),
        math.fsum(times**2 * float(polygamma(1, own)) for own, times in parts) - count**2 * float(polygamma(1, total)),
        math.fsum(times**3 * float(polygamma(2, own)) for own, times in parts) - count**3 * float(polygamma(2, total)),
    )


def log_weight(own: float) -> Cumulants:
    """Of the logarithm of a share before it is divided by the sum, where that sum cancels: a Gamma variable's."""
    if own <= 0.0:
        return Cumulants(-math.inf, 0.0, 0.0)
    return Cumulants(float(digamma(own)), float(polygamma(1, own)), float(polygamma(2, own)))


def log_gaussian(away: float, variance: float, weight: float, freedom: float) -> Cumulants:
    """Of the log-density `away` from a mean of `weight` samples, the variance known with `freedom` degrees."""
    shape = freedom / 2.0
    square = away * away / variance
    mean = 0.5 * (float(digamma(shape)) - math.log(shape * variance * 2.0 * math.pi) - 1.0 / weight - square)
    spread = square / weight + 0.5 / weight**2  # of the mean
    spread += 0.25 * (float(polygamma(1, shape)) - 4.0 * square / freedom + 2.0 * square**2 / freedom)  # the variance
    return Cumulants(mean, spread, 0.0)


def beta_interval(own: float, other: float, level: float) -> tuple[float, float]:
    """The central interval of a Beta distribution."""
    tail = (1.0 - level) / 2.0
    if own <= 0.0:
        return 0.0, 0.0
    if other <= 0.0:
        return 1.0, 1.0
    return float(betaincinv(own, other, tail)), float(betaincinv(own, other, 1.0 - tail))


def log_odds_interval(
    classes: Mapping[Value, Cumulants], label: Value, level: float
) -> tuple[float, float]:
    """The interval of P(label), from the cumulants of the log P(y, x) of each class."""
    own = classes[label]
    others = {other: moments for other, moments in classes.items() if other != label and moments.mean > -math.inf}
    if own.mean == -math.inf:
        return 0.0, 0.0
    if not others:
        return 1.0, 1.0
    best = max(moments.mean for moments in others.values())
    joint = {other: math.exp(moments.mean - best) for other, moments in others.items()}
    total = math.fsum(joint.values())
    centre = own.mean - best - math.log(total)
    variance, third = own.variance, own.third
    for other, moments in others.items():
        part = joint[other] / total  # how much of the others' sum this class is: the gradient of its logarithm
        variance += part**2 * moments.variance
        third -= part**3 * moments.third
    if variance <= 0.0:
        return _logistic(centre), _logistic(centre)
    deviation = math.sqrt(variance)
    skew = third / variance**1.5
    tail = float(ndtri((1.0 + level) / 2.0))
    shift = max(-0.5, min(0.5, skew / 6.0)) * (tail * tail - 1.0)
    low, high = centre + deviation * (shift - tail), centre + deviation * (shift + tail)
    return _logistic(low), _logistic(high)


def _logistic(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-odds)) if odds >= 0 else math.exp(odds) / (1.0 + math.exp(odds))
