"""A minimal engine for tests of the pending store, and shorthands for its events."""

from __future__ import annotations

from typing import Any

from stream_bayes.core.events.actions import Action, Predict, Refuse, Relearn, Unlearn
from stream_bayes.core.events.event import Event, Kind
from stream_bayes.core.events.pending import Pending

PREDICTION = {"yes": 0.75, "no": 0.25}


class SmallEngine:
    """An engine that executes actions with made-up predictions and records what it learned.

    Its learner refuses the label "refused".
    """

    def __init__(self, **options: Any) -> None:
        self.pending = Pending(**options)
        self.learned: list[tuple[Any, Any, float]] = []
        self.scored: list[tuple[Any, Any]] = []
        self.refused: list[tuple[Any, str]] = []
        self.predicted: list[Any] = []

    def process(self, event: Event) -> list[Action]:
        """Process one event; return the actions executed."""
        done: list[Action] = []
        for action in self.pending.advance(event):
            self.do(action, done)
        for action in self.pending.arrive(event):
            self.do(action, done)
        return done

    def do(self, action: Action, done: list[Action]) -> None:
        done.append(action)
        if isinstance(action, Predict):
            self.predicted.append(action.event.key)
            prediction = PREDICTION | {"number": len(self.predicted)}
            for next_action in self.pending.predicted(action, prediction):
                self.do(next_action, done)
        elif isinstance(action, Refuse):
            self.refused.append((action.event.key, action.reason.value))
        elif isinstance(action, Unlearn):
            self.learned.remove((action.was.encoded, action.was.label, action.was.weight))
        elif action.label == "refused":
            self.refused.append((action.event.key, "by the learner"))
        elif isinstance(action, Relearn):
            was = action.was
            self.learned.remove((was.encoded, was.label, was.weight))
            self.learned.append((was.encoded, action.label, was.weight))
            self.pending.learned(action, was.encoded, was.clock)
        else:
            encoded = tuple(action.event.x.items())
            self.learned.append((encoded, action.label, action.event.weight))
            self.scored.append((action.label, action.prediction["number"]))
            self.pending.learned(action, encoded, len(self.learned))

    # -- shorthands for events ----------------------------------------------------------------------------------------

    def sample(self, key: Any, y: Any = None, at: float | None = None, **rest: Any) -> list[Action]:
        return self.process(Event({"of": str(key)}, y, key, at, **rest))

    def label(self, key: Any, y: Any, at: float | None = None, **rest: Any) -> list[Action]:
        return self.process(Event({}, y, key, at, kind=Kind.LABEL, **rest))

    def correction(self, key: Any, y: Any, at: float | None = None) -> list[Action]:
        return self.process(Event({}, y, key, at, kind=Kind.CORRECTION))

    def tombstone(self, key: Any, at: float | None = None) -> list[Action]:
        return self.process(Event({}, None, key, at, kind=Kind.TOMBSTONE))

    @property
    def labels(self) -> dict[str, Any]:
        """The label with which each key's sample is learned; each at most once."""
        keys = [encoded[0][1] for encoded, _, _ in self.learned]
        assert len(set(keys)) == len(keys)
        return {encoded[0][1]: label for encoded, label, _ in self.learned}

    def counted(self) -> dict[str, int]:
        return {name: count for name, count in self.pending.counts.items() if count}
