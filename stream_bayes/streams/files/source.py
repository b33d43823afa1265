"""Reading records from a file in blocks of whole lines, also while it grows or is rotated."""

from __future__ import annotations

import os
import time
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from stream_bayes.core.events.event import Event, Partition, Position
from stream_bayes.errors import BadValue, Exhausted, SourceError
from stream_bayes.streams.byte_files.byte_file import BEFORE, ByteFile
from stream_bayes.streams.byte_files.rotation import after, found_again, numbered, rotations_before
from stream_bayes.streams.contracts.continuity_marks import ReadMark
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.records.decoder import MAX_RECORD_BYTES, checked_bytes, too_long
from stream_bayes.streams.records.undecodable import KEPT_BYTES, bad_record

__all__ = ["BLOCK_BYTES", "FileSource", "Lines"]

BLOCK_BYTES = 2**15  # read at once: the cells of more do not fit the processor's cache
BOM = b"\xef\xbb\xbf"  # some editors write it before the text
MARKS = 512  # of the ends of the newest blocks; who merges files reads less ahead than this many
PAUSE_SECONDS = 0.1  # between two reads of a file that does not grow


class Lines(NamedTuple):
    """Whole lines of a file."""

    data: bytes  # Their bytes. The last one ends with a newline, unless the file ends without.
    start: Position  # the position of the first byte
    # The position of the next record. Bytes between `start` and it are blank lines or the heading.
    span: Position
    ahead: int  # how many bytes of the next line have been read
    last: bool  # True at the end of the file


