"""Ranges of numbers that are names with an order, such as `10-19`, `$25,000 to $49,999`, `<18` and `60+`."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable

__all__ = ["are_open", "range_order"]

UNIT = (
    r"(?:(?:%|[$€£]|years?|yrs?|days?|months?|hours?|hrs?|mins?|minutes?|m?g|lbs?|oz|[cm]m|ml)"
    r"(?:\s*/\s*(?:day|week|month|year|d|h))?)?"
)
NUMBER = rf"[$€£]?\s*(\d[\d,]*(?:\.\d+)?)\s*([kKmM]?)\s*{UNIT}"
BOTH = re.compile(rf"(?:between\s+)?{NUMBER}\s*(?:-|–|—|\.\.|to|and)\s*{NUMBER}(?:\s+old)?", re.IGNORECASE)
BELOW = re.compile(
    rf"(?:(?:<=?|under|below|sub|less than|fewer than|younger than|lower than|up to|at most)\s*{NUMBER}(?:\s+old)?"
    rf"|{NUMBER}\s*(?:(?:and|or)\s+(?:less|under|below|younger|fewer)))",
    re.IGNORECASE,
)
ABOVE = re.compile(
    rf"(?:(?:>=?|over|above|more than|greater than|older than|higher than|at least)\s*{NUMBER}(?:\s+old)?"
    rf"|{NUMBER}\s*(?:\+|plus|(?:and|or)\s+(?:more|over|above|older|up|greater))\s*{UNIT})",
    re.IGNORECASE,
)
ONE = re.compile(NUMBER, re.IGNORECASE)
LEAST, MOST = 3, 60  # different texts
LEAST_OPEN, LEAST_OPEN_SHARE = 3, 0.5  # of the texts, which then are ranges although none has two ends
LEAST_SHARE = 0.75  # of the texts are ranges or numbers; a few may be names, as `unknown`
SCALES = {"": 1.0, "k": 1e3, "m": 1e6}


def range_order(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the ranges of a column in ascending order; empty if these are no ranges.

    Examples
    --------
    >>> range_order(["30-39", "<20", "20-29", "40+", "unknown"])
    ('<20', '20-29', '30-39', '40+')
    >>> range_order(["12+ yrs", "0-5yrs", "6-11yrs"]), range_order(["40-79", "0-39g/day", "80-119"])
    (('0-5yrs', '6-11yrs', '12+ yrs'), ('0-39g/day', '40-79', '80-119'))
    >>> range_order(["Greater than 45", "25 - 45", "Less than 25"])
    ('Less than 25', '25 - 45', 'Greater than 45')
    >>> range_order(["18+", "7+", "all", "13+"])  # ages
    ('7+', '13+', '18+')
    >>> range_order(["2-1", "0-3", "1-0"])  # results of matches
    ()
    """
    different = [*dict.fromkeys(texts)]
    if not LEAST <= len(different) <= MOST:
        return ()
    bounds: dict[str, tuple[float, float]] = {}
    closed = 0
    for text in different:
        if (match := BOTH.fullmatch(text.strip())) is not None:
            low, high = _number(match[1], match[2] or match[4]), _number(match[3], match[4])
            if low > high:
                low = _number(match[1], match[2])  # 500-1k
            if low >= high:
                return ()
            bounds[text] = (low, high)
            closed += 1
        elif (match := BELOW.fullmatch(text.strip())) is not None:
            bounds[text] = (-math.inf, _number(match[1] or match[3], match[2] or match[4] or ""))
        elif (match := ABOVE.fullmatch(text.strip())) is not None:
            bounds[text] = (_number(match[1] or match[3], match[2] or match[4] or ""), math.inf)
        elif (match := ONE.fullmatch(text.strip())) is not None:
            bounds[text] = (_number(match[1], match[2]),) * 2
    opened = sum(math.isinf(low) or math.isinf(high) for low, high in bounds.values())
    # One range alone is enough between two ends: below 25, 25 to 45, above 45.
    if (closed + min(opened, 1) < 2 and not are_open(different)) or len(bounds) < LEAST_SHARE * len(
        different
    ):
        return ()
    return tuple(sorted(bounds, key=lambda text: bounds[text]))


def are_open(texts: Collection[str]) -> bool:
    """Return True for texts of which most are bounds, as `7+`, `13+` and `18+`; a few bounds stand among numbers.

    Examples
    --------
    >>> are_open(["7+", "13+", "18+", "all"]), are_open(["0", "1", "2", "3+"]), are_open(["<0.5", "0.7", "1.2", "3"])
    (True, False, False)
    """
    if len(texts) > MOST:
        return False
    count = sum(any(form.fullmatch(text.strip()) for form in (BELOW, ABOVE)) for text in texts)
    return count >= LEAST_OPEN and count > LEAST_OPEN_SHARE * len(texts)


def _number(digits: str, scale: str) -> float:
    return float(digits.replace(",", "")) * SCALES[scale.lower()]
