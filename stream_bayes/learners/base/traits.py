"""Promises and traits: the laws that a learner obeys, and the abilities that its arguments give it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["ROW_SEED", "Promise", "Traits", "is_led_by_order", "random_order"]

ROW_SEED = 0  # of the random order of rows of a table, which is the same each time


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


def is_led_by_order(learner: Any) -> bool:
    """Return True if what a learner learns depends on the order of the events, and it was not asked to follow it, by
    fading, a window or around another learner. Rows of a table have no order, so such a learner should see them in a
    random one.

    Examples
    --------
    >>> from stream_bayes import KDB, NaiveBayes
    >>> is_led_by_order(KDB()), is_led_by_order(NaiveBayes()), is_led_by_order(KDB(half_life=100.0))
    (True, False, False)
    """
    if getattr(learner, "half_life", None) is not None or hasattr(learner, "learner"):
        return False
    if getattr(learner, "slides", False):  # a window of the newest events
        return False
    if getattr(learner, "is_growing", False):  # a structure, with the events that come
        return True
    traits: Traits | None = getattr(learner, "traits", None)
    return traits is not None and (traits.is_order_dependent or traits.learns_cut_points)


def random_order(rows: int) -> NDArray[np.int64]:
    """Return the numbers of the rows of a table in a random order, the same each time.

    Examples
    --------
    >>> sorted(random_order(5).tolist()), (random_order(9) == random_order(9)).all()
    ([0, 1, 2, 3, 4], np.True_)
    """
    return np.random.default_rng(ROW_SEED).permutation(rows)
