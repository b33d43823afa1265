"""Shards of a worker that end: started again, dropped, or an error of the worker."""

from __future__ import annotations

import time
from typing import Any

import pytest

from stream_bayes import NaiveBayes
from stream_bayes.errors import BrokerAway, Fenced, SourceError
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.workers import worker as module
from stream_bayes.workers.assignment_check import AssignmentCheck
from stream_bayes.workers.shard_counts import ShardCounts
from stream_bayes.workers.total import Total
from stream_bayes.workers.worker import Worker


class Ending:
    """A shard that has ended with an error, or runs."""

    def __init__(self, number: int, failure: BaseException | None) -> None:
        self.number, self.failure = number, failure
        self.has_ended = failure is not None
        self.is_fenced = isinstance(failure, Fenced)
        self.counts = ShardCounts()
        self.publisher: Any = type("Publisher", (), {})()

    def start(self) -> None:
        pass


class Following:
    """The other shards, of which only ownership matters."""

    def __init__(self) -> None:
        self.own_shards: set[int] = set()

    def own(self, shard: int) -> None:
        self.own_shards.add(shard)

    def release(self, shard: int) -> None:
        self.own_shards.discard(shard)


def worker_of(failures: list[BaseException | None]) -> tuple[Worker, Following]:
    """Return a worker with shard 3 assigned, whose starts end with these errors in turn."""
    left: list[Any] = list(failures)

    def make(number: int, until_end: bool) -> Any:
        return Ending(number, left.pop(0))

    worker = Worker(
        "p",
        Connection(servers=("nowhere:1",), client="kafka-python"),
        4,
        Total(NaiveBayes()),
        prepare=lambda: "p.journal",
        make_replicas=lambda: None,  # type: ignore[arg-type, return-value]  # set below
        make_shard=make,
    )
    following: Any = Following()
    worker.replicas = following
    worker._on_assigned(frozenset({3}))
    return worker, following


@pytest.mark.parametrize("failure", [BrokerAway("no broker"), Interrupted("timed out")])
def test_a_shard_that_finds_no_broker_is_started_again(
    failure: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RESTART_SECONDS", 0.01)
    worker, following = worker_of([failure, failure, None])
    for _ in range(3):
        worker._check_shards()
        worker._check_shards()
        time.sleep(0.02)
    assert not worker.owned[3].has_ended
    assert following.own_shards == {3}


def test_a_shard_with_another_error_ends_the_worker_and_one_that_was_fenced_is_dropped() -> None:
    worker, _ = worker_of([SourceError("partitions were added")])
    worker._check_shards()
    with pytest.raises(SourceError, match="partitions were added"):
        worker._check_shards()
    worker, following = worker_of([Fenced("another worker")])
    worker._check_shards()
    worker._check_shards()
    assert not worker.owned
    assert not following.own_shards


class Recording:
    """A membership, and a cluster, that record what is asked of them."""

    def __init__(self, worker: Worker, calls: list[Any], failure: BaseException | None = None) -> None:
        self._worker, self._calls, self._failure = worker, calls, failure

    member_id = "member-7"

    def poll(self, seconds: float) -> None:
        if self._failure is not None:
            raise self._failure
        self._worker.stop()

    def close(self) -> None:
        self._calls.append("closed")

    def remove_member(self, group: str, member: Any, seconds: float) -> None:
        self._calls.append((group, member.member_id, member.instance_id))


@pytest.mark.parametrize(
    ("instance_id", "failure", "expected"),
    [
        ("a", None, ["released", "closed", ("p", "member-7", "a")]),
        (None, None, ["released", "closed"]),  # its client leaves by itself
        ("a", Fenced("another worker has the instance id"), ["released", "closed"]),
    ],
)
def test_a_worker_that_is_stopped_is_not_ready_releases_its_shards_and_then_leaves_the_group(
    monkeypatch: pytest.MonkeyPatch,
    instance_id: str | None,
    failure: BaseException | None,
    expected: list[Any],
) -> None:
    worker: Any = worker_of([])[0]
    worker.instance_id = instance_id
    calls: list[Any] = []
    recording = Recording(worker, calls, failure)
    monkeypatch.setattr(module, "join", lambda subscription: recording)
    monkeypatch.setattr(module, "Cluster", lambda connection: recording)
    monkeypatch.setattr(AssignmentCheck, "check", lambda check: None)
    replicas = type("Replicas", (), {"failure": None, "wait_until_current": lambda *_: True})
    replicas.start = replicas.stop = lambda *_: None  # type: ignore[attr-defined]  # made here
    worker._make_replicas = replicas
    worker._check_shards = lambda: None

    def release(numbers: set[int], seconds: float) -> None:
        assert not worker.healthy
        calls.append("released")

    worker._release = release
    if failure is None:
        worker.run()
    else:
        with pytest.raises(type(failure)):
            worker.run()
    assert calls[: len(expected)] == expected and calls.count("closed") == 2  # the cluster's connections too
