"""A test of forecasts for a change: whether targets fall into other parts of their forecasts than before.

The probability integral transform of a target is the probability that its forecast had given to less: between 0 and 1,
whatever the units. As long as nothing changes, its distribution stays as it is, uniform if forecasts are right. After a
change targets fall into the tails, or, if the task became easier, into the middle. The unit interval is cut into
`VALUES` equal parts. After every `TOGETHER` events some dates in the past are tested, the further back the fewer;
`core.evidence.exchangeability` has the e-value of each. The i-th test reports a change if the mean over the dates is at
least (i + 1) (i + 2) / `ERROR`: while transforms do not depend on one another, a stream without change ever has one
reported with a probability of at most `ERROR`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.evidence.exchangeability import CellLayout, LogGamma, log_evidence

__all__ = ["ForecastChanges"]

VALUES = 8  # parts of the unit interval
TOGETHER = 8  # events
ERROR = 0.01  # the probability that a stream without change has one reported
LAYOUT = CellLayout(np.array([1]), np.array([VALUES]))


class ForecastChanges:
    """The parts into which the newest targets fell, at most `window` of them, and the number of tests so far.

    Examples
    --------
    >>> changes = ForecastChanges(window=500)
    >>> even = [(7.5 - k % 8) / 8.0 for k in range(200)]
    >>> any(map(changes.shows, even)), any(map(changes.shows, [0.999] * 16)), changes.newest()
    (False, True, 16)
    """

    def __init__(self, window: int) -> None:
        self.window = window
        self.tests = 0
        self.since_test = 0  # events
        self.parts: list[int] = []
        self._log_gamma = LogGamma()

    def begin_again(self) -> None:
        """Drop the parts, once a change has been dealt with. Tests are still counted."""
        self.parts, self.since_test = [], 0

    def shows(self, below: float) -> bool:
        """Add a target by its transform; return True if a test reports a change."""
        self.parts.append(min(int(VALUES * below), VALUES - 1))
        del self.parts[: -self.window]
        self.since_test += 1
        if self.since_test < TOGETHER or len(self.parts) < 2 * TOGETHER:
            return False
        self.since_test = 0
        self.tests += 1
        evidence = self._evidence_of(_dates(len(self.parts)))
        log_mean = float(np.logaddexp.reduce(evidence)) - math.log(len(evidence))
        return log_mean >= math.log((self.tests + 1.0) * (self.tests + 2.0) / ERROR)

    def newest(self) -> int:
        """Return the number of events since the most evident change."""
        return 1 + int(np.argmax(self._evidence_of(np.arange(1, len(self.parts)))))

    def extremes(self, newest: int) -> dict[str, float]:
        """Return how far targets lie from the middle of their forecasts, before the newest events and among them: in
        the mean 1/2 if forecasts are right, 1 in the tails.
        """
        far = np.abs((2.0 * np.array(self.parts) + 1.0) / VALUES - 1.0)
        return {"before": float(far[:-newest].mean()), "after": float(far[-newest:].mean())}

    def _evidence_of(self, newest: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the logarithm of the e-value of a change, for each number of events after it, which rise."""
        ages = np.arange(len(self.parts) - 1, -1, -1)
        cells = VALUES * np.searchsorted(newest, ages, side="right") + np.array(self.parts)
        counts = np.bincount(cells, minlength=VALUES * (len(newest) + 1)).reshape(-1, VALUES)
        after = np.cumsum(counts, axis=0)
        return log_evidence(after[-1] - after[:-1], after[:-1], LAYOUT, self._log_gamma)[:, 0]


def _dates(events: int) -> NDArray[np.int64]:
    """Return the numbers of events after a change that are tested: 8, 16, 24, 32, 48, 64, 96, ..."""
    dates = [TOGETHER]
    while True:
        octave = 1 << (dates[-1] // TOGETHER).bit_length() - 1
        following = dates[-1] + TOGETHER * max(octave // 2, 1)
        if following > events - TOGETHER:
            return np.array(dates)
        dates.append(following)
