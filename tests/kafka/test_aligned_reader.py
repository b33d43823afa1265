"""Partitions come in the order of time, whatever the client returns when, and with bounded memory."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.core.events.event import Event, Partition, Position
from stream_bayes.core.events.time_merge import merge_ranges
from stream_bayes.errors import BrokerAway
from stream_bayes.kafka import aligned_reader
from stream_bayes.kafka.aligned_reader import AlignedReader
from stream_bayes.kafka.clients.client import Interrupted, Message
from stream_bayes.streams.contracts.source import Record

TOPICS = ["mails", "verdicts"]
PARTITIONS = [Partition("mails", 0), Partition("mails", 1), Partition("verdicts", 0)]


class Broker:
    """A log, and a client of it that returns records of the partitions in a random order and in random portions."""

    def __init__(self, times: Mapping[Partition, Sequence[float]], seed: int = 0, value: bytes = b"") -> None:
        self.log = {
            partition: [Message(partition, offset, time, None, value) for offset, time in enumerate(moments)]
            for partition, moments in times.items()
        }
        self.chance = random.Random(seed)
        self.next: dict[Partition, Position] = {}
        self.paused: set[Partition] = set()
        self.fails: list[Exception] = []
        self.polled: Counter[Partition] = Counter()

    def assign(self, positions: Mapping[Partition, Position]) -> None:
        self.next = dict(positions)

    def poll(self, limit: int, seconds: float) -> list[Message]:
        if self.fails:
            raise self.fails.pop()
        left = [
            partition
            for partition, at in self.next.items()
            if partition not in self.paused and at < len(self.log[partition])
        ]
        if not left or self.chance.random() < 0.2:
            return []
        partition = self.chance.choice(left)
        at = self.next[partition]
        stop = min(at + self.chance.randint(1, limit), len(self.log[partition]))
        self.next[partition] = stop
        self.polled[partition] += stop - at
        return self.log[partition][at:stop]

    def position(self, partition: Partition) -> Position:
        return self.next[partition]

    def pause(self, partitions: Iterable[Partition]) -> None:
        self.paused.update(partitions)

    def resume(self, partitions: Iterable[Partition]) -> None:
        self.paused.difference_update(partitions)

    def close(self) -> None:
        pass

    def ends(self, partitions: Iterable[Partition]) -> dict[Partition, Position]:
        return {partition: len(self.log[partition]) for partition in partitions}


class Clock:
    """A clock that advances a little with every look at it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


def decoded(message: Message) -> Record:
    return Event({}, time=message.time, position=message.offset, partition=message.partition)


def reader_of(broker: Broker, **settings: object) -> AlignedReader:
    options: dict[str, Any] = {"buffer_bytes": 10**7, "clock": Clock()} | settings
    reader = AlignedReader(broker, TOPICS, decoded, broker.ends, **options)
    reader.assign(dict.fromkeys(broker.log, 0))
    return reader


def read_all(reader: AlignedReader, ends: Mapping[Partition, Position], limit: int = 100) -> list[Record]:
    records: list[Record] = []
    while not reader.has_reached(ends):
        batch = reader.poll(limit, 0.0)
        assert len(batch) <= limit
        ranges: dict[Partition, list[Record]] = {}
        for record in batch:
            ranges.setdefault(record.partition, []).append(record)
        assert merge_ranges(TOPICS, ranges) == batch
        records += batch
    return records


def sorted_by_time(broker: Broker) -> list[Record]:
    records = [decoded(message) for messages in broker.log.values() for message in messages]
    return sorted(
        records,
        key=lambda record: (
            record.time or 0.0,
            TOPICS.index(record.partition.source),
            record.partition.partition,
            record.position,
        ),
    )


@settings(max_examples=100, deadline=None)
@given(
    st.tuples(*[st.lists(st.integers(0, 30).map(float), max_size=40)] * 3),
    st.integers(0, 2**32),
    st.integers(1, 50),
)
def test_a_backlog_comes_sorted_by_time_whatever_the_client_fetches_first(
    times: tuple[list[float], ...], seed: int, limit: int
) -> None:
    broker = Broker(
        {partition: sorted(part) for partition, part in zip(PARTITIONS, times, strict=True)}, seed
    )
    assert read_all(reader_of(broker), broker.ends(PARTITIONS), limit) == sorted_by_time(broker)


def test_what_runs_ahead_is_paused_and_buffers_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aligned_reader, "POLL_LIMIT", 50)
    monkeypatch.setattr(aligned_reader, "MIN_BUFFER_BYTES", 0)
    value = b"x" * 1000
    times = {PARTITIONS[0]: [float(n) for n in range(2000)], PARTITIONS[2]: [float(n) for n in range(2000)]}
    broker = Broker(times, value=value)
    # The client prefers one partition as long as it can.
    broker.chance.choice = max  # type: ignore[method-assign,assignment]  # no chance
    reader = reader_of(broker, buffer_bytes=400_000)
    given: Counter[Partition] = Counter()
    most = 0
    while not reader.has_reached(broker.ends(broker.log)):
        for record in reader.poll(100, 0.0):
            given[record.partition] += 1
        most = max(most, *(broker.polled[part] - given[part] for part in broker.log))
    assert sum(given.values()) == 4000
    assert most <= 200_000 // 1200 + 50 + 100 + 100 // 8  # a batch, and what is decoded ahead of it


