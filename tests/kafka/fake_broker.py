"""A Kafka broker in memory, behind the contracts of the client: `Reader`, `Writer` and the requests of `Cluster`.

It has what a pipeline depends on: transactions with epochs of producers, read_committed, consumer groups, retention,
compaction, leader epochs, truncation, recreated topics. It is single-threaded and has no clock of its own, so a test
decides the whole history. Each call of a writer reaches points:

    before fence | after fence | before commit | committed, not answered | after commit

What a test registers at a point runs there, in the middle of the call: another worker may take over, the log may
change, or the call may fail (`Interrupted`), be cut off for ever (`Killed`), and so on.
"""

from __future__ import annotations

import uuid
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import BrokerError
from stream_bayes.kafka.clients import factory
from stream_bayes.kafka.clients.client import EpochLost, Header, Interrupted, Message, Send, position_lost
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.cluster import Topic
from stream_bayes.kafka.read_trail import ReadTrail

BEFORE_FENCE, AFTER_FENCE = "before fence", "after fence"
BEFORE_COMMIT, NOT_ANSWERED, AFTER_COMMIT = "before commit", "committed, not answered", "after commit"
POINTS = (BEFORE_FENCE, AFTER_FENCE, BEFORE_COMMIT, NOT_ANSWERED, AFTER_COMMIT)


class Killed(BaseException):
    """The worker was killed at a point; nothing of it runs any more."""


@dataclass
class Stored:
    """One offset of a partition: a record, or the marker that ends a transaction."""

    offset: int
    epoch: int
    time: float | None
    key: bytes | None
    value: bytes | None
    headers: list[Header]
    transaction: Transaction | None = None
    is_marker: bool = False

    @property
    def is_open(self) -> bool:
        return self.transaction is not None and self.transaction.is_committed is None

    @property
    def is_readable(self) -> bool:
        return not self.is_marker and (self.transaction is None or self.transaction.is_committed is True)


@dataclass
class Transaction:
    """A transaction: what it wrote to, and its decision."""

    partitions: set[Partition] = field(default_factory=set)
    offsets: dict[str, dict[Partition, Position]] = field(default_factory=dict)
    is_committed: bool | None = None


class Log:
    """A partition."""

    def __init__(self) -> None:
        self.stored: list[Stored] = []
        self.begin = 0
        self.end = 0
        self.epoch = 0

    def append(
        self,
        key: bytes | None,
        value: bytes | None,
        time: float | None,
        headers: Iterable[Header] = (),
        transaction: Transaction | None = None,
        is_marker: bool = False,
    ) -> int:
        record = Stored(self.end, self.epoch, time, key, value, list(headers), transaction, is_marker)
        self.stored.append(record)
        self.end += 1
        return record.offset

    @property
    def stable_end(self) -> int:
        return min((record.offset for record in self.stored if record.is_open), default=self.end)

    def expire(self, below: int) -> None:
        """Delete the records below an offset, as retention does."""
        self.begin = max(self.begin, min(below, self.end))
        self.stored = [record for record in self.stored if record.offset >= self.begin]

    def truncate(self, end: int) -> None:
        """Lose the tail, as an unclean leader election does: a new leader goes on from there, with a new epoch."""
        self.stored = [record for record in self.stored if record.offset < end]
        self.end = end
        self.epoch += 1

    def remove(self, offset: int) -> None:
        """Remove one record, as compaction does."""
        self.stored = [record for record in self.stored if record.offset != offset]

    def epoch_end(self, epoch: int) -> tuple[int, int] | None:
        """Return the largest epoch up to this one that the log has, and the offset after it."""
        starts: dict[int, int] = {}
        for record in self.stored:
            starts.setdefault(record.epoch, record.offset)
        if not starts or epoch >= max(starts):
            return (self.epoch, self.end)
        later = min(number for number in starts if number > epoch)
        earlier = [number for number in starts if number <= epoch]
        return (max(earlier, default=epoch), starts[later])


