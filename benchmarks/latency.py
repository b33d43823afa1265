"""From the writing of a record to its verdict, at 1,000 records a second: both deliveries, and Quix Streams.

    python -m benchmarks.latency                   as JSON; a minute and a half
    pip install --target build/quix quixstreams    then its pipeline with the same learner is measured too

Each pipeline is a process of its own with topics of its own, and one is measured after another, in rounds. The record's
time is taken before it is written, the verdict's when a consumer under read_committed has it. The load of the machine
is said with the figures: on two cores the broker, the pipeline, the writer and the reader share them.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from confluent_kafka import Consumer, Producer
from kafka import KafkaAdminClient

from benchmarks.speed.kafka import FIELDS, records, servers

__all__ = ["main"]

PER_SECOND = 1000
WARM_SECONDS = 3.0  # whose records are not counted
QUIX = Path("build/quix")

PIPELINE = """
name = "{name}"
model = {{ kind = "nb" }}
kafka = {{ servers = ["{servers}"], client = "confluent-kafka", delivery = "{kind}", seconds = 60 }}
source = {{ kind = "kafka", topic = "{topic}", target = "y" }}
predictions = {{ kind = "kafka", topic = "{answers}" }}
snapshots = {{ directory = "state" }}
"""

QUIX_PIPELINE = """
import sys
sys.path.append(sys.argv[4])
from quixstreams import Application
from stream_bayes import NaiveBayes
servers, topic, answers = sys.argv[1:4]
app = Application(broker_address=servers, consumer_group=topic, auto_offset_reset="earliest", loglevel="ERROR")
model = NaiveBayes()
def judge(value):
    y = value.pop("y")
    answer = model.predict_proba_one(value)
    model.learn_one(value, y)
    return {"probabilities": answer}
stream = app.dataframe(app.topic(topic, value_deserializer="json"))
stream.apply(judge).to_topic(app.topic(answers, value_serializer="json"))
app.run()
"""


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=2)
    told = parser.parse_args()
    kinds = ["exactly-once", "at-least-once", *(["quix"] if QUIX.exists() else [])]
    seen: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
    for _ in range(told.rounds):
        for kind in kinds:
            seen[kind].append(measured(kind, told.seconds))
    figures: dict[str, Any] = {
        kind: {name: median(each[name] for each in rounds) for name in rounds[0]}
        for kind, rounds in seen.items()
    }
    sys.stdout.write(json.dumps({"load": os.getloadavg()[0], "rounds": told.rounds} | figures) + "\n")


def measured(kind: str, seconds: float) -> dict[str, float]:
    """Return quantiles of the milliseconds from record to verdict of one pipeline."""
    address, name = servers(), f"latency-{uuid.uuid4().hex[:8]}"
    topic, answers = f"{name}-in", f"{name}-out"
    admin = KafkaAdminClient(bootstrap_servers=[address])
    admin.create_topics(
        {each: {"num_partitions": 1, "replication_factor": 1} for each in (topic, answers)},
        wait_for_metadata=True,
    )
    admin.close()
    sent: dict[bytes, float] = {}
    taken: dict[bytes, float] = {}
    count = int(PER_SECOND * (WARM_SECONDS + seconds))
    reader = Thread(target=read, args=(address, answers, count, taken))
    with TemporaryDirectory(prefix="latency-") as directory:
        process = started(kind, Path(directory), address, topic, answers, name)
        try:
            reader.start()
            time.sleep(6.0)  # until the pipeline reads and the reader waits
            write(address, topic, count, sent)
            reader.join()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    assert len(taken) == count, f"{kind}: {len(taken)} of {count} answers came"
    counted = [key for key in taken if int(key) >= PER_SECOND * WARM_SECONDS]
    waits = sorted(1000.0 * (taken[key] - sent[key]) for key in counted)
    shares = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "most_ms": 1.0}
    return {share: round(waits[int(part * (len(waits) - 1))], 1) for share, part in shares.items()}


def started(
    kind: str, directory: Path, address: str, topic: str, answers: str, name: str
) -> subprocess.Popen[bytes]:
    """Start a pipeline in a process."""
    if kind == "quix":
        arguments = ["-c", QUIX_PIPELINE, address, topic, answers, str(QUIX.absolute())]
    else:
        file = directory / "pipeline.toml"
        file.write_text(PIPELINE.format(name=name, servers=address, kind=kind, topic=topic, answers=answers))
        arguments = ["-m", "stream_bayes", "run", str(file), "--log-json"]
    return subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def write(address: str, topic: str, count: int, sent: dict[bytes, float]) -> None:
    """Write records at the rate, each with its number as its key."""
    producer = Producer({"bootstrap.servers": address, "linger.ms": 0})
    values = [value for _, value in records()[:count]]
    assert json.loads(values[0]).keys() >= {f"f{FIELDS - 1}", "y"}
    begun = time.monotonic()
    for number in range(count):
        due = begun + number / PER_SECOND
        while (now := time.monotonic()) < due:
            producer.poll(due - now)
        key = b"%d" % number
        sent[key] = time.monotonic()
        producer.produce(topic, values[number], key)
    producer.flush(30)


def read(address: str, topic: str, count: int, taken: dict[bytes, float]) -> None:
    """Read verdicts until all are there, or none comes for a while."""
    settings = {"bootstrap.servers": address, "group.id": topic, "auto.offset.reset": "earliest"}
    consumer = Consumer(settings | {"isolation.level": "read_committed", "enable.auto.commit": False})
    consumer.subscribe([topic])
    last = time.monotonic()
    while len(taken) < count and time.monotonic() - last < 30.0:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            last = time.monotonic()
            taken.setdefault(message.key(), last)
    consumer.close()


if __name__ == "__main__":
    main()
