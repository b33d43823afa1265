"""Several sources as one, merged by the time of their events."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence

from stream_bayes.core.events.event import Event, Partition, Position
from stream_bayes.core.events.time_merge import TimeMerge
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue, Exhausted, SourceError
from stream_bayes.streams.contracts.continuity_marks import ReadMark, check_marks, marks_of
from stream_bayes.streams.contracts.incidents import OUT_OF_ORDER
from stream_bayes.streams.contracts.source import (
    EndlessSource,
    HasEndOffsets,
    HasRawRecords,
    Record,
    Source,
    units_of,
)

__all__ = ["MergedSource"]

CHUNK = 250  # records of a source that are read ahead
CHECK_SECONDS = 1.0  # between two polls of a source at its end that seems not to grow


class MergedSource:
    """Several sources as one: the next record is the earliest among theirs.

    Of records with equal times, those of an earlier source come first. A record without a time comes directly after the
    one before it. A source that waits for more records at its end, such as a followed file, is waited for `wait_idle`
    seconds, and then not again until it has a record.

    Parameters
    ----------
    sources
        The sources, with different names.
    name
        A name for all of them.
    wait_idle
        Seconds to wait for a source at its end while others have records.
    clock
        Returns seconds. Only `wait_idle` depends on it.

    Examples
    --------
    >>> from stream_bayes.core.events.event import Event
    >>> from stream_bayes.streams.sources.iterable import IterableSource
    >>> samples = IterableSource([Event({}, time=1.0), Event({}, time=3.0)], "samples")
    >>> labels = IterableSource([Event({}, "rain", time=2.0)], "labels")
    >>> [event.time for event in MergedSource([samples, labels]).poll(10)]
    [1.0, 2.0, 3.0]
    """

    may_skip = False

    def __init__(
        self,
        sources: Sequence[Source],
        name: str = "merged",
        wait_idle: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        names = [source.name for source in sources]
        if not names or len(set(names)) < len(names):
            raise BadValue(
                f"sources: expected at least one, with different names, got those named {shown(names)}"
            )
        if len({source.medium for source in sources}) > 1 or any(source.may_skip for source in sources):
            raise BadValue(
                "sources: expected files or iterables; topics are merged by the source of their cluster"
            )
        if isinstance(wait_idle, bool) or not 0.0 <= wait_idle < math.inf:
            raise BadValue(f"wait_idle: expected seconds of at least 0, got {shown(wait_idle)}")
        self.sources = list(sources)
        self.name = name
        self.medium = self.sources[0].medium
        self.wait_idle = wait_idle
        self._clock = clock
        self._out_of_order = 0
        self._merge = TimeMerge(names)
        self._begin()

    def __repr__(self) -> str:
        return f"MergedSource({self.sources!r})"

    def _begin(self) -> None:
        self._out_of_order += self._merge.out_of_order
        self._merge = TimeMerge(source.name for source in self.sources)
        self._positions = {part: at for source in self.sources for part, at in source.positions.items()}
        self._ended: set[Partition] = set()
        self._idle_since: dict[Partition, float] = {}
        self._polled_at: dict[Partition, float] = {}

    # -- the protocol -------------------------------------------------------------------------------------------------

    @property
    def positions(self) -> Mapping[Partition, Position]:
        return dict(self._positions)

    def poll(self, limit: int) -> list[Record]:
        self._merge.begin_batch()
        batch: list[Record] = []
        while len(batch) < limit and self._read_ahead():
            skipped = {*self._ended, *(self._idle_since if not self.wait_idle else ())}
            popped = self._merge.pop(limit - len(batch), skipped)
            if not popped:
                break  # the next record begins another batch
            batch += popped
        for record in batch:
            self._positions[record.partition] = record.after
        if not batch and len(self._ended) == len(self.sources) and not self._has_records():
            raise Exhausted(f"{self.name} has been read to its end")
        return batch

    def raw_of(self, event: Event, /) -> bytes | None:
        """Return the bytes of an event's record, from its own source."""
        source = next(source for source in self.sources if source.name == event.partition.source)
        return source.raw_of(event) if isinstance(source, HasRawRecords) else None

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        names = {source.name for source in self.sources}
        if unknown := sorted({part.source for part in positions} - names):
            raise SourceError(
                f"the snapshot has positions of the sources {shown(unknown)}, and these are {shown(sorted(names))}: "
                "give them their old names, or start over without the snapshot"
            )
        for source in self.sources:
            source.seek({part: at for part, at in positions.items() if part.source == source.name})
        self._begin()

    def marks(self, positions: Mapping[Partition, Position], /) -> Mapping[Partition, ReadMark]:
        return {part: mark for source in self.sources for part, mark in marks_of(source, positions).items()}

    def check_marks(self, marks: Mapping[Partition, ReadMark], /) -> None:
        for source in self.sources:
            check_marks(source, marks)

    def close(self) -> None:
        for source in self.sources:
            source.close()

    @property
    def connected(self) -> bool:
        """True while all sources can be read."""
        return all(source.connected for source in self.sources if isinstance(source, HasEndOffsets))

    @property
    def position_units(self) -> Mapping[str, str]:
        """The units of all sources."""
        return {name: unit for source in self.sources for name, unit in units_of(source).items()}

    @property
    def end_offsets(self) -> Mapping[Partition, Position]:
        """The position after the last record of each partition, if the source can compute it."""
        offsets = [source.end_offsets for source in self.sources if isinstance(source, HasEndOffsets)]
        return {part: end for ends in offsets for part, end in ends.items()}

    def fetch_end(self) -> Mapping[Partition, Position]:
        """Return the end of each partition as it is now."""
        ends = [source.fetch_end() for source in self.sources if isinstance(source, EndlessSource)]
        return {part: end for each in ends for part, end in each.items()}

    def has_reached(self, end: Mapping[Partition, Position], /) -> bool:
        """Return True once all records before this end were returned."""
        if self._has_records():
            return False
        return all(
            _partition_of(source) in self._ended
            or (
                isinstance(source, EndlessSource)
                and source.has_reached({part: at for part, at in end.items() if part.source == source.name})
            )
            for source in self.sources
        )

    @property
    def incidents(self) -> Mapping[str, int]:
        return {OUT_OF_ORDER: self._out_of_order + self._merge.out_of_order}

    # -- reading ------------------------------------------------------------------------------------------------------

    def _read_ahead(self) -> bool:
        """Read the next records of each source that has none here. Return True if the earliest record is known."""
        is_known = True
        for source in self.sources:
            part = _partition_of(source)
            if part in self._merge or part in self._ended or self._seems_idle(source, part):
                continue
            now = self._polled_at[part] = self._clock()
            try:
                records = source.poll(CHUNK)
            except Exhausted:
                self._ended.add(part)
                continue
            if records:
                self._idle_since.pop(part, None)
                self._merge.push(part, records)
            elif now - self._idle_since.setdefault(part, now) < self.wait_idle:
                is_known = False
        return is_known and self._has_records()

    def _seems_idle(self, source: Source, part: Partition) -> bool:
        """Return True if a source was at its end and has not grown: polling it would wait."""
        if part not in self._idle_since or not self._has_records() or not isinstance(source, EndlessSource):
            return False
        now = self._clock()
        if now - self._idle_since[part] < self.wait_idle or now - self._polled_at[part] >= CHECK_SECONDS:
            return False
        return source.has_reached(source.fetch_end())

    def _has_records(self) -> bool:
        return any(_partition_of(source) in self._merge for source in self.sources)


def _partition_of(source: Source) -> Partition:
    """Return the queue of a source: one, though a rotated file has a partition for each rotation."""
    return Partition(source.name)
