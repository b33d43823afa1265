"""Exponential forgetting: the weight of a fresh sample, by its place in the stream or by its time.

Fading multiplies nothing: a fresh sample weighs `unit`, which doubles every `half_life` events, or in stream time, as
after `half_life="7d"`: then a sample weighs by its own time (`timed`, `advance_to`). Everything is read relative to
it. Once in 256 half-lives everything is rescaled.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.math import floor, fmod, ldexp

if not cython.compiled:
    from stream_bayes.core.encoding._rows import Row

OLDEST = cython.declare(cython.double, 900.0)  # half-lives; what is older weighs as much: next to nothing
SHORTEST = 2.0**-10  # events: then a sample one event older weighs less than a double can hold
LATEST = cython.declare(cython.double, 1000.0)  # half-lives; more would be infinite
LARGEST_UNIT = cython.declare(cython.double, 2.0**256)  # it leaves room for weights up to 1e200


@cython.cclass
class FadingClock:
    """The clock that fades what a learner counts; `Tables` inherits it, and multiplies its weights in `scale`."""

    def __init__(self, half_life, timed=False):
        self.half_life = 0.0 if half_life is None else max(half_life, SHORTEST)
        self.timed = timed
        self.clock = 0
        self.time = 0  # of the newest sample, once `has_time`
        self.has_time = False
        self.learned_at = 0  # the time of the sample learned last
        self.origin = 0.0  # the half-life at whose beginning the unit is 1
        self.unit = 1.0

    @cython.cfunc
    @cython.exceptval(check=False)
    def phase(self, moment: cython.longlong) -> cython.double:
        """Return how much of its half-life has passed at a clock or time, in events or microseconds."""
        if not self.timed:
            return fmod(moment, self.half_life)
        length = cython.cast(cython.longlong, self.half_life)
        return (moment % length + length) % length  # C keeps the sign of a time before 1970

    @cython.cfunc
    @cython.exceptval(check=False)
    def half_lives(self, moment: cython.longlong) -> cython.double:
        """Return the number of whole half-lives before a clock or time; negative before 0."""
        return floor((moment - self.phase(moment)) / self.half_life + 0.5)

    @cython.ccall
    def unit_at(self, moment: cython.longlong) -> cython.double:
        """Return the weight of a fresh sample at that clock, or time, on the present scale.

        Units on another scale differ by a power of two, to the bit, so a sample is subtracted as it was added.
        """
        if self.half_life == 0.0:
            return 1.0
        phase = self.phase(moment)
        age = floor((moment - phase) / self.half_life + 0.5) - self.origin
        age = min(max(age, -OLDEST), LATEST)
        return ldexp(2.0 ** (phase / self.half_life), cython.cast(cython.int, age))

    @cython.ccall
    def tick(self, events: cython.longlong):
        """Advance the clock by some events; everything held fades accordingly, unless it fades by time."""
        self.clock += events
        if self.half_life == 0.0 or self.timed:
            return
        self.keep_scale(self.clock)

    @cython.ccall
    def advance_to(self, time: cython.longlong):
        """Advance the time, unless it is later already; everything held fades accordingly."""
        if not self.has_time:
            self.has_time = True
            self.time = time
            self.origin = self.half_lives(time)
        elif time > self.time:
            self.time = time
        self.keep_scale(self.time)

    @cython.cfunc
    def keep_scale(self, moment: cython.longlong):
        """Set the unit to that of a moment; rescale everything if it has grown too large."""
        self.unit = self.unit_at(moment)
        if self.unit > LARGEST_UNIT:
            self.move_origin(self.half_lives(moment))

    def move_origin(self, origin):
        """Scale the tables by the power of two that lies between the present origin and another."""
        age = origin - self.origin
        self.scale(2.0**-age if age < 1000.0 else 0.0)
        self.origin = origin
        self.unit = self.unit_at(self.time if self.timed else self.clock)

    @cython.ccall
    def arrive(self, row: Row) -> cython.double:
        """Advance clock and time by a row that is learned. Return the weight of a fresh sample of its time."""
        self.tick(1)
        if not self.timed:
            return self.unit
        self.learned_at = row.at
        self.advance_to(row.at)
        return self.unit_at(row.at)

    def scale(self, factor: cython.double):
        """Multiply every weight."""
        raise NotImplementedError
