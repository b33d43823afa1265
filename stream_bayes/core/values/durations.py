"""Durations as text: "90s", "45min", "12h", "7d", "2w"."""

from __future__ import annotations

import re

from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue

__all__ = ["MICROSECOND", "microseconds_of", "seconds_of"]

MICROSECOND = 1e-6  # in seconds: the resolution of stream time
SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
LEAST, MOST = 1.0, 3.2e9  # seconds; about a century
TEXT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|min|h|d|w)")


def seconds_of(name: str, text: str) -> float:
    """Return the seconds of a duration. `name` is the argument's, for the error.

    Examples
    --------
    >>> seconds_of("half_life", "7d"), seconds_of("half_life", "1.5h")
    (604800.0, 5400.0)
    >>> seconds_of("half_life", "7 days")
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: half_life: expected a duration such as '90s', '45min', '12h', '7d' or '2w', of at ...
    """
    match = TEXT.fullmatch(text.strip())
    seconds = float(match[1]) * SECONDS[match[2]] if match else 0.0
    if not LEAST <= seconds <= MOST:
        raise BadValue(
            f"{name}: expected a duration such as '90s', '45min', '12h', '7d' or '2w', of at least a second "
            f"and at most a century, got {shown(text)}"
        )
    return seconds


def microseconds_of(name: str, seconds: object) -> int:
    """Return a time in seconds since 1970 as whole microseconds.

    Examples
    --------
    >>> microseconds_of("at", 1.5)
    1500000
    """
    good = isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and -1e12 < seconds < 1e12
    if not good:
        raise BadValue(f"{name}: expected a time in seconds since 1970, got {shown(seconds)}")
    return round(seconds / MICROSECOND)  # type: ignore[operator]  # good: it is a number
