"""A mixture of Student's t distributions of a number, as a network forecasts it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.measures.truncated_student import TruncatedStudent

__all__ = ["StudentMixture"]

BISECTIONS = 200  # halve any interval of doubles to two neighbours
FAR = 1e-12  # of probability: the quantiles of components beyond which no quantile of the mixture lies


class StudentMixture:
    """The distribution of a number as a weighted sum of Student's t distributions. The weights sum to 1. The components
    are whole or between bounds; infinite degrees of freedom make a Gaussian.

    Examples
    --------
    >>> forecast = StudentMixture([0.25, 0.75], [StudentT(0.0, 1.0, math.inf), StudentT(4.0, 1.0, math.inf)])
    >>> forecast.mean, round(forecast.standard_deviation, 3), round(forecast.quantile(0.5), 3)
    (3.0, 2.0, 3.569)
    >>> [round(bound, 2) for bound in forecast.interval(0.9)]
    [-0.84, 5.5]
    """

    method = "exact"  # how the distribution was found

    def __init__(self, weights: Sequence[float], components: Sequence[StudentT | TruncatedStudent]) -> None:
        self.weights = tuple(weights)
        self.components = tuple(components)

    def reliability(self, means: Sequence[float]) -> Any:
        """Return how reliable the mean is, if the components come from draws and have these means; None if exact."""
        return None

    @property
    def sampled(self) -> Any:
        """The reliability of an answer from draws, with the standard error of its `"mean"`; None if it is exact."""
        return self.reliability(self.means)

    @property
    def means(self) -> list[float]:
        """The mean of each component."""
        return [each.mean for each in self.components]

    @property
    def mean(self) -> float:
        """The mean."""
        parts = zip(self.weights, self.means, strict=True)
        return math.fsum(weight * mean for weight, mean in parts)

    @property
    def standard_deviation(self) -> float:
        """The standard deviation; infinite if a component has two degrees of freedom or fewer."""
        mean = self.mean
        variance = 0.0
        for weight, each in zip(self.weights, self.components, strict=True):
            variance += weight * (each.standard_deviation**2 + (each.mean - mean) ** 2)
        return math.sqrt(variance)

    @property
    def median(self) -> float:
        """The median."""
        return self.quantile(0.5)

    def log_density(self, y: float) -> float:
        """Return the logarithm of the density at a number."""
        logs = [
            math.log(weight) + each.log_density(y)
            for weight, each in zip(self.weights, self.components, strict=True)
            if weight > 0.0
        ]
        most = max(logs)
        if len(logs) == 1 or not math.isfinite(most):
            return most
        return most + math.log(math.fsum(math.exp(log - most) for log in logs))

    def density(self, y: float) -> float:
        """Return the density at a number."""
        return math.exp(self.log_density(y))

    def below(self, y: float) -> float:
        """Return the probability that the number is below another one: the probability integral transform."""
        parts = zip(self.weights, self.components, strict=True)
        return min(1.0, math.fsum(weight * each.below(y) for weight, each in parts))

    def quantile(self, p: float) -> float:
        """Return the number that this one is below with a probability."""
        if len(self.components) == 1:
            return self.components[0].quantile(p)
        ends = [each.quantile(q) for each in self.components for q in (min(p, FAR), p, max(p, 1.0 - FAR))]
        low, high = min(ends), max(ends)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            low, high = (middle, high) if self.below(middle) < p else (low, middle)
        return high

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval that holds the number with a probability, with equal tails."""
        tail = 0.5 - 0.5 * level
        return self.quantile(tail), self.quantile(1.0 - tail)

    @property
    def entropy(self) -> float:
        """The mean of minus the logarithm of the density, over sixteen quantiles of each component."""
        shares = ((np.arange(16) + 0.5) / 16.0).tolist()
        parts = [
            (weight, each) for weight, each in zip(self.weights, self.components, strict=True) if weight > 0.0
        ]
        ys = np.array([each.quantile(share) for _, each in parts for share in shares])
        logs = np.full(len(ys), -math.inf)
        for weight, each in parts:
            logs = np.logaddexp(logs, math.log(weight) + each.log_densities(ys))
        weights = np.repeat([weight for weight, _ in parts], len(shares))
        return -math.fsum((weights * logs).tolist()) / len(shares)

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        return f"StudentMixture(mean={self.mean:.6g}, interval=({low:.6g}, {high:.6g}), parts={len(self.weights)})"
