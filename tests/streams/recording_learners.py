"""Learners that note what they are asked, streams that are polled, and clocks that are told the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from river import base

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import Exhausted
from stream_bayes.streams.contracts.source import Record


class Listening(base.Classifier):
    """Predicts the share of each label among those it has learned, and notes every call."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.counts: dict[Any, float] = {}

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        self.calls.append(("learn", dict(x), y, w))
        self.counts[y] = self.counts.get(y, 0.0) + w

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        self.calls.append(("predict", dict(x)))
        total = sum(self.counts.values())
        return {y: count / total for y, count in self.counts.items()}


class AtOnce(Listening):
    """The same, in one call."""

    def predict_learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> dict[Any, float]:
        answer = self.predict_proba_one(x)
        self.learn_one(x, y, w)
        return answer


class Slow(Listening):
    """Takes a second to predict and two to learn, by its own clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        self.now += 2.0
        super().learn_one(x, y, w)

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        self.now += 1.0
        return super().predict_proba_one(x)


class Polled:
    """A source of batches; an empty one is silence."""

    name = "polled"
    medium = "local"
    may_skip = False

    def __init__(self, batches: Sequence[Sequence[Record]]) -> None:
        self._batches = list(batches)
        self.positions: Mapping[Partition, Position] = {}

    def poll(self, limit: int) -> list[Record]:
        if not self._batches:
            raise Exhausted("that was all")
        return list(self._batches.pop(0))

    def seek(self, positions: Mapping[Partition, Position]) -> None: ...

    def close(self) -> None: ...
