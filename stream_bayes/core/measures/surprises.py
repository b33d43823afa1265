"""The mean surprise of a stream's events: what a network without a class is judged by."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from stream_bayes.core.measures.score_tail import ScoreTail
from stream_bayes.core.values.checks import expect, refusing_bad_state

__all__ = ["Surprises"]

WINDOW = 1000  # events


class Surprises:
    """The surprise of events, minus the logarithm of their probability: its mean over all and over the newest ones.

    Events that were impossible have no finite surprise. They are in no mean, and counted.

    Attributes
    ----------
    weight, nats
        The weight of the possible events, and the sum of their surprise.
    impossible
        The number of impossible events.
    unscored
        The number of events whose score needed more memory than the budget. They are in no mean.

    Examples
    --------
    >>> surprises = Surprises()
    >>> surprises.add([0.5, 1.5, None, math.nan], [1.0, 1.0, 1.0, 1.0])
    [1.0, 0.5, None, None]
    >>> surprises.mean, surprises.impossible, surprises.unscored
    (1.0, 1, 1)
    """

    def __init__(self) -> None:
        self.weight = 0.0
        self.nats = 0.0
        self.impossible = 0
        self.unscored = 0
        self._recent: deque[tuple[float | None, float]] = deque(maxlen=WINDOW)
        self._tail = ScoreTail([])  # of the possible ones among them

    def add(self, scores: Iterable[float | None], weights: Iterable[float]) -> list[float | None]:
        """Add events with their weights; a score of None is an impossible event, NaN one that could not be scored.

        Return the p-value of each score among those of the newest 1,000 events before it; None without a score.
        """
        p_values: list[float | None] = []
        for score, weight in zip(scores, weights, strict=False):
            if score is not None and math.isnan(score):
                self.unscored += 1
                p_values.append(None)
                continue
            p_values.append(None if score is None else self._tail.p_value(score))
            if len(self._recent) == WINDOW and (oldest := self._recent[0][0]) is not None:
                self._tail.discard(oldest)
            if score is not None:
                self._tail.add(score)
            self._recent.append((score, weight))
            if score is None:
                self.impossible += 1
            else:
                self.weight += weight
                self.nats += weight * score
        return p_values

    def p_value(self, score: float) -> float | None:
        """Return the p-value of a score among those of the newest 1,000 events; None before any."""
        return self._tail.p_value(score) if len(self._tail) else None

    @property
    def mean(self) -> float:
        """The nats per event; NaN without events."""
        return self.nats / self.weight if self.weight else math.nan

    @property
    def recent_mean(self) -> float:
        """The nats per event of the newest 1,000 events."""
        possible = [(score, weight) for score, weight in self._recent if score is not None]
        total = math.fsum(weight for _, weight in possible)
        return math.fsum(score * weight for score, weight in possible) / total if total else math.nan

    def as_dict(self) -> dict[str, float | None]:
        """Return the figures by name; None, for JSON, if one is undefined."""
        means = {"nats_per_event": self.mean, "last_1000": self.recent_mean}
        return {name: None if math.isnan(mean) else mean for name, mean in means.items()} | {
            "impossible": self.impossible,
            "unscored": self.unscored,
        }

    def state(self) -> dict[str, Any]:
        """Return the state as JSON values; `load` is the inverse."""
        return {
            "weight": self.weight,
            "nats": self.nats,
            "impossible": self.impossible,
            "unscored": self.unscored,
            "recent": [list(pair) for pair in self._recent],
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Load a state; raise `BadState` if it is not valid."""
        with refusing_bad_state():
            weight, nats, impossible = float(state["weight"]), float(state["nats"]), state["impossible"]
            recent = [(None if score is None else float(score), float(w)) for score, w in state["recent"]]
            expect(type(impossible) is int and impossible >= 0, f"impossible is {impossible!r}")
            unscored = state["unscored"]
            expect(type(unscored) is int and unscored >= 0, f"unscored is {unscored!r}")
            expect(len(recent) <= WINDOW, f"recent has {len(recent)} events")
            numbers = [weight, nats, *(value for pair in recent for value in pair if value is not None)]
            expect(all(map(math.isfinite, numbers)) and weight >= 0.0, "a surprise is not finite")
        self.weight, self.nats, self.impossible, self.unscored = weight, nats, impossible, unscored
        self._recent = deque(recent, WINDOW)
        self._tail = ScoreTail(score for score, _ in recent if score is not None)
