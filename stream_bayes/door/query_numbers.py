"""Numbers in queries, headers and requests of any protocol: the one place that parses them."""

from __future__ import annotations

import re

from stream_bayes.errors import BadValue

__all__ = ["real_number", "whole_number"]

LONGEST = 40  # characters of a number, and of what is shown of a text that is none
PLAIN = re.compile(r"[0-9]+(\.[0-9]+)?(e[+-]?[0-9]{1,2})?")


def whole_number(text: str, name: str, least: int, most: int) -> int:
    """Return a whole number within bounds. Signs, blanks, underscores and leading zeros are not numbers. Both bounds
    are allowed. The error calls the number `name`.

    Raises
    ------
    BadValue
        If it is anything else.

    Examples
    --------
    >>> whole_number("100", "limit", 1, 1000)
    100
    >>> whole_number("000000000001", "limit", 1, 1000)
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: limit: expected a whole number from 1 to 1,000, got '000000000001'
    """
    is_number = text.isascii() and text.isdigit() and (text == "0" or text[0] != "0")
    # The length first: converting thousands of digits takes long, and Python refuses some.
    if is_number and len(text) <= len(str(most)) and least <= int(text) <= most:
        return int(text)
    raise _refusal(text, name, f"a whole number from {least:,} to {most:,}")


def real_number(text: str, name: str, least: float, most: float) -> float:
    """Return a number within bounds, which are both allowed. The error calls the number `name`.

    Raises
    ------
    BadValue
        If it is anything else.

    Examples
    --------
    >>> real_number("0.75", "below", 0, 1)
    0.75
    >>> real_number("nan", "below", 0, 1)
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: below: expected a number from 0 to 1, got 'nan'
    """
    if len(text) <= LONGEST and PLAIN.fullmatch(text) and least <= float(text) <= most:
        return float(text)
    raise _refusal(text, name, f"a number from {least:,} to {most:,}")


def _refusal(text: str, name: str, wanted: str) -> BadValue:
    came = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return BadValue(f"{name}: expected {wanted}, got {came!r}")
