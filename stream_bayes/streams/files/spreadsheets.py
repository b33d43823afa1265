"""A sheet of a spreadsheet (.xlsx, .xlsm, .xlsb, .xls, .ods) as the text of a CSV file, read by python-calamine.

The text depends on the sheet alone. So positions in it are those of any CSV file, and a restart finds them again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from stream_bayes._build import install_command
from stream_bayes.errors import MissingPackage, SourceError
from stream_bayes.names import closest

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

__all__ = ["SPREADSHEETS", "sheet_as_csv", "sheet_note"]

SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def sheet_note(path: Path, file: IO[bytes], sheet: str) -> tuple[str, ...]:
    """Return a sentence about the sheet that is read if the workbook has others and none was named."""
    if sheet:
        return ()
    with_data = [name for name, each in _sheets(path, file) if each.height]
    if len(with_data) < 2:
        return ()
    first, *others = map(repr, with_data)
    return (f"the first of {len(with_data)} sheets is read, {first}; the others are {', '.join(others)}",)


def sheet_as_csv(path: Path, file: IO[bytes], sheet: str) -> Iterator[bytes]:
    """Yield the rows of a sheet as lines of CSV; of the first sheet with a cell if none is named.

    Numbers are written as Python writes them, whole ones without a point, and dates as in ISO 8601. Cells that were
    merged with those above them hold the value of the merged cell.

    Raises
    ------
    MissingPackage
        If python-calamine is not installed.
    SourceError
        If the file is no spreadsheet, or has no such sheet.
    """
    sheets = dict(_sheets(path, file))
    name = sheet or next((name for name, each in sheets.items() if each.height), "")
    if name not in sheets:
        raise SourceError(
            f"{path}: there is no sheet {name!r}{closest(name, sheets)} There are {', '.join(sheets)}"
            if name
            else f"{path}: no sheet of it has a cell"
        )
    return _lines_of(sheets[name])


def _sheets(path: Path, file: IO[bytes]) -> Iterator[tuple[str, CalamineSheet]]:
    try:
        from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum
    except ImportError:
        raise MissingPackage(
            f"{path}: spreadsheets are read by python-calamine, which is not installed: "
            f"{install_command('spreadsheets')}; or save the sheet as CSV"
        ) from None
    try:
        book: CalamineWorkbook = CalamineWorkbook.from_filelike(file)
        for each in book.sheets_metadata:
            if each.typ == SheetTypeEnum.WorkSheet:
                yield each.name, book.get_sheet_by_name(each.name)
    except (CalamineError, OSError, ValueError) as error:
        raise SourceError(f"{path} cannot be read as a spreadsheet: {error}") from error


def _lines_of(sheet: CalamineSheet) -> Iterator[bytes]:
    merged = {
        (row, left): (top, left)
        for (top, left), (bottom, _) in sheet.merged_cell_ranges or ()
        for row in range(top + 1, bottom + 1)
    }
    values: dict[tuple[int, int], Any] = {}
    tops = set(merged.values())
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, cells in enumerate(sheet.iter_rows()):
        row: list[Any] = list(cells)
        for column in range(len(row)) if merged else ():
            at = (number, column)
            if at in tops:
                values[at] = row[column]
            if at in merged:
                row[column] = values.get(merged[at])
        writer.writerow(map(_text_of, row))
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()


def _text_of(value: Any) -> str:
    """Return a cell as text."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return "" if value is None else str(value)
