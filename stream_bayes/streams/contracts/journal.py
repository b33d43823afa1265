"""In which order the partitions of a stream were read, for a replay that takes its events in the same order.

    check -> resume -> replay     at a start
    tend                          between batches
    prune                         after a snapshot
    interrupt                     when the run is to end

Whoever commits results writes an entry of it with them, so that what was committed after a snapshot is known exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.streams.contracts.source import Record

__all__ = ["Journal", "Kept"]


class Kept(NamedTuple):
    """What a snapshot knows of the log that it belongs to.

    Parameters
    ----------
    positions
        The next to read of each partition.
    length
        The journal's `length` when it was taken.
    identity
        The journal's `identity`.
    """

    positions: Mapping[Partition, Position]
    length: int | None
    identity: Mapping[str, Any]


class Journal(Protocol):
    """The slices that a pipeline has taken, one entry a commit, written with the results by whoever commits those.

    A source with one partition needs none; nor does one whose results are cut back to the snapshot at a start.

    Attributes
    ----------
    name
        Its name in snapshots.
    """

    name: str

    @property
    def ready(self) -> bool:
        """Whether entries are taken, as far as is known. May be read by other threads."""
        ...

    @property
    def length(self) -> int | None:
        """How far it goes, for a snapshot: up to the last entry that was written, or replayed."""
        ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """What tells the log from another one of its name, as JSON values, for a snapshot."""
        ...

    def check(self, kept: Kept | None, rebuild: bool) -> None:
        """Look whether a run could go on from a snapshot, or begin where there is none. Nothing is changed.

        Parameters
        ----------
        kept
            What the snapshot knows; None where there is none, or where none is gone on from.
        rebuild
            Whether the state is to be made anew from the log.

        Raises
        ------
        CannotResume
            If events would be lost or counted twice.
        """
        ...

    def resume(self, kept: Kept | None, rebuild: bool) -> Mapping[Partition, Position]:
        """Check again, now that nobody else writes; the positions to go on from.

        Raises
        ------
        CannotResume
            As `check`.
        """
        ...

    def replay(self) -> Iterator[Sequence[Record]]:
        """The records that were committed after those positions, in the order in which they were taken.

        An empty batch says that one must wait: whoever replays may stop there.
        """
        ...

    def tend(self, positions: Mapping[Partition, Position]) -> None:
        """Do what is due now and then. Called between batches, with the next positions to read."""
        ...

    def prune(self, length: int, positions: Mapping[Partition, Position]) -> None:
        """Forget what stands before a length: no snapshot goes on from there any more."""
        ...

    def interrupt(self) -> None:
        """The run is to end: wait for nothing that may never come. May be called from a signal."""
        ...
