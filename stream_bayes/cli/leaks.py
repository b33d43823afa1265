"""Features that give the label away: they tell it in all rows or nearly all, by their values or by their gaps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from shlex import quote
from typing import Any

import numpy as np

from stream_bayes.core.events.event import Event
from stream_bayes.core.measures.mutual_information import mutual_information
from stream_bayes.core.values.values import shown

__all__ = ["leak_warnings", "leaks_in"]

LEAST_ROWS = 50
LEAST_OTHERS = 10  # rows with another label than the most frequent one
LEAST_OF_A_LABEL = 10  # rows of a label that one value tells from all others
ROWS_A_VALUE = 5  # at least, on average: a value that comes once has one label anyway
LEAST_DIFFERENT = 20  # numbers, before a line through all of them means something
MOST_OFF_A_LINE = 1e-5  # of the deviation of the labels
LEAST_ON_A_LINE = 0.9  # of the rows
# Part of the entropy of the labels, for sure; odours tell as much of mushrooms, petals less of irises.
LEAST_TOLD = 0.75


def leaks_in(events: Iterable[Event], target: str = "label") -> dict[Any, str]:
    """Return the features that give the label away, and how they do.

    Examples
    --------
    >>> rows = [Event({"code": n % 2, "size": n % 3, "score": n % 2 - n / 90}, "ab"[n % 2]) for n in range(60)]
    >>> leaks_in(rows)
    {'code': 'each of its values has one label, and each label one value', 'score': 'each label has numbers of its own'}
    """
    labelled = [event for event in events if event.y is not None]
    labels = Counter(event.y for event in labelled)
    if labels.total() - max(labels.values(), default=0) < LEAST_OTHERS:
        return {}
    numbers = _as_numbers([event.y for event in labelled])
    reasons: dict[Any, str] = {}
    for name in dict.fromkeys(name for event in labelled for name in event.x):
        cells = [event.x.get(name) for event in labelled]
        rows = [row for row, cell in enumerate(cells) if cell is not None]
        reason = ""
        if len(rows) >= max(LEAST_ROWS, labels.total() / 2):
            values = [cells[row] for row in rows]
            reason = _how([labelled[row].y for row in rows], values, target)
            if not reason and numbers is not None:
                reason = _on_a_line(values, [numbers[row] for row in rows])
        if not reason and labels.total() >= LEAST_ROWS:
            gaps = _told([cell is None for cell in cells], [event.y for event in labelled])
            reason = f"that it is missing tells {target} in {gaps}" if gaps else ""
        if reason:
            reasons[name] = reason
    return reasons


def _how(labels: Sequence[Any], values: Sequence[Any], target: str) -> str:
    """Return how the values tell the labels; empty if they do not."""
    labels_of: dict[Any, Counter[Any]] = {}
    for value, label in zip(values, labels, strict=True):
        labels_of.setdefault(value, Counter())[label] += 1
    alone = {value: next(iter(counts)) for value, counts in labels_of.items() if len(counts) == 1}
    different = {*alone.values()}
    if len(alone) == len(labels_of) and len(different) > 1:
        if len(values) >= ROWS_A_VALUE * len(alone):
            mutual = f", and each {target} one value" if len(different) == len(alone) else ""
            return f"each of its values has one {target}{mutual}"
        numbers = _as_numbers([*alone], of_texts=False)
        if numbers is not None and _are_apart(numbers, [*alone.values()], Counter(labels)):
            return f"each {target} has numbers of its own"
    if len(labels_of) == 2:  # as where a column was made for each label
        for value, label in alone.items():
            rest = len(values) - labels_of[value].total()
            is_whole = labels.count(label) == labels_of[value].total()
            if is_whole and min(labels_of[value].total(), rest) >= LEAST_OF_A_LABEL:
                written = int(value) if isinstance(value, float) and value.is_integer() else value
                return f"{shown(written)} stands in all rows with {shown(label)}, and in no other"
    if len(values) >= ROWS_A_VALUE * len(labels_of) and (told := _told(values, labels)):
        return f"its values tell {target} in {told}"
    return ""


def _told(values: Sequence[Any], labels: Sequence[Any]) -> str:
    """Return in how many rows values tell the label; empty if they may tell too little of its entropy."""
    rows = {value: row for row, value in enumerate(dict.fromkeys(values))}
    columns = {label: column for column, label in enumerate(dict.fromkeys(labels))}
    counts = np.zeros((len(rows), len(columns)))
    np.add.at(counts, ([rows[value] for value in values], [columns[label] for label in labels]), 1.0)
    shares = counts.sum(axis=0) / len(labels)
    entropy = -float((shares * np.log(shares)).sum())
    if not entropy or mutual_information(counts).low < LEAST_TOLD * entropy:
        return ""
    return _rows(int(counts.max(axis=1).sum()), len(labels))


def _are_apart(numbers: Sequence[float], labels: Sequence[Any], rows: Mapping[Any, int]) -> bool:
    """Return True if the numbers of each label lie together, and no label is rare."""
    in_order = [label for _, label in sorted(zip(numbers, labels, strict=True), key=lambda pair: pair[0])]
    changes = sum(before != after for before, after in pairwise(in_order))
    return changes == len(rows) - 1 and min(rows.values()) >= LEAST_OF_A_LABEL


def _on_a_line(values: Sequence[Any], numbers: Sequence[float]) -> str:
    """Return that a feature is the number of the label, or on one line with it; empty if it is neither."""
    feature = _as_numbers(values, of_texts=False)
    if feature is None or len({*feature}) < LEAST_DIFFERENT:
        return ""
    x, y = np.array(feature), np.array(numbers)
    same = int((x == y).sum())
    if same >= LEAST_ON_A_LINE * len(x):
        return f"it is the same number in {_rows(same, len(x))}"
    with np.errstate(all="ignore"):  # a line that rows apart from it do not move
        slope = np.nanmedian(np.diff(y) / np.where(np.diff(x), np.diff(x), np.nan))
        on = np.abs(y - slope * x - np.median(y - slope * x)) <= MOST_OFF_A_LINE * y.std()
    on_line = int(on.sum())
    if not slope or on_line < LEAST_ON_A_LINE * len(x):
        return ""
    return f"it is the same number in another unit, in {_rows(on_line, len(x))}"


def _rows(count: int, total: int) -> str:
    return "each row" if count == total else f"all but {total - count:,} of {total:,} rows"


def _as_numbers(values: Sequence[Any], of_texts: bool = True) -> list[float] | None:
    """Return values as finite numbers; None if one is none."""
    kinds = (int, float, str) if of_texts else (int, float)
    if not all(isinstance(value, kinds) and not isinstance(value, bool) for value in values):
        return None
    try:
        numbers = [float(value) for value in values]
    except (ValueError, OverflowError):
        return None
    return numbers if all(map(math.isfinite, numbers)) else None


def leak_warnings(leaks: Mapping[Any, str], target: str, columns: Mapping[Any, str]) -> list[str]:
    """Return a warning for each column that leaks. `columns` has the column that each feature is read from."""
    first: dict[str, tuple[Any, str]] = {}  # of each column; a gap is in all of its features
    for name, reason in leaks.items():
        first.setdefault(str(columns.get(name, name)), (name, reason))
    return [
        f"warning: {name} gives {target} away in the first rows: {reason}. If it is not there "
        f"yet when you predict: --ignore {quote(column)}"
        for column, (name, reason) in first.items()
    ]
