from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.events.event import Event
from stream_bayes.core.events.time import EventCount, StreamTime
from stream_bayes.errors import BadState, BadValue

times = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True), st.integers(-10, 10))


def time_after(*seconds: float | None, max_skew: float | None = None) -> StreamTime:
    time = StreamTime(max_skew)
    for moment in seconds:
        time.advance(Event({}, time=moment))
    return time


@given(st.lists(times))
def test_time_is_the_highest_event_time_seen(many):
    finite = [float(time) for time in many if time is not None and math.isfinite(time)]
    assert time_after(*many).now == max(finite, default=-math.inf)


@given(st.lists(times), st.floats(0.001, 100))
def test_no_event_but_the_first_puts_time_forward_by_more_than_the_skew(many, max_skew):
    time = StreamTime(max_skew)
    for moment in many:
        before = time.now
        time.advance(Event({}, time=moment))
        assert time.now >= before
        assert before == -math.inf or time.now <= before + max_skew


def test_one_event_from_the_far_future_moves_time_by_the_skew_only():
    assert time_after(1000.0, 1001.0, 4070908800.0, max_skew=60).now == 1061.0
    assert time_after(1000.0, 4070908800.0).now == 4070908800.0


def test_after_a_gap_time_catches_up():
    assert time_after(0.0, 1.0, *[100.0] * 4, max_skew=30).now == 100.0


def test_without_a_limit_the_first_time_is_taken_as_it_is():
    assert time_after(None, 1e9, 5.0).first == 1e9


@pytest.mark.parametrize(
    ("times", "first", "now"),
    [
        ((1000.0,), -math.inf, -math.inf),
        ((None, 1000.0, math.nan), -math.inf, -math.inf),
        ((1000.0, 990.0), 990.0, 1000.0),
        ((9000.0, 1000.0), -math.inf, -math.inf),
        ((9000.0, 1000.0, 1010.0), 1000.0, 1010.0),  # the first is of the future
        ((0.0, 1000.0, 1010.0), 1000.0, 1010.0),  # of the past
        ((1000.0, 9000.0, 1010.0), 1000.0, 1010.0),
        ((1000.0, 0.0, 1010.0), 1000.0, 1010.0),
        ((1000.0, 2000.0, 3000.0), 2000.0, 2000.0),  # a stream with long pauses
    ],
)
def test_the_first_times_that_agree_start_the_clock_or_the_middle_of_three(times, first, now):
    time = time_after(*times, max_skew=60)
    assert (time.first, time.now) == (first, now)
    assert time.seen == ([] if now > -math.inf else [each for each in times if each is not None and each > 0])


def test_times_far_from_the_clock_are_reported():
    time, reported = StreamTime(60), []
    time.report = lambda event, moment, now: reported.append((event.time, moment, now))
    for moment in (9000.0, 1000.0, 1010.0, 500.0, 1005.0, 2000.0):
        time.advance(Event({}, time=moment))
    assert reported == [(1010.0, 9000.0, 1010.0), (500.0, 500.0, 1010.0), (2000.0, 2000.0, 1010.0)]


def test_a_time_counts_at_now_if_it_is_after_it():
    time = time_after(1000.0, 1010.0, max_skew=60)
    assert [time.bounded(moment) for moment in (None, 5.0, 1010.0, 9e9, math.inf)] == [
        None,
        5.0,
        1010.0,
        1010.0,
        math.inf,
    ]
    assert StreamTime(60).bounded(9e9) == 9e9


@pytest.mark.parametrize("bad", [0, -1.0, math.inf, math.nan])
def test_a_skew_that_is_none_is_refused(bad):
    with pytest.raises(BadValue, match="max_skew"):
        StreamTime(bad)


@given(st.lists(times), st.lists(times))
def test_a_saved_time_goes_on_as_if_it_had_not_been_saved(before, after):
    time, twin = time_after(*before, max_skew=5), StreamTime(5)
    twin.load(json.loads(json.dumps(time.state(), allow_nan=False)))
    for moment in after:
        time.advance(Event({}, time=moment))
        twin.advance(Event({}, time=moment))
    assert (time.first, time.now) == (twin.first, twin.now)
    assert json.dumps(time.state()) == json.dumps(twin.state())


def test_events_are_counted_whatever_their_time():
    count = EventCount()
    for moment in (None, 5.0, 1.0):
        count.advance(Event({}, time=moment))
    assert count.now == 3
    twin = EventCount()
    twin.load(count.state())
    assert (twin.first, twin.now) == (0, 3)


@pytest.mark.parametrize("clock", [StreamTime, EventCount])
@pytest.mark.parametrize(
    "bad",
    [
        None,
        [],
        {},
        {"kind": "time"},
        {"kind": "time", "first": 1.0, "now": 2.0},
        {"kind": "time", "first": 1.0, "now": 2.0, "seen": [1.0]},
        {"kind": "time", "first": None, "now": None, "seen": None},
        {"kind": "time", "first": None, "now": None, "seen": [math.nan]},
        {"kind": "time", "first": None, "now": None, "seen": [1]},
        {"kind": "time", "first": None, "now": None, "seen": [1.0, 2.0, 3.0]},
        {"kind": "moons", "now": 3},
        {"kind": "time", "first": 2.0, "now": 1.0, "seen": []},
        {"kind": "time", "first": None, "now": 1.0, "seen": []},
        {"kind": "time", "first": 1, "now": 2, "seen": []},
        {"kind": "time", "first": -math.inf, "now": 1.0, "seen": []},
        {"kind": "time", "first": 1.0, "now": math.nan, "seen": []},
        {"kind": "events", "now": -1},
        {"kind": "events", "now": 1.0},
        {"kind": "events", "now": 2**62},
        {"kind": "events", "now": 1, "more": 2},
    ],
)
def test_a_state_that_is_no_time_is_refused(clock, bad):
    with pytest.raises(BadState):
        clock().load(bad)


def test_a_time_is_not_loaded_as_a_number_of_events():
    with pytest.raises(BadState, match="counts in 'time'"):
        EventCount().load({"kind": "time", "now": 1})
