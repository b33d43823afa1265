"""Topics of shards that were copied to another cluster: refused by name, unless the pipeline gets another name."""

from __future__ import annotations

import pytest

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import BrokerError, CannotResume
from tests.kafka.fake_broker import FakeBroker
from tests.workers.fake_shards import NAME, FakeShards


@pytest.mark.parametrize("kinds", [("journal", "model", "state"), ("journal",), ("state",)], ids="+".join)
def test_shards_whose_topics_were_copied_to_another_cluster_are_refused(
    kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = FakeShards(FakeBroker(), monkeypatch, 2, 4)
    shards.put_days(40)
    shards.run()
    copied = FakeBroker()
    at_copy = FakeShards(copied, monkeypatch, 2, 4)
    for topic in ("weather", *(f"{NAME}.{kind}" for kind in kinds)):
        copied.topic(topic, shards.broker.counts[topic])
        for record in shards.broker.records(topic):
            number = (record.key or b"").split(b"/")[0] if topic != "weather" else b""
            partitions = [int(number)] if number.isdigit() else []
            for part in partitions or range(shards.broker.counts[topic]):
                if record in shards.broker.logs[Partition(topic, part)].stored:
                    copied.logs[Partition(topic, part)].append(record.key, record.value, record.time)
    with pytest.raises(
        (BrokerError, CannotResume), match=r"give the pipeline (with \[workers\] )?another name"
    ):
        at_copy.run()
    assert not copied.records("answers")
