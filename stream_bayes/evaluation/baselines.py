"""Baselines of a comparison: learners that look at no feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from river.dummy import PriorClassifier

__all__ = ["BASELINES", "NoChange"]


class NoChange:
    """A baseline that predicts the label that came last, without probabilities.

    Examples
    --------
    >>> model = NoChange()
    >>> model.learn_one({}, "rain")
    >>> model.predict_one({})
    'rain'
    """

    def __init__(self) -> None:
        self._last: Any = None

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Store the label."""
        self._last = y

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """Return the last label; None before the first."""
        return self._last


# By name. The majority has the shares of the labels so far as probabilities.
BASELINES: dict[str, type[Any]] = {"majority": PriorClassifier, "no-change": NoChange}
