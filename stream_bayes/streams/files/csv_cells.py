"""Converters from the text in the cells of one column to values, many cells at a time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from stream_bayes.core.events.event import Kind
from stream_bayes.core.values.values import Value
from stream_bayes.data.amounts import number
from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.features import DeclaredValues
from stream_bayes.data.schema import MISSING
from stream_bayes.streams.records.fields import Fields, kind_from, seconds_from
from stream_bayes.streams.records.undecodable import DecodeReason, described, shortened, undecodable

__all__ = [
    "MISSING_CELLS",
    "BlankCells",
    "Cells",
    "DeclaredCells",
    "KindCells",
    "Misfits",
    "MomentCells",
    "NumberCells",
    "ReadCells",
    "TextCells",
    "WeightCells",
    "plain_number",
]

# Cells that pandas.read_csv reads as missing, and the mark of ARFF and of the UCI repository. All-blank cells too.
MISSING_CELLS = (
    *("", "?", "NA", "N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "<NA>"),
    *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "1.#IND", "1.#QNAN"),
)
MOST_REMEMBERED = 4096  # cells of a column whose values are remembered: reading them takes longer
BLANKS = frozenset(" " * count for count in range(1, 33)) | {"\t"}


class Cells(ABC):
    """The converter of one column. A subclass writes `one`, and `present` if many cells together cost less. Cells in
    `missing` stand for a missing value; cells of blanks alone do too if the empty cell does.
    """

    absent: Any = None  # the value of a missing cell

    def __init__(self, name: str, missing: frozenset[str]) -> None:
        self.name = name
        self._missing = missing | BLANKS if "" in missing else missing

    def values(self, cells: list[str]) -> list[Any]:
        """Return the values of the cells.

        Raises
        ------
        Undecodable
            If one of them does not fit the column.
        """
        missing, absent = self._missing, self.absent
        if missing.isdisjoint(cells):
            return self.present(cells)
        present = iter(self.present([cell for cell in cells if cell not in missing]))
        return [absent if cell in missing else next(present) for cell in cells]

    def columns(self, cells: list[str]) -> list[list[Any]]:
        """Return the values of each feature that the cells become."""
        return [self.values(cells)]

    def present(self, cells: list[str]) -> list[Any]:
        """Return the values of cells; none of them is missing."""
        return [self.one(cell) for cell in cells]

    @abstractmethod
    def one(self, cell: str) -> Any:
        """Return the value of one cell."""


class TextCells(Cells):
    """The converter of text that stays text."""

    def values(self, cells: list[str]) -> list[Any]:
        missing = self._missing
        return cells if missing.isdisjoint(cells) else [None if cell in missing else cell for cell in cells]

    def one(self, cell: str) -> Any:
        return cell


class BlankCells(Cells):
    """The converter to whether a cell is missing."""

    absent = MISSING[True]

    def present(self, cells: list[str]) -> list[Any]:
        return [MISSING[False]] * len(cells)

    def one(self, cell: str) -> Any:
        return MISSING[False]


class DeclaredCells(Cells):
    """The converter of text to declared values that are not text, as `3` to 3 and `true` to True. Other text stays."""

    def __init__(self, name: str, missing: frozenset[str], declared: DeclaredValues) -> None:
        super().__init__(name, missing)
        self._value_of = {text: value for value in declared for text in _written(value)}
        self._value_of |= {value: value for value in declared if isinstance(value, str)}

    def present(self, cells: list[str]) -> list[Any]:
        value_of = self._value_of
        return [value_of.get(cell, cell) for cell in cells]

    def one(self, cell: str) -> Any:
        return self._value_of.get(cell, cell)


@dataclass
class Misfits:
    """Cells that are not of the kind of their column, as a name among numbers, and count as missing."""

    count: int = 0  # how many there are
    first: str = ""

    def add(self, cell: str) -> None:
        self.first = self.first or cell
        self.count += 1


class NumberCells(Cells):
    """The converter of finite numbers. `decimal` is the decimal mark, `thousands` that between groups of three digits.
    `misfits` counts cells that hold no number and makes them missing; None to raise for them.
    """

    def __init__(
        self,
        name: str,
        missing: frozenset[str],
        decimal: str = ".",
        thousands: str = "",
        misfits: Misfits | None = None,
    ) -> None:
        super().__init__(name, missing)
        self._decimal, self._thousands = decimal, thousands
        self._is_plain = decimal == "." and not thousands
        self._misfits = misfits

    def present(self, cells: list[str]) -> list[Any]:
        if not self._is_plain:
            return super().present(cells)
        try:
            numbers = list(map(float, cells))
        except ValueError:
            return super().present(cells)
        text = "".join(cells)
        if "_" in text or not text.isascii() or not all(map(math.isfinite, numbers)):
            return super().present(cells)
        return numbers

    def one(self, cell: str) -> Any:
        try:
            return number(cell if self._is_plain else plain_number(cell, self._decimal, self._thousands))
        except ValueError:
            pass
        if cell.strip() in self._missing:
            return None
        if self._misfits is None:
            raise undecodable(
                DecodeReason.WRONG_TYPE,
                f"column {shortened(self.name)}: expected a number, got {described(cell)}",
            )
        self._misfits.add(cell)
        return None


class ReadCells(Cells):
    """The converter of cells that a kind of column reads. The kind may make several features of a cell. `misfits` is as
    of `NumberCells`.
    """

    def __init__(
        self, name: str, missing: frozenset[str], kind: ColumnKind, misfits: Misfits | None = None
    ) -> None:
        super().__init__(name, missing)
        self._read, self._misfits = kind.read, misfits
        self.absent = (None,) * len(kind.features(name))
        self._read_before: dict[str, tuple[Any, ...]] = {}

    def columns(self, cells: list[str]) -> list[list[Any]]:
        rows = self.values(cells)
        return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in self.absent]

    def one(self, cell: str) -> Any:
        values = self._read_before.get(cell)
        if values is None:
            values = self._values_of(cell)
            if values is not self.absent and len(self._read_before) < MOST_REMEMBERED:
                self._read_before[cell] = values
        return values

    def _values_of(self, cell: str) -> tuple[Any, ...]:
        try:
            return self._read(cell)
        except ValueError as error:
            expected = error
        if cell.strip() in self._missing:
            return self.absent
        if self._misfits is None:
            raise undecodable(
                DecodeReason.WRONG_TYPE,
                f"column {shortened(self.name)}: expected {expected}, got {described(cell)}",
            )
        self._misfits.add(cell)
        return self.absent


class WeightCells(NumberCells):
    """The converter of weights; a missing one is 1."""

    absent = 1.0


class MomentCells(Cells):
    """The converter of times: numbers, unless the unit is `iso`, or dates and times."""

    def __init__(self, fields: Fields, missing: frozenset[str]) -> None:
        super().__init__(fields.time or "", missing)
        self._fields = fields

    def one(self, cell: str) -> Any:
        if self._fields.time_unit != "iso":
            try:
                return seconds_from(number(cell), self._fields)
            except ValueError:
                pass
        return seconds_from(cell, self._fields)


class KindCells(Cells):
    """The converter of kinds of events."""

    def __init__(self, fields: Fields, missing: frozenset[str]) -> None:
        super().__init__(fields.kind or "", missing)
        self._fields = fields
        self.absent = fields.default_kind

    def one(self, cell: str) -> Kind:
        return kind_from(cell, self._fields)


def plain_number(text: str, decimal: str, thousands: str) -> str:
    """Return a number as Python writes it, or raise `ValueError`.

    Examples
    --------
    >>> plain_number("1.234,5", ",", "."), plain_number("1,234.5", ".", ",")
    ('1234.5', '1234.5')
    """
    text = text.strip()
    if thousands and thousands in text:
        whole, mark, rest = text.partition(decimal)
        first, *groups = whole.lstrip("+-").split(thousands)
        if not 1 <= len(first) <= 3 or any(len(group) != 3 for group in groups) or thousands in rest:
            raise ValueError("not a number")
        text = whole.replace(thousands, "") + mark + rest
    if decimal != ".":
        if "." in text:
            raise ValueError("not a number")
        text = text.replace(decimal, ".")
    return text


def _written(value: Value) -> tuple[str, ...]:
    """Return the texts that stand for a declared value; none if it is a text itself."""
    if isinstance(value, bool):
        return (str(value), str(value).lower())
    if isinstance(value, (int, float)):
        return tuple({str(value), f"{value:g}"}) if float(f"{value:g}") == value else (str(value),)
    return ()
