"""Topics, what is in them, and what a pipeline should have made of it, told without the package's own Kafka code."""

from __future__ import annotations

import json
import random
import signal
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from stream_bayes import NaiveBayes
from stream_bayes.core.events.event import TOMBSTONE, Event, Kind, Partition
from stream_bayes.core.events.pending import Pending
from stream_bayes.errors import BrokerAway
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.factory import make_writer
from stream_bayes.kafka.clients.time_limits import bounded
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.served_models.served import served
from stream_bayes.streams.service.metrics_and_health import Metrics
from tests.kafka_broker.processes import Process
from tests.kafka_broker.worker import make_engine
from tests.waiting import PATIENCE, TO_BEGIN, until

DECIDING = ("PrepareCommit", "PrepareAbort")
CLOSE_SECONDS = 10.0
EARLIER = 1000.0  # seconds: what a test says was made earlier is not yet so old that a topic drops it


class KafkaTopics:
    """A cluster in which each test has topics of its own.

    Parameters
    ----------
    servers
        host:port.
    """

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.earlier = time.time() - EARLIER
        self.admin = KafkaAdminClient(bootstrap_servers=servers.split(","))

    def begin_anew(self) -> None:
        """Ask with a new client: one that has lost a broker may go on translated_errors it for minutes."""
        new = KafkaAdminClient(bootstrap_servers=self.servers.split(","))
        self.close()
        self.admin = new

    def close(self) -> None:
        let_go(self.admin)

    def warm_up(self) -> None:
        """Let the cluster make its own topics, of groups and of transactions, for which a test has no patience."""
        self.wait()
        topic = self.topic()
        connection = Connection(servers=tuple(self.servers.split(",")), seconds=TO_BEGIN)

        def transact() -> bool:
            writer = fenced(connection, f"{topic}-writer", TO_BEGIN)
            try:
                writer.begin()
                writer.send(topic, 0, None, b"one")
                writer.send_offsets(f"{topic}-group", {Partition(topic): 1})
                writer.commit()
                return True
            except Interrupted:
                return False
            finally:
                writer.close()

        until("a transaction", transact)
        self.committed(f"{topic}-group")

    def topic(self, partitions: int = 1, name: str | None = None, **settings: str) -> str:
        """A new topic."""
        name = name or f"topic-{uuid.uuid4().hex[:12]}"
        told = {
            "num_partitions": partitions,
            "replication_factor": -1,
            "configs": {key.replace("_", "."): value for key, value in settings.items()},
        }
        self.admin.create_topics({name: told})
        self.admin.wait_for_topics(
            [name], timeout_ms=int(1000 * PATIENCE)
        )  # a busy machine takes longer than 10 s
        return name

    def add_partitions(self, topic: str, count: int) -> None:
        """Let a topic have so many, and return once the broker tells of them."""
        self.admin.create_partitions({topic: count})
        until(f"{count} partitions", lambda: len(self.partitions(topic)) == count)

    def partitions(self, topic: str) -> list[TopicPartition]:
        (told,) = self.admin.describe_topics([topic])
        return [TopicPartition(topic, part["partition_index"]) for part in told["partitions"]]

    def delete(self, topic: str) -> None:
        self.admin.delete_topics([topic])
        until(f"topic {topic} to be gone", lambda: topic not in self.names())

    def wait(self) -> None:
        """Return once the cluster answers, after a broker was started again."""

        def answers() -> bool:
            try:
                self.begin_anew()
                return bool(self.admin.describe_cluster())
            except KafkaError:
                return False

        until("the cluster to answer", answers)

    def names(self) -> set[str]:
        return set(self.admin.list_topics())

    def put(
        self,
        topic: str,
        records: Iterable[tuple[int, bytes | None, bytes | None]],
        moment: float | None = None,
    ) -> None:
        """Write records: partition, key, value; made now, or so many seconds after `earlier`."""
        made = None if moment is None else int(1000 * (self.earlier + moment))
        producer = KafkaProducer(
            bootstrap_servers=self.servers.split(","), linger_ms=20, metrics_enabled=False
        )
        try:
            sent = [
                producer.send(topic, value, key, partition=partition, timestamp_ms=made)
                for partition, key, value in records
            ]
            producer.flush(timeout=PATIENCE)
            for each in sent:  # to flush raises nothing for those that the broker did not take
                each.get(timeout=PATIENCE)
        finally:
            producer.close(timeout=PATIENCE)

    def is_deciding(self) -> bool:
        """Whether a transaction was committed or aborted that not all partitions know of yet: until they do, they are
        as they were before, though who committed it was told so.
        """
        return any(self.admin.list_transactions(state_filters=DECIDING).values())

    def get(self, topic: str, start: int = 0) -> list[Any]:
        """What can be read of a topic under read_committed."""
        until("all transactions to be decided", lambda: not self.is_deciding())
        places = self.partitions(topic)
        ends = self.admin.list_partition_offsets(dict.fromkeys(places, -1), "read_committed")
        begins = self.admin.list_partition_offsets(dict.fromkeys(places, -2))
        consumer = KafkaConsumer(
            bootstrap_servers=self.servers.split(","), isolation_level="read_committed", metrics_enabled=False
        )
        found: list[Any] = []

        def all_read() -> bool:
            for records in consumer.poll(200).values():
                found.extend(records)
            # Past what holds no record too: the ends of transactions, and what was compacted away.
            return all(consumer.position(place, 1000) >= ends[place].offset for place in places)

        try:
            consumer.assign(places)
            for place in places:
                consumer.seek(place, max(start, begins[place].offset))
            until(f"all records of {topic}", all_read)
            return found
        finally:
            let_go(consumer)

    def end(self, topic: str, partition: int = 0) -> int:
        """The position after the last record."""
        place = TopicPartition(topic, partition)
        return int(self.admin.list_partition_offsets({place: -1})[place].offset)

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """The positions of a group; asked again where its coordinator has just changed."""

        def look() -> list[Any]:
            try:
                return [] if self.is_deciding() else [self.admin.list_group_offsets(group).get(group, {})]
            except KafkaError:
                with suppress(KafkaError):
                    self.begin_anew()
                return []

        (stored,) = until(f"the positions of {group}", look)
        return {tuple(place): at.offset for place, at in stored.items() if at.offset >= 0}


