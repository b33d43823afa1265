"""Conversion of the cells of one column from text to values, many cells at a time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

from stream_bayes.core.events.event import Kind
from stream_bayes.core.values.values import Value
from stream_bayes.data.features import Vocabulary
from stream_bayes.streams.records.bad_records import Reason, described, shortened, undecodable
from stream_bayes.streams.records.fields import Fields, kind_from, seconds_from

__all__ = [
    "Cells",
    "DeclaredCells",
    "KindCells",
    "MomentCells",
    "NumberCells",
    "TextCells",
    "WeightCells",
    "number",
]


class Cells(ABC):
    """One column. A subclass writes `one`, and `present` where many cells can be had for less.

    Parameters
    ----------
    name
        The column's.
    missing
        Cells that hold no value.
    """

    absent: Any = None  # what stands for a cell without a value

    def __init__(self, name: str, missing: frozenset[str]) -> None:
        self.name = name
        self._missing = missing

    def values(self, cells: list[str]) -> list[Any]:
        """Return the values of the cells.

        Raises
        ------
        Undecodable
            If one of them is not what the column holds.
        """
        missing, absent = self._missing, self.absent
        if missing.isdisjoint(cells):
            return self.present(cells)
        present = iter(self.present([cell for cell in cells if cell not in missing]))
        return [absent if cell in missing else next(present) for cell in cells]

    def present(self, cells: list[str]) -> list[Any]:
        """Return the values of cells, none of which is missing."""
        return [self.one(cell) for cell in cells]

    @abstractmethod
    def one(self, cell: str) -> Any:
        """Return the value of one cell."""


class TextCells(Cells):
    """Text that stays text."""

    def values(self, cells: list[str]) -> list[Any]:
        missing = self._missing
        return cells if missing.isdisjoint(cells) else [None if cell in missing else cell for cell in cells]

    def one(self, cell: str) -> Any:
        return cell


class DeclaredCells(Cells):
    """Text that may stand for a declared value that is none, as `3` for 3 and `true` for True; or else stays text."""

    def __init__(self, name: str, missing: frozenset[str], declared: Vocabulary) -> None:
        super().__init__(name, missing)
        self._value_of = {text: value for value in declared for text in _written(value)}
        self._value_of |= {value: value for value in declared if isinstance(value, str)}

    def present(self, cells: list[str]) -> list[Any]:
        value_of = self._value_of
        return [value_of.get(cell, cell) for cell in cells]

    def one(self, cell: str) -> Any:
        return self._value_of.get(cell, cell)


class NumberCells(Cells):
    """Finite numbers."""

    def present(self, cells: list[str]) -> list[Any]:
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
            return number(cell)
        except ValueError:
            raise undecodable(
                Reason.WRONG_TYPE, f"column {shortened(self.name)}: expected a number, got {described(cell)}"
            ) from None


class WeightCells(NumberCells):
    """Weights: 1 where there is none."""

    absent = 1.0


class MomentCells(Cells):
    """Moments: numbers, unless the unit is `iso`, or dates and times."""

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
    """Fields of each record."""

    def __init__(self, fields: Fields, missing: frozenset[str]) -> None:
        super().__init__(fields.kind or "", missing)
        self._fields = fields
        self.absent = fields.default_kind

    def one(self, cell: str) -> Kind:
        return kind_from(cell, self._fields)


def number(text: str) -> float:
    """Return the number in a text, or raise `ValueError`.

    Examples
    --------
    >>> number("-1.5e3")
    -1500.0
    >>> number("1_000")  # Python's own way of writing, and of no other program
    Traceback (most recent call last):
    ValueError: not a number
    """
    if "_" not in text and text.isascii() and math.isfinite(value := float(text)):
        return value
    raise ValueError("not a number")


def _written(value: Value) -> tuple[str, ...]:
    """Return the texts that stand for a declared value; none if it is a text itself."""
    if isinstance(value, bool):
        return (str(value), str(value).lower())
    if isinstance(value, (int, float)):
        return tuple({str(value), f"{value:g}"}) if float(f"{value:g}") == value else (str(value),)
    return ()
