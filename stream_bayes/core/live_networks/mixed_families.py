"""Families of names and numbers as their counts make them: probabilities, Student's t, and linear Gaussians.

The numbers of a family in one configuration of its nominal parents, z of its d numeric parents and y, are one Gaussian
with a normal-inverse-Wishart prior. In units in which each variable alone has mean 0 and deviation 1, with the strength
s, n events, their mean m and their products S about it:

    r = s / 10    mean n m / (r + n)    T = r I + S + (r n / (r + n)) m m'    f = s + 2 + n degrees of freedom

The prior of any of these numbers is that of a larger family with the others integrated out, so structures with the same
independences have the same likelihood (Geiger and Heckerman, 2002). With T split into blocks of z and y:

    y | z ~ Student t, f + d degrees about  mean_y + T_yz T_zz^-1 (z - mean_z), its scale as in `NumericFamily.predict`

For inference over numbers that are missing, where products of t have no closed form, y | z is the Gaussian of the
posterior's mean coefficients and mean variance, T_y.z / (f + d - 2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from stream_bayes.core.live_networks.mixed_counts import Marginal, MixedCounts
from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.values.values import Value

__all__ = ["UNKNOWN", "LinearGaussian", "MixedFamilies", "NumericFamily", "standardised"]

# A name that is missing and not summed out: its children are in a configuration without events.
UNKNOWN = object()

LIGHT = (
    0.1  # events, of the prior's mean and squares: a number may follow its parents much closer than it varies
)
FARTHEST = 1e100  # deviations: the square is finite
LEAST_HELD_ONCE = 0.5  # values, of the share that is kept for new ones; as networks of names have it


class LinearGaussian(NamedTuple):
    """The Gaussian of a number given its numeric parents: its mean is linear in them."""

    intercept: float
    slopes: tuple[float, ...]
    variance: float


class NumericFamily:
    """The posterior of a number given its numeric parents, in one configuration. `units` is what each of the numeric
    parents, and the variable after them, is by itself; the next three are the sums. `strength` is the weight of the
    prior, in events.
    """

    def __init__(
        self,
        units: list[Marginal],
        weight: float,
        means: list[float],
        products: list[list[float]],
        strength: float,
    ) -> None:
        size = len(units)
        self.units = units
        self.freedom = strength + 2.0 + weight  # "f" above
        prior = LIGHT * strength
        self.weight = prior + weight
        away = [
            (mean - unit.mean) / unit.spread if weight else 0.0
            for mean, unit in zip(means, units, strict=True)
        ]
        self.means = [weight * each / self.weight for each in away]
        between = prior * weight / self.weight
        matrix = [
            [
                products[i][j] / units[i].spread / units[j].spread + between * away[i] * away[j]
                for j in range(i + 1)
            ]
            for i in range(size)
        ]
        for i in range(size):
            matrix[i][i] += prior
        self.factor = cholesky(matrix)

    def mean_at(self, numbers: list[float]) -> tuple[float, float]:
        """Return the mean given the parents' numbers, in units of the variable, and how far out these are, squared."""
        away = 0.0
        mean = self.means[-1]
        partial: list[float] = []
        for i in range(len(self.units) - 1):
            row = self.factor[i]
            left = standardised(numbers[i], self.units[i]) - self.means[i]
            for j in range(i):
                left -= row[j] * partial[j]
            partial.append(left / row[i])
            mean += self.factor[-1][i] * partial[i]
            away += partial[i] * partial[i]
        return mean, away

    def predict(self, numbers: list[float]) -> StudentT:
        """Return the distribution of the variable given its parents' numbers."""
        mean, away = self.mean_at(numbers)
        degrees = self.freedom + len(self.units) - 1
        # T (n + r + 1) / (n + r) / f is the scale of all numbers together; conditioning adds the parents' distance.
        spread = (self.weight + 1.0) / self.weight
        square = self.factor[-1][-1] ** 2 * (spread + away) / degrees
        unit = self.units[-1]
        return StudentT(unit.mean + unit.spread * mean, unit.spread * math.sqrt(square), degrees)

    @property
    def variance(self) -> float:
        """The mean variance, in units of the variable."""
        return self.factor[-1][-1] ** 2 / (self.freedom + len(self.units) - 3.0)

    def linear(self) -> LinearGaussian:
        """Return the variable as a linear Gaussian: mean coefficients and mean variance."""
        size = len(self.units)
        slopes = [0.0] * (size - 1)
        for i in reversed(range(size - 1)):
            left = self.factor[-1][i] - sum(self.factor[j][i] * slopes[j] for j in range(i + 1, size - 1))
            slopes[i] = left / self.factor[i][i]
        unit = self.units[-1]
        scaled = [slope * unit.spread / each.spread for slope, each in zip(slopes, self.units, strict=False)]
        mean = unit.mean + unit.spread * self.means[-1]
        for slope, each, own in zip(scaled, self.units, self.means, strict=False):
            mean -= slope * (each.mean + each.spread * own)
        return LinearGaussian(mean, tuple(scaled), self.variance * unit.spread**2)


