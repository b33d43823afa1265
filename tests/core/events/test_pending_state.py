from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.events.actions import Learn, Predict
from stream_bayes.core.events.event import Event, Kind, Partition
from stream_bayes.core.events.pending import Pending
from stream_bayes.core.events.time import EventCount
from stream_bayes.core.values.payloads import MAX_DEPTH
from stream_bayes.errors import BadState
from stream_bayes.saving.snapshots.snapshot import Snapshot


def filled(**options: Any) -> Pending:
    """A store with something of each kind in it."""
    pending = Pending(wait_for=100, on_tombstone="unlearn", **options)
    place = Partition("orders", 1)
    for event in (
        Event({"a": 1.5, "b": "ü"}, None, "first", 1.0, 7, 2.5, Kind.SAMPLE, place, 20),
        Event({1: None, "n": math.nan, "t": (1, b"\x00")}, None, (1, "x"), 2.0),
        Event({"lost": 1}, "yes", "early", 3.0, 9, kind=Kind.LABEL),
        Event({"c": True}, 5, b"learned", None),
        Event({"c": True}, 5, "gone", 4.0),
        Event({}, None, "gone", 4.0, kind=Kind.TOMBSTONE),
    ):
        pending.advance(event)
        for action in pending.arrive(event):
            if isinstance(action, Predict):
                for learn in pending.predicted(action, {"yes": 0.1 + 0.2, 5: math.inf}):
                    assert isinstance(learn, Learn)
                    pending.learned(learn, (b"\xff", [1, None]), 12)
    assert (pending.waiting, pending.early, pending.resolved) == (2, 1, 2)
    return pending


def text_of(pending: Pending) -> str:
    return json.dumps(pending.state(), allow_nan=False)


def test_all_that_is_held_survives_saving():
    pending, twin = filled(), Pending(wait_for=100, on_tombstone="unlearn")
    twin.load(json.loads(text_of(pending)))
    assert text_of(twin) == text_of(pending)
    label = Event({}, "no", "first", kind=Kind.LABEL)
    assert twin.arrive(label) == pending.arrive(label)
    (learn,) = twin.arrive(label)
    assert isinstance(learn, Learn)
    assert learn.event == Event(
        {"a": 1.5, "b": "ü"}, None, "first", 1.0, 7, 2.5, Kind.SAMPLE, Partition("orders", 1), 20
    )
    assert learn.prediction == {"yes": 0.1 + 0.2, 5: math.inf}
    correction = Event({}, 6, b"learned", kind=Kind.CORRECTION)
    assert twin.arrive(correction) == pending.arrive(correction)


def test_content_can_be_written_while_the_store_goes_on():
    pending = filled()
    text, content = text_of(pending), pending.content()
    for event in (
        Event({}, None, "more", 50.0),
        Event({}, "no", "early", 60.0, kind=Kind.LABEL),
        Event({}, None, "x", 500.0, kind=Kind.TOMBSTONE),
    ):
        pending.advance(event)
        for action in pending.arrive(event):
            if isinstance(action, Predict):
                pending.predicted(action, {})
    assert text_of(pending) != text
    assert json.dumps(content.state(), allow_nan=False) == text


def test_whatever_waits_a_snapshot_takes_it():
    deepest: Any = "x"
    for _ in range(MAX_DEPTH - 1):
        deepest = {"x": deepest}
    pending = filled()
    (predict,) = pending.arrive(Event(deepest, None, "deep"))
    assert isinstance(predict, Predict) and pending.predicted(predict, [deepest]) == []
    file_bytes = Snapshot(learner="NaiveBayes", sections={"pending": pending.state()}).to_bytes()
    twin = Pending(wait_for=100, on_tombstone="unlearn")
    twin.load(Snapshot.from_bytes(file_bytes).sections["pending"])
    assert text_of(twin) == text_of(pending)


def test_a_state_holds_no_features_of_labels():
    assert "lost" not in text_of(filled())


def test_a_store_with_less_room_lets_go_of_what_is_too_much_with_the_next_events():
    big = Pending()
    for i in range(10):
        (predict,) = big.arrive(Event({}, None, i))
        assert isinstance(predict, Predict)
        big.predicted(predict, {})
        big.arrive(Event({}, "yes", i + 100, kind=Kind.LABEL))
        big.learned(Learn(Event({}, "yes", i + 200), "yes", {}), None)
    small = Pending(most_waiting=3, most_correctable=2)
    small.load(big.state())
    (predict,) = small.arrive(Event({}, None, "next"))
    assert isinstance(predict, Predict)
    small.predicted(predict, {})
    assert len(small.arrive(Event({}, "yes", "after", kind=Kind.LABEL))) == 8
    small.learned(Learn(Event({}, "yes", "last"), "yes", {}), None)
    assert (small.waiting, small.early, small.resolved) == (3, 3, 2)


