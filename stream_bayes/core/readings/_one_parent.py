"""One-dependence models: each feature depends on the class and on at most one other feature."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log

from stream_bayes.core.readings._event_counts import EventCells

if not cython.compiled:
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.counts._pairs import PairCounts
    from stream_bayes.core.counts._values import ValueCounts
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._naive_bayes import ValueReading, left_share, right_share
    from stream_bayes.core.readings._reading import log_of

SMALL = cython.declare(cython.double, 1e-150)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def between_bins(
    weight: cython.double[::1],
    cell: cython.longlong,
    step: cython.longlong,
    left: cython.double,
    right: cython.double,
) -> cython.double:
    """Return a weight in a table, read between the cell of a bin and, in these shares, the neighbours'."""
    count: cython.double = weight[cell] * (1.0 - left - right)
    if left > 0.0:
        count += weight[cell - step] * left
    if right > 0.0:
        count += weight[cell + step] * right
    return count


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def between_pairs(
    weight: cython.double[::1],
    cell: cython.longlong,
    line: cython.longlong,
    step: cython.longlong,
    left_of_high: cython.double,
    right_of_high: cython.double,
    left: cython.double,
    right: cython.double,
) -> cython.double:
    """Return a weight in the table of pairs, read between the cell of two bins and those around it: `line` cells away
    for the neighbours of the later entry's bin, `step` for those of the other's.
    """
    count: cython.double = between_bins(weight, cell, step, left, right)
    count *= 1.0 - left_of_high - right_of_high
    if left_of_high > 0.0:
        count += between_bins(weight, cell - line, step, left, right) * left_of_high
    if right_of_high > 0.0:
        count += between_bins(weight, cell + line, step, left, right) * right_of_high
    return count


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def multiply_in(
    share: cython.double[::1], score: cython.double[::1], y: cython.Py_ssize_t, ratio: cython.double
) -> cython.void:
    """Multiply a class's share by a ratio; move a product that becomes small into its score, as a logarithm."""
    product: cython.double = share[y] * ratio
    if product < SMALL:
        score[y] += log_of(share[y]) + log_of(ratio)
        product = 1.0
    share[y] = product


