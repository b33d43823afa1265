"""Counting a batch of events in families: columns of codes, without a row for each event."""

from __future__ import annotations

import cython
import numpy as np

if not cython.compiled:
    from stream_bayes.core.counts._configurations import Configurations
    from stream_bayes.core.counts._families import FamilyTables
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.values._cells import samples_of

NO_CELL = cython.declare(cython.longlong, -(2**48))  # below 0 whatever cells are added to it


def add_columns(
    families: FamilyTables,
    codes: cython.int[:, ::1],
    slots: cython.longlong[::1],
    first: cython.longlong[::1],
    translated: cython.int[::1],
    weights: cython.double[::1],
    values: cython.double[::1],
    layout: Layout,
):
    """Count events that come as codes of their own, a row an event, and all of one class, in families and in `values`,
    which is laid out as given, and empty.

    Column c is of slot `slots[c]`, and its code k is `own[first[c] + k]` here, with k = -1 too; where `first` is -1
    they are the same. Weights are whole and the tables exact. Slots without a column must have no code noted.
    """
    k: cython.Py_ssize_t
    m: cython.Py_ssize_t
    columns: cython.Py_ssize_t = codes.shape[1]
    start: cython.longlong[::1] = layout.start
    families.clear_scattered(families.code.shape[0])  # of the last row
    noted: cython.int[::1] = families.code
    member: cython.longlong[::1] = families.member
    stride: cython.longlong[::1] = families.stride
    end: cython.longlong[::1] = families.end
    base: cython.longlong[::1] = families.base
    weight: cython.double[::1] = families.weight
    # Most families have one parent or two; loops of their own, in one sweep over memory, save a third of the time.
    singles: cython.longlong[:, ::1] = members_of(families, 1)
    doubles: cython.longlong[:, ::1] = members_of(families, 2)
    others: cython.longlong[::1] = of_many_parents(families)
    try:
        for r in range(codes.shape[0]):
            amount = weights[r]
            for c in range(columns):
                code: cython.int = codes[r, c]
                if first[c] >= 0:
                    code = translated[first[c] + code]
                noted[slots[c]] = code
                if code >= 0:
                    values[start[slots[c]] + code] += amount
            for k in range(singles.shape[0]):
                above: cython.int = noted[singles[k, 1]]
                code = noted[singles[k, 3]]
                if (above | code) >= 0:
                    weight[singles[k, 0] + above * singles[k, 2] + code * singles[k, 4]] += amount
            for k in range(doubles.shape[0]):
                above = noted[doubles[k, 1]]
                further: cython.int = noted[doubles[k, 3]]
                code = noted[doubles[k, 5]]
                if (above | further | code) >= 0:
                    cell: cython.longlong = doubles[k, 0] + above * doubles[k, 2] + further * doubles[k, 4]
                    weight[cell + code * doubles[k, 6]] += amount
            for k in range(others.shape[0]):
                f: cython.Py_ssize_t = others[k]
                cell = base[f]
                if cell < 0:
                    families.add_scattered(f, 0, amount, amount)
                    continue
                for m in range(end[f], end[f + 1]):
                    code = noted[member[m]]
                    if code < 0:
                        break
                    cell += code * stride[m]
                else:
                    weight[cell] += amount
    finally:
        families.clear_scattered(families.code.shape[0])
    for f, (child, parents) in enumerate(families.families):
        if not parents:  # its family is what is counted of its values
            for k in range(layout.used[child]):
                weight[base[f] + k * families.classes] += values[start[child] + k]


def members_of(families, parents):
    """Return the start of each whole table with this number of parents, and the slot and the step of each member."""
    rows = []
    for f, (_, above) in enumerate(families.families):
        if len(above) == parents and families.base[f] >= 0:
            members = range(families.end[f], families.end[f + 1])
            pairs = [(families.member[m], families.stride[m]) for m in members]
            rows.append([families.base[f], *(number for pair in pairs for number in pair)])
    return np.array(rows, np.longlong).reshape(len(rows), 2 * parents + 3)


def of_many_parents(families):
    """Return the families with three or more parents, and those that hold only observed configurations."""
    indices = [
        f
        for f, (_, above) in enumerate(families.families)
        if len(above) > 2 or (above and families.base[f] < 0)
    ]
    return np.array(indices, np.longlong)


@cython.ccall
def count_columns(
    families: FamilyTables,
    chosen: cython.uchar[::1],
    column_of: cython.longlong[::1],
    codes: cython.int[:, ::1],
    labels: cython.int[::1],
    weights: cython.double[::1],
    units: cython.double[::1],
):
    """Count events in the families chosen, a mask over them. `codes` has a column an event, `column_of` the row of each
    slot there; `units` is what a fresh sample weighed when each event came.
    """
    m: cython.Py_ssize_t
    cell: cython.longlong[::1] = np.zeros(labels.shape[0], np.longlong)
    amount: cython.double[::1] = np.multiply(weights, units)
    for f in range(families.base.shape[0]):
        if not chosen[f]:
            continue
        first: cython.Py_ssize_t = families.end[f]
        child: cython.Py_ssize_t = families.end[f + 1] - 1
        for r in range(labels.shape[0]):
            cell[r] = labels[r] if weights[r] > 0.0 else NO_CELL
        for m in range(first, child + 1):
            stride: cython.longlong = families.stride[m]
            row: cython.int[::1] = codes[column_of[families.member[m]]]
            for r in range(labels.shape[0]):
                cell[r] += row[r] * stride if row[r] >= 0 else NO_CELL
        weight: cython.double[::1] = families.weight
        samples: cython.double[::1] = families.samples
        start: cython.longlong = families.base[f]
        for r in range(labels.shape[0]):
            if cell[r] < 0:
                continue
            if families.base[f] < 0:
                hashed: Configurations = families.hashed[f]
                for m in range(first, child):
                    families.wanted[m - first] = codes[column_of[families.member[m]], r]
                start = hashed.insert(families.wanted) * hashed.width
                weight = hashed.weight
                samples = hashed.samples
            weight[start + cell[r]] += amount[r]
            if not families.exact:
                samples[start + cell[r]] += samples_of(weights[r])
