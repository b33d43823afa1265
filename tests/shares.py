"""Shares of large products: every class of learner meets every law, and every setting meets some.

A class has up to eighteen settings, and most laws hold by what the class is. `make soak` runs the whole product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from tests.builds import EVERYTHING

__all__ = ["share_of"]

T = TypeVar("T")

SHARE = 5 if EVERYTHING else 12  # one of so many


def share_of(cases: Iterable[T], kind: Callable[[T], object], number: int) -> list[T]:
    """Return a share of the cases of each kind, but at least one; another share for the next number."""
    of_kind: dict[object, list[T]] = {}
    for case in cases:
        of_kind.setdefault(kind(case), []).append(case)
    return [case for each in of_kind.values() for case in each[number % min(SHARE, len(each)) :: SHARE]]
