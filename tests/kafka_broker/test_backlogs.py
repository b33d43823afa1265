"""Backlogs of real length, read from their beginnings: learned, judged and followed as the same records in order."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer

from stream_bayes import Costs
from stream_bayes.mail import SpamFilter
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from tests.kafka_broker.test_mail import engine_over
from tests.kafka_broker.test_time_order import (
    DAY,
    DAYS,
    HOUR,
    SECTIONS,
    START,
    Row,
    from_file,
    kept_in,
    put,
    state_with,
    table,
)
from tests.kafka_broker.topics import KafkaTopics
from tests.mail.messages import stream
from tests.waiting import PATIENCE

SAMPLES = 6000


def two_months() -> list[Row]:
    """Samples of sixty days in four partitions, and the label of each an hour later, in two, sorted by time."""
    chance = random.Random(17)
    rows = []
    for number in range(SAMPLES):
        rain = chance.random() < 0.4
        time = START + DAYS * DAY * number / SAMPLES
        key = f"day-{number}"
        fields: dict[str, Any] = {"sky": chance.choices(["grey", "blué"], [3, 1] if rain else [1, 3])[0]}
        fields |= {name: chance.gauss(rain, 0.675) for name in ("wind", "haze")}
        rows.append(Row("sample", number % 4, key, fields, time))
        rows.append(Row("label", number % 2, key, {"y": "rain" if rain else "dry"}, time + HOUR))
    return sorted(rows, key=lambda row: (row.time, row.kind != "sample", row.partition))


def accuracy(answers: Iterable[dict[str, Any]], labels: dict[str, str]) -> float:
    right = [answer["prediction"] == labels[answer["key"]] for answer in answers]
    return sum(right) / len(right)


@pytest.mark.parametrize("client", [pytest.param("kafka-python", marks=pytest.mark.soak), "confluent-kafka"])
def test_six_thousand_labels_that_came_an_hour_late_are_all_learned_and_so_by_a_rebuild(
    kafka_topics: KafkaTopics, tmp_path: Path, client: str
) -> None:
    rows = two_months()
    labels = {row.key: row.fields["y"] for row in rows if row.kind == "label"}
    engine, answers = from_file(tmp_path / "file", rows)
    expected = accuracy(answers, labels)
    assert engine.step.learned == SAMPLES and round(expected, 3) == 0.881
    topics = kafka_topics.topic(4), kafka_topics.topic(2), kafka_topics.topic(1)
    for topic, kind in zip(topics, ("sample", "label"), strict=False):
        put(kafka_topics, topic, [row for row in rows if row.kind == kind])
    told = table(
        tmp_path / "topics",
        {"kind": "kafka", "topic": topics[0]},
        name=f"weather-{topics[0]}",
        labels={"wait_for": 14 * DAY, "topic": topics[1]},
        kafka={"servers": [kafka_topics.servers], "client": client},
        predictions={"kind": "kafka", "topic": topics[2]},
    )
    live = build(checked(told), tmp_path)
    live.run(until_end=True)
    assert live.step.learned == SAMPLES
    written = [json.loads(record.value) for record in kafka_topics.get(topics[2])]
    assert accuracy(written, labels) == expected
    of_live = state_with(kept_in(tmp_path / "topics"), *SECTIONS)
    rebuilt = build(checked(told), tmp_path)
    assert rebuilt.run(0, rebuild=True).replayed == 2 * SAMPLES
    assert state_with(kept_in(tmp_path / "topics"), *SECTIONS) == of_live
    assert build(checked(told), tmp_path).run(until_end=True).processed == 2 * SAMPLES
    assert len(kafka_topics.get(topics[2])) == SAMPLES


def put_at(kafka_topics: KafkaTopics, topic: str, records: Iterable[tuple[float, int, bytes, bytes]]) -> None:
    """Write records: seconds after `earlier`, partition, key, value."""
    producer = KafkaProducer(
        bootstrap_servers=kafka_topics.servers.split(","), linger_ms=20, metrics_enabled=False
    )
    try:
        for moment, partition, key, value in records:
            at = int(1000 * (kafka_topics.earlier + moment))
            producer.send(topic, value, key, partition=partition, timestamp_ms=at)
        producer.flush(timeout=PATIENCE)
    finally:
        producer.close(timeout=PATIENCE)


def test_mails_that_are_already_there_are_unsure_until_20_of_each_class_were_learned(
    kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    mails = list(stream(300))
    gap, delay = 2.0, 41.0  # seconds between two mails, and until a mail's label
    told = {
        "mail": kafka_topics.topic(4),
        "mail-labels": kafka_topics.topic(2),
        "mail-verdicts": kafka_topics.topic(),
        "mail-dead": kafka_topics.topic(),
        "spam": kafka_topics.topic() + "-pipeline",
    }
    keys = [f"id-{number}" for number in range(len(mails))]
    put_at(
        kafka_topics,
        told["mail"],
        [(gap * n, n % 4, keys[n].encode(), raw) for n, (raw, _) in enumerate(mails)],
    )
    put_at(
        kafka_topics,
        told["mail-labels"],
        [
            (gap * n + delay, n % 2, keys[n].encode(), json.dumps({"label": label}).encode())
            for n, (_, label) in enumerate(mails)
        ],
    )
    engine_over(kafka_topics, told, tmp_path / "state").run(until_end=True)

    in_time_order, learned = SpamFilter(costs=Costs.false_positive(30.0, "spam", "ham", unsure=0.5)), 0
    expected: dict[str, str | None] = {}
    is_young: dict[str, bool] = {}
    for number, (raw, _) in enumerate(mails):
        while learned < number and gap * learned + delay < gap * number:
            in_time_order.learn_one(mails[learned][0], mails[learned][1], id=keys[learned])
            learned += 1
        expected[keys[number]] = in_time_order.verdict_one(raw)
        is_young[keys[number]] = min(in_time_order.messages.values(), default=0) < 20
    answers = [json.loads(record.value) for record in kafka_topics.get(told["mail-verdicts"])]
    assert {answer["key"]: answer["prediction"] for answer in answers} == expected
    assert is_young[keys[int(delay / gap) + 20]] and not is_young[keys[-1]]
    assert {expected[key] for key in keys if is_young[key]} == {"unsure"}
    assert len(set(expected.values())) > 1


@pytest.mark.parametrize("events", [8000, pytest.param(40_000, marks=pytest.mark.soak)])
def test_one_change_over_four_partitions_is_one_drift(
    kafka_topics: KafkaTopics, tmp_path: Path, events: int
) -> None:
    records = []
    for number in range(events):
        light = "on" if number % 3 else "off"
        day = (light == "on") == (number < events // 2)
        records.append({"light": light, "day": "yes" if day else "no", "at": START + number})
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    topic = kafka_topics.topic(4)
    kafka_topics.put(
        topic, [(number % 4, None, json.dumps(record).encode()) for number, record in enumerate(records)]
    )
    logs = []
    for source in ({"kind": "jsonl", "path": "events.jsonl"}, {"kind": "kafka", "topic": topic}):
        log = f"drifts-of-{source['kind']}.jsonl"
        told = {
            "name": f"{source['kind']}-{topic}",
            "source": source | {"target": "day", "time": "at"},
            "model": {"kind": "nb"},
            "drift": {"log": log},
            "snapshots": {"directory": f"state-of-{source['kind']}"},
        }
        if source["kind"] == "kafka":
            told["kafka"] = {"servers": [kafka_topics.servers]}
        build(checked(told), tmp_path).run(until_end=True)
        logs.append([json.loads(line) for line in (tmp_path / log).read_text().splitlines()])
    of_file, of_topic = ([(entry["what"], entry["time"]) for entry in log] for log in logs)
    assert of_topic == of_file and [what for what, _ in of_file] == ["drift", "adopted"]
