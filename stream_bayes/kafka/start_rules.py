"""The rules of a start: do a log, its committed positions, its journal and a snapshot belong together?

    S   the positions in the snapshot
    C   the committed positions: those that have results
    log         beginning <= S <= C <= end
    snapshot    of this cluster and of these topics, not of others with the same names (`topic_identity`)

Anything else is refused with an error that names the remedy. A guess would lose events or count them twice.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import CannotResume
from stream_bayes.streams.contracts.recovery import ResumePoint

__all__ = [
    "ClusterState",
    "check_agreement",
    "check_first",
    "check_journal",
    "check_not_below",
    "expired_positions",
    "resume_positions",
]

logger = logging.getLogger(__name__)

REBUILD = "or start with rebuild, which reads the log again and writes nothing twice"


class ClusterState(NamedTuple):
    """The state of the cluster at a start.

    Parameters
    ----------
    pipeline
        The pipeline's name.
    identity
        The ids of the cluster and of each topic.
    beginnings, ends
        The first position that each partition holds, and the one after its last.
    committed
        The positions stored for the pipeline's consumer group.
    """

    pipeline: str
    identity: Mapping[str, Any]
    beginnings: Mapping[Partition, Position]
    ends: Mapping[Partition, Position]
    committed: Mapping[Partition, Position]


def check_first(state: ClusterState, committed: Mapping[Partition, Position]) -> None:
    """Refuse to begin without a snapshot where results were committed."""
    beyond = [partition for partition, position in committed.items() if position > 0]
    if beyond:
        raise CannotResume(
            f"{state.pipeline!r} has committed results up to {positions_text(committed, beyond)}, and there is no "
            f"snapshot: its model is lost. Restore the directory of its snapshots, {REBUILD}"
        )


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
            "with fewer partitions. Start with rebuild to begin again"
        )
    short = [part for part, at in point.positions.items() if state.ends[part] < at]
    if short:
        raise CannotResume(
            f"the snapshot has {positions_text(point.positions, short)}, and the log ends with "
            f"{positions_text(state.ends, short)}: it was recreated, or lost its end. Start with rebuild to begin "
            "again with its present records"
        )
    lost = {part: state.beginnings[part] - at for part, at in point.positions.items()}
    gaps = {part: count for part, count in lost.items() if count > 0}
    if gaps and not accept:
        raise CannotResume(
            f"the snapshot has {positions_text(point.positions, gaps)}, and the log begins with "
            f"{positions_text(state.beginnings, gaps)}: {sum(gaps.values())} positions have expired. Start with "
            "accept_gap to go on without them, or with rebuild; and let the topic keep its records longer than the "
            "oldest snapshot"
        )
    for partition, count in gaps.items():
        logger.warning("%s: %d positions have expired and are skipped", partition_names([partition]), count)
    return gaps


def check_journal(state: ClusterState, point: ResumePoint, beginning: Position | None, end: Position) -> None:
    """Refuse a journal that does not hold everything after the snapshot.

    Parameters
    ----------
    state
        The cluster's state.
    point
        The snapshot's part.
    beginning, end
        The offsets of the journal's first entry and after its last; `beginning` is None without a journal.
    """
    length = point.length or 0
    if beginning is None or end < length:
        raise CannotResume(
            f"the journal of {state.pipeline!r} is gone, or ends at {end}, and the snapshot needs it up to {length}: "
            "it was deleted or recreated, so the committed positions are unknown. "
            f"Restore it, {REBUILD}"
        )
    if beginning > length:
        raise CannotResume(
            f"the journal of {state.pipeline!r} begins at {beginning}, and the snapshot resumes from {length}: "
            f"it belongs to newer snapshots. Restore those, {REBUILD}"
        )


def check_not_below(state: ClusterState, point: ResumePoint) -> None:
    """Refuse positions of the group that were moved back."""
    below = [part for part, at in state.committed.items() if at < point.positions.get(part, 0)]
    if below:
        raise CannotResume(
            f"the committed positions of {state.pipeline!r} are {positions_text(state.committed, below)}, below those "
            f"of the snapshot, {positions_text(point.positions, below)}: they were moved back, or are another "
            f"pipeline's. Move them to where they were, delete them, {REBUILD}"
        )


def check_agreement(state: ClusterState, committed: Mapping[Partition, Position]) -> bool:
    """Refuse positions of the group that differ from the journal's. Return True if some are missing in the group.

    Parameters
    ----------
    state
        The cluster's state, after other workers were fenced.
    committed
        The committed positions according to the journal.
    """
    other = [part for part, at in state.committed.items() if at != committed.get(part, at)]
    if other:
        raise CannotResume(
            f"the committed positions of {state.pipeline!r} are {positions_text(state.committed, other)}, and those in "
            f"its journal are {positions_text(committed, other)}: they were moved, or the journal lost its end. Move "
            f"them to those of the journal, delete them, {REBUILD}"
        )
    return any(part not in state.committed for part, at in committed.items() if at > 0)


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
