"""Calibration: the expected calibration error (Naeini, Cooper and Hauskrecht, 2015), and the reliability diagram.

Predictions are put into bins by confidence, the probability of the predicted label:

    ECE = sum over bins b of  W_b / W * |accuracy in b - mean confidence in b|
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.measures._tally import add_confidences

__all__ = ["BINS", "Calibration", "Reliability"]

BINS = 10


class Reliability(NamedTuple):
    """One bin of a reliability diagram."""

    weight: float  # of its predictions, as a share of the total
    confidence: float  # the mean of its predictions
    accuracy: float  # the share of correct predictions


class Calibration:
    """Ten bins of confidence, each 0.1 wide; the last one includes 1. An event without prediction has confidence 0.

    Examples
    --------
    Four predictions at 80 %, three of them correct.

    >>> import numpy as np
    >>> calibration = Calibration()
    >>> calibration.add(np.full(4, 0.8), np.array([True, True, True, False]), np.ones(4))
    >>> round(calibration.error(), 4)
    0.05
    """

    def __init__(self) -> None:
        self.bins = np.zeros((3, BINS))  # weight, weight times confidence, weight of correct predictions

    def add(self, confidence: NDArray[Any], right: NDArray[Any], weights: NDArray[Any]) -> None:
        """Count predictions in their order."""
        add_confidences(self.bins, confidence, right.view(np.uint8), weights)

    def error(self) -> float:
        """Return the expected calibration error; NaN without predictions."""
        weight, confidence, right = self.bins
        total = weight.sum()
        return float(np.abs(right - confidence).sum() / total) if total else math.nan

    def diagram(self) -> list[Reliability]:
        """Return the bins that hold predictions, for a reliability diagram."""
        total = float(self.bins[0].sum())
        return [Reliability(w / total, c / w, r / w) for w, c, r in self.bins.T.tolist() if w > 0]
