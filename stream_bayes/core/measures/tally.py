"""Whether what is said with 80 % confidence is right in 80 % of cases.

The expected calibration error (Naeini, Cooper and Hauskrecht, 2015): predictions are put into bins by their
confidence, the probability of the label that was predicted, and

    ECE = sum over bins b of  W_b / W * |share right in b - mean confidence in b|

Predictions that were scored, as sums: all that the measures need to know of them.

Every sum is taken one event after the other, so it does not matter in which portions the events are added: the sums
are the same to the last bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.measures._tally import add_confidences, add_events
from stream_bayes.core.measures.label_codes import NO_LABEL
from stream_bayes.core.measures.ranking import ScoreHistogram, cells_of

__all__ = ["BINS", "SUMS", "Calibration", "Reliability", "Scored", "Tally"]

BINS = 10


class Reliability(NamedTuple):
    """One bin of a reliability diagram.

    Parameters
    ----------
    weight
        The weight of its predictions, as a share of all.
    confidence
        Their mean confidence.
    accuracy
        The share of them that was right.
    """

    weight: float
    confidence: float
    accuracy: float


class Calibration:
    """Ten bins of confidence, each a tenth wide; the last one holds 1, too. What predicts nothing has confidence 0.

    Examples
    --------
    Four predictions at 80 %, three of them right.

    >>> import numpy as np
    >>> calibration = Calibration()
    >>> calibration.add(np.full(4, 0.8), np.array([True, True, True, False]), np.ones(4))
    >>> round(calibration.error(), 4)
    0.05
    """

    def __init__(self) -> None:
        self.bins = np.zeros((3, BINS))  # weight, weight times confidence, weight of what was right

    def add(self, confidence: NDArray[Any], right: NDArray[Any], weights: NDArray[Any]) -> None:
        """Count predictions, one after the other."""
        add_confidences(self.bins, confidence, right.view(np.uint8), weights)

    def error(self) -> float:
        """Return the expected calibration error; NaN without predictions."""
        weight, confidence, right = self.bins
        total = weight.sum()
        return float(np.abs(right - confidence).sum() / total) if total else math.nan

    def diagram(self) -> list[Reliability]:
        """Return the bins that hold predictions, for a picture."""
        total = float(self.bins[0].sum())
        return [Reliability(w / total, c / w, r / w) for w, c, r in self.bins.T.tolist() if w > 0]


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
        """Return some of the events."""
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
