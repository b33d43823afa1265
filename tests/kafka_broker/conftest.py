"""One broker for all tests here; and none of them where there is none to be had, with a line that says why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.kafka_broker.broker import Broker, NoBroker, jars
from tests.kafka_broker.security import Security, allow_users
from tests.kafka_broker.topics import KafkaTopics, Pipeline
from tests.ports import free_ports

HERE = Path(__file__).parent
LIMIT = 600  # seconds for a test, which waits for many things; each wait ends long before, and says what for


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each of these a time."""
    for item in items:
        if HERE in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LIMIT, func_only=True))


def have_jars() -> None:
    """Skip where there is neither a broker nor what one is made of; fail where that must not be."""
    try:
        jars()
    except NoBroker as error:
        if os.environ.get("STREAM_BAYES_KAFKA_REQUIRED"):
            raise
        pytest.skip(f"no Kafka: {error}")


class Cluster(NamedTuple):
    """What all tests share; what is not known of a broker that was given is None."""

    address: str
    broker: Broker | None
    security: Security | None


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    given = os.environ.get("STREAM_BAYES_KAFKA")
    if given:
        yield Cluster(given, None, None)
        return
    have_jars()
    directory = tmp_path_factory.mktemp("kafka")
    port, controller, tls, sasl = free_ports(4)
    security = Security(directory / "security", tls, sasl)
    broker = Broker(
        directory / "broker",
        ports=[(port, controller)],
        settings=security.settings(port, controller),
        users=security.users,
    )
    broker.start()
    try:
        broker.wait()
        yield Cluster(broker.address, broker, security)
    finally:
        broker.kill()


@pytest.fixture
def broker(cluster: Cluster) -> Broker:
    """A broker that can be stopped, and is to be started again."""
    if cluster.broker is None:
        pytest.skip("the broker is not ours to stop: leave STREAM_BAYES_KAFKA out")
    return cluster.broker


@pytest.fixture
def security(cluster: Cluster) -> Security:
    if cluster.security is None:
        pytest.skip("of this broker it is not known how to prove who asks: leave STREAM_BAYES_KAFKA out")
    return cluster.security


@pytest.fixture(scope="session")
def kafka_topics(cluster: Cluster) -> Iterator[KafkaTopics]:
    kafka_topics = KafkaTopics(cluster.address)
    kafka_topics.warm_up()
    if cluster.security is not None:
        allow_users(kafka_topics.admin)
    yield kafka_topics
    kafka_topics.close()


@pytest.fixture
def pipeline(kafka_topics: KafkaTopics, tmp_path: Path) -> Iterator[Pipeline]:
    pipeline = Pipeline(kafka_topics, tmp_path / "state")
    yield pipeline
    pipeline.close()
