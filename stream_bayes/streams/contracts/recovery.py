"""The start of a run after an end or a crash: check, resume, replay.

    check -> resume -> replay     at a start
    check -> catch_up -> ...      at a rebuild
    maintain                      between batches
    prune                         after a snapshot
    finish                        at the end
    interrupt                     when the run is to end

Partitions are merged by time, and the order also depends on what had arrived. So the transaction that commits the
results of a batch also holds a journal entry with the batch's slices, one for each partition; their merge is the batch.
A restart replays exactly the batches committed after the snapshot, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.streams.contracts.source import Record

__all__ = ["Recovery", "ResumePoint"]


class ResumePoint(NamedTuple):
    """The part of a snapshot that recovery checks and resumes from."""

    positions: Mapping[Partition, Position]  # the next position to read of each partition
    length: int | None  # `Recovery.length` when the snapshot was taken
    identity: Mapping[str, Any]  # `Recovery.identity` when the snapshot was taken


class Recovery(Protocol):
    """Checks that a run can resume, and replays what was committed after the snapshot.

    A source with one partition needs none. Neither does one whose results are cut back to the snapshot at a start.

    Attributes
    ----------
    name
        Its name in snapshots.
    replays_rebuild
        True if `catch_up` yields what a rebuild is made of. Otherwise the source yields it again, with its results.
    replay_is_listed
        After `resume`: True if a start from a snapshot taken now would replay the same. False if another worker has
        pruned the entries of what a rebuild has still to read: then the first snapshot comes after the replay.
    """

    name: str
    replays_rebuild: bool
    replay_is_listed: bool

    @property
    def ready(self) -> bool:
        """True while results can be committed, as far as is known. Thread-safe."""
        ...

    @property
    def length(self) -> int | None:
        """The journal's length up to the last entry written or replayed, for a snapshot; None without a journal."""
        ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """JSON values that differ between two logs of one name, for a snapshot."""
        ...

    def check(self, point: ResumePoint | None, rebuild: bool) -> None:
        """Check that a run can resume, or begin where there is no snapshot. Change nothing. `point` is the part of the
        snapshot to resume from, or to rebuild; None without a snapshot. `rebuild` is True to derive the state again
        from the log.

        Raises
        ------
        CannotResume
            If events would be lost or counted twice.
        """
        ...

    def resume(self, point: ResumePoint | None, rebuild: bool) -> Mapping[Partition, Position]:
        """Check again, now that no other worker can write. Return the positions to read from.

        Raises
        ------
        CannotResume
            As `check`.
        """
        ...

    def catch_up(self) -> Iterator[Sequence[Record]]:
        """Yield the records committed so far, from the first position on, for a rebuild; `resume` continues after them.
        A second call yields what was committed since the first.

        Change nothing: an earlier worker goes on until `resume`. An empty batch means that nothing has arrived yet.
        """
        ...

    def replay(self) -> Iterator[Sequence[Record]]:
        """Yield the records committed after those positions, in the order in which they were committed.

        An empty batch means that nothing has arrived yet; a run may stop there.
        """
        ...

    def maintain(self, positions: Mapping[Partition, Position]) -> None:
        """Do periodic work. Called between batches, with the next positions to read."""
        ...

    def prune(self, length: int, positions: Mapping[Partition, Position]) -> None:
        """Delete the journal below a length: no snapshot resumes from there any more."""
        ...

    def finish(self, positions: Mapping[Partition, Position]) -> None:
        """Commit what is left at the end of a run, after the last snapshot."""
        ...

    def interrupt(self) -> None:
        """End waiting for a cluster that does not answer: the run is to end. May be called from a signal handler."""
        ...
