"""Gaussian processes over a few hundred events: the kernel, the posterior, and the lengths with the largest evidence.

    y = a + f(x) + noise       p(a, s) ~ 1 / s^2      noise ~ N(0, s^2 / w)      f ~ GP(0, s^2 ratio k)
    k(x, x') = product over features of  exp(-(z - z')^2 / (2 length^2))  of numbers, in deviations,
                                         exp(-1 / length^2)               of values that differ
    A = 1 / w + ratio K        a = 1 A^-1 y / 1 A^-1 1      S = (y - a) A^-1 (y - a)      W: the weight of all events
    y(x) ~ Student t with W - 1 degrees of freedom about  a + ratio k A^-1 (y - a)
    scale^2 = S / (W - 1) (1 + ratio - ratio^2 k A^-1 k + (1 - ratio 1 A^-1 k)^2 / 1 A^-1 1)

A number that is missing is one drawn from a normal distribution: its kernel is the mean over that.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import NDArray

__all__ = ["GaussianKernel", "ProcessPosterior", "UncertainRows", "Units", "climb"]

Floats = NDArray[np.float64]

FARTHEST = 1e6  # deviations; farther numbers count as this far
LEAST_SQUARES = 1e-12  # share of the targets' squares that is left at least: less is rounding
# Deviation of the prior of a length, in octaves about twice the root of the number of features.
LENGTH_SPREAD = 2.0
LEAST_NOISE = 1e-10  # share of the process's variance: less is rounding
FIRST_RATIO = 10.0  # mean of the prior of the ratio, which has a deviation of a decade
MOST_STEPS = 200  # of a climb


class Units(NamedTuple):
    """The means and deviations of numbers; a deviation of 0 for a nominal feature."""

    mean: Floats
    deviation: Floats

    def apply(self, rows: Floats) -> Floats:
        """Return rows with their numbers in deviations; codes of values stay as they are."""
        is_number = self.deviation > 0.0
        z = (rows - np.where(is_number, self.mean, 0.0)) / np.where(is_number, self.deviation, 1.0)
        return np.where(is_number, np.clip(z, -FARTHEST, FARTHEST), z)


class UncertainRows(NamedTuple):
    """Rows of features, and the variance of each: 0 but for numbers that are not known."""

    means: Floats
    variances: Floats


class GaussianKernel(NamedTuple):
    """The kernel of a process over rows of features.

    Examples
    --------
    >>> kernel = GaussianKernel(np.array([False]), np.array([1.0]))
    >>> one = UncertainRows(np.array([[0.0], [0.0]]), np.array([[0.0], [1.0]]))
    >>> kernel.between(one, UncertainRows(np.array([[0.0], [2.0]]), np.zeros((2, 1)))).round(3).tolist()
    [[1.0, 0.135], [0.707, 0.26]]
    """

    is_nominal: NDArray[np.bool_]  # for each feature, True if its numbers are codes of values
    lengths: Floats  # for each feature, the distance in deviations over which the target changes

    def part(self, feature: int, one: UncertainRows, other: UncertainRows) -> Floats:
        """Return the logarithm of a feature's factor between each pair of a row of the one and a row of the other."""
        square = float(self.lengths[feature]) ** 2
        apart = one.means[:, None, feature] - other.means[None, :, feature]
        if self.is_nominal[feature]:
            return np.where(apart == 0.0, 0.0, -1.0 / square)
        log: Floats = -0.5 / square * np.square(apart)
        variances, others = one.variances[:, feature], other.variances[:, feature]
        if variances.any() or others.any():
            own = variances[:, None] if variances.any() else 0.0
            share = square / (square + own + others)
            log = log * share + 0.5 * np.log(share)
        return log

    def between(self, one: UncertainRows, other: UncertainRows) -> Floats:
        """Return the kernel of each pair of a row of the one and a row of the other."""
        log = np.zeros((len(one.means), len(other.means)))
        for feature in range(len(self.lengths)):
            log += self.part(feature, one, other)
        return np.exp(log)

    def among(self, rows: UncertainRows) -> Floats:
        """Return the kernel among rows; that of a row with itself is 1 also where numbers are missing."""
        kernel = self.between(rows, rows)
        np.fill_diagonal(kernel, 1.0)
        return kernel


