"""Reading goes on where a client failed, from where it was: with another one, and with none of it lost or repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.errors import BrokerAway, SourceError
from stream_bayes.kafka import slices as slices_module
from stream_bayes.kafka import source as source_module
from stream_bayes.kafka.clients.client import ClientFailed, Interrupted, Message, Reader, position_lost
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.reconnecting import ReconnectingReader
from stream_bayes.kafka.clients.record_marks import mark_of
from stream_bayes.kafka.slices import SliceReader
from stream_bayes.kafka.source import KafkaSource
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder

ONE, OTHER = Partition("days", 0), Partition("days", 1)


class FakeReader:
    """Reads partitions whose records are known, two at a time; where it is told to, it raises something instead."""

    def __init__(
        self, ends: Mapping[Partition, Position], fails: Mapping[str, Exception] | None = None
    ) -> None:
        self.ends = ends
        self.fails = dict(fails or {})
        self.next: dict[Partition, Position] = {}
        self.paused: set[Partition] = set()
        self.closed = False
        self.silent = False
        self.begin = 0
        self.value = b"{}"
        self.epoch_from: dict[Position, int] = {}  # of the leader from an offset on

    def _asked(self, name: str) -> None:
        assert not self.closed
        if name in self.fails:
            raise self.fails[name]

    def assign(self, positions: Mapping[Partition, Position]) -> None:
        self._asked("assign")
        self.next = dict(positions)

    def poll(self, limit: int, seconds: float) -> list[Message]:
        self._asked("poll")
        came = []
        for partition, at in self.next.items():
            if at < self.begin:
                raise position_lost()
            stop = at if self.silent or partition in self.paused else min(at + 2, self.ends[partition])
            for offset in range(at, stop):
                epoch = max(
                    (epoch for begin, epoch in self.epoch_from.items() if begin <= offset), default=-1
                )
                came.append(Message(partition, offset, None, None, self.value, epoch))
            self.next[partition] = stop
        return came

    def position(self, partition: Partition) -> Position:
        self._asked("position")
        return self.next[partition]

    def pause(self, partitions: Iterable[Partition]) -> None:
        self._asked("pause")
        self.paused.update(partitions)

    def resume(self, partitions: Iterable[Partition]) -> None:
        self._asked("resume")
        self.paused.difference_update(partitions)

    def close(self) -> None:
        self.closed = True


def one_after_the_other(*readers: FakeReader | Exception) -> Callable[[], Reader]:
    left = iter(readers)

    def make() -> Reader:
        reader = next(left)
        if isinstance(reader, Exception):
            raise reader
        return reader

    return make


def reading(*readers: FakeReader | Exception, **settings: Any) -> ReconnectingReader:
    """Return a reader over these, one after the other, whose log begins where the latest begin of theirs is."""
    logs = [reader for reader in readers if isinstance(reader, FakeReader)]
    return ReconnectingReader(
        one_after_the_other(*readers),
        lambda parts: dict.fromkeys(parts, max(log.begin for log in logs)),
        **settings,
    )


def offsets(messages: Iterable[Message], partition: Partition) -> list[int]:
    return [message.offset for message in messages if message.partition == partition]


def test_another_reader_goes_on_from_where_one_failed() -> None:
    ends = {ONE: 6, OTHER: 20}
    first, second = FakeReader(ends), FakeReader(ends)
    reader = reading(first, second)
    reader.assign({ONE: 0, OTHER: 10})
    came = reader.poll(100, 0)
    reader.pause([OTHER])
    first.fails["poll"] = ClientFailed("its thread has ended")
    with pytest.raises(ClientFailed):
        reader.poll(100, 0)
    assert first.closed
    came += reader.poll(100, 0)
    assert second.paused == {OTHER}
    reader.resume([OTHER])
    assert (reader.position(ONE), reader.position(OTHER)) == (
        3,
        12,
    )  # not that of the record that is read once more
    came += reader.poll(100, 0)
    came += reader.poll(100, 0)
    assert offsets(came, ONE) == [0, 1, 2, 3, 4, 5]
    assert offsets(came, OTHER) == [10, 11, 12, 13, 14]
    assert (reader.position(ONE), reader.position(OTHER)) == (6, 15)
    reader.close()
    assert second.closed


def test_a_log_that_lost_its_end_and_grew_again_while_nobody_read_it_is_not_read_on() -> None:
    first, second = FakeReader({ONE: 4}), FakeReader({ONE: 9})
    reader = reading(first, second)
    reader.assign({ONE: 0})
    assert len(reader.poll(100, 0)) == len(reader.poll(100, 0)) == 2
    first.fails["poll"] = ClientFailed("its thread has ended")
    with pytest.raises(ClientFailed):
        reader.poll(100, 0)
    second.value = b"another"
    with pytest.raises(SourceError, match="its log lost its end"):
        reader.poll(100, 0)


def test_a_log_that_lost_its_end_and_grew_again_while_it_was_read_is_not_read_on() -> None:
    only = FakeReader({ONE: 9, OTHER: 9})
    only.epoch_from = {0: 3}
    reader = reading(only)
    reader.assign({ONE: 0, OTHER: 0})
    assert len(reader.poll(100, 0)) == 4
    only.value, only.epoch_from = b"another", {0: 4}  # from the first record on
    assert reader.poll(100, 0) == []
    with pytest.raises(SourceError, match="its log lost its end"):
        reader.poll(100, 0)


@pytest.mark.parametrize("is_another", [False, True])
def test_a_log_that_lost_its_end_before_a_partition_was_added_is_not_read_on(is_another: bool) -> None:
    only = FakeReader({ONE: 6, OTHER: 6})
    reader = reading(only)
    reader.assign({ONE: 0})
    came = reader.poll(100, 0)
    only.value = b"another" if is_another else only.value
    reader.assign({ONE: 2, OTHER: 0})
    if is_another:
        with pytest.raises(SourceError, match="its log lost its end"):
            reader.poll(100, 0)
        return
    for _ in range(4):
        came += reader.poll(100, 0)
    assert (offsets(came, ONE), offsets(came, OTHER)) == ([*range(6)], [*range(6)])


def test_a_log_that_lost_its_end_since_the_check_at_the_start_is_not_read_on() -> None:
    only = FakeReader({ONE: 9})
    only.epoch_from = {0: 4}
    reader = reading(only)
    reader.assign({ONE: 2})
    reader.compare({ONE: mark_of(Message(ONE, 1, None, None, b"{}", 3))})
    assert reader.poll(100, 0) == []
    assert offsets(reader.poll(100, 0), ONE) == [2]
    only.value = b"another"
    only.epoch_from = {0: 5}
    assert reader.poll(100, 0) == []
    with pytest.raises(SourceError, match="its log lost its end"):
        reader.poll(100, 0)


@pytest.mark.parametrize("begin", [0, 4], ids=["whole", "the record before expired"])
def test_another_leader_is_no_fault(begin: int) -> None:
    only = FakeReader({ONE: 8, OTHER: 8})
    only.epoch_from = {0: 3, 4: 5}
    reader = reading(only)
    reader.assign({ONE: 1, OTHER: 0})
    came = [*reader.poll(100, 0), *reader.poll(100, 0)]
    assert (offsets(came, ONE), offsets(came, OTHER)) == ([1, 2, 3], [0, 1, 2, 3])
    assert reader.position(ONE) == 4
    only.begin = begin
    for _ in range(5):
        came += reader.poll(100, 0)
    assert (offsets(came, ONE), offsets(came, OTHER)) == ([*range(1, 8)], [*range(8)])


def test_a_last_record_that_expired_or_was_compacted_is_no_fault() -> None:
    first, second = FakeReader({ONE: 4}), FakeReader({ONE: 9})
    reader = reading(first, second)
    reader.assign({ONE: 2})
    assert offsets(reader.poll(100, 0), ONE) == [2, 3]
    first.fails["poll"] = ClientFailed("its thread has ended")
    with pytest.raises(ClientFailed):
        reader.poll(100, 0)
    second.begin = 4
    assert reader.poll(100, 0) == []  # the record before the position is gone, the position is not
    assert offsets(reader.poll(100, 0), ONE) == [4, 5]


def test_a_log_that_lost_its_end_is_not_taken_for_one_whose_last_record_expired() -> None:
    first, second = FakeReader({ONE: 4, OTHER: 4}), FakeReader({ONE: 4, OTHER: 2})
    reader = reading(first, second)
    reader.assign({ONE: 2, OTHER: 0})
    reader.poll(100, 0)
    reader.poll(100, 0)
    first.fails["poll"] = ClientFailed("its thread has ended")
    with pytest.raises(ClientFailed):
        reader.poll(100, 0)
    second.fails["poll"] = position_lost()  # of the other one, which was read up to 4
    with pytest.raises(SourceError, match="its log lost its end"):
        reader.poll(100, 0)


def test_messages_that_a_failed_poll_had_passed_are_read_again() -> None:
    first = FakeReader({ONE: 9})
    reader = reading(first)
    reader.assign({ONE: 0})
    assert offsets(reader.poll(100, 0), ONE) == [0, 1]
    first.fails["poll"] = Interrupted("no answer")
    first.next[ONE] = 4  # what came with that answer
    with pytest.raises(Interrupted):
        reader.poll(100, 0)
    assert reader.position(ONE) == 2
    del first.fails["poll"]
    assert offsets([*reader.poll(100, 0), *reader.poll(100, 0)], ONE) == [2, 3, 4]


def test_what_goes_away_by_itself_is_left_to_the_reader() -> None:
    first = FakeReader({ONE: 2}, {"poll": Interrupted("one broker of three is away")})
    reader = reading(first)
    reader.assign({ONE: 0})
    with pytest.raises(Interrupted):
        reader.poll(100, 0)
    first.fails.clear()
    assert len(reader.poll(100, 0)) == 2


def test_a_reader_that_could_not_be_told_where_to_read_is_not_asked() -> None:
    first, second = FakeReader({ONE: 9}, {"assign": Interrupted("not now")}), FakeReader({ONE: 9})
    reader = reading(first, second)
    with pytest.raises(Interrupted):
        reader.assign({ONE: 7})
    assert first.closed
    assert offsets(reader.poll(100, 0), ONE) == [7, 8]


def test_another_reader_is_tried_for_again_where_no_broker_answers() -> None:
    first, last = FakeReader({ONE: 2}, {"poll": ClientFailed("it did not come back")}), FakeReader({ONE: 2})
    reader = reading(first, BrokerAway("nobody"), last)
    reader.assign({ONE: 0})
    for error in (ClientFailed, BrokerAway):
        with pytest.raises(error):
            reader.poll(100, 0)
    assert len(reader.poll(100, 0)) == 2


def test_a_reader_that_is_silent_for_too_long_is_taken_for_one_that_failed() -> None:
    passed = [0.0]
    first, second = FakeReader({ONE: 6}), FakeReader({ONE: 6})
    reader = reading(first, second, silent_seconds=60, clock=lambda: passed[-1])
    reader.assign({ONE: 0})
    assert len(reader.poll(100, 0)) == 2
    first.silent = True
    for moment in (30.0, 59.0, 60.0):
        assert not first.closed
        passed.append(moment)
        assert reader.poll(100, 0) == []
    assert first.closed
    assert offsets([*reader.poll(100, 0), *reader.poll(100, 0)], ONE) == [2, 3, 4]


def test_a_reader_that_only_ever_complains_is_silent_too() -> None:
    passed = [0.0]
    first, second = (
        FakeReader({ONE: 6}, {"poll": Interrupted("a broker that is no more")}),
        FakeReader({ONE: 6}),
    )
    reader = reading(first, second, silent_seconds=60, clock=lambda: passed[-1])
    reader.assign({ONE: 4})
    for moment in (30.0, 60.0):
        assert not first.closed
        passed.append(moment)
        with pytest.raises(Interrupted):
            reader.poll(100, 0)
    assert first.closed
    assert offsets(reader.poll(100, 0), ONE) == [4, 5]


def test_a_replay_goes_on_where_a_client_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices_module, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(slices_module, "MAX_BUFFERED", 3)
    ends = {ONE: 12, OTHER: 12}
    fails = [
        {"poll": ClientFailed("one")},
        {"position": ClientFailed("two")},
        {"pause": ClientFailed("three")},
        {},
    ]
    readers: list[Any] = [FakeReader(ends, fault) for fault in fails]
    readers.insert(1, BrokerAway("nobody"))
    ahead = SliceReader(reading(*readers), {ONE: 0, OTHER: 0})
    batches = [[Slice(ONE, 0, 12), Slice(OTHER, 0, 5)], [Slice(OTHER, 5, 12)]]
    came = [ranges for slices in batches for ranges in ahead.read(slices) if ranges is not None]
    assert [offsets(part, place) for ranges in came for place, part in ranges.items()] == [
        list(range(12)),
        list(range(5)),
        list(range(5, 12)),
    ]


def test_a_source_leaves_a_reader_that_never_says_how_far_it_has_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(source_module, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(source_module, "METADATA_SECONDS", 1e9)
    passed = [0.0]
    first = FakeReader({ONE: 6}, {name: Interrupted("no longer there") for name in ("poll", "position")})
    second = FakeReader({ONE: 6})
    make = one_after_the_other(first, second)
    monkeypatch.setattr(source_module, "make_reader", lambda *args: make())
    connection = Connection(servers=("nobody:9092",))
    source = KafkaSource(
        connection, "days", JSONDecoder(Fields()), stuck_seconds=60.0, clock=lambda: passed[-1]
    )
    monkeypatch.setattr(source, "partitions", lambda: [ONE])
    monkeypatch.setattr(source.cluster, "end_offsets", lambda *args: {ONE: 6})
    source.seek({ONE: 0})
    came: list[Any] = []
    for moment in (10.0, 40.0, 71.0):
        assert not first.closed and not came
        passed.append(moment)
        came += source.poll(100)
    assert first.closed and source.reseeks == 1
    assert [record.position for record in came] == [0, 1, 2, 3, 4, 5]
    source.close()


def test_a_source_reads_on_with_another_client_and_counts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "POLL_SECONDS", 0.0)
    first, second = FakeReader({ONE: 6}), FakeReader({ONE: 6})
    make = one_after_the_other(first, second)
    monkeypatch.setattr(source_module, "make_reader", lambda *args: make())
    connection = Connection(servers=("nobody:9092",))
    source = KafkaSource(connection, "days", JSONDecoder(Fields()), clock=lambda: 0.0)
    monkeypatch.setattr(source, "partitions", lambda: [ONE])
    monkeypatch.setattr(source.cluster, "end_offsets", lambda *args: {ONE: 6})
    source.seek({ONE: 0})
    came = source.poll(2)
    first.fails["poll"] = ClientFailed("its thread has ended")
    assert source.poll(2) == []
    assert not source.connected and source.incidents["reseeks"] == 1
    came += source.poll(100)
    assert source.connected
    assert [record.position for record in came] == [0, 1, 2, 3, 4, 5]
    source.close()
    assert second.closed
