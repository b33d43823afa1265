r"""Logs of the labels and commands given to a pipeline of files, and the places at which they were processed.

labels.jsonl      {"key":"mail-7","label":"ham"}\n, a line a label, appended only; with "kind" and "request" if need be
labels.order      {"at":0,"after":[["mails.csv",0,52813]]}\n: the label at byte 0 was processed after these positions
commands.jsonl    {"command":"unlearn","from":1760400000.0,"to":1760486400.0,"where":{}}\n, a line a command
commands.order    as labels.order

A file has no time at which a label came. So the place of each label is written down, and synced, before the label is
learned. After a crash the labels come again at their places, and state and outputs end up the same, byte for byte.
"""

from __future__ import annotations

import os
import zlib
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from stream_bayes.core.events.event import CORRECTION, LABEL, BadRecord, Event, Partition, Position
from stream_bayes.errors import SourceError
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.streams.byte_files.byte_file import BEFORE
from stream_bayes.streams.contracts.continuity_marks import ReadMark
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.records.commands import COMMANDS, decode_command

__all__ = ["LABELS", "GivenLabel", "LabelLog", "LabelWriter"]

LABELS = "labels"  # name of the source, and beginning of its files' names
CHUNK = 1 << 20  # bytes read at once
APPENDING = os.O_RDWR | os.O_CREAT | os.O_APPEND

LabelValue = str | int | float | bool


class GivenLabel(msgspec.Struct, frozen=True, omit_defaults=True):
    """A label for the sample with a key."""

    key: LabelValue
    label: LabelValue
    # "label" waits for a sample that has not come yet; "correction" is refused then
    kind: Literal["label", "correction"] = "correction"
    # the idempotency key of the request that gave it, by which a repeated request is recognised
    request: str | None = None


class OrderEntry(msgspec.Struct, frozen=True):
    """The place of a label in the stream: its byte in the log, and the positions after which it was taken in."""

    at: int
    after: list[tuple[str, int, int]]

    def is_reached(self, positions: Mapping[Partition, Position]) -> bool:
        """Return True if these positions are at the place, or past it."""
        return all(positions.get(Partition(source, part), 0) >= stop for source, part, stop in self.after)


class LabelWriter:
    """Appends labels or commands to a log of a directory; each is on the disk when `write` returns. The directory is
    created if it is not there. `name` is that of the log.
    """

    def __init__(self, directory: Path, files: FileSystem | None = None, name: str = LABELS) -> None:
        self._files = FileSystem() if files is None else files
        self._files.make_directory(directory)
        self._file = self._files.open(directory / f"{name}.jsonl", APPENDING)
        self._files.sync_directory(directory)
        self._end = _cut_to_lines(self._files, self._file)

    def write(self, label: GivenLabel | bytes) -> Position:
        """Append a label, or the bytes of a command, and return its position."""
        content = label if isinstance(label, bytes) else msgspec.json.encode(label)
        position, line = self._end, content + b"\n"
        try:
            self._files.write(self._file, line)
            self._files.sync(self._file)
        except OSError:
            self._files.truncate(self._file, position)  # half a line would hide the next one
            raise
        self._end += len(line)
        return position

    def recent(self) -> list[tuple[GivenLabel, Position]]:
        """Return the labels at the end of the log, a mebibyte of them, with their positions."""
        start = max(0, self._end - CHUNK)
        data = bytes(self._files.read(self._file, start, self._end - start))
        if start:  # the first line may be cut
            cut = data.find(b"\n") + 1
            start, data = start + cut, data[cut:]
        labels = []
        for line in data.splitlines(keepends=True):
            with suppress(msgspec.DecodeError, UnicodeDecodeError):  # its reader reports it
                labels.append((msgspec.json.decode(line, type=GivenLabel), start))
            start += len(line)
        return labels

    def close(self) -> None:
        """Close the file."""
        self._files.close(self._file)


