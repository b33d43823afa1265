"""Backlogs whose times or partitions are not as they should be: everything is processed, and what is wrong is said."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.streams.contracts.incidents import total_incidents
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from tests.kafka_broker.test_time_order import COUNT, DAY, Row, put, table, weather
from tests.kafka_broker.topics import KafkaTopics

FAR_FUTURE = 20_000_000_000.0  # in the year 2603


@pytest.fixture
def rows() -> list[Row]:
    """The first samples and their labels."""
    rows = weather()[: COUNT // 10]
    labelled = {row.key for row in rows if row.kind == "label"}
    return [row for row in rows if row.key in labelled]


def engine_of(kafka_topics: KafkaTopics, directory: Path, topics: tuple[str, str], **labels: float) -> Engine:
    samples, label_topic = topics
    return build(
        checked(
            table(
                directory,
                {"kind": "kafka", "topic": samples},
                name=f"weather-{samples}",
                labels={"wait_for": 14 * DAY, "topic": label_topic} | labels,
                kafka={"servers": [kafka_topics.servers]},
            )
        ),
        directory,
    )


def run(
    kafka_topics: KafkaTopics, directory: Path, rows: list[Row], **labels: float
) -> tuple[Engine, list[str]]:
    """Process a backlog; return the engine, and the keys of its answers in order."""
    topics = kafka_topics.topic(4), kafka_topics.topic(2)
    for topic, kind in zip(topics, ("sample", "label"), strict=True):
        put(kafka_topics, topic, [row for row in rows if row.kind == kind])
    engine: Any = engine_of(kafka_topics, directory, topics, **labels)
    keys: list[str] = []
    process = engine.step.process

    def noted(records: Any) -> Any:
        results = process(records)
        keys.extend(output.key for output in engine.step.collect_outputs())
        return results

    engine.step.process = noted
    engine.run(until_end=True)
    assert engine.step.processed == len(rows)
    return engine, keys


def samples_of(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.kind == "sample"]


def test_records_without_a_time_have_that_of_the_record(
    kafka_topics: KafkaTopics, tmp_path: Path, rows: list[Row]
) -> None:
    # All were written now, samples first.
    engine, keys = run(kafka_topics, tmp_path, [row._replace(time=None) for row in rows])  # type: ignore[arg-type]  # rows without times
    assert sorted(keys) == sorted(row.key for row in samples_of(rows))
    assert engine.step.learned == len(keys)


def test_of_equal_times_samples_come_first_and_then_partitions_in_order(
    kafka_topics: KafkaTopics, tmp_path: Path, rows: list[Row]
) -> None:
    engine, keys = run(kafka_topics, tmp_path, [row._replace(time=1.0) for row in rows])
    assert keys == [row.key for row in sorted(samples_of(rows), key=lambda row: row.partition)]
    assert engine.step.learned == len(keys)


def test_one_time_in_the_far_future_is_said_and_expires_nothing(
    kafka_topics: KafkaTopics, tmp_path: Path, rows: list[Row], caplog: pytest.LogCaptureFixture
) -> None:
    place = next(place for place, row in enumerate(rows) if row.kind == "sample" and place > len(rows) // 2)
    rows[place] = rows[place]._replace(time=FAR_FUTURE)
    with caplog.at_level(logging.WARNING):
        engine, keys = run(kafka_topics, tmp_path, rows)
    assert engine.step.learned == len(keys)
    incidents = total_incidents([engine.source])
    assert incidents["future_times"] == incidents["impossible_times"] == 1
    assert "more than max_skew = 604800 seconds after it was written" in caplog.text


def test_records_with_times_in_another_unit_have_the_time_of_writing_and_the_log_names_the_unit(
    kafka_topics: KafkaTopics, tmp_path: Path, rows: list[Row], caplog: pytest.LogCaptureFixture
) -> None:
    late = [row._replace(time=1000 * row.time) for row in rows]
    with caplog.at_level(logging.WARNING):
        engine, keys = run(kafka_topics, tmp_path, late)
    assert engine.step.learned == len(keys)
    assert total_incidents([engine.source])["wrong_time_unit"] == len(rows)
    assert 'a finer time_unit, such as "ms"' in caplog.text


def test_a_partition_that_never_gets_a_record_is_not_waited_for(
    kafka_topics: KafkaTopics, tmp_path: Path, rows: list[Row]
) -> None:
    engine, keys = run(kafka_topics, tmp_path, [row._replace(partition=1) for row in rows])
    assert keys == [row.key for row in samples_of(rows)]
    assert engine.step.learned == len(keys)


def test_empty_topics_are_read_to_their_end(kafka_topics: KafkaTopics, tmp_path: Path) -> None:
    engine, keys = run(kafka_topics, tmp_path, [])
    assert keys == [] and engine.step.learned == 0


def test_labels_without_samples_wait_for_them(
    kafka_topics: KafkaTopics, tmp_path: Path, rows: list[Row]
) -> None:
    topics = kafka_topics.topic(4), kafka_topics.topic(2)
    put(kafka_topics, topics[1], [row for row in rows if row.kind == "label"])
    first = engine_of(kafka_topics, tmp_path, topics)
    first.run(until_end=True)
    assert (first.step.processed, first.step.learned) == (len(samples_of(rows)), 0)
    put(kafka_topics, topics[0], samples_of(rows))
    second = engine_of(kafka_topics, tmp_path, topics)
    second.run(until_end=True)
    assert second.step.learned == len(samples_of(rows))
