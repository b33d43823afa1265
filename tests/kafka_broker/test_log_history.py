"""On a real broker: a worker that wakes up in a commit, and a log that lost its end and grew again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import CannotResume, Fenced
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.kafka.clients.connection import CLIENTS, Connection
from stream_bayes.kafka.cluster import Cluster
from tests.kafka_broker.broker import Broker
from tests.kafka_broker.topics import KafkaTopics, Pipeline, days
from tests.waiting import TO_BEGIN


@pytest.mark.parametrize("client", CLIENTS)
def test_a_worker_whose_commit_was_not_answered_and_that_was_taken_over_answers_nothing_again(
    pipeline: Pipeline, client: str
) -> None:
    pipeline.kafka_topics.put(pipeline.topic, days(50))
    worker: Any = pipeline.engine(client=client, batch=10, every_events=10_000)
    delivery = worker.recovery.delivery
    successors: list[int] = []

    def lose_the_reply(progress: Any) -> None:
        if progress.processed == 20 and not successors:
            commit = delivery._writer.commit

            def pause() -> None:
                commit()
                successors.append(pipeline.engine(client=client, batch=10).run(10).processed)
                raise Interrupted("no answer")

            delivery._writer.commit = pause

    worker.watch(lose_the_reply)
    with pytest.raises(Fenced, match="another worker has taken over"):
        worker.run(50)
    assert successors == [40]
    assert pipeline.finish(50, client=client)["taken"] == 50
    assert set(Counter(pipeline.output_positions()).values()) == {1}
    pipeline.check(50)


def test_a_log_that_lost_its_end_and_grew_again_is_refused(
    kafka_topics: KafkaTopics, broker: Broker, tmp_path: Path
) -> None:
    pipelines = [Pipeline(kafka_topics, tmp_path / client, 1, client=client) for client in CLIENTS]
    for pipeline in pipelines:
        for _ in range(5):
            kafka_topics.put(pipeline.topic, days(100, 1))
        pipeline.engine().run(500)
        assert pipeline.engine().run(0).processed == 500  # nothing is wrong yet
    broker.kill()
    for pipeline in pipelines:
        (log,) = broker.directory.glob(f"data/{pipeline.topic}-0/*.log")
        with log.open("r+b") as file:
            file.truncate(log.stat().st_size // 2)
    broker.start()
    broker.wait()
    kafka_topics.wait()
    for pipeline in pipelines:
        check_what_is_left(kafka_topics, pipeline)


def check_what_is_left(kafka_topics: KafkaTopics, pipeline: Pipeline) -> None:
    """Check that a pipeline goes on only after a rebuild with an accepted gap."""
    left = kafka_topics.end(pipeline.topic)
    assert 0 < left < 500
    with pytest.raises(CannotResume, match=f"ends with .*at {left}"):
        pipeline.engine().run(100)
    kafka_topics.put(pipeline.topic, days(600, 1, seed=8))
    with pytest.raises(CannotResume, match=f"has other records from {left} on now") as raised:
        pipeline.engine().run(100)
    assert f"{left} of the 500 positions" in str(raised.value)
    with pytest.raises(CannotResume, match="would make a smaller model"):
        pipeline.engine().run(100, rebuild=True)
    rebuilt = pipeline.engine(accept_gap=True)
    assert rebuilt.run(600, rebuild=True).processed == left + 600
    answers = Counter(position for _, position in pipeline.output_positions())
    ends = left + 600
    wrong = [at for at in range(ends) if answers[at] != 1 + (left <= at < 500)]
    assert not wrong


def test_a_cluster_reports_where_an_epoch_ended(kafka_topics: KafkaTopics) -> None:
    topic = kafka_topics.topic(2)
    kafka_topics.put(topic, days(30))
    cluster = Cluster(Connection(servers=(kafka_topics.servers,), seconds=TO_BEGIN))
    try:
        ends = cluster.epoch_ends({Partition(topic, 0): 0, Partition(topic, 1): 7})
        assert ends == {Partition(topic, 0): (0, 15), Partition(topic, 1): (-1, -1)}
        assert cluster.epoch_ends({}) == {}
    finally:
        cluster.close()
