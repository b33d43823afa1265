"""A2DE: scores from triples of values, averaged over all pairs of super-parents.

A2DE keeps a running product for each pair of an event's values and class, and goes through the triples k > j > i
once: each cell is a child of all three of its pairs.

    product[k, j] *= P(i | y, k, j)    product[k, i] *= P(j | y, k, i)    product[j, i] *= P(k | y, j, i)
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.counts._pairs import PairCounts
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.counts._values import ValueCounts
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._aode import AverageReading
    from stream_bayes.core.readings._terms import Terms


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def pair_number(high: cython.Py_ssize_t, low: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return the number of a pair of entries."""
    return high * (high - 1) // 2 + low


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def multiply_row(
    weight: cython.double[::1],
    product: cython.double[::1],
    inverse: cython.double[::1],
    pseudocount: cython.double[::1],
    at: cython.Py_ssize_t,
    k: cython.Py_ssize_t,
    j: cython.Py_ssize_t,
    stride: cython.Py_ssize_t,
    y: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.void:
    """Multiply in the triples of entries k and j with the entries from `first` to before `last`, of class y and the
    next.

    Both classes are read before either is written, so that a compiler can take the two as one.
    """
    top: cython.Py_ssize_t = pair_number(k, j) * stride + y
    highs: cython.Py_ssize_t = pair_number(k, 0) * stride + y
    lows: cython.Py_ssize_t = pair_number(j, 0) * stride + y
    pseudocount_k: cython.double = pseudocount[k]
    middle: cython.double = pseudocount[j]
    below: cython.double = inverse[top]
    below_next: cython.double = inverse[top + 1]
    running: cython.double = product[top]
    running_next: cython.double = product[top + 1]
    for i in range(first, last):
        c = at + i * stride + y
        high = highs + i * stride
        low = lows + i * stride
        count = weight[c]
        count_next = weight[c + 1]
        running *= (count + pseudocount[i]) * below
        running_next *= (count_next + pseudocount[i]) * below_next
        high_term = product[high] * ((count + middle) * inverse[high])
        high_term_next = product[high + 1] * ((count_next + middle) * inverse[high + 1])
        low_term = product[low] * ((count + pseudocount_k) * inverse[low])
        low_term_next = product[low + 1] * ((count_next + pseudocount_k) * inverse[low + 1])
        product[high] = high_term
        product[high + 1] = high_term_next
        product[low] = low_term
        product[low + 1] = low_term_next
    product[top] = running
    product[top + 1] = running_next


@cython.cclass
class PairAverageReading(AverageReading):
    """A2DE: the average over pairs of super-parents (i, j) of P(y, i, j) times P(k | y, i, j) for each other value k.

    A pair is eligible if it holds at least `min_count`; where none is, the average over single super-parents answers.
    """

    def __init__(self, tables, labels, **settings):
        AverageReading.__init__(self, tables, labels, **settings)
        self.beside = np.zeros(2)

    @cython.cfunc
    def add_evidence(self, row: Row):
        n: cython.Py_ssize_t = self.gather_specific(row)
        if n < 2 or not self.begin_pairs(n):
            AverageReading.add_evidence(self, row)
            return
        self.cells.gather_triples(self.tables.triples)
        if self.spread and self.tables.pairs.beside is None:
            self.multiply_triples(n)
        else:
            self.divide_triples(n)
        self.average()

    @cython.cfunc
    def score_to_learn(self, row: Row) -> cython.bint:
        self.fused = False
        return self.score_row(row)

    @cython.cfunc
    def begin_pairs(self, n: cython.Py_ssize_t) -> cython.bint:
        """Start a term for each pair of entries, with P(y, value, value), and say whether any pair is eligible."""
        tables: Tables = self.tables
        values: ValueCounts = tables.values
        terms: Terms = self.terms
        stride: cython.Py_ssize_t = values.layout.classes
        pair: cython.Py_ssize_t = 0
        self.place_cells()
        self.cells.gather_pairs(tables.pairs)
        terms.begin(n, n * (n - 1) // 2, tables.labels, stride)
        terms.smallest = self.strength * tables.unit
        for k in range(n):
            terms.pseudocount[k] = self.pseudocount(values.distinct[self.slot[k]]) + self.extra
            terms.smallest = min(terms.smallest, terms.pseudocount[k])
            for j in range(k):
                cells: cython.Py_ssize_t = (
                    self.live * values.distinct[self.slot[k]] * values.distinct[self.slot[j]]
                )
                terms.add[pair] = self.pseudocount(cells)
                terms.whole[pair] = terms.add[pair] * cells + self.weight_of_both(self.slot[k], self.slot[j])
                terms.add[pair] += self.extra
                terms.parent_weight[pair] = 1.0
                for y in range(tables.labels):
                    terms.product[pair * stride + y] = self.cells.count[pair * stride + y]
                pair += 1
        return terms.normalise_parents(
            self.strength * tables.unit + self.extra, self.min_count * tables.unit * (1.0 - 1e-12)
        )

    @cython.cfunc
    def weight_of_both(self, high: cython.longlong, low: cython.longlong) -> cython.double:
        """Return the weight of the samples that have two features, of all classes."""
        tables: Tables = self.tables
        pairs: PairCounts = tables.pairs
        layout: Layout = pairs.layout
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
        terms: Terms = self.terms
        count: cython.double[::1] = self.cells.count
        product: cython.double[::1] = terms.product
        inverse: cython.double[::1] = terms.inverse
        pseudocount: cython.double[::1] = terms.pseudocount
        stride: cython.Py_ssize_t = terms.stride
        steps: cython.Py_ssize_t = terms.safe_steps(self.tables.exact)
        careful: cython.bint = terms.must_lift(steps, n)
        at: cython.Py_ssize_t = 0
        for k in range(2, n):
            for j in range(1, k):
                pair = pair_number(k, j)
                first = 0
                while first < j:
                    last = min(j, first + steps)
                    for y in range(0, terms.classes, 2):
                        multiply_row(count, product, inverse, pseudocount, at, k, j, stride, y, first, last)
                    if careful:
                        terms.lift(pair, pair + 1)
                    first = last
                at += j * stride
                if j % steps == 0:
                    terms.lift(pair_number(k, 0), pair)
            if careful:
                terms.lift(pair_number(k, 0), pair_number(k + 1, 0))
            if (k - 1) % steps == 0:
                terms.lift(0, pair_number(k, 0))
        if careful:
            terms.lift(0, terms.parents)

    @cython.cfunc
    def divide_triples(self, n: cython.Py_ssize_t):
        """Multiply all triples into the products, each with a denominator of its own."""
        terms: Terms = self.terms
        at: cython.Py_ssize_t = 0
        for k in range(2, n):
            for j in range(1, k):
                for i in range(j):
                    self.multiply_child(k, j, i, at)
                    self.multiply_child(k, i, j, at)
                    self.multiply_child(j, i, k, at)
                    terms.lift(pair_number(k, j), pair_number(k, j) + 1)
                    terms.lift(pair_number(k, i), pair_number(k, i) + 1)
                    terms.lift(pair_number(j, i), pair_number(j, i) + 1)
                    at += terms.stride

    @cython.cfunc
    def multiply_child(
        self,
        high: cython.Py_ssize_t,
        low: cython.Py_ssize_t,
        child: cython.Py_ssize_t,
        at: cython.Py_ssize_t,
    ):
        """Multiply P(child | y, high, low) of all classes into a pair's product; 0/0 leaves it as it is. The counts of
        the triple begin `at`.
        """
        add: cython.double = self.terms.pseudocount[child]
        whole: cython.double = self.whole_beside(child)
        cell: cython.Py_ssize_t = pair_number(high, low) * self.tables.values.layout.classes
        self.gather_beside(high, low, self.slot[child])
        for y in range(self.terms.classes):
            if self.beside[y] + whole > 0.0:
                self.terms.product[cell + y] *= (self.cells.count[at + y] + add) / (self.beside[y] + whole)

    @cython.cfunc
    def gather_beside(self, high: cython.Py_ssize_t, low: cython.Py_ssize_t, other: cython.longlong):
        """Write into `beside` the weight of two entries' values together, by class, among samples that have a third
        feature: the sum over all its positions, read between bins.
        """
        layout: Layout = self.tables.values.layout
        classes: cython.Py_ssize_t = self.terms.classes
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        first: cython.longlong = layout.start[other]
        step: cython.longlong = 0
        if self.beside.shape[0] < classes:
            self.beside = np.zeros(2 * classes)
        beside = self.beside
        if self.tables.pairs.beside is None:
            for y in range(classes):
                beside[y] = self.weight_together(high, low, y)
            return
        weight = self.tables.triples.weight
        for y in range(classes):
            beside[y] = 0.0
        for a in range(-1, 2):
            for b in range(-1, 2):
                share = self.share_at(high, a) * self.share_at(low, b)
                if share <= 0.0:
                    continue
                cell = self.cell_of_three(self.position[high] + a, self.position[low] + b, first)
                if layout.used[other] > 1:  # from each of its positions to the next it is as far
                    step = (
                        self.cell_of_three(self.position[high] + a, self.position[low] + b, first + 1) - cell
                    )
                for _ in range(layout.used[other]):
                    for y in range(classes):
                        beside[y] += share * weight[cell + y]
                    cell += step

    @cython.cfunc
    @cython.exceptval(check=False)
    def share_at(self, k: cython.Py_ssize_t, aside: cython.Py_ssize_t) -> cython.double:
        """Return the share of an entry that is read from its own bin, or from the one to its left or right."""
        if not self.soft:
            return 1.0 if aside == 0 else 0.0
        if aside == 0:
            return 1.0 - self.left[k] - self.right[k]
        return self.left[k] if aside < 0 else self.right[k]

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def cell_of_three(self, a: cython.longlong, b: cython.longlong, c: cython.longlong) -> cython.longlong:
        """Return where the classes of three positions begin among the triples."""
        layout: Layout = self.tables.values.layout
        high: cython.longlong = max(a, b, c)
        low: cython.longlong = min(a, b, c)
        return layout.triple(high, a + b + c - high - low, low) * layout.classes
