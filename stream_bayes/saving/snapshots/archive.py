"""A zip of stored entries that has exactly one form: what is read must be, byte for byte, what would be written.

    header (30 bytes) | name | padding | the entry's bytes    these begin at a multiple of 64, and so do arrays
    ...                                                        entries follow one another without a gap
    directory (46 bytes) | name                                one for each entry, in the same order
    end (22 bytes) | comment

Names and sizes decide where everything stands, checksums (CRC-32) complete the headers, and everything else is
fixed: nothing is compressed or encrypted, there are no dates and no flags. So a reader that knows the names and sizes
has nothing to interpret. It computes what must stand there and compares: entries that overlap, come twice, are
compressed, or have something before, between or after them are all the same mistake to it.

Without the 64-bit extension of the format a file is smaller than 4 GiB, and nothing larger is ever read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from stream_bayes.errors import BadSnapshot, SnapshotNotWritten

__all__ = [
    "ALIGNMENT",
    "ArchiveEntry",
    "Extent",
    "check",
    "check_entry",
    "directory_size",
    "extents_of",
    "first_size",
    "pieces",
]

Bytes: TypeAlias = bytes | bytearray | memoryview

ALIGNMENT = 64
HEADER = struct.Struct("<4sHHHHHIIIHH")
DIRECTORY = struct.Struct("<4sHHHHHHIIIHHHHHII")
END = struct.Struct("<4sHHHHIIH")
PADDING = struct.Struct("<HH")  # an extra field that holds zeros

LOCAL, LISTED, LAST = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
PADDING_ID = 0xD935  # the id that other tools use for the same purpose
VERSION = 10  # of the zip format: stored entries need no more
UNIX = 3 << 8
MODE = 0o100600 << 16  # a regular file, for its owner only
EPOCH = (1 << 5) | 1  # 1980-01-01, the first day a zip can name
MOST_BYTES = 2**32 - 1
MOST_ENTRIES = 2**16 - 1


class ArchiveEntry(NamedTuple):
    """The contents of one entry, in parts, so that large arrays need not be joined."""

    name: str
    parts: tuple[Bytes, ...]

    @property
    def size(self) -> int:
        return sum(len(piece) for piece in self.parts)


class Extent(NamedTuple):
    """The positions of one entry in the file."""

    name: str
    size: int
    start: int  # of its header
    begin: int  # of its bytes

    @property
    def stop(self) -> int:
        return self.begin + self.size


def extents_of(sizes: Iterable[tuple[str, int]]) -> list[Extent]:
    """Return the extents of entries with these names and sizes."""
    extents = []
    start = 0
    for name, size in sizes:
        header = start + HEADER.size + len(name)
        padding = -header % ALIGNMENT
        if 0 < padding < PADDING.size:
            padding += ALIGNMENT
        extent = Extent(name, size, start, header + padding)
        extents.append(extent)
        start = extent.stop
    return extents


def directory_size(extents: Sequence[Extent]) -> int:
    """Return the number of bytes after the last entry, without the comment."""
    return sum(DIRECTORY.size + len(extent.name) for extent in extents) + END.size


def pieces(entries: Sequence[ArchiveEntry], comment_size: int = 0) -> Iterator[Bytes]:
    """Yield the bytes of a zip in pieces, up to the comment.

    Raises
    ------
    SnapshotNotWritten
        If there is too much for one file. Raised before the first piece.
    """
    extents = extents_of((entry.name, entry.size) for entry in entries)
    total = extents[-1].stop + directory_size(extents) + comment_size
    if total > MOST_BYTES or len(extents) > MOST_ENTRIES:
        raise SnapshotNotWritten(
            f"{total:,} bytes in {len(extents):,} entries do not fit in one snapshot, which holds at most "
            f"{MOST_BYTES:,} bytes in {MOST_ENTRIES:,} entries; keep smaller tables, with memory_budget or max_values"
        )
    checksums = []
    for extent, entry in zip(extents, entries, strict=True):
        checksum = 0
        for piece in entry.parts:
            checksum = zlib.crc32(piece, checksum)
        checksums.append(checksum)
        yield _header(extent, checksum)
        yield from entry.parts
    yield _directory(extents, checksums, comment_size)


def first_size(head: Bytes, name: str) -> int:
    """Return the size of the first entry if the file begins with one of this name. Nothing is checked yet."""
    stop = HEADER.size + len(name)
    if len(head) < stop or head[:4] != LOCAL or bytes(head[HEADER.size : stop]) != name.encode():
        raise BadSnapshot(f"this is not a snapshot: expected a zip whose first entry is {name}")
    return int(HEADER.unpack(head[: HEADER.size])[7])


def check(file: memoryview, extents: Sequence[Extent], comment_size: int = 0) -> None:
    """Refuse a file that is not what would be written if its entries stood at these extents.

    Raises
    ------
    BadSnapshot
        It names the first entry that is wrong.
    """
    checksums = [check_entry(file, extent) for extent in extents]
    start = extents[-1].stop
    if file[start : start + directory_size(extents)] != _directory(extents, checksums, comment_size):
        raise BadSnapshot("the zip's directory was altered: it does not fit the entries")


def check_entry(file: Bytes, extent: Extent) -> int:
    """Refuse one entry unless it is whole; return its checksum."""
    if len(file) < extent.stop:
        raise BadSnapshot(f"the file is truncated: it ends within {extent.name}")
    checksum = zlib.crc32(file[extent.begin : extent.stop])
    header, expected = bytes(file[extent.start : extent.begin]), _header(extent, checksum)
    if header == expected:
        return checksum
    fields = HEADER.unpack(header[: HEADER.size])
    if fields[3] != 0:
        raise BadSnapshot(f"{extent.name} is compressed; the entries of a snapshot are stored as they are")
    if header == _header(extent, fields[6]):
        raise BadSnapshot(f"{extent.name} was altered: its bytes do not fit its checksum")
    raise BadSnapshot(f"{extent.name} was altered: its header does not fit its place")


def _header(extent: Extent, checksum: int) -> bytes:
    padding = extent.begin - extent.start - HEADER.size - len(extent.name)
    fixed = HEADER.pack(
        LOCAL, VERSION, 0, 0, 0, EPOCH, checksum, extent.size, extent.size, len(extent.name), padding
    )
    extra = PADDING.pack(PADDING_ID, padding - PADDING.size).ljust(padding, b"\0") if padding else b""
    return fixed + extent.name.encode("ascii") + extra


def _directory(extents: Sequence[Extent], checksums: Sequence[int], comment_size: int) -> bytes:
    lines = [
        DIRECTORY.pack(
            *(LISTED, UNIX | VERSION, VERSION, 0, 0, 0, EPOCH, checksum, extent.size, extent.size),
            *(len(extent.name), 0, 0, 0, 0, MODE, extent.start),
        )
        + extent.name.encode("ascii")
        for extent, checksum in zip(extents, checksums, strict=True)
    ]
    listed = b"".join(lines)
    count = len(extents)
    return listed + END.pack(LAST, 0, 0, count, count, len(listed), extents[-1].stop, comment_size)
