"""Running co-moments: how the numbers of each pair of features vary together, by class.

    weight, mean_high, mean_low, product [pair of features i > j, class]        a triangle; classes innermost

Each pair has the weight and the means of the samples that have both numbers, so that missing values are left out pair
by pair. The product is the sum of (x_i - mean_high) (x_j - mean_low). A triangle's cells do not depend on the room, so
a new feature is appended.
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.encoding._rows import Row


@cython.cclass
class CoMoments:
    """Running co-moments of each pair of numeric features, by class."""

    def __init__(self, features: cython.Py_ssize_t, classes: cython.Py_ssize_t):
        self.features = features
        self.classes = classes
        cells = features * (features - 1) // 2 * classes
        self.weight = np.zeros(cells)
        self.mean_high = np.zeros(cells)
        self.mean_low = np.zeros(cells)
        self.product = np.zeros(cells)

    @cython.cfunc
    def add(self, row: Row, unit: cython.double):
        amount: cython.double = row.weight * unit
        k: cython.Py_ssize_t
        e: cython.Py_ssize_t
        cell: cython.longlong
        line: cython.longlong
        slot: cython.longlong
        number: cython.double
        share: cython.double
        high: cython.double
        low: cython.double
        for k in range(1, row.numbers):
            slot = row.numeric_feature[k]
            number = row.number[k]
            line = slot * (slot - 1) // 2
            for e in range(k):  # numbers are in the order of their slots
                cell = (line + row.numeric_feature[e]) * self.classes + row.label
                self.weight[cell] += amount
                share = amount / self.weight[cell]
                high = number - self.mean_high[cell]
                low = row.number[e] - self.mean_low[cell]
                self.mean_high[cell] += high * share
                self.mean_low[cell] += low * share
                self.product[cell] += amount * high * low * (1.0 - share)

    @cython.cfunc
    def lacks(self, row: Row, unit: cython.double, least: cython.double) -> cython.bint:
        """Return True if a pair of the row's numbers cannot have been learned in its class."""
        amount: cython.double = row.weight * unit
        k: cython.Py_ssize_t
        e: cython.Py_ssize_t
        line: cython.longlong
        slot: cython.longlong
        for k in range(1, row.numbers):
            slot = row.numeric_feature[k]
            line = slot * (slot - 1) // 2
            for e in range(k):
                if self.weight[(line + row.numeric_feature[e]) * self.classes + row.label] + least < amount:
                    return True
        return False

    @cython.cfunc
    def forget(self, row: Row, unit: cython.double, least: cython.double):
        """Subtract a row; a pair whose rest is not above `least` becomes empty."""
        amount: cython.double = row.weight * unit
        k: cython.Py_ssize_t
        e: cython.Py_ssize_t
        cell: cython.longlong
        line: cython.longlong
        slot: cython.longlong
        left: cython.double
        high: cython.double
        low: cython.double
        for k in range(1, row.numbers):
            slot = row.numeric_feature[k]
            line = slot * (slot - 1) // 2
            for e in range(k):
                cell = (line + row.numeric_feature[e]) * self.classes + row.label
                left = self.weight[cell] - amount
                if left <= least:
                    self.empty(cell)
                    continue
                high = row.number[k] - self.mean_high[cell]
                low = row.number[e] - self.mean_low[cell]
                self.mean_high[cell] -= high * (amount / left)
                self.mean_low[cell] -= low * (amount / left)
                self.product[cell] -= amount * high * low * (self.weight[cell] / left)
                self.weight[cell] = left

    @cython.cfunc
    def empty(self, cell: cython.longlong):
        self.weight[cell] = self.mean_high[cell] = self.mean_low[cell] = self.product[cell] = 0.0

    @cython.cfunc
    def clear_feature(self, slot: cython.longlong, label: cython.Py_ssize_t):
        """Empty the pairs of a feature that no sample of the class has any more."""
        other: cython.longlong
        for other in range(slot):
            self.empty((slot * (slot - 1) // 2 + other) * self.classes + label)
        for other in range(slot + 1, self.features):
            self.empty((other * (other - 1) // 2 + slot) * self.classes + label)


def pair_cells(first, second):
    """Return the cells of pairs of slots, whichever of the two is higher."""
    high, low = np.maximum(first, second), np.minimum(first, second)
    return high * (high - 1) // 2 + low
