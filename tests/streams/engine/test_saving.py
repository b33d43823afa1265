"""Snapshots are due when they should be, and writing them neither stops the stream nor hides what went wrong."""

from __future__ import annotations

import errno
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.errors import BadValue, NotOwner, SnapshotNotWritten
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.engine.saving import Schedule, SnapshotWriter
from stream_bayes.testing.faults import Crash, FaultyStore
from tests.saving.snapshots.numbered_snapshots import counted, newest, owned, stored_numbers


class Later(Executor):
    """Runs nothing before it is told to: threads without their timing."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def submit(self, what: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(what(*arguments, **named))
            except BaseException as error:
                future.set_exception(error)

        self.waiting.append(run)
        return future

    def run(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()


# -- when -----------------------------------------------------------------------------------------------------------


def test_the_first_snapshot_is_due_at_once() -> None:
    for schedule in (Schedule(), Schedule(every_events=10), Schedule(every_seconds=10.0)):
        assert schedule.due(0, 0.0)
        schedule.mark_taken(0, 0.0)
        assert not schedule.due(0, 0.0)


@given(st.integers(1, 50), st.lists(st.integers(0, 20), max_size=60))
def test_by_events_no_more_than_so_many_are_ever_without_a_snapshot(every: int, batches: list[int]) -> None:
    schedule = Schedule(every_events=every)
    schedule.mark_taken(0, 0.0)
    events = last = 0
    for batch in batches:
        events += batch
        assert schedule.due(events, 0.0) == (events - last >= every)
        if schedule.due(events, 0.0):
            schedule.mark_taken(events, 0.0)
            last = events


def test_by_time_one_is_due_after_so_many_seconds_if_there_was_an_event() -> None:
    schedule = Schedule(every_seconds=60.0)
    schedule.mark_taken(5, 100.0)
    assert not schedule.due(9, 159.9)
    assert schedule.due(9, 160.0)
    assert not schedule.due(5, 1000.0)
    assert schedule.due(6, 1000.0)


def test_the_last_one_is_due_when_there_is_something_new() -> None:
    schedule = Schedule(every_events=10)
    assert schedule.due_at_end(0)
    schedule.mark_taken(7, 0.0)
    assert not schedule.due_at_end(7)
    assert schedule.due_at_end(8)
    never = Schedule(at_end=False)
    assert not never.due_at_end(3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"every_events": 0},
        {"every_events": 1.5},
        {"every_events": True},
        {"every_seconds": 0.0},
        {"every_seconds": -1.0},
        {"every_seconds": float("nan")},
    ],
)
def test_a_schedule_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadValue, match=next(iter(wrong))):
        Schedule(**wrong)


# -- writing --------------------------------------------------------------------------------------------------------


def test_the_stream_goes_on_while_a_snapshot_is_written_and_it_holds_the_moment_it_was_taken(
    tmp_path: Path,
) -> None:
    store, later = owned(tmp_path), Later()
    writer = SnapshotWriter(store, executor=later)
    table = np.zeros(3)
    assert writer.write(Snapshot.take(learner="C", sections={"learner": {"arrays": {"table": table}}}))
    assert writer.busy and store.list() == []
    table += 1.0
    later.run()
    assert not writer.busy
    assert (writer.written, writer.generation) == (1, 1)
    assert store.load(1).sections["learner"]["arrays"]["table"].tolist() == [0.0, 0.0, 0.0]


def test_one_is_written_at_a_time(tmp_path: Path) -> None:
    store, later = owned(tmp_path), Later()
    writer = SnapshotWriter(store, executor=later)
    assert writer.write(counted(1)) is True
    assert writer.write(counted(2)) is False
    later.run()
    assert writer.write(counted(3)) is True
    later.run()
    assert stored_numbers(store) == [1, 3]


def test_in_a_thread_of_its_own_all_that_was_begun_is_written_before_it_closes(tmp_path: Path) -> None:
    store = owned(tmp_path, keep=9)
    writer = SnapshotWriter(store)
    before = threading.active_count()
    begun = [number for number in range(20) if writer.write(counted(number))]
    writer.close()
    assert stored_numbers(store) == begun[-9:] and begun[0] == 0
    assert writer.written == len(begun) and writer.generation == len(begun)
    assert threading.active_count() <= before


def test_it_is_not_healthy_from_the_first_failure_to_the_next_snapshot(tmp_path: Path) -> None:
    store, later = FaultyStore(tmp_path), Later()
    store.take_over()
    writer = SnapshotWriter(store, executor=later)
    healthy = []
    for refusal in (None, errno.ENOSPC, None):
        store.faults.refusal = refusal
        assert writer.write(counted(1))
        later.run()
        writer.check()
        healthy.append(writer.healthy)
    assert healthy == [True, False, True]


def test_failures_are_counted_and_said_and_after_a_few_in_a_row_it_is_not_healthy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, later = FaultyStore(tmp_path), Later()
    store.take_over()
    writer = SnapshotWriter(store, most_failures=3, executor=later)

    def save(number: int) -> None:
        assert writer.write(counted(number))
        later.run()
        writer.check()

    save(1)
    store.faults.refusal = errno.ENOSPC
    for failed in (1, 2, 3, 4):
        assert writer.healthy is (failed <= 3)
        with caplog.at_level(logging.WARNING):
            save(9)
        assert (writer.failures, writer.failures_in_a_row) == (failed, failed)
        assert "No space left on device" in caplog.messages[-1]
        assert f"(failure {failed} in a row)" in caplog.messages[-1]
    assert not writer.healthy
    assert isinstance(writer.last_failure, SnapshotNotWritten)
    assert newest(store) == 1
    store.faults.refusal = None
    save(5)
    assert writer.healthy
    assert (writer.failures, writer.failures_in_a_row, writer.written) == (4, 0, 2)
    assert newest(store) == 5


@pytest.mark.parametrize("ask", ["check", "wait", "close", "write"])
def test_losing_the_directory_is_no_failure_to_live_with(tmp_path: Path, ask: str) -> None:
    store, later = owned(tmp_path), Later()
    writer = SnapshotWriter(store, executor=later)
    writer.write(counted(1))
    SnapshotStore(tmp_path).take_over()
    writer.check()  # it is not known yet
    later.run()
    with pytest.raises(NotOwner):
        writer.write(counted(2)) if ask == "write" else getattr(writer, ask)()
    assert writer.failures == 0


def test_a_crash_while_writing_in_the_thread_is_a_crash(tmp_path: Path) -> None:
    counting = FaultyStore(tmp_path / "counting")
    counting.take_over()
    store = FaultyStore(tmp_path / "crashing", crash_at=len(counting.faults.operations) + 4)
    store.take_over()
    writer = SnapshotWriter(store)
    writer.write(counted(1))
    with pytest.raises(Crash):
        writer.close()
    assert SnapshotStore(tmp_path / "crashing").latest() is None


@pytest.mark.parametrize("most", [0, -1, 1.5, True, None])
def test_a_number_of_failures_that_is_none_is_refused(tmp_path: Path, most: Any) -> None:
    with pytest.raises(BadValue, match="most_failures"):
        SnapshotWriter(SnapshotStore(tmp_path), most_failures=most)
