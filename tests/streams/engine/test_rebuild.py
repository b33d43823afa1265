"""A rebuild of a pipeline of files works beside the present state, and replaces it as a whole or not at all."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.errors import CannotResume, SinkError, TooManyDeadLetters
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.rebuild_check import Account, check_not_smaller
from stream_bayes.streams.files.json_sink import JSONLinesSink
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build

OUTPUTS = ("answers.jsonl", "dead.jsonl")


def rows(count: int, bad: int = 0) -> bytes:
    lines = [
        json.dumps({"at": n, "sky": ("grey", "blue")[n % 2], "y": ("wet", "dry")[n % 3 == 0]})
        for n in range(count)
    ]
    return "".join(line + "\n" for line in [*lines, *["{"] * bad]).encode()


def engine_in(directory: Path, accept_gap: bool = False, **more: Any) -> Engine:
    table = {
        "name": "days",
        "source": {"kind": "jsonl", "path": "events.jsonl", "target": "y", "time": "at"} | more,
        "model": {"kind": "nb"},
        "snapshots": {"directory": "state", "every_events": 1000},
        "predictions": {"kind": "jsonl", "path": "answers.jsonl"},
        "dead_letters": {"kind": "jsonl", "path": "dead.jsonl"},
        "max_dead_share": 0.3,
        "batch": 100,
    }
    return build(checked(table), directory, accept_gap=accept_gap)


def content(directory: Path) -> dict[str, bytes]:
    paths = [*(directory / name for name in OUTPUTS), *(directory / "state").glob("snapshot-*")]
    return {path.name: path.read_bytes() for path in paths}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "events.jsonl").write_bytes(rows(150))
    engine_in(tmp_path).run()
    return tmp_path


def test_a_rebuild_replaces_outputs_and_snapshots_with_those_of_the_present_records(directory: Path) -> None:
    before = content(directory)
    (directory / "events.jsonl").write_bytes(rows(100, bad=3))
    engine = engine_in(directory, accept_gap=True)
    engine.run(rebuild=True)
    after = content(directory)
    assert len(after["answers.jsonl"].splitlines()) == 100 and len(after["dead.jsonl"].splitlines()) == 3
    assert before["answers.jsonl"].startswith(after["answers.jsonl"])
    again = engine_in(directory)
    again.run()
    assert (again.step.processed, again.step.learned) == (103, 100) and content(directory) == after
    assert not [path.name for path in directory.iterdir() if ".rebuil" in path.name]


def test_a_rebuild_that_would_lose_records_is_refused_with_both_numbers(directory: Path) -> None:
    before = content(directory)
    (directory / "events.jsonl").write_bytes(rows(100, bad=3))
    with pytest.raises(
        CannotResume,
        match="has 103 records, 100 of them learned, and the present one has 150 records, 150 of them",
    ):
        engine_in(directory).run(rebuild=True)
    assert content(directory) == before


def test_the_snapshots_before_a_rebuild_are_kept_beside_the_new_ones(directory: Path) -> None:
    before = {path.name: path.read_bytes() for path in (directory / "state").glob("snapshot-*")}
    engine_in(directory).run(rebuild=True)
    (kept,) = directory.glob("state.before-rebuild-*")
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before
    found = SnapshotStore(kept).latest()
    assert found is not None and found.snapshot.clock == 150


def test_a_rebuild_that_fails_or_is_stopped_leaves_everything_as_it_was(directory: Path) -> None:
    before, sound = content(directory), (directory / "events.jsonl").read_bytes()
    (directory / "events.jsonl").write_bytes(rows(100, bad=90) + rows(100))
    with pytest.raises(TooManyDeadLetters):
        engine_in(directory).run(rebuild=True)
    assert content(directory) == before
    (directory / "events.jsonl").write_bytes(sound)
    engine = engine_in(directory)
    engine.watch(lambda progress: engine.stop())
    engine.run(rebuild=True)
    assert content(directory) == before
    other = JSONLinesSink(directory / "answers.jsonl")
    other.open(len(before["answers.jsonl"]))
    with pytest.raises(SinkError, match="is being written by another process"):
        engine_in(directory).run(rebuild=True)
    other.close()
    assert content(directory) == before
    resumed = engine_in(directory)
    resumed.run()
    assert resumed.step.processed == 150
    assert not [path.name for path in directory.iterdir() if ".rebuil" in path.name]


def test_a_rebuild_of_a_file_that_grows_takes_over_at_the_end_that_it_had(directory: Path) -> None:
    engine = engine_in(directory, follow=True)

    def look(progress: Any) -> None:
        if progress.processed == 150:
            with (directory / "events.jsonl").open("ab") as file:
                file.write(rows(30))
        if progress.processed == 180:
            engine.stop()

    engine.watch(look)
    engine.run(rebuild=True)
    assert len(content(directory)["answers.jsonl"].splitlines()) == 180


def was_killed(run: Callable[[], object], operation: int) -> bool:
    """Run in a process that is killed in place of an operation on files. Return False if there were fewer."""
    child = os.fork()
    if child == 0:
        left = operation

        def dying(inner: Any) -> Any:
            def call(*arguments: Any, **named: Any) -> Any:
                nonlocal left
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return inner(*arguments, **named)

            return call

        for name in ("write", "sync", "rename", "sync_directory", "unlink"):
            setattr(FileSystem, name, dying(getattr(FileSystem, name)))
        try:
            run()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL)
    return code != 0


def test_killed_at_any_operation_a_rebuild_leaves_the_old_state_or_the_new(directory: Path) -> None:
    old = content(directory)["answers.jsonl"]
    new = b"".join(line + b"\n" for line in old.splitlines()[:100])
    found, operation, is_killed = set(), 0, True
    while is_killed:
        if content(directory)["answers.jsonl"] != old:
            engine_in(directory).run(rebuild=True)
        (directory / "events.jsonl").write_bytes(rows(100))
        is_killed = was_killed(lambda: engine_in(directory, accept_gap=True).run(rebuild=True), operation)
        operation += 3
        (directory / "events.jsonl").write_bytes(rows(150))  # whose first 100 are the same
        engine = engine_in(directory)
        engine.run(0)
        answers = content(directory)["answers.jsonl"]
        assert answers in (old, new) and engine.step.processed == len(answers.splitlines())
        assert not [path.name for path in directory.iterdir() if ".rebuil" in path.name]
        found.add(answers)
    assert found == {old, new} and operation > 10


WHOLE = Account(records=20, learned=9, samples=11, labels=10)


@pytest.mark.parametrize(
    ("lacking", "is_refused"),
    [
        ({}, False),
        ({"learned": 8}, True),
        ({"samples": 10}, True),  # one that waited for its label
        ({"labels": 9}, True),  # one that waited for its sample
        ({"records": 12}, False),  # dead letters that were redriven, and compacted away
    ],
)
def test_a_rebuild_may_lack_records_but_no_sample_and_no_label(
    lacking: dict[str, int], is_refused: bool
) -> None:
    with (
        pytest.raises(CannotResume, match="and 2 samples and 1 labels that are not: records")
        if (is_refused)
        else nullcontext()
    ):
        check_not_smaller(WHOLE._replace(**lacking), WHOLE, 0)


def test_what_was_processed_since_a_snapshot_is_counted_by_its_records() -> None:
    later = Account(records=25, learned=12, samples=12, labels=12)
    check_not_smaller(later, WHOLE, 5)
    with pytest.raises(
        CannotResume, match="has 24 records, 12 of them learned, and the present one has 25 rec"
    ):
        check_not_smaller(later._replace(records=24), WHOLE, 5)
