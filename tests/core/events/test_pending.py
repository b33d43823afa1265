"""Late labels: first, later, never, twice; the keys they name, and how much may wait for them."""

from __future__ import annotations

import json
import time
from collections import Counter

import numpy as np
import pytest

from stream_bayes.core.events.actions import Learn, Predict, RefusalReason, Refuse
from stream_bayes.core.events.event import Event, Kind, Partition
from stream_bayes.core.events.pending import Pending
from stream_bayes.core.events.time import EventCount, StreamTime
from stream_bayes.errors import BadLabel, BadValue
from tests.core.events.small_engine import SmallEngine

# --- label first, later, never, twice -------------------------------------------------------------------


def test_a_sample_with_its_label_is_predicted_scored_and_learned_at_once():
    engine = SmallEngine()
    assert [type(action) for action in engine.sample("a", "yes")] == [Predict, Learn]
    assert engine.labels == {"a": "yes"} and engine.scored == [("yes", 1)]
    assert engine.pending.waiting == 0 and engine.counted() == {}


def test_a_sample_without_label_is_predicted_and_waits():
    engine = SmallEngine()
    assert [type(action) for action in engine.sample("a")] == [Predict]
    assert engine.labels == {} and engine.scored == [] and engine.pending.waiting == 1


def test_a_late_label_is_learned_with_the_features_and_the_weight_of_its_sample():
    engine = SmallEngine()
    engine.sample("a", weight=2.5)
    engine.label("a", "yes", weight=7.0)
    assert engine.learned == [((("of", "a"),), "yes", 2.5)]
    assert engine.pending.waiting == 0 and engine.counted() == {"late": 1}


def test_the_prediction_that_was_held_is_what_is_scored():
    engine = SmallEngine()
    for key in "abc":
        engine.sample(key)
    engine.label("b", "yes")
    engine.label("a", "no")
    assert engine.scored == [("yes", 2), ("no", 1)]


def test_a_label_before_its_sample_is_held_and_learned_when_the_sample_comes():
    engine = SmallEngine()
    assert engine.label("a", "yes") == [] and engine.pending.early == 1
    assert [type(action) for action in engine.sample("a")] == [Predict, Learn]
    assert engine.labels == {"a": "yes"} and engine.scored == [("yes", 1)]
    assert engine.pending.early == 0 and engine.counted() == {"early": 1}


def test_the_same_label_before_its_sample_again_changes_nothing():
    engine = SmallEngine()
    engine.label("a", "yes")
    engine.label("a", "yes")
    engine.sample("a")
    assert engine.labels == {"a": "yes"} and engine.counted() == {"early": 1, "repeated": 1}


def test_of_two_labels_before_their_sample_the_second_counts():
    engine = SmallEngine()
    engine.label("a", "yes")
    engine.correction("a", "no")
    engine.sample("a")
    assert engine.labels == {"a": "no"} and engine.scored == [("no", 1)]
    assert engine.counted() == {"early": 1, "corrected": 1}


def test_a_samples_own_label_overrules_one_that_came_before_it():
    engine = SmallEngine()
    engine.label("a", "yes")
    engine.label("b", "yes")
    engine.sample("a", "no")
    engine.sample("b", "yes")
    assert engine.labels == {"a": "no", "b": "yes"} and engine.pending.early == 0
    assert engine.counted() == {"early": 2, "corrected": 1, "repeated": 1}


def test_a_label_that_never_comes_drops_the_sample():
    engine = SmallEngine(wait_for=10, on_expiry="drop")
    engine.sample("a", at=0.0)
    engine.sample("b", at=11.0)
    assert engine.labels == {} and engine.scored == []
    assert engine.pending.waiting == 1 and engine.counted() == {"expired": 1}


def test_a_label_that_never_comes_makes_the_sample_negative():
    engine = SmallEngine(wait_for=10, on_expiry="negative")
    engine.sample("a", at=0.0)
    engine.sample("b", at=11.0)
    assert engine.labels == {"a": False} and engine.scored == [(False, 1)]
    assert engine.counted() == {"expired": 1}


def test_a_label_that_never_comes_is_assumed():
    engine = SmallEngine(wait_for=10, on_expiry="assume", assumed="ham")
    engine.sample("a", at=0.0)
    engine.sample("b", at=11.0)
    assert engine.labels == {"a": "ham"} and engine.scored == [("ham", 1)]


def test_what_is_overdue_is_learned_before_the_event_that_shows_it_is_predicted():
    engine = SmallEngine(wait_for=10, on_expiry="negative")
    engine.sample("a", at=0.0)
    assert [(type(action), action.event.key) for action in engine.sample("b", at=11.0)] == [
        (Learn, "a"),
        (Predict, "b"),
    ]


