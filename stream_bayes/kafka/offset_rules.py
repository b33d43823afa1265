"""The rules of offsets at a start: do a log, its committed positions, its journal and a snapshot belong together?

    S   the positions in the snapshot
    C   the committed positions: those that have results
    log         beginning <= S <= C <= end
    snapshot    of this cluster and of these topics, not of others with the same names (`topic_identity`)
    history     the record before S, and that before C, are still those that were read (`read_trail`)
    rebuild     the log still holds what the state was made of, from its first position to C

Anything else is refused with an error that names the remedy, and what that costs. A guess would lose events or count
them twice.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.errors import CannotResume
from stream_bayes.kafka.clients.record_marks import Mark
from stream_bayes.streams.contracts.recovery import ResumePoint

__all__ = [
    "ClusterState",
    "Reached",
    "RebuildCost",
    "check_agreement",
    "check_first",
    "check_history",
    "check_journal",
    "check_not_above",
    "check_not_below",
    "check_rebuild",
    "expired_positions",
    "partition_names",
    "rebuild_cost",
    "resume_positions",
    "slices_text",
]

logger = logging.getLogger(__name__)


class RebuildCost(NamedTuple):
    """The price of a rebuild: the part of the present state that the log no longer holds."""

    total: int  # positions that the state was made of
    left: int  # those of them that the log still holds
    gone: Mapping[Partition, str]  # the partitions that have lost some, each with the reason

    def __str__(self) -> str:
        if not self.gone:
            return f"the log still holds all {self.total:,} positions that the state was made of"
        reasons = ", ".join(f"{partition_names([part])} {reason}" for part, reason in self.gone.items())
        count = f"{self.left:,} of the {self.total:,} positions"
        return f"the log still holds {count} that the state was made of: {reasons}"


class Reached(NamedTuple):
    """Positions that earlier runs have reached, and the log they are of."""

    positions: Mapping[Partition, Position]  # the newest known ones: C, or S without a journal
    identity: Mapping[str, Any]  # the ids of cluster and topics then; empty if unknown
    origins: Mapping[Partition, Position]  # the positions at which they began, where known
    marks: Mapping[Partition, Mark]  # the records before the positions, where known


class ClusterState(NamedTuple):
    """The state of the cluster at a start."""

    pipeline: str
    identity: Mapping[str, Any]  # the ids of the cluster and of each topic
    beginnings: Mapping[Partition, Position]  # the first position that each partition holds
    ends: Mapping[Partition, Position]  # the position after the last of each partition
    committed: Mapping[Partition, Position]  # stored for the consumer group of the pipeline
    cost: RebuildCost | None = None  # of a rebuild; None if that is unknown
    can_rebuild: bool = True  # False for a shard: its pipeline can only begin anew

    def rebuild_remedy(self) -> str:
        """Return the advice to rebuild, and its price, as the end of a sentence."""
        if not self.can_rebuild:
            return "give the pipeline another name to begin anew: with [workers] there is no rebuild"
        if self.cost is None or not self.cost.total:
            return "start with --rebuild, which reads the log again and writes nothing twice"
        if not self.cost.gone:
            return f"start with --rebuild, which reads the log again and writes nothing twice: {self.cost}"
        return f"start with --rebuild --accept-gap, which makes a smaller model: {self.cost}"

    def is_same(self, topic: str, recorded: Mapping[str, Any]) -> bool:
        """Return True if a topic is the one of a recorded identity, or nothing was recorded."""
        if not recorded:
            return True
        if recorded["cluster"] != self.identity["cluster"]:
            return False
        ids: Mapping[str, str] = recorded["topics"]
        return topic not in ids or ids[topic] == self.identity["topics"].get(topic)


def rebuild_cost(
    state: ClusterState,
    reached: Reached,
    starts: Mapping[Partition, Position],
    tails: Mapping[Partition, Position | None],
) -> RebuildCost:
    """Return what a rebuild costs. It would begin at `starts`. `tails` are those that `check_history` takes."""
    total = left = 0
    gone: dict[Partition, str] = {}
    for partition, position in sorted(reached.positions.items()):
        origin = reached.origins.get(partition, 0)
        count = max(0, position - origin)
        if not state.is_same(partition.source, reached.identity) or partition not in state.ends:
            kept, reason = 0, "is another log now"
        else:
            begin = max(origin, starts.get(partition, 0))
            end, reason = (
                min(position, state.ends[partition]),
                f"began at {origin}, and begins at {begin} now",
            )
            if partition not in reached.origins:
                reason = f"begins at {begin} now, and where it began is not recorded"
            if end < position:
                reason = f"was read up to {position}, and ends at {end}"
            tail = tails.get(partition, position)
            if tail is None or tail < end:
                end = 0 if tail is None else tail
                reason = "holds other records" if tail is None else f"holds other records from {tail} on"
            kept = min(count, max(0, end - begin))
        total, left = total + count, left + kept
        if kept < count:
            gone[partition] = reason
    return RebuildCost(total, left, gone)


def check_rebuild(state: ClusterState, accept: bool) -> None:
    """Refuse a rebuild that would lose samples, unless that is accepted."""
    cost = state.cost
    if cost is None or not cost.gone:
        return
    if not accept:
        raise CannotResume(
            f"a rebuild of {state.pipeline!r} would make a smaller model: {cost}. Nothing was changed. Start without "
            "--rebuild to keep the present state, or add --accept-gap to rebuild from what is left"
        )
    logger.warning("%s is rebuilt from less: %s", state.pipeline, cost)


def check_first(state: ClusterState, committed: Mapping[Partition, Position]) -> None:
    """Refuse to begin without a snapshot where results were committed."""
    beyond = [partition for partition, position in committed.items() if position > 0]
    if beyond:
        raise CannotResume(
            f"{state.pipeline!r} has committed results up to {positions_text(committed, beyond)}, and there is no "
            f"snapshot: its model is lost. Restore the directory of its snapshots, or {state.rebuild_remedy()}"
        )


def check_history(
    state: ClusterState, positions: Mapping[Partition, Position], tails: Mapping[Partition, Position | None]
) -> None:
    """Refuse a log that lost its end and grew again. `tails` are the partitions that do not hold what was read, and
    from where on; None if that is unknown.
    """
    if not tails:
        return
    where = [
        f"{partition_names([part])} was read up to {positions[part]}, and {_tail_text(tail, state.ends[part])}"
        for part, tail in sorted(tails.items())
    ]
    raise CannotResume(
        f"the log of {state.pipeline!r} lost its end: {', '.join(where)}. The state has records that are gone, and "
        f"those in their place were never read. Restore the log, or {state.rebuild_remedy()}"
    )


def _tail_text(tail: Position | None, end: Position) -> str:
    if tail == end:
        return f"ends at {end} now"
    return "has other records before that now" if tail is None else f"has other records from {tail} on now"


def expired_positions(state: ClusterState, point: ResumePoint, accept: bool) -> dict[Partition, int]:
    """Return the number of positions after the snapshot that each partition has lost.

    Raises
    ------
    CannotResume
        If any are lost and `accept` is False, or if a partition ends before the snapshot.
    """
    gone = sorted(set(point.positions) - set(state.ends))
    if gone:
        raise CannotResume(
            f"the snapshot has positions of {partition_names(gone)}, which does not exist: its topic was recreated "
            f"with fewer partitions. To begin again, {state.rebuild_remedy()}"
        )
    short = [part for part, at in point.positions.items() if state.ends[part] < at]
    if short:
        raise CannotResume(
            f"the snapshot has {positions_text(point.positions, short)}, and the log ends with "
            f"{positions_text(state.ends, short)}: it was recreated, or lost its end. Restore it, or "
            f"{state.rebuild_remedy()}"
        )
    lost = {part: state.beginnings[part] - at for part, at in point.positions.items()}
    gaps = {part: count for part, count in lost.items() if count > 0}
    if gaps and not accept:
        raise CannotResume(
            f"the snapshot has {positions_text(point.positions, gaps)}, and the log begins with "
            f"{positions_text(state.beginnings, gaps)}: {sum(gaps.values())} positions have expired unread. Start with "
            "--accept-gap to keep the model and go on without them, and let the topic keep its records for longer than "
            "the oldest snapshot"
        )
    for partition, count in gaps.items():
        logger.warning("%s: %d positions have expired and are skipped", partition_names([partition]), count)
    return gaps


def check_journal(state: ClusterState, point: ResumePoint, beginning: Position | None, end: Position) -> None:
    """Refuse a journal that does not hold everything after the snapshot. `beginning` and `end` are the offsets of the
    journal's first entry and after its last; `beginning` is None without a journal.
    """
    length = point.length or 0
    if beginning is None or end < length:
        raise CannotResume(
            f"the journal of {state.pipeline!r} is gone, or ends at {end}, and the snapshot needs it up to {length}: "
            "it was deleted or recreated, so the committed positions are unknown. "
            f"Restore it, or {state.rebuild_remedy()}"
        )
    if beginning > length:
        raise CannotResume(
            f"the journal of {state.pipeline!r} begins at {beginning}, and the snapshot resumes from {length}: "
            f"it belongs to newer snapshots. Restore those, or {state.rebuild_remedy()}"
        )


def check_not_below(
    state: ClusterState, point: ResumePoint, by_workers: Collection[Partition] = frozenset()
) -> None:
    """Refuse positions of the group that were moved back, but those that a worker of the pipeline committed."""
    below = [
        part
        for part, at in state.committed.items()
        if at < point.positions.get(part, 0) and part not in by_workers
    ]
    if below:
        raise CannotResume(
            f"the committed positions of {state.pipeline!r} are {positions_text(state.committed, below)}, below those "
            f"of the snapshot, {positions_text(point.positions, below)}: they were moved back, or are another "
            f"pipeline's. Move them to where they were, delete them, or {state.rebuild_remedy()}"
        )


def check_not_above(state: ClusterState, committed: Mapping[Partition, Position]) -> None:
    """Refuse positions of the group above those of the journal: either may be wrong, and a guess would repeat results.
    `committed` is according to the journal, or to a snapshot after it.
    """
    above = [part for part, at in committed.items() if part in state.committed and state.committed[part] > at]
    if not above:
        return
    remedy = (
        f"If the journal is right, move them there or delete them. If they are, delete the topic "
        f"'{state.pipeline}.journal' and start with --rebuild"
        if state.can_rebuild
        else "Move them to those of the journal if it is right, or give the pipeline another name to begin anew"
    )
    raise CannotResume(
        f"the committed positions of {state.pipeline!r} are {positions_text(state.committed, above)}, above those in "
        f"its journal, {positions_text(committed, above)}: they were moved, or the journal lost its end. {remedy}"
    )


def check_agreement(
    state: ClusterState, committed: Mapping[Partition, Position], repeated: Sequence[Slice] = ()
) -> bool:
    """Refuse positions of the group that differ from the journal's. Return True if they are to be stored again. `state`
    must be that after other workers were fenced. `committed` is according to the journal. `repeated` are the ranges
    that are in it twice: the group may have the end of the second.
    """
    check_not_above(state, committed)
    ends = {(part.partition, part.stop) for part in repeated}
    other = [part for part, at in state.committed.items() if at != committed.get(part, at)]
    wrong = [part for part in other if (part, state.committed[part]) not in ends]
    if wrong:
        raise CannotResume(
            f"the committed positions of {state.pipeline!r} are {positions_text(state.committed, wrong)}, and those in "
            f"its journal are {positions_text(committed, wrong)}: they were moved back. Move them to those of the "
            f"journal, delete them, or {state.rebuild_remedy()}"
        )
    return bool(other) or any(part not in state.committed for part, at in committed.items() if at > 0)


def resume_positions(
    state: ClusterState, point: ResumePoint, gaps: Mapping[Partition, int]
) -> dict[Partition, Position]:
    """Return the snapshot's positions, moved past gaps; new partitions start at their beginnings."""
    positions = dict(state.beginnings)
    for partition, position in point.positions.items():
        positions[partition] = position + gaps.get(partition, 0)
    return positions


def partition_names(partitions: Iterable[Partition]) -> str:
    """Return partitions as text for an error.

    Examples
    --------
    >>> partition_names([Partition("days", 0)])
    'days[0]'
    """
    return ", ".join(f"{topic}[{number}]" for topic, number in partitions)


def positions_text(positions: Mapping[Partition, Position], partitions: Iterable[Partition]) -> str:
    """Return the positions of partitions as text for an error.

    Examples
    --------
    >>> positions_text({Partition("days", 0): 7}, [Partition("days", 0)])
    'days[0] at 7'
    """
    return ", ".join(f"{partition_names([partition])} at {positions[partition]}" for partition in partitions)


def slices_text(slices: Iterable[Slice]) -> str:
    """Return ranges as text for an error.

    Examples
    --------
    >>> slices_text([Slice(Partition("days", 0), 20, 30)])
    'days[0] from 20 to 29'
    """
    return ", ".join(f"{partition_names([part[0]])} from {part.start} to {part.stop - 1}" for part in slices)
