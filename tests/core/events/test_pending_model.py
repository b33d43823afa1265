"""The pending store against a list of notes, with saving and loading at any moment."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from stream_bayes.core.events.actions import Action, Learn, Predict, Refuse, Unlearn
from stream_bayes.core.events.event import Event, Kind
from stream_bayes.core.events.pending import Pending
from tests.core.events.small_engine import PREDICTION, SmallEngine
from tests.oracles.pending import Notes

keys = st.one_of(st.sampled_from([0, 1, 2, "a", "b", "c"]), st.integers(0, 20))
labels = st.sampled_from(["yes", "no", "maybe", "refused"])
jumps = st.sampled_from([0, 0, 0, 0, 1, 1, 2, 5, 20])


class AgainstNotes(RuleBasedStateMachine):
    """A store, its twin that is saved and loaded at random, and a list of notes see the same events."""

    @initialize(
        wait_for=st.sampled_from([None, 0, 3, 10]),
        most_waiting=st.integers(1, 5),
        on_expiry=st.sampled_from(["drop", "negative", "assume"]),
        correct_within=st.sampled_from([None, 0, 4, 15]),
        most_correctable=st.integers(0, 6),
        on_tombstone=st.sampled_from(["skip", "unlearn"]),
    )
    def set_up(self, on_expiry: str, on_tombstone: str, **limits: Any) -> None:
        assumed = {"drop": None, "negative": False, "assume": "maybe"}[on_expiry]
        self.options = limits | {"on_expiry": on_expiry, "on_tombstone": on_tombstone}
        if on_expiry == "assume":
            self.options["assumed"] = assumed
        self.engine, self.saved = SmallEngine(**self.options), SmallEngine(**self.options)
        self.notes = Notes(assumed=assumed, unlearn=on_tombstone == "unlearn", **limits)
        self.now = 0.0
        self.predictions = 0
        self.step(Event({"start": 1}, "yes", time=0.0))

    def step(self, event: Event) -> None:
        done = [summary(action) for action in self.engine.process(event)]
        assert [summary(action) for action in self.saved.process(event)] == done
        assert self.expected(event) == done

    def expected(self, event: Event) -> list[tuple[Any, ...]]:
        done: list[tuple[Any, ...]] = []
        for action in self.notes.pass_time(self.now):
            self.do(action, done)
        key, label, kind = event.key, event.y, event.kind
        if kind is Kind.SAMPLE and key is None and label is not None:
            actions: list[tuple[Any, ...]] = [("predict", None)]
        elif key is None:
            actions = [self.notes.refuse(key, "no_key")]
        elif kind is Kind.SAMPLE:
            actions = self.notes.sample(key, label)
        elif kind is Kind.TOMBSTONE:
            actions = self.notes.tombstone(key)
        else:
            actions = self.notes.named(key, label, kind is Kind.CORRECTION)
        for action in actions:
            self.do(action, done)
            if action[0] == "predict":
                self.predictions += 1
                prediction = PREDICTION | {"number": self.predictions}
                weight = event.weight
                if key is None:
                    next_actions: list[tuple[Any, ...]] = [("learn", None, label, prediction, weight)]
                else:
                    next_actions = self.notes.predicted(key, label, prediction, weight)
                for next_action in next_actions:
                    self.do(next_action, done)
        return done

    def do(self, action: tuple[Any, ...], done: list[tuple[Any, ...]]) -> None:
        done.append(action)
        key = action[1]
        if action[0] == "learn" and key is not None and action[2] != "refused":
            self.notes.learned(key, action[2], (("of", str(key)),), action[4])
        elif action[0] == "relearn" and action[3] != "refused":
            self.notes.relearned(key, action[3], action[4])

    @rule(key=keys, by=jumps, weight=st.sampled_from([1.0, 2.5]))
    def sample_without_label(self, key: Any, by: int, weight: float) -> None:
        self.now += by
        self.step(Event({"of": str(key)}, None, key, self.now, weight=weight))

    @rule(key=st.one_of(st.none(), keys), label=labels, by=jumps)
    def sample_with_label(self, key: Any, label: str, by: int) -> None:
        self.now += by
        self.step(Event({"of": str(key)}, label, key, self.now))

    @rule(key=st.one_of(st.none(), keys), label=labels, by=jumps)
    def label(self, key: Any, label: str, by: int) -> None:
        self.now += by
        self.step(Event({}, label, key, self.now, kind=Kind.LABEL))

    @rule(key=keys, label=labels, by=jumps)
    def correction(self, key: Any, label: str, by: int) -> None:
        self.now += by
        self.step(Event({}, label, key, self.now, kind=Kind.CORRECTION))

    @rule(key=keys, by=jumps)
    def tombstone(self, key: Any, by: int) -> None:
        self.now += by
        self.step(Event({}, None, key, self.now, kind=Kind.TOMBSTONE))

    @rule()
    def save_and_load(self) -> None:
        text = json.dumps(self.saved.pending.content().state(), allow_nan=False)
        self.saved.pending = Pending(**self.options)
        self.saved.pending.load(json.loads(text))

    @invariant()
    def the_same_is_held_and_counted(self) -> None:
        pending, notes = self.engine.pending, self.notes
        assert pending.waiting == len(notes.places("waiting"))
        assert pending.early == len(notes.places("early"))
        assert pending.resolved == len(notes.places("learned", "gone"))
        assert self.engine.counted() == notes.counts

    @invariant()
    def the_limits_hold(self) -> None:
        pending = self.engine.pending
        assert pending.waiting <= pending.most_waiting >= pending.early
        assert pending.resolved <= pending.most_correctable

    @invariant()
    def the_state_is_the_same_byte_for_byte(self) -> None:
        assert json.dumps(self.engine.pending.state()) == json.dumps(self.saved.pending.state())


AgainstNotes.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestAgainstNotes = AgainstNotes.TestCase


def summary(action: Action) -> tuple[Any, ...]:
    """An action as the notes write it."""
    key = action.event.key
    if isinstance(action, Predict):
        return ("predict", key)
    if isinstance(action, Refuse):
        return ("refuse", key, action.reason.value)
    if isinstance(action, Learn):
        return ("learn", key, action.label, action.prediction, action.event.weight)
    was = action.was
    if isinstance(action, Unlearn):
        return ("unlearn", key, was.label, was.encoded, was.weight)
    return ("relearn", key, was.label, action.label, was.encoded, was.weight)
