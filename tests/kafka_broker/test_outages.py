"""A broker that goes away is waited for: the worker stays up, says that it is not ready, and goes on by itself."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.admin import ConfigResource

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import BrokerError, SourceError
from stream_bayes.kafka import source as source_module
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.kafka.clients.connection import CLIENTS, Connection
from stream_bayes.kafka.cluster import Cluster
from stream_bayes.kafka.transactions_in_doubt import end_in_doubt, is_in_doubt
from tests.kafka_broker.broker import Broker
from tests.kafka_broker.topics import KafkaTopics, Pipeline, counted, days, fenced
from tests.waiting import PATIENCE, TO_BEGIN, until

AWAY = 10.0  # seconds
# Shortened time-outs: each outage lasts until one of them has passed. The first start is within `seconds` too.
TOLD = {"seconds": 8.0, "transaction_seconds": 5.0, "stuck_seconds": 20.0, "every_events": 150, "batch": 50}


@contextmanager
def running(pipeline: Pipeline, **told: Any) -> Iterator[Any]:
    """A pipeline's engine, running in a thread, until this ends."""
    engine = pipeline.engine(**told)
    failed: list[BaseException] = []

    def run() -> None:
        try:
            engine.run()
        except BaseException as error:  # it is raised again, below
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield engine
    finally:
        engine.stop()
        thread.join(PATIENCE)
        if failed:
            raise failed[0]
        assert not thread.is_alive(), "the engine does not stop"


def test_ten_seconds_without_a_broker_are_waited_for(
    kafka_topics: KafkaTopics, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "CHECK_SECONDS", 1.0)
    one, other = (Pipeline(kafka_topics, tmp_path / client, client=client) for client in CLIENTS)
    with running(one, **TOLD) as first, running(other, **TOLD) as second:
        for pipeline in (one, other):
            kafka_topics.put(pipeline.topic, days(300))
            until("the first records", partial(has_taken, pipeline, 300))
        with killed(kafka_topics, broker):
            began = time.monotonic()
            for engine in (first, second):
                until("the engine to be unready", partial(is_unready, engine))
            time.sleep(max(0.0, began + AWAY - time.monotonic()))
            assert not first.healthy and not second.healthy
        for pipeline, engine in ((one, first), (other, second)):
            kafka_topics.put(pipeline.topic, days(200, seed=8))
            until("the other records", partial(has_taken, pipeline, 500))
            until("the engine to be ready", partial(is_ready, engine))
    one.check(500)
    other.check(500)


def has_taken(pipeline: Pipeline, count: int) -> bool:
    return pipeline.committed_count() == count


def is_ready(engine: Any) -> bool:
    return bool(engine.healthy)


def is_unready(engine: Any) -> bool:
    return not engine.healthy


@contextmanager
def killed(kafka_topics: KafkaTopics, broker: Broker) -> Iterator[None]:
    """While this lasts there is no broker."""
    broker.kill()
    try:
        yield
    finally:
        broker.start()
        broker.wait()
        kafka_topics.wait()


@contextmanager
def silent(broker: Broker) -> Iterator[None]:
    """While this lasts the broker takes connections, and answers nothing."""
    broker.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        broker.signal(signal.SIGCONT)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_commit_that_is_not_answered_is_not_waited_for_without_end(
    kafka_topics: KafkaTopics, broker: Broker, client: str
) -> None:
    topic = kafka_topics.topic(1)
    connection = Connection(servers=(kafka_topics.servers,), client=client, seconds=TO_BEGIN)
    threads = set(threading.enumerate())
    writer = fenced(connection, f"{topic}-writer", 4.0)
    writer.begin()
    writer.send(topic, 0, None, b"one")
    with silent(broker):  # as long as it takes: who waits without end never comes here
        with pytest.raises(Interrupted):
            writer.commit()
        writer.close()
    until("the client to end its threads", lambda: set(threading.enumerate()) <= threads)


