"""Late labels: first, later, never, twice; the keys they name, and how much may wait for them."""

from __future__ import annotations

import json
import time
from collections import Counter

import numpy as np
import pytest

from stream_bayes.core.events.actions import Learn, Predict, Reason, Refuse
from stream_bayes.core.events.event import Event, Kind, Partition
from stream_bayes.core.events.pending import Pending
from stream_bayes.core.events.time import EventCount, StreamTime
from stream_bayes.errors import BadLabel, BadValue
from tests.core.events.small_engine import Desk

# --- label first, later, never, twice -------------------------------------------------------------------


def test_a_sample_with_its_label_is_predicted_scored_and_learned_at_once():
    desk = Desk()
    assert [type(action) for action in desk.sample("a", "yes")] == [Predict, Learn]
    assert desk.labels == {"a": "yes"} and desk.scored == [("yes", 1)]
    assert desk.pending.waiting == 0 and desk.counted() == {}


def test_a_sample_without_label_is_predicted_and_waits():
    desk = Desk()
    assert [type(action) for action in desk.sample("a")] == [Predict]
    assert desk.labels == {} and desk.scored == [] and desk.pending.waiting == 1


def test_a_late_label_is_learned_with_the_features_and_the_weight_of_its_sample():
    desk = Desk()
    desk.sample("a", weight=2.5)
    desk.label("a", "yes", weight=7.0)
    assert desk.learned == [((("of", "a"),), "yes", 2.5)]
    assert desk.pending.waiting == 0 and desk.counted() == {"late": 1}


def test_the_prediction_that_was_held_is_what_is_scored():
    desk = Desk()
    for key in "abc":
        desk.sample(key)
    desk.label("b", "yes")
    desk.label("a", "no")
    assert desk.scored == [("yes", 2), ("no", 1)]


def test_a_label_before_its_sample_is_held_and_learned_when_the_sample_comes():
    desk = Desk()
    assert desk.label("a", "yes") == [] and desk.pending.early == 1
    assert [type(action) for action in desk.sample("a")] == [Predict, Learn]
    assert desk.labels == {"a": "yes"} and desk.scored == [("yes", 1)]
    assert desk.pending.early == 0 and desk.counted() == {"early": 1}


def test_the_same_label_before_its_sample_again_changes_nothing():
    desk = Desk()
    desk.label("a", "yes")
    desk.label("a", "yes")
    desk.sample("a")
    assert desk.labels == {"a": "yes"} and desk.counted() == {"early": 1, "repeated": 1}


def test_of_two_labels_before_their_sample_the_second_counts():
    desk = Desk()
    desk.label("a", "yes")
    desk.correction("a", "no")
    desk.sample("a")
    assert desk.labels == {"a": "no"} and desk.scored == [("no", 1)]
    assert desk.counted() == {"early": 1, "corrected": 1}


def test_a_samples_own_label_overrules_one_that_came_before_it():
    desk = Desk()
    desk.label("a", "yes")
    desk.label("b", "yes")
    desk.sample("a", "no")
    desk.sample("b", "yes")
    assert desk.labels == {"a": "no", "b": "yes"} and desk.pending.early == 0
    assert desk.counted() == {"early": 2, "corrected": 1, "repeated": 1}


def test_a_label_that_never_comes_drops_the_sample():
    desk = Desk(wait_for=10, on_expiry="drop")
    desk.sample("a", at=0.0)
    desk.sample("b", at=11.0)
    assert desk.labels == {} and desk.scored == []
    assert desk.pending.waiting == 1 and desk.counted() == {"expired": 1}


def test_a_label_that_never_comes_makes_the_sample_negative():
    desk = Desk(wait_for=10, on_expiry="negative")
    desk.sample("a", at=0.0)
    desk.sample("b", at=11.0)
    assert desk.labels == {"a": False} and desk.scored == [(False, 1)]
    assert desk.counted() == {"expired": 1}


