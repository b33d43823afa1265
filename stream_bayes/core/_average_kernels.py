"""Scoring from pairs of values: the average over all super-parents.

AODE looks at every pair of an event's values, so that loop decides its speed. It keeps a running product for each
super-parent and class, walks along the rows of the triangle that `_layout` draws, reads each cell once and multiplies
it into the products of both its values:

    product[k] *= P(e | y, k)        product[e] *= P(k | y, e)        for each pair of entries e < k

Products are brought back into the middle of the range of a double every so many factors, as many as cannot leave it;
`scale` counts how often that took place. Where an event lacked a feature, or under Laplace, denominators differ from
pair to pair and the loop has to divide; otherwise all children of a super-parent share one.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.math import exp, log, log2

from stream_bayes.core.values import name_order

if not cython.compiled:
    from stream_bayes.core._kernels import Reading, log_of
    from stream_bayes.core._layout import Layout
    from stream_bayes.core._pair_counts import PairCounts
    from stream_bayes.core._pair_kernels import PairReading
    from stream_bayes.core._rows import Row
    from stream_bayes.core._tables import Tables
    from stream_bayes.core._value_counts import ValueCounts

NEVER = cython.declare(cython.double, float("-inf"))
LOW = cython.declare(cython.double, 2.0**-256)
LIFT = cython.declare(cython.double, 2.0**512)
LOG_LIFT = cython.declare(cython.double, 354.89135644669199)  # log(2^512)
SAFE_BITS = cython.declare(cython.double, 700.0)  # by which a product above LOW may shrink and still be exact

ALIKE: Any = None  # a type checker must know that an array may take its place


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def multiply_two_classes(
    weight: cython.double[::1],
    product: cython.double[::1],
    inverse: cython.double[::1],
    child: cython.double[::1],
    place: cython.longlong[::1],
    line: cython.longlong,
    k: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    label: cython.Py_ssize_t,
    amount: cython.double,
) -> cython.void:
    """The pairs of entry k with the entries from `first` to before `last`; `amount` is added to their cells."""
    e: cython.Py_ssize_t
    cell: cython.longlong
    price: cython.double
    own: cython.double = child[k]
    zero: cython.double
    one: cython.double
    product_zero: cython.double = product[2 * k]
    product_one: cython.double = product[2 * k + 1]
    inverse_zero: cython.double = inverse[2 * k]
    inverse_one: cython.double = inverse[2 * k + 1]
    for e in range(first, last):
        cell = line + 2 * place[e]
        price = child[e]
        zero = weight[cell]
        one = weight[cell + 1]
        product_zero *= (zero + price) * inverse_zero
        product_one *= (one + price) * inverse_one
        product[2 * e] *= (zero + own) * inverse[2 * e]
        product[2 * e + 1] *= (one + own) * inverse[2 * e + 1]
        if amount != 0.0:
            weight[cell + label] += amount
    product[2 * k] = product_zero
    product[2 * k + 1] = product_one


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def multiply_classes(
    weight: cython.double[::1],
    product: cython.double[::1],
    inverse: cython.double[::1],
    child: cython.double[::1],
    place: cython.longlong[::1],
    line: cython.longlong,
    k: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    label: cython.Py_ssize_t,
    amount: cython.double,
    stride: cython.Py_ssize_t,
    classes: cython.Py_ssize_t,
) -> cython.void:
    """The same for any number of classes, two at a time; the last of an odd number is followed by an empty one."""
    e: cython.Py_ssize_t
    y: cython.Py_ssize_t
    mine: cython.Py_ssize_t = stride * k
    other: cython.Py_ssize_t
    cell: cython.longlong
    price: cython.double
    own: cython.double = child[k]
    zero: cython.double
    one: cython.double
    for e in range(first, last):
        cell = line + stride * place[e]
        other = stride * e
        price = child[e]
        for y in range(0, classes, 2):
            zero = weight[cell + y]
            one = weight[cell + y + 1]
            product[mine + y] *= (zero + price) * inverse[mine + y]
            product[mine + y + 1] *= (one + price) * inverse[mine + y + 1]
            product[other + y] *= (zero + own) * inverse[other + y]
            product[other + y + 1] *= (one + own) * inverse[other + y + 1]
        if amount != 0.0:
            weight[cell + label] += amount


@cython.cclass
class AverageReading(PairReading):
    """AODE: the average over super-parents i of P(y, i) times P(j | y, i) for each other value j.

    Parameters
    ----------
    min_count
        A value is a super-parent if it holds at least this weight, in fresh samples; naive Bayes answers if none does.
    generality
        Drop a value that a more special one implies, once that one holds more than this weight; negative: never.
    tolerance
        The share of samples by which an implication may fail and still be one.
    encoder
        Whose features' names break ties among values that imply each other.

    `importance`, if set, weighs the super-parents by slot.
    """

    def __init__(
        self,
        tables,
        labels,
        min_count: cython.double = 30.0,
        generality: cython.double = -1.0,
        tolerance: cython.double = 0.0,
        encoder=None,
        **settings,
    ):
        PairReading.__init__(self, tables, labels, **settings)
        self.min_count = min_count
        self.generality = generality
        self.tolerance = tolerance
        self.importance = ALIKE
        self.encoder = encoder
        self.rank = np.zeros(0, np.longlong)
        self.child, self.product, self.inverse = np.zeros(0), np.zeros(0), np.zeros(0)
        self.reweigh, self.belief = np.ones(2), np.zeros(2)
        self.reserve_terms(8, 2)

    @cython.cfunc
    def reserve_terms(self, entries: cython.Py_ssize_t, stride: cython.Py_ssize_t):
        """Make room for a term of each entry and class."""
        if self.child.shape[0] < entries:
            self.child = np.zeros(2 * entries)
            self.eligible = np.zeros(2 * entries, np.uint8)
        if self.product.shape[0] < entries * stride:
            size = 2 * entries * stride
            self.product, self.inverse = np.zeros(size), np.zeros(size)
            self.scale = np.zeros(size, np.intc)

    def members(self, row: Row, y: cython.Py_ssize_t) -> list:
        """What each super-parent's joint probability is made of: its weight among them, the smoothed weight of (y,
        value) and of its feature, and the shares of the other values. Empty where naive Bayes answers.
        """
        values: ValueCounts = self.tables.values
        n: cython.Py_ssize_t
        k: cython.Py_ssize_t
        e: cython.Py_ssize_t
        answer: list = []
        self.begin()
        n = self.gather(row)
        if n > 1 and self.generality >= 0.0:
            n = self.drop_generalities()
        self.reserve_terms(n, values.layout.classes)
        if not self.begin_terms(n):
            return answer
        for k in range(n):
            if not self.eligible[k] or not self.answers(k):
                continue
            cells: cython.Py_ssize_t = self.live * values.distinct[self.slot[k]]
            add: cython.double = self.price(cells)
            total: cython.double = add * cells
            for e in range(self.tables.labels):
                total += values.present[self.slot[k] * values.layout.classes + e]
            own: cython.double = (self.weight_of(k, y) + add) / self.tables.unit
            weight: cython.double = 1.0 if self.importance is None else self.importance[self.slot[k]]
            rest: list = [self.share_beside(e, k, y) for e in range(n) if e != k]
            answer.append((float(weight), float(own), float(total / self.tables.unit), rest))
        return answer

    @cython.cfunc
    def answers(self, k: cython.Py_ssize_t) -> cython.bint:
        """Whether an entry noted is one of the super-parents that answer."""
        return True

    @cython.cfunc
    def add_evidence(self, row: Row):
        if not self.find_terms(row, 0.0):
            self.add_values(row)
            return
        self.average()

    @cython.cfunc
    def find_terms(self, row: Row, amount: cython.double) -> cython.bint:
        """Compute every super-parent's joint probability with each class; False where no value is a super-parent.

        An `amount` other than 0 is added to the pairs of the row on the way: they must all be there.
        """
        n: cython.Py_ssize_t = self.gather(row)
        k: cython.Py_ssize_t
        if n > 1 and self.generality >= 0.0:
            n = self.drop_generalities()
        self.reserve_terms(n, self.tables.values.layout.classes)
        found: cython.bint = self.begin_terms(n)
        if amount == 0.0 and not found:
            return False
        if self.spread and self.tables.pairs.beside is None and not self.soft:
            self.multiply(row.label, amount)
        else:
            for k in range(1, n):
                self.divide(k)
        self.lift(0, n)
        return found

    @cython.cfunc
    def begin_terms(self, n: cython.Py_ssize_t) -> cython.bint:
        """Set each product to P(y, value), and say whether any value is a super-parent."""
        tables: Tables = self.tables
        values: ValueCounts = tables.values
        stride: cython.Py_ssize_t = values.layout.classes
        classes: cython.Py_ssize_t = tables.labels
        k: cython.Py_ssize_t
        y: cython.Py_ssize_t
        count: cython.double
        total: cython.double
        present: cython.double
        add: cython.double
        found: cython.bint = False
        strength: cython.double = self.strength * tables.unit
        least: cython.double = self.min_count * tables.unit * (1.0 - 1e-12)
        self.largest = 0.0
        self.smallest = strength
        for k in range(n):
            self.child[k] = self.price(values.distinct[self.slot[k]])
            self.smallest = min(self.smallest, self.child[k])
            total = 0.0
            present = 0.0
            for y in range(classes):
                total += self.weight_of(k, y)
                present += values.present[self.slot[k] * stride + y]
            add = self.price(self.live * values.distinct[self.slot[k]])
            present += add * self.live * values.distinct[self.slot[k]]
            self.eligible[k] = total >= least and total > 0.0
            if self.importance is not None and (
                self.slot[k] >= self.importance.shape[0] or self.importance[self.slot[k]] <= 0.0
            ):
                self.eligible[k] = False
            found = found or self.eligible[k]
            for y in range(stride):
                count = self.weight_of(k, y) if y < classes else 0.0
                self.product[k * stride + y] = (count + add) / present if present > 0.0 else 0.0
                self.scale[k * stride + y] = 0
                self.largest = max(self.largest, count + strength)
                self.inverse[k * stride + y] = 1.0 / (count + strength) if count + strength > 0.0 else 0.0
        return found

    @cython.cfunc
    def multiply(self, label: cython.Py_ssize_t, amount: cython.double):
        """Multiply all pairs into the products, where all children of a super-parent share a denominator."""
        layout: Layout = self.tables.values.layout
        stride: cython.Py_ssize_t = layout.classes
        n: cython.Py_ssize_t = self.entries
        weight: cython.double[::1] = self.tables.pairs.weight
        product: cython.double[::1] = self.product
        inverse: cython.double[::1] = self.inverse
        child: cython.double[::1] = self.child
        place: cython.longlong[::1] = self.place
        k: cython.Py_ssize_t
        first: cython.Py_ssize_t
        last: cython.Py_ssize_t
        line: cython.longlong
        steps: cython.Py_ssize_t = self.safe_steps()
        for k in range(1, n):
            line = layout.pair(place[k], 0) * stride
            first = 0
            while first < k:
                last = min(k, first + steps)
                if stride == 2:
                    multiply_two_classes(
                        weight, product, inverse, child, place, line, k, first, last, label, amount
                    )
                else:
                    multiply_classes(
                        weight,
                        product,
                        inverse,
                        child,
                        place,
                        line,
                        k,
                        first,
                        last,
                        label,
                        amount,
                        stride,
                        self.tables.labels,
                    )
                self.lift(k, k + 1)
                first = last
            if k % steps == 0:
                self.lift(0, k)

    @cython.cfunc
    def safe_steps(self) -> cython.Py_ssize_t:
        """How many factors a product above LOW can take and stay within the range of a double."""
        smallest: cython.double = self.smallest
        if smallest <= 0.0:
            # Unsmoothed, a factor that is not 0 is at least 1 / largest where weights are whole.
            if not self.tables.exact:
                return 1
            smallest = 1.0
        if self.largest <= smallest:
            return 1000
        bits: cython.double = log2(self.largest / smallest)
        if bits * 1000.0 < SAFE_BITS:
            return 1000
        return max(1, cython.cast(cython.Py_ssize_t, SAFE_BITS / bits))

    @cython.cfunc
    def lift(self, first: cython.Py_ssize_t, last: cython.Py_ssize_t):
        """Bring the products of these entries back into the middle of the range of a double."""
        stride: cython.Py_ssize_t = self.tables.values.layout.classes
        cell: cython.Py_ssize_t
        for cell in range(first * stride, last * stride):
            while 0.0 < self.product[cell] < LOW:
                self.product[cell] *= LIFT
                self.scale[cell] -= 1

    @cython.cfunc
    def divide(self, k: cython.Py_ssize_t):
        """Multiply the pairs of entry k into the products, each with a denominator of its own."""
        values: ValueCounts = self.tables.values
        stride: cython.Py_ssize_t = values.layout.classes
        e: cython.Py_ssize_t
        y: cython.Py_ssize_t
        both: cython.double
        below: cython.double
        for e in range(k):
            for y in range(self.tables.labels):
                both = self.weight_together(k, e, y)
                below = self.weight_beside(k, self.slot[e], y) + self.child[e] * values.distinct[self.slot[e]]
                if below > 0.0:  # 0/0 says nothing
                    self.product[k * stride + y] *= (both + self.child[e]) / below
                below = self.weight_beside(e, self.slot[k], y) + self.child[k] * values.distinct[self.slot[k]]
                if below > 0.0:
                    self.product[e * stride + y] *= (both + self.child[k]) / below
            self.lift(k, k + 1)
        self.lift(0, k)

    @cython.cfunc
    def drop_generalities(self) -> cython.Py_ssize_t:
        """Leave out each value that another implies: all samples that hold the one hold the other. Of two that imply
        each other the first by its feature's name stays.
        """
        pairs: PairCounts = self.tables.pairs
        values: ValueCounts = self.tables.values
        stride: cython.Py_ssize_t = values.layout.classes
        n: cython.Py_ssize_t = self.entries
        k: cython.Py_ssize_t
        e: cython.Py_ssize_t
        y: cython.Py_ssize_t
        kept: cython.Py_ssize_t = 0
        both: cython.double
        general: cython.bint
        special: cython.bint
        critical: cython.double = self.generality * self.tables.unit
        certain: cython.double = 1.0 - max(self.tolerance, 1e-12)
        self.reserve_terms(n, stride)
        dropped: cython.uchar[::1] = self.eligible
        rank: cython.longlong[::1] = self.ranks()
        for k in range(n):
            dropped[k] = False
            self.child[k] = 0.0
            for y in range(self.tables.labels):
                self.child[k] += values.weight[self.place[k] * stride + y]
        for k in range(1, n):
            for e in range(k):
                both = 0.0
                for y in range(self.tables.labels):
                    both += pairs.weight[pairs.layout.pair(self.place[k], self.place[e]) * stride + y]
                general = both >= self.child[e] * certain and self.child[e] > critical
                special = both >= self.child[k] * certain and self.child[k] > critical
                if general and special:
                    general = rank[self.slot[e]] < rank[self.slot[k]]
                    special = not general
                if general:
                    dropped[k] = True
                elif special:
                    dropped[e] = True
        for k in range(n):
            if not dropped[k]:
                self.slot[kept] = self.slot[k]
                self.place[kept] = self.place[k]
                self.left[kept] = self.left[k]
                self.right[kept] = self.right[k]
                kept += 1
        self.entries = kept
        return kept

    def ranks(self):
        """The place of each slot's feature in the order of names."""
        if self.rank.shape[0] != len(self.encoder.nominal):
            names = [name_order(feature.name) for feature in self.encoder.nominal]
            order = sorted(range(len(names)), key=names.__getitem__)
            rank = np.zeros(len(names), np.longlong)
            rank[order] = np.arange(len(names))
            self.rank = rank
        return self.rank

    @cython.cfunc
    def average(self):
        """Set the scores to the logarithm of the mean of the terms."""
        stride: cython.Py_ssize_t = self.tables.values.layout.classes
        k: cython.Py_ssize_t
        y: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        top: cython.int
        total: cython.double
        share: cython.double
        whole: cython.double = 0.0
        for k in range(self.entries):
            if self.eligible[k]:
                whole += 1.0 if self.importance is None else self.importance[self.slot[k]]
        for y in range(self.tables.labels):
            top = -2147483647
            for k in range(self.entries):
                cell = k * stride + y
                if self.eligible[k] and self.product[cell] > 0.0 and self.scale[cell] > top:
                    top = self.scale[cell]
            total = 0.0
            for k in range(self.entries):
                cell = k * stride + y
                if not self.eligible[k] or self.scale[cell] < top - 1:
                    continue
                share = self.product[cell] if self.scale[cell] == top else self.product[cell] / LIFT
                total += share if self.importance is None else share * self.importance[self.slot[k]]
            self.set_joint(y, total / whole, top)

    @cython.cfunc
    def share_of(
        self, k: cython.Py_ssize_t, label: cython.Py_ssize_t, stride: cython.Py_ssize_t
    ) -> cython.double:
        """The probability that one super-parent alone gives a class; the prior's where it holds none possible."""
        y: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        top: cython.int = -2147483647
        own: cython.double = 0.0
        total: cython.double = 0.0
        term: cython.double
        for y in range(self.tables.labels):
            cell = k * stride + y
            if self.has_say(y) and self.product[cell] > 0.0 and self.scale[cell] > top:
                top = self.scale[cell]
        for y in range(self.tables.labels):
            cell = k * stride + y
            if not self.has_say(y) or self.scale[cell] < top - 1:
                continue
            term = self.product[cell] if self.scale[cell] == top else self.product[cell] / LIFT
            term *= self.reweigh[y]
            total += term
            if y == label:
                own = term
        return own / total if total > 0.0 else self.belief[label]

    @cython.cfunc
    def note_prior(self):
        """Note P(y), which the scores hold as logarithms, and what it is to the counted one."""
        y: cython.Py_ssize_t
        counted: cython.double
        if self.reweigh.shape[0] < self.tables.labels:
            self.reweigh, self.belief = np.ones(2 * self.tables.labels), np.zeros(2 * self.tables.labels)
        for y in range(self.tables.labels):
            self.belief[y] = exp(self.score[y])
            if self.class_prior != "counted" and self.has_say(y):
                counted = self.counted(y)
                self.reweigh[y] = self.belief[y] / counted if counted > 0.0 else self.belief[y]

    @cython.cfunc
    def set_joint(self, y: cython.Py_ssize_t, value: cython.double, scale: cython.int):
        """Set a score to a joint probability, under another prior than the counted one if there is one."""
        counted: cython.double
        if self.score[y] == NEVER:
            return
        if value <= 0.0:
            self.score[y] = NEVER
            return
        joint: cython.double = log(value) + scale * LOG_LIFT
        if self.class_prior != "counted":
            counted = self.counted(y)
            joint += self.score[y] - log_of(counted) if counted > 0.0 else 0.0
        self.score[y] = joint

    @cython.cfunc
    def counted(self, y: cython.Py_ssize_t) -> cython.double:
        """P(y) as the counts have it, whatever prior was given."""
        tables: Tables = self.tables
        add: cython.double = self.prior_strength * tables.unit
        total: cython.double = 0.0
        z: cython.Py_ssize_t
        if self.spread:
            add /= self.live
        for z in range(tables.labels):
            total += tables.class_weight[z]
        total += add * self.live
        return (tables.class_weight[y] + add) / total if total > 0.0 else 0.0

    @cython.cfunc
    def can_fuse(self, row: Row) -> cython.bint:
        """Whether predicting and learning a row can visit its pairs together, to the same result."""
        tables: Tables = self.tables
        return (
            tables.exact
            and row.whole
            and row.weight > 0.0
            and row.entries == self.entries
            and self.spread
            and not row.soft
            and self.generality < 0.0
            and tables.pairs.beside is None
            and tables.triples is None
            and self.keeps_complete(row)
        )

    @cython.cfunc
    def judge_to_learn(self, row: Row) -> cython.bint:
        """Score a row and, where that gives the same, add its pairs on the way."""
        self.gather(row)
        self.fused = self.can_fuse(row) and self.begin() > 0
        if not self.fused:
            return self.judge(row)
        if self.find_terms(row, row.weight):
            self.average()
        else:
            self.add_values(row)
        self.settle_impossible()
        return True

    @cython.cfunc
    def learn_judged(self, row: Row):
        """Learn what is not learned yet."""
        if not self.fused:
            Reading.learn(self, row)
            return
        self.tables.tick(1)
        self.tables.put_values(row, 1.0)
        if row.numbers and self.tables.discretizer is not None:
            self.tables.discretizer.keep(row)
        if self.tables.clock >= self.due:
            self.derive()

    @cython.cfunc
    def keeps_complete(self, row: Row) -> cython.bint:
        """Whether the row has every feature that any sample has: then there is still no table beside the pairs."""
        layout: Layout = self.tables.values.layout
        f: cython.Py_ssize_t
        known: cython.Py_ssize_t = 0
        for f in range(layout.features):
            if layout.used[f] > 0:
                known += 1
        return row.entries == known
