"""E-values against exchangeability: whether the newest of some events follow another table P(value | configuration).

If nothing has changed, all orders of the values within a configuration are equally likely given their counts. So the
newest values have the probability

    P0 = (B! / N!) prod_k (n_k! / b_k!)        of counts n_k = b_k + a_k: before and after, N and B their sums

whatever the table is. Jeffreys' mixture Q predicts the same values one after another from those after the change alone:

    Q = G(K/2) / G(A + K/2) prod_k G(a_k + 1/2) / G(1/2)        K values, A = N - B, G the gamma function

Q / P0 is an e-value given the counts, and so is the product over configurations. A change may touch some of them: the
e-value of a table is the mean of that product and of one in which each configuration has (1 + Q / P0) / 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CellLayout", "LogGamma", "log_evidence"]

Floats = NDArray[np.float64]
BlockCounts = NDArray[np.integer[Any]]


class LogGamma:
    """The logarithm of the gamma function at the halves of whole numbers, from a table that grows.

    Examples
    --------
    >>> LogGamma()(np.array([1, 2, 10])).round(4).tolist()  # of 1/2, 1 and 5
    [0.5724, 0.0, 3.1781]
    """

    def __init__(self) -> None:
        self._table: Floats = np.zeros(0)

    def __call__(self, doubled: BlockCounts) -> Floats:
        """Return log G(x / 2) of each x, which are at least 1."""
        most = int(doubled.max(initial=1))
        if most >= len(self._table):
            size = 2 * most + 2
            halves = np.arange(1, size, dtype=np.float64) / 2.0
            table = np.zeros(size + 1)  # at x: log G(x / 2)
            table[3::2] = np.cumsum(np.log(halves[0 : size - 2 : 2]))
            table[1::2] += 0.5 * np.log(np.pi)
            table[4::2] = np.cumsum(np.log(halves[1 : size - 2 : 2]))
            self._table = table
        return self._table[doubled]


class CellLayout:
    """Some tables, one after another in flat arrays: rows are configurations, columns values."""

    def __init__(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
        self.rows, self.columns = rows, columns
        cells = rows * columns
        self.begin: NDArray[np.int64] = np.cumsum(cells) - cells  # the first cell of each table
        self.cells = int(cells.sum())
        self.width = np.repeat(columns, rows)  # of each row
        self.first_cell: NDArray[np.int64] = np.cumsum(self.width) - self.width  # of each row
        self.first_row: NDArray[np.int64] = np.cumsum(rows) - rows  # of each table

    def part(self, table: int) -> tuple[slice, CellLayout]:
        """Return the cells of one table, and its layout alone."""
        begin = int(self.begin[table])
        size = int(self.rows[table] * self.columns[table])
        return slice(begin, begin + size), CellLayout(
            self.rows[table : table + 1], self.columns[table : table + 1]
        )


def log_evidence(before: BlockCounts, after: BlockCounts, layout: CellLayout, log_gamma: LogGamma) -> Floats:
    """Return the logarithm of the e-value that each table has changed, for each of some dates of the change. `before`
    and `after` have, for each date, the counts before and after it, in the cells of the layout. The table of
    `log_gamma` is kept.

    Examples
    --------
    >>> layout, log_gamma = CellLayout(np.array([1]), np.array([2])), LogGamma()
    >>> before = np.array([[50, 50], [50, 50]])
    >>> log_evidence(before, np.array([[10, 10], [20, 0]]), layout, log_gamma).round(1).tolist()
    [[-1.0], [9.7]]
    """
    both = before + after
    terms = log_gamma(2 * after + 1) - log_gamma(1 + np.zeros_like(after))
    terms += log_gamma(2 * before + 2) - log_gamma(2 * both + 2)
    newest, earlier = (np.add.reduceat(counts, layout.first_cell, axis=1) for counts in (after, before))
    rows = np.add.reduceat(terms, layout.first_cell, axis=1)
    rows += log_gamma(layout.width)[None, :] - log_gamma(2 * newest + layout.width)
    rows += log_gamma(2 * (newest + earlier) + 2) - log_gamma(2 * earlier + 2)
    some = np.logaddexp(rows, 0.0) - np.log(2.0)
    whole, partly = (np.add.reduceat(each, layout.first_row, axis=1) for each in (rows, some))
    return np.logaddexp(whole, partly) - np.log(2.0)