def test_a_partition_at_its_end_is_not_waited_for_and_what_comes_late_begins_a_batch() -> None:
    mails, _, verdicts = PARTITIONS
    broker = Broker({mails: [1.0, 2.0, 9.0], verdicts: []})
    reader = reader_of(broker)
    assert [record.time for record in read_all(reader, {mails: 3})] == [1.0, 2.0, 9.0]
    broker.log[verdicts] = [Message(verdicts, 0, 5.0, None, b"")]
    broker.log[mails].append(Message(mails, 3, 10.0, None, b""))
    ends = broker.ends(broker.log)
    assert [record.time for record in read_all(reader, ends)] == [5.0, 10.0]


def test_a_partition_at_its_end_is_waited_for_as_long_as_wait_idle_says_and_not_again() -> None:
    mails, _, verdicts = PARTITIONS
    broker = Broker({mails: [1.0, 2.0], verdicts: []})
    clock = Clock()
    reader = reader_of(broker, wait_idle=5.0, clock=clock)
    for _ in range(20):
        assert reader.poll(1, 0.0) == []
    clock.now += 5.0
    assert [record.time for record in reader.poll(1, 0.0)] == [1.0]
    assert [record.time for record in reader.poll(1, 0.0)] == [2.0]


def test_after_an_interruption_any_partition_may_have_a_backlog() -> None:
    mails, _, verdicts = PARTITIONS
    broker = Broker({mails: [1.0], verdicts: []})
    reader = reader_of(broker)
    read_all(reader, {mails: 1})
    broker.log[mails] += [Message(mails, offset, float(offset), None, b"") for offset in range(1, 50)]
    broker.log[verdicts] = [Message(verdicts, offset, offset + 0.5, None, b"") for offset in range(50)]
    reader.forget_ends()
    times = [record.time for record in read_all(reader, broker.ends(broker.log))]
    assert times == sorted(times, key=float)  # type: ignore[arg-type]  # all have times


def test_a_failure_in_the_middle_of_a_batch_is_raised_by_the_next_poll_and_loses_nothing() -> None:
    broker = Broker({part: [float(n) for n in range(100)] for part in PARTITIONS}, seed=3)
    reader = reader_of(broker)
    records: list[Record] = []
    failures = 0
    while not reader.has_reached(broker.ends(PARTITIONS)):
        if broker.chance.random() < 0.3:
            broker.fails = [Interrupted("for once")]
        try:
            records += reader.poll(40, 0.0)
        except Interrupted:
            failures += 1
    assert failures and records == sorted_by_time(broker)


def test_reading_stops_at_given_positions() -> None:
    broker = Broker({part: [float(n) for n in range(100)] for part in PARTITIONS}, seed=5)
    stops = dict(zip(PARTITIONS, (10, 60, 30), strict=True))
    reader = AlignedReader(
        broker,
        TOPICS,
        decoded,
        lambda parts: {part: stops[part] for part in parts},
        buffer_bytes=10**6,
        stops=stops,
    )
    reader.assign(dict.fromkeys(PARTITIONS, 0))
    records = read_all(reader, stops)
    assert records == [
        record for record in sorted_by_time(broker) if record.position < stops[record.partition]
    ]


def test_the_bytes_of_a_record_are_there_until_the_next_poll_and_no_longer() -> None:
    broker = Broker({PARTITIONS[0]: [float(n) for n in range(700)]})
    broker.log[PARTITIONS[0]] = [Message(PARTITIONS[0], n, float(n), None, b"%d" % n) for n in range(700)]
    reader = reader_of(broker)
    seen = 0
    first: list[Event] = []
    while seen < 700:
        batch = [record for record in reader.poll(90, 0.0) if isinstance(record, Event)]
        seen += len(batch)
        first = first or batch
        assert [reader.raw_of(event) for event in batch] == [b"%d" % event.position for event in batch]
    assert reader.raw_of(first[0]) is None


def test_a_record_that_cannot_be_decoded_yet_is_decoded_later_and_none_twice() -> None:
    broker = Broker({PARTITIONS[0]: [float(number) for number in range(10)]})
    is_away = True
    calls: list[Position] = []

    def decode(message: Message) -> Record:
        calls.append(message.offset)
        if message.offset == 4 and is_away:
            raise BrokerAway("the registry does not respond")
        return decoded(message)

    reader = AlignedReader(broker, TOPICS, decode, broker.ends, buffer_bytes=10**7, clock=Clock())
    reader.assign({PARTITIONS[0]: 0})
    records: list[Record] = []
    raised = 0
    while not reader.has_reached({PARTITIONS[0]: 10}):
        try:
            records += reader.poll(100, 0.0)
        except BrokerAway:
            raised += 1
            is_away = raised < 3
    assert raised == 3
    assert [record.position for record in records] == list(range(10))
    others = [position for position in calls if position != 4]
    assert others == [0, 1, 2, 3, 5, 6, 7, 8, 9]
