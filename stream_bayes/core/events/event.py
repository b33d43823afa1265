"""What a stream is made of: events, and where in which source they stand.

A source reads its partitions, each in its own order. A *position* is a number that says what is read next: an
offset, a number of records or of bytes, whatever the source seeks by. Seeking to an event's position reads that
event again; the position after it is `position + length`. So state and positions are kept as one thing: load the
state, seek to its positions, go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

import msgspec

__all__ = [
    "CORRECTION",
    "LABEL",
    "SAMPLE",
    "TOMBSTONE",
    "BadRecord",
    "Event",
    "Kind",
    "Partition",
    "Position",
    "Slice",
]

Position: TypeAlias = int  # the next to read


class Partition(NamedTuple):
    """One ordered part of a source: a file, or a partition of a topic.

    Parameters
    ----------
    source
        The source's name.
    partition
        Its number within the source; 0 where there is only one.

    Examples
    --------
    >>> Partition("orders", 2)
    Partition(source='orders', partition=2)
    """

    source: str
    partition: int = 0


class Slice(NamedTuple):
    """A run of one partition that was read without another partition's events in between.

    The slices of a stream, in their order, say in which order its partitions were read.

    Parameters
    ----------
    partition
        Of which partition.
    start, stop
        The first position, and the next to read after the last.
    """

    partition: Partition
    start: Position
    stop: Position


class Kind(Enum):
    """What an event asks for.

    The value is the kind's name in configuration files and saved states.

    Examples
    --------
    >>> Kind("label")
    <Kind.LABEL: 'label'>
    """

    SAMPLE = "sample"
    """Predict `x`. With a label, score the prediction and learn; without one, wait for the label of `key`."""

    LABEL = "label"
    """`y` is the label of the sample with this key, which has come, or will. `x` is empty."""

    CORRECTION = "correction"
    """The sample with this key was given a wrong label; `y` is the right one. `x` is empty."""

    TOMBSTONE = "tombstone"
    """The sample with this key was deleted where it came from. There is neither `x` nor `y`."""


# For code that compares kinds often: looking a member up in its class takes as long as making an event.
SAMPLE, LABEL, CORRECTION, TOMBSTONE = Kind

# The very objects that are left out of an event's repr.
SOMEWHERE = Partition("stream")
ONE = 1.0


class Event(msgspec.Struct, frozen=True, gc=False, repr_omit_defaults=True):
    """One record of a stream, decoded.

    Immutable, though `x` is kept as it is and must not be changed afterwards. Equal to any event with equal fields.
    Nothing is checked here: the decoder has looked at the record, the learner looks at `x`, `y` and `weight`.
    Making one takes a tenth of a microsecond.

    Parameters
    ----------
    x
        The features, `{name: value}`.
    y
        The label; None where it is not known.
    key
        What identifies the sample, so that labels and corrections can name it; None where nothing does.
    time
        When it happened, in seconds since 1970 UTC; None where that is not known.
    position
        Where it stands in its partition.
    weight
        As how many samples it counts.
    kind
        What it asks for.
    partition
        Where it came from.
    length
        How many positions it takes: 1, or its bytes where positions count bytes.

    Examples
    --------
    >>> event = Event({"sky": "grey"}, "rain", position=7)
    >>> event
    Event(x={'sky': 'grey'}, y='rain', position=7)
    >>> event.after
    8
    >>> event == Event({"sky": "grey"}, "rain", position=8)
    False
    """

    # Not tracked by the garbage collector, for no event can hold itself; that spares it 150,000 objects a second.

    x: Mapping[Any, Any]
    y: Any = None  # any label; what may be one is said in `values`
    key: Any = None
    time: float | None = None
    position: Position = 0
    weight: float = ONE
    kind: Kind = Kind.SAMPLE
    partition: Partition = SOMEWHERE
    length: int = 1

    @property
    def after(self) -> Position:
        """The position to go on from once this event is done."""
        return self.position + self.length


class BadRecord(msgspec.Struct, frozen=True, gc=False, repr_omit_defaults=True):
    """A record that could not be decoded. It stands in its place in the stream, and goes to the dead letters.

    Parameters
    ----------
    reason
        Why, in a word of `stream_bayes.streams.records.decoders`, for counting.
    detail
        Why, for people: what was expected, and what came. It holds nothing of the record.
    raw
        The record's beginning, as it came.
    key, time, position, partition, length
        As those of an `Event`, where they could be told.

    Examples
    --------
    >>> BadRecord("not_json", "expected a JSON object, the text ends after 7 bytes", b'{"sky":', position=7).after
    8
    """

    reason: str
    detail: str
    raw: bytes = b""
    key: Any = None
    time: float | None = None
    position: Position = 0
    partition: Partition = SOMEWHERE
    length: int = 1

    @property
    def after(self) -> Position:
        """The position to go on from once this record is done."""
        return self.position + self.length
