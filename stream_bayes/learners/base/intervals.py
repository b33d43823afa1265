"""Credible intervals of probabilities, from the counts behind them.

The tables are Dirichlet posteriors, independent of each other. The log-odds of a class is then close to a sum of
independent log-Gamma variables whose cumulants are known. An interval is two quantiles of that sum, mapped back to
probabilities: the delta method, with a correction for skewness (Cornish and Fisher). The odds are against all other
classes together. The logarithm of their sum is not a sum of logarithms, so its cumulants are computed by quadrature.
Without any evidence the posterior is a Beta distribution and the interval is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import NDArray

from stream_bayes.core.values.values import Value

__all__ = [
    "Cumulants",
    "beta_interval",
    "log_gaussian",
    "log_mean",
    "log_odds_interval",
    "log_share",
    "log_shares",
    "log_weight",
    "logistic_interval",
]

# Gauss and Hermite's points for a normal variable, and the weights of each pair of them.
_POINTS, _LINE = np.polynomial.hermite_e.hermegauss(21)
_WEIGHTS = np.outer(_LINE, _LINE) / _LINE.sum() ** 2


@dataclass(frozen=True)
class Cumulants:
    """Mean, variance and third cumulant of a random logarithm; those of independent ones add up."""

    mean: float = 0.0
    variance: float = 0.0
    third: float = 0.0

    def __add__(self, other: Cumulants) -> Cumulants:
        return Cumulants(self.mean + other.mean, self.variance + other.variance, self.third + other.third)


def log_share(own: float, total: float) -> Cumulants:
    """Return the cumulants of the logarithm of one share of a Dirichlet distribution: parameter `own`, sum `total`."""
    return log_shares([(own, 1.0)], total)


def log_shares(parts: list[tuple[float, float]], total: float) -> Cumulants:
    """Return the cumulants of a sum of `times` * log(share) over parts (parameter, times) of one Dirichlet.

    A share is a Gamma variable divided by the sum of all of them, and is independent of that sum. So its cumulants are
    those of the Gamma's logarithm less those of the sum's.
    """
    count = math.fsum(times for _, times in parts)
    if any(own <= 0.0 for own, times in parts if times):
        return Cumulants(-math.inf, 0.0, 0.0)
    return Cumulants(
        math.fsum(times * _digamma(own) for own, times in parts) - count * _digamma(total),
        math.fsum(times**2 * _polygamma(1, own) for own, times in parts) - count**2 * _polygamma(1, total),
        math.fsum(times**3 * _polygamma(2, own) for own, times in parts) - count**3 * _polygamma(2, total),
    )


def log_weight(own: float) -> Cumulants:
    """Return the cumulants of the logarithm of a Gamma variable: a share before its division by a sum that cancels."""
    if own <= 0.0:
        return Cumulants(-math.inf, 0.0, 0.0)
    return Cumulants(_digamma(own), _polygamma(1, own), _polygamma(2, own))


def log_mean(parts: list[Cumulants]) -> Cumulants:
    """Return the cumulants of the logarithm of a sum of independent variables.

    They are of first order in each variable's logarithm; the mean is of second order.
    """
    possible = [part for part in parts if part.mean > -math.inf]
    if not possible:
        return Cumulants(-math.inf, 0.0, 0.0)
    means = np.array([part.mean for part in possible])
    variances = np.array([part.variance for part in possible])
    thirds = np.array([part.third for part in possible])
    top = means.max()
    shares = np.exp(means - top)
    total = shares.sum()
    shares /= total
    return Cumulants(
        float(top + math.log(total) + 0.5 * (shares * (1.0 - shares) * variances).sum()),
        float((shares**2 * variances).sum()),
        float((shares**3 * thirds).sum()),
    )


def log_gaussian(away: float, variance: float, weight: float, freedom: float) -> Cumulants:
    """Return the cumulants of a Gaussian's log-density at a distance `away` from its mean.

    The mean is that of `weight` samples; the variance has `freedom` degrees of freedom.
    """
    shape = freedom / 2.0
    square = away * away / variance
    mean = 0.5 * (_digamma(shape) - math.log(shape * variance * 2.0 * math.pi) - 1.0 / weight - square)
    spread = square / weight + 0.5 / weight**2  # of the mean
    by_variance = _polygamma(1, shape) - 4.0 * square / freedom + 2.0 * square**2 / freedom
    spread += 0.25 * by_variance
    return Cumulants(mean, spread, 0.0)


def beta_interval(own: float, other: float, level: float) -> tuple[float, float]:
    """Return the central interval of a Beta distribution."""
    tail = (1.0 - level) / 2.0
    if own <= 0.0:
        return 0.0, 0.0
    if other <= 0.0:
        return 1.0, 1.0
    return float(scipy.special.betaincinv(own, other, tail)), float(
        scipy.special.betaincinv(own, other, 1.0 - tail)
    )


def log_odds_interval(classes: Mapping[Value, Cumulants], label: Value, level: float) -> tuple[float, float]:
    """Return the interval of P(label), from the cumulants of log P(y, x) of each class."""
    own = classes[label]
    others = {
        other: moments for other, moments in classes.items() if other != label and moments.mean > -math.inf
    }
    if own.mean == -math.inf:
        return 0.0, 0.0
    if not others:
        return 1.0, 1.0
    against = _log_sum(list(others.values()))
    odds = Cumulants(own.mean - against.mean, own.variance + against.variance, own.third - against.third)
    return logistic_interval(odds, level)


def logistic_interval(odds: Cumulants, level: float) -> tuple[float, float]:
    """Return the interval of a probability, from the cumulants of its log-odds."""
    if odds.variance <= 0.0:
        return _logistic(odds.mean), _logistic(odds.mean)
    deviation = math.sqrt(odds.variance)
    tail = float(scipy.special.ndtri((1.0 + level) / 2.0))
    shift = _skew(odds.variance, odds.third) * (tail * tail - 1.0)
    return _logistic(odds.mean + deviation * (shift - tail)), _logistic(
        odds.mean + deviation * (shift + tail)
    )


def _digamma(x: float) -> float:
    return float(scipy.special.digamma(x))


def _polygamma(order: int, x: float) -> float:
    return float(scipy.special.polygamma(order, x))


def _skew(variance: float, third: float) -> float:
    """Return a sixth of the skewness, bounded so that the correction with it stays monotone."""
    return max(-0.5, min(0.5, third / variance**1.5 / 6.0)) if variance > 0.0 else 0.0


def _log_sum(parts: list[Cumulants]) -> Cumulants:
    """Return the cumulants of log(sum of exp) of independent logarithms, two at a time, by quadrature."""
    so_far = parts[0]
    for part in parts[1:]:
        both = np.logaddexp(*np.meshgrid(_nodes(so_far), _nodes(part)))
        mean = float((both * _WEIGHTS).sum())
        so_far = Cumulants(
            mean, float(((both - mean) ** 2 * _WEIGHTS).sum()), float(((both - mean) ** 3 * _WEIGHTS).sum())
        )
    return so_far


def _nodes(part: Cumulants) -> NDArray[np.float64]:
    """Return the points of the quadrature for a skewed normal."""
    skewed: NDArray[np.float64] = _POINTS + _skew(part.variance, part.third) * (_POINTS**2 - 1.0)
    return part.mean + math.sqrt(max(part.variance, 0.0)) * skewed


def _logistic(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-odds)) if odds >= 0 else math.exp(odds) / (1.0 + math.exp(odds))
