"""Mutual information from the count tables, in natural logarithms.

Every sum runs in the order of names, so that stores that hold the same
counts give the same bits, whatever the order in which the names came.

With f(n) = n log n, the information of two features given the class, over the samples that have both, is

    I(a; b | y) = sum over y of [ sum f(n(y, a, b)) - sum f(n(y, a)) - sum f(n(y, b)) + f(n(y)) ] / n
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log

if not cython.compiled:
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.encoding._features import Feature
    from stream_bayes.core.encoding._vocabulary import Vocabulary

ROUNDING = cython.declare(cython.double, 1e-14)  # of the largest term, for each of the other ones
TABULATED = cython.declare(cython.Py_ssize_t, 4096)


def entropy_terms():
    """Return N log n of the first whole numbers."""
    terms = np.zeros(TABULATED)
    term: cython.double[::1] = terms
    for k in range(2, TABULATED):
        term[k] = k * log(k)
    return terms


ENTROPY_TERMS = entropy_terms()


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def entropy_term(terms: cython.double[::1], count: cython.double) -> cython.double:
    """Return N log n, from the table where n is small and whole."""
    if count < TABULATED:
        whole: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, count)
        if whole == count:
            return terms[whole]
    return count * log(count) if count > 0.0 else 0.0


@cython.cfunc
def first_by_name(
    vocabulary: Vocabulary,
    used: cython.longlong,
    start: cython.longlong,
    positions: cython.longlong[::1],
    at: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write the positions of the codes in use, in the order of their names, from place `at` on; return their number."""
    count: cython.Py_ssize_t = 0
    for named in vocabulary.codes_by_name():
        code: cython.longlong = named
        if code < used:
            positions[at + count] = start + code
            count += 1
    return count


