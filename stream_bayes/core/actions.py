"""What the pending store asks the engine to do, and what it remembers of what was done.

    Predict   predict the sample, then call `predicted`
    Learn     learn the sample and score the prediction, then call `learned`
    Relearn   unlearn what was learned, learn it with the other label, then call `learned`
    Unlearn   unlearn what was learned
    Refuse    hand the event to the dead letters

Each names the event it is about. Nothing here does anything.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeAlias

import msgspec

from stream_bayes.core.event import Event
from stream_bayes.core.payloads import Payload
from stream_bayes.core.values import Value

__all__ = ["Action", "Learn", "Learned", "Predict", "Reason", "Refuse", "Relearn", "Unlearn"]


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
