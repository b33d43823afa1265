"""The service over topics: labels go to the label topic and survive; a replica follows the topic of a model."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

from stream_bayes import NaiveBayes
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.workers.followed_topic import FollowedTopic
from tests.kafka_broker.sharing import Shards
from tests.kafka_broker.topics import KafkaTopics
from tests.serve.replicas import served
from tests.serve.weather import TOKEN, running
from tests.waiting import until


def test_a_label_goes_to_the_label_topic_and_survives_a_rebuild(
    kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    topic, labels, answers = kafka_topics.topic(), kafka_topics.topic(), kafka_topics.topic()
    text = f"""
name = "days-{topic}"
source = {{ kind = "kafka", topic = "{topic}", target = "y" }}
model = {{ kind = "nb" }}
predictions = {{ kind = "kafka", topic = "{answers}" }}
labels = {{ topic = "{labels}", correct_within = 1e9 }}
kafka = {{ servers = {json.dumps(kafka_topics.servers.split(","))}, client = "kafka-python" }}
snapshots = {{ directory = "state" }}
[serve]
port = 0
"""
    days = [("grey", "rain"), ("blue", "dry")] * 5
    kafka_topics.put(
        topic,
        [(0, f"d{n}".encode(), json.dumps({"sky": sky, "y": y}).encode()) for n, (sky, y) in enumerate(days)],
    )
    expected = NaiveBayes()
    for n, (sky, y) in enumerate(days):
        expected.learn_one({"sky": sky}, "dry" if n == 4 else y)

    def learned(client: Any, count: int) -> bool:
        status = client.get("/v1/evaluation")["status"]
        return bool(status.get("processed", 0) >= count)

    with running(tmp_path, text) as (engine, client):
        until("the days", lambda: learned(client, 10))
        given = client.post("/v1/labels", {"key": "d4", "label": "dry"})
        assert given["outcome"] == "stored"
        (record,) = kafka_topics.get(labels)
        assert record.key == b"d4" and json.loads(record.value) == {"y": "dry"}
        until("the correction", lambda: learned(client, 11))
        assert engine.step.model.model.store.by_name() == expected.store.by_name()
        assert client.refusal("/v1/labels", {"key": "d4", "label": "snow"}, 422)
    before = SnapshotStore(tmp_path / "state").latest()
    assert before is not None
    shutil.rmtree(tmp_path / "state")  # the topics alone are left
    rebuilt = text.replace(f"days-{topic}", f"again-{topic}").replace(answers, kafka_topics.topic())
    with running(tmp_path, rebuilt) as (engine, client):
        until("the replay", lambda: learned(client, 11))
        assert engine.step.model.model.store.by_name() == expected.store.by_name()


def test_a_replica_follows_the_topic_of_a_model(kafka_topics: KafkaTopics) -> None:
    shards = Shards(kafka_topics, shards=2, partitions=2)

    def put(sky: str, y: str) -> None:
        row = json.dumps({"sky": sky, "y": y}).encode()
        kafka_topics.put(shards.topic, [(n % 2, f"{sky}-{n}".encode(), row) for n in range(20)])
        shards.run()

    put("grey", "rain")
    with closing(shards), shards.follow() as follower, served(FollowedTopic(follower), TOKEN) as client:
        assert client.get("/v1/model")["follows"] == "topic"
        x = {"sky": "grey"}
        assert client.post("/v1/predict", {"x": x})["probabilities"] == follower.predict_proba_one(x)
        put("blue", "dry")

        def is_newer() -> bool:
            return bool(client.post("/v1/predict", {"x": x})["model"]["processed"] == 40)

        until("the newer model", is_newer)
        answer = client.post("/v1/predict", {"x": {"sky": "blue"}})
        assert answer["prediction"] == "dry"
        assert "read-only replica" in client.refusal("/v1/labels", {"key": "a", "label": "dry"}, 409)
