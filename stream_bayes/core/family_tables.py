"""The tables of families that differ in one parent, counted in one pass over the rows of a sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core import _search
from stream_bayes.core.numbering import Numbers
from stream_bayes.core.sample import Sample

__all__ = ["count_families"]

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
