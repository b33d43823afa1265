"""Mutual information of two variables from their counts, with an interval."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MutualInformation", "mutual_information"]

Z = 1.959963984540054  # of a two-sided interval of 95 %


class MutualInformation(NamedTuple):
    """The information of one variable about another in nats, and the ends of a 95 % interval; none is below 0."""

    nats: float
    low: float
    high: float


def mutual_information(counts: NDArray[Any]) -> MutualInformation:
    """Return the mutual information of the rows and the columns of a table of counts.

    The plug-in estimate is above 0 by chance, on average by df / 2n with df degrees of freedom, which is subtracted
    (Miller 1955). The interval is normal, with the variance of the delta method, and df / 2n^2 for what chance adds
    where the variables tell nothing.

    Examples
    --------
    >>> told = mutual_information(np.array([[500, 0], [0, 500]]))
    >>> round(told.nats, 3), mutual_information(np.array([[50, 50], [50, 50]])).low
    (0.693, 0.0)
    """
    table = np.asarray(counts, np.float64)
    table = table[table.sum(axis=1) > 0.0][:, table.sum(axis=0) > 0.0]
    total = float(table.sum())
    if min(table.shape) < 2:
        return MutualInformation(0.0, 0.0, 0.0)
    shares = table / total
    expected = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    logs = np.log(np.where(shares > 0.0, shares, expected) / expected)
    plug_in = float((shares * logs).sum())
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    spread = float((shares * logs**2).sum()) - plug_in**2
    error = Z * math.sqrt(max(spread, 0.0) / total + freedom / (2.0 * total**2))
    nats = plug_in - freedom / (2.0 * total)
    return MutualInformation(max(nats, 0.0), max(nats - error, 0.0), max(nats + error, 0.0))