@cython.cclass
class PairReading(ValueReading):
    """Base of the readings of pairs: gathers the entries of a row that hold samples, and their positions."""

    def __init__(
        self,
        tables,
        labels,
        strength=1.0,
        prior_strength=1.0,
        spread=True,
        class_prior="counted",
    ):
        ValueReading.__init__(self, tables, labels, strength, prior_strength, spread, class_prior)
        self.entries = 0
        self.slot = np.zeros(0, np.longlong)
        self.position = np.zeros(0, np.longlong)
        self.soft = False  # True if any entry is read between bins
        self.left, self.right = np.zeros(0), np.zeros(0)
        self.ratio = np.zeros(2)
        self.entry_of, self.scattered_slot = np.zeros(0, np.longlong), np.zeros(0, np.longlong)
        self.scattered = 0
        self.cells = EventCells()

    @cython.cfunc
    def gather(self, row: Row) -> cython.Py_ssize_t:
        """Gather the entries whose values hold samples or were declared; return their number."""
        values: ValueCounts = self.tables.values
        layout: Layout = values.layout
        n: cython.Py_ssize_t = 0
        if self.slot.shape[0] < row.entries:
            self.slot = np.zeros(2 * row.entries, np.longlong)
            self.position = np.zeros(2 * row.entries, np.longlong)
            self.left, self.right = np.zeros(2 * row.entries), np.zeros(2 * row.entries)
        for k in range(row.entries):
            position = layout.start[row.feature[k]] + row.code[k]
            if values.occupied[position]:
                self.slot[n] = row.feature[k]
                self.position[n] = position
                if row.soft:
                    self.left[n] = self.right[n] = 0.0
                    if row.inside[k] >= 0.0:
                        self.left[n] = left_share(row.inside[k], row.code[k])
                        self.right[n] = right_share(
                            row.inside[k], layout.used[row.feature[k]] - 1 - row.code[k]
                        )
                n += 1
        self.entries = n
        self.soft = row.soft
        return n

    @cython.cfunc
    def scatter(self):
        """Write the index of each gathered entry by its slot into `entry_of`, -1 for all other slots.

        The entries of the row before are removed here and not after use, so that an error on the way leaves none.
        """
        features: cython.Py_ssize_t = self.tables.values.layout.features
        if self.entry_of.shape[0] < features:
            self.entry_of, self.scattered_slot = (
                np.full(features, -1, np.longlong),
                np.zeros(features, np.longlong),
            )
            self.scattered = 0
        for k in range(self.scattered):
            self.entry_of[self.scattered_slot[k]] = -1
        self.scattered = 0
        for k in range(self.entries):
            self.scattered_slot[k] = self.slot[k]
            self.scattered = k + 1
            self.entry_of[self.slot[k]] = k

    @cython.cfunc
    def multiply_ratio(self):
        """Multiply `share` by `ratio`."""
        for y in range(self.tables.labels):
            if self.ratio[y] >= 0.0:  # 0/0 is no evidence
                multiply_in(self.share, self.score, y, self.ratio[y])

    @cython.cfunc
    def place_cells(self):
        """Set the positions of the gathered entries, whose pairs or triples are read next."""
        if self.soft:
            self.cells.locate_soft(self.entries, self.position, self.left, self.right)
        else:
            self.cells.locate(self.entries, self.position)

    @cython.cfunc
    @cython.exceptval(-1)
    def weight_of(self, k: cython.Py_ssize_t, y: cython.Py_ssize_t) -> cython.double:
        """Return the weight of an entry's value in a class, read between bins where it is a number."""
        values: ValueCounts = self.tables.values
        stride: cython.Py_ssize_t = values.layout.classes
        cell: cython.longlong = self.position[k] * stride + y
        if not self.soft:
            return values.weight[cell]
        return between_bins(values.weight, cell, stride, self.left[k], self.right[k])

    @cython.cfunc
    @cython.exceptval(-1)
    def weight_together(
        self, high: cython.Py_ssize_t, low: cython.Py_ssize_t, y: cython.Py_ssize_t
    ) -> cython.double:
        """Return the weight of two entries' values together in a class; the later entry comes first."""
        pairs: PairCounts = self.tables.pairs
        layout: Layout = pairs.layout
        stride: cython.Py_ssize_t = layout.classes
        cell: cython.longlong = layout.pair(self.position[high], self.position[low]) * stride + y
        if not self.soft:
            return pairs.weight[cell]
        # The next bin of the later feature is as many cells away as the earlier features have positions.
        line: cython.longlong = layout.start[self.slot[high]] * stride
        return between_pairs(
            pairs.weight,
            cell,
            line,
            stride,
            self.left[high],
            self.right[high],
            self.left[low],
            self.right[low],
        )

    @cython.cfunc
    @cython.exceptval(-1)
    def weight_beside(
        self, k: cython.Py_ssize_t, other: cython.longlong, y: cython.Py_ssize_t
    ) -> cython.double:
        """Return the weight of an entry's value in a class among samples that have another feature."""
        pairs: PairCounts = self.tables.pairs
        if pairs.beside is None:
            return self.weight_of(k, y)
        cell: cython.longlong = pairs.beside_cell(self.position[k], other) + y
        if not self.soft:
            return pairs.beside[cell]
        step: cython.longlong = pairs.layout.features * pairs.layout.classes
        return between_bins(pairs.beside, cell, step, self.left[k], self.right[k])

    @cython.cfunc
    def find_ratio(self, k: cython.Py_ssize_t):
        """Write P(an entry's value | y) of each class into `ratio`; -1 for 0/0."""
        values: ValueCounts = self.tables.values
        classes: cython.Py_ssize_t = self.tables.labels
        different: cython.Py_ssize_t = values.distinct[self.slot[k]]
        add: cython.double = self.pseudocount(different)
        whole: cython.double = add * different + self.extra
        add += self.extra
        if self.ratio.shape[0] < classes:
            self.ratio = np.zeros(2 * classes)
        for y in range(classes):
            below = values.present[self.slot[k] * values.layout.classes + y] + whole
            self.ratio[y] = (self.weight_of(k, y) + add) / below if below > 0.0 else -1.0


