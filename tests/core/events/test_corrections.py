"""Corrections and tombstones: exactly what was learned is taken back, within limits, and nothing is guessed."""

from __future__ import annotations

import numpy as np
import pytest

from stream_bayes import NaiveBayes
from stream_bayes.core.events.actions import Action, Learn, Predict, Relearn, Unlearn
from stream_bayes.core.events.event import Event, Kind
from stream_bayes.core.events.pending import Pending
from tests.core.events.small_engine import Desk

# --- corrections ----------------------------------------------------------------------------------------


def test_a_correction_gives_back_exactly_what_was_learned():
    desk = Desk()
    desk.sample("a", weight=0.3)
    desk.label("a", "yes")
    (relearn,) = desk.correction("a", "no")
    assert isinstance(relearn, Relearn)
    assert (relearn.was.encoded, relearn.was.label, relearn.was.weight, relearn.was.clock) == (
        (("of", "a"),),
        "yes",
        0.3,
        1,
    )
    assert relearn.label == "no"


def test_a_correction_is_not_scored():
    desk = Desk()
    desk.sample("a", "yes")
    desk.correction("a", "no")
    assert desk.scored == [("yes", 1)]


def test_a_correction_can_be_corrected():
    desk = Desk()
    desk.sample("a", "yes")
    for label in ("no", "maybe", "maybe", "yes"):
        desk.correction("a", label)
    assert desk.labels == {"a": "yes"} and desk.counted() == {"corrected": 3, "repeated": 1}


def test_a_correction_of_a_sample_that_waits_is_its_label():
    desk = Desk()
    desk.sample("a")
    desk.correction("a", "no")
    assert desk.labels == {"a": "no"} and desk.counted() == {"late": 1}


def test_a_correction_past_the_newest_ids_is_too_late():
    desk = Desk(most_correctable=2)
    for key in "abc":
        desk.sample(key, "yes")
    for key in "abc":
        desk.correction(key, "no")
    assert desk.labels == {"a": "yes", "b": "no", "c": "no"}
    assert desk.refused == [("a", "correction_too_late")]


def test_a_correction_past_the_time_for_it_is_too_late():
    desk = Desk(correct_within=10)
    desk.sample("a", "yes", at=0.0)
    desk.sample("b", "yes", at=5.0)
    desk.correction("b", "no", at=15.0)
    desk.correction("a", "no", at=15.0)
    assert desk.labels == {"a": "yes", "b": "no"} and desk.refused == [("a", "correction_too_late")]


def test_a_correction_does_not_prolong_the_time_for_the_next():
    desk = Desk(correct_within=10)
    desk.sample("a", "yes", at=0.0)
    desk.correction("a", "no", at=9.0)
    desk.correction("a", "yes", at=11.0)
    assert desk.labels == {"a": "no"} and desk.refused == [("a", "correction_too_late")]


def test_a_correction_of_what_never_was_is_never_guessed():
    desk = Desk()
    desk.correction("a", "no")
    desk.sample("a")
    assert desk.refused == [("a", "correction_too_late")] and desk.labels == {} and desk.pending.waiting == 1


def test_a_label_of_what_is_not_remembered_any_more_is_held_like_one_that_came_early():
    desk = Desk(most_correctable=1, wait_for=10)
    desk.sample("a", "yes", at=0.0)
    desk.sample("b", "yes", at=0.0)
    desk.label("a", "no", at=0.0)
    assert desk.pending.early == 1
    desk.sample("c", "yes", at=20.0)
    assert desk.labels["a"] == "yes" and desk.refused == [("a", "label_without_sample")]


def test_a_correction_of_what_was_given_up_is_too_late():
    desk = Desk(wait_for=10)
    desk.sample("a", at=0.0)
    desk.correction("a", "no", at=20.0)
    assert desk.refused == [("a", "correction_too_late")]


