"""A sheet of a spreadsheet (.xlsx, .xlsm, .xlsb, .xls, .ods) as the text of a CSV file, read by python-calamine.

The text depends on the sheet alone. So positions in it are those of any CSV file, and a restart finds them again.
A process of its own reads it, within a limit of memory: see `sheet_process.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import msgspec

from stream_bayes._build import install_command
from stream_bayes.checked_names import closest
from stream_bayes.errors import MissingPackage, SourceError

__all__ = ["SPREADSHEETS", "SheetFile"]

SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
MOST_MEMORY = 1 << 31  # bytes of the process that reads a spreadsheet: some fifty million cells
PROGRAM = Path(__file__).with_name("sheet_process.py")


class _Head(msgspec.Struct):
    """The first line that the process writes."""

    error: str = ""
    sheets: dict[str, bool] = {}
    name: str = ""


class SheetFile:
    """A sheet as CSV, read from the front; of the first sheet with a cell if none is named.

    Numbers are written as Python writes them, whole ones without a point, and dates as in ISO 8601. Cells that were
    merged with those above them hold the value of the merged cell. `notes` has a sentence about the sheet that is read
    if the workbook has others and none was named.

    Raises
    ------
    MissingPackage
        If python-calamine is not installed.
    SourceError
        If the file is no spreadsheet, has no such sheet, or needs more memory than MOST_MEMORY.
    """

    def __init__(self, path: Path, descriptor: int, sheet: str = "") -> None:
        if find_spec("python_calamine") is None:
            raise MissingPackage(
                f"{path}: spreadsheets are read by python-calamine, which is not installed: "
                f"{install_command('spreadsheets')}; or save the sheet as CSV"
            )
        self._path, self._descriptor, self._sheet = path, descriptor, sheet
        self._process: subprocess.Popen[bytes] | None = None
        self.notes: tuple[str, ...] = ()
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def read(self, size: int, /) -> bytes:
        data = self._output.read(size)
        if not data and size:
            self._check_end()
        return data

    def seek(self, offset: int, /) -> int:
        if offset:
            raise ValueError("only the front can be sought")
        self.close()
        self._start()
        return 0

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._output.close()
            self._errors.close()
            self._process = None

    def _start(self) -> None:
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        self._errors = TemporaryFile()  # noqa: SIM115  # open as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(PROGRAM), self._sheet, str(MOST_MEMORY)],
            stdin=self._descriptor,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        assert self._process.stdout is not None
        self._output: IO[bytes] = self._process.stdout
        line = self._output.readline()
        if not line:
            self._check_end()
        head = msgspec.json.decode(line or b'{"error": "it is empty"}', type=_Head)
        if head.error:
            raise SourceError(f"{self._path} cannot be read as a spreadsheet: {head.error}")
        with_data = [name for name, has_cells in head.sheets.items() if has_cells]
        if head.name not in head.sheets:
            raise SourceError(
                f"{self._path}: there is no sheet {self._sheet!r}{closest(self._sheet, head.sheets)} There are "
                f"{', '.join(head.sheets)}"
                if self._sheet
                else f"{self._path}: no sheet of it has a cell"
            )
        if len(with_data) > 1 and not self._sheet:
            first, *others = map(repr, with_data)
            self.notes = (
                f"the first of {len(with_data)} sheets is read, {first}; the others are {', '.join(others)}",
            )

    def _check_end(self) -> None:
        """Raise unless the process has ended well."""
        assert self._process is not None
        if code := self._process.wait():
            self._errors.seek(0)
            said = self._errors.read(1 << 16).decode("utf-8", "replace").strip().splitlines()
            reason = said[-1] if said else f"exit code {code}"
            raise SourceError(
                f"{self._path} cannot be read as a spreadsheet: its reader ended ({reason}); it may use at most "
                f"{MOST_MEMORY >> 20:,} MiB of memory. Save the sheet as CSV"
            )
