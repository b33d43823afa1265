"""Who asks is proved as the pipeline file says, with either client; and no secret is ever shown."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

from stream_bayes.errors import BrokerAway, BrokerError
from stream_bayes.kafka.clients.connection import CLIENTS, Connection
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from tests.kafka.oidc_provider import provider
from tests.kafka_broker.security import MECHANISMS, PASSWORD, USER, Security, token
from tests.kafka_broker.topics import KafkaTopics, days, fenced
from tests.waiting import TO_BEGIN, until, within

OIDC = "OAUTHBEARER by OIDC"
WAYS = ("TLS", *MECHANISMS, OIDC)


@pytest.fixture
def token_url() -> Iterator[str]:
    """The token endpoint of a provider whose tokens the broker accepts."""
    with provider(body=json.dumps({"access_token": token(), "expires_in": 3600}).encode()) as (url, forms):
        yield url
        assert all(form["credentials"] == [f"{USER}:{PASSWORD}"] for form in forms)


def reached(security: Security, way: str, client: str, token_url: str = "") -> dict[str, Any]:
    """The table `kafka` of a pipeline file."""
    table: dict[str, Any] = {
        "client": client,
        "tls": True,
        "ca_file": security.path("ca.pem"),
        "seconds": TO_BEGIN,
    }
    if way == "TLS":
        own = {"cert_file": security.path("client.pem"), "key_file": security.path("client.key")}
        return table | own | {"servers": [security.tls]}
    if way == OIDC:
        credentials = {"token_url": token_url, "client_id": USER, "client_secret": "${KAFKA_PASSWORD}"}
        return table | {"mechanism": "OAUTHBEARER", "servers": [security.sasl], "oidc": credentials}
    table |= {"mechanism": way, "servers": [security.sasl]}
    if way == "OAUTHBEARER":
        return table | {"token": "${KAFKA_TOKEN}"}
    return table | {"user": USER, "password": "${KAFKA_PASSWORD}"}


def pipeline(
    kafka_topics: KafkaTopics, directory: Path, kafka: dict[str, Any], name: str, topic: str
) -> Engine:
    table = {
        "name": name,
        "kafka": kafka,
        "source": {"kind": "kafka", "topic": topic, "target": "y"},
        "model": {"kind": "nb"},
        "predictions": {"kind": "kafka", "topic": kafka_topics.topic(1)},
        "snapshots": {"directory": str(directory / "state")},
    }
    return build(checked(table), directory)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("way", WAYS)
def test_a_pipeline_proves_who_it_is(
    kafka_topics: KafkaTopics,
    security: Security,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    token_url: str,
    way: str,
    client: str,
) -> None:
    caplog.set_level(logging.INFO)
    secret = token()
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    monkeypatch.setenv("KAFKA_TOKEN", secret)
    topic = kafka_topics.topic(1)
    kafka_topics.put(topic, days(30, partitions=1))
    kafka = reached(security, way, client, token_url)
    engine = pipeline(kafka_topics, tmp_path, kafka, f"{topic}-pipeline", topic)
    assert engine.run(30).processed == 30
    shown = caplog.text + repr(vars(engine.source))
    assert PASSWORD not in shown and secret not in shown


@pytest.mark.parametrize(("way", "client"), [("PLAIN", "kafka-python"), ("SCRAM-SHA-512", "confluent-kafka")])
def test_a_wrong_password_is_told_in_a_line_without_it(
    kafka_topics: KafkaTopics,
    security: Security,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    client: str,
) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "guessed-wrong")
    topic = kafka_topics.topic(1)
    kafka = reached(security, way, client) | {"seconds": 3.0}

    def begin() -> str:
        with pytest.raises(BrokerError) as raised:
            pipeline(kafka_topics, tmp_path, kafka, topic, topic).run(0)
        return str(raised.value)

    said = within(15, begin)
    # Over TLS the client may find the connection closed before it has read why.
    assert "does not allow it" in said or "a broker closes the connections that it refuses" in said
    assert "guessed-wrong" not in said and "\n" not in said
    assert not (tmp_path / "state").exists()


def deny(kafka_topics: KafkaTopics, topic: str, operation: ACLOperation) -> None:
    """Let the user do all but this with a topic."""
    denied = ACL(
        f"User:{USER}", "*", operation, ACLPermissionType.DENY, ResourcePattern(ResourceType.TOPIC, topic)
    )
    assert not kafka_topics.admin.create_acls([denied])["failed"]
    # It is written by the controller, and the broker learns of it later.
    until("the rule to hold", lambda: kafka_topics.admin.describe_acls(denied)[0])


@pytest.mark.parametrize("operation", [ACLOperation.READ, ACLOperation.WRITE], ids=lambda kind: kind.name)
def test_what_a_user_may_not_do_is_told_at_the_start_and_nothing_is_changed(
    kafka_topics: KafkaTopics,
    security: Security,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    operation: ACLOperation,
) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    topic = kafka_topics.topic(1)
    engine: Any = pipeline(kafka_topics, tmp_path, reached(security, "PLAIN", "kafka-python"), topic, topic)
    answers = engine.predictions.topic
    refused = topic if operation == ACLOperation.READ else answers
    deny(kafka_topics, refused, operation)
    said = f"does not allow it: this user may not {operation.name.lower()} topic '{refused}'; check the user"
    with pytest.raises(BrokerError, match=said):
        engine.run(0)
    assert not (tmp_path / "state").exists() and f"{topic}.journal" not in kafka_topics.names()


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_user_may_do_no_longer_ends_a_run_in_a_line(
    kafka_topics: KafkaTopics,
    security: Security,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    client: str,
) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    topic = kafka_topics.topic(1)
    kafka_topics.put(topic, days(5, partitions=1))
    engine = pipeline(kafka_topics, tmp_path, reached(security, "PLAIN", client), topic, topic)
    engine.watch(lambda _: deny(kafka_topics, topic, ACLOperation.READ))
    with pytest.raises(BrokerError, match=r"does not allow it: .*check the user and its permissions"):
        engine.run()
    assert engine.step.processed == 5


@pytest.mark.parametrize("client", CLIENTS)
def test_a_record_that_may_not_be_written_is_not_left_out_of_a_transaction(
    kafka_topics: KafkaTopics, security: Security, client: str
) -> None:
    topics = [kafka_topics.topic(1) for _ in range(2)]
    deny(kafka_topics, topics[1], ACLOperation.ALL)
    connection = Connection(
        servers=(security.sasl,),
        tls=True,
        ca_file=security.path("ca.pem"),
        mechanism="PLAIN",
        user=USER,
        password=PASSWORD,
        client=client,
        seconds=TO_BEGIN,
    )
    writer = fenced(connection, f"{topics[0]}-writer", 10.0)

    def write() -> None:
        writer.send_all([(topic, 0, None, b"one", []) for topic in topics])
        writer.commit()

    try:
        if client == "kafka-python":
            writer._known_topics.add(topics[1])  # it could be seen when it was asked after
        writer.begin()
        with pytest.raises(BrokerError):
            write()
    finally:
        writer.close()
    assert kafka_topics.get(topics[0]) == []


def test_a_token_in_a_file_is_read_anew_for_every_connection(
    security: Security, kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    path = tmp_path / "token"
    path.write_text(token())
    topic = kafka_topics.topic(1)
    kafka = reached(security, "OAUTHBEARER", "kafka-python") | {"token": {"file": str(path)}, "seconds": 3.0}
    engine = pipeline(kafka_topics, tmp_path, kafka, topic, topic)
    path.write_text("not.a.token")  # a token that has expired is no good either
    with pytest.raises(BrokerError):
        engine.run(0)
    path.write_text(token())

    def runs() -> bool:
        try:
            return engine.run(0).processed == 0
        except BrokerAway:  # it took longer than three seconds
            return False

    until("a run with the new token", runs)
