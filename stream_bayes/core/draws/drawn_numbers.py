"""Posteriors of numbers given the class, at their means and drawn: naive Bayes, and discriminant analysis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import NDArray

__all__ = ["JointNumbers", "NumberPosteriors", "Numbers"]

Floats = NDArray[np.float64]
PRIOR_MEANS = 0.1  # samples that the prior of a mean weighs, as in `_naive_bayes`
SPARSE = 0.5  # a number that a smaller share of the samples has is one of a sparse bag, as in `_naive_bayes`


class Densities(Protocol):
    """The densities of an event's numbers."""

    def log_densities(self, row: Any) -> Floats | float:
        """Return the log-density of an event's numbers by class."""

    def moments(self, slot: int, y: int) -> tuple[float, float]:
        """Return the mean and the variance of a number in a class."""


class Numbers(Protocol):
    """The posteriors of the means and variances of numbers."""

    def log_densities(self, row: Any) -> Floats | float:
        """Return the log-density of an event's numbers by class, means and variances integrated out."""

    def has(self, slot: int) -> bool:
        """Return True if a number has a posterior."""

    def of_one(self, slot: int, y: int) -> tuple[float, float, float, float]:
        """Return the location and weight of a number's mean in a class, the square of its variance's scale, and its
        degrees of freedom.
        """

    def learned(self, row: Any, y: int, rng: np.random.Generator) -> Numbers:
        """Return the posteriors after an event's numbers were learned in a class."""

    def drawn(self, rng: np.random.Generator) -> Densities:
        """Return densities with drawn means and variances."""


class NumberPosteriors:
    """Normal-inverse-gamma posteriors of each number and class, with one sample of the prior beside the class's.

    `tables` are those of `ValueReading.number_posteriors`, and `samples` the weights, of the live classes.
    """

    def __init__(self, tables: Floats, samples: Floats) -> None:
        self.location, self.behind, self.scale, self.degrees, self.weight = tables[:5]
        self.prior_location, self.prior_scale = tables[5, :, :1], tables[6, :, :1]
        self.present = tables[7]
        self.samples = samples
        self.tables = tables
        total = float(samples.sum())
        self.share = self.present.sum(axis=1) / total if total > 0.0 else np.zeros(len(self.present))
        self.is_sparse = (self.share > 0.0) & (self.share < SPARSE)

    @classmethod
    def of(cls, reading: Any, columns: Any, samples: Floats) -> NumberPosteriors:
        """Return the posteriors of a reading's numbers in the live classes."""
        return cls(reading.number_posteriors()[:, :, columns], samples)

    def numbers(self, row: Any) -> Iterator[tuple[int, float]]:
        """Yield the slot of each number of an event that any sample has, with the number."""
        for k in range(row.numbers):
            slot = int(row.numeric_feature[k])
            if slot < len(self.present) and self.present[slot].sum() > 0.0:
                yield slot, float(row.number[k])

    def has(self, slot: int) -> bool:
        return slot < len(self.present)

    def of_one(self, slot: int, y: int) -> tuple[float, float, float, float]:
        location, behind, scale, degrees = (float(table[slot, y]) for table in self.tables[:4])
        return location, behind, scale, degrees

    def log_densities(self, row: Any) -> Floats | float:
        total = self.log_presence(row, self.present + 1.0)
        for slot, number in self.numbers(row):
            total = total + self.with_prior(slot, number, self._log_student(slot, number))
        return total

    def _log_student(self, slot: int, number: float) -> Floats:
        scale = np.sqrt(self.scale[slot] * (1.0 + 1.0 / self.behind[slot]))
        return log_student(number, self.location[slot], scale, self.degrees[slot])

    def with_prior(self, slot: int, number: float, log_density: Floats) -> Floats:
        """Return the log-density of a number, with a sample of the prior beside those of the class."""
        prior = log_student(number, self.prior_location[slot], np.sqrt(self.prior_scale[slot]), 1.0)
        weight = self.weight[slot]
        with np.errstate(divide="ignore"):
            return np.asarray(np.logaddexp(np.log(weight) + log_density, prior) - np.log1p(weight))

    def log_presence(self, row: Any, shapes: Floats) -> Floats | float:
        """Return the evidence of which sparse numbers an event has; `shapes` are means, or draws, of their Gammas."""
        if not self.is_sparse.any():
            return 0.0
        of_class = self.present[self.is_sparse].sum(axis=0)
        length = of_class + of_class.sum() / self.samples.sum()
        total: Floats = -length / (self.samples + 1.0)
        for slot, _ in self.numbers(row):
            if self.is_sparse[slot]:
                share = self.share[slot]
                total = total + np.log(share * shapes[slot] / (self.samples * share + 1.0))
        return total

    def learned(self, row: Any, y: int, rng: np.random.Generator) -> NumberPosteriors:
        """Return the posteriors after an event in a class: a number is of the class, or of the prior's sample."""
        after = NumberPosteriors(self.tables.copy(), self.samples)
        for slot, number in self.numbers(row):
            if self.is_sparse[slot]:
                after.raised = [*after.raised, (slot, y)]
            log, weight = self._log_student(slot, number), self.weight[slot]
            both = self.with_prior(slot, number, log)[y]
            if weight[y] <= 0.0 or rng.random() >= np.exp(
                np.log(weight[y] / (weight[y] + 1.0)) + log[y] - both
            ):
                continue
            at = slot, y
            away, behind = number - self.location[at], self.behind[at]
            squares = self.degrees[at] * self.scale[at] + behind / (behind + 1.0) * away * away
            after.location[at] += away / (behind + 1.0)
            after.behind[at] += 1.0
            after.degrees[at] += 1.0
            after.scale[at] = squares / after.degrees[at]
        return after

    raised: list[tuple[int, int]] = []  # noqa: RUF012  # never written: sparse numbers that were learned once more

    def drawn(self, rng: np.random.Generator) -> DrawnNumbers:
        return DrawnNumbers(self, rng)


