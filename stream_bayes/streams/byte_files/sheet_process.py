"""The program that reads one spreadsheet: file at standard input; a line of JSON and the sheet as CSV at its output.

    {"sheets": {"Data": true, "Notes": false}, "name": "Data"}      whether each has a cell; the one that follows
    {"error": "..."}                                                why there is none

It is a process of its own because python-calamine unpacks a workbook as a whole, and lays out as many cells as the
sheet claims to have: a file of a kilobyte may ask for all memory, and then the process that reads it ends. This one
has a limit. It imports nothing of the package, so that it starts quickly.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

__all__: list[str] = []


def main(wanted: str, most_bytes: int) -> None:
    """Write the wanted sheet; the first one with a cell if none is named."""
    _limit_memory(most_bytes)
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum

    write = sys.stdout.buffer.write
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(sys.stdin.buffer.read()))
        names = [each.name for each in book.sheets_metadata if each.typ == SheetTypeEnum.WorkSheet]
        sheets = {name: book.get_sheet_by_name(name) for name in names}
    except (CalamineError, OSError, ValueError) as error:
        write(json.dumps({"error": str(error)}).encode() + b"\n")
        return
    name = wanted or next((name for name, sheet in sheets.items() if sheet.height), "")
    listed = {each: bool(sheet.height) for each, sheet in sheets.items()}
    write(json.dumps({"sheets": listed, "name": name}).encode() + b"\n")
    if name in sheets:
        for line in _lines_of(sheets[name]):
            write(line)
    sys.stdout.buffer.flush()


def _limit_memory(most_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


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


if __name__ == "__main__":
    try:
        main(sys.argv[1], int(sys.argv[2]))
    except MemoryError:
        sys.exit(3)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
