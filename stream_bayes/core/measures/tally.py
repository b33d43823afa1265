"""Tallies: scored predictions as sums, from which all measures are computed.

`Tally` sums over all events, `FadingTally` halves an event's weight after `half_life` further events. Sums are added in
the order of events, so they are the same to the last bit, however the events are batched.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.measures._tally import add_events
from stream_bayes.core.measures.calibration import Calibration
from stream_bayes.core.measures.ranking import ScoreHistogram, cells_of

__all__ = ["COLUMNS", "SUMS", "FadingTally", "Scored", "Tally"]

Array = NDArray[Any]

# Sums of weights and of their squares; and sums of weights times: prediction, majority label and previous label correct
# (0 or 1), log-loss, its square, Brier score, an answer that is no label (0 or 1).
SUMS = tuple(
    "weight weight_squared right majority no_change log_loss log_loss_squared brier undecided".split()
)


# The columns of scored events, besides their scores.
COLUMNS = tuple("label predicted weight right majority no_change chance confidence brier".split())


@dataclass(frozen=True, eq=False)
class Scored:
    """Events with their predictions, as columns."""

    label: Array  # this and the next are codes; labels past the limit share one
    predicted: Array  # may be `NO_LABEL` or `UNDECIDED`
    weight: Array
    right: Array  # True for each correct prediction: of the label itself, also where several share a code
    majority: Array  # True if the label equals the most frequent label so far
    no_change: Array  # True if it equals the previous label
    chance: Array  # the probability of the true label
    confidence: Array  # the probability of the predicted label; 0 without a prediction
    brier: Array  # the squared distance between the probabilities and the truth, summed over all labels
    scores: Array  # the probabilities: a row for each code, a column for each event
    least_probability: float  # the lower limit of `chance` in the log-loss

    def __len__(self) -> int:
        return len(self.label)

    def part(self, start: int, stop: int) -> Scored:
        """Return some of the events."""
        columns = {name: getattr(self, name)[start:stop] for name in COLUMNS}
        scores = np.ascontiguousarray(self.scores[:, start:stop])
        return Scored(**columns, scores=scores, least_probability=self.least_probability)

    @cached_property
    def log_loss(self) -> Array:
        """-log P(true label) of each event."""
        return -np.log(np.maximum(self.chance, self.least_probability))

    @cached_property
    def cells(self) -> Array:
        """The cells of a `ScoreHistogram` that each score belongs to."""
        return cells_of(self.scores, self.label)


class Tally:
    """Sums over weighted events.

    Memory: 19 kB a label.
    """

    def __init__(self) -> None:
        self.sums = np.zeros(len(SUMS))
        self.by_label = np.zeros(
            (3, 0)
        )  # weight of the label, of its predictions, of its correct predictions
        self.calibration = Calibration()
        self.ranking = ScoreHistogram()

    def grow(self, labels: int) -> None:
        """Make room for new labels, whose probability was 0 so far."""
        new = labels - self.by_label.shape[1]
        self.by_label = np.pad(self.by_label, ((0, 0), (0, new)))
        self.ranking.grow(labels, self.sums[0])

    def add(self, scored: Scored, weight: Array) -> None:
        """Add events with these weights."""
        self.add_sums(scored, weight)
        self.ranking.add(scored.cells, weight)

    def add_sums(self, scored: Scored, weight: Array) -> None:
        """Add events to everything but the ranking, for callers that keep the scores themselves."""
        add_events(
            self.sums,
            self.by_label,
            scored.label,
            scored.predicted,
            scored.right.view(np.uint8),
            scored.majority.view(np.uint8),
            scored.no_change.view(np.uint8),
            scored.log_loss,
            scored.brier,
            weight,
        )
        self.calibration.add(scored.confidence, scored.right, weight)

    def scale(self, factor: float) -> None:
        """Multiply all weights by a factor."""
        self.sums *= factor
        self.sums[SUMS.index("weight_squared")] *= factor
        for array in (self.by_label, self.calibration.bins, self.ranking.weight):
            array *= factor

    def copy(self) -> Tally:
        """Return a copy of the sums."""
        twin = Tally()
        twin.sums, twin.by_label = self.sums.copy(), self.by_label.copy()
        twin.calibration.bins, twin.ranking.weight = self.calibration.bins.copy(), self.ranking.weight.copy()
        return twin


MOST_EVENTS = 1024
MOST_HALF_LIVES = 64  # between two scalings, so that squared weights do not overflow


class FadingTally:
    """Sums over all events, each weighted by 2^(-age / half_life) with its age in events.

    The sums are not touched as they fade. Instead each event weighs a little more than the one before, and measures are
    relative to the weight of the newest. After each cycle, a fixed number of events, everything is scaled back.
    `half_life` is at least 1.
    """

    def __init__(self, half_life: float) -> None:
        self.half_life = half_life
        self.tally = Tally()
        self.cycle = int(min(MOST_EVENTS, MOST_HALF_LIVES * half_life))
        self.position = 0  # in the cycle, of the next event
        self._units = np.array([2.0 ** (position / half_life) for position in range(self.cycle)])

    @property
    def unit(self) -> float:
        """The factor on the newest event's weight."""
        return float(2.0 ** ((self.position - 1) / self.half_life))

    def add(self, scored: Scored) -> None:
        """Add events."""
        done = 0
        while done < len(scored):
            stop = min(len(scored), done + self.cycle - self.position)
            some = scored if stop - done == len(scored) else scored.part(done, stop)
            self.tally.add(some, some.weight * self._units[self.position : self.position + len(some)])
            self.position += len(some)
            if self.position == self.cycle:
                self.tally.scale(2.0 ** (-self.cycle / self.half_life))
                self.position = 0
            done = stop
