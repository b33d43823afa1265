"""Types of names and labels in BIF, where both are texts: a property of each variable records the types.

    variable rain { type discrete [ 2 ] { True, False }; property stream_bayes.label_types = bool bool; }

A variable whose name and labels are strings has no such property. Other tools read the texts and ignore the property.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Sequence

from stream_bayes.core.networks.dot import spelled
from stream_bayes.core.values.values import Value, canonical, shown
from stream_bayes.errors import BadFormat

__all__ = ["LABEL_TYPES", "NAME_TYPE", "is_reserved", "recorded", "type_names", "typed"]

PREFIX = "stream_bayes."
NAME_TYPE = f"{PREFIX}name_type = "
LABEL_TYPES = f"{PREFIX}label_types = "
STRING, QUOTED = "str", "quoted"  # a quoted string is written as its repr, as another value reads the same
TYPES = {STRING: str, QUOTED: str, "bool": bool, "int": int, "float": float, "bytes": bytes, "tuple": tuple}


def is_reserved(text: str) -> bool:
    """Return True if a property's text belongs to this module."""
    return text.startswith(PREFIX)


def type_names(values: Sequence[Value]) -> list[str]:
    """Return the type of each value as `spelled` writes it.

    Examples
    --------
    >>> type_names([True, 2.5, "red"]), type_names(["1", 1])
    (['bool', 'float', 'str'], ['quoted', 'int'])
    """
    return [
        type(value).__name__ if not isinstance(value, str) else STRING if text == value else QUOTED
        for value, text in zip(values, spelled(values), strict=True)
    ]


def recorded(key: str, types: Sequence[str]) -> list[str]:
    """Return the property that records types; none if all are strings."""
    return [] if set(types) <= {STRING} else [key + " ".join(types)]


def typed(texts: Sequence[str], types: str) -> list[Value]:
    """Return the values that have these texts and types; raise `BadFormat` if a text is not of its type.

    Examples
    --------
    >>> typed(["True", "2.5", "red"], "bool float str")
    [True, 2.5, 'red']
    """
    names = types.split()
    if len(names) != len(texts):
        raise BadFormat(f"expected {len(texts)} types, one for each of {shown(list(texts))}, got {types!r}")
    return [_value(text, name) for text, name in zip(texts, names, strict=True)]


def _value(text: str, name: str) -> Value:
    if name not in TYPES:
        raise BadFormat(f"expected types among {', '.join(TYPES)}; got {shown(name)}")
    if name == STRING:
        return text
    try:
        value = literal_eval(text)
        if type(value) is TYPES[name] and repr(value) == text:
            return canonical(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass
    raise BadFormat(
        f"{shown(text)} is not of type {name}; correct the property, or remove it to read strings"
    )