class FileSource(ABC):
    """A file of records. A subclass writes `_records`, and `_heading` for a file with a heading.

    Positions are bytes of the decompressed content, so that any record can be sought; in a compressed file by reading
    all that comes before it. Bytes between records belong to the record after them.

    If `name` is not given, it is the file's. `follow` waits for more at the end. An incomplete last line is then read
    once it is complete. A record longer than `max_record_bytes` is a bad record. It is skipped, and never in memory as
    a whole. `block_bytes` are read at once. `sleep` waits when there is nothing to read. `encoding` is that of the
    text. Of another than UTF-8, positions are bytes of the text as UTF-8.

    Raises
    ------
    SourceError
        If the file cannot be read.
    """

    medium = "local"
    may_skip = False
    connected = True

    _lines_of_heading = 0  # at least
    _ready: list[Record]  # read, not yet returned
    _given_partition: Partition
    _given_position: Position

    def __init__(
        self,
        path: str | os.PathLike[str],
        name: str | None = None,
        follow: bool = False,
        max_record_bytes: int = MAX_RECORD_BYTES,
        block_bytes: int = BLOCK_BYTES,
        sleep: Callable[[float], None] = time.sleep,
        encoding: str = "utf-8",
    ) -> None:
        self.encoding = encoding
        self.path = Path(path)
        self.name = checked_name(self.path.name if name is None else name)
        self.follow = follow
        self.max_record_bytes = checked_bytes("max_record_bytes", max_record_bytes)
        self.block_bytes = checked_bytes("block_bytes", block_bytes)
        self._sleep = sleep
        self._begin(self._open_file())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    # -- what a subclass writes ---------------------------------------------------------------------------------------

    @abstractmethod
    def _records(self, lines: Lines, partition: Partition) -> tuple[list[Record], int]:
        """Return the complete records in these lines, and their bytes, blank lines included."""

    def _heading(self, lines: Lines) -> int | None:
        """Return the length of the heading in bytes; None until it is complete."""
        return 0

    def _open_file(self) -> ByteFile:
        """Open the file at its beginning, with what is converted in it."""
        return ByteFile(self.path, self.encoding)

    # -- the protocol -------------------------------------------------------------------------------------------------

    @property
    def positions(self) -> Mapping[Partition, Position]:
        return {self._given_partition: self._given_position}

    @property
    def position_units(self) -> Mapping[str, str]:
        """A position is a number of bytes."""
        return {self.name: "bytes"}

    @property
    def end_offsets(self) -> Mapping[Partition, Position]:
        """The end of the file now; empty for a compressed file."""
        return {} if self._file.compressed else {self._given_partition: self._file.size}

    def fetch_end(self) -> Mapping[Partition, Position]:
        return {self._given_partition: self._file.size}

    def has_reached(self, end: Mapping[Partition, Position], /) -> bool:
        at = self._given_partition
        if self._waits:
            reached = self._file.offset  # what was not returned is an incomplete record
        elif self._file.compressed or self._partition != at:
            reached = 0  # a compressed file is read to its own end anyway
        else:
            reached = self._given_position
        # A file that was read to here before it was followed had no number then, and none was rotated away before it.
        unnumbered = Partition(self.name) if not rotations_before(at.partition) else at
        # Of rotated files the newest is the one that is being read.
        return all(reached >= size if part in (at, unnumbered) else part < at for part, size in end.items())

    def poll(self, limit: int) -> list[Record]:
        if not self._ready:
            self._ready = self._advance()
        records, self._ready = self._ready[:limit], self._ready[limit:]
        if records:
            self._given_partition, self._given_position = records[-1].partition, records[-1].after
        return records

    def raw_of(self, event: Event, /) -> bytes | None:
        """Return the bytes of an event's record, read again; None for a compressed file, or one that was rotated."""
        if self._file.compressed or event.partition != self._partition:
            return None
        start = max(event.position, self._body)
        return self._file.at(start, event.position + event.length - start).strip(b"\r\n")

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        for partition in positions:
            if partition.source != self.name:
                raise SourceError(
                    f"the snapshot is of the source {partition.source!r}, and this one is {self.name!r}: "
                    "give it its old name, or start over without the snapshot"
                )
        # Of rotated files the newest is the one that was being read.
        partition = max(positions, default=Partition(self.name))
        position = positions.get(partition, 0)
        if partition.partition and not self.follow:
            raise SourceError(
                f"{self.path} was followed before: follow it again, or start over without the snapshot"
            )
        if partition.partition:
            file = found_again(self.path, partition.partition, 1 + self._lines_of_heading)
        else:
            file = self._open_file()
        self.close()
        self._begin(file, rotations_before(partition.partition))
        if position:
            self._go_to(position)
        if position or partition.partition:
            self._given_partition, self._given_position = partition, position

    def marks(self, positions: Mapping[Partition, Position], /) -> Mapping[Partition, ReadMark]:
        position = positions.get(self._given_partition, 0) if self._given_partition == self._partition else 0
        into_block = position - self._marks[-1].position if self._marks else -1
        if into_block > 0:
            before = (self._before_block + self._block[:into_block])[-BEFORE:]
            return {self._given_partition: ReadMark(position, zlib.crc32(before, self._heading_checksum))}
        earlier = [mark for mark in self._marks if mark.position <= position]
        return {self._given_partition: earlier[-1]} if earlier else {}

    def check_marks(self, marks: Mapping[Partition, ReadMark], /) -> None:
        mark = marks.get(self._given_partition)
        if mark is not None and self._checksum_before(mark.position) != mark.checksum:
            raise SourceError(
                f"{self.path}: its heading, or what stands before byte {mark.position}, is not what was read: it was "
                "changed or replaced. Bring the file back, or start over without the snapshot"
            )

    def close(self) -> None:
        self._file.close()
        if self._next is not None:
            self._next.close()

    # -- reading ------------------------------------------------------------------------------------------------------

    def _begin(self, file: ByteFile, rotations: int = 0) -> None:
        """Read a file from its beginning."""
        self._file = file
        self._rotations = rotations
        self._partition = None if self.follow else Partition(self.name)
        self._data = b""
        self._start: Position = 0  # of the data
        self._span: Position = 0  # of the next record
        self._body: Position = 0  # after the heading
        self._heading_checksum = 0
        self._before = self._before_block = b""  # what stands before the data, and before the block
        self._block = b""  # of the records taken last
        self._marks: deque[ReadMark] = deque(maxlen=MARKS)  # at the beginnings of blocks
        # Of a record that is too long: its beginning and its length.
        self._skipped: tuple[bytes, int] | None = None
        self._next: ByteFile | None = None
        self._headed = False
        self._waits = False  # for the rest of a record
        self._ready = []
        try:
            if self.follow and file.compressed:
                raise SourceError(
                    f"{file.path} is compressed or not in UTF-8, and such a file cannot be followed; read it as it is"
                )
            while not self._headed and (self._grow() or not self.follow):
                self._read_heading(last=not self.follow and self._file_ended)
            self._numbered(last=False)
        except BaseException:
            self.close()
            raise
        self._given_partition = self._partition or Partition(self.name)
        self._given_position = 0

    def _go_to(self, position: Position) -> None:
        """Read from this position of the file next."""
        while not self._headed:
            if not self._grow():
                self._file.seek(position)  # raises if the file is shorter
                break
            self._read_heading(last=False)
        before = self._file.seek(position)
        if before[-1:] != b"\n" and self._file.read(1):  # a record may also end with the file
            raise SourceError(
                f"{self.path}: no record begins at byte {position}, where it was read to before: it was changed or "
                "replaced. Bring the file back, or start over without the snapshot"
            )
        self._data, self._start, self._span, self._before = b"", position, position, before
        self._add_mark()

    def _grow(self) -> bool:
        """Read another block; return True if there was one."""
        if self._waits:
            self._check_uncut()
        # For a record of many blocks their size doubles, so that its bytes are not copied too often.
        block = self._file.read(max(self.block_bytes, len(self._data)))
        self._data += block
        self._file_ended = not block
        return bool(block)

    def _check_uncut(self) -> None:
        """Check, after a pause, that the file was not cut, and had grown again before its size could tell."""
        end = (self._before + self._data)[-BEFORE:]
        start = self._file.offset - len(end)
        if self._file.size >= self._file.offset and self._file.at(start, len(end)) != end:
            raise SourceError(
                f"{self.path} was cut and written anew while it was read, to byte {self._file.offset}. Rotate a log by "
                "renaming it; start over without the snapshot to read what it holds now"
            )

    def _drop(self, count: int) -> None:
        """Discard bytes that were read."""
        self._before = (self._before + self._data[max(0, count - BEFORE) : count])[-BEFORE:]
        self._data = self._data[count:]
        self._start += count

    def _add_mark(self) -> None:
        """Begin a block, whose beginning has a mark."""
        self._before_block, self._block = self._before, b""
        self._marks.append(ReadMark(self._start, zlib.crc32(self._before, self._heading_checksum)))

    def _checksum_before(self, position: Position) -> int:
        """Return the checksum of the heading and of what stands before a position in the file now."""
        if self._file.compressed:
            file = self._open_file()
            try:
                before = file.seek(position)
            finally:
                file.close()
        else:
            before = self._file.at(max(0, position - BEFORE), min(position, BEFORE))
        return zlib.crc32(before, self._heading_checksum)

    def _advance(self) -> list[Record]:
        """Read on to the next records; none, after a pause, if there are none yet."""
        while True:
            grown = self._grow()
            self._waits = False
            last = not grown and self._ended()
            if records := self._taken(last):
                return records
            if last and self._next is None:
                raise Exhausted(f"{self.path} has been read to its end")
            if last:
                self._go_over()
            elif not grown:
                self._waits = True
                self._sleep(PAUSE_SECONDS)
                return []

    def _ended(self) -> bool:
        """Return True if the file will not grow."""
        if not self._file.compressed and self._file.size < self._file.offset:
            raise SourceError(
                f"{self.path} was cut to {self._file.size} bytes while it was read, to byte {self._file.offset}. "
                "Rotate a log by renaming it; start over without the snapshot to read what it holds now"
            )
        if not self.follow:
            return True
        if self._next is None:
            self._next = after(self.path, self._file)
            # Bytes written between the last read of this file and the first of the next are still to be read.
            return self._next is not None and not self._grow()
        return True

    def _go_over(self) -> None:
        """Close a file that was rotated, and begin the next one."""
        following, newest = self._next, (self._given_partition, self._given_position)
        assert following is not None
        self._next = None
        self._file.close()
        self._begin(following, self._rotations + 1)
        self._given_partition, self._given_position = newest  # until something is read of the next one

    def _read_heading(self, last: bool) -> None:
        bom = len(BOM) if self._data.startswith(BOM) else 0
        if not bom and not last and len(self._data) < len(BOM) and BOM.startswith(self._data):
            return
        taken = self._heading(self._lines(bom, last))
        if taken is not None:
            self._heading_checksum = zlib.crc32(self._data[: bom + taken])
            self._drop(bom + taken)
            self._body = self._start
            self._headed = True
        elif len(self._data) > self.max_record_bytes:
            raise SourceError(
                f"{self.path}: expected a heading of at most {self.max_record_bytes:,} bytes, and it does not end "
                "there; give the file a first line of names, or raise max_record_bytes"
            )

    def _lines(self, begin: int, last: bool) -> Lines:
        """Return the whole lines in memory, from this byte on."""
        end = len(self._data) if last else self._data.rfind(b"\n") + 1
        data = self._data[begin : max(begin, end)]
        return Lines(data, self._start + begin, self._span, len(self._data) - begin - len(data), last)

    def _taken(self, last: bool) -> list[Record]:
        """Return the records that are complete in memory."""
        if not self._headed:
            self._read_heading(last)
        if self._skipped:
            return self._skip(last)
        if not self._headed or not self._data or not self._numbered(last):
            return []
        lines = self._lines(0, last)
        if not lines.data and lines.ahead > self.max_record_bytes:
            self._skipped = (b"", 0)
            return self._skip(last)
        if not lines.data:
            return []
        assert self._partition is not None
        records, used = self._records(lines, self._partition)
        if records:
            self._add_mark()
            self._block = lines.data
        self._drop(used)
        if records:
            self._span = records[-1].after
        return records

    def _numbered(self, last: bool) -> bool:
        """Return True once the file has a partition number."""
        if self._partition is None:
            number = numbered(self._file, self._rotations, 1 + self._lines_of_heading, last)
            if number is not None:
                self._partition = Partition(self.name, number)
        return self._partition is not None

    def _skip(self, last: bool) -> list[Record]:
        """Skip a record that is too long; return it, as a bad one, once its end is found."""
        assert self._skipped is not None and self._partition is not None
        beginning, length = self._skipped
        newline = self._data.find(b"\n")
        content = len(self._data) if newline < 0 else newline
        length += content
        beginning += self._data[: min(content, KEPT_BYTES - len(beginning))]
        self._drop(content + (newline >= 0))
        if newline < 0 and not last:
            self._skipped = (beginning, length)
            return []
        self._skipped = None
        error = too_long(length, self.max_record_bytes)
        record = bad_record(error, beginning, self._span, self._partition, self._start - self._span)
        self._span = record.after
        self._add_mark()
        return [record]


def checked_name(name: object) -> str:
    """Return the name of a source, or raise `BadValue`."""
    if not isinstance(name, str) or not name:
        raise BadValue(f"name: expected a non-empty str, got {name!r}")
    return name
