"""Partitions merged by event time: the order in which a stream is processed, whatever order its parts arrive in.

    the next record    the earliest among the heads of all partitions; of equals by source, partition, position
    a partition        keeps its own order: a record older than the one before it follows that one at once
    a batch            one range of each partition; its order is the merge of these ranges alone

So a journal that holds the ranges of each batch holds its order too. A record older than the last one of a batch, such
as one that arrived late, begins a new batch.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import TypeAlias, TypeGuard

from stream_bayes.core.events.event import Partition, Record

__all__ = ["TimeMerge", "merge_ranges"]

Rank: TypeAlias = tuple[int, int]  # of the source, and number of the partition
MergeKey: TypeAlias = tuple[float, int, int]  # time, and rank

BEFORE_ALL: MergeKey = (-math.inf, -1, -1)


class TimeMerge:
    """Queues of records, one for each partition, from which batches are popped in the order of time.

    Within a batch a record counts as no earlier than those before it in its partition. A record without a time counts
    as simultaneous with the one before it. `sources` are names. Of records with equal times, those of an earlier source
    come first.

    Attributes
    ----------
    out_of_order
        The number of records that were older than an earlier one of their partition.
    last_popped
        The last record of each partition in this batch.

    Examples
    --------
    >>> from stream_bayes.core.events.event import Event
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
        self._queues: dict[Partition, _Queue] = {}
        self._ordered: list[_Queue] = []  # the same, by their ranks
        self._last: MergeKey = BEFORE_ALL  # of this batch
        self.out_of_order = 0
        self.last_popped: dict[Partition, Record] = {}

    def __contains__(self, partition: Partition) -> bool:
        """Return True if there are records of a partition."""
        queue = self._queues.get(partition)
        return queue is not None and bool(queue.records)

    def count(self, partition: Partition) -> int:
        """Return the number of records of a partition."""
        queue = self._queues.get(partition)
        return 0 if queue is None else len(queue.records)

    def push(self, partition: Partition, records: Sequence[Record]) -> None:
        """Add the next records of a partition."""
        if not records:
            return
        queue = self._queues.get(partition)
        if queue is None:
            queue = _Queue(partition, (self._ranks[partition.source], partition.partition))
            self._queues[partition] = queue
            self._ordered = sorted(self._queues.values(), key=attrgetter("rank"))
        self.out_of_order += queue.push(records)

    def begin_batch(self) -> None:
        """Begin a batch: its order depends on nothing before it."""
        self._last = BEFORE_ALL
        self.last_popped = {}
        for queue in self._ordered:
            queue.begin_batch()

    @property
    def ends_batch(self) -> bool:
        """True if the next record is older than the last one of this batch."""
        heads = [queue.key(0) for queue in self._ordered if queue.records]
        return bool(heads) and min(heads) < self._last

    def pop(self, limit: int, complete: Collection[Partition] = ()) -> list[Record]:
        """Return the next records of this batch, in order.

        Stop when a partition becomes empty whose next record may be earlier than the other heads: one that is not
        `complete`. Do not call this while such a partition is empty. Return at most `limit` records.
        """
        queues = [queue for queue in self._ordered if queue.records]
        if not queues or limit < 1 or min(queue.key(0) for queue in queues) < self._last:
            return []
        ends = [queue.key(-1) for queue in queues if queue.partition not in complete]
        stop = min(ends) if ends else None
        counts = [
            min(limit, len(queue.times) if stop is None else queue.count_until(stop)) for queue in queues
        ]
        records: list[Record] = []
        times: list[float] = []
        for queue, count in zip(queues, counts, strict=True):
            records += queue.records[:count]
            times += queue.times[:count]
        # Queues stand in the order of their ranks, so a stable sort by time alone merges them. It is a merge of runs.
        order = sorted(range(len(times)), key=times.__getitem__)
        if len(order) > limit:
            del order[limit:]
            counts = _counts_within(counts, order)
        for queue, count in zip(queues, counts, strict=True):
            if count:
                self._last = max(self._last, queue.key(count - 1))
                self.last_popped[queue.partition] = queue.records[count - 1]
                queue.drop(count)
        return list(map(records.__getitem__, order))


