"""The labels of a span are taken back: the state is that of a pipeline that never learned them, or nothing changes."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stream_bayes import AODE, NaiveBayes
from stream_bayes.cli.app import app
from stream_bayes.cli.commands.unlearn import _unlearn_files
from stream_bayes.core.events.actions import Relearn, Unlearn
from stream_bayes.core.events.event import Event, Partition, Slice
from stream_bayes.core.events.unlearn_spans import Span
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.byte_files.byte_file import BEFORE
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.history import History
from stream_bayes.streams.files.label_log import LabelLog
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.records.commands import COMMANDS

SKIES = ("grey", "blue", "röt")
RUNNER = CliRunner()
FADING = {"kind": "nb", "arguments": {"half_life": 100}}


def plain_rows(count: int = 400) -> list[dict[str, Any]]:
    """Samples with their labels, a tenth of which the model refuses."""
    rng = random.Random(5)
    rows = []
    for number in range(count):
        sky = rng.choice(SKIES)
        row = {"at": number, "id": f"k{number}", "sky": sky, "wind": rng.randrange(3)}
        row["y"] = "wet" if rng.random() < (0.8 if sky == "grey" else 0.3) else "dry"
        rows.append(row | ({"weight": -1} if rng.random() < 0.1 else {}))
    return rows


def late_rows(count: int = 400, *, reused: bool = False) -> list[dict[str, Any]]:
    """Samples, labels some time later or before them, corrections and tombstones; a few keys are used again."""
    rng = random.Random(7)
    rows: list[tuple[float, dict[str, Any]]] = []
    for number in range(count):
        key = f"again{number % 5}" if rng.random() < 0.1 and reused else f"k{number}"
        rows.append((number, {"id": key, "sky": rng.choice(SKIES), "wind": rng.randrange(3)}))
        y, at = rng.choice(["wet", "dry"]), number + rng.uniform(-3, 30)
        if rng.random() < 0.9:
            rows.append((at, {"id": key, "type": "label", "y": y}))
        if rng.random() < 0.1:
            rows.append(
                (at + rng.uniform(0, 40), {"id": key, "type": "correction", "y": rng.choice(["wet", "dry"])})
            )
        if rng.random() < 0.05:
            rows.append((at + rng.uniform(0, 40), {"id": key, "type": "tombstone"}))
    return [{"at": round(max(at, 0.0), 3)} | row for at, row in sorted(rows, key=lambda row: row[0])]


def pipeline(directory: Path, rows: Iterable[dict[str, Any]], **more: Any) -> Path:
    directory.mkdir()
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (directory / "events.jsonl").write_text(text, "utf-8")
    fields = {"target": "y", "key": "id", "time": "at", "type": "type", "weight": "weight"}
    tables: dict[str, Any] = {
        "source": {"kind": "jsonl", "path": "events.jsonl", **fields},
        "model": {"kind": "aode"},
        "snapshots": {"directory": "state", "every_events": 100},
        "predictions": {"kind": "jsonl", "path": "answers.jsonl"},
    } | more
    lines = ['name = "days"', "max_dead_share = 1.0"]
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{key} = {toml_of(value)}" for key, value in table.items())]
    (directory / "days.toml").write_text("\n".join(lines), "utf-8")
    return directory / "days.toml"


def toml_of(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {toml_of(inner)}' for key, inner in value.items())} }}"
    return json.dumps(value)


def engine_of(file: Path) -> Engine:
    return build(checked(tomllib.loads(file.read_text("utf-8"))), file.parent)


def run(file: Path, limit: int | None = None) -> Engine:
    engine = engine_of(file)
    engine.run(limit)
    return engine


class Ledger:
    """The samples that an engine holds as learned, and the time of the label of each, by what its store reports."""

    def __init__(self, engine: Engine) -> None:
        self.held: dict[Any, list[tuple[Any, Any, float]]] = {}
        pending: Any = engine.step.pending
        self._learned, self._arrive = pending.learned, pending.arrive
        pending.learned, pending.arrive = self.learned, self.arrive

    def arrive(self, event: Event) -> list[Any]:
        self.time = event.time
        actions: list[Any] = self._arrive(event)
        for action in actions:
            if isinstance(action, Unlearn):
                self.held[event.key].pop()
        return actions

    def learned(self, action: Any, encoded: Any, clock: Any) -> None:
        entries = self.held.setdefault(action.event.key, [])
        if isinstance(action, Relearn):
            entries[-1] = (entries[-1][0], action.label, action.event.time or 0.0)
        else:
            entries.append((action.event.x, action.label, action.time))
        self._learned(action, encoded, clock)

    def counts_without(self, span: Span) -> dict[Any, float]:
        learner = AODE()
        for key, entries in self.held.items():
            for x, label, time in entries:
                if not span.holds(time, key, label):
                    learner.learn_one(x, label)
        return counts_of(learner)


def counts_of(learner: AODE) -> dict[Any, float]:
    """All counts by name, without those that are 0: a value that was unlearned keeps its code."""
    return {name: count for name, count in learner.store.by_name().items() if count}


def counts_in(directory: Path) -> dict[Any, float]:
    found = SnapshotStore(directory / "state").latest()
    assert found is not None
    return counts_of(AODE.from_state(found.snapshot.sections["model"]))


def unlearn(file: Path, start: float, stop: float, *more: str) -> dict[str, Any]:
    arguments = ["unlearn", str(file), f"--from={start}", f"--to={stop}", "--json", *more]
    result = RUNNER.invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    reply: dict[str, Any] = json.loads(result.stdout)
    return reply


@pytest.mark.parametrize(
    ("most_correctable", "more"), [(400, {}), (40, {}), (40, {"correct_within": 40.0}), (0, {})]
)
def test_late_labels_are_taken_back_whether_they_are_remembered_or_read_again(
    tmp_path: Path, most_correctable: int, more: dict[str, float]
) -> None:
    labels = {"wait_for": 25.0, "on_tombstone": "unlearn", "most_correctable": most_correctable} | more
    file = pipeline(tmp_path / "days", late_rows(), labels=labels)
    engine = engine_of(file)
    ledger = Ledger(engine)
    engine.run()
    span = Span(200.0, 300.0)
    found = unlearn(file, 200, 300)
    assert found["samples"] > 60 and (found["read_again"] == 0) == (most_correctable == 400)
    assert counts_in(file.parent) == ledger.counts_without(span)
    after = run(file).step
    assert after.learned == engine.step.learned - found["samples"]
    assert unlearn(file, 200, 300)["samples"] == 0  # each once
    assert unlearn(file, 250, 350)["samples"] > 30
    assert counts_in(file.parent) == ledger.counts_without(Span(200.0, 350.0))


def test_samples_that_bring_their_labels_are_read_again_and_refused_ones_are_left_out(tmp_path: Path) -> None:
    rows = plain_rows()
    file = pipeline(tmp_path / "days", rows)
    assert run(file).step.dead_letters.counts["refused"] > 20
    unlearn(file, 200, 300)
    unlearn(file, 0, 400, "--where=label=wet", "--where=key=k7", "--where=key=k390", "--where=key=k391")
    learner = AODE()
    for row in rows:
        chosen = row["y"] == "wet" and row["id"] in ("k7", "k390", "k391")
        if "weight" not in row and not chosen and not 200 <= row["at"] < 300:
            learner.learn_one({name: row[name] for name in ("sky", "wind")}, row["y"])
    assert counts_in(file.parent) == counts_of(learner)


def sections_in(directory: Path) -> dict[str, str]:
    found = SnapshotStore(directory / "state").latest()
    assert found is not None
    return {name: str(state) for name, state in found.snapshot.sections.items()}


@pytest.mark.parametrize("kind", ["plain", "late"])
def test_a_rebuild_processes_the_command_at_its_place(tmp_path: Path, kind: str) -> None:
    rows = plain_rows() if kind == "plain" else late_rows()
    tables = {"labels": {"wait_for": 25.0, "most_correctable": 40}} if kind == "late" else {}
    file = pipeline(tmp_path / "days", rows, **tables)
    run(file, 300)
    assert unlearn(file, 100, 200)["samples"] > 30
    run(file)
    state, answers = sections_in(file.parent), (file.parent / "answers.jsonl").read_bytes()
    engine_of(file).run(rebuild=True)
    assert sections_in(file.parent) == state
    assert (file.parent / "answers.jsonl").read_bytes() == answers


class Killed(BaseException):
    """The end of the process."""


@pytest.mark.parametrize("step", range(0, 12, 2))
def test_killed_at_any_step_of_a_command_the_next_start_ends_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    files = [pipeline(tmp_path / name, plain_rows(60)) for name in ("whole", "killed")]
    for file in files:
        run(file, 50)
    unlearn(files[0], 20, 40)
    run(files[0])
    calls = 0

    def dying(inner: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > step:
                raise Killed
            return inner(*arguments, **named)

        return call

    with monkeypatch.context() as patched:  # every write, sync and rename, from one of them on
        for name in ("write", "sync", "rename", "sync_directory"):
            patched.setattr(FileSystem, name, dying(getattr(FileSystem, name)))
        with pytest.raises(Killed):
            command(files[1], 20, 40)
    if not LabelLog.is_in(files[1].parent / "state", COMMANDS) or not lines_of(files[1]):
        unlearn(files[1], 20, 40)  # killed before the command was written: it is given again
    run(files[1])
    assert counts_in(files[1].parent) == counts_in(files[0].parent)
    assert (files[1].parent / "answers.jsonl").read_bytes() == (
        files[0].parent / "answers.jsonl"
    ).read_bytes()


def lines_of(file: Path) -> int:
    return (file.parent / "state" / f"{COMMANDS}.jsonl").read_bytes().count(b"\n")


def command(file: Path, start: float, stop: float) -> None:
    """Write a command and process it, as `stream-bayes unlearn` does."""
    _unlearn_files(checked(tomllib.loads(file.read_text("utf-8"))), file.parent, Span(start, stop))


def refusal(file: Path, start: float, stop: float) -> str:
    before = {path: path.read_bytes() for path in sorted((file.parent / "state").iterdir()) if path.is_file()}
    result = RUNNER.invoke(app, ["unlearn", str(file), f"--from={start}", f"--to={stop}"])
    after = {path: path.read_bytes() for path in sorted((file.parent / "state").iterdir()) if path.is_file()}
    assert result.exit_code == 3 and before == after
    return " ".join(result.output.split())


def test_what_cannot_be_unlearned_exactly_is_refused_before_any_change(tmp_path: Path) -> None:
    rows = late_rows(300)
    fading = pipeline(
        tmp_path / "fading",
        rows,
        model=FADING,
        labels={"wait_for": 25.0, "most_correctable": 20},
    )
    run(fading)
    assert "by the moment at which it was learned" in refusal(fading, 100, 200)
    adaptive = pipeline(tmp_path / "adaptive", plain_rows(200), model={"kind": "adaptive"})
    run(adaptive)
    assert "AdaptiveBayes cannot unlearn" in refusal(adaptive, 10, 20)
    again = pipeline(
        tmp_path / "again", late_rows(reused=True), labels={"wait_for": 25.0, "most_correctable": 0}
    )
    run(again)
    assert "have a key that was used more than once" in refusal(again, 100, 300)
    gone = pipeline(tmp_path / "gone", plain_rows(200))
    run(gone)
    lines = (gone.parent / "events.jsonl").read_bytes()
    intact = lines.rindex(b"\n", 0, len(lines) - BEFORE) + 1  # by the end a file is recognised
    (gone.parent / "events.jsonl").write_bytes(lines[:2000] + b" " * (intact - 2001) + b"\n" + lines[intact:])
    assert "expired or were compacted away" in refusal(gone, 50, 100)


def test_remembered_samples_of_a_model_that_fades_are_unlearned_as_they_were_learned(tmp_path: Path) -> None:
    rows = [row | {"id": f"k{number}"} for number, row in enumerate(late_rows(200)) if "type" not in row]
    labelled = [row | {"y": "wet" if number % 3 else "dry"} for number, row in enumerate(rows)]
    file = pipeline(tmp_path / "days", labelled, model=FADING, labels={"wait_for": 25.0})
    run(file)
    assert unlearn(file, 100, 150) == {"samples": 50, "remembered": 50, "read_again": 0, "written": True}
    engine = engine_of(file)
    engine.run(0)
    expected = NaiveBayes(half_life=100)
    for row in labelled:
        if 100 <= row["at"] < 150:
            expected.advance(1)
        else:
            expected.learn_one({name: row[name] for name in ("sky", "wind")}, row["y"])
    for sky in SKIES:
        assert engine.step.model.answer({"sky": sky}) == pytest.approx(
            expected.predict_proba_one({"sky": sky}), rel=1e-9
        )


@pytest.mark.parametrize("seed", range(20))
def test_the_rows_of_a_history_depend_on_the_records_alone_and_hold_all_of_a_span(seed: int) -> None:
    rng = random.Random(seed)
    batches = [(rng.randint(1, 40), rng.choice([0, 0, 3])) for _ in range(rng.randint(1, 12))]
    days, times = Partition("days"), [rng.uniform(0, 100) for _ in range(600)]
    histories = [History(size=4, most_rows=8), History(size=4, most_rows=8)]
    place = 0
    events: list[Event] = []
    for count, gap in batches:
        batch = [Event({}, time=times[place + n], position=place + n, partition=days) for n in range(count)]
        histories[0].add(batch, [Slice(days, place, place + count)])
        for event in batch:
            histories[1].add([event], [Slice(days, event.position, event.after)])
        events += batch
        place += count + gap
    assert histories[0].state() == histories[1].state()
    loaded = History(size=4, most_rows=8)
    loaded.load(json.loads(json.dumps(histories[0].state())))
    assert loaded.state() == histories[0].state()
    ranges = loaded.within(20.0, 60.0)
    assert all(event in ranges for event in events if 20.0 <= (event.time or 0.0) < 60.0)
    assert ranges.records == sum(event in ranges for event in events)
