"""Samples: the rows of codes that structures are searched over, from a window of events or a data frame.

`PackedColumns` holds several variables to a byte. A table is counted for their joint values and then summed into a
table for each variable; with two or three variables in a byte that takes a third of the additions of separate tables.

`numbered` numbers the configurations (joint values) of several variables. If there is room, a configuration's number
follows from its values alone, first variable first, so other rows give it the same number. If there would be many more
numbers than rows, only the configurations that occur are numbered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.search import _counting
from stream_bayes.core.values.unknown_names import unknown_variable
from stream_bayes.core.values.values import Value, name_order, shown
from stream_bayes.errors import BadValue

__all__ = [
    "MOST_SPARE",
    "Configuration",
    "PackedColumns",
    "Sample",
    "check_sample",
    "configurations_of",
    "joined",
    "numbered",
]

SampleCodes = NDArray[Any]  # uint8, or uint16
Positions = NDArray[np.longlong]


class Sample:
    """Rows of codes, each with a weight. Immutable.

    Variables are in the order of their names. A row takes a byte for each variable (two if one has more than 255
    values) and 8 bytes for its weight. While a search counts, it takes another byte for every two or three variables.

    Parameters
    ----------
    columns
        The codes of each variable, from 0; negative codes are missing.
    sizes
        The number of values of each variable.
    weights
        The weight of each row; 1 if not given.

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
        self.codes: SampleCodes = np.empty((rows, len(self.variables)), kind)
        for number, name in enumerate(self.variables):
            column = np.asarray(columns[name])
            if len(column) and not np.issubdtype(column.dtype, np.integer):
                raise BadValue(f"{shown(name)}: expected whole numbers, got {column.dtype}")
            if len(column) and int(column.max()) >= self.sizes[number]:
                raise BadValue(
                    f"{shown(name)}: expected codes below {self.sizes[number]}, got {int(column.max())}"
                )
            self.codes[:, number] = np.where(column < 0, np.iinfo(kind).max, column)
        self.weights = np.ones(rows) if weights is None else np.array(weights, np.float64)
        if self.weights.shape != (rows,) or not np.all((self.weights >= 0.0) & np.isfinite(self.weights)):
            raise BadValue(f"weights: expected {rows:,} finite numbers from 0 on")
        self.weight = float(self.weights.sum())
        self.origin: Sample | None = None  # the sample with gaps that this one completes

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def packed(self) -> PackedColumns:
        """The columns with several variables to a byte, made on first use."""
        return PackedColumns.of(self.codes, self.sizes)

    @cached_property
    def has_gaps(self) -> bool:
        """True if a value is missing."""
        return bool((self.codes >= self.sizes).any())

    def completes(self, sample: Sample) -> bool:
        """Return True if this is another sample, or that sample with its missing values filled in."""
        return self is sample or self.origin is sample

    @cached_property
    def both_present(self) -> NDArray[np.float64] | None:
        """The share of the original weight in rows that have both of two variables; None if nothing was filled in."""
        if self.origin is None or self.origin.weight <= 0.0:
            return None
        there = (self.origin.codes < self.sizes).astype(np.float64)
        return there.T @ (there * self.origin.weights[:, None]) / self.origin.weight

    def replaced(self, codes: SampleCodes, weights: NDArray[np.float64]) -> Self:
        """Return this sample with its missing values filled in, by other rows of the same variables."""
        made = object.__new__(type(self))
        made.variables, made.sizes, made.codes, made.origin = self.variables, self.sizes, codes, self
        made.weights, made.weight = weights, float(weights.sum())
        return made

    def place(self, variable: Value) -> int:
        """Return the column of a variable."""
        try:
            return self.variables.index(variable)
        except ValueError:
            raise unknown_variable(variable, self.variables, whole="the sample") from None

    def weighed(self, weights: NDArray[np.float64]) -> Self:
        """Return the same rows with other weights."""
        made = object.__new__(type(self))
        made.variables, made.sizes, made.codes, made.origin = (
            self.variables,
            self.sizes,
            self.codes,
            self.origin,
        )
        made.weights, made.weight = weights, float(weights.sum())
        return made

    def collapsed(self) -> Self:
        """Return the sample with equal rows merged and their weights added, in order of first occurrence.

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
        first = first[: _counting.group_rows(self.codes, table, first, group)]
        made = object.__new__(type(self))
        made.variables, made.sizes, made.weight, made.origin = (
            self.variables,
            self.sizes,
            self.weight,
            self.origin,
        )
        made.codes = np.ascontiguousarray(self.codes[first])
        made.weights = np.bincount(group, self.weights, len(first)).astype(np.float64)
        return made


def check_sample(sample: object) -> None:
    """Raise `BadValue` unless this is a sample; the message names the functions that make one."""
    if not isinstance(sample, Sample):
        raise BadValue(
            f"expected a Sample to search over, got {type(sample).__name__}; stream_bayes.networks.sample_of(rows) "
            "makes one of a data frame or dicts, and so does recent() of a "
            "BayesNet with a window"
        )


MOST_JOINT = 64  # joint values of several variables in a byte: larger tables do not fit the first-level cache
MOST_SINGLE = 256  # values of one variable in a byte


@dataclass(frozen=True)
class PackedColumns:
    """Codes with a byte for each row and group of variables. A variable's code is (byte // inner) % slots."""

    codes: NDArray[np.uint8]  # a row for each event, a column for each group
    widths: Positions  # the number of joint values of each group
    group: Positions  # of each variable; -1 if it has too many values for a byte
    slots: Positions  # of each variable, its number of codes, one of them for missing values if there are any
    inner: Positions  # of each variable, the product of the slots of the variables before it in the group
    sizes: Positions  # the number of values of each variable

    @cached_property
    def columns(self) -> Positions:
        """A row for each variable as `_counting.unpack` reads it, with 0 for the beginning of its group."""
        widths = np.append(self.widths, 0)[self.group]
        return np.stack([np.zeros_like(self.group), widths, self.slots, self.sizes, self.inner], axis=1)

    @classmethod
    def of(cls, codes: NDArray[Any], sizes: Positions) -> Self:
        """Pack columns, neighbours together. `codes` has a row for each event and a column for each variable; a code
        not below the variable's size, its number of values, is missing.

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
        for column, many in enumerate(slots.tolist()):
            if many > MOST_SINGLE:
                continue
            if widths and widths[-1] * many <= MOST_JOINT:
                groups[-1].append(column)
                widths[-1] *= many
            else:
                groups.append([column])
                widths.append(many)
        packed = np.zeros((len(codes), len(groups)), np.uint8)
        group, inner = np.full(len(sizes), -1, np.longlong), np.ones(len(sizes), np.longlong)
        for number, members in enumerate(groups):
            step = 1
            for column in members:
                group[column], inner[column] = number, step
                packed[:, number] += np.minimum(codes[:, column], slots[column] - 1).astype(
                    np.uint8
                ) * np.uint8(step)
                step *= int(slots[column])
        return cls(packed, np.array(widths, np.longlong), group, slots, inner, sizes)


MOST_SPARE = 4  # numbers per row, beyond which only the configurations that occur are numbered

Configuration: TypeAlias = NDArray[np.int32]


def configurations_of(sample: Sample, members: Sequence[int]) -> Configuration:
    """Return the configuration of some variables in each row, numbered by their values alone; -1 if one is missing.
    `members` are the variables' columns, with fewer than 2^31 joint configurations.
    """
    columns = np.array(members, np.longlong)
    numbers = np.zeros(len(sample), np.int32)
    _counting.number_configurations(sample.codes, columns, sample.sizes[columns], numbers)
    return numbers


def numbered(sample: Sample, members: Sequence[int]) -> tuple[Configuration, int]:
    """Return the configuration of some variables in each row, -1 if one is missing, and the count of numbers.

    Examples
    --------
    >>> sample = Sample({"a": [0, 1, 1], "b": [2, 0, -1]}, {"a": 2, "b": 3})
    >>> numbers, count = numbered(sample, [0, 1])
    >>> numbers.tolist(), count
    ([2, 3, -1], 6)
    """
    size = _product(sample, members)
    if size <= _room(sample):
        return configurations_of(sample, members), size
    numbers = np.zeros(len(sample), np.int32)
    count = 1
    ahead: list[int] = []  # variables to number directly, in one step
    for member in members:
        if ahead and count * _product(sample, (*ahead, member)) > _room(sample):
            numbers, count = joined(sample, numbers, count, ahead)
            ahead = []
        ahead.append(member)
    return joined(sample, numbers, count, ahead) if ahead else (numbers, count)


def joined(
    sample: Sample, before: Configuration, count: int, members: Sequence[int]
) -> tuple[Configuration, int]:
    """Return configurations, of which there are `count`, joined with further variables, and the new count."""
    numbers = configurations_of(sample, members)
    size = _product(sample, members)
    joint = np.where((before < 0) | (numbers < 0), -1, before.astype(np.int64) * size + numbers)
    if count * size <= _room(sample):
        return joint.astype(np.int32), count * size
    distinct, group = np.unique(joint, return_inverse=True)
    missing = int(len(distinct) > 0 and distinct[0] < 0)
    return (group - missing).astype(np.int32), max(len(distinct) - missing, 1)


def _room(sample: Sample) -> int:
    return MOST_SPARE * max(len(sample), 1)


def _product(sample: Sample, members: Sequence[int]) -> int:
    return math.prod(int(sample.sizes[member]) for member in members)
