"""A label that comes late is learned when it comes, and scored with what was said when its sample came."""

from __future__ import annotations

from collections import deque
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stream_bayes import NaiveBayes
from stream_bayes.core.events.event import BadRecord, Event, Kind
from stream_bayes.errors import BadValue
from stream_bayes.evaluation.steps import (
    FORGET,
    LEARN,
    PREDICT,
    Arrivals,
    EvaluationStep,
    delayed,
    portions,
)
from stream_bayes.streams import compare, from_jsonl
from tests.streams.recording_learners import AtOnce, Listening, Polled

Pairs = list[tuple[dict[str, int], str]]


def pairs(n: int) -> Pairs:
    return [({"n": number}, "ab"[number % 3 == 0]) for number in range(n)]


def queued(stream: Pairs, due: list[float], now: list[float]) -> list[tuple[Any, ...]]:
    """What a learner is asked when the label of sample i comes once `now` is at least `due[i]`."""
    calls: list[tuple[Any, ...]] = []
    queue: deque[int] = deque()
    for number, (x, _) in enumerate(stream):
        while queue and due[queue[0]] <= now[number]:
            old, y = stream[queue.popleft()]
            calls.append(("learn", old, y, 1.0))
        calls.append(("predict", x))
        queue.append(number)
    return calls + [("learn", *stream[number], 1.0) for number in queue]


@settings(max_examples=50)
@example(n=25, delay=3, every=1)  # to note where all stand takes a hundred times as long as an event
@given(st.integers(0, 250), st.integers(0, 120), st.integers(20, 90))
def test_a_delay_in_events_is_a_queue(n: int, delay: int, every: int) -> None:
    stream = pairs(n)
    one, two = AtOnce(), Listening()
    found = compare({"one": one, "two": two}, stream, delay=delay, every=every)
    due = [float(number + max(delay, 1)) for number in range(n)]
    assert one.calls == two.calls == queued(stream, due, list(map(float, range(n))))
    assert found["one"].cumulative.log_loss == found["two"].cumulative.log_loss
    assert found["one"].events == n and found.waiting == 0


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(0, 30))
def test_a_delay_in_stream_time_is_a_queue_whose_time_never_runs_back(times: list[int], seconds: int) -> None:
    stream = pairs(len(times))
    # Events may be older than those before them; the time of the stream is the highest seen.
    own = [number + 5 * (time > 6) - 3 * (time < 2) for number, time in enumerate(times)]
    events = [Event(x, y, time=float(t)) for (x, y), t in zip(stream, own, strict=True)]
    learner = Listening()
    compare({"a": learner}, events, delay=timedelta(seconds=seconds))
    now = [float(max(own[: number + 1])) for number in range(len(own))]
    expected = queued(stream, [moment + seconds for moment in now], now)
    if seconds:
        assert learner.calls == expected
    assert sorted(map(repr, learner.calls)) == sorted(map(repr, expected))


@pytest.mark.parametrize(("index", "time"), [(0, 4.5e9), (3, 4.5e9), (0, 0.0), (3, 0.0)])
def test_one_time_that_cannot_be_changes_the_delay_of_no_label_by_much(index: int, time: float) -> None:
    day = 86_400.0
    times = [1.4e9 + number * day for number in range(40)]
    times[index] = time
    stream = pairs(len(times))
    events = [Event(x, y, time=at) for (x, y), at in zip(stream, times, strict=True)]
    learner = Listening()
    compare({"a": learner}, events, delay=timedelta(days=3))
    waiting = late = 0
    for call in learner.calls:
        waiting += 1 if call[0] == "predict" else -1
        late = max(late, waiting)
    # Three days, and the week by which one time may move the clock.
    assert late <= 11


def test_a_late_label_is_scored_with_what_was_said_when_its_sample_came() -> None:
    learner = Listening()
    stream: Pairs = [({}, "a")] * 6
    found = compare({"a": learner}, stream, delay=3)
    # The first three had no answer and are not scored; after the label of any of them the rest is certain.
    assert found["a"].cumulative.accuracy == 1.0 and found.losses["a"].unanswered == 3
    assert compare({"a": Listening()}, stream).losses["a"].unanswered == 1


