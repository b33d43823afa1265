"""The header of a CSV file: the log-odds that a line is one, by which `csv_layout` decides; whether a second row of
names or rows of units follow it; the names of the columns.

A line is contrasted with those after it. A header is text above numbers, or holds a value that its column does not
repeat; a row of data is like the others. The evidence of the columns is summed as log-odds.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from stream_bayes.streams.files.csv_delimiters import is_number_text

__all__ = [
    "MOST_DIGITS",
    *(
        "column_names",
        "counted",
        "first_texts",
        "is_second_level",
        "joined_names",
        "odds_of_header",
        "units_in",
    ),
    "was",
]

NUMERIC_SHARE = 0.9  # of the cells with a value in a column of numbers
MOST_UNITS = 2  # rows
YEARS = range(1800, 2101)
MOST_DIGITS = 18  # of a number that may count rows; Python refuses to read some thousands
SHOWN, SHOWN_WIDTH = 3, 40  # texts in a sentence, and characters of each

DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4})?([T ].*)?|\d{1,2}:\d{2}(:\d{2}.*)?|\d{4}-\d\d")
HAS_WORD = re.compile(r"[^\W\d_]|[%°]")
UNIT = re.compile(
    r"[(\[].*[)\]]|.*[/%°²³^].*|[kcmµn]?m|[kmµ]?g|[kM]?W|[kM]?Hz|[kmM]?[VAJN]|h?Pa|hrs?|min|s|ms|sec|deg[CF]?|mbar|ppm|"
    r"hours?|days?|years?|knots?|kt|mph|km|inch(es)?|in|ft|lbs?|usd|eur|[CFK]"
)

# Shares of kinds of cells among names of columns. They need to be right within a factor of some.
KINDS_OF_NAMES = {"number": 0.01, "year": 0.02, "missing": 0.02, "date": 0.004, "digits": 0.1, "text": 0.846}
REPEATED_NAME = 0.003  # a name is a value of its own column too
REPEATED_IN_HEADER = 0.1  # two columns have one name
NUMBERED_IN_HEADER = 30.0  # a name counts on from the one before, where no row does
COUNTED_ROWS = 20  # examined for values that count on
MOST_OF_ONE_COLUMN = 4.0  # log-odds, as the columns are not independent
LEAST_FILLED = 0.75  # of the columns that the first row leaves without a name get one by the second
ODDS_OF_LEVEL = 6.0  # log-odds, before a second row holds names
ODDS_OF_OPTION = 2.0  # of a name that is the only value of its column, as exports of surveys have it


def column_names(
    cells: Sequence[str], lacking: str = "", is_indexed: bool = True
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the columns by the cells of a header, and sentences about those that were changed.

    A repeated name gets a number as in pandas, a missing one the column's position. The first column may have none if
    it is an index of the rows, as pandas and R write it.

    Examples
    --------
    >>> column_names(["", "size", "size", ""])
    (('', 'size', 'size.1', 'c4'), ("1 repeated name of a column was numbered: 'size.1'", ...))
    >>> column_names(["a", "b"], lacking="first")[0]
    ('', 'a', 'b')
    """
    stripped = [cell.strip() for cell in cells]
    if lacking:
        stripped = ["", *stripped] if lacking == "first" else [*stripped, ""]
    taken = set(stripped)
    counts: Counter[str] = Counter()
    names: list[str] = []
    unnamed, repeated = [], []
    for position, name in enumerate(stripped, 1):
        if not name and (position > 1 or not is_indexed):
            name = f"c{position}"
            while name in taken:
                name += "_"
            unnamed += [name] * (position > 1)  # the layout says it of the first
            taken.add(name)
        elif counts[name]:
            base = name
            while name in taken:
                name = f"{base}.{counts[base]}"
                counts[base] += 1
            repeated.append(name)
            taken.add(name)
            names.append(name)
            continue
        counts[name] += 1
        names.append(name)
    said = []
    if repeated:
        said.append(
            f"{counted(len(repeated), 'repeated name')} of a column {was(repeated)} numbered: {first_texts(repeated)}"
        )
    if unnamed:
        said.append(
            f"{counted(len(unnamed), 'column')} without a name {was(unnamed)} called {first_texts(unnamed)}"
        )
    return tuple(names), tuple(said)


