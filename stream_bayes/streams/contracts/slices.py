"""Slices: the ranges of positions that a batch of records was read from, one for each partition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.errors import SourceError
from stream_bayes.streams.contracts.source import Record

__all__ = ["positions_after", "slices_of"]


def slices_of(
    records: Iterable[Record], positions: dict[Partition, Position], may_skip: bool = False
) -> list[Slice]:
    """Return the slices that a batch was read from: one for each partition, by first appearance. `positions` are the
    next ones to read of each partition, and are advanced past the records. `may_skip` is True if positions may be left
    out, as in a compacted log.

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
    [Slice(partition=Partition(source='log', partition=0), start=4, stop=6, records=2)]
    >>> positions[log]
    6
    """
    starts: dict[Partition, Position] = {}
    stops: dict[Partition, Position] = {}
    counts: dict[Partition, int] = {}
    partition, stop, count = None, 0, 0
    for record in records:
        if record.partition is not partition:
            if partition is not None:
                stops[partition], counts[partition] = stop, count
            partition = record.partition
            if partition not in stops:
                starts[partition] = stops[partition] = positions.get(partition, record.position)
            stop, count = stops[partition], counts.get(partition, 0)
        if record.position != stop and (record.position < stop or not may_skip):
            fault = "repeats" if record.position < stop else "skips"
            raise SourceError(
                f"{partition.source}, partition {partition.partition}, {fault} positions: expected {stop} next, "
                f"got {record.position}; nothing of this batch was learned"
            )
        stop = record.position + record.length  # `after`, without a call
        count += 1
    if partition is not None:
        stops[partition], counts[partition] = stop, count
    positions.update(stops)
    return [Slice(part, start, stops[part], counts[part]) for part, start in starts.items()]


def positions_after(slices: Sequence[Slice]) -> dict[Partition, Position]:
    """Return the next position to read of each partition, given slices in the order of reading.

    Examples
    --------
    >>> log = Partition("log")
    >>> positions_after([Slice(log, 0, 5), Slice(log, 5, 9)])
    {Partition(source='log', partition=0): 9}
    """
    return {read.partition: read.stop for read in slices}