class FakeBroker:
    """A cluster of one broker.

    Attributes
    ----------
    has_epochs
        False for a cluster that cannot be asked where an epoch ended.
    """

    def __init__(self) -> None:
        self.id = f"cluster-{uuid.uuid4().hex[:6]}"
        self.has_epochs = True
        self.logs: dict[Partition, Log] = {}
        self.ids: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self.groups: defaultdict[str, dict[Partition, Position]] = defaultdict(dict)
        self.by_workers: defaultdict[str, dict[Partition, Position]] = defaultdict(
            dict
        )  # what they committed
        self.producers: dict[str, int] = {}  # the epoch of each transactional id
        self.transactions: dict[str, Transaction] = {}  # the last one of each
        self.groups_with_members: set[str] = set()
        self.reached: list[tuple[str, str]] = []
        self._at: list[tuple[str, str, Callable[[], None]]] = []

    # -- topics and records -------------------------------------------------------------------------------------------

    def topic(self, name: str, partitions: int = 1) -> str:
        """Create a topic, or add partitions to it."""
        self.ids.setdefault(name, f"id-{uuid.uuid4().hex[:6]}")
        for number in range(self.counts.get(name, 0), partitions):
            self.logs[Partition(name, number)] = Log()
        self.counts[name] = max(partitions, self.counts.get(name, 0))
        return name

    def delete(self, name: str) -> None:
        """Delete a topic."""
        for number in range(self.counts.pop(name)):
            del self.logs[Partition(name, number)]
        del self.ids[name]
        for positions in self.groups.values():
            for partition in [part for part in positions if part.source == name]:
                del positions[partition]

    def put(
        self, topic: str, records: Iterable[tuple[int, bytes | None, bytes | None]], time: float = 1.7e9
    ) -> None:
        """Write records, (partition, key, value), a second apart from a moment on."""
        for count, (number, key, value) in enumerate(records):
            self.logs[Partition(topic, number)].append(key, value, time + count)

    def records(self, topic: str) -> list[Stored]:
        """Return what can be read of a topic under read_committed, by partition."""
        return [
            record
            for number in range(self.counts[topic])
            for record in self.logs[Partition(topic, number)].stored
            if record.is_readable and record.offset < self.logs[Partition(topic, number)].stable_end
        ]

    # -- points -------------------------------------------------------------------------------------------------------

    def at(self, point: str, transactional_id: str, action: Callable[[], None]) -> None:
        """Run an action the next time that a writer of this id reaches a point."""
        assert point in POINTS
        self._at.append((point, transactional_id, action))

    def reach(self, point: str, transactional_id: str) -> None:
        self.reached.append((point, transactional_id))
        for entry in self._at:
            if entry[:2] == (point, transactional_id):
                self._at.remove(entry)
                entry[2]()
                return

    # -- transactions -------------------------------------------------------------------------------------------------

    def fence(self, transactional_id: str) -> int:
        self.end(transactional_id, committed=False)
        self.transactions.pop(transactional_id, None)  # its state is empty until the new owner writes
        self.producers[transactional_id] = self.producers.get(transactional_id, -1) + 1
        return self.producers[transactional_id]

    def end(self, transactional_id: str, committed: bool) -> None:
        """Decide the open transaction of an id."""
        transaction = self.transactions.get(transactional_id)
        if transaction is None or transaction.is_committed is not None:
            return
        transaction.is_committed = committed
        for partition in sorted(transaction.partitions):
            log = self.logs.get(partition)
            if log is not None:
                log.append(None, None, None, (), transaction, is_marker=True)
        if committed:
            for group, positions in transaction.offsets.items():
                self.groups[group].update(positions)

    # -- what a test installs -----------------------------------------------------------------------------------------

    def connection(self, monkeypatch: pytest.MonkeyPatch) -> Connection:
        """Return a connection to this broker: readers, writers and requests made with any connection are its own."""
        monkeypatch.setattr(factory, "make_reader", lambda *args: FakeReader(self))
        monkeypatch.setattr(factory, "make_writer", lambda *args: FakeWriter(self, args[1]))
        from stream_bayes.kafka import delivery, journal, recovery, source, transactions
        from stream_bayes.workers import follower, topic_reader
        from stream_bayes.workers.pipeline import parts, rescale

        for module in (journal, recovery, source, topic_reader):
            monkeypatch.setattr(module, "make_reader", lambda *args: FakeReader(self))
        for module in (delivery, transactions, rescale):
            monkeypatch.setattr(module, "make_writer", lambda *args: FakeWriter(self, args[1]))
        for module in (delivery, source, follower, rescale, topic_reader, parts):
            monkeypatch.setattr(module, "Cluster", lambda connection: FakeCluster(self, connection))
        return Connection(servers=("nobody:9092",), client="kafka-python")


