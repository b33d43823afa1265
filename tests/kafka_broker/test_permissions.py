"""The permissions that docs/kafka.md lists are enough: a user with exactly these, on a broker that enforces them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
)

from stream_bayes.core.events.unlearn_spans import Span
from stream_bayes.errors import BrokerError
from stream_bayes.kafka.producing import produce_one
from stream_bayes.kafka.redriving import redrive as redrive_letters
from stream_bayes.kafka.source import KafkaSource
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.records.commands import encode_unlearn
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.workers.follower import Follower
from stream_bayes.workers.pipeline.rescale import rescale
from tests.kafka_broker.security import NARROW, PASSWORD, Security
from tests.kafka_broker.sharing import Shards
from tests.kafka_broker.topics import KafkaTopics, days
from tests.waiting import TO_BEGIN, until

DOCS = (Path(__file__).parents[2] / "docs/kafka.md").read_text(encoding="utf-8")
TYPES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional id": ResourceType.TRANSACTIONAL_ID,
}
OPERATIONS = {
    "Read": ACLOperation.READ,
    "Write": ACLOperation.WRITE,
    "Create": ACLOperation.CREATE,
    "Delete": ACLOperation.DELETE,
    "DescribeConfigs": ACLOperation.DESCRIBE_CONFIGS,
    "Describe": ACLOperation.DESCRIBE,
}
ROW = re.compile(r"^\| (topic|group|transactional id) (`.+`) \| ([A-Za-z, ]+) \| (.+) \|$", re.MULTILINE)


def listed(needs: set[str], names: dict[str, str]) -> list[ACL]:
    """Return the rules of the table in the documentation that a pipeline with these needs has."""
    rules = []
    for kind, resources, operations, column in ROW.findall(DOCS):
        if not needs & set(column.split(", ")):
            continue
        for resource in re.findall(r"`(.+?)`", resources):
            name = re.sub("|".join(names), lambda found: names[found[0]], resource)
            pattern = (
                ACLResourcePatternType.PREFIXED if name.endswith("*") else ACLResourcePatternType.LITERAL
            )
            place = ResourcePattern(TYPES[kind], name.rstrip("*"), pattern)
            rules += [
                ACL(f"User:{NARROW}", "*", OPERATIONS[operation], ACLPermissionType.ALLOW, place)
                for operation in operations.split(", ")
            ]
    assert rules
    return rules


class Rules:
    """The rules of the narrow user, taken back at the end of a test."""

    def __init__(self, admin: Any) -> None:
        self._admin = admin
        self._rules: list[ACL] = []

    def add(self, rules: list[ACL]) -> None:
        assert not self._admin.create_acls(rules)["failed"]
        self._rules += rules
        until("the rules to hold", lambda: all(self._admin.describe_acls(rule)[0] for rule in rules))

    def take_back(self) -> None:
        if self._rules:
            self._admin.delete_acls(self._rules)
            until(
                "no rule to hold", lambda: not any(self._admin.describe_acls(rule)[0] for rule in self._rules)
            )
        self._rules = []


@pytest.fixture
def rules(kafka_topics: KafkaTopics, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rules]:
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    rules = Rules(kafka_topics.admin)
    yield rules
    rules.take_back()


def narrow(security: Security, client: str) -> dict[str, Any]:
    return {
        "client": client,
        "servers": [security.sasl],
        "tls": True,
        "ca_file": security.path("ca.pem"),
        "mechanism": "PLAIN",
        "user": NARROW,
        "password": "${KAFKA_PASSWORD}",
        "seconds": TO_BEGIN,
    }


@pytest.mark.parametrize(
    ("delivery", "client"),
    [
        ("exactly-once", "kafka-python"),
        ("exactly-once", "confluent-kafka"),
        ("at-least-once", "kafka-python"),
    ],
)
def test_a_pipeline_runs_and_rebuilds_with_exactly_the_listed_permissions(
    kafka_topics: KafkaTopics, security: Security, rules: Rules, tmp_path: Path, delivery: str, client: str
) -> None:
    source, answers, letters, labels = (kafka_topics.topic(2) for _ in range(4))
    names = {
        "SOURCE": source,
        "LABELS": labels,
        "PREDICTIONS": answers,
        "DEAD_LETTERS": letters,
        "NAME": source,
    }

    def pipeline() -> Engine:
        table = {
            "name": source,
            "kafka": narrow(security, client) | {"delivery": delivery},
            "source": {"kind": "kafka", "topic": source, "target": "y"},
            "labels": {"topic": labels},
            "model": {"kind": "nb"},
            "predictions": {"kind": "kafka", "topic": answers},
            "dead_letters": {"kind": "kafka", "topic": letters},
            "snapshots": {"directory": str(tmp_path / "state"), "every_events": 10, "keep": 1},
            "batch": 10,
        }
        return build(checked(table), tmp_path)

    with pytest.raises(BrokerError, match=r"check its name and this user.s permissions"):
        pipeline().run(0)
    rules.add(listed({"every pipeline", "every pipeline without `[workers]`", delivery}, names))
    kafka_topics.put(source, [*days(40), (0, None, b"no json")])
    assert pipeline().run(until_end=True).processed == 41
    kafka_topics.put(source, days(20))
    assert pipeline().run(until_end=True, rebuild=delivery == "exactly-once").processed == 61
    assert (len(kafka_topics.get(answers)), len(kafka_topics.get(letters))) == (60, 1)


def test_commands_beside_a_pipeline_need_exactly_the_listed_permissions(
    kafka_topics: KafkaTopics, security: Security, rules: Rules, tmp_path: Path
) -> None:
    source, letters, labels = (kafka_topics.topic(1) for _ in range(3))
    names = {"SOURCE": source, "LABELS": labels, "DEAD_LETTERS": letters, "NAME": source}
    table = {
        "name": source,
        "kafka": {"servers": [kafka_topics.servers], "client": "kafka-python"},
        "source": {"kind": "kafka", "topic": source, "target": "y"},
        "labels": {"topic": labels, "wait_for": 1e9},
        "model": {"kind": "nb"},
        "dead_letters": {"kind": "kafka", "topic": letters},
        "snapshots": {"directory": str(tmp_path / "state")},
    }
    kafka_topics.put(source, [*days(10, 1), (0, None, b"no json")])
    assert build(checked(table), tmp_path).run(until_end=True).processed == 11
    config = checked(table | {"kafka": narrow(security, "kafka-python")})
    connection, span = config.kafka.connection(), Span(0.0, 2e9)

    def unlearn() -> None:
        assert build(config, tmp_path).preview_unlearning(span).total == 10
        config.source.write_command(config, encode_unlearn(span))

    def redrive() -> None:
        done = redrive_letters(connection, source, letters, [source, labels], max_message_bytes=10**6)
        assert done.sent == {"not_json": 1}

    def read() -> None:
        with closing(KafkaSource(connection, source, JSONDecoder(Fields(target="y")))) as reader:
            until("records", lambda: bool(reader.poll(5)))

    def write() -> None:
        produce_one(connection, labels, b"1", b"{}")

    commands = {"`redrive`": redrive, "`unlearn`": unlearn, "`cuts`": read, "labels of the service": write}
    for needs, run in commands.items():
        with pytest.raises(BrokerError, match="permission"):
            run()
        rules.add(listed({needs}, names))
        run()
        rules.take_back()


def test_workers_rescale_and_followers_have_the_listed_permissions(
    kafka_topics: KafkaTopics, security: Security, rules: Rules
) -> None:
    shards = Shards(kafka_topics, 2, 4, kafka=narrow(security, "kafka-python"))
    try:
        names = {
            "SOURCE": shards.topic,
            "LABELS": shards.topic,
            "PREDICTIONS": shards.answers,
            "DEAD_LETTERS": shards.letters,
            "NAME": shards.name,
        }
        rules.add(listed({"every pipeline", "`[workers]`"}, names))
        shards.put(60)
        shards.worker("first").run(until_end=True)
        shards.put(60)
        shards.run()
        rules.add(listed({"`rescale`"}, names))
        assert rescale(checked(shards.pipeline), 4).has_changed
        shards.pipeline["workers"]["shards"] = 4
        shards.put(60)
        shards.run()
        shards.check(180)
        rules.take_back()
        connection = checked(shards.pipeline).kafka.connection()
        with pytest.raises(BrokerError, match="permissions"):
            Follower(connection, shards.name)
        rules.add(listed({"`follow`"}, names))
        with Follower(connection, shards.name) as model:
            assert model.events == 180
    finally:
        shards.close()