def test_without_room_for_corrections_nothing_is_remembered():
    desk = Desk(most_correctable=0, wait_for=10)
    desk.sample("a", "yes", at=0.0)
    desk.sample("b", at=0.0)
    desk.correction("a", "no", at=20.0)
    assert desk.pending.resolved == 0 and desk.refused == [("a", "correction_too_late")]


def test_a_correction_that_the_learner_refuses_leaves_what_was_learned():
    desk = Desk()
    desk.sample("a", "yes")
    desk.correction("a", "refused")
    assert desk.labels == {"a": "yes"}
    assert desk.correction("a", "yes") == []
    desk.correction("a", "no")
    assert desk.labels == {"a": "no"}


def test_a_label_that_the_learner_refuses_leaves_its_sample_waiting():
    desk = Desk()
    desk.sample("a")
    desk.label("a", "refused")
    assert desk.labels == {} and desk.scored == [] and desk.pending.waiting == 1
    desk.label("a", "yes")
    assert desk.labels == {"a": "yes"} and desk.scored == [("yes", 1)]


def test_a_sample_that_the_learner_refuses_with_its_own_label_is_not_kept():
    desk = Desk()
    desk.sample("a", "refused")
    assert desk.pending.waiting == desk.pending.resolved == 0


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
    mine, theirs = model._store.by_name(), right._store.by_name()
    assert mine.keys() == theirs.keys()
    for name, count in theirs.items():
        assert np.allclose(mine[name], count, rtol=1e-9, atol=1e-12), name


# --- tombstones -----------------------------------------------------------------------------------------


def test_a_tombstone_is_skipped_unless_it_shall_unlearn():
    desk = Desk()
    desk.sample("a", "yes")
    assert desk.tombstone("a") == [] and desk.labels == {"a": "yes"} and desk.counted() == {"skipped": 1}


def test_a_tombstone_takes_back_exactly_what_was_learned():
    desk = Desk(on_tombstone="unlearn")
    desk.sample("a", "yes", weight=0.3)
    desk.correction("a", "no")
    (unlearn,) = desk.tombstone("a")
    assert isinstance(unlearn, Unlearn) and unlearn.was.label == "no" and unlearn.was.weight == 0.3
    assert desk.labels == {} and desk.counted() == {"corrected": 1, "withdrawn": 1}


def test_what_was_withdrawn_stays_withdrawn():
    desk = Desk(on_tombstone="unlearn")
    desk.sample("a", "yes")
    desk.sample("b")
    for key in "aab":
        desk.tombstone(key)
    desk.label("a", "no")
    desk.correction("b", "no")
    assert desk.labels == {} and desk.counted()["withdrawn"] == 2
    assert desk.refused == [("a", "label_too_late"), ("b", "correction_too_late")]


def test_a_tombstone_does_not_prolong_the_time_for_corrections():
    desk = Desk(on_tombstone="unlearn", correct_within=10)
    desk.sample("a", "yes", at=0.0)
    desk.tombstone("a", at=9.0)
    desk.label("a", "yes", at=11.0)
    assert desk.pending.resolved == 0 and desk.pending.early == 1 and desk.refused == []


def test_a_tombstone_takes_a_label_away_that_waits_for_its_sample():
    desk = Desk(on_tombstone="unlearn")
    desk.label("a", "yes")
    desk.tombstone("a")
    desk.sample("a")
    assert desk.labels == {} and desk.pending.waiting == 1


def test_a_tombstone_of_what_is_not_remembered_is_too_late():
    desk = Desk(on_tombstone="unlearn", most_correctable=1)
    desk.sample("a", "yes")
    desk.sample("b", "yes")
    desk.tombstone("a")
    assert desk.labels == {"a": "yes", "b": "yes"} and desk.refused == [("a", "tombstone_too_late")]


def test_a_key_that_was_withdrawn_may_come_again():
    desk = Desk(on_tombstone="unlearn")
    desk.sample("a", "yes")
    desk.tombstone("a")
    desk.sample("a")
    desk.label("a", "no")
    assert desk.labels == {"a": "no"}
