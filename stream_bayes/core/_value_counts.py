"""Weights of values by class, and the loops that add one event to them, or take it back.

weight[position, class]      present[feature, class]      classes innermost
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core._ahead import soon
    from stream_bayes.core._cells import samples_of, take
    from stream_bayes.core._histogram import CountHistogram
    from stream_bayes.core._layout import Layout
    from stream_bayes.core._rows import Row


@cython.cclass
class ValueCounts:
    """Weights of (class, value), and of (class, feature present), with the number of values that hold samples."""

    def __init__(self, layout: Layout, exact: cython.bint):
        cells = layout.positions * layout.classes
        self.layout = layout
        self.exact = exact
        self.weight = np.zeros(cells)
        self.samples = self.weight if exact else np.zeros(cells)
        self.present = np.zeros(layout.features * layout.classes)
        self.present_samples = self.present if exact else np.zeros(layout.features * layout.classes)
        self.held = np.zeros(layout.positions, np.uint8)
        self.distinct = np.zeros(layout.features, np.longlong)
        self.histogram = None
        self.recount()

    def recount(self):
        """Find out anew which values hold samples, after the tables were filled from elsewhere."""
        layout: Layout = self.layout
        held = np.asarray(self.held)
        # Samples are never negative, so a sum of 0 is nothing but zeros; and a product is faster than `any`.
        held[:] = (
            np.asarray(self.samples).reshape(layout.positions, layout.classes) @ np.ones(layout.classes) > 0
        )
        held[layout.positions_of(layout.declared)] = 1
        self.distinct = np.diff(np.concatenate([[0], np.cumsum(held, dtype=np.longlong)])[self.bounds()])

    def bounds(self):
        """Where each feature's run begins, and where the last one ends."""
        return np.append(np.asarray(self.layout.start), self.layout.positions)

    def rebuild_histogram(self):
        """Sort the words into buckets anew."""
        histogram = CountHistogram(self.layout.classes, self.layout.positions * self.layout.classes)
        histogram.load(self.weight)
        self.histogram = histogram

    @cython.cfunc
    def foresee(self, row: Row, label: cython.Py_ssize_t):
        """Ask for the cells of all values of a row at once; of many words, each is on a cache line of its own."""
        if not cython.compiled:
            return
        layout: Layout = self.layout
        stride: cython.Py_ssize_t = layout.classes
        k: cython.Py_ssize_t
        position: cython.Py_ssize_t
        for k in range(row.entries):
            position = layout.start[row.feature[k]] + row.code[k]
            soon(cython.address(self.weight[position * stride + label]))

    @cython.cfunc
    def add(self, row: Row, unit: cython.double):
        layout: Layout = self.layout
        stride: cython.Py_ssize_t = layout.classes
        y: cython.Py_ssize_t = row.label
        k: cython.Py_ssize_t
        f: cython.Py_ssize_t
        position: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        amount: cython.double
        self.foresee(row, y)
        for k in range(row.entries):
            f = row.feature[k]
            position = layout.start[f] + row.code[k]
            cell = position * stride + y
            amount = row.amount[k] * row.weight
            self.weight[cell] += amount * unit
            self.present[f * stride + y] += amount * unit
            if not self.exact:
                self.samples[cell] += samples_of(amount)
                self.present_samples[f * stride + y] += samples_of(amount)
            if not self.held[position]:
                self.held[position] = True
                self.distinct[f] += 1
        if self.histogram is not None:
            sort_words(self, row)

    def clear(self, chosen):
        """Hold nothing of the features chosen, a mask over slots."""
        layout: Layout = self.layout
        places = np.asarray(chosen)[np.asarray(layout.owner)]
        np.asarray(self.weight).reshape(-1, layout.classes)[places] = 0.0
        np.asarray(self.samples).reshape(-1, layout.classes)[places] = 0.0
        np.asarray(self.present).reshape(-1, layout.classes)[np.asarray(chosen)] = 0.0
        np.asarray(self.present_samples).reshape(-1, layout.classes)[np.asarray(chosen)] = 0.0

    @cython.cfunc
    def missing_entry(self, row: Row, unit: cython.double, least: cython.double) -> cython.longlong:
        """The first entry of the row that was never learned in this class, or -1; less than `least` is rounding."""
        layout: Layout = self.layout
        k: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        amount: cython.double
        for k in range(row.entries):
            cell = (layout.start[row.feature[k]] + row.code[k]) * layout.classes + row.label
            amount = row.amount[k] * row.weight
            if self.samples[cell] < samples_of(amount) and self.samples[cell] != 1.0:
                return k
            if self.weight[cell] + least < amount * unit:
                return k
        return -1

    @cython.cfunc
    def forget(self, row: Row, unit: cython.double, least: cython.double):
        layout: Layout = self.layout
        stride: cython.Py_ssize_t = layout.classes
        y: cython.Py_ssize_t = row.label
        k: cython.Py_ssize_t
        f: cython.Py_ssize_t
        c: cython.Py_ssize_t
        position: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        amount: cython.double
        for k in range(row.entries):
            f = row.feature[k]
            position = layout.start[f] + row.code[k]
            cell = position * stride + y
            amount = row.amount[k] * row.weight
            take(self.weight, self.samples, cell, amount, unit, least, self.exact)
            take(self.present, self.present_samples, f * stride + y, amount, unit, least, self.exact)
            if self.samples[cell] == 0.0 and row.code[k] >= layout.declared[f]:
                for c in range(stride):
                    if self.samples[position * stride + c] > 0.0:
                        break
                else:
                    self.held[position] = False
                    self.distinct[f] -= 1
        if self.histogram is not None:
            sort_words(self, row)


@cython.cfunc
def sort_words(values: ValueCounts, row: Row):
    """Put the words of a row where their counts belong in the histogram of its class."""
    layout: Layout = values.layout
    histogram: CountHistogram = values.histogram
    k: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    for k in range(row.entries):
        cell = (layout.start[row.feature[k]] + row.code[k]) * layout.classes + row.label
        histogram.move(cell, row.label, values.weight[cell])
    histogram.fresh[row.label] = False
