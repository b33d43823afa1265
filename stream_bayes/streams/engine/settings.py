"""What differs between the settings a snapshot was taken with and those of now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["differences", "said", "written"]


def differences(
    saved: Mapping[str, Any], own: Mapping[str, Any], path: str = ""
) -> list[tuple[str, Any, Any]]:
    """Return the path, old and new value of each setting that differs; `...` if it is not given.

    Examples
    --------
    >>> differences({"model": {"learner": "TAN"}}, {"model": {"learner": "AODE", "strength": 1.0}})
    [('model.learner', 'TAN', 'AODE'), ('model.strength', Ellipsis, 1.0)]
    """
    told = []
    for key in [*saved, *(key for key in own if key not in saved)]:
        before, now = saved.get(key, ...), own.get(key, ...)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            told += differences(before, now, f"{path}{key}.")
        elif before != now:
            told.append((f"{path}{key}", before, now))
    return told


def said(changes: Iterable[tuple[str, Any, Any]]) -> str:
    """Return changes as one line.

    Examples
    --------
    >>> said([("model.learner", "TAN", "AODE"), ("model.strength", ..., 1.0)])
    "model.learner was 'TAN', is 'AODE'; model.strength was not given, is 1.0"
    """
    return "; ".join(f"{path} was {written(before)}, is {written(now)}" for path, before, now in changes)


def written(value: object) -> str:
    """Return a setting as text."""
    return "not given" if value is ... else repr(value)
