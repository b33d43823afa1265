"""Scores of families over a sample, each counted once.

`count_families` counts the tables of families that differ in one parent in a single pass over the rows. `FamilyScorer`
caches the tables and scores; when rows are added and removed, as in a window, it counts only the difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.search import _counting
from stream_bayes.core.search.sample import (
    MOST_SPARE,
    Configuration,
    Sample,
    configurations_of,
    joined,
    numbered,
)
from stream_bayes.core.search.scores import Score
from stream_bayes.errors import BadValue

__all__ = ["FamilyScorer", "count_families"]

JOINT_CELLS = 65_536  # joint tables up to this size stay in the processor's second-level cache

FEW_ADDITIONS = 50_000  # take less time than to decide how to pack

Floats = NDArray[np.float64]
Positions = NDArray[np.longlong]


def count_families(
    sample: Sample,
    weights: Floats,
    numbers: Configuration,
    configurations: int,
    child: int,
    candidates: Sequence[int],
    starts: Positions,
    cells: Floats,
) -> None:
    """Add the rows of a sample to the tables of a child with some parents and each candidate parent.

    If it takes less time, candidates packed in a byte are counted jointly and then summed. The result is the same with
    whole weights; with others it may differ in the last bit.

    `weights` has the weight of each row. `numbers` has the configuration of the parents in each row, -1 for rows to
    leave out; `configurations` is how many there are. `child` and `candidates`, the extra parents, are columns.
    `starts` has the first cell of each candidate's table, `cells` all tables.
    """
    rows = _Rows(sample, weights, numbers, configurations, child)
    columns = np.array(candidates, np.longlong)
    if len(sample) * len(columns) <= FEW_ADDITIONS:
        rows.plain(columns, starts, cells)
        return
    packed = sample.packed
    group = packed.group[columns]
    many = np.bincount(group[group >= 0], minlength=len(packed.widths))
    size = rows.runs * packed.widths
    worth = _worth(size, many, len(sample))
    chosen = (group >= 0) & np.append(worth, False)[group]
    for groups in _parts(size, np.flatnonzero(worth)):
        now = np.zeros(len(worth) + 1, np.bool_)
        now[groups] = True
        is_packed = chosen & now[group]
        rows.packed(groups, columns[is_packed], starts[: len(columns)][is_packed], cells)
    if not chosen.all():
        rows.plain(columns[~chosen], starts[: len(columns)][~chosen], cells)


def _worth(size: Positions, many: Positions, rows: int) -> NDArray[np.bool_]:
    """Return, for each group, True if counting it jointly and summing takes fewer additions than `many`
    single tables.
    """
    return (size <= JOINT_CELLS) & (size * many < rows * (many - 1))


def _parts(size: Positions, groups: Positions) -> Iterator[Positions]:
    """Split groups into parts whose joint tables fit the cache together."""
    first, taken = 0, 0
    for index, cells in enumerate(size[groups].tolist()):
        if index > first and taken + cells > JOINT_CELLS:
            yield groups[first:index]
            first, taken = index, 0
        taken += cells
    if first < len(groups):
        yield groups[first:]


@dataclass(frozen=True)
class _Rows:
    """The rows to count: each with its weight, its configuration, and the child's value."""

    sample: Sample
    weights: Floats
    numbers: Configuration
    configurations: int
    child: int

    @property
    def runs(self) -> int:
        """The number of runs of joint values in a table of groups."""
        return self.configurations * int(self.sample.sizes[self.child])

    def plain(self, candidates: Positions, starts: Positions, cells: Floats) -> None:
        """Count a table for each candidate."""
        sample = self.sample
        _counting.count_families(
            sample.codes, self.weights, self.numbers, self.child, candidates, sample.sizes, starts, cells
        )

    def packed(self, groups: Positions, candidates: Positions, starts: Positions, cells: Floats) -> None:
        """Count a table for each group, and sum it into a table for each candidate."""
        sample, packed, width = self.sample, self.sample.packed, int(self.sample.sizes[self.child])
        offsets = np.zeros(len(groups) + 1, np.longlong)
        np.cumsum(packed.widths[groups], out=offsets[1:])
        total = int(offsets[-1])
        joint = np.zeros(self.runs * total)
        _counting.count_packed(
            packed.codes, sample.codes, self.weights, self.numbers, self.child, width, groups, offsets, joint
        )
        begin = np.zeros(len(packed.widths), np.longlong)
        begin[groups] = offsets[:-1]
        columns = packed.columns[candidates]
        columns[:, 0] = begin[packed.group[candidates]]
        _counting.unpack(joint, self.configurations, width, total, columns, starts, cells)