class Pipeline:
    """A pipeline of worker processes, one after the other, over topics of its own.

    Parameters
    ----------
    kafka_topics
        Where.
    directory
        Of its snapshots.
    partitions
        Of its topics.
    told
        What every worker is told.
    """

    def __init__(
        self,
        kafka_topics: KafkaTopics,
        directory: Path,
        partitions: int = 2,
        topic: str | None = None,
        **told: Any,
    ) -> None:
        self.kafka_topics = kafka_topics
        self.name = f"pipeline-{uuid.uuid4().hex[:12]}"
        self.topic = topic or kafka_topics.topic(partitions)
        self.told: dict[str, Any] = {
            "servers": kafka_topics.servers,
            "name": self.name,
            "topic": self.topic,
            "predictions": kafka_topics.topic(partitions),
            "letters": kafka_topics.topic(partitions),
            "directory": str(directory),
        } | told
        self.processes: list[Process] = []

    @property
    def journal(self) -> str:
        return f"{self.name}.journal"

    def start(self, **told: Any) -> Process:
        """Start a worker, and return once it takes signals."""
        process = Process(self.told | told)
        self.processes.append(process)
        process.wait_for("running")
        return process

    def run(self, **told: Any) -> dict[str, Any]:
        """Let a worker run to its end, which has to be a good one; what it says."""
        return self.start(**told).outcome()

    def engine(self, **told: Any) -> Engine:
        """A worker's engine, to run in this process."""
        return make_engine(self.told | told)

    def finish(self, count: int, **told: Any) -> dict[str, Any]:
        """Let a worker run until so many records were committed, this run's and earlier ones'."""
        return self.run(limit=count - self.committed_count(), **told)

    def dies(self, **told: Any) -> None:
        """Let a worker run until it is killed, by itself."""
        process = self.start(**told)
        assert process.ended() == -signal.SIGKILL, process.stderr_text()

    def close(self) -> None:
        for process in self.processes:
            process.kill()

    # -- what came of it ----------------------------------------------------------------------------------------------

    def committed_count(self) -> int:
        """How many records were committed, where no position was left out."""
        return sum(self.kafka_topics.committed(self.name).values())

    def newest_snapshot(self) -> Snapshot:
        found = SnapshotStore(self.told["directory"]).latest()
        assert found is not None
        return found.snapshot

    def slices(self) -> list[list[tuple[str, int, int, int]]]:
        """The journal's, a list for each batch."""
        entries = [json.loads(record.value)["slices"] for record in self.kafka_topics.get(self.journal)]
        return [[tuple(part) for part in slices] for slices in entries if slices]

    def expected(self, batches: Sequence[Sequence[tuple[str, int, int, int]]] | None = None) -> bytes:
        """The state of a step that processes the batches of the journal, each sorted by time."""
        topics = [self.told["topic"]] + ([self.told["labels"]] if "labels" in self.told else [])
        records = {
            (topic, record.partition, record.offset): record
            for topic in topics
            for record in self.kafka_topics.get(topic)
        }
        waiting = Pending(wait_for=self.told.get("wait_for")) if "labels" in self.told else None
        step = Step(served(NaiveBayes()), self.name, pending=waiting)
        for slices in self.slices() if batches is None else batches:
            assert len({part[:2] for part in slices}) == len(slices)  # one range for each partition
            batch = []
            for topic, number, start, stop in slices:
                latest = 0.0
                for offset in range(start, stop):
                    if (topic, number, offset) in records:
                        record = event(records[topic, number, offset], topic == self.told.get("labels"))
                        latest = max(latest, record.time or 0.0)
                        batch.append((latest, topics.index(topic), number, offset, record))
            step.process([record for *_, record in sorted(batch, key=lambda row: row[:4])])
        return Snapshot(learner="NaiveBayes", sections=step.freeze()()).to_bytes()

    def state(self) -> bytes:
        """That of the newest snapshot, to be compared with what is expected."""
        sections = {
            name: state
            for name, state in self.newest_snapshot().sections.items()
            if name not in ("settings", "log", "history")
        }
        return Snapshot(learner="NaiveBayes", sections=sections).to_bytes()

    def output_positions(self, topic: str = "predictions") -> list[tuple[int, int]]:
        """Partition and position of what stands in the topic of predictions, as they stand there."""
        return [(said["partition"], said["position"]) for said in self.outputs(topic)]

    def outputs(self, topic: str = "predictions") -> list[dict[str, Any]]:
        return [json.loads(record.value) for record in self.kafka_topics.get(self.told[topic])]

    def check(self, count: int, batches: Sequence[Sequence[tuple[str, int, int, int]]] | None = None) -> None:
        """Every record has one answer, in order; and the state is that of a run that nothing disturbed."""
        answers = [
            (said["source"], *place)
            for said, place in zip(self.outputs(), self.output_positions(), strict=True)
        ]
        repeated = {place: times for place, times in Counter(answers).items() if times > 1}
        assert not repeated
        letters = self.output_positions("letters")
        assert len(answers) + len(letters) == count
        for number in {partition for _, partition, _ in answers}:
            places = [position for _, partition, position in answers if partition == number]
            assert places == sorted(places)
        assert self.state() == self.expected(batches)
        positions = {tuple(part): at for part, at in self.newest_snapshot().positions.items() if at}
        assert self.kafka_topics.committed(self.name) == positions


