"""Whether a log, what was committed of it, and a snapshot belong together; and where to go on from.

    S   the positions in the snapshot
    C   the positions that were committed, with results
    log         beginning <= S <= C <= end
    snapshot    of this cluster and of these topics, not of others that have their names

Anything else is refused, with what to do: to guess would be to lose events or to count them twice.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import CannotResume
from stream_bayes.streams.contracts.recovery import ResumePoint

__all__ = [
    "Found",
    "check_agreement",
    "check_first",
    "check_identity",
    "check_journal",
    "check_not_below",
    "gaps_in",
    "resumed",
]

logger = logging.getLogger(__name__)

REBUILD = "or start with rebuild, which reads the log again and writes nothing twice"


class Found(NamedTuple):
    """What a start finds in the cluster.

    Parameters
    ----------
    pipeline
        The pipeline's name.
    identity
        The cluster's id, and that of each topic.
    beginnings, ends
        What each partition holds.
    committed
        The positions that are stored for the pipeline's group.
    """

    pipeline: str
    identity: Mapping[str, Any]
    beginnings: Mapping[Partition, Position]
    ends: Mapping[Partition, Position]
    committed: Mapping[Partition, Position]


def check_identity(found: Found, told: Mapping[str, Any], where: str) -> None:
    """Refuse another cluster, other topics, and topics that were made anew.

    Parameters
    ----------
    found
        What there is.
    told
        The identity that was written down.
    where
        Where that was.
    """
    if not told:
        return
    cluster = found.identity["cluster"]
    if told["cluster"] != cluster:
        raise CannotResume(
            f"{where} is of Kafka cluster {told['cluster']}, and this one is {cluster}: positions of one mean "
            f"nothing in the other. Mend the servers' addresses, {REBUILD}"
        )
    before, now = told["topics"], found.identity["topics"]
    if set(before) != set(now):
        raise CannotResume(
            f"{where} is of topics {sorted(before)}, and {found.pipeline!r} reads {sorted(now)}: give this pipeline "
            "another name, for what is kept under a name belongs to one pipeline"
        )
    for topic, identity in now.items():
        if before[topic] != identity:
            raise CannotResume(
                f"topic {topic!r} was deleted and made anew since: {where} knows it as {before[topic]}, and now it is "
                f"{identity}. Start with rebuild to begin anew with what it holds now"
            )


def check_first(found: Found, committed: Mapping[Partition, Position]) -> None:
    """Refuse to begin anew where results were committed."""
    beyond = [partition for partition, position in committed.items() if position > 0]
    if beyond:
        raise CannotResume(
            f"{found.pipeline!r} has committed results up to {shown(committed, beyond)}, and there is no snapshot: "
            f"what it had learned is not known. Bring the directory of its snapshots back, {REBUILD}"
        )


def gaps_in(found: Found, point: ResumePoint, accept: bool) -> dict[Partition, int]:
    """How many positions after the snapshot each partition has lost.

    Raises
    ------
    CannotResume
        If any are lost and that is not accepted, or if a partition ends before the snapshot.
    """
    gone = sorted(set(point.positions) - set(found.ends))
    if gone:
        raise CannotResume(
            f"the snapshot knows {places(gone)}, and there is none: its topic was made anew with fewer partitions. "
            "Start with rebuild to begin anew"
        )
    short = [part for part, at in point.positions.items() if found.ends[part] < at]
    if short:
        raise CannotResume(
            f"the snapshot has {shown(point.positions, short)}, and the log ends with {shown(found.ends, short)}: "
            "it was made anew, or lost its end. Start with rebuild to begin anew with what it holds now"
        )
    lost = {part: found.beginnings[part] - at for part, at in point.positions.items()}
    gaps = {part: count for part, count in lost.items() if count > 0}
    if gaps and not accept:
        raise CannotResume(
            f"the snapshot has {shown(point.positions, gaps)}, and the log begins with "
            f"{shown(found.beginnings, gaps)}: {sum(gaps.values())} positions have expired. Start with accept_gap "
            "to go on without them, or with rebuild; and let the topic keep its records longer than the oldest snapshot"
        )
    for partition, count in gaps.items():
        logger.warning("%s: %d positions have expired and are left out", places([partition]), count)
    return gaps


def check_journal(found: Found, point: ResumePoint, beginning: Position | None, end: Position) -> None:
    """Refuse a journal that does not hold what came after the snapshot.

    Parameters
    ----------
    found
        What there is.
    point
        What the snapshot knows.
    beginning, end
        What the journal holds; None where there is no journal.
    """
    length = point.length or 0
    if beginning is None or end < length:
        raise CannotResume(
            f"the journal of {found.pipeline!r} is gone, or ends at {end}, and the snapshot knows it up to {length}: "
            "it was deleted or made anew, so how far results were committed is not known. "
            f"Bring it back, {REBUILD}"
        )
    if beginning > length:
        raise CannotResume(
            f"the journal of {found.pipeline!r} begins at {beginning}, and the snapshot goes on from {length}: "
            f"it belongs to newer snapshots. Bring those back, {REBUILD}"
        )


def check_not_below(found: Found, point: ResumePoint) -> None:
    """Refuse positions of the group that were moved back."""
    below = [part for part, at in found.committed.items() if at < point.positions.get(part, 0)]
    if below:
        raise CannotResume(
            f"the committed positions of {found.pipeline!r} are {shown(found.committed, below)}, below those of the "
            f"snapshot, {shown(point.positions, below)}: they were moved back, or are another pipeline's. "
            f"Move them to where they were, delete them, {REBUILD}"
        )


def check_agreement(found: Found, committed: Mapping[Partition, Position]) -> bool:
    """Refuse positions of the group that are not those of the journal; whether they are to be stored anew.

    Parameters
    ----------
    found
        What there is, now that nobody else writes.
    committed
        Up to where the journal says that results were committed.
    """
    other = [part for part, at in found.committed.items() if at != committed.get(part, at)]
    if other:
        raise CannotResume(
            f"the committed positions of {found.pipeline!r} are {shown(found.committed, other)}, and its journal says "
            f"{shown(committed, other)}: they were moved, or the journal lost its end. Move them to where the journal "
            f"says, delete them, {REBUILD}"
        )
    return any(part not in found.committed for part, at in committed.items() if at > 0)


def resumed(found: Found, point: ResumePoint, gaps: Mapping[Partition, int]) -> dict[Partition, Position]:
    """Where to go on from: the snapshot's positions, gaps skipped; partitions that are new from their beginnings."""
    positions = dict(found.beginnings)
    for partition, position in point.positions.items():
        positions[partition] = position + gaps.get(partition, 0)
    return positions


def places(partitions: Iterable[Partition]) -> str:
    """Partitions, for people.

    Examples
    --------
    >>> places([Partition("days", 0)])
    'days[0]'
    """
    return ", ".join(f"{topic}[{number}]" for topic, number in partitions)


def shown(positions: Mapping[Partition, Position], partitions: Iterable[Partition]) -> str:
    """Positions of these partitions, for people.

    Examples
    --------
    >>> shown({Partition("days", 0): 7}, [Partition("days", 0)])
    'days[0] at 7'
    """
    return ", ".join(f"{places([partition])} at {positions[partition]}" for partition in partitions)
