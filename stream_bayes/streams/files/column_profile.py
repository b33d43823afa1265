"""Profile of one column of a table: its contents, and what they show."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from stream_bayes.core.values.inputs import MOST_FRACTIONS
from stream_bayes.core.values.values import is_missing
from stream_bayes.data.coordinates import Coordinates
from stream_bayes.data.dates import Date
from stream_bayes.data.kind_inference import InferredKind, inferred_kind, typed_kind
from stream_bayes.data.texts import Text
from stream_bayes.streams.files.csv_cells import BLANKS
from stream_bayes.streams.files.csv_format import CSVFormat

__all__ = ["ID_EVENTS", "ColumnProfile"]

MAX_DISTINCT = 20_000  # values counted per column
ID_NAME = re.compile(
    r"(.*[_\- .])?(?i:[pgtu]?id|idx|index|uuid|guid|key|rownames?|number|no|nr|zcta|fips|cik)|"
    "(.*[a-z](ID|Id|Key|Number|No|Nr))|(?i:unnamed).*",
    re.DOTALL,
)
ID_SHARE = 1 / 3  # share of distinct values from which a column identifies rows rather than classes
ID_EVENTS = 20
MOST_GAPS = 1.5  # numbers up to the highest for each one that is there, of places in an order
LEAST_CODE_DIGITS = 5  # of numbers of one length, before these may identify rows
YEARS = range(1500, 2101)  # consecutive numbers that are no identifiers


@dataclass
class ColumnProfile:
    """Counts of the contents of one column, and the kind that they show."""

    name: str
    # of the file: the texts that stand for a missing value, and the likely decimal mark
    form: CSVFormat = field(default_factory=CSVFormat)
    values: int = 0  # the number of cells with a value
    missing: Counter[str] = field(default_factory=Counter)  # the number of missing cells, by their text
    # the number of cells by text, of the first 20,001 texts
    counts: Counter[str] = field(default_factory=Counter)
    # Of values that have a type, the number in each text that is one; None for the cells of a CSV file.
    typed_numbers: dict[str, float] | None = None
    decimal: str | None = None  # the likely decimal mark, by the other columns; None for that of the format
    numbers_column: str | None = None  # the column of names, each of which has one number of this one
    has_ended: bool = False  # the file has ended: no further row can hold another value than these show

    def add(self, cell: str) -> None:
        """Add a cell."""
        if self._is_missing(cell):
            self.missing[cell] += 1
        else:
            self._count(cell)

    def add_value(self, value: object) -> None:
        """Add a value that has a type: a number is a number, a blank text is missing, and everything else a name."""
        if self.typed_numbers is None:
            self.typed_numbers = {}
        if is_missing(value) or (isinstance(value, str) and not value.strip()):
            self.missing[""] += 1
            return
        text = str(value).strip()
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            self.typed_numbers[text] = float(value)
        self._count(text)

    def has_other(self, cell: str) -> bool:
        """Return True for a value that no cell had."""
        return cell not in self.counts and cell not in self.missing and not self._is_missing(cell)

    def _is_missing(self, cell: str) -> bool:
        missing = self.form.missing
        return cell in missing or (cell in BLANKS and "" in missing)

    def _count(self, text: str) -> None:
        self.values += 1
        if text in self.counts or len(self.counts) <= MAX_DISTINCT:
            self.counts[text] += 1

    @cached_property
    def kind(self) -> InferredKind:
        """The kind of the column. It is inferred once, after the last cell was added."""
        if self.typed_numbers is None:
            return inferred_kind(self.counts, self.form.decimal, self.decimal)
        return typed_kind(self.counts, self.typed_numbers, self.decimal)

    @property
    def is_numeric(self) -> bool:
        """True if the column is a feature of numbers, however they are written."""
        return bool(self.kind.numbers)

    @property
    def lowest(self) -> float:
        """The least number."""
        return min(self.kind.numbers.values())

    @property
    def highest(self) -> float:
        """The greatest number."""
        return max(self.kind.numbers.values())

    @property
    def is_whole(self) -> bool:
        """True if all numbers are whole."""
        return all(map(float.is_integer, self.kind.numbers.values()))

    @property
    def distinct(self) -> int:
        """The number of distinct values, counted up to 20,001."""
        return len(self.counts)

    @property
    def is_measured(self) -> bool:
        """True if the values are numbers with a fraction, most of which come once: measurements rather than classes."""
        fractions = sum(not number.is_integer() for number in self.kind.numbers.values())
        return fractions > MOST_FRACTIONS and self.distinct * 2 > self.values

    @property
    def may_be_id(self) -> bool:
        """True if no whole number comes twice, and all rise from row to row, are as long as codes are, or are most of
        those from 0 or 1 on, as a place in an order is.
        """
        if not self.is_numeric or not self.is_whole or self.kind.misfits[0] or self.kind.word != "number":
            return False
        if not ID_EVENTS <= self.values == self.distinct:
            return False
        rise = all(before < after for before, after in pairwise(self.kind.numbers.values()))
        are_years = YEARS[0] <= self.lowest and self.highest <= YEARS[-1]
        are_places = self.lowest in (0.0, 1.0) and self.highest < MOST_GAPS * self.values
        return (
            (rise and not are_years)
            or are_places
            or (
                10 * self.lowest >= 10**LEAST_CODE_DIGITS
                and (len(str(int(self.lowest))) == len(str(int(self.highest))))
            )
        )

    @property
    def is_id(self) -> bool:
        """True if the values look like identifiers of rows: names that hardly repeat, or consecutive whole numbers."""
        if (
            self.values < ID_EVENTS
            or self.kind.word in ("range", "flag", "constant")
            or isinstance(self.kind.column, (Date, Coordinates, Text))
        ):
            return False
        if not self.is_numeric:
            return self.distinct > MAX_DISTINCT or self.distinct >= max(ID_EVENTS, ID_SHARE * self.values)
        if not self.is_whole or self.distinct < min(self.values, MAX_DISTINCT) or self.kind.misfits[0]:
            return False
        if ID_NAME.fullmatch(self.name.strip()):
            return True
        are_years = YEARS[0] <= self.lowest and self.highest <= YEARS[-1]
        return self.highest - self.lowest < self.values and not are_years