class NoLog:
    """A log without an identity, for a delivery without a source."""

    def __init__(self) -> None:
        self.trail = ReadTrail()

    def identity(self) -> dict[str, Any]:
        return {}


class FakeReader:
    """A `Reader` of a fake broker."""

    def __init__(self, broker: FakeBroker) -> None:
        self._broker = broker
        self._positions: dict[Partition, Position] = {}
        self._epochs: dict[Partition, int] = {}  # of the leader, when a partition was last read
        self._paused: set[Partition] = set()

    def assign(self, positions: Mapping[Partition, Position]) -> None:
        self._positions = dict(positions)
        self._epochs = {}
        self._paused = set()

    def _check_position(self, partition: Partition, log: Log) -> None:
        """Raise the error for a position that the log no longer holds, or that a new leader does not have (KIP-320)."""
        position, epoch = self._positions[partition], self._epochs.get(partition, log.epoch)
        if not log.begin <= position <= log.end:
            raise position_lost()
        if epoch < log.epoch and self._broker.has_epochs:
            end = log.epoch_end(epoch)
            if end is not None and end[1] < position:
                raise position_lost()
        self._epochs[partition] = log.epoch

    def poll(self, limit: int, seconds: float) -> list[Message]:
        messages: list[Message] = []
        for partition, position in self._positions.items():
            if partition in self._paused:
                continue
            log = self._broker.logs.get(partition)
            if log is None:
                raise Interrupted("no such partition")
            self._check_position(partition, log)
            end, taken = log.stable_end, position
            for record in log.stored[bisect_left(log.stored, position, key=lambda record: record.offset) :]:
                if record.offset >= end or len(messages) >= limit:
                    break
                taken = record.offset + 1
                if record.is_readable:
                    messages.append(
                        Message(partition, record.offset, record.time, record.key, record.value, record.epoch)
                    )
            else:
                taken = end
            self._positions[partition] = max(position, taken)
        return messages

    def position(self, partition: Partition) -> Position:
        return self._positions[partition]

    def pause(self, partitions: Iterable[Partition]) -> None:
        self._paused.update(partitions)

    def resume(self, partitions: Iterable[Partition]) -> None:
        self._paused.difference_update(partitions)

    def close(self) -> None:
        pass


