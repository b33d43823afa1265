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
    assert time_after(1000.0, 4070908800.0, max_skew=60).now == 1060.0
    assert time_after(1000.0, 4070908800.0).now == 4070908800.0


def test_after_a_gap_time_catches_up():
    assert time_after(0.0, *[100.0] * 4, max_skew=30).now == 100.0


def test_the_first_time_is_taken_as_it_is():
    assert time_after(None, 1e9, max_skew=1).first == time_after(1e9, 5.0).first == 1e9


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
        {"kind": "moons", "now": 3},
        {"kind": "time", "first": 2.0, "now": 1.0},
        {"kind": "time", "first": None, "now": 1.0},
        {"kind": "time", "first": 1, "now": 2},
        {"kind": "time", "first": -math.inf, "now": 1.0},
        {"kind": "time", "first": 1.0, "now": math.nan},
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


@pytest.mark.parametrize(("max_skew", "first"), [(None, 5_000.0), (3_600.0, 5_000.0), (60.0, -math.inf)])
def test_a_first_time_further_after_the_present_than_the_skew_starts_no_clock(
    max_skew: float | None, first: float
) -> None:
    time = StreamTime(max_skew, present=lambda: 2_000.0)
    time.advance(Event({}, time=5_000.0))
    assert time.now == first
    time.advance(Event({}, time=1_990.0))
    assert time.now == (first if first > 0.0 else 1_990.0)
