"""A snapshot of 100 MB of tables: how long the stream waits for it, and how long loading it takes.

The pause is `content()`, the copy that the stream waits for; what becomes of it (names, checksums, the file) is written
while the stream goes on. Loading is everything from the bytes of the file to a learner that goes on learning.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np

import stream_bayes
from benchmarks.harness import Case, Contest, Learner, Side
from benchmarks.speed.text import words
from stream_bayes.saving.snapshots.snapshot import Snapshot

__all__ = ["cases"]

FEATURES = 800  # of 2 values: 1.3 million pairs
PAIR_CLASSES = 10
TOKENS = 1_100_000
WORDS = 1000  # a message
TEXT_CLASSES = 10

PAUSE, LOAD = 60.0, 500.0  # ms


@cache
def pairs() -> Learner:
    """AODE with a table of all pairs of values."""
    rng = np.random.default_rng(31)
    names = [f"feature {number}" for number in range(FEATURES)]
    model = stream_bayes.AODE()
    for number, row in enumerate(rng.integers(0, 2, (200, FEATURES)).astype(str).tolist()):
        model.learn_one(dict(zip(names, row, strict=True)), number % PAIR_CLASSES)
    return model


@cache
def texts() -> Learner:
    """Words without end."""
    tokens = words(TOKENS, np.random.default_rng(32)).tolist()
    model = stream_bayes.MultinomialNB()
    for number, start in enumerate(range(0, TOKENS, WORDS)):
        model.learn_one(dict.fromkeys(tokens[start : start + WORDS], 1), number % TEXT_CLASSES)
    return model


def file_of(model: Learner) -> bytes:
    """Return the snapshot's file."""
    return Snapshot(learner=type(model).__name__, sections={"learner": model.state()}).to_bytes()


def pause(model: Learner) -> Callable[[Any], float]:
    """Return a pass that copies the state that the stream must not change any more."""

    def run(_: Any) -> float:
        start = perf_counter()
        model.content()
        return perf_counter() - start

    return run


def load(model: Learner) -> Callable[[Any], float]:
    """Return a pass that reads a file and makes a learner of it."""
    file = file_of(model)

    def run(_: Any) -> float:
        start = perf_counter()
        type(model).from_state(Snapshot.from_bytes(file).sections["learner"])
        return perf_counter() - start

    return run


def contest(run: Callable[[Learner], Callable[[Any], float]], make: Callable[[], Learner]) -> Contest:
    """Ours alone: nobody else has tables to compare with."""
    return Contest([None], Side(1, run(make()), list))


def cases() -> list[Case]:
    """Return the report's lines."""
    models = {
        f"AODE, {FEATURES} features, {PAIR_CLASSES} classes (102 MB)": pairs,
        f"MultinomialNB, {TOKENS / 1e6:g} million tokens, {TEXT_CLASSES} classes (98 MB)": texts,
    }
    return [
        Case(f"{what}, {named}", partial(contest, run, make), limit=limit, unit="ms")
        for named, make in models.items()
        for what, run, limit in (("snapshot: pause", pause, PAUSE), ("snapshot: load", load, LOAD))
    ]
