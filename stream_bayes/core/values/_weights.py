"""Weights of samples: a number from 0 to 2**53, beyond which counts are not exact."""

from __future__ import annotations

import cython

from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadWeight

MOST_WEIGHT = 2.0**53
LARGEST = cython.declare(cython.double, 9007199254740992.0)


@cython.ccall
def read_weight(w) -> cython.double:
    """Return a sample weight as a float; raise `BadWeight` if it is not valid."""
    weight: cython.double = -1.0
    try:
        if type(w) is float or type(w) is int or hasattr(w, "__float__"):
            weight = float(w)
    except OverflowError:  # an int beyond all floats
        weight = -1.0
    if not (0.0 <= weight <= LARGEST):
        raise BadWeight(
            f"a weight must be a finite number of at least 0, and of at most 2**53, not {shown(w)}"
        )
    return weight
