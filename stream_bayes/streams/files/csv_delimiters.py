"""The marks of a CSV file by its first lines: delimiter, quotes, comment lines; and its lines as rows."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

__all__ = [
    *("DELIMITERS", "CSVLine", "guessed_comment", "guessed_delimiter", "guessed_quote", "is_number_text"),
    *("row_reader", "rows_in", "usual_width"),
]

DELIMITERS = (",", ";", "\t", "|")  # of equals, the first
BLANKS = " "  # as a delimiter: runs of blanks and tabs
COMMENTS = ("#", "%")
QUOTES = ('"', "'")

EXAMINED_ROWS = 1000
EXAMINED_DELIMITED = 50  # rows
USUAL_SHARE = 0.5  # of the rows have as many cells as the others
BLANKS_SHARE = 0.9  # the same for blanks, which split lines of text alike by chance
QUOTED_SHARE = 0.9  # of the lines with a single quote hold a cell in them
BLANKS_GAIN = 0.1  # by which blanks split better than a mark does, to be the delimiter

NUMBER = re.compile(r"[-+]?[$€£¥]? ?[-+(]?(\d[\d.,' _]*|[.,]\d+)([eE][-+]?\d+)? ?[%)]?")
GROUPS_OF_THREE = re.compile(r"\d{1,3}( \d{3})+([.,]\d+)?")
ROW_OF_CELLS = re.compile(r"\S([ \t]{2,}|\t)\S|\d[\d.]*[ \t]+[-+.\d]+[ \t]+[-+.\d]")
TOKENS = {quote: re.compile(rf"{quote}(?:[^{quote}]|{quote}{quote})*{quote}|\S+") for quote in QUOTES}
ANY_DELIMITER = re.escape("".join(DELIMITERS))  # in a class of characters
IN_SINGLE_QUOTES = (
    re.compile(rf"(^|[{ANY_DELIMITER}])\s*'[^']*'\s*($|[{ANY_DELIMITER}])"),
    re.compile(
        rf"^\s*('[^']*'|[^\s'{ANY_DELIMITER}]+)(\s+('[^']*'|[^\s'{ANY_DELIMITER}]+))+\s*$"
    ),  # between blanks
)


@dataclass(frozen=True)
class CSVLine:
    """A row of cells without the blanks around them, the line at which it begins, and the mark of a comment line."""

    line: int
    cells: list[str]
    comment: str = ""

    @property
    def names(self) -> list[str]:
        """The cells, of a comment line without its mark."""
        if not self.comment or not self.cells:
            return self.cells
        first = self.cells[0].lstrip(self.comment).lstrip()
        return [first, *self.cells[1:]] if first else self.cells[1:]

    @property
    def full(self) -> int:
        """The number of cells that hold something."""
        return sum(map(bool, self.cells))


def row_reader(
    lines: Iterable[str], delimiter: str, quote: str = '"', strip: bool = False, strict: bool = False
) -> Iterator[list[str]]:
    r"""Return the `csv` module's reader of lines; a blank as the delimiter means runs of blanks and tabs.

    Examples
    --------
    >>> list(row_reader([' 18.0   8\t"chevrolet malibu"'], " "))
    [['18.0', '8', 'chevrolet malibu']]
    >>> list(row_reader(["'a', 'b'"], ",", quote="'", strip=True))
    [['a', 'b']]
    """
    if delimiter == BLANKS:
        tokens, delimiter = TOKENS[quote], "\t"
        lines = ("\t".join(tokens.findall(line)) + "\n" for line in lines)
    return csv.reader(lines, delimiter=delimiter, quotechar=quote, skipinitialspace=strip, strict=strict)


def guessed_quote(lines: Sequence[str]) -> str:
    """Return the quotes of a file: single ones if they stand around whole cells and nowhere else."""
    quoted = [line for line in lines if "'" in line]
    if not quoted or any('"' in line for line in lines):
        return '"'
    whole = sum(any(map(re.Pattern.search, IN_SINGLE_QUOTES, (line, line))) for line in quoted)
    return "'" if whole >= QUOTED_SHARE * len(quoted) else '"'


def guessed_comment(lines: Sequence[str]) -> str:
    """Return the mark of comment lines if the file begins with one, and most lines are none; otherwise nothing."""
    first = next(iter(lines), "").lstrip()
    for mark in COMMENTS:
        if first.startswith(mark) and sum(line.startswith(mark) for line in lines) * 2 < len(lines):
            return mark
    return ""


def guessed_delimiter(lines: Sequence[str], quote: str = '"') -> str:
    """Return the mark that splits the lines into the same number of cells best; a comma if none does.

    Examples
    --------
    >>> guessed_delimiter(["5,1;3,5", "4,9;3,0"]), guessed_delimiter(["1.5  2", " 3.25 4"])
    (';', ' ')
    """
    lines = [line for line in islice(lines, EXAMINED_DELIMITED) if line.strip()]
    scores = {mark: _fit_of(lines, mark, quote) for mark in (*DELIMITERS, BLANKS)}
    best = max(DELIMITERS, key=lambda mark: scores[mark])
    if scores[BLANKS][0] > scores[best][0] + BLANKS_GAIN:
        # Cells of several words each have as many parts, but the names above them have not.
        return best if _splits_all(lines, best, quote) and not _splits_all(lines, BLANKS, quote) else BLANKS
    if scores[best][0] >= USUAL_SHARE:
        return best
    # Ragged rows: by the heading alone, if a comma does not split it.
    widths = {
        mark: len(next(iter(rows_in(lines[:1], mark, quote)), CSVLine(0, [])).cells) for mark in DELIMITERS
    }
    return "," if widths[","] > 1 else max(DELIMITERS, key=lambda mark: widths[mark])


def _splits_all(lines: Sequence[str], mark: str, quote: str) -> bool:
    """Return True if a mark splits the first line and all others into the same number of cells."""
    widths = {len(row.cells) for row in rows_in(lines, mark, quote)}
    return len(widths) == 1 and widths != {1}


def _fit_of(lines: Sequence[str], mark: str, quote: str) -> tuple[float, int]:
    """Return the share of rows of the usual width times that of cells without another mark; and this width."""
    rows = [row.cells for row in rows_in(lines, mark, quote)]
    width, count = usual_width(rows)
    if width < 2:
        return 0.0, 1
    cells = [cell for row in rows if len(row) == width for cell in row]
    share = count / len(rows)
    if mark == BLANKS:
        numeric = any(
            all(map(is_number_text, column))
            for column in zip(*(row for row in rows[1:] if len(row) == width), strict=True)
        )
        if share < BLANKS_SHARE or not numeric:
            return 0.0, 1
    clean = sum(map(_is_whole, cells)) / len(cells)
    return round(share * clean, 2), width


def _is_whole(cell: str) -> bool:
    """Return True if nothing in a cell looks like a delimiter: no other mark, no row of cells."""
    if is_number_text(cell):
        return len(cell.split()) < 2 or GROUPS_OF_THREE.fullmatch(cell) is not None
    return not any(mark in cell for mark in DELIMITERS) and not ROW_OF_CELLS.search(cell)


def rows_in(lines: Sequence[str], delimiter: str, quote: str, comment: str = "") -> list[CSVLine]:
    """Return the rows of lines that are not blank, up to one that the `csv` module refuses."""
    rows: list[CSVLine] = []
    line = 0
    while line < len(lines) and len(rows) < EXAMINED_ROWS:
        if comment and lines[line].startswith(comment):  # alone, as a quote in it means nothing
            cells = next(iter(_parsed(lines[line : line + 1], delimiter, quote)), (1, []))[1]
            rows.append(CSVLine(line, cells, comment))
            line += 1
            continue
        stop = line
        while stop < len(lines) and not (comment and lines[stop].startswith(comment)):
            stop += 1
        begin = line
        for read, cells in _parsed(lines[begin:stop], delimiter, quote):
            if any(cells):
                rows.append(CSVLine(line, cells))
            line = begin + read
        if line < stop:
            break
    return rows[:EXAMINED_ROWS]


def _parsed(lines: Sequence[str], delimiter: str, quote: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the stripped cells of each row, and the number of lines up to its end."""
    reader: Any = row_reader(  # the protocol of iterators has no count of lines
        (line + "\n" for line in islice(lines, EXAMINED_ROWS)), delimiter, quote, strip=True
    )
    try:
        for cells in reader:
            yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error:
        return


def usual_width(rows: Iterable[Sequence[str]]) -> tuple[int, int]:
    """Return the most frequent number of cells, the larger of equals, and the number of rows that have it."""
    counts = Counter(map(len, rows))
    width = max(counts, key=lambda width: (counts[width], width), default=0)
    return width, counts[width]


def is_number_text(cell: str) -> bool:
    """Return True for a number as people write it, with a currency, a percent sign or marks in it."""
    return NUMBER.fullmatch(cell) is not None
