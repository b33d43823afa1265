"""Scoring from triples of values: the average over all pairs of super-parents.

A2DE keeps a running product for each pair of an event's values and class, and goes through the triples k > j > i
once: each cell is a child of all three of its pairs.

    product[k, j] *= P(i | y, k, j)    product[k, i] *= P(j | y, k, i)    product[j, i] *= P(k | y, j, i)
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core._average_kernels import AverageReading
    from stream_bayes.core._layout import Layout
    from stream_bayes.core._pair_counts import PairCounts
    from stream_bayes.core._rows import Row
    from stream_bayes.core._tables import Tables
    from stream_bayes.core._triple_counts import TripleCounts
    from stream_bayes.core._value_counts import ValueCounts


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def pair_number(high: cython.Py_ssize_t, low: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The number of a pair of entries."""
    return high * (high - 1) // 2 + low


@cython.cclass
class PairAverageReading(AverageReading):
    """A2DE: the average over pairs of super-parents (i, j) of P(y, i, j) times P(k | y, i, j) for each other value k.

    A pair is eligible if it holds at least `min_count`; where none is, the average over single super-parents answers.
    """

    def __init__(self, tables, labels, **settings):
        AverageReading.__init__(self, tables, labels, **settings)
        self.price_of = np.zeros(0)

    @cython.cfunc
    def add_evidence(self, row: Row):
        n: cython.Py_ssize_t = self.gather(row)
        if n > 1 and self.generality >= 0.0:
            n = self.drop_generalities()
        if n < 2 or not self.begin_pairs(n):
            AverageReading.add_evidence(self, row)
            return
        if self.spread and self.tables.pairs.beside is None and not self.soft:
            self.multiply_triples(n)
        else:
            self.divide_triples(n)
        self.entries = n * (n - 1) // 2
        self.lift(0, self.entries)
        self.average()

    @cython.cfunc
    def judge_to_learn(self, row: Row) -> cython.bint:
        self.fused = False
        return self.judge(row)

    @cython.cfunc
    def begin_pairs(self, n: cython.Py_ssize_t) -> cython.bint:
        """Set each product to P(y, value, value), and say whether any pair is eligible."""
        tables: Tables = self.tables
        values: ValueCounts = tables.values
        stride: cython.Py_ssize_t = values.layout.classes
        k: cython.Py_ssize_t
        j: cython.Py_ssize_t
        y: cython.Py_ssize_t
        pair: cython.Py_ssize_t
        cells: cython.Py_ssize_t
        count: cython.double
        total: cython.double
        whole: cython.double
        add: cython.double
        found: cython.bint = False
        strength: cython.double = self.strength * tables.unit
        least: cython.double = self.min_count * tables.unit * (1.0 - 1e-12)
        self.reserve_terms(n * (n - 1) // 2, stride)
        if self.price_of.shape[0] < n:
            self.price_of = np.zeros(2 * n)
        self.largest = 0.0
        self.smallest = strength
        for k in range(n):
            self.price_of[k] = self.price(values.distinct[self.slot[k]])
            self.smallest = min(self.smallest, self.price_of[k])
            for j in range(k):
                pair = pair_number(k, j)
                cells = self.live * values.distinct[self.slot[k]] * values.distinct[self.slot[j]]
                add = self.price(cells)
                whole = self.weight_of_both(self.slot[k], self.slot[j]) + add * cells
                total = 0.0
                for y in range(stride):
                    count = self.weight_together(k, j, y) if y < tables.labels else 0.0
                    total += count
                    self.product[pair * stride + y] = (count + add) / whole if whole > 0.0 else 0.0
                    self.scale[pair * stride + y] = 0
                    self.largest = max(self.largest, count + strength)
                    self.inverse[pair * stride + y] = (
                        1.0 / (count + strength) if count + strength > 0.0 else 0.0
                    )
                self.eligible[pair] = total >= least and total > 0.0
                found = found or self.eligible[pair]
        return found

    @cython.cfunc
    def weight_of_both(self, high: cython.longlong, low: cython.longlong) -> cython.double:
        """The weight of the samples that have two features, of all classes."""
        tables: Tables = self.tables
        pairs: PairCounts = tables.pairs
        layout: Layout = pairs.layout
        p: cython.longlong
        y: cython.Py_ssize_t
        total: cython.double = 0.0
        if pairs.beside is None:
            for y in range(tables.labels):
                total += tables.class_weight[y]
            return total
        for p in range(layout.start[high], layout.start[high] + layout.used[high]):
            for y in range(tables.labels):
                total += pairs.beside[pairs.beside_cell(p, low) + y]
        return total

    @cython.cfunc
    def multiply_triples(self, n: cython.Py_ssize_t):
        """Multiply all triples into the products, where all children of a pair share a denominator."""
        layout: Layout = self.tables.values.layout
        triples: TripleCounts = self.tables.triples
        weight: cython.double[::1] = triples.weight
        product: cython.double[::1] = self.product
        inverse: cython.double[::1] = self.inverse
        price: cython.double[::1] = self.price_of
        place: cython.longlong[::1] = self.place
        stride: cython.Py_ssize_t = layout.classes
        classes: cython.Py_ssize_t = self.tables.labels
        steps: cython.Py_ssize_t = self.safe_steps()
        k: cython.Py_ssize_t
        j: cython.Py_ssize_t
        i: cython.Py_ssize_t
        y: cython.Py_ssize_t
        kj: cython.Py_ssize_t
        ki: cython.Py_ssize_t
        ji: cython.Py_ssize_t
        line: cython.longlong
        cell: cython.longlong
        count: cython.double
        for k in range(2, n):
            for j in range(1, k):
                kj = pair_number(k, j) * stride
                line = layout.triple(place[k], place[j], 0) * stride
                for i in range(j):
                    cell = line + place[i] * stride
                    ki = pair_number(k, i) * stride
                    ji = pair_number(j, i) * stride
                    for y in range(classes):
                        count = weight[cell + y]
                        product[kj + y] *= (count + price[i]) * inverse[kj + y]
                        product[ki + y] *= (count + price[j]) * inverse[ki + y]
                        product[ji + y] *= (count + price[k]) * inverse[ji + y]
                    if (i + 1) % steps == 0:
                        self.lift(kj // stride, kj // stride + 1)
                self.lift(kj // stride, kj // stride + 1)
                if j % steps == 0:
                    self.lift(pair_number(k, 0), pair_number(k, j))
            if (k - 1) % steps == 0:
                self.lift(0, pair_number(k, 0))

    @cython.cfunc
    def divide_triples(self, n: cython.Py_ssize_t):
        """Multiply all triples into the products, each with a denominator of its own."""
        k: cython.Py_ssize_t
        j: cython.Py_ssize_t
        i: cython.Py_ssize_t
        y: cython.Py_ssize_t
        count: cython.double
        for k in range(2, n):
            for j in range(1, k):
                for i in range(j):
                    for y in range(self.tables.labels):
                        count = self.weight_of_three(k, j, i, y)
                        self.take_child(k, j, i, y, count)
                        self.take_child(k, i, j, y, count)
                        self.take_child(j, i, k, y, count)
                    self.lift(pair_number(k, j), pair_number(k, j) + 1)
                    self.lift(pair_number(k, i), pair_number(k, i) + 1)
                    self.lift(pair_number(j, i), pair_number(j, i) + 1)

    @cython.cfunc
    def take_child(
        self,
        high: cython.Py_ssize_t,
        low: cython.Py_ssize_t,
        child: cython.Py_ssize_t,
        y: cython.Py_ssize_t,
        count: cython.double,
    ):
        """Multiply P(child | y, high, low) into a pair's product; 0/0 says nothing."""
        add: cython.double = self.price_of[child]
        below: cython.double = add * self.tables.values.distinct[self.slot[child]]
        cell: cython.Py_ssize_t = pair_number(high, low) * self.tables.values.layout.classes + y
        below += self.weight_with(high, low, self.slot[child], y)
        if below > 0.0:
            self.product[cell] *= (count + add) / below

    @cython.cfunc
    def weight_with(
        self, high: cython.Py_ssize_t, low: cython.Py_ssize_t, other: cython.longlong, y: cython.Py_ssize_t
    ) -> cython.double:
        """The weight of two entries' values together in a class among samples that have a third feature."""
        layout: Layout = self.tables.values.layout
        p: cython.longlong
        total: cython.double = 0.0
        if self.tables.pairs.beside is None:
            return self.weight_together(high, low, y)
        for p in range(layout.start[other], layout.start[other] + layout.used[other]):
            total += self.blend(high, low, p, y)
        return total

    @cython.cfunc
    def weight_of_three(
        self, k: cython.Py_ssize_t, j: cython.Py_ssize_t, i: cython.Py_ssize_t, y: cython.Py_ssize_t
    ) -> cython.double:
        """The weight of three entries' values together in a class, read between bins where they are numbers."""
        if not self.soft:
            return self.cell_of_three(self.place[k], self.place[j], self.place[i], y)
        total: cython.double = self.blend(k, j, self.place[i], y) * (1.0 - self.left[i] - self.right[i])
        if self.left[i] > 0.0:
            total += self.blend(k, j, self.place[i] - 1, y) * self.left[i]
        if self.right[i] > 0.0:
            total += self.blend(k, j, self.place[i] + 1, y) * self.right[i]
        return total

    @cython.cfunc
    def blend(
        self, k: cython.Py_ssize_t, j: cython.Py_ssize_t, third: cython.longlong, y: cython.Py_ssize_t
    ) -> cython.double:
        """The weight of two entries' values together with a position of a third feature, read between bins."""
        total: cython.double = 0.0
        share: cython.double
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        for a in range(-1, 2):
            for b in range(-1, 2):
                share = self.share_at(k, a) * self.share_at(j, b)
                if share > 0.0:
                    total += share * self.cell_of_three(self.place[k] + a, self.place[j] + b, third, y)
        return total

    @cython.cfunc
    @cython.exceptval(check=False)
    def share_at(self, k: cython.Py_ssize_t, aside: cython.Py_ssize_t) -> cython.double:
        """How much of an entry is read from its own bin, or from the one to its left or right."""
        if not self.soft:
            return 1.0 if aside == 0 else 0.0
        if aside == 0:
            return 1.0 - self.left[k] - self.right[k]
        return self.left[k] if aside < 0 else self.right[k]

    @cython.cfunc
    def cell_of_three(
        self, a: cython.longlong, b: cython.longlong, c: cython.longlong, y: cython.Py_ssize_t
    ) -> cython.double:
        """The weight of three positions together in a class."""
        triples: TripleCounts = self.tables.triples
        high: cython.longlong = max(a, b, c)
        low: cython.longlong = min(a, b, c)
        return triples.weight[
            triples.layout.triple(high, a + b + c - high - low, low) * triples.layout.classes + y
        ]

    def members(self, row: Row, y: cython.Py_ssize_t) -> list:
        """As of the average over single super-parents, for pairs; where no pair is eligible, theirs."""
        values: ValueCounts = self.tables.values
        answer: list = []
        k: cython.Py_ssize_t
        j: cython.Py_ssize_t
        self.begin()
        n: cython.Py_ssize_t = self.gather(row)
        if n > 1 and self.generality >= 0.0:
            n = self.drop_generalities()
        if n < 2 or not self.begin_pairs(n):
            return AverageReading.members(self, row, y)
        for k in range(n):
            for j in range(k):
                if not self.eligible[pair_number(k, j)]:
                    continue
                cells: cython.Py_ssize_t = (
                    self.live * values.distinct[self.slot[k]] * values.distinct[self.slot[j]]
                )
                add: cython.double = self.price(cells)
                whole: cython.double = self.weight_of_both(self.slot[k], self.slot[j]) + add * cells
                own: cython.double = self.weight_together(k, j, y) + add
                rest: list = [self.share_of_child(k, j, i, y) for i in range(n) if i != k and i != j]
                answer.append((1.0, float(own / self.tables.unit), float(whole / self.tables.unit), rest))
        return answer

    def share_of_child(
        self, high: cython.Py_ssize_t, low: cython.Py_ssize_t, child: cython.Py_ssize_t, y
    ) -> tuple:
        """A child's smoothed weight beside a pair in a class, and that of its feature, in fresh samples."""
        different: cython.Py_ssize_t = self.tables.values.distinct[self.slot[child]]
        add: cython.double = self.price_of[child]
        own: cython.double = self.weight_of_three(high, low, child, y) + add
        total: cython.double = self.weight_with(high, low, self.slot[child], y) + add * different
        return float(own / self.tables.unit), float(total / self.tables.unit)
