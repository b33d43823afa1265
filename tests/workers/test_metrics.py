"""The figures of a worker: each alert has its metric, and shards that come and go change no counter."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import yaml

from stream_bayes import NaiveBayes
from stream_bayes.core.events.event import Event
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.served_models.served import served
from stream_bayes.streams.sources.iterable import IterableSource
from stream_bayes.workers.metrics import WorkerMetrics
from stream_bayes.workers.shard import Shard
from stream_bayes.workers.total import Total
from stream_bayes.workers.worker import Worker

ALERTS = Path(__file__).parents[2] / "docker" / "alerts.yaml"


class Part:
    """A delivery, a publisher and the other shards, of which nothing matters here."""

    published = bytes_published = applied = memory_bytes = 0
    oldest_age = 0.0
    failure = None

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


def worker_of() -> Worker:
    total, connection = Total(NaiveBayes()), Connection(servers=("nowhere:1",), client="kafka-python")
    part: Any = Part()
    worker = Worker(
        "rain",
        connection,
        1,
        total,
        prepare=lambda: "rain.journal",
        make_replicas=lambda: part,
        make_shard=part,
    )
    worker.replicas = part
    return worker


def run_shard(worker: Worker, items: list[Event], directory: Path) -> None:
    """Run shard 0 over these items, from the snapshot on that it left before."""
    source = IterableSource(items, name="days")
    engine = Engine(Step(served(NaiveBayes()), "rain"), source, batch=10, store=SnapshotStore(directory))
    part: Any = Part()
    shard = worker._running[0] = Shard(0, engine, part, part, lambda: None)
    shard.start()
    assert shard.join(60) and shard.failure is None


def values(worker: Worker) -> dict[str, float]:
    return {
        sample.name + sample.labels.get("reason", ""): sample.value
        for metric in WorkerMetrics(worker).collect()
        for sample in metric.samples
    }


def test_a_shard_that_moves_raises_no_alert_and_a_dead_letter_does(tmp_path: Path) -> None:
    now = time.time()
    good, bad = (Event({"sky": sky}, "rain", time=now) for sky in ("grey", float("inf")))
    name = "stream_bayes_dead_letters_totalrefused"
    first, second = worker_of(), worker_of()
    assert values(first)[name] == 0
    run_shard(first, [good, bad, good], tmp_path)
    assert values(first)[name] == 1
    run_shard(second, [good, bad, good, good], tmp_path)  # goes on after the snapshot with one dead letter
    seen = values(second)
    assert seen[name] == 0 and seen["stream_bayes_records_total"] == 1
    assert seen["stream_bayes_latency_seconds_count"] == seen["stream_bayes_commit_seconds_count"] == 1
    second._forget(second.owned[0])
    assert (
        values(second)["stream_bayes_records_total"] == 1 and values(second)["stream_bayes_shards_owned"] == 0
    )


def test_every_alert_but_those_of_drift_is_about_a_metric_that_workers_have(tmp_path: Path) -> None:
    worker = worker_of()
    run_shard(worker, [Event({"sky": "grey"}, "rain", time=time.time())], tmp_path)
    named = set(
        re.findall(
            r"\bstream_bayes_\w+",
            " ".join(
                rule["expr"] for rule in yaml.safe_load(ALERTS.read_text("utf-8"))["groups"][0]["rules"]
            ),
        )
    )
    exported = {sample.name for metric in WorkerMetrics(worker).collect() for sample in metric.samples}
    assert named - exported == {"stream_bayes_drift_events_total"}  # [workers] have no drift