@pytest.mark.parametrize("client", ["kafka-python", pytest.param("confluent-kafka", marks=pytest.mark.soak)])
def test_a_worker_whose_broker_hangs_starts_anew_when_it_answers_again(
    kafka_topics: KafkaTopics, broker: Broker, tmp_path: Path, client: str
) -> None:
    pipeline = Pipeline(kafka_topics, tmp_path / "state", client=client)
    kafka_topics.put(pipeline.topic, days(400))
    try:
        worker = pipeline.start(**TOLD | {"batch": 20})
        until("a commit", lambda: pipeline.committed_count() > 0)
        with silent(broker):
            time.sleep(5)
        until("all records to be committed", lambda: pipeline.committed_count() == 400)
        worker.send_signal(signal.SIGTERM)
        assert worker.outcome()["taken"] == 400
        pipeline.check(400)
    finally:
        pipeline.close()


@pytest.mark.parametrize("delivery", ["exactly-once", pytest.param("at-least-once", marks=pytest.mark.soak)])
def test_a_worker_without_a_broker_ends_when_it_is_told_to_and_loses_nothing(
    kafka_topics: KafkaTopics, broker: Broker, tmp_path: Path, delivery: str
) -> None:
    pipeline = Pipeline(kafka_topics, tmp_path / "state", delivery=delivery)
    kafka_topics.put(pipeline.topic, days(400))  # forty seconds, with the pauses
    try:
        worker = pipeline.start(**TOLD | {"every_events": 60, "batch": 10, "pause": 1.0})
        until("a commit", lambda: pipeline.committed_count() > 0)
        with killed(kafka_topics, broker):
            worker.wait_for("is sent again")  # a batch is there that nobody takes
            worker.send_signal(signal.SIGTERM)
            assert worker.ended() == 1  # the docs say so
            assert "was stopped while no broker accepted its results" in worker.stderr_text()
        if delivery == "exactly-once":
            pipeline.finish(400)
            pipeline.check(400)
        else:  # what came after the snapshot is taken again
            assert pipeline.run(limit=400 - pipeline.newest_snapshot().clock)["taken"] == 400
    finally:
        pipeline.close()


@contextmanager
def trusting(kafka_topics: KafkaTopics) -> Iterator[None]:
    """While this lasts brokers take records of a transaction whatever its coordinator knows of it."""
    setting = "transaction.partition.verification.enable"

    def trust(whether: str) -> None:
        kafka_topics.admin.alter_configs([ConfigResource("BROKER", "1", {setting: whether})])

    trust("false")
    try:
        yield
    finally:
        trust("true")


def left_open(kafka_topics: KafkaTopics, name: str, places: list[Partition]) -> bool:
    """Whether a writer could leave a transaction open of which the coordinator knows nothing.

    So does a broker that is killed as it decides a transaction, if once it is back it takes it for one that all
    partitions know of.
    """
    writer = fenced(
        Connection(servers=(kafka_topics.servers,), client="kafka-python", seconds=TO_BEGIN), name, TO_BEGIN
    )
    try:
        writer.begin()
        writer._steps._transaction._partitions_in_transaction.update(
            TopicPartition(*place) for place in places
        )
        for place in places:
            writer.send(*place, None, b"open")
        writer.flush()
        return True
    except BrokerError:  # they do not trust yet
        return False
    finally:
        writer.close()


@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_that_the_cluster_left_open_is_ended_as_it_was_decided(
    kafka_topics: KafkaTopics, broker: Broker, committed: bool
) -> None:
    topics = [kafka_topics.topic(1), kafka_topics.topic(2)]
    places = [Partition(topics[0]), Partition(topics[1], 0), Partition(topics[1], 1)]
    name = f"{topics[0]}-writer"
    connection = Connection(servers=(kafka_topics.servers,), client="kafka-python", seconds=TO_BEGIN)
    cluster = Cluster(connection)
    with trusting(kafka_topics):
        until("a transaction to be left open", lambda: left_open(kafka_topics, name, places))
    try:
        fenced(connection, name, TO_BEGIN).close()
        assert is_in_doubt(cluster, places[0], time.sleep)
        make = partial(fenced, connection, name, TO_BEGIN)
        end_in_doubt(make, places, f"{name}-group", committed)
        assert not is_in_doubt(cluster, places[0], time.sleep)
    finally:
        cluster.close()
    for topic in topics:
        assert {record.value for record in kafka_topics.get(topic)} == ({b"open"} if committed else set())
    assert kafka_topics.committed(f"{name}-group") == {}


