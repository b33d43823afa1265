"""Networks without a class over topics: missing values, a hidden variable, a structure that grows, and a drift."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from tests.kafka_broker.topics import KafkaTopics


def table_of(topics: KafkaTopics, topic: str, directory: Path, **settings: Any) -> dict[str, Any]:
    return {
        "name": f"{topic}-network",
        "kafka": {"servers": [topics.servers]},
        "source": {"kind": "kafka", "topic": topic},
        "predictions": {"kind": "kafka", "topic": topics.topic(1)},
        "snapshots": {"directory": str(directory / "state")},
        **settings,
    }


def put(topics: KafkaTopics, events: list[dict[str, Any]]) -> str:
    topic = topics.topic(1)
    topics.put(topic, [(0, None, json.dumps(event).encode()) for event in events])
    return topic


def answers_of(topics: KafkaTopics, table: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(record.value) for record in topics.get(table["predictions"]["topic"])]


def test_a_hidden_variable_and_missing_values_come_from_a_topic(
    kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    pairs = [("ann", "DE"), ("bob", "FR")]
    events: list[dict[str, Any]] = [
        dict(zip(("user", "country"), pairs[k % 2], strict=True)) for k in range(200)
    ]
    for k in range(0, 200, 7):
        events[k]["country"] = None  # null in the record
    for k in range(3, 200, 7):
        events[k].pop("country")
    (tmp_path / "net.json").write_text(json.dumps({"kind": [], "user": ["kind"], "country": ["kind"]}))
    features = {
        "kind": {"kind": "nominal", "values": ["one", "other"]},
        "user": {"kind": "nominal", "values": ["ann", "bob"]},
        "country": {"kind": "nominal", "values": ["DE", "FR"]},
    }
    table = table_of(
        kafka_topics,
        put(kafka_topics, events),
        tmp_path,
        schema={"features": features},
        model={
            "kind": "bayes-net",
            "structure": "net.json",
            "predict": ["kind", "country"],
            "arguments": {"missing": "window-em", "window": 100},
        },
    )
    for stop in (90, 110):  # the second run goes on from the snapshot of the first
        engine = build(checked(table), tmp_path)
        assert engine.run(stop).processed_in_run == stop
    answers = answers_of(kafka_topics, table)
    assert len(answers) == 200 and engine.step.learned == 200
    assert all(answer["score"] is not None for answer in answers)
    assert {answer["prediction"]["kind"] for answer in answers[150:]} == {"one", "other"}
    silent = [k for k in range(150, 200) if not events[k].get("country")]
    assert silent and all(answers[k]["prediction"]["country"] == pairs[k % 2][1] for k in silent)


def test_a_structure_grows_from_a_topic_and_follows_a_drift_in_it(
    kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    events = []
    for number in range(900):
        a, b, noise = (bool(bit) for bit in rng.integers(0, 2, 3))
        event: dict[str, Any] = {"a": a, "b": b, "copy": a if number < 500 else b, "noise": noise}
        if number % 9 == 0:
            event.pop("noise")
        events.append(event)
    table = table_of(
        kafka_topics,
        put(kafka_topics, events),
        tmp_path,
        model={"kind": "bayes-net", "structure": "learn", "predict": ["copy"]},
        drift={},
    )
    for stop in (450, 450):
        engine = build(checked(table), tmp_path)
        assert engine.run(stop).processed_in_run == stop
    answers = answers_of(kafka_topics, table)
    right = [answer["prediction"] == event["copy"] for answer, event in zip(answers, events, strict=True)]
    assert np.mean(right[300:500]) > 0.98 and np.mean(right[750:]) > 0.98
    model: Any = engine.step.model
    drift, counted_again, searched = model.drifts.entries
    assert [each["what"] for each in model.drifts.entries] == ["drift", "adopted", "adopted"]
    assert drift["detector"]["families"] == ["copy"] and counted_again["candidate"] == "families"
    assert searched["structure"]["added"] == [["b", "copy"]]
    joined = {frozenset(edge) for edge in model.network.structure.edges}
    assert joined == {
        frozenset({"b", "copy"}),
        frozenset({"a", "copy"}),
    }  # some events before the change still count
