"""The mixture of experts: two layers of weights, learned from the labels that came true.

The first layer mixes the experts several ways at once. A linear mixer weighs their probabilities and shares its weights
out by Bayes' rule, with a small chance at each event that another expert becomes the best (fixed share). A logarithmic
mixer adds their logarithms with weights of its own: experts that are right about different things are better together
than each alone, and one that is too sure is scaled down. Its weights follow the gradient g of the log-likelihood at a
fixed rate, or they have a normal posterior, with covariance P, and walk at random:

    P <- P - P g (P g)' / (1 + g' P g)        weights <- weights + P g        P <- P + walk, up to the prior's variance

g g' is in place of the likelihood's curvature, as in the online Newton step. What experts have in common is learned so
as one direction, and how they differ as others. The second layer is a linear mixer of the mixers.

Experts come in groups, one for each store. A sleeping group has no part in an answer and need not predict; the weights
of its experts stay as they were. The gain of a group is the loss that answers would have without it: groups without
gain may sleep.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, fabs, log, sqrt

# The share of each expert's and mixer's probability that is spread over the labels, so that no loss is infinite.
DOUBT = cython.declare(cython.double, 1e-3)
GAIN_LEFT = cython.declare(cython.double, 0.998)  # of a gain, after another event
PRIOR_VARIANCE = cython.declare(cython.double, 0.05)  # of a weight with a posterior


@cython.cclass
class ExpertMixture:
    """Weights of experts, and of the mixers of them.

    `switching` has for each linear mixer the chance that the best expert changes with an event; `rates` for each
    logarithmic mixer the rate at which its weights follow the gradient, `walks` for each with a posterior the variance
    that a weight gains with an event. `final_switching` is the chance that the best mixer changes with an event.
    `group_of` is the group of each expert, from 0 up; by default each is a group of its own.

    Notes
    -----
    `is_asleep` marks the sleeping groups; `gain` is the fading mean of what the leading mixer would lose without each
    group, in nats.

    Against any sequence of experts with s switches in T events, the regret of a linear mixer with switching rate a is
    at most (s + 1) ln(experts) + s ln(1/a) + (T - s - 1) ln(1/(1 - a)) nats: so much more it loses than the experts
    with their doubt (Herbster and Warmuth, 1998). The answer's regret against any sequence of mixers has the same
    bound. An expert that sleeps counts as if it gave the mixer's own answer (the specialists of Freund, Schapire,
    Singer and Warmuth, 1997).

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

    def __init__(self, experts, switching, rates, final_switching: cython.double, group_of=None, walks=()):
        self.experts = experts
        self.switching = np.array(switching, np.float64)
        self.rates = np.array(rates, np.float64)
        self.walks = np.array(walks, np.float64)
        self.final_switching = final_switching
        self.mixers = len(switching) + len(rates) + len(walks)
        self.followed = len(switching) + len(rates)  # the first mixer with a posterior
        self.labels = 0
        self.group_of = np.array(range(experts) if group_of is None else group_of, np.longlong)
        self.groups = int(np.max(self.group_of)) + 1
        self.gain = np.zeros(self.groups)
        self.is_asleep = np.zeros(self.groups, np.uint8)
        self.weights = np.full((self.mixers, experts), 1.0 / experts)
        self.final_weights = np.full(self.mixers, 1.0 / self.mixers)
        self.covariance = np.zeros((len(walks), experts, experts))
        for one in np.asarray(self.covariance):
            np.fill_diagonal(one, PRIOR_VARIANCE)
        self.slope, self.step = np.zeros(experts), np.zeros(experts)
        self.widen(2)

    def __reduce__(self):
        settings = (
            self.experts,
            list(self.switching),
            list(self.rates),
            self.final_switching,
            list(self.group_of),
            list(self.walks),
        )
        return ExpertMixture, settings, self.state()

    def __setstate__(self, state):
        self.load(state)

    def state(self) -> dict:
        """Return the weights as lists, of the mixers and of the experts in each, with their covariances, and each
        group's gain and sleep.
        """
        return {
            "gain": np.asarray(self.gain).tolist(),
            "asleep": np.asarray(self.is_asleep).tolist(),
            "final": np.asarray(self.final_weights).tolist(),
            "experts": np.asarray(self.weights).tolist(),
            "covariance": np.asarray(self.covariance).tolist(),
        }

    def load(self, state):
        """Continue from what `state` returned."""
        self.gain = np.array(state["gain"], np.float64)
        self.is_asleep = np.array(state["asleep"], np.uint8)
        self.final_weights = np.array(state["final"], np.float64)
        self.weights = np.array(state["experts"], np.float64)
        shape = (len(self.walks), self.experts, self.experts)
        self.covariance = np.array(state["covariance"], np.float64).reshape(shape)

    @cython.cfunc
    def widen(self, labels: cython.Py_ssize_t):
        """Make room for the probabilities of a number of labels."""
        self.likely = np.zeros((self.experts, labels))
        self.logarithm = np.zeros((self.experts, labels))
        self.mixed = np.zeros((self.mixers, labels))
        self.contribution = np.zeros((self.groups, labels))
        self.answer = np.zeros(labels)

    @cython.cfunc
    @cython.exceptval(check=False)
    def sleeps(self, e: cython.Py_ssize_t) -> cython.bint:
        """Return True if the group of an expert sleeps."""
        return self.is_asleep[self.group_of[e]]

    @cython.cfunc
    def take(self, probabilities: cython.double[:, ::1], labels: cython.Py_ssize_t):
        """Note what the experts give, with their doubt; what one leaves out is spread over the labels."""
        self.labels = labels
        if self.answer.shape[0] < labels:
            self.widen(2 * labels)
        for e in range(self.experts):
            if self.sleeps(e):
                continue
            total: cython.double = 0.0
            for k in range(labels):
                total += probabilities[e, k]
            spread: cython.double = 0.0 if total >= 1.0 else 1.0 - total
            spread = ((1.0 - DOUBT) * spread + DOUBT) / labels
            for k in range(labels):
                self.likely[e, k] = (1.0 - DOUBT) * probabilities[e, k] + spread
                self.logarithm[e, k] = log(self.likely[e, k])

    @cython.ccall
    def mix(self, probabilities: cython.double[:, ::1], labels: cython.Py_ssize_t):
        """Write the answer to what the experts give: a row of probabilities each, one per label."""
        total: cython.double = 0.0
        self.take(probabilities, labels)
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

    @cython.ccall
    def mix_spreads(self, spreads: cython.double[:, ::1], variance: cython.double[::1]):
        """Write the variance of each label's log-odds in the last answer, from those of the experts; weights are held.

        In a linear mixer odds rise by what the odds of its parts rise by, in a logarithmic one the experts' deviations
        add up: all learned from the same events, so none makes up for another.
        """
        mixer_variance: cython.double
        total: cython.double
        for k in range(self.labels):
            variance[k] = 0.0
            for m in range(self.mixers):
                mixer_variance = total = 0.0
                for e in range(self.experts):
                    if self.sleeps(e):
                        continue
                    weight = self.weights[m, e]
                    total += weight
                    if m < self.switching.shape[0]:
                        mixer_variance += (
                            weight * self.likely[e, k] * (1.0 - self.likely[e, k]) * spreads[e, k]
                        )
                    else:
                        mixer_variance += fabs(weight) * sqrt(spreads[e, k])
                if m < self.switching.shape[0]:
                    mixer_variance /= total
                else:
                    mixer_variance *= mixer_variance * self.mixed[m, k] * (1.0 - self.mixed[m, k])
                variance[k] += self.final_weights[m] * mixer_variance
            slope = self.answer[k] * (1.0 - self.answer[k])
            variance[k] = variance[k] / slope if slope > 0.0 else 0.0

    @cython.cfunc
    def add_linearly(self, m: cython.Py_ssize_t):
        """Add the experts' probabilities by the weights of a linear mixer, as shares of those that are awake."""
        total: cython.double = 0.0
        for k in range(self.labels):
            self.mixed[m, k] = 0.0
        for e in range(self.experts):
            if self.sleeps(e):
                continue
            total += self.weights[m, e]
            for k in range(self.labels):
                self.mixed[m, k] += self.weights[m, e] * self.likely[e, k]
        for k in range(self.labels):
            self.mixed[m, k] /= total

    @cython.cfunc
    def add_logarithms(self, m: cython.Py_ssize_t):
        """Add the experts' logarithms by the weights of a logarithmic mixer, and normalise."""
        highest: cython.double = 0.0
        total: cython.double = 0.0
        for k in range(self.labels):
            self.mixed[m, k] = 0.0
        for e in range(self.experts):
            if self.sleeps(e):
                continue
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

    def put_to_sleep(self, group: cython.Py_ssize_t):
        """Let a group sleep; in logarithmic mixers the others take over its weight, so that answers stay as sure."""
        gone: cython.double
        left: cython.double
        self.is_asleep[group] = True
        for m in range(self.switching.shape[0], self.mixers):
            gone = left = 0.0
            for e in range(self.experts):
                if self.group_of[e] == group:
                    gone += max(0.0, self.weights[m, e])
                elif not self.sleeps(e):
                    left += max(0.0, self.weights[m, e])
            for e in range(self.experts):
                if not self.sleeps(e) and self.weights[m, e] > 0.0:
                    self.weights[m, e] *= (left + gone) / left
        for m in range(self.covariance.shape[0]):  # what was learned of its weights goes with them
            for e in range(self.experts):
                if self.group_of[e] == group:
                    for other in range(self.experts):
                        self.covariance[m, e, other] = self.covariance[m, other, e] = 0.0
                    self.covariance[m, e, e] = PRIOR_VARIANCE

    def wake(self, group: cython.Py_ssize_t):
        """Let a group take part again; in logarithmic mixers it begins without weight."""
        self.is_asleep[group] = False
        self.gain[group] = 0.0
        for m in range(self.switching.shape[0], self.mixers):
            for e in range(self.experts):
                if self.group_of[e] == group:
                    self.weights[m, e] = 0.0

    @cython.ccall
    def learn(self, label: cython.Py_ssize_t, weight: cython.double) -> cython.double:
        """Learn the label that came true of what was mixed last, and return the loss of the answer, in nats.

        A weight above 1 counts as 1.
        """
        loss: cython.double = -log(self.answer[label])
        if weight > 1.0:  # the bound holds for events, and a long step would not follow the gradient
            weight = 1.0
        self.add_gains(label)
        self.share_out(
            self.final_weights, self.mixed, self.mixers, label, weight, self.final_switching, False
        )
        for m in range(self.mixers):
            if m < self.switching.shape[0]:
                self.share_out(
                    self.weights[m], self.likely, self.experts, label, weight, self.switching[m], True
                )
            elif m < self.followed:
                self.descend(m, label, weight)
            else:
                self.condition(m, label, weight)
        return loss

    @cython.cfunc
    def share_out(
        self,
        weights: cython.double[::1],
        likely: cython.double[:, ::1],
        count: cython.Py_ssize_t,
        label: cython.Py_ssize_t,
        weight: cython.double,
        switching: cython.double,
        may_sleep: cython.bint,
    ):
        """Update weights by Bayes' rule, then share a part of them out evenly; those asleep keep their part."""
        total: cython.double = 0.0
        before: cython.double = 0.0
        asleep: cython.double = 0.0
        for i in range(count):
            if may_sleep and self.sleeps(i):
                asleep += weights[i]
                continue
            before += weights[i]
            weights[i] *= likely[i, label] if weight == 1.0 else likely[i, label] ** weight
            total += weights[i]
        for i in range(count):
            if not (may_sleep and self.sleeps(i)):
                weights[i] *= before / total
            weights[i] = (1.0 - switching) * weights[i] / (before + asleep) + switching / count

    @cython.cfunc
    def descend(self, m: cython.Py_ssize_t, label: cython.Py_ssize_t, weight: cython.double):
        """Move the weights of a logarithmic mixer against the gradient of its log-loss."""
        rate: cython.double = self.rates[m - self.switching.shape[0]] * weight
        self.write_slope(m, label)
        for e in range(self.experts):
            self.weights[m, e] += rate * self.slope[e]

    @cython.cfunc
    def write_slope(self, m: cython.Py_ssize_t, label: cython.Py_ssize_t):
        """Write the gradient of a label's log-likelihood by the weights of a logarithmic mixer; 0 of those asleep."""
        for e in range(self.experts):
            self.slope[e] = 0.0
            if self.sleeps(e):
                continue
            expected: cython.double = 0.0
            for k in range(self.labels):
                expected += self.mixed[m, k] * self.logarithm[e, k]
            self.slope[e] = self.logarithm[e, label] - expected

    @cython.cfunc
    def condition(self, m: cython.Py_ssize_t, label: cython.Py_ssize_t, weight: cython.double):
        """Update the posterior of a mixer's weights by a label that came true, then let them walk."""
        curvature: cython.double = 0.0
        walk: cython.double = self.walks[m - self.followed]
        covariance: cython.double[:, ::1] = self.covariance[m - self.followed]
        slope: cython.double[::1] = self.slope
        step: cython.double[::1] = self.step
        self.write_slope(m, label)
        for i in range(self.experts):
            total: cython.double = 0.0
            for j in range(self.experts):
                total += covariance[i, j] * slope[j]
            step[i] = total
            curvature += total * slope[i]
        weight /= 1.0 + weight * curvature
        for i in range(self.experts):
            self.weights[m, i] += weight * step[i]
            for j in range(self.experts):
                covariance[i, j] -= weight * (step[i] * step[j])
            if not self.sleeps(i):
                covariance[i, i] = min(covariance[i, i] + walk, max(covariance[i, i], PRIOR_VARIANCE))

    @cython.cfunc
    def add_gains(self, label: cython.Py_ssize_t):
        """Add to each group's gain what the leading mixer would have lost to this label without the group."""
        m: cython.Py_ssize_t = 0
        g: cython.Py_ssize_t
        highest: cython.double = 0.0
        contribution: cython.double[:, ::1] = self.contribution
        for i in range(1, self.mixers):
            if self.final_weights[i] > self.final_weights[m]:
                m = i
        is_linear: cython.bint = m < self.switching.shape[0]
        for g in range(self.groups):
            for k in range(self.labels):
                contribution[g, k] = 0.0
        for k in range(self.labels):
            self.answer[k] = 0.0  # it was given already: used as the sum of all parts
        for e in range(self.experts):
            if self.sleeps(e):
                continue
            g = self.group_of[e]
            for k in range(self.labels):
                term = self.weights[m, e] * (self.likely[e, k] if is_linear else self.logarithm[e, k])
                contribution[g, k] += term
                self.answer[k] += term
        for g in range(self.groups):
            if self.is_asleep[g]:
                continue
            total: cython.double = 0.0
            if is_linear:
                for k in range(self.labels):
                    total += self.answer[k] - contribution[g, k]
                without_group: cython.double = (
                    (self.answer[label] - contribution[g, label]) / total if total > 0.0 else 0.0
                )
            else:
                for k in range(self.labels):
                    if k == 0 or self.answer[k] - contribution[g, k] > highest:
                        highest = self.answer[k] - contribution[g, k]
                for k in range(self.labels):
                    total += exp(self.answer[k] - contribution[g, k] - highest)
                without_group = exp(self.answer[label] - contribution[g, label] - highest) / total
            without_group = (1.0 - DOUBT) * max(0.0, without_group) + DOUBT / self.labels
            self.gain[g] = GAIN_LEFT * self.gain[g] + (1.0 - GAIN_LEFT) * (
                log(self.mixed[m, label]) - log(without_group)
            )
