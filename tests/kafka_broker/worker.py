"""A worker process: a pipeline over topics, which ends itself where it is told to.

python -m tests.kafka_broker.worker '{"servers": ..., "name": ..., "directory": ..., ...}'
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stream_bayes import NaiveBayes
from stream_bayes._build import VERSION
from stream_bayes.core.events.event import Kind
from stream_bayes.core.events.pending import Pending
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.delivery import AtLeastOnce
from stream_bayes.kafka.recovery import JournalRecovery, OffsetRecovery
from stream_bayes.kafka.sink import KafkaDeadLetters, KafkaSink
from stream_bayes.kafka.source import KafkaSource, Labels
from stream_bayes.kafka.transactions import Transactions
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.saving import Schedule
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.served_models.served import served
from stream_bayes.streams.service.signals import stopping_on_signals
from stream_bayes.workers.model_topic import ModelPublisher
from stream_bayes.workers.pipeline.parts import build_worker
from tests.waiting import TO_BEGIN

POINTS = ("sends", "journal", "send_offsets", "commit", "committed", "snapshot", "saved")
INSIDE = "inside"  # the call of commit: some milliseconds after its beginning
INSIDE_SECONDS = 0.02


def make_engine(told: dict[str, Any]) -> Engine:
    """The pipeline that is told of: a classifier, whose snapshots and topics go by the pipeline's name."""
    connection = Connection(
        servers=tuple(told["servers"].split(",")),
        client=told.get("client", "kafka-python"),
        seconds=told.get("seconds", TO_BEGIN),
    )
    name = told["name"]
    pending = Pending(wait_for=told.get("wait_for")) if "labels" in told else None
    source = make_source(told, connection)
    delivery: Transactions | AtLeastOnce
    recovery: OffsetRecovery
    if told.get("delivery") == "at-least-once":
        delivery = AtLeastOnce(connection, name)
        recovery = OffsetRecovery(source, name, delivery, accept_gap=told.get("accept_gap", False))
    else:
        delivery = Transactions(
            connection,
            name,
            source,
            replication_factor=told.get("replication_factor"),
            transaction_seconds=told.get("transaction_seconds", 60.0),
            max_message_bytes=told.get("max_message_bytes", 1_000_000),
        )
        recovery = JournalRecovery(source, name, delivery, accept_gap=told.get("accept_gap", False))
    letters = KafkaDeadLetters(delivery, told["letters"])
    engine = Engine(
        Step(served(NaiveBayes()), name, pending=pending),
        source,
        predictions=KafkaSink(delivery, told["predictions"], letters),
        dead_letters=letters,
        recovery=recovery,
        # The journal is kept for the tests.
        store=SnapshotStore(Path(told["directory"]), told.get("keep", 1000)),
        schedule=Schedule(every_events=told.get("every_events", 500)),
        open_again=lambda: make_source(told, connection),
        accept_gap=told.get("accept_gap", False),
        batch=told.get("batch", 100),
    )
    if "pause" in told:  # after every commit
        engine.watch(lambda progress: time.sleep(told["pause"]))
    return engine


def make_source(told: dict[str, Any], connection: Connection) -> KafkaSource:
    labels = None
    if "labels" in told:
        fields = Fields(target="y", time=told.get("time"), default_kind=Kind.LABEL)
        labels = Labels(told["labels"], JSONDecoder(fields))
    return KafkaSource(
        connection,
        told["topic"],
        JSONDecoder(Fields(target="y", time=told.get("time"))),
        labels=labels,
        start=told.get("start", "earliest"),
        tombstones=told.get("tombstones", False),
        stuck_seconds=told.get("stuck_seconds", 60.0),
        commands=f"{told['name']}.commands",
    )


def signal_at(engine: Engine, number: signal.Signals, point: str, count: int) -> None:
    """Let the process be killed or stopped the how manieth time it comes to a point."""
    left = count
    pid = os.getpid()

    def reaching(inner: Callable[..., Any]) -> Callable[..., Any]:
        def outer(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if not left and point == INSIDE:
                threading.Timer(random.uniform(0.0, INSIDE_SECONDS), os.kill, (pid, number)).start()
            elif not left:
                os.kill(pid, number)
            return inner(*arguments, **named)

        return outer

    recovery: Any = engine.recovery
    if isinstance(recovery, JournalRecovery):
        _end_in_transaction(recovery.delivery, point, reaching)
    if point == "committed":
        engine.watch(reaching(lambda progress: None))
    elif point == "snapshot":
        assert engine.store is not None
        engine.store.save = reaching(engine.store.save)  # type: ignore[method-assign]  # it ends the process
    elif point == "saved":
        engine._prune = reaching(engine._prune)  # type: ignore[method-assign]  # it ends the process


def _end_in_transaction(delivery: Any, point: str, reaching: Callable[..., Any]) -> None:
    opening = delivery._fence

    def fence() -> None:
        opening()
        writer = delivery._writer
        if point == "sends":
            plain, noticed = writer.send_all, reaching(lambda send: send)
            writer.send_all = lambda sends: plain(map(noticed, sends))
        elif point == "journal":
            writer.send = reaching(writer.send)
        elif point in ("send_offsets", "commit", INSIDE):
            call = "commit" if point == INSIDE else point
            setattr(writer, call, reaching(getattr(writer, call)))

    delivery._fence = fence


def run_shards(told: dict[str, Any]) -> None:
    """Run a worker of a pipeline with shards.

    `publish_and_die` is the publication during which it is killed; with `revoke_and_die` it is killed when the group
    revokes shards.
    """
    worker = build_worker(checked(told["pipeline"]), instance_id=told.get("instance_id"))
    if told.get("revoke_and_die"):
        revoking: Any = worker
        revoking._on_revoked = lambda numbers: os.kill(os.getpid(), signal.SIGKILL)
    if "publish_and_die" in told:
        left, collect = told["publish_and_die"], ModelPublisher.collect

        def collect_and_die(publisher: ModelPublisher, **named: Any) -> list[Any]:
            nonlocal left
            sends = collect(publisher, **named)
            left -= bool(sends)
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return sends

        publishers: Any = ModelPublisher
        publishers.collect = collect_and_die
    with stopping_on_signals(worker.stop):
        print(f"running {VERSION}", flush=True)
        worker.run(until_end=told.get("until_end", False))
    print(json.dumps(worker.summary()))


def main(told: dict[str, Any]) -> None:
    if "pipeline" in told:
        run_shards(told)
        return
    engine = make_engine(told)
    if "end_at" in told:
        signal_at(engine, signal.SIGKILL, *told["end_at"])
    if "stop_at" in told:
        signal_at(engine, signal.SIGSTOP, *told["stop_at"])
    with stopping_on_signals(engine.stop):
        print("running", flush=True)
        progress = engine.run(told.get("limit"), rebuild=told.get("rebuild", False))
    print(
        json.dumps(
            {
                "taken": progress.processed,
                "processed_in_run": progress.processed_in_run,
                "replayed": progress.replayed,
            }
        )
    )


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
