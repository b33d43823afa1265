"""Columns of codes packed several to a byte, so that one look at a row tells the joint value of several variables.

A table is counted for the joint values of a few variables, and then summed into a table for each of them: with two or
three variables in a byte that takes a third of the additions that a table for each variable would take.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["PackedColumns"]

MOST_TOGETHER = (
    64  # joint values of the variables in a byte: more make tables that do not fit the nearest cache
)
MOST_ALONE = 256

Places = NDArray[np.longlong]


@dataclass(frozen=True)
class PackedColumns:
    """A byte for each row and group of variables. In it, a variable's code is (byte // inner) % slots.

    Parameters
    ----------
    codes
        A row an event, a column a group.
    widths
        How many joint values each group has.
    group, slots, inner, sizes
        Of each variable its group, or -1 where it has too many values for a byte; how many codes it takes, one of them
        for missing ones where there are any; the product of the slots of those before it in the group; and
        how many values it has.
    """

    codes: NDArray[np.uint8]
    widths: Places
    group: Places
    slots: Places
    inner: Places
    sizes: Places

    @cached_property
    def columns(self) -> Places:
        """Of each variable a row as `_search.unpack` reads it, but for where its group begins: that is 0."""
        widths = np.append(self.widths, 0)[self.group]
        return np.stack([np.zeros_like(self.group), widths, self.slots, self.sizes, self.inner], axis=1)

    @classmethod
    def of(cls, codes: NDArray[Any], sizes: Places) -> Self:
        """Pack columns, neighbours together.

        Parameters
        ----------
        codes
            A row an event, a column a variable; a code that is not below the variable's size is missing.
        sizes
            How many values each variable has.

        Examples
        --------
        >>> packed = PackedColumns.of(np.array([[0, 2], [1, 0], [1, 9]], np.uint8), np.array([2, 3]))
        >>> packed.widths.tolist(), packed.codes.tolist()
        ([8], [[4], [1], [7]])
        """
        highest = codes.max(axis=0, initial=0) if len(codes) else np.zeros(len(sizes), codes.dtype)
        slots = sizes + (highest >= sizes)
        groups: list[list[int]] = []
        widths: list[int] = []
        for place, many in enumerate(slots.tolist()):
            if many > MOST_ALONE:
                continue
            if widths and widths[-1] * many <= MOST_TOGETHER:
                groups[-1].append(place)
                widths[-1] *= many
            else:
                groups.append([place])
                widths.append(many)
        packed = np.zeros((len(codes), len(groups)), np.uint8)
        group, inner = np.full(len(sizes), -1, np.longlong), np.ones(len(sizes), np.longlong)
        for own, members in enumerate(groups):
            step = 1
            for place in members:
                group[place], inner[place] = own, step
                packed[:, own] += np.minimum(codes[:, place], slots[place] - 1).astype(np.uint8) * np.uint8(
                    step
                )
                step *= int(slots[place])
        return cls(packed, np.array(widths, np.longlong), group, slots, inner, sizes)
