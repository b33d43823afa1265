"""Where predictions go, what could not be used, and what was noted of drifts: records committed in batches.

    begin -> write, write, ... -> commit     the outputs of one batch of events, all of them or none
                               -> abort
    sync                                     before a snapshot, between batches

A sink that is no longer whole after a crash is cut back to where the last snapshot left it, and the events after that
are played again; so each event has one output. Where that cannot be done, outputs come at least once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from stream_bayes.core.events.event import Partition, Position, Slice

__all__ = [
    "SCHEMA_VERSION",
    "DeadLetter",
    "DriftEntry",
    "ModelVersion",
    "OfRecord",
    "Output",
    "Result",
    "Sink",
    "positions_after",
]

SCHEMA_VERSION = 1  # of outputs and dead letters; readers can tell a later one


class ModelVersion(msgspec.Struct, frozen=True, gc=False):
    """Which model answered.

    Parameters
    ----------
    name
        The pipeline's name for it.
    generation
        How often its structure has been swapped for a better one.
    configuration
        A digest of its configuration.
    """

    name: str
    generation: int
    configuration: str


class OfRecord(msgspec.Struct, frozen=True, gc=False):
    """What all that is written begins with: the record that it is about.

    Parameters
    ----------
    key, source, partition, position, time
        Those of the record, where they could be told.
    """

    key: Any
    source: str
    partition: int
    position: Position
    time: float | None


class Output(OfRecord, frozen=True, gc=False):
    """The answer to one event.

    Parameters
    ----------
    key, source, partition, position, time
        As in `OfRecord`.
    prediction
        The most probable label; None before anything was learned.
    probabilities
        `{label: probability}`; of what cannot be a name in JSON, such as a number, its JSON text is.
    model
        Which model answered.
    version
        `SCHEMA_VERSION`.
    """

    prediction: Any
    probabilities: Mapping[str, float]
    model: ModelVersion
    version: int = SCHEMA_VERSION


class DeadLetter(OfRecord, frozen=True, gc=False):
    """A record that changed nothing, and why.

    Parameters
    ----------
    key, source, partition, position, time
        As in `OfRecord`.
    reason
        Why, in a word.
    detail
        Why, in a sentence.
    raw
        The record as it came, or its beginning; of an event that could be decoded, its label and features as JSON.
    version
        `SCHEMA_VERSION`.
    """

    reason: str
    detail: str
    raw: bytes
    version: int = SCHEMA_VERSION


class DriftEntry(OfRecord, frozen=True, gc=False):
    """What was noted of a drift.

    Parameters
    ----------
    key, source, partition, position, time
        As in `OfRecord`: the record that it came with.
    what
        What happened, in a word.
    event
        How many events the model had learned.
    told
        All else that the model's log says of it, `{name: JSON value}`.
    version
        `SCHEMA_VERSION`.
    """

    what: str
    event: int
    told: Mapping[str, Any]
    version: int = SCHEMA_VERSION


Result: TypeAlias = Output | DeadLetter | DriftEntry


class Sink(Protocol):
    """Where the engine writes.

    Attributes
    ----------
    name
        Its name in snapshots, unique within a pipeline.
    medium
        `"local"` for what can be cut back to a length, `"kafka"` for a broker's transactions, `"none"` for a sink that
        keeps nothing, and `"outside"` for what can be neither cut back nor taken part in a transaction: there, outputs
        come at least once.
    """

    name: str
    medium: str

    def open(self, length: int | None) -> None:
        """Make ready to write.

        Parameters
        ----------
        length
            What `length` was when the snapshot was taken with which the stream goes on: what was written after it is
            cut off. None for a stream that begins.
        """
        ...

    @property
    def length(self) -> int | None:
        """How much was committed, for a snapshot; None where that is kept elsewhere."""
        ...

    def begin(self) -> None:
        """Begin a batch."""
        ...

    def write(self, results: Sequence[Result]) -> None:
        """Take results of the batch, in order."""
        ...

    def commit(self, slices: Sequence[Slice]) -> None:
        """Make what was written since `begin` last, with what was read for it: all of it or nothing.

        Parameters
        ----------
        slices
            The events that the batch was made from, in the order in which they were taken.
        """
        ...

    def abort(self) -> None:
        """Drop what was written since `begin`."""
        ...

    def sync(self) -> None:
        """Return once what was committed outlasts a power cut.

        To be called before a snapshot that holds `length` is written: a length that a power cut took back could not
        be gone on from.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections; what was not committed is dropped."""
        ...


def positions_after(slices: Sequence[Slice]) -> dict[Partition, Position]:
    """The next position to read of each partition, after slices in their order.

    Examples
    --------
    >>> log = Partition("log")
    >>> positions_after([Slice(log, 0, 5), Slice(log, 5, 9)])
    {Partition(source='log', partition=0): 9}
    """
    return {part.partition: part.stop for part in slices}
