"""Source: a stream of records that can be polled, and that can seek to a position.

A source has partitions. Each is read in its own order and has a next position to read. Several are merged by time: a
batch is one range of each, in the order of `core.events.time_merge`. A state saved together with the
positions after its last record can be loaded after a crash: seek there, go on, and every record counts once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol, runtime_checkable

from stream_bayes.core.events.event import Event, Partition, Position, Record
from stream_bayes.errors import Exhausted

__all__ = [
    "EndlessSource",
    "HasEndOffsets",
    "HasPositionUnits",
    "HasRawRecords",
    "Record",
    "Source",
    "records_of",
    "units_of",
]

BATCH = 1000


class Source(Protocol):
    """The stream that the engine reads.

    Attributes
    ----------
    name
        Name of the source; its partitions carry it.
    medium
        `"local"` for data that this process can read again at will, `"kafka"` for a broker's log. With a sink of the
        same medium every event counts exactly once in the outputs too.
    may_skip
        True if positions may be left out, as in a compacted log. Otherwise the engine stops at a gap.

    Examples
    --------
    >>> from stream_bayes.streams import IterableSource, Source
    >>> source: Source = IterableSource([{"sky": "grey"}, {"sky": "blue"}], name="days")
    >>> [event.x for event in source.poll(10)], list(source.positions.values())
    ([{'sky': 'grey'}, {'sky': 'blue'}], [2])
    """

    name: str
    medium: str
    may_skip: bool

    @property
    def positions(self) -> Mapping[Partition, Position]:
        """The next position to read of each partition."""
        ...

    def poll(self, limit: int) -> list[Record]:
        """Return a batch of at most `limit` records that are available now; an empty list if there are none yet.

        Return within a fraction of a second, so that a silent stream can be stopped.

        Raises
        ------
        Exhausted
            If no more records will come.
        """
        ...

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        """Read next from these positions; other partitions from their beginning.

        Raises
        ------
        SourceError
            If a position is past the end, or the record there is gone.
        """
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...


@runtime_checkable
class HasEndOffsets(Protocol):
    """A source with known end offsets, from which the lag is computed.

    Attributes
    ----------
    connected
        True while the source can be read. Thread-safe.
    """

    connected: bool

    @property
    def end_offsets(self) -> Mapping[Partition, Position]:
        """The position after the last record of each partition, as last seen. Never waits."""
        ...


@runtime_checkable
class HasPositionUnits(Protocol):
    """A source that names the unit of its positions, and so of its lag."""

    @property
    def position_units(self) -> Mapping[str, str]:
        """The unit by the source of a partition: "bytes", "rows", "items" or "offsets"."""
        ...


def units_of(source: Source) -> dict[str, str]:
    """Return the unit of positions by the source of a partition; empty for a source that names none."""
    return dict(source.position_units) if isinstance(source, HasPositionUnits) else {}


@runtime_checkable
class EndlessSource(Protocol):
    """A source that waits for more records at its end, such as a growing file or a topic."""

    def fetch_end(self) -> Mapping[Partition, Position]:
        """Return the end of each partition as it is now."""
        ...

    def has_reached(self, end: Mapping[Partition, Position], /) -> bool:
        """Return True once `poll` has returned all records before this end; an incomplete record does not count."""
        ...


@runtime_checkable
class HasRawRecords(Protocol):
    """A source that still has the bytes of records that it returned, for dead letters."""

    def raw_of(self, event: Event, /) -> bytes | None:
        """Return the bytes of an event's record; None if they are gone. Called until the next `poll`, and rarely."""
        ...


def records_of(source: Source, limit: int | None = None) -> Iterator[Record]:
    """Yield the records of a source up to its end, or so many of them.

    Examples
    --------
    >>> from stream_bayes.streams import IterableSource
    >>> [event.x["sky"] for event in records_of(IterableSource([{"sky": "grey"}, {"sky": "blue"}], name="days"), 1)]
    ['grey']
    """
    while limit is None or limit > 0:
        try:
            records = source.poll(BATCH if limit is None else min(BATCH, limit))
        except Exhausted:
            return
        limit = None if limit is None else limit - len(records)
        yield from records
