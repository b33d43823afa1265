"""Every batch takes place once, in its order: whatever a cluster answers, and does not do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
import pytest

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.kafka import transactions as transactions_module
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.journal import JournalRecord
from stream_bayes.kafka.transactions import Transactions
from tests.kafka.fake_broker import NoLog

JOURNAL = Partition("days.journal")
DAYS = Partition("days")
ANSWERED, LEFT_OPEN, NOT_ANSWERED, NOT_TAKEN = "answered", "left open", "not answered", "not taken"


class Record:
    """One record of a journal; None as to whether it counts while its transaction is open."""

    def __init__(self, entry: JournalRecord) -> None:
        self.entry = entry
        self.counts: bool | None = None


class FakeCluster:
    """A journal, and what comes of each commit."""

    def __init__(self, commits: Iterable[str] = ()) -> None:
        self.records: list[Record] = []
        self.commits = list(commits)

    def end(self, counts: bool) -> None:
        for record in self.records:
            if record.counts is None:
                record.counts = counts

    def was_committed(self, transactional_id: str) -> None:
        return None

    def require_topics(self, names: list[str]) -> dict[str, Any]:
        return {}

    def create_journal(self, name: str, replication_factor: int | None) -> None:
        pass

    def beginning_offsets(self, partitions: list[Partition]) -> dict[Partition, Position]:
        return {JOURNAL: 0}

    def high_watermarks(self, partitions: list[Partition]) -> dict[Partition, Position]:
        return {JOURNAL: len(self.records)}

    end_offsets = high_watermarks  # all is decided once others are fenced

    def entries(self, cluster: object, topic: str, start: Position) -> Iterator[JournalRecord]:
        for offset, record in enumerate(self.records):
            if offset >= start and record.counts:
                yield msgspec.structs.replace(record.entry, offset=offset)

    @property
    def committed_numbers(self) -> list[int]:
        """The batches that took place, in their order."""
        return [record.entry.number for record in self.records if record.counts]


class FakeWriter:
    """Writes into the journal of a fake cluster."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster

    def fence(self) -> None:
        self.cluster.end(False)

    def begin(self) -> None:
        pass

    def send_all(self, sends: object) -> None:
        pass

    def send(self, topic: str, partition: int, key: None, value: bytes) -> Callable[[], int]:
        offset = len(self.cluster.records)
        self.cluster.records.append(Record(msgspec.json.decode(value, type=JournalRecord)))
        return lambda: offset

    def send_offsets(self, group: str, positions: Mapping[Partition, Position]) -> None:
        pass

    def commit(self) -> None:
        outcome = self.cluster.commits.pop(0) if self.cluster.commits else ANSWERED
        if outcome in (ANSWERED, NOT_ANSWERED):
            self.cluster.end(True)  # and with it what was left open before
        if outcome in (NOT_ANSWERED, NOT_TAKEN):
            raise Interrupted(outcome)

    def close(self) -> None:
        pass


def delivery_to(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(transactions_module, "entries_from", lambda *args: cluster.entries(*args))
    monkeypatch.setattr(transactions_module, "make_writer", lambda *args: FakeWriter(cluster))
    delivery: Any = Transactions(
        Connection(servers=("nobody:9092",)), "days", NoLog(), sleep=lambda seconds: None
    )
    delivery.cluster = cluster
    delivery.open()
    return delivery


def deliver(delivery: Any, number: int) -> None:
    delivery.begin()
    delivery.commit([Slice(DAYS, number, number + 1)])


@pytest.mark.parametrize(
    "commits",
    [
        [],
        [ANSWERED, NOT_ANSWERED],
        [ANSWERED, NOT_TAKEN],
        [ANSWERED, LEFT_OPEN],
        [NOT_TAKEN, NOT_ANSWERED, LEFT_OPEN, ANSWERED],
        [ANSWERED, LEFT_OPEN, NOT_TAKEN],
        [ANSWERED, LEFT_OPEN, NOT_ANSWERED],
        [LEFT_OPEN, NOT_TAKEN, NOT_TAKEN, NOT_TAKEN],
        [ANSWERED, LEFT_OPEN, NOT_TAKEN, NOT_ANSWERED, LEFT_OPEN, NOT_TAKEN],
    ],
)
def test_every_batch_takes_place_once_in_its_order(
    monkeypatch: pytest.MonkeyPatch, commits: list[str]
) -> None:
    cluster = FakeCluster(commits)
    delivery = delivery_to(cluster, monkeypatch)
    for number in range(3):
        deliver(delivery, number)
        assert delivery.length == len(cluster.records)
    assert cluster.committed_numbers == [0, 1, 2, 3]
    assert not cluster.commits


def test_what_a_journal_that_was_made_anew_does_not_hold_is_not_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = FakeCluster()
    delivery = delivery_to(cluster, monkeypatch)
    deliver(delivery, 0)
    cluster.records.clear()
    cluster.commits = [NOT_TAKEN]
    deliver(delivery, 1)
    assert cluster.committed_numbers == [2]
