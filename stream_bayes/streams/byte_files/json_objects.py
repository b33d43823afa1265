"""Recognition of a file that is one JSON object in place of one a line, as pandas writes a frame by default."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from stream_bayes.streams.byte_files.byte_file import ByteFile

__all__ = ["is_one_table"]

MOST_BYTES = 2**21  # of a file that is decoded whole; of a larger one the beginning decides
READ_AT_ONCE = 2**16
BOM = b"\xef\xbb\xbf"
TABLES = (
    {"columns", "index", "data"},
    {"columns", "data"},
    {"schema", "data"},
)  # keys of pandas' other forms
# The beginning of an object that holds its first column, or one of the other forms.
TABLE_BEGINS = re.compile(rb'\{\s*"(?:(?:[^"\\]|\\.){0,1000}"\s*:\s*\{|(?:columns|index|data)"\s*:\s*\[)')


def is_one_table(file: ByteFile) -> bool:
    """Return True if a file is one JSON object that holds a table (its columns, or its rows by index), or one that is
    written over many lines, so that no line of it is a record.

    Most files are known by their first line. A value takes thirty times its bytes once it is decoded, so an object that
    is too long for a record anyway is a table if it begins as one.
    """
    data = file.read(READ_AT_ONCE).removeprefix(BOM).lstrip()
    if not data.startswith(b"{"):
        return False
    while b"\n" not in data and len(data) < MOST_BYTES and (more := file.read(len(data))):
        data += more
    line, end, rest = data.partition(b"\n")
    content = _object(line) if end or len(data) < MOST_BYTES else None
    if content is not None:
        return not rest.strip() and not file.read(READ_AT_ONCE).strip() and _holds_table(content)
    while len(data) < MOST_BYTES and (more := file.read(len(data))):
        data += more  # one that is written over many lines
    if len(data) < MOST_BYTES:
        return _object(data) is not None
    return TABLE_BEGINS.match(data) is not None and b"\n{" not in data and (bool(end) or _is_last_line(file))


def _is_last_line(file: ByteFile) -> bool:
    while more := file.read(READ_AT_ONCE):
        _, end, rest = more.partition(b"\n")
        if end:
            return not rest.strip() and not file.read(READ_AT_ONCE).strip()
    return True


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _holds_table(content: dict[str, Any] | None) -> bool:
    if content is None:
        return False
    if content.keys() in TABLES:
        return isinstance(content["data"], list)
    parts = [*content.values()]
    if parts and all(isinstance(part, list) and len(part) > 1 for part in parts):
        return len({*map(len, parts)}) == 1
    if not parts or not all(isinstance(part, dict) and part for part in parts):
        return False
    return all(part.keys() == parts[0].keys() for part in parts)
