"""Copying tables without their spare room, in one pass.

A stream waits for this, so nothing is written but the copy itself: no index of all pairs, and no first copy from which
a second one leaves the spare classes out.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    from stream_bayes.core._layout import Layout


@cython.ccall
def gather(
    table: cython.double[::1],
    cells: cython.longlong[::1],
    classes: cython.Py_ssize_t,
    out: cython.double[:, ::1],
):
    """The first classes of the cells of a table, as many as `out` is wide."""
    labels: cython.Py_ssize_t = out.shape[1]
    row: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    y: cython.Py_ssize_t
    for row in range(cells.shape[0]):
        cell = cells[row] * classes
        for y in range(labels):
            out[row, y] = table[cell + y]


@cython.ccall
def gather_pairs(
    table: cython.double[::1], layout: Layout, counts: cython.longlong[::1], out: cython.double[:, ::1]
):
    """The same of all pairs among the first codes of each feature, in the order of `Layout.pairs_of`."""
    labels: cython.Py_ssize_t = out.shape[1]
    classes: cython.Py_ssize_t = layout.classes
    high: cython.Py_ssize_t
    low: cython.Py_ssize_t
    code: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    y: cython.Py_ssize_t
    line: cython.longlong
    row: cython.Py_ssize_t = 0
    for high in range(counts.shape[0]):
        for code in range(counts[high]):
            line = layout.pair_start[high] + code * layout.start[high]
            for low in range(high):
                cell = (line + layout.start[low]) * classes
                for _ in range(counts[low]):
                    for y in range(labels):
                        out[row, y] = table[cell + y]
                    cell += classes
                    row += 1
