"""Values of features and labels as JSON values, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from stream_bayes.core.values.spellings import is_spelling

__all__ = ["as_json", "by_text", "label_name"]


def as_json(value: Any) -> Any:
    """Return a value as JSON has it: infinite numbers and NaN as None, tuples as lists, anything unknown as text.

    Examples
    --------
    >>> as_json({("a", 1): float("inf"), b"k": (1, 2.5)})
    {"('a', 1)": None, 'k': [1, 2.5]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, Mapping):
        return {label_name(name): as_json(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(each) for each in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    item = getattr(value, "item", None)  # a number of numpy's
    return as_json(item()) if callable(item) else str(value)


def label_name(label: Any) -> str:
    """Return the name of a label or value in JSON, where names are text."""
    if isinstance(label, str):
        return label
    if isinstance(label, bytes):
        return label.decode("utf-8", "replace")
    if isinstance(label, bool):
        return "true" if label else "false"
    return str(label)


def by_text(text: str, values: Any) -> Any:
    """Return the known label or value that this text stands for; the text itself if there is none.

    Examples
    --------
    >>> by_text("12", ["11", 12.0]), by_text("12", [12.0, "12"]), by_text("13", [12.0])
    (12.0, '12', '13')
    """
    if text in values:
        return text
    return next((each for each in values if label_name(each) == text or is_spelling(text, each)), text)
