"""Loops over ascending numbers: their distinct values, cuts of equal weight between these, and medians."""

from __future__ import annotations

import cython


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def gap_between(low: cython.double, high: cython.double) -> cython.double:
    """Return the middle of neighbours; the upper one if rounding puts the middle on the lower one."""
    middle: cython.double = low / 2.0 + high / 2.0
    return middle if middle > low else high


@cython.ccall
@cython.exceptval(check=False)
def distinct_values(values: cython.double[::1]) -> cython.Py_ssize_t:
    """Return the number of distinct values among ascending numbers."""
    count: cython.Py_ssize_t = min(values.shape[0], 1)
    for k in range(1, values.shape[0]):
        count += values[k] != values[k - 1]
    return count


@cython.ccall
def quantile_cuts(values: cython.double[::1], weights: cython.double[::1], bins: cython.Py_ssize_t) -> list:
    """Return the gaps of ascending numbers that leave about equal weight between them, all gaps if there are few."""
    gaps: cython.Py_ssize_t = distinct_values(values) - 1
    upper: cython.Py_ssize_t = (
        0  # the number of a gap, the place of the number above it, and the weight below it
    )
    k: cython.Py_ssize_t = 0
    below: cython.double = 0.0
    lower_k: cython.Py_ssize_t = 0  # those of the gap before
    lower_below: cython.double = 0.0
    newest: cython.Py_ssize_t = -1
    total: cython.double = 0.0
    cuts: list = []
    if gaps < bins:
        for k in range(1, values.shape[0]):
            if values[k] != values[k - 1]:
                cuts.append(float(gap_between(values[k - 1], values[k])))
        return cuts
    for k in range(values.shape[0]):
        total += weights[k]
    k = 0
    for share in range(1, bins):
        wanted = total * share / bins
        while k == 0 or (upper < gaps - 1 and below < wanted):
            upper += k > 0
            lower_k, lower_below = k, below
            below += weights[k]
            k += 1
            while values[k] == values[k - 1]:
                below += weights[k]
                k += 1
        if upper > 0 and wanted - lower_below <= below - wanted:
            if upper - 1 > newest:
                newest = upper - 1
                cuts.append(float(gap_between(values[lower_k - 1], values[lower_k])))
        elif upper > newest:
            newest = upper
            cuts.append(float(gap_between(values[k - 1], values[k])))
    return cuts


@cython.ccall
def edges_beyond(
    values: cython.double[::1], weights: cython.double[::1], low: cython.double, high: cython.double
) -> tuple:
    """Return the outer edges of the end bins of ascending numbers, whose inner edges are `low` and `high`: the medians
    of these bins are their middles.
    """
    below: cython.Py_ssize_t = 0
    above: cython.Py_ssize_t = values.shape[0]
    while below < values.shape[0] and values[below] < low:
        below += 1
    while above > 0 and values[above - 1] >= high:
        above -= 1
    if below > 0:
        low = 2.0 * weighted_median(values, weights, 0, below) - low
    if above < values.shape[0]:
        high = 2.0 * weighted_median(values, weights, above, values.shape[0]) - high
    return float(low), float(high)


@cython.ccall
def weighted_median(
    values: cython.double[::1], weights: cython.double[::1], first: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.double:
    """Return the weighted median of the ascending numbers from `first` to before `end`; the middle of two values if
    half of the weight lies on either side.
    """
    total: cython.double = 0.0
    reached: cython.double = 0.0
    lower: cython.Py_ssize_t = -1
    for k in range(first, end):
        total += weights[k]
    for k in range(first, end):
        reached += weights[k]
        if lower < 0 and reached >= total / 2.0:
            lower = k
        if reached > total / 2.0:
            return (values[lower] + values[k]) / 2.0
    return (values[max(lower, first)] + values[end - 1]) / 2.0
