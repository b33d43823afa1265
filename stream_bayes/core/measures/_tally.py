"""Sums over scored predictions, added in the order of events.

Sums of fractions depend on their order. In the order of events they are the same to the last bit, however the events
are batched. The caller makes room for all codes and passes confidences between 0 and 1.
"""

from __future__ import annotations

import cython

UNDECIDED = cython.declare(cython.Py_ssize_t, -3)  # the code in `label_codes`


def add_events(
    sums: cython.double[::1],
    by_label: cython.double[:, ::1],
    label: cython.Py_ssize_t[::1],
    predicted: cython.Py_ssize_t[::1],
    right: cython.uchar[::1],
    majority: cython.uchar[::1],
    no_change: cython.uchar[::1],
    loss: cython.double[::1],
    brier: cython.double[::1],
    weight: cython.double[::1],
):
    """Add events to the sums of a `Tally` and to its sums by label; a prediction below 0 is no label."""
    for k in range(label.shape[0]):
        w = weight[k]
        sums[0] += w
        sums[1] += w * w
        sums[2] += w * right[k]
        sums[3] += w * majority[k]
        sums[4] += w * no_change[k]
        sums[5] += w * loss[k]
        sums[6] += w * (loss[k] * loss[k])
        sums[7] += w * brier[k]
        by_label[0, label[k]] += w
        if predicted[k] >= 0:
            by_label[1, predicted[k]] += w
        if right[k]:
            by_label[2, label[k]] += w
        if predicted[k] == UNDECIDED:
            sums[8] += w


def add_confidences(
    bins: cython.double[:, ::1],
    confidence: cython.double[::1],
    right: cython.uchar[::1],
    weight: cython.double[::1],
):
    """Add events to bins of equal width: weight, weight times confidence, and weight of correct predictions."""
    count: cython.Py_ssize_t = bins.shape[1]
    for k in range(confidence.shape[0]):
        column: cython.Py_ssize_t = min(cython.cast(cython.Py_ssize_t, confidence[k] * count), count - 1)
        bins[0, column] += weight[k]
        bins[1, column] += weight[k] * confidence[k]
        bins[2, column] += weight[k] * right[k]


def add_cells(target: cython.double[::1], cells: cython.Py_ssize_t[:, ::1], weight: cython.double[::1]):
    """Add each event's weight to its cells: a row of cells for each label, a column for each event."""
    for row in range(cells.shape[0]):
        for k in range(cells.shape[1]):
            target[cells[row, k]] += weight[k]
