"""Replays at a pace: the same records in the same order, each when its time has come."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.events.event import Event, Partition
from stream_bayes.errors import BadValue, Exhausted
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.sources.iterable import IterableSource
from stream_bayes.streams.sources.paced import Paced

HERE = Partition("items")


class Clock:
    """A clock that goes on when one sleeps, and only then."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.slept.append(seconds)
        self.now += seconds


def paced(times, speed=1.0):
    clock = Clock()
    events = [Event({"n": number}, time=time) for number, time in enumerate(times)]
    return Paced(IterableSource(events), speed, clock, clock.sleep), clock


def arrivals(replay, clock, limit=10):
    """When each record came."""
    found: list[float] = []
    while True:
        try:
            records = replay.poll(limit)
        except Exhausted:
            return found
        for record in records:
            assert record.position == len(found)
            found.append(clock.now - 1000)
        assert replay.positions == {HERE: len(found)}


def test_records_come_as_far_apart_as_they_happened():
    assert arrivals(*paced([50, 51, 53.5])) == pytest.approx([0, 1, 3.5])


def test_a_speed_of_ten_takes_a_tenth_of_the_time():
    assert arrivals(*paced([50, 51, 53.5], 10)) == pytest.approx([0, 0.1, 0.35])


def test_without_end_of_speed_nothing_is_waited_for():
    replay, clock = paced([0, 1e9, 0], math.inf)
    assert arrivals(replay, clock, 2) == [0, 0, 0] and clock.slept == []


def test_records_without_time_or_of_an_earlier_one_come_with_the_one_before():
    assert arrivals(*paced([None, 10, None, 12, 5, 12])) == pytest.approx([0, 0, 0, 2, 2, 2])


def test_no_poll_sleeps_longer_than_a_fraction_of_a_second():
    replay, clock = paced([0, 1000])
    assert len(replay.poll(10)) == 1
    for _ in range(5):
        assert replay.poll(10) == []
    assert clock.slept == pytest.approx([0.1] * 5)


def test_a_replay_that_is_stopped_ends_before_what_has_not_come():
    replay, _ = paced([0, 1000])
    replay.poll(10)
    replay.stop()
    with pytest.raises(Exhausted, match="was stopped"):
        replay.poll(10)
    assert replay.positions == {HERE: 1}


def test_after_a_seek_the_pace_begins_anew():
    replay, clock = paced([0, 1, 500, 501])
    assert len(replay.poll(1)) == 1
    replay.seek({HERE: 2})
    assert replay.positions == {HERE: 2}
    begun = clock.now
    assert [record.position for record in replay.poll(10)] == [2]
    while not (last := replay.poll(10)):
        pass
    assert [record.position for record in last] == [3] and clock.now == pytest.approx(begun + 1)


@given(
    times=st.lists(st.none() | st.integers(0, 20), max_size=10),
    speed=st.sampled_from([0.5, 1.0, 7.0, math.inf]),
    limit=st.integers(1, 4),
)
def test_at_any_pace_the_records_are_the_same_and_none_is_early(times, speed, limit):
    replay, clock = paced(times, speed)
    came = arrivals(replay, clock, limit)
    assert len(came) == len(times)
    known = [(time, when) for time, when in zip(times, came, strict=True) if time is not None]
    for time, when in known:
        assert when >= (time - known[0][0]) / speed - 1e-6


@pytest.mark.parametrize("speed", [0, -1, math.nan, "fast", True])
def test_a_speed_is_a_number_above_zero(speed):
    with pytest.raises(BadValue, match="speed: expected a number above 0"):
        Paced(IterableSource([]), speed)


def test_how_far_there_is_something_to_read_is_passed_on(tmp_path):
    path = tmp_path / "days.csv"
    path.write_text("at,sky\n0,grey\n1,blue\n")
    source = CSVSource(path, Fields(time="at"), follow=True, sleep=lambda _: None)
    replayed = Paced(source, math.inf, sleep=lambda _: None)
    end = replayed.fetch_end()
    assert replayed.end_offsets == source.end_offsets and set(replayed.end_offsets.values()) == {
        path.stat().st_size
    }
    polled = 0
    while not replayed.has_reached(end):
        polled += len(replayed.poll(1))
    assert polled == 2 and replayed.connected
    replayed.close()


def test_the_bytes_of_a_record_and_incidents_come_from_the_source(tmp_path: Path) -> None:
    file = tmp_path / "days.csv"
    file.write_text("sky,y\ngrey,rain\nblue,sun\n")
    source = Paced(CSVSource(file, Fields(target="y")), math.inf)
    events = source.poll(5)
    assert [source.raw_of(event) for event in events if isinstance(event, Event)] == [
        b"grey,rain",
        b"blue,sun",
    ]
    source.close()
