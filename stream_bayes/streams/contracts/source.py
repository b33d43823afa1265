"""Where events come from: anything that can be polled, and that can go back to a position.

A source has partitions, each read in its own order, and knows of each the next position to read. Whoever keeps a state
together with the positions after the last event in it can seek there after a crash, and go on as if nothing had been.

In which order a stream was read: every position once, and none left out.

What goes wrong while a stream goes on, and is counted: sources, sinks and journals tell it to the metrics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol, TypeAlias, runtime_checkable

from stream_bayes.core.events.event import BadRecord, Event, Partition, Position, Slice
from stream_bayes.errors import SourceError

__all__ = [
    "GAP",
    "OVERSIZE",
    "RESEEKS",
    "RESENT",
    "HasEnd",
    "HasEndOffsets",
    "Incidents",
    "Record",
    "Source",
    "all_incidents",
    "slices_of",
]

Record: TypeAlias = Event | BadRecord


class Source(Protocol):
    """What the engine reads.

    Attributes
    ----------
    name
        Its name, which its partitions carry.
    medium
        `"local"` for what this process can read again at will, `"kafka"` for a broker's log. With a sink of the same
        medium every event counts exactly once in the outputs too.
    may_skip
        Whether positions may leave some out, as a compacted log does. Otherwise the engine stops at a gap.
    """

    name: str
    medium: str
    may_skip: bool

    @property
    def positions(self) -> Mapping[Partition, Position]:
        """The next position to read of each partition."""
        ...

    def poll(self, limit: int) -> list[Record]:
        """What is there now: at most `limit` records, in order; none where nothing has come yet.

        It returns after a fraction of a second, so that a stream that is silent can still be told to stop.

        Raises
        ------
        Exhausted
            If nothing will come any more.
        """
        ...

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        """Read next from these positions; other partitions from where they begin.

        Raises
        ------
        SourceError
            If it cannot: the position is past the end, or what stood there is gone.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


@runtime_checkable
class HasEndOffsets(Protocol):
    """A source with end offsets, from which its lag follows.

    Attributes
    ----------
    connected
        Whether it can be read now. Read by other threads.
    """

    connected: bool

    @property
    def ends(self) -> Mapping[Partition, Position]:
        """The position after the last record of each partition, as far as it is known without waiting."""
        ...


@runtime_checkable
class HasEnd(Protocol):
    """A source that goes on waiting where it has been read to its end, and can tell that it is there."""

    def end(self) -> Mapping[Partition, Position]:
        """Where each partition ends now."""
        ...

    def is_past(self, end: Mapping[Partition, Position], /) -> bool:
        """Whether all records before this end were given away; half a record at it is none."""
        ...


def slices_of(
    records: Iterable[Record], positions: dict[Partition, Position], may_skip: bool = False
) -> list[Slice]:
    """The slices that records were read from, in their order.

    Parameters
    ----------
    records
        What was read.
    positions
        The next to read of each partition; moved past the records.
    may_skip
        Whether positions may be left out, as in a compacted log.

    Raises
    ------
    SourceError
        If a position is repeated, or skipped where it may not.

    Examples
    --------
    >>> from stream_bayes.core.events.event import Event
    >>> log = Partition("log")
    >>> positions = {log: 4}
    >>> slices_of([Event({}, position=4, partition=log), Event({}, position=5, partition=log)], positions)
    [Slice(partition=Partition(source='log', partition=0), start=4, stop=6)]
    >>> positions[log]
    6
    """
    slices = []
    partition, start, stop = None, 0, 0
    for record in records:
        if record.partition is not partition and record.partition != partition:
            if partition is not None:
                slices.append(Slice(partition, start, stop))
                positions[partition] = stop
            partition = record.partition
            start = stop = positions.get(partition, record.position)
        if record.position != stop and (record.position < stop or not may_skip):
            what = "repeats" if record.position < stop else "skips"
            raise SourceError(
                f"{partition.source}, partition {partition.partition}, {what} positions: {stop} was to come "
                f"next, and {record.position} came; nothing of this batch was learned"
            )
        stop = record.position + record.length  # `after`, without a call
    if partition is not None:
        slices.append(Slice(partition, start, stop))
        positions[partition] = stop
    return slices


GAP, OVERSIZE, RESEEKS, RESENT = "offset_gap", "oversize_outputs", "reseeks", "transaction_aborts"


@runtime_checkable
class Incidents(Protocol):
    """A source, sink or journal that counts what goes wrong. May be read by other threads."""

    @property
    def incidents(self) -> Mapping[str, int]:
        """How often each thing happened in this run, by one of the names above."""
        ...


def all_incidents(parts: Iterable[object]) -> dict[str, int]:
    """How often each thing happened in all of these, by name.

    Examples
    --------
    >>> class Topic:
    ...     incidents = {OVERSIZE: 2}
    >>> all_incidents([Topic(), None, Topic()])
    {'oversize_outputs': 4}
    """
    total: Counter[str] = Counter()
    for part in parts:
        if isinstance(part, Incidents):
            total.update(part.incidents)
    return dict(sorted(total.items()))
