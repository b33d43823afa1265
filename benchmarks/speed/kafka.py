"""A topic in, a topic out, through a real broker: whole pipelines, and what their parts cost.

Every pass is a pipeline of a new name over the same topic, records of 20 fields; it begins to count after its
first batch, for a start has much to ask of a broker, and ends with the last commit. Everything runs in this process but
the broker, which is the one of the tests.
"""

from __future__ import annotations

import atexit
import itertools
import json
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from time import perf_counter, process_time, time
from typing import Any
from unittest.mock import patch

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from river import compose, naive_bayes, preprocessing

from benchmarks.harness import Case, Contest, Side
from stream_bayes import AODE, NaiveBayes, Nominal, Schema
from stream_bayes.core.events.event import Kind
from stream_bayes.core.events.pending import Pending
from stream_bayes.errors import StreamBayesError
from stream_bayes.kafka import source as kafka_source
from stream_bayes.kafka.aligned_reader import AlignedReader
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.factory import make_reader
from stream_bayes.kafka.recovery import JournalRecovery
from stream_bayes.kafka.sink import KafkaSink
from stream_bayes.kafka.source import FETCH_MAX_BYTES, KafkaSource, Labels
from stream_bayes.kafka.transactions import Transactions
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.progress import Progress
from stream_bayes.streams.engine.saving import Schedule
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.served_models.answers import BatchAnswers
from stream_bayes.streams.served_models.learner import ServedLearner
from stream_bayes.streams.served_models.served import served
from tests.kafka_broker.broker import Broker, NoBroker, jars

__all__ = ["cases"]

EVENTS = 30_000
FIELDS = 20
VALUES = 8
BATCH = 1000
TOPIC = "events"
SAMPLES, LABELS = "samples", "labels"  # the same events, with their labels in a topic of their own
PARTITIONS = 8
DELAY_MS = 500  # of a label: as many events

CONFLUENT, PYTHON = "confluent-kafka", "kafka-python"
ANSWER = {"no": 0.5, "yes": 0.5}
numbers = itertools.count()


@cache
def servers() -> str:
    """Start a broker with the topic; it ends with this process.

    Raises
    ------
    NoBroker
        If none can be had.
    """
    directory = Path(tempfile.mkdtemp(prefix="bench-kafka-"))
    broker = Broker(directory / "broker")
    broker.start()
    atexit.register(broker.kill)
    broker.wait()
    admin = KafkaAdminClient(bootstrap_servers=[broker.address])
    counts = {TOPIC: 1, "answers": 1, SAMPLES: PARTITIONS, LABELS: 1}
    topics = {name: {"num_partitions": count, "replication_factor": 1} for name, count in counts.items()}
    admin.create_topics(topics, wait_for_metadata=True)
    admin.close()
    producer = KafkaProducer(bootstrap_servers=[broker.address], linger_ms=20)
    start = int(1000 * time()) - EVENTS - DELAY_MS  # a broker drops records that are old
    for number, (key, value) in enumerate(records()):
        producer.send(TOPIC, value, key, partition=0)
        content = json.loads(value)
        label = json.dumps({"y": content.pop("y")}).encode()
        sample, at = json.dumps(content, separators=(",", ":")).encode(), start + number
        producer.send(SAMPLES, sample, key, partition=number % PARTITIONS, timestamp_ms=at)
        producer.send(LABELS, label, key, partition=0, timestamp_ms=at + DELAY_MS)
    producer.flush(timeout=60)
    producer.close(timeout=60)
    return broker.address


def records() -> list[tuple[bytes, bytes]]:
    """Events of two classes: what is written, with their keys."""
    chance = random.Random(41)
    found = []
    for number in range(EVENTS):
        label = chance.random() < 0.4
        content: dict[str, Any] = {
            f"f{n}": f"v{min(chance.randrange(VALUES), VALUES - 1 - label)}" for n in range(FIELDS)
        }
        content["y"] = "yes" if label else "no"
        found.append((b"key-%d" % number, json.dumps(content, separators=(",", ":")).encode()))
    return found


def schema() -> Schema:
    """Return the declared schema: records are checked against it as they are decoded."""
    features = {f"f{n}": Nominal([f"v{value}" for value in range(VALUES)]) for n in range(FIELDS)}
    return Schema(features, classes=["no", "yes"], target="y")