def test_a_label_that_never_comes_is_assumed():
    desk = Desk(wait_for=10, on_expiry="assume", assumed="ham")
    desk.sample("a", at=0.0)
    desk.sample("b", at=11.0)
    assert desk.labels == {"a": "ham"} and desk.scored == [("ham", 1)]


def test_what_is_overdue_is_learned_before_the_event_that_shows_it_is_predicted():
    desk = Desk(wait_for=10, on_expiry="negative")
    desk.sample("a", at=0.0)
    assert [(type(action), action.event.key) for action in desk.sample("b", at=11.0)] == [
        (Learn, "a"),
        (Predict, "b"),
    ]


@pytest.mark.parametrize("at", [10.0, 10.001])
def test_a_label_is_in_time_up_to_the_last_moment(at):
    desk = Desk(wait_for=10)
    desk.sample("a", at=0.0)
    desk.label("a", "yes", at=at)
    assert desk.labels == ({"a": "yes"} if at == 10.0 else {})


def test_a_label_that_comes_too_late_is_refused():
    desk = Desk(wait_for=10)
    desk.sample("a", at=0.0)
    desk.label("a", "yes", at=11.0)
    assert desk.labels == {} and desk.refused == [("a", "label_too_late")]


def test_a_label_too_late_that_says_what_was_assumed_changes_nothing_and_another_corrects():
    desk = Desk(wait_for=10, on_expiry="negative")
    desk.sample("a", at=0.0)
    desk.sample("b", at=0.0)
    desk.label("a", 0, at=11.0)  # as a label the same as False
    desk.label("b", True, at=11.0)
    assert desk.labels == {"a": False, "b": True}
    assert desk.counted() == {"expired": 2, "repeated": 1, "corrected": 1}
    assert desk.scored == [(False, 1), (False, 2)]


def test_a_label_whose_sample_never_comes_is_a_dead_letter_of_its_own():
    desk = Desk(wait_for=10)
    desk.label("a", "yes", at=0.0, position=17, partition=Partition("labels", 3))
    refuse, _ = desk.sample("b", at=11.0)
    assert isinstance(refuse, Refuse) and refuse.reason is Reason.LABEL_WITHOUT_SAMPLE
    assert (refuse.event.partition, refuse.event.position) == (Partition("labels", 3), 17)
    assert desk.pending.early == 0 and desk.labels == {}


def test_the_same_label_twice_changes_nothing():
    desk = Desk()
    desk.sample("a")
    desk.label("a", "yes")
    assert desk.label("a", "yes") == []
    assert desk.labels == {"a": "yes"} and len(desk.scored) == 1
    assert desk.counted() == {"late": 1, "repeated": 1}


def test_another_label_is_a_correction():
    desk = Desk()
    desk.sample("a")
    desk.label("a", "yes")
    desk.label("a", "no")
    assert desk.labels == {"a": "no"} and desk.counted() == {"late": 1, "corrected": 1}


def test_a_sample_that_brought_its_label_can_be_corrected():
    desk = Desk()
    desk.sample("a", "yes")
    desk.correction("a", "no")
    assert desk.labels == {"a": "no"}


# --- keys -----------------------------------------------------------------------------------------------


def test_a_second_sample_with_a_key_that_waits_is_refused_and_counted():
    desk = Desk()
    desk.sample("a", weight=1.0)
    desk.sample("a", weight=5.0)
    desk.sample("a", "yes")
    assert desk.refused == [("a", "key_is_waiting")] * 2 and desk.counted() == {"key_is_waiting": 2}
    assert desk.predicted == ["a"]
    desk.label("a", "yes")
    assert desk.learned == [((("of", "a"),), "yes", 1.0)]


def test_a_key_may_come_again_once_its_label_has_come_and_then_names_the_newer_sample():
    desk = Desk()
    desk.sees(Event({"n": 1}, None, "a"))
    desk.label("a", "yes")
    desk.sees(Event({"n": 2}, None, "a"))
    desk.label("a", "no")
    desk.correction("a", "maybe")
    assert Counter(desk.learned) == Counter({((("n", 1),), "yes", 1.0): 1, ((("n", 2),), "maybe", 1.0): 1})


