"""Where events come from: anything that can be polled, and that can go back to a position.

A source has partitions, each read in its own order, and knows of each the next position to read. Whoever keeps a state
together with the positions after the last event in it can seek there after a crash, and go on as if nothing had been.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias, runtime_checkable

from stream_bayes.core.event import BadRecord, Event, Partition, Position

__all__ = ["HasEnd", "KnowsEnds", "Record", "Source"]

Record: TypeAlias = Event | BadRecord


class Source(Protocol):
    """What the engine reads.

    Attributes
    ----------
    name
        Its name, which its partitions carry.
    medium
        `"local"` for what this process can read again at will, `"kafka"` for a broker's log. With a sink of the same
        medium every event counts exactly once in the outputs too.
    may_skip
        Whether positions may leave some out, as a compacted log does. Otherwise the engine stops at a gap.
    """

    name: str
    medium: str
    may_skip: bool

    @property
    def positions(self) -> Mapping[Partition, Position]:
        """The next position to read of each partition."""
        ...

    def poll(self, limit: int) -> list[Record]:
        """What is there now: at most `limit` records, in order; none where nothing has come yet.

        It returns after a fraction of a second, so that a stream that is silent can still be told to stop.

        Raises
        ------
        Exhausted
            If nothing will come any more.
        """
        ...

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        """Read next from these positions; other partitions from where they begin.

        Raises
        ------
        SourceError
            If it cannot: the position is past the end, or what stood there is gone.
        """
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


@runtime_checkable
class KnowsEnds(Protocol):
    """A source that also knows how far there is something to read, so that its lag can be told.

    Attributes
    ----------
    connected
        Whether it can be read now. Read by other threads.
    """

    connected: bool

    @property
    def ends(self) -> Mapping[Partition, Position]:
        """The position after the last record of each partition, as far as it is known without waiting."""
        ...


@runtime_checkable
class HasEnd(Protocol):
    """A source that goes on waiting where it has been read to its end, and can tell that it is there."""

    def end(self) -> Mapping[Partition, Position]:
        """Where each partition ends now."""
        ...

    def is_past(self, end: Mapping[Partition, Position], /) -> bool:
        """Whether all records before this end were given away; half a record at it is none."""
        ...
