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
    together: dict[int, list[int]] = {}  # of each group, the places among the candidates
    for place, candidate in enumerate(candidates):
        together.setdefault(int(sample.packed.group[candidate]), []).append(place)
    plain = together.pop(-1, [])
    plain += [
        place
        for group in list(together)
        if not rows.worth(group, len(together[group]))
        for place in together.pop(group)
    ]
    for groups in rows.parts(list(together)):
        places = [place for group in groups for place in together[group]]
        rows.packed(groups, [candidates[place] for place in places], starts[places], cells)
    if plain:
        rows.plain([candidates[place] for place in plain], starts[plain], cells)


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

    def worth(self, group: int, many: int) -> bool:
        """Whether counting a group and summing it into `many` tables takes fewer additions than these tables alone."""
        size = self.runs * int(self.sample.packed.widths[group])
        return size <= ROOM and size * many < len(self.sample) * (many - 1)

    def parts(self, groups: Sequence[int]) -> Iterator[list[int]]:
        """Groups whose tables have room together."""
        part: list[int] = []
        size = 0
        for group in groups:
            own = self.runs * int(self.sample.packed.widths[group])
            if part and size + own > ROOM:
                yield part
                part, size = [], 0
            part.append(group)
            size += own
        if part:
            yield part

    def plain(self, candidates: Sequence[int], starts: Places, cells: Floats) -> None:
        """A table for each candidate."""
        columns = np.array(candidates, np.longlong)
        sample = self.sample
        _search.count_families(
            sample.codes, self.weights, self.numbers, self.child, columns, sample.sizes, starts, cells
        )

    def packed(self, groups: Sequence[int], candidates: Sequence[int], starts: Places, cells: Floats) -> None:
        """A table for each group, summed into one for each candidate."""
        sample, packed, width = self.sample, self.sample.packed, int(self.sample.sizes[self.child])
        offsets = np.cumsum([0, *packed.widths[groups]], dtype=np.longlong)
        joint = np.zeros(self.runs * int(offsets[-1]))
        chosen = np.array(groups, np.longlong)
        _search.count_packed(
            packed.codes, sample.codes, self.weights, self.numbers, self.child, width, chosen, offsets, joint
        )
        begin = dict(zip(groups, offsets.tolist(), strict=False))
        own = packed.group[candidates]
        columns = np.stack(
            [
                np.array([begin[group] for group in own.tolist()], np.longlong),
                packed.widths[own],
                packed.slots[candidates],
                sample.sizes[candidates],
                packed.inner[candidates],
            ],
            axis=1,
        )
        _search.unpack(joint, self.configurations, width, int(offsets[-1]), columns, starts, cells)
