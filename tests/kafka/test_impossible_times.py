"""A record whose time cannot be moves no clock and holds no partition back: live, in a replay and in a rebuild."""

from __future__ import annotations

import json
import logging
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import BadValue
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.source import KafkaSource
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from tests.kafka.fake_pipeline import FakePipeline
from tests.kafka_broker.topics import counted

START = 1.7e9
SAMPLES = 300
WAIT = 600.0  # seconds for a label; it comes after a minute
WEEK = 604_800.0


class Written(NamedTuple):
    """A record, and when it is written."""

    time: float
    topic: str
    partition: int
    key: bytes
    fields: dict[str, Any]


def records(bad: int | None, bad_topic: str = "weather", factor: float = 1000.0) -> list[Written]:
    """Return samples and labels by the time of writing; one of them has its time in another unit."""
    chance, found = random.Random(3), []
    for number in range(SAMPLES):
        rain, time, key = chance.random() < 0.4, START + 10.0 * number, b"day-%d" % number
        sky = chance.choice(["grey", "blué"] if rain else ["blue", "grey"])
        found.append(Written(time, "weather", number % 3, key, {"sky": sky, "at": time}))
        label = {"y": "rain" if rain else "dry", "at": time + 60.0}
        found.append(Written(time + 60.0, "labels", number % 2, key, label))
    found.sort(key=lambda record: (record.time, record.topic != "weather"))
    if bad is not None:
        at = [place for place, record in enumerate(found) if record.topic == bad_topic][bad]
        fields = found[at].fields
        found[at] = found[at]._replace(fields=fields | {"at": fields["at"] * factor})
    return found


def pipeline_in(directory: Path, monkeypatch: pytest.MonkeyPatch, **told: Any) -> FakePipeline:
    pipeline = FakePipeline(directory, monkeypatch, 3, wait_for=WAIT, time="at", batch=25, **told)
    pipeline.told["labels"] = pipeline.broker.topic("labels", 2)
    return pipeline


def write(pipeline: FakePipeline, written: list[Written]) -> None:
    for record in written:
        log = pipeline.broker.logs[Partition(record.topic, record.partition)]
        log.append(record.key, json.dumps(record.fields).encode(), record.time)


@pytest.mark.parametrize(
    ("bad_topic", "bad", "factor"),
    [("weather", 0, 1e3), ("labels", 150, 1e3), ("weather", SAMPLES - 1, 1e290)],
)
def test_live_replay_rebuild_and_a_fresh_pipeline_learn_every_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad_topic: str, bad: int, factor: float
) -> None:
    check_in_all_ways(tmp_path, monkeypatch, records(bad, bad_topic, factor), impossible=1)


def test_a_clock_that_goes_back_changes_nothing_live_in_a_replay_and_in_a_rebuild(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, back = records(None), 5000.0  # seconds: more than a label is waited for
    for number, record in enumerate(written[SAMPLES:], SAMPLES):
        fields = record.fields | {"at": record.fields["at"] - back}
        written[number] = record._replace(time=record.time - back, fields=fields)
    check_in_all_ways(tmp_path, monkeypatch, written, impossible=0)


def check_in_all_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: list[Written], impossible: int
) -> None:
    """Check a pipeline that reads records as they come, its rebuilds, a fresh one that is killed, and its replay."""
    pipeline = pipeline_in(tmp_path / "live", monkeypatch, keep=1, every_events=100)
    for first in range(0, len(written), 40):
        write(pipeline, written[first : first + 40])
        pipeline.run()
    assert pipeline.snapshot().sections["step"]["learned"] == SAMPLES
    states = []
    for _ in range(3):
        rebuilt = pipeline.run(rebuild=True)
        assert (rebuilt.step.processed, rebuilt.step.learned) == (2 * SAMPLES, SAMPLES)
        assert rebuilt.source.incidents["impossible_times"] == impossible  # type: ignore[attr-defined]  # a KafkaSource has them
        states.append(pipeline.state())
    assert states[0] == states[1] == states[2]
    assert set(pipeline.answers().values()) == {1}
    fresh = pipeline_in(tmp_path / "fresh", monkeypatch)
    write(fresh, written)
    worker = fresh.engine(every_events=10_000)

    def kill(progress: Any) -> None:
        if progress.processed >= 400:
            raise KeyboardInterrupt

    worker.watch(kill)
    with pytest.raises(KeyboardInterrupt):
        worker.run(until_end=True)
    replayed = fresh.run()
    assert replayed.replayed >= 400 and replayed.step.learned == SAMPLES
    assert sections(fresh) == sections(pipeline)


def sections(pipeline: FakePipeline) -> Any:
    """Return the state without the order in which ranges were read."""
    return {
        name: {key: str(value) for key, value in part.items()}
        for name, part in pipeline.snapshot().sections.items()
        if name in ("step", "losses", "pending")
    }


def test_the_first_such_record_is_logged_with_the_key_and_all_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = pipeline_in(tmp_path, monkeypatch)
    written = [each._replace(fields=each.fields | {"at": each.fields["at"] * 1e3}) for each in records(None)]
    write(pipeline, written)
    with caplog.at_level(logging.WARNING):
        engine = pipeline.run()
    assert engine.step.learned == SAMPLES
    assert counted(engine)["stream_bayes_impossible_times_total"] == 2 * SAMPLES
    assert counted(engine)["stream_bayes_wrong_time_unit_total"] == 2 * SAMPLES
    assert caplog.text.count("more than max_skew = 604800 seconds after it was written") == 1
    assert 'a finer time_unit, such as "ms"' in caplog.text


@pytest.mark.parametrize("ahead", [-1e9, -1.0, 0.0, WEEK])
def test_a_time_that_can_be_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: float) -> None:
    pipeline = pipeline_in(tmp_path, monkeypatch)
    written = [each._replace(time=each.time - ahead) for each in records(None)]
    write(pipeline, written)
    engine = pipeline.run()
    assert counted(engine)["stream_bayes_impossible_times_total"] == 0
    assert engine.step.learned == SAMPLES


@pytest.mark.parametrize("skew", [0, -1.0, True, float("nan")])
def test_a_skew_that_is_no_number_of_seconds_is_refused(skew: Any) -> None:
    with pytest.raises(BadValue, match="max_skew: expected seconds above 0"):
        KafkaSource(
            Connection(servers=("nobody:9092",)), "weather", JSONDecoder(Fields(target="y")), max_skew=skew
        )
