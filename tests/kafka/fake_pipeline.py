"""Pipelines over a fake broker: engines of one name, in one process, one after another or one inside another."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.engine import engine as engine_module
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.saving import SnapshotWriter
from tests.kafka.fake_broker import FakeBroker
from tests.kafka_broker.worker import make_engine

NAME = "days"


class Inline(Executor):
    """Runs what is submitted at once: snapshots are written within the worker's turn, however slow the disk is."""

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(call(*arguments, **named))
        except Exception as error:
            future.set_exception(error)
        return future


def write_snapshots_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let engines wait for their snapshots, so that a slow disk changes nothing."""
    monkeypatch.setattr(
        engine_module, "SnapshotWriter", lambda store: SnapshotWriter(store, executor=Inline())
    )


class FakePipeline:
    """A pipeline of a fake broker, with topics of its own."""

    def __init__(
        self,
        directory: Path,
        monkeypatch: pytest.MonkeyPatch,
        partitions: int = 1,
        broker: FakeBroker | None = None,
        **told: Any,
    ) -> None:
        self.broker = FakeBroker() if broker is None else broker
        self.broker.connection(monkeypatch)
        write_snapshots_at_once(monkeypatch)
        self.topic = self.broker.topic("weather", partitions)
        self.journal = f"{NAME}.journal"
        self.id = f"{NAME}.stream-bayes"
        self.told: dict[str, Any] = {
            "servers": "nobody:9092",
            "name": NAME,
            "topic": self.topic,
            "predictions": self.broker.topic("answers", partitions),
            "letters": self.broker.topic("letters", partitions),
            "directory": str(directory / "state"),
            "batch": 10,
            "every_events": 10_000,
        } | told

    def engine(self, **told: Any) -> Engine:
        """Return an engine whose deliveries never wait."""
        engine = make_engine(self.told | told)
        recovery: Any = engine.recovery
        recovery._delivery._sleep = lambda seconds: None
        return engine

    def run(self, limit: int | None = None, rebuild: bool = False, **told: Any) -> Engine:
        """Run an engine to the end of the topic, or so many records."""
        engine = self.engine(**told)
        engine.run(limit, rebuild=rebuild, until_end=True)
        return engine

    def answers(self) -> Counter[tuple[str, int, int]]:
        """Return how often each position was answered."""
        return Counter(
            (said["source"], said["partition"], said["position"])
            for said in (json.loads(record.value or b"") for record in self.broker.records("answers"))
        )

    def snapshot(self) -> Snapshot:
        """Return the newest snapshot."""
        found = SnapshotStore(self.told["directory"]).latest()
        assert found is not None
        return found.snapshot

    def state(self) -> bytes:
        """Return the bytes of the newest state, without what differs between two runs."""
        sections = {
            name: state for name, state in self.snapshot().sections.items() if name not in ("settings", "log")
        }
        return Snapshot(learner="NaiveBayes", sections=sections).to_bytes()


def killed_after(pipeline: FakePipeline, count: int) -> None:
    """Run a worker that is killed after so many records: its snapshot is the first one."""
    worker = pipeline.engine()

    def kill(progress: Any) -> None:
        if progress.processed >= count:
            raise KeyboardInterrupt

    worker.watch(kill)
    with pytest.raises(KeyboardInterrupt):
        worker.run(until_end=True)
