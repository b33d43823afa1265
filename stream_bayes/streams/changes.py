"""What differs between the settings a snapshot was taken with and those of now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["differences"]


def differences(saved: Mapping[str, Any], own: Mapping[str, Any], path: str = "") -> list[str]:
    """What differs between two settings, a text for each.

    Examples
    --------
    >>> differences({"model": {"learner": "TAN"}}, {"model": {"learner": "AODE", "strength": 1.0}})
    ["model.learner was 'TAN', is 'AODE'", 'model.strength was not given, is 1.0']
    """
    told = []
    for key in [*saved, *(key for key in own if key not in saved)]:
        before, now = saved.get(key, ...), own.get(key, ...)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            told += differences(before, now, f"{path}{key}.")
        elif before != now:
            texts = ["not given" if value is ... else repr(value) for value in (before, now)]
            told.append(f"{path}{key} was {texts[0]}, is {texts[1]}")
    return told