class DrawnNumbers:
    """Drawn means and variances of each number and class, and drawn rates of sparse numbers."""

    def __init__(self, posterior: NumberPosteriors, rng: np.random.Generator) -> None:
        self.posterior = posterior
        self.variance = posterior.degrees * posterior.scale / rng.chisquare(posterior.degrees)
        deviation = np.sqrt(self.variance / posterior.behind)
        self.mean = posterior.location + deviation * rng.standard_normal(self.variance.shape)
        self.rates = self.variance
        if posterior.is_sparse.any():
            shapes = posterior.present + 1.0
            for at in posterior.raised:
                shapes[at] += 1.0
            self.rates = rng.standard_gamma(shapes)

    def moments(self, slot: int, y: int) -> tuple[float, float]:
        return float(self.mean[slot, y]), float(self.variance[slot, y])

    def log_densities(self, row: Any) -> Floats | float:
        total = self.posterior.log_presence(row, self.rates)
        for slot, number in self.posterior.numbers(row):
            square = (number - self.mean[slot]) ** 2 / self.variance[slot]
            log = -0.5 * (square + np.log(2.0 * np.pi * self.variance[slot]))
            total = total + self.posterior.with_prior(slot, number, log)
        return total


class JointNumbers:
    """Normal-inverse-Wishart posteriors of all numbers together, in each class.

    `location` and `behind`, the weight that it rests on, are by derived feature and class; `index` is that of each slot
    among the derived features, -1 for none. `scale` are the covariances C, [group, feature, feature]: one for all
    classes, or one for each; the scale matrix of the inverse Wishart distribution is C times the degrees of freedom.
    These are Student's: those of the inverse Wishart distribution, minus the features, plus 1; `first_degrees` of them
    are there without samples.
    """

    def __init__(
        self, location: Floats, behind: Floats, scale: Floats, first_degrees: float, index: NDArray[Any]
    ) -> None:
        self.location, self.behind, self.scale = location, behind, scale
        self.first_degrees = first_degrees
        self.index = index

    def degrees(self, at: Any = slice(None)) -> Floats:
        """Return the degrees of freedom of some features, by class: those of the scarcest."""
        samples = self.behind[at] - PRIOR_MEANS
        if len(self.scale) == 1:
            samples = np.broadcast_to(samples.sum(axis=1, keepdims=True), samples.shape)
        return np.asarray(self.first_degrees + samples.min(axis=0))

    def numbers(self, row: Any) -> tuple[NDArray[Any], Floats]:
        """Return the indexes of an event's numbers among the derived features, and the numbers."""
        read = [
            (self.index[row.numeric_feature[k]], row.number[k])
            for k in range(row.numbers)
            if row.numeric_feature[k] < len(self.index) and self.index[row.numeric_feature[k]] >= 0
        ]
        return np.array([at for at, _ in read], np.intp), np.array([number for _, number in read])

    def group(self, y: int) -> int:
        """Return the covariance of a class."""
        return y if len(self.scale) > 1 else 0

    def has(self, slot: int) -> bool:
        return slot < len(self.index) and bool(self.index[slot] >= 0)

    def of_one(self, slot: int, y: int) -> tuple[float, float, float, float]:
        at = self.index[slot]
        scale = self.scale[self.group(y)][at, at]
        return (
            float(self.location[at, y]),
            float(self.behind[at, y]),
            float(scale),
            float(self.degrees([at])[y]),
        )

    def log_densities(self, row: Any) -> Floats | float:
        at, numbers = self.numbers(row)
        m = len(at)
        if m == 0:
            return 0.0
        logs = np.empty(self.location.shape[1])
        for y, degrees in enumerate(self.degrees(at)):
            stretch = np.sqrt(1.0 + 1.0 / self.behind[at, y])
            square, log_det = distance(
                (numbers - self.location[at, y]) / stretch, self.scale[self.group(y)][np.ix_(at, at)]
            )
            log_det += 2.0 * np.log(stretch).sum()
            gammaln = scipy.special.gammaln
            logs[y] = (
                gammaln(0.5 * (degrees + m)) - gammaln(0.5 * degrees) - 0.5 * m * np.log(degrees * np.pi)
            )
            logs[y] -= 0.5 * (log_det + (degrees + m) * np.log1p(square / degrees))
        return logs

    def learned(self, row: Any, y: int, rng: np.random.Generator) -> JointNumbers:
        """Return the posteriors after an event in a class. Numbers that it lacks are drawn given the others."""
        at, numbers = self.numbers(row)
        if len(at) == 0:
            return self
        all_of_them = self._completed(at, numbers, y, rng)
        location, behind, scale = self.location.copy(), self.behind.copy(), self.scale.copy()
        degrees = float(self.degrees()[y])
        away, g = all_of_them - location[:, y], self.group(y)
        root = np.sqrt(behind[:, y] / (behind[:, y] + 1.0)) * away
        scale[g] = (degrees * scale[g] + np.outer(root, root)) / (degrees + 1.0)
        location[:, y] += away / (behind[:, y] + 1.0)
        behind[:, y] += 1.0
        return JointNumbers(location, behind, scale, self.first_degrees, self.index)

    def _completed(self, at: NDArray[Any], numbers: Floats, y: int, rng: np.random.Generator) -> Floats:
        """Return an event's numbers with those that it lacks, drawn given the others."""
        others = np.setdiff1d(np.arange(len(self.location)), at)
        stretch = np.sqrt(1.0 + 1.0 / self.behind[:, y])
        scale = self.scale[self.group(y)] * np.outer(stretch, stretch)
        degrees, away = self.degrees(at)[y], numbers - self.location[at, y]
        slopes = np.linalg.solve(scale[np.ix_(at, at)], scale[np.ix_(at, others)]).T
        rest = scale[np.ix_(others, others)] - slopes @ scale[np.ix_(at, others)]
        square = float(away @ np.linalg.solve(scale[np.ix_(at, at)], away))
        spread = (degrees + square) / rng.chisquare(degrees + len(at))
        complete = np.empty(len(self.location))
        complete[at] = numbers
        if len(others):
            root = np.linalg.cholesky(rest * spread)
            mean = self.location[others, y] + slopes @ away
            complete[others] = mean + root @ rng.standard_normal(len(others))
        return complete

    def drawn(self, rng: np.random.Generator) -> DrawnJoint:
        return DrawnJoint(self, rng)