def test_labels_of_a_source_find_their_samples_by_key_in_whatever_order_they_come() -> None:
    source = Polled(
        [
            [Event({"n": 0}, key="p"), Event({"n": 1}, key="q")],
            [],
            [Event({"n": 2}, "b"), Event({}, "a", key="q", kind=Kind.LABEL)],
            [BadRecord("not_json", "expected JSON"), Event({"n": 3}), Event({"n": 4}, key="r", weight=2.0)],
            [Event({}, "b", key="p", kind=Kind.LABEL), Event({}, "a", key="s", kind=Kind.LABEL)],
            [Event({"n": 5}, key="s"), Event({}, "b", key="q", kind=Kind.CORRECTION)],
        ]
    )
    one, two = AtOnce(), Listening()
    found = compare({"one": one, "two": two}, source)
    assert one.calls == two.calls
    assert one.calls == [
        ("predict", {"n": 0}),
        ("predict", {"n": 1}),
        ("predict", {"n": 2}),
        ("learn", {"n": 2}, "b", 1.0),
        ("learn", {"n": 1}, "a", 1.0),
        ("predict", {"n": 4}),
        ("learn", {"n": 0}, "b", 1.0),
        ("predict", {"n": 5}),
        ("learn", {"n": 5}, "a", 1.0),  # its label was there first
    ]
    assert found["one"].events == 4 and found.waiting == 1
    assert found.skipped == {"not_json": 1, "no_key": 1, "correction_too_late": 1}
    assert "1 predicted and without label; 3 skipped" in str(found)


def test_a_delay_holds_back_labels_that_came_with_their_samples_and_no_others() -> None:
    stream = [
        Event({"n": 0}, "a"),
        Event({"n": 1}, key="k"),
        Event({}, "b", key="k", kind=Kind.LABEL),
        Event({"n": 2}, "a"),
        Event({"n": 3}, "a"),
    ]
    learner = Listening()
    compare({"a": learner}, stream, delay=3)
    assert learner.calls == [
        ("predict", {"n": 0}),
        ("predict", {"n": 1}),
        ("learn", {"n": 1}, "b", 1.0),
        ("predict", {"n": 2}),
        ("learn", {"n": 0}, "a", 1.0),
        ("predict", {"n": 3}),
        ("learn", {"n": 2}, "a", 1.0),
        ("learn", {"n": 3}, "a", 1.0),
    ]


def test_a_silent_source_can_be_told_to_stop() -> None:
    stops = iter([False, False, True])
    source = Polled([[Event({}, "a")], [], [], [Event({}, "a")] * 5])
    found = compare({"a": NaiveBayes()}, source, should_stop=lambda: next(stops))
    assert found["a"].events == 1


def test_a_source_that_grows_is_read_to_the_end_that_it_had(tmp_path: Path) -> None:
    path = tmp_path / "days.jsonl"
    path.write_text('{"sky": "grey", "y": "rain"}\n' * 300)
    found = []

    def grow(events: int) -> None:
        found.append(events)
        with path.open("a") as file:
            file.write('{"sky": "blue", "y": "dry"}\n')

    with closing(from_jsonl(path, target="y", follow=True)) as source:
        assert compare({"a": NaiveBayes()}, source, progress=grow)["a"].events == 300
    assert found


def test_a_sample_that_waits_too_long_is_forgotten_and_counted() -> None:
    events = [Event({"n": number}, key=str(number)) for number in range(5)]
    arrivals = Arrivals([*events, Event({}, "a", key="1", kind=Kind.LABEL)], most_waiting=2)
    steps = [(step.kind, step.number) for step in arrivals if step is not None]
    assert steps == [
        (PREDICT, 0),
        (PREDICT, 1),
        (PREDICT, 2),
        (FORGET, 0),
        (PREDICT, 3),
        (FORGET, 1),
        (PREDICT, 4),
        (FORGET, 2),
    ]
    assert arrivals.skipped["crowded_out"] == 3


def test_a_delay_in_time_needs_times() -> None:
    for stream in (pairs(3), [Event({}, "a")]):
        with pytest.raises(BadValue, match=r"needs Events with a time"):
            compare({"a": Listening()}, stream, delay=timedelta(seconds=1))


@given(st.integers(0, 350), st.integers(0, 40), st.integers(1, 120))
def test_portions_hold_every_step_and_end_at_every_checkpoint(n: int, delay: int, every: int) -> None:
    steps = [step for step in delayed(Arrivals(pairs(n)), delay) if step is not None]
    found = list(portions(iter(steps), every))
    assert [step for portion in found for step in portion] == steps
    scored = 0
    for portion in found:
        inside = [scored + place for place, _ in enumerate(filter(_scores, portion), start=1)]
        assert all(number % every for number in inside[:-1])
        scored += len(inside)
    assert scored == n


def _scores(step: EvaluationStep) -> bool:
    return step.kind not in (PREDICT, FORGET)


def test_a_sample_is_learned_under_the_number_it_was_predicted_with() -> None:
    steps = [step for step in delayed(Arrivals(pairs(40)), 7) if step is not None]
    learned = [step for step in steps if step.kind is LEARN]
    assert [(step.number, step.x) for step in learned] == [(number, {"n": number}) for number in range(40)]
    assert all(step.y is None for step in steps if step.kind is PREDICT)
