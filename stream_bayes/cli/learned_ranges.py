"""Ranges of the numbers that a model learned, and rows to predict that lie outside of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.saving.model_files import load_beside

__all__ = ["RANGES", "LearnedRanges", "OutsideRows", "learned_ranges"]

RANGES = "ranges"  # the section of a saved model
BATCH = 1000  # rows that are examined together
SHOWN = 8  # columns
CHANCE = 3.0  # times as many rows outside as there would be by chance are worth a line
FAR = 0.5  # of the range: a single row that far outside is worth one, too


class LearnedRanges:
    """The least and the greatest number of each feature of numbers in some rows, and in how many each feature was.

    Examples
    --------
    >>> learned = LearnedRanges()
    >>> for wind in (3.0, None, 7.5):
    ...     learned.add({"wind": wind, "sky": "grey"})
    >>> learned.state()
    {'rows': 3, 'present': {'wind': 2, 'sky': 3}, 'numbers': {'wind': [3.0, 7.5]}}
    """

    def __init__(self) -> None:
        self.rows = 0
        self.present = Counter[str]()
        self.numbers: dict[str, list[float]] = {}
        self._waiting: list[Mapping[str, Any]] = []

    def add(self, x: Mapping[str, Any]) -> None:
        """Count a row that was learned."""
        self._waiting.append(x)
        if len(self._waiting) == BATCH:
            self._examine()

    def state(self) -> dict[str, Any]:
        """Return the counts and ranges as JSON."""
        self._examine()
        return {"rows": self.rows, "present": dict(self.present), "numbers": self.numbers}

    @classmethod
    def of_state(cls, state: Mapping[str, Any]) -> LearnedRanges:
        """Return what `state` returned.

        Raises
        ------
        BadState
            If it holds what no rows can have shown.
        """
        made = cls()
        with refusing_bad_state():
            made.rows, made.present = int(state["rows"]), Counter(state["present"])
            made.numbers = {name: [float(end) for end in ends] for name, ends in state["numbers"].items()}
            expect(
                all(0 < count <= made.rows for count in made.present.values()), "ranges: more cells than rows"
            )
            sound = (
                len(ends) == 2 and -math.inf < ends[0] <= ends[1] < math.inf for ends in made.numbers.values()
            )
            expect(all(sound), "ranges: a range has no ends, or they are not in order")
        return made

    def _examine(self) -> None:
        waiting, self._waiting = self._waiting, []
        self.rows += len(waiting)
        for name in dict.fromkeys(name for x in waiting for name in x):
            count, numbers = present_in(waiting, name)
            if count:
                self.present[name] += count
            if numbers is not None:
                ends = [float(np.nanmin(numbers)), float(np.nanmax(numbers))]
                low, high = self.numbers.get(name, ends)
                self.numbers[name] = [min(low, ends[0]), max(high, ends[1])]


def present_in(
    xs: Sequence[Mapping[str, Any]], name: str
) -> tuple[int, np.ndarray[Any, np.dtype[Any]] | None]:
    """Return in how many rows a feature is, and its numbers, NaN where it is missing; None if they are no numbers."""
    values = [x.get(name) for x in xs]
    kinds = set(map(type, values))
    if kinds <= {float, int, type(None)}:
        numbers = np.array(values, np.float64)
        count = int(np.count_nonzero(~np.isnan(numbers)))
        return count, numbers if count else None
    return len(values) - values.count(None), None


def learned_ranges(path: Path, key: bytes | None) -> LearnedRanges:
    """Return the ranges beside a saved model; empty ones where it has none."""
    state = load_beside(path, RANGES, key)
    return LearnedRanges() if state is None else LearnedRanges.of_state(state)


class OutsideRows:
    """Rows to predict whose numbers lie outside those that were learned, or that lack what every learned row had.

    Examples
    --------
    >>> learned = LearnedRanges()
    >>> for wind in (3.0, 7.5):
    ...     learned.add({"wind": wind})
    >>> outside = OutsideRows(LearnedRanges.of_state(learned.state()))
    >>> outside.add([{"wind": 41.0}, {"wind": 5.0}, {}])
    >>> for line in outside.warnings():
    ...     print(line)
    wind: 1 of 3 rows has a number outside all that were learned (3 to 7.5), such as 41
    wind: 1 of 3 rows lacks a value, which every learned row had
    """

    def __init__(self, learned: LearnedRanges) -> None:
        self._learned = learned
        self._first: dict[str, float] = {}
        self._far: set[str] = set()
        self.rows = 0
        self.outside = Counter[str]()
        self.lacking = Counter[str]()
        self.any_outside = 0  # rows that have a number outside, in any column

    def add(self, xs: Sequence[Mapping[str, Any]]) -> None:
        """Count those among some rows."""
        if not xs or not self._learned.rows:
            return
        self.rows += len(xs)
        is_outside = np.zeros(len(xs), bool)
        for name, count in self._learned.present.items():
            present, numbers = present_in(xs, name)
            if count == self._learned.rows and present < len(xs):
                self.lacking[name] += len(xs) - present
            if numbers is None or name not in self._learned.numbers:
                continue
            low, high = self._learned.numbers[name]
            beyond = (numbers < low) | (numbers > high)
            if beyond.any():
                is_outside |= beyond
                self.outside[name] += int(beyond.sum())
                self._first.setdefault(name, float(numbers[beyond][0]))
                if (np.maximum(low - numbers, numbers - high)[beyond] > FAR * (high - low)).any():
                    self._far.add(name)
        self.any_outside += int(is_outside.sum())

    def far(self) -> list[str]:
        """Return in words the number of each column that lies far outside: half a range away, or more."""
        return [
            f"{name}: {self._first[name]:g} is far outside all that was learned ({low:g} to {high:g})"
            for name in self.outside
            if name in self._far
            for low, high in (self._learned.numbers[name],)
        ]

    def told(self) -> dict[str, int]:
        """Return the rows outside of each column where they are more than by chance, or far; the most first."""
        by_chance = {
            name: CHANCE * (1.0 + 2.0 * self.rows / (self._learned.present[name] + 1))
            for name in self.outside
        }
        return {
            name: count
            for name, count in self.outside.most_common()
            if count > by_chance[name] or name in self._far
        }

    def warnings(self) -> list[str]:
        """Return a line for each column with rows outside, and for each that rows lack."""
        told, total = self.told(), self.rows
        lines = []
        for name, count in [*told.items()][:SHOWN]:
            low, high = self._learned.numbers[name]
            have = "has a number" if count == 1 else "have numbers"
            range_ = f"({low:g} to {high:g}), such as {self._first[name]:g}"
            lines.append(f"{name}: {_rows(count, total)} {have} outside all that were learned {range_}")
        if len(told) > 1:
            lie = "lies" if self.any_outside == 1 else "lie"
            lines.append(
                f"{_rows(self.any_outside, total)} in all {lie} outside in one of {len(told)} columns; nothing that "
                "was learned says whether predictions and intervals hold there"
            )
        for name, count in self.lacking.most_common(SHOWN):
            lack = "lacks" if count == 1 else "lack"
            lines.append(f"{name}: {_rows(count, total)} {lack} a value, which every learned row had")
        return lines


def _rows(count: int, total: int) -> str:
    return f"{count:,} of {total:,} row{'s' * (total > 1)}"
