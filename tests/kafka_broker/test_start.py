"""A start goes on only where log, committed positions and snapshot belong together; else it says what to do."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.structs import OffsetAndMetadata

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import BrokerAway, BrokerError, CannotResume
from stream_bayes.kafka.clients.connection import CLIENTS, Connection
from stream_bayes.kafka.cluster import Cluster
from stream_bayes.kafka.transactions import VISIBLE_AFTER
from tests.kafka_broker.topics import KafkaTopics, Pipeline, counted, days, fenced
from tests.ports import unanswered
from tests.waiting import TO_BEGIN, until, within


@pytest.fixture
def begun(pipeline: Pipeline) -> Pipeline:
    """A pipeline that has taken 500 records of 600."""
    pipeline.kafka_topics.put(pipeline.topic, days(600))
    pipeline.engine().run(500)
    assert (
        pipeline.committed_count() == 500
    )  # all of it is decided: nothing that a test changes is changed again
    return pipeline


def test_a_start_waits_until_what_the_worker_before_has_committed_can_be_read(begun: Pipeline) -> None:
    engine: Any = begun.engine()
    delivery = engine.recovery.delivery
    deciding = iter([True, True, False])
    slept: list[float] = []
    delivery.cluster.is_deciding = lambda name: name == delivery.transactional_id and next(deciding)
    make_plan, slept_before = engine.recovery._plan, []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        time.sleep(seconds)

    def plan(*arguments: Any) -> Any:
        slept_before.append(len(slept))
        return make_plan(*arguments)

    delivery._sleep = sleep
    engine.recovery._plan = plan
    engine.run(100)
    assert slept[:2] == [VISIBLE_AFTER] * 2 and slept_before[0] == 2
    begun.check(600)


def test_whether_a_transaction_is_being_decided_is_told_of_one_that_is_there(
    kafka_topics: KafkaTopics,
) -> None:
    topic = kafka_topics.topic(1)
    connection = Connection(servers=(kafka_topics.servers,), seconds=TO_BEGIN)
    cluster = Cluster(connection)
    assert not cluster.is_deciding(f"{topic}-writer")  # there is none
    writer = fenced(connection, f"{topic}-writer", 60.0)
    try:
        for number in range(20):
            writer.begin()
            writer.send(topic, 0, None, b"one")
            assert not cluster.is_deciding(f"{topic}-writer")  # it is open
            writer.commit()
            until("it to be decided", lambda: not cluster.is_deciding(f"{topic}-writer"))
            # Its end takes a place too.
            assert cluster.end_offsets([Partition(topic)]) == {Partition(topic): 2 * (number + 1)}
    finally:
        writer.close()
        cluster.close()


def test_committed_results_without_a_snapshot_are_not_begun_anew(begun: Pipeline) -> None:
    shutil.rmtree(begun.told["directory"])
    with pytest.raises(CannotResume, match="there is no snapshot: its model is lost"):
        begun.engine().run(100)
    assert len(begun.output_positions()) == 500


def test_rebuild_reads_the_log_again_and_writes_nothing_twice(begun: Pipeline) -> None:
    shutil.rmtree(begun.told["directory"])
    before = begun.slices()
    stops = begun.kafka_topics.committed(begun.name)
    progress = begun.engine().run(100, rebuild=True)
    assert (progress.processed, progress.replayed) == (600, 500)
    merged = [(*place, 0, stop) for place, stop in sorted(stops.items())]  # by time, whatever the order was
    begun.check(600, [merged, *(slices for slices in begun.slices() if slices not in before)])


def test_a_worker_is_not_ready_before_it_has_replayed(begun: Pipeline) -> None:
    shutil.rmtree(begun.told["directory"])
    engine: Any = begun.engine()
    process = engine.step.process
    seen: list[tuple[bool, bool]] = []

    def noted(records: Any) -> None:
        seen.append((engine.step.processed >= 500, engine.healthy))
        process(records)

    engine.step.process = noted
    engine.run(100, rebuild=True)
    assert set(seen) == {(False, False), (True, True)}


def test_rebuild_needs_neither_journal_nor_snapshot_to_write_nothing_twice(begun: Pipeline) -> None:
    begun.kafka_topics.delete(begun.journal)
    with pytest.raises(CannotResume, match=r"the journal of .* is gone"):
        begun.engine().run(100)
    assert begun.engine().run(100, rebuild=True).replayed == 500
    answers = begun.output_positions()
    assert len(answers) == len(set(answers)) == 600


def test_lost_positions_of_the_group_are_stored_again_from_the_journal(begun: Pipeline) -> None:
    begun.kafka_topics.admin.delete_groups([begun.name])
    assert begun.kafka_topics.committed(begun.name) == {}
    begun.engine().run(0)
    assert sum(begun.kafka_topics.committed(begun.name).values()) == 500
    begun.engine().run(100)
    begun.check(600)


def test_positions_that_were_moved_back_are_refused(begun: Pipeline) -> None:
    place = TopicPartition(begun.topic, 0)
    begun.kafka_topics.admin.alter_group_offsets(begun.name, {place: OffsetAndMetadata(3, "", -1)})
    with pytest.raises(CannotResume, match=r"\[0\] at 3, below those of the snapshot"):
        begun.engine().run(100)


@pytest.mark.parametrize("client", CLIENTS)
def test_expired_positions_are_refused_or_counted_as_a_gap(begun: Pipeline, client: str) -> None:
    first = begun.newest_snapshot().positions
    place, at = next((place, at) for place, at in first.items())
    begun.kafka_topics.put(begun.topic, days(200, seed=8))
    begun.kafka_topics.admin.delete_records({TopicPartition(*place): at + 20})
    with pytest.raises(CannotResume, match=r"20 positions have expired unread\. Start with --accept-gap"):
        begun.engine().run(100)
    engine = begun.engine(accept_gap=True, client=client)
    assert engine.run(280).processed == 780
    assert counted(engine)["stream_bayes_offset_gap_total"] == 20


def test_a_topic_that_was_made_anew_is_refused(begun: Pipeline) -> None:
    begun.kafka_topics.delete(begun.topic)
    begun.kafka_topics.topic(2, begun.topic)
    begun.kafka_topics.put(begun.topic, days(700))
    with pytest.raises(CannotResume, match="was deleted and recreated: its id in"):
        begun.engine().run(100)


def test_rebuild_begins_anew_with_what_a_topic_that_was_made_anew_holds(begun: Pipeline) -> None:
    begun.kafka_topics.delete(begun.topic)
    begun.kafka_topics.topic(2, begun.topic)
    begun.kafka_topics.put(begun.topic, days(300, seed=8))
    with pytest.raises(CannotResume, match="the log still holds 0 of the 500 positions"):
        begun.engine().run(300, rebuild=True)
    assert begun.engine(accept_gap=True).run(300, rebuild=True).processed == 300
    assert begun.committed_count() == 300 and len(begun.output_positions()) == 800
    begun.engine().run(0)  # and the next start goes on from there
    latest = begun.slices()
    while sum(stop - start for slices in latest for _, _, start, stop in slices) > 300:
        latest = latest[1:]
    assert begun.state() == begun.expected(latest)


def test_a_partition_that_was_added_is_read_from_its_beginning(begun: Pipeline) -> None:
    begun.kafka_topics.add_partitions(begun.topic, 3)
    begun.kafka_topics.put(begun.topic, [(2, key, value) for _, key, value in days(50, seed=3)])
    assert begun.engine().run(150).processed == 650
    begun.check(650)


def test_a_pipeline_of_the_same_name_that_reads_something_else_is_refused(
    begun: Pipeline, tmp_path: Path
) -> None:
    other = begun.kafka_topics.topic(2)
    with pytest.raises(CannotResume, match="give this pipeline another name"):
        begun.engine(topic=other, directory=str(tmp_path / "other")).run(0)


@pytest.mark.parametrize("which", ["topic", "predictions", "letters"])
def test_a_missing_topic_is_named_and_nothing_is_made(
    kafka_topics: KafkaTopics, tmp_path: Path, which: str
) -> None:
    pipeline = Pipeline(kafka_topics, tmp_path / "state")
    pipeline.told[which] = "not-there"
    with pytest.raises(BrokerError, match="there is no topic 'not-there'"):
        pipeline.engine().run(0)
    assert not {"not-there", pipeline.journal} & kafka_topics.names()
    assert not (tmp_path / "state").exists()


def test_a_broker_that_does_not_answer_is_told_of_within_fifteen_seconds(pipeline: Pipeline) -> None:
    threads = set(threading.enumerate())
    with unanswered() as port:

        def begin() -> None:
            with pytest.raises(BrokerAway, match=f"no Kafka broker answered at 127.0.0.1:{port}"):
                pipeline.engine(servers=f"127.0.0.1:{port}", seconds=3).run(0)

        within(15, begin)
    assert not Path(pipeline.told["directory"]).exists()
    # What could not connect does not go on trying.
    until("the client to end its threads", lambda: set(threading.enumerate()) <= threads)
