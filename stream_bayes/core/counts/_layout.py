"""Positions of counts in the flat tables, and copies of tables without their spare room.

    positions   feature 0: room for its values | feature 1 ... | feature 2 ...
    pairs       a row for each position p, in it a cell for each position q of an earlier feature: a triangle, so
                each pair of values has one cell, and a prediction walks along rows
    triples     a row for each position p, in it a cell for each pair of earlier features: a tetrahedron

The stream waits while tables are copied for a snapshot. So `gather` and `gather_pairs` write the copy alone: no index
of all pairs, and no first copy with spare classes.
"""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.encoding._vocabulary import Vocabulary


@cython.cclass
class Layout:
    """Positions of the values of each feature: one run of positions per feature, with room to grow. `used` is the
    number of codes of each feature, and `room` the number of its positions, at least `used`. `declared` is the number
    of its first codes that were declared. `classes` is the room for classes, the innermost dimension of every table.
    """

    def __init__(self, used, room, declared, classes: cython.Py_ssize_t):
        self.classes = classes
        self.features = len(used)
        self.used = np.asarray(used, np.longlong)
        self.room = np.asarray(room, np.longlong)
        self.declared = np.asarray(declared, np.longlong)
        self.owner = np.repeat(np.arange(self.features, dtype=np.longlong), self.room)
        self.start = np.zeros(self.features, np.longlong)
        self.pair_start = np.zeros(self.features, np.longlong)
        self.triple_start = np.zeros(self.features, np.longlong)
        self.positions = self.pairs = self.triples = 0
        for f in range(self.features):
            self.start[f] = self.positions
            self.pair_start[f] = self.pairs
            self.triple_start[f] = self.triples
            self.triples += self.room[f] * self.pairs
            self.pairs += self.room[f] * self.positions
            self.positions += self.room[f]

    @cython.ccall
    def use_for_words(self, created: list) -> cython.bint:
        """Use the room of the one feature that got new values, and empty the list of what was created.

        Return False, with nothing changed, if it has less room, or if anything else was created.
        """
        if type(created[0]) is not Vocabulary:
            return False
        words: Vocabulary = created[0]
        for made in created:
            if made is not words:
                return False
        slot: cython.Py_ssize_t = words.slot
        if slot < 0 or slot >= self.features or len(words.values) > self.room[slot]:
            return False
        self.used[slot] = len(words.values)
        created.clear()
        return True

    def positions_of(self, counts):
        """Return the positions of the first `counts[f]` codes of each feature f, in order."""
        counts = np.asarray(counts, np.longlong)
        starts = np.asarray(self.start)[: len(counts)]
        inside = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        return (np.repeat(starts, counts) + inside).astype(np.longlong)

    def pairs_of(self, counts):
        """Return the cells of all pairs among the first `counts[f]` codes of each feature f, in an order that does not
        depend on the room.
        """
        return self.rows_of(counts, self.pair_start, self.start, self.positions_of(counts))

    def triples_of(self, counts):
        """Return the cells of all triples among the first `counts[f]` codes of each feature f, in the same order."""
        return self.rows_of(counts, self.triple_start, self.pair_start, self.pairs_of(counts))

    def pairs_with(self, chosen):
        """Return the mask over cells of pairs that have a value of a chosen feature; `chosen` is a mask over slots."""
        return self.rows_with(chosen, self.start, np.asarray(chosen)[np.asarray(self.owner)])

    def triples_with(self, chosen):
        """Return the mask over cells of triples that have a value of a chosen feature."""
        return self.rows_with(chosen, self.pair_start, self.pairs_with(chosen))

    def rows_with(self, chosen, width, inner):
        """Return the mask over rows of cells, from the mask `inner` over the cells of one row."""
        parts = [np.zeros(0, bool)]
        for f in range(self.features):
            row = np.ones(width[f], bool) if chosen[f] else inner[: width[f]]
            parts.append(np.tile(row, self.room[f]))
        return np.concatenate(parts)

    def rows_of(self, counts, first, width, inner):
        """Return the cells in the rows of the codes: those cells `inner` of a row that belong to earlier features."""
        cells = [np.zeros(0, np.longlong)]
        for f in range(len(counts)):
            lines = first[f] + np.arange(counts[f], dtype=np.longlong) * width[f]
            # A row is as wide as everything before the feature, and `inner` ascends.
            earlier = inner[: np.searchsorted(inner, width[f])]
            cells.append((lines[:, None] + earlier).reshape(-1))
        return np.concatenate(cells)

    @cython.ccall
    @cython.exceptval(-1)
    def pair(self, high: cython.longlong, low: cython.longlong) -> cython.longlong:
        """Return the number of the cell of two positions, the higher one first."""
        owner: cython.longlong = self.owner[high]
        return self.pair_start[owner] + (high - self.start[owner]) * self.start[owner] + low

    def cells_of_pairs(self, high, low):
        """Return the cells of pairs of positions, as arrays; `high` holds the higher position of each pair."""
        start = np.asarray(self.start)
        owner = np.asarray(self.owner)[high]
        return np.asarray(self.pair_start)[owner] + (high - start[owner]) * start[owner] + low

    @cython.cfunc
    @cython.exceptval(-1)
    def triple(self, high: cython.longlong, middle: cython.longlong, low: cython.longlong) -> cython.longlong:
        """Return the number of the cell of three positions, highest first."""
        owner: cython.longlong = self.owner[high]
        line: cython.longlong = self.triple_start[owner] + (high - self.start[owner]) * self.pair_start[owner]
        return line + self.pair(middle, low)


@cython.ccall
def gather(
    table: cython.double[::1],
    cells: cython.longlong[::1],
    classes: cython.Py_ssize_t,
    out: cython.double[:, ::1],
):
    """Gather the first classes of the cells of a table, as many as `out` is wide."""
    labels: cython.Py_ssize_t = out.shape[1]
    for row in range(cells.shape[0]):
        cell: cython.Py_ssize_t = cells[row] * classes
        for y in range(labels):
            out[row, y] = table[cell + y]


@cython.ccall
def gather_pairs(
    table: cython.double[::1], layout: Layout, counts: cython.longlong[::1], out: cython.double[:, ::1]
):
    """Gather all pairs among the first codes of each feature, in the order of `Layout.pairs_of`."""
    labels: cython.Py_ssize_t = out.shape[1]
    classes: cython.Py_ssize_t = layout.classes
    code: cython.Py_ssize_t
    row: cython.Py_ssize_t = 0
    for high in range(counts.shape[0]):
        for code in range(counts[high]):
            line = layout.pair_start[high] + code * layout.start[high]
            for low in range(high):
                cell: cython.Py_ssize_t = (line + layout.start[low]) * classes
                for _ in range(counts[low]):
                    for y in range(labels):
                        out[row, y] = table[cell + y]
                    cell += classes
                    row += 1
