r"""A merge of several files with a local journal of its batches: read again, they are the same.

batches.jsonl    {"slices":[["samples",0,0,18000],["labels",0,0,920]]}\n, a line a batch, appended before it is returned

While files grow, the order of their merge depends on what had arrived. So each batch is written down: one range of each
file, whose merge by time is the batch. A start after a kill reads these batches again, and then goes on by itself.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

import msgspec

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.core.events.time_merge import merge_ranges
from stream_bayes.errors import Exhausted, SourceError
from stream_bayes.private_files import write_private
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.streams.contracts.source import Record, Source
from stream_bayes.streams.sources.merged import MergedSource
from stream_bayes.streams.sources.source_around import SourceAround

__all__ = ["JOURNAL", "JournaledSource"]

logger = logging.getLogger(__name__)

JOURNAL = "batches.jsonl"
CHUNK = 1000  # records read at once
MOST_DONE = 10_000  # entries before the oldest snapshot that are kept


class MergedBatch(msgspec.Struct, frozen=True):
    """A batch: source, partition, first position and position after the last of each range."""

    slices: list[tuple[str, int, int, int]]


class JournaledSource(SourceAround):
    """Several files merged by time, whose batches are the same when they are read again.

    The journal outlasts the process, and is not synced: after a power cut, what came after the last snapshot may be
    merged anew. Outputs after it are written again in any case. `path` is the journal. Entries before `oldest`, the
    positions of the oldest snapshot, may be dropped. With `is_again`, what was processed is read again, and nothing is
    written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from stream_bayes.core.events.event import Event
    >>> from stream_bayes.streams.sources.iterable import IterableSource
    >>> def days(*times):
    ...     parts = [IterableSource([Event({}, time=time)] if time else [], name) for name, time in zip("ab", times)]
    ...     return JournaledSource(MergedSource(parts), path)
    >>> with TemporaryDirectory() as directory:
    ...     path = Path(directory, JOURNAL)
    ...     live = days(2.0, None)
    ...     first = live.poll(9)
    ...     live.close()
    ...     again = days(2.0, 1.0)  # an earlier record has arrived in the other file
    ...     batches = [again.poll(9), again.poll(9)]
    ...     again.close()
    >>> [[event.time for event in batch] for batch in [first, *batches]]
    [[2.0], [2.0], [1.0]]
    """

    source: MergedSource

    def __init__(
        self,
        source: MergedSource,
        path: Path,
        oldest: Mapping[Partition, Position] | None = None,
        *,
        is_again: bool = False,
        files: FileSystem | None = None,
    ) -> None:
        super().__init__(source)
        self.path = path
        self._oldest = oldest
        self._is_again = is_again
        self._files = FileSystem() if files is None else files
        self._descriptor: int | None = None
        try:
            self._begin(source.positions)
        except SourceError:
            source.close()
            raise

    def _begin(self, positions: Mapping[Partition, Position]) -> None:
        self._positions = dict(positions)
        self._batch: list[Record] = []  # of an entry, not yet returned
        self._is_replaying = False
        self._ahead: dict[str, list[Record]] = {source.name: [] for source in self.source.sources}
        entries, self._size = self._recorded()
        if self._oldest is not None and not self._is_again:
            entries = self._pruned(entries, self._oldest)
        self._entries = deque(entry for entry in entries if not self._is_done(entry, self._positions))

    # -- the protocol -------------------------------------------------------------------------------------------------

    @property
    def positions(self) -> Mapping[Partition, Position]:
        return dict(self._positions)

    def poll(self, limit: int) -> list[Record]:
        if not self._batch and self._entries:
            self._batch = self._read(self._entries.popleft())
        if self._batch:
            records, self._batch = self._batch[:limit], self._batch[limit:]
        else:
            records = self.source.poll(limit)
            if records and not self._is_again:
                self._write(records)
        for record in records:
            self._positions[record.partition] = record.after
        if self._is_replaying and not self._batch and not self._entries:
            self._go_live()
        return records

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        self.source.seek(positions)
        self._close_journal()
        self._begin({**self.source.positions, **positions})

    def close(self) -> None:
        self._close_journal()
        super().close()

    def has_reached(self, end: Mapping[Partition, Position], /) -> bool:
        """Return True once all records before this end were returned."""
        return not self._batch and not self._entries and super().has_reached(end)

    # -- reading batches again ----------------------------------------------------------------------------------------

    def _read(self, entry: MergedBatch) -> list[Record]:
        """Return the batch of an entry, from the present positions on; none if the journal has a gap before it."""
        if any(start > self._position(Partition(name, number)) for name, number, start, _ in entry.slices):
            logger.warning(
                "%s has a gap before %s: what comes after it is merged by time anew", self.path, entry.slices
            )
            self._entries.clear()
            self._size = 0  # the next batch begins the journal anew
            self._is_replaying = True
            return []
        self._is_replaying = True
        ranges: dict[Partition, list[Record]] = {}
        for name, number, _, stop in entry.slices:
            part = Partition(name, number)
            # A file is one queue of the merge, though it has a partition for each rotation.
            ranges.setdefault(Partition(name), []).extend(self._up_to(part, stop))
        return merge_ranges((source.name for source in self.source.sources), ranges)

    def _up_to(self, part: Partition, stop: Position) -> list[Record]:
        """Return the next records of a file, up to a position."""
        source = next(source for source in self.source.sources if source.name == part.source)
        records: list[Record] = []
        position = self._position(part)
        while position < stop:
            for record in self._next(source, part, stop):
                records.append(record)
                position = record.after
        return records

    def _next(self, source: Source, part: Partition, stop: Position) -> list[Record]:
        ahead = self._ahead[part.source]
        if not ahead:
            try:
                ahead = source.poll(CHUNK)
            except Exhausted:
                ahead = []
        count = next(
            (n for n, record in enumerate(ahead) if record.partition != part or record.position >= stop),
            len(ahead),
        )
        if not count:
            raise SourceError(
                f"{self.path} holds a batch with records of {part.source} up to {stop}, and the file does not have "
                "them: bring it back, or start over without the snapshot"
            )
        self._ahead[part.source] = ahead[count:]
        return ahead[:count]

    def _go_live(self) -> None:
        """Merge by time from the present positions on."""
        self._is_replaying = False
        self._ahead = {name: [] for name in self._ahead}
        self.source.seek(self._positions)

    def _position(self, part: Partition) -> Position:
        """Return the next position of a partition; 0 for a file that was begun after a rotation."""
        return _position_in(self._positions, part)

    @staticmethod
    def _is_done(entry: MergedBatch, positions: Mapping[Partition, Position]) -> bool:
        return all(
            stop <= _position_in(positions, Partition(name, number)) for name, number, _, stop in entry.slices
        )

    # -- the journal --------------------------------------------------------------------------------------------------

    def _recorded(self) -> tuple[list[MergedBatch], int]:
        """Return the entries, and the size of the file up to the last complete one."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return [], 0
        whole, newline, _ = data.rpartition(b"\n")
        try:
            lines = whole.split(b"\n") if newline else []
            return [msgspec.json.decode(line, type=MergedBatch) for line in lines], len(whole) + len(newline)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise SourceError(
                f"{self.path} is damaged: {error}. Bring the file back, or delete it: what came after the last "
                "snapshot is then merged by time anew"
            ) from error

    def _pruned(self, entries: list[MergedBatch], oldest: Mapping[Partition, Position]) -> list[MergedBatch]:
        """Drop the entries before the oldest snapshot, once they are many."""
        kept = [entry for entry in entries if not self._is_done(entry, oldest)]
        if len(entries) - len(kept) < MOST_DONE:
            return entries
        data = b"".join(msgspec.json.encode(entry) + b"\n" for entry in kept)
        new = self.path.with_name(f"{self.path.name}.new")
        write_private(new, data)
        self._files.rename(new, self.path)
        self._size = len(data)
        return kept

    def _write(self, records: list[Record]) -> None:
        """Append the entry of a batch."""
        slices: dict[Partition, list[Position]] = {}
        for part, run in groupby(records, lambda record: record.partition):
            *_, last = run
            slices.setdefault(part, [self._position(part), 0])[1] = last.after
        entry = MergedBatch([(*part, start, stop) for part, (start, stop) in slices.items()])
        if self._descriptor is None:
            self._files.make_directory(self.path.parent)
            self._descriptor = self._files.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            self._files.truncate(self._descriptor, self._size)  # cuts off what a crash left incomplete
        self._files.write(self._descriptor, msgspec.json.encode(entry) + b"\n")

    def _close_journal(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self._files.close(descriptor)


def _position_in(positions: Mapping[Partition, Position], part: Partition) -> Position:
    """Return the position in a partition: the end of one that was rotated away, the beginning of a new one."""
    position = positions.get(part)
    if position is not None:
        return position
    newest = max((other.partition for other in positions if other.source == part.source), default=-1)
    return 2**62 if newest > part.partition else 0
