"""Weights of triples of values by class, and the loops that add one event to them, or take it back.

weight[cell of three positions of different features, class]       the tetrahedron of `_layout`
"""

from __future__ import annotations

import cython
import numpy as np

from stream_bayes.core._pair_counts import without

if not cython.compiled:
    from stream_bayes.core._layout import Layout
    from stream_bayes.core._pair_counts import lower
    from stream_bayes.core._rows import Row


@cython.cclass
class TripleCounts:
    """Weights of (class, value, value of an earlier feature, value of a still earlier one)."""

    def __init__(self, layout: Layout):
        self.layout = layout
        self.weight = np.zeros(layout.triples * layout.classes)
        self.cells = np.zeros(0, np.longlong)
        self.place, self.line = np.zeros(0, np.longlong), np.zeros(0, np.longlong)

    @cython.cfunc
    def cells_of(self, row: Row) -> cython.Py_ssize_t:
        """Note the cell of each triple of entries; how many there are."""
        layout: Layout = self.layout
        n: cython.Py_ssize_t = row.entries
        count: cython.Py_ssize_t = n * (n - 1) * (n - 2) // 6
        at: cython.Py_ssize_t = 0
        k: cython.Py_ssize_t
        j: cython.Py_ssize_t
        i: cython.Py_ssize_t
        if self.cells.shape[0] < count:
            self.cells = np.zeros(count, np.longlong)
        if self.place.shape[0] < n:
            self.place, self.line = np.zeros(2 * n, np.longlong), np.zeros(2 * n, np.longlong)
        cells: cython.longlong[::1] = self.cells
        place: cython.longlong[::1] = self.place
        own: cython.longlong
        line: cython.longlong
        for k in range(n):
            place[k] = layout.start[row.feature[k]] + row.code[k]
            self.line[k] = layout.pair(place[k], 0)
        for k in range(2, n):
            own = layout.triple(place[k], place[0], 0) - self.line[0]
            for j in range(1, k):
                line = (own + self.line[j]) * layout.classes + row.label
                for i in range(j):
                    cells[at] = line + place[i] * layout.classes
                    at += 1
        return count

    @cython.cfunc
    def add(self, row: Row, amount: cython.double):
        k: cython.Py_ssize_t
        for k in range(self.cells_of(row)):
            self.weight[self.cells[k]] += amount

    def clear(self, chosen):
        """Hold no triples of the features chosen, a mask over slots."""
        layout: Layout = self.layout
        self.weight = without(
            self.weight, layout, layout.triples_of(layout.used), layout.triples_with(chosen)
        )

    @cython.cfunc
    def add_chosen(self, row: Row, amount: cython.double, chosen: cython.uchar[::1]):
        """Add the triples that have one of the features chosen."""
        at: cython.Py_ssize_t = 0
        k: cython.Py_ssize_t
        j: cython.Py_ssize_t
        i: cython.Py_ssize_t
        self.cells_of(row)
        for k in range(2, row.entries):
            for j in range(1, k):
                for i in range(j):
                    if chosen[row.feature[k]] or chosen[row.feature[j]] or chosen[row.feature[i]]:
                        self.weight[self.cells[at]] += amount
                    at += 1

    @cython.cfunc
    def forget(self, row: Row, amount: cython.double, least: cython.double):
        k: cython.Py_ssize_t
        for k in range(self.cells_of(row)):
            lower(self.weight, self.cells[k], amount, least)

    @cython.cfunc
    def clear_position(self, position: cython.longlong, label: cython.Py_ssize_t):
        """Nothing of this class holds the value any more: no triple with it does."""
        layout: Layout = self.layout
        grid = np.asarray(self.weight).reshape(-1, layout.classes)[:, label]
        starts: list = [int(layout.start[f]) for f in range(layout.features)] + [int(layout.positions)]
        own: cython.longlong = layout.owner[position]
        first: cython.longlong = (
            layout.triple_start[own] + (position - layout.start[own]) * layout.pair_start[own]
        )
        grid[first : first + layout.pair_start[own]] = 0.0
        p: cython.longlong
        q: cython.longlong
        for p in range(starts[own + 1], layout.positions):
            # Pairs of the position with what is before it, then of what is between it and p with the position.
            first = layout.triple(p, position, 0)
            grid[first : first + layout.start[own]] = 0.0
            for q in range(starts[own + 1], layout.start[layout.owner[p]]):
                grid[layout.triple(p, q, position)] = 0.0

    def pour(self, other: TripleCounts, targets, classes, factor: cython.double):
        """Add another table, whose positions and classes are called `targets` and `classes` here."""
        here: Layout = self.layout
        there: Layout = other.layout
        to: cython.longlong[::1] = targets
        label: cython.longlong[::1] = classes
        used: cython.longlong[::1] = there.positions_of(there.used)
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        c: cython.Py_ssize_t
        y: cython.Py_ssize_t
        high: cython.longlong
        middle: cython.longlong
        low: cython.longlong
        source: cython.longlong
        cell: cython.longlong
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
