"""Checks of the values that a saved reading holds besides the counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.structures.deriving_schedule import NEVER
from stream_bayes.errors import BadState

__all__ = ["load_clock", "load_losses", "load_slot"]


def load_clock(saved: object) -> int:
    """Return a clock out of a state, or raise `BadState`."""
    if type(saved) is not int or not 0 <= saved <= NEVER:
        raise BadState(f"the state does not fit: {saved!r} is not a time")
    return saved


def load_losses(saved: object) -> NDArray[np.float64]:
    """Return losses out of a state, or raise `BadState`."""
    losses = np.array(saved, np.float64)
    if losses.ndim != 1 or not np.isfinite(losses).all() or not (losses >= 0).all():
        raise BadState("the state does not fit: a loss is not a number of at least 0")
    return losses


def load_slot(saved: object, features: int) -> int:
    """Return the slot of a feature out of a state, or raise `BadState`."""
    if type(saved) is not int or not 0 <= saved < features:
        raise BadState(f"the state does not fit: {saved!r} is none of its {features} features")
    return saved
