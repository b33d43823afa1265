"""The layout of a CSV file by its first lines: lines before the table, whether the first of it is a header, of one or
two rows, rows of units after it, and whether a first column without a name is an index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from stream_bayes.data.kind_inference import inferred_kind
from stream_bayes.streams.files.csv_cells import MISSING_CELLS
from stream_bayes.streams.files.csv_delimiters import (
    EXAMINED_ROWS,
    USUAL_SHARE,
    CSVLine,
    is_number_text,
    rows_in,
    usual_width,
)
from stream_bayes.streams.files.csv_header import (
    MOST_DIGITS,
    MOST_UNITS,
    counted,
    first_texts,
    is_second_level,
    joined_names,
    odds_of_header,
    units_in,
    was,
)

__all__ = ["TableLayout", "guessed_layout"]

MOST_TITLES = 30  # lines before the table
FULL_SHARE = 0.6  # of the cells of the table hold something; then a line with one full cell is a title
HEADER_USUAL = 2.0  # log-odds before a look at the rows
HEADER_OF_DATA = 0.0  # the same for .data, as the archive of UCI names files without a header
SURE = 3.0  # log-odds


@dataclass(frozen=True, kw_only=True)
class TableLayout:
    """The lines around the rows of data."""

    skip: int = 0  # lines before the header, or before the data if there is none
    header: bool = True  # True if the names of the columns are in the file
    is_commented: bool = False  # True if they are in a comment line
    levels: int = 1  # rows of names
    units: int = 0  # rows between the header and the data
    # True if a first column without a name is an index of the rows, as pandas and R write it
    is_indexed: bool = True
    lacking: str = ""  # "first" or "last" if the header has no name for that column; otherwise empty
    guesses: tuple[str, ...] = ()  # sentences about what differs from a plain table


def guessed_layout(
    lines: Sequence[str],
    delimiter: str,
    quote: str = '"',
    comment: str = "",
    *,
    named: Iterable[str] = (),
    is_usually_headless: bool = False,
    skip: int | None = None,
    header: bool | None = None,
    units: int | None = None,
    missing: Iterable[str] = MISSING_CELLS,
) -> TableLayout:
    """Return the layout of a file by its first lines. `named` are names of columns that the user wrote: the line that
    holds them all is the header. `is_usually_headless` is True if the file's name says that it has no header. `skip`,
    `header` and `units` are what is not to be guessed. Cells in `missing` stand for a missing value.

    Examples
    --------
    >>> layout = guessed_layout(["Report", "size,colour", "cm,", "1.5,red", "2.5,red", "2,blue", "7,red"], ",")
    >>> layout.skip, layout.header, layout.units
    (1, True, 1)
    >>> guessed_layout(["1.5,red", "2.5,red", "2,blue"], ",").header
    False
    """
    named = {*named}
    rows = [row for row in rows_in(lines, delimiter, quote, comment) if row.line >= (skip or 0)]
    table = [row for row in rows if not row.comment]
    if not table:
        return TableLayout(skip=skip or 0, header=header is not False, units=units or 0)
    first_line = _FirstLine.of(rows, table, frozenset(filter(None, named)), skip, header)
    begin, said = first_line.line, [*first_line.said]
    body = [row.cells for row in table if row.line > begin.line]
    wide = [cells for cells in body if len(cells) == len(begin.cells)]
    absent = frozenset(missing) | {""}
    has_header, levels, names = first_line.header, 1, begin.names
    if has_header is not False and units is None and body[:1] == wide[:1]:
        levels += not begin.comment and is_second_level(begin.cells, wide, absent)
    if levels > 1:
        has_header, names = True, joined_names(begin.cells, wide[0])
        joined = [name for name, cell in zip(names, begin.cells, strict=True) if name != cell]
        said.append(f"the names of the columns stand in two rows: {first_texts(joined)}")
        body, wide = body[1:], wide[1:]
    odds = HEADER_OF_DATA if is_usually_headless else HEADER_USUAL
    odds += odds_of_header(begin.cells, wide, absent)
    if header is None and has_header and odds <= -SURE and levels == 1 and not begin.comment:
        said.append(
            f"the first line looks like data, and is read as names because it holds {first_texts(first_line.asked)}"
        )
    if has_header is None:
        has_header = odds >= 0
        said += _header_by_odds(begin, odds, bool(wide))
    if skip is None or first_line.has_titles or begin.comment:
        skip = begin.line  # also after lines of blank cells, as above tables in sheets
    if not has_header:
        return TableLayout(skip=skip, header=False, guesses=tuple(said))
    lacking = ""
    if first_line.is_regular and first_line.width > 2 and len(begin.names) == first_line.width - 1:
        wide = [cells for cells in body if len(cells) == first_line.width]
        lacking = "first" if any(cells[-1] for cells in wide) else "last"
        said.append(f"the header has no name for the {lacking} column")
    if units is None:
        units = units_in(names, wide, absent) if levels == 1 and body[:MOST_UNITS] == wide[:MOST_UNITS] else 0
        said += _skipped_units(wide, units)
    reason = ""
    if (lacking == "first" or not names[0]) and wide and "" not in named:
        reason = _not_an_index([cells[0] for cells in wide[units:] if cells[0] not in absent])
    if reason:
        said.append(f"the first column has no name and is no index of rows, for {reason}; it was called 'c1'")
    return TableLayout(
        skip=skip,
        header=True,
        is_commented=bool(begin.comment),
        levels=levels,
        units=units,
        is_indexed=not reason and "c1" not in named,
        lacking=lacking,
        guesses=tuple(said),
    )


@dataclass(frozen=True, kw_only=True)
class _FirstLine:
    """The line with which a table begins: its header, or its first row."""

    line: CSVLine
    header: bool | None  # True if it holds the names; None where its cells have to show it
    width: int  # cells of the usual row
    is_regular: bool  # nearly all rows have as many
    has_titles: bool  # lines before it are skipped
    asked: Sequence[str]  # the names that the user wrote, of those in the line
    said: Sequence[str]  # sentences about what was skipped

    @classmethod
    def of(
        cls,
        rows: Sequence[CSVLine],
        table: Sequence[CSVLine],
        wanted: frozenset[str],
        skip: int | None,
        header: bool | None,
    ) -> _FirstLine:
        """Return the first line of a table. `rows` are those of the table, and comments; `wanted` are names that the
        user wrote.
        """
        width, count = usual_width([row.cells for row in table[1:]] or [table[0].cells])
        is_regular = width > 1 and count >= USUAL_SHARE * len(table)
        begin, said = table[0], []
        if wanted and (naming := [row for row in rows[:MOST_TITLES] if wanted <= {*row.names}]):
            begin, header = naming[0], header is not False
        elif skip is None and header is None and is_regular and _is_count(table, width):
            begin, header = table[1], False
            said.append(f"the first line counts the rows ({', '.join(table[0].cells[:2])}); it was skipped")
        elif skip is None and is_regular:
            begin = table[_titles_before(table, width)]
        if header is None and is_regular and (commented := _commented_header(rows, begin, width)):
            begin, header = commented, True
            said.append("the names of the columns stand in a comment line")
        titles = [row for row in table if row.line < begin.line]
        if titles and not said:
            text = first_texts([" ".join(filter(None, titles[0].cells))])
            said.append(f"{counted(len(titles), 'line')} before the table {was(titles)} skipped: {text}")
        return cls(
            line=begin,
            header=header,
            width=width,
            is_regular=is_regular,
            has_titles=bool(titles),
            asked=[name for name in begin.names if name in wanted],
            said=said,
        )


def _header_by_odds(begin: CSVLine, odds: float, has_rows: bool) -> list[str]:
    """Return sentences about a first line that is read as names or data by the log-odds of a header."""
    said = []
    if odds < 0:
        said.append(f"the first line looks like data, so the columns are called c1 to c{len(begin.cells)}")
    if abs(odds) < SURE and has_rows:
        said.append(
            f"unsure whether the first line holds the names of the columns ({first_texts(begin.cells)}); it is "
            f"read as {'names' if odds >= 0 else 'data'}"
        )
    return said


def _skipped_units(wide: Sequence[Sequence[str]], units: int) -> list[str]:
    """Return a sentence about rows of units that are skipped, if there are some."""
    if not units:
        return []
    texts = first_texts([cell for cell in wide[0] if cell])
    return [f"{counted(units, 'row')} after the header {was(wide[:units])} skipped, as of units: {texts}"]


def _not_an_index(cells: Sequence[str]) -> str:
    """Return why the cells of a column are no index of the rows; empty if they are one. An index may come again where
    files were put together: then most of its numbers count on.
    """
    if len({*cells}) < len(cells):
        numbers = [int(cell) for cell in cells if cell.isdecimal() and len(cell) <= MOST_DIGITS]
        steps = sum(after - before == 1 for before, after in pairwise(numbers))
        is_counted = len(numbers) == len(cells) and steps * 2 >= len(cells)
        return "" if is_counted else "its values recur"
    is_dated = inferred_kind(Counter(cells)).word in ("date", "time")
    return "it holds dates" if is_dated else ""


def _is_count(table: Sequence[CSVLine], width: int) -> bool:
    """Return True if the first line counts the rows and the features of the others, as in files of scikit-learn."""
    cells = table[0].cells
    if len(table) < 2 or len(cells) < 2 or not all(cell.isdigit() for cell in cells[:2]):
        return False
    rows, features = map(int, cells[:2])
    return (
        rows >= min(len(table) - 1, EXAMINED_ROWS - 1) and features in (width - 1, width) and rows > features
    )


def _titles_before(table: Sequence[CSVLine], width: int) -> int:
    """Return the number of lines before the table that have fewer cells than its rows, or one full cell."""
    full = sum(row.full for row in table if len(row.cells) == width) / (width * len(table))
    for index, row in enumerate(table[: min(MOST_TITLES, len(table) - 1)]):
        following = table[index + 1].cells
        names = [cell for cell in row.cells if cell and not is_number_text(cell)]
        is_heading = len({*names}) == width - 1 > 1 == len(following) - len(row.cells)
        is_narrow = len(row.cells) < width and not is_heading
        is_empty = width > 2 and row.full == 1 and full > FULL_SHARE
        if not (is_narrow or is_empty):
            return index
    return 0


def _commented_header(rows: Sequence[CSVLine], begin: CSVLine, width: int) -> CSVLine | None:
    """Return the last comment line before the table if it holds a name for each column."""
    above = [row for row in rows if row.comment and row.line < begin.line]
    names = above[-1].names if above else []
    return above[-1] if len(names) == width and not any(map(is_number_text, names)) and all(names) else None
