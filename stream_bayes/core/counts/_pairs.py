"""Weights of pairs and triples of values by class, and the loops that add one event to them, or subtract it.

    pairs     weight[cell of position p and position q of an earlier feature, class]   the triangle of `_layout`
              beside[position, other feature, class]                                   once an event lacked a feature
    triples   weight[cell of three positions of different features, class]             the tetrahedron of `_layout`

`beside` is the weight of a value in samples that have the other feature, whatever its value: the denominator of
conditional probabilities. While every event has every feature, it is the value's own weight, and there is no table.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.encoding._rows import Row

NO_TABLE: Any = None  # for type checkers: an array may take its place


@cython.cclass
class PairCounts:
    """Weights of (class, value, value of an earlier feature)."""

    def __init__(self, layout: Layout):
        self.layout = layout
        self.weight = np.zeros(layout.pairs * layout.classes)
        self.beside = NO_TABLE
        self.position = np.zeros(layout.features, np.longlong)

    @cython.cfunc
    def locate(self, row: Row):
        """Write the position of each entry into `position`."""
        layout: Layout = self.layout
        for k in range(row.entries):
            self.position[k] = layout.start[row.feature[k]] + row.code[k]

    @cython.cfunc
    def add(self, row: Row, amount: cython.double):
        layout: Layout = self.layout
        self.locate(row)
        for k in range(1, row.entries):
            line = layout.pair(self.position[k], 0) * layout.classes + row.label
            for earlier in range(k):
                self.weight[line + self.position[earlier] * layout.classes] += amount
        if self.beside is not None:
            for k in range(row.entries):
                for earlier in range(k):
                    cell = self.beside_cell(self.position[k], row.feature[earlier])
                    self.beside[cell + row.label] += amount
                    cell = self.beside_cell(self.position[earlier], row.feature[k])
                    self.beside[cell + row.label] += amount

    def copy(self, other: PairCounts, counts: cython.longlong[::1]):
        """Copy the pairs among the first `counts[f]` codes of each feature f from a table of another layout."""
        here: Layout = self.layout
        there: Layout = other.layout
        source: cython.double[::1] = other.weight
        target: cython.double[::1] = self.weight
        classes: cython.Py_ssize_t = there.classes
        code: cython.Py_ssize_t
        y: cython.Py_ssize_t
        for high in range(1, counts.shape[0]):
            for code in range(counts[high]):
                to: cython.longlong = here.pair_start[high] + code * here.start[high]
                at: cython.longlong = there.pair_start[high] + code * there.start[high]
                for low in range(high):
                    first: cython.longlong = (to + here.start[low]) * here.classes
                    origin: cython.longlong = (at + there.start[low]) * classes
                    if here.classes == classes:
                        for y in range(counts[low] * classes):
                            target[first + y] = source[origin + y]
                        continue
                    for k in range(counts[low]):
                        for y in range(classes):
                            target[first + k * here.classes + y] = source[origin + k * classes + y]

    def clear(self, chosen):
        """Empty the pairs of the features chosen, a mask over slots."""
        layout: Layout = self.layout
        if np.asarray(chosen).all():
            self.weight = np.zeros(self.weight.shape[0])
        else:
            self.weight = without(
                self.weight, layout, layout.pairs_of(layout.used), layout.pairs_with(chosen)
            )

    def add_columns(
        self,
        chosen: cython.uchar[::1],
        codes: cython.int[:, ::1],
        labels: cython.int[::1],
        amounts: cython.double[::1],
    ):
        """Add the pairs of events that have one of the features chosen, a mask over slots. `codes` has a row a slot and
        a column an event, -1 where it lacks the feature.
        """
        layout: Layout = self.layout
        weight: cython.double[::1] = self.weight
        stride: cython.longlong = layout.classes
        for high in range(1, codes.shape[0]):
            step: cython.longlong = layout.start[high] * stride
            for low in range(high):
                if not (chosen[high] or chosen[low]):
                    continue
                first: cython.longlong = (layout.pair_start[high] + layout.start[low]) * stride
                for r in range(codes.shape[1]):
                    above: cython.int = codes[high, r]
                    below: cython.int = codes[low, r]
                    if (above | below) >= 0:
                        weight[first + above * step + below * stride + labels[r]] += amounts[r]

    @cython.cfunc
    def forget(self, row: Row, amount: cython.double, least: cython.double):
        layout: Layout = self.layout
        position: cython.longlong[::1] = self.position
        self.locate(row)
        for k in range(1, row.entries):
            for earlier in range(k):
                lower(
                    self.weight,
                    layout.pair(position[k], position[earlier]) * layout.classes + row.label,
                    amount,
                    least,
                )
        if self.beside is not None:
            for k in range(row.entries):
                for earlier in range(k):
                    lower(
                        self.beside,
                        self.beside_cell(position[k], row.feature[earlier]) + row.label,
                        amount,
                        least,
                    )
                    lower(
                        self.beside,
                        self.beside_cell(position[earlier], row.feature[k]) + row.label,
                        amount,
                        least,
                    )

    @cython.cfunc
    @cython.exceptval(-1)
    def beside_cell(self, position: cython.longlong, feature: cython.longlong) -> cython.longlong:
        """Return the cell of a value beside a feature, of the first class."""
        return (position * self.layout.features + feature) * self.layout.classes

    def count_beside(self):
        """Create `beside` from the pairs."""
        layout: Layout = self.layout
        stride: cython.Py_ssize_t = layout.classes
        self.beside = np.zeros(layout.positions * layout.features * stride)
        for f in range(layout.features):
            for high in range(layout.start[f], layout.start[f] + layout.used[f]):
                for low in range(layout.start[f]):
                    for y in range(stride):
                        amount = self.weight[layout.pair(high, low) * stride + y]
                        self.beside[self.beside_cell(high, layout.owner[low]) + y] += amount
                        self.beside[self.beside_cell(low, f) + y] += amount

    @cython.cfunc
    def clear_position(self, position: cython.longlong, label: cython.Py_ssize_t):
        """Empty the pairs of a value that no sample of the class holds any more."""
        layout: Layout = self.layout
        stride: cython.Py_ssize_t = layout.classes
        owner: cython.longlong = layout.owner[position]
        f: cython.Py_ssize_t
        q: cython.longlong
        for q in range(layout.start[owner]):
            self.weight[layout.pair(position, q) * stride + label] = 0.0
        for f in range(owner + 1, layout.features):
            for q in range(layout.start[f], layout.start[f] + layout.used[f]):
                self.weight[layout.pair(q, position) * stride + label] = 0.0
        if self.beside is not None:
            for f in range(layout.features):
                self.beside[self.beside_cell(position, f) + label] = 0.0

    def pour(self, other: PairCounts, targets, classes, factor: cython.double):
        """Add another table; `targets` and `classes` are the positions and classes here of those there."""
        here: Layout = self.layout
        there: Layout = other.layout
        to: cython.longlong[::1] = targets
        label: cython.longlong[::1] = classes
        for f in range(there.features):
            for p in range(there.start[f], there.start[f] + there.used[f]):
                for g in range(f):
                    for q in range(there.start[g], there.start[g] + there.used[g]):
                        source = there.pair(p, q) * there.classes
                        cell = here.pair(max(to[p], to[q]), min(to[p], to[q])) * here.classes
                        for y in range(label.shape[0]):
                            self.weight[cell + label[y]] += factor * other.weight[source + y]


def without(weight, layout: Layout, used, dropped):
    """Return a table without the rows of the mask `dropped`; only rows in `used` hold anything.

    It is a new one: pages that are never written take neither memory nor time, and most of a table of triples never is.
    """
    old = np.asarray(weight).reshape(-1, layout.classes)
    fresh = np.zeros(old.size)
    remaining = used[~dropped[used]]
    fresh.reshape(-1, layout.classes)[remaining] = old[remaining]
    return fresh


@cython.cfunc
def lower(
    weight: cython.double[::1],
    cell: cython.longlong,
    amount: cython.double,
    least: cython.double,
):
    """Subtract an amount from a cell; less than `least` is rounding, and becomes 0."""
    weight[cell] -= amount
    if weight[cell] < least:
        weight[cell] = 0.0


@cython.cclass
class TripleCounts:
    """Weights of (class, value, value of an earlier feature, value of a still earlier one)."""

    def __init__(self, layout: Layout):
        self.layout = layout
        self.weight = np.zeros(layout.triples * layout.classes)
        self.cells = np.zeros(0, np.longlong)
        self.position, self.line = np.zeros(0, np.longlong), np.zeros(0, np.longlong)

    @cython.cfunc
    def cells_of(self, row: Row) -> cython.Py_ssize_t:
        """Write the cell of each triple of entries into `cells`; return the number of triples."""
        layout: Layout = self.layout
        n: cython.Py_ssize_t = row.entries
        count: cython.Py_ssize_t = n * (n - 1) * (n - 2) // 6
        at: cython.Py_ssize_t = 0
        if self.cells.shape[0] < count:
            self.cells = np.zeros(count, np.longlong)
        if self.position.shape[0] < n:
            self.position, self.line = np.zeros(2 * n, np.longlong), np.zeros(2 * n, np.longlong)
        cells: cython.longlong[::1] = self.cells
        position: cython.longlong[::1] = self.position
        for k in range(n):
            position[k] = layout.start[row.feature[k]] + row.code[k]
            self.line[k] = layout.pair(position[k], 0)
        for k in range(2, n):
            start = layout.triple(position[k], position[0], 0) - self.line[0]
            for j in range(1, k):
                line = (start + self.line[j]) * layout.classes + row.label
                for i in range(j):
                    cells[at] = line + position[i] * layout.classes
                    at += 1
        return count

    @cython.cfunc
    def add(self, row: Row, amount: cython.double):
        for k in range(self.cells_of(row)):
            self.weight[self.cells[k]] += amount

    def clear(self, chosen):
        """Empty the triples of the features chosen, a mask over slots."""
        layout: Layout = self.layout
        self.weight = without(
            self.weight, layout, layout.triples_of(layout.used), layout.triples_with(chosen)
        )

    @cython.cfunc
    def add_chosen(self, row: Row, amount: cython.double, chosen: cython.uchar[::1]):
        """Add the triples that have one of the features chosen."""
        at: cython.Py_ssize_t = 0
        self.cells_of(row)
        for k in range(2, row.entries):
            for j in range(1, k):
                for i in range(j):
                    if chosen[row.feature[k]] or chosen[row.feature[j]] or chosen[row.feature[i]]:
                        self.weight[self.cells[at]] += amount
                    at += 1

    @cython.cfunc
    def forget(self, row: Row, amount: cython.double, least: cython.double):
        for k in range(self.cells_of(row)):
            lower(self.weight, self.cells[k], amount, least)

    @cython.cfunc
    def clear_position(self, position: cython.longlong, label: cython.Py_ssize_t):
        """Empty the triples of a value that no sample of the class holds any more."""
        layout: Layout = self.layout
        grid = np.asarray(self.weight).reshape(-1, layout.classes)[:, label]
        starts: list = [int(layout.start[f]) for f in range(layout.features)] + [int(layout.positions)]
        owner: cython.longlong = layout.owner[position]
        first: cython.longlong = (
            layout.triple_start[owner] + (position - layout.start[owner]) * layout.pair_start[owner]
        )
        grid[first : first + layout.pair_start[owner]] = 0.0
        p: cython.longlong
        q: cython.longlong
        for p in range(starts[owner + 1], layout.positions):
            # Pairs of the position with what is before it, then of what is between it and p with the position.
            first = layout.triple(p, position, 0)
            grid[first : first + layout.start[owner]] = 0.0
            for q in range(starts[owner + 1], layout.start[layout.owner[p]]):
                grid[layout.triple(p, q, position)] = 0.0

    def pour(self, other: TripleCounts, targets, classes, factor: cython.double):
        """Add another table; `targets` and `classes` are the positions and classes here of those there."""
        here: Layout = self.layout
        there: Layout = other.layout
        to: cython.longlong[::1] = targets
        label: cython.longlong[::1] = classes
        used: cython.longlong[::1] = there.positions_of(there.used)
        for a in range(used.shape[0]):
            for b in range(a):
                if there.owner[used[b]] == there.owner[used[a]]:
                    break
                for c in range(b):
                    if there.owner[used[c]] == there.owner[used[b]]:
                        break
                    source = there.triple(used[a], used[b], used[c]) * there.classes
                    high = max(to[used[a]], to[used[b]], to[used[c]])
                    low = min(to[used[a]], to[used[b]], to[used[c]])
                    middle = to[used[a]] + to[used[b]] + to[used[c]] - high - low
                    cell = here.triple(high, middle, low) * here.classes
                    for y in range(label.shape[0]):
                        self.weight[cell + label[y]] += factor * other.weight[source + y]
