"""Columns of codes packed several to a byte, so that one look at a row tells the joint value of several variables.

A table is counted for the joint values of a few variables, and then summed into a table for each of them: with two or
three variables in a byte that takes a third of the additions that a table for each variable would take.

Rows of codes to search a structure over: a window of events, or a frame, with equal rows counted together.

Numbers for the joint values of several variables of a sample.

While there is room, a configuration's number follows from the values alone, first variable first, so that other rows
give the same configuration the same number. Where there would be many more numbers than rows, those that occur are
numbered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.search import _counting as _search
from stream_bayes.core.values.values import Value, name_order, shown
from stream_bayes.errors import BadValue, UnknownFeature

__all__ = [
    "MOST_SPARE",
    "Numbers",
    "PackedColumns",
    "Sample",
    "check_sample",
    "configurations_of",
    "joined",
    "numbered",
]

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


Codes = NDArray[Any]  # uint8, or uint16


class Sample:
    """Rows of codes, each with a weight. Immutable.

    Variables stand in the order of their names. A row takes a byte for each variable, two where one has more than 255
    values, and 8 bytes for its weight; while a search
    counts, a byte more for every two or three variables.

    Parameters
    ----------
    columns
        The codes of each variable, from 0; a negative one means missing.
    sizes
        How many values each variable has.
    weights
        How much each row weighs; 1 if not given.

    Examples
    --------
    >>> sample = Sample({"sky": [0, 1, 0], "rain": [1, 0, -1]}, {"sky": 2, "rain": 2})
    >>> sample.variables, sample.weight
    (('rain', 'sky'), 3.0)
    """

    def __init__(
        self,
        columns: Mapping[Any, Sequence[int] | NDArray[Any]],
        sizes: Mapping[Any, int],
        weights: Sequence[float] | NDArray[Any] | None = None,
    ) -> None:
        self.variables: tuple[Value, ...] = tuple(sorted(columns, key=name_order))
        if set(sizes) != set(columns):
            raise BadValue(
                f"sizes: expected one for each of {shown(self.variables)}, got {shown(sorted(sizes, key=name_order))}"
            )
        self.sizes = np.array([sizes[name] for name in self.variables], np.longlong)
        if len(self.sizes) and not 1 <= self.sizes.min() <= self.sizes.max() < 65_535:
            raise BadValue("sizes: expected from 1 to 65,534 values of each variable")
        kind = np.uint8 if self.sizes.max(initial=0) <= 255 else np.uint16
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise BadValue(f"columns: expected the same length of all, got {sorted(lengths)}")
        rows = lengths.pop() if lengths else 0
        self.codes: Codes = np.empty((rows, len(self.variables)), kind)
        for place, name in enumerate(self.variables):
            column = np.asarray(columns[name])
            if len(column) and not np.issubdtype(column.dtype, np.integer):
                raise BadValue(f"{shown(name)}: expected whole numbers, got {column.dtype}")
            if len(column) and int(column.max()) >= self.sizes[place]:
                raise BadValue(
                    f"{shown(name)}: expected codes below {self.sizes[place]}, got {int(column.max())}"
                )
            self.codes[:, place] = np.where(column < 0, np.iinfo(kind).max, column)
        self.weights = np.ones(rows) if weights is None else np.array(weights, np.float64)
        if self.weights.shape != (rows,) or not np.all((self.weights >= 0.0) & np.isfinite(self.weights)):
            raise BadValue(f"weights: expected {rows:,} finite numbers from 0 on")
        self.weight = float(self.weights.sum())

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def packed(self) -> PackedColumns:
        """The columns with several variables to a byte, made when they are first asked for."""
        return PackedColumns.of(self.codes, self.sizes)

    def place(self, variable: Value) -> int:
        """The column of a variable."""
        try:
            return self.variables.index(variable)
        except ValueError:
            raise UnknownFeature(
                f"there is no variable {shown(variable)}; there are {shown(self.variables)}"
            ) from None

    def collapsed(self) -> Self:
        """The same with equal rows as one, whose weight is theirs together; in the order in which they first come.

        Examples
        --------
        >>> small = Sample({"sky": [0, 1, 0, 0]}, {"sky": 2}).collapsed()
        >>> len(small), small.weights.tolist()
        (2, [3.0, 1.0])
        """
        if not self.codes.size:
            return self
        rows = len(self.codes)
        table = np.full(2 ** (2 * rows).bit_length(), -1, np.int32)
        first, group = np.empty(rows, np.longlong), np.empty(rows, np.longlong)
        first = first[: _search.group_rows(self.codes, table, first, group)]
        made = object.__new__(type(self))
        made.variables, made.sizes, made.weight = self.variables, self.sizes, self.weight
        made.codes = np.ascontiguousarray(self.codes[first])
        made.weights = np.bincount(group, self.weights, len(first)).astype(np.float64)
        return made


def check_sample(sample: object) -> None:
    """Refuse to search over anything else, and say what makes a sample of rows."""
    if not isinstance(sample, Sample):
        raise BadValue(
            f"expected a Sample to search over, got {type(sample).__name__}; stream_bayes.networks.sample_of(rows) "
            "makes one of a data frame or dicts, and so does recent() of a "
            "BayesNet with a window"
        )


MOST_SPARE = 4  # numbers for each row, beyond which only the configurations that occur are numbered

Numbers: TypeAlias = NDArray[np.int32]


def configurations_of(sample: Sample, members: Sequence[int]) -> Numbers:
    """The configuration of some variables in each row, by their values alone; -1 where one is missing.

    Parameters
    ----------
    sample
        The rows.
    members
        The variables' columns, with fewer than 2^31 configurations together.
    """
    places = np.array(members, np.longlong)
    numbers = np.zeros(len(sample), np.int32)
    _search.number_configurations(sample.codes, places, sample.sizes[places], numbers)
    return numbers


def numbered(sample: Sample, members: Sequence[int]) -> tuple[Numbers, int]:
    """The configuration of some variables in each row, -1 where one is missing; and how many numbers there are.

    Examples
    --------
    >>> sample = Sample({"a": [0, 1, 1], "b": [2, 0, -1]}, {"a": 2, "b": 3})
    >>> numbers, count = numbered(sample, [0, 1])
    >>> numbers.tolist(), count
    ([2, 3, -1], 6)
    """
    numbers = np.zeros(len(sample), np.int32)
    count = 1
    ahead: list[int] = []  # as many at a time as can be numbered directly
    for member in members:
        if ahead and count * _product(sample, (*ahead, member)) > _room(sample):
            numbers, count = joined(sample, numbers, count, ahead)
            ahead = []
        ahead.append(member)
    return joined(sample, numbers, count, ahead) if ahead else (numbers, count)


def joined(sample: Sample, before: Numbers, count: int, members: Sequence[int]) -> tuple[Numbers, int]:
    """Configurations so far, of which there are `count`, joined with more variables."""
    numbers = configurations_of(sample, members)
    size = _product(sample, members)
    joint = np.where((before < 0) | (numbers < 0), -1, before.astype(np.int64) * size + numbers)
    if count * size <= _room(sample):
        return joint.astype(np.int32), count * size
    found, group = np.unique(joint, return_inverse=True)
    missing = int(len(found) > 0 and found[0] < 0)
    return (group - missing).astype(np.int32), max(len(found) - missing, 1)


def _room(sample: Sample) -> int:
    return MOST_SPARE * max(len(sample), 1)


def _product(sample: Sample, members: Sequence[int]) -> int:
    return math.prod(int(sample.sizes[member]) for member in members)
