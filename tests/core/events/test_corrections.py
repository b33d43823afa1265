"""Corrections and tombstones: exactly what was learned is taken back, within limits, and nothing is guessed."""

from __future__ import annotations

import numpy as np
import pytest

from stream_bayes import NaiveBayes
from stream_bayes.core.events.actions import Action, Learn, Predict, Relearn, Unlearn
from stream_bayes.core.events.event import Event, Kind
from stream_bayes.core.events.pending import Pending
from tests.core.events.small_engine import SmallEngine

# --- corrections ----------------------------------------------------------------------------------------


def test_a_correction_gives_back_exactly_what_was_learned():
    engine = SmallEngine()
    engine.sample("a", weight=0.3)
    engine.label("a", "yes")
    (relearn,) = engine.correction("a", "no")
    assert isinstance(relearn, Relearn)
    assert (relearn.was.encoded, relearn.was.label, relearn.was.weight, relearn.was.clock) == (
        (("of", "a"),),
        "yes",
        0.3,
        1,
    )
    assert relearn.label == "no"


def test_a_correction_is_not_scored():
    engine = SmallEngine()
    engine.sample("a", "yes")
    engine.correction("a", "no")
    assert engine.scored == [("yes", 1)]


def test_a_correction_can_be_corrected():
    engine = SmallEngine()
    engine.sample("a", "yes")
    for label in ("no", "maybe", "maybe", "yes"):
        engine.correction("a", label)
    assert engine.labels == {"a": "yes"} and engine.counted() == {"corrected": 3, "repeated": 1}


def test_a_correction_of_a_sample_that_waits_is_its_label():
    engine = SmallEngine()
    engine.sample("a")
    engine.correction("a", "no")
    assert engine.labels == {"a": "no"} and engine.counted() == {"late": 1}


def test_a_correction_past_the_newest_ids_is_too_late():
    engine = SmallEngine(most_correctable=2)
    for key in "abc":
        engine.sample(key, "yes")
    for key in "abc":
        engine.correction(key, "no")
    assert engine.labels == {"a": "yes", "b": "no", "c": "no"}
    assert engine.refused == [("a", "correction_too_late")]


def test_a_correction_past_the_time_for_it_is_too_late():
    engine = SmallEngine(correct_within=10)
    engine.sample("a", "yes", at=0.0)
    engine.sample("b", "yes", at=5.0)
    engine.correction("b", "no", at=15.0)
    engine.correction("a", "no", at=15.0)
    assert engine.labels == {"a": "yes", "b": "no"} and engine.refused == [("a", "correction_too_late")]


def test_a_correction_does_not_prolong_the_time_for_the_next():
    engine = SmallEngine(correct_within=10)
    engine.sample("a", "yes", at=0.0)
    engine.correction("a", "no", at=9.0)
    engine.correction("a", "yes", at=11.0)
    assert engine.labels == {"a": "no"} and engine.refused == [("a", "correction_too_late")]


def test_a_correction_of_what_never_was_is_never_guessed():
    engine = SmallEngine()
    engine.correction("a", "no")
    engine.sample("a")
    assert (
        engine.refused == [("a", "correction_too_late")]
        and engine.labels == {}
        and engine.pending.waiting == 1
    )


def test_a_label_of_what_is_not_remembered_any_more_is_held_like_one_that_came_early():
    engine = SmallEngine(most_correctable=1, wait_for=10)
    engine.sample("a", "yes", at=0.0)
    engine.sample("b", "yes", at=0.0)
    engine.label("a", "no", at=0.0)
    assert engine.pending.early == 1
    engine.sample("c", "yes", at=20.0)
    assert engine.labels["a"] == "yes" and engine.refused == [("a", "label_without_sample")]


def test_a_correction_of_what_was_given_up_is_too_late():
    engine = SmallEngine(wait_for=10)
    engine.sample("a", at=0.0)
    engine.correction("a", "no", at=20.0)
    assert engine.refused == [("a", "correction_too_late")]


def test_without_room_for_corrections_nothing_is_remembered():
    engine = SmallEngine(most_correctable=0, wait_for=10)
    engine.sample("a", "yes", at=0.0)
    engine.sample("b", at=0.0)
    engine.correction("a", "no", at=20.0)
    assert engine.pending.resolved == 0 and engine.refused == [("a", "correction_too_late")]


def test_a_correction_that_the_learner_refuses_leaves_what_was_learned():
    engine = SmallEngine()
    engine.sample("a", "yes")
    engine.correction("a", "refused")
    assert engine.labels == {"a": "yes"}
    assert engine.correction("a", "yes") == []
    engine.correction("a", "no")
    assert engine.labels == {"a": "no"}


def test_a_label_that_the_learner_refuses_leaves_its_sample_waiting():
    engine = SmallEngine()
    engine.sample("a")
    engine.label("a", "refused")
    assert engine.labels == {} and engine.scored == [] and engine.pending.waiting == 1
    engine.label("a", "yes")
    assert engine.labels == {"a": "yes"} and engine.scored == [("yes", 1)]