@cython.cclass
class Information:
    """Mutual information of each feature and the class, and of each pair of features given the class. `features` come
    in the order of their names.
    """

    def __init__(self, tables: Tables, features: list, labels: Vocabulary):
        layout: Layout = tables.values.layout
        feature: Feature
        self.tables = tables
        self.features = np.array([feature.slot for feature in features], np.longlong)
        self.ends = np.zeros(len(features) + 1, np.longlong)
        self.positions = np.empty(int(np.asarray(layout.used)[np.asarray(self.features)].sum()), np.longlong)
        self.classes = np.empty(tables.labels, np.longlong)
        self.entropy_terms = ENTROPY_TERMS
        widest: cython.Py_ssize_t = 1
        for k in range(len(features)):
            feature = features[k]
            slot: cython.Py_ssize_t = feature.slot
            end = self.ends[k]
            end += first_by_name(
                feature.vocabulary, layout.used[slot], layout.start[slot], self.positions, end
            )
            self.ends[k + 1] = end
            widest = max(widest, end - self.ends[k])
        first_by_name(labels, tables.labels, 0, self.classes, 0)
        self.column = np.zeros(widest)
        self.find_occupied()

    @cython.cfunc
    def find_occupied(self):
        """Write, class by class, the positions whose value has weight in the class, and where those of each feature
        end. The pairs of all others are 0, and leaving zeros out of a sum changes no bit.
        """
        tables: Tables = self.tables
        stride: cython.Py_ssize_t = tables.values.layout.classes
        features: cython.Py_ssize_t = self.features.shape[0]
        self.occupied = np.empty((self.classes.shape[0], self.positions.shape[0]), np.longlong)
        self.occupied_ends = np.zeros((self.classes.shape[0], features + 1), np.longlong)
        for c in range(self.classes.shape[0]):
            n: cython.Py_ssize_t = 0
            for k in range(features):
                for a in range(self.ends[k], self.ends[k + 1]):
                    self.occupied[c, n] = self.positions[a]
                    n += tables.values.weight[self.positions[a] * stride + self.classes[c]] > 0.0
                self.occupied_ends[c, k + 1] = n

    @cython.cfunc
    @cython.exceptval(check=False)
    def share(self, answer: cython.double, total: cython.double) -> cython.double:
        """Return a sum of entropy terms, divided by the weight, as information.

        A result within rounding of 0 becomes 0: features without information are then equal, and names break the tie.
        """
        if total <= 0.0 or answer <= ROUNDING * (entropy_term(self.entropy_terms, total) + total):
            return 0.0
        return answer / total

    @cython.ccall
    def between(self, first: cython.Py_ssize_t, second: cython.Py_ssize_t) -> cython.double:
        """Return I(first; second | class) of two features by their places in the order of names, `first` before
        `second`.
        """
        tables: Tables = self.tables
        layout: Layout = tables.values.layout
        weight: cython.double[::1] = tables.pairs.weight
        terms: cython.double[::1] = self.entropy_terms
        column: cython.double[::1] = self.column
        occupied: cython.longlong[:, ::1] = self.occupied
        later: cython.bint = self.features[first] > self.features[second]
        high: cython.longlong = self.features[first if later else second]
        stride: cython.longlong = layout.classes
        line: cython.longlong = layout.start[high] * stride
        step: cython.longlong = line if later else stride
        inner_step: cython.longlong = stride if later else line
        origin: cython.longlong = (layout.pair_start[high] - layout.start[high] * layout.start[high]) * stride
        scale: cython.double = 1.0 / tables.unit
        a: cython.Py_ssize_t
        total: cython.double = 0.0
        answer: cython.double = 0.0
        for c in range(self.classes.shape[0]):
            whole = 0.0
            low: cython.Py_ssize_t = self.occupied_ends[c, second]
            size: cython.Py_ssize_t = self.occupied_ends[c, second + 1] - low
            for b in range(size):
                column[b] = 0.0
            for a in range(self.occupied_ends[c, first], self.occupied_ends[c, first + 1]):
                base: cython.longlong = origin + occupied[c, a] * step + self.classes[c]
                row = 0.0
                for b in range(size):
                    count: cython.double = weight[base + occupied[c, low + b] * inner_step] * scale
                    answer += entropy_term(terms, count)
                    row += count
                    column[b] += count
                answer -= entropy_term(terms, row)
                whole += row
            for b in range(size):
                answer -= entropy_term(terms, column[b])
            answer += entropy_term(terms, whole)
            total += whole
        return self.share(answer, total)

    def with_class_all(self):
        """Return `with_class` of all features."""
        answer = np.zeros(self.features.shape[0])
        shares: cython.double[::1] = answer
        for k in range(self.features.shape[0]):
            shares[k] = self.with_class(k)
        return answer

    def between_all(self):
        """Return the matrix of `between` for all features."""
        size: cython.Py_ssize_t = self.features.shape[0]
        answer = np.zeros((size, size))
        matrix: cython.double[:, ::1] = answer
        for j in range(size):
            for i in range(j):
                matrix[i, j] = matrix[j, i] = self.between(i, j)
        return answer

    @cython.ccall
    def with_class(self, feature: cython.Py_ssize_t) -> cython.double:
        """Return I(feature; class), over the samples that have the feature."""
        tables: Tables = self.tables
        terms: cython.double[::1] = self.entropy_terms
        stride: cython.Py_ssize_t = tables.values.layout.classes
        scale: cython.double = 1.0 / tables.unit
        a: cython.Py_ssize_t
        whole: cython.double = 0.0
        answer: cython.double = 0.0
        for a in range(self.ends[feature], self.ends[feature + 1]):
            row = 0.0
            for c in range(self.classes.shape[0]):
                count = tables.values.weight[self.positions[a] * stride + self.classes[c]] * scale
                answer += entropy_term(terms, count)
                row += count
            answer -= entropy_term(terms, row)
            whole += row
        for c in range(self.classes.shape[0]):
            count = tables.values.present[self.features[feature] * stride + self.classes[c]] * scale
            answer -= entropy_term(terms, count)
        answer += entropy_term(terms, whole)
        return self.share(answer, whole)
