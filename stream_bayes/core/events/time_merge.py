"""Partitions merged by event time: the order in which a stream is processed, whatever order its parts arrive in.

    the next record    the earliest among the heads of all partitions; of equals by source, partition, position
    a partition        keeps its own order: a record older than the one before it follows that one at once
    a batch            one range of each partition; its order is the merge of these ranges alone

So a journal that holds the ranges of each batch holds its order too. A record older than the last one of a batch, such
as one that arrived late, begins a new batch.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import TypeAlias

from stream_bayes.core.events.event import BadRecord, Event, Partition

__all__ = ["TimeMerge", "merge_ranges"]

Record: TypeAlias = Event | BadRecord
Key: TypeAlias = tuple[float, int, int]  # time, rank of the source, number of the partition

BEFORE_ALL: Key = (-math.inf, -1, -1)


class TimeMerge:
    """Queues of records, one for each partition, from which batches are popped in the order of time.

    Within a batch a record counts as no earlier than those before it in its partition. A record without a time counts
    as simultaneous with the one before it.

    Parameters
    ----------
    sources
        Names of the sources. Of records with equal times, those of an earlier source come first.

    Attributes
    ----------
    out_of_order
        The number of records that were older than an earlier one of their partition.

    Examples
    --------
    >>> merge = TimeMerge(["days"])
    >>> one, two = Partition("days", 0), Partition("days", 1)
    >>> merge.push(one, [Event({}, time=10.0, partition=one), Event({}, time=30.0, partition=one)])
    >>> merge.push(two, [Event({}, time=20.0, partition=two)])
    >>> [event.time for event in merge.pop(9)]  # the next of `two` could be earlier than 30
    [10.0, 20.0]
    >>> [event.time for event in merge.pop(9, complete={one, two})]
    [30.0]
    """

    def __init__(self, sources: Iterable[str]) -> None:
        self._ranks = {source: rank for rank, source in enumerate(sources)}
        self._queues: dict[Partition, deque[Record]] = {}
        self._partitions: dict[tuple[int, int], Partition] = {}
        self._heads: list[Key] = []  # a heap
        self._last: Key = BEFORE_ALL  # of this batch
        self._floors: dict[
            tuple[int, int], float
        ] = {}  # times in this batch of partitions that are empty now
        self._newest: dict[Partition, float] = {}
        self.out_of_order = 0

    def __contains__(self, partition: Partition) -> bool:
        """Return True if there are records of a partition."""
        return bool(self._queues.get(partition))

    def push(self, partition: Partition, records: Sequence[Record]) -> None:
        """Add the next records of a partition."""
        if not records:
            return
        place = (self._ranks[partition.source], partition.partition)
        queue = self._queues.get(partition)
        if queue is None:
            queue = self._queues[partition] = deque()
            self._partitions[place] = partition
        newest = self._newest.get(partition, -math.inf)
        for record in records:
            time = record.time
            if time is not None:
                if time >= newest:
                    newest = time
                elif time < newest:
                    self.out_of_order += 1
        self._newest[partition] = newest
        if not queue:
            floor = self._floors.get(place, -math.inf)
            heappush(self._heads, (max(floor, _time_of(records[0])), *place))
        queue.extend(records)

    def begin_batch(self) -> None:
        """Begin a batch: its order depends on nothing before it."""
        self._last = BEFORE_ALL
        self._floors.clear()
        self._heads = [
            (_time_of(queue[0]), *place)
            for place, partition in self._partitions.items()
            if (queue := self._queues[partition])
        ]
        heapify(self._heads)

    @property
    def ends_batch(self) -> bool:
        """True if the next record is older than the last one of this batch."""
        return bool(self._heads) and self._heads[0] < self._last

    def pop(self, limit: int, complete: Collection[Partition] = ()) -> list[Record]:
        """Return the next records of this batch, in order.

        Stop when a partition becomes empty whose next record may be earlier than the other heads: one that is not
        `complete`. Do not call this while such a partition is empty.

        Parameters
        ----------
        limit
            The most records.
        complete
            Partitions that are not waited for.
        """
        heads, queues, partitions = self._heads, self._queues, self._partitions
        records: list[Record] = []
        key = self._last
        while heads and len(records) < limit and not heads[0] < key:
            key = heads[0]
            time, rank, number = key
            partition = partitions[rank, number]
            queue = queues[partition]
            records.append(queue.popleft())
            if not queue:
                heappop(heads)
                self._floors[rank, number] = time
                if partition not in complete:
                    break
                continue
            following = queue[0].time
            if following is not None and following > time:
                heapreplace(heads, (following, rank, number))
        self._last = key
        return records


def merge_ranges(sources: Iterable[str], ranges: Mapping[Partition, Sequence[Record]]) -> list[Record]:
    """Return the records of a batch in order, given one range of each partition.

    Examples
    --------
    >>> one, two = Partition("days", 0), Partition("days", 1)
    >>> ranges = {one: [Event({}, time=3.0), Event({}, time=1.0)], two: [Event({}, time=2.0), Event({}, time=4.0)]}
    >>> [event.time for event in merge_ranges(["days"], ranges)]
    [2.0, 3.0, 1.0, 4.0]
    """
    merge = TimeMerge(sources)
    for partition, records in ranges.items():
        merge.push(partition, records)
    return merge.pop(sum(map(len, ranges.values())), ranges)


def _time_of(record: Record) -> float:
    """Return a record's time, or minus infinity: a batch does not wait for a record without one."""
    time = record.time
    return -math.inf if time is None or time != time else time
