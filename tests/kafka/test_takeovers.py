"""One owner at a time: a worker that wakes up in a commit neither answers again nor throws anybody out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stream_bayes.core.events.event import Partition, Slice
from stream_bayes.errors import BrokerAway, CannotResume, Fenced
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.delivery import RETRY_PAUSE
from stream_bayes.kafka.transactions import TAKEOVER_GRACE, TAKEOVER_POLL, Transactions
from stream_bayes.workers.shard import ShardTransactions
from tests.kafka.fake_broker import (
    AFTER_COMMIT,
    BEFORE_COMMIT,
    BEFORE_FENCE,
    NOT_ANSWERED,
    FakeCluster,
    FakeWriter,
    NoLog,
)
from tests.kafka.fake_pipeline import NAME, FakePipeline, killed_after
from tests.kafka_broker.topics import counted, days

SAMPLES = 40


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePipeline:
    pipeline = FakePipeline(tmp_path, monkeypatch)
    pipeline.broker.put(pipeline.topic, days(SAMPLES, partitions=1))
    return pipeline


def answered_once(pipeline: FakePipeline, count: int) -> None:
    assert pipeline.answers() == {(pipeline.topic, 0, position): 1 for position in range(count)}


def taken_over_at(pipeline: FakePipeline, point: str, then: Callable[[], None], taken: int = 10) -> Any:
    """Run a worker that is paused at a point of its third commit, while another takes over. Return its error."""
    worker = pipeline.engine()
    successors: list[Any] = []

    def pause() -> None:
        successors.append(pipeline.run(taken))
        then()

    def at_second(progress: Any) -> None:
        if progress.processed == 20:
            pipeline.broker.at(point, pipeline.id, pause)

    worker.watch(at_second)
    with pytest.raises(Fenced, match="another worker has taken over") as raised:
        worker.run(until_end=True)
    assert successors
    return raised.value


def lose_the_reply() -> None:
    raise Interrupted("no answer in 15 seconds")


@pytest.mark.parametrize("taken", [0, 1, 10])
@pytest.mark.parametrize("point", [BEFORE_COMMIT, NOT_ANSWERED, AFTER_COMMIT])
@pytest.mark.parametrize("then", [lose_the_reply, lambda: None], ids=["reply lost", "goes on"])
def test_a_worker_that_wakes_up_after_it_was_taken_over_stops_and_changes_nothing(
    pipeline: FakePipeline, point: str, then: Callable[[], None], taken: int
) -> None:
    fences: list[int] = []

    def woken() -> None:
        fences.append(pipeline.broker.producers[pipeline.id])
        then()

    taken_over_at(pipeline, point, woken, taken)
    assert [pipeline.broker.producers[pipeline.id]] == fences  # nobody was thrown out
    rest = pipeline.run()
    assert rest.step.processed == SAMPLES
    answered_once(pipeline, SAMPLES)


def test_a_worker_that_sleeps_between_its_look_at_the_journal_and_fencing_looks_again(
    pipeline: FakePipeline,
) -> None:
    worker = pipeline.engine()

    def take_over() -> None:
        pipeline.run(10)

    def pause_before_fencing() -> None:
        pipeline.broker.at(BEFORE_FENCE, pipeline.id, take_over)
        raise Interrupted("no answer in 15 seconds")

    def at_second(progress: Any) -> None:
        if progress.processed == 20:
            pipeline.broker.at(NOT_ANSWERED, pipeline.id, pause_before_fencing)

    worker.watch(at_second)
    with pytest.raises(Fenced):
        worker.run(until_end=True)
    pipeline.run()
    answered_once(pipeline, SAMPLES)


def test_a_worker_whose_reply_is_lost_goes_on_if_nobody_took_over(pipeline: FakePipeline) -> None:
    worker = pipeline.engine()

    def at_first(progress: Any) -> None:
        if progress.processed == 10:
            pipeline.broker.at(NOT_ANSWERED, pipeline.id, lose_the_reply)

    worker.watch(at_first)
    worker.run(until_end=True)
    answered_once(pipeline, SAMPLES)


def test_a_successor_that_is_paused_before_its_first_entry_does_not_answer_what_others_answered(
    pipeline: FakePipeline,
) -> None:
    pipeline.run(20)
    successor = pipeline.engine()

    def take_over() -> None:
        pipeline.run(10)

    pipeline.broker.at(BEFORE_COMMIT, pipeline.id, take_over)
    with pytest.raises(Fenced):
        successor.run(until_end=True)
    pipeline.run()
    answered_once(pipeline, SAMPLES)


@pytest.mark.parametrize("starts_after", [TAKEOVER_POLL, 2 * TAKEOVER_GRACE])
def test_a_worker_that_lost_its_epoch_waits_for_a_successor_that_is_still_starting(
    pipeline: FakePipeline, starts_after: float
) -> None:
    connection, slept = Connection(servers=("nobody:9092",)), [0.0]
    successor = Transactions(connection, "days", NoLog())

    def sleep(seconds: float) -> None:
        slept[0] += seconds
        if slept[0] > RETRY_PAUSE + starts_after and successor.length == 0:
            successor.open()

    worker = Transactions(connection, "days", NoLog(), sleep=sleep)
    worker.open()
    pipeline.broker.at(BEFORE_COMMIT, pipeline.id, FakeWriter(pipeline.broker, pipeline.id).fence)
    worker.begin()
    with pytest.raises(Fenced):
        worker.commit([Slice(Partition("weather"), 0, 10)])
    successor.begin()
    successor.commit([Slice(Partition("weather"), 0, 10)])
    assert successor.resends == 0  # it was not thrown out


# -- journals that hold a range twice ----------------------------------------------------------------------------------


def append_entry(pipeline: FakePipeline, *slices: tuple[str, int, int, int], tape: bytes = b"") -> None:
    """Write a journal's entry, as a worker did that answered although another had taken over."""
    last = msgspec.json.decode(pipeline.broker.records(pipeline.journal)[-1].value or b"")
    entry = {"format": 1, "worker": "woken", "number": 7, "slices": slices, "tape": tape}
    assert last["format"] == 1
    log = pipeline.broker.logs[Partition(pipeline.journal)]
    log.append(None, msgspec.json.encode(entry), 1.7e9)


