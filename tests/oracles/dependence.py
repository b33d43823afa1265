"""KDB with several parents out of a list of events: slow, plain, and sharing no line with the package.

With n of N samples, of a class and beside the parents' values, and P what the level below says,

    P_0 is a share by the plain rule, of the feature's samples in the class
    P_j = (n + s P_j-1) / (N + s), of the samples that also have the first j parents' values

A family of two or more parents counts the events since it was first asked for, and those in the window by then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.oracles.aode import OneDependenceOracle, Values
from tests.oracles.naive_bayes import log

Family = tuple[str, frozenset[str]]


@dataclass(kw_only=True)
class DependenceOracle(OneDependenceOracle):
    """Each feature's parents are given, the first tells most.

    Parameters
    ----------
    window
        How many of the newest events are kept, those taken back among them.
    """

    window: int
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    since: dict[Family, int] = field(default_factory=dict)
    clocks: list[int] = field(default_factory=list)

    def learn(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        super().learn(x, y, w)
        if w > 0:
            self.clocks.append(self.clock)

    def take_parents(self, parents: dict[str, tuple[str, ...]]) -> None:
        """From now on these are the parents."""
        kept = self.clocks[-self.window :]
        begun = kept[0] if kept else self.clock + 1
        wanted = {
            (name, frozenset(above[:size]))
            for name, above in parents.items()
            for size in range(2, len(above) + 1)
        }
        self.since = {family: self.since.get(family, begun) for family in wanted}
        self.parents = parents

    def levels(self, name: str, x: Values) -> Iterator[tuple[str, ...]]:
        """The parents to look beside, a level after the other."""
        above = self.parents.get(name, ())
        present = [parent for parent in above if parent in x]
        if present and present[0] != above[0]:
            yield (present[0],)
            return
        for size in range(1, len(above) + 1):
            if above[size - 1] not in x:
                return
            yield above[:size]

    def chance(self, name: str, x: Values, y: Any) -> float | None:
        """P(value | y, parents' values); None where nothing is known."""
        known = [event for event in self.events if event.y == y and name in event.x]
        own = self.total(self.having({name: x[name]}, known))
        chance = self.smoothed(own, self.total(known), len(self.values(name)), self.strength)
        for above in self.levels(name, x):
            begun = self.since[name, frozenset(above)] if len(above) > 1 else 0
            beside = self.having({parent: x[parent] for parent in above}, known)
            beside = [event for event in beside if event.clock >= begun]
            n, total = self.total(self.having({name: x[name]}, beside)), self.total(beside)
            if chance is None:
                chance = n / total if total > 0 else None
            elif total + self.strength > 0:
                chance = (n + self.strength * chance) / (total + self.strength)
        return chance

    def log_joints(self, x: Values) -> dict[Any, float]:
        prior = self.log_prior()
        return {y: prior[y] + math.fsum(log(self.chance(name, x, y)) for name in x) for y in self.classes}
