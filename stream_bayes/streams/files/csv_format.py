r"""The format of a CSV file: encoding, delimiter, header, decimal mark; as given, or guessed from the first lines.

Values are guessed once and printed before the first event. They depend on the first bytes of the file alone, so a
restart guesses the same.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from pathlib import Path, PurePath
from typing import Any

from stream_bayes.data.schema import Schema
from stream_bayes.errors import SchemaError
from stream_bayes.streams.byte_files.byte_file import ByteFile
from stream_bayes.streams.files.csv_cells import MISSING_CELLS
from stream_bayes.streams.files.csv_delimiters import (
    CSVLine,
    guessed_comment,
    guessed_delimiter,
    guessed_quote,
    row_reader,
    rows_in,
)
from stream_bayes.streams.files.csv_header import column_names, joined_names
from stream_bayes.streams.files.csv_layout import guessed_layout
from stream_bayes.streams.records.fields import Fields

__all__ = ["CSVFormat", "delimiter_of", "guessed_format", "named_columns", "number_marks"]

WESTERN = ("cp1252", "latin-1")
BEYOND_ASCII, RUN_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+"), re.compile(r"[^\x00-\x7f]{3,}")
EXAMINED_BYTES = 2**24  # for the encoding
EXAMINED_LINES = 1000  # for the rest
HEADLESS = (".data",)  # suffixes of files that have no header more often than others
BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before that of UTF-16, with which it begins
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COMMA_DECIMAL = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d*),\d+([eE][+-]?\d+)?")
GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")


@dataclass(frozen=True, kw_only=True)
class CSVFormat:
    """The format of a file."""

    delimiter: str = ","  # of the cells; a blank stands for any run of blanks and tabs
    quote: str = '"'  # the mark around cells that hold a delimiter
    # True to remove blanks around cells, to number repeated names of columns, and to name those without a name
    tidy: bool = False
    comment: str = ""  # what a comment line begins with, such as "#"; empty if no line is a comment
    skip: int = 0  # lines to pass over before the header, or before the data without one
    # True if the names of the columns are in the file; otherwise they are called c1, c2, ...
    header: bool = True
    is_commented: bool = False  # True if these names are in a comment line
    levels: int = 1  # rows of names: in two of them, the second has those below a name of several columns
    units: int = 0  # rows to pass over between the header and the data
    # True if a first column without a name is an index of the rows; otherwise it is c1.
    is_indexed: bool = True
    lacking: str = ""  # "first" or "last" if the header has no name for that column
    # "\n", also for lines that end with a return and a newline; "\r" if a return alone ends them
    line_end: str = "\n"
    sheet: str = ""  # of a spreadsheet; empty for the first one
    decimal: str = "."  # the mark in numbers, "." or ","
    thousands: str = ""  # the mark between groups of three digits; empty if there is none
    encoding: str = "utf-8"  # of the text, as Python names it
    # cells that stand for a missing value; cells of blanks alone do too
    missing: tuple[str, ...] = MISSING_CELLS
    # sentences about what was guessed of the layout and is not plain
    guesses: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.skip < 0 or self.units < 0:
            raise SchemaError(f"skip, units: expected numbers of lines, got {self.skip} and {self.units}")
        if self.decimal not in (".", ","):
            raise SchemaError(f"decimal: expected '.' or ',', got {self.decimal!r}")
        if self.thousands not in ("", ".", ",", " ", "'", "_") or self.thousands == self.decimal:
            raise SchemaError(
                "thousands: expected one of '.', ',', ' ', \"'\", '_' or '', other than the decimal mark, "
                f"got {self.thousands!r}"
            )
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise SchemaError(
                f"encoding: expected a name such as 'utf-8', 'latin-1' or 'utf-16', got {self.encoding!r}"
            ) from None
        object.__setattr__(self, "missing", tuple(self.missing))

    def __str__(self) -> str:
        """Return what differs from plain CSV, in words."""
        delimiter = {"\t": "a tab", " ": "blanks"}.get(self.delimiter, f"'{self.delimiter}'")
        parts = [f"delimiter {delimiter}"] * (self.delimiter != ",")
        parts += [f"quote {self.quote}"] * (self.quote != '"')
        parts += [f"comment lines '{self.comment}'"] * bool(self.comment)
        parts += ["lines end with a return"] * (self.line_end == "\r")
        parts += [f"decimal mark '{self.decimal}'"] * (self.decimal != ".")
        parts += [f"'{self.thousands}' between thousands"] * bool(self.thousands)
        parts += [f"encoding {self.encoding}"] * (self.encoding != "utf-8")
        return ", ".join(parts)

    def reader(self, lines: Iterable[str], strict: bool = False) -> Iterator[list[str]]:
        """Return the `csv` module's reader of lines in this format."""
        return row_reader(lines, self.delimiter, self.quote, self.tidy, strict)

    @property
    def lines_of_heading(self) -> int:
        """The number of lines before the data, but for comment lines."""
        return self.skip + (self.levels + self.units if self.header else 0)

    def names_of(
        self, cells: Sequence[str], below: Sequence[str] = ()
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of the columns by the first row, and by the one below it if names stand in two rows, and
        sentences about those that are not as written.
        """
        if not self.header:
            return tuple(f"c{number}" for number in range(1, len(cells) + 1)), ()
        if not self.tidy:
            return tuple(cells), ()
        mark = self.comment if self.is_commented else ""
        names = CSVLine(0, [*cells], mark).names
        if self.levels > 1:
            names = joined_names(names, below)
        return column_names(names, self.lacking, self.is_indexed)

    def to_json(self) -> dict[str, Any]:
        """Return the format as JSON, without the sentences; `CSVFormat(**it)` reads it."""
        state = asdict(self) | {"missing": list(self.missing)}
        del state["guesses"]
        return state


def delimiter_of(path: str | os.PathLike[str], delimiter: str | None = None) -> str:
    r"""Return the delimiter of a file by its name: a tab may also be written `tab` or `\t`. A file with a name in .tsv
    has a tab, otherwise a comma, unless another is given.

    Examples
    --------
    >>> delimiter_of("days.tsv.gz"), delimiter_of("days.csv"), delimiter_of("days.csv", "tab")
    ('\t', ',', '\t')
    """
    if delimiter in ("tab", r"\t"):
        return "\t"
    if delimiter is not None:
        return delimiter
    return "\t" if ".tsv" in [suffix.lower() for suffix in PurePath(path).suffixes] else ","


def guessed_format(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    missing: Iterable[str] | None = None,
    header: bool | None = None,
    skip: int | None = None,
    units: int | None = None,
    comment: str | None = None,
    sheet: str | None = None,
    named: Iterable[str] = (),
    follow: bool = False,
) -> CSVFormat:
    r"""Return the format of a file; what is not given is guessed from its first lines. `named` are names of columns
    that the user wrote: a line that holds them all is the header. Of a file that is followed, delimiter and marks alone
    are guessed: it may be empty yet, and its positions are bytes. The other arguments are as of a `CSVFormat`.

    Raises
    ------
    SourceError
        If the file cannot be read.
    SchemaError
        If a given part is invalid.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory, "days.csv")
    ...     _ = path.write_bytes("größe;wind\n3,5;a\n1,25;b\n".encode("latin-1"))
    ...     print(guessed_format(path))
    delimiter ';', decimal mark ',', encoding cp1252
    """
    if follow:
        encoding = encoding or "utf-8"
        header, skip, units, comment = header is not False, skip or 0, units or 0, comment or ""
    with closing(ByteFile(Path(path), sheet=sheet or "")) as file:
        beginning = file.read(EXAMINED_BYTES)
        is_whole = len(beginning) < EXAMINED_BYTES
        said = file.notes
    if encoding is None:
        encoding = _guessed_encoding(beginning)
        if encoding in WESTERN and _may_be_another_script(beginning.decode(encoding, "replace")):
            said = (
                *said,
                f"the file is no UTF-8 and is read as {encoding}, but its words look like another script: name its "
                "encoding, such as cp1251 or shift-jis",
            )
    form = CSVFormat(
        encoding=encoding,
        decimal="." if decimal is None else decimal,
        thousands=thousands or "",
        missing=MISSING_CELLS if missing is None else tuple(missing),
        tidy=True,
        sheet=sheet or "",
        guesses=said,
    )
    text = beginning.decode(form.encoding, "replace").removeprefix("\ufeff")
    returns = text.count("\r") - text.count("\r\n")
    line_end = "\r" if returns > text.count("\n") and "\r" in text.rstrip("\r\n") else "\n"
    *lines, last = text.split(line_end, EXAMINED_LINES)
    if is_whole and len(lines) < EXAMINED_LINES:
        lines.append(last)
    elif not lines:
        lines = [last]  # the beginning of a long one
    lines = [line.removesuffix("\r") for line in lines]
    full = [line for line in lines if line.strip()]
    if comment is None:
        comment = guessed_comment(full)
    full = [line for line in full if not (comment and line.startswith(comment))]
    quote = guessed_quote(full)
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    if delimiter is None and ".tsv" not in suffixes:
        delimiter = guessed_delimiter(full, quote)
    else:
        delimiter = delimiter_of(path, delimiter)
    form = replace(form, delimiter=delimiter, quote=quote, comment=comment, line_end=line_end)
    if len(delimiter) != 1:
        return form  # refused by whoever reads with it
    layout = guessed_layout(
        lines,
        delimiter,
        quote,
        comment,
        named=named,
        is_usually_headless=not {*HEADLESS}.isdisjoint(suffixes),
        skip=skip,
        header=header,
        units=units,
        missing=form.missing,
    )
    form = replace(
        form,
        skip=layout.skip,
        header=layout.header,
        is_commented=layout.is_commented,
        levels=layout.levels,
        units=layout.units,
        is_indexed=layout.is_indexed,
        lacking=layout.lacking,
        guesses=(*said, *layout.guesses),
    )
    if decimal is None and thousands is None:
        rows = [
            row.cells
            for row in rows_in(lines[form.lines_of_heading :], delimiter, quote, comment)
            if not row.comment
        ]
        decimal, thousands = _guessed_marks(rows, form.missing)
        form = replace(form, decimal=decimal, thousands=thousands)
    return form


def named_columns(fields: Fields, schema: Schema | None = None) -> tuple[str, ...]:
    """Return the names of columns that the user wrote: those with a role, and the features of a schema."""
    declared = () if schema is None else tuple(filter(fields.is_feature, schema.columns))
    return (*fields.roles.values(), *fields.required, *(fields.only or ()), *fields.ignore, *declared)


def _guessed_encoding(beginning: bytes) -> str:
    for mark, encoding in BOMS:
        if beginning.startswith(mark):
            return encoding
    if beginning[1:200:2].count(0) > 50 or (len(beginning) > 3 and not any(beginning[1:20:2])):
        return "utf-16-le"
    if beginning[0:200:2].count(0) > 50 or (len(beginning) > 3 and not any(beginning[0:20:2])):
        return "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning)
        return "utf-8"
    except UnicodeDecodeError as error:
        # A few odd bytes in a text of UTF-8 are bad records; a text without any of its sequences is another encoding.
        if any(byte >= 0xC3 for byte in beginning[: error.start] if byte >= 0x80):
            return "utf-8"
    if beginning.decode("utf-8", "ignore").isascii() or not _mostly_utf8(beginning):
        try:
            beginning.decode("cp1252")
            return "cp1252"
        except UnicodeDecodeError:
            return "latin-1"
    return "utf-8"


def _may_be_another_script(text: str) -> bool:
    """Return True if most characters beyond ASCII stand beside others: in Western words they are rare."""
    beyond = sum(map(len, BEYOND_ASCII.findall(text)))
    return 2 * sum(map(len, RUN_BEYOND_ASCII.findall(text))) > beyond


def _mostly_utf8(data: bytes) -> bool:
    """Return True if most characters beyond ASCII are sequences of UTF-8."""
    return data.decode("utf-8", "replace").count("\ufffd") * 2 < sum(byte >= 0x80 for byte in data)


def _guessed_marks(rows: Sequence[Sequence[str]], missing: Sequence[str]) -> tuple[str, str]:
    """Return the decimal mark and the mark of thousands, by the cells of these rows."""
    if not any("," in cell for row in rows for cell in row):
        return ".", ""
    absent = set(missing)
    decimal = grouped = plain = pointed = 0
    for column in zip_longest(*rows, fillvalue=""):
        cells = [cell for cell in column if cell and cell not in absent]
        marks = number_marks(cells)
        decimal += marks == (",", ".") or marks == (",", "")
        pointed += marks == (",", ".")
        grouped += marks == (".", ",")
        plain += marks == (".", "") and any("." in cell for cell in cells)
    if decimal and not plain:
        return ",", "." if pointed else ""
    return (".", ",") if grouped else (".", "")


def number_marks(cells: Sequence[str]) -> tuple[str, str] | None:
    """Return the decimal mark and the mark of thousands in a column of numbers; None if it holds other things.

    Examples
    --------
    >>> number_marks(["1.5", "2"]), number_marks(["1,5", "2"]), number_marks(["1,500", "2,000.5"])
    (('.', ''), (',', ''), ('.', ','))
    >>> number_marks(["1.500,5"]), number_marks(["grey"])
    ((',', '.'), None)
    """
    if not cells:
        return None
    with_comma = [cell for cell in cells if "," in cell]
    rest = [cell for cell in cells if "," not in cell]
    if not all(map(PLAIN.fullmatch, rest)):
        return None
    if not with_comma:
        return ".", ""
    if all(map(GROUPED.fullmatch, with_comma)):
        return ".", ","
    if all(map(COMMA_DECIMAL.fullmatch, with_comma)):
        return ",", "." if any("." in cell for cell in with_comma) else ""
    return None
