"""A file as bytes, compressed or not, and how to find it again after it was rotated.

A log is rotated when it is renamed, to `app.log.1` or `app.log-20260131`, and another is begun under its name. Each of
the files is a partition of the source. Its number is

    number = number of earlier files << 40 | digest of 40 bits

The digest is made of the file's inode and its first lines, which never change. So positions alone are enough to find a
file again after a restart, even if it was renamed meanwhile; a copy, or a new file with the inode of a deleted one, is
not mistaken for it.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import os
import re
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Protocol, cast

from stream_bayes.errors import SourceError
from stream_bayes.streams.files.file_system import FileSystem

__all__ = ["ByteFile", "after", "found_again", "numbered", "rotations_before"]

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"  # the first bytes of such files
CONVERTED_AT_ONCE = 2**15
SKIPPED_AT_ONCE = 2**20  # bytes, on the way to a position in a compressed file
DIGEST_BITS = 40
BEGINNING = 4096  # bytes; of a longer first line only these identify the file
ROTATED = re.compile(r"[.-]\d[\d.T:_-]*(\.gz|\.zst)?")  # the suffix of a rotated file


class Content(Protocol):
    """A file that is read from the front, and can go back to it."""

    def read(self, size: int, /) -> bytes: ...

    def seek(self, offset: int, /) -> int: ...

    def close(self) -> None: ...


class _Reopened:
    """Content derived from other content, again whenever it is read from the start."""

    def __init__(self, inner: Content, open_: Callable[[Content], Content]) -> None:
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

    def __init__(self, inner: Content, encoding: str) -> None:
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

    def __init__(self, inner: Content) -> None:
        self._inner = inner

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        return self._inner.read(size)


def _decompressed_zstd(path: Path, raw: Content) -> Content:
    """Return the decompressed content of a zstd file, by the standard library or by pyarrow."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # from Python 3.14 on
    except ImportError:
        pass
    else:
        return cast("Content", zstd.ZstdFile(_Lent(raw)))
    try:
        import pyarrow
    except ImportError:
        raise SourceError(
            f"{path} is compressed by zstd: install pyarrow to read it (pip install 'stream-bayes[parquet]'), or "
            "decompress it: zstd -d"
        ) from None
    return cast("Content", pyarrow.CompressedInputStream(pyarrow.PythonFile(_Lent(raw), mode="r"), "zstd"))


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
        self._raw: Content = io.FileIO(self._descriptor)
        self._content: Content = self._raw
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


def rotations_before(number: int) -> int:
    """Return the number of files before the one with this partition number."""
    return number >> DIGEST_BITS


def numbered(file: ByteFile, rotations: int, lines: int, complete: bool) -> int | None:
    """Return the partition number of a file; None until its first lines are complete.

    Parameters
    ----------
    file
        The file.
    rotations
        Number of files before it.
    lines
        Number of first lines that identify it.
    complete
        True if nothing more will be written to it.
    """
    digest = _digest(file, lines, complete)
    return None if digest is None else rotations << DIGEST_BITS | digest


def found_again(path: Path, number: int, lines: int) -> ByteFile:
    """Return the file with this number: the one at the path, or one that was renamed.

    Raises
    ------
    SourceError
        If there is none.
    """
    for candidate in [path, *_rotated(path)]:
        file = ByteFile(candidate)
        for complete in (False, True):
            if _digest(file, lines, complete) == number & ((1 << DIGEST_BITS) - 1):
                return file
        file.close()
    raise SourceError(
        f"the file that was read last is neither {path} nor next to it as {path.name}.1 or the like: it was deleted, "
        "compressed or replaced. Bring it back to read the rest of it, or start over without the snapshot"
    )


def after(path: Path, file: ByteFile) -> ByteFile | None:
    """Return the file begun after this one was renamed; None while this one is the newest, or the next is empty.

    A writer may still append to the old file for a moment after it was renamed. Bytes in the new file show that the
    writer has changed over.
    """
    try:
        status = path.stat()
    except OSError:
        return None  # between the renaming and the first write, there is no file
    if (status.st_dev, status.st_ino) == file.identity or not status.st_size:
        return None
    # Several may have been renamed since the last check; their times of modification give the order.
    renamed = [
        (modified, other) for other in _rotated(path) if (modified := _modified(other)) > file.modified
    ]
    following = ByteFile(min(renamed)[1] if renamed else path)
    if following.identity == file.identity:  # its writer has just added a line to it
        following.close()
        return None
    if following.compressed:
        following.close()
        raise SourceError(
            f"{following.path} comes after {file.path} and is compressed, so it cannot be followed: "
            "decompress it under a name without .gz, or start over without the snapshot"
        )
    return following


def _digest(file: ByteFile, lines: int, complete: bool) -> int | None:
    beginning = file.beginning(BEGINNING)
    parts = beginning.split(b"\n", lines)
    if len(parts) > lines:
        beginning = beginning[: len(beginning) - len(parts[-1])]
    elif len(beginning) < BEGINNING and not complete:
        return None
    content = b"%d " % file.identity[1] + beginning
    return int.from_bytes(hashlib.blake2b(content, digest_size=DIGEST_BITS // 8).digest(), "big")


def _rotated(path: Path) -> list[Path]:
    """Return the rotated files of a path, by their names."""
    try:
        names = sorted(path.parent.iterdir())
    except OSError as error:
        raise SourceError(f"{path.parent} cannot be listed: {error.strerror}") from error
    return [
        other
        for other in names
        if other.name.startswith(path.name)
        and ROTATED.fullmatch(other.name, len(path.name))
        and other.is_file()
    ]


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0  # just deleted, so not the next
