"""A path, and the same with some work more: for the test of the guard."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.guard.paths import GuardedPath, Pieces, nominal
from stream_bayes import NaiveBayes

__all__ = ["PATHS"]


def learns(again: int, events: int) -> Pieces:
    """Yield pieces that learn some samples a second time."""
    rng = np.random.default_rng(1)
    model = NaiveBayes()

    def piece(samples: list[tuple[dict[str, Any], str]]) -> None:
        for x, y in samples:
            model.learn_one(x, y)

    while True:
        samples = nominal(events, rng)
        yield partial(piece, samples + nominal(again, rng))


def fails(events: int) -> Pieces:
    """Yield a piece that fails."""

    def piece() -> None:
        raise ValueError(f"cannot process {events} events")

    while True:
        yield piece


PATHS = [
    GuardedPath("as it was", 500, partial(learns, 0)),
    GuardedPath("the same", 500, partial(learns, 0)),
    GuardedPath("2 % slower", 500, partial(learns, 10)),
    GuardedPath("5 % slower", 500, partial(learns, 25)),
    GuardedPath("broken", 500, fails),
]
