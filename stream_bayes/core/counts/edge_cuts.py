"""Cuts of a number that becomes the parent of a name: those by which the name is best predicted."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import NDArray

from stream_bayes.core.counts.cut_points import cut_quantiles, cut_supervised

__all__ = ["EdgeCuts", "edge_cuts", "log_likelihood_of_names"]

BINS = (2, 4, 8)  # of equal weight
MOST_BINS = 8  # of those that the name suggests

Floats = NDArray[np.float64]


class EdgeCuts(NamedTuple):
    """Cuts of a number, and minus the logarithm of their prior probability: what a name pays for having chosen them."""

    cuts: tuple[float, ...]
    cost: float


def edge_cuts(
    numbers: Floats, codes: NDArray[np.int64], weights: Floats, values: int, strength: float
) -> EdgeCuts:
    """Return the cuts of numbers that tell most of names: `codes` of so many `values`, in the same rows.

    Candidates are bins of equal weight, and the cuts of Fayyad and Irani, each of which may lie between any two rows.
    The marginal likelihood of the names, less the cost, decides.

    Examples
    --------
    >>> numbers = np.arange(40.0)
    >>> chosen = edge_cuts(numbers, (numbers > 28.0).astype(np.int64), np.ones(40), 2, 1.0)
    >>> chosen.cuts, round(chosen.cost, 2)
    ((28.5,), 5.05)
    """
    order = np.argsort(numbers, kind="stable")
    ascending, labels, heavy = numbers[order], codes[order].astype(np.int32), weights[order]
    one_of = math.log(len(BINS) + 1.0)
    candidates = [EdgeCuts(tuple(cut_quantiles(ascending, heavy, labels, bins)), one_of) for bins in BINS]
    suggested = tuple(cut_supervised(ascending, heavy, labels, MOST_BINS))
    candidates.append(EdgeCuts(suggested, one_of + len(suggested) * math.log(max(len(numbers) - 1, 1))))
    best, most = EdgeCuts((), 0.0), -math.inf
    for candidate in candidates:
        if candidate.cuts:
            table = np.zeros((len(candidate.cuts) + 1, values))
            np.add.at(table, (np.searchsorted(candidate.cuts, ascending, side="right"), labels), heavy)
            worth = log_likelihood_of_names(table, strength) - candidate.cost
            if worth > most:
                best, most = candidate, worth
    return best


def log_likelihood_of_names(table: Floats, strength: float) -> float:
    """Return the log marginal likelihood of the counts of a name, `table[configuration, value]`."""
    log_gamma, each = scipy.special.gammaln, strength / table.shape[1]
    whole = log_gamma(strength) - log_gamma(strength + table.sum(axis=1))
    return float(whole.sum() + (log_gamma(table + each) - log_gamma(each)).sum())
