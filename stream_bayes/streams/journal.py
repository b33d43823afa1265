"""In which order the partitions of a stream were read, for a replay that takes its events in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from stream_bayes.streams.source import Record

__all__ = ["Journal"]


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
    def length(self) -> int | None:
        """How many entries there are, for a snapshot."""
        ...

    def replay(self, length: int | None) -> Iterator[Sequence[Record]]:
        """The records that were taken after the journal had this length, in the order in which they were taken.

        Parameters
        ----------
        length
            What `length` was when the snapshot was taken; None where there is no snapshot.
        """
        ...
