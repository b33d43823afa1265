"""Weights of values by class, the loops that add or subtract one event, and a histogram of the weights.

weight[position, class]      present[feature, class]      classes innermost
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.encoding._prefetch import prefetch
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.values._cells import samples_of, subtract


@cython.cclass
class CountHistogram:
    """Histogram of word counts per class: a linked list of buckets in order of count, each with its number of words.

    A word that is counted once more moves to the next bucket, so an update needs no search. The evidence of all absent
    words is one term per bucket instead of one per word.
    """

    def __init__(self, classes: cython.Py_ssize_t, cells: cython.Py_ssize_t):
        self.classes = classes
        self.node_of = np.full(cells, -1, np.int32)
        self.head = np.full(classes, -1, np.int32)
        self.words = np.zeros(classes, np.longlong)
        self.count = np.zeros(16)
        self.later = np.zeros(16, np.int32)
        self.earlier = np.zeros(16, np.int32)
        self.number = np.zeros(16, np.int32)
        self.unused = -1
        self.fresh = np.zeros(classes, np.uint8)
        self.absent = np.zeros(classes)
        self.free_from(0)

    def free_from(self, first: cython.Py_ssize_t):
        """Chain the nodes from `first` on into the list of unused ones."""
        for node in range(self.later.shape[0] - 1, first - 1, -1):
            self.later[node] = self.unused
            self.unused = cython.cast(cython.int, node)

    @cython.cfunc
    def new_node(
        self, count: cython.double, before: cython.int, after: cython.int, label: cython.Py_ssize_t
    ) -> cython.int:
        if self.unused < 0:
            size = self.later.shape[0]
            self.count = np.resize(self.count, 2 * size)
            self.later = np.resize(self.later, 2 * size)
            self.earlier = np.resize(self.earlier, 2 * size)
            self.number = np.resize(self.number, 2 * size)
            self.free_from(size)
        node: cython.int = self.unused
        self.unused = self.later[node]
        self.count[node] = count
        self.number[node] = 0
        self.earlier[node] = before
        self.later[node] = after
        if before >= 0:
            self.later[before] = node
        else:
            self.head[label] = node
        if after >= 0:
            self.earlier[after] = node
        return node

    @cython.cfunc
    def leave(self, node: cython.int, label: cython.Py_ssize_t):
        """Remove one word from a bucket; an empty bucket is unlinked."""
        self.number[node] -= 1
        if self.number[node] > 0:
            return
        before: cython.int = self.earlier[node]
        after: cython.int = self.later[node]
        if before >= 0:
            self.later[before] = after
        else:
            self.head[label] = after
        if after >= 0:
            self.earlier[after] = before
        self.later[node] = self.unused
        self.unused = node

    @cython.cfunc
    def move(self, cell: cython.Py_ssize_t, label: cython.Py_ssize_t, count: cython.double):
        """Move the word of this cell to the bucket of those seen `count` times in the class."""
        before: cython.int
        after: cython.int
        node: cython.int = -1
        old: cython.int = self.node_of[cell]
        self.fresh[label] = False
        if old < 0 and count <= 0.0:
            return
        if old < 0:
            self.words[label] += 1
            before, after = -1, self.head[label]
        elif count >= self.count[old]:
            before, after = old, self.later[old]
        else:
            before, after = self.earlier[old], old
        if count <= 0.0:
            self.words[label] -= 1
            self.node_of[cell] = -1
            self.leave(old, label)
            return
        while after >= 0 and self.count[after] < count:
            before, after = after, self.later[after]
        while before >= 0 and self.count[before] > count:
            before, after = self.earlier[before], before
        if after >= 0 and self.count[after] == count:
            node = after
        elif before >= 0 and self.count[before] == count:
            node = before
        else:
            node = self.new_node(count, before, after, label)
        self.number[node] += 1
        self.node_of[cell] = node
        if old >= 0:
            self.leave(old, label)

    def load(self, weight: cython.double[::1]):
        """Build the buckets from a whole table of weights, cell by cell, classes innermost."""
        cell: cython.Py_ssize_t
        for label in range(self.classes):
            column = np.asarray(weight)[label :: self.classes]
            filled = np.flatnonzero(column)
            # The largest first: each then goes straight to the head of the list.
            order: cython.longlong[::1] = filled[np.argsort(-column[filled], kind="stable")].astype(
                np.longlong
            )
            for cell in range(order.shape[0]):
                index: cython.Py_ssize_t = order[cell] * self.classes + label
                self.move(index, label, weight[index])


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
        self.occupied = np.zeros(layout.positions, np.uint8)
        self.distinct = np.zeros(layout.features, np.longlong)
        self.histogram = None
        self.recount()

    def recount(self):
        """Recompute which values hold samples, after the tables were filled from elsewhere."""
        layout: Layout = self.layout
        code: cython.Py_ssize_t
        for f in range(layout.features):
            self.distinct[f] = 0
            for code in range(layout.room[f]):
                position: cython.Py_ssize_t = layout.start[f] + code
                self.occupied[position] = code < layout.declared[f]
                for c in range(layout.classes):
                    if self.samples[position * layout.classes + c] > 0.0:
                        self.occupied[position] = True
                        break
                self.distinct[f] += self.occupied[position]

    def rebuild_histogram(self):
        """Rebuild the buckets from the weights."""
        histogram = CountHistogram(self.layout.classes, self.layout.positions * self.layout.classes)
        histogram.load(self.weight)
        self.histogram = histogram

    @cython.cfunc
    def prefetch_cells(self, row: Row, label: cython.Py_ssize_t):
        """Prefetch the cells of all values of a row: each may be on a cache line of its own."""
        if not cython.compiled:
            return
        layout: Layout = self.layout
        stride: cython.Py_ssize_t = layout.classes
        for k in range(row.entries):
            position: cython.Py_ssize_t = layout.start[row.feature[k]] + row.code[k]
            prefetch(cython.address(self.weight[position * stride + label]))

    @cython.cfunc
    def add(self, row: Row, unit: cython.double):
        layout: Layout = self.layout
        stride: cython.Py_ssize_t = layout.classes
        y: cython.Py_ssize_t = row.label
        self.prefetch_cells(row, y)
        for k in range(row.entries):
            add_entry(self, layout, stride, row, k, y, unit)
        if self.histogram is not None:
            sort_words(self, row)

    def add_columns(
        self,
        chosen: cython.uchar[::1],
        column_of: cython.longlong[::1],
        codes: cython.int[:, ::1],
        labels: cython.int[::1],
        weights: cython.double[::1],
        units: cython.double[::1],
    ):
        """Add the values of events of the features chosen, a mask over slots. `codes` has a column an event,
        `column_of` the row of each slot there; `units` is what a fresh sample weighed when each event came. The caller
        recounts.
        """
        layout: Layout = self.layout
        stride: cython.Py_ssize_t = layout.classes
        for f in range(layout.features):
            if not chosen[f]:
                continue
            for r in range(labels.shape[0]):
                code: cython.int = codes[column_of[f], r]
                if code < 0:
                    continue
                cell: cython.Py_ssize_t = (layout.start[f] + code) * stride + labels[r]
                self.weight[cell] += weights[r] * units[r]
                self.present[f * stride + labels[r]] += weights[r] * units[r]
                if not self.exact:
                    self.samples[cell] += samples_of(weights[r])
                    self.present_samples[f * stride + labels[r]] += samples_of(weights[r])

    def clear(self, chosen):
        """Empty the features chosen, a mask over slots."""
        layout: Layout = self.layout
        positions = np.asarray(chosen)[np.asarray(layout.owner)]
        np.asarray(self.weight).reshape(-1, layout.classes)[positions] = 0.0
        np.asarray(self.samples).reshape(-1, layout.classes)[positions] = 0.0
        np.asarray(self.present).reshape(-1, layout.classes)[np.asarray(chosen)] = 0.0
        np.asarray(self.present_samples).reshape(-1, layout.classes)[np.asarray(chosen)] = 0.0

    @cython.cfunc
    def missing_entry(self, row: Row, unit: cython.double, least: cython.double) -> cython.longlong:
        """Return the first entry of the row that was never learned in this class, or -1; below `least` is rounding."""
        layout: Layout = self.layout
        for k in range(row.entries):
            cell: cython.Py_ssize_t = (
                layout.start[row.feature[k]] + row.code[k]
            ) * layout.classes + row.label
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
        for k in range(row.entries):
            f: cython.Py_ssize_t = row.feature[k]
            position: cython.Py_ssize_t = layout.start[f] + row.code[k]
            cell: cython.Py_ssize_t = position * stride + y
            amount = row.amount[k] * row.weight
            subtract(self.weight, self.samples, cell, amount, unit, least, self.exact)
            subtract(self.present, self.present_samples, f * stride + y, amount, unit, least, self.exact)
            if self.samples[cell] == 0.0 and row.code[k] >= layout.declared[f]:
                for c in range(stride):
                    if self.samples[position * stride + c] > 0.0:
                        break
                else:
                    self.occupied[position] = False
                    self.distinct[f] -= 1
        if self.histogram is not None:
            sort_words(self, row)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def add_entry(
    values: ValueCounts,
    layout: Layout,
    stride: cython.Py_ssize_t,
    row: Row,
    k: cython.Py_ssize_t,
    y: cython.Py_ssize_t,
    unit: cython.double,
) -> cython.void:
    """Add entry k of a row to its class."""
    f: cython.Py_ssize_t = row.feature[k]
    position: cython.Py_ssize_t = layout.start[f] + row.code[k]
    cell: cython.Py_ssize_t = position * stride + y
    amount: cython.double = row.amount[k] * row.weight
    values.weight[cell] += amount * unit
    values.present[f * stride + y] += amount * unit
    if not values.exact:
        values.samples[cell] += samples_of(amount)
        values.present_samples[f * stride + y] += samples_of(amount)
    if not values.occupied[position]:
        values.occupied[position] = True
        values.distinct[f] += 1


@cython.cfunc
def sort_words(values: ValueCounts, row: Row):
    """Move the words of a row to the buckets of their counts in its class."""
    layout: Layout = values.layout
    histogram: CountHistogram = values.histogram
    for k in range(row.entries):
        cell: cython.Py_ssize_t = (layout.start[row.feature[k]] + row.code[k]) * layout.classes + row.label
        histogram.move(cell, row.label, values.weight[cell])
    histogram.fresh[row.label] = False
