"""A file as bytes: compressed or not, in any encoding, a sheet of a spreadsheet, still growing or complete."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Protocol, cast

from stream_bayes._build import install_command
from stream_bayes.decompression import pieces_of
from stream_bayes.errors import BadValue, SourceError
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.streams.byte_files.archives import ZIP, is_workbook, table_in
from stream_bayes.streams.byte_files.spreadsheets import SheetFile

__all__ = [
    "BEFORE",
    "ByteFile",
    "Generated",
    "ReplayableFile",
    "decompressed_xz",
    "decompressed_zstd",
    "newlines_of_returns",
]

# The first bytes of such files
GZIP, ZSTD, BZ2, XZ = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ"
WORKBOOK = b"\xd0\xcf\x11\xe0"  # .xls
CONVERTED_AT_ONCE = 2**15
BEFORE = 2**12  # bytes before a position by which it is recognised
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
        chunk, self._ready = self._ready[:size], self._ready[size:]
        return chunk

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


class Generated:
    """Pieces of content as a file, which are made as they are read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._ready = bytearray()

    def read(self, size: int, /) -> bytes:
        while len(self._ready) < size:
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._ready += piece
        chunk = bytes(self._ready[:size])
        del self._ready[:size]
        return chunk

    def seek(self, offset: int, /) -> int:
        raise NotImplementedError

    def close(self) -> None:
        """Do nothing: the inner file is closed by its owner."""


def newlines_of_returns(inner: ReplayableFile) -> ReplayableFile:
    """Return content whose lines end with a return alone, with newlines in their place."""

    def pieces() -> Iterator[bytes]:
        while data := inner.read(CONVERTED_AT_ONCE):
            yield data.replace(b"\r", b"\n")

    return Generated(pieces())


def _unzipped(path: Path, raw: ReplayableFile) -> ReplayableFile:
    """Return the one table in a zip archive."""
    file = cast("IO[bytes]", raw)
    member = table_in(path, file)
    if member.compress_type == zipfile.ZIP_LZMA:  # zipfile gives it as much memory as the archive asks for
        raise SourceError(f"{path}: {member.filename} is packed by LZMA; unpack it, or pack it again by zip")
    try:
        return cast("ReplayableFile", zipfile.ZipFile(file).open(member))
    except (OSError, RuntimeError, NotImplementedError, zipfile.BadZipFile) as error:
        raise SourceError(f"{path}: {member.filename} cannot be unpacked: {error}") from error


def decompressed_zstd(path: Path | str, raw: ReplayableFile) -> ReplayableFile:
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


def decompressed_xz(raw: ReplayableFile) -> ReplayableFile:
    """Return the decompressed content of an xz file. Reading raises `BadValue` if it needs too large a dictionary."""
    return Generated(pieces_of(raw.read, "xz"))


class ByteFile:
    """A regular file, open for reading: decompressed (gzip, bzip2, xz, zstd, zip with one table), and as UTF-8.

    A spreadsheet is read as CSV; `sheet` is empty for the first one. Text in another encoding than UTF-8 is converted.
    `convert` is a further conversion, of the text as UTF-8. Offsets are those of the converted text.

    Attributes
    ----------
    notes
        Sentences about what was chosen in the file.

    Raises
    ------
    SourceError
        If it cannot be opened; in any method, if it cannot be read.
    """

    def __init__(
        self,
        path: Path,
        encoding: str = "utf-8",
        convert: Callable[[ReplayableFile], ReplayableFile] | None = None,
        sheet: str = "",
    ) -> None:
        self.path = path
        self.encoding = codecs.lookup(encoding).name
        self.offset = 0  # of the next byte to read, decompressed
        try:
            self._descriptor = FileSystem().open(path, os.O_RDONLY)
        except OSError as error:
            raise SourceError(f"{path} cannot be opened: {error.strerror or error}") from error
        self._raw: ReplayableFile = io.FileIO(self._descriptor)
        self._content: ReplayableFile = self._raw
        self.notes: tuple[str, ...] = ()
        try:
            self._unpack(self.beginning(len(XZ)), sheet)
            if self.encoding not in ("utf-8", "ascii"):
                self._content = _Reopened(self._content, partial(_Converted, encoding=self.encoding))
            if convert is not None:
                self._content = _Reopened(self._content, convert)
        except BaseException:
            self._content.close()
            self._raw.close()
            raise
        # Or converted: a position is reached by reading all that comes before it.
        self.compressed = self._content is not self._raw
        self._last_size: int | None = None  # once closed
        status = os.fstat(self._descriptor)
        self.identity = (status.st_dev, status.st_ino)

    def _unpack(self, beginning: bytes, sheet: str) -> None:
        """Put the content in place of the bytes on the disk, by the first of them."""
        file = cast("IO[bytes]", self._raw)
        if beginning.startswith(GZIP):
            self._content = gzip.GzipFile(fileobj=file)
        elif beginning.startswith(BZ2):
            self._content = cast("ReplayableFile", bz2.BZ2File(file))
        elif beginning.startswith(XZ):
            self._content = _Reopened(self._raw, decompressed_xz)
        elif beginning.startswith(ZSTD):
            self._content = _Reopened(self._raw, partial(decompressed_zstd, self.path))
        elif beginning.startswith(WORKBOOK) or (beginning.startswith(ZIP) and is_workbook(file)):
            content = SheetFile(self.path, self._descriptor, sheet)
            self._content, self.notes, self.encoding = content, content.notes, "utf-8"
        elif beginning.startswith(ZIP):
            self._content = _Reopened(self._raw, partial(_unzipped, self.path))

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`; none at the end."""
        try:
            data = self._content.read(size)
        except UnicodeError as error:
            raise SourceError(
                f"{self.path} is not in {self.encoding}, past byte {self.offset}: {error}; give another encoding"
            ) from error
        except (OSError, EOFError, BadValue, zlib.error, zipfile.BadZipFile) as error:
            raise SourceError(f"{self.path} cannot be read past byte {self.offset}: {error}") from error
        self.offset += len(data)
        return data

    def seek(self, offset: int) -> bytes:
        """Move to an offset, and return what stands before it, up to `BEFORE` bytes.

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
                before = (before + data)[-BEFORE:]
        elif offset <= self.size:
            before = self.at(max(0, offset - BEFORE), min(offset, BEFORE))
            self._content.seek(offset)
            self.offset = offset
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