class DrawnJoint:
    """Drawn means and covariances."""

    def __init__(self, posterior: JointNumbers, rng: np.random.Generator) -> None:
        self.posterior = posterior
        size, classes = posterior.location.shape
        degrees = posterior.degrees()
        self.covariance = np.array(
            [inverse_wishart(degrees[g], degrees[g] * scale, rng) for g, scale in enumerate(posterior.scale)]
        )
        roots = [np.linalg.cholesky(matrix) for matrix in self.covariance]
        self.mean = np.empty((size, classes))
        for y in range(classes):
            noise = roots[posterior.group(y)] @ rng.standard_normal(size)
            self.mean[:, y] = posterior.location[:, y] + noise / np.sqrt(posterior.behind[:, y])

    def moments(self, slot: int, y: int) -> tuple[float, float]:
        at = self.posterior.index[slot]
        return float(self.mean[at, y]), float(self.covariance[self.posterior.group(y)][at, at])

    def log_densities(self, row: Any) -> Floats | float:
        at, numbers = self.posterior.numbers(row)
        if len(at) == 0:
            return 0.0
        logs = np.empty(self.mean.shape[1])
        for y in range(len(logs)):
            matrix = self.covariance[self.posterior.group(y)][np.ix_(at, at)]
            square, log_det = distance(numbers - self.mean[at, y], matrix)
            logs[y] = -0.5 * (square + log_det + len(at) * np.log(2.0 * np.pi))
        return logs


def distance(away: Floats, matrix: Floats) -> tuple[float, float]:
    """Return the squared distance by a covariance, and the logarithm of its determinant."""
    root = np.linalg.cholesky(matrix)
    solved = np.linalg.solve(root, away)
    return float(solved @ solved), float(2.0 * np.log(np.diag(root)).sum())


def inverse_wishart(degrees: float, scale: Floats, rng: np.random.Generator) -> Floats:
    """Return a draw of the inverse Wishart distribution by Bartlett's decomposition.

    `degrees` are those of the Student's t that it belongs to: with d rows, d - 1 less than its own.
    """
    size = len(scale)
    root = np.tril(rng.standard_normal((size, size)), -1)
    root[np.diag_indices(size)] = np.sqrt(rng.chisquare(degrees + size - 1 - np.arange(size)))
    # With S = L L' and W = A A' of the Wishart distribution of the unit matrix, L W^-1 L' is the draw.
    half = np.linalg.solve(root, np.linalg.cholesky(scale).T)
    return np.asarray(half.T @ half)


def log_student(x: float, location: Any, scale: Any, degrees: Any) -> Floats:
    """Return the log-density of Student's t."""
    gammaln = scipy.special.gammaln
    square = ((x - location) / scale) ** 2
    log = gammaln(0.5 * (degrees + 1.0)) - gammaln(0.5 * degrees) - 0.5 * np.log(degrees * np.pi)
    return np.asarray(log - np.log(scale) - 0.5 * (degrees + 1.0) * np.log1p(square / degrees))
