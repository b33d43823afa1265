"""Predictions that were scored, as sums: all that the measures need to know of them.

Every sum is taken one event after the other, so it does not matter in which portions the events are added: the sums
are the same to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core._tallying import add_events
from stream_bayes.core.calibration import Calibration
from stream_bayes.core.label_codes import NO_LABEL
from stream_bayes.core.ranking import ScoreHistogram, cells_of

__all__ = ["SUMS", "Scored", "Tally"]

Array = NDArray[Any]

# Of weights, their squares, and weights times: whether the prediction, the majority and the label before were right;
# the loss; its square; the Brier score.
SUMS = tuple("weight weight_squared right majority no_change log_loss log_loss_squared brier".split())


@dataclass(frozen=True, eq=False)
class Scored:
    """Events and what was predicted of them, a column each.

    Parameters
    ----------
    label, predicted
        Codes; `predicted` may be `NO_LABEL`.
    weight
        The events' weights.
    majority, no_change
        Whether the label was the one most frequent so far, and the one before.
    scores
        The probability of each label: a row a label, a column an event.
    least_probability
        What the true label's probability is at least in the logarithm.
    """

    label: Array
    predicted: Array
    weight: Array
    majority: Array
    no_change: Array
    scores: Array
    least_probability: float

    def __len__(self) -> int:
        return len(self.label)

    def part(self, start: int, stop: int) -> Scored:
        """Some of the events."""
        return Scored(
            self.label[start:stop],
            self.predicted[start:stop],
            self.weight[start:stop],
            self.majority[start:stop],
            self.no_change[start:stop],
            np.ascontiguousarray(self.scores[:, start:stop]),
            self.least_probability,
        )

    @cached_property
    def right(self) -> Array:
        """Whether each prediction was right."""
        result: Array = self.label == self.predicted
        return result

    @cached_property
    def log_loss(self) -> Array:
        """-log P(true label) of each event."""
        true = self.scores[self.label, np.arange(len(self))]
        result: Array = -np.log(np.maximum(true, self.least_probability))
        return result

    @cached_property
    def brier(self) -> Array:
        """The squared distance between each event's probabilities and the truth, summed over the labels."""
        total = np.zeros(len(self))
        for code, row in enumerate(self.scores):
            distance = row - (self.label == code)
            total += distance * distance
        return total

    @cached_property
    def confidence(self) -> Array:
        """The probability of what was predicted; 0 of nothing."""
        found = self.scores[self.predicted, np.arange(len(self))]
        result: Array = np.where(self.predicted == NO_LABEL, 0.0, found)
        return result

    @cached_property
    def cells(self) -> Array:
        """The cells of a `ScoreHistogram` that each score belongs to."""
        return cells_of(self.scores, self.label)


class Tally:
    """The sums over some events, each taken with a weight.

    Memory: 19 kB a label.
    """

    def __init__(self) -> None:
        self.sums = np.zeros(len(SUMS))
        self.by_label = np.zeros((3, 0))  # weight of the label, of predictions of it, of right ones
        self.calibration = Calibration()
        self.ranking = ScoreHistogram()

    def grow(self, labels: int) -> None:
        """Make room for labels that are new: until now their probability was 0."""
        new = labels - self.by_label.shape[1]
        self.by_label = np.pad(self.by_label, ((0, 0), (0, new)))
        self.ranking.grow(labels, self.sums[0])

    def add(self, scored: Scored, weight: Array) -> None:
        """Add events with these weights."""
        self.add_sums(scored, weight)
        self.ranking.add(scored.cells, weight)

    def add_sums(self, scored: Scored, weight: Array) -> None:
        """Add events to all but the ranking, for those who keep the scores themselves."""
        add_events(
            self.sums,
            self.by_label,
            scored.label,
            scored.predicted,
            scored.majority.view(np.uint8),
            scored.no_change.view(np.uint8),
            scored.log_loss,
            scored.brier,
            weight,
        )
        self.calibration.add(scored.confidence, scored.right, weight)

    def scale(self, factor: float) -> None:
        """Let everything weigh so much more or less."""
        self.sums *= factor
        self.sums[SUMS.index("weight_squared")] *= factor
        for array in (self.by_label, self.calibration.bins, self.ranking.weight):
            array *= factor

    def copy(self) -> Tally:
        """Another one with the same sums."""
        twin = Tally()
        twin.sums, twin.by_label = self.sums.copy(), self.by_label.copy()
        twin.calibration.bins, twin.ranking.weight = self.calibration.bins.copy(), self.ranking.weight.copy()
        return twin
