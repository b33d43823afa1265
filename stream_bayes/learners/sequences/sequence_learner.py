"""The base of learners of sequences: the score of an event in its sequence, and counts of what was left out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from stream_bayes.learners.sequences.keyed_sequences import KeyedSequences

__all__ = ["SequenceLearner"]


class SequenceLearner(ABC):
    """A learner of sequences, one for each key, whose events have a likelihood."""

    sequences: KeyedSequences[Any]

    @abstractmethod
    def log_likelihood_one(self, x: Mapping[Any, Any], at: float | None = None) -> float:
        """Return the logarithm of the probability, or density, of an event given those before it in its sequence."""

    def score_one(self, x: Mapping[Any, Any], at: float | None = None) -> float:
        """Return minus the log-likelihood of an event given those before it: the larger, the more unexpected."""
        return 0.0 - self.log_likelihood_one(x, at)

    @property
    def dropped_sequences(self) -> int:
        """The number of sequences that started anew because there were more than `max_sequences`."""
        return self.sequences.dropped

    @property
    def missed_events(self) -> int:
        """The number of events that were missing by `step` between two that came."""
        return self.sequences.missed
