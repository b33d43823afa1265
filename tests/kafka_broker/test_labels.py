"""Labels on a topic of their own: before their samples, long after them, twice, another one, or never."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_bayes import NaiveBayes
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from tests.kafka_broker.topics import KafkaTopics, Pipeline

LATER = 100.0  # seconds after which a label is too late; the records say themselves when they were made
SKIES = ("grey", "blue", "blué")
QUESTIONS = [{"sky": sky} for sky in SKIES]


def samples(name: str) -> list[tuple[int, bytes, bytes]]:
    return [(n % 2, f"{name}-{n}".encode(), json.dumps({"sky": SKIES[n % 3]}).encode()) for n in range(10)]


def labels(name: str, label: str, count: int = 10) -> list[tuple[int, bytes, bytes]]:
    return [(n % 2, f"{name}-{n}".encode(), json.dumps({"y": label}).encode()) for n in range(count)]


@pytest.mark.parametrize("client", ["kafka-python", pytest.param("confluent-kafka", marks=pytest.mark.soak)])
def test_each_sample_is_learned_once_with_its_last_label_whenever_that_comes(
    kafka_topics: KafkaTopics, tmp_path: Path, client: str
) -> None:
    pipeline = Pipeline(
        kafka_topics, tmp_path / "state", labels=kafka_topics.topic(2), wait_for=LATER, client=client
    )
    topic, second = pipeline.topic, pipeline.told["labels"]
    phases = [
        (second, 0.0, labels("early", "rain")),
        (topic, 1.0, [*samples("early"), *samples("never"), *samples("repeated")]),
        (second, 2.0, labels("repeated", "rain")),
        (second, 3.0, [*labels("repeated", "rain"), *labels("repeated", "dry", 5)]),
        (topic, 2 * LATER, samples("late")),
        (second, 2 * LATER + 1.0, [*labels("never", "dry"), *labels("late", "dry")]),
    ]
    taken = replayed = 0
    try:
        for number, (place, moment, records) in enumerate(phases):
            kafka_topics.put(place, records, moment)
            taken += len(records)
            if number % 2:
                pipeline.dies(end_at=["committed", 1], every_events=10_000)
            replayed += pipeline.finish(taken)["replayed"]
        assert replayed > 0
        assert pipeline.state() == pipeline.expected()
        assert pipeline.committed_count() == taken
    finally:
        pipeline.close()
    answers = [(said["partition"], said["position"]) for said in pipeline.outputs()]
    assert len(answers) == len(set(answers)) == 40
    assert [letter["reason"] for letter in pipeline.outputs("letters")] == ["label_too_late"] * 10
    expected = NaiveBayes()
    for name, label in (("early", "rain"), ("repeated", "rain"), ("late", "dry")):
        for n, (_, _, value) in enumerate(samples(name)):
            expected.learn_one(json.loads(value), "dry" if name == "repeated" and n < 5 else label)
    learned = NaiveBayes.from_state(pipeline.newest_snapshot().sections["model"])
    for question in QUESTIONS:
        assert learned.predict_proba_one(question) == pytest.approx(expected.predict_proba_one(question))


def test_labels_have_keys_and_times_in_the_fields_in_which_the_samples_have_theirs(
    kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    topic, second = kafka_topics.topic(2), kafka_topics.topic(1)
    own, theirs = [], []
    for number in range(20):
        at = 60.0 * number
        day = {"id": number, "sky": SKIES[number % 3]}
        own.append((number % 2, None, json.dumps({"at": at, "day": day}).encode()))
        told = {"at": at + 90.0, "day": {"id": number, "rain": "yes" if number % 3 else "no"}}
        theirs.append((0, None, json.dumps(told).encode()))
    kafka_topics.put(second, theirs)
    kafka_topics.put(topic, own)
    source = {"kind": "kafka", "topic": topic, "flatten": True, "time": "at"}
    table = {
        "name": f"days-{topic}",
        "source": source | {"target": "day.rain", "key": "day.id"},
        "labels": {"topic": second, "wait_for": LATER},
        "model": {"kind": "nb"},
        "kafka": {"servers": kafka_topics.servers.split(",")},
    }
    engine = build(checked(table), tmp_path)
    assert engine.run(until_end=True).processed == 40
    assert engine.step.learned == 20
