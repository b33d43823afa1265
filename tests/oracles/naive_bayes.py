"""Naive Bayes out of dictionaries and lists: slow, plain, and sharing no line with the package.

An oracle keeps the events themselves. What is asked is computed anew from the whole list, with exact sums, so there is
no running state that could go wrong; taking back removes an event, and fading is a weight by age.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

NEVER = -math.inf


def is_missing(value: object) -> bool:
    return value is None or value != value


@dataclass
class Event:
    x: dict[Any, Any]
    y: Any
    w: float
    clock: int


@dataclass(kw_only=True)
class Oracle:
    """What all models share: the events, the classes and their prior."""

    class_prior: Any = "counted"
    half_life: float | None = None
    prior: str = "laplace"
    strength: float = 0.0  # of P(y)
    events: list[Event] = field(default_factory=list)
    clock: int = 0

    def learn(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        self.clock += 1
        if w > 0:
            self.events.append(Event({k: v for k, v in x.items() if not is_missing(v)}, y, w, self.clock))

    def unlearn(self, clock: int) -> None:
        """Take back what was learned when the clock stood there."""
        self.events = [event for event in self.events if event.clock != clock]

    def weight(self, event: Event) -> float:
        if self.half_life is None:
            return event.w
        return event.w * 2.0 ** ((event.clock - self.clock) / self.half_life)

    def total(self, events: Iterable[Event]) -> float:
        return math.fsum(self.weight(event) for event in events)

    @property
    def classes(self) -> list[Any]:
        if not isinstance(self.class_prior, str):
            return list(self.class_prior)
        return list(dict.fromkeys(event.y for event in self.events))

    def smoothed(self, own: float, total: float, cells: int, strength: float) -> float | None:
        """(n + s) / (N + s V), or (n + s / V) / (N + s); None where nothing is known."""
        add = strength / cells if self.prior == "m-estimate" else strength
        below = total + add * cells
        return (own + add) / below if below > 0 else None

    def log_prior(self) -> dict[Any, float]:
        classes = self.classes
        if self.class_prior == "uniform":
            return {y: -math.log(len(classes)) for y in classes}
        if self.class_prior != "counted":
            return {y: log(self.class_prior[y]) for y in classes}
        everything = self.total(self.events)
        shares = {y: self.total(self.of_class(y)) for y in classes}
        return {y: log(self.smoothed(n, everything, len(classes), self.strength)) for y, n in shares.items()}

    def of_class(self, y: Any) -> list[Event]:
        return [event for event in self.events if event.y == y]

    def log_evidence(self, x: dict[Any, Any], y: Any) -> float:
        raise NotImplementedError

    def scores(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        present = {name: value for name, value in x.items() if not is_missing(value)}
        if not self.events:
            return {}
        prior = self.log_prior()
        scores = {y: prior[y] + self.log_evidence(present, y) if prior[y] > NEVER else NEVER for y in prior}
        return scores if any(score > NEVER for score in scores.values()) else prior

    def probabilities(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        scores = self.scores(x)
        if not scores:
            return {}
        best = max(scores.values())
        shares = {y: math.exp(score - best) for y, score in scores.items()}
        total = math.fsum(shares.values())
        return {y: share / total for y, share in shares.items()}


def log(value: float | None) -> float:
    """The logarithm, where None, nothing known, says nothing."""
    if value is None:
        return 0.0
    return math.log(value) if value > 0 else NEVER


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(kw_only=True)
class NaiveBayesOracle(Oracle):
    """Named features: tables for names, a Gaussian for each class for numbers."""

    strength: float = 1.0
    variance: str | None = None
    variance_floor: float = 1e-9
    declared: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def log_evidence(self, x: dict[Any, Any], y: Any) -> float:
        return math.fsum(
            self.log_density(name, value, y) if is_number(value) else self.log_share(name, value, y)
            for name, value in x.items()
        )

    def having(self, name: Any, y: Any = ...) -> list[Event]:
        return [event for event in self.events if name in event.x and y in (..., event.y)]

    def log_share(self, name: Any, value: Any, y: Any) -> float:
        values = {*self.declared.get(name, ()), *(event.x[name] for event in self.having(name))}
        if value not in values:
            return 0.0
        events = self.having(name, y)
        own = self.total(event for event in events if event.x[name] == value)
        return log(self.smoothed(own, self.total(events), len(values), self.strength))

    def moments(self, name: Any, y: Any = ...) -> tuple[float, float, float]:
        """Weight, mean, and sum of squared deviations: two passes over exact sums."""
        pairs = [(self.weight(event), event.x[name]) for event in self.having(name, y)]
        weight = math.fsum(w for w, _ in pairs)
        if weight == 0:
            return 0.0, 0.0, 0.0
        mean = math.fsum(w * v for w, v in pairs) / weight
        return weight, mean, math.fsum(w * (v - mean) ** 2 for w, v in pairs)

    def numeric_names(self) -> list[Any]:
        return list(dict.fromkeys(k for event in self.events for k, v in event.x.items() if is_number(v)))

    def overall_variance(self, name: Any) -> float:
        weight, _, m2 = self.moments(name)
        return m2 / (weight - 1) if weight > 1 else 0.0

    def pooled(self, cells: Iterable[tuple[Any, Any]]) -> float | None:
        """The variance of some features and classes together, each about its own mean.

        A weight of 1 or less knows of none.
        """
        moments = [(weight, m2) for weight, _, m2 in (self.moments(*cell) for cell in cells) if weight > 1]
        freedom = math.fsum(weight - 1 for weight, _ in moments)
        return math.fsum(m2 for _, m2 in moments) / freedom if freedom > 0 else None

    def log_density(self, name: Any, value: float, y: Any) -> float:
        weight, mean, m2 = self.moments(name, y)
        all_weight, overall_mean, _ = self.moments(name)
        if all_weight == 0:
            return 0.0
        overall = self.overall_variance(name)
        names = self.numeric_names()
        shared: float | None = None
        if self.variance == "features":
            shared = self.pooled((other, y) for other in names)
        elif self.variance == "both":
            shared = self.pooled((other, c) for other in names for c in self.classes)
        elif self.variance is None and weight > 1:
            shared = m2 / (weight - 1)
        if shared is None:
            shared = self.pooled((name, c) for c in self.classes)
        if shared is None:
            shared = overall
        if weight == 0:
            mean, shared = overall_mean, overall
        spread = max(shared, self.variance_floor * overall)
        return -0.5 * ((value - mean) ** 2 / spread + math.log(2 * math.pi * spread))


@dataclass(kw_only=True)
class BagOracle(Oracle):
    """Bags of words: `{token: count}`; a count of 0 is not a token."""

    alpha: float = 1.0

    def count(self, token: Any, events: Iterable[Event]) -> float:
        return math.fsum(self.weight(event) * event.x.get(token, 0) for event in events)

    def words(self, events: Iterable[Event]) -> float:
        return math.fsum(self.weight(event) * count for event in events for count in event.x.values())

    def vocabulary(self) -> list[Any]:
        return list(
            dict.fromkeys(token for event in self.events for token, count in event.x.items() if count > 0)
        )

    def known_tokens(self, x: dict[Any, Any]) -> dict[Any, Any]:
        vocabulary = self.vocabulary()
        return {token: count for token, count in x.items() if token in vocabulary and count > 0}


@dataclass(kw_only=True)
class MultinomialOracle(BagOracle):
    def log_evidence(self, x: dict[Any, Any], y: Any) -> float:
        events = self.of_class(y)
        below = self.words(events) + self.alpha * len(self.vocabulary())
        if below <= 0:
            return 0.0
        known_tokens = self.known_tokens(x)
        return math.fsum(
            n * log((self.count(token, events) + self.alpha) / below) for token, n in known_tokens.items()
        )


@dataclass(kw_only=True)
class ComplementOracle(BagOracle):
    class_prior: Any = "uniform"

    def log_evidence(self, x: dict[Any, Any], y: Any) -> float:
        others = [event for event in self.events if event.y != y]
        below = self.words(others) + self.alpha * len(self.vocabulary())
        if below <= 0:
            return 0.0
        known_tokens = self.known_tokens(x)
        return -math.fsum(
            n * log((self.count(token, others) + self.alpha) / below) for token, n in known_tokens.items()
        )


@dataclass(kw_only=True)
class BernoulliOracle(BagOracle):
    true_threshold: float = 0.0

    def learn(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        super().learn(
            {token: 1 for token, n in x.items() if not is_missing(n) and n > self.true_threshold}, y, w
        )

    def log_evidence(self, x: dict[Any, Any], y: Any) -> float:
        events = self.of_class(y)
        below = self.total(events) + 2 * self.alpha
        if below <= 0:
            return 0.0
        logarithm = 0.0
        for token in self.vocabulary():
            share = min(1.0, (self.count(token, events) + self.alpha) / below)
            logarithm += log(share if token in x and x[token] > self.true_threshold else 1.0 - share)
        return logarithm
