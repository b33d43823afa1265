"""Rows of codes to search a structure over: a window of events, or a frame, with equal rows counted together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core import _search
from stream_bayes.core.packing import PackedColumns
from stream_bayes.core.values import Value, name_order, shown
from stream_bayes.errors import BadValue, UnknownFeature

__all__ = ["Sample", "check_sample"]

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
            f"expected a Sample to search over, got {type(sample).__name__}; stream_bayes.structures.sample_of(rows) "
            "makes one of a data frame or dicts, and so does recent() of a "
            "BayesNet with a window"
        )
