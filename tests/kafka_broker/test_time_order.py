"""Topics read from their beginnings give what one file sorted by time gives, to the byte."""

from __future__ import annotations

import json
import random
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stream_bayes import AODE, NaiveBayes, streams
from stream_bayes.errors import BrokerError, TooManyDeadLetters
from stream_bayes.kafka.clients.connection import CLIENTS
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from tests.kafka_broker.topics import KafkaTopics, Pipeline
from tests.waiting import until

HOUR, DAY = 3600.0, 86_400.0
START = 1_700_000_000.0
COUNT = 1500
DAYS = 60
SECTIONS = ("step", "model", "losses", "pending")


class Row(NamedTuple):
    """A record: its topic, partition, key, fields and time."""

    kind: str
    partition: int
    key: str
    fields: dict[str, Any]
    time: float


def weather(seed: int = 5) -> list[Row]:
    """Samples of sixty days in four partitions, and the label of each an hour later, in two, sorted by time."""
    chance = random.Random(seed)
    rows = []
    for number in range(COUNT):
        rain = chance.random() < 0.4
        time = START + DAYS * DAY * number / COUNT
        key = f"day-{number}"
        fields = {
            "sky": chance.choice(["grey", "blué"] if rain else ["blue", "blué"]),
            "wind": chance.gauss(3, 1),
        }
        rows.append(Row("sample", number % 4, key, fields, time))
        rows.append(Row("label", number % 2, key, {"y": "rain" if rain else "dry"}, time + HOUR))
    return sorted(rows, key=lambda row: (row.time, row.kind != "sample", row.partition))


def put(kafka_topics: KafkaTopics, topic: str, rows: list[Row]) -> None:
    """Write rows into a topic; each holds its own time."""
    kafka_topics.put(
        topic,
        [
            (row.partition, row.key.encode(), json.dumps(row.fields | {"at": row.time}).encode())
            for row in rows
        ],
    )


def table(directory: Path, source: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": "weather",
        "source": {"target": "y", "time": "at"} | source,
        "model": {"kind": "nb"},
        "labels": {"wait_for": 14 * DAY},
        "snapshots": {"directory": str(directory / "state"), "every_events": 700},
    } | more


def lines_of(rows: list[Row]) -> str:
    """Return rows as JSON lines."""
    lines = [{"at": row.time, "id": row.key, "type": row.kind} | row.fields for row in rows]
    return "".join(json.dumps(line) + "\n" for line in lines)


def from_file(directory: Path, rows: list[Row]) -> tuple[Engine, list[dict[str, Any]]]:
    """Run a pipeline over one file sorted by time; return its engine and its answers."""
    directory.mkdir()
    (directory / "days.jsonl").write_text(lines_of(rows))
    source = {"kind": "jsonl", "path": "days.jsonl", "key": "id", "type": "type"}
    predictions = {"kind": "jsonl", "path": "answers.jsonl"}
    engine = build(checked(table(directory, source, predictions=predictions)), directory)
    engine.run()
    return engine, [json.loads(line) for line in (directory / "answers.jsonl").read_text().splitlines()]


def kept_in(directory: Path) -> Snapshot:
    found = SnapshotStore(directory / "state").latest()
    assert found is not None
    return found.snapshot


def state_with(snapshot: Snapshot, *names: str) -> bytes:
    """Return these sections of a snapshot, without its positions, and without the partitions that samples came from."""
    sections = {name: dict(snapshot.sections[name]) for name in names}
    if "pending" in sections:
        sections["pending"]["resolved"] = [entry[:-1] for entry in sections["pending"]["resolved"]]
    return Snapshot(learner="NaiveBayes", sections=sections).to_bytes()


def without_places(answers: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(said["key"], said["time"], said["prediction"], said["probabilities"]) for said in answers]


@pytest.mark.parametrize("client", CLIENTS)
def test_topics_read_from_their_beginnings_give_what_one_sorted_file_gives(
    kafka_topics: KafkaTopics, tmp_path: Path, client: str
) -> None:
    rows = weather()
    engine, expected = from_file(tmp_path / "file", rows)
    assert engine.step.learned == COUNT
    samples, labels, answers = kafka_topics.topic(4), kafka_topics.topic(2), kafka_topics.topic(1)
    put(kafka_topics, labels, [row for row in rows if row.kind == "label"])
    put(kafka_topics, samples, [row for row in rows if row.kind == "sample"])
    told = table(
        tmp_path / "topics",
        {"kind": "kafka", "topic": samples},
        name=f"weather-{samples}",
        labels={"wait_for": 14 * DAY, "topic": labels},
        kafka={"servers": [kafka_topics.servers], "client": client},
        predictions={"kind": "kafka", "topic": answers},
    )
    first = build(checked(told), tmp_path)
    assert first.run(1100).processed == 1100
    second = build(checked(told), tmp_path)
    assert second.run(until_end=True).processed == 2 * COUNT
    assert second.step.learned == COUNT
    assert state_with(kept_in(tmp_path / "topics"), *SECTIONS) == state_with(
        kept_in(tmp_path / "file"), *SECTIONS
    )
    written = [json.loads(record.value) for record in kafka_topics.get(answers)]
    assert without_places(written) == without_places(expected)
    assert sum(prediction is None for _, _, prediction, _ in without_places(written)) < 10


