"""The score of an event in its sequence: how unexpected it is, under the same name in all learners of sequences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

__all__ = ["EventScores"]


class EventScores(ABC):
    """A learner of sequences whose events have a likelihood."""

    @abstractmethod
    def log_likelihood_one(self, x: Mapping[Any, Any], at: float | None = None) -> float:
        """Return the logarithm of the probability, or density, of an event given those before it in its sequence."""

    def score_one(self, x: Mapping[Any, Any], at: float | None = None) -> float:
        """Return minus the log-likelihood of an event given those before it: the larger, the more unexpected."""
        return 0.0 - self.log_likelihood_one(x, at)
