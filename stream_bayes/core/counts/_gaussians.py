"""Running Gaussians, a cell for each numeric feature and class: weight, mean and sum of squared deviations (m2).

Two more numbers bound the rounding error: peak, the largest magnitude, and spread, the largest m2, that the cell has
held since it was last empty.

Weights are also summed over blocks of features, so that predictions do not read all features:

    block_weight    [block, class]    weight of its features
    top             [block]           weight of its heaviest feature, over all classes
    stale           [block]           true if the two have to be summed again

A sum is a function of the weights alone, in their order, and never of what was added when: a loaded table has the same.
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from math import sqrt

    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.values._cells import samples_of, subtract

TINIEST = cython.declare(cython.double, 1e-290)  # below, squares lose their digits
ROUNDING = cython.declare(cython.double, 1e-9)  # of the largest magnitude held: what is promised of floats
BLOCK = cython.declare(
    cython.Py_ssize_t, 32
)  # features: a sample with 40 of 50,000 then makes as much be summed anew as there are blocks
EPSILON = cython.declare(
    cython.double, 4e-15
)  # of the largest magnitude held: what some operations leave by rounding


@cython.cclass
class Gaussians:
    """Running weight, mean and sum of squared deviations of each (feature, class)."""

    def __init__(self, features: cython.Py_ssize_t, classes: cython.Py_ssize_t, exact: cython.bint):
        self.classes = classes
        self.features = features
        self.exact = exact
        self.weight = np.zeros(features * classes)
        self.samples = self.weight if exact else np.zeros(features * classes)
        self.mean = np.zeros(features * classes)
        self.m2 = np.zeros(features * classes)
        self.peak = np.zeros(features * classes)
        self.spread = np.zeros(features * classes)
        self.blocks = (features + BLOCK - 1) // BLOCK
        self.block_weight = np.zeros(self.blocks * classes)
        self.top = np.zeros(self.blocks)
        self.stale = np.ones(self.blocks, np.uint8)

    @cython.ccall
    def changed(self):
        """Sum all blocks again, after weights were written."""
        self.stale[:] = 1

    @cython.cfunc
    def sum_block(self, block: cython.Py_ssize_t):
        """Sum the weights of a block's features."""
        f: cython.Py_ssize_t
        y: cython.Py_ssize_t
        held: cython.double
        most: cython.double = 0.0
        total: cython.double[::1] = self.block_weight
        first: cython.Py_ssize_t = block * self.classes
        for y in range(self.classes):
            total[first + y] = 0.0
        for f in range(block * BLOCK, min((block + 1) * BLOCK, self.features)):
            held = 0.0
            for y in range(self.classes):
                held += self.weight[f * self.classes + y]
                total[first + y] += self.weight[f * self.classes + y]
            most = max(most, held)
        self.top[block] = most
        self.stale[block] = 0

    @cython.cfunc
    def is_empty(self) -> cython.bint:
        """Return True if no sample held has a number."""
        block: cython.Py_ssize_t
        for block in range(self.blocks):
            if self.stale[block]:
                self.sum_block(block)
            if self.top[block] > 0.0:
                return False
        return True

    @cython.cfunc
    def add(self, row: Row, unit: cython.double):
        # West's update: weights are repeat counts, whole or not. The product below never falls under 0 by rounding.
        amount: cython.double = row.weight * unit
        k: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        away: cython.double
        share: cython.double
        for k in range(row.numbers):
            cell = row.numeric_feature[k] * self.classes + row.label
            self.weight[cell] += amount
            self.stale[row.numeric_feature[k] // BLOCK] = 1
            if not self.exact:
                self.samples[cell] += samples_of(row.weight)
            share = amount / self.weight[cell]
            away = row.number[k] - self.mean[cell]
            self.mean[cell] += away * share
            self.m2[cell] += amount * away * away * (1.0 - share)
            if self.m2[cell] > self.spread[cell]:
                self.spread[cell] = self.m2[cell]
            if abs(row.number[k]) > self.peak[cell]:
                self.peak[cell] = abs(row.number[k])

    @cython.cfunc
    def missing_number(self, row: Row, unit: cython.double, heaviest: cython.double) -> cython.longlong:
        """Return the first number of the row that the class cannot have learned, or -1."""
        # Rounding leaves of mean and deviations an error relative to the largest number that was ever held, the
        # peak, and to the heaviest that the class ever was; only what that cannot explain was never learned.
        amount: cython.double = row.weight * unit
        k: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        left: cython.double
        away: cython.double
        slack: cython.double
        least: cython.double = 0.0 if self.exact else ROUNDING * heaviest
        for k in range(row.numbers):
            cell = row.numeric_feature[k] * self.classes + row.label
            if self.samples[cell] < samples_of(row.weight) and self.samples[cell] != 1.0:
                return k
            if self.weight[cell] + least < amount or abs(row.number[k]) > self.peak[cell]:
                return k
            left = self.weight[cell] - amount
            away = row.number[k] - self.mean[cell]
            slack = self.peak[cell] * self.peak[cell] * max(heaviest, unit) * ROUNDING + TINIEST
            if left <= least and self.samples[cell] <= samples_of(row.weight):
                if amount * away * away > slack:
                    return k  # the last sample, and it is not the mean
            elif left > 0.0 and self.m2[cell] - amount * away * away * (self.weight[cell] / left) < -slack:
                return k
        return -1

    @cython.cfunc
    def forget(self, row: Row, unit: cython.double, least: cython.double):
        amount: cython.double = row.weight * unit
        k: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        away: cython.double
        mean: cython.double
        residue: cython.double
        for k in range(row.numbers):
            cell = row.numeric_feature[k] * self.classes + row.label
            self.stale[row.numeric_feature[k] // BLOCK] = 1
            subtract(self.weight, self.samples, cell, row.weight, unit, least, self.exact)
            if self.samples[cell] <= 0.0:
                self.peak[cell] = 0.0
                self.spread[cell] = 0.0
            if self.weight[cell] <= 0.0:
                # Nothing is left, or nothing that a double could hold beside what was subtracted.
                self.mean[cell] = 0.0
                self.m2[cell] = 0.0
                continue
            away = row.number[k] - self.mean[cell]
            mean = self.mean[cell] - away * (amount / self.weight[cell])
            self.m2[cell] -= amount * away * (row.number[k] - mean)
            self.mean[cell] = mean
            # Equal numbers have the deviation 0 exactly, so that a reading can distinguish them from a small variance.
            residue = 32.0 * self.spread[cell]
            residue += self.peak[cell] * sqrt(self.spread[cell] * (self.weight[cell] + amount))
            if self.m2[cell] <= EPSILON * residue or self.samples[cell] == 1.0:
                self.m2[cell] = 0.0
