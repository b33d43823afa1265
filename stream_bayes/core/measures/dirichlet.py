"""Dirichlet distributions of the probabilities in a table: the evidence of counts."""

from __future__ import annotations

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import NDArray

__all__ = ["log_evidence_of"]


def log_evidence_of(prior: NDArray[np.float64], posterior: NDArray[np.float64]) -> float:
    """Return the log-probability of the counts between two Dirichlet distributions for each row, all rows together.
    `prior` and `posterior` are the parameters before and after the counts, with the values on the last axis; all above
    0.

    Examples
    --------
    >>> log_evidence_of(np.array([[1.0, 1.0]]), np.array([[3.0, 1.0]]))  # log(1/2 * 2/3)
    -1.0986...
    """
    gammas = scipy.special.gammaln
    rows = gammas(prior.sum(axis=-1)) - gammas(posterior.sum(axis=-1))
    return float(rows.sum() + (gammas(posterior) - gammas(prior)).sum())
