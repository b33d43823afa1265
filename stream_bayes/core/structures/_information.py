"""Mutual information from the count tables, in natural logarithms.

Every sum runs in the order of names, which the caller gives as positions and classes, so that stores that hold the same
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


@cython.cclass
class Information:
    """Mutual information of each feature and the class, and of each pair of features given the class. `features` are
    slots in the order of their names; `values` has for each of them an array of its positions in the order of their
    names; `classes` are codes in the order of theirs.
    """

    def __init__(self, tables, features, values, classes):
        self.tables = tables
        self.features = np.asarray(features, np.longlong)
        self.classes = np.asarray(classes, np.longlong)
        sizes = [len(positions) for positions in values]
        self.ends = np.cumsum([0] + sizes, dtype=np.longlong)  # noqa: RUF005  # Cython has no starred lists here
        self.positions = np.concatenate([np.zeros(0)] + values).astype(np.longlong)  # noqa: RUF005  # as above
        self.column = np.zeros(max(sizes, default=1))
        self.entropy_terms = ENTROPY_TERMS

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
        positions: cython.longlong[::1] = self.positions
        column: cython.double[::1] = self.column
        later: cython.bint = self.features[first] > self.features[second]
        high: cython.longlong = self.features[first if later else second]
        stride: cython.longlong = layout.classes
        line: cython.longlong = layout.start[high] * stride
        step: cython.longlong = line if later else stride
        inner_step: cython.longlong = stride if later else line
        origin: cython.longlong = (layout.pair_start[high] - layout.start[high] * layout.start[high]) * stride
        scale: cython.double = 1.0 / tables.unit
        low: cython.Py_ssize_t = self.ends[second]
        size: cython.Py_ssize_t = self.ends[second + 1] - low
        a: cython.Py_ssize_t
        total: cython.double = 0.0
        answer: cython.double = 0.0
        for c in range(self.classes.shape[0]):
            whole = 0.0
            for b in range(size):
                column[b] = 0.0
            for a in range(self.ends[first], self.ends[first + 1]):
                base: cython.longlong = origin + positions[a] * step + self.classes[c]
                row = 0.0
                for b in range(size):
                    count = weight[base + positions[low + b] * inner_step] * scale
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
