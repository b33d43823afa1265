"""Arithmetic of a single cell: counting samples, and subtracting an amount.

Next to a weight stands a whole number of *samples*, 0 exactly if the cell is empty. An amount of whole size w counts as
w samples, any other amount as one.
"""

from __future__ import annotations

import cython


@cython.cfunc
@cython.exceptval(check=False)
def is_whole(number: cython.double) -> cython.bint:
    # Every double from 2^53 on is whole; below, the cast to an integer is exact.
    return number >= 9007199254740992.0 or cython.cast(cython.longlong, number) == number


@cython.cfunc
@cython.exceptval(check=False)
def samples_of(amount: cython.double) -> cython.double:
    """Return the number of samples that an amount counts as."""
    return amount if is_whole(amount) else 1.0


@cython.cfunc
def subtract(
    weight: cython.double[::1],
    samples: cython.double[::1],
    cell: cython.Py_ssize_t,
    amount: cython.double,
    unit: cython.double,
    least: cython.double,
    exact: cython.bint,
):
    """Subtract an amount from a cell; without samples the weight is exactly 0, whatever rounding left.

    A remainder too large for rounding means that only part of a sample was subtracted: it still counts as a sample.
    """
    weight[cell] -= amount * unit
    if exact:
        return
    samples[cell] -= samples_of(amount)
    if samples[cell] <= 0.0:
        if weight[cell] > least:
            samples[cell] = 1.0
        else:
            samples[cell] = 0.0
            weight[cell] = 0.0
    elif weight[cell] < 0.0:
        weight[cell] = 0.0
