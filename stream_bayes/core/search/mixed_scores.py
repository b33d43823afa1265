"""Scores of families over names and numbers, for the climbs of `HillClimbing`.

    marginal likelihood   names: Dirichlet, `strength` for each configuration; numbers: normal-inverse-Wishart, the
                          prior of `core.live_networks.mixed_families`; so a family's score is the log-probability of
                          the values that a network learns, each predicted from those before it
    BIC                   the log-likelihood at its maximum, less half the logarithm of the rows for each parameter

Numbers of a configuration are one Gaussian, so the score of a number given others is that of all less that of its
parents. It is the same for all structures over numbers with the same independences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import NDArray

from stream_bayes.core.live_networks.mixed_families import LIGHT
from stream_bayes.core.values.values import Value, name_order

__all__ = ["MixedSample", "MixedScorer"]

Floats = NDArray[np.float64]
LEAST_VARIANCE = (
    1e-9  # of that of the variable alone, for BIC: what follows from others has no likelihood at a maximum
)


@dataclass(frozen=True)
class MixedSample:
    """Rows without missing values: `codes` of each nominal variable, `numbers` of the others, by column."""

    variables: tuple[Value, ...]
    codes: dict[int, NDArray[np.int64]]
    sizes: dict[int, int]
    numbers: dict[int, Floats]

    @classmethod
    def of(
        cls,
        rows: Sequence[Mapping[Value, Any]],
        kinds: Mapping[Value, bool],
        declared: Mapping[Value, Sequence[Value]],
    ) -> Self:
        """Return the sample of rows that have all variables of `kinds`, `{variable: True if numeric}`."""
        variables = tuple(sorted(kinds, key=name_order))
        columns = {k: [values[v] for values in rows] for k, v in enumerate(variables)}
        numbers = {k: np.array(columns[k], np.float64) for k, v in enumerate(variables) if kinds[v]}
        codes, sizes = {}, {}
        for k, v in enumerate(variables):
            if not kinds[v]:
                domain = sorted({*columns[k], *declared.get(v, ())}, key=name_order)
                code = {value: number for number, value in enumerate(domain)}
                codes[k], sizes[k] = np.array([code[value] for value in columns[k]], np.int64), len(domain)
        return cls(variables, codes, sizes, numbers)

    def __len__(self) -> int:
        return len(next(iter((*self.codes.values(), *self.numbers.values())), ()))

    def allowed(self) -> NDArray[np.bool_]:
        """Return a matrix that is False at [parent, child] of a number above a name."""
        is_number = np.array([k in self.numbers for k in range(len(self.variables))])
        allowed: NDArray[np.bool_] = ~(is_number[:, None] & ~is_number[None, :])
        return allowed


class MixedScorer:
    """Scores of families of one mixed sample, each computed once.

    Parameters
    ----------
    sample
        The rows.
    strength
        The weight of the prior, in events; 0 for BIC.
    """

    def __init__(self, sample: MixedSample, strength: float) -> None:
        self.sample = sample
        self.strength = strength
        self.families = 0
        self._scores: dict[tuple[int, frozenset[int]], float] = {}
        self._groups: dict[tuple[int, ...], tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        self._spread = {k: _spread(column) for k, column in sample.numbers.items()}
        self._scaled = {k: (x - x.mean()) / self._spread[k] for k, x in sample.numbers.items()}

    def score(self, child: int, parents: Sequence[int]) -> float:
        """Return the score of a child with these parents."""
        key = child, frozenset(parents)
        if key not in self._scores:
            self.families += 1
            names = tuple(sorted(p for p in parents if p in self.sample.codes))
            if child in self.sample.codes:
                self._scores[key] = self._name(child, names)
            else:
                numbers = sorted(p for p in parents if p in self.sample.numbers)
                self._scores[key] = self._number(child, names, numbers)
        return self._scores[key]

    def with_each(self, child: int, parents: Sequence[int], candidates: Sequence[int]) -> Floats:
        """Return the scores of a child with these parents and each candidate in turn."""
        return np.array([self.score(child, [*parents, candidate]) for candidate in candidates])

    def _grouped(self, names: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows sorted by configuration, and where each configuration that occurs begins."""
        if names not in self._groups:
            number = np.zeros(len(self.sample), np.int64)
            for p in names:
                _, number = np.unique(
                    number * self.sample.sizes[p] + self.sample.codes[p], return_inverse=True
                )
            order = np.argsort(number, kind="stable")
            starts = np.flatnonzero(np.diff(number[order], prepend=-1))
            self._groups[names] = order, starts
        return self._groups[names]

    def _name(self, child: int, names: tuple[int, ...]) -> float:
        order, starts = self._grouped(names)
        values, rows = self.sample.sizes[child], len(self.sample)
        group = np.repeat(np.arange(len(starts)), np.diff(starts, append=rows))
        table = np.zeros((len(starts), values))
        np.add.at(table, (group, self.sample.codes[child][order]), 1.0)
        total = table.sum(axis=1)
        if not self.strength:
            fit = scipy.special.xlogy(table, table).sum() - scipy.special.xlogy(total, total).sum()
            configurations = math.prod(self.sample.sizes[p] for p in names)
            return float(fit) - 0.5 * math.log(rows) * configurations * (values - 1)
        log_gamma, each = scipy.special.gammaln, self.strength / values
        whole = log_gamma(self.strength) - log_gamma(self.strength + total)
        return float(whole.sum() + (log_gamma(table + each) - log_gamma(each)).sum())

    def _number(self, child: int, names: tuple[int, ...], numbers: list[int]) -> float:
        order, starts = self._grouped(names)
        columns = np.stack([self._scaled[k][order] for k in (*numbers, child)], axis=1)
        counts = np.diff(starts, append=len(columns)).astype(np.float64)
        means = np.add.reduceat(columns, starts) / counts[:, None]
        away = columns - np.repeat(means, counts.astype(np.int64), axis=0)
        products = np.add.reduceat(away[:, :, None] * away[:, None, :], starts)
        units: float = len(columns) * math.log(self._spread[child])
        if not self.strength:
            return self._bic(counts, products, names) - units
        whole: float = self._likelihood(counts, means, products)
        return float(whole - self._likelihood(counts, means[:, :-1], products[:, :-1, :-1]) - units)

    def _likelihood(self, counts: Floats, means: Floats, products: Floats) -> float:
        """Return the log marginal likelihood of all numbers, of some configurations."""
        size = means.shape[1]
        if size == 0:
            return 0.0
        prior, freedom = LIGHT * self.strength, size + 1.0 + self.strength
        between = prior * counts / (prior + counts)
        matrix = (
            products + between[:, None, None] * means[:, :, None] * means[:, None, :] + prior * np.eye(size)
        )
        later = freedom + counts
        likelihood = 0.5 * freedom * size * math.log(prior) - 0.5 * later * np.linalg.slogdet(matrix)[1]
        likelihood += 0.5 * size * (np.log(prior / (prior + counts)) - counts * math.log(math.pi))
        likelihood += _multigamma(later, size) - _multigamma(np.array([freedom]), size)
        return float(likelihood.sum())

    def _bic(self, counts: Floats, products: Floats, names: tuple[int, ...]) -> float:
        size = products.shape[1]
        variances = products[:, -1, -1].copy()
        if size > 1:
            slopes = np.linalg.pinv(products[:, :-1, :-1], hermitian=True) @ products[:, :-1, -1:]
            variances -= (slopes * products[:, :-1, -1:]).sum(axis=(1, 2))
        variances = np.maximum(variances / counts, LEAST_VARIANCE)
        fit = -0.5 * (counts * (np.log(2.0 * math.pi * variances) + 1.0)).sum()
        configurations = math.prod(self.sample.sizes[p] for p in names)
        return float(fit - 0.5 * math.log(len(self.sample)) * configurations * (size + 1))


def _multigamma(twice: Floats, size: int) -> Floats:
    """Return the logarithm of the multivariate gamma function of half of each number."""
    parts = scipy.special.gammaln(0.5 * (twice[:, None] - np.arange(size)))
    logs: Floats = parts.sum(axis=1) + 0.25 * size * (size - 1) * math.log(math.pi)
    return logs


def _spread(column: Floats) -> float:
    """Return the deviation of numbers; of those that do not differ, as `MixedCounts.marginal` has it."""
    spread, size = float(column.std()), abs(float(column.mean()))
    return spread if spread > 1e-9 * size and spread > 0.0 else 1e-3 * size or 1.0