@pytest.mark.parametrize("at", [10.0, 10.001])
def test_a_label_is_in_time_up_to_the_last_moment(at):
    engine = SmallEngine(wait_for=10)
    engine.sample("a", at=0.0)
    engine.label("a", "yes", at=at)
    assert engine.labels == ({"a": "yes"} if at == 10.0 else {})


def test_a_label_that_comes_too_late_is_refused():
    engine = SmallEngine(wait_for=10)
    engine.sample("a", at=0.0)
    engine.label("a", "yes", at=11.0)
    assert engine.labels == {} and engine.refused == [("a", "label_too_late")]


def test_a_label_too_late_that_says_what_was_assumed_changes_nothing_and_another_corrects():
    engine = SmallEngine(wait_for=10, on_expiry="negative")
    engine.sample("a", at=0.0)
    engine.sample("b", at=0.0)
    engine.label("a", 0, at=11.0)  # as a label the same as False
    engine.label("b", True, at=11.0)
    assert engine.labels == {"a": False, "b": True}
    assert engine.counted() == {"expired": 2, "repeated": 1, "corrected": 1}
    assert engine.scored == [(False, 1), (False, 2)]


def test_a_label_whose_sample_never_comes_is_a_dead_letter_of_its_own():
    engine = SmallEngine(wait_for=10)
    engine.label("a", "yes", at=0.0, position=17, partition=Partition("labels", 3))
    refuse, _ = engine.sample("b", at=11.0)
    assert isinstance(refuse, Refuse) and refuse.reason is RefusalReason.LABEL_WITHOUT_SAMPLE
    assert (refuse.event.partition, refuse.event.position) == (Partition("labels", 3), 17)
    assert engine.pending.early == 0 and engine.labels == {}


def test_the_same_label_twice_changes_nothing():
    engine = SmallEngine()
    engine.sample("a")
    engine.label("a", "yes")
    assert engine.label("a", "yes") == []
    assert engine.labels == {"a": "yes"} and len(engine.scored) == 1
    assert engine.counted() == {"late": 1, "repeated": 1}


def test_another_label_is_a_correction():
    engine = SmallEngine()
    engine.sample("a")
    engine.label("a", "yes")
    engine.label("a", "no")
    assert engine.labels == {"a": "no"} and engine.counted() == {"late": 1, "corrected": 1}


def test_a_sample_that_brought_its_label_can_be_corrected():
    engine = SmallEngine()
    engine.sample("a", "yes")
    engine.correction("a", "no")
    assert engine.labels == {"a": "no"}


# --- keys -----------------------------------------------------------------------------------------------


def test_a_second_sample_with_a_key_that_waits_is_refused_and_counted():
    engine = SmallEngine()
    engine.sample("a", weight=1.0)
    engine.sample("a", weight=5.0)
    engine.sample("a", "yes")
    assert engine.refused == [("a", "key_is_waiting")] * 2 and engine.counted() == {"key_is_waiting": 2}
    assert engine.predicted == ["a"]
    engine.label("a", "yes")
    assert engine.learned == [((("of", "a"),), "yes", 1.0)]


def test_a_key_may_come_again_once_its_label_has_come_and_then_names_the_newer_sample():
    engine = SmallEngine()
    engine.process(Event({"n": 1}, None, "a"))
    engine.label("a", "yes")
    engine.process(Event({"n": 2}, None, "a"))
    engine.label("a", "no")
    engine.correction("a", "maybe")
    assert Counter(engine.learned) == Counter({((("n", 1),), "yes", 1.0): 1, ((("n", 2),), "maybe", 1.0): 1})


def test_keys_are_the_same_when_a_dict_says_so():
    engine = SmallEngine()
    for key in (1, "1", b"1", ("1", 1)):
        engine.sample(key)
    assert engine.pending.waiting == 4
    engine.label(True, "yes")
    engine.label(np.int64(1), "yes")
    assert engine.labels == {"1": "yes"} and engine.counted() == {"late": 1, "repeated": 1}


@pytest.mark.parametrize("key", [None, float("nan")])
def test_what_names_no_key_is_refused(key):
    engine = SmallEngine()
    engine.sample(key)
    engine.label(key, "yes")
    engine.correction(key, "yes")
    engine.tombstone(key)
    assert [reason for _, reason in engine.refused] == ["no_key"] * 4
    assert engine.predicted == [] and engine.counted() == {"no_key": 4}


