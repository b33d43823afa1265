"""SPODE: one super-parent, named or chosen by how well each has predicted.

Every learned event is predicted first. The loss of a super-parent, minus the logarithm of its probability of the true
class, is added to its sum, which fades. The super-parent with the least sum answers next.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, log

if not cython.compiled:
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.counts._pairs import PairCounts
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._aode import AverageReading
    from stream_bayes.core.readings._terms import Terms

LEAST = cython.declare(cython.double, 1e-12)  # the least probability that counts: no single event decides


@cython.cfunc
@cython.exceptval(check=False)
def loss_of(share: cython.double) -> cython.double:
    """Return the loss of having given the true class this probability."""
    return -log(share if share > LEAST else LEAST)


@cython.cclass
class SuperParentReading(AverageReading):
    """SPODE: P(y, i) times P(j | y, i) for each other value j, with one feature as the super-parent.

    Where its value is missing, or is no super-parent, naive Bayes answers. `live` is True if the super-parent is the
    feature with the least loss; False if it stays the slot set as `chosen`. `decay` is the share of a loss that is left
    after an event.
    """

    def __init__(self, tables, labels, live: cython.bint, decay: cython.double = 1.0, **settings):
        AverageReading.__init__(self, tables, labels, **settings)
        self.live_choice = live
        self.decay = decay
        self.chosen = -1
        self.loss = np.zeros(0)
        self.naive_bayes_loss = 0.0  # the loss of naive Bayes
        self.belief, self.reweigh = np.zeros(2), np.zeros(2)

    def forget_losses(self):
        """Set all losses to 0."""
        self.loss = np.zeros(0)
        self.naive_bayes_loss = 0.0
        self.chosen = -1

    @cython.cfunc
    def entry_chosen(self, reader: AverageReading) -> cython.Py_ssize_t:
        """Return the entry of the super-parent that answers, -1 if it is not among the gathered ones."""
        for k in range(reader.entries):
            if reader.slot[k] == self.chosen:
                return k
        return -1

    @cython.cfunc
    def add_evidence(self, row: Row):
        terms: Terms = self.terms
        self.gather(row)
        parent: cython.Py_ssize_t = self.entry_chosen(self)
        shared: cython.bint = (
            self.spread and self.tables.pairs.beside is None
        )  # one denominator for all children
        if parent < 0 or not self.begin_terms(parent, parent + 1):
            self.add_values(row)
            return
        for k in range(self.entries):
            if k == parent:
                continue
            if shared:
                self.multiply_child(k, parent)
            else:
                self.multiply_child_apart(k, parent)
            terms.lift(0, 1)
        for y in range(self.tables.labels):
            self.set_joint(y, terms.product[y], terms.scale[y])

    @cython.cfunc
    def multiply_child_apart(self, child: cython.Py_ssize_t, parent: cython.Py_ssize_t):
        """Do as `multiply_child`, with a denominator of the child's own."""
        terms: Terms = self.terms
        different: cython.Py_ssize_t = self.tables.values.distinct[self.slot[child]]
        pseudocount: cython.double = self.pseudocount(different)
        whole: cython.double = pseudocount * different + self.extra
        pseudocount += self.extra
        for y in range(self.tables.labels):
            both = self.weight_together(max(child, parent), min(child, parent), y)
            below = self.weight_beside(parent, self.slot[child], y) + whole
            if below > 0.0:  # 0/0 is no evidence
                terms.product[y] *= (both + pseudocount) / below

    @cython.cfunc
    def multiply_child(self, child: cython.Py_ssize_t, parent: cython.Py_ssize_t):
        """Multiply P(child's value | y, parent's value) into the only term."""
        terms: Terms = self.terms
        pairs: PairCounts = self.tables.pairs
        high: cython.Py_ssize_t = max(child, parent)
        low: cython.Py_ssize_t = min(child, parent)
        pseudocount: cython.double = (
            self.pseudocount(self.tables.values.distinct[self.slot[child]]) + self.extra
        )
        cell: cython.longlong = pairs.layout.pair(self.position[high], self.position[low]) * terms.stride
        for y in range(terms.classes):
            both = self.weight_together(high, low, y) if self.soft else pairs.weight[cell + y]
            terms.product[y] *= (both + pseudocount) * terms.inverse[y]

    @cython.cfunc
    def score_from_terms(self, reader: AverageReading, row: Row):
        """Score a row from the terms that another reading has computed."""
        terms: Terms = reader.terms
        parent: cython.Py_ssize_t = self.entry_chosen(reader)
        self.begin()
        if parent < 0 or terms.parent_weight[parent] <= 0.0:
            self.add_values(row)
        else:
            for y in range(self.tables.labels):
                c = parent * terms.stride + y
                self.set_joint(y, terms.product[c], terms.scale[c])
        self.fall_back_to_prior()

    @cython.ccall
    def learn(self, row: Row):
        """Learn a row that has room in the tables, and add the losses of predicting it."""
        if not self.live_choice or row.weight == 0.0 or self.begin() == 0:
            AverageReading.learn(self, row)
            return
        self.gather(row)
        self.fused = self.can_fuse(row)
        self.find_terms(row, row.weight if self.fused else 0.0)
        self.add_losses(self, row, self.naive_bayes_share(row))
        AverageReading.learn_scored(self, row)

    @cython.cfunc
    def score_to_learn(self, row: Row) -> cython.bint:
        return self.score_row(row)

    @cython.cfunc
    def learn_scored(self, row: Row):
        self.learn(row)

    @cython.cfunc
    def naive_bayes_share(self, row: Row) -> cython.double:
        """Return the probability of the true class by naive Bayes."""
        self.begin()
        self.add_values(row)
        self.fall_back_to_prior()
        self.normalise()
        return self.share[row.label]

    @cython.cfunc
    def add_losses(self, reader: AverageReading, row: Row, plain: cython.double):
        """Add the loss of each super-parent, from the terms of a reading, and choose the one that answers next.

        A value that is no super-parent has the loss of naive Bayes, whose probability of the true class is `plain`.
        """
        terms: Terms = reader.terms
        layout: Layout = self.tables.values.layout
        features: cython.Py_ssize_t = self.loss.shape[0]
        lost: cython.double = row.weight * loss_of(plain)
        if features < layout.features:
            # Before its first value, a feature was missing, and naive Bayes answered for it.
            self.loss = np.concatenate(
                [self.loss, np.full(layout.features - features, self.naive_bayes_loss)]
            )
        elif features > layout.features:
            self.loss = np.array(self.loss[: layout.features])  # spare room was given up
        self.find_prior()
        loss: cython.double[::1] = self.loss
        distinct: cython.longlong[::1] = self.tables.values.distinct
        for f in range(layout.features):
            loss[f] = loss[f] * self.decay + lost
        self.naive_bayes_loss = self.naive_bayes_loss * self.decay + lost
        for k in range(reader.entries):
            if terms.parent_weight[k] > 0.0:
                share = terms.share(k, row.label, self.reweigh)
                if share < 0.0:
                    share = self.belief[row.label]
                loss[reader.slot[k]] += row.weight * loss_of(share) - lost
        chosen: cython.Py_ssize_t = -1
        for f in range(layout.features):
            if distinct[f] == 0:
                continue  # unused room
            if chosen < 0 or loss[f] < loss[chosen]:
                chosen = f
        self.chosen = chosen

    @cython.cfunc
    def find_prior(self):
        """Note P(y) in `belief`, and what it is to the counted one in `reweigh`; a class without a say has none."""
        if self.belief.shape[0] < self.tables.labels:
            self.belief, self.reweigh = np.zeros(2 * self.tables.labels), np.zeros(2 * self.tables.labels)
        self.fill_prior(self.belief)
        for y in range(self.tables.labels):
            self.belief[y] = exp(self.belief[y])
            self.reweigh[y] = 1.0 if self.is_live(y) else 0.0
            if self.class_prior != "counted" and self.is_live(y):
                counted = self.counted(y)
                self.reweigh[y] = self.belief[y] / counted if counted > 0.0 else self.belief[y]