@cython.cclass
class ParentReading(PairReading):
    """One-dependence structures: P(y) times P(value | y, parent's value) for each feature.

    `parent` holds the slot of each slot's parent, -1 for none. If the parent's value is missing, and for features that
    came later, the feature depends on the class alone.
    """

    def __init__(self, tables, labels, **settings):
        PairReading.__init__(self, tables, labels, **settings)
        self.parent = np.zeros(0, np.longlong)

    @cython.cfunc
    def add_evidence(self, row: Row):
        classes: cython.Py_ssize_t = self.tables.labels
        self.gather(row)
        self.scatter()
        for y in range(classes):
            self.share[y] = 1.0
        self.multiply_entries()
        for y in range(classes):
            self.score[y] += log(self.share[y])

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def entry_of_parent(self, k: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return the entry with the value of an entry's parent; -1 if there is none."""
        if self.slot[k] >= self.parent.shape[0] or self.parent[self.slot[k]] < 0:
            return -1
        return self.entry_of[self.parent[self.slot[k]]]

    @cython.cfunc
    def multiply_entries(self):
        """Multiply `share` by P(value | y, parent's value) of all entries: the weights that `weight_together` and
        `weight_beside` return, read in one loop, which takes each array once and waits for no cell before the next.
        """
        values: ValueCounts = self.tables.values
        pairs: PairCounts = self.tables.pairs
        layout: Layout = values.layout
        stride: cython.Py_ssize_t = layout.classes
        together: cython.double[::1] = pairs.weight
        with_parent: cython.double[::1] = values.weight  # the denominators: of a parent's value, by class
        step: cython.longlong = stride  # from those of a bin to those of the next
        slot: cython.longlong[::1] = self.slot
        position: cython.longlong[::1] = self.position
        left: cython.double[::1] = self.left
        right: cython.double[::1] = self.right
        share: cython.double[::1] = self.share
        score: cython.double[::1] = self.score
        different: cython.Py_ssize_t = -1
        add: cython.double = 0.0
        whole: cython.double = 0.0
        if pairs.beside is not None:
            with_parent = pairs.beside
            step = layout.features * stride
        for k in range(self.entries):
            parent = self.entry_of_parent(k)
            if parent < 0:
                self.find_ratio(k)
                self.multiply_ratio()
                continue
            if values.distinct[slot[k]] != different:  # as a rule they are all the same
                different = values.distinct[slot[k]]
                add = self.pseudocount(different)
                whole = add * different + self.extra
                add += self.extra
            high, low = max(k, parent), min(k, parent)
            line = layout.start[slot[high]]
            cell = (
                layout.pair_start[slot[high]] + (position[high] - line) * line + position[low]
            )  # as `Layout.pair`
            cell *= stride
            line *= stride
            above = (
                position[parent] * stride
                if pairs.beside is None
                else pairs.beside_cell(position[parent], slot[k])
            )
            for y in range(self.tables.labels):
                if not self.soft:
                    both = together[cell + y]
                    below = with_parent[above + y]
                else:
                    both = between_pairs(
                        together, cell + y, line, stride, left[high], right[high], left[low], right[low]
                    )
                    below = between_bins(with_parent, above + y, step, left[parent], right[parent])
                below += whole
                if below <= 0.0:
                    continue  # 0/0 is no evidence
                multiply_in(share, score, y, (both + add) / below)