def test_a_partition_that_is_added_while_a_worker_runs_is_read_too(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "CHECK_SECONDS", 0.2)
    monkeypatch.setattr(source_module, "METADATA_SECONDS", 0.2)
    pipeline.kafka_topics.put(pipeline.topic, days(60))
    with running(pipeline) as engine:
        until("the first records", lambda: pipeline.committed_count() == 60)
        pipeline.kafka_topics.add_partitions(pipeline.topic, 3)
        pipeline.kafka_topics.put(pipeline.topic, [(2, key, value) for _, key, value in days(30, seed=3)])
        until("the records of the new partition", lambda: pipeline.committed_count() == 90)
        until("the ends to be looked at", lambda: len(engine.lag) == 3 and not any(engine.lag.values()))
    pipeline.check(90)


def test_the_positions_of_a_silent_stream_are_stored_anew_before_they_expire(pipeline: Pipeline) -> None:
    with running(pipeline) as engine:
        for count in (30, 60):  # the journal is cut off after the first ones, which stores positions too
            pipeline.kafka_topics.put(pipeline.topic, days(30, seed=count))
            until("the records", partial(has_taken, pipeline, count))
        pipeline.kafka_topics.admin.delete_groups([pipeline.name])  # as the cluster does after a week
        assert pipeline.committed_count() == 0
        engine.recovery.refresh_seconds = 0.5
        until("the positions to be there again", partial(has_taken, pipeline, 60))
    pipeline.check(60)


def test_a_topic_that_is_made_anew_while_it_is_read_ends_the_run(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "CHECK_SECONDS", 0.0)  # before each poll
    monkeypatch.setattr(source_module, "METADATA_SECONDS", 0.0)
    pipeline.kafka_topics.put(pipeline.topic, days(60))

    def read() -> None:
        with running(pipeline) as engine:
            until("the first records", lambda: pipeline.committed_count() == 60)
            client = StoppedClient()
            engine.source._reader.poll = client.poll
            until("the client to be asked", lambda: client.asked)
            pipeline.kafka_topics.delete(pipeline.topic)
            pipeline.kafka_topics.topic(2, pipeline.topic)
            pipeline.kafka_topics.put(pipeline.topic, days(90, seed=3))
            client.may_go_on.set()
            until("the run to end", lambda: not engine.running)

    with pytest.raises(SourceError, match="recreated while it was read"):
        read()
    assert (
        pipeline.newest_snapshot().clock <= 60
    )  # nothing of the new topic was learned as if it were of the old one
    assert len(pipeline.output_positions()) == 60


def test_reading_begins_anew_where_nothing_comes_of_what_is_there(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "CHECK_SECONDS", 0.2)
    with running(pipeline) as engine:
        pipeline.kafka_topics.put(pipeline.topic, days(20))
        until("the first records", lambda: pipeline.committed_count() == 20)
        client = DeadClient()
        engine.source._reader._reader.poll = client.poll  # the one that is replaced
        until("the client to be asked since it is dead", lambda: client.asked)
        pipeline.kafka_topics.put(pipeline.topic, days(20, seed=8))
        engine.source.stuck_seconds = 1.0
        until("another client", lambda: counted(engine)["stream_bayes_reseeks_total"])
        engine.source.stuck_seconds = 60.0  # as long as that one may take, where much else is done
        until("the other records", lambda: pipeline.committed_count() == 40)
    pipeline.check(40)


class StoppedClient:
    """Begins to poll, and comes back only when it may."""

    def __init__(self) -> None:
        self.asked = False
        self.may_go_on = threading.Event()

    def poll(self, limit: int, seconds: float) -> list[Any]:
        self.asked = True
        assert self.may_go_on.wait(PATIENCE)
        return []


class DeadClient:
    """What a client says of which a thread has ended."""

    def __init__(self) -> None:
        self.asked = False

    def poll(self, limit: int, seconds: float) -> list[Any]:
        self.asked = True
        time.sleep(seconds)
        return []
