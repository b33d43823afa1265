"""One broker for all tests here; and none of them where there is none to be had, with a line that says why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka.broker import Broker, NoBroker, jars
from tests.kafka.lab import Lab, Pipeline

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before the processes are given their shares
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one process run all of these, so that one broker is enough."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("kafka"))


def have_jars() -> None:
    """Skip where there is neither a broker nor what one is made of; fail where that must not be."""
    try:
        jars()
    except NoBroker as error:
        if os.environ.get("STREAM_BAYES_KAFKA_REQUIRED"):
            raise
        pytest.skip(f"no Kafka: {error}")


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    given = os.environ.get("STREAM_BAYES_KAFKA")
    if given:
        yield given
        return
    have_jars()
    broker = Broker(tmp_path_factory.mktemp("kafka") / "broker")
    broker.start()
    try:
        broker.wait()
        yield broker.address
    finally:
        broker.kill()


@pytest.fixture(scope="session")
def lab(servers: str) -> Iterator[Lab]:
    lab = Lab(servers)
    yield lab
    lab.close()


@pytest.fixture
def pipeline(lab: Lab, tmp_path: Path) -> Iterator[Pipeline]:
    pipeline = Pipeline(lab, tmp_path / "state")
    yield pipeline
    pipeline.close()
