"""A version of kafka-python that was not tried: public methods deliver the same, and inner parts are left alone."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import BrokerError
from stream_bayes.kafka.clients import kafka_python_parts
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.kafka_python import PythonWriter
from tests.kafka_broker.topics import KafkaTopics, Pipeline, days


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function and class that calls an inner part fails."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("an inner part was called")

    for name, part in vars(kafka_python_parts).items():
        if inspect.getmodule(part) is kafka_python_parts and callable(part):
            monkeypatch.setattr(kafka_python_parts, name, refuse)
    monkeypatch.setattr(kafka_python_parts, "are_tried", lambda: False)


def test_records_are_answered_exactly_once_and_a_successor_fences(
    untried: None, kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    pipeline = Pipeline(kafka_topics, tmp_path, client="kafka-python", every_events=60, batch=25)
    kafka_topics.put(pipeline.topic, days(200))
    pipeline.engine().run(110)
    pipeline.engine().run(90)
    pipeline.check(200)


def test_records_are_answered_at_least_once(untried: None, kafka_topics: KafkaTopics, tmp_path: Path) -> None:
    pipeline = Pipeline(kafka_topics, tmp_path, client="kafka-python", delivery="at-least-once", batch=25)
    kafka_topics.put(pipeline.topic, days(100))
    pipeline.engine().run(100)
    assert len(set(map(repr, pipeline.outputs()))) == 100 == pipeline.committed_count()


def test_what_only_inner_parts_can_do_is_refused_by_name(untried: None, kafka_topics: KafkaTopics) -> None:
    topic = kafka_topics.topic(1)
    writer = PythonWriter(Connection(servers=tuple(kafka_topics.servers.split(","))), "untried", 10.0, 10_000)
    try:
        writer.fence()
        writer.begin()
        with pytest.raises(BrokerError, match=r"left open by the cluster, .* install 'kafka-python<3.1'"):
            writer.add_partitions([Partition(topic, 0)], "group")
    finally:
        writer.close()
