"""AODE: scores from pairs of values, averaged over all super-parents, with subsumption resolution.

AODE reads every pair of an event's values, so that loop decides its speed. It is in `_terms`, and walks along the rows
of the triangle that `_layout` draws. If an event lacked a feature, or under Laplace smoothing, each pair has its own
denominator, and a slower loop divides.

Subsumption resolution (Zheng and Webb, 2006) drops a value that another one implies: "pregnant" implies "female", and
with both known the general value would double the evidence of the specific one.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.math import log

from stream_bayes.core.readings._terms import Terms
from stream_bayes.core.values.values import name_order

if not cython.compiled:
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.counts._pairs import PairCounts
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.counts._values import ValueCounts
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._one_parent import PairReading
    from stream_bayes.core.readings._reading import Reading, log_of


@cython.cclass
class Subsumption:
    """Search for implied values: all samples that hold the one value hold the other. `encoder` is that of the tables.
    Of two values that imply each other, that of the first feature by name stays. A value must hold more than the weight
    `least`, in fresh samples, to imply another; negative: none does.
    """

    def __init__(self, encoder, least: cython.double):
        self.encoder = encoder
        self.least = least
        self.rank = np.zeros(0, np.longlong)
        self.total = np.zeros(0)
        self.implied = np.zeros(0, np.uint8)

    @cython.cfunc
    def ranks(self) -> cython.longlong[::1]:
        """Return the rank of each slot's feature in the order of names."""
        if self.rank.shape[0] != len(self.encoder.nominal):
            names = [name_order(feature.name) for feature in self.encoder.nominal]
            order = sorted(range(len(names)), key=names.__getitem__)
            rank = np.zeros(len(names), np.longlong)
            rank[order] = np.arange(len(names))
            self.rank = rank
        return self.rank

    @cython.cfunc
    def find(
        self,
        tables: Tables,
        slot: cython.longlong[::1],
        position: cython.longlong[::1],
        entries: cython.Py_ssize_t,
    ):
        """Mark in `implied` the entries of an event that another entry implies."""
        pairs: PairCounts = tables.pairs
        values: ValueCounts = tables.values
        layout: Layout = values.layout
        stride: cython.Py_ssize_t = layout.classes
        critical: cython.double = self.least * tables.unit
        certain: cython.double = 1.0 - 1e-12  # faded weights carry rounding errors
        rank: cython.longlong[::1] = self.ranks()
        if self.total.shape[0] < entries:
            self.total, self.implied = np.zeros(2 * entries), np.zeros(2 * entries, np.uint8)
        for k in range(entries):
            self.implied[k] = False
            self.total[k] = 0.0
            for y in range(tables.labels):
                self.total[k] += values.weight[position[k] * stride + y]
        for k in range(1, entries):
            for e in range(k):
                both = 0.0
                for y in range(tables.labels):
                    both += pairs.weight[layout.pair(position[k], position[e]) * stride + y]
                general: cython.bint = both >= self.total[e] * certain and self.total[e] > critical
                specific: cython.bint = both >= self.total[k] * certain and self.total[k] > critical
                if general and specific:
                    general = rank[slot[e]] < rank[slot[k]]
                    specific = not general
                if general:
                    self.implied[k] = True
                elif specific:
                    self.implied[e] = True


NEVER = cython.declare(cython.double, float("-inf"))
LIFT = cython.declare(cython.double, 2.0**512)  # of _terms
LOG_LIFT = cython.declare(cython.double, 354.89135644669199)
LOW = cython.declare(cython.double, 2.0**-256)

ALIKE: Any = None  # for type checkers: an array may take its place


