"""A tally that forgets: an event weighs half as much after `half_life` events.

The sums are not touched to let them fade. Instead each event weighs a little more than the one before, and all is read
relative to what the newest weighs. Every so many events, always the same number, everything is scaled back.
"""

from __future__ import annotations

import numpy as np

from stream_bayes.core.tally import Scored, Tally

__all__ = ["FadingTally"]

MOST_EVENTS = 1024
MOST_HALF_LIVES = 64  # between two scalings, so that no square of a weight overflows


class FadingTally:
    """The sums over all events, each weighted by 2^(-age / half_life), its age counted in events.

    Parameters
    ----------
    half_life
        After how many events an event weighs half; at least 1.
    """

    def __init__(self, half_life: float) -> None:
        self.half_life = half_life
        self.tally = Tally()
        self.cycle = int(min(MOST_EVENTS, MOST_HALF_LIVES * half_life))
        self.place = 0  # in the cycle, of the next event
        self._units = np.array([2.0 ** (place / half_life) for place in range(self.cycle)])

    @property
    def unit(self) -> float:
        """What the newest event's weight is multiplied by."""
        return float(2.0 ** ((self.place - 1) / self.half_life))

    def add(self, scored: Scored) -> None:
        """Add events."""
        done = 0
        while done < len(scored):
            stop = min(len(scored), done + self.cycle - self.place)
            part = scored if stop - done == len(scored) else scored.part(done, stop)
            self.tally.add(part, part.weight * self._units[self.place : self.place + len(part)])
            self.place += len(part)
            if self.place == self.cycle:
                self.tally.scale(2.0 ** (-self.cycle / self.half_life))
                self.place = 0
            done = stop
