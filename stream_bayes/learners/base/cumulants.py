"""Cumulants of the counts, from which intervals come: those of log P(x | class) and of log P(x, class), by model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.readings._smoothing import pseudocount
from stream_bayes.learners.base.intervals import (
    Cumulants,
    log_gaussian,
    log_mean,
    log_share,
    log_weight,
)

__all__ = ["average_cumulants", "product_cumulants", "value_cumulants"]


def product_cumulants(shares: Iterable[tuple[float, float]]) -> Cumulants:
    """Return the cumulants of the logarithm of a product of independent shares; 0/0 is left out.

    Parameters
    ----------
    shares
        The smoothed weight of each share, and the sum it is a share of.
    """
    moments = Cumulants()
    for own, total in shares:
        if total > 0.0:
            moments += log_share(own, total)
    return moments


def value_cumulants(store: CountStore, reading: Any, row: Row, label: int) -> Cumulants:
    """Return the cumulants of log P(x | label) where features are independent given the class."""
    tables, values = store.tables, store.tables.values
    layout = values.layout
    shares = []
    for k in range(row.entries):
        slot = row.feature[k]
        position = layout.start[slot] + row.code[k]
        if values.held[position]:
            add = pseudocount(reading.strength, values.distinct[slot], reading.spread)
            total = values.present[slot * layout.classes + label] / tables.unit + add * values.distinct[slot]
            shares.append((values.weight[position * layout.classes + label] / tables.unit + add, total))
    moments = product_cumulants(shares)
    length, presence = reading.presence(row, label)
    moments += Cumulants(-length)
    for observed, expected in presence:
        moments += log_weight(observed) + Cumulants(-math.log(expected))
    for k in range(row.numbers if tables.bins is None else 0):  # in bins, they are among the entries
        mean, variance, weight, freedom = reading.gaussian(row.numeric_feature[k], label)
        if weight > 0 and freedom > 0:
            moments += log_gaussian(row.number[k] - mean, variance, weight, freedom)
    return moments


def average_cumulants(
    reading: Any, row: Row, codes: Mapping[Any, int], log_prior_ratio: Mapping[Any, float]
) -> dict[Any, Cumulants] | None:
    """Return the cumulants of log P(x, label) of an average over super-parents; None if naive Bayes answers.

    Parameters
    ----------
    reading
        The average; its `members` are independent of one another here.
    row
        The event.
    codes
        The code of each label.
    log_prior_ratio
        For each label the logarithm of its prior over the counted one, which every member contains.
    """
    joint: dict[Any, Cumulants] = {}
    for label, code in codes.items():
        members = reading.members(row, code)
        if not members:
            return None
        terms = [
            Cumulants(math.log(weight / total)) + log_weight(own) + product_cumulants(rest)
            for weight, own, total, rest in members
        ]
        joint[label] = log_mean(terms) + Cumulants(log_prior_ratio[label])
    return joint
