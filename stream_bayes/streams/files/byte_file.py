"""A file as bytes: compressed or not, in any encoding, still growing or complete."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Protocol, cast

from stream_bayes._build import install_command
from stream_bayes.errors import SourceError
from stream_bayes.saving.snapshots.file_system import FileSystem

__all__ = ["ByteFile"]

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"  # the first bytes of such files
CONVERTED_AT_ONCE = 2**15
SKIPPED_AT_ONCE = 2**20  # bytes, on the way to a position in a compressed file


class ReplayableFile(Protocol):
    """A file that is read from the front, and can go back to it."""

    def read(self, size: int, /) -> bytes: ...

    def seek(self, offset: int, /) -> int: ...

    def close(self) -> None: ...


class _Reopened:
    """Content derived from other content, again whenever it is read from the start."""

    def __init__(self, inner: ReplayableFile, open_: Callable[[ReplayableFile], ReplayableFile]) -> None:
        self._inner, self._open = inner, open_
        self._content = open_(inner)

    def read(self, size: int, /) -> bytes:
        return self._content.read(size)

    def seek(self, offset: int, /) -> int:
        if offset:
            raise ValueError("only the front can be sought")
        self._inner.seek(0)
        self._content = self._open(self._inner)
        return 0

    def close(self) -> None:
        self._inner.close()


class _Converted:
    """Text of another encoding as UTF-8."""

    def __init__(self, inner: ReplayableFile, encoding: str) -> None:
        self._inner = inner
        self._decode = codecs.getincrementaldecoder(encoding)().decode
        self._ready = b""
        self._ended = False

    def read(self, size: int, /) -> bytes:
        while len(self._ready) < size and not self._ended:
            data = self._inner.read(max(size, CONVERTED_AT_ONCE))
            self._ended = not data
            self._ready += self._decode(data, final=self._ended).encode("utf-8", "surrogatepass")
        found, self._ready = self._ready[:size], self._ready[size:]
        return found

    def seek(self, offset: int, /) -> int:
        raise NotImplementedError

    def close(self) -> None:
        """Do nothing: the inner file is closed by its owner."""


class _Lent(io.RawIOBase):
    """A file that others read, and that stays open when they are done with it."""

    def __init__(self, inner: ReplayableFile) -> None:
        self._inner = inner

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        return self._inner.read(size)


def _decompressed_zstd(path: Path, raw: ReplayableFile) -> ReplayableFile:
    """Return the decompressed content of a zstd file, by the standard library or by pyarrow."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # from Python 3.14 on
    except ImportError:
        pass
    else:
        return cast("ReplayableFile", zstd.ZstdFile(_Lent(raw)))
    try:
        import pyarrow
    except ImportError:
        raise SourceError(
            f"{path} is compressed by zstd: install pyarrow to read it ({install_command('parquet')}), or "
            "decompress it: zstd -d"
        ) from None
    return cast(
        "ReplayableFile", pyarrow.CompressedInputStream(pyarrow.PythonFile(_Lent(raw), mode="r"), "zstd")
    )


class ByteFile:
    """A regular file, open for reading: decompressed if gzip or zstd has compressed it, and as UTF-8.

    Parameters
    ----------
    path
        Path of the file.
    encoding
        Encoding of the text in it. Another than UTF-8 is converted, and offsets are those of the converted text.

    Raises
    ------
    SourceError
        If it cannot be opened; in any method, if it cannot be read.
    """

    def __init__(self, path: Path, encoding: str = "utf-8") -> None:
        self.path = path
        self.encoding = codecs.lookup(encoding).name
        self.offset = 0  # of the next byte to read, decompressed
        try:
            self._descriptor = FileSystem().open(path, os.O_RDONLY)
        except OSError as error:
            raise SourceError(f"{path} cannot be opened: {error.strerror or error}") from error
        self._raw: ReplayableFile = io.FileIO(self._descriptor)
        self._content: ReplayableFile = self._raw
        self.compressed = False  # or converted: a position is reached by reading all that comes before it
        beginning = self.beginning(len(ZSTD))
        if beginning.startswith(GZIP):
            self._content = gzip.GzipFile(fileobj=cast("IO[bytes]", self._raw))
        elif beginning == ZSTD:
            self._content = _Reopened(self._raw, partial(_decompressed_zstd, path))
        if self.encoding not in ("utf-8", "ascii"):
            self._content = _Reopened(self._content, partial(_Converted, encoding=self.encoding))
        self.compressed = self._content is not self._raw
        self._last_size: int | None = None  # once closed
        status = os.fstat(self._descriptor)
        self.identity = (status.st_dev, status.st_ino)

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        try:
            data = self._content.read(size)
        except UnicodeError as error:
            raise SourceError(
                f"{self.path} is not in {self.encoding}, past byte {self.offset}: {error}; give another encoding"
            ) from error
        except (OSError, EOFError, zlib.error) as error:
            raise SourceError(f"{self.path} cannot be read past byte {self.offset}: {error}") from error
        self.offset += len(data)
        return data

    def seek(self, offset: int) -> bytes:
        """Move to an offset, and return the byte before it, if there is one.

        Raises
        ------
        SourceError
            If the file ends before the offset.
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
                "Bring the file back, or start over without the snapshot"
            )
        return before

    @property
    def size(self) -> int:
        """Size of the file on the disk now, in bytes; of a closed file, when it was closed."""
        return os.fstat(self._descriptor).st_size if self._last_size is None else self._last_size

    @property
    def modified(self) -> int:
        """Time of the last write, in nanoseconds."""
        return os.fstat(self._descriptor).st_mtime_ns

    def beginning(self, size: int) -> bytes:
        """Return the first bytes on the disk, up to `size`, without moving the read position."""
        return self.at(0, size)

    def at(self, offset: int, size: int) -> bytes:
        """Return bytes on the disk from an offset, up to `size`, without moving the read position."""
        try:
            return os.pread(self._descriptor, size, offset)
        except OSError as error:
            raise SourceError(f"{self.path} cannot be read: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the file."""
        if self._last_size is None:
            self._last_size = self.size
        self._content.close()
        self._raw.close()
