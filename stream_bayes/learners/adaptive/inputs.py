"""Inputs of experts besides an event's features: the last known labels, and numbers relative to their recent mean."""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.encoding._vocabulary import Vocabulary
from stream_bayes.core.values.values import is_missing

__all__ = ["LabelMemory", "Trends", "is_number", "trend_name"]

TREND = "(trend) "
FARTHEST = 1e9  # standard deviations: the departure of a number that never changed before
LARGEST = sys.float_info.max
NO_LABEL: tuple[Any, ...] = ()  # the value of a label that has not come yet
REMEMBERED = 0.99  # of the weight of a repetition, after another event


class LabelMemory:
    """The newest known labels, as features of the next event.

    Parameters
    ----------
    size
        The number of labels.

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
        shown = [
            label if isinstance(label, str) else (label,) for label in self.labels
        ]  # a number would be binned
        shown += [NO_LABEL] * (self.size - len(shown))
        return dict(zip(self.names, shown, strict=True))

    def repeat(self, probabilities: NDArray[np.float64], codes: Vocabulary) -> None:
        """Write the probability that the last label comes again to its code, and 0 to all others."""
        probabilities[:] = 0.0
        if self.labels:
            share = (self.repeated + 1.0) / (self.repeated + self.changed + 2.0)
            probabilities[codes.find(self.labels[0])] = share


class Trends:
    """The recent mean and variance of each number, by which an event's numbers are shown as departures.

    Parameters
    ----------
    half_life
        The number of events after which a number counts half.

    Examples
    --------
    >>> trends = Trends(half_life=1.0)
    >>> for price in (10.0, 12.0, 11.0):
    ...     trends.add({"price": price})
    >>> {name: round(value, 2) for name, value in trends.departures({"price": 13.0}).items()}
    {"(trend) 'price'": 2.83}
    """

    def __init__(self, half_life: float) -> None:
        self.half_life = half_life
        self._left = 0.5 ** (1.0 / half_life)  # of a number's weight, after an event
        self.moments: dict[Any, list[float]] = {}  # mean and variance, by name

    def add(self, x: Mapping[Any, Any]) -> None:
        """Count the numbers of an event."""
        for name, value in x.items():
            if not is_number(value):
                continue
            mean, variance = self.moments.get(name, [float(value), 0.0])
            step = float(value) - mean
            self.moments[name] = [
                mean + (1.0 - self._left) * step,
                self._left * (variance + (1.0 - self._left) * step * step),
            ]

    def departures(self, x: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return an event's features, each number in recent standard deviations above the recent mean.

        Missing values are left out: a schema has a number's departures under another name.
        """
        shown: dict[Any, Any] = {}
        for name, value in x.items():
            if not is_number(value):
                if not is_missing(value):
                    shown[name] = value
                continue
            mean, variance = self.moments.get(name, [float(value), 0.0])
            step = float(value) - mean
            scale = math.sqrt(variance)
            if scale > abs(step) / FARTHEST:
                departure = step / scale
            else:
                departure = math.copysign(FARTHEST, step) if step else 0.0
            shown[trend_name(name)] = departure
        return shown


def trend_name(name: Any) -> str:
    """Return the name of a number's departures."""
    return f"{TREND}{name!r}"


def is_number(value: object) -> bool:
    """Return True for a finite int or float; a bool is nominal, and an int beyond all floats is no number."""
    return type(value) in (int, float) and -LARGEST <= value <= LARGEST  # type: ignore[operator]  # a number, by its type
