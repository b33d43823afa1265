"""A tally that forgets: an event weighs half as much after `half_life` events.

The sums are not touched to let them fade. Instead each event weighs a little more than the one before, and all is read
relative to what the newest weighs. Every so many events, always the same number, everything is scaled back.

The last events that were scored, as columns that are written round and round.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.measures.ranking import ExactRanking
from stream_bayes.core.measures.tally import Scored, Tally

__all__ = ["FadingTally", "ScoredWindow"]

MOST_EVENTS = 1024
MOST_HALF_LIVES = 64  # between two scalings, so that no square of a weight overflows


class FadingTally:
    """The sums over all events, each weighted by 2^(-age / half_life), its age counted in events.

    Parameters
    ----------
    half_life
        After how many events an event weighs half; at least 1.
    """

    def __init__(self, half_life: float) -> None:
        self.half_life = half_life
        self.tally = Tally()
        self.cycle = int(min(MOST_EVENTS, MOST_HALF_LIVES * half_life))
        self.place = 0  # in the cycle, of the next event
        self._units = np.array([2.0 ** (place / half_life) for place in range(self.cycle)])

    @property
    def unit(self) -> float:
        """What the newest event's weight is multiplied by."""
        return float(2.0 ** ((self.place - 1) / self.half_life))

    def add(self, scored: Scored) -> None:
        """Add events."""
        done = 0
        while done < len(scored):
            stop = min(len(scored), done + self.cycle - self.place)
            part = scored if stop - done == len(scored) else scored.part(done, stop)
            self.tally.add(part, part.weight * self._units[self.place : self.place + len(part)])
            self.place += len(part)
            if self.place == self.cycle:
                self.tally.scale(2.0 ** (-self.cycle / self.half_life))
                self.place = 0
            done = stop


Array = NDArray[Any]


class ScoredWindow:
    """The last `size` events that were scored. Nothing is worked out before it is asked for.

    Memory: 8 bytes for each event and label, and 26 for each event.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.held = 0
        self._next = 0  # where the next event goes; the oldest is there once all places are taken
        self._columns: dict[str, Array] = {
            "label": np.zeros(size, np.int64),
            "predicted": np.zeros(size, np.int64),
            "weight": np.zeros(size),
            "majority": np.zeros(size, np.bool_),
            "no_change": np.zeros(size, np.bool_),
        }
        self._scores = np.zeros((0, size))

    def grow(self, labels: int) -> None:
        """Make room for labels that are new."""
        self._scores = np.pad(self._scores, ((0, labels - len(self._scores)), (0, 0)))

    def add(self, scored: Scored) -> None:
        """Append events; the oldest make room."""
        self.append({name: getattr(scored, name) for name in self._columns}, scored.scores)

    def append(self, columns: dict[str, Array], scores: Array) -> None:
        """Append events, given as their columns and their scores."""
        events = min(scores.shape[1], self.size)
        first = scores.shape[1] - events
        places = (self._next + np.arange(events)) % self.size
        for name, column in self._columns.items():
            column[places] = columns[name][first:]
        self._scores[:, places] = scores[:, first:]
        self._next = (self._next + events) % self.size
        self.held = min(self.held + events, self.size)

    def in_order(self) -> dict[str, Array]:
        """Return the events' columns, the oldest first, and their scores."""
        order = (np.arange(self.held) + self._next - self.held) % self.size
        columns = {name: column[order] for name, column in self._columns.items()}
        return columns | {"scores": np.ascontiguousarray(self._scores[:, order])}

    def tally(self, least_probability: float) -> tuple[Tally, ExactRanking]:
        """Return the sums over these events, and their scores."""
        scored = Scored(**self.in_order(), least_probability=least_probability)
        tally = Tally()
        tally.grow(len(scored.scores))
        tally.add_sums(scored, scored.weight)
        return tally, ExactRanking(scored.scores, scored.label, scored.weight)
