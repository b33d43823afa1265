"""The panel of experts: each predicts an event, their answers are mixed, and the mixture is calibrated.

opinions    [expert, label]    the probabilities that each expert gives; the last row is of the one that repeats
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.mixtures._expert_mixture import ExpertMixture
    from stream_bayes.core.readings._interval_ends import lower_end, upper_end
    from stream_bayes.core.readings._members import Members


# Types whose values cannot change.
PLAIN = frozenset(
    [str, bytes, int, float, bool, type(None), np.float64, np.float32, np.int64, np.int32, np.bool_]
)


@cython.cclass
class Panel:
    """The experts of all stores, and the mixture of their answers. `encoding` has the encoders and readings of the
    stores, `mixture` the weights of the experts, `recalibration` the correction of what they give together. `repeats`
    is True if the last expert repeats the last label.
    """

    def __init__(self, encoding, mixture, recalibration, repeats: cython.bint):
        self.encoding = encoding
        self.mixture = mixture
        self.recalibration = recalibration
        self.repeats = repeats
        self.members = encoding.members
        self.labels = encoding.labels
        self.opinions = np.zeros((mixture.experts, 2))
        self.spreads, self.variance = np.zeros((mixture.experts, 2)), np.zeros(2)
        self.forget()

    def __reduce__(self):
        return Panel, (self.encoding, self.mixture, self.recalibration, self.repeats)

    @cython.ccall
    def predict(self, rows: list, live: cython.Py_ssize_t, last, share: cython.double) -> dict:
        """Return the mixed probabilities of an event, of each of the first `live` labels. `rows` are its rows in the
        stores. The labels are those that hold samples or were declared; without any, the answer is empty. `last` and
        `share` are the last label and the probability that it comes again; None before the first.
        """
        self.forget()
        return self.answer(rows, False, live, last, share)

    @cython.cfunc
    def forget(self):
        """Forget which event was predicted last."""
        self.event = None
        self.is_known = False
        self.content = []
        self.kept_answer = {}

    @cython.ccall
    def keep(self, x, answer: dict):
        """Keep the event that was predicted last, and the answer: if it is learned next, it need not be predicted
        again. Only an event of plain values can be known again.
        """
        readings: Members = self.encoding.readings
        if type(x) is not dict or not answer:
            return
        content: list = []
        for name, value in cython.cast(dict, x).items():
            if type(value) not in PLAIN:
                return
            content.append(name)
            content.append(value)
        readings.remember()
        self.event, self.content, self.kept_answer = x, content, answer.copy()
        self.labels_then = len(self.labels.values)

    @cython.ccall
    def recognise(self, x):
        """Note if an event is the one that was predicted last, unchanged."""
        at: cython.Py_ssize_t = 0
        content: list = self.content
        self.is_known = False
        if x is not self.event or x is None or 2 * len(x) != len(content):
            return
        for name, value in cython.cast(dict, x).items():
            if name is not content[at] or value is not content[at + 1]:
                return
            at += 2
        self.is_known = True

    @cython.ccall
    def predict_intervals(
        self,
        rows: list,
        live: cython.Py_ssize_t,
        last,
        share: cython.double,
        tail: cython.double,
        deviations: cython.double,
    ) -> dict:
        """Return `{label: (low, high)}` of an event: the interval of each label's probability, which it holds.

        The weights of the experts and the correction are held. The expert that repeats the last label is certain.
        `tail` is the share beyond an end, `deviations` those of a normal distribution up to it; the rest as in
        `predict`.
        """
        readings: Members = self.encoding.readings
        intervals: dict = {}
        k: cython.Py_ssize_t
        steepness: cython.double
        variance: cython.double
        p: cython.double
        self.forget()
        self.reserve()
        readings.predict_with_spreads(rows, self.mixture.is_asleep, self.opinions, self.spreads)
        self.mix(live, last, share)
        if live:
            self.mixture.mix_spreads(self.spreads, self.variance)
        for k in range(live):
            steepness = self.recalibration.steepness(k)
            variance = self.variance[k] * steepness * steepness
            p = self.recalibration.answer[k]
            intervals[self.labels.values[k]] = (
                float(lower_end(p, 1.0 - p, variance, tail, deviations)),
                float(upper_end(p, 1.0 - p, variance, tail, deviations)),
            )
        return intervals

    @cython.ccall
    def predict_learn(self, rows: list, live: cython.Py_ssize_t, last, share: cython.double) -> dict:
        """Return the mixed probabilities of a sample, which the stores then learn; that which was recognised is not
        predicted again.
        """
        readings: Members = self.encoding.readings
        kept_answer: dict = self.kept_answer
        is_known: cython.bint = self.is_known and len(self.labels.values) == self.labels_then
        self.forget()
        if is_known and readings.learn_predicted(rows, self.mixture.is_asleep):
            return kept_answer
        return self.answer(rows, True, live, last, share)

    @cython.cfunc
    def answer(
        self, rows: list, is_labelled: cython.bint, live: cython.Py_ssize_t, last, share: cython.double
    ) -> dict:
        """Return what `score` gives, by label."""
        mixed: dict = {}
        self.score(rows, is_labelled, live, last, share)
        for k in range(live):
            mixed[self.labels.values[k]] = float(self.recalibration.answer[k])
        return mixed

    @cython.cfunc
    def score(
        self, rows: list, is_labelled: cython.bint, live: cython.Py_ssize_t, last, share: cython.double
    ):
        """Let all experts that are awake predict, and the stores learn a sample with a label; mix the predictions."""
        readings: Members = self.encoding.readings
        self.reserve()
        readings.predict(rows, is_labelled, self.mixture.is_asleep, self.opinions)
        self.mix(live, last, share)

    @cython.cfunc
    def reserve(self):
        """Make room for every label."""
        labels: cython.Py_ssize_t = len(self.labels.values)
        if self.opinions.shape[1] < labels:
            self.opinions = np.zeros((self.mixture.experts, 2 * labels))
            self.spreads = np.zeros((self.mixture.experts, 2 * labels))
            self.variance = np.zeros(2 * labels)

    @cython.cfunc
    def mix(self, live: cython.Py_ssize_t, last, share: cython.double):
        """Mix what the experts gave, and correct the mixture."""
        mixture: ExpertMixture = self.mixture
        if live == 0:
            return
        if self.repeats:
            end: cython.Py_ssize_t = mixture.experts - 1
            for k in range(self.opinions.shape[1]):
                self.opinions[end, k] = 0.0
            if last is not None:
                self.opinions[end, self.labels.find(last)] = share
        mixture.mix(self.opinions, live)
        self.recalibration.mix(mixture.answer, live)

    @cython.ccall
    def learn(self, label: cython.Py_ssize_t, weight: cython.double) -> cython.double:
        """Learn the label that came true of what was predicted last, and return the loss of the mixture, in nats."""
        self.recalibration.learn(label, weight)
        return self.mixture.learn(label, weight)