class Nothing(ServedLearner):
    """A model that sees no feature and learns nothing: what is left is the loop."""

    def process(
        self,
        xs: Sequence[Any],
        ys: Sequence[Any],
        ws: Sequence[float],
        times: Sequence[float | None] | None = None,
        /,
    ) -> tuple[BatchAnswers, StreamBayesError | None]:
        return super().process([{}] * len(xs), [None] * len(xs), ws)

    def __init__(self, learner: Any) -> None:
        super().__init__(learner)
        self.answer = lambda x: ANSWER
        self.learn = lambda x, y, w: None

    def content(self, x: Any) -> Any:
        return ()


def nothing() -> Nothing:
    model = NaiveBayes()
    for label in ("no", "yes"):
        model.learn_one({}, label)
    return Nothing(model)


def source_of(client: str, with_labels: bool) -> KafkaSource:
    """Return the topic of events as a source; or samples in eight partitions, and a topic of their labels."""
    connection = Connection(servers=(servers(),), client=client)
    samples = JSONDecoder(Fields(target="y"), schema())
    if not with_labels:
        return KafkaSource(connection, TOPIC, samples)
    labels = Labels(LABELS, JSONDecoder(Fields(target="y", default_kind=Kind.LABEL)))
    return KafkaSource(connection, SAMPLES, samples, labels=labels)


def pipeline(
    client: str,
    model: Callable[[], Any],
    directory: Path | None = None,
    name: str = "",
    with_labels: bool = False,
) -> Engine:
    """Return a pipeline that writes its answers in transactions."""
    name = name or f"bench-{next(numbers)}"
    source = source_of(client, with_labels)
    delivery = Transactions(source.connection, name, source)
    return Engine(
        Step(model(), name, pending=Pending(wait_for=3600.0) if with_labels else None),
        source,
        predictions=KafkaSink(delivery, "answers"),
        recovery=JournalRecovery(source, name, delivery),
        store=None if directory is None else SnapshotStore(directory),
        schedule=Schedule(every_events=10 * EVENTS),
        batch=BATCH,
    )


def learner() -> Any:
    return served(NaiveBayes(schema=schema()))


def pairs() -> Any:
    return served(AODE(schema=schema()))


def live(client: str, model: Callable[[], Any], _: Any = None, with_labels: bool = False) -> float:
    """Seconds for all events, as after the first batch."""
    engine = pipeline(client, model, with_labels=with_labels)
    seen: list[tuple[float, int]] = []

    def note(progress: Progress) -> None:
        seen.append((perf_counter(), progress.processed))

    engine.watch(note)
    engine.run(2 * EVENTS if with_labels else EVENTS)
    assert not engine.step.dead_letters.counts
    (first, before), (last, after) = seen[0], seen[-1]
    return (last - first) / (after - before) * EVENTS


def replay(client: str, _: Any = None) -> float:
    """Seconds for all events between a snapshot and what was committed."""
    with tempfile.TemporaryDirectory() as directory:
        name = f"bench-{next(numbers)}"
        first = pipeline(client, learner, Path(directory), name)
        first._finish = lambda: None  # type: ignore[method-assign]  # no last snapshot, as after kill -9
        first.run(EVENTS)
        engine = pipeline(client, learner, Path(directory), name)
        replaying = engine._replay
        spent: list[float] = []

        def timed(batches: Any) -> None:
            start = perf_counter()
            replaying(batches)
            spent.append(perf_counter() - start)

        engine._replay = timed  # type: ignore[method-assign]  # with a clock around it
        engine.run(0)
        assert engine.replayed == EVENTS, engine.replayed
        return spent[0]


def aligned(client: str, _: Any = None) -> float:
    """Return the processor seconds of as many records of samples and labels, read in the order of time."""
    source = source_of(client, with_labels=True)
    source.seek(source.starts())
    start, count = process_time(), 0
    while count < 2 * EVENTS:
        count += len(source.poll(BATCH))
    seconds = process_time() - start
    source.close()
    return seconds / 2


def as_fetched(client: str, _: Any = None) -> float:
    """Return the processor seconds of the same records, decoded in the order in which the client returns them."""
    source = source_of(client, with_labels=True)
    reader = make_reader(source.connection, FETCH_MAX_BYTES)
    reader.assign(source.starts())
    start, count = process_time(), 0
    while count < 2 * EVENTS:
        count += len([source.decode(message) for message in reader.poll(BATCH, 0.2)])
    seconds = process_time() - start
    reader.close()
    source.close()
    return seconds / 2


class FetchOrderReader(AlignedReader):
    """A reader that returns records as the client fetched them, as reading was before it followed time."""

    def poll(self, limit: int, seconds: float) -> list[Record]:
        messages = self._reader.poll(limit, seconds)
        for message in messages:
            self._fetched[message.partition] = self._returned[message.partition] = message.offset + 1
        return [record for message in messages if (record := self._decode(message)) is not None]


