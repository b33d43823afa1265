"""Partitions of topics read in the order of event time, with bounded memory.

A client returns records in the order in which they were fetched. Here each partition has a buffer, and the next record
is the earliest of their heads. So an empty buffer must be understood:

    records not fetched yet    the partition is waited for, and full buffers of others are paused
    at its end                 it is waited for `wait_idle` seconds, and then not again until it has a record
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from stream_bayes.core.events.event import Event, Partition, Position
from stream_bayes.core.events.time_merge import TimeMerge
from stream_bayes.errors import BrokerError, StreamBayesError
from stream_bayes.kafka.clients.client import Message, Reader
from stream_bayes.kafka.read_trail import ReadTrail
from stream_bayes.streams.contracts.source import Record

__all__ = ["AlignedReader"]

POLL_LIMIT = 1000  # messages
MIN_DECODED, MAX_DECODED = (
    16,
    1000,
)  # messages of a partition at once: decoded, they take ten times the memory
ENDS_MAX_AGE = 0.1  # seconds for which end offsets count as known
MESSAGE_OVERHEAD = 200  # bytes of memory that a message takes besides its key and value
MIN_BUFFER_BYTES = 65_536


class AlignedReader:
    """Reads partitions merged by time. Each `poll` returns a batch in the order of `TimeMerge`.

    Of records with equal times, those of an earlier topic come first. `decode` returns None to leave a message out;
    after an error it is called again with the same message. `buffer_bytes` is about the most that is buffered. A
    partition at its end is waited for `wait_idle` seconds while others have records. Reading ends at `stops`; None to
    read on as partitions grow. `trail` gets the last message of each partition in a batch.

    Attributes
    ----------
    out_of_order
        The number of records that were older than an earlier one of their partition.
    """

    def __init__(
        self,
        reader: Reader,
        topics: Iterable[str],
        decode: Callable[[Message], Record | None],
        fetch_ends: Callable[[Iterable[Partition]], Mapping[Partition, Position]],
        *,
        buffer_bytes: int,
        wait_idle: float = 0.0,
        stops: Mapping[Partition, Position] | None = None,
        trail: ReadTrail | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._topics = list(topics)
        self._decode = decode
        self._fetch_ends = fetch_ends
        self._buffer_bytes = buffer_bytes
        self._wait_idle = wait_idle
        self._stops = stops
        self._trail = ReadTrail() if trail is None else trail
        self._clock = clock
        self._earlier_out_of_order = 0
        self._begin({})

    def _begin(self, positions: Mapping[Partition, Position]) -> None:
        self._merge = TimeMerge(self._topics)
        self._messages: dict[Partition, list[Message]] = {partition: [] for partition in positions}
        self._bytes = dict.fromkeys(positions, 0)
        self._most_bytes = max(MIN_BUFFER_BYTES, self._buffer_bytes // max(1, len(positions)))
        self._paused: set[Partition] = set()
        self._fetched = dict(positions)  # the next position to fetch
        self._returned = dict(positions)  # the next position to return
        self._ends: dict[Partition, Position] = {}
        self._ends_at = self._clock()
        self._idle_since: dict[Partition, float] = {}
        self._decoded: dict[Partition, list[Message]] = {}  # of the last batch, and decoded ahead
        # A little more than the last batch had of each: few records are decoded ahead, and few decodings fall short.
        self._shares = dict.fromkeys(positions, MIN_DECODED)
        self._failure: StreamBayesError | None = None
        self._is_silent = True  # the last poll of the reader returned nothing

    @property
    def out_of_order(self) -> int:
        """The number of records that were older than an earlier one of their partition. Thread-safe."""
        return self._earlier_out_of_order + self._merge.out_of_order

    @property
    def positions(self) -> Mapping[Partition, Position]:
        """The next position to return of each partition."""
        return self._returned

    def assign(self, positions: Mapping[Partition, Position]) -> None:
        """Read these partitions and no others, from these positions."""
        self._earlier_out_of_order += self._merge.out_of_order
        self._begin(positions)
        self._reader.assign(positions)

    def add(self, positions: Mapping[Partition, Position]) -> None:
        """Read these partitions too."""
        for partition, position in positions.items():
            self._messages[partition] = []
            self._bytes[partition] = 0
            self._fetched[partition] = self._returned[partition] = position
            self._shares[partition] = MIN_DECODED
        self._most_bytes = max(MIN_BUFFER_BYTES, self._buffer_bytes // len(self._messages))
        self._paused.clear()
        self._reader.assign(self._fetched)

    def forget_ends(self) -> None:
        """Check the end of every partition again: after an interruption any of them may have a backlog."""
        self._ends.clear()

    def has_reached(self, ends: Mapping[Partition, Position]) -> bool:
        """Return True once all records before these ends were returned."""
        return all(not self._is_buffered(part) and self._is_fetched(part, end) for part, end in ends.items())

    def fetched(self, partition: Partition) -> Position:
        """Return the next position to fetch of a partition."""
        return self._fetched[partition]

    def awaits_no_fetch(self, partition: Partition, end: Position) -> bool:
        """Return True if a partition was fetched up to an end, or waits until other partitions have caught up."""
        return partition in self._paused or self._is_buffered(partition) or self._is_fetched(partition, end)

    def raw_of(self, event: Event) -> bytes | None:
        """Return the bytes of an event of the last batch; None for an earlier one."""
        message = self._message_of(event)
        return None if message is None else message.value

    def _message_of(self, record: Record) -> Message | None:
        """Return the message of a record of the last batch; None for an earlier one."""
        messages = self._decoded.get(record.partition, ())
        index = bisect_left(messages, record.position, key=attrgetter("offset"))
        is_there = index < len(messages) and messages[index].offset == record.position
        return messages[index] if is_there else None

    def _forget_returned(self) -> None:
        for partition, messages in self._decoded.items():
            del messages[: bisect_left(messages, self._returned[partition], key=attrgetter("offset"))]

    def poll(self, limit: int, seconds: float) -> list[Record]:
        """Return the next batch of at most `limit` records; an empty list if there is none after so many seconds.

        Raises
        ------
        BrokerError
            As of a `Reader`. Nothing that was fetched is lost.
        """
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        self._merge.begin_batch()
        self._forget_returned()
        batch: list[Record] = []
        try:
            self._decode_shares()
            self._fill(batch, limit, self._clock() + seconds)
        except StreamBayesError as error:
            if not batch:
                raise
            self._failure = error  # raised by the next call: this batch was popped
        for part, record in self._merge.last_popped.items():
            share = record.after - self._returned[part]
            self._shares[part] = min(MAX_DECODED, max(MIN_DECODED, share + share // 8))
            self._returned[part] = record.after
            message = self._message_of(record)
            if message is not None:
                self._trail.add(message)
        return batch

    def _fill(self, batch: list[Record], limit: int, deadline: float) -> None:
        while True:
            is_waiting = self._pop_into(batch, limit)
            if len(batch) >= limit or self._merge.ends_batch:
                return
            if batch and not is_waiting:
                return
            if not batch and not self._is_silent:
                self._fetch(0.0)
                continue
            # A batch that has begun is filled up with what the client has, without waiting for more.
            left = 0.0 if batch else max(0.0, deadline - self._clock())
            if not self._fetch(min(left, self._wait_idle or left)) and (batch or not left):
                return

    # -- order --------------------------------------------------------------------------------------------------------

    def _pop_into(self, batch: list[Record], limit: int) -> bool:
        """Add records to a batch, as far as buffers allow. Return True if a partition is waited for."""
        while len(batch) < limit:
            self._decode_heads()
            empty = [partition for partition in self._messages if partition not in self._merge]
            if len(empty) == len(self._messages):
                return any(self._is_behind(partition) for partition in empty)
            drained = [partition for partition, messages in self._messages.items() if not messages]
            behind = self._behind(drained)
            if any(partition in behind or self._is_awaited(partition) for partition in empty):
                return True
            complete = [] if self._wait_idle else [part for part in drained if part not in behind]
            popped = self._merge.pop(limit - len(batch), {*complete, *empty})
            if not popped:
                return False  # the next record begins another batch
            batch += popped
        return False

    def _decode_shares(self) -> None:
        """Decode about as many records of each partition as the last batch had of it."""
        for partition, share in self._shares.items():
            self._decode_until(partition, share)

    def _decode_heads(self) -> None:
        """Decode the next record of each partition, as far as buffers allow."""
        for partition in self._messages:
            self._decode_until(partition, 1)

    def _decode_until(self, partition: Partition, wanted: int) -> None:
        messages = self._messages[partition]
        while messages and (count := self._merge.count(partition)) < wanted:
            portion = max(MIN_DECODED, self._shares[partition] - count)
            try:
                records, decoded = self._decode_some(messages[:portion])
            except BrokerError:
                if not count:
                    raise
                return  # it is raised again once the records before were returned
            self._bytes[partition] -= self._bytes[partition] * decoded // len(messages)  # about
            self._decoded.setdefault(partition, []).extend(messages[:decoded])
            del messages[:decoded]
            self._merge.push(partition, records)

    def _decode_some(self, messages: Sequence[Message]) -> tuple[list[Record], int]:
        """Return the records of the first messages, and the number of these messages."""
        decode = self._decode
        records: list[Record] = []
        for count, message in enumerate(messages):
            try:
                record = decode(message)
            except BrokerError:
                if not count:
                    raise
                return records, count  # likewise
            if record is not None:
                records.append(record)
        return records, len(messages)

    def _behind(self, drained: Iterable[Partition]) -> set[Partition]:
        """Return those of these partitions that have records which were not fetched yet."""
        now = self._clock()
        at_end = [partition for partition in drained if not self._is_behind(partition)]
        if any(partition not in self._ends for partition in at_end) or (
            at_end and now - self._ends_at >= ENDS_MAX_AGE
        ):
            self._refresh_ends()
        return {partition for partition in drained if self._is_behind(partition)}

    def _refresh_ends(self) -> None:
        self._ends = dict(self._fetch_ends(list(self._messages)))
        self._ends_at = self._clock()

    def _is_behind(self, partition: Partition) -> bool:
        """Return True if a partition has records that were not fetched yet, as far as is known."""
        return not self._is_fetched(partition, self._ends.get(partition, 0))

    def _is_fetched(self, partition: Partition, end: Position) -> bool:
        fetched = self._fetched[partition]
        if fetched < end and self._is_silent:
            # Compacted records and transaction markers never come, but the reader's position moves past them.
            fetched = self._fetched[partition] = max(fetched, self._reader.position(partition))
        return fetched >= end

    def _is_buffered(self, partition: Partition) -> bool:
        return partition in self._merge or bool(self._messages[partition])

    def _is_awaited(self, partition: Partition) -> bool:
        """Return True if a partition at its end is still waited for."""
        if not self._wait_idle:
            return False
        now = self._clock()
        return now - self._idle_since.setdefault(partition, now) < self._wait_idle

    # -- fetching -----------------------------------------------------------------------------------------------------

    def _fetch(self, seconds: float) -> bool:
        """Poll the reader. Return True if messages came."""
        self._resume()
        messages = self._reader.poll(POLL_LIMIT, seconds)
        self._is_silent = not messages
        if not messages:
            return False
        for partition, run in groupby(messages, attrgetter("partition")):
            came = list(run)
            self._idle_since.pop(partition, None)
            self._fetched[partition] = came[-1].offset + 1
            if self._stops is not None:
                came = [message for message in came if message.offset < self._stops[partition]]
            self._bytes[partition] += _size(came)
            self._messages[partition].extend(came)
        self._pause()
        return True

    def _pause(self) -> None:
        full = [
            partition
            for partition, size in self._bytes.items()
            if size > self._most_bytes and partition not in self._paused
        ]
        if full:
            self._paused.update(full)
            self._reader.pause(full)

    def _resume(self) -> None:
        drained = [partition for partition in self._paused if self._bytes[partition] <= self._most_bytes // 2]
        if drained:
            self._paused.difference_update(drained)
            self._reader.resume(drained)


def _size(messages: Sequence[Message]) -> int:
    """Return about how many bytes of memory messages take."""
    return MESSAGE_OVERHEAD * len(messages) + sum(
        [len(message.key or b"") + len(message.value or b"") for message in messages]
    )
