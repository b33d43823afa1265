"""CSV files as a source of events."""

from __future__ import annotations

import csv
import os
import time
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, chain

from stream_bayes.core.events.event import Partition
from stream_bayes.core.values.values import shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import SchemaError, SourceError, Undecodable
from stream_bayes.streams.byte_files.byte_file import ByteFile, newlines_of_returns
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.files.csv_cells import Misfits
from stream_bayes.streams.files.csv_columns import CSVColumns
from stream_bayes.streams.files.csv_format import CSVFormat
from stream_bayes.streams.files.csv_rows import CSVRecord, QuickCells, rows_of
from stream_bayes.streams.files.source import BLOCK_BYTES, FileSource, Lines
from stream_bayes.streams.records.decoder import MAX_RECORD_BYTES
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.undecodable import DecodeReason, bad_record, undecodable

__all__ = ["CSVSource"]


class CSVSource(FileSource):
    r"""A CSV file, as the `csv` module of Python reads it; plain or compressed. Blank lines are skipped.

    Without a schema every feature is text, so nominal; `inferred_schema` infers one from the first rows. With a sink
    that can be cut back, each event counts exactly once. Nothing is guessed here; `streams.from_csv` guesses.

    Parameters
    ----------
    path, name, follow, max_record_bytes, block_bytes, sleep
        As of a `FileSource`.
    fields
        Roles of the columns.
    schema
        The features. The columns of numeric ones hold numbers.
    columns
        Names of the columns, for a file without a heading.
    delimiter
        Delimiter of the cells.
    missing
        Cells that stand for a missing value, such as `"?"` or `"NA"`.
    form
        The format of the file, in place of `delimiter` and `missing`.
    misfits
        `"dead-letter"` if a row is bad in which a numeric column holds no number; `"missing"` if that cell is missing,
        and counted in `misfits`.

    Attributes
    ----------
    misfits
        Counts of cells that were no numbers, by column; each with the first one.
    notes
        Sentences about names of columns that are not as they stand in the file.

    Raises
    ------
    SourceError
        If the file cannot be read, or is empty.
    SchemaError
        If a column of the fields or the schema is missing, or two columns have one name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory, "days.csv")
    ...     _ = path.write_text("sky,wind,rain\ngrey,3.5,yes\nblue,?,no\n")
    ...     source = CSVSource(path, Fields(target="rain"), missing=["?"])
    ...     events = source.poll(10)
    ...     source.close()
    >>> [(event.x, event.y) for event in events]
    [({'sky': 'grey', 'wind': '3.5'}, 'yes'), ({'sky': 'blue', 'wind': None}, 'no')]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        fields: Fields | None = None,
        schema: Schema | None = None,
        columns: Sequence[str] | None = None,
        delimiter: str = ",",
        missing: Iterable[str] = ("",),
        form: CSVFormat | None = None,
        misfits: str = "dead-letter",
        name: str | None = None,
        follow: bool = False,
        max_record_bytes: int = MAX_RECORD_BYTES,
        block_bytes: int = BLOCK_BYTES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.fields = Fields() if fields is None else fields
        self.schema = schema
        self.format = CSVFormat(delimiter=delimiter, missing=tuple(missing)) if form is None else form
        self.delimiter = _checked_delimiter(self.format.delimiter)
        self.missing = self.format.missing
        if misfits not in ("missing", "dead-letter"):
            raise SchemaError(f"misfits: expected 'missing' or 'dead-letter', got {shown(misfits)}")
        self._misfits_are_missing = misfits == "missing"
        self.misfits: dict[str, Misfits] = {}
        self.notes: tuple[str, ...] = ()
        self._named = None if columns is None else tuple(columns)
        self._has_header = columns is None and self.format.header
        self._lines_of_heading = self.format.lines_of_heading if columns is None else self.format.skip
        super().__init__(path, name, follow, max_record_bytes, block_bytes, sleep, self.format.encoding)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names; none while a followed file is empty."""
        return self._columns.names

    def _open_file(self) -> ByteFile:
        convert = newlines_of_returns if self.format.line_end == "\r" else None
        return ByteFile(self.path, self.encoding, convert, self.format.sheet)

    def _heading(self, lines: Lines) -> int | None:
        skipped = _after_lines(lines.data, self.format.skip)
        if self._named is not None and not skipped:
            self._name_columns(self._named)
            return 0
        rest = lines._replace(data=lines.data[skipped or 0 :], start=lines.start + (skipped or 0))
        form = replace(self.format, comment="") if self.format.is_commented else self.format
        rows = [] if skipped is None else rows_of(rest, form, self.max_record_bytes)[0]
        wanted = self.format.levels + self.format.units if self._has_header else 1
        if len(rows) < wanted and not lines.last:
            return None
        if not rows:
            raise SourceError(
                f"{self.path}: expected a line with the columns' names, and the file is empty"
                if not self.format.skip
                else f"{self.path}: expected lines after the first {self.format.skip}, and there are none"
            )
        assert skipped is not None
        heading: list[list[str]] = []
        for row in rows[: self.format.levels]:
            if isinstance(row.cells, Undecodable):
                raise SourceError(
                    f"{self.path}: the line with the columns' names cannot be read: {row.cells}"
                )
            heading.append(row.cells)
        cells, *below = heading
        try:
            names, self.notes = (
                (self._named, ()) if self._named is not None else self.format.names_of(cells, *below)
            )
            line = rest.data[rows[0].begin : rows[0].end] if self._has_header and self.format.tidy else b""
            is_alone = self.format.lines_of_heading - self.format.skip == 1 and len(cells) > 1
            once_more = line.removeprefix(BOM_UTF8).rstrip(b"\r\n") if is_alone else b""
            self._name_columns(names, cells if self._has_header else (), once_more)
        except SchemaError as error:
            hint = (
                ""
                if self.format.header
                else "; the first line looks like data; if it holds the names: --header"
            )
            raise SchemaError(f"{self.path}: {error}{hint}") from None
        return skipped + (rows[:wanted][-1].end if self._has_header else 0)

    def _name_columns(self, names: Sequence[str], heading: Sequence[str] = (), line: bytes = b"") -> None:
        self._heading_line = line
        self._columns = CSVColumns(
            names,
            self.fields,
            self.schema,
            self.missing,
            self.format.decimal,
            self.format.thousands,
            self.misfits if self._misfits_are_missing else None,
            heading,
        )
        self._quick = QuickCells(self.format, len(names), self.max_record_bytes, line)

    def _records(self, lines: Lines, partition: Partition) -> tuple[list[Record], int]:
        quick = self._quick.split(lines)
        if quick is not None:
            cells, lengths = quick
            positions = list(accumulate(lengths[:-1], initial=lines.start))
            if lines.span != lines.start:
                lengths[0] += lines.start - lines.span
                positions[0] = lines.span
            try:
                # A list is invariant to the type checker, so a list of events is none of records.
                return self._columns.events(cells, positions, lengths, partition), len(lines.data)  # type: ignore[return-value]  # see above
            except Undecodable:
                pass  # row by row, then
        rows, used = rows_of(lines, self.format, self.max_record_bytes, self._heading_line)
        ends = [lines.start + row.end for row in rows]
        positions = [lines.span, *ends[:-1]]
        return self._made(rows, lines.data, positions, ends, partition) if rows else [], used

    def _made(
        self, rows: list[CSVRecord], data: bytes, positions: list[int], ends: list[int], partition: Partition
    ) -> list[Record]:
        """Return the records of rows, each wrong row as a bad record."""
        width = len(self._columns.names)
        fault: Undecodable | None = None
        try:
            whole = [row.cells for row in rows if isinstance(row.cells, list) and len(row.cells) == width]
            if len(whole) == len(rows):
                cells = list(chain.from_iterable(whole))
                lengths = [end - position for position, end in zip(positions, ends, strict=True)]
                return self._columns.events(cells, positions, lengths, partition)  # type: ignore[return-value]  # as above
        except Undecodable as error:
            fault = error
        if len(rows) == 1:
            row = rows[0]
            if isinstance(row.cells, Undecodable):
                fault = row.cells
            elif fault is None:
                fault = undecodable(DecodeReason.RAGGED, f"expected {width} cells, got {len(row.cells)}")
            raw = data[row.begin : row.end].removesuffix(b"\n")
            return [bad_record(fault, raw, positions[0], partition, ends[0] - positions[0])]
        # Halving finds a wrong row soonest, and most rows are still converted together.
        half = len(rows) // 2
        return [
            *self._made(rows[:half], data, positions[:half], ends[:half], partition),
            *self._made(rows[half:], data, positions[half:], ends[half:], partition),
        ]


def _after_lines(data: bytes, count: int) -> int | None:
    """Return the position after the first lines; None if there are fewer."""
    position = 0
    for _ in range(count):
        position = data.find(b"\n", position) + 1
        if not position:
            return None
    return position


def _checked_delimiter(delimiter: object) -> str:
    """Return a valid delimiter, or raise `SchemaError`."""
    try:
        if not isinstance(delimiter, str) or delimiter in ('"', "\r", "\n"):
            raise TypeError
        csv.reader([], delimiter=delimiter)
    except (TypeError, ValueError):
        raise SchemaError(
            f'delimiter: expected one character, or "tab", and no quote or newline, got {shown(delimiter)}'
        ) from None
    return delimiter
