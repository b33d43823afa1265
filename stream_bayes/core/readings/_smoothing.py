"""Smoothing of counts into probabilities: Laplace's pseudocounts and the m-estimate, with V cells of total N.

Laplace       (n + s) / (N + s V)
m-estimate    (n + s / V) / (N + s)
"""

from __future__ import annotations

import cython


@cython.ccall
@cython.exceptval(check=False)
def pseudocount(strength: cython.double, cells: cython.Py_ssize_t, spread: cython.bint) -> cython.double:
    """Return the weight that smoothing adds to each cell; `spread` is the m-estimate's, over all of them."""
    return strength / cells if spread and cells > 0 else strength


def m_estimate(weight, total, cells, strength=1.0):
    """Return weights as probabilities, `strength` fresh samples spread evenly over the cells of each total."""
    return (weight + strength / cells) / (total + strength)
