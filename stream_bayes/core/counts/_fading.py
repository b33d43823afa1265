"""Exponential forgetting: the weight of a fresh sample, by its place in the stream or by its time.

Fading multiplies nothing: a fresh sample weighs `unit`, which doubles every `half_life` events, or in stream time, as
after `half_life="7d"`: then a sample weighs by its own time (`timed`, `advance_to`). Everything is read relative to
it. Once in 256 half-lives everything is rescaled.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from stream_bayes.core.encoding._rows import Row

OLDEST = cython.declare(cython.double, 900.0)  # half-lives; what is older weighs as much: next to nothing
RESCALE_AT = cython.declare(cython.double, 256.0)  # half-lives; 2^256 leaves room for weights up to 1e200


@cython.cclass
class FadingClock:
    """The clock that fades what a learner counts; `Tables` inherits it, and multiplies its weights in `scale`."""

    def __init__(self, half_life, timed=False):
        self.half_life = 0.0 if half_life is None else half_life
        self.timed = timed
        self.clock = 0
        self.time = 0  # of the newest sample, once `has_time`
        self.has_time = False
        self.learned_at = 0  # the time of the sample learned last
        self.origin = 0
        self.unit = 1.0

    @cython.ccall
    def unit_at(self, moment: cython.longlong) -> cython.double:
        """Return the weight of a fresh sample at that clock, or time, on the present scale."""
        if self.half_life == 0.0:
            return 1.0
        return 2.0 ** max((moment - self.origin) / self.half_life, -OLDEST)

    @cython.ccall
    def tick(self, events: cython.longlong):
        """Advance the clock by some events; everything held fades accordingly, unless it fades by time."""
        self.clock += events
        if self.half_life == 0.0 or self.timed:
            return
        if (self.clock - self.origin) > RESCALE_AT * self.half_life:
            self.rescale()
        self.unit = self.unit_at(self.clock)

    @cython.ccall
    def advance_to(self, time: cython.longlong):
        """Advance the time, unless it is later already; everything held fades accordingly."""
        if not self.has_time:
            self.has_time = True
            self.time = time
            self.origin = self.whole_half_lives(time)
        elif time > self.time:
            self.time = time
            if (time - self.origin) > RESCALE_AT * self.half_life:
                self.move_origin(self.whole_half_lives(time))
        self.unit = self.unit_at(self.time)

    def whole_half_lives(self, time):
        """Return the last time that is a whole number of half-lives.

        Units of tables then differ by powers of two, so tables with different units are added without rounding.
        """
        half_life = int(self.half_life)
        return int(time) // half_life * half_life

    def move_origin(self, origin):
        """Scale the tables to the unit of another time, a whole number of half-lives."""
        age = (int(origin) - int(self.origin)) // int(self.half_life)
        self.scale(2.0**-age if age < 1000 else 0.0)
        self.origin = origin
        self.unit = self.unit_at(self.time)

    @cython.ccall
    def arrive(self, row: Row) -> cython.double:
        """Advance clock and time by a row that is learned. Return the weight of a fresh sample of its time."""
        self.tick(1)
        if not self.timed:
            return self.unit
        self.learned_at = row.at
        self.advance_to(row.at)
        return self.unit_at(row.at)

    def rescale(self):
        """Scale the tables so that a fresh sample weighs 1."""
        age = (self.clock - self.origin) / self.half_life
        self.scale(2.0**-age if age < 1000 else 0.0)
        self.origin = self.clock
        self.unit = 1.0

    def scale(self, factor: cython.double):
        """Multiply every weight."""
        raise NotImplementedError