class LabelLog:
    """The labels or commands of a directory as events, each at its recorded place or, if it is new, at once. The
    directory may not exist yet. `name` is that of the log: `LABELS` or `COMMANDS`. With `is_again`, what was processed
    is read again: new lines are left to the pipeline's own reader.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     writer, log = LabelWriter(Path(directory)), LabelLog(Path(directory))
    ...     _ = writer.write(GivenLabel("mail-7", "ham"))
    ...     place = {Partition("mails.csv"): 52_813}
    ...     first = log.poll(place)
    ...     again = LabelLog(Path(directory)).poll({Partition("mails.csv"): 100})
    ...     writer.close(), log.close()
    (None, None)
    >>> first.key, first.y, again
    ('mail-7', 'ham', None)
    """

    def __init__(
        self,
        directory: Path,
        files: FileSystem | None = None,
        name: str = LABELS,
        *,
        is_again: bool = False,
    ) -> None:
        self.partition = Partition(name)
        self._is_again = is_again
        self.directory = directory
        self._path = directory / f"{name}.jsonl"
        self._order_path = directory / f"{name}.order"
        self._files = FileSystem() if files is None else files
        self._log: int | None = None
        self._order: int | None = None
        self._data = b""
        self._read = 0  # position after the data
        self.position: Position = 0
        self._entries: deque[OrderEntry] = deque()
        self._begin(0)

    @staticmethod
    def is_in(directory: Path, name: str = LABELS) -> bool:
        """Return True if the directory has a log."""
        return (directory / f"{name}.jsonl").exists()

    @property
    def end(self) -> Position:
        """The size of the log in bytes."""
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def next_entry(self) -> OrderEntry | None:
        """The recorded place of the next label; None if the next one is new."""
        return self._entries[0] if self._entries else None

    def seek(self, position: Position) -> None:
        """Read next from a position."""
        if position > self.end:
            raise SourceError(
                f"{self._path} has {self.end} bytes, and was read to byte {position}: bring the "
                "file back, or start from scratch without the snapshot"
            )
        self._begin(position)

    def marks(self, positions: Mapping[Partition, Position], /) -> Mapping[Partition, ReadMark]:
        position = positions.get(self.partition, 0)
        return {self.partition: ReadMark(position, self._checksum_before(position))} if position else {}

    def check_marks(self, marks: Mapping[Partition, ReadMark], /) -> None:
        mark = marks.get(self.partition)
        if mark is not None and self._checksum_before(mark.position) != mark.checksum:
            raise SourceError(
                f"{self._path}: what stands before byte {mark.position} is not what was read: it was changed or "
                "replaced. Bring the file back, or start from scratch without the snapshot"
            )

    def _checksum_before(self, position: Position) -> int:
        start = max(0, position - BEFORE)
        with self._path.open("rb") as log:
            log.seek(start)
            return zlib.crc32(log.read(position - start))

    def poll(self, positions: Mapping[Partition, Position], *, is_last: bool = False) -> Record | None:
        """Return the next label if its place is reached; None otherwise, or if there is none. `positions` are the next
        ones to read of the other partitions. `is_last` is True if no other record comes any more: every place counts as
        reached.
        """
        entry = self.next_entry
        if entry is None and self._is_again:
            return None
        if entry is not None and not is_last and not entry.is_reached(positions):
            return None
        start, line = self.position, self._line()
        if line is None:
            return None
        if entry is None:
            self._record(OrderEntry(start, [(*part, at) for part, at in sorted(positions.items())]))
        else:
            self._entries.popleft()
        self.position += len(line)
        if self.partition.source == COMMANDS:
            return decode_command(line, start, self.partition, len(line))
        return _event(line, start, self.partition)

    def close(self) -> None:
        """Close the files."""
        for name in ("_log", "_order"):
            descriptor = getattr(self, name)
            if descriptor is not None:
                self._files.close(descriptor)
                setattr(self, name, None)

    def _begin(self, position: Position) -> None:
        self.position = self._read = position
        self._data = b""
        self._entries = deque(entry for entry in self._recorded() if entry.at >= position)

    def _recorded(self) -> list[OrderEntry]:
        """Return the recorded places. The last line may be cut off by a crash: its label was not learned."""
        try:
            lines = self._order_path.read_bytes().split(b"\n")[:-1]
            return [msgspec.json.decode(line, type=OrderEntry) for line in lines]
        except FileNotFoundError:
            return []
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise SourceError(
                f"{self._order_path} is damaged: {error}. Bring the file back, or delete it and start "
                "from scratch: labels then come at other places"
            ) from error

    def _record(self, entry: OrderEntry) -> None:
        """Write the place of a label, so that it outlasts a power cut."""
        if self._order is None:
            self._order = self._files.open(self._order_path, APPENDING)
            self._files.sync_directory(self.directory)
            _cut_to_lines(self._files, self._order)
        self._files.write(self._order, msgspec.json.encode(entry) + b"\n")
        self._files.sync(self._order)

    def _line(self) -> bytes | None:
        """Return the next line, with its end; None until it is complete."""
        if b"\n" not in self._data:
            if self._log is None:
                try:
                    self._log = self._files.open(self._path, os.O_RDONLY)
                except FileNotFoundError:
                    return None
            if self._files.size(self._log) <= self._read:
                return None
            block = bytes(self._files.read(self._log, self._read, CHUNK))
            self._data += block
            self._read += len(block)
        line, newline, rest = self._data.partition(b"\n")
        if not newline:
            return None
        self._data = rest
        return line + newline


def _event(line: bytes, position: Position, partition: Partition) -> Record:
    try:
        label = msgspec.json.decode(line, type=GivenLabel)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return BadRecord(
            "not_json", f"expected a label: {error}", line, None, None, position, partition, len(line)
        )
    kind = LABEL if label.kind == "label" else CORRECTION
    # Without a time: a label of today must not make the samples of an old file overdue.
    return Event({}, label.label, label.key, None, position, 1.0, kind, partition, len(line))


def _cut_to_lines(files: FileSystem, descriptor: int) -> int:
    """Cut off a last line that a crash left incomplete; return the size."""
    size = files.size(descriptor)
    data = bytes(files.read(descriptor, max(0, size - CHUNK), CHUNK))
    end = size - len(data) + data.rfind(b"\n") + 1 if b"\n" in data else 0
    if end < size:
        files.truncate(descriptor, end)
    return end
