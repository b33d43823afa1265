"""A command in a topic takes back a span's labels once, whenever the worker is killed, and in a rebuild."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_bayes import NaiveBayes
from stream_bayes.core.events.unlearn_spans import Span
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.records.commands import encode_unlearn
from tests.kafka_broker.topics import KafkaTopics, Pipeline, days

QUESTIONS = [{"sky": sky} for sky in ("grey", "blue", "blué")]  # cut points of wind stay as they were chosen


@pytest.mark.parametrize(
    ("client", "point", "count"),
    [
        ("kafka-python", "journal", 2),
        ("confluent-kafka", "committed", 1),
        pytest.param("kafka-python", "committed", 1, marks=pytest.mark.soak),
        pytest.param("confluent-kafka", "commit", 2, marks=pytest.mark.soak),
        pytest.param("confluent-kafka", "snapshot", 1, marks=pytest.mark.soak),
    ],
)
def test_a_span_is_unlearned_once_though_the_worker_is_killed_while_it_does(
    kafka_topics: KafkaTopics, tmp_path: Path, client: str, point: str, count: int
) -> None:
    pipeline = Pipeline(kafka_topics, tmp_path / "state", client=client)
    records = days(60)
    for number in range(3):
        kafka_topics.put(pipeline.topic, records[20 * number : 20 * number + 20], 100.0 * number)
    span = Span(kafka_topics.earlier + 50.0, kafka_topics.earlier + 150.0)
    expected = NaiveBayes()
    for _, _, value in records[:20] + records[40:]:
        content = json.loads(value or b"")
        label = content.pop("y")
        expected.learn_one(content, label)

    def check() -> None:
        sections = pipeline.newest_snapshot().sections
        assert (sections["step"]["learned"], sections["step"]["unlearned"]) == (40, 20)
        learned = NaiveBayes.from_state(sections["model"])
        for question in QUESTIONS:
            answer = expected.predict_proba_one(question)
            assert learned.predict_proba_one(question) == pytest.approx(answer, rel=1e-9)

    try:
        pipeline.finish(60)
        config = checked(
            {
                "name": pipeline.name,
                "kafka": {"servers": [kafka_topics.servers], "client": client},
                "source": {"kind": "kafka", "topic": pipeline.topic, "target": "y"},
                "model": {"kind": "nb"},
            }
        )
        config.source.write_command(config, encode_unlearn(span))
        pipeline.dies(end_at=[point, count])
        pipeline.finish(61)
        check()
        pipeline.run(rebuild=True, limit=0)
        check()
        assert pipeline.committed_count() == 61
    finally:
        pipeline.close()
