"""Actions that the pending store returns to the engine, and the checks that an event must pass before.

    Predict   predict the sample, then call `predicted`
    Learn     learn the sample and score the prediction, then call `learned`
    Relearn   unlearn the sample, learn it with the new label, then call `learned`
    Unlearn   unlearn the sample
    Refuse    send the event to the dead letters

Each action holds the event that caused it. `admitted` checks key, label and weight of an event; the result is the event
in canonical form, or the `RefusalReason` to refuse it.
"""

from __future__ import annotations

from enum import Enum
from numbers import Real
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from stream_bayes.core.events.event import CORRECTION, LABEL, SAMPLE, TOMBSTONE, Event
from stream_bayes.core.values._weights import MOST_WEIGHT
from stream_bayes.core.values.payloads import Payload, plain
from stream_bayes.core.values.values import Value, canonical, canonical_label, is_missing
from stream_bayes.errors import BadLabel, BadValue

__all__ = [
    "Action",
    "Learn",
    "Learned",
    "Predict",
    "RefusalReason",
    "Refuse",
    "Relearn",
    "Unlearn",
    "admitted",
    "keepable",
    "without_features",
]


class RefusalReason(Enum):
    """The reason why an event is refused. Its value is used in dead letters, counters and saved states.

    Examples
    --------
    >>> RefusalReason.CORRECTION_TOO_LATE.value
    'correction_too_late'
    """

    NO_KEY = "no_key"
    """A label, a correction, a tombstone, or a sample without label, that has no key."""

    BAD_KEY = "bad_key"
    """A key of a type that keys cannot have."""

    BAD_LABEL = "bad_label"
    """A label or correction without a label, or a label of a type that labels cannot have."""

    BAD_WEIGHT = "bad_weight"
    """A sample whose weight is negative, infinite or not a number."""

    BAD_FEATURES = "bad_features"
    """A sample without label whose features or prediction cannot be saved in a snapshot."""

    KEY_IS_WAITING = "key_is_waiting"
    """A sample with the key of another sample that still waits for its label."""

    LABEL_TOO_LATE = "label_too_late"
    """A label whose sample has expired or was withdrawn."""

    LABEL_WITHOUT_SAMPLE = "label_without_sample"
    """A label whose sample did not come in time."""

    CORRECTION_TOO_LATE = "correction_too_late"
    """A correction of a sample that is no longer remembered, or never was."""

    TOMBSTONE_TOO_LATE = "tombstone_too_late"
    """A tombstone for a sample that is no longer remembered, or never was."""


class Learned(msgspec.Struct, frozen=True, gc=False):
    """One sample as it was learned, so that exactly this can be unlearned."""

    key: Value
    encoded: Payload  # as the learner encoded it; given by the engine
    label: Value
    weight: float
    clock: int | None  # the learner's clock after learning it; None if the learner has no clock
    since: float  # the stream time at which it was first learned
    # of the record that brought the label, or stream time if it had none; None in a stream without times
    time: float | None = None
    partition: int = 0  # the number of the one that the sample came from: it goes with that to another shard


class Predict(msgspec.Struct, frozen=True, gc=False):
    """Predict the sample, then call `predicted(action, prediction)`."""

    event: Event


class Learn(msgspec.Struct, frozen=True, gc=False):
    """Learn the sample with this label, then call `learned(action, encoded, clock)`. Do not call it if the learner
    refuses.
    """

    event: Event  # the sample; its features and weight are learned, and those of the label's event ignored
    label: Value
    # made when the sample arrived, to be scored against the label
    prediction: Any  # whatever the engine predicts with
    time: float | None = None  # of the record that brought the label


class Relearn(msgspec.Struct, frozen=True, gc=False):
    """Unlearn the sample, learn it with another label, then call `learned(action, encoded, clock)`.

    If the learner refuses the label, leave the sample as it was and do not call `learned`. A correction is not scored:
    the prediction was scored against the first label.
    """

    event: Event  # the label or correction
    was: Learned  # the sample as it was learned
    label: Value  # the correct one


class Unlearn(msgspec.Struct, frozen=True, gc=False):
    """Unlearn the sample."""

    event: Event  # the tombstone
    was: Learned  # the sample as it was learned


class Refuse(msgspec.Struct, frozen=True, gc=False):
    """Send the event to the dead letters. It has changed nothing."""

    event: Event  # a label that waited has lost its features
    reason: RefusalReason


Action: TypeAlias = Predict | Learn | Relearn | Unlearn | Refuse


def admitted(event: Event) -> Event | RefusalReason:
    """Return the event with key, label and weight in canonical form, or the reason to refuse it.

    Examples
    --------
    >>> from stream_bayes.core.events.event import Kind
    >>> admitted(Event({}, 1, key=b"a", weight=2, kind=Kind.LABEL))
    Event(x={}, y=1, key=b'a', weight=2.0, kind=<Kind.LABEL: 'label'>)
    >>> admitted(Event({"sky": "grey"}))
    <RefusalReason.NO_KEY: 'no_key'>
    """
    kind, key, label, weight = event.kind, event.key, event.y, event.weight
    if type(key) is str and type(weight) is float and 0.0 <= weight <= MOST_WEIGHT:
        if type(label) is str or (label is None and (kind is SAMPLE or kind is TOMBSTONE)):
            return event  # the fast path, for most events
    sound = _weight(weight)
    if sound is None:
        return RefusalReason.BAD_WEIGHT
    try:
        key = None if is_missing(key) else canonical(key)
    except BadValue:
        return RefusalReason.BAD_KEY
    try:
        label = None if is_missing(label) else canonical_label(label)
    except BadLabel:
        return RefusalReason.BAD_LABEL
    if key is None and (kind is not SAMPLE or label is None):
        return RefusalReason.NO_KEY
    if label is None and (kind is LABEL or kind is CORRECTION):
        return RefusalReason.BAD_LABEL
    return replace(event, key=key, y=label, weight=sound)


def keepable(event: Event) -> Event:
    """Return the event in the form that a snapshot saves; raise `BadValue` if that is not possible.

    Examples
    --------
    >>> keepable(Event({"sky": "grey"}, time=5))
    Event(x={'sky': 'grey'}, time=5.0)
    """
    x = plain(event.x)
    time = None if event.time is None else float(event.time)
    return event if x is event.x and time is event.time else replace(event, x=x, time=time)


def without_features(event: Event) -> Event:
    """Return a label's event without its features.

    Examples
    --------
    >>> without_features(Event({"sky": "grey"}, "rain", key="a"))
    Event(x={}, y='rain', key='a')
    """
    return keepable(replace(event, x={}))


def _weight(value: object) -> float | None:
    """Return the weight as a float; None if it is not a valid weight."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    try:
        weight = float(value)
    except OverflowError:
        return None
    return weight if 0.0 <= weight <= MOST_WEIGHT else None
