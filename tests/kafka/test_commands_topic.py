"""The topic of commands is read if it exists and may be described; a pipeline without it runs as before."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import BrokerAway, BrokerError
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.source import KafkaSource
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder


class Topics:
    """A cluster with a topic of days; `commands` is what it has of the topic of commands."""

    def __init__(self, commands: bool | BrokerError) -> None:
        self.commands = commands

    def require_topics(self, names: Iterable[str]) -> dict[str, Any]:
        return {name: SimpleNamespace(id=name, partitions=1) for name in names}

    def topics(self, names: Iterable[str]) -> dict[str, Any]:
        if isinstance(self.commands, BrokerError):
            raise self.commands
        return self.require_topics(names) if self.commands else {}


def source_over(commands: bool | BrokerError) -> KafkaSource:
    decoder = JSONDecoder(Fields(target="y"))
    source = KafkaSource(Connection(servers=("nowhere:1",)), "days", decoder, commands="days.commands")
    source.cluster = Topics(commands)  # type: ignore[assignment]  # as far as partitions need it
    return source


def test_commands_are_a_further_partition_only_where_their_topic_is(caplog: pytest.LogCaptureFixture) -> None:
    assert source_over(False).partitions() == [Partition("days")]
    assert source_over(True).partitions() == [Partition("days"), Partition("days.commands")]
    refused = source_over(BrokerError("topic 'days.commands': TopicAuthorizationFailed"))
    for _ in range(2):
        assert refused.partitions() == [Partition("days")]
    assert [record.getMessage() for record in caplog.records] == [
        "commands are not read: topic 'days.commands': TopicAuthorizationFailed"
    ]
    with pytest.raises(BrokerAway):
        source_over(BrokerAway("no broker")).partitions()