@pytest.mark.parametrize("again", [(10, 20), (15, 20), (5, 15)])
def test_a_range_that_two_workers_answered_is_learned_once_and_said(
    pipeline: FakePipeline, caplog: pytest.LogCaptureFixture, again: tuple[int, int]
) -> None:
    killed_after(pipeline, 20)
    append_entry(pipeline, (pipeline.topic, 0, *again))
    rest = pipeline.run()
    assert rest.step.processed == rest.step.learned == SAMPLES
    assert f"holds weather[0] from {again[0]} to {again[1] - 1} twice" in caplog.text
    assert counted(rest)["stream_bayes_repeated_ranges_total"] == 1
    answered_once(pipeline, SAMPLES)  # the second answers of 10 to 19 are not in this topic


def test_a_range_of_which_a_part_was_answered_goes_on_after_that(pipeline: FakePipeline) -> None:
    killed_after(pipeline, 20)
    append_entry(pipeline, (pipeline.topic, 0, 15, 25))
    pipeline.broker.groups["days"][Partition(pipeline.topic)] = 25
    rest = pipeline.run()
    assert rest.step.processed == rest.step.learned == SAMPLES
    assert pipeline.broker.groups["days"][Partition(pipeline.topic)] == SAMPLES


def test_a_part_of_a_batch_with_recorded_answers_is_refused(pipeline: FakePipeline) -> None:
    killed_after(pipeline, 20)
    append_entry(pipeline, (pipeline.topic, 0, 15, 25), tape=b"answers")
    pipeline.broker.groups["days"][Partition(pipeline.topic)] = 25
    with pytest.raises(CannotResume, match=r"weather\[0\] from 20 to 24 are left to replay"):
        pipeline.run()


def test_a_journal_from_which_an_entry_was_removed_is_refused(pipeline: FakePipeline) -> None:
    killed_after(pipeline, 30)
    log = pipeline.broker.logs[Partition(pipeline.journal)]
    entries = [record.offset for record in log.stored if record.is_readable]
    log.remove(entries[2])  # of 10 to 19
    with pytest.raises(CannotResume, match="the positions from 10 on are in no entry before"):
        pipeline.run()


# -- a shard of a pipeline with [workers] ------------------------------------------------------------------------------


def shard_delivery(pipeline: FakePipeline) -> ShardTransactions:
    """Return the delivery of a worker's shard that publishes nothing."""
    nothing: Any = type("Nothing", (), {"collect": lambda *_, **__: []})()
    delivery = ShardTransactions(
        Connection(servers=("nobody:9092",)), "days", NoLog(), shard=1, sleep=lambda seconds: None
    )
    delivery.store = delivery.publisher = nothing
    delivery.take_tape = lambda: b"answers"
    delivery.topics.append("answers")
    return delivery


def deliver(delivery: ShardTransactions, start: int) -> None:
    delivery.begin()
    delivery.send(("answers", 0, None, b"%d" % start, []))
    delivery.commit([Slice(Partition("weather", 1), start, start + 10)])


