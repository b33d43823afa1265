"""A zip archive that holds one table, and the one table in it."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath
from typing import IO

from stream_bayes.errors import SourceError

__all__ = ["DATA_NAMES", "ZIP", "is_workbook", "table_in"]

ZIP = b"PK\x03\x04"  # the first bytes of an archive
WORKBOOKS = (
    "xl/workbook.xml",
    "xl/workbook.bin",
    "content.xml",
)  # members of the archives that spreadsheets are
TEXTS = ("readme", "license", "licence")  # of these names, even with .txt
PACKED = (".parquet", ".pq", ".avro", ".xlsx", ".xls", ".ods")  # these are not read out of an archive
DATA_NAMES = (".csv", ".tsv", ".txt", ".data", ".dat", ".jsonl", ".ndjson", ".json", ".arff")


def is_workbook(file: IO[bytes]) -> bool:
    """Return True if an archive is a spreadsheet."""
    try:
        with zipfile.ZipFile(file) as archive:
            return not {*WORKBOOKS}.isdisjoint(archive.namelist())
    except (zipfile.BadZipFile, OSError):
        return False


def table_in(path: Path, file: IO[bytes]) -> zipfile.ZipInfo:
    """Return the one table in an archive. Files of descriptions and hidden ones do not count.

    Raises
    ------
    SourceError
        If it holds none, or several, or is broken.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            files = [member for member in archive.infolist() if not _is_hidden(member)]
    except (zipfile.BadZipFile, OSError) as error:
        raise SourceError(f"{path} cannot be read as a zip archive: {error}") from error
    if len(files) == 1 and not files[0].filename.lower().endswith(PACKED):
        return files[0]  # whatever its name
    members = [member for member in files if _is_data(member)]
    readable = ", ".join(DATA_NAMES)
    if not members:
        raise SourceError(
            f"{path}: expected a table in the archive, with a name that ends in {readable}, and it has none"
        )
    if len(members) > 1:
        names = ", ".join(member.filename for member in members)
        raise SourceError(f"{path} holds {len(members)} tables: {names}. Unpack it, and name the one to read")
    return members[0]


def _is_hidden(member: zipfile.ZipInfo) -> bool:
    parts = PurePosixPath(member.filename).parts
    return member.is_dir() or any(part.startswith((".", "__MACOSX")) for part in parts)


def _is_data(member: zipfile.ZipInfo) -> bool:
    name = PurePosixPath(member.filename)
    is_text = any(word in name.stem.lower() for word in TEXTS)
    return name.suffix.lower() in DATA_NAMES and not is_text
