"""Whenever a worker dies, the next one ends in the same state, and every record has one answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kafka_broker.topics import KafkaTopics, Pipeline, days
from tests.kafka_broker.worker import POINTS

EVENTS = 3000


def test_a_run_that_nothing_disturbs_answers_every_record_once(pipeline: Pipeline) -> None:
    pipeline.kafka_topics.put(pipeline.topic, days(EVENTS))
    assert pipeline.run(limit=EVENTS) == {"taken": EVENTS, "processed_in_run": EVENTS, "replayed": 0}
    pipeline.check(EVENTS)


def test_a_second_run_goes_on_where_the_first_one_ended(pipeline: Pipeline) -> None:
    pipeline.kafka_topics.put(pipeline.topic, days(EVENTS))
    pipeline.run(limit=1250)
    assert pipeline.finish(EVENTS) == {"taken": EVENTS, "processed_in_run": EVENTS - 1250, "replayed": 0}
    pipeline.check(EVENTS)


def test_a_worker_killed_at_counted_commits_loses_and_repeats_nothing(pipeline: Pipeline) -> None:
    pipeline.kafka_topics.put(pipeline.topic, days(EVENTS))
    for commits in (1, 2, 3, 4, 5, 3, 4, 2):
        pipeline.dies(end_at=["committed", commits], every_events=350)
    assert pipeline.finish(EVENTS)["replayed"] > 0
    pipeline.check(EVENTS)


def test_the_other_client_loses_and_repeats_nothing_either(pipeline: Pipeline) -> None:
    pipeline.told["client"] = "confluent-kafka"
    pipeline.kafka_topics.put(pipeline.topic, days(EVENTS))
    for point, count in (("committed", 4), ("send_offsets", 3), ("commit", 5)):
        pipeline.dies(end_at=[point, count], every_events=10_000)
    assert pipeline.finish(EVENTS)["replayed"] > 0
    pipeline.check(EVENTS)


@pytest.mark.parametrize("point", POINTS)
def test_a_worker_killed_at_a_point_loses_and_repeats_nothing(
    kafka_topics: KafkaTopics, tmp_path: Path, point: str
) -> None:
    pipeline = Pipeline(kafka_topics, tmp_path / "state")
    try:
        kafka_topics.put(pipeline.topic, days(800))
        pipeline.dies(end_at=[point, {"sends": 250, "snapshot": 2}.get(point, 3)], every_events=150)
        pipeline.finish(800)
        pipeline.check(800)
    finally:
        pipeline.close()
