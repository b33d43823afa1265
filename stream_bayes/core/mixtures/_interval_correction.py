"""The correction of a forecast's intervals: each tail is shifted until the right share of targets falls below it.

shift += step * (level - 1)   for a target below the tail      step ~ 1 / density of the normal distribution there
shift += step * level         for one above
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import erfc, sqrt

LEVELS = (0.005, 0.025, 0.05, 0.1, 0.25, 0.75, 0.9, 0.95, 0.975, 0.995)
NORMAL_TAILS = (  # of the standard normal distribution
    -2.5758293035489004,
    -1.9599639845400545,
    -1.6448536269514729,
    -1.2815515655446004,
    -0.6744897501960817,
    0.6744897501960817,
    1.2815515655446004,
    1.6448536269514722,
    1.959963984540054,
    2.5758293035489004,
)
RATE = 0.01
# Events after which the outer tails slow down, to half their rate: their own swings make intervals narrow and wide.
EVENTS_TO_SLOW = cython.declare(cython.double, 500.0)
LEAST_DENSITY = 0.1  # for the size of the steps of outer tails
LARGEST_SHIFT = cython.declare(cython.double, 4.0)  # in normal deviations
# Events until a tail may be a deviation narrower: early errors make scales too wide, and their tails too narrow for
# the scales that come later.
EVENTS_TO_NARROW = cython.declare(cython.double, 2000.0)


@cython.cclass
class IntervalCorrection:
    """The shifts of a forecast's tails at `LEVELS`, in deviations of the normal distribution; see `Forecast`."""

    def __init__(self):
        self.shifts = np.zeros(len(LEVELS))
        self.normal, self.levels = np.array(NORMAL_TAILS), np.array(LEVELS)
        density = np.exp(-0.5 * np.square(NORMAL_TAILS)) / np.sqrt(2.0 * np.pi)
        self.steps = RATE / np.maximum(LEAST_DENSITY, density)

    @cython.cfunc
    def learn(self, below: cython.double, events: cython.Py_ssize_t, weight: cython.double):
        """Shift the tails by the uncorrected probability `below` a target; `events` have come, this one included."""
        tail: cython.double
        step: cython.double
        narrower: cython.double = events / EVENTS_TO_NARROW
        slower: cython.double = weight * max(0.5, min(1.0, EVENTS_TO_SLOW / events))
        for k in range(self.shifts.shape[0]):
            tail = 0.5 * erfc(-(self.normal[k] + self.shifts[k]) / sqrt(2.0))
            step = self.steps[k] * (self.levels[k] - (1.0 if below < tail else 0.0))
            self.shifts[k] += step * (weight if 0.2 < self.levels[k] < 0.8 else slower)
            if self.levels[k] < 0.2:
                self.shifts[k] = min(narrower, self.shifts[k])
            elif self.levels[k] > 0.8:
                self.shifts[k] = max(-narrower, self.shifts[k])
            self.shifts[k] = max(-LARGEST_SHIFT, min(LARGEST_SHIFT, self.shifts[k]))