def whole(client: str, reader: type[AlignedReader], _: Any = None) -> float:
    """Return the processor seconds of a whole pipeline over samples and their labels, with this reader."""
    with patch.object(kafka_source, "AlignedReader", reader):
        engine = pipeline(client, learner, with_labels=True)
        seen: list[tuple[float, int]] = []
        engine.watch(lambda progress: seen.append((process_time(), progress.processed)))
        engine.run(2 * EVENTS)
    (first, before), (last, after) = seen[0], seen[-1]
    return (last - first) / (after - before) * EVENTS


def river(_: Any = None) -> float:
    """Seconds of the usual loop: a consumer, json, River, json, a producer; at least once."""
    model = compose.Pipeline(preprocessing.OneHotEncoder(), naive_bayes.MultinomialNB())
    consumer = KafkaConsumer(bootstrap_servers=[servers()], consumer_timeout_ms=20_000)
    producer = KafkaProducer(bootstrap_servers=[servers()], linger_ms=5)
    place = TopicPartition(TOPIC, 0)
    try:
        consumer.assign([place])
        consumer.seek(place, 0)
        start = 0.0
        for count, record in enumerate(consumer, 1):
            if count == BATCH:
                start = perf_counter()
            x = json.loads(record.value)
            y = x.pop("y")
            answer = model.predict_proba_one(x)
            model.learn_one(x, y)
            best = max(answer, key=answer.__getitem__, default=None)
            said = {"prediction": best, "probabilities": answer, "position": record.offset}
            producer.send("answers", json.dumps(said).encode(), record.key)
            if count == EVENTS:
                break
        producer.flush(timeout=60)
        return (perf_counter() - start) / (EVENTS - BATCH) * EVENTS
    finally:
        consumer.close()
        producer.close(timeout=10)


def contest(ours: Callable[[Any], float], peer: Callable[[Any], float] | None) -> Contest:
    """Return passes over the whole topic."""
    servers()
    sides = [None if run is None else Side(EVENTS, run, list, EVENTS) for run in (ours, peer)]
    assert sides[0] is not None
    return Contest([None], sides[0], sides[1])  # the events come from the topic


def cases() -> list[Case]:
    """Return the report's lines; none where there is no broker to be had."""
    try:
        jars()
    except NoBroker as reason:
        print(f"benchmarks: Kafka is left out: {reason}", file=sys.stderr)
        return []
    fast, plain = (partial(live, client, learner) for client in (CONFLUENT, PYTHON))
    bare = partial(live, CONFLUENT, nothing)
    usual = "River, kafka-python, json"
    labelled, unlearned = (partial(live, CONFLUENT, model, with_labels=True) for model in (learner, nothing))
    return [
        Case("Kafka to Kafka, confluent-kafka", partial(contest, fast, None), limit=33.3),
        Case(
            "Kafka to Kafka, confluent-kafka, beside its loop",
            partial(contest, fast, bare),
            "without the model",
            0.7,
        ),
        Case(
            "Kafka to Kafka, AODE, confluent-kafka, beside its loop",
            partial(contest, partial(live, CONFLUENT, pairs), bare),
            "without the model",
            0.7,
        ),
        Case(
            "Kafka to Kafka, labels in a second topic, beside its loop",
            partial(contest, labelled, unlearned),
            "without the model",
            0.7,
        ),
        *[
            Case(
                f"Kafka: 8 partitions and labels in the order of time, {client}",
                partial(contest, partial(aligned, client), partial(as_fetched, client)),
                "as fetched",
                1 / 1.1,
            )
            for client in (CONFLUENT, PYTHON)
        ],
        *[
            Case(
                f"Kafka to Kafka: 8 partitions and labels in the order of time, {client}",
                partial(
                    contest,
                    partial(whole, client, AlignedReader),
                    partial(whole, client, FetchOrderReader),
                ),
                "as fetched",
                1 / 1.1,
            )
            for client in (CONFLUENT, PYTHON)
        ],
        Case("Kafka to Kafka, kafka-python", partial(contest, plain, None), limit=66.7),
        Case("Kafka to Kafka, confluent-kafka, beside River", partial(contest, fast, river), usual, 10.0),
        Case(
            "Kafka: replay after a snapshot", partial(contest, partial(replay, CONFLUENT), fast), "live", 1.3
        ),
    ]
