"""A file as bytes that are read from front to back, compressed or not."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path
from typing import IO

from stream_bayes.errors import SourceError
from stream_bayes.streams.file_system import FileSystem

__all__ = ["ByteFile"]

GZIP = b"\x1f\x8b"  # what such a file begins with
SKIPPED_AT_ONCE = 2**20  # bytes, on the way to a position in a compressed file


class ByteFile:
    """A regular file, open for reading. What gzip has compressed is read as what it holds, whatever its name.

    Parameters
    ----------
    path
        Which file.

    Raises
    ------
    SourceError
        If it cannot be opened, now or in any method if it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0  # of the next byte to read, of what the file holds
        try:
            self._descriptor = FileSystem().open(path, os.O_RDONLY)
        except OSError as error:
            raise SourceError(f"{path} cannot be opened: {error.strerror or error}") from error
        raw: IO[bytes] = io.FileIO(self._descriptor)
        self.compressed = self.beginning(len(GZIP)) == GZIP
        self._raw = raw
        self._content = gzip.GzipFile(fileobj=raw) if self.compressed else raw
        status = os.fstat(self._descriptor)
        self.identity = (status.st_dev, status.st_ino)

    def read(self, size: int) -> bytes:
        """The next bytes: up to `size`, and none at the end."""
        try:
            data = self._content.read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise SourceError(f"{self.path} cannot be read past byte {self.offset}: {error}") from error
        self.offset += len(data)
        return data

    def seek(self, offset: int) -> bytes:
        """Read from here next; returns the byte before, if there is one.

        Raises
        ------
        SourceError
            If the file ends before.
        """
        before = b""
        if self.compressed:
            self._content.seek(0)
            self.offset = 0
            while self.offset < offset and (data := self.read(min(SKIPPED_AT_ONCE, offset - self.offset))):
                before = data[-1:]
        elif offset <= self.size:
            self._content.seek(max(0, offset - 1))
            self.offset = max(0, offset - 1)
            before = self.read(min(offset, 1))
        if self.offset != offset:
            end = self.offset if self.compressed else self.size
            raise SourceError(
                f"{self.path} ends after {end} bytes, but was read to byte {offset} before: it was cut or replaced. "
                "Bring the file back, or start anew without the snapshot"
            )
        return before

    @property
    def size(self) -> int:
        """How many bytes the file has now, on the disk."""
        return os.fstat(self._descriptor).st_size

    @property
    def modified(self) -> int:
        """When it was last written to, in nanoseconds."""
        return os.fstat(self._descriptor).st_mtime_ns

    def beginning(self, size: int) -> bytes:
        """The first bytes on the disk, up to `size`; where the file is read next stays as it is."""
        try:
            return os.pread(self._descriptor, size, 0)
        except OSError as error:
            raise SourceError(f"{self.path} cannot be read: {error.strerror or error}") from error

    def close(self) -> None:
        """Let go of the file."""
        self._content.close()
        self._raw.close()