@pytest.mark.parametrize("point", [BEFORE_COMMIT, NOT_ANSWERED, AFTER_COMMIT])
def test_a_shard_that_another_worker_took_over_answers_nothing_again(
    pipeline: FakePipeline, point: str
) -> None:
    pipeline.broker.topic("days.journal", 2)
    worker, successor = shard_delivery(pipeline), shard_delivery(pipeline)
    worker.open()
    deliver(worker, 0)

    def pause() -> None:
        successor.open()
        deliver(successor, 20)
        lose_the_reply()

    pipeline.broker.at(point, worker.transactional_id, pause)
    with pytest.raises(Fenced):
        deliver(worker, 10)
    assert pipeline.broker.producers[worker.transactional_id] == 1  # the successor's: it was not thrown out
    deliver(successor, 30)
    answers = [int(record.value or b"") for record in pipeline.broker.records("answers")]
    assert answers == ([0, 20, 30] if point == BEFORE_COMMIT else [0, 10, 20, 30])


def test_a_batch_whose_commit_was_not_answered_is_found_again_after_the_fencing_fails(
    pipeline: FakePipeline,
) -> None:
    worker = pipeline.engine()

    def at_second(progress: Any) -> None:
        if progress.processed == 20:
            pipeline.broker.at(NOT_ANSWERED, pipeline.id, lose_the_reply)
            pipeline.broker.at(BEFORE_FENCE, pipeline.id, lose_the_reply)

    worker.watch(at_second)
    worker.run(until_end=True)
    answered_once(pipeline, SAMPLES)


def test_positions_that_a_slower_worker_moved_back_are_committed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch, delivery="at-least-once")
    pipeline.broker.put(pipeline.topic, days(SAMPLES, partitions=1))
    pipeline.run()
    partition = Partition(pipeline.topic, 0)
    connection = Connection(servers=("nobody:9092",))
    FakeCluster(pipeline.broker, connection).commit_offsets(NAME, {partition: 10})
    assert pipeline.run().step.processed == SAMPLES
    assert pipeline.broker.groups[NAME][partition] == SAMPLES
    pipeline.broker.groups[NAME][partition] = 20  # by an operator's tool
    with pytest.raises(CannotResume, match="they were moved back"):
        pipeline.run()


def test_positions_wait_for_their_second_and_are_committed_before_each_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch, delivery="at-least-once", every_events=20)
    pipeline.broker.put(pipeline.topic, days(SAMPLES, partitions=1))
    committed: list[int] = []
    commit = FakeCluster.commit_offsets

    def record(self: FakeCluster, group: str, positions: Mapping[Partition, int]) -> None:
        committed.extend(positions.values())
        commit(self, group, positions)

    monkeypatch.setattr(FakeCluster, "commit_offsets", record)
    engine: Any = pipeline.engine()
    delivery = engine.recovery._delivery
    delivery._clock, delivery._committed_at = (lambda: 0.0), 0.0
    engine.run(until_end=True)
    assert committed == [20, 40]


def test_positions_are_committed_after_the_results_before_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch, delivery="at-least-once")
    pipeline.broker.put(pipeline.topic, days(SAMPLES, partitions=1))
    answered: list[tuple[int, int]] = []
    commit = FakeCluster.commit_offsets

    def record(self: FakeCluster, group: str, positions: Mapping[Partition, int]) -> None:
        answered.append((positions[Partition(pipeline.topic)], pipeline.answers().total()))
        commit(self, group, positions)

    monkeypatch.setattr(FakeCluster, "commit_offsets", record)
    engine: Any = pipeline.engine()
    delivery = engine.recovery._delivery
    delivery._clock, delivery._committed_at = count(step=2).__next__, -2  # each batch is due
    engine.run(until_end=True)
    assert answered == [(position, position) for position in range(10, SAMPLES + 1, 10)]


def test_a_commit_of_positions_that_fails_repeats_no_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch, delivery="at-least-once")
    pipeline.broker.put(pipeline.topic, days(SAMPLES, partitions=1))
    engine: Any = pipeline.engine()
    commit, failures = FakeCluster.commit_offsets, iter([BrokerAway("no answer in 15 seconds")])

    def fail_once(self: FakeCluster, group: str, positions: Mapping[Partition, int]) -> None:
        for error in failures:
            raise error
        commit(self, group, positions)

    monkeypatch.setattr(FakeCluster, "commit_offsets", fail_once)
    engine.run(until_end=True)
    assert next(failures, None) is None
    answered_once(pipeline, SAMPLES)
    assert pipeline.broker.groups[NAME][Partition(pipeline.topic)] == SAMPLES
