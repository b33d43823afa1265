"""Columns of codes: whole numbers that are names, such as those of regions and customers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stream_bayes.core.values.values import JSONValue, Value
from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.features import Nominal, Spec
from stream_bayes.errors import SchemaError

__all__ = ["WHOLE", "Code", "common_width"]

WHOLE = re.compile(r"(-?[0-9]+)(?:\.0*)?")
MOST_DIGITS = 64


@dataclass(frozen=True, slots=True)
class Code(ColumnKind):
    """A column of codes: one name for each whole number, however it is written.

    `7`, `7.0`, `"7"` and `"7.0"` are the name `"7"`; any other text is a name as it is.

    Parameters
    ----------
    width
        Number of digits of each code, where zeros fill it up: with 5, `1002` and `"01002"` are the name `"01002"`.

    Examples
    --------
    >>> [*map(Code().read, [7, 7.0, "7", " 7.0", "A7"])]
    [('7',), ('7',), ('7',), ('7',), ('A7',)]
    >>> Code(width=2).read(7), Code(width=2).read("07")
    (('07',), ('07',))
    """

    word: ClassVar[str] = "code"
    width: int = 0

    def __post_init__(self) -> None:
        if type(self.width) is not int or not 0 <= self.width <= MOST_DIGITS:
            raise SchemaError(
                f"width of a column of codes: expected 0 to {MOST_DIGITS} digits, got {self.width!r}"
            )

    def features(self, column: str) -> Mapping[str, Spec]:
        return {column: Nominal()}

    def read(self, cell: object) -> tuple[Value | None, ...]:
        if isinstance(cell, (np.integer, np.floating)):
            cell = cell.item()
        if isinstance(cell, float) and math.isfinite(cell):
            cell = int(cell) if cell.is_integer() else repr(cell)
        text = str(cell).strip()
        if isinstance(cell, (bool, float)) or not isinstance(cell, (int, str)) or not text:
            raise ValueError("a whole number, or a name")
        match = WHOLE.fullmatch(text)
        if match is None:
            return (text,)
        digits = "0" if match[1] == "-0" else match[1]
        return (digits.zfill(self.width),)

    def options(self) -> dict[str, JSONValue]:
        return {"width": self.width} if self.width else {}


def common_width(texts: Iterable[str]) -> int:
    """Return the number of digits of codes of which all have as many, and some begin with a zero; otherwise 0.

    Examples
    --------
    >>> common_width(["01002", "36101"]), common_width(["07", "7"]), common_width(["10", "20"])
    (5, 0, 0)
    """
    stripped = [text.strip() for text in texts]
    widths = {len(text) for text in stripped}
    are_codes = all(text.isascii() and text.isdecimal() for text in stripped)
    is_filled = any(text.startswith("0") for text in stripped)
    return min(widths) if are_codes and is_filled and 1 < min(widths) == max(widths) <= MOST_DIGITS else 0
