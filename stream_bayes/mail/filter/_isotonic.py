"""Isotonic regression: the best monotone steps through a sequence, by pooling adjacent violators (Ayer et al. 1955)."""

from __future__ import annotations

import cython
import numpy as np


def step_starts(values: cython.double[::1]):
    """Return the index at which each step begins: the rising means that fit the values with the least squared error.

    The means of two steps are never equal.
    """
    steps: cython.Py_ssize_t = 0
    result = np.empty(len(values), np.int64)
    starts: cython.longlong[::1] = result
    sums: cython.double[::1] = np.empty(len(values))
    for k in range(values.shape[0]):
        starts[steps] = k
        sums[steps] = values[k]
        # Pool the last two steps while their means do not rise.
        while steps > 0 and (
            sums[steps - 1] * (k + 1 - starts[steps]) >= sums[steps] * (starts[steps] - starts[steps - 1])
        ):
            sums[steps - 1] += sums[steps]
            steps -= 1
        steps += 1
    return result[:steps].copy()
