"""Unlearning a span by time: 100,000 of 300,000 events of a file, over learning as many.

A command is timed from its start to its end: reading the rows of the span again, unlearning them, and the snapshot.
So is the run that learns them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from benchmarks.harness import Case, Contest, Side
from benchmarks.speed.naive_bayes import CLASS_NAMES, FEATURES, VALUES, nominal_codes
from stream_bayes.core.events.unlearn_spans import Span
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.files.label_log import LabelWriter
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import build
from stream_bayes.streams.records.commands import COMMANDS, encode_unlearn

__all__ = ["cases"]

EVENTS = 100_000  # of the span; as many come before and after it
MOST_TIMES = 2.0  # the time that learning them takes


@cache
def directory() -> TemporaryDirectory[str]:
    """Return a folder that is kept while the process lasts."""
    return TemporaryDirectory(prefix="stream-bayes-unlearning-")


@cache
def lines() -> list[str]:
    """Return the events as JSON lines, one a second."""
    codes, labels = nominal_codes(3 * EVENTS, 2, seed=43)
    return [
        json.dumps(
            {"at": second, "class": CLASS_NAMES[label]}
            | {name: VALUES[code] for name, code in zip(FEATURES, row, strict=True)}
        )
        + "\n"
        for second, (row, label) in enumerate(zip(codes.tolist(), labels.tolist(), strict=True))
    ]


def engine_in(place: Path) -> Engine:
    """Return the engine of a pipeline in a directory."""
    config = {
        "name": "events",
        "source": {"kind": "jsonl", "path": "events.jsonl", "target": "class", "time": "at"},
        "model": {"kind": "nb"},
        "snapshots": {"directory": "state"},
    }
    return build(checked(config), place)


@cache
def learned() -> Path:
    """Return the directory of a pipeline that has learned all events."""
    place = Path(directory().name, "all")
    place.mkdir()
    (place / "events.jsonl").write_text("".join(lines()), "utf-8")
    engine_in(place).run()
    return place


def learn(_: Sequence[Any]) -> float:
    """Return the seconds in which a pipeline learns the events of the span."""
    with TemporaryDirectory(dir=directory().name) as name:
        Path(name, "events.jsonl").write_text("".join(lines()[EVENTS : 2 * EVENTS]), "utf-8")
        engine = engine_in(Path(name))
        start = perf_counter()
        engine.run()
        taken = perf_counter() - start
        assert engine.step.learned == EVENTS
    return taken


def unlearn(_: Sequence[Any]) -> float:
    """Return the seconds in which the span is unlearned; then it is learned again, for the next pass."""
    place = learned()
    state = {path: path.read_bytes() for path in (place / "state").iterdir()}
    writer = LabelWriter(place / "state", name=COMMANDS)
    writer.write(encode_unlearn(Span(float(EVENTS), 2.0 * EVENTS)))
    writer.close()
    engine = engine_in(place)
    start = perf_counter()
    engine.run(1)
    taken = perf_counter() - start
    assert engine.step.unlearned == EVENTS
    for path in (place / "state").iterdir():
        path.unlink()
    for path, content in state.items():
        path.write_bytes(content)
    return taken


def cases() -> list[Case]:
    """Return the report's lines."""
    return [
        Case(
            "engine: unlearning 100,000 of 300,000 events by time, NaiveBayes",
            lambda: Contest(
                [None], Side(EVENTS, unlearn, list, chunk=EVENTS), Side(EVENTS, learn, list, chunk=EVENTS)
            ),
            "learning them",
            1 / MOST_TIMES,
        )
    ]