def test_a_sample_that_the_learner_refuses_with_its_own_label_is_not_kept():
    engine = SmallEngine()
    engine.sample("a", "refused")
    assert engine.pending.waiting == engine.pending.resolved == 0


@pytest.mark.parametrize("half_life", [None, 5])
def test_late_labels_and_corrections_end_where_the_right_labels_would_have(half_life):
    samples = [({"f": "uvw"[i % 3], "g": i * 0.37 % 2}, "abc"[i * i % 7 % 3], 1.0 + i % 2) for i in range(60)]
    model = NaiveBayes(half_life=half_life)
    right = NaiveBayes(half_life=half_life)
    pending = Pending()

    def learn(action: Action) -> None:
        if isinstance(action, Predict):
            for next_action in pending.predicted(action, model.predict_proba_one(action.event.x)):
                learn(next_action)
        elif isinstance(action, Learn):
            x, w = action.event.x, action.event.weight
            model.learn_one(x, action.label, w)
            pending.learned(action, dict(x), model.clock)
        elif isinstance(action, Relearn):
            was = action.was
            if half_life is None:
                model.unlearn_one(was.encoded, was.label, was.weight)
                model.learn_one(was.encoded, action.label, was.weight)
            else:  # exactly what was added, and then with what a sample weighs now
                model.unlearn_one(was.encoded, was.label, was.weight, at=was.clock)
                model.learn_one(was.encoded, action.label, was.weight)
            pending.learned(action, was.encoded, model.clock)

    for i, (x, _, w) in enumerate(samples):
        for action in pending.arrive(Event(x, None, str(i), weight=w)):
            learn(action)
    for i, (_, y, _) in enumerate(samples):
        wrong = "b" if i % 4 == 0 else y
        for event in (
            Event({}, wrong, str(i), kind=Kind.LABEL),
            Event({}, y, str(i), kind=Kind.CORRECTION),
        ):
            for action in pending.arrive(event):
                learn(action)
    for i, (x, y, w) in enumerate(samples):
        if i % 4 == 0 and y != "b":
            right.advance(1)  # the event that learned the wrong label, taken back since
        right.learn_one(x, y, w)
    assert pending.counts["corrected"] > 5
    mine, theirs = model.store.by_name(), right.store.by_name()
    assert mine.keys() == theirs.keys()
    for name, count in theirs.items():
        assert np.allclose(mine[name], count, rtol=1e-9, atol=1e-12), name


# --- tombstones -----------------------------------------------------------------------------------------


def test_a_tombstone_is_skipped_unless_it_shall_unlearn():
    engine = SmallEngine()
    engine.sample("a", "yes")
    assert (
        engine.tombstone("a") == [] and engine.labels == {"a": "yes"} and engine.counted() == {"skipped": 1}
    )


def test_a_tombstone_takes_back_exactly_what_was_learned():
    engine = SmallEngine(on_tombstone="unlearn")
    engine.sample("a", "yes", weight=0.3)
    engine.correction("a", "no")
    (unlearn,) = engine.tombstone("a")
    assert isinstance(unlearn, Unlearn) and unlearn.was.label == "no" and unlearn.was.weight == 0.3
    assert engine.labels == {} and engine.counted() == {"corrected": 1, "withdrawn": 1}


def test_what_was_withdrawn_stays_withdrawn():
    engine = SmallEngine(on_tombstone="unlearn")
    engine.sample("a", "yes")
    engine.sample("b")
    for key in "aab":
        engine.tombstone(key)
    engine.label("a", "no")
    engine.correction("b", "no")
    assert engine.labels == {} and engine.counted()["withdrawn"] == 2
    assert engine.refused == [("a", "label_too_late"), ("b", "correction_too_late")]


def test_a_tombstone_does_not_prolong_the_time_for_corrections():
    engine = SmallEngine(on_tombstone="unlearn", correct_within=10)
    engine.sample("a", "yes", at=0.0)
    engine.tombstone("a", at=9.0)
    engine.label("a", "yes", at=11.0)
    assert engine.pending.resolved == 0 and engine.pending.early == 1 and engine.refused == []


def test_a_tombstone_takes_a_label_away_that_waits_for_its_sample():
    engine = SmallEngine(on_tombstone="unlearn")
    engine.label("a", "yes")
    engine.tombstone("a")
    engine.sample("a")
    assert engine.labels == {} and engine.pending.waiting == 1


def test_a_tombstone_of_what_is_not_remembered_is_too_late():
    engine = SmallEngine(on_tombstone="unlearn", most_correctable=1)
    engine.sample("a", "yes")
    engine.sample("b", "yes")
    engine.tombstone("a")
    assert engine.labels == {"a": "yes", "b": "yes"} and engine.refused == [("a", "tombstone_too_late")]


def test_a_key_that_was_withdrawn_may_come_again():
    engine = SmallEngine(on_tombstone="unlearn")
    engine.sample("a", "yes")
    engine.tombstone("a")
    engine.sample("a")
    engine.label("a", "no")
    assert engine.labels == {"a": "no"}
