"""Labels that are numbers, on a topic of their own: late, corrected, and no numbers, over a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import BayesianRegression
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from tests.kafka_broker.topics import KafkaTopics

EVENTS = 60


def load(k: int) -> dict[str, Any]:
    return {"heat": float(k * k % 11), "sky": "grey" if k % 3 else "blue"}


def bill(k: int) -> float:
    return 5.0 * (k * k % 11) + (20.0 if k % 3 else 0.0) + k % 4


def test_late_and_corrected_numbers_are_learned_once_each_and_a_text_is_a_dead_letter(
    kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    topic, second, answers, letters = (kafka_topics.topic(1) for _ in range(4))
    samples = [(0, f"{k}".encode(), json.dumps(load(k)).encode()) for k in range(EVENTS)]
    told: list[tuple[int, object]] = [(k, bill(k)) for k in range(EVENTS) if k != 7]
    told += [(7, "high"), *((k, bill(k) + 100.0) for k in range(0, EVENTS, 10))]
    labels = [(0, f"{k}".encode(), json.dumps({"y": y}).encode()) for k, y in told]
    table = {
        "name": f"bills-{topic}",
        "kafka": {"servers": kafka_topics.servers.split(",")},
        "source": {"kind": "kafka", "topic": topic},
        "labels": {"topic": second, "target": "y"},
        "model": {"kind": "bayesian-regression", "task": "regression", "intervals": 0.8},
        "predictions": {"kind": "kafka", "topic": answers},
        "dead_letters": {"kind": "kafka", "topic": letters},
        "snapshots": {"directory": str(tmp_path / "state")},
    }
    half = EVENTS // 2
    for part, theirs in ((samples[:half], labels[:20]), (samples[half:], labels[20:])):
        kafka_topics.put(topic, part)
        kafka_topics.put(second, theirs)
        engine = build(checked(table), tmp_path)  # the second goes on from the snapshot of the first
        assert engine.run(len(part) + len(theirs)).processed_in_run == len(part) + len(theirs)
    alone = BayesianRegression()
    for k in range(EVENTS):
        if k != 7:
            alone.learn_one(load(k), bill(k) if k % 10 else bill(k) + 100.0)
    model: Any = engine.step.model.model
    for k in range(12):
        assert model.predict_interval_one(load(k)) == pytest.approx(
            alone.predict_interval_one(load(k)), rel=1e-9
        )
    written = [json.loads(record.value) for record in kafka_topics.get(answers)]
    assert len(written) == EVENTS and written[0]["prediction"] is None
    assert written[-1]["low"] < written[-1]["prediction"] < written[-1]["high"]
    (dead,) = [json.loads(record.value) for record in kafka_topics.get(letters)]
    assert dead["reason"] == "bad_label" and "'high'" in dead["detail"]
