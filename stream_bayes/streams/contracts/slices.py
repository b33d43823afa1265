"""Slices: the ranges of positions that a batch of records was read from, in the order of reading."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.errors import SourceError
from stream_bayes.streams.contracts.source import Record

__all__ = ["positions_after", "slices_of"]


def slices_of(
    records: Iterable[Record], positions: dict[Partition, Position], may_skip: bool = False
) -> list[Slice]:
    """Return the slices that records were read from, in order.

    Parameters
    ----------
    records
        The records of a batch.
    positions
        The next position to read of each partition; advanced past the records.
    may_skip
        True if positions may be left out, as in a compacted log.

    Raises
    ------
    SourceError
        If a position is repeated, or skipped without `may_skip`.

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
            fault = "repeats" if record.position < stop else "skips"
            raise SourceError(
                f"{partition.source}, partition {partition.partition}, {fault} positions: expected {stop} next, "
                f"got {record.position}; nothing of this batch was learned"
            )
        stop = record.position + record.length  # `after`, without a call
    if partition is not None:
        slices.append(Slice(partition, start, stop))
        positions[partition] = stop
    return slices


def positions_after(slices: Sequence[Slice]) -> dict[Partition, Position]:
    """Return the next position to read of each partition, given slices in the order of reading.

    Examples
    --------
    >>> log = Partition("log")
    >>> positions_after([Slice(log, 0, 5), Slice(log, 5, 9)])
    {Partition(source='log', partition=0): 9}
    """
    return {read.partition: read.stop for read in slices}
