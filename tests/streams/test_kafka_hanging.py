"""A transaction that the cluster takes for ended is ended in its partitions too, before anything is sent again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from stream_bayes.core.event import Partition, Position
from stream_bayes.streams.kafka.hanging import LOOKS, end_what_hangs
from stream_bayes.streams.kafka.transport import Interrupted, Send

JOURNAL = Partition("days.journal")
OUTPUTS = [Partition("rain", 0), Partition("rain", 1), Partition("letters", 0)]


class FakeCluster:
    """Has partitions with records of open transactions in them, which may be decided some looks later."""

    def __init__(self, open_in: Iterable[Partition] = (), decided_after: int | None = None) -> None:
        self.open_in = set(open_in)
        self.decided_after = decided_after
        self.looks = 0

    def ends(self, partitions: Iterable[Partition]) -> dict[Partition, Position]:
        self.looks += 1
        if self.looks == self.decided_after:
            self.open_in.clear()
        return {partition: 7 if partition in self.open_in else 9 for partition in partitions}

    def lengths(self, partitions: Iterable[Partition]) -> dict[Partition, Position]:
        return dict.fromkeys(partitions, 9)


class FakeWriter:
    """Ends what is open in those partitions to which something came before the end."""

    def __init__(self, cluster: FakeCluster, loses: Partition | None = None) -> None:
        self.cluster = cluster
        self.loses = loses
        self.queued: set[Partition] = set()
        self.come: set[Partition] = set()
        self.groups: list[str] = []
        self.ended = False

    def begin(self) -> None:
        assert not self.ended

    def send_all(self, sends: Iterable[Send]) -> None:
        self.queued.update(Partition(topic, number) for topic, number, *_ in sends)

    def offsets(self, group: str, positions: Mapping[Partition, Position]) -> None:
        self.groups.append(group)

    def flush(self) -> None:
        self.come |= self.queued - {self.loses}

    def abort(self) -> None:
        self.ended = True
        self.cluster.open_in -= self.come


def tidied(cluster: FakeCluster, **told: Any) -> FakeWriter:
    writer: Any = FakeWriter(cluster, **told)
    where: Any = cluster
    end_what_hangs(where, writer, JOURNAL, OUTPUTS, "days", lambda seconds: None)
    return writer


def test_where_nothing_is_open_nothing_is_written() -> None:
    cluster = FakeCluster()
    assert not tidied(cluster).ended
    assert cluster.looks == 1


def test_a_transaction_that_is_being_decided_is_waited_for() -> None:
    assert not tidied(FakeCluster([JOURNAL], decided_after=LOOKS // 2)).ended


def test_one_that_stays_open_is_ended_wherever_it_may_have_written() -> None:
    cluster = FakeCluster([JOURNAL, *OUTPUTS])
    writer = tidied(cluster)
    assert writer.ended and not cluster.open_in
    assert writer.groups == ["days"]


def test_one_that_cannot_be_ended_is_told_of() -> None:
    with pytest.raises(Interrupted, match=r"left open in days\.journal"):
        tidied(FakeCluster([JOURNAL]), loses=JOURNAL)
