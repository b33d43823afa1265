"""Entries of the pending store, and the whole store as JSON values and back, with all checks.

    {"time": {"kind": "time", "first": 0.0, "now": 42.0, "seen": []},
     "waiting": [[event, prediction, since], ...],                           each oldest first
     "early": [[event, since], ...],
     "resolved": [[key, label, weight, clock, encoded, since, time, partition], [key, since, partition], ...],
                                                                            learned, or dropped
     "forgotten": 17.0,                                                    the latest label of a sample not resolved
     "counts": {"late": 3, ...}}

    event: [x, y, key, time, position, weight, kind, source, partition, length]

Features, predictions and encoded samples are written as payloads, keys and labels as values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from copy import copy
from itertools import pairwise
from typing import Any, TypeAlias

import msgspec

from stream_bayes.core.events.actions import Learned
from stream_bayes.core.events.event import SAMPLE, Event, Kind, Partition
from stream_bayes.core.events.time import StreamClock
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.payloads import Payload, tagged_payload, untagged_payload
from stream_bayes.core.values.values import JSONValue, Value, tagged, untagged

__all__ = [
    "Dropped",
    "Early",
    "PendingSnapshot",
    "Resolved",
    "Waiting",
    "event_state",
    "is_saved_sample",
    "load_pending",
    "loaded_event",
]

MOST = 2**62  # the largest number in a state


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """A sample that waits for its label, with the prediction to score."""

    event: Event
    prediction: Payload
    since: float


class Early(msgspec.Struct, frozen=True, gc=False):
    """A label that waits for its sample."""

    event: Event
    since: float


class Dropped(msgspec.Struct, frozen=True, gc=False):
    """A sample that expired or was withdrawn: nothing of it is learned, and labels for it are refused."""

    key: Value
    since: float
    partition: int = 0


Resolved: TypeAlias = Learned | Dropped


class PendingSnapshot(msgspec.Struct, frozen=True):
    """Everything that a pending store held at one time. Its state can be written while the store goes on.

    Making one copies three lists of immutable entries: about 2 ms for 200,000 keys.
    """

    time: Mapping[str, JSONValue]
    waiting: list[Waiting]
    early: list[Early]
    resolved: list[Resolved]
    counts: dict[str, int]
    forgotten: float | None

    def state(self) -> dict[str, Any]:
        """Return the snapshot as JSON values."""
        return {
            "time": dict(self.time),
            "waiting": [
                [event_state(entry.event), tagged_payload(entry.prediction), tagged_payload(entry.since)]
                for entry in self.waiting
            ],
            "early": [[event_state(entry.event), tagged_payload(entry.since)] for entry in self.early],
            "resolved": [_saved_resolved(entry) for entry in self.resolved],
            "counts": dict(self.counts),
            "forgotten": self.forgotten,
        }


def load_pending(state: Mapping[str, Any], time: StreamClock, counted: Iterable[str]) -> PendingSnapshot:
    """Check a saved state and return it as the snapshot of a store with this kind of clock."""
    with refusing_bad_state():
        time = copy(time)
        time.load(state["time"])
        waiting = [_loaded_waiting(saved) for saved in _rows(state["waiting"])]
        early = [_loaded_early(saved) for saved in _rows(state["early"])]
        resolved = [_loaded_resolved(saved) for saved in _rows(state["resolved"])]
        keys = [entry.event.key for entry in waiting] + [entry.event.key for entry in early]
        keys += [entry.key for entry in resolved]
        expect(len(set(keys)) == len(keys), "it holds a key twice")
        for entries in (waiting, early, resolved):
            _check_moments([entry.since for entry in entries], time)
        counts = dict(state["counts"])
        expect(list(counts) == list(counted), f"it counts {list(counts)}")
        expect(all(map(_is_count, counts.values())), "a counter is not a whole number")
        forgotten = state["forgotten"]
        expect(_is_moment(forgotten), f"it has forgotten {forgotten!r}")
        return PendingSnapshot(time.state(), waiting, early, resolved, counts, forgotten)


def _rows(saved: Any) -> list[Any]:
    expect(isinstance(saved, list) and all(isinstance(row, list) for row in saved), "it holds no rows")
    return saved


KIND = 6  # the place of its kind in the saved state of an event


def event_state(event: Event) -> list[JSONValue]:
    """Return an event as JSON values; its features are payloads, as `keepable` makes them."""
    return [
        tagged_payload(event.x),
        None if event.y is None else tagged(event.y),
        tagged(event.key),
        tagged_payload(event.time),
        event.position,
        event.weight,
        event.kind.value,
        event.partition.source,
        event.partition.partition,
        event.length,
    ]


def is_saved_sample(saved: Any) -> bool:
    """Return True if what `event_state` wrote is a sample."""
    return saved[KIND] == SAMPLE.value


def loaded_event(saved: Any) -> Event:
    """Return the event that `event_state` wrote, with all checks but those of its kind."""
    expect(type(saved) is list, "an event is not an array")
    x, y, key, time, position, weight, kind, source, partition, length = saved
    time = untagged_payload(time)
    expect(time is None or type(time) is float, "an event's time is not a number")
    expect(_is_weight(weight), "an event's weight is invalid")
    expect(_is_count(position) and _is_count(partition) and _is_count(length), "an event is nowhere")
    expect(type(source) is str, "an event's source has no name")
    return Event(
        untagged_payload(x),
        None if y is None else untagged(y),
        untagged(key),
        time,
        position,
        weight,
        Kind(kind),
        Partition(source, partition),
        length,
    )


def _loaded_waiting(saved: list[Any]) -> Waiting:
    event, prediction, since = saved
    loaded = loaded_event(event)
    expect(
        loaded.kind is Kind.SAMPLE and loaded.y is None,
        "an entry in waiting is not a sample without label",
    )
    return Waiting(loaded, untagged_payload(prediction), untagged_payload(since))


def _loaded_early(saved: list[Any]) -> Early:
    event, since = saved
    loaded = loaded_event(event)
    expect(loaded.kind in (Kind.LABEL, Kind.CORRECTION) and loaded.y is not None, "a label is none")
    expect(loaded.x == {}, "a label has features")
    return Early(loaded, untagged_payload(since))


def _saved_resolved(entry: Resolved) -> list[JSONValue]:
    key, since = tagged(entry.key), tagged_payload(entry.since)
    if isinstance(entry, Dropped):
        return [key, since, entry.partition]
    encoded = tagged_payload(entry.encoded)
    return [key, tagged(entry.label), entry.weight, entry.clock, encoded, since, entry.time, entry.partition]


def _loaded_resolved(saved: list[Any]) -> Resolved:
    expect(_is_count(saved[-1]), "an entry is of no partition")
    if len(saved) == 3:
        return Dropped(untagged(saved[0]), untagged_payload(saved[1]), saved[2])
    key, label, weight, clock, encoded, since, time, partition = saved
    expect(_is_weight(weight), "a weight is invalid")
    expect(_is_moment(time), "the time of a label is not a number")
    expect(clock is None or _is_count(clock), "a learner's clock is invalid")
    return Learned(
        untagged(key),
        untagged_payload(encoded),
        untagged(label),
        weight,
        clock,
        untagged_payload(since),
        time,
        partition,
    )


def _check_moments(moments: list[Any], time: StreamClock) -> None:
    """Check that times never go back, and that none is later than now."""
    kind = type(time.now)
    expect(all(type(moment) is kind for moment in moments), "a moment is no moment of its time")
    expect(all(a <= b for a, b in pairwise([*moments, time.now])), "its moments are not in their order")


def _is_count(number: object) -> bool:
    return type(number) is int and 0 <= number < MOST


def _is_weight(number: object) -> bool:
    return type(number) is float and 0.0 <= number < float("inf")


def _is_moment(time: object) -> bool:
    return time is None or (type(time) is float and -math.inf < time < math.inf)
