"""A transaction that the cluster takes for ended is ended in its partitions too, as it was decided."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.kafka import transactions as transactions_module
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.transactions import Transactions
from stream_bayes.kafka.transactions_in_doubt import CHECKS, is_in_doubt
from tests.kafka.fake_broker import NoLog

JOURNAL = Partition("days.journal")
PLACES = [JOURNAL, Partition("rain", 0), Partition("rain", 1)]


class FakeCluster:
    """Has partitions with records of open transactions in them, which may be decided some looks later."""

    def __init__(
        self,
        open_in: Iterable[Partition] = (),
        decided_after: int | None = None,
        states: Iterable[bool | None] = (),
    ) -> None:
        self.open_in = set(open_in)
        self.decided_after = decided_after
        self.states = list(states)
        self.looks = 0

    def was_committed(self, transactional_id: str) -> bool | None:
        assert transactional_id == "days.stream-bayes"
        return self.states.pop(0)

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, Position]:
        self.looks += 1
        if self.looks == self.decided_after:
            self.open_in.clear()
        return {partition: 7 if partition in self.open_in else 9 for partition in partitions}

    def high_watermarks(self, partitions: Iterable[Partition]) -> dict[Partition, Position]:
        return dict.fromkeys(partitions, 9)


class FakeWriter:
    """Ends what is open in those partitions that joined, and tells how."""

    def __init__(self, cluster: FakeCluster, calls: list[str], loses: Partition | None = None) -> None:
        self.cluster = cluster
        self.calls = calls
        self.loses = loses
        self.joined: set[Partition] = set()

    def fence(self) -> None:
        self.calls.append("fence")

    def begin(self) -> None:
        pass

    def add_partitions(self, partitions: Iterable[Partition], group: str) -> None:
        assert group == "days"
        self.joined = set(partitions) - {self.loses}

    def commit(self) -> None:
        self.calls.append("commit")
        self.cluster.open_in -= self.joined

    def abort(self) -> None:
        self.calls.append("abort")
        self.cluster.open_in -= self.joined

    def close(self) -> None:
        self.calls.append("close")


def delivery_over(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, loses: Partition | None = None
) -> tuple[Any, list[str]]:
    calls: list[str] = []
    for name in ("PythonWriter", "make_writer"):
        monkeypatch.setattr(transactions_module, name, lambda *_: FakeWriter(cluster, calls, loses))
    connection = Connection(servers=("nobody:9092",), client="confluent-kafka")
    delivery: Any = Transactions(connection, "days", NoLog(), sleep=lambda seconds: None)
    delivery.cluster = cluster
    delivery._partitions = {"rain": 2}
    return delivery, calls


def test_where_nothing_is_open_nothing_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster(states=[True])
    delivery, calls = delivery_over(cluster, monkeypatch)
    delivery._fence()
    assert calls == ["fence"] and cluster.looks == 1


def test_a_transaction_that_is_being_decided_is_waited_for() -> None:
    cluster: Any = FakeCluster([JOURNAL], decided_after=CHECKS // 2)
    assert not is_in_doubt(cluster, JOURNAL, lambda seconds: None)


@pytest.mark.parametrize(
    ("states", "ends"),
    [
        ([True], "commit"),
        ([False], "abort"),
        ([None], "commit"),
        ([True, None], "commit"),
        ([False, None], "abort"),
    ],
)
def test_one_that_stays_open_is_ended_as_it_was_decided_wherever_it_may_have_written(
    monkeypatch: pytest.MonkeyPatch, states: list[bool | None], ends: str
) -> None:
    cluster = FakeCluster(states=states)
    delivery, calls = delivery_over(cluster, monkeypatch)
    for _ in states[1:]:  # another attempt before, after which the cluster no longer says
        delivery._fence()
    calls.clear()
    cluster.open_in.update(PLACES)
    delivery._fence()
    assert calls == ["fence", "close", "fence", ends, "close", "fence"]
    assert not cluster.open_in and delivery._writer is not None


def test_one_that_cannot_be_ended_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    delivery, _ = delivery_over(FakeCluster([JOURNAL], states=[True]), monkeypatch, loses=JOURNAL)
    with pytest.raises(Interrupted, match=r"left open in days\.journal"):
        delivery._fence()
