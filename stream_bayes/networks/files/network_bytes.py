"""The bytes of network files: bounded, decompressed, as text."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

from stream_bayes.decompression import unpacked
from stream_bayes.errors import BadFormat, BadValue
from stream_bayes.networks.files.bif_tokens import line_and_column
from stream_bayes.private_files import write_private

__all__ = ["as_text", "read_bytes", "write_bytes"]

MOST_BYTES = 1 << 28  # of a file once it is decompressed


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return what a file holds, decompressed if its name ends in `.gz`. Raise `BadFormat` beyond MOST_BYTES."""
    source = os.fspath(path)
    with Path(path).open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise BadFormat(f"{source}: expected at most {MOST_BYTES:,} bytes of a network, got more")
    if source.casefold().endswith(".gz"):
        try:
            data = unpacked(data, MOST_BYTES, "gzip")
        except BadValue as error:
            raise BadFormat(f"{source}: {error}") from None
    return data


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a private file, compressed if its name ends in `.gz`, without a time: equal networks are equal files."""
    write_private(
        Path(path), gzip.compress(data, mtime=0) if os.fspath(path).casefold().endswith(".gz") else data
    )


def as_text(data: bytes, source: str) -> str:
    """Return bytes in UTF-8 as text. Raise `BadFormat`, with line and column, for others."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        readable = data[: error.start].decode("utf-8")
        raise BadFormat(
            f"{source}:{line_and_column(readable, len(readable))}: expected UTF-8, got the byte "
            f"0x{data[error.start]:02x}; convert the file"
        ) from None
