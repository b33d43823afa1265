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
    "Entry",
    "Place",
    "check",
    "check_entry",
    "directory_size",
    "first_size",
    "laid_out",
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


class Entry(NamedTuple):
    """What one entry holds, in parts, so that large arrays need not be joined."""

    name: str
    parts: tuple[Bytes, ...]

    @property
    def size(self) -> int:
        return sum(len(part) for part in self.parts)


class Place(NamedTuple):
    """Where one entry stands in the file."""

    name: str
    size: int
    start: int  # of its header
    data: int  # of its bytes

    @property
    def stop(self) -> int:
        return self.data + self.size


def laid_out(sizes: Iterable[tuple[str, int]]) -> list[Place]:
    """Where entries of these names and sizes stand."""
    places = []
    start = 0
    for name, size in sizes:
        header = start + HEADER.size + len(name)
        padding = -header % ALIGNMENT
        if 0 < padding < PADDING.size:
            padding += ALIGNMENT
        place = Place(name, size, start, header + padding)
        places.append(place)
        start = place.stop
    return places


def directory_size(places: Sequence[Place]) -> int:
    """How many bytes follow the last entry, without the comment."""
    return sum(DIRECTORY.size + len(place.name) for place in places) + END.size


def pieces(entries: Sequence[Entry], comment_size: int = 0) -> Iterator[Bytes]:
    """The bytes of a zip, in pieces, up to the comment.

    Raises
    ------
    SnapshotNotWritten
        If there is too much for one file. Raised before the first piece.
    """
    places = laid_out((entry.name, entry.size) for entry in entries)
    total = places[-1].stop + directory_size(places) + comment_size
    if total > MOST_BYTES or len(places) > MOST_ENTRIES:
        raise SnapshotNotWritten(
            f"{total:,} bytes in {len(places):,} entries do not fit in one snapshot, which holds at most "
            f"{MOST_BYTES:,} bytes in {MOST_ENTRIES:,} entries; keep smaller tables, with memory_budget or max_values"
        )
    checksums = []
    for place, entry in zip(places, entries, strict=True):
        checksum = 0
        for part in entry.parts:
            checksum = zlib.crc32(part, checksum)
        checksums.append(checksum)
        yield _header(place, checksum)
        yield from entry.parts
    yield _directory(places, checksums, comment_size)


def first_size(head: Bytes, name: str) -> int:
    """How many bytes the first entry has, if the file begins with an entry of this name. Nothing is checked yet."""
    stop = HEADER.size + len(name)
    if len(head) < stop or head[:4] != LOCAL or bytes(head[HEADER.size : stop]) != name.encode():
        raise BadSnapshot(f"this is no snapshot: expected a zip whose first entry is {name}")
    return int(HEADER.unpack(head[: HEADER.size])[7])


def check(file: memoryview, places: Sequence[Place], comment_size: int = 0) -> None:
    """Refuse a file that is not what would be written if its entries stood at these places.

    Raises
    ------
    BadSnapshot
        It names the first entry that is wrong.
    """
    checksums = [check_entry(file, place) for place in places]
    start = places[-1].stop
    if file[start : start + directory_size(places)] != _directory(places, checksums, comment_size):
        raise BadSnapshot("the zip's directory was altered: it does not fit the entries")


def check_entry(file: Bytes, place: Place) -> int:
    """Refuse one entry unless it is whole; return its checksum."""
    if len(file) < place.stop:
        raise BadSnapshot(f"the file is truncated: it ends within {place.name}")
    checksum = zlib.crc32(file[place.data : place.stop])
    found, expected = bytes(file[place.start : place.data]), _header(place, checksum)
    if found == expected:
        return checksum
    fields = HEADER.unpack(found[: HEADER.size])
    if fields[3] != 0:
        raise BadSnapshot(f"{place.name} is compressed; the entries of a snapshot are stored as they are")
    if found == _header(place, fields[6]):
        raise BadSnapshot(f"{place.name} was altered: its bytes do not fit its checksum")
    raise BadSnapshot(f"{place.name} was altered: its header does not fit its place")


def _header(place: Place, checksum: int) -> bytes:
    padding = place.data - place.start - HEADER.size - len(place.name)
    fixed = HEADER.pack(
        LOCAL, VERSION, 0, 0, 0, EPOCH, checksum, place.size, place.size, len(place.name), padding
    )
    extra = PADDING.pack(PADDING_ID, padding - PADDING.size).ljust(padding, b"\0") if padding else b""
    return fixed + place.name.encode("ascii") + extra


def _directory(places: Sequence[Place], checksums: Sequence[int], comment_size: int) -> bytes:
    lines = [
        DIRECTORY.pack(
            *(LISTED, UNIX | VERSION, VERSION, 0, 0, 0, EPOCH, checksum, place.size, place.size),
            *(len(place.name), 0, 0, 0, 0, MODE, place.start),
        )
        + place.name.encode("ascii")
        for place, checksum in zip(places, checksums, strict=True)
    ]
    listed = b"".join(lines)
    count = len(places)
    return listed + END.pack(LAST, 0, 0, count, count, len(listed), places[-1].stop, comment_size)
