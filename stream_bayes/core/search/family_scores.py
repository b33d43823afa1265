"""The tables of families that differ in one parent, counted in one pass over the rows of a sample.

Scores of families over a sample: each is counted once, and those that differ in one parent are counted together.

When rows come and go, as in a window, the tables that were counted are kept and only the difference is counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.search import _counting as _search
from stream_bayes.core.search.sample import MOST_SPARE, Numbers, Sample, configurations_of, joined, numbered
from stream_bayes.core.search.scores import Score

__all__ = ["FamilyScorer", "count_families"]

ROOM = 65_536  # cells of joint tables, which stay in the processor's second cache

Floats = NDArray[np.float64]
Places = NDArray[np.longlong]


def count_families(
    sample: Sample,
    weights: Floats,
    numbers: Numbers,
    configurations: int,
    child: int,
    candidates: Sequence[int],
    starts: Places,
    cells: Floats,
) -> None:
    """Add the rows of a sample to the tables of a child with a configuration and each candidate.

    Where it takes less time, tables are counted for candidates that are packed in a byte, and summed into those asked
    for. With whole weights that makes no difference; with others it may in the last bit.

    Parameters
    ----------
    sample, weights
        The rows, and how much each weighs here.
    numbers, configurations
        The configuration in each row, -1 for rows that are left out; and how many there are.
    child
        The child's column.
    candidates
        The columns of the extra parents.
    starts, cells
        Where the table of each candidate begins, and all tables.
    """
    rows = _Rows(sample, weights, numbers, configurations, child)
    places, packed = np.array(candidates, np.longlong), sample.packed
    group = packed.group[places]
    many = np.bincount(group[group >= 0], minlength=len(packed.widths))
    size = rows.runs * packed.widths
    worth = _worth(size, many, len(sample))
    chosen = (group >= 0) & np.append(worth, False)[group]
    for groups in _parts(size, np.flatnonzero(worth)):
        now = np.zeros(len(worth) + 1, np.bool_)
        now[groups] = True
        part = chosen & now[group]
        rows.packed(groups, places[part], starts[: len(places)][part], cells)
    if not chosen.all():
        rows.plain(places[~chosen], starts[: len(places)][~chosen], cells)


def _worth(size: Places, many: Places, rows: int) -> NDArray[np.bool_]:
    """For each group, whether counting it and summing it into tables for `many` candidates takes fewer additions than
    these tables alone.
    """
    worth: NDArray[np.bool_] = (size <= ROOM) & (size * many < rows * (many - 1))
    return worth


def _parts(size: Places, groups: Places) -> Iterator[Places]:
    """Groups whose tables have room together."""
    first, taken = 0, 0
    for place, own in enumerate(size[groups].tolist()):
        if place > first and taken + own > ROOM:
            yield groups[first:place]
            first, taken = place, 0
        taken += own
    if first < len(groups):
        yield groups[first:]


@dataclass(frozen=True)
class _Rows:
    """The rows that are counted: each with its weight, its configuration, and the child's value."""

    sample: Sample
    weights: Floats
    numbers: Numbers
    configurations: int
    child: int

    @property
    def runs(self) -> int:
        """How many runs of joint values a table of groups has."""
        return self.configurations * int(self.sample.sizes[self.child])

    def plain(self, candidates: Places, starts: Places, cells: Floats) -> None:
        """A table for each candidate."""
        sample = self.sample
        _search.count_families(
            sample.codes, self.weights, self.numbers, self.child, candidates, sample.sizes, starts, cells
        )

    def packed(self, groups: Places, candidates: Places, starts: Places, cells: Floats) -> None:
        """A table for each group, summed into one for each candidate."""
        sample, packed, width = self.sample, self.sample.packed, int(self.sample.sizes[self.child])
        offsets = np.zeros(len(groups) + 1, np.longlong)
        np.cumsum(packed.widths[groups], out=offsets[1:])
        total = int(offsets[-1])
        joint = np.zeros(self.runs * total)
        _search.count_packed(
            packed.codes, sample.codes, self.weights, self.numbers, self.child, width, groups, offsets, joint
        )
        begin = np.zeros(len(packed.widths), np.longlong)
        begin[groups] = offsets[:-1]
        columns = packed.columns[candidates]
        columns[:, 0] = begin[packed.group[candidates]]
        _search.unpack(joint, self.configurations, width, total, columns, starts, cells)


