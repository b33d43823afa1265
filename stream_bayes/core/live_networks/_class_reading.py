"""Scores of a network's classes by the Markov blanket: P(y | its parents), times P(child | y, other parents) for each
child of the class.

    P(y | parents)    = (n(parents, y) + a) / (n(parents) + a C)          the row of a family, summed over y
    P(v | y, parents) = (n(parents, v, y) + a) / (n(parents, y) + a V)    the row of a family, summed over v

All other factors are equal for all classes. A missing child that has no children is left out. If another value of the
blanket is missing, `infer` sums over it.
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.counts._configurations import Configurations
    from stream_bayes.core.counts._families import FamilyTables
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.counts._values import ValueCounts
    from stream_bayes.core.encoding._rows import Batch, Row
    from stream_bayes.core.readings._naive_bayes import ValueReading
    from stream_bayes.core.readings._reading import log_of

SMALL = cython.declare(cython.double, 1e-150)


@cython.cclass
class BlanketReading(ValueReading):
    """Scores of a network's class given all other variables.

    child          the slots of the class's children in the order of names; -1 for a child that was never seen
    family         for each child, the number of its family with its other parents; -1 without other parents
    parent         the other parents of all children; those of child k end at `parent_end[k]`
    barren         for each child, 1 if it has no children
    above          the slots of the class's parents; `above_family` is the number of their family, -1 if there is one
    blanket        for each slot, 1 if it is one of all these
    """

    def __init__(self, tables, labels, **settings):
        ValueReading.__init__(self, tables, labels, **settings)
        self.child = np.zeros(0, np.longlong)
        self.family = np.zeros(0, np.longlong)
        self.parent = np.zeros(0, np.longlong)
        self.parent_end = np.zeros(0, np.longlong)
        self.barren = np.zeros(0, np.int32)
        self.above = np.zeros(0, np.longlong)
        self.above_family = -1
        self.is_inferred = False  # True if values of the blanket were missing from the row scored last
        self.blanket = np.zeros(0, np.uint8)
        self.code = np.zeros(0, np.int32)
        self.part, self.whole = np.zeros(2), np.zeros(2)

    def infer(self, row: Row):
        """Write log P(y | x) of each class into the scores, for a row with missing values in the blanket."""
        raise NotImplementedError

    def infer_spread(self, row: Row):
        """Write the variances of the log-odds into `spread_of`, for a row with missing values in the blanket."""
        raise NotImplementedError

    @cython.cfunc
    def look_again(self, row: Row):
        if self.is_inferred:
            self.infer_spread(row)
        else:
            ValueReading.look_again(self, row)

    @cython.cfunc
    def reserve_codes(self):
        """Make room for the code of each feature and for the shares of each class."""
        features: cython.Py_ssize_t = self.tables.values.layout.features
        classes: cython.Py_ssize_t = self.tables.labels
        if self.code.shape[0] < features:
            self.code = np.full(features, -1, np.int32)
        if self.part.shape[0] < classes:
            self.part, self.whole = np.zeros(2 * classes), np.zeros(2 * classes)

    @cython.cfunc
    @cython.exceptval(check=False)
    def record_codes(
        self,
        feature: cython.int[::1],
        code: cython.int[::1],
        first: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> cython.void:
        """Record the code of each entry of the blanket whose value holds samples or was declared."""
        values: ValueCounts = self.tables.values
        layout: Layout = values.layout
        for k in range(first, end):
            slot: cython.Py_ssize_t = feature[k]
            if self.blanket[slot] and values.occupied[layout.start[slot] + code[k]]:
                self.code[slot] = code[k]

    @cython.cfunc
    @cython.exceptval(check=False)
    def clear_codes(
        self, feature: cython.int[::1], first: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.void:
        for k in range(first, end):
            self.code[feature[k]] = -1

    @cython.cfunc
    def add_evidence(self, row: Row):
        self.reserve_codes()
        self.record_codes(row.feature, row.code, 0, row.entries)
        is_scored: cython.bint = self.score_blanket()
        self.clear_codes(row.feature, 0, row.entries)
        self.is_inferred = not is_scored
        if not is_scored:
            self.infer(row)

    def predict_batch(self, batch: Batch, out: cython.double[:, ::1]):
        """Write the probabilities of each row into a row of `out`; zeros before any learning.

        The class prior is computed once, as nothing is learned meanwhile. Without numbers, only rows with missing
        values are copied.
        """
        first: cython.Py_ssize_t = 0
        if batch.numbers or self.begin() == 0:
            ValueReading.predict_batch(self, batch, out)
            return
        self.reserve_codes()
        prior: cython.double[::1] = np.array(self.score)
        for r in range(batch.rows):
            end: cython.Py_ssize_t = batch.entry_end[r]
            for y in range(self.tables.labels):
                self.score[y] = prior[y]
            self.record_codes(batch.feature, batch.code, first, end)
            is_scored = self.score_blanket()
            self.clear_codes(batch.feature, first, end)
            if not is_scored:
                self.load(batch, r)
                self.begin()
                self.infer(self.row)
            self.fall_back_to_prior()
            self.write_shares(out, r)
            first = end

    @cython.cfunc
    def score_blanket(self) -> cython.bint:
        """Score the classes; return False, without scores, if a value of the blanket is missing that matters."""
        first: cython.longlong = 0
        for k in range(self.above.shape[0]):
            if self.above[k] < 0 or self.code[self.above[k]] < 0:
                return False
        for k in range(self.child.shape[0]):
            if self.child[k] < 0 or self.code[self.child[k]] < 0:
                if not self.barren[k]:
                    return False
            else:
                for m in range(first, self.parent_end[k]):
                    if self.parent[m] < 0 or self.code[self.parent[m]] < 0:
                        return False
            first = self.parent_end[k]
        for y in range(self.tables.labels):
            self.share[y] = 1.0
        if self.above.shape[0]:
            self.weigh_class()
            for y in range(self.tables.labels):
                if self.is_live(y):
                    self.score[y] = log_of(self.part[y] / self.whole[y])
        for k in range(self.child.shape[0]):
            if self.child[k] >= 0 and self.code[self.child[k]] >= 0:
                self.weigh_child(k)
                self.multiply()
        for y in range(self.tables.labels):
            self.score[y] += log_of(self.share[y])
        return True

    @cython.cfunc
    @cython.exceptval(check=False)
    def multiply(self) -> cython.void:
        """Multiply each class's product by its share; take the logarithm only when the product becomes small."""
        for y in range(self.tables.labels):
            ratio = self.part[y] / self.whole[y]
            product = self.share[y] * ratio
            if product < SMALL:
                self.score[y] += log_of(self.share[y]) + log_of(ratio)
                product = 1.0
            self.share[y] = product

    @cython.cfunc
    def weigh_class(self):
        """Write the smoothed weights of P(y | parents) into `part` and their sum into `whole`."""
        values: ValueCounts = self.tables.values
        layout: Layout = values.layout
        cell: cython.longlong = 0
        total: cython.double = 0.0
        add: cython.double = self.pseudocount(self.live)
        slot: cython.longlong = self.above[0]
        weight: cython.double[::1] = values.weight
        has_row: cython.bint = True
        if self.above_family < 0:
            cell = (layout.start[slot] + self.code[slot]) * layout.classes
        else:
            families = self.tables.families
            cell = self.row_of(self.above_family, True)
            has_row = cell >= 0
            weight = families.weight
            if families.base[self.above_family] < 0:
                configurations: Configurations = families.hashed[self.above_family]
                weight = configurations.weight
        for y in range(self.tables.labels):
            self.part[y] = weight[cell + y] if has_row else 0.0
            if self.is_live(y):
                total += self.part[y] + add
        for y in range(self.tables.labels):
            self.part[y] = self.part[y] + add + self.extra if total > 0.0 else 1.0
            self.whole[y] = total if total > 0.0 else self.live

    @cython.cfunc
    @cython.exceptval(check=False)
    def row_of(self, f: cython.Py_ssize_t, with_child: cython.bint) -> cython.longlong:
        """Return the first cell of the family's row under the recorded codes, or the cell of the child's recorded code.

        Return -1 for a configuration that was never seen.
        """
        families: FamilyTables = self.tables.families
        m: cython.Py_ssize_t
        first: cython.longlong = families.end[f]
        last: cython.longlong = families.end[f + 1] - 1
        cell: cython.longlong = 0
        if families.base[f] >= 0:
            cell = families.base[f]
            for m in range(first, last):
                cell += self.code[families.member[m]] * families.stride[m]
        else:
            configurations: Configurations = families.hashed[f]
            for m in range(first, last):
                families.wanted[m - first] = self.code[families.member[m]]
            cell = configurations.find(families.wanted)
            if cell < 0:
                return -1
            cell *= configurations.width
        if with_child:
            cell += self.code[families.member[last]] * families.stride[last]
        return cell

    @cython.cfunc
    def weigh_child(self, k: cython.Py_ssize_t):
        """Write the smoothed weights of P(value | y, other parents) of a child into `part` and their sums
        into `whole`.
        """
        values: ValueCounts = self.tables.values
        layout: Layout = values.layout
        slot: cython.longlong = self.child[k]
        code: cython.longlong = self.code[slot]
        f: cython.longlong = self.family[k]
        different: cython.Py_ssize_t = values.distinct[slot]
        add: cython.double = self.pseudocount(different)
        stride: cython.longlong = layout.classes
        v: cython.Py_ssize_t
        if f < 0:
            cell = (layout.start[slot] + code) * stride
            for y in range(self.tables.labels):
                self.part[y] = values.weight[cell + y]
                self.whole[y] = values.present[slot * stride + y]
        else:
            families = self.tables.families
            stride = families.classes
            cell = self.row_of(f, False)
            for y in range(self.tables.labels):
                self.part[y] = self.whole[y] = 0.0
            if cell >= 0:
                weight = families.weight
                if families.base[f] < 0:
                    configurations: Configurations = families.hashed[f]
                    weight = configurations.weight
                for v in range(layout.used[slot]):
                    for y in range(self.tables.labels):
                        self.whole[y] += weight[cell + v * stride + y]
                for y in range(self.tables.labels):
                    self.part[y] = weight[cell + code * stride + y]
        for y in range(self.tables.labels):
            self.part[y] += add + self.extra
            self.whole[y] += add * different + self.extra
            if self.whole[y] <= 0.0:
                self.part[y], self.whole[y] = 1.0, different