class FakeWriter:
    """A `Writer` of a fake broker."""

    def __init__(self, broker: FakeBroker, transactional_id: str | None) -> None:
        self._broker = broker
        self._id = transactional_id or ""
        self._epoch: int | None = None
        self._transaction: Transaction | None = None

    def fence(self) -> None:
        self._broker.reach(BEFORE_FENCE, self._id)
        self._epoch = self._broker.fence(self._id)
        self._broker.reach(AFTER_FENCE, self._id)

    def _check_epoch(self) -> None:
        if self._id and self._broker.producers.get(self._id) != self._epoch:
            raise EpochLost("ProducerFenced")

    def begin(self) -> None:
        self._transaction = Transaction()

    def _append(
        self, topic: str, number: int, key: bytes | None, value: bytes | None, headers: Iterable[Header]
    ) -> int:
        self._check_epoch()
        partition, transaction = Partition(topic, number), self._transaction
        if transaction is not None:
            self._broker.transactions[self._id] = transaction
            transaction.partitions.add(partition)
        return self._broker.logs[partition].append(key, value, 1.7e9, headers, transaction)

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> Callable[[], int]:
        offset = self._append(topic, partition, key, value, ())
        return lambda: offset

    def send_all(self, sends: Iterable[Send]) -> None:
        for topic, partition, key, value, headers in sends:
            self._append(topic, partition, key, value, headers)

    def send_offsets(self, group: str, positions: Mapping[Partition, Position]) -> None:
        self._check_epoch()
        assert self._transaction is not None
        self._broker.transactions[self._id] = self._transaction
        self._transaction.offsets[group] = dict(positions)

    def commit(self) -> None:
        self._broker.reach(BEFORE_COMMIT, self._id)
        self._check_epoch()
        self._broker.end(self._id, committed=True)
        self._transaction = None
        self._broker.reach(NOT_ANSWERED, self._id)
        self._broker.reach(AFTER_COMMIT, self._id)

    def abort(self) -> None:
        self._check_epoch()
        self._broker.end(self._id, committed=False)
        self._transaction = None

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class FakeCluster:
    """The requests of a `Cluster` to a fake broker."""

    def __init__(self, broker: FakeBroker, connection: Connection) -> None:
        self._broker = broker
        self.connection = connection

    def close(self) -> None:
        pass

    def cluster_id(self) -> str:
        return self._broker.id

    def broker_count(self) -> int:
        return 1

    def topics(self, names: Iterable[str]) -> dict[str, Topic]:
        broker = self._broker
        return {
            name: Topic(broker.ids[name], broker.counts[name], frozenset())
            for name in names
            if name in broker.ids
        }

    def require_topics(self, names: Iterable[str]) -> dict[str, Topic]:
        names = list(names)
        found = self.topics(names)
        for name in names:
            if name not in found:
                raise BrokerError(f"there is no topic {name!r}")
        return found

    def check_topics(self, read: Iterable[str], written: Iterable[str]) -> None:
        self.require_topics([*read, *written])

    def beginning_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, Position]:
        return {partition: self._broker.logs[partition].begin for partition in partitions}

    def end_offsets(self, partitions: Iterable[Partition], seconds: Any = None) -> dict[Partition, Position]:
        return {partition: self._broker.logs[partition].stable_end for partition in partitions}

    def high_watermarks(self, partitions: Iterable[Partition]) -> dict[Partition, Position]:
        return {partition: self._broker.logs[partition].end for partition in partitions}

    def offsets_at(self, partitions: Iterable[Partition], moment: float) -> dict[Partition, Position]:
        return {
            partition: next(
                (
                    record.offset
                    for record in self._broker.logs[partition].stored
                    if (record.time or 0) >= moment
                ),
                self._broker.logs[partition].end,
            )
            for partition in partitions
        }

    def epoch_ends(self, epochs: Mapping[Partition, int]) -> dict[Partition, tuple[int, Position]]:
        if not self._broker.has_epochs:
            return {}
        ends = {
            partition: self._broker.logs[partition].epoch_end(epoch) for partition, epoch in epochs.items()
        }
        return {partition: end for partition, end in ends.items() if end is not None}

    def committed_offsets(self, group: str) -> dict[Partition, Position]:
        return dict(self._broker.groups[group])

    def commit_offsets(self, group: str, positions: Mapping[Partition, Position]) -> None:
        self._broker.groups[group].update(positions)
        self._broker.by_workers[group].update(positions)

    def committed_by_workers(self, group: str) -> frozenset[Partition]:
        ours = self._broker.by_workers[group]
        return frozenset(part for part, at in self._broker.groups[group].items() if ours.get(part) == at)

    def create_journal(self, name: str, replication_factor: int | None, partitions: int = 1) -> None:
        self._broker.topic(name, partitions)

    def create_compacted(self, name: str, replication_factor: int | None, partitions: int) -> None:
        self._broker.topic(name, partitions)

    def check_compacted(self, name: str) -> None:
        pass

    def has_members(self, group: str) -> bool:
        return group in self._broker.groups_with_members

    def delete_records_below(self, partition: Partition, position: Position) -> None:
        self._broker.logs[partition].expire(position)

    def is_deciding(self, transactional_id: str) -> bool:
        return False

    def was_committed(self, transactional_id: str) -> bool | None:
        transaction = self._broker.transactions.get(transactional_id)
        return None if transaction is None else transaction.is_committed

    def has_new_owner(self, transactional_id: str) -> bool:
        transaction = self._broker.transactions.get(transactional_id)
        return transaction is None or transaction.is_committed is None
