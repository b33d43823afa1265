"""Scores of bags of words: the multinomial, complement and Bernoulli readings."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log

if not cython.compiled:
    from stream_bayes.core.counts._values import CountHistogram, ValueCounts
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._reading import Reading, log_of

NEVER = cython.declare(cython.double, float("-inf"))
SMALL = cython.declare(cython.double, 1e-150)
LARGE = cython.declare(cython.double, 1e150)
LEAST_LOG = cython.declare(cython.double, -745.0)  # of the smallest double
ROUNDING = cython.declare(cython.double, 1e-12)


@cython.cclass
class MultinomialReading(Reading):
    """Bags of words: P(w | y) = (n(y, w) + a) / (n(y) + a V) for each word of the message, as often as it occurs."""

    @cython.cfunc
    def add_evidence(self, row: Row):
        values: ValueCounts = self.tables.values
        weight: cython.double[::1] = values.weight
        occupied: cython.uchar[::1] = values.occupied
        code: cython.int[::1] = row.code
        amount: cython.double[::1] = row.amount
        stride: cython.Py_ssize_t = values.layout.classes
        add: cython.double = self.strength * self.tables.unit
        words: cython.double = 0.0
        values.prefetch_cells(row, 0)
        for k in range(row.entries):
            if occupied[code[k]]:
                words += amount[k]
        for y in range(self.tables.labels):
            below = values.present[y] + add * values.distinct[0] + self.extra * words
            if below <= 0.0:
                continue
            # The words of a class share a denominator, so only numerators are multiplied.
            product = 1.0
            for k in range(row.entries):
                if not occupied[code[k]]:
                    continue
                factor = weight[code[k] * stride + y] + add + self.extra * amount[k]
                if amount[k] == 2.0:
                    factor *= factor
                elif amount[k] != 1.0:
                    self.score[y] += amount[k] * log_of(factor)
                    continue
                grown = product * factor
                if grown < SMALL or grown > LARGE:
                    self.score[y] += log_of(product) + log_of(factor)
                    grown = 1.0
                product = grown
            self.score[y] += log(product) - words * log(below)


@cython.cclass
class ComplementReading(Reading):
    """Bags of words, judged by how badly they fit all the other classes (Rennie et al. 2003).

    The score is the sum of -count * log((n(w) - n(y, w) + a) / (n - n(y) + a V)); it is no likelihood.
    """

    @cython.cfunc
    def add_evidence(self, row: Row):
        values: ValueCounts = self.tables.values
        weight: cython.double[::1] = values.weight
        occupied: cython.uchar[::1] = values.occupied
        code: cython.int[::1] = row.code
        amount: cython.double[::1] = row.amount
        stride: cython.Py_ssize_t = values.layout.classes
        classes: cython.Py_ssize_t = self.tables.labels
        add: cython.double = self.strength * self.tables.unit
        words: cython.double = 0.0
        total: cython.double = add * values.distinct[0]
        values.prefetch_cells(row, 0)
        for y in range(classes):
            total += values.present[y]
            self.share[y] = 1.0
        for k in range(row.entries):
            if not occupied[code[k]]:
                continue
            words += amount[k]
            cell = code[k] * stride
            everywhere = add
            for y in range(classes):
                everywhere += weight[cell + y]
            for y in range(classes):
                elsewhere = everywhere - weight[cell + y]
                if elsewhere < ROUNDING * everywhere:
                    elsewhere = self.elsewhere(cell, y)  # what is left of a difference is rounding
                if elsewhere > 0.0:
                    elsewhere += self.extra * amount[k]
                if elsewhere <= 0.0:
                    # Unsmoothed, a word that no other class ever held: as good as certain, but other words may differ.
                    self.score[y] -= amount[k] * LEAST_LOG
                    continue
                if amount[k] != 1.0:
                    self.score[y] -= amount[k] * log(elsewhere)
                    continue
                grown = self.share[y] * elsewhere
                if grown < SMALL or grown > LARGE:
                    self.score[y] -= log(self.share[y]) + log(elsewhere)
                    grown = 1.0
                self.share[y] = grown
        for y in range(classes):
            if total - values.present[y] > 0.0:
                grown = total - values.present[y] + self.extra * words
                self.score[y] += words * log(grown) - log(self.share[y])

    @cython.cfunc
    def elsewhere(self, cell: cython.Py_ssize_t, label: cython.Py_ssize_t) -> cython.double:
        """Return the weight of a word outside a class, as a sum without differences."""
        total: cython.double = self.strength * self.tables.unit
        for y in range(self.tables.labels):
            if y != label:
                total += self.tables.values.weight[cell + y]
        return total


@cython.cclass
class BernoulliReading(Reading):
    """Words present or absent: P(w | y) = (n(y, w) + a) / (n(y) + 2 a), and 1 - P for the words that are not there.

    With whole counts the absent words cost a term for each distinct count, by the tables' histogram; with fractional
    weights or fading every word of the vocabulary is read.
    """

    def __init__(self, tables, labels, strength=1.0, prior_strength=0.0, spread=False, class_prior="counted"):
        Reading.__init__(self, tables, labels, strength, prior_strength, spread, class_prior)
        self.is_present = np.zeros(0, np.uint8)

    @cython.cfunc
    def absent_words(self, label: cython.Py_ssize_t) -> cython.double:
        """Return the sum over the words of a class of log(n(y) - n(y, w) + a)."""
        histogram: CountHistogram = self.tables.values.histogram
        node: cython.int = histogram.head[label]
        total: cython.double = self.tables.class_weight[label] + self.strength + self.extra
        logs: cython.double = 0.0
        product: cython.double = 1.0
        while node >= 0:
            left = total - histogram.count[node]
            if left > 0.0:
                if histogram.number[node] == 1 and left > SMALL:  # one, as for most of the larger counts
                    product *= left
                    if product > LARGE or product < SMALL:
                        logs += log(product)
                        product = 1.0
                else:
                    logs += histogram.number[node] * log(left)
            node = histogram.later[node]
        return logs + log(product)

    @cython.cfunc
    def add_evidence(self, row: Row):
        values: ValueCounts = self.tables.values
        histogram: CountHistogram = values.histogram
        if histogram is None:
            self.add_evidence_by_scan(row)
            return
        stride: cython.Py_ssize_t = values.layout.classes
        values.prefetch_cells(row, 0)
        for y in range(self.tables.labels):
            total = self.tables.class_weight[y] + self.extra
            if total + 2.0 * self.strength <= 0.0:
                continue
            if self.extra > 0.0:
                absent = self.absent_words(y)
            else:
                if not histogram.fresh[y]:  # it is kept until the class learns again
                    histogram.absent[y] = self.absent_words(y)
                    histogram.fresh[y] = True
                absent = histogram.absent[y]
            self.score[y] += absent - values.distinct[0] * log(total + 2.0 * self.strength)
            if total + self.strength > 0.0:
                self.score[y] += (values.distinct[0] - histogram.words[y]) * log(total + self.strength)
            # Unsmoothed, a word that is in every message of a class must be in this one: its bucket is the last.
            certain: cython.longlong = 0
            if self.strength == 0.0:
                node = histogram.head[y]
                last: cython.int = -1
                while node >= 0:
                    last = node
                    node = histogram.later[node]
                if last >= 0 and histogram.count[last] >= total:
                    certain = histogram.number[last]
            product = 1.0
            for k in range(row.entries):
                if not values.occupied[row.code[k]]:
                    continue
                cell = row.code[k] * stride + y
                left = total - values.weight[cell] + self.strength
                if left <= 0.0:
                    certain -= 1
                    self.score[y] += log(values.weight[cell])
                    continue
                ratio = (values.weight[cell] + self.strength + self.extra) / left
                left = product * ratio
                if left < SMALL or left > LARGE:
                    self.score[y] += log_of(product) + log_of(ratio)
                    left = 1.0
                product = left
            self.score[y] += log(product)
            if certain > 0:
                self.score[y] = NEVER

    @cython.cfunc
    def add_evidence_by_scan(self, row: Row):
        values: ValueCounts = self.tables.values
        stride: cython.Py_ssize_t = values.layout.classes
        used: cython.Py_ssize_t = values.layout.used[0] if values.layout.features else 0
        add: cython.double = self.strength * self.tables.unit
        if self.is_present.shape[0] < used:
            self.is_present = np.zeros(2 * used, np.uint8)
        for k in range(row.entries):
            self.is_present[row.code[k]] = True
        for y in range(self.tables.labels):
            total = self.tables.class_weight[y] + self.extra
            if total + 2.0 * add <= 0.0:
                continue
            product = 1.0
            for k in range(used):
                if not values.occupied[k]:
                    continue
                ratio = values.weight[k * stride + y] + add
                if self.is_present[k]:
                    ratio += self.extra
                ratio /= total + 2.0 * add
                if ratio > 1.0:
                    ratio = 1.0  # rounding of faded weights
                if not self.is_present[k]:
                    ratio = 1.0 - ratio
                if product * ratio < SMALL:
                    self.score[y] += log_of(product) + log_of(ratio)
                    product = 1.0
                else:
                    product *= ratio
            self.score[y] += log(product)
        for k in range(row.entries):
            self.is_present[row.code[k]] = False
