"""Recalibration: probabilities corrected by how often such probabilities came true.

    knots     -8 ... -0.5   0   0.5 ... 8       log-odds of a label's probability
    events    how often a label had them, with a prior
    hits      how often it came true

A probability between two knots is read from both. The answer mixes the corrected and the given probabilities by how
well each predicted, so a correction that does not help costs next to nothing.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log

KNOTS = cython.declare(cython.Py_ssize_t, 33)
FARTHEST = cython.declare(cython.double, 8.0)  # log-odds of the last knot
PRIOR = cython.declare(cython.double, 20.0)  # events that each knot has seen at first, calibrated
MOST_EVENTS = cython.declare(cython.double, 2000.0)  # of a knot: older ones fade
# The lowest share of events that came true, so that no label is impossible.
LEAST = cython.declare(cython.double, 1e-4)
DOUBT = cython.declare(cython.double, 1e-3)  # of each probability, spread over the labels
SWITCHING = cython.declare(cython.double, 0.001)  # the chance that the other becomes the better with an event


@cython.cclass
class Recalibration:
    """The correction of probabilities, one for all labels.

    Notes
    -----
    Over T events, the answer loses at most ln(2) + T / 1,000 nats more than the given probabilities with their doubt,
    and mostly far less.

    Examples
    --------
    >>> recalibration, given = Recalibration(), np.array([0.7, 0.3])  # too unsure
    >>> for _ in range(1000):
    ...     recalibration.mix(given, 2)
    ...     recalibration.learn(0, 1.0)
    >>> recalibration.mix(given, 2)
    >>> round(recalibration.answer[0], 2)
    0.99
    """

    def __init__(self):
        self.events = np.full(KNOTS, PRIOR)
        self.hits = PRIOR / (1.0 + np.exp(-np.linspace(-FARTHEST, FARTHEST, KNOTS)))
        self.trust = np.full(2, 0.5)  # the weights of the given and of the corrected probabilities
        self.labels = 0
        self.widen(2)

    def __reduce__(self):
        return Recalibration, (), self.state()

    def __setstate__(self, state):
        self.load(state)

    def state(self) -> dict:
        """Return what was counted, as lists."""
        return {
            "events": np.asarray(self.events).tolist(),
            "hits": np.asarray(self.hits).tolist(),
            "trust": np.asarray(self.trust).tolist(),
        }

    def load(self, state):
        """Continue from what `state` returned."""
        self.events = np.array(state["events"], np.float64)
        self.hits = np.array(state["hits"], np.float64)
        self.trust = np.array(state["trust"], np.float64)

    @cython.cfunc
    def widen(self, labels: cython.Py_ssize_t):
        """Make room for the probabilities of a number of labels."""
        self.uncorrected, self.corrected = np.zeros(labels), np.zeros(labels)
        self.answer = np.zeros(labels)
        self.knot, self.beyond = np.zeros(labels, np.longlong), np.zeros(labels)

    @cython.ccall
    def mix(self, probabilities: cython.double[::1], labels: cython.Py_ssize_t):
        """Write the answer to probabilities that sum to 1, one per label."""
        total: cython.double = 0.0
        if self.answer.shape[0] < labels:
            self.widen(2 * labels)
        self.labels = labels
        for k in range(labels):
            self.uncorrected[k] = (1.0 - DOUBT) * probabilities[k] + DOUBT / labels
            position = FARTHEST
            if self.uncorrected[k] < 1.0:
                position = min(
                    max(log(self.uncorrected[k] / (1.0 - self.uncorrected[k])), -FARTHEST), FARTHEST
                )
            position = (position + FARTHEST) / (2.0 * FARTHEST) * (KNOTS - 1)
            i: cython.Py_ssize_t = min(cython.cast(cython.Py_ssize_t, position), KNOTS - 2)
            self.knot[k] = i
            self.beyond[k] = position - i
            self.corrected[k] = (1.0 - self.beyond[k]) * self.hits[i] / self.events[i]
            self.corrected[k] += self.beyond[k] * self.hits[i + 1] / self.events[i + 1]
            total += self.corrected[k]
        for k in range(labels):
            self.corrected[k] = (1.0 - DOUBT) * self.corrected[k] / total + DOUBT / labels
            self.answer[k] = self.trust[0] * self.uncorrected[k] + self.trust[1] * self.corrected[k]

    @cython.ccall
    def steepness(self, k: cython.Py_ssize_t) -> cython.double:
        """Return by how much the log-odds of a label's answer rise with those that were given last."""
        i: cython.Py_ssize_t = self.knot[k]
        rise: cython.double = self.hits[i + 1] / self.events[i + 1] - self.hits[i] / self.events[i]
        slope: cython.double = self.answer[k] * (1.0 - self.answer[k])
        rise = max(0.0, rise) * (KNOTS - 1) / (2.0 * FARTHEST)
        if slope <= 0.0:
            return 0.0
        return (
            self.trust[0] * self.uncorrected[k] * (1.0 - self.uncorrected[k]) + self.trust[1] * rise
        ) / slope

    @cython.ccall
    def learn(self, label: cython.Py_ssize_t, weight: cython.double):
        """Learn the label that came true of what was mixed last. A weight above 1 counts as 1."""
        weight = min(weight, 1.0)
        uncorrected: cython.double = self.trust[0] * self.uncorrected[label] ** weight
        corrected: cython.double = self.trust[1] * self.corrected[label] ** weight
        self.trust[0] = (1.0 - SWITCHING) * uncorrected / (uncorrected + corrected) + SWITCHING / 2.0
        self.trust[1] = 1.0 - self.trust[0]
        for k in range(self.labels):
            self.count(self.knot[k], (1.0 - self.beyond[k]) * weight, k == label)
            self.count(self.knot[k] + 1, self.beyond[k] * weight, k == label)

    @cython.cfunc
    def count(self, knot: cython.Py_ssize_t, share: cython.double, is_true: cython.bint):
        """Count a part of an event at a knot."""
        self.events[knot] += share
        if is_true:
            self.hits[knot] += share
        if self.events[knot] > MOST_EVENTS:
            self.hits[knot] = max(self.hits[knot] * MOST_EVENTS / self.events[knot], LEAST * MOST_EVENTS)
            self.events[knot] = MOST_EVENTS
