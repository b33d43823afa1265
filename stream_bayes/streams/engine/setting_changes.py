"""Differences between the settings of a snapshot and the present ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["changes_text", "differences", "setting_text"]


def differences(
    saved: Mapping[str, Any], present: Mapping[str, Any], path: str = ""
) -> list[tuple[str, Any, Any]]:
    """Return the path, old and new value of each setting that differs; `...` if it is not given. Of a table that came
    or went, that alone.

    Examples
    --------
    >>> differences({"model": {"learner": "TAN"}}, {"model": {"learner": "AODE", "strength": 1.0}})
    [('model.learner', 'TAN', 'AODE'), ('model.strength', Ellipsis, 1.0)]
    """
    changes = []
    for key in [*saved, *(key for key in present if key not in saved)]:
        before, now = saved.get(key, ...), present.get(key, ...)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            changes += differences(before, now, f"{path}{key}.")
        elif before != now:
            changes.append((f"{path}{key}", before, now))
    return changes


def changes_text(changes: Iterable[tuple[str, Any, Any]]) -> str:
    """Return changes as one line.

    Examples
    --------
    >>> changes_text([("model.learner", "TAN", "AODE"), ("model.strength", ..., 1.0)])
    "model.learner was 'TAN', is 'AODE'; model.strength was not given, is 1.0"
    """
    return "; ".join(
        f"{path} was {setting_text(before)}, is {setting_text(now)}" for path, before, now in changes
    )


def setting_text(value: object) -> str:
    """Return a setting as text. One that is None was not given: a pipeline file cannot say None.

    Examples
    --------
    >>> setting_text(None), setting_text({"wait_for": 86400.0}), setting_text("AODE")
    ('not given', 'given', "'AODE'")
    """
    if value is None or value is ...:
        return "not given"
    return "given" if isinstance(value, Mapping) else repr(value)
