"""What an event must have before anything can wait for it: a key, a label where it brings one, a sound weight."""

from __future__ import annotations

import math
from numbers import Real

from msgspec.structs import replace

from stream_bayes.core.actions import Reason
from stream_bayes.core.event import CORRECTION, LABEL, SAMPLE, TOMBSTONE, Event
from stream_bayes.core.payloads import plain
from stream_bayes.core.values import canonical, canonical_label, is_missing
from stream_bayes.errors import BadLabel, BadValue

__all__ = ["admitted", "keepable", "without_features"]


def admitted(event: Event) -> Event | Reason:
    """The event with key, label and weight as they are kept, or the reason for which it is refused.

    Examples
    --------
    >>> from stream_bayes.core.event import Kind
    >>> admitted(Event({}, 1, key=b"a", weight=2, kind=Kind.LABEL))
    Event(x={}, y=1, key=b'a', weight=2.0, kind=<Kind.LABEL: 'label'>)
    >>> admitted(Event({"sky": "grey"}))
    <Reason.NO_KEY: 'no_key'>
    """
    kind, key, label, weight = event.kind, event.key, event.y, event.weight
    if type(key) is str and type(weight) is float and 0.0 <= weight < math.inf:
        if type(label) is str or (label is None and (kind is SAMPLE or kind is TOMBSTONE)):
            return event  # most events, and fast
    sound = _weight(weight)
    if sound is None:
        return Reason.BAD_WEIGHT
    try:
        key = None if is_missing(key) else canonical(key)
    except BadValue:
        return Reason.BAD_KEY
    try:
        label = None if is_missing(label) else canonical_label(label)
    except BadLabel:
        return Reason.BAD_LABEL
    if key is None and (kind is not SAMPLE or label is None):
        return Reason.NO_KEY
    if label is None and (kind is LABEL or kind is CORRECTION):
        return Reason.BAD_LABEL
    return replace(event, key=key, y=label, weight=sound)


def keepable(event: Event) -> Event:
    """The event as a snapshot can hold it; `BadValue` where it cannot.

    Examples
    --------
    >>> keepable(Event({"sky": "grey"}, time=5))
    Event(x={'sky': 'grey'}, time=5.0)
    """
    x = plain(event.x)
    time = None if event.time is None else float(event.time)
    return event if x is event.x and time is event.time else replace(event, x=x, time=time)


def without_features(event: Event) -> Event:
    """All of an event that a label needs.

    Examples
    --------
    >>> without_features(Event({"sky": "grey"}, "rain", key="a"))
    Event(x={}, y='rain', key='a')
    """
    return keepable(replace(event, x={}))


def _weight(value: object) -> float | None:
    """The weight as a float; None if it is none."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    try:
        weight = float(value)
    except OverflowError:
        return None
    return weight if 0.0 <= weight < math.inf else None