CELLS = 32_768  # of the tables that are counted in one pass: more do not fit the processor's nearest cache


@dataclass(frozen=True)
class _Tables:
    """What was counted in one pass: a child with some parents and each of a few candidates."""

    child: int
    parents: tuple[int, ...]
    candidates: tuple[int, ...]
    configurations: int
    starts: NDArray[np.longlong]
    cells: NDArray[np.float64]
    extends: bool  # whether configurations have the numbers that other rows give them too


class FamilyScorer:
    """Scores families of one sample, and remembers them.

    Variables are their columns in the sample. Counting takes about half a nanosecond for a row and a family, where
    families of one child and the same other parents are asked for together.

    Parameters
    ----------
    sample
        The rows.
    score
        What is computed from their counts.

    Attributes
    ----------
    families
        How many families were counted.

    Examples
    --------
    >>> from stream_bayes.core.search.scores import BIC
    >>> sample = Sample({"a": [0, 1, 0, 1], "b": [0, 1, 0, 1]}, {"a": 2, "b": 2})
    >>> scorer = FamilyScorer(sample, BIC())
    >>> scorer.score(1, ()), scorer.score(1, (0,))
    (-3.465..., -1.386...)
    """

    def __init__(self, sample: Sample, score: Score) -> None:
        self.sample = sample
        self.how = score
        self.families = 0
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}
        self._counted: list[_Tables] = []

    def score(self, child: int, parents: Sequence[int]) -> float:
        """The score of a child with these parents."""
        key = child, tuple(sorted(parents))
        if key not in self._known:
            if key[1]:
                self.with_each(child, key[1][:-1], [key[1][-1]])
            else:
                self._known[key] = self._alone(child)
        return self._known[key]

    def with_each(self, child: int, parents: Sequence[int], candidates: Sequence[int]) -> NDArray[np.float64]:
        """The scores of a child with these parents and each candidate in turn."""
        keys = [(child, tuple(sorted((*parents, candidate)))) for candidate in candidates]
        new = [place for place, key in enumerate(keys) if key not in self._known]
        if new:
            numbers, configurations = numbered(self.sample, parents)
            narrow: list[int] = []
            wide: list[int] = []
            for place in new:
                most = max(CELLS, MOST_SPARE * len(self.sample))
                fits = self._cells(child, configurations, candidates[place]) <= most
                (narrow if fits else wide).append(candidates[place])
            for part in self._parts(child, configurations, narrow):
                self._count(child, tuple(parents), part, numbers, configurations)
            for candidate in wide:
                self._count_wide(child, tuple(parents), candidate, numbers, configurations)
        return np.array([self._known[key] for key in keys])

    def total(self, parents: Sequence[Sequence[int]]) -> float:
        """The score of a whole structure: each variable's parents."""
        return float(sum(self.score(child, own) for child, own in enumerate(parents)))

    # -- counting -----------------------------------------------------------------------------------------------------

    def _parts(self, child: int, configurations: int, candidates: Sequence[int]) -> list[list[int]]:
        """Candidates in groups whose tables fit the cache together."""
        parts: list[list[int]] = []
        room = 0
        for candidate in candidates:
            size = self._cells(child, configurations, candidate)
            if size > room or not parts:
                parts.append([])
                room = CELLS
            parts[-1].append(candidate)
            room -= size
        return parts

    def _cells(self, child: int, configurations: int, candidate: int) -> int:
        sizes = self.sample.sizes
        return configurations * int(sizes[candidate]) * int(sizes[child])

    def _count(
        self,
        child: int,
        parents: tuple[int, ...],
        candidates: Sequence[int],
        numbers: Numbers,
        configurations: int,
    ) -> None:
        """Count and score a child with the parents and each of some candidates, in one pass over the rows."""
        lengths = [self._cells(child, configurations, candidate) for candidate in candidates]
        starts = np.cumsum([0, *lengths], dtype=np.longlong)
        extends = configurations == self._configurations(parents)
        tables = _Tables(
            child, parents, tuple(candidates), configurations, starts, np.zeros(int(starts[-1])), extends
        )
        self._add(tables, self.sample, numbers, self.sample.weights)
        self._score(tables)
        self.families += len(candidates)
        self._counted.append(tables)

    def _count_wide(
        self, child: int, parents: tuple[int, ...], candidate: int, numbers: Numbers, configurations: int
    ) -> None:
        """Count and score a family whose table would be much larger than the sample, a few of its rows at a time."""
        sample = self.sample
        width = int(sample.sizes[child])
        joint, _ = joined(sample, numbers, configurations, (candidate,))
        value = sample.codes[:, child].astype(np.int64)
        seen = (joint >= 0) & (value < width)
        cells, group = np.unique(joint[seen].astype(np.int64) * width + value[seen], return_inverse=True)
        weights = np.bincount(group, sample.weights[seen], len(cells)).astype(np.float64)
        found, row = np.unique(cells // width, return_inverse=True)
        whole = float(self._configurations(parents) * int(sample.sizes[candidate]))
        own = 0.0
        step = max(1, CELLS // width)
        for first in range(0, len(found), step):
            begin, end = np.searchsorted(row, (first, first + step))
            table = np.zeros(min(step, len(found) - first) * width)
            table[(row[begin:end] - first) * width + cells[begin:end] % width] = weights[begin:end]
            own += self.how.explained(table, 0, len(table) // width, width, whole)
        key = child, tuple(sorted((*parents, candidate)))
        self._known[key] = self.how.balanced(own, float(weights.sum()), width, whole, sample.weight)
        self.families += 1

    def _configurations(self, parents: Sequence[int]) -> int:
        return math.prod(int(self.sample.sizes[parent]) for parent in parents)

    @staticmethod
    def _add(tables: _Tables, sample: Sample, numbers: Numbers, weights: NDArray[np.float64]) -> None:
        count_families(
            sample,
            weights,
            numbers,
            tables.configurations,
            tables.child,
            tables.candidates,
            tables.starts,
            tables.cells,
        )

    def _score(self, tables: _Tables) -> None:
        others = self._configurations(tables.parents)
        scores = self.how.of_tables(
            tables.cells,
            tables.starts,
            int(self.sample.sizes[tables.child]),
            [float(others * int(self.sample.sizes[candidate])) for candidate in tables.candidates],
            self.sample.weight,
        )
        for candidate, score in zip(tables.candidates, scores, strict=True):
            self._known[tables.child, tuple(sorted((*tables.parents, candidate)))] = score

    def _alone(self, child: int) -> float:
        """The score of a child without parents."""
        sample = self.sample
        width = int(sample.sizes[child])
        codes = sample.codes[:, child]
        seen = codes < width
        counts = np.bincount(codes[seen], sample.weights[seen], width).astype(np.float64)
        self.families += 1
        return self.how.family(counts.reshape(1, width), 1.0, sample.weight)

    # -- rows that come and go ----------------------------------------------------------------------------------------

    def follow(self, sample: Sample, added: Sample, removed: Sample | None = None) -> None:
        """Go on with another sample, which is the present one with rows added and removed.

        Families that were counted stay counted, at the cost of the rows that changed. With other values of a variable,
        and where a family has more configurations than there was room for, they are counted anew when asked for.

        Parameters
        ----------
        sample
            The rows from now on.
        added, removed
            What was added to the rows so far, and what was taken out.

        Examples
        --------
        >>> from stream_bayes.core.search.scores import BIC
        >>> first = Sample({"a": [0, 1], "b": [0, 1]}, {"a": 2, "b": 2})
        >>> more = Sample({"a": [1, 1], "b": [0, 1]}, {"a": 2, "b": 2})
        >>> scorer = FamilyScorer(first, BIC())
        >>> before = scorer.score(1, (0,))
        >>> scorer.follow(Sample({"a": [0, 1, 1, 1], "b": [0, 1, 0, 1]}, {"a": 2, "b": 2}), more)
        >>> before, scorer.score(1, (0,))
        (-0.693..., -3.295...)
        """
        parts = [(added, 1.0)] if removed is None else [(added, 1.0), (removed, -1.0)]
        same = all(
            other.variables == self.sample.variables and np.array_equal(other.sizes, self.sample.sizes)
            for other in (sample, *(part for part, _ in parts))
        )
        self.sample = sample
        self._known = {}
        self._counted = [tables for tables in self._counted if same and tables.extends]
        for tables in self._counted:
            for part, sign in parts:
                self._add(tables, part, configurations_of(part, tables.parents), sign * part.weights)
            self._score(tables)
