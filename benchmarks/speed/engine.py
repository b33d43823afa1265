"""The stream engine: from a file to a file, over the bare loop, and over ten million events.

    python -m benchmarks.speed.engine EVENTS [SETTLED]    how the memory of a process grows over so many events, as JSON

A run is timed from its start to its end, so the snapshots at both ends and what is written count too.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from river import compose, evaluate, metrics, naive_bayes, preprocessing, stream

import stream_bayes
from benchmarks.harness import Case, Contest, Side
from benchmarks.speed.naive_bayes import CLASS_NAMES, FEATURES, VALUES, decoded, nominal_codes, nominal_lines
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.contracts.sink import Sink
from stream_bayes.streams.contracts.source import Source
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.engine.progress import Progress
from stream_bayes.streams.engine.saving import Schedule
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.files.json_sink import JSONLinesSink
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.served_models.served import served
from stream_bayes.streams.sources.iterable import IterableSource

__all__ = ["cases", "growth", "peaks"]

ROWS = 200_000
PEER_ROWS = 2_000
IN_MEMORY = 100_000
SNAPSHOT_EVERY = 50_000  # events
LONG = 10_000_000
SETTLED = 1_000_000  # after so many events memory may grow no more

PER_SECOND = 150_000
OVER_RIVER, OVER_THE_LOOP, MOST_GROWTH = 30.0, 1.3, 1.0  # times, times, per cent
TARGET = "class"


@cache
def directory() -> TemporaryDirectory[str]:
    """Return a folder that is kept while the process lasts."""
    return TemporaryDirectory(prefix="stream-bayes-engine-")


@cache
def table(rows: int) -> Path:
    """Return a CSV file of 20 nominal columns and a label."""
    path = Path(directory().name, f"{rows}.csv")
    codes, labels = nominal_codes(rows, 2, seed=41)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*FEATURES, TARGET])
        for row, label in zip(codes.tolist(), labels.tolist(), strict=True):
            writer.writerow([*(VALUES[code] for code in row), CLASS_NAMES[label]])
    return path


def fresh(events: int, spent: list[float]) -> Iterator[Any]:
    """Events decoded a batch at a time, each object new; the seconds it takes are added to `spent`."""
    lines = cycle(nominal_lines(5_000, 2, seed=42))
    for left in range(events, 0, -1000):
        start = perf_counter()
        batch = decoded(list(islice(lines, min(left, 1000))))
        spent.append(perf_counter() - start)
        yield from batch


def seconds_of(source: Source, predictions: Callable[[Path], Sink | None]) -> float:
    """Return the run time of an engine over a source, with snapshots, in a directory of its own."""
    with TemporaryDirectory(dir=directory().name) as name:
        engine = Engine(
            Step(served(stream_bayes.NaiveBayes())),
            source,
            predictions=predictions(Path(name, "answers.jsonl")),
            store=SnapshotStore(Path(name, "state")),
            schedule=Schedule(every_events=SNAPSHOT_EVERY),
        )
        start = perf_counter()
        engine.run()
        return perf_counter() - start


def no_sink(_: Path) -> None:
    """Write nothing, as the bare loop does."""


def from_file(_: Sequence[Any]) -> float:
    """Return a pass of ours over the file."""
    return seconds_of(CSVSource(table(ROWS), Fields(target=TARGET)), JSONLinesSink)


def river_from_file(_: Sequence[Any]) -> float:
    """Return a pass of River's own loop over the same columns."""
    model = compose.Pipeline(preprocessing.OneHotEncoder(), naive_bayes.MultinomialNB())
    rows = stream.iter_csv(str(table(PEER_ROWS)), target=TARGET)
    start = perf_counter()
    evaluate.progressive_val_score(rows, model, metrics.Accuracy())
    return perf_counter() - start


def from_memory(predictions: Callable[[Path], Sink | None], _: Sequence[Any]) -> float:
    """Return a pass of ours over events in memory."""
    spent: list[float] = []
    taken = seconds_of(IterableSource(partial(fresh, IN_MEMORY, spent)), predictions)
    return taken - sum(spent)


def bare_loop(_: Sequence[Any]) -> float:
    """Return a pass of the loop that people write by hand."""
    spent: list[float] = []
    step = stream_bayes.NaiveBayes().predict_learn_one
    start = perf_counter()
    for x, y in fresh(IN_MEMORY, spent):
        step(x, y)
    return perf_counter() - start - sum(spent)


def side(events: int, run: Callable[[Sequence[Any]], float]) -> Side:
    """Return a pass that makes its events itself."""
    return Side(events, run, list, chunk=events)


# -- memory -----------------------------------------------------------------------------------------------------------


def peak() -> int:
    """Return the peak memory of this process in kilobytes."""
    status = Path("/proc/self/status")
    # On Linux `resource` begins with the peak of the process that started this one.
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0])
    import resource  # where there is none either, nothing is said of memory

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def peaks(events: int, settled: int = SETTLED) -> tuple[int, int]:
    """Return the peak memory of this process after the first `settled` events and after all."""
    early: list[int] = []

    def told(progress: Progress) -> None:
        if not early and progress.processed >= settled:
            early.append(peak())

    samples = [(x, y) for x, y in decoded(nominal_lines(5_000, 2, seed=42))]
    with TemporaryDirectory() as name:
        engine = Engine(
            Step(served(stream_bayes.NaiveBayes())),
            IterableSource(partial(cycle, samples), limit=events),
            store=SnapshotStore(name),
            schedule=Schedule(every_events=settled // 4),
        )
        engine.watch(told)
        engine.run()
    return early[0], peak()


def growth(events: int, settled: int = SETTLED) -> Callable[[Sequence[Any]], float]:
    """Return the share by which the peak of a process of its own grows after the first `settled` events."""

    def run(_: Sequence[Any]) -> float:
        command = [sys.executable, "-m", __name__, str(events), str(settled)]
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return float(told["last"] / told["first"] - 1.0)

    return run


def cases() -> list[Case]:
    """Return the report's lines."""
    ours = side(ROWS, from_file)
    in_memory, bare = side(IN_MEMORY, partial(from_memory, no_sink)), side(IN_MEMORY, bare_loop)
    written = side(IN_MEMORY, partial(from_memory, JSONLinesSink))
    file = "CSV of 20 nominal to JSON lines, NaiveBayes"
    memory = "20 nominal in memory, NaiveBayes"
    loop = "predict_learn_one in a bare loop"
    return [
        Case(f"engine: {file}", lambda: Contest([None], ours), limit=1e6 / PER_SECOND),
        Case(
            f"engine: {file}, against a loop of River's",
            lambda: Contest([None], ours, side(PEER_ROWS, river_from_file)),
            "River progressive_val_score, OneHotEncoder | MultinomialNB",
            OVER_RIVER,
        ),
        Case(f"engine: {memory}", lambda: Contest([None], in_memory, bare), loop, 1 / OVER_THE_LOOP),
        Case(f"engine: {memory}, to JSON lines", lambda: Contest([None], written, bare), loop),
        Case(
            f"engine: growth of memory over {LONG // 10**6} million events, after the first",
            lambda: Contest([None], side(1, growth(LONG))),
            limit=MOST_GROWTH,
            unit="%",
            once=True,
        ),
    ]


if __name__ == "__main__":
    first, last = peaks(*map(int, sys.argv[1:]))
    print(json.dumps({"first": first, "last": last}))
