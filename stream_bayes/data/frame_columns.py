"""One column of a frame: its cells as Python values, as codes into a vocabulary, or as numbers."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from stream_bayes.core.values.values import Value, canonical, is_missing, shown
from stream_bayes.errors import BadLabel, BadValue

__all__ = ["FrameCells", "factorise", "numbers", "python_values", "value_types"]

FrameCells: TypeAlias = "nw.Series[Any] | list[object]"  # one column
Codes: TypeAlias = npt.NDArray[np.int32]

_PLAIN = frozenset({str, bytes, bool, int, float, type(None)})


def python_values(cells: FrameCells) -> list[object]:
    """Return a column as Python objects, with None for missing values.

    Examples
    --------
    >>> python_values(["a", float("nan")])
    ['a', None]
    """
    values = cells.to_list() if isinstance(cells, nw.Series) else cells
    types = set(map(type, values))
    if not types <= _PLAIN:
        return [None if is_missing(value) else value for value in values]
    if float in types:
        return [None if value != value else value for value in values]  # only NaN is unequal to itself
    return values


def value_types(cells: FrameCells, name: object) -> set[type]:
    """Return the plain types of a column's values. Categorical columns always count as str.

    Raises
    ------
    BadValue
        If a value is not of a supported type; it names the column and the row.

    Examples
    --------
    >>> sorted(kind.__name__ for kind in value_types([True, None, "a"], "colour"))
    ['bool', 'str']
    """
    values = python_values(cells)
    types = set(map(type, values))
    if not types <= _PLAIN or tuple in types:
        types = set(map(type, _canonical_cells(values, partial(canonical, feature=name), BadValue)))
    types.discard(type(None))
    categorical = isinstance(cells, nw.Series) and isinstance(cells.dtype, (nw.Categorical, nw.Enum))
    return {str} if categorical and types else types


def factorise(
    cells: FrameCells,
    declared: Sequence[Value],
    convert: Callable[[object], Value],
    error: type[BadValue] | type[BadLabel] = BadValue,
) -> tuple[Codes, tuple[Value, ...]]:
    """Return a column as codes into its vocabulary: the known values, then the others in order of appearance. Known
    values have the first codes, whether they occur or not. `convert` makes a value canonical, or raises `error`, so
    that the row can be added to its message.

    Returns
    -------
    The codes, -1 for missing, and the vocabulary.

    Examples
    --------
    >>> codes, vocabulary = factorise(["b", "c", None, "b"], ["a"], canonical)
    >>> codes.tolist(), vocabulary
    ([1, 2, -1, 1], ('a', 'b', 'c'))
    """
    if isinstance(cells, nw.Series) and _numbered_as_by_a_dict(cells.dtype):
        raw, values = _native_codes(cells)
    else:
        raw, values = _list_codes(cells, convert, error)
    index: dict[Value, int] = {value: code for code, value in enumerate(declared)}
    final = np.full(len(values) + 1, -1, np.int32)  # the last stays -1, and is what a raw -1 picks
    for code, value in enumerate(values):
        try:
            plain = convert(value)
        except error as bad:
            row = int(np.argmax(raw == code))
            raise error(f"row {row}: {bad}") from None
        final[code] = index.setdefault(plain, len(index))
    return final[raw], tuple(index)


def _numbered_as_by_a_dict(kind: nw.dtypes.DType) -> bool:
    """Return True if a column's own library distinguishes values as a dict does, so that it may number them."""
    return kind.is_integer() or isinstance(kind, (nw.String, nw.Boolean, nw.Categorical, nw.Enum))


def _native_codes(cells: nw.Series[Any]) -> tuple[Codes, list[object]]:
    native = cells.to_native()
    if nw.dependencies.is_pandas_like_series(native):
        codes, values = native.factorize()
        return codes.astype(np.int32), values.tolist()
    values = cells.drop_nulls().unique(maintain_order=True).to_list()
    if not values:
        return np.full(len(cells), -1, np.int32), []
    filled = cells.is_null().to_numpy()
    raw = cells.fill_null(values[0]).replace_strict(values, list(range(len(values))), return_dtype=nw.Int32)
    codes = np.array(raw.to_numpy(), np.int32)
    codes[filled] = -1
    return codes, values


def _list_codes(
    cells: FrameCells, convert: Callable[[object], Value], error: type[BadValue] | type[BadLabel]
) -> tuple[Codes, list[object]]:
    values = python_values(cells)
    if not set(map(type, values)) <= _PLAIN:
        # One by one: a dict takes Decimal(1) for 1, and would let it pass as such.
        values = _canonical_cells(values, convert, error)
    distinct = dict.fromkeys(values)
    distinct.pop(None, None)
    index: dict[object, int] = {value: code for code, value in enumerate(distinct)}
    index[None] = -1
    return np.fromiter(map(index.__getitem__, values), np.int32, len(values)), list(distinct)


def _canonical_cells(
    values: list[object], convert: Callable[[object], Value], error: type[BadValue] | type[BadLabel]
) -> list[object]:
    plain: list[object] = []
    for row, value in enumerate(values):
        try:
            plain.append(None if value is None else convert(value))
        except error as bad:
            raise error(f"row {row}: {bad}") from None
    return plain


def numbers(cells: FrameCells, name: object) -> npt.NDArray[np.float64]:
    """Return a numeric column as float64, with NaN for missing values.

    Raises
    ------
    BadValue
        If a value is not a finite number, or is a bool; it names the column and the row.

    Examples
    --------
    >>> numbers([1, None, 2.5], "size").tolist()
    [1.0, nan, 2.5]
    >>> numbers([1, True], "size")
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: row 1: feature 'size' is numeric: expected an int or a finite \
float, got bool: True
    """
    if isinstance(cells, nw.Series) and (cells.dtype.is_integer() or cells.dtype.is_float()):
        return _finite(np.array(cells.to_numpy(), np.float64), name)
    values = python_values(cells)
    if set(map(type, values)) <= {int, float, type(None)}:
        with contextlib.suppress(OverflowError):  # an int beyond the floats: below, its row is found
            return _finite(np.array(values, np.float64), name)
    checked = (math.nan if value is None else _number(row, name, value) for row, value in enumerate(values))
    return np.fromiter(checked, np.float64, len(values))


def _finite(column: npt.NDArray[np.float64], name: object) -> npt.NDArray[np.float64]:
    infinite = np.isinf(column)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise _not_a_number(row, name, float(column[row]))
    return column


def _number(row: int, name: object, value: object) -> float:
    with contextlib.suppress(BadValue, OverflowError):
        plain = canonical(value)
        if isinstance(plain, (int, float)) and not isinstance(plain, bool):
            return float(plain)
    raise _not_a_number(row, name, value)


def _not_a_number(row: int, name: object, value: object) -> BadValue:
    return BadValue(
        f"row {row}: feature {shown(name)} is numeric: expected an int or a finite float, "
        f"got {type(value).__name__}: {shown(value)}"
    )
