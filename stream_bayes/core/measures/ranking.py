"""ROC AUC: the probability that a sample of a label scores higher for it than a sample of another label.

AUC = P(score of a positive > score of a negative) + P(they are equal) / 2, which is the area under the ROC curve
(Hanley and McNeil, 1982). Each label in turn is the positive one against the rest, its probability the score.

Over a whole stream the scores are counted in bins, and two scores in one bin count as equal. The error is at most half
the share of such pairs, which is known and stated with the area. For each halving of the probability there are 32 bins
from 1/2 to 1/8192, then 4 to 2^-65, and symmetrically towards 1. The bin follows from the bits of the number, so every
machine computes the same one.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.measures._tally import add_cells

__all__ = ["BINS", "AnyRanking", "Areas", "ExactRanking", "ScoreHistogram", "bins_of", "cells_of"]

Array = NDArray[Any]
# For each label: the area, NaN without positives or without negatives; and its error.
Areas = tuple[Array, Array]

_HALF = int(np.array(0.5).view(np.int64))
# Shifts of a float64's bits that leave the exponent and 5 or 2 bits of the fraction.
_FINE, _COARSE = 52 - 5, 52 - 2
_FINE_HALVINGS, _COARSE_HALVINGS = 12, 52
_FINE_BINS = _FINE_HALVINGS << 5
_SIDE = _FINE_BINS + (_COARSE_HALVINGS << 2)  # bins on either side of the one that begins at 1/2
BINS = 2 * _SIDE + 1


def bins_of(scores: Array) -> Array:
    """Return the bin of each score between 0 and 1; bins ascend with the scores.

    Examples
    --------
    >>> import numpy as np
    >>> bins_of(np.array([0.0, 1e-9, 0.3, 0.31, 0.5, 0.9, 1.0])).tolist()
    [0, 140, 566, 567, 592, 669, 1184]
    """
    below = np.minimum(scores, 1.0 - scores)  # 1 - score is exact from 1/2 on
    bits = below.view(np.int64)
    fine = (_HALF >> _FINE) - (bits >> _FINE)
    coarse = (_HALF >> _COARSE) - (bits >> _COARSE) + _FINE_BINS - (_FINE_HALVINGS << 2)
    depth = np.minimum(np.where(fine <= _FINE_BINS, fine, coarse), _SIDE)
    return np.where(scores > 0.5, _SIDE + depth, _SIDE - depth)


class AnyRanking(Protocol):
    """An estimator of the area under each label's ROC curve."""

    def areas(self) -> Areas:
        """Return the area under each label's curve, and its largest error."""
        ...


def cells_of(scores: Array, labels: Array) -> Array:
    """Return the cells of a `ScoreHistogram` for a table of scores: a row for each label, a column for each sample.
    `labels` has the code of each sample's label.
    """
    codes = np.arange(len(scores))[:, np.newaxis]
    return (2 * codes + (labels == codes)) * BINS + bins_of(scores)


class ScoreHistogram:
    """The scores of each label's positives and negatives in bins: 19 kB a label, however long the stream.

    Examples
    --------
    >>> import numpy as np
    >>> histogram = ScoreHistogram()
    >>> histogram.grow(2, weight=0.0)
    >>> scores = np.array([[0.9, 0.4, 0.6, 0.1], [0.1, 0.6, 0.4, 0.9]])
    >>> histogram.add(cells_of(scores, np.array([0, 0, 1, 1])), np.ones(4))
    >>> [array.tolist() for array in histogram.areas()]
    [[0.75, 0.75], [0.0, 0.0]]
    """

    def __init__(self) -> None:
        self.weight = np.zeros((0, 2, BINS))  # of the other labels, and of the label itself

    def grow(self, labels: int, weight: float) -> None:
        """Make room for new labels, whose score was 0 for earlier samples of this weight."""
        before = len(self.weight)
        self.weight = np.pad(self.weight, ((0, labels - before), (0, 0), (0, 0)))
        self.weight[before:, 0, 0] = weight

    def add(self, cells: Array, weights: Array) -> None:
        """Count samples with these weights."""
        add_cells(self.weight.reshape(-1), cells, weights)

    def areas(self) -> Areas:
        return _areas(self.weight[:, 0], self.weight[:, 1])


class ExactRanking:
    """The exact areas of samples few enough to sort."""

    def __init__(self, scores: Array, labels: Array, weights: Array) -> None:
        self.scores, self.labels, self.weights = scores, labels, weights

    def areas(self) -> Areas:
        areas = [self._area(code, row) for code, row in enumerate(self.scores)]
        return np.array(areas), np.zeros(len(areas))

    def _area(self, code: int, scores: Array) -> float:
        _, rank = np.unique(scores, return_inverse=True)
        is_label = self.labels == code
        ranks = int(rank.max(initial=-1)) + 1
        rest, label = (np.bincount(rank, self.weights * chosen, ranks) for chosen in (~is_label, is_label))
        area, _ = _areas(rest[np.newaxis], label[np.newaxis])
        return float(area[0])


def _areas(rest: Array, label: Array) -> Areas:
    """Return the area of each label from its bins, and half the share of pairs that lie in one bin."""
    pairs = rest.sum(axis=1) * label.sum(axis=1)
    with np.errstate(invalid="ignore"):  # without pairs 0 / 0 is NaN, as intended
        tied = (rest * label).sum(axis=1) / 2 / pairs
        below = np.cumsum(rest, axis=1) - rest
        area = (below * label).sum(axis=1) / pairs + tied
    return area, tied
