"""Lines of CSV as rows of cells, as the `csv` module of Python reads them.

A record is a line, unless a newline is in quotes. A quote that is never closed would turn the whole rest of a file into
one record. So if it is not closed within `max_record_bytes` (or `csv.field_size_limit()`, if that is less), or if text
follows the quote that closes it in a later line, its first line alone is a bad record, and reading goes on with the
next line. The records depend on the file alone, not on the
blocks in which it is read. Unlike in the `csv` module, a record with a zero byte is bad: a power cut or UTF-16 leaves
such bytes, and they are not values.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import accumulate, chain
from typing import NamedTuple

from stream_bayes.errors import Undecodable
from stream_bayes.streams.files._csv_rows import PlainCells
from stream_bayes.streams.files.csv_format import CSVFormat
from stream_bayes.streams.files.source import Lines
from stream_bayes.streams.records.decoder import too_long
from stream_bayes.streams.records.undecodable import DecodeReason, undecodable

__all__ = ["CSVRecord", "QuickCells", "rows_of"]

NOT_UTF8 = undecodable(
    DecodeReason.NOT_UTF8,
    "expected UTF-8, got other bytes; if the file is in Latin-1: iconv -f latin1 -t utf-8",
)
NULS = undecodable(
    DecodeReason.NOT_CSV,
    "expected text, got a byte that is 0; if the file is in UTF-16: iconv -f utf-16 -t utf-8",
)


class CSVRecord(NamedTuple):
    """One record."""

    cells: list[str] | Undecodable  # or the reason why it has none
    begin: int  # begin and end are positions of its bytes in the lines
    end: int


class QuickCells:
    """A fast reader of lines that are records of the right number of cells each, none of them too long.

    Most files have only such lines, and this takes a small part of the time of `rows_of`. `width` is the number of
    cells of a record, `limit` its maximum length in bytes. `heading` is as of `rows_of`.
    """

    def __init__(self, form: CSVFormat, width: int, limit: int, heading: bytes = b"") -> None:
        self.heading = heading
        self.form = form
        self.width = width
        # A line within the limit of the `csv` module has no cell beyond it. Longer lines are left to `rows_of`.
        self.limit = min(limit, csv.field_size_limit())
        self._quote, self._comment = form.quote.encode(), form.comment.encode()
        is_plain = form.delimiter.isascii() and form.delimiter != " "
        self._plain = PlainCells(ord(form.delimiter), width, self.limit) if is_plain else None

    def split(self, lines: Lines) -> tuple[list[str], list[int]] | None:
        """Return all cells in order, and the length of each record; None unless all lines are plain."""
        data = lines.data
        if b"\0" in data or (self._comment and self._comment in data):
            return None
        if self.heading and self.heading in data:
            return None
        is_quoted = self._quote in data
        try:
            result = None
            if self._plain is not None and not is_quoted:
                result = self._plain.split(data)
            elif self._plain is None or is_quoted:
                result = self._quoted(data)
        except UnicodeDecodeError:
            return None
        if result is None or not self.form.tidy or (b" " not in data and b"\t" not in data):
            return result
        cells, lengths = result
        return [cell.strip() for cell in cells], lengths

    def _quoted(self, data: bytes) -> tuple[list[str], list[int]] | None:
        if not data.endswith(b"\n"):
            return None
        lengths = [len(line) + 1 for line in data.split(b"\n")]
        lengths.pop()
        if max(lengths) > self.limit:
            return None
        lines = data[:-1].replace(b"\r\n", b"\n").removesuffix(b"\r").decode().split("\n")
        try:
            rows = list(self.form.reader(lines, strict=True))
        except csv.Error:
            return None
        if len(rows) != len(lines) or any(len(row) != self.width for row in rows):
            return None
        return list(chain.from_iterable(rows)), lengths


def rows_of(lines: Lines, form: CSVFormat, limit: int, heading: bytes = b"") -> tuple[list[CSVRecord], int]:
    """Return the complete records in these lines, and their bytes, blank lines and comments included. Whole lines are
    given, at the beginning of a record. `limit` is the maximum length of a record in bytes. A line that is the
    `heading` once more, as where files were joined, is passed over as a comment is.
    """
    split = _Lines(lines, form, limit)
    comment = form.comment.encode()
    heading = heading if heading in lines.data else b""
    rows: list[CSVRecord] = []
    while split.first < len(split.pieces):
        first = split.first
        is_heading = heading and split.pieces[first].removesuffix(b"\r") == heading
        if is_heading or (comment and split.pieces[first].startswith(comment)):
            split.pass_over()
            continue
        if len(split.pieces[first]) > limit:
            rows.append(split.row(too_long(len(split.pieces[first]), limit), first + 1))
            continue
        try:
            for cells in form.reader(split.feed()):
                if split.following > split.first + 1 and (fault := split.fault_of_quotes()) is not None:
                    rows.append(split.row(fault, split.first + 1))
                    break  # the lines after the first are records of their own
                row = split.row([cell.strip() for cell in cells] if form.tidy else cells, split.following)
                if cells:
                    rows.append(row)
                if comment or heading:
                    break  # the next line may be one
        except csv.Error as error:
            rows.append(split.row(_no_row(error), split.following))
        except _Incomplete:
            break
        except _Unclosed:
            fault = undecodable(
                DecodeReason.UNCLOSED_QUOTE,
                f"expected a quote to be closed within {split.within} bytes, and it is not",
            )
            rows.append(split.row(fault, split.first + 1))
    return rows, split.begins[split.first]


def _no_row(error: csv.Error) -> Undecodable:
    """Return the fault of a row that the reader refuses, described in plain words."""
    reason = str(error)
    if "new-line" in reason:
        reason = "a return stands in it without a newline; if all lines of the file end so: tr '\\r' '\\n'"
    elif "field limit" in reason:
        reason = f"a cell of it is longer than {csv.field_size_limit():,} characters"
    return undecodable(DecodeReason.NOT_CSV, f"expected a row of CSV: {reason}")


class _Incomplete(Exception):
    """A quote is open at the end of the lines, and may be closed in the next ones."""


class _Unclosed(Exception):
    """A quote is open, and not closed within the limit."""


class _Lines:
    """The lines that are fed to the `csv` module, and the position of the present record."""

    def __init__(self, lines: Lines, form: CSVFormat, limit: int) -> None:
        self.pieces = lines.data.split(b"\n")
        self.begins = list(accumulate((len(piece) + 1 for piece in self.pieces), initial=0))
        self.begins[-1] = len(lines.data)  # no newline follows the last piece
        if not self.pieces[-1]:
            self.pieces.pop()
            self.begins.pop()
        self.limit = limit
        # A field beyond the module's own limit is an error, which must not come after many lines have been read.
        self.within = min(limit, csv.field_size_limit())
        self.first = 0  # the line at which the present record begins
        self.following = 0  # the line that is read next
        self._lines = lines
        self._form = form
        self._no_text: Undecodable | None = None  # the reason why the present record is not text
        # Of the lines before this one, and not before `first`, none closes a quote that is open.
        self._open_to = 0

    def row(self, cells: list[str] | Undecodable, end: int) -> CSVRecord:
        """Return the present record, which ends with the line before `end`; the next one begins there."""
        row = CSVRecord(self._no_text or cells, self.begins[self.first], self.begins[end])
        self.first = self.following = end
        self._no_text = None
        return row

    def pass_over(self) -> None:
        """Leave the present line out; its bytes belong to the next record."""
        self.first += 1
        self.following = self.first

    def fault_of_quotes(self) -> Undecodable | None:
        """Return the fault of a record of several lines if text follows its closing quote.

        Then the quote was never closed: what closed it opens a cell of a later record, which would be lost in this one.
        """
        begin, end = self.begins[self.first], self.begins[self.following]
        text = self._lines.data[begin:end].decode("utf-8", "replace")
        try:
            list(self._form.reader(io.StringIO(text, newline=""), strict=True))
        except csv.Error:
            return undecodable(
                DecodeReason.UNCLOSED_QUOTE,
                "expected a quote to be closed at the end of a cell; the next quote stands before other text, in line "
                f"{self.following - self.first} from here",
            )
        return None

    def feed(self) -> Iterator[str]:
        """Yield the lines from the present record on, up to one that is too long. Raise at the end of the data."""
        while self.following < len(self.pieces):
            if self.following == self.first and len(self.pieces[self.first]) > self.limit:
                return
            if self.following == self.first + 1:
                self._check_closed()
            self.following += 1
            yield self._text(self.following - 1)
        if self.following > self.first:
            self._check_closed()

    def _text(self, line: int) -> str:
        data = self._lines.data[self.begins[line] : self.begins[line + 1]]
        if b"\0" in data:
            self._no_text = NULS
        try:
            return data.decode()
        except UnicodeDecodeError:
            self._no_text = self._no_text or NOT_UTF8
            return data.decode("utf-8", "replace")

    def _check_closed(self) -> None:
        """Raise unless the quote that the present record's first line leaves open is closed soon enough.

        No line is looked at twice for that: what leaves one quote open leaves any other open that was opened before it.
        Otherwise a file in which every line leaves a quote open would take time for the square of its lines.
        """
        line, count = max(self.first + 1, self._open_to), len(self.pieces)
        begin = self.begins[self.first]
        while line < count and self.begins[line + 1] - begin <= self.within:
            if not self._stays_open(line):
                return
            line += 1
            self._open_to = line
        here = len(self._lines.data) + self._lines.ahead - begin
        if line == count and here <= self.within and not self._lines.last:
            raise _Incomplete
        raise _Unclosed

    def _stays_open(self, line: int) -> bool:
        """Return True if a quote is open after a line."""

        def quoted() -> Iterator[str]:
            yield self._form.quote + self._lines.data[self.begins[line] : self.begins[line + 1]].decode(
                "utf-8", "replace"
            )
            raise _Incomplete

        try:
            next(self._form.reader(quoted()))
        except _Incomplete:
            return True
        except csv.Error:
            pass  # it is closed, and something is wrong after it
        return False
