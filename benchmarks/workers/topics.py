"""Topics for pipelines with shards, on the broker of the tests or the one in STREAM_BAYES_KAFKA."""

from __future__ import annotations

import atexit
import itertools
import json
import os
import random
import tempfile
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, KafkaProducer

from tests.kafka_broker.broker import Broker

__all__ = ["PARTITIONS", "create_topics", "input_topic", "names_topic", "pipeline", "servers"]

PARTITIONS = 16
FIELDS, VALUES = 20, 8
numbers = itertools.count()
RUN = f"{os.getpid()}-{int(time.time())}"


@cache
def servers() -> str:
    """Return the address of a broker; one that is started here ends with this process.

    Raises
    ------
    NoBroker
        If none can be had.
    """
    given = os.environ.get("STREAM_BAYES_KAFKA")
    if given:
        return given
    broker = Broker(Path(tempfile.mkdtemp(prefix="bench-workers-")) / "broker")
    broker.start()
    atexit.register(broker.kill)
    broker.wait()
    return broker.address


def create_topics(*names: str, partitions: int = PARTITIONS) -> None:
    """Create topics."""
    admin = KafkaAdminClient(bootstrap_servers=[servers()])
    admin.create_topics(
        {name: {"num_partitions": partitions, "replication_factor": 1} for name in names},
        wait_for_metadata=True,
    )
    admin.close()


@cache
def input_topic(events: int, fields: int = FIELDS, values: int = VALUES) -> str:
    """Return a topic with so many events of two classes and nominal features, in all partitions by turns."""
    chance = random.Random(41)
    kinds = []  # a record is one of these: producing must not take longer than what is measured
    for _ in range(5_000):
        label = chance.random() < 0.4
        content: dict[str, Any] = {
            f"f{n}": f"v{min(chance.randrange(values), values - 1 - label)}" for n in range(fields)
        }
        content["y"] = "yes" if label else "no"
        kinds.append(json.dumps(content, separators=(",", ":")).encode())
    return _filled(
        f"bench-{RUN}-events-{events}-{fields}-{values}", (kinds[n % len(kinds)] for n in range(events))
    )


@cache
def names_topic(events: int) -> str:
    """Return a topic with so many events, of which each value of a feature comes once."""
    records = (
        json.dumps({f"f{n}": f"v{number}-{n}" for n in range(FIELDS)} | {"y": "no" if number % 3 else "yes"})
        for number in range(events)
    )
    return _filled(f"bench-{RUN}-names-{events}-{FIELDS}", (record.encode() for record in records))


def _filled(name: str, records: Iterable[bytes]) -> str:
    create_topics(name)
    producer = KafkaProducer(bootstrap_servers=[servers()], linger_ms=20)
    for number, value in enumerate(records):
        producer.send(name, value, b"%d" % number, partition=number % PARTITIONS)
    producer.flush(timeout=120)
    producer.close(timeout=60)
    return name


def pipeline(topic: str, client: str, shards: int | None, **tables: Any) -> dict[str, Any]:
    """Return a pipeline file of a new name over a topic; without shards one without [workers]."""
    name = f"bench-{RUN}-{next(numbers)}"
    answers = f"{name}-answers"
    create_topics(answers)
    found: dict[str, Any] = {
        "name": name,
        "source": {"kind": "kafka", "topic": topic, "target": "y"},
        "model": {"kind": "nb"},
        "predictions": {"kind": "kafka", "topic": answers},
        "kafka": {"servers": servers().split(","), "client": client, "seconds": 60.0},
    }
    if shards is not None:
        found["workers"] = {"shards": shards}
    for table, keys in tables.items():
        found[table] = {**found.get(table, {}), **keys} if isinstance(keys, dict) else keys
    return found
