"""Shares of large products: every class of learner meets every law, and every setting meets some.

A class has up to eighteen settings, and most laws hold by what the class is. `make soak` runs the whole product. On
builds that are not for users a class meets a law in one setting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

from tests.builds import EVERYTHING

__all__ = ["SHARE", "least_tried", "share_of"]

T = TypeVar("T")

SHARE = 12 if EVERYTHING else 100  # one of so many


def share_of(cases: Iterable[T], kind: Callable[[T], object], number: int) -> list[T]:
    """Return a share of the cases of each kind, but at least one; another share for the next number."""
    of_kind: dict[object, list[T]] = {}
    for case in cases:
        of_kind.setdefault(kind(case), []).append(case)
    return [case for each in of_kind.values() for case in each[number % min(SHARE, len(each)) :: SHARE]]


def least_tried(cases: Iterable[T], count: int, tried: Counter[T]) -> list[T]:
    """Return so many that were tried least, and count them as tried."""
    chosen = sorted(cases, key=tried.__getitem__)[:count]
    tried.update(chosen)
    return chosen