def joined_names(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Return the names of columns by two rows. A name in the first that stands above several columns is put before
    those of the second.

    Examples
    --------
    >>> joined_names(["id", "Age", "", "Town"], ["", "18-29", "30-44", "Response"])
    ['id', 'Age: 18-29', 'Age: 30-44', 'Town']
    """
    names, group = [], ""
    for position, (name, below) in enumerate(zip(first, second, strict=True)):
        group = name or group
        is_alone = bool(name) and all(first[position + 1 : position + 2])
        if not below or is_alone:
            names.append(name)
        else:
            names.append(f"{group}: {below}" if group else below)
    return names


def is_second_level(first: Sequence[str], rows: Sequence[Sequence[str]], absent: frozenset[str]) -> bool:
    """Return True if the row after the first holds the names of columns that the first leaves without one."""
    names = [cell for cell in first if cell]
    unnamed = [position for position, cell in enumerate(first) if position and not cell]
    if len(rows) < 3 or not unnamed or not names or any(map(is_number_text, names)):
        return False
    second, rest = rows[0], rows[1:]
    if sum(bool(second[position]) for position in unnamed) < LEAST_FILLED * len(unnamed):
        return False
    odds = 0.0
    for cell, column in zip(second, zip(*rest, strict=True), strict=True):
        if cell in absent:
            continue
        if set(column) - absent == {cell}:
            odds += ODDS_OF_OPTION
        else:
            odds += max(-MOST_OF_ONE_COLUMN, min(MOST_OF_ONE_COLUMN, _odds_of_cell(cell, column, absent)))
    return odds >= ODDS_OF_LEVEL


def units_in(names: Sequence[str], rows: Sequence[Sequence[str]], absent: frozenset[str]) -> int:
    """Return the number of first rows that hold no number in any column of numbers, and nothing that comes again; or 1
    where the first row is a second heading, as pivot tables have it.
    """
    if len(rows) > 3 and (_is_second_heading(names, rows[0], rows[1:]) or _is_one_text(rows[0], rows[1:])):
        return 1
    count = 0
    while count < MOST_UNITS and len(rows) - count > 3 and _is_units(rows[count], rows[count + 1 :], absent):
        count += 1
    if (
        not count
        and len(rows) > 4
        and _is_units(rows[1], rows[2:], absent)
        and _is_units(rows[0], rows[2:], absent)
    ):
        return 2  # the second row keeps the first from standing above numbers alone
    return count


def _is_second_heading(names: Sequence[str], row: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Return True if a row repeats some of the names, and no cell of it comes again in its column."""
    if len(names) != len(row):  # there is a column without a name
        return False
    repeated = sum(bool(name) and name == cell for name, cell in zip(names, row, strict=True))
    columns = zip(*rest, strict=True)
    return repeated > 1 and not any(
        cell and cell in column for cell, column in zip(row, columns, strict=True)
    )


def _is_one_text(row: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Return True if a row holds one text above many columns, such as `Response`, that no later row holds."""
    texts = [cell for cell in row if cell]
    return (
        len(texts) > 2
        and len({*texts}) == 1
        and HAS_WORD.search(texts[0]) is not None
        and not any(texts[0] in cells for cells in rest)
    )


def _is_units(row: Sequence[str], rest: Sequence[Sequence[str]], absent: frozenset[str]) -> bool:
    texts: list[str] = []
    if not any(map(HAS_WORD.search, row)):
        return False
    for cell, column in zip(row, zip(*rest, strict=True), strict=True):
        present = [other for other in column if other not in absent]
        if len(present) < 2 or sum(map(is_number_text, present)) < NUMERIC_SHARE * len(present):
            if cell not in absent and cell in present:
                return False
            continue
        if is_number_text(cell) or cell in present:
            return False
        texts += [cell] * (cell not in absent)
    return len(texts) > 1 or (len(texts) == 1 and UNIT.fullmatch(texts[0]) is not None)


def odds_of_header(first: Sequence[str], rows: Sequence[Sequence[str]], absent: frozenset[str]) -> float:
    """Return the log-odds that a line holds names rather than values like those of the rows."""
    rows = [row for row in rows if row != first]  # files that were put together repeat their header
    odds = 0.0
    counts = _whole_sequence(first, rows)
    columns = zip(*rows, strict=True) if rows else ((),) * len(first)
    for cell, column in zip(first, columns, strict=True):
        if counts and is_number_text(cell):
            continue
        odds += max(-MOST_OF_ONE_COLUMN, min(MOST_OF_ONE_COLUMN, _odds_of_cell(cell, column, absent)))
    names = [cell for cell in first if cell]
    odds += (len(names) - len({*names})) * math.log(REPEATED_IN_HEADER)
    steps = _numbered(first)
    if steps and not any(map(_numbered, rows[:COUNTED_ROWS])):
        odds += steps * math.log(NUMBERED_IN_HEADER)
    return odds


def _numbered(cells: Sequence[str]) -> int:
    """Return the number of cells that count on from the one before, as x2 after x1."""
    stems = [cell.rstrip("0123456789") for cell in cells]
    digits = [cell[len(stem) :] for cell, stem in zip(cells, stems, strict=True)]
    pairs = [
        (stem, int(number)) if HAS_WORD.search(stem) and 0 < len(number) <= MOST_DIGITS else ("", 0)
        for stem, number in zip(stems, digits, strict=True)
    ]
    return sum(bool(stem) and before == (stem, count - 1) for before, (stem, count) in pairwise(pairs))


def _odds_of_cell(cell: str, column: Sequence[str], absent: frozenset[str]) -> float:
    """Return the log-odds of a cell as a name rather than one more value of its column: by kind, and by repetition."""
    kind = _kind_of(cell, absent)
    kinds = Counter(_kind_of(other, absent) for other in column)
    as_value = (kinds[kind] + 0.5) / (len(column) + 0.5 * len(KINDS_OF_NAMES))
    odds = math.log(KINDS_OF_NAMES[kind] / as_value)
    if kind in ("number", "year", "missing"):
        return odds
    counts = Counter(column)
    if cell in counts:
        return odds + math.log(REPEATED_NAME * (len(column) + 1) / counts[cell])
    # Good and Turing: as many new values come as values came once.
    once = sum(count == 1 for count in counts.values())
    return odds + math.log((1 - REPEATED_NAME) * (len(column) + 2) / (once + 1))


def _whole_sequence(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return True if the numbers of a line count on as years do, or from 0 or 1, and those of the next do not."""

    def counts_on(cells: Sequence[str]) -> bool:
        numbers = [int(cell) for cell in cells if cell.isdecimal() and len(cell) <= MOST_DIGITS]
        steps = {after - before for before, after in pairwise(numbers)}
        return len(numbers) > 2 and len(steps) == 1 and steps != {0} and numbers[0] in (0, 1, *YEARS)

    return counts_on(first) and not any(map(counts_on, rows[:3]))


def _kind_of(cell: str, absent: frozenset[str]) -> str:
    if cell in absent:
        return "missing"
    if is_number_text(cell):
        return "year" if len(cell) == 4 and cell.isdecimal() and int(cell) in YEARS else "number"
    if DATE.fullmatch(cell):
        return "date"
    return "digits" if any(map(str.isdigit, cell)) else "text"


def counted(count: int, word: str) -> str:
    """Return a number of things in words."""
    return f"{count} {word}{'s' * (count != 1)}"


def was(things: Sequence[object]) -> str:
    """Return the verb for these things."""
    return "was" if len(things) == 1 else "were"


def first_texts(texts: Sequence[str]) -> str:
    """Return the first texts, shortened, in quotes."""
    parts = [repr(text if len(text) <= SHOWN_WIDTH else text[:SHOWN_WIDTH] + "...") for text in texts[:SHOWN]]
    return ", ".join(parts) + (", ..." if len(texts) > SHOWN else "")
