"""Features that give the label away: a value has the same label in every row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from shlex import quote
from typing import Any

from stream_bayes.core.events.event import Event

__all__ = ["leak_warnings", "leaks_in"]

LEAST_ROWS = 50
LEAST_OTHERS = 10  # rows with another label than the most frequent one
ROWS_A_VALUE = 5  # at least, on average: a value that comes once has one label anyway


def leaks_in(events: Iterable[Event]) -> dict[Any, bool]:
    """Return the features each of whose values has one label; True if each label has one value, too.

    Examples
    --------
    >>> rows = [Event({"code": n % 2, "size": n % 3}, "ab"[n % 2]) for n in range(60)]
    >>> leaks_in(rows)
    {'code': True}
    """
    labels: Counter[Any] = Counter()
    labels_of: dict[
        Any, dict[Any, Any]
    ] = {}  # of the features that may still be leaks: the label of each value
    rows: Counter[Any] = Counter()  # with a value
    refuted: set[Any] = set()
    for event in events:
        if event.y is None:
            continue
        labels[event.y] += 1
        for name, value in event.x.items():
            if value is None or name in refuted:
                continue
            rows[name] += 1
            if labels_of.setdefault(name, {}).setdefault(value, event.y) != event.y:
                refuted.add(name)
                del labels_of[name]
    if labels.total() - max(labels.values(), default=0) < LEAST_OTHERS:
        return {}
    return {
        name: len(known) == len({*known.values()})
        for name, known in labels_of.items()
        if rows[name] >= max(LEAST_ROWS, ROWS_A_VALUE * len(known), labels.total() / 2)
        and len({*known.values()}) > 1
    }


def leak_warnings(leaks: dict[Any, bool], target: str) -> list[str]:
    """Return a warning for each leak."""
    return [
        f"warning: {name} gives {target} away in the first rows: each of its values has one {target}"
        + (f", and each {target} one value" if is_mutual else "")
        + f". If it is not there yet when you predict: --ignore {quote(str(name))}"
        for name, is_mutual in leaks.items()
    ]
