"""Recognition of a file that is one JSON object in place of one a line, as pandas writes a frame by default."""

from __future__ import annotations

from typing import Any

import msgspec

from stream_bayes.streams.files.byte_file import ByteFile

__all__ = ["is_one_table"]

MOST_BYTES = 2**26  # of a file that is examined whole
READ_AT_ONCE = 2**16
BOM = b"\xef\xbb\xbf"
TABLES = (
    {"columns", "index", "data"},
    {"columns", "data"},
    {"schema", "data"},
)  # keys of pandas' other forms


def is_one_table(file: ByteFile) -> bool:
    """Return True if a file is one JSON object that holds a table: its columns, or its rows by index.

    Most files are known by their first line.
    """
    data = file.read(READ_AT_ONCE).removeprefix(BOM).lstrip()
    if not data.startswith(b"{"):
        return False
    while b"\n" not in data and len(data) < MOST_BYTES and (more := file.read(len(data))):
        data += more
    line, _, rest = data.partition(b"\n")
    content = _object(line)
    if content is not None and (rest.strip() or file.read(READ_AT_ONCE).strip()):
        return False
    while content is None and len(data) < MOST_BYTES and (more := file.read(len(data))):
        data += more  # one that is written over many lines
    return _holds_table(_object(data) if content is None else content)


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
    if not parts or not all(isinstance(part, dict) and part for part in parts):
        return False
    return all(part.keys() == parts[0].keys() for part in parts)
