"""Promises and traits: the laws that a learner obeys, and the abilities that its arguments give it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

__all__ = ["Promise", "Traits"]


class Promise(StrEnum):
    """A law that a learner obeys, and that `stream_bayes.testing.check_learner` checks."""

    COUNTS = "plain counts: online = batch = any order = any split and merge = after unlearning, exactly"
    FLOATS = (
        "sums of numbers: the same to 1e-9 of themselves; fractional weights, fading: of the largest weight"
    )
    ORDERED = "order-dependent parts: the same events from the same state give the same bytes"


class Traits(NamedTuple):
    """The abilities of a learner as it was made: some follow from its class, some from its arguments.

    Examples
    --------
    >>> from stream_bayes import KDB
    >>> KDB(k=1).traits.is_mergeable, KDB(k=2).traits.is_mergeable
    (True, False)
    """

    is_order_dependent: bool  # True if predictions depend on the order of events, and not on the counts alone
    is_mergeable: bool  # True if another learner's counts can be added to its own
    accepts_numbers: bool  # True if features may be numeric
    # True if it sets those of numeric features itself; they depend on the order of events
    learns_cut_points: bool
    # True if it learns a feature it has not seen before; otherwise such a feature is ignored or refused
    accepts_new_features: bool
