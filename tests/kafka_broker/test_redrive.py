"""Records behind dead letters are processed again, once, after their cause was mended."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from stream_bayes.kafka.clients.connection import CLIENTS, Connection
from stream_bayes.kafka.redriving import Redriven, redrive
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.records.decoders import register_decoder
from stream_bayes.streams.records.json_decoder import JSONDecoder
from tests.kafka_broker.topics import KafkaTopics, days


@register_decoder
class Mendable(JSONDecoder):
    """A decoder with a bug: it cannot read the records of some keys."""

    name = "mendable"
    is_broken: ClassVar[bool] = True

    def content(self, raw: bytes) -> dict[str, Any]:
        if self.is_broken and hash_of(raw) == 0:
            raise ZeroDivisionError
        return super().content(raw)


def hash_of(raw: bytes) -> int:
    return sum(raw) % 7


@pytest.mark.parametrize("client", CLIENTS)
def test_each_letter_is_redriven_once_and_learned_after_the_cause_was_mended(
    kafka_topics: KafkaTopics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    topic, letters, name = kafka_topics.topic(2), kafka_topics.topic(1), "redriven-" + client
    records = days(200)
    kafka_topics.put(topic, records)
    broken = sum(hash_of(value or b"") == 0 for _, _, value in records)
    assert broken > 5
    kafka = {"servers": [kafka_topics.servers], "client": client}
    config = checked(
        {
            "name": name,
            "kafka": kafka,
            "source": {"kind": "kafka", "topic": topic, "target": "y", "decoder": "mendable"},
            "model": {"kind": "nb"},
            "predictions": {"kind": "kafka", "topic": kafka_topics.topic(1)},
            "dead_letters": {"kind": "kafka", "topic": letters},
            "snapshots": {"directory": str(tmp_path)},
        }
    )

    def run(limit: int) -> Engine:
        engine = build(config)
        engine.run(limit)
        return engine

    def redriven(dry_run: bool = False) -> Redriven:
        connection = Connection(servers=(kafka_topics.servers,), client=client)
        return redrive(connection, name, letters, [topic], max_message_bytes=10**6, dry_run=dry_run)

    assert run(200).step.learned == 200 - broken
    expected = Redriven({"decoder_failed": broken}, 0, 0)
    assert redriven(dry_run=True) == expected == redriven()
    assert run(broken).step.learned == 200 - broken  # not mended yet: they are letters again
    monkeypatch.setattr(Mendable, "is_broken", False)
    assert redriven() == expected  # the new letters, and not the old ones again
    assert redriven() == Redriven({}, 0, 0)
    assert run(broken).step.learned == 200
