"""Readings that are chosen by how well they predicted: super-parents, and whole readings of one store.

Every learned event is predicted first, and minus the logarithm of the true class's probability is added to a loss
that fades. The least loss is the best reading; a mixture weighs each by exp(-loss), as Bayes would with forgetting.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, log

if not cython.compiled:
    from stream_bayes.core._average_kernels import AverageReading
    from stream_bayes.core._kernels import Reading, log_of
    from stream_bayes.core._rows import Row
    from stream_bayes.core._triple_kernels import PairAverageReading

LEAST = cython.declare(cython.double, 1e-12)  # no probability counts as less, lest one event decide for good


@cython.cfunc
@cython.exceptval(check=False)
def loss_of(share: cython.double) -> cython.double:
    """The loss of having given the true class this probability."""
    return -log(share if share > LEAST else LEAST)


@cython.cclass
class SuperParentReading(AverageReading):
    """SPODE: P(y, i) times P(j | y, i) for each other value j, with one feature as the super-parent.

    Where its value is missing, or is no super-parent, naive Bayes answers.

    Parameters
    ----------
    live
        Whether the super-parent is the feature whose predictions have had the least loss, or stays what `chosen` is
        set to, its slot.
    decay
        What is left of a loss after an event.
    """

    def __init__(self, tables, labels, live: cython.bint, decay: cython.double = 1.0, **settings):
        AverageReading.__init__(self, tables, labels, **settings)
        self.live_choice = live
        self.decay = decay
        self.chosen = -1
        self.loss = np.zeros(0)
        self.plain_loss = 0.0  # what naive Bayes has lost

    def forget_losses(self):
        """Start the choice anew."""
        self.loss = np.zeros(0)
        self.plain_loss = 0.0
        self.chosen = -1

    @cython.cfunc
    def answers(self, k: cython.Py_ssize_t) -> cython.bint:
        return self.slot[k] == self.chosen

    @cython.cfunc
    def add_evidence(self, row: Row):
        stride: cython.Py_ssize_t = self.tables.values.layout.classes
        n: cython.Py_ssize_t = self.gather(row)
        parent: cython.Py_ssize_t = -1
        k: cython.Py_ssize_t
        y: cython.Py_ssize_t
        ratio: cython.double
        for k in range(n):
            if self.slot[k] == self.chosen:
                parent = k
        self.reserve_terms(n, stride)
        if parent < 0 or not self.begin_terms(n) or not self.eligible[parent]:
            self.add_values(row)
            return
        for k in range(n):
            if k == parent:
                continue
            for y in range(self.tables.labels):
                ratio = self.given_parent(k, parent, y)
                if ratio >= 0.0:
                    self.product[parent * stride + y] *= ratio
            self.lift(parent, parent + 1)
        for y in range(self.tables.labels):
            self.set_joint(y, self.product[parent * stride + y], self.scale[parent * stride + y])

    @cython.ccall
    def learn(self, row: Row):
        """Count a row that has room in the tables, and the losses of predicting it."""
        if not self.live_choice or row.weight == 0.0 or self.begin() == 0:
            AverageReading.learn(self, row)
            return
        self.gather(row)
        self.fused = self.can_fuse(row)
        self.find_terms(row, row.weight if self.fused else 0.0)
        self.note_losses(self, row)
        AverageReading.learn_judged(self, row)

    @cython.cfunc
    def judge_to_learn(self, row: Row) -> cython.bint:
        return self.judge(row)

    @cython.cfunc
    def learn_judged(self, row: Row):
        self.learn(row)

    @cython.cfunc
    def note_losses(self, terms: AverageReading, row: Row):
        """Add what each super-parent loses by the true class, from the terms of all, and choose the one to answer
        next.
        """
        stride: cython.Py_ssize_t = self.tables.values.layout.classes
        features: cython.Py_ssize_t = self.tables.values.layout.features
        known: cython.Py_ssize_t = self.loss.shape[0]
        k: cython.Py_ssize_t
        f: cython.Py_ssize_t
        if known < features:
            # Until it was met, a feature was missing, and naive Bayes answered for it.
            self.loss = np.concatenate([self.loss, np.full(features - known, self.plain_loss)])
        self.begin()
        terms.begin()
        terms.note_prior()
        self.add_values(row)
        self.settle_impossible()
        self.normalise()
        plain: cython.double = row.weight * loss_of(self.share[row.label])
        for f in range(features):
            self.loss[f] = self.loss[f] * self.decay + plain
        self.plain_loss = self.plain_loss * self.decay + plain
        for k in range(terms.entries):
            if terms.eligible[k]:
                self.loss[terms.slot[k]] += row.weight * loss_of(terms.share_of(k, row.label, stride)) - plain
        self.chosen = -1
        for f in range(features):
            if self.tables.values.distinct[f] == 0:
                continue  # not met yet, or spare
            if self.chosen < 0 or self.loss[f] < self.loss[self.chosen]:
                self.chosen = f


@cython.cclass
class ChoiceReading(Reading):
    """Several readings of one store; the best one answers, or their mixture.

    Parameters
    ----------
    members
        The readings, all of these tables. Of equal ones the first is the best.
    mixture
        Whether all answer, by weight, or the best one alone.
    decay
        What is left of a loss after an event.
    """

    def __init__(self, tables, labels, members, mixture: cython.bint, decay: cython.double, **settings):
        Reading.__init__(self, tables, labels, **settings)
        self.members = list(members)
        self.mixture = mixture
        self.decay = decay
        self.average = None
        self.super_parents = None
        for member in self.members:
            if isinstance(member, SuperParentReading):
                self.super_parents = member
            elif isinstance(member, AverageReading) and not isinstance(member, PairAverageReading):
                self.average = member
        self.shares = np.zeros((len(self.members), 2))
        self.forget_losses()

    def forget_losses(self):
        """Start the choice anew."""
        self.loss = np.zeros(len(self.members))
        self.leader = 0
        self.since = int(self.tables.clock)
        if self.super_parents is not None:
            self.super_parents.forget_losses()

    def derive(self):
        """Let the members derive what they must."""
        for member in self.members:
            if self.tables.clock >= member.due:
                member.derive()
        self.due = min(member.due for member in self.members)

    @cython.cfunc
    def judge(self, row: Row) -> cython.bint:
        m: cython.Py_ssize_t
        if self.begin() == 0:
            return False
        if not self.mixture:
            self.take_over(self.leader, row)
            return True
        for m in range(len(self.members)):
            self.ask(m, row)
        self.mix()
        return True

    @cython.cfunc
    def take_over(self, m: cython.Py_ssize_t, row: Row):
        """Answer what one member answers."""
        member: Reading = self.members[m]
        y: cython.Py_ssize_t
        member.judge(row)
        for y in range(self.tables.labels):
            self.score[y] = member.score[y]
        self.shift = member.shift

    @cython.cfunc
    def ask(self, m: cython.Py_ssize_t, row: Row):
        """Note the probabilities that a member gives."""
        member: Reading = self.members[m]
        member.judge(row)
        self.note(m)

    @cython.cfunc
    def note(self, m: cython.Py_ssize_t):
        """Note the probabilities that a member has just given."""
        member: Reading = self.members[m]
        y: cython.Py_ssize_t
        member.normalise()
        if self.shares.shape[1] < self.tables.labels:
            self.shares = np.zeros((len(self.members), 2 * self.tables.labels))
        for y in range(self.tables.labels):
            self.shares[m, y] = member.share[y]

    @cython.cfunc
    def mix(self):
        """Set the scores to the logarithms of the weighted probabilities noted."""
        m: cython.Py_ssize_t
        y: cython.Py_ssize_t
        weight: cython.double
        total: cython.double = 0.0
        for y in range(self.tables.labels):
            self.share[y] = 0.0
        for m in range(self.loss.shape[0]):
            weight = exp(self.loss[self.leader] - self.loss[m])
            total += weight
            for y in range(self.tables.labels):
                self.share[y] += weight * self.shares[m, y]
        for y in range(self.tables.labels):
            self.score[y] = log_of(self.share[y] / total)
        self.shift = 0.0

    @cython.cfunc
    def judge_to_learn(self, row: Row) -> cython.bint:
        """Let every member score the row; the average comes last, as it may count the pairs on the way."""
        m: cython.Py_ssize_t
        y: cython.Py_ssize_t
        member: Reading
        self.asked = False
        if row.weight == 0.0:
            return self.judge(row)
        if self.begin() == 0:
            return False
        self.asked = True
        for m in range(len(self.members)):
            if self.members[m] is not self.average:
                self.ask(m, row)
        for m in range(len(self.members)):
            if self.members[m] is self.average:
                self.average.judge_to_learn(row)
                self.note(m)
        if self.mixture:
            self.mix()
        else:
            member = self.members[self.leader]
            for y in range(self.tables.labels):
                self.score[y] = member.score[y]
            self.shift = member.shift
        if self.super_parents is not None:  # last, as it scores with what the members scored with
            if self.average is None:
                self.super_parents.begin()
                self.super_parents.find_terms(row, 0.0)
                self.super_parents.note_losses(self.super_parents, row)
            else:
                self.super_parents.note_losses(self.average, row)
        return True

    @cython.cfunc
    def learn_judged(self, row: Row):
        if not self.asked:
            Reading.learn(self, row)
            return
        self.note_members(row)
        if self.average is not None:
            self.average.learn_judged(row)
        else:
            self.tables.add(row)
        if self.tables.clock >= self.due:
            self.derive()

    @cython.ccall
    def learn(self, row: Row):
        """Count a row that has room in the tables, and what each member loses by it."""
        self.judge_to_learn(row)
        self.learn_judged(row)

    @cython.cfunc
    def note_members(self, row: Row):
        """Add each member's loss of the true class, and see who leads."""
        m: cython.Py_ssize_t
        best: cython.Py_ssize_t = 0
        for m in range(self.loss.shape[0]):
            self.loss[m] = self.loss[m] * self.decay + row.weight * loss_of(self.shares[m, row.label])
            if self.loss[m] < self.loss[best]:
                best = m
        if best != self.leader:
            self.leader = best
            self.since = self.tables.clock + 1
