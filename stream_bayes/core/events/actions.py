"""What the pending store asks the engine to do, and what it remembers of what was done.

    Predict   predict the sample, then call `predicted`
    Learn     learn the sample and score the prediction, then call `learned`
    Relearn   unlearn what was learned, learn it with the other label, then call `learned`
    Unlearn   unlearn what was learned
    Refuse    hand the event to the dead letters

Each names the event it is about. Nothing here does anything.

What an event must have before anything can wait for it: a key, a label where it brings one, a sound weight.
"""

from __future__ import annotations

import math
from enum import Enum
from numbers import Real
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from stream_bayes.core.events.event import CORRECTION, LABEL, SAMPLE, TOMBSTONE, Event
from stream_bayes.core.values.payloads import Payload, plain
from stream_bayes.core.values.values import Value, canonical, canonical_label, is_missing
from stream_bayes.errors import BadLabel, BadValue

__all__ = [
    "Action",
    "Learn",
    "Learned",
    "Predict",
    "Reason",
    "Refuse",
    "Relearn",
    "Unlearn",
    "admitted",
    "keepable",
    "without_features",
]


class Reason(Enum):
    """Why an event is refused. The value is the reason's name in dead letters, counters and saved states.

    Examples
    --------
    >>> Reason.CORRECTION_TOO_LATE.value
    'correction_too_late'
    """

    NO_KEY = "no_key"
    """A sample without label, a label, a correction or a tombstone that names no key."""

    BAD_KEY = "bad_key"
    """A key of a type that cannot be one."""

    BAD_LABEL = "bad_label"
    """A label or correction without a label, or a label of a type that cannot be one."""

    BAD_WEIGHT = "bad_weight"
    """A sample whose weight is negative, infinite or no number."""

    BAD_FEATURES = "bad_features"
    """A sample without label whose features or prediction hold what cannot be kept in a snapshot."""

    KEY_IS_WAITING = "key_is_waiting"
    """A sample whose key another sample has, which still waits for its label."""

    LABEL_TOO_LATE = "label_too_late"
    """The label of a sample that was given up or withdrawn."""

    LABEL_WITHOUT_SAMPLE = "label_without_sample"
    """A label whose sample did not come in time."""

    CORRECTION_TOO_LATE = "correction_too_late"
    """A correction of what is not remembered any more, or never was."""

    TOMBSTONE_TOO_LATE = "tombstone_too_late"
    """A tombstone for what is not remembered any more, or never was."""


class Learned(msgspec.Struct, frozen=True, gc=False):
    """What was learned of one sample, so that exactly that can be taken back.

    Parameters
    ----------
    key
        The sample's key.
    content
        What the engine gave: the sample as the learner encoded it.
    label, weight
        What it was learned with.
    clock
        What the learner's clock said; None where it has none.
    since
        The moment of stream time at which it was first learned.
    """

    key: Value
    content: Payload
    label: Value
    weight: float
    clock: int | None
    since: float


class Predict(msgspec.Struct, frozen=True, gc=False):
    """Predict the sample, and answer with `predicted(action, prediction)`."""

    event: Event


class Learn(msgspec.Struct, frozen=True, gc=False):
    """Learn the sample with this label, and answer with `learned(action, content, clock)`. If the learner refuses it,
    do not answer.

    Parameters
    ----------
    event
        The sample: its features and weight are what is learned, whatever the label's own event says.
    label
        Its label.
    prediction
        The prediction that was made when the sample came, to be scored against the label once it is learned.
    """

    event: Event
    label: Value
    prediction: Any  # whatever the engine predicts with


class Relearn(msgspec.Struct, frozen=True, gc=False):
    """Unlearn what was learned, learn it with another label, and answer with `learned(action, content, clock)`. If the
    learner refuses the label, leave it as it was and do not answer.

    A correction is not scored: the prediction was, against what was the label then.

    Parameters
    ----------
    event
        The label or correction.
    was
        What was learned: content, label, weight and clock.
    label
        The right label.
    """

    event: Event
    was: Learned
    label: Value


class Unlearn(msgspec.Struct, frozen=True, gc=False):
    """Unlearn what was learned.

    Parameters
    ----------
    event
        The tombstone.
    was
        What was learned: content, label, weight and clock.
    """

    event: Event
    was: Learned


class Refuse(msgspec.Struct, frozen=True, gc=False):
    """Hand the event to the dead letters: it has changed nothing.

    Parameters
    ----------
    event
        The event. One that waited has lost what no label needs: its features.
    reason
        Why.
    """

    event: Event
    reason: Reason


Action: TypeAlias = Predict | Learn | Relearn | Unlearn | Refuse


def admitted(event: Event) -> Event | Reason:
    """The event with key, label and weight as they are kept, or the reason for which it is refused.

    Examples
    --------
    >>> from stream_bayes.core.events.event import Kind
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
