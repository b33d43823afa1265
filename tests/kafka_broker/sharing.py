"""A pipeline with shards, its workers, and what the sum of its shards should be."""

from __future__ import annotations

import json
import tempfile
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import NaiveBayes
from stream_bayes.core.events.pending import Pending
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.served_models.served import served
from stream_bayes.workers.follower import Follower, follow
from stream_bayes.workers.pipeline.parts import build_worker
from stream_bayes.workers.worker import Worker
from tests.kafka_broker.processes import Process
from tests.kafka_broker.topics import KafkaTopics, days, event
from tests.waiting import PATIENCE, until


class Shards:
    """A pipeline with shards over topics of its own.

    Parameters
    ----------
    kafka_topics
        The cluster.
    shards, partitions
        The numbers of shards, and of partitions of each topic.
    client
        The client of its workers.
    labels
        True for labels in a topic of their own.
    tables
        Further keys of tables of the pipeline file, by table.
    """

    def __init__(
        self,
        kafka_topics: KafkaTopics,
        shards: int = 4,
        partitions: int = 4,
        client: str = "kafka-python",
        labels: bool = False,
        **tables: dict[str, Any],
    ) -> None:
        self.kafka_topics = kafka_topics
        self.name = f"shards-{uuid.uuid4().hex[:12]}"
        self.topic, self.answers, self.letters = (kafka_topics.topic(partitions) for _ in range(3))
        self.labels = kafka_topics.topic(partitions) if labels else None
        self.partitions = partitions
        self.pipeline: dict[str, Any] = {
            "name": self.name,
            "source": {"kind": "kafka", "topic": self.topic, "target": "y"},
            "model": {"kind": "nb"},
            "predictions": {"kind": "kafka", "topic": self.answers},
            "dead_letters": {"kind": "kafka", "topic": self.letters},
            "kafka": {"servers": kafka_topics.servers.split(","), "client": client, "seconds": 60.0},
            "workers": {
                "shards": shards,
                "publish_seconds": 0.2,
                "publish_events": 50,
                "session_seconds": 6.0,
            },
            "snapshots": {"directory": "cache", "every_events": 150},
            "batch": 50,
        }
        if self.labels is not None:
            self.pipeline["labels"] = {"topic": self.labels, "correct_within": 1e9}
        for table, keys in tables.items():
            self.pipeline[table] = {**self.pipeline.get(table, {}), **keys}
        self.processes: list[Process] = []
        self._directory = tempfile.TemporaryDirectory(prefix="shards-")

    def cache(self, instance_id: str | None = None) -> Path:
        """Return the directory of snapshots of a worker; those with an instance id are on machines of their own."""
        return Path(self._directory.name, instance_id or "any")

    def pipeline_of(self, instance_id: str | None) -> dict[str, Any]:
        """Return the pipeline file on the machine of a worker."""
        snapshots = self.pipeline["snapshots"] | {"directory": str(self.cache(instance_id))}
        return self.pipeline | {"snapshots": snapshots}

    def start(self, **told: Any) -> Process:
        """Start a worker in a process."""
        process = Process({"pipeline": self.pipeline_of(told.get("instance_id"))} | told)
        self.processes.append(process)
        process.wait_for("running")
        return process

    def worker(self, instance_id: str | None = None) -> Worker:
        """Make a worker, to run in this process."""
        return build_worker(checked(self.pipeline_of(instance_id)), instance_id=instance_id)

    def run(self) -> Worker:
        """Run a worker to the end of the topics."""
        worker = self.worker()
        worker.run(until_end=True)
        return worker

    def follow(self) -> Follower:
        """Follow the model."""
        return follow(self.name, servers=self.kafka_topics.servers)

    def put(self, count: int, seed: int = 7) -> None:
        """Write so many days with their labels to all partitions of the topic."""
        self.kafka_topics.put(self.topic, days(count, self.partitions, seed))

    def committed(self) -> int:
        """Return the number of records that were committed."""
        return sum(self.kafka_topics.committed(self.name).values())

    def wait_for(self, count: int, seconds: float = PATIENCE) -> None:
        """Wait until so many records were committed."""
        until(f"{count} records of {self.name}", lambda: self.committed() >= count, seconds)

    def close(self) -> None:
        """End all workers."""
        for process in self.processes:
            process.kill()
        self._directory.cleanup()

    # -- what came of it ----------------------------------------------------------------------------------------------

    def offline(self) -> Step:
        """Return one pass over the records of all topics; each key is in one partition."""
        records = [(0, record) for record in self.kafka_topics.get(self.topic)]
        if self.labels is not None:
            records += [(1, record) for record in self.kafka_topics.get(self.labels)]
        records.sort(key=lambda row: (row[1].timestamp, row[0], row[1].partition, row[1].offset))
        own = self.pipeline.get("labels", {})
        pending = (
            None if self.labels is None else Pending(**{name: own[name] for name in own if name != "topic"})
        )
        step = Step(served(NaiveBayes()), "offline", pending=pending)
        for is_label, record in records:
            step.process([event(record, bool(is_label))])
        return step

    def check(self, count: int) -> None:
        """Check that the sum is one pass over all samples, and that each has one answer."""
        said = [json.loads(record.value) for record in self.kafka_topics.get(self.answers)]
        answers = Counter((answer["partition"], answer["position"]) for answer in said)
        letters = self.kafka_topics.get(self.letters)
        assert not {place: times for place, times in answers.items() if times > 1}
        assert len(said) + len(letters) == count
        expected = self.offline().model.model.store.by_name()
        with self.follow() as model:
            assert_equal(model.model.store.by_name(), expected)


def assert_equal(mine: dict[Any, Any], expected: dict[Any, Any]) -> None:
    """Check counts: equal exactly, and moments to 1e-9."""
    assert mine.keys() == expected.keys()
    for place, value in expected.items():
        if isinstance(value, tuple):
            assert mine[place] == pytest.approx(value, rel=1e-9)
        else:
            assert mine[place] == value, place
