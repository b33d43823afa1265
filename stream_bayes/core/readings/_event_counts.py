"""The counts of all pairs, or triples, of one event's values, gathered into one array.

In the tables they are far apart, most of them outside the caches; gathering waits for none before it reads the next.
The array has the order of the entries, classes innermost, without spare room:

    pairs       [k > j, class]            k = 1: (1, 0)   k = 2: (2, 0) (2, 1)   ...
    triples     [k > j > i, class]        the pairs below each k

A number that is read between bins is a mixture of up to three neighbouring positions, so a pair mixes up to nine cells,
and a triple 27. They are read by rows: for each position of k and of j, the row of cells with everything before j is
weighted and added.
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.counts._pairs import PairCounts, TripleCounts

MOST = cython.declare(cython.Py_ssize_t, 3)  # positions that an entry is read from


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def copy_row(
    weight: cython.double[::1],
    line: cython.longlong,
    first: cython.longlong[::1],
    entries: cython.Py_ssize_t,
    stride: cython.Py_ssize_t,
    count: cython.double[::1],
    at: cython.Py_ssize_t,
) -> cython.void:
    """Write a row's cells with its first entries, two classes at a time."""
    for i in range(entries):
        c = line + first[i] * stride
        for y in range(0, stride, 2):
            count[at + y] = weight[c + y]
            count[at + y + 1] = weight[c + y + 1]
        at += stride


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def mix_row(
    weight: cython.double[::1],
    line: cython.longlong,
    first: cython.longlong[::1],
    width: cython.longlong[::1],
    share: cython.double[::1],
    entries: cython.Py_ssize_t,
    stride: cython.Py_ssize_t,
    factor: cython.double,
    count: cython.double[::1],
    at: cython.Py_ssize_t,
) -> cython.void:
    """Add a part of a row's cells with its first entries, each read between bins."""
    for i in range(entries):
        c = line + first[i] * stride
        portion = factor * share[i * MOST]
        second = factor * share[i * MOST + 1]  # unused where an entry is read from one position
        third = factor * share[i * MOST + 2]
        for y in range(0, stride, 2):
            one = count[at + y] + portion * weight[c]
            one_after = count[at + y + 1] + portion * weight[c + 1]
            if width[i] > 1:
                one += second * weight[c + stride]
                one_after += second * weight[c + stride + 1]
            if width[i] > 2:
                one += third * weight[c + 2 * stride]
                one_after += third * weight[c + 2 * stride + 1]
            count[at + y] = one
            count[at + y + 1] = one_after
            c += 2
        at += stride


@cython.cclass
class EventCells:
    """The positions of an event's entries, and the gathered weights of their pairs and triples."""

    def __init__(self):
        self.entries = 0
        self.soft = False
        self.first, self.width = np.zeros(0, np.longlong), np.zeros(0, np.longlong)
        self.pair_line, self.triple_line = np.zeros(0, np.longlong), np.zeros(0, np.longlong)
        self.share, self.count = np.zeros(0), np.zeros(0)

    @cython.cfunc
    def reserve(self, entries: cython.Py_ssize_t):
        self.entries = entries
        if self.first.shape[0] < entries:
            self.first, self.width = np.zeros(2 * entries, np.longlong), np.zeros(2 * entries, np.longlong)
            self.pair_line, self.triple_line = (
                np.zeros(2 * entries, np.longlong),
                np.zeros(2 * entries, np.longlong),
            )
            self.share = np.zeros(2 * entries * MOST)

    @cython.cfunc
    def locate(self, entries: cython.Py_ssize_t, position: cython.longlong[::1]):
        """Read each entry at its position."""
        self.reserve(entries)
        self.soft = False
        for k in range(entries):
            self.first[k] = position[k]

    @cython.cfunc
    def locate_soft(
        self,
        entries: cython.Py_ssize_t,
        position: cython.longlong[::1],
        left: cython.double[::1],
        right: cython.double[::1],
    ):
        """Read each entry partly from the positions beside it."""
        self.reserve(entries)
        self.soft = True
        for k in range(entries):
            width: cython.Py_ssize_t = 0
            self.first[k] = position[k]
            if left[k] > 0.0:
                self.first[k] -= 1
                self.share[k * MOST] = left[k]
                width = 1
            self.share[k * MOST + width] = 1.0 - left[k] - right[k]
            width += 1
            if right[k] > 0.0:
                self.share[k * MOST + width] = right[k]
                width += 1
            self.width[k] = width

    @cython.cfunc
    def reserve_cells(self, cells: cython.Py_ssize_t):
        if self.count.shape[0] < cells:
            self.count = np.zeros(2 * cells)

    @cython.cfunc
    def gather_pairs(self, pairs: PairCounts):
        """Gather the weights of all pairs into `count`."""
        layout: Layout = pairs.layout
        stride: cython.Py_ssize_t = layout.classes
        n: cython.Py_ssize_t = self.entries
        at: cython.Py_ssize_t = 0
        a: cython.Py_ssize_t
        self.reserve_cells(n * (n - 1) // 2 * stride)
        weight: cython.double[::1] = pairs.weight
        count: cython.double[::1] = self.count
        first: cython.longlong[::1] = self.first
        width: cython.longlong[::1] = self.width
        share: cython.double[::1] = self.share
        for k in range(1, n):
            if not self.soft:
                copy_row(weight, layout.pair(first[k], 0) * stride, first, k, stride, count, at)
            else:
                for c in range(at, at + k * stride):
                    count[c] = 0.0
                for a in range(width[k]):
                    line = layout.pair(first[k] + a, 0) * stride
                    mix_row(weight, line, first, width, share, k, stride, share[k * MOST + a], count, at)
            at += k * stride

    @cython.cfunc
    def gather_triples(self, triples: TripleCounts):
        """Gather the weights of all triples into `count`."""
        layout: Layout = triples.layout
        stride: cython.Py_ssize_t = layout.classes
        n: cython.Py_ssize_t = self.entries
        at: cython.Py_ssize_t = 0
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        self.reserve_cells(n * (n - 1) * (n - 2) // 6 * stride)
        for k in range(n):
            # The row of (k, j) begins where that of k does and, in it, that of j.
            f = layout.owner[self.first[k]]
            self.pair_line[k] = layout.pair(self.first[k], 0)
            self.triple_line[k] = (
                layout.triple_start[f] + (self.first[k] - layout.start[f]) * layout.pair_start[f]
            )
        weight: cython.double[::1] = triples.weight
        count: cython.double[::1] = self.count
        first: cython.longlong[::1] = self.first
        width: cython.longlong[::1] = self.width
        share: cython.double[::1] = self.share
        for k in range(2, n):
            for j in range(1, k):
                if not self.soft:
                    line = (self.triple_line[k] + self.pair_line[j]) * stride
                    copy_row(weight, line, first, j, stride, count, at)
                else:
                    for c in range(at, at + j * stride):
                        count[c] = 0.0
                    for a in range(width[k]):
                        for b in range(width[j]):
                            line = layout.triple(first[k] + a, first[j] + b, 0) * stride
                            portion = share[k * MOST + a] * share[j * MOST + b]
                            mix_row(weight, line, first, width, share, j, stride, portion, count, at)
                at += j * stride