@cython.cclass
class AverageReading(PairReading):
    """AODE: the average over super-parents i of P(y, i) times P(j | y, i) for each other value j.

    A value is a super-parent if it holds at least the weight `min_count`, in fresh samples; naive Bayes answers if none
    does. A value that a more specific one implies is dropped once that one holds more than the weight `generality`;
    negative: never. `encoder` is that of the tables; names of features break ties among values that imply each other.
    `importance`, if set, weighs the super-parents by slot.
    """

    def __init__(
        self,
        tables,
        labels,
        min_count: cython.double = 30.0,
        generality: cython.double = -1.0,
        encoder=None,
        **settings,
    ):
        PairReading.__init__(self, tables, labels, **settings)
        self.min_count = min_count
        self.importance = ALIKE
        self.encoder = encoder
        self.subsumption = Subsumption(encoder, generality)
        self.terms = Terms()
        self.fused = False

    @cython.cfunc
    def gather_specific(self, row: Row) -> cython.Py_ssize_t:
        """Gather the entries of a row without those that others imply; return their number."""
        n: cython.Py_ssize_t = self.gather(row)
        remaining: cython.Py_ssize_t = 0
        if n < 2 or self.subsumption.least < 0.0:
            return n
        self.subsumption.find(self.tables, self.slot, self.position, n)
        implied = self.subsumption.implied
        for k in range(n):
            if not implied[k]:
                self.slot[remaining] = self.slot[k]
                self.position[remaining] = self.position[k]
                self.left[remaining] = self.left[k]
                self.right[remaining] = self.right[k]
                remaining += 1
        self.entries = remaining
        return remaining

    @cython.cfunc
    def add_evidence(self, row: Row):
        self.gather_specific(row)
        if not self.find_terms(row, 0.0):
            self.add_values(row)
            return
        self.average()

    @cython.cfunc
    def find_terms(self, row: Row, amount: cython.double) -> cython.bint:
        """Compute the joint probability of each gathered entry with each class; return False if none is a super-parent.

        An `amount` other than 0 is added to the pairs of the row on the way: they must all be there.
        """
        terms: Terms = self.terms
        pairs: PairCounts = self.tables.pairs
        has_parent: cython.bint = self.begin_terms(0, self.entries)
        if amount == 0.0 and not has_parent:
            return False
        if not self.spread or pairs.beside is not None:
            self.divide()
        elif self.soft:
            self.place_cells()
            self.cells.gather_pairs(pairs)
            terms.place_compactly(self.entries)
            terms.multiply_pairs(self.cells.count, 0, 0.0, terms.safe_steps(self.tables.exact))
        else:
            terms.place_rows(pairs.layout, self.position, self.entries)
            terms.multiply_pairs(pairs.weight, row.label, amount, terms.safe_steps(self.tables.exact))
        return has_parent

    @cython.cfunc
    def begin_terms(self, first: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.bint:
        """Start a term, P(y, value), for each entry from `first` to before `last`; return True if any is a
        super-parent.
        """
        tables: Tables = self.tables
        values: ValueCounts = tables.values
        terms: Terms = self.terms
        stride: cython.Py_ssize_t = values.layout.classes
        classes: cython.Py_ssize_t = tables.labels
        term: cython.Py_ssize_t = 0
        different: cython.Py_ssize_t = -1
        pseudocount: cython.double = 0.0
        add: cython.double = 0.0
        terms.begin(last - first, last - first, classes, stride)
        terms.smallest = self.strength * tables.unit
        for k in range(first, last):
            f: cython.Py_ssize_t = self.slot[k]
            if values.distinct[f] != different:  # many features have as many values as the last
                different = values.distinct[f]
                pseudocount = self.pseudocount(different)
                add = self.pseudocount(self.live * different)
                terms.smallest = min(terms.smallest, pseudocount)
            terms.pseudocount[term] = pseudocount + self.extra
            terms.add[term] = add + self.extra
            whole = add * (self.live * different)
            for y in range(classes):
                whole += values.present[f * stride + y]
                if self.soft:
                    terms.product[term * stride + y] = self.weight_of(k, y)
                else:
                    terms.product[term * stride + y] = values.weight[self.position[k] * stride + y]
            terms.whole[term] = whole
            terms.parent_weight[term] = 1.0
            if self.importance is not None:
                terms.parent_weight[term] = self.importance[f] if f < self.importance.shape[0] else 0.0
            term += 1
        return terms.normalise_parents(
            self.strength * tables.unit + self.extra, self.min_count * tables.unit * (1.0 - 1e-12)
        )

    @cython.cfunc
    def whole_beside(self, k: cython.Py_ssize_t) -> cython.double:
        """Return what smoothing, and the row itself, add to the denominator of an entry as a child."""
        smoothing: cython.double = self.terms.pseudocount[k] - self.extra
        return smoothing * self.tables.values.distinct[self.slot[k]] + self.extra

    @cython.cfunc
    def divide(self):
        """Multiply all pairs into the products, each with a denominator of its own."""
        terms: Terms = self.terms
        stride: cython.Py_ssize_t = terms.stride
        for k in range(1, self.entries):
            whole = self.whole_beside(k)
            for e in range(k):
                for y in range(self.tables.labels):
                    both = self.weight_together(k, e, y)
                    below = self.weight_beside(k, self.slot[e], y) + self.whole_beside(e)
                    if below > 0.0:  # 0/0 is no evidence
                        terms.product[k * stride + y] *= (both + terms.pseudocount[e]) / below
                    below = self.weight_beside(e, self.slot[k], y) + whole
                    if below > 0.0:
                        terms.product[e * stride + y] *= (both + terms.pseudocount[k]) / below
                terms.lift(k, k + 1)
            terms.lift(0, k)

    @cython.cfunc
    def average(self):
        """Set the scores to the logarithm of the mean of the terms."""
        for y in range(self.tables.labels):
            share = self.terms.mean(y)
            self.set_joint(y, share, self.terms.top)

    @cython.cfunc
    def set_joint(self, y: cython.Py_ssize_t, value: cython.double, scale: cython.int):
        """Set a score to a joint probability, under another prior than the counted one if there is one."""
        if self.score[y] == NEVER:
            return
        if value <= 0.0:
            self.score[y] = NEVER
            return
        if (
            scale == -1 and value > LOW
        ):  # where products start: the logarithm is rounded least where it is least
            value /= LIFT
            scale = 0
        joint: cython.double = log(value) + scale * LOG_LIFT
        if self.class_prior != "counted":
            counted = self.counted(y)
            joint += self.score[y] - log_of(counted) if counted > 0.0 else 0.0
        self.score[y] = joint

    @cython.cfunc
    def counted(self, y: cython.Py_ssize_t) -> cython.double:
        """Return P(y) by the counts, whatever prior was given."""
        tables: Tables = self.tables
        add: cython.double = self.prior_strength * tables.unit
        total: cython.double = 0.0
        if self.spread:
            add /= self.live
        for z in range(tables.labels):
            total += tables.class_weight[z]
        total += add * self.live
        return (tables.class_weight[y] + add + self.extra) / total if total > 0.0 else 0.0

    @cython.cfunc
    def can_fuse(self, row: Row) -> cython.bint:
        """Return True if predicting and learning a row can visit its pairs together, to the same result."""
        tables: Tables = self.tables
        return (
            tables.exact
            and row.whole
            and row.weight > 0.0
            and row.entries == self.entries
            and self.spread
            and not row.soft
            and self.subsumption.least < 0.0
            and tables.pairs.beside is None
            and tables.triples is None
            and tables.families is None
            and self.keeps_complete(row)
        )

    @cython.cfunc
    def score_to_learn(self, row: Row) -> cython.bint:
        """Score a row; add its pairs in the same pass if the result is the same."""
        self.gather(row)
        self.fused = self.can_fuse(row) and self.begin() > 0
        if not self.fused:
            return self.score_row(row)
        if self.find_terms(row, row.weight):
            self.average()
        else:
            self.add_values(row)
        self.fall_back_to_prior()
        return True

    @cython.cfunc
    def learn_scored(self, row: Row):
        """Learn the parts that `score_to_learn` has not learned."""
        if not self.fused:
            Reading.learn(self, row)
            return
        self.tables.add_without_pairs(row)
        self.derive_if_due()

    @cython.cfunc
    def keeps_complete(self, row: Row) -> cython.bint:
        """Return True if the row has every feature that any sample has, so that `PairCounts.beside` is not needed."""
        layout: Layout = self.tables.values.layout
        features: cython.Py_ssize_t = 0
        for f in range(layout.features):
            if layout.used[f] > 0:
                features += 1
        return row.entries == features