class _Queue:
    """The records of a partition, and the times at which a batch has them: no record is earlier than one before it."""

    __slots__ = ("floor", "is_in_order", "newest", "partition", "rank", "records", "times")

    def __init__(self, partition: Partition, rank: Rank) -> None:
        self.partition = partition
        self.rank = rank
        self.records: list[Record] = []
        self.times: list[float] = []
        self.floor = -math.inf  # time of the last record of this batch
        self.newest = -math.inf  # of all records so far
        self.is_in_order = True  # the times are the records' own

    def push(self, records: Sequence[Record]) -> int:
        """Add records. Return the number that are older than an earlier one."""
        times = [record.time for record in records]
        late = 0
        if _are_in_order(times, self.newest):
            self.newest = times[-1]
            self.times += times
        else:
            self.is_in_order = False
            for time in times:
                if time is not None:
                    late += time < self.newest
                    self.newest = max(self.newest, time)  # in this order: a NaN changes nothing
            self.times += _rising(times, self.times[-1] if self.times else self.floor)
        self.records += records
        return late

    def begin_batch(self) -> None:
        self.floor = -math.inf
        if not self.is_in_order:
            times = [record.time for record in self.records]
            self.times = _rising(times, -math.inf)
            self.is_in_order = times == self.times

    def key(self, index: int) -> MergeKey:
        """Return the key of a record by which partitions are merged."""
        return (self.times[index], *self.rank)

    def count_until(self, stop: MergeKey) -> int:
        """Return the number of records that are not after a key."""
        time, *rank = stop
        return (bisect_right if self.rank <= tuple(rank) else bisect_left)(self.times, time)

    def drop(self, count: int) -> None:
        """Remove the first records."""
        self.floor = self.times[count - 1]
        del self.records[:count], self.times[:count]


def _are_in_order(times: list[float | None], newest: float) -> TypeGuard[list[float]]:
    """Return True for times that rise from the newest so far; False if any is missing."""
    if None in times or math.isnan(sum(times)):  # type: ignore[arg-type]  # numbers, if none is missing
        return False
    return times[0] >= newest and times == sorted(times)  # type: ignore[operator,type-var]  # numbers


def _rising(times: Iterable[float | None], floor: float) -> list[float]:
    """Return times of which none is before an earlier one; a missing one is that of the record before it."""
    rising = []
    for time in times:
        if time is not None and time > floor:
            floor = time
        rising.append(floor)
    return rising


def _counts_within(counts: Sequence[int], order: Iterable[int]) -> list[int]:
    """Return the number of indices in each run, given the lengths of the runs."""
    chosen = sorted(order)
    starts = [sum(counts[:number]) for number in range(len(counts) + 1)]
    bounds = [bisect_left(chosen, start) for start in starts]
    return [stop - start for start, stop in pairwise(bounds)]


def merge_ranges(sources: Iterable[str], ranges: Mapping[Partition, Sequence[Record]]) -> list[Record]:
    """Return the records of a batch in order, given one range of each partition.

    Examples
    --------
    >>> from stream_bayes.core.events.event import Event
    >>> one, two = Partition("days", 0), Partition("days", 1)
    >>> ranges = {one: [Event({}, time=3.0), Event({}, time=1.0)], two: [Event({}, time=2.0), Event({}, time=4.0)]}
    >>> [event.time for event in merge_ranges(["days"], ranges)]
    [2.0, 3.0, 1.0, 4.0]
    """
    merge = TimeMerge(sources)
    for partition, records in ranges.items():
        merge.push(partition, records)
    return merge.pop(sum(map(len, ranges.values())), ranges)
