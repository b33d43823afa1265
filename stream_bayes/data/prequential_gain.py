"""Measuring what a column tells about the label: each row is predicted before it is learned."""

from __future__ import annotations

import math
from collections import Counter

from stream_bayes.core.values.values import Value

__all__ = ["PrequentialGain"]

LEAST_GAIN = 5.0  # nats that a column without any relation to the label gains with odds of less than 1 in 148


class PrequentialGain:
    """The log-loss that the values of one column save in predicting labels, over the labels' own shares so far.

    Values that never came before save nothing, so a column in which none recurs has a gain of 0.

    Attributes
    ----------
    rows
        Number of rows with a value.
    recurring
        Number of rows whose value came before.
    gain
        Log-loss saved so far, in nats.

    Examples
    --------
    >>> person, row = PrequentialGain(), PrequentialGain()
    >>> for n in range(40):
    ...     person.add(n % 4, n % 2)
    ...     row.add(n, n % 2)
    >>> person.tells, row.tells, row.recurring, row.gain
    (True, False, 0, 0.0)
    """

    def __init__(self) -> None:
        self.rows = self.recurring = 0
        self.gain = 0.0
        self._labels = Counter[Value]()
        self._by_value: dict[object, Counter[Value]] = {}

    @property
    def distinct(self) -> int:
        """The number of different values."""
        return len(self._by_value)

    @property
    def has_labels(self) -> bool:
        """True if a row had a label, so that the gain says something."""
        return bool(self._labels)

    @property
    def tells(self) -> bool:
        """True if the values predict the labels: the gain is more than chance gives."""
        return self.gain > LEAST_GAIN

    def add(self, value: object, label: Value | None) -> None:
        """Add a row; without a label it counts for recurrence only."""
        labels = self._by_value.get(value)
        self.rows += 1
        self.recurring += labels is not None
        if labels is None:
            labels = self._by_value[value] = Counter()
        if label is None:
            return
        total = self._labels.total()
        if label in self._labels and (count := labels.total()):
            share = self._labels[label] / total
            # The shares so far weigh as one row; with them alone the quotient is 1.
            self.gain += math.log((labels[label] + share) / (count + 1) / share)
        labels[label] += 1
        self._labels[label] += 1
