"""The mixture of experts: two layers of weights, learned from the labels that came true.

The first layer mixes the experts several ways at once. A linear mixer weighs their probabilities and shares its weights
out by Bayes' rule, with a small chance at each event that another expert becomes the best (fixed share). A logarithmic
mixer adds their logarithms with weights of its own, which follow the gradient of the log-loss: experts that are right
about different things are better together than each alone, and one that is too sure is scaled down. The second layer is
a linear mixer of the mixers.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-any-generics, allow-untyped-decorators, no-strict-optional
# mypy: no-warn-return-any, no-warn-unused-ignores
# mypy: disable-error-code="assignment, valid-type, untyped-decorator, var-annotated"

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, log

# What every expert and mixer gives away, spread over the labels: nobody is ever certain, so no loss is infinite.
DOUBT = cython.declare(cython.double, 1e-3)


@cython.cclass
class ExpertMixture:
    """Weights of experts, and of the mixers of them.

    Parameters
    ----------
    experts
        The number of experts.
    switching
        For each linear mixer the chance that the best expert changes with an event.
    rates
        For each logarithmic mixer the rate at which its weights follow the gradient.
    final_switching
        The chance that the best mixer changes with an event.

    Notes
    -----
    Against any sequence of experts with s switches in T events, a linear mixer with switching rate a loses at most
    (s + 1) ln(experts) + s ln(1/a) + (T - s - 1) ln(1/(1 - a)) nats more than the experts with their doubt (Herbster
    and Warmuth, 1998). The answer loses as little again to any sequence of mixers.

    Examples
    --------
    >>> mixture = ExpertMixture(2, [0.01], [0.02], 0.01)
    >>> given = np.array([[0.9, 0.1], [0.4, 0.6]])
    >>> for _ in range(20):
    ...     mixture.mix(given, 2)
    ...     mixture.learn(0, 1.0)
    >>> mixture.mix(given, 2)
    >>> round(mixture.answer[0], 1), mixture.weights[0, 0] > 0.9
    (0.9, True)
    """

    def __init__(self, experts, switching, rates, final_switching: cython.double):
        self.experts = experts
        self.switching = np.array(switching, np.float64)
        self.rates = np.array(rates, np.float64)
        self.final_switching = final_switching
        self.mixers = len(switching) + len(rates)
        self.labels = 0
        self.weights = np.full((self.mixers, experts), 1.0 / experts)
        self.final_weights = np.full(self.mixers, 1.0 / self.mixers)
        self.widen(2)

    def __reduce__(self):
        settings = (self.experts, list(self.switching), list(self.rates), self.final_switching)
        return ExpertMixture, settings, self.state()

    def __setstate__(self, state):
        self.load(state)

    def state(self) -> dict:
        """Return the weights as lists: of the mixers, and of the experts in each."""
        return {
            "final": np.asarray(self.final_weights).tolist(),
            "experts": np.asarray(self.weights).tolist(),
        }

    def load(self, state):
        """Continue from the weights that `state` returned."""
        self.final_weights = np.array(state["final"], np.float64)
        self.weights = np.array(state["experts"], np.float64)

    @cython.cfunc
    def widen(self, labels: cython.Py_ssize_t):
        """Make room for the probabilities of so many labels."""
        self.likely = np.zeros((self.experts, labels))
        self.logarithm = np.zeros((self.experts, labels))
        self.mixed = np.zeros((self.mixers, labels))
        self.answer = np.zeros(labels)

    @cython.cfunc
    def take(self, given: cython.double[:, ::1], labels: cython.Py_ssize_t):
        """Note what the experts give, with their doubt; what one leaves out is spread over the labels."""
        e: cython.Py_ssize_t
        k: cython.Py_ssize_t
        total: cython.double
        spread: cython.double
        self.labels = labels
        if self.answer.shape[0] < labels:
            self.widen(2 * labels)
        for e in range(self.experts):
            total = 0.0
            for k in range(labels):
                total += given[e, k]
            spread = 0.0 if total >= 1.0 else 1.0 - total
            spread = ((1.0 - DOUBT) * spread + DOUBT) / labels
            for k in range(labels):
                self.likely[e, k] = (1.0 - DOUBT) * given[e, k] + spread
                self.logarithm[e, k] = log(self.likely[e, k])

    @cython.ccall
    def mix(self, given: cython.double[:, ::1], labels: cython.Py_ssize_t):
        """Write the answer to what the experts give: a row of probabilities each, one per label."""
        m: cython.Py_ssize_t
        k: cython.Py_ssize_t
        total: cython.double = 0.0
        self.take(given, labels)
        for m in range(self.mixers):
            if m < self.switching.shape[0]:
                self.add_linearly(m)
            else:
                self.add_logarithms(m)
            for k in range(labels):
                self.mixed[m, k] = (1.0 - DOUBT) * self.mixed[m, k] + DOUBT / labels
        for k in range(labels):
            self.answer[k] = 0.0
            for m in range(self.mixers):
                self.answer[k] += self.final_weights[m] * self.mixed[m, k]
            total += self.answer[k]
        for k in range(labels):  # rounding adds up to a little more or less than 1
            self.answer[k] /= total

    @cython.cfunc
    def add_linearly(self, m: cython.Py_ssize_t):
        """Add the experts' probabilities by the weights of a linear mixer."""
        e: cython.Py_ssize_t
        k: cython.Py_ssize_t
        for k in range(self.labels):
            self.mixed[m, k] = 0.0
        for e in range(self.experts):
            for k in range(self.labels):
                self.mixed[m, k] += self.weights[m, e] * self.likely[e, k]

    @cython.cfunc
    def add_logarithms(self, m: cython.Py_ssize_t):
        """Add the experts' logarithms by the weights of a logarithmic mixer, and normalise."""
        e: cython.Py_ssize_t
        k: cython.Py_ssize_t
        highest: cython.double = 0.0
        total: cython.double = 0.0
        for k in range(self.labels):
            self.mixed[m, k] = 0.0
        for e in range(self.experts):
            for k in range(self.labels):
                self.mixed[m, k] += self.weights[m, e] * self.logarithm[e, k]
        for k in range(self.labels):
            if k == 0 or self.mixed[m, k] > highest:
                highest = self.mixed[m, k]
        for k in range(self.labels):
            self.mixed[m, k] = exp(self.mixed[m, k] - highest)
            total += self.mixed[m, k]
        for k in range(self.labels):
            self.mixed[m, k] /= total

    @cython.ccall
    def learn(self, label: cython.Py_ssize_t, weight: cython.double):
        """Learn the label that came true of what was mixed last; a weight above 1 counts as 1."""
        m: cython.Py_ssize_t
        if weight > 1.0:  # the bound holds for events, and a long step would not follow the gradient
            weight = 1.0
        self.share_out(self.final_weights, self.mixed, self.mixers, label, weight, self.final_switching)
        for m in range(self.mixers):
            if m < self.switching.shape[0]:
                self.share_out(self.weights[m], self.likely, self.experts, label, weight, self.switching[m])
            else:
                self.descend(m, label, weight)

    @cython.cfunc
    def share_out(
        self,
        weights: cython.double[::1],
        likely: cython.double[:, ::1],
        count: cython.Py_ssize_t,
        label: cython.Py_ssize_t,
        weight: cython.double,
        switching: cython.double,
    ):
        """Update weights by Bayes' rule, then share a part of them out evenly."""
        i: cython.Py_ssize_t
        total: cython.double = 0.0
        for i in range(count):
            weights[i] *= likely[i, label] if weight == 1.0 else likely[i, label] ** weight
            total += weights[i]
        for i in range(count):
            weights[i] = (1.0 - switching) * weights[i] / total + switching / count

    @cython.cfunc
    def descend(self, m: cython.Py_ssize_t, label: cython.Py_ssize_t, weight: cython.double):
        """Move the weights of a logarithmic mixer against the gradient of its log-loss."""
        e: cython.Py_ssize_t
        k: cython.Py_ssize_t
        expected: cython.double
        rate: cython.double = self.rates[m - self.switching.shape[0]] * weight
        for e in range(self.experts):
            expected = 0.0
            for k in range(self.labels):
                expected += self.mixed[m, k] * self.logarithm[e, k]
            self.weights[m, e] += rate * (self.logarithm[e, label] - expected)
