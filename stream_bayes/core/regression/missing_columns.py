"""Columns that events lack, filled in from those they have: a normal distribution over all of them."""

from __future__ import annotations

import functools
from typing import NamedTuple, Self

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import NDArray

from stream_bayes.core.values.checks import expect

__all__ = ["POINTS", "NormalColumns", "normal_points"]

Floats = NDArray[np.float64]

ROUNDS = 10  # of expectation maximisation
PRIOR = 1.0  # samples of uncorrelated columns with a variance of 1
POINTS = 32
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43)
FARTHEST = 30.0  # deviations; farther numbers say as much about what is missing


class NormalColumns(NamedTuple):
    """A normal distribution over columns in deviations; NaN is a column that an event lacks.

    Examples
    --------
    >>> columns = NormalColumns.fitted(np.array([[-1.0, -1.0], [1.0, 1.0], [1.0, np.nan]] * 300))
    >>> filled, variances = columns.filled(np.array([[0.5, np.nan]]))
    >>> filled.round(1).tolist(), variances.round(1).tolist()
    ([[0.5, 0.5]], [[0.0, 0.0]])
    """

    mean: Floats
    covariance: Floats

    @classmethod
    def fitted(cls, rows: Floats) -> Self:
        """Return the distribution of some rows, by expectation maximisation where they have gaps."""
        size = rows.shape[1]
        rows = np.clip(rows, -FARTHEST, FARTHEST)
        fitted = cls(np.zeros(size), np.eye(size))
        for _ in range(ROUNDS if np.isnan(rows).any() else 1):
            expected, unknown = rows.copy(), PRIOR * np.eye(size)
            for gaps, at in _patterns(rows):
                expected[at], covariance = fitted._given(gaps, rows[at])
                unknown[np.ix_(gaps, gaps)] += len(at) * covariance
            mean = expected.sum(axis=0) / (PRIOR + len(rows))
            apart = expected - mean
            covariance = (apart.T @ apart + unknown) / (PRIOR + len(rows))
            fitted = cls(mean, 0.5 * (covariance + covariance.T))
        return fitted

    @classmethod
    def loaded(cls, mean: Floats, covariance: Floats, size: int) -> Self:
        """Return the distribution with these arrays of a state.

        Raises
        ------
        BadState
            If they are not those of a normal distribution over so many columns.
        """
        expect(mean.shape == (size,) and covariance.shape == (size, size), "means are of other columns")
        expect(bool(np.isfinite(mean).all()) and bool(np.isfinite(covariance).all()), "a mean is no number")
        symmetric = bool((covariance == covariance.T).all())
        expect(symmetric and bool((np.linalg.eigvalsh(covariance) > 0.0).all()), "a variance is not above 0")
        return cls(mean, covariance)

    def _given(self, gaps: NDArray[np.intp], rows: Floats) -> tuple[Floats, Floats]:
        """Return rows whose gaps have their means given the rest, and the covariance of what the gaps hide."""
        is_there = np.ones(len(self.mean), bool)
        is_there[gaps] = False
        present = self.covariance[is_there]
        lines = np.linalg.solve(present[:, is_there], present[:, gaps])
        filled = rows.copy()
        seen = np.clip(rows[:, is_there], -FARTHEST, FARTHEST) - self.mean[is_there]
        # Each row alone, and contiguous: else its last digits would depend on how many rows there are, and a restart,
        # which fills all rows of a window at once, would go on with others.
        filled[:, gaps] = self.mean[gaps] + np.array([row.copy() @ lines for row in seen])
        return filled, self.covariance[gaps][:, gaps] - present[:, gaps].T @ lines

    def filled(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return rows whose gaps have their means given the rest, and the variance of each number."""
        filled, variances = rows.copy(), np.zeros_like(rows)
        for gaps, at in _patterns(rows):
            filled[at], covariance = self._given(gaps, rows[at])
            variances[np.ix_(at, gaps)] = np.maximum(np.diag(covariance), 0.0)
        return filled, variances

    def points(self, row: Floats) -> Floats:
        """Return rows that stand for a row with gaps: their mean and covariance are those of what the gaps hide."""
        gaps = np.flatnonzero(np.isnan(row))
        filled, covariance = self._given(gaps, row[None, :])
        values, directions = np.linalg.eigh(covariance)
        rows = np.repeat(filled, POINTS, axis=0)
        rows[:, gaps] += normal_points(len(gaps)) * np.sqrt(np.maximum(values, 0.0)) @ directions.T
        return rows


def _patterns(rows: Floats) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return which columns are missing, and in which rows, for each combination of missing columns; none of rows
    without gaps.
    """
    is_gap = np.isnan(rows)
    rows_of: dict[bytes, list[int]] = {}
    for at in np.flatnonzero(is_gap.any(axis=1)).tolist():
        rows_of.setdefault(is_gap[at].tobytes(), []).append(at)
    return [(np.flatnonzero(is_gap[at[0]]), np.array(at)) for at in rows_of.values()]


@functools.cache
def normal_points(columns: int) -> Floats:
    """Return points whose columns have mean 0 and variance 1, and are nearly normal. The first are uncorrelated; beyond
    these, columns are the same ones shifted.

    Examples
    --------
    >>> points = normal_points(3)
    >>> bool(np.allclose(points.T @ points, len(points) * np.eye(3))), bool(np.allclose(points.mean(axis=0), 0.0))
    (True, True)
    """
    even = (np.arange(POINTS) + 0.5) / POINTS
    turns = np.sqrt(PRIMES[: min(columns, len(PRIMES))])
    shares = (even[:, None] * POINTS * turns) % 1.0
    ranks = np.argsort(np.argsort(shares, axis=0, kind="stable"), axis=0, kind="stable")
    normal = scipy.special.ndtri(even[ranks])
    normal -= normal.mean(axis=0)
    root = np.linalg.cholesky(normal.T @ normal / POINTS)
    first = scipy.linalg.solve_triangular(root, normal.T, lower=True).T
    points: Floats = np.concatenate(
        [np.roll(first, shift, axis=0) for shift in range(1 + columns // len(PRIMES))], axis=1
    )
    return points[:, :columns]
