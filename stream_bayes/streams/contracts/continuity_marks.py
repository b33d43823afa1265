"""Marks: what shows that a source still holds what was read from it, and an output what was written to it: a file may
have been begun anew under its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import BadState
from stream_bayes.streams.contracts.source import Source

__all__ = [
    "HasEndMark",
    "HasMarks",
    "ReadMark",
    "check_ends",
    "check_marks",
    "ends_state",
    "marks_of",
    "marks_state",
]


class ReadMark(NamedTuple):
    """A checksum of what was read, or written, before a position."""

    position: Position
    checksum: int


@runtime_checkable
class HasMarks(Protocol):
    """A source that can tell whether it still holds what was read from it."""

    def marks(self, positions: Mapping[Partition, Position], /) -> Mapping[Partition, ReadMark]:
        """Return a mark at or shortly before each of these positions; none of a partition of which nothing was read."""
        ...

    def check_marks(self, marks: Mapping[Partition, ReadMark], /) -> None:
        """Compare marks with what stands before them now. Called after `seek`.

        Raises
        ------
        SourceError
            If it is not what was read.
        """
        ...


def marks_of(source: Source, positions: Mapping[Partition, Position]) -> Mapping[Partition, ReadMark]:
    """Return the marks of a source at these positions; none of a source that has no marks."""
    return source.marks(positions) if isinstance(source, HasMarks) else {}


def marks_state(source: Source, positions: Mapping[Partition, Position]) -> list[list[Any]]:
    """Return the marks of a source as JSON values: the source, the partition, the position and the checksum of each."""
    return [[*part, *mark] for part, mark in marks_of(source, positions).items()]


def check_marks(source: Source, marks: Mapping[Partition, ReadMark] | list[list[Any]]) -> None:
    """Check the marks, as they are or as JSON values, that are of this source.

    Raises
    ------
    SourceError
        If it does not hold what was read.
    BadState
        If the values are no marks.
    """
    if not isinstance(source, HasMarks):
        return
    if isinstance(marks, Mapping):
        source.check_marks(marks)
        return
    try:
        source.check_marks(
            {Partition(name, part): ReadMark(position, checksum) for name, part, position, checksum in marks}
        )
    except (TypeError, ValueError) as error:
        raise BadState(f"the snapshot's marks of what was read are damaged: {error}") from error


@runtime_checkable
class HasEndMark(Protocol):
    """A sink that can tell whether it still holds what was written to it."""

    name: str

    def end_mark(self) -> ReadMark:
        """Return a mark at the end of what was written. Called after `sync`."""
        ...

    def check_end(self, mark: ReadMark, /) -> None:
        """Compare a mark with what stands before it now. Called before `open`, which cuts off what comes after it.

        Raises
        ------
        SinkError
            If it is not what was written.
        """
        ...


def ends_state(sinks: Iterable[object]) -> dict[str, list[int]]:
    """Return the end marks of sinks as JSON values by the sink's name."""
    return {sink.name: list(sink.end_mark()) for sink in sinks if isinstance(sink, HasEndMark)}


def check_ends(sinks: Iterable[object], saved: Mapping[str, Sequence[int]]) -> None:
    """Check the end marks that are of these sinks.

    Raises
    ------
    SinkError
        If one does not hold what was written.
    BadState
        If the values are no marks.
    """
    for sink in sinks:
        if isinstance(sink, HasEndMark) and sink.name in saved:
            try:
                position, checksum = saved[sink.name]
                sink.check_end(ReadMark(position, checksum))
            except (TypeError, ValueError) as error:
                raise BadState(f"the snapshot's mark of what was written is damaged: {error}") from error
