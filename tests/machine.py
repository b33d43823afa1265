"""The machine that tests run on: bounds on processor time are those of an ordinary one, and a slow one gets more."""

from __future__ import annotations

import time

__all__ = ["slowness"]

ORDINARY_SECONDS = 0.07  # for the loop below, on a core of 3 GHz that shares its caches with nobody


def slowness() -> float:
    """Return how many times as slow as an ordinary machine this one is now; at least 1."""
    return max(1.0, min(_loop_seconds() for _ in range(3)) / ORDINARY_SECONDS)


def _loop_seconds() -> float:
    start, total = time.process_time(), 0
    for number in range(1_000_000):
        total += number * number % 7
    return time.process_time() - start
