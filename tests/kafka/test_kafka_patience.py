"""What goes away by itself is asked for again; what does not is given up, after so many attempts and so long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kafka.errors import (
    CoordinatorLoadInProgressError,
    GroupAuthorizationFailedError,
    NoError,
    NotCoordinatorError,
)
from kafka.structs import OffsetAndMetadata

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import BrokerAway, BrokerError, SinkError
from stream_bayes.kafka import cluster as cluster_module
from stream_bayes.kafka import transactions as transactions_module
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.cluster import Cluster
from stream_bayes.kafka.transactions import Transactions
from tests.kafka.fake_broker import NoLog

CONNECTION = Connection(servers=("nobody:9092",))
DAYS = Partition("days")


class Admin:
    """Answers with what it is told to."""

    def __init__(self, fault: type[Exception]) -> None:
        self.fault = fault
        self.closed = False

    def alter_group_offsets(
        self, group: str, args: dict[Any, OffsetAndMetadata]
    ) -> dict[Any, type[Exception]]:
        return dict.fromkeys(args, self.fault)

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        code = getattr(self.fault, "errno", 0)
        return [
            {"name": name, "error_code": code, "partitions": [0, 1], "topic_id": "b9a4"} for name in names
        ]

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def cluster_with_faults(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Cluster, list[Admin]]]:
    """A cluster of which each client in turn meets one of these faults."""

    def cluster_with(*faults: type[Exception]) -> tuple[Cluster, list[Admin]]:
        admins = [Admin(fault) for fault in faults]
        left = iter(admins)
        monkeypatch.setattr(cluster_module, "make_client", lambda *args, **settings: next(left))
        monkeypatch.setattr(cluster_module, "RETRY_PAUSE", 0.0)
        return Cluster(CONNECTION), admins

    return cluster_with


def test_positions_are_stored_once_the_coordinator_has_loaded_or_was_found(
    cluster_with_faults: Callable[..., tuple[Cluster, list[Admin]]],
) -> None:
    cluster, admins = cluster_with_faults(CoordinatorLoadInProgressError, NotCoordinatorError, NoError)
    cluster.commit_offsets("group", {DAYS: 3})
    # One that knows an old coordinator would ask it again.
    assert [admin.closed for admin in admins] == [True, True, False]


def test_positions_that_may_not_be_stored_are_told_at_once(
    cluster_with_faults: Callable[..., tuple[Cluster, list[Admin]]],
) -> None:
    cluster, _ = cluster_with_faults(GroupAuthorizationFailedError)
    with pytest.raises(BrokerError, match="could not be stored: GroupAuthorizationFailedError"):
        cluster.commit_offsets("group", {DAYS: 3})


def test_topics_are_told_of_once_the_cluster_knows_them_again(
    cluster_with_faults: Callable[..., tuple[Cluster, list[Admin]]],
) -> None:
    cluster, _ = cluster_with_faults(CoordinatorLoadInProgressError, NoError)
    assert cluster.topics(["days"])["days"].partitions == 2


class Delivery(Transactions):
    """Transactions of which none takes place, in a time that passes only while one waits."""

    def __init__(self, attempt_seconds: float) -> None:
        self.now = 0.0
        self.attempt_seconds = attempt_seconds
        self.attempts = 0
        self.away_until = 0.0
        super().__init__(CONNECTION, "days", NoLog(), sleep=self.wait, clock=lambda: self.now)

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def _transact(self, *args: Any) -> None:
        self.attempts += 1
        self.now += self.attempt_seconds
        raise Interrupted("no answer")

    def _recover(self, *args: Any) -> bool:
        if self.now < self.away_until:
            self.now += self.attempt_seconds
            raise BrokerAway("nobody")
        return False


@pytest.mark.parametrize("seconds", [0.0, 10.0, 100.0])
def test_a_batch_that_a_cluster_does_not_take_is_given_up_after_so_many_attempts_and_so_long(
    seconds: float,
) -> None:
    delivery = Delivery(seconds)
    with pytest.raises(SinkError, match=r"was not taken in \d+ attempts and \d+ seconds.*: no answer"):
        delivery._deliver((), ())
    assert delivery.attempts >= transactions_module.MAX_FAILURES
    assert delivery.now >= transactions_module.MAX_RETRY_SECONDS
    assert delivery.waiting and delivery.resends == delivery.attempts


def test_the_time_without_any_broker_does_not_count() -> None:
    delivery = Delivery(10.0)
    delivery.away_until = 10 * transactions_module.MAX_RETRY_SECONDS
    with pytest.raises(SinkError):
        delivery._deliver((), ())
    assert delivery.now >= delivery.away_until + transactions_module.MAX_RETRY_SECONDS


def test_a_worker_that_is_to_end_waits_for_one_more_attempt_only() -> None:
    delivery = Delivery(1.0)
    delivery.interrupt()
    with pytest.raises(BrokerAway, match="was stopped while no broker accepted its results"):
        delivery._deliver((), ())
    assert delivery.attempts == 2
