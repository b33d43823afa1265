"""Every event counts once: whatever stops a run, the next one ends in state and results as if nothing had been."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import TAN, NaiveBayes
from stream_bayes.core.events.event import BadRecord, Event
from stream_bayes.core.events.pending import Pending
from stream_bayes.errors import BadSnapshot, NotOwner, SinkError, SnapshotNotWritten, SourceError
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.contracts.sink import DeadLetter, Result
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.progress import Progress
from stream_bayes.streams.engine.saving import Schedule
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.files.csv_sink import CSVSink
from stream_bayes.streams.files.json_sink import JSONLinesSink
from stream_bayes.streams.served_models.served import served
from stream_bayes.testing.faults import Crash, FaultyFileSystem, Survives
from tests.streams.engine.test_step import bytes_of, days, held, label, step_after
from tests.streams.lists import STREAM, ListSink, ListSource

EVENTS = 230


@cache
def stream() -> tuple[Record, ...]:
    """Samples with labels, and a few records that cannot be decoded."""
    return tuple(
        BadRecord("not_json", "expected an object", b"[", position=event.position)
        if event.position % 50 == 7
        else event
        for event in days(EVENTS)
    )


class Pipeline:
    """A pipeline whose parts are made anew at each start; what lasts is the directory and the two lists."""

    def __init__(self, directory: Path, records: Sequence[Record] | None = None, **settings: Any) -> None:
        self.directory = directory
        self.records = stream() if records is None else records
        self.settings: dict[str, Any] = {"schedule": Schedule(every_events=40), "batch": 16} | settings
        self.predictions: list[Result] = []
        self.letters: list[Result] = []
        self.pending = False

    def store(self) -> SnapshotStore:
        """Where snapshots are kept. Nothing is really synced: no power is cut here, and it takes most of the time."""
        return SnapshotStore(self.directory, file_system=FaultyFileSystem())

    def engine(self, store: SnapshotStore | None = None, fail_at: int | None = None) -> Engine:
        return Engine(
            Step(served(NaiveBayes()), pending=Pending(wait_for=30) if self.pending else None),
            ListSource(self.records),
            predictions=ListSink("predictions", self.predictions, fail_at),
            dead_letters=ListSink("dead_letters", self.letters),
            store=self.store() if store is None else store,
            **self.settings,
        )


@cache
def undisturbed(events: int = EVENTS) -> tuple[bytes, list[Result], list[Result]]:
    step = step_after(stream()[:events], name="model")
    return bytes_of(step), list(step.collect_outputs()), list(step.dead_letters.letters)


def state_and_results(pipeline: Pipeline) -> tuple[bytes, list[Result], list[Result]]:
    found = SnapshotStore(pipeline.directory).latest()
    assert found is not None
    step = Step(served(NaiveBayes()))
    step.load(
        {
            name: state
            for name, state in found.snapshot.sections.items()
            if name not in ("settings", "history")
        }
    )
    assert found.snapshot.positions == {STREAM: len(pipeline.records)}
    return bytes_of(step), pipeline.predictions, pipeline.letters


def test_a_run_leaves_what_the_step_alone_would(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path)
    progress = pipeline.engine().run()
    assert (progress.processed, progress.processed_in_run, progress.replayed) == (EVENTS, EVENTS, 0)
    assert state_and_results(pipeline) == undisturbed()


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_the_size_of_batches_leaves_no_trace(tmp_path: Path, batch: int) -> None:
    pipeline = Pipeline(tmp_path, batch=batch)
    pipeline.engine().run()
    assert state_and_results(pipeline) == undisturbed()


@pytest.mark.parametrize("first", [0, 1, 39, 40, 41, 229, 230])
def test_a_run_that_was_told_to_stop_is_gone_on_with(tmp_path: Path, first: int) -> None:
    pipeline = Pipeline(tmp_path)
    assert pipeline.engine().run(limit=first).processed == first
    progress = pipeline.engine().run()
    assert (progress.processed, progress.processed_in_run) == (EVENTS, EVENTS - first)
    assert state_and_results(pipeline) == undisturbed()


def test_stop_ends_the_run_after_its_batch_with_a_snapshot(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path)
    engine = pipeline.engine()
    engine.watch(lambda progress: engine.stop() if progress.processed >= 100 else None)
    assert engine.run().processed == 112
    found = SnapshotStore(tmp_path).latest()
    assert found is not None and found.snapshot.positions == {STREAM: 112}


def test_the_first_snapshot_is_empty_and_comes_before_the_first_commit(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path)
    pipeline.engine().run(limit=0)
    found = SnapshotStore(tmp_path).latest()
    assert found is not None
    assert (found.snapshot.clock, found.snapshot.positions) == (0, {STREAM: 0})
    assert found.snapshot.outputs == {"predictions": 0, "dead_letters": 0}


def test_a_crash_at_an_operation_on_the_snapshots_loses_and_repeats_nothing(tmp_path: Path) -> None:
    crash_at_operations(count(1, 3), tmp_path)


@pytest.mark.soak
def test_a_crash_at_every_operation_on_the_snapshots_loses_and_repeats_nothing(tmp_path: Path) -> None:
    crash_at_operations(count(1), tmp_path)


def crash_at_operations(numbers: Iterator[int], tmp_path: Path) -> None:
    """Crash at each of these operations, as far as there are so many."""
    # How many operations there are depends on how often the writer is still busy when a snapshot is due.
    events = 40
    for number in numbers:
        pipeline = Pipeline(tmp_path / str(number), stream()[:events], schedule=Schedule(every_events=15))
        files = FaultyFileSystem(crash_at=number)
        try:
            pipeline.engine(SnapshotStore(pipeline.directory, file_system=files)).run()
        except Crash:
            pipeline.engine().run()
            assert state_and_results(pipeline) == undisturbed(events), (
                f"after a crash at {files.operations[-1]}"
            )
        else:
            break
    assert number > 40


@pytest.mark.parametrize(("first", "survives"), [(1, Survives.SYNCED), (2, Survives.NAMES)])
def test_a_power_cut_at_an_operation_on_state_and_outputs_leaves_no_trace(
    tmp_path: Path, first: int, survives: Survives
) -> None:
    cut_power_at(count(first, 2), tmp_path, survives)


@pytest.mark.soak
@pytest.mark.parametrize("survives", [Survives.SYNCED, Survives.NAMES])
def test_a_power_cut_at_any_operation_on_state_and_outputs_leaves_no_trace(
    tmp_path: Path, survives: Survives
) -> None:
    cut_power_at(count(1), tmp_path, survives)


def cut_power_at(numbers: Iterator[int], tmp_path: Path, survives: Survives) -> None:
    """Cut the power at each of these operations, as far as there are so many."""

    def files_after(directory: Path, files: FileSystem) -> list[bytes]:
        store = SnapshotStore(directory / "state", file_system=files)
        engine = Engine(
            Step(served(NaiveBayes())),
            ListSource(stream()[:40]),
            predictions=JSONLinesSink(directory / "answers", file_system=files),
            dead_letters=CSVSink(directory / "dead", DeadLetter, file_system=files),
            store=store,
            schedule=Schedule(every_events=10**6),  # at the end, so that nothing is written beside the stream
            batch=16,
        )
        engine.run()
        found = store.latest()
        assert found is not None
        outputs = [(directory / name).read_bytes() for name in ("answers", "dead")]
        return [found.snapshot.to_bytes(), *outputs]

    expected = files_after(tmp_path / "whole", FileSystem())
    for number in numbers:
        files = FaultyFileSystem(crash_at=number, survives=survives)
        try:
            files_after(tmp_path / str(number), files)
        except Crash:
            where = f"after a crash at {files.operations[-1]}, operation {number}"
            assert files_after(tmp_path / str(number), FaultyFileSystem()) == expected, where
        else:
            break
    assert number > 30


def test_a_sink_that_raises_stops_the_run_and_the_next_one_repeats_nothing(tmp_path: Path) -> None:
    for number in range(1, EVENTS // 16 + 2):
        pipeline = Pipeline(tmp_path / str(number))
        with pytest.raises(OSError, match="the disk is full"):
            pipeline.engine(fail_at=number).run()
        pipeline.engine().run()
        assert state_and_results(pipeline) == undisturbed()


def test_held_samples_survive_a_restart(tmp_path: Path) -> None:
    events = list(days(120))
    records = [*map(held, events), *map(label, events)]
    records = [
        Event(r.x, r.y, r.key, None, n, kind=r.kind)
        for n, r in enumerate(sorted(records, key=lambda r: r.position))
    ]
    pipeline = Pipeline(tmp_path, records)
    pipeline.pending = True
    for _ in range(9):
        pipeline.engine().run(limit=31)
    found = SnapshotStore(tmp_path).latest()
    whole = step_after(records, name="model", pending=Pending(wait_for=30))
    assert found is not None
    sections = {
        name: state for name, state in found.snapshot.sections.items() if name not in ("settings", "history")
    }
    assert Snapshot(learner="NaiveBayes", sections=sections).to_bytes() == bytes_of(whole)
    assert pipeline.predictions == whole.collect_outputs()


@pytest.mark.parametrize(
    ("position", "said"),
    [(19, "repeats positions: expected 20 next, got 19"), (21, "skips positions: expected 20 next, got 21")],
)
def test_a_source_that_repeats_or_skips_a_position_stops_the_run(
    tmp_path: Path, position: int, said: str
) -> None:
    records = [*days(20), Event({"sky": "grey"}, "rain", position=position)]
    pipeline = Pipeline(tmp_path, records)
    with pytest.raises(SourceError, match=said):
        pipeline.engine().run()
    found = SnapshotStore(tmp_path).latest()
    assert found is not None and found.snapshot.clock <= 20


def test_a_source_may_say_that_it_leaves_positions_out(tmp_path: Path) -> None:
    records = [Event({"sky": "grey"}, "rain", position=n) for n in (0, 1, 5, 6, 9)]
    engine = Engine(
        Step(served(NaiveBayes())), ListSource(records, may_skip=True), store=SnapshotStore(tmp_path)
    )
    assert engine.run().processed == 5
    assert engine.positions == {STREAM: 10}


def test_other_settings_do_not_go_on_from_a_snapshot(tmp_path: Path) -> None:
    Pipeline(tmp_path).engine().run(limit=50)
    other = Engine(Step(served(TAN())), ListSource(stream()), store=SnapshotStore(tmp_path))
    with pytest.raises(BadSnapshot, match=r"model\.learner was 'NaiveBayes', is 'TAN'"):
        other.run()


@pytest.mark.parametrize("has_state", [False, True])
def test_a_start_that_a_sink_refuses_leaves_no_file_that_another_one_made(
    tmp_path: Path, has_state: bool
) -> None:
    def engine() -> Engine:
        return Engine(
            Step(served(NaiveBayes())),
            ListSource(stream()),
            predictions=JSONLinesSink(tmp_path / "answers" if has_state else tmp_path / "new"),
            dead_letters=JSONLinesSink(tmp_path / "letters"),
            store=SnapshotStore(tmp_path / "state") if has_state else None,
        )

    if has_state:
        engine().run(3)  # no letters: their length is 0
        (tmp_path / "letters").unlink()
        (tmp_path / "answers").unlink()
    else:
        (tmp_path / "letters").write_text("precious")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SinkError, match="does not exist" if has_state else "holds 8 bytes already"):
        engine().run()
    assert sorted(tmp_path.iterdir()) == before
    assert has_state or (tmp_path / "letters").read_text() == "precious"


def test_a_run_over_no_record_makes_its_output(tmp_path: Path) -> None:
    Engine(Step(served(NaiveBayes())), ListSource([]), predictions=JSONLinesSink(tmp_path / "answers")).run()
    assert (tmp_path / "answers").read_bytes() == b""


def test_a_run_whose_directory_was_taken_over_ends_without_touching_it(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path)
    engine = pipeline.engine()

    def take_over(progress: Any) -> None:
        if progress.processed >= 100 and not successor._epoch:
            successor.take_over()

    successor = SnapshotStore(tmp_path)
    engine.watch(take_over)
    with pytest.raises(NotOwner):
        engine.run()
    newest = SnapshotStore(tmp_path).latest()
    assert newest is not None and newest.snapshot.clock <= 112


def test_results_are_promised_once_where_source_and_sinks_are_of_one_medium() -> None:
    source, sink = ListSource([]), ListSink("predictions")
    assert Engine(Step(served(NaiveBayes())), source, predictions=sink).delivery == "exactly once"
    sink.medium = "outside"
    assert Engine(Step(served(NaiveBayes())), source, predictions=sink).delivery == "at least once"
    sink.medium = "none"
    assert Engine(Step(served(NaiveBayes())), source, predictions=sink).delivery == "exactly once"


def test_it_is_not_healthy_while_snapshots_cannot_be_written(tmp_path: Path) -> None:
    files = FaultyFileSystem()
    healthy: list[bool] = []

    def on_progress(progress: Progress) -> None:
        # The first one, and one after each event before this; while the thread ends, the next would be left out.
        writer = engine._writer
        assert writer is not None
        while sum(engine.snapshots) < progress.processed or writer.busy:
            time.sleep(0.001)
        healthy.append(engine.healthy)
        files.refusal = errno.ENOSPC if progress.processed < 5 else None

    engine = Engine(
        Step(served(NaiveBayes())),
        ListSource(days(7)),
        store=SnapshotStore(tmp_path, file_system=files),
        schedule=Schedule(every_events=1),
        batch=1,
    )
    engine.watch(on_progress)
    engine.run()
    assert healthy == [True, False, False, False, False, True, True]
    assert not engine.healthy  # it has ended


@pytest.mark.parametrize(
    ("medium", "said", "level"), [("local", "exactly once", "INFO"), ("outside", "at least once", "WARNING")]
)
def test_a_start_says_how_often_each_result_comes(
    caplog: pytest.LogCaptureFixture, medium: str, said: str, level: str
) -> None:
    source, sink = ListSource([]), ListSink("predictions")
    source.medium, sink.medium = "local", medium
    with caplog.at_level("INFO", "stream_bayes"):
        Engine(Step(served(NaiveBayes())), source, predictions=sink).run()
    first = caplog.records[0]
    assert (first.getMessage(), first.levelname) == (
        f"starts after 0 records; each result is written {said}",
        level,
    )


def test_a_silent_source_is_asked_again_and_can_be_stopped() -> None:
    waits: list[float] = []

    class Silent(ListSource):
        def poll(self, limit: int) -> list[Record]:
            return []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            engine.stop()

    engine = Engine(Step(served(NaiveBayes())), Silent([]), sleep=sleep)
    assert engine.run().processed == 0
    assert len(waits) == 3


def test_a_run_that_is_stopped_before_its_start_leaves_all_to_the_earlier_worker(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path)
    pipeline.engine().run(limit=100)
    earlier = pipeline.store()
    earlier.take_over()
    stopped = pipeline.engine()
    stopped.stop()  # by a signal, say
    assert stopped.run().processed_in_run == 0
    found = earlier.latest()
    assert found is not None
    assert earlier.save(found.snapshot) > found.generation  # it still owns the directory
    assert stopped.run().processed == EVENTS  # and the next run is not stopped


def test_rebuild_begins_anew_whatever_is_kept(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path)
    pipeline.engine().run(limit=100)
    assert pipeline.engine().run(rebuild=True).processed_in_run == EVENTS
    assert state_and_results(pipeline) == undisturbed()


def test_a_look_says_where_a_run_would_begin_and_writes_nothing(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path / "state")
    assert pipeline.engine().preview()["snapshot"] is None
    assert not pipeline.directory.exists()
    pipeline.engine().run(limit=100)
    before = {path: path.read_bytes() for path in pipeline.directory.iterdir()}
    outlook = pipeline.engine().preview()
    assert (outlook["records"], outlook["positions"], outlook["delivery"]) == (
        100,
        {"stream[0]": 100},
        "exactly once",
    )
    assert {path: path.read_bytes() for path in pipeline.directory.iterdir()} == before


def test_a_run_whose_last_snapshot_fails_ends_with_that_error(tmp_path: Path) -> None:
    pipeline, disk = Pipeline(tmp_path), FaultyFileSystem()
    engine = pipeline.engine(SnapshotStore(tmp_path, file_system=disk))

    def fill_and_stop(progress: Progress) -> None:
        if progress.processed > EVENTS // 2:
            disk.refusal = errno.ENOSPC
            engine.stop()

    engine.watch(fill_and_stop)
    with pytest.raises(SnapshotNotWritten, match="No space left"):
        engine.run()
    pipeline.engine().run()
    assert state_and_results(pipeline) == undisturbed()


def test_a_failed_snapshot_is_written_again_at_the_end(tmp_path: Path) -> None:
    """The last scheduled snapshot fails, no record comes after it, and then there is room again."""
    pipeline, disk = Pipeline(tmp_path, schedule=Schedule(every_events=EVENTS)), FaultyFileSystem()
    engine = pipeline.engine(SnapshotStore(tmp_path, file_system=disk))

    def fail_next_change(progress: Progress) -> None:
        if progress.processed == EVENTS:
            disk.errors[len(disk.operations) + 1] = errno.ENOSPC

    engine.watch(fail_next_change)
    engine.run()
    assert state_and_results(pipeline) == undisturbed()