def test_keys_are_the_same_when_a_dict_says_so():
    desk = Desk()
    for key in (1, "1", b"1", ("1", 1)):
        desk.sample(key)
    assert desk.pending.waiting == 4
    desk.label(True, "yes")
    desk.label(np.int64(1), "yes")
    assert desk.labels == {"1": "yes"} and desk.counted() == {"late": 1, "repeated": 1}


@pytest.mark.parametrize("key", [None, float("nan")])
def test_what_names_no_key_is_refused(key):
    desk = Desk()
    desk.sample(key)
    desk.label(key, "yes")
    desk.correction(key, "yes")
    desk.tombstone(key)
    assert [reason for _, reason in desk.refused] == ["no_key"] * 4
    assert desk.predicted == [] and desk.counted() == {"no_key": 4}


def test_a_sample_without_key_that_brings_its_label_is_learned_but_not_remembered():
    desk = Desk()
    desk.sees(Event({"n": 1}, "yes"))
    assert desk.learned == [((("n", 1),), "yes", 1.0)] and desk.pending.resolved == 0


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (Event({}, None, ["a"]), "bad_key"),
        (Event({}, "yes", {"a": 1}, kind=Kind.LABEL), "bad_key"),
        (Event({}, "yes", float("inf"), kind=Kind.TOMBSTONE), "bad_key"),
        (Event({}, None, "a", kind=Kind.LABEL), "bad_label"),
        (Event({}, float("nan"), "a", kind=Kind.CORRECTION), "bad_label"),
        (Event({}, ["yes"], "a", kind=Kind.LABEL), "bad_label"),
        (Event({}, ["yes"], "a"), "bad_label"),
        (Event({}, None, "a", weight=-1.0), "bad_weight"),
        (Event({}, None, "a", weight=float("nan")), "bad_weight"),
        (Event({}, "yes", "a", weight=float("inf")), "bad_weight"),
        (Event({}, "yes", "a", weight="2"), "bad_weight"),  # type: ignore[arg-type]  # wrong on purpose
        (Event({}, "yes", "a", weight=10**400), "bad_weight"),
        (Event({}, "yes", "a", weight=True), "bad_weight"),
        (Event({"day": {1, 2}}, None, "a"), "bad_features"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_reason(event, reason):
    desk = Desk()
    desk.sees(event)
    assert [why for _, why in desk.refused] == [reason] and desk.counted() == {reason: 1}
    assert desk.pending.waiting == desk.pending.early == desk.pending.resolved == 0


def test_a_prediction_that_cannot_be_kept_is_refused():
    pending = Pending()
    (predict,) = pending.arrive(Event({}, None, "a"))
    assert isinstance(predict, Predict)
    (refuse,) = pending.predicted(predict, object())
    assert isinstance(refuse, Refuse) and refuse.reason is Reason.BAD_FEATURES and pending.waiting == 0


def test_what_a_learner_learned_must_be_plain():
    pending = Pending()
    with pytest.raises(BadValue):
        pending.learned(Learn(Event({}, "yes", "a"), "yes", {}), object())
    assert pending.resolved == 0


def test_scalars_of_numpy_become_plain_before_they_wait():
    desk = Desk()
    desk.sees(Event({"n": np.float64(1.5)}, None, np.int64(7), time=np.float64(2), weight=np.float64(0.5)))
    desk.label(7, np.str_("yes"))
    ((content, label, weight),) = desk.learned
    assert (type(content[0][1]), type(label), type(weight)) == (float, str, float)
    json.dumps(desk.pending.state())


# --- bounds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_expiry", ["drop", "negative"])
def test_past_the_most_that_may_wait_the_oldest_gives_way(on_expiry):
    desk = Desk(most_waiting=3, on_expiry=on_expiry)
    for key in "abcde":
        desk.sample(key)
    assert desk.pending.waiting == 3 and desk.counted() == {"crowded_out": 2}
    assert desk.labels == ({} if on_expiry == "drop" else {"a": False, "b": False})
    desk.label("c", "yes")
    assert desk.labels["c"] == "yes"


def test_past_the_most_labels_that_may_wait_the_oldest_gives_way():
    desk = Desk(most_waiting=3)
    for key in "abcde":
        desk.label(key, "yes")
    assert desk.pending.early == 3
    assert desk.refused == [("a", "label_without_sample"), ("b", "label_without_sample")]


def test_whatever_comes_no_more_is_held_than_the_limits_allow():
    desk = Desk(most_waiting=5, most_correctable=7)
    most = [0, 0, 0]
    for i in range(500):
        desk.sample(i)
        desk.label(i - 3 if i % 3 else i + 1000, "yes")
        desk.sample(-i - 1, "no")
        held = (desk.pending.waiting, desk.pending.early, desk.pending.resolved)
        most = [max(pair) for pair in zip(most, held, strict=True)]
    assert most == [5, 5, 7]


def test_the_oldest_of_many_is_found_without_searching():
    desk = Desk(wait_for=1, most_waiting=10**6)
    for i in range(50_000):
        desk.sample(str(i), at=0.0)
    start = time.process_time()
    for i in range(2000):
        desk.label(str(i), "yes", at=0.5)
    assert time.process_time() - start < 5.0  # searching over those that left takes 20 s


def test_events_without_times_are_counted_where_that_is_asked_for():
    desk = Desk(time=EventCount(), wait_for=2)
    desk.sample("a")
    desk.sample("b")
    desk.sample("c")
    desk.label("a", "yes")
    desk.label("b", "yes")
    assert desk.refused == [("a", "label_too_late"), ("b", "label_too_late")]


def test_stream_time_does_not_pass_with_events_that_have_none():
    desk = Desk(wait_for=2)
    desk.sample("a")
    for i in range(100):
        desk.sample(i)
    desk.label("a", "yes")
    assert desk.labels == {"a": "yes"}


def test_what_came_before_the_first_time_counts_as_having_come_then():
    desk = Desk(wait_for=10)
    desk.sample("a")
    desk.sample("b", at=1e9)
    assert desk.pending.waiting == 2
    desk.sample("c", at=1e9 + 11)
    assert desk.pending.waiting == 1 and desk.counted() == {"expired": 2}


def test_one_record_from_the_far_future_does_not_expire_what_waits():
    desk = Desk(time=StreamTime(max_skew=5), wait_for=10)
    desk.sample("a", at=0.0)
    desk.sample("b", at=1e12)
    desk.label("a", "yes", at=1.0)
    assert desk.labels == {"a": "yes"}


def test_a_late_event_waits_as_long_as_any_other():
    desk = Desk(wait_for=10)
    desk.sample("a", at=100.0)
    desk.sample("b", at=50.0)
    desk.label("b", "yes", at=105.0)
    assert desk.labels == {"b": "yes"}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"wait_for": -1}, BadValue),
        ({"wait_for": float("nan")}, BadValue),
        ({"wait_for": True}, BadValue),
        ({"correct_within": float("inf")}, BadValue),
        ({"correct_within": "1 day"}, BadValue),
        ({"most_waiting": 0}, BadValue),
        ({"most_waiting": 1.5}, BadValue),
        ({"most_correctable": -1}, BadValue),
        ({"most_correctable": None}, BadValue),
        ({"on_expiry": "positive"}, BadValue),
        ({"on_expiry": "assume"}, BadLabel),
        ({"on_expiry": "assume", "assumed": ["spam"]}, BadLabel),
        ({"assumed": "spam"}, BadLabel),
        ({"on_tombstone": "delete"}, BadValue),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(options, error):
    with pytest.raises(error) as caught:
        Pending(**options)
    assert next(reversed(options)) in str(caught.value) or "label" in str(caught.value)
