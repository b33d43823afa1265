"""The partitions that a shard reads, and those that are added."""

from __future__ import annotations

import pytest

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import SourceError
from stream_bayes.kafka.source import KafkaSource, Share
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from tests.kafka.fake_broker import FakeBroker


def source_of(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch, partitions: int | None) -> KafkaSource:
    broker.topic("weather", 4)
    decoder = JSONDecoder(Fields(target="y"))
    return KafkaSource(broker.connection(monkeypatch), "weather", decoder, share=Share(1, 2, partitions))


def test_added_partitions_go_to_the_shards_of_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = FakeBroker()
    source = source_of(broker, monkeypatch, None)
    assert source.partitions() == [Partition("weather", 1), Partition("weather", 3)]
    broker.topic("weather", 7)
    assert source.partitions() == [Partition("weather", number) for number in (1, 3, 5)]


def test_added_partitions_are_refused_where_keys_have_a_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = FakeBroker()
    source = source_of(broker, monkeypatch, 4)
    assert len(source.partitions()) == 2
    broker.topic("weather", 7)
    with pytest.raises(SourceError, match="topic 'weather' had 4 partitions, and has 7 now"):
        source.partitions()
