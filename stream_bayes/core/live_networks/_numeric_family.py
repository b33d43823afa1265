"""The posterior of a number given its numeric parents, in one configuration of the names above it, and a name's share.

`mixed_families` has the formulas. `NumericFamily` reads the sums of a store, factors them once, and is then asked for
distributions; a family that is read again for each event makes no arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import cython
import numpy as np
from cython.cimports.libc.math import hypot, lgamma, log, sqrt

from stream_bayes.core.measures.student_t import StudentT

if not cython.compiled:
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.counts._moments import CoMoments, Gaussians
    from stream_bayes.core.counts._values import ValueCounts

# Events, of the prior's mean and squares: a number may follow its parents much closer than it varies.
LIGHT = 0.1
FARTHEST = cython.declare(cython.double, 1e100)  # deviations: the square is finite
# Pivot of a row: less is rounding, and the prior keeps it above 0.
LEAST_PIVOT = cython.declare(cython.double, 1e-15)
LEAST_SPREAD = cython.declare(cython.double, 1e-9)  # of the size of numbers: with less they do not differ
# Part of the size of equal numbers, which tell nothing of their spread.
ASSUMED_SPREAD = cython.declare(cython.double, 1e-3)
LOG_PI = cython.declare(cython.double, 1.1447298858494002)


class LinearGaussian(NamedTuple):
    """The Gaussian of a number given its numeric parents: its mean is linear in them."""

    intercept: float
    slopes: tuple[float, ...]
    variance: float


@cython.cfunc
@cython.returns((cython.double, cython.double, cython.double))
def unit_of(numbers: Gaussians, slot: cython.Py_ssize_t):
    """Return the weight, the mean and the deviation of a variable alone; slot -1 is of one that never came."""
    cell: cython.Py_ssize_t = slot * numbers.classes
    if slot < 0 or numbers.weight[cell] <= 0.0:
        return 0.0, 0.0, 1.0
    numbers.settle(cell)
    weight: cython.double = numbers.weight[cell]
    mean: cython.double = numbers.mean[cell]
    spread: cython.double = sqrt(max(numbers.m2[cell], 0.0) / weight)
    size: cython.double = abs(mean)
    if not (spread > LEAST_SPREAD * size and spread > 0.0):
        spread = ASSUMED_SPREAD * size
    return weight, mean, spread if spread > 0.0 else 1.0


def marginal_of(numbers: Gaussians, slot: cython.Py_ssize_t) -> tuple:
    """Return the weight of a numeric variable by itself, its mean, and a deviation that is above 0."""
    weight, mean, spread = unit_of(numbers, slot)
    return float(weight), float(mean), float(spread)


def cell_of(
    values: ValueCounts, slot: cython.Py_ssize_t, code: cython.Py_ssize_t, label: cython.Py_ssize_t
) -> tuple:
    """Return the weight of a value in a configuration, and that of all values there; code -1 is of an unknown value."""
    layout: Layout = values.layout
    first: cython.longlong = layout.start[slot]
    total: cython.double = 0.0
    k: cython.Py_ssize_t
    for k in range(layout.used[slot]):
        total += values.weight[(first + k) * layout.classes + label]
    weight: cython.double = values.weight[(first + code) * layout.classes + label] if code >= 0 else 0.0
    return float(weight), float(total)


@cython.cclass
class NumericFamily:
    """The posterior of a number given `size - 1` numeric parents. `strength` is the weight of the prior, in events.

    Parents come first and the number last, in `centre` and `spread` (what each is alone), `mean` (in these units) and
    `factor`, the lower triangle of T by rows. `freedom` are the degrees f, `weight` is that of the mean.
    """

    def __init__(self, size: cython.Py_ssize_t, strength: cython.double):
        self.size = size
        self.strength = strength
        self.prior = LIGHT * strength
        self.centre = np.zeros(size)
        self.spread = np.ones(size)
        self.mean = np.zeros(size)
        self.partial = np.zeros(size)
        self.factor = np.zeros(size * size)
        self.derive(0.0)

    def fill(self, units, weight: cython.double, means, products):
        """Take sums: of each number what it is alone, the weight, the means, and the products about them."""
        for i in range(self.size):
            _, self.centre[i], self.spread[i] = units[i]
            self.mean[i] = means[i]
            for j in range(i + 1):
                self.factor[i * self.size + j] = products[i][j]
        self.derive(weight)

    @cython.ccall
    def read(
        self, alone: Gaussians, slots: tuple, numbers: Gaussians, pairs: CoMoments, label: cython.Py_ssize_t
    ):
        """Read the sums of a configuration. `alone` has what each variable is by itself, in `slots`; label -1 is of a
        configuration without events.
        """
        self.begin(alone, slots)
        self.derive(self.take(numbers, pairs, label, 0.0))

    @cython.ccall
    def read_both(
        self,
        alone: Gaussians,
        slots: tuple,
        numbers: Gaussians,
        pairs: CoMoments,
        label: cython.Py_ssize_t,
        other_numbers: Gaussians,
        other_pairs: CoMoments,
        other_label: cython.Py_ssize_t,
    ):
        """Read the sums of a configuration in two stores, as if one had them all."""
        self.begin(alone, slots)
        weight: cython.double = self.take(numbers, pairs, label, 0.0)
        self.derive(self.take(other_numbers, other_pairs, other_label, weight))

    @cython.cfunc
    def begin(self, alone: Gaussians, slots: tuple):
        """Take the units of variables, and no sums."""
        n: cython.Py_ssize_t = self.size
        for i in range(n):
            _, self.centre[i], self.spread[i] = unit_of(alone, cython.cast(cython.Py_ssize_t, slots[i]))
            self.mean[i] = 0.0
        for i in range(n * n):
            self.factor[i] = 0.0

    @cython.cfunc
    @cython.returns(cython.double)
    def take(self, numbers: Gaussians, pairs: CoMoments, label: cython.Py_ssize_t, before: cython.double):
        """Add the sums of a configuration to those of a weight `before`, and return the weight of both."""
        n: cython.Py_ssize_t = self.size
        weight: cython.double = numbers.weight[(n - 1) * numbers.classes + label] if label >= 0 else 0.0
        if weight <= 0.0:
            return before
        between: cython.double = before * weight / (before + weight)
        for i in range(n):
            cell = i * numbers.classes + label
            numbers.settle(cell)
            self.partial[i] = numbers.mean[cell] - self.mean[i]
            self.factor[i * n + i] += max(numbers.m2[cell], 0.0)
            for j in range(i):
                self.factor[i * n + j] += pairs.product(i, j, label, numbers, 0.0)
        for i in range(n):
            for j in range(i + 1 if before else 0):
                self.factor[i * n + j] += between * self.partial[i] * self.partial[j]
            self.mean[i] += self.partial[i] * (weight / (before + weight))
        return before + weight

    @cython.cfunc
    def derive(self, weight: cython.double):
        """Make means and products of sums the posterior's mean and factor."""
        n: cython.Py_ssize_t = self.size
        prior: cython.double = self.prior
        self.freedom = self.strength + 2.0 + weight
        self.weight = prior + weight
        between: cython.double = prior * weight / self.weight
        for i in range(n):
            self.partial[i] = (self.mean[i] - self.centre[i]) / self.spread[i] if weight else 0.0
            self.mean[i] = weight * self.partial[i] / self.weight
        for i in range(n):
            for j in range(i + 1):
                left = self.factor[i * n + j] / self.spread[i] / self.spread[j]
                left += between * self.partial[i] * self.partial[j]
                if i == j:
                    left += prior
                row = left
                for k in range(j):
                    left -= self.factor[i * n + k] * self.factor[j * n + k]
                if i == j:
                    self.factor[i * n + i] = sqrt(max(left, LEAST_PIVOT * row))
                else:
                    self.factor[i * n + j] = left / self.factor[j * n + j]

    @cython.cfunc
    @cython.returns((cython.double, cython.double))
    def locate(self, numbers: list):
        """Return the mean given the parents' numbers, in units of the variable, and how far out these are, squared."""
        n: cython.Py_ssize_t = self.size
        away: cython.double = 0.0
        mean: cython.double = self.mean[n - 1]
        for i in range(n - 1):
            left = (cython.cast(cython.double, numbers[i]) - self.centre[i]) / self.spread[i]
            left = min(max(left, -FARTHEST), FARTHEST) - self.mean[i]
            for j in range(i):
                left -= self.factor[i * n + j] * self.partial[j]
            self.partial[i] = left / self.factor[i * n + i]
            mean += self.factor[(n - 1) * n + i] * self.partial[i]
            away += self.partial[i] * self.partial[i]
        return mean, away

    @cython.cfunc
    @cython.returns((cython.double, cython.double, cython.double))
    def student(self, numbers: list):
        """Return location, scale and degrees of the variable's distribution given its parents' numbers."""
        mean, away = self.locate(numbers)
        degrees: cython.double = self.freedom + self.size - 1
        # T (n + r + 1) / (n + r) / f is the scale of all numbers together; conditioning adds the parents' distance.
        more: cython.double = (self.weight + 1.0) / self.weight
        last: cython.double = self.factor[self.size * self.size - 1]
        unit: cython.double = self.spread[self.size - 1]
        return (
            self.centre[self.size - 1] + unit * mean,
            unit * sqrt(last * last * (more + away) / degrees),
            degrees,
        )

    def mean_at(self, numbers: list) -> tuple:
        """Return the mean given the parents' numbers, in units of the variable, and how far out these are, squared."""
        mean, away = self.locate(numbers)
        return float(mean), float(away)

    def predict(self, numbers: list) -> StudentT:
        """Return the distribution of the variable given its parents' numbers."""
        location, scale, degrees = self.student(numbers)
        return StudentT(float(location), float(scale), float(degrees))

    @cython.ccall
    def log_density(self, numbers: list) -> cython.double:
        """Return the logarithm of the density of a number, which comes after its parents'."""
        location, scale, degrees = self.student(numbers)
        half: cython.double = 0.5 * degrees
        away: cython.double = (cython.cast(cython.double, numbers[self.size - 1]) - location) / scale
        tail: cython.double = (degrees + 1.0) * log(hypot(1.0, away / sqrt(degrees)))
        start: cython.double = lgamma(half + 0.5) - lgamma(half)
        return start - 0.5 * (LOG_PI + log(degrees)) - log(scale) - tail

    @property
    def variance(self):
        """The mean variance, in units of the variable."""
        last: cython.double = self.factor[self.size * self.size - 1]
        return float(last * last / (self.freedom + self.size - 3.0))

    def linear(self) -> LinearGaussian:
        """Return the variable as a linear Gaussian: mean coefficients and mean variance."""
        n: cython.Py_ssize_t = self.size
        unit: cython.double = self.spread[n - 1]
        mean: cython.double = self.centre[n - 1] + unit * self.mean[n - 1]
        for i in range(n - 2, -1, -1):
            left: cython.double = self.factor[(n - 1) * n + i]
            for j in range(i + 1, n - 1):
                left -= self.factor[j * n + i] * self.partial[j]
            self.partial[i] = left / self.factor[i * n + i]
        slopes: list = [float(self.partial[i] * unit / self.spread[i]) for i in range(n - 1)]
        for i in range(n - 1):
            left = slopes[i]
            mean -= left * (self.centre[i] + self.spread[i] * self.mean[i])
        return LinearGaussian(float(mean), tuple(slopes), float(self.variance * unit * unit))
