"""Trials: a candidate and the present model predict the same events, and their losses decide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["DOUBT", "Trial"]

DOUBT = 2.0  # standard errors by which a candidate must be better


class Trial(NamedTuple):
    """The losses of candidates so far. The first trial is short; each further one is as long as all before it."""

    begun: int  # the event after which the drift was noticed
    since: int  # the first event after the change
    caught: int  # the last of the recent events that all candidates have learned, before they are judged
    length: int  # the number of events until they are judged
    events: int = 0  # how many of these have passed
    lost: float = 0.0  # the log-loss of the present model, summed
    gains: tuple[float, ...] = ()  # for each candidate, the sum of the present model's log-loss minus its own
    squares: tuple[float, ...] = ()  # for each candidate, the sum of the squares of these differences
    # The mean gain of the best candidate in the trial before; 0 if it was not better beyond doubt, or without one.
    earlier: float = 0.0

    def with_losses(self, present: float, candidates: Sequence[float]) -> Trial:
        """Return the trial after one more event.

        Examples
        --------
        >>> trial = Trial(100, 80, 100, length=25, gains=(0.0, 0.0), squares=(0.0, 0.0))
        >>> trial = trial.with_losses(1.0, [0.5, 2.0])
        >>> trial.gains, trial.best
        ((0.5, -1.0), 0)
        """
        gains = [present - loss for loss in candidates]
        return self._replace(
            events=self.events + 1,
            lost=self.lost + present,
            gains=tuple([total + gain for total, gain in zip(self.gains, gains, strict=True)]),
            squares=tuple([total + gain * gain for total, gain in zip(self.squares, gains, strict=True)]),
        )

    def without(self, candidate: int) -> Trial:
        """Return the trial without a candidate."""
        return self._replace(
            gains=self.gains[:candidate] + self.gains[candidate + 1 :],
            squares=self.squares[:candidate] + self.squares[candidate + 1 :],
        )

    def without_gain(self, gain: float) -> Trial:
        """Return the trial as if the present model had been better by a sum of losses, as it has become."""
        return self._replace(lost=self.lost - gain, gains=tuple([each - gain for each in self.gains]))

    def doubled(self, earlier: float = 0.0) -> Trial:
        """Return a new trial, twice as long, after one with some mean gain."""
        nothing = (0.0,) * len(self.gains)
        return self._replace(
            length=2 * self.length, events=0, lost=0.0, gains=nothing, squares=nothing, earlier=earlier
        )

    def begun_again(self, length: int) -> Trial:
        """Return a first trial of the same candidates, as the present model has changed."""
        return self.doubled()._replace(length=length)

    @property
    def best(self) -> int:
        """The candidate with the greatest gain; of equal ones the first."""
        return max(range(len(self.gains)), key=self.gains.__getitem__)

    def is_better(self, candidate: int, margin: float, doubt: float = DOUBT) -> bool:
        """Return True if a candidate's mean gain is above a margin by this number of standard errors."""
        mean = self.gains[candidate] / self.events
        variance = max(self.squares[candidate] / self.events - mean * mean, 0.0)
        return mean - margin > doubt * math.sqrt(variance / self.events)

    def score(self, candidate: int) -> dict[str, float]:
        """Return the mean log-loss of the present model and of a candidate."""
        events = max(self.events, 1)
        return {"before": self.lost / events, "after": (self.lost - self.gains[candidate]) / events}
