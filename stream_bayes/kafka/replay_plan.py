"""The plan of a replay: the batches that the journal lists after a snapshot, each record once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.errors import CannotResume
from stream_bayes.kafka.journal import JournalRecord
from stream_bayes.kafka.offset_rules import ClusterState, slices_text

__all__ = ["ReplayPlan"]


class ReplayPlan:
    """A start's first positions, and what to replay.

    A journal holds every range once. If two workers answered one, because the first did not notice that the second had
    taken over, it is there twice. Then the first entry counts: each record is learned once, and its results are there
    twice, which the log says.

    What lies between `starts` and `committed` is in no entry, and is replayed first, merged by time; `entries` come
    after that. A replay does not wait for what the log has lost, which `state` shows. `length` is the journal's.

    Attributes
    ----------
    batches
        The entries to replay, with the parts of their ranges that no earlier entry has.
    committed
        The committed positions after the entries.
    repeated
        Ranges that an earlier entry has too.

    Raises
    ------
    CannotResume
        If the entries leave out positions, or only a part of a batch with recorded answers is left to replay.
    """

    def __init__(
        self,
        starts: Mapping[Partition, Position],
        committed: Mapping[Partition, Position],
        entries: Sequence[JournalRecord],
        state: ClusterState,
        length: Position = 0,
    ) -> None:
        self.state = state
        self.length = length
        self.starts = starts
        self.repeated: list[Slice] = []
        self.batches: list[tuple[JournalRecord, list[Slice]]] = []
        self._reached = dict(committed)
        for entry in entries:
            for partition, position in entry.next_positions.items():
                self._reached[partition] = max(position, self._reached.get(partition, position))
            slices = [unread for part in entry.slices_read if (unread := self._unread(part)) is not None]
            if not slices:
                continue
            if entry.tape and slices != entry.slices_read:
                raise CannotResume(
                    f"{slices_text(entry.slices_read)} of {state.pipeline!r} were answered together, and only "
                    f"{slices_text(slices)} are left to replay: another worker answered the rest, or it expired. "
                    "Recorded answers are not taken apart. Give the pipeline another name to begin anew"
                )
            self.batches.append((entry, slices))
        ends = state.ends
        self.committed = {part: min(at, ends[part]) for part, at in self._reached.items() if part in ends}

    def _unread(self, part: Slice) -> Slice | None:
        """Return what of a range no earlier entry has, and what the log still has; None if that is nothing."""
        partition = part.partition
        start = self.starts.get(partition, 0)
        reached = self._reached.get(partition, part.start)
        if part.start > max(reached, start):
            raise CannotResume(
                f"the journal of {self.state.pipeline!r} continues with {slices_text([part])}, and the positions from "
                f"{max(reached, start)} on are in no entry before: entries were removed. Restore the journal, or "
                f"{self.state.rebuild_remedy()}"
            )
        if part.start < reached:
            self.repeated.append(Slice(partition, part.start, min(part.stop, reached)))
        self._reached[partition] = max(part.stop, reached)
        first, stop = max(part.start, reached, start), min(part.stop, self.state.ends.get(partition, 0))
        if first >= stop:
            return None
        return part if (first, stop) == part[1:3] else Slice(partition, first, stop)

    def unrecorded(self) -> tuple[dict[Partition, Position], dict[Partition, Position]]:
        """Return the first and last positions of what was committed before the first entry."""
        first: dict[Partition, Position] = {}
        for _, slices in self.batches:
            for part in slices:
                first.setdefault(part.partition, part.start)
        stops = {part: first.get(part, at) for part, at in self.committed.items()}
        stops = {part: at for part, at in stops.items() if self.starts.get(part, 0) < at}
        return {part: self.starts.get(part, 0) for part in stops}, stops
