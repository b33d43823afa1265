"""Numbers as normal scores of their ranks: a Gaussian copula, whatever shape each variable has by itself.

A number x becomes the quantile of the standard normal distribution at its rank among the numbers of a window. Between
at most `KNOTS` quantiles of these the score is linear. Beyond the outer ones it goes on with the slope of the last part
and bends to a logarithm, so that a tail is at least as heavy as a log-normal one:

    z(x) = z_k + slope r log(1 + (x - x_k) / r)        r: from the middle knot to the outer one

The density of x is that of z times dz/dx, so losses compare with those of numbers as they are.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import NDArray

from stream_bayes.core.measures.student_mixture import StudentMixture
from stream_bayes.core.values.checks import expect

__all__ = ["NormalScores", "ScoredMixture"]

KNOTS = 32
EVENTS_A_KNOT = 8  # at least: fewer tell little of a quantile
CLOSEST = 1e-12  # of the range: knots nearer to one another are one
SMALLEST = 1e-280  # a range below it has no slope that is a number
QUANTILES = (np.arange(64) + 0.5) / 64.0  # of each component, of which the mean is taken


class NormalScores:
    """The map from a variable's numbers to normal scores, and back. `knots` ascend, and `scores` are theirs.

    Examples
    --------
    >>> scores = NormalScores.of(np.exp(np.random.default_rng(1).standard_normal(2_000)), np.ones(2_000))
    >>> [round(scores.score(math.exp(z)), 1) for z in (-1.0, 0.0, 1.0)], round(scores.number(scores.score(7.0)), 6)
    ([-1.0, 0.0, 1.0], 7.0)
    """

    def __init__(self, knots: Sequence[float], scores: Sequence[float]) -> None:
        self.knots, self.scores = tuple(knots), tuple(scores)
        if len(knots) == 1:  # numbers that do not differ: a thousandth of their size is the unit
            self._slopes: tuple[float, ...] = (1.0 / (1e-3 * abs(self.knots[0]) or 1.0),)
            self._reach = self._reach_above = 1.0 / self._slopes[0]
            return
        pairs = zip(np.diff(self.scores).tolist(), np.diff(self.knots).tolist(), strict=True)
        self._slopes = tuple(rise / run for rise, run in pairs)
        middle = self.knots[len(self.knots) // 2]
        self._reach = max(middle - self.knots[0], self.knots[1] - self.knots[0])
        self._reach_above = max(self.knots[-1] - middle, self.knots[-1] - self.knots[-2])

    @classmethod
    def of(cls, numbers: NDArray[np.float64], weights: NDArray[np.float64]) -> Self:
        """Return the scores of some numbers, each with a weight above 0."""
        values, code = np.unique(numbers, return_inverse=True)
        at = np.bincount(code, weights)
        share = (np.cumsum(at) - 0.5 * at) / at.sum()  # the middle of the ranks that equal numbers have
        span = float(values[-1] - values[0])
        if span < SMALLEST or not math.isfinite(span):
            return cls([float(np.average(values, weights=at))], [0.0])
        most = min(KNOTS, max(len(numbers) // EVENTS_A_KNOT, 2))
        if len(values) > most:
            wanted = (np.arange(most) + 0.5) / most
            chosen = np.unique(np.searchsorted(share, wanted).clip(0, len(values) - 1))
            values, share = values[chosen], share[chosen]
        apart = [0]
        for k in range(1, len(values)):
            if values[k] - values[apart[-1]] > CLOSEST * span:
                apart.append(k)
        return cls(values[apart].tolist(), scipy.special.ndtri(share[apart]).tolist())

    def score(self, x: float) -> float:
        """Return the score of a number."""
        knots, scores = self.knots, self.scores
        if x < knots[0]:
            return scores[0] - self._slopes[0] * self._reach * math.log1p((knots[0] - x) / self._reach)
        if x >= knots[-1]:
            beyond = math.log1p((x - knots[-1]) / self._reach_above)
            return scores[-1] + self._slopes[-1] * self._reach_above * beyond
        k = bisect_right(knots, x) - 1
        return scores[k] + self._slopes[k] * (x - knots[k])

    def log_slope(self, x: float) -> float:
        """Return the logarithm of the slope of the score at a number."""
        knots = self.knots
        if x < knots[0]:
            return math.log(self._slopes[0]) - math.log1p((knots[0] - x) / self._reach)
        if x >= knots[-1]:
            return math.log(self._slopes[-1]) - math.log1p((x - knots[-1]) / self._reach_above)
        return math.log(self._slopes[bisect_right(knots, x) - 1])

    def number(self, z: float) -> float:
        """Return the number with a score; infinite beyond the largest double."""
        knots, scores = self.knots, self.scores
        if z < scores[0]:
            return knots[0] - _bent((scores[0] - z) / self._slopes[0], self._reach)
        if z >= scores[-1]:
            return knots[-1] + _bent((z - scores[-1]) / self._slopes[-1], self._reach_above)
        k = bisect_right(scores, z) - 1
        return knots[k] + (z - scores[k]) / self._slopes[k]

    def to_json(self) -> list[list[float]]:
        """Return the map as JSON values; `from_json` is the inverse."""
        return [list(self.knots), list(self.scores)]

    @classmethod
    def from_json(cls, saved: Any) -> Self:
        """Return the map that was saved. Raise `BadState` for an invalid one."""
        for each in saved:
            expect(all(type(x) is float and math.isfinite(x) for x in each), "a knot is no number")
            expect(all(low < high for low, high in pairwise(each)), "its knots do not ascend")
        expect(len(saved) == 2 and len(saved[0]) == len(saved[1]) > 0, "it has no score for each knot")
        return cls(*saved)


def _bent(beyond: float, reach: float) -> float:
    """Return how far beyond the outer knot a number is whose score lies so far beyond it by the outer slope."""
    try:
        return reach * math.expm1(beyond / reach)
    except OverflowError:
        return math.inf


class ScoredMixture(StudentMixture):
    """The distribution of a number whose normal score has a mixture of Student's t distributions.

    Mean, deviation and entropy are over 64 quantiles of each component: a tail may be so heavy that it has no mean.
    """

    def __init__(self, of_score: StudentMixture, scores: NormalScores) -> None:
        super().__init__(of_score.weights, of_score.components)
        self.of_score = of_score
        self.scores = scores

    def _average(self, numbers: list[list[float]]) -> float:
        parts = zip(self.weights, numbers, strict=True)
        return math.fsum(weight * math.fsum(each) / len(QUANTILES) for weight, each in parts)

    def _numbers(self) -> list[list[float]]:
        """Return the quantiles of each component, at most the largest number that is learned."""
        return [
            [min(max(self.scores.number(each.quantile(p)), -1e100), 1e100) for p in QUANTILES.tolist()]
            for each in self.components
        ]

    @property
    def method(self) -> str:  # type: ignore[override]  # a constant there
        """The way in which the distribution of the score was found."""
        return self.of_score.method

    def reliability(self, means: Sequence[float]) -> Any:
        """Return how reliable the mean is, where the components have these means; None if exact."""
        return self.of_score.reliability(means)

    @property
    def means(self) -> list[float]:
        """The mean of each component, over quantiles."""
        return [math.fsum(each) / len(QUANTILES) for each in self._numbers()]

    @property
    def mean(self) -> float:
        """The mean over quantiles."""
        return self._average(self._numbers())

    @property
    def standard_deviation(self) -> float:
        """The standard deviation over quantiles."""
        numbers = self._numbers()
        mean = self._average(numbers)
        return math.sqrt(self._average([[(x - mean) ** 2 for x in each] for each in numbers]))

    def log_density(self, y: float) -> float:
        """Return the logarithm of the density at a number."""
        return self.of_score.log_density(self.scores.score(y)) + self.scores.log_slope(y)

    def below(self, y: float) -> float:
        """Return the probability that the number is below another one: the probability integral transform."""
        return self.of_score.below(self.scores.score(y))

    def quantile(self, p: float) -> float:
        """Return the number that this one is below with a probability."""
        return self.scores.number(self.of_score.quantile(p))

    @property
    def entropy(self) -> float:
        """The mean of minus the logarithm of the density, over quantiles."""
        return -self._average([[self.log_density(x) for x in each] for each in self._numbers()])
