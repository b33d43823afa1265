"""A pipeline with shards over a broker in memory: its shards run one after another, without a group."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.core.events.event import Kind, Partition
from stream_bayes.core.events.pending import Pending
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.pipelines.config import PipelineConfig, checked
from stream_bayes.streams.pipelines.pipeline import make_model
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.served_models.served import served
from stream_bayes.workers.follower import Follower
from stream_bayes.workers.pipeline.parts import WorkerParts
from stream_bayes.workers.shard import Shard
from tests.kafka.fake_broker import FakeBroker

NAME = "days"
START = 1.6e9
WAVES = {"scales": {"wind": [3.0, 1.5]}, "count": 4}


class FakeShards:
    """Writes days and labels to the topics of a pipeline, runs its shards, and compares with one pass over all.

    Parameters
    ----------
    broker, monkeypatch
        The broker, and what installs it.
    shards, partitions
        Their numbers.
    labels
        True for labels in a topic of their own.
    half_life
        Of the model, in stream time.
    numbers
        True for labels that are numbers, learned by a regression with waves.
    """

    def __init__(
        self,
        broker: FakeBroker,
        monkeypatch: pytest.MonkeyPatch,
        shards: int,
        partitions: int,
        labels: bool = False,
        half_life: str | None = None,
        numbers: bool = False,
        **tables: Any,
    ) -> None:
        self.broker = broker
        self.connection = broker.connection(monkeypatch)
        self.labels = labels
        self.numbers = numbers
        arguments: dict[str, Any] = {} if half_life is None else {"half_life": half_life}
        regression: dict[str, Any] = {
            "model": {"kind": "bayesian-regression", "arguments": arguments | {"features": WAVES}},
            "schema": {"features": {"sky": "nominal", "wind": "numeric"}},
        }
        self._count = 0
        for topic in ("weather", "answers", "letters", *(["labels"] if labels else [])):
            broker.topic(topic, partitions)
        self.pipeline: dict[str, Any] = {
            "name": NAME,
            "source": {"kind": "kafka", "topic": "weather", "target": "y", "time": "at"},
            "model": {"kind": "nb", "arguments": arguments},
            "predictions": {"kind": "kafka", "topic": "answers"},
            "dead_letters": {"kind": "kafka", "topic": "letters"},
            "kafka": {"servers": ["nobody:9092"], "client": "kafka-python", "seconds": 5.0},
            "workers": {"shards": shards, "publish_events": 10},
            "batch": 10,
            **(regression if numbers else {}),
            **tables,
        }
        if labels:
            self.pipeline["labels"] = {"topic": "labels", "wait_for": 1e6, "correct_within": 1e9}

    def config(self, shards: int | None = None) -> PipelineConfig:
        """Return the pipeline file, with other shards if given."""
        if shards is not None:
            self.pipeline["workers"] = {**self.pipeline["workers"], "shards": shards}
        return checked(self.pipeline)

    # -- records ------------------------------------------------------------------------------------------------------

    def put(self, topic: str, key: bytes, fields: dict[str, Any], at: float) -> None:
        """Write a record to the partition of its key."""
        number = int(key) * 7919 % self.broker.counts[topic]
        self.broker.logs[Partition(topic, number)].append(key, json.dumps(fields | {"at": at}).encode(), at)

    def put_days(self, count: int, *, labelled: bool = True) -> range:
        """Write days; their labels with them, or to the other topic if `labelled`. Return their numbers."""
        days = range(self._count, self._count + count)
        self._count += count
        for number in days:
            chance = random.Random(number)
            x = {"sky": chance.choice(["grey", "blue"]), "wind": chance.randint(1, 5)}
            label = {} if self.labels else {"y": self._label(chance)}
            self.put("weather", b"%d" % number, x | label, START + number)
            if self.labels and labelled:
                self.put_label(number, self._label(chance))
        return days

    def _label(self, chance: random.Random) -> Any:
        return chance.gauss(20.0, 5.0) if self.numbers else chance.choice(["rain", "dry"])

    def put_label(self, number: int, label: Any) -> None:
        """Write the label of a day, or its correction."""
        self.put("labels", b"%d" % number, {"y": label}, START + self._count + 5)

    # -- shards -------------------------------------------------------------------------------------------------------

    def run(self, shards: int | None = None, only: int | None = None) -> None:
        """Run all shards to the end, or one."""
        parts = WorkerParts(self.config(shards), Path())
        parts.prepare()
        for number in range(parts.table.shards) if only is None else [only]:
            shard: Shard = parts.make_shard(number, until_end=True)
            shard.start()
            assert shard.join(60)
            if shard.failure is not None:
                raise shard.failure

    # -- what must hold -----------------------------------------------------------------------------------------------

    def offline(self) -> Step:
        """Return one pass over all records, in the order of their times."""
        config = self.config()
        topics = ["weather", *(["labels"] if self.labels else [])]
        decoders = {
            "weather": JSONDecoder(Fields(target="y", time="at")),
            "labels": JSONDecoder(Fields(target="y", time="at", default_kind=Kind.LABEL)),
        }
        events = [
            decoders[topic].decode(
                record.value or b"",
                record.offset,
                Partition(topic, number),
                1,
                decoders[topic].decoded_key(record.key),
                record.time,
            )
            for topic in topics
            for number in range(self.broker.counts[topic])
            for record in self.broker.logs[Partition(topic, number)].stored
        ]
        step = Step(
            served(make_model(config, config.schema_of_stream())),
            "offline",
            pending=Pending(wait_for=1e6, correct_within=1e9) if self.labels else None,
        )
        step.process(sorted(events, key=lambda event: event.time or 0.0))
        return step

    def check(self) -> None:
        """Check that the sum of the shards is one pass over all records, and that each has one answer."""
        expected: Any = self.offline().model.model
        with Follower(self.connection, NAME) as model:
            total = model.model
        if self.numbers:
            for x in ({"sky": "grey", "wind": 2}, {"sky": "blue"}, {"wind": 4.5}):
                one, other = total.predict_distribution_one(x), expected.predict_distribution_one(x)
                assert one == pytest.approx(other, rel=1e-9), x
        else:
            mine = total.store.by_name()
            assert mine.keys() == expected.store.by_name().keys()
            for name, value in expected.store.by_name().items():
                assert mine[name] == pytest.approx(value, rel=1e-9), name
        said = [json.loads(record.value or b"") for record in self.broker.records("answers")]
        answers = Counter((each["partition"], each["position"]) for each in said)
        assert set(answers.values()) == {1} and len(said) == self._count
        assert not self.broker.records("letters")
