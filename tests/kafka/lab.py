"""Topics, what is in them, and what a pipeline should have made of it, told without the package's own Kafka code."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from stream_bayes import NaiveBayes
from stream_bayes.core.event import TOMBSTONE, Event, Kind, Partition
from stream_bayes.core.pending import Pending
from stream_bayes.snapshot import Snapshot
from stream_bayes.streams.engine import Engine
from stream_bayes.streams.served import served
from stream_bayes.streams.source import Record
from stream_bayes.streams.step import Step
from stream_bayes.streams.store import SnapshotStore
from tests.kafka.worker import make_engine

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0  # seconds for a process, on a machine with much else to do


class Lab:
    """A cluster in which each test has topics of its own.

    Parameters
    ----------
    servers
        host:port.
    """

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.admin = KafkaAdminClient(bootstrap_servers=[servers])

    def close(self) -> None:
        self.admin.close()

    def topic(self, partitions: int = 1, name: str | None = None, **settings: str) -> str:
        """A new topic."""
        name = name or f"topic-{uuid.uuid4().hex[:12]}"
        told = {
            "num_partitions": partitions,
            "replication_factor": -1,
            "configs": {key.replace("_", "."): value for key, value in settings.items()},
        }
        self.admin.create_topics({name: told}, wait_for_metadata=True)
        return name

    def delete(self, topic: str) -> None:
        self.admin.delete_topics([topic])
        while topic in self.admin.list_topics():
            time.sleep(0.05)

    def names(self) -> set[str]:
        return set(self.admin.list_topics())

    def put(self, topic: str, records: Iterable[tuple[int, bytes | None, bytes | None]]) -> None:
        """Write records: partition, key, value."""
        producer = KafkaProducer(bootstrap_servers=[self.servers], linger_ms=20, metrics_enabled=False)
        try:
            for partition, key, value in records:
                producer.send(topic, value, key, partition=partition)
            producer.flush()
        finally:
            producer.close()

    def get(self, topic: str, start: int = 0) -> list[Any]:
        """What can be read of a topic under read_committed."""
        consumer = KafkaConsumer(
            bootstrap_servers=[self.servers], isolation_level="read_committed", metrics_enabled=False
        )
        try:
            numbers = sorted(consumer.partitions_for_topic(topic) or ())
            places = [TopicPartition(topic, number) for number in numbers]
            ends = self.admin.list_partition_offsets(dict.fromkeys(places, -1), "read_committed")
            begins = self.admin.list_partition_offsets(dict.fromkeys(places, -2))
            consumer.assign(places)
            for place in places:
                consumer.seek(place, max(start, begins[place].offset))
            found: list[Any] = []
            while any(consumer.position(place) < ends[place].offset for place in places):
                for records in consumer.poll(200).values():
                    found += records
            return found
        finally:
            consumer.close()

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        stored = self.admin.list_group_offsets(group).get(group, {})
        return {tuple(place): at.offset for place, at in stored.items() if at.offset >= 0}


class Pipeline:
    """A pipeline of worker processes, one after the other, over topics of its own.

    Parameters
    ----------
    lab
        Where.
    directory
        Of its snapshots.
    partitions
        Of its topics.
    told
        What every worker is told.
    """

    def __init__(
        self, lab: Lab, directory: Path, partitions: int = 2, topic: str | None = None, **told: Any
    ) -> None:
        self.lab = lab
        self.name = f"pipeline-{uuid.uuid4().hex[:12]}"
        self.topic = topic or lab.topic(partitions)
        self.told: dict[str, Any] = {
            "servers": lab.servers,
            "name": self.name,
            "topic": self.topic,
            "predictions": lab.topic(partitions),
            "letters": lab.topic(partitions),
            "directory": str(directory),
        } | told
        self.processes: list[subprocess.Popen[str]] = []

    @property
    def journal(self) -> str:
        return f"{self.name}.journal"

    def start(self, **told: Any) -> subprocess.Popen[str]:
        """Start a worker; it says "running" when it takes signals."""
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.kafka.worker", json.dumps(self.told | told)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    def run(self, **told: Any) -> dict[str, Any]:
        """Let a worker run to its end, which has to be a good one; what it says."""
        return outcome(self.start(**told))

    def engine(self, **told: Any) -> Engine:
        """A worker's engine, to run in this process."""
        return make_engine(self.told | told)

    def finish(self, count: int, **told: Any) -> dict[str, Any]:
        """Let a worker run until so many records were committed, this run's and earlier ones'."""
        return self.run(most=count - sum(self.lab.committed(self.name).values()), **told)

    def dies(self, **told: Any) -> None:
        """Let a worker run until it is killed, by itself."""
        process = self.start(**told)
        said, wrong = process.communicate(timeout=PATIENCE)
        assert process.returncode == -9, said + wrong

    def fails(self, **told: Any) -> str:
        """Let a worker run to an error; its last line."""
        process = self.start(**told)
        said, wrong = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1, said + wrong
        return wrong.strip().splitlines()[-1]

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()

    # -- what came of it ----------------------------------------------------------------------------------------------

    def kept(self) -> Snapshot:
        found = SnapshotStore(self.told["directory"]).latest()
        assert found is not None
        return found.snapshot

    def slices(self) -> list[tuple[str, int, int, int]]:
        """The journal's, in its order."""
        return [
            tuple(part)
            for record in self.lab.get(self.journal)
            for part in json.loads(record.value)["slices"]
        ]

    def expected(self, slices: Sequence[tuple[str, int, int, int]] | None = None) -> bytes:
        """The state of a step that takes the records in the order of the journal."""
        topics = [self.told["topic"]] + ([self.told["labels"]] if "labels" in self.told else [])
        records = {
            (topic, record.partition, record.offset): record
            for topic in topics
            for record in self.lab.get(topic)
        }
        waiting = Pending(wait_for=self.told.get("wait_for")) if "labels" in self.told else None
        step = Step(served(NaiveBayes()), self.name, pending=waiting)
        for topic, number, start, stop in self.slices() if slices is None else slices:
            for offset in range(start, stop):
                if (topic, number, offset) in records:
                    record = event(records[topic, number, offset], topic == self.told.get("labels"))
                    if record is not None:
                        step.take([record])
        return Snapshot(learner="NaiveBayes", sections=step.freeze()()).to_bytes()

    def state(self) -> bytes:
        """That of the newest snapshot, to be compared with what is expected."""
        sections = {
            name: state for name, state in self.kept().sections.items() if name not in ("settings", "log")
        }
        return Snapshot(learner="NaiveBayes", sections=sections).to_bytes()

    def answered(self, topic: str = "predictions") -> list[tuple[int, int]]:
        """Partition and position of what stands in the topic of predictions, as they stand there."""
        return [(said["partition"], said["position"]) for said in self.said(topic)]

    def said(self, topic: str = "predictions") -> list[dict[str, Any]]:
        return [json.loads(record.value) for record in self.lab.get(self.told[topic])]

    def check(self, count: int) -> None:
        """Every record has one answer, in order; and the state is that of a run that nothing disturbed."""
        answers = [(said["source"], *place) for said, place in zip(self.said(), self.answered(), strict=True)]
        repeated = {place: times for place, times in Counter(answers).items() if times > 1}
        assert not repeated
        letters = self.answered("letters")
        assert len(answers) + len(letters) == count
        for number in {partition for _, partition, _ in answers}:
            places = [position for _, partition, position in answers if partition == number]
            assert places == sorted(places)
        assert self.state() == self.expected()
        positions = {tuple(part): at for part, at in self.kept().positions.items() if at}
        assert self.lab.committed(self.name) == positions


def outcome(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What a worker says at its good end."""
    said, wrong = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, wrong
    return json.loads(said.splitlines()[-1])


def event(record: Any, is_label: bool) -> Record | None:
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
