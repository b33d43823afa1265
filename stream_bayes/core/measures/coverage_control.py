"""Sets of labels that hold the true one in a given share of events, whatever answers and however events drift.

A set has the labels whose log-odds are above a threshold. With I the number of sets that missed minus (1 - coverage)
times the number of events, the threshold is -0.5 I / (1 - (I / 20)^2): all labels are in the set from I = 20 on, and
none from I = -20 on. So the share of sets that hold the label differs from the coverage by at most 21 / n after n
events; by (21 + d) / n where the label of each comes with d others outstanding, and the set that was given is scored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.values import canonical_label, name_order, shown, tagged, untagged
from stream_bayes.errors import BadValue

__all__ = ["LabelSets", "checked_levels", "saved_sets"]

MOST_BALANCE = 20.0  # errors too many, or too few, at which a set has all labels, or none
SLOPE = 0.5  # log-odds that the threshold falls by for one error too many
ALL = None  # the label under which the balance of all labels is kept
LEAST = 1e-300
MOST_EVENTS = 2.0**53


def checked_levels(coverage: object) -> tuple[float, ...]:
    """Return the levels of `coverage`, a number or several; raise `BadValue` for anything else.

    Examples
    --------
    >>> checked_levels(0.9), checked_levels([0.8, 0.95])
    ((0.9,), (0.8, 0.95))
    """
    levels = tuple(coverage) if isinstance(coverage, (list, tuple)) else (coverage,)
    for level in levels:
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
            raise BadValue(f"coverage lies between 0 and 1, as 0.9, not {shown(level)}")
    if not levels or len(set(levels)) < len(levels):
        raise BadValue(f"coverage is a number, or several that differ, as [0.8, 0.95], not {shown(coverage)}")
    return levels


class LabelSets:
    """Thresholds of sets of labels, for one or several levels of coverage. `levels` are the shares of events whose set
    holds the label. `by_class` makes thresholds for each label, so that the share holds among the events of each.

    Attributes
    ----------
    unknown
        The number of scored events whose label had no probability: they move no threshold.

    Examples
    --------
    >>> sets = LabelSets((0.5, 0.9))
    >>> answer = {"dry": 0.8, "rain": 0.2}
    >>> for number in range(40):
    ...     sets.score("rain" if number % 4 == 0 else "dry", answer)
    >>> sets.labels(answer)
    {0.5: [], 0.9: ['dry', 'rain']}
    """

    def __init__(self, levels: Sequence[float], by_class: bool = False) -> None:
        self.levels = checked_levels(levels)
        if not isinstance(by_class, bool):
            raise BadValue(f"by_class is True or False, not {shown(by_class)}")
        self.by_class = by_class
        self.unknown = 0
        # Of each level, by label or under ALL: errors too many, and events.
        self._balances: dict[float, dict[Any, list[float]]] = {level: {} for level in self.levels}

    def labels(self, answer: Mapping[Any, float]) -> dict[float, list[Any]]:
        """Return the set of each level, the most probable label first, from the probability of each label."""
        ordered = sorted(answer.items(), key=lambda item: (-item[1], name_order(item[0])))
        return {level: [y for y, p in ordered if self._holds(level, y, p)] for level in self.levels}

    def score(
        self,
        y: Any,
        answer: Mapping[Any, float],
        given: Mapping[float, Sequence[Any]] | None = None,
        weight: float = 1.0,
    ) -> None:
        """Move the thresholds by whether the set of this answer holds the label; or the set that was given earlier, at
        the levels that it has. An event of weight 0 moves nothing, any other is one event.
        """
        if weight == 0.0:
            return
        if y not in answer:
            self.unknown += 1
            return
        for level, balances in self._balances.items():
            balance = balances.setdefault(self._key(y), [0.0, 0.0])
            sets = given or {}
            is_held = y in sets[level] if level in sets else self._holds(level, y, answer[y])
            balance[0] += (not is_held) - (1.0 - level)
            balance[1] += 1.0

    def coverage(self, level: float) -> float:
        """Return the share of scored events whose set held the label; NaN before the first."""
        balances = self._balances[level].values()
        events = math.fsum(count for _, count in balances)
        return level - math.fsum(errors for errors, _ in balances) / events if events else math.nan

    def coverage_by_class(self, level: float) -> dict[Any, float]:
        """Return the share of each label's scored events whose set held it; empty without `by_class`."""
        balances = self._balances[level].items() if self.by_class else ()
        return {y: level - errors / events for y, (errors, events) in balances}

    def _key(self, y: Any) -> Any:
        return canonical_label(y) if self.by_class else ALL

    def _holds(self, level: float, y: Any, p: float) -> bool:
        """Return True if a label of this probability is in the set."""
        balance = self._balances[level].get(self._key(y), (0.0, 0.0))[0] / MOST_BALANCE
        if abs(balance) >= 1.0:
            return balance > 0.0
        odds = math.log(max(p, LEAST)) - math.log(max(1.0 - p, LEAST))
        return odds >= -SLOPE * MOST_BALANCE * balance / (1.0 - balance**2)

    # -- saving -------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the balances as JSON values: [level, label, errors too many, events]; null for all labels."""
        return {
            "levels": list(self.levels),
            "by_class": self.by_class,
            "unknown": self.unknown,
            "balances": [
                [level, None if y is ALL else tagged(y), *balance]
                for level, balances in self._balances.items()
                for y, balance in balances.items()
            ],
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over what `state` returned, of the levels that both have; all levels begin anew if `by_class` differs.

        Raises `BadState` if it is not valid.
        """
        loaded: dict[float, dict[Any, list[float]]] = {level: {} for level in self.levels}
        with refusing_bad_state():
            expect(type(saved["by_class"]) is bool, f"by_class is {saved['by_class']!r}")
            unknown = saved["unknown"]
            expect(type(unknown) is int and 0 <= unknown < 2**62, f"unknown is {unknown!r}")
            for level, label, errors, events in saved["balances"]:
                expect(
                    type(events) is float and 0.0 < events < MOST_EVENTS and events.is_integer(),
                    f"a balance has {events!r} events",
                )
                fits = (
                    type(errors) is float
                    and type(level) is float
                    and 0.0 < level < 1.0
                    and -1.0
                    <= errors + (1.0 - level) * events
                    <= events + 1.0  # the sets that missed, rounded
                    and (label is None) != saved["by_class"]
                )
                expect(fits, f"a balance is {errors!r} at {level!r}")
                if saved["by_class"] is self.by_class and level in loaded:
                    loaded[level][None if label is None else untagged(label)] = [errors, events]
        self._balances, self.unknown = loaded, unknown


def saved_sets(saved: Mapping[str, Any] | None) -> LabelSets | None:
    """Return the sets of a state, of all its levels; None without a state. Raises `BadState` if it is not valid."""
    if saved is None:
        return None
    with refusing_bad_state():
        sets = LabelSets(saved["levels"], saved["by_class"])
    sets.load(saved)
    return sets