def let_go(client: Any) -> None:
    """Close a client, which may wait for a thread of its own that does not end."""
    with suppress(KafkaError, Interrupted):
        bounded(client.close, CLOSE_SECONDS)


def fenced(connection: Connection, name: str, transaction_seconds: float) -> Any:
    """A writer that has fenced those before it: made again where that took longer than the connection has patience."""

    def look() -> Any:
        writer = None
        try:
            writer = make_writer(connection, name, transaction_seconds, 100_000)
            writer.fence()
            return writer
        except (BrokerAway, Interrupted):
            if writer is not None:
                writer.close()
            return None

    return until("a writer to fence others", look)


def counted(engine: Engine) -> dict[str, int]:
    """Return the metrics of an engine that are whole numbers, by name."""
    samples = [sample for metric in Metrics(engine).collect() for sample in metric.samples]
    return {sample.name: int(sample.value) for sample in samples if float(sample.value).is_integer()}


def event(record: Any, is_label: bool) -> Event:
    """A record as an event."""
    partition = Partition(record.topic, record.partition)
    key = None if record.key is None else record.key.decode()
    time = record.timestamp / 1000
    if record.value is None:
        return Event({}, None, key, time, record.offset, kind=TOMBSTONE, partition=partition)
    content: Mapping[str, Any] = json.loads(record.value)
    x = {name: value for name, value in content.items() if name != "y"}
    kind = Kind.LABEL if is_label else Kind.SAMPLE
    return Event(
        {} if is_label else x, content.get("y"), key, time, record.offset, kind=kind, partition=partition
    )


def days(count: int, partitions: int = 2, seed: int = 7) -> list[tuple[int, bytes | None, bytes | None]]:
    """Records of samples with labels, on all partitions."""
    chance = random.Random(seed)
    records: list[tuple[int, bytes | None, bytes | None]] = []
    for number in range(count):
        rain = chance.random() < 0.4
        content = {
            "sky": chance.choice(["grey", "blué"] if rain else ["blue", "blué", "grey"]),
            "wind": round(chance.gauss(5 if rain else 2, 1), 3),
            "y": "rain" if rain else "dry",
        }
        records.append((number % partitions, f"day-{number}".encode(), json.dumps(content).encode()))
    return records
