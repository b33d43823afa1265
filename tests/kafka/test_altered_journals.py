"""Journals that were altered, lost their end, or disagree with the group: refused by name, or each record once."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import CannotResume
from tests.kafka.fake_broker import FakeBroker, Stored
from tests.kafka.fake_pipeline import NAME, FakePipeline, killed_after
from tests.kafka_broker.topics import days

SAMPLES = 60
WEATHER = Partition("weather")


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePipeline:
    pipeline = FakePipeline(tmp_path, monkeypatch)
    pipeline.broker.put(pipeline.topic, days(SAMPLES, partitions=1))
    return pipeline


def entries(pipeline: FakePipeline) -> list[Stored]:
    log = pipeline.broker.logs[Partition(pipeline.journal)]
    return [record for record in log.stored if record.is_readable]


def lose_last_entry(pipeline: FakePipeline) -> None:
    pipeline.broker.logs[Partition(pipeline.journal)].truncate(entries(pipeline)[-1].offset)


def answered_once(pipeline: FakePipeline) -> None:
    assert pipeline.answers() == {("weather", 0, position): 1 for position in range(SAMPLES)}


def test_a_journal_that_lost_its_end_is_refused_until_the_operator_decides(pipeline: FakePipeline) -> None:
    killed_after(pipeline, 30)
    lose_last_entry(pipeline)
    for rebuild in (False, True):
        with pytest.raises(
            CannotResume, match=r"weather\[0\] at 30, above those in its journal, weather\[0\] at 20"
        ):
            pipeline.run(rebuild=rebuild)
    pipeline.broker.delete(pipeline.journal)  # as the error says, for the group is right
    assert pipeline.run(rebuild=True).step.learned == SAMPLES
    answered_once(pipeline)


@pytest.mark.parametrize("has_group", [True, False])
def test_a_journal_that_ends_before_the_snapshot_makes_a_rebuild_repeat_nothing(
    pipeline: FakePipeline, has_group: bool
) -> None:
    pipeline.run(30)
    lose_last_entry(pipeline)
    if not has_group:
        pipeline.broker.groups[NAME].clear()
    with pytest.raises(CannotResume, match="was deleted or recreated"):
        pipeline.run()
    assert pipeline.run(rebuild=True).step.learned == SAMPLES
    answered_once(pipeline)


@pytest.mark.parametrize("position", [45, 4500], ids=["moved on", "beyond the end"])
def test_positions_that_were_moved_above_the_journal_leave_nothing_unanswered(
    pipeline: FakePipeline, position: int
) -> None:
    pipeline.run(30)
    pipeline.broker.groups[NAME][WEATHER] = position
    for rebuild in (False, True):
        with pytest.raises(CannotResume, match="If the journal is right, move them there or delete them"):
            pipeline.run(rebuild=rebuild, accept_gap=rebuild)
    pipeline.broker.groups[NAME].clear()
    pipeline.run()
    answered_once(pipeline)


def test_an_entry_that_was_extended_leaves_nothing_unanswered(pipeline: FakePipeline) -> None:
    killed_after(pipeline, 30)
    record = entries(pipeline)[2]
    entry = msgspec.json.decode(record.value or b"") | {"slices": [["weather", 0, 10, 10_000]]}
    record.value = msgspec.json.encode(entry)
    for rebuild in (False, True):
        with pytest.raises(CannotResume, match=r"weather\[0\] was read up to 10000, and ends at 60"):
            pipeline.run(rebuild=rebuild)


def test_the_second_answer_of_a_range_lets_a_rebuild_answer_nothing_again(pipeline: FakePipeline) -> None:
    killed_after(pipeline, 20)
    entry = {"format": 1, "worker": "woken", "number": 7, "slices": [["weather", 0, 5, 15]]}
    pipeline.broker.logs[Partition(pipeline.journal)].append(None, msgspec.json.encode(entry), 1.7e9)
    assert pipeline.run(rebuild=True).step.learned == SAMPLES
    answered_once(pipeline)


def test_positions_of_a_recreated_topic_leave_none_of_its_records_unanswered(pipeline: FakePipeline) -> None:
    pipeline.run()
    pipeline.broker.delete(pipeline.topic)
    pipeline.broker.topic(pipeline.topic)
    pipeline.broker.put(pipeline.topic, days(40, partitions=1))
    pipeline.broker.groups[NAME][WEATHER] = 40  # a tool wrote them again
    pipeline.run(rebuild=True, accept_gap=True)
    assert pipeline.answers() == {
        ("weather", 0, position): 2 if position < 40 else 1 for position in range(SAMPLES)
    }


# -- a copy of the cluster, as MirrorMaker makes one -------------------------------------------------------------------


def mirrored(pipeline: FakePipeline, prefix: str, shift: int, topics: tuple[str, ...]) -> FakeBroker:
    """Copy topics to another cluster, with other ids and offsets, and the group's positions translated."""
    target = FakeBroker()
    for topic in topics:
        target.topic(prefix + topic)
        log = target.logs[Partition(prefix + topic)]
        log.begin = log.end = shift
        for record in pipeline.broker.records(topic):
            log.append(record.key, record.value, record.time)
    target.groups[NAME][Partition(prefix + "weather")] = SAMPLES + shift
    for topic in ("answers", "letters"):
        target.topic(topic)
    return target


@pytest.mark.parametrize(
    ("has_snapshots", "topics", "shift"),
    [
        (True, ("weather",), 100),
        (True, ("weather", "days.journal"), 0),
        (False, ("weather", "days.journal"), 100),
    ],
    ids=["snapshots", "snapshots and journal", "journal"],
)
def test_a_state_is_refused_at_a_mirror_of_its_cluster(
    pipeline: FakePipeline,
    has_snapshots: bool,
    topics: tuple[str, ...],
    shift: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pipeline.run()
    target = mirrored(pipeline, "", shift, topics)
    directory = tmp_path if has_snapshots else tmp_path / "elsewhere"
    at_mirror = FakePipeline(directory, monkeypatch, broker=target)
    for rebuild in (False, True):
        with pytest.raises(CannotResume, match=r"is of Kafka cluster|is another log now") as raised:
            at_mirror.run(rebuild=rebuild)
        assert "--accept-gap" in str(raised.value)  # what can be done is not free
    assert at_mirror.answers() == {}
    assert at_mirror.run(rebuild=True, accept_gap=True).step.learned == SAMPLES
    assert set(at_mirror.answers().values()) == {1} and at_mirror.answers().total() == SAMPLES
    assert at_mirror.run().step.learned == SAMPLES


def test_a_group_that_was_mirrored_alone_is_refused(
    pipeline: FakePipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.run()
    at_mirror = FakePipeline(
        tmp_path / "elsewhere", monkeypatch, broker=mirrored(pipeline, "", 0, ("weather",))
    )
    with pytest.raises(CannotResume, match=r"has committed results up to .* and there is no snapshot"):
        at_mirror.run()


def test_topics_that_a_mirror_renamed_are_refused(
    pipeline: FakePipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.run()
    target = mirrored(pipeline, "east.", 0, ("weather",))
    at_mirror = FakePipeline(tmp_path, monkeypatch, broker=target, topic="east.weather")
    for rebuild in (False, True):
        with pytest.raises(CannotResume, match=r"Kafka cluster|is of topics"):
            at_mirror.run(rebuild=rebuild)