def test_time_and_counted_events_are_not_taken_for_each_other():
    with pytest.raises(BadState, match="counts in 'time'"):
        Pending(time=EventCount()).load(filled().state())


JUNK: list[Any] = [
    *(
        None,
        True,
        0,
        1,
        -1,
        7,
        2**62,
        2**64,
        0.5,
        -1.0,
        1e308,
        math.inf,
        math.nan,
        "",
        "x",
        "sample",
        "tombstone",
    ),
    *([], {}, [[]], [None], {"int": "5"}, {"float": "nan"}, {"float": "-inf"}, {"dict": {}}, {"tuple": []}),
    *(["a", 1.0], [["a"], 1.0], {"kind": "time", "first": None, "now": None}),
]


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places_in(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places_in(item, (*path, index))


STATE = json.loads(text_of(filled()))
PLACES = list(places_in(STATE))


def changed(path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    state = copy.deepcopy(STATE)
    inner = state
    for step in path[:-1]:
        inner = inner[step]
    if junk is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = junk
    return state


def works(pending: Pending) -> None:
    """Whatever was accepted must be able to go on, and be saved again."""
    text_of(pending)
    for step, event in enumerate(
        (
            Event({}, "no", "first", 5.0, kind=Kind.LABEL),
            Event({}, "no", "early", 1e9, kind=Kind.CORRECTION),
            Event({}, None, "early", 2e9),
            Event({}, 3, b"learned", 3e9, kind=Kind.LABEL),
            Event({}, None, "gone", kind=Kind.TOMBSTONE),
        )
    ):
        pending.advance(event)
        for action in pending.arrive(event):
            if isinstance(action, Predict):
                pending.predicted(action, {})
            elif isinstance(action, Learn):
                pending.learned(action, None, step)
    text_of(pending)


@pytest.mark.parametrize("junk", [*JUNK, ...], ids=repr)
def test_a_state_with_junk_anywhere_is_refused_or_makes_a_store_that_works(junk):
    for path in PLACES:
        pending = Pending(wait_for=100, on_tombstone="unlearn")
        try:
            pending.load(changed(path, junk))
        except BadState:
            continue
        works(pending)


@given(st.sampled_from(PLACES), st.recursive(st.sampled_from(JUNK), lambda inner: st.lists(inner)))
def test_a_state_with_nested_junk_is_refused_or_makes_a_store_that_works(path, junk):
    pending = Pending(wait_for=100, on_tombstone="unlearn")
    try:
        pending.load(changed(path, junk))
    except BadState:
        return
    works(pending)


@pytest.mark.parametrize(
    ("path", "junk", "message"),
    [
        (("waiting", 1, 0, 2), "first", "twice"),
        (("resolved", 0, 0), "early", "twice"),
        (("waiting", 0, 0, 1), "yes", "not a sample without label"),
        (("waiting", 0, 0, 6), "label", "not a sample without label"),
        (("early", 0, 0, 1), None, "a label is none"),
        (("early", 0, 0, 0), {"dict": {"a": 1}}, "features"),
        (("waiting", 0, 0, 5), -1.0, "weight"),
        (("waiting", 0, 0, 5), 1, "weight"),
        (("waiting", 0, 0, 4), -1, "nowhere"),
        (("waiting", 0, 0, 3), "noon", "time"),
        (("waiting", 0, 0, 3), 5, "time"),
        (("waiting", 0, 0, 8), "0", "nowhere"),
        (("waiting", 0, 0, 7), 1, "no name"),
        (("early", 0, 0, 6), "sample", "a label is none"),
        (("resolved", 0, 2), math.inf, "weight"),
        (("resolved", 0, 3), -1, "clock"),
        (("waiting", 0, 2), 3.5, "order"),
        (("waiting", 1, 2), 4.5, "order"),
        (("early", 0, 1), {"float": "nan"}, "order"),
        (("early", 0, 1), 3, "no moment"),
        (("counts", "late"), -1, "counter"),
        (("counts",), {"late": 1}, "counts"),
    ],
)
def test_what_contradicts_itself_is_refused_by_name(path, junk, message):
    with pytest.raises(BadState, match=message):
        Pending().load(changed(path, junk))


def test_a_refused_state_leaves_the_store_as_it_was():
    pending = Pending()
    pending.advance(Event({}, time=0.5))
    before = text_of(pending)
    for path in PLACES:
        with pytest.raises(BadState):
            pending.load(changed(path, object()))
        assert text_of(pending) == before