def test_a_sample_without_key_that_brings_its_label_is_learned_but_not_remembered():
    engine = SmallEngine()
    engine.process(Event({"n": 1}, "yes"))
    assert engine.learned == [((("n", 1),), "yes", 1.0)] and engine.pending.resolved == 0


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
        (Event({}, None, "a", weight=2.0**54), "bad_weight"),
        (Event({}, "yes", "a", weight=2**54), "bad_weight"),
        (Event({}, "yes", "a", weight=True), "bad_weight"),
        (Event({"day": {1, 2}}, None, "a"), "bad_features"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_reason(event, reason):
    engine = SmallEngine()
    engine.process(event)
    assert [why for _, why in engine.refused] == [reason] and engine.counted() == {reason: 1}
    assert engine.pending.waiting == engine.pending.early == engine.pending.resolved == 0


def test_a_prediction_that_cannot_be_kept_is_refused():
    pending = Pending()
    (predict,) = pending.arrive(Event({}, None, "a"))
    assert isinstance(predict, Predict)
    (refuse,) = pending.predicted(predict, object())
    assert isinstance(refuse, Refuse) and refuse.reason is RefusalReason.BAD_FEATURES and pending.waiting == 0


def test_what_a_learner_learned_must_be_plain():
    pending = Pending()
    with pytest.raises(BadValue):
        pending.learned(Learn(Event({}, "yes", "a"), "yes", {}), object())
    assert pending.resolved == 0


def test_scalars_of_numpy_become_plain_before_they_wait():
    engine = SmallEngine()
    engine.process(
        Event({"n": np.float64(1.5)}, None, np.int64(7), time=np.float64(2), weight=np.float64(0.5))
    )
    engine.label(7, np.str_("yes"))
    ((content, label, weight),) = engine.learned
    assert (type(content[0][1]), type(label), type(weight)) == (float, str, float)
    json.dumps(engine.pending.state())


# --- bounds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_expiry", ["drop", "negative"])
def test_past_the_most_that_may_wait_the_oldest_gives_way(on_expiry):
    engine = SmallEngine(most_waiting=3, on_expiry=on_expiry)
    for key in "abcde":
        engine.sample(key)
    assert engine.pending.waiting == 3 and engine.counted() == {"crowded_out": 2}
    assert engine.labels == ({} if on_expiry == "drop" else {"a": False, "b": False})
    engine.label("c", "yes")
    assert engine.labels["c"] == "yes"


def test_past_the_most_labels_that_may_wait_the_oldest_gives_way():
    engine = SmallEngine(most_waiting=3)
    for key in "abcde":
        engine.label(key, "yes")
    assert engine.pending.early == 3
    assert engine.refused == [("a", "label_without_sample"), ("b", "label_without_sample")]


def test_whatever_comes_no_more_is_held_than_the_limits_allow():
    engine = SmallEngine(most_waiting=5, most_correctable=7)
    most = [0, 0, 0]
    for i in range(500):
        engine.sample(i)
        engine.label(i - 3 if i % 3 else i + 1000, "yes")
        engine.sample(-i - 1, "no")
        held = (engine.pending.waiting, engine.pending.early, engine.pending.resolved)
        most = [max(pair) for pair in zip(most, held, strict=True)]
    assert most == [5, 5, 7]


def test_the_oldest_of_many_is_found_without_searching():
    engine = SmallEngine(wait_for=1, most_waiting=10**6)
    for i in range(50_000):
        engine.sample(str(i), at=0.0)
    start = time.process_time()
    for i in range(2000):
        engine.label(str(i), "yes", at=0.5)
    assert time.process_time() - start < 5.0  # searching over those that left takes 20 s


def test_events_without_times_are_counted_where_that_is_asked_for():
    engine = SmallEngine(time=EventCount(), wait_for=2)
    engine.sample("a")
    engine.sample("b")
    engine.sample("c")
    engine.label("a", "yes")
    engine.label("b", "yes")
    assert engine.refused == [("a", "label_too_late"), ("b", "label_too_late")]


def test_stream_time_does_not_pass_with_events_that_have_none():
    engine = SmallEngine(wait_for=2)
    engine.sample("a")
    for i in range(100):
        engine.sample(i)
    engine.label("a", "yes")
    assert engine.labels == {"a": "yes"}


def test_what_came_before_the_first_time_counts_as_having_come_then():
    engine = SmallEngine(wait_for=10)
    engine.sample("a")
    engine.sample("b", at=1e9)
    assert engine.pending.waiting == 2
    engine.sample("c", at=1e9 + 11)
    assert engine.pending.waiting == 1 and engine.counted() == {"expired": 2}


def test_one_record_from_the_far_future_does_not_expire_what_waits():
    engine = SmallEngine(time=StreamTime(max_skew=5), wait_for=10)
    engine.sample("a", at=0.0)
    engine.sample("b", at=1e12)
    engine.label("a", "yes", at=1.0)
    assert engine.labels == {"a": "yes"}


def test_a_late_event_waits_as_long_as_any_other():
    engine = SmallEngine(wait_for=10)
    engine.sample("a", at=100.0)
    engine.sample("b", at=50.0)
    engine.label("b", "yes", at=105.0)
    assert engine.labels == {"b": "yes"}


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
