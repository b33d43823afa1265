"""KDB with two or more parents: scores from families, backing off from those with few samples.

    P_0 = P(value | y)                          the counts of values, by the plain rule
    P_1 = (n + s P_0) / (N + s)                 n: the value with the first parent present; N: any value with it
    P_j = (n + s P_j-1) / (N + s)               the same with the first j parents, from their family

Parents are ordered by falling information about the feature, so backing off drops the least informative first. If a
parent's value is missing, those after it are dropped too; if the first is missing, the next one present replaces it.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log

if not cython.compiled:
    from stream_bayes.core.counts._configurations import Configurations
    from stream_bayes.core.counts._families import FamilyTables
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.counts._values import ValueCounts
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._one_parent import PairReading


MOST = cython.declare(cython.Py_ssize_t, 3)  # codes that a parent is read from


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def add_values(
    weight: cython.double[::1],
    cell: cython.longlong,
    used: cython.Py_ssize_t,
    own_code: cython.longlong,
    stride: cython.Py_ssize_t,
    classes: cython.Py_ssize_t,
    below: cython.double,
    above: cython.double,
    share: cython.double,
    count: cython.double[::1],
    total: cython.double[::1],
) -> cython.void:
    """Add a share of the weights under one configuration of parents, from `cell` on: to `total` of all values, and to
    `count` of the value `own_code`, of which the parts `below` and `above` are read from the values beside it.
    """
    for y in range(0, classes - 1, 2):  # two classes at a time
        running, running_after = total[y], total[y + 1]
        c = cell + y
        for _ in range(used):
            running += share * weight[c]
            running_after += share * weight[c + 1]
            c += stride
        total[y], total[y + 1] = running, running_after
    if classes % 2:
        running = total[classes - 1]
        c = cell + classes - 1
        for _ in range(used):
            running += share * weight[c]
            c += stride
        total[classes - 1] = running
    for y in range(classes):
        c = cell + own_code * stride + y
        value = weight[c]
        if below > 0.0 or above > 0.0:
            value *= 1.0 - below - above
            if below > 0.0:
                value += weight[c - stride] * below
            if above > 0.0:
                value += weight[c + stride] * above
        count[y] += share * value


@cython.cclass
class DependenceReading(PairReading):
    """P(y) times P(value | y, parents' values) for each feature.

    `parent` holds the parents' slots of slot after slot, by falling information; those of slot f end at
    `parent_end[f]`. `family` holds for each parent the number of the family of it and those before it, -1 for a single
    parent. `has_families` is True once families were chosen.
    """

    def __init__(self, tables, labels, **settings):
        PairReading.__init__(self, tables, labels, **settings)
        self.parent_end = np.zeros(0, np.longlong)
        self.parent = np.zeros(0, np.longlong)
        self.family = np.zeros(0, np.longlong)
        self.has_families = False
        self.turn, self.near = np.zeros(0, np.longlong), np.zeros(0, np.longlong)  # by parent
        self.near_code, self.near_share = np.zeros(0, np.longlong), np.zeros(0)
        self.numerator, self.denominator = np.zeros(2), np.zeros(2)
        self.count, self.total = np.zeros(2), np.zeros(2)

    @cython.cfunc
    def derive_if_due(self):
        if self.tables.clock >= self.due or self.has_lost_families():
            self.derive()

    @cython.cfunc
    def has_lost_families(self) -> cython.bint:
        """Return True if new cut points have dropped the families, which are then chosen anew."""
        return self.has_families and self.tables.families is None

    @cython.cfunc
    def check_due(self, row: Row):
        if self.has_lost_families():
            self.due = self.tables.clock

    @cython.cfunc
    def scatter_row(self, row: Row) -> cython.Py_ssize_t:
        """Gather the entries of a row, and scatter them by slot; return their number."""
        classes: cython.Py_ssize_t = self.tables.labels
        features: cython.Py_ssize_t = self.tables.values.layout.features
        n: cython.Py_ssize_t = self.gather(row)
        self.scatter()
        if self.turn.shape[0] < features:
            self.turn, self.near = np.zeros(features, np.longlong), np.zeros(features, np.longlong)
            self.near_code, self.near_share = (
                np.zeros(MOST * features, np.longlong),
                np.zeros(MOST * features),
            )
        if self.numerator.shape[0] < classes:
            self.ratio = np.zeros(2 * classes)
            self.numerator, self.denominator = np.zeros(2 * classes), np.zeros(2 * classes)
            self.count, self.total = np.zeros(2 * classes), np.zeros(2 * classes)
        return n

    @cython.cfunc
    def add_evidence(self, row: Row):
        classes: cython.Py_ssize_t = self.tables.labels
        n: cython.Py_ssize_t = self.scatter_row(row)
        for y in range(classes):
            self.share[y] = 1.0
        for k in range(n):
            self.score_entry(k)
            self.multiply_ratio()
        for y in range(classes):
            self.score[y] += log(self.share[y])

    @cython.cfunc
    def score_entry(self, k: cython.Py_ssize_t):
        """Write P(value | y, parents) of an entry into `ratio`, -1 for 0/0, and its parts into `own` and `whole`."""
        values: ValueCounts = self.tables.values
        stride: cython.Py_ssize_t = values.layout.classes
        slot: cython.longlong = self.slot[k]
        different: cython.Py_ssize_t = values.distinct[slot]
        add: cython.double = self.pseudocount(different)
        first: cython.longlong = 0
        last: cython.longlong = 0
        for y in range(self.tables.labels):
            self.numerator[y] = self.weight_of(k, y) + add + self.extra
            self.denominator[y] = values.present[slot * stride + y] + add * different + self.extra
            self.ratio[y] = self.numerator[y] / self.denominator[y] if self.denominator[y] > 0.0 else -1.0
        if slot < self.parent_end.shape[0]:
            first = self.parent_end[slot - 1] if slot > 0 else 0
            last = self.parent_end[slot]
        for m in range(first, last):
            present = self.entry_of[self.parent[m]]
            if present < 0:
                if self.entry_of[self.parent[first]] >= 0:
                    return
                continue
            if m == first or self.entry_of[self.parent[first]] < 0:
                for y in range(self.tables.labels):
                    self.count[y] = self.weight_together(max(k, present), min(k, present), y)
                    self.total[y] = self.weight_beside(present, slot, y)
                self.back_off()
                if m > first:
                    return
            elif self.tables.families is None:
                return  # dropped by new cuts
            else:
                self.count_family(self.family[m], k)
                self.back_off()

    @cython.cfunc
    def back_off(self):
        """Mix the counts of a level with the probabilities of the level below, and keep these if both are empty."""
        s: cython.double = self.strength * self.tables.unit
        for y in range(self.tables.labels):
            below = self.total[y] + self.extra
            self.count[y] += self.extra
            if self.ratio[y] >= 0.0:
                below += s
                self.count[y] += s * self.ratio[y]
            if below > 0.0:
                self.numerator[y] = self.count[y]
                self.denominator[y] = below
                self.ratio[y] = self.numerator[y] / below

    @cython.cfunc
    def count_family(self, f: cython.Py_ssize_t, k: cython.Py_ssize_t):
        """Write a family's weights by class into `count`, of the entry's value, and `total`, of all values.

        Numbers are read between bins: the weights of all combinations of neighbouring bins are mixed.
        """
        families: FamilyTables = self.tables.families
        layout: Layout = self.tables.values.layout
        first: cython.longlong = families.end[f]
        parents: cython.Py_ssize_t = families.end[f + 1] - 1 - first
        child: cython.longlong = self.slot[k]
        own_code: cython.longlong = self.position[k] - layout.start[child]
        used: cython.Py_ssize_t = layout.used[child]
        stride: cython.Py_ssize_t = families.classes
        classes: cython.Py_ssize_t = self.tables.labels
        below: cython.double = self.left[k] if self.soft else 0.0
        above: cython.double = self.right[k] if self.soft else 0.0
        weight: cython.double[::1] = families.weight
        hashed: Configurations = None
        if families.base[f] < 0:
            hashed = families.hashed[f]
            weight = hashed.weight
        for y in range(classes):
            self.count[y] = self.total[y] = 0.0
        for m in range(parents):
            self.turn[m] = 0
            self.read_near(m, self.entry_of[families.member[first + m]])
        while True:
            share = 1.0
            cell = families.base[f] if families.base[f] >= 0 else 0
            for m in range(parents):
                code = self.near_code[m * MOST + self.turn[m]]
                share *= self.near_share[m * MOST + self.turn[m]]
                families.wanted[m] = code
                cell += code * families.stride[first + m]
            if hashed is not None:
                cell = hashed.find(families.wanted)
                cell = cell * hashed.width if cell >= 0 else -1
            if cell >= 0:
                add_values(
                    weight, cell, used, own_code, stride, classes, below, above, share, self.count, self.total,
                )  # fmt: skip
            m = 0
            while m < parents:
                self.turn[m] += 1
                if self.turn[m] < self.near[m]:
                    break
                self.turn[m] = 0
                m += 1
            if m == parents:
                return

    @cython.cfunc
    def read_near(self, m: cython.Py_ssize_t, e: cython.longlong):
        """Write the codes from which an entry is read, as the parent `m`, and the share of each."""
        at: cython.Py_ssize_t = m * MOST
        n: cython.Py_ssize_t = 0
        code: cython.longlong = self.position[e] - self.tables.values.layout.start[self.slot[e]]
        left: cython.double = self.left[e] if self.soft else 0.0
        right: cython.double = self.right[e] if self.soft else 0.0
        if 1.0 - left - right > 0.0:
            self.near_code[at], self.near_share[at] = code, 1.0 - left - right
            n += 1
        if left > 0.0:
            self.near_code[at + n], self.near_share[at + n] = code - 1, left
            n += 1
        if right > 0.0:
            self.near_code[at + n], self.near_share[at + n] = code + 1, right
            n += 1
        self.near[m] = n

    def chance(self, row: Row, slot: cython.longlong, y: cython.Py_ssize_t):
        """Return P(value | y, parents) of a row's value in a slot; None for 0/0, or without samples."""
        self.scatter_row(row)
        answer = None
        if self.entry_of[slot] >= 0:
            self.score_entry(self.entry_of[slot])
            if self.ratio[y] >= 0.0:
                answer = float(self.ratio[y])
        return answer
