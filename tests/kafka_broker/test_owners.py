"""One worker at a time: whoever was taken over from stops, and can change nothing of its successor's."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from stream_bayes.errors import Fenced
from stream_bayes.kafka.clients.connection import CLIENTS
from stream_bayes.kafka.transactions import TAKEOVER_GRACE
from stream_bayes.streams.engine.progress import Progress
from tests.kafka_broker.topics import Pipeline, days
from tests.waiting import until

TAKE_OVER = 20.0  # seconds on a machine with much else to do; it takes one or two where there is nothing


@contextmanager
def steady_writes(pipeline: Pipeline) -> Iterator[None]:
    """Write records to the topic, a hundred every 20 milliseconds or so."""
    stopped = threading.Event()

    def write() -> None:
        for seed in count():
            pipeline.kafka_topics.put(pipeline.topic, days(100, seed=seed))
            if stopped.wait(0.02):
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        stopped.set()
        writer.join()


def test_a_worker_that_wakes_up_after_its_successor_began_stops_and_changes_nothing(
    pipeline: Pipeline,
) -> None:
    pipeline.kafka_topics.put(pipeline.topic, days(600))
    stopped_worker = pipeline.start(
        every_events=10_000
    )  # not stopped while it holds the lock of the snapshots
    until("600 records to be committed", lambda: pipeline.committed_count() == 600)
    stopped_worker.send_signal(signal.SIGSTOP)
    successor = pipeline.start()
    pipeline.kafka_topics.put(pipeline.topic, days(400, seed=8))
    until("1000 records to be committed", lambda: pipeline.committed_count() == 1000)
    stopped_worker.send_signal(signal.SIGCONT)
    pipeline.kafka_topics.put(pipeline.topic, days(200, seed=9))
    assert stopped_worker.ended() == 1
    wrong = stopped_worker.stderr_text()
    assert "another worker has taken over" in wrong or "another process has taken over" in wrong
    until("1200 records to be committed", lambda: pipeline.committed_count() == 1200)
    successor.send_signal(signal.SIGTERM)
    assert successor.outcome()["taken"] == 1200
    pipeline.check(1200)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_busy_worker_is_taken_over_from_at_once_and_looked_at_without_waiting(
    pipeline: Pipeline, client: str
) -> None:
    with steady_writes(pipeline):
        busy = pipeline.start(batch=10, every_events=10_000, client=client)
        until("some commits", lambda: pipeline.committed_count() > 200)
        began = time.monotonic()
        pipeline.engine(client=client).preview()
        looked = time.monotonic() - began
        successor = pipeline.start(batch=10, client=client)
        assert busy.ended() == 1 and "has taken over" in busy.stderr_text()
        took = time.monotonic() - began - looked
        assert (looked < TAKE_OVER, took < TAKE_OVER) == (True, True), f"{looked:.1f} and {took:.1f} seconds"
    everything = sum(pipeline.kafka_topics.end(pipeline.topic, number) for number in range(2))
    until("all to be committed", lambda: pipeline.committed_count() == everything)
    successor.send_signal(signal.SIGTERM)
    assert successor.outcome()["taken"] == everything
    pipeline.check(everything)
    print(f"{client}: looked at in {looked:.1f} seconds, taken over from in {took:.1f}")


def test_a_successor_that_is_slow_to_write_its_first_entry_takes_over_all_the_same(
    pipeline: Pipeline,
) -> None:
    with steady_writes(pipeline):
        busy = pipeline.start(batch=10, every_events=10_000)
        until("some commits", lambda: pipeline.committed_count() > 200)
        successor: Any = pipeline.engine()
        fence = successor.recovery.delivery._fence

        def fence_slowly() -> None:
            fence()
            time.sleep(2 * TAKEOVER_GRACE)

        successor.recovery.delivery._fence = fence_slowly
        successor.run(50)
        assert busy.ended() == 1 and "has taken over" in busy.stderr_text()
    pipeline.check(pipeline.committed_count())


def test_the_group_stores_positions_and_has_no_members(pipeline: Pipeline) -> None:
    pipeline.kafka_topics.put(pipeline.topic, days(100))
    engine = pipeline.engine(batch=50)
    members: list[object] = []

    def look(_: Progress) -> None:
        (told,) = pipeline.kafka_topics.admin.describe_groups([pipeline.name]).values()
        members.append(told["members"])

    engine.watch(look)
    engine.run(100)
    assert len(members) >= 2 and not any(members)
    assert pipeline.committed_count() == 100


def test_sigterm_in_the_middle_of_batches_ends_with_a_commit_and_a_snapshot(pipeline: Pipeline) -> None:
    pipeline.kafka_topics.put(pipeline.topic, days(3000))
    worker = pipeline.start(batch=20)
    until("a commit", lambda: pipeline.committed_count() > 0)
    worker.send_signal(signal.SIGTERM)
    taken = worker.outcome()["taken"]
    assert taken == pipeline.committed_count() == pipeline.newest_snapshot().clock
    pipeline.finish(3000)
    pipeline.check(3000)


def test_the_journal_is_cut_off_below_the_oldest_snapshot_and_still_enough(pipeline: Pipeline) -> None:
    pipeline.kafka_topics.put(pipeline.topic, days(2000))
    pipeline.run(limit=1000, keep=2, every_events=200)
    kept = [json.loads(record.value) for record in pipeline.kafka_topics.get(pipeline.journal)]
    assert any(entry.get("positions") for entry in kept)
    assert kept[0]["number"] > 0
    pipeline.dies(end_at=["commit", 6], keep=2, every_events=10_000)
    assert pipeline.finish(2000, keep=2)["replayed"] > 0
    answers = pipeline.output_positions()
    assert len(answers) == len(set(answers)) == 2000


def test_a_worker_that_was_taken_over_from_cannot_cut_the_journal_off(pipeline: Pipeline) -> None:
    pipeline.kafka_topics.put(pipeline.topic, days(300))
    first = pipeline.engine(batch=50)
    begins: list[int] = []

    def be_taken_over_from(progress: Progress) -> None:
        if progress.processed >= 100:
            pipeline.engine().run(0)
            begins.append(pipeline.kafka_topics.get(pipeline.journal)[0].offset)
            assert first.recovery is not None and first.recovery.length
            first.recovery.prune(first.recovery.length, first.positions)

    first.watch(be_taken_over_from)
    with pytest.raises(Fenced, match="another worker has taken over"):
        first.run(300)
    assert [pipeline.kafka_topics.get(pipeline.journal)[0].offset] == begins
    pipeline.finish(300)
    pipeline.check(300)
