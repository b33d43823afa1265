from __future__ import annotations

import copy
import pickle

import pytest

from stream_bayes.core.events.event import (
    COMMAND,
    CORRECTION,
    LABEL,
    SAMPLE,
    TOMBSTONE,
    Event,
    Kind,
    Partition,
)


def test_an_event_is_a_sample_of_weight_one_unless_it_says_otherwise():
    event = Event({"a": 1}, "yes")
    assert (event.x, event.y, event.weight, event.kind) == ({"a": 1}, "yes", 1.0, Kind.SAMPLE)
    assert (event.key, event.time, event.position, event.after) == (None, None, 0, 1)


def test_events_with_equal_fields_are_equal():
    made = [Event({"a": 1}, "yes", "k", 1.5, 7, 2.0, Kind.LABEL, Partition("s", 3), 10) for _ in range(2)]
    assert made[0] == made[1]
    for field, other in [
        ("x", {}),
        ("y", "no"),
        ("key", None),
        ("time", 2.5),
        ("position", 8),
        ("weight", 1.0),
        ("kind", Kind.SAMPLE),
        ("partition", Partition("s", 4)),
        ("length", 1),
    ]:
        values = {name: getattr(made[0], name) for name in made[0].__struct_fields__}
        assert made[0] != Event(**(values | {field: other}))


def test_an_event_cannot_be_changed():
    with pytest.raises(AttributeError):
        Event({}).y = "yes"  # type: ignore[misc]  # wrong on purpose


def test_an_event_survives_copying_and_pickling():
    event = Event({"a": 1}, "yes", b"k", 1.5, 7, 2.0, Kind.TOMBSTONE, Partition("s", 3), 10)
    for twin in (copy.copy(event), copy.deepcopy(event), pickle.loads(pickle.dumps(event))):
        assert twin == event
        assert twin.kind is event.kind


def test_a_repr_shows_what_is_not_the_default():
    assert repr(Event({"a": 1}, position=3)) == "Event(x={'a': 1}, position=3)"


def test_the_position_after_an_event_is_past_all_that_it_takes():
    assert Event({}, position=100, length=37).after == 137


def test_positions_can_be_kept_by_partition():
    positions = {}
    for number in (0, 1, 0):
        event = Event({}, position=number, partition=Partition("s", number))
        positions[event.partition] = event.after
    assert positions == {("s", 0): 1, ("s", 1): 2}
    assert sorted([Partition("b", 0), Partition("a", 2), Partition("a", 1)])[0] == Partition("a", 1)


def test_the_kinds_have_short_names():
    assert tuple(Kind) == (SAMPLE, LABEL, CORRECTION, TOMBSTONE, COMMAND)
    assert [kind.value for kind in Kind] == ["sample", "label", "correction", "tombstone", "command"]
