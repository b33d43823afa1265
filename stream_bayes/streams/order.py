"""In which order a stream was read: every position once, and none left out."""

from __future__ import annotations

from collections.abc import Iterable

from stream_bayes.core.event import Partition, Position, Slice
from stream_bayes.errors import SourceError
from stream_bayes.streams.source import Record

__all__ = ["slices_of"]


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
    >>> from stream_bayes.core.event import Event
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