def _fitting(candidates: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Split candidates, each with the cells of its table, into parts whose tables fit the cache together."""
    parts: list[list[tuple[int, int]]] = []
    room = 0
    for candidate, cells in candidates:
        if cells > room or not parts:
            parts.append([])
            room = CELLS
        parts[-1].append((candidate, cells))
        room -= cells
    return parts


CELLS = 32_768  # of the tables counted in one pass: more do not fit the processor's first-level cache


@dataclass(frozen=True)
class _Tables:
    """Tables counted in one pass: a child with some parents and each of a few candidates."""

    child: int
    parents: tuple[int, ...]
    candidates: tuple[int, ...]
    configurations: int
    starts: NDArray[np.longlong]
    cells: NDArray[np.float64]
    extends: (
        bool  # True if configurations are numbered by values alone, so that rows can be added and removed
    )


class FamilyScorer:
    """Scores families of one sample, and caches them.

    Variables are given by their columns in the sample. Counting takes about half a nanosecond for each row and family,
    if families of one child with the same other parents are requested together.

    Parameters
    ----------
    sample
        The rows, without gaps: `completions.completed` fills them in.
    score
        The score computed from the counts.

    Attributes
    ----------
    families
        The number of families counted.

    Examples
    --------
    >>> from stream_bayes.core.search.scores import BIC
    >>> sample = Sample({"a": [0, 1, 0, 1], "b": [0, 1, 0, 1]}, {"a": 2, "b": 2})
    >>> scorer = FamilyScorer(sample, BIC())
    >>> scorer.score(1, ()), scorer.score(1, (0,))
    (-3.465..., -1.386...)
    """

    def __init__(self, sample: Sample, score: Score) -> None:
        _refuse_gaps(sample)
        self.sample = sample
        self.how = score
        self.families = 0
        self._bits = [1 << number for number in range(len(sample.variables))]
        # By child, the score of each set of parents: the sum of their bits.
        self._family_scores: list[dict[int, float]] = [{} for _ in self._bits]
        self._counted: list[_Tables] = []
        self._scores_alone: list[float] | None = None  # of all variables, once one was needed

    def score(self, child: int, parents: Sequence[int]) -> float:
        """Return the score of a child with these parents."""
        family_scores, key = self._family_scores[child], self._key(parents)
        if key not in family_scores:
            if key:
                *others, last = sorted(parents)
                self.with_each(child, others, [last])
            else:
                family_scores[key] = self._alone(child)
        return family_scores[key]

    def with_each(self, child: int, parents: Sequence[int], candidates: Sequence[int]) -> NDArray[np.float64]:
        """Return the scores of a child with these parents and each candidate in turn."""
        bits, family_scores, parents_key = self._bits, self._family_scores[child], self._key(parents)
        keys = [parents_key | bits[candidate] for candidate in candidates]
        new = [candidate for candidate, key in zip(candidates, keys, strict=True) if key not in family_scores]
        if new:
            self._count_each(child, tuple(parents), new)
        return np.array([family_scores[key] for key in keys])

    def _count_each(self, child: int, parents: tuple[int, ...], candidates: list[int]) -> None:
        """Count and score a child with these parents and each candidate in turn."""
        numbers, configurations = numbered(self.sample, parents)
        sizes = self.sample.sizes
        step = configurations * int(sizes[child])
        if step * int(sizes[candidates].sum()) <= CELLS:
            self._count(child, parents, candidates, numbers, configurations)
            return
        most = max(CELLS, MOST_SPARE * len(self.sample))
        pairs = [(candidate, int(sizes[candidate]) * step) for candidate in candidates]
        for batch in _fitting([(candidate, cells) for candidate, cells in pairs if cells <= most]):
            self._count(child, parents, [candidate for candidate, _ in batch], numbers, configurations)
        for candidate, cells in pairs:
            if cells > most:
                self._count_wide(child, parents, candidate, numbers, configurations)

    def _key(self, parents: Sequence[int]) -> int:
        """Return a set of parents as the sum of their bits."""
        key = 0
        for parent in parents:
            key |= self._bits[parent]
        return key

    def total(self, parents: Sequence[Sequence[int]]) -> float:
        """Return the score of a whole structure: each variable's parents."""
        return float(sum(self.score(child, above) for child, above in enumerate(parents)))

    # -- counting -----------------------------------------------------------------------------------------------------

    def _count(
        self,
        child: int,
        parents: tuple[int, ...],
        candidates: list[int],
        numbers: Configuration,
        configurations: int,
    ) -> None:
        """Count and score a child with the parents and each candidate, in one pass over the rows."""
        sizes = self.sample.sizes
        starts = np.zeros(len(candidates) + 1, np.longlong)
        np.cumsum(sizes[candidates] * (configurations * int(sizes[child])), out=starts[1:])
        extends = configurations == self._configurations(parents)
        tables = _Tables(
            child, parents, tuple(candidates), configurations, starts, np.zeros(int(starts[-1])), extends
        )
        self._add(tables, self.sample, numbers, self.sample.weights)
        self._score(tables)
        self.families += len(candidates)
        self._counted.append(tables)

    def _count_wide(
        self,
        child: int,
        parents: tuple[int, ...],
        candidate: int,
        numbers: Configuration,
        configurations: int,
    ) -> None:
        """Count and score a family whose table would be much larger than the sample, a few of its rows at a time."""
        sample = self.sample
        width = int(sample.sizes[child])
        joint, _ = joined(sample, numbers, configurations, (candidate,))
        value = sample.codes[:, child].astype(np.int64)
        is_complete = (joint >= 0) & (value < width)
        cells, group = np.unique(
            joint[is_complete].astype(np.int64) * width + value[is_complete], return_inverse=True
        )
        weights = np.bincount(group, sample.weights[is_complete], len(cells)).astype(np.float64)
        occurring, row = np.unique(cells // width, return_inverse=True)
        whole = float(self._configurations(parents) * int(sample.sizes[candidate]))
        explained = 0.0
        step = max(1, CELLS // width)
        for first in range(0, len(occurring), step):
            begin, end = np.searchsorted(row, (first, first + step))
            table = np.zeros(min(step, len(occurring) - first) * width)
            table[(row[begin:end] - first) * width + cells[begin:end] % width] = weights[begin:end]
            explained += self.how.explained(table, 0, len(table) // width, width, whole)
        key = self._key((*parents, candidate))
        self._family_scores[child][key] = explained - self.how.penalty(whole * (width - 1), sample.weight)
        self.families += 1

    def _configurations(self, parents: Sequence[int]) -> int:
        return math.prod(int(self.sample.sizes[parent]) for parent in parents)

    @staticmethod
    def _add(tables: _Tables, sample: Sample, numbers: Configuration, weights: NDArray[np.float64]) -> None:
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
        """Score the tables. Without parents, a table is also that of the candidate with the child as its parent."""
        sample, child = self.sample, tables.child
        sizes = sample.sizes[list(tables.candidates)]
        widths = np.full(len(sizes), sample.sizes[child], np.longlong)
        others = float(self._configurations(tables.parents))
        bits, family_scores, parents_key = self._bits, self._family_scores[child], self._key(tables.parents)
        scores = self.how.of_tables(
            tables.cells, tables.starts, widths, sizes.astype(np.float64) * others, sample.weight
        )
        for candidate, score in zip(tables.candidates, scores.tolist(), strict=True):
            family_scores[parents_key | bits[candidate]] = score
        if tables.parents:
            return
        turned = np.empty_like(tables.cells)
        _counting.turn_tables(tables.cells, tables.starts, int(sample.sizes[child]), turned)
        scores = self.how.of_tables(turned, tables.starts, sizes, widths.astype(np.float64), sample.weight)
        for candidate, score in zip(tables.candidates, scores.tolist(), strict=True):
            self._family_scores[candidate][bits[child]] = score

    def _alone(self, child: int) -> float:
        """Return the score of a child without parents."""
        if self._scores_alone is None:
            sample = self.sample
            starts = np.zeros(len(sample.sizes) + 1, np.longlong)
            np.cumsum(sample.sizes, out=starts[1:])
            cells = np.zeros(int(starts[-1]))
            _counting.count_values(sample.codes, sample.weights, sample.sizes, starts, cells)
            ones = np.ones(len(sample.sizes))
            self._scores_alone = self.how.of_tables(cells, starts, sample.sizes, ones, sample.weight).tolist()
        self.families += 1
        return self._scores_alone[child]

    def release_tables(self, most: int) -> None:
        """Drop the tables if they have more cells than `most`. Their scores stay; `follow` counts families again."""
        if sum(len(tables.cells) for tables in self._counted) > most:
            self._counted = []

    # -- added and removed rows ---------------------------------------------------------------------------------------

    def follow(self, sample: Sample, added: Sample, removed: Sample | None = None) -> None:
        """Continue with another sample: the present one with rows added and removed.

        Counted families are updated at the cost of the changed rows. If the values of a variable changed, or a family
        has more configurations than there was room for, they are counted again when needed.

        Parameters
        ----------
        sample
            The new rows.
        added, removed
            The rows that were added, and those that were removed.

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
        for rows in (sample, added, *(() if removed is None else (removed,))):
            _refuse_gaps(rows)
        parts = [(added, 1.0)] if removed is None else [(added, 1.0), (removed, -1.0)]
        same = all(
            other.variables == self.sample.variables and np.array_equal(other.sizes, self.sample.sizes)
            for other in (sample, *(rows for rows, _ in parts))
        )
        self.sample = sample
        self._family_scores = [{} for _ in self._bits]
        self._scores_alone = None
        self._counted = [tables for tables in self._counted if same and tables.extends]
        for tables in self._counted:
            for rows, sign in parts:
                self._add(tables, rows, configurations_of(rows, tables.parents), sign * rows.weights)
            self._score(tables)


def _refuse_gaps(sample: Sample) -> None:
    """Raise `BadValue` for a sample with missing values: families would be compared over different rows."""
    if sample.has_gaps:
        raise BadValue(
            "sample: expected rows without missing values, got some with; HillClimbing and the other searches fill "
            "them in, FamilyScorer does not"
        )
