"""Records that are not samples: broken, deleted, too large, or that are labels."""

from __future__ import annotations

import base64
import json
import signal
from pathlib import Path

import pytest

from stream_bayes.core.events.event import Partition
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from tests.kafka_broker.topics import KafkaTopics, Pipeline, counted, days
from tests.waiting import until

POISON = (0, b"bad", b"{not json")


def test_a_broken_record_becomes_a_dead_letter_that_says_where_it_was(pipeline: Pipeline) -> None:
    records = days(100)
    records[50:50] = [POISON, POISON]
    pipeline.kafka_topics.put(pipeline.topic, records)
    pipeline.engine().run(102)
    first, second = pipeline.kafka_topics.get(pipeline.told["letters"])
    headers = dict(first.headers)
    assert headers["topic"].decode() == pipeline.topic
    assert (headers["partition"], headers["offset"], headers["error"]) == (b"0", b"25", b"not_json")
    assert dict(second.headers)["offset"] == b"26"
    assert first.key == b"bad"
    assert len(pipeline.output_positions()) == 100


def test_framed_records_are_read_and_others_become_dead_letters(
    kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    topic, letters = kafka_topics.topic(1), kafka_topics.topic(1)
    framed = [(0, key, b"\x00\x00\x00\x00\x07" + (value or b"")) for _, key, value in days(20)]
    kafka_topics.put(topic, [*framed, *days(3, partitions=1)])
    table = {
        "name": f"{topic}-framed",
        "kafka": {"servers": [kafka_topics.servers]},
        "source": {"kind": "kafka", "topic": topic, "target": "y", "decoder": "confluent-json"},
        "model": {"kind": "nb"},
        "predictions": {"kind": "kafka", "topic": kafka_topics.topic(1)},
        "dead_letters": {"kind": "kafka", "topic": letters},
        "snapshots": {"directory": str(tmp_path)},
    }
    engine = build(checked(table))
    assert engine.run(23).processed == 23 and engine.step.learned == 20
    assert {dict(record.headers)["error"] for record in kafka_topics.get(letters)} == {b"not_framed"}


def test_a_tombstone_is_left_out_where_no_samples_are_held(pipeline: Pipeline) -> None:
    records = days(60)
    records[30:30] = [(0, b"day-2", None), (1, b"day-3", None)]
    pipeline.kafka_topics.put(pipeline.topic, records)
    pipeline.engine().run(60)
    assert len(pipeline.output_positions()) == 60
    assert pipeline.output_positions("letters") == []


def test_an_output_that_is_too_large_becomes_a_dead_letter(kafka_topics: KafkaTopics, tmp_path: Path) -> None:
    pipeline = Pipeline(kafka_topics, tmp_path / "state", partitions=1, max_message_bytes=20_000)
    value = json.dumps({"sky": "grey", "y": "rain" * 5000}).encode()  # a label that no output has room for
    kafka_topics.put(pipeline.topic, [(0, b"one", value), *days(20, partitions=1)])
    engine = pipeline.engine()
    engine.run(21)
    told = counted(engine)["stream_bayes_oversize_outputs_total"]
    assert told == 20  # all after the first name the label
    letters = pipeline.outputs("letters")
    assert len(letters) == 20 and {letter["reason"] for letter in letters} == {"output_too_large"}
    assert len(pipeline.output_positions()) == 1


def test_a_dead_letter_of_a_record_that_is_too_large_holds_its_beginning(
    kafka_topics: KafkaTopics, tmp_path: Path
) -> None:
    pipeline = Pipeline(kafka_topics, tmp_path / "state", partitions=1, max_message_bytes=6_000)
    broken = b"{not json" + b"!" * 60_000
    kafka_topics.put(
        pipeline.topic, [(0, b"bad", broken), (0, b"k" * 30_000, broken), *days(20, partitions=1)]
    )
    engine = pipeline.engine()
    engine.run(22)
    first, second = kafka_topics.get(pipeline.told["letters"])
    assert (first.key, second.key) == (b"bad", None)  # a key that has no room either is left out
    for position, letter in enumerate((first, second)):
        assert dict(letter.headers)["offset"] == b"%d" % position
        raw = base64.b64decode(json.loads(letter.value)["raw"])
        assert len(raw) == 1500 and broken.startswith(raw)
    assert counted(engine)["stream_bayes_oversize_outputs_total"] == 2
    assert len(pipeline.output_positions()) == 20


def test_a_compacted_topic_is_read_across_its_gaps(kafka_topics: KafkaTopics, tmp_path: Path) -> None:
    topic = kafka_topics.topic(
        1, cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01"
    )
    pipeline = Pipeline(kafka_topics, tmp_path / "state", partitions=1, topic=topic)
    records = [
        (0, b"same" if n % 3 else b"day-%d" % n, value) for n, (_, _, value) in enumerate(days(120, 1))
    ]
    for start in range(0, 120, 20):
        kafka_topics.put(topic, records[start : start + 20])
    until("something to be compacted", lambda: has_gaps(kafka_topics, topic))
    end = kafka_topics.end(topic)
    engine = pipeline.engine()
    # Never so many records: the cleaner goes on meanwhile, and only the last one is sure to stay.
    engine.watch(lambda progress: engine.stop() if engine.positions[Partition(topic)] == end else None)
    taken = engine.run().processed
    places = [position for _, position in pipeline.output_positions()]
    assert places == sorted(set(places)) and len(places) == taken < end
    assert places[-1] == end - 1 and {record.offset for record in kafka_topics.get(topic)} <= set(places)


def has_gaps(kafka_topics: KafkaTopics, topic: str) -> bool:
    """Whether the cleaner has been there; what it looks at is full segments, so a new one is begun."""
    kafka_topics.put(topic, [(0, b"more", b'{"sky": "blue", "y": "dry"}')])
    return len(kafka_topics.get(topic)) < kafka_topics.end(topic)


@pytest.mark.parametrize("client", ["kafka-python", "confluent-kafka"])
def test_labels_of_a_second_topic_are_replayed_in_the_order_they_came(
    kafka_topics: KafkaTopics, tmp_path: Path, client: str
) -> None:
    pipeline = Pipeline(
        kafka_topics,
        tmp_path / "state",
        labels=kafka_topics.topic(2),
        wait_for=1e6,
        tombstones=True,
        client=client,
    )
    samples = []
    labels = []
    for partition, key, value in days(300):
        content = json.loads(value or b"")
        label = content.pop("y")
        samples.append((partition, key, json.dumps(content).encode()))
        labels.append((partition, key, json.dumps({"y": label}).encode()))
    taken = 0

    def have_been_taken() -> bool:
        return pipeline.committed_count() == taken

    try:
        worker = pipeline.start(every_events=10_000, batch=40)
        for start in range(0, 200, 50):  # samples, then their labels, in turns
            for topic, records in ((pipeline.topic, samples), (pipeline.told["labels"], labels)):
                kafka_topics.put(topic, records[start : start + 50])
                taken += 50
                until("the records to be taken", have_been_taken)
        worker.send_signal(signal.SIGKILL)
        assert worker.ended() == -signal.SIGKILL
        order = [part for slices in pipeline.slices() for part in slices]
        assert order != sorted(order)  # so a replay that goes topic by topic is another one
        kafka_topics.put(pipeline.topic, samples[200:])
        kafka_topics.put(pipeline.told["labels"], labels[200:])
        assert pipeline.finish(600)["replayed"] == 400
        assert pipeline.state() == pipeline.expected()
        answers = [(said["source"], said["partition"], said["position"]) for said in pipeline.outputs()]
        assert len(answers) == len(set(answers)) == 300
        assert pipeline.output_positions("letters") == []
    finally:
        pipeline.close()
