"""Numbers to the codes of bins, and to positions within a bin.

    cuts of a feature     c0        c1   c2                    one bin more than cuts, each from its cut up to the next
    codes              0  |    1    | 2  |    3
    inside                   0...1                             how far into its bin a number is, for predictions

Learning counts a number in its bin alone, so counts stay whole. Predicting reads between bins: a number near the edge
of its bin is read partly from the neighbour, as if each bin were a hump that falls off to both sides (a quadratic
B-spline over the cuts). A feature with a bin for each of its values is read as it was counted.

Bins tell little of numbers that have left their cuts, for another level or unit: nearly all are in two of them.
`watch` finds such features.
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.encoding._rows import Row

MOVED = cython.declare(cython.longlong, 200)  # numbers in two bins, less ten for each that is not
BACK = cython.declare(cython.longlong, 10)
FEW = cython.declare(cython.Py_ssize_t, 24)  # cuts that are counted one by one


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def is_cut(count: cython.longlong[::1], slot: cython.Py_ssize_t) -> cython.bint:
    """Return True if a feature has a number of cuts, which may be 0."""
    return slot < count.shape[0] and count[slot] >= 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def cuts_below(
    cut: cython.double[::1], first: cython.Py_ssize_t, count: cython.Py_ssize_t, number: cython.double
) -> cython.Py_ssize_t:
    """Return how many of some cuts, from `first` on, are not above a number."""
    low: cython.Py_ssize_t = first
    high: cython.Py_ssize_t = first + count
    below: cython.Py_ssize_t = 0
    if count <= FEW:  # a processor guesses no branch of this loop wrong
        for middle in range(low, high):
            below += cut[middle] <= number
        return below
    while low < high:
        middle = (low + high) // 2
        if cut[middle] <= number:
            low = middle + 1
        else:
            high = middle
    return low - first


@cython.cclass
class Bins:
    """The cut points of binned features, by slot. `most` is the most bins of a feature: this number of positions is
    kept free for it.
    """

    def __init__(self, most: cython.Py_ssize_t):
        self.most = most
        self.cuts = {}
        self.edges = {}
        self.crowd = np.zeros(0, np.longlong)  # by slot, the numbers of late in these two bins
        self.crowded = np.zeros(0, np.longlong)
        self.beside = np.zeros(0, np.longlong)
        self.join_cuts()

    def set(self, cuts):
        """Set the cuts of features, by slot, and the outer edges of their end bins; None makes a bin of each value."""
        for slot, (points, edges) in cuts.items():
            self.cuts[slot] = tuple(points)
            self.edges[slot] = edges
        self.join_cuts()
        for slot in cuts:
            self.crowd[slot], self.crowded[slot], self.beside[slot] = 0, -1, -1

    def join_cuts(self):
        """Write all cuts into one array."""
        size = max(self.cuts, default=-1) + 1
        self.first = np.zeros(size, np.longlong)
        self.count = np.full(size, -1, np.longlong)
        self.low = np.zeros(size)
        self.high = np.zeros(size)
        self.soft = np.zeros(size, np.uint8)
        new = np.full(size - len(self.crowd), -1, np.longlong)
        self.crowd = np.append(self.crowd, 0 * new)
        self.crowded = np.append(self.crowded, new)
        self.beside = np.append(self.beside, new)
        flat: list = []
        for slot, cuts in self.cuts.items():
            self.first[slot] = len(flat)
            self.count[slot] = len(cuts)
            flat.extend(cuts)
            if self.edges[slot] is not None:
                self.low[slot], self.high[slot] = self.edges[slot]
                self.soft[slot] = True
        self.cut = np.array(flat, np.float64)

    @cython.ccall
    @cython.exceptval(-1)
    def code_of(self, slot: cython.Py_ssize_t, number: cython.double) -> cython.Py_ssize_t:
        """Return the number of cuts that are not above a number."""
        return cuts_below(self.cut, self.first[slot], self.count[slot], number)

    @cython.ccall
    def strip(self, row: Row, into: Row):
        """Copy a row without the entries that its numbers have become."""
        n: cython.Py_ssize_t = 0
        into.reserve(row.entries, row.numbers)
        for k in range(row.entries):
            if self.has_cuts(row.feature[k]):
                continue
            into.feature[n] = row.feature[k]
            into.code[n] = row.code[k]
            n += 1
        for k in range(row.numbers):
            into.numeric_feature[k] = row.numeric_feature[k]
            into.number[k] = row.number[k]
        into.entries = n
        into.numbers = row.numbers
        into.label = row.label
        into.weight = row.weight
        into.whole = row.whole

    @cython.ccall
    def resolve(self, row: Row):
        """Add an entry for each number of a row whose feature has its cuts; entries and numbers are in the order of
        slots, and are merged from the last on.
        """
        numbers: cython.Py_ssize_t = 0
        n: cython.Py_ssize_t = row.entries - 1
        m: cython.Py_ssize_t = row.numbers - 1
        for k in range(row.numbers):
            numbers += is_cut(self.count, row.numeric_feature[k])
        row.reserve(row.entries + numbers, row.numbers)
        row.entries += numbers
        row.soft = False
        at = row.entries - 1
        while m >= 0:
            slot: cython.Py_ssize_t = row.numeric_feature[m]
            if not is_cut(self.count, slot):
                m -= 1
            elif n >= 0 and row.feature[n] > slot:
                row.feature[at], row.code[at] = row.feature[n], row.code[n]
                row.inside[at] = -1.0
                n -= 1
                at -= 1
            else:
                number = row.number[m]
                first: cython.Py_ssize_t = self.first[slot]
                code = cuts_below(self.cut, first, self.count[slot], number)
                row.feature[at], row.code[at], row.inside[at] = slot, code, -1.0
                if self.soft[slot]:
                    low = self.cut[first + code - 1] if code > 0 else self.low[slot]
                    high = self.cut[first + code] if code < self.count[slot] else self.high[slot]
                    row.inside[at] = min(max((number - low) / (high - low), 0.0), 1.0) if low < high else 0.5
                    row.soft = True
                m -= 1
                at -= 1
        for k in range(at + 1):
            row.inside[k] = -1.0

    @cython.ccall
    def watch(self, row: Row) -> cython.Py_ssize_t:
        """Follow the bins of a row that was learned, and return the slot of a feature whose newest numbers are nearly
        all in two bins, once each time that they get there; -1 for none.
        """
        moved: cython.Py_ssize_t = -1
        for k in range(row.entries):
            slot: cython.Py_ssize_t = row.feature[k]
            if not self.has_cuts(slot) or self.count[slot] == 0:
                continue
            run = self.crowd[slot]
            if row.code[k] == self.crowded[slot] or row.code[k] == self.beside[slot]:
                run += 1
            else:
                run = max(run - BACK, 0)
                if run == 0:
                    self.crowded[slot], self.beside[slot] = self.beside[slot], row.code[k]
            if run == MOVED:
                if moved < 0:
                    moved = slot
                else:
                    run -= 1  # its turn comes with the next of its numbers
            self.crowd[slot] = min(run, 2 * MOVED)
        return moved

    @cython.cfunc
    @cython.exceptval(check=False)
    def has_cuts(self, slot: cython.Py_ssize_t) -> cython.bint:
        """Return True if the cuts of a feature are set."""
        return is_cut(self.count, slot)