def standardised(number: float, unit: Marginal) -> float:
    """Return a number in units of what is known of its variable; farther ones count as FARTHEST."""
    return min(max((number - unit.mean) / unit.spread, -FARTHEST), FARTHEST)


def cholesky(matrix: list[list[float]]) -> list[list[float]]:
    """Return the lower triangular factor of a matrix of few rows, of which the lower triangle is given.

    What rounding left of a pivot is at least the smallest part of its row: the prior keeps it above 0.
    """
    factor: list[list[float]] = []
    for i, row in enumerate(matrix):
        new: list[float] = []
        for j in range(i):
            left = row[j] - sum(a * b for a, b in zip(new, factor[j], strict=False))
            new.append(left / factor[j][j])
        left = row[i] - sum(a * a for a in new)
        new.append(math.sqrt(max(left, 1e-15 * row[i])))
        factor.append(new)
    return factor


class MixedFamilies:
    """The families of a network, derived from its counts when they are asked for. `strength` is the weight of the
    prior, in events.
    """

    def __init__(self, counts: MixedCounts, strength: float) -> None:
        self.counts = counts
        self.strength = strength
        self._derived_at = -1
        self._units: dict[Value, Marginal] = {}
        self._states: dict[Value, list[Value]] = {}
        self._numeric: dict[tuple[Any, ...], NumericFamily] = {}

    def _refresh(self) -> None:
        if self._derived_at != self.counts.changes:
            self._derived_at = self.counts.changes
            self._units, self._states, self._numeric = {}, {}, {}

    def unit(self, v: Value) -> Marginal:
        """Return what is known of a numeric variable by itself."""
        self._refresh()
        if v not in self._units:
            self._units[v] = self.counts.marginal(v)
        return self._units[v]

    def states(self, v: Value) -> list[Value]:
        """Return the values of a nominal variable."""
        self._refresh()
        if v not in self._states:
            self._states[v] = self.counts.values_of(v)
        return self._states[v]

    def shares(self, v: Value, values: Mapping[Value, Any]) -> dict[Value, float]:
        """Return P(v | its parents' values) by value."""
        states = self.states(v)
        counts = self.counts.counts(v, self.counts.configuration(v, values))
        total = math.fsum(counts.values()) + self.strength
        each = self.strength / len(states) if states else 0.0
        return {value: (counts.get(value, 0.0) + each) / total for value in states}

    def numeric(self, v: Value, values: Mapping[Value, Any]) -> NumericFamily:
        """Return the family of a numeric variable in the configuration of its nominal parents' values."""
        self._refresh()
        configuration = self.counts.configuration(v, values)
        key = (v, configuration)
        if key not in self._numeric:
            units = [self.unit(each) for each in (*self.counts.numeric_parents(v), v)]
            self._numeric[key] = NumericFamily(units, *self.counts.sums(v, configuration), self.strength)
        return self._numeric[key]

    def share(self, v: Value, values: Mapping[Value, Any]) -> float:
        """Return P(v = its value | its parents' values); of a value that is not held, the share kept for new ones."""
        if values[v] is UNKNOWN:
            return 1.0
        shares = self.shares(v, values)
        return shares[values[v]] if values[v] in shares else self.novel_share(v)

    def novel_share(self, v: Value) -> float:
        """Return the share of probability that is kept for new values of a nominal variable (Good and Turing)."""
        counts = self.counts.counts(v)
        once = sum(weight <= 1.0 for weight in counts.values())
        total = math.fsum(counts.values())
        return min(max(float(once), LEAST_HELD_ONCE) / total, 1.0) if total > 0.0 else 1.0
