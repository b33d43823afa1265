"""The newest scored events, in a ring buffer of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.measures.ranking import ExactRanking
from stream_bayes.core.measures.tally import Scored, Tally

__all__ = ["ScoredWindow"]

Array = NDArray[Any]


class ScoredWindow:
    """The newest `size` scored events. Measures are computed on demand.

    Memory: 8 bytes for each event and label, and 51 for each event.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.length = 0
        self._next = 0  # the position of the next event, and of the oldest once the buffer is full
        self._columns: dict[str, Array] = {
            "label": np.zeros(size, np.int64),
            "predicted": np.zeros(size, np.int64),
            "weight": np.zeros(size),
            "right": np.zeros(size, np.bool_),
            "majority": np.zeros(size, np.bool_),
            "no_change": np.zeros(size, np.bool_),
            "chance": np.zeros(size),
            "confidence": np.zeros(size),
            "brier": np.zeros(size),
        }
        self._scores = np.zeros((0, size))

    def grow(self, labels: int) -> None:
        """Make room for new labels."""
        self._scores = np.pad(self._scores, ((0, labels - len(self._scores)), (0, 0)))

    def add(self, scored: Scored) -> None:
        """Append events and evict the oldest."""
        self.append({name: getattr(scored, name) for name in self._columns}, scored.scores)

    def append(self, columns: dict[str, Array], scores: Array) -> None:
        """Append events given as columns and scores."""
        events = min(scores.shape[1], self.size)
        first = scores.shape[1] - events
        indices = (self._next + np.arange(events)) % self.size
        for name, column in self._columns.items():
            column[indices] = columns[name][first:]
        self._scores[:, indices] = scores[:, first:]
        self._next = (self._next + events) % self.size
        self.length = min(self.length + events, self.size)

    def in_order(self) -> dict[str, Array]:
        """Return the events' columns and scores, the oldest first."""
        order = (np.arange(self.length) + self._next - self.length) % self.size
        columns = {name: column[order] for name, column in self._columns.items()}
        return columns | {"scores": np.ascontiguousarray(self._scores[:, order])}

    def tally(self, least_probability: float) -> tuple[Tally, ExactRanking]:
        """Return the sums over these events, and their exact ranking."""
        scored = Scored(**self.in_order(), least_probability=least_probability)
        tally = Tally()
        tally.grow(len(scored.scores))
        tally.add_sums(scored, scored.weight)
        return tally, ExactRanking(scored.scores, scored.label, scored.weight)
