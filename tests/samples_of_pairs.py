"""Samples of the pairs of two lists, for what one base class does for all: every member stands in one case or more."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle, islice
from typing import Any

__all__ = ["paired"]


def paired(*lists: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return as many cases as the longest list has members; the others begin anew at their end.

    Examples
    --------
    >>> paired("abc", [1, 2])
    [('a', 1), ('b', 2), ('c', 1)]
    """
    members = [list(each) for each in lists]
    longest = max(map(len, members))
    return list(zip(*(islice(cycle(each), longest) for each in members), strict=True))
