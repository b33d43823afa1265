"""What other ways there are to deliver: at least once, slowly, and not at all."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import NaiveBayes
from stream_bayes.core.events.event import Partition
from stream_bayes.errors import BrokerError
from stream_bayes.kafka import source as source_module
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.kafka.clients.connection import CLIENTS, Connection
from stream_bayes.kafka.clients.factory import make_reader
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from tests.kafka_broker.topics import KafkaTopics, Pipeline, counted, days, fenced
from tests.waiting import PATIENCE, TO_BEGIN, until

QUESTIONS = [{"sky": sky, "wind": wind} for sky in ("grey", "blue", "blué") for wind in (1.0, 3.0, 5.5)]


def model_in(directory: str | Path) -> NaiveBayes:
    found = SnapshotStore(Path(directory)).latest()
    assert found is not None
    return NaiveBayes.from_state(found.snapshot.sections["model"])


@pytest.mark.parametrize("client", CLIENTS)
def test_at_least_once_repeats_results_after_a_crash_and_counts_every_record_once(
    kafka_topics: KafkaTopics, tmp_path: Path, client: str
) -> None:
    told: dict[str, Any] = {"delivery": "at-least-once", "client": client, "every_events": 150, "batch": 50}
    pipeline = Pipeline(kafka_topics, tmp_path / "killed", **told)
    kafka_topics.put(pipeline.topic, days(500))
    try:
        pipeline.dies(end_at=["committed", 6])
        pipeline.run(limit=500 - pipeline.newest_snapshot().clock)
    finally:
        pipeline.close()
    places = [
        tuple(dict(record.headers).items()) for record in kafka_topics.get(pipeline.told["predictions"])
    ]
    assert len(places) > 500 == len(set(places))  # by their headers the repeated ones are found
    assert dict(places[0]).keys() == {"source", "partition", "position"}
    assert pipeline.journal not in kafka_topics.names()
    assert pipeline.committed_count() == 500
    whole = Pipeline(kafka_topics, tmp_path / "whole", topic=pipeline.topic, **told)
    whole.engine().run(500)
    killed, expected = (model_in(each.told["directory"]) for each in (pipeline, whole))
    for question in QUESTIONS:
        assert killed.predict_proba_one(question) == pytest.approx(
            expected.predict_proba_one(question), rel=1e-9
        )


def test_no_transaction_is_open_while_a_learner_takes_its_time(pipeline: Pipeline) -> None:
    pipeline.kafka_topics.put(pipeline.topic, days(40))
    engine: Any = pipeline.engine(batch=10)
    noted: list[str] = []

    def noting(name: str, of: Any) -> None:
        inner = getattr(of, name)

        def outer(*told: Any) -> Any:
            noted.append(name)
            return inner(*told)

        setattr(of, name, outer)

    delivery = engine.predictions.delivery
    fence = delivery._fence

    def fence_and_note() -> None:
        fence()
        noting("begin", delivery._writer)
        noting("commit", delivery._writer)

    delivery._fence = fence_and_note
    noting("process", engine.step)
    assert engine.run(40).processed == 40
    assert noted.count("process") >= 4 and noted.count("commit") > 4
    assert ("begin", "process") not in pairwise(noted)
    pipeline.check(40)


def test_a_batch_that_was_not_taken_is_sent_again_and_counted(pipeline: Pipeline) -> None:
    pipeline.kafka_topics.put(pipeline.topic, days(40))
    engine: Any = pipeline.engine(batch=10)
    delivery = engine.predictions.delivery
    transact = delivery._transact

    def interrupted(*told: Any) -> None:
        if engine.step.processed == 20:
            delivery._transact = transact
            raise Interrupted("for once")
        transact(*told)

    delivery._transact = interrupted
    assert engine.run(40).processed == 40
    assert counted(engine)["stream_bayes_transaction_aborts_total"] == 1
    pipeline.check(40)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_topic_that_went_away_is_not_made_by_writing_to_it(kafka_topics: KafkaTopics, client: str) -> None:
    topic = kafka_topics.topic(1)
    kafka_topics.delete(topic)
    connection = Connection(servers=(kafka_topics.servers,), client=client, seconds=2.0)
    writer = fenced(connection, f"{topic}-writer", 5.0)

    def write() -> None:
        writer.send_all([(topic, 0, None, b"one", [])])
        writer.commit()

    try:
        writer.begin()
        with pytest.raises(BrokerError):
            write()
    finally:
        writer.close()
    assert topic not in kafka_topics.names()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_topic_that_went_away_is_not_made_by_reading_it(kafka_topics: KafkaTopics, client: str) -> None:
    topic = kafka_topics.topic(1)
    kafka_topics.delete(topic)
    reader = make_reader(
        Connection(servers=(kafka_topics.servers,), client=client, seconds=TO_BEGIN), 100_000
    )
    try:
        reader.assign({Partition(topic): 0})
        began = time.monotonic()
        while time.monotonic() - began < 2:  # long enough to ask where the topic is
            with suppress(BrokerError):
                assert reader.poll(10, 0.2) == []
    finally:
        reader.close()
    assert topic not in kafka_topics.names()


def test_a_shadow_pipeline_reads_the_same_topic_and_leaves_nothing_in_the_cluster(
    kafka_topics: KafkaTopics, pipeline: Pipeline, tmp_path: Path
) -> None:
    kafka_topics.put(pipeline.topic, days(200))
    pipeline.engine().run(200)
    before = kafka_topics.names()
    table = {
        "name": f"{pipeline.name}-shadow",
        "kafka": {"servers": [kafka_topics.servers]},
        "source": {"kind": "kafka", "topic": pipeline.topic, "target": "y"},
        "model": {"kind": "nb"},
        "snapshots": {"directory": str(tmp_path / "shadow")},
    }
    assert build(checked(table)).run(120).processed == 120
    shadow = build(checked(table))
    assert shadow.run(80).processed == 200
    assert shadow.step.losses.cumulative.weight == pytest.approx(199, abs=1)
    assert kafka_topics.names() == before and kafka_topics.committed(str(table["name"])) == {}
    ours, shadows = model_in(pipeline.told["directory"]), model_in(tmp_path / "shadow")
    for question in QUESTIONS:
        assert shadows.predict_proba_one(question) == pytest.approx(
            ours.predict_proba_one(question), rel=1e-9
        )
    pipeline.check(200)


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_kept_ready_is_bounded_by_bytes_and_not_by_records(
    kafka_topics: KafkaTopics, client: str
) -> None:
    topic = kafka_topics.topic(1)
    kafka_topics.put(topic, [(0, None, b"x" * 500_000) for _ in range(20)])
    reader = make_reader(
        Connection(servers=(kafka_topics.servers,), client=client, seconds=TO_BEGIN), 2_000_000
    )
    came: list[int] = []

    def all_read() -> bool:
        polled = reader.poll(1000, 0.5)
        came.extend([sum(len(message.value or b"") for message in polled)] if polled else [])
        time.sleep(0.3)  # whoever reads is slow: so as much is kept ready as ever is
        return sum(came) == 20 * 500_000

    try:
        reader.assign({Partition(topic): 0})
        until("all records", all_read)
    finally:
        reader.close()
    assert max(came) <= 3_500_000  # a fetch may end with one record more, and another may have begun


def test_a_tombstone_takes_back_the_sample_with_its_key(kafka_topics: KafkaTopics, tmp_path: Path) -> None:
    records = days(60, partitions=1)
    withdrawn = [(0, b"day-3", None), (0, b"day-40", None)]
    kept = [record for record in records if record[1] not in (b"day-3", b"day-40")]
    models = []
    for name, written in (("all", [*records, *withdrawn]), ("kept", kept)):
        topic = kafka_topics.topic(1)
        kafka_topics.put(topic, written)
        table = {
            "name": f"{topic}-{name}",
            "kafka": {"servers": [kafka_topics.servers]},
            "source": {"kind": "kafka", "topic": topic, "target": "y"},
            "labels": {"correct_within": 1e9, "on_tombstone": "unlearn"},
            "model": {"kind": "nb"},
            "predictions": {"kind": "kafka", "topic": kafka_topics.topic(1)},
            "snapshots": {"directory": str(tmp_path / name)},
        }
        assert build(checked(table)).run(len(written)).processed == len(written)
        models.append(model_in(tmp_path / name))
    for question in QUESTIONS:
        assert models[0].predict_proba_one(question) == pytest.approx(
            models[1].predict_proba_one(question), rel=1e-9
        )


def test_the_lag_is_of_the_model_and_not_of_what_the_client_has_fetched(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(source_module, "CHECK_TIMEOUT", PATIENCE)
    pipeline.kafka_topics.put(pipeline.topic, days(40, partitions=1))
    engine = pipeline.engine(batch=10)
    lags: list[int] = []
    engine.watch(lambda _: lags.append(sum(engine.lag.values())))
    engine.run(40)
    assert lags == [30, 20, 10, 0]  # though the first fetch brought all


def test_a_run_ends_with_all_its_threads(pipeline: Pipeline) -> None:
    pipeline.kafka_topics.put(pipeline.topic, days(20))
    before = set(threading.enumerate())
    for client in CLIENTS:
        pipeline.engine(client=client).run(10)
    until("the clients to end their threads", lambda: set(threading.enumerate()) <= before)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_partition_that_is_resumed_when_others_are_at_their_ends_is_read_on(
    kafka_topics: KafkaTopics, client: str
) -> None:
    topic = kafka_topics.topic(2)
    long, short = Partition(topic, 0), Partition(topic, 1)
    kafka_topics.put(topic, [(0, None, b"x" * 100) for _ in range(3000)])
    reader = make_reader(
        Connection(servers=(kafka_topics.servers,), client=client, seconds=TO_BEGIN), 2_000_000
    )
    counts = Counter[Partition]()

    def has_come(partition: Partition, count: int) -> bool:
        counts.update(message.partition for message in reader.poll(100, 0.2))
        return counts[partition] >= count

    try:
        reader.assign({long: 0, short: 0})
        until("some records", lambda: has_come(long, 1))
        reader.pause([long])
        kafka_topics.put(topic, [(1, None, b"y") for _ in range(10)])
        until("those of the other partition", lambda: has_come(short, 10))
        assert counts[long] < 3000
        reader.resume([long])
        until("the rest", lambda: has_come(long, 3000), 15.0)
    finally:
        reader.close()
    assert counts == {long: 3000, short: 10}
