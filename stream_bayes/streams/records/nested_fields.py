"""Objects in objects as flat fields."""

from __future__ import annotations

from typing import Any

from stream_bayes.streams.records.undecodable import DecodeReason, shortened, undecodable

__all__ = ["flattened"]

MAX_DEPTH = 32  # of objects in objects that are flattened: the names of all levels are held at once


def flattened(content: dict[str, Any]) -> dict[str, Any]:
    """Return a record whose nested objects are flattened into fields.

    Examples
    --------
    >>> flattened({"from": {"city": "Ulm", "at": {"lat": 48.4}}, "n": 1})
    {'from.city': 'Ulm', 'from.at.lat': 48.4, 'n': 1}
    """
    flat: dict[str, Any] = {}
    levels = [("", iter(content.items()))]
    while levels:
        prefix, fields = levels[-1]
        for name, value in fields:
            if isinstance(value, dict):
                if len(levels) == MAX_DEPTH:
                    raise undecodable(
                        DecodeReason.TOO_DEEP,
                        f"expected at most {MAX_DEPTH} objects in one another, got more",
                    )
                levels.append((f"{prefix}{name}.", iter(value.items())))
                break
            if prefix + name in flat:
                raise undecodable(DecodeReason.WRONG_TYPE, f"two fields are named {shortened(prefix + name)}")
            flat[prefix + name] = value
        else:
            levels.pop()
    return flat
