r"""The format of a CSV file: encoding, delimiter, decimal mark; as given, or guessed from the first lines.

Values are guessed once and printed before the first event. They depend on the first bytes of the file alone, so a
restart guesses the same.
"""

from __future__ import annotations

import codecs
import csv
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePath

from stream_bayes.errors import SchemaError
from stream_bayes.streams.files.byte_file import ByteFile
from stream_bayes.streams.files.csv_cells import MISSING_CELLS

__all__ = ["CSVFormat", "delimiter_of", "first_cells", "guessed_format", "number_marks"]

DELIMITERS = (",", ";", "\t", "|")  # of equals, the first
EXAMINED_BYTES = 2**24  # for the encoding
EXAMINED_LINES = 50  # for the delimiter
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))

PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COMMA_DECIMAL = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d*),\d+([eE][+-]?\d+)?")
GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")


@dataclass(frozen=True, kw_only=True)
class CSVFormat:
    """The format of a file.

    Parameters
    ----------
    delimiter
        Delimiter of the cells.
    decimal
        Decimal mark of numbers, `"."` or `","`.
    thousands
        Mark between groups of three digits; empty if there is none.
    encoding
        Encoding of the text, as Python names it.
    missing
        Cells that stand for a missing value; cells of blanks alone do too.
    """

    delimiter: str = ","
    decimal: str = "."
    thousands: str = ""
    encoding: str = "utf-8"
    missing: tuple[str, ...] = MISSING_CELLS

    def __post_init__(self) -> None:
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
        delimiter = {"\t": "a tab", " ": "a blank"}.get(self.delimiter, f"'{self.delimiter}'")
        parts = [f"delimiter {delimiter}"] * (self.delimiter != ",")
        parts += [f"decimal mark '{self.decimal}'"] * (self.decimal != ".")
        parts += [f"'{self.thousands}' between thousands"] * bool(self.thousands)
        parts += [f"encoding {self.encoding}"] * (self.encoding != "utf-8")
        return ", ".join(parts)


def delimiter_of(path: str | os.PathLike[str], given: str | None = None) -> str:
    r"""Return the delimiter of a file by its name: a tab may also be written `tab` or `\t`.

    Parameters
    ----------
    path
        The file; a tab for a name with .tsv, otherwise a comma, unless another is given.
    given
        The configured delimiter.

    Examples
    --------
    >>> delimiter_of("days.tsv.gz"), delimiter_of("days.csv"), delimiter_of("days.csv", "tab")
    ('\t', ',', '\t')
    """
    if given in ("tab", r"\t"):
        return "\t"
    if given is not None:
        return given
    return "\t" if ".tsv" in [suffix.lower() for suffix in PurePath(path).suffixes] else ","


def guessed_format(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    missing: Iterable[str] | None = None,
) -> CSVFormat:
    r"""Return the format of a file; what is not given is guessed from its first lines.

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
    with closing(ByteFile(Path(path))) as file:
        beginning = file.read(EXAMINED_BYTES)
    if encoding is None:
        encoding = _guessed_encoding(beginning)
    given = CSVFormat(
        encoding=encoding,
        decimal="." if decimal is None else decimal,
        thousands=thousands or "",
        missing=MISSING_CELLS if missing is None else tuple(missing),
    )
    text = beginning.decode(given.encoding, "replace").removeprefix("\ufeff")
    lines = [line for line in islice(text.splitlines(), 20 * EXAMINED_LINES) if line.strip()]
    if delimiter is None and ".tsv" not in [suffix.lower() for suffix in PurePath(path).suffixes]:
        delimiter = _guessed_delimiter(lines[:EXAMINED_LINES])
    else:
        delimiter = delimiter_of(path, delimiter)
    if decimal is None and thousands is None and len(delimiter) == 1:
        decimal, thousands = _guessed_marks(lines, delimiter, given.missing)
        given = replace(given, decimal=decimal, thousands=thousands)
    return replace(given, delimiter=delimiter)


def first_cells(path: str | os.PathLike[str], form: CSVFormat) -> list[str]:
    """Return the cells of the first line of a file.

    Raises
    ------
    SourceError
        If the file cannot be read.
    """
    with closing(ByteFile(Path(path), form.encoding)) as file:
        text = file.read(EXAMINED_BYTES).decode("utf-8", "replace").removeprefix("\ufeff")
    return next(iter(_rows(text.splitlines(), form.delimiter)), [])


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


def _mostly_utf8(data: bytes) -> bool:
    """Return True if most characters beyond ASCII are sequences of UTF-8."""
    return data.decode("utf-8", "replace").count("\ufffd") * 2 < sum(byte >= 0x80 for byte in data)


def _guessed_delimiter(lines: Sequence[str]) -> str:
    """Return the mark that splits these lines into the same number of cells, a comma if none does."""
    best, most = ",", 1
    for mark in DELIMITERS:
        widths = {len(row) for row in _rows(lines, mark)}
        first = len(next(iter(_rows(lines[:1], mark)), [""]))
        if len(widths) == 1 and first > most:
            best, most = mark, first
    if most > 1:
        return best
    # Ragged rows: by the heading alone, if a comma does not split it.
    heading = lines[:1]
    counts = {mark: len(next(iter(_rows(heading, mark)), [""])) for mark in DELIMITERS}
    return "," if counts[","] > 1 else max(DELIMITERS, key=lambda mark: counts[mark])


def _rows(lines: Iterable[str], delimiter: str) -> Iterable[list[str]]:
    try:
        yield from csv.reader(lines, delimiter=delimiter)
    except csv.Error:
        yield []


def _guessed_marks(lines: Sequence[str], delimiter: str, missing: Sequence[str]) -> tuple[str, str]:
    """Return the decimal mark and the mark of thousands, by the cells of these lines."""
    if not any("," in line for line in lines) or len(lines) < 2:
        return ".", ""
    columns = zip(*(row for row in _rows(lines[1:], delimiter)), strict=False)
    absent = set(missing)
    decimal = grouped = plain = pointed = 0
    for column in columns:
        cells = [cell.strip() for cell in column if cell.strip() not in absent]
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