@pytest.mark.parametrize("client", CLIENTS)
def test_a_comparison_over_topics_gives_what_one_over_the_sorted_file_gives(
    kafka_topics: KafkaTopics, tmp_path: Path, client: str
) -> None:
    rows = weather()
    path = tmp_path / "days.jsonl"
    path.write_text(lines_of(rows))
    roles: dict[str, Any] = {"target": "y", "time": "at"}
    of_file = compared(streams.from_jsonl(path, key="id", kind="type", **roles))
    samples, labels = kafka_topics.topic(4), kafka_topics.topic(2)
    put(kafka_topics, labels, [row for row in rows if row.kind == "label"])
    put(kafka_topics, samples, [row for row in rows if row.kind == "sample"])
    of_topics = compared(
        streams.from_kafka(kafka_topics.servers.split(","), samples, labels=labels, client=client, **roles)
    )
    assert of_topics == of_file
    assert of_file[-1][0] == COUNT


def compared(source: Any) -> list[Any]:
    """Return the number of samples and the measures of two learners, at each checkpoint."""
    with closing(source):
        found = streams.compare({"nb": NaiveBayes(), "aode": AODE()}, source, every=500)
    return [(checkpoint.events, checkpoint.cumulative) for checkpoint in found.checkpoints]


def test_a_comparison_over_an_empty_topic_ends(kafka_topics: KafkaTopics) -> None:
    with closing(streams.from_kafka(kafka_topics.servers.split(","), kafka_topics.topic(2))) as source:
        assert streams.evaluate(source, NaiveBayes()).events == 0


def test_a_comparison_over_a_topic_that_is_not_there_or_away_is_an_error(kafka_topics: KafkaTopics) -> None:
    for servers, topic, message in (
        (kafka_topics.servers, "no-such-topic", "there is no topic 'no-such-topic'"),
        ("127.0.0.1:1", "days", "no Kafka broker answered at 127.0.0.1:1"),
    ):
        source = streams.from_kafka(servers.split(","), topic, seconds=3.0)
        with closing(source), pytest.raises(BrokerError, match=message):
            streams.evaluate(source, NaiveBayes())


@pytest.mark.parametrize("client", CLIENTS)
def test_a_backlog_with_kills_gives_what_one_sorted_file_gives(
    kafka_topics: KafkaTopics, tmp_path: Path, client: str
) -> None:
    rows = weather()
    _, expected = from_file(tmp_path / "file", rows)
    pipeline = Pipeline(
        kafka_topics,
        tmp_path / "state",
        4,
        labels=kafka_topics.topic(2),
        wait_for=14 * DAY,
        time="at",
        batch=50,
        client=client,
    )
    put(kafka_topics, pipeline.topic, [row for row in rows if row.kind == "sample"])
    put(kafka_topics, pipeline.told["labels"], [row for row in rows if row.kind == "label"])
    try:
        for point, count in (("committed", 7), ("send_offsets", 5), ("commit", 6), ("committed", 11)):
            pipeline.dies(end_at=[point, count])
        pipeline.finish(2 * COUNT)
    finally:
        pipeline.close()
    # Partitions of the topic of answers have no order among themselves.
    assert sorted(without_places(pipeline.outputs())) == sorted(without_places(expected))
    assert state_with(pipeline.newest_snapshot(), *SECTIONS) == state_with(
        kept_in(tmp_path / "file"), *SECTIONS
    )


def test_a_rebuild_gives_what_live_gave_and_takes_over_only_when_it_has_caught_up(
    kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    rows = weather()
    pipeline = Pipeline(
        kafka_topics,
        tmp_path / "state",
        4,
        labels=kafka_topics.topic(2),
        wait_for=14 * DAY,
        time="at",
        batch=100,
    )
    samples, labels = ([row for row in rows if row.kind == kind] for kind in ("sample", "label"))
    try:
        put(kafka_topics, pipeline.topic, samples)
        put(kafka_topics, pipeline.told["labels"], labels)
        pipeline.finish(2 * COUNT, keep=1, every_events=200)  # the journal is pruned
        # A record that can be read is followed by the end of its transaction: nothing more is being written.
        entries = len(kafka_topics.get(pipeline.journal))
        running = pipeline.start(keep=1, every_events=200)
        until("the worker to take over", lambda: len(kafka_topics.get(pipeline.journal)) > entries)
        written, snapshots = kafka_topics.end(pipeline.journal), pipeline.newest_snapshot().clock
        failing: Any = pipeline.engine()
        process = failing.step.process

        def fail(records: Any) -> None:
            if failing.step.processed > 1000:
                raise TooManyDeadLetters("too many")
            process(records)

        failing.step.process = fail
        with pytest.raises(TooManyDeadLetters):
            failing.run(rebuild=True)
        assert (kafka_topics.end(pipeline.journal), pipeline.newest_snapshot().clock) == (written, snapshots)
        put(kafka_topics, pipeline.topic, [samples[-1]._replace(key="later", time=rows[-1].time + HOUR)])
        until("the worker to go on", lambda: pipeline.committed_count() == 2 * COUNT + 1)
        rebuilt = pipeline.engine(keep=1)
        assert rebuilt.run(0, rebuild=True).replayed == 2 * COUNT + 1
        put(kafka_topics, pipeline.topic, [samples[-1]._replace(key="last")])
        assert running.ended() == 1 and "has taken over" in running.stderr_text()
    finally:
        pipeline.close()
    assert pipeline.newest_snapshot().sections["step"]["learned"] == COUNT
    assert len(pipeline.output_positions()) == COUNT + 1
    from_file(tmp_path / "file", rows)
    assert state_with(pipeline.newest_snapshot(), "model", "losses") == state_with(
        kept_in(tmp_path / "file"), "model", "losses"
    )