class ProcessPosterior:
    """The posterior of a process, given targets. `kernel` is the one among their events. Two of the targets differ.
    `ratio` is the variance of the process over that of the noise.

    Attributes
    ----------
    mean
        The mean of the process, far from all events.
    """

    def __init__(self, kernel: Floats, targets: Floats, weights: Floats, ratio: float) -> None:
        self.ratio = ratio
        self.degrees = float(weights.sum()) - 1.0
        self._factor = scipy.linalg.cholesky(
            ratio * kernel + np.diag(np.maximum(1.0 / weights, LEAST_NOISE * ratio)),
            lower=True,
            check_finite=False,
        )
        ones, half = self._solved(np.ones(len(targets))), self._solved(targets)
        self._ones, self._ones_square = ones, float(ones @ ones)
        self.mean = float(ones @ half) / self._ones_square
        self._rest = half - self.mean * ones
        spread = float(weights @ np.square(targets - weights @ targets / weights.sum()))
        self.left = max(float(self._rest @ self._rest), LEAST_SQUARES * spread)
        self._log_weights = float(np.log(weights).sum())

    def _solved(self, right: Floats) -> Floats:
        return scipy.linalg.solve_triangular(self._factor, right, lower=True, check_finite=False)

    def log_evidence(self) -> float:
        """Return the logarithm of the marginal likelihood of the targets, but for what depends on weights alone."""
        half = 0.5 * self.degrees
        spent = float(np.log(np.diag(self._factor)).sum()) + 0.5 * self._log_weights
        return (
            math.lgamma(half)
            - half * (math.log(math.pi) + math.log(self.left))
            - spent
            - 0.5 * math.log(self._ones_square)
        )

    def forecast(self, kernels: Floats) -> tuple[Floats, Floats]:
        """Return locations and scales of the targets of events, given their kernels with the others, a row each."""
        solved = self._solved(kernels.T)
        locations = self.mean + self.ratio * (self._rest @ solved)
        squares = 1.0 + self.ratio - self.ratio**2 * np.square(solved).sum(axis=0)
        squares += (1.0 - self.ratio * (self._ones @ solved)) ** 2 / self._ones_square
        return locations, np.sqrt(self.left / self.degrees * np.maximum(squares, 1.0))

    def combined(self, kernels: Floats, among: Floats, shares: Floats) -> tuple[float, float]:
        """Return mean and deviation of a sum of values of the process, whose shares add up to 0.

        `kernels` has a row for each value, `among` their kernels with one another.
        """
        solved = self._solved(kernels.T @ shares)
        location = self.ratio * float(solved @ self._rest)
        square = self.ratio * float(shares @ among @ shares) - self.ratio**2 * float(solved @ solved)
        square += (self.ratio * float(solved @ self._ones)) ** 2 / self._ones_square
        return location, math.sqrt(max(0.0, square) * self.left / self.degrees)

    def draw(self, kernels: Floats, among: Floats, rng: np.random.Generator) -> Floats:
        """Return values of the process, drawn together from the posterior."""
        solved = scipy.linalg.solve_triangular(self._factor, kernels.T, lower=True, check_finite=False)
        location = self.mean + self.ratio * (solved.T @ self._rest)
        apart = 1.0 - self.ratio * (solved.T @ self._ones)
        covariance = (
            self.ratio * among
            - self.ratio**2 * (solved.T @ solved)
            + np.outer(apart, apart) / self._ones_square
        )
        noise = self.left / rng.chisquare(self.degrees)
        values, directions = np.linalg.eigh(0.5 * (covariance + covariance.T))
        drawn = directions @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(len(values)))
        return location + math.sqrt(noise) * drawn


def climb(
    rows: UncertainRows, is_nominal: NDArray[np.bool_], targets: Floats, weights: Floats, start: Floats
) -> Floats:
    """Return the logarithms of lengths, in octaves, and of the ratio, in decades, with the largest posterior.

    It climbs from `start`: one of them at a time, by steps of an octave or half a decade.
    """
    center = math.log2(2.0 * math.sqrt(max(1, len(start) - 1)))
    present = np.array(start, float)

    def parts_of(feature: int, octave: float) -> Floats:
        kernel = GaussianKernel(is_nominal, np.full(len(is_nominal), 2.0**octave))
        part = kernel.part(feature, rows, rows)
        np.fill_diagonal(part, 0.0)
        return part

    def score(log: Floats, logs: Floats) -> float:
        posterior = ProcessPosterior(np.exp(log), targets, weights, 10.0 ** float(logs[-1]))
        prior = (
            np.square((logs[:-1] - center) / LENGTH_SPREAD).sum() + (logs[-1] - math.log10(FIRST_RATIO)) ** 2
        )
        return posterior.log_evidence() - 0.5 * float(prior)

    parts = [parts_of(feature, present[feature]) for feature in range(len(is_nominal))]
    log = np.sum(parts, axis=0) if parts else np.zeros((len(targets), len(targets)))
    best, steps, moved = score(log, present), 0, True
    while moved and steps < MOST_STEPS:
        moved = False
        for at in range(len(present)):
            for direction in (1.0, -1.0):
                while steps < MOST_STEPS:
                    steps += 1
                    tried = present.copy()
                    tried[at] += direction * (0.5 if at == len(parts) else 1.0)
                    if abs(tried[at] - (center if at < len(parts) else 1.0)) > 6.0:
                        break
                    part = parts_of(at, tried[at]) if at < len(parts) else None
                    other = log if part is None else log - parts[at] + part
                    reached = score(other, tried)
                    if reached <= best:
                        break
                    best, present, log, moved = reached, tried, other, True
                    if part is not None:
                        parts[at] = part
    return present
