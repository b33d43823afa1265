"""A start, a takeover and a rebuild go on only with the log that was read; else they say what is wrong."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import CannotResume, SnapshotNotWritten
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from tests.kafka.fake_broker import FakeBroker
from tests.kafka.fake_pipeline import NAME, FakePipeline, killed_after
from tests.kafka_broker.topics import days

COUNT = 100
WEATHER = Partition("weather", 0)


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePipeline:
    """A pipeline that has read its topic, 100 records."""
    pipeline = FakePipeline(tmp_path, monkeypatch)
    pipeline.broker.put(pipeline.topic, days(COUNT, partitions=1))
    pipeline.run()
    return pipeline


def put(pipeline: FakePipeline, count: int, seed: int = 8) -> None:
    pipeline.broker.put(pipeline.topic, days(count, partitions=1, seed=seed), time=1.71e9)


def directories(pipeline: FakePipeline) -> dict[str, bytes]:
    """Return all snapshots of the pipeline, in all directories."""
    directory = Path(pipeline.told["directory"])
    return {
        f"{path.parent.name}/{path.name}": path.read_bytes()
        for path in directory.parent.glob("*/snapshot-*.zip")
    }


def log_of(pipeline: FakePipeline) -> Any:
    return pipeline.broker.logs[WEATHER]


# -- a log that lost its end -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_epochs", [True, False], ids=["epochs", "records"])
@pytest.mark.parametrize("grown", [30, 70])
def test_a_log_that_lost_its_end_and_grew_again_is_refused(
    pipeline: FakePipeline, has_epochs: bool, grown: int
) -> None:
    pipeline.broker.has_epochs = has_epochs
    log_of(pipeline).truncate(70)
    put(pipeline, grown)
    with pytest.raises(CannotResume, match="the log of 'days' lost its end") as raised:
        pipeline.run()
    assert ("from 70 on" if has_epochs else "other records before that") in str(raised.value)
    assert "--rebuild --accept-gap, which makes a smaller model" in str(raised.value)
    assert sum(pipeline.answers().values()) == COUNT


def test_a_log_whose_epochs_were_restored_with_it_is_recognised_by_its_records(
    pipeline: FakePipeline,
) -> None:
    log_of(pipeline).truncate(70)
    log_of(pipeline).epoch = 0  # the copy that was restored had been made before
    put(pipeline, 60)
    with pytest.raises(CannotResume, match="has other records before that now"):
        pipeline.run()


def test_a_log_that_ends_before_what_was_committed_is_refused_though_the_snapshot_is_older(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch)
    pipeline.broker.put(pipeline.topic, days(COUNT, partitions=1))
    killed_after(pipeline, 90)
    assert pipeline.snapshot().positions[WEATHER] == 0
    log_of(pipeline).truncate(60)
    with pytest.raises(CannotResume, match=r"weather\[0\] was read up to 90, and ends at 60 now"):
        pipeline.run()


@pytest.mark.parametrize("has_epochs", [True, False], ids=["epochs", "records"])
def test_what_is_committed_after_the_snapshot_is_checked_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_epochs: bool
) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch)
    pipeline.broker.has_epochs = has_epochs
    pipeline.broker.put(pipeline.topic, days(COUNT, partitions=1))
    killed_after(pipeline, 90)
    log_of(pipeline).truncate(60)
    put(pipeline, 80)
    with pytest.raises(CannotResume, match="lost its end"):
        pipeline.run()


def test_a_rebuild_of_a_log_that_lost_its_end_is_refused_and_else_answers_what_was_never_answered(
    pipeline: FakePipeline,
) -> None:
    log_of(pipeline).truncate(70)
    put(pipeline, 60)
    with pytest.raises(CannotResume, match=r"would make a smaller model: the log still holds 70 of the 100"):
        pipeline.run(rebuild=True)
    rebuilt = pipeline.run(rebuild=True, accept_gap=True)
    assert rebuilt.step.learned == 130
    answers = pipeline.answers()
    assert all(
        answers["weather", 0, position] == (2 if 70 <= position < 100 else 1) for position in range(130)
    )
    assert pipeline.run().step.processed == 130  # and the next start goes on from there


@pytest.mark.parametrize("has_epochs", [True, False], ids=["epochs", "records"])
def test_a_log_that_was_read_and_then_expired_is_healthy(pipeline: FakePipeline, has_epochs: bool) -> None:
    pipeline.broker.has_epochs = has_epochs
    log_of(pipeline).expire(COUNT)
    assert pipeline.run().step.processed == COUNT
    put(pipeline, 20)
    assert pipeline.run().step.processed == COUNT + 20


def test_a_log_whose_last_record_was_compacted_is_healthy(pipeline: FakePipeline) -> None:
    log_of(pipeline).remove(COUNT - 1)
    put(pipeline, 20)
    assert pipeline.run().step.processed == COUNT + 20


def test_a_leader_that_changed_and_lost_nothing_is_healthy(pipeline: FakePipeline) -> None:
    for _ in range(3):
        log_of(pipeline).truncate(log_of(pipeline).end)
        put(pipeline, 10)
        pipeline.run()
    assert pipeline.snapshot().clock == COUNT + 30


def test_a_first_start_at_the_end_is_checked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch, start="latest")
    pipeline.broker.put(pipeline.topic, days(COUNT, partitions=1))
    pipeline.run()
    pipeline.run()  # here the record before its first position is marked, for nothing was read
    put(pipeline, 5)
    pipeline.run()
    log_of(pipeline).truncate(50)
    put(pipeline, 200)
    with pytest.raises(CannotResume, match="lost its end"):
        pipeline.run()


def test_a_snapshot_from_before_epochs_were_kept_is_said_once_and_then_has_them(
    pipeline: FakePipeline, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    forget_trail(pipeline)
    put(pipeline, 10)
    pipeline.run()
    assert caplog.text.count("from before leader epochs were kept") == 1
    pipeline.run()
    assert caplog.text.count("from before leader epochs were kept") == 1
    log_of(pipeline).truncate(70)
    put(pipeline, 60)
    with pytest.raises(CannotResume, match="lost its end"):
        pipeline.run()


def forget_trail(pipeline: FakePipeline) -> None:
    """Let snapshots and journal be as versions before wrote them."""
    store = SnapshotStore(pipeline.told["directory"])
    snapshot = pipeline.snapshot()
    log = {name: value for name, value in snapshot.sections["log"].items() if name in ("cluster", "topics")}
    store.take_over()
    changed = type(snapshot)(
        learner=snapshot.learner,
        sections={**snapshot.sections, "log": log},
        configuration=snapshot.configuration,
        positions=snapshot.positions,
        clock=snapshot.clock,
        outputs=snapshot.outputs,
    )
    store.save(changed)
    for record in pipeline.broker.logs[Partition(pipeline.journal)].stored:
        if record.value is not None:
            entry = msgspec.json.decode(record.value)
            record.value = msgspec.json.encode(
                {name: value for name, value in entry.items() if name not in ("marks", "origins")}
            )


@pytest.mark.parametrize("has_epochs", [True, False], ids=["epochs", "records"])
def test_at_least_once_delivery_is_checked_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_epochs: bool
) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch, delivery="at-least-once")
    pipeline.broker.has_epochs = has_epochs
    pipeline.broker.put(pipeline.topic, days(COUNT, partitions=1))
    pipeline.run()
    log_of(pipeline).truncate(70)
    put(pipeline, 60)
    with pytest.raises(CannotResume, match="lost its end"):
        pipeline.run()
    with pytest.raises(CannotResume, match="would make a smaller model"):
        pipeline.run(rebuild=True)


# -- other logs --------------------------------------------------------------------------------------------------------


def test_a_topic_that_was_made_anew_is_refused_and_a_rebuild_has_a_price(pipeline: FakePipeline) -> None:
    pipeline.broker.delete(pipeline.topic)
    pipeline.broker.topic(pipeline.topic)
    put(pipeline, 120)
    with pytest.raises(CannotResume, match=r"was deleted and recreated.*still holds 0 of the 100 positions"):
        pipeline.run()
    with pytest.raises(CannotResume, match=r"would make a smaller model.*is another log now"):
        pipeline.run(rebuild=True)
    answered = sum(pipeline.answers().values())
    assert pipeline.run(rebuild=True, accept_gap=True).step.processed == 120
    assert sum(pipeline.answers().values()) == answered + 120
    assert pipeline.run().step.processed == 120


def test_a_topic_of_labels_that_was_made_anew_lets_no_sample_be_answered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch, wait_for=1e6)
    pipeline.told["labels"] = pipeline.broker.topic("labels")
    put(pipeline, COUNT)
    pipeline.broker.put("labels", [(0, key, b'{"y": "rain"}') for _, key, _ in days(50, 1)])
    pipeline.run()
    pipeline.broker.delete("labels")
    pipeline.broker.topic("labels")
    pipeline.broker.put("labels", [(0, key, b'{"y": "dry"}') for _, key, _ in days(60, 1)])
    with pytest.raises(CannotResume, match=r"holds 100 of the 150 .*labels\[0\] is another log now"):
        pipeline.run(rebuild=True)
    rebuilt = pipeline.run(rebuild=True, accept_gap=True)
    assert rebuilt.step.processed == COUNT + 60
    assert set(pipeline.answers().values()) == {1}


def test_a_snapshot_of_another_cluster_is_refused_and_a_rebuild_has_a_price(
    pipeline: FakePipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = FakePipeline(tmp_path, monkeypatch, broker=FakeBroker())
    put(other, 120)
    with pytest.raises(CannotResume, match="positions of one mean nothing in the other"):
        other.run()
    with pytest.raises(CannotResume, match=r"would make a smaller model.*is another log now"):
        other.run(rebuild=True)


# -- the price of a rebuild --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delivery", "with_snapshot"),
    # At least once, nothing but the snapshot says where it began.
    [("exactly-once", True), ("exactly-once", False), ("at-least-once", True)],
)
def test_a_rebuild_after_retention_is_refused_with_both_numbers(
    pipeline: FakePipeline,
    with_snapshot: bool,
    delivery: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if delivery == "at-least-once":
        pipeline = FakePipeline(tmp_path / "other", monkeypatch, delivery=delivery)
        put(pipeline, COUNT)
        pipeline.run()
    log_of(pipeline).expire(80)
    if not with_snapshot:
        shutil.rmtree(pipeline.told["directory"])
    before = directories(pipeline)
    refused = (
        r"holds 20 of the 100 positions that the state was made of: weather\[0\] began at 0, and begins at 80"
    )
    with pytest.raises(CannotResume, match=refused):
        pipeline.run(rebuild=True)
    with pytest.raises(CannotResume, match=refused):
        pipeline.engine().preview(rebuild=True)
    assert directories(pipeline) == before
    rebuilt = pipeline.run(rebuild=True, accept_gap=True)
    assert rebuilt.step.learned == 20
    if with_snapshot:
        kept = {name: data for name, data in directories(pipeline).items() if "before-rebuild" in name}
        assert sorted(kept.values()) == sorted(before.values())
    assert pipeline.run(rebuild=True).step.learned == 20  # it began there now


def test_the_error_of_a_gap_recommends_no_rebuild_and_names_accept_gap_once(pipeline: FakePipeline) -> None:
    put(pipeline, 20)
    log_of(pipeline).expire(110)
    with pytest.raises(CannotResume, match="10 positions have expired unread") as raised:
        pipeline.run()
    assert str(raised.value).count("--accept-gap") == 1 and "rebuild" not in str(raised.value)


def test_a_rebuild_begins_where_the_first_run_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch, start="latest")
    pipeline.broker.put(pipeline.topic, days(COUNT, partitions=1))
    pipeline.run()
    put(pipeline, 50)
    assert pipeline.run().step.processed == 50
    live = pipeline.state()
    assert pipeline.run(rebuild=True).step.processed == 50
    assert pipeline.state() == live


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_a_rebuild_of_a_compacted_log_with_fewer_records_is_refused_before_anything_changes(
    delivery: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch, delivery=delivery)
    put(pipeline, COUNT)
    pipeline.run()
    before, positions = directories(pipeline), dict(pipeline.broker.groups[NAME])
    for offset in range(60):
        log_of(pipeline).remove(offset)
    with pytest.raises(CannotResume, match="has 40 records, 40 of them learned, and the present one has 100"):
        pipeline.run(rebuild=True)
    assert (directories(pipeline), pipeline.broker.groups[NAME]) == (before, positions)
    assert pipeline.run().step.processed == COUNT


def test_errors_that_recommend_a_rebuild_say_that_it_loses_nothing(pipeline: FakePipeline) -> None:
    shutil.rmtree(pipeline.told["directory"])
    with pytest.raises(
        CannotResume, match="the log still holds all 100 positions that the state was made of"
    ):
        pipeline.run()
    assert pipeline.run(rebuild=True).step.learned == COUNT


# -- rebuild twice -----------------------------------------------------------------------------------------------------


def test_two_rebuilds_give_the_same_bytes_though_the_journal_was_pruned_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch, partitions=3, every_events=20, keep=2)
    for seed in range(6):  # records of three partitions, some of which come after later ones of others
        records = days(60, partitions=3, seed=seed)
        pipeline.broker.put(
            pipeline.topic, [each for each in records if each[0] == seed % 3], time=1.7e9 + seed
        )
        pipeline.run()
    states = []
    for _ in range(3):
        assert pipeline.run(rebuild=True).step.processed == 120
        states.append(pipeline.state())
    assert states[0] == states[1] == states[2]


def test_a_rebuild_that_accepts_a_gap_begins_where_the_log_does(pipeline: FakePipeline) -> None:
    put(pipeline, 30)
    log_of(pipeline).expire(COUNT + 10)  # some were never read
    with pytest.raises(CannotResume, match="10 positions have expired unread"):
        pipeline.run()
    assert pipeline.run(rebuild=True, accept_gap=True).step.processed == 20
    assert pipeline.run().step.processed == 20


def test_a_replay_of_a_log_that_was_compacted_meanwhile_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch)
    pipeline.broker.put(pipeline.topic, days(40, partitions=1))
    worker = pipeline.engine()

    def kill(progress: Any) -> None:
        if progress.processed >= 30:
            raise KeyboardInterrupt

    worker.watch(kill)
    with pytest.raises(KeyboardInterrupt):
        worker.run(until_end=True)
    log_of(pipeline).remove(7)
    with pytest.raises(
        CannotResume, match="had 10 records when days processed them, and 1 of these are compacted"
    ):
        pipeline.run()
    engine = pipeline.run(accept_gap=True)
    recovery: Any = engine.recovery
    assert (engine.step.processed, recovery.incidents["offset_gap"]) == (39, 1)


@pytest.mark.parametrize("has_epochs", [True, False], ids=["epochs", "records"])
def test_a_replay_of_a_log_that_loses_its_end_meanwhile_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_epochs: bool
) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch)
    pipeline.broker.has_epochs = has_epochs
    pipeline.broker.put(pipeline.topic, days(40, partitions=1))
    killed_after(pipeline, 30)
    engine = pipeline.engine()
    recovery: Any = engine.recovery
    replay = recovery.replay

    def lose_the_end() -> Any:
        log_of(pipeline).truncate(15)
        put(pipeline, 40)
        yield from replay()

    monkeypatch.setattr(recovery, "replay", lose_the_end)
    with pytest.raises(CannotResume, match=r"weather\[0\] has another record at 19"):
        engine.run(until_end=True)


def test_nothing_is_committed_before_the_first_snapshot_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch)
    pipeline.broker.put(pipeline.topic, days(40, partitions=1))

    def full(*_: Any) -> int:
        raise SnapshotNotWritten("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(SnapshotStore, "save", full)
        with pytest.raises(SnapshotNotWritten):
            pipeline.run()
    assert pipeline.answers() == {}
    assert pipeline.run().step.processed == 40


def test_a_rebuild_counts_what_is_committed_while_it_runs(
    pipeline: FakePipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(pipeline, 30)
    rebuilding = pipeline.engine()
    recovery: Any = rebuilding.recovery
    passes = recovery.catch_up

    def commit_and_compact() -> Any:
        yield from passes()
        killed_after(pipeline, COUNT + 30)  # another worker, until it is fenced
        log_of(pipeline).remove(COUNT + 7)

    monkeypatch.setattr(recovery, "catch_up", commit_and_compact)
    with pytest.raises(CannotResume, match="had 30 records when days processed them, and 1 of these"):
        rebuilding.run(rebuild=True, until_end=True)
    with pytest.raises(CannotResume, match="1 of these are compacted or deleted"):
        pipeline.run()  # nor does the next start go on without it
    assert pipeline.run(accept_gap=True).step.learned == COUNT + 29


def test_a_rebuild_counts_what_another_worker_saved_and_pruned_from_the_journal_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = FakePipeline(tmp_path, monkeypatch, every_events=10, keep=1)
    put(pipeline, COUNT)
    pipeline.run()
    rebuilding = pipeline.engine()
    recovery: Any = rebuilding.recovery
    passes = recovery.catch_up

    def commit_prune_and_compact() -> Any:
        if pipeline.snapshot().clock == COUNT:
            put(pipeline, 200)
            pipeline.run()
            log_of(pipeline).remove(COUNT + 7)
        yield from passes()

    monkeypatch.setattr(recovery, "catch_up", commit_prune_and_compact)
    with pytest.raises(
        CannotResume, match="has 299 records, 299 of them learned, and the present one has 300"
    ):
        rebuilding.run(rebuild=True, until_end=True)
    assert pipeline.run().step.processed == COUNT + 200


def test_a_rebuild_into_a_file_replaces_it_or_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = FakeBroker()
    broker.connection(monkeypatch)
    broker.put(broker.topic("weather"), days(COUNT, partitions=1), time=1.7e9)
    table = {
        "name": NAME,
        "kafka": {"servers": ["nobody:9092"]},
        "source": {"kind": "kafka", "topic": "weather", "target": "y"},
        "model": {"kind": "nb"},
        "predictions": {"kind": "jsonl", "path": "answers.jsonl"},
        "snapshots": {"directory": "state"},
    }
    build(checked(table), tmp_path).run(until_end=True)
    file = tmp_path / "answers.jsonl"
    before = file.read_bytes()
    assert before.count(b"\n") == COUNT
    build(checked(table), tmp_path).run(rebuild=True, until_end=True)
    assert file.read_bytes() == before
    broker.logs[WEATHER].remove(7)
    with pytest.raises(CannotResume, match="has 99 records, 99 of them learned, and the present one has 100"):
        build(checked(table), tmp_path).run(rebuild=True, until_end=True)
    assert file.read_bytes() == before
    assert build(checked(table), tmp_path).run(until_end=True).processed == COUNT
