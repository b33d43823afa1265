"""Texts that stand for values, where only text can be written: on a command line, in an address, as a name in JSON."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from stream_bayes.core.values.values import Value

__all__ = ["is_spelling"]


def is_spelling(text: str, value: Value) -> bool:
    """Return True if a text stands for a value: a text for itself, anything else by what it is and not by its digits.

    Examples
    --------
    >>> [is_spelling("12", value) for value in (12, 12.0, "12", "12.0", b"12", 12.5)]
    [True, True, True, False, True, False]
    >>> is_spelling("1.2e1", 12), is_spelling("true", True), is_spelling('["a", 1]', ("a", 1.0))
    (True, True, True)
    """
    if isinstance(value, str):
        return text == value
    if isinstance(value, bytes):
        return text == value.decode("utf-8", "replace")
    read = _read(text)
    return read is not None and bool(read == value)


@lru_cache(maxsize=1024)  # one text is compared with many values
def _read(text: str) -> Any:
    """Return the number, boolean or tuple that a text stands for; None if it stands for none."""
    try:
        return _with_tuples(json.loads(text))
    except (ValueError, RecursionError):
        pass
    try:
        return float(text)  # ".5", "5.", "+5" and "inf" are no JSON
    except ValueError:
        return None


def _with_tuples(read: Any) -> Any:
    return tuple(map(_with_tuples, read)) if isinstance(read, list) else read
