"""Schedule of deriving: the time depends on the number of events alone, the result on the counts alone."""

from __future__ import annotations

import numpy as np

from stream_bayes.core.counts._tables import Tables

__all__ = ["NEVER", "decay_of", "next_check"]

NEVER = 2**63 - 1  # a clock that is not reached
FIRST = 10  # events before anything is derived
GROWTH = 10  # derive again after a tenth more events


def next_check(tables: Tables, every: int | None) -> int:
    """Return the clock at which to derive again: after `every` events, or after a tenth more events."""
    clock = int(tables.clock)
    if every is not None:
        return clock + every
    events = clock
    if tables.timed and tables.unit > 0.0:  # of events long gone, what is held has little left
        events = min(clock, int(min(2.0**62, float(np.asarray(tables.class_weight).sum()) / tables.unit)))
    grown = max(FIRST, events // GROWTH)
    if tables.timed:
        return clock + grown
    # After a half-life, half of what fades is new.
    return clock + (min(grown, max(FIRST, int(tables.half_life))) if tables.half_life else grown)


def decay_of(half_life: float | None) -> float:
    """Return the share of a loss that is left after an event."""
    return 1.0 if half_life is None else 2.0 ** (-1.0 / half_life)
