"""The one-dependence family out of a list of events: slow, plain, and sharing no line with the package.

Every figure is a sum over the events that are kept, so there is no table that could go wrong. The formulas are those
that WEKA computes (`tests/golden/weka_aode.json` says how that is known), with n a weight of labelled events:

    P(y)           n(y)           of N                                 in C cells
    P(y, p)        n(y, p)        of the weight where p is present     in C v_p cells
    P(x | y, p)    n(y, p, x)     of n(y, p) where x is present        in v_x cells

A share "n of N in V cells" is (n + s) / (N + s V), or (n + s / V) / (N + s) for the m-estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from tests.oracles.naive_bayes import NEVER, Event, Oracle, is_missing, log

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Member:
    """One of the models whose joint probabilities are averaged: P(y, parents) times P(child | y, parents) of each."""

    parents: Values
    children: Values
    weight: float = 1.0


def mean_of_logs(weighted: Iterable[tuple[float, float]]) -> float:
    """The logarithm of a weighted mean, from weights and the logarithms of what they weigh."""
    pairs = list(weighted)
    best = max(value for _, value in pairs)
    if best == NEVER:
        return NEVER
    total = math.fsum(weight for weight, _ in pairs)
    return best + math.log(math.fsum(weight * math.exp(value - best) for weight, value in pairs) / total)


def without(x: Values, *names: str) -> dict[str, Any]:
    return {name: value for name, value in x.items() if name not in names}


@dataclass(kw_only=True)
class OneDependenceOracle(Oracle):
    """What the family shares. Only the counted class prior: P(y, p) is estimated as one share.

    Parameters
    ----------
    declared
        The values each feature was declared with; those that were met are added.
    declared_classes
        The classes that were declared; those that were met are added.
    """

    prior: str = "m-estimate"
    strength: float = 1.0
    declared: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    declared_classes: tuple[Any, ...] = ()

    @property
    def classes(self) -> list[Any]:
        return list(dict.fromkeys([*self.declared_classes, *(event.y for event in self.events)]))

    def values(self, name: str) -> set[Any]:
        met = (event.x[name] for event in self.events if name in event.x)
        return {*self.declared.get(name, ()), *met}

    def having(self, given: Values, events: Iterable[Event] | None = None) -> list[Event]:
        """The events, or those of some, with all the given values."""
        among = self.events if events is None else events
        return [
            event
            for event in among
            if all(name in event.x and event.x[name] == value for name, value in given.items())
        ]

    def frequency(self, given: Values) -> float:
        """The weight of the given values, whatever the class."""
        return self.total(self.having(given))

    def log_share(self, own: Iterable[Event], among: Iterable[Event], cells: int) -> float:
        return log(self.smoothed(self.total(own), self.total(among), cells, self.strength))

    def log_member(self, member: Member, y: Any, sizes: Mapping[str, int]) -> float:
        """Log P(y, x) as one model has it, where features have so many values."""
        parents = member.parents
        present = [event for event in self.events if all(name in event.x for name in parents)]
        own = [event for event in self.having(parents, present) if event.y == y]
        cells = len(self.classes) * math.prod(sizes[name] for name in parents)
        score = self.log_share(own, present, cells)
        for name, value in member.children.items():
            known = [event for event in own if name in event.x]
            score += self.log_share(self.having({name: value}, known), known, sizes[name])
        return score

    def members(self, x: Values) -> list[Member]:
        """The models that answer for these values."""
        raise NotImplementedError

    def log_joints(self, x: Values) -> dict[Any, float]:
        """Log P(y, x) of each class, for values that are present and known."""
        members = self.members(x)
        sizes = {name: len(self.values(name)) for name in x}
        return {
            y: mean_of_logs((member.weight, self.log_member(member, y, sizes)) for member in members)
            for y in self.classes
        }

    def scores(self, x: Values) -> dict[Any, float]:
        assert self.class_prior == "counted"
        if not self.events:
            return {}
        known = {n: v for n, v in x.items() if not is_missing(v) and v in self.values(n)}
        scores = self.log_joints(known)
        return scores if any(score > NEVER for score in scores.values()) else self.log_prior()

    def mutual_information(self, name: str) -> float:
        """I(x; y) in natural logarithms, unsmoothed, over the events where x is present."""
        events = [event for event in self.events if name in event.x]
        return self.information((event.x[name], event.y, None, self.weight(event)) for event in events)

    def conditional_mutual_information(self, name: str, other: str) -> float:
        """I(x; z | y) in natural logarithms, unsmoothed, over the events where both are present.

        It is the sum of P(x, z, y) log [P(x, z | y) / (P(x | y) P(z | y))].
        """
        events = [event for event in self.events if name in event.x and other in event.x]
        return self.information(
            (event.x[name], event.x[other], event.y, self.weight(event)) for event in events
        )

    @staticmethod
    def information(cells: Iterable[tuple[Any, Any, Any, float]]) -> float:
        """I(a; b | c) of weighted triples (a, b, c)."""
        triples = [cell for cell in cells if cell[3] > 0]

        def weight(a: Any = ..., b: Any = ..., c: Any = ...) -> float:
            wanted = (a, b, c)
            return math.fsum(
                w
                for *cell, w in triples
                if all(want is ... or want == have for want, have in zip(wanted, cell, strict=True))
            )

        total = weight()
        return math.fsum(
            weight(a, b, c)
            / total
            * math.log(weight(a, b, c) * weight(c=c) / (weight(a, c=c) * weight(b=b, c=c)))
            for a, b, c in {(a, b, c) for a, b, c, _ in triples}
        )


@dataclass(kw_only=True)
class SpodeOracle(OneDependenceOracle):
    """One super-parent; naive Bayes if it is missing, or its value weighs less than `min_count`."""

    parent: str
    min_count: float = 0.0

    def members(self, x: Values) -> list[Member]:
        if self.parent not in x or self.frequency({self.parent: x[self.parent]}) < self.min_count:
            return [Member({}, x)]
        return [Member({self.parent: x[self.parent]}, without(x, self.parent))]


@dataclass(kw_only=True)
class AodeOracle(OneDependenceOracle):
    """Every feature in turn is the super-parent, if its value weighs `min_count`; naive Bayes when none does.

    Parameters
    ----------
    min_count
        What the value of a super-parent weighs at least, whatever the class.
    critical
        With a number, subsumption resolution: a value goes that always stands where another one stands, if that other
        one weighs more than so much. Of two that only stand together the one whose name sorts last goes. Nothing
        goes where naive Bayes answers.
    weights
        "mutual-information" weighs super-parents by I(x; y), all alike if all of it is 0.
    """

    min_count: float = 30.0
    critical: float | None = None
    weights: str | None = None

    def subsumed(self, x: Values, name: str) -> bool:
        if self.critical is None:
            return False
        own = self.frequency({name: x[name]})
        for other in without(x, name):
            special = self.frequency({other: x[other]})
            together = self.frequency({name: x[name], other: x[other]})
            if special > self.critical and together == special and (own > special or name > other):
                return True
        return False

    def resolved(self, x: Values) -> dict[str, Any]:
        return {name: value for name, value in x.items() if not self.subsumed(x, name)}

    def members(self, x: Values) -> list[Member]:
        kept = self.resolved(x)
        names = [name for name, value in kept.items() if self.frequency({name: value}) >= self.min_count]
        weights = [self.mutual_information(name) if self.weights else 1.0 for name in names]
        if not any(weights):
            weights = [1.0] * len(names)
        members = [
            Member({name: kept[name]}, without(kept, name), weight)
            for name, weight in zip(names, weights, strict=True)
        ]
        return members or [Member({}, x)]


@dataclass(kw_only=True)
class A2deOracle(AodeOracle):
    """Every pair of features in turn, if together they weigh `min_count`; AODE when none does."""

    def members(self, x: Values) -> list[Member]:
        kept = self.resolved(x)
        pairs = [{name: kept[name], other: kept[other]} for name, other in combinations(kept, 2)]
        held = {number: self.frequency(pair) for number, pair in enumerate(pairs)}
        members = [
            Member(pair, without(kept, *pair))
            for number, pair in enumerate(pairs)
            if held[number] >= self.min_count and held[number] > 0.0
        ]
        return members or super().members(x)


@dataclass(kw_only=True)
class OdeOracle(OneDependenceOracle):
    """A given structure: at most one parent for each feature, as in TAN; a missing parent is left out."""

    parents: dict[str, str | None] = field(default_factory=dict)

    def log_joints(self, x: Values) -> dict[Any, float]:
        scores = {}
        for y in self.classes:
            of_class = self.of_class(y)
            scores[y] = self.log_share(of_class, self.events, len(self.classes))
            for name, value in x.items():
                parent = self.parents.get(name)
                given = {parent: x[parent]} if parent is not None and parent in x else {}
                own = [event for event in self.having(given, of_class) if name in event.x]
                scores[y] += self.log_share(self.having({name: value}, own), own, len(self.values(name)))
        return scores
