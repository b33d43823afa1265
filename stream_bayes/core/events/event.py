"""Events of a stream, and their positions in its sources.

A source reads its partitions, each in its own order. A *position* is the number of the record to read next: an offset,
a count of records or of bytes, whatever the source seeks by. Seeking to an event's position reads that event again; the
position after it is `position + length`. State and positions are saved together: load the state, seek to its positions,
continue.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

import msgspec

__all__ = [
    "COMMAND",
    "CORRECTION",
    "LABEL",
    "SAMPLE",
    "TOMBSTONE",
    "BadRecord",
    "Event",
    "Kind",
    "Partition",
    "Position",
    "Record",
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
        The number within the source; 0 if there is only one.

    Examples
    --------
    >>> Partition("orders", 2)
    Partition(source='orders', partition=2)
    """

    source: str
    partition: int = 0


class Slice(NamedTuple):
    """A range of one partition.

    A batch has one slice for each partition, and its order is their merge by time.
    """

    partition: Partition
    start: Position  # the first position
    stop: Position  # the position after the last
    records: int | None = None  # how many are in it, where known: a compacted log has fewer than positions


class Kind(Enum):
    """The kind of an event: the treatment that it requests.

    The value is the kind's name in configuration files and saved states.

    Examples
    --------
    >>> Kind("label")
    <Kind.LABEL: 'label'>
    """

    SAMPLE = "sample"
    """Predict `x`. With a label, score the prediction and learn; without one, wait for the label of `key`."""

    LABEL = "label"
    """`y` is the label of the sample with this key, which has arrived or will arrive. `x` is empty."""

    CORRECTION = "correction"
    """The sample with this key had a wrong label; `y` is the correct one. `x` is empty."""

    TOMBSTONE = "tombstone"
    """The sample with this key was deleted at its source. There is neither `x` nor `y`."""

    COMMAND = "command"
    """An operator's command to the pipeline, in `x`; see `unlearn_spans`. A source has no records of this kind."""


# For code that compares kinds often: access to an enum member takes as long as making an event.
SAMPLE, LABEL, CORRECTION, TOMBSTONE, COMMAND = Kind

# Defaults that are left out of an event's repr, which compares by identity.
SOMEWHERE = Partition("stream")
ONE = 1.0


class Event(msgspec.Struct, frozen=True, gc=False, repr_omit_defaults=True):
    """One record of a stream, decoded.

    Immutable; `x` is stored without a copy, so do not change it afterwards. Events with equal fields are equal. Nothing
    is checked here: the decoder checks the record, the learner checks `x`, `y` and `weight`. Making an event takes a
    tenth of a microsecond.

    Parameters
    ----------
    x
        The features, `{name: value}`.
    y
        The label; None if it is unknown.
    key
        The key by which labels and corrections refer to the sample; None without a key.
    time
        The event time, in seconds since 1970 UTC; None if it is unknown.
    position
        The position in its partition.
    weight
        The number of samples that it counts as.
    kind
        The kind of event.
    partition
        The partition that it was read from.
    length
        The number of positions that it takes: 1, or its bytes if positions count bytes.

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

    # Not tracked by the garbage collector (gc=False): no event can contain itself, and a stream makes 150,000 a second.

    x: Mapping[Any, Any]
    y: Any = None  # a label as in `core.values.values`
    key: Any = None
    time: float | None = None
    position: Position = 0
    weight: float = ONE
    kind: Kind = Kind.SAMPLE
    partition: Partition = SOMEWHERE
    length: int = 1

    @property
    def after(self) -> Position:
        """The position to continue from after this event."""
        return self.position + self.length


class BadRecord(msgspec.Struct, frozen=True, gc=False, repr_omit_defaults=True):
    """A record that could not be decoded. It keeps its place in the stream and goes to the dead letters.

    Parameters
    ----------
    reason
        The reason as one of the words in `stream_bayes.streams.records.decoders`, for counting.
    detail
        The reason in full: what was expected, and what came. It contains nothing of the record.
    raw
        The beginning of the record, unchanged.
    key, time, position, partition, length
        As for `Event`, if they could be read.

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
        """The position to continue from after this record."""
        return self.position + self.length


Record: TypeAlias = Event | BadRecord
