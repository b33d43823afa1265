"""Inputs of experts besides an event's features: the last known labels, and numbers relative to their recent mean."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from stream_bayes.learners.adaptive._trends import TREND, RecentMoments, is_number, trend_name

__all__ = ["TREND", "LabelMemory", "Trends", "is_number", "trend_name", "value_of"]

NO_LABEL: tuple[Any, ...] = ()  # the value of a label that has not come yet
REMEMBERED = 0.99  # of the weight of a repetition, after another event


def value_of(label: Any) -> Any:
    """Return a label as the value of a nominal feature: a number would be binned."""
    return label if isinstance(label, str) else (label,)


class LabelMemory:
    """The newest known labels, as features of the next event. `size` is their number.

    Examples
    --------
    >>> memory = LabelMemory(2)
    >>> memory.add("up")
    >>> memory.add("down")
    >>> memory.features()
    {'(last label 1)': 'down', '(last label 2)': 'up'}
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.names = [f"(last label {ago})" for ago in range(1, size + 1)]
        self.mark = (
            self.names[0] if size else TREND
        )  # a name that only an event has which `hold` has returned
        self.labels: deque[Any] = deque(maxlen=size)  # the newest first
        self.repeated = 0.0  # fading weight of the labels that were the one before
        self.changed = 0.0  # and of those that were not

    def add(self, label: Any) -> None:
        """Remember the label of the newest event."""
        if self.labels:
            self.repeated *= REMEMBERED
            self.changed *= REMEMBERED
            if label == self.labels[0]:
                self.repeated += 1.0
            else:
                self.changed += 1.0
        self.labels.appendleft(label)

    def features(self) -> dict[Any, Any]:
        """Return the last labels by their age in events; `NO_LABEL` for events before the first.

        A feature that an event lacks would cost every later prediction a slower loop.
        """
        shown = [value_of(label) for label in self.labels]
        shown += [NO_LABEL] * (self.size - len(shown))
        return dict(zip(self.names, shown, strict=True))

    def repetition(self) -> tuple[Any, float]:
        """Return the last label, and the probability that it comes again; None and a half before the first."""
        last = self.labels[0] if self.labels else None
        return last, (self.repeated + 1.0) / (self.repeated + self.changed + 2.0)


class Trends:
    """The recent mean and variance of each number, by which an event's numbers are shown as departures. After
    `half_life` events a number counts half.

    Examples
    --------
    >>> trends = Trends(half_life=1.0)
    >>> for price in (10.0, 12.0, 11.0):
    ...     trends.add({"price": price}, {})
    >>> {name: round(value, 2) for name, value in trends.departures({"price": 13.0}, {}).items()}
    {"(trend) 'price'": 2.83}
    """

    def __init__(self, half_life: float) -> None:
        self.half_life = half_life
        self.moments = RecentMoments(0.5 ** (1.0 / half_life))

    def add(self, x: Mapping[Any, Any], features: Mapping[Any, Any]) -> None:
        """Count the numbers of an event. `features` are those that a learner knows, of which some may take numbers for
        names.
        """
        self.moments.add(x, features)

    def departures(self, x: Mapping[Any, Any], features: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return an event's features, each number in recent standard deviations above the recent mean.

        Missing values are left out: a schema has a number's departures under another name.
        """
        return self.moments.departures(x, features)
