"""Joint counts of two variables of a sample given others, and their conditional mutual information."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.search import _counting
from stream_bayes.core.search.family_scorer import CELLS, count_families
from stream_bayes.core.search.sample import MOST_SPARE, Configuration, Sample, numbered

__all__ = ["PairTable", "pair_information", "pair_tables"]

FEW = 4096  # group numbers up to this size are summed by directly, without renumbering

Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class PairTable:
    """The cells with positive weight of a table of two variables given the configurations of others. The first three
    give the position of each cell.
    """

    configuration: Integers
    one: Integers
    other: Integers
    weight: Floats

    def information(self) -> float:
        """Return the sum of n_xyz log(n_xyz n_z / (n_xz n_yz)): the conditional mutual information times the weight.

        Examples
        --------
        >>> sample = Sample({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1]}, {"a": 2, "b": 2})
        >>> next(pair_tables(sample, 0, [1])).information()
        2.772...
        """
        alone = self._totals(np.zeros_like(self.configuration))
        of_one, of_other = self._totals(self.one), self._totals(self.other)
        terms = self.weight * (np.log(self.weight) + np.log(alone) - np.log(of_one) - np.log(of_other))
        return max(float(terms.sum()), 0.0)  # rounding may make it negative

    def degrees_of_freedom(self) -> int:
        """Return the degrees of freedom, without values that never occur in a configuration.

        They are the sum over configurations of (values of the one - 1) (values of the other - 1) that occur in each.
        """
        configurations = np.unique(self.configuration)
        ones, others = (
            np.bincount(
                np.searchsorted(configurations, self._occurring(values)), minlength=len(configurations)
            )
            - 1
            for values in (self.one, self.other)
        )
        return int((ones * others).sum())

    def _occurring(self, values: Integers) -> Integers:
        """Return each configuration as often as it has different values."""
        pairs: Integers = np.unique(np.stack([self.configuration, values], axis=1), axis=0)
        return pairs[:, 0]

    def _totals(self, values: Integers) -> Floats:
        """Return, for each cell, the weight of all cells with the same configuration and value."""
        key = self.configuration * (int(values.max(initial=0)) + 1) + values
        group = key if int(key.max(initial=0)) < FEW else np.unique(key, return_inverse=True)[1]
        return np.bincount(group, self.weight).astype(np.float64)[group]


def pair_tables(
    sample: Sample, one: int, others: Sequence[int], conditioning: Sequence[int] = ()
) -> Iterator[PairTable]:
    """Yield the table of a variable and each of some others, given the configurations of further variables.

    A row counts if it has all of them. Variables are given by their columns. A row counts if it has all of them.

    Examples
    --------
    >>> sample = Sample({"a": [0, 1, 1], "b": [0, 1, 0]}, {"a": 2, "b": 2})
    >>> table = next(pair_tables(sample, 0, [1]))
    >>> table.one.tolist(), table.other.tolist(), table.weight.tolist()
    ([0, 1, 1], [0, 0, 1], [1.0, 1.0, 1.0])
    """
    numbers, configurations = numbered(sample, conditioning)
    for batch, whole in _parts(sample, one, others, configurations):
        if not whole:
            yield _count_sparse(sample, one, batch[0], numbers)
            continue
        for table in _counted(sample, one, batch, numbers, configurations):
            configuration, other, value = np.nonzero(table)
            yield PairTable(configuration, value, other, table[configuration, other, value])


def pair_information(
    sample: Sample, one: int, others: Sequence[int], conditioning: Sequence[int] = ()
) -> Iterator[tuple[float, float]]:
    """Yield `PairTable.information` of a variable and each of some others, with the weight of their rows.

    Examples
    --------
    >>> sample = Sample({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1]}, {"a": 2, "b": 2})
    >>> list(pair_information(sample, 0, [1]))
    [(2.772..., 4.0)]
    """
    numbers, configurations = numbered(sample, conditioning)
    sizes = sample.sizes
    of_other, of_one = np.empty(int(sizes.max(initial=0))), np.empty(int(sizes[one]))
    for batch, whole in _parts(sample, one, others, configurations):
        if not whole:
            wide = _count_sparse(sample, one, batch[0], numbers)
            yield wide.information(), float(wide.weight.sum())
            continue
        for table in _counted(sample, one, batch, numbers, configurations):
            rows, height, width = table.shape
            information = _counting.pair_information(
                table.reshape(-1), 0, rows, height, width, of_other, of_one
            )
            yield max(information, 0.0), float(table.sum())  # rounding may make it negative


def _parts(
    sample: Sample, one: int, others: Sequence[int], configurations: int
) -> Iterator[tuple[list[int], bool]]:
    """Yield the others in parts for one pass, each with True; or alone with False if the table is much larger than the
    sample.
    """
    width = int(sample.sizes[one])
    ahead: list[int] = []
    room = 0
    for other in others:
        cells = configurations * int(sample.sizes[other]) * width
        if ahead and cells > room:
            yield ahead, True
            ahead, room = [], 0
        if cells > max(CELLS, MOST_SPARE * len(sample)):
            yield [other], False
            continue
        room = (room if ahead else max(CELLS, cells)) - cells
        ahead.append(other)
    if ahead:
        yield ahead, True


def _counted(
    sample: Sample, one: int, others: Sequence[int], numbers: Configuration, configurations: int
) -> Iterator[Floats]:
    """Count one pass; yield its tables, each [configuration, value of the other, value of the one]."""
    width = int(sample.sizes[one])
    heights = [int(sample.sizes[other]) for other in others]
    starts = np.cumsum([0, *(configurations * height * width for height in heights)], dtype=np.longlong)
    cells = np.zeros(int(starts[-1]))
    count_families(sample, sample.weights, numbers, configurations, one, others, starts[:-1], cells)
    for k, height in enumerate(heights):
        yield cells[starts[k] : starts[k + 1]].reshape(configurations, height, width)


def _count_sparse(sample: Sample, one: int, other: int, numbers: Configuration) -> PairTable:
    """Count a table with many more cells than there are rows."""
    height, width = int(sample.sizes[other]), int(sample.sizes[one])
    codes = sample.codes
    is_complete = (
        (numbers >= 0) & (codes[:, one] < width) & (codes[:, other] < height) & (sample.weights > 0.0)
    )
    keys = (
        numbers[is_complete].astype(np.int64) * (height * width)
        + codes[is_complete, other].astype(np.int64) * width
    )
    cells, group = np.unique(keys + codes[is_complete, one], return_inverse=True)
    weight = np.bincount(group, sample.weights[is_complete], len(cells)).astype(np.float64)
    return PairTable(cells // (height * width), cells % width, cells // width % height, weight)
