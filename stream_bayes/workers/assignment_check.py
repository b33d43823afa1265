"""A check for shards that no worker has, although the group has settled.

A member that gives shards up joins the group again, so that these are assigned to others. One with an instance id may
die in between. If it is back before its session ends, the group hands out the assignment as it stands and does not
rebalance: the shards that were given up stay with nobody. Then one member is removed from the group. It joins again,
and the group assigns all shards.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from stream_bayes.errors import BrokerError
from stream_bayes.kafka.cluster import Cluster, GroupMember

__all__ = ["AssignmentCheck"]

logger = logging.getLogger(__name__)

REQUEST_SECONDS = 1.0  # the worker waits for an answer
CHECKS = 4  # for each session's time


class AssignmentCheck:
    """Makes a group rebalance that leaves shards unassigned for longer than a session's time. `topic` is the one whose
    partitions the group assigns; `shards` is their number.
    """

    def __init__(
        self,
        cluster: Cluster,
        group: str,
        topic: str,
        shards: int,
        session_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._group = group
        self._topic = topic
        self._shards = shards
        self._session_seconds = session_seconds
        self._clock = clock
        self._next_at = clock()
        self._seen: frozenset[GroupMember] = frozenset()
        self._since = clock()

    def check(self) -> None:
        """Check the group if that is due."""
        now = self._clock()
        if now < self._next_at:
            return
        self._next_at = now + self._session_seconds / CHECKS
        try:
            members = self._cluster.settled_members(self._group, REQUEST_SECONDS)
            unassigned = self._unassigned(members)
            if not unassigned or members != self._seen:
                self._seen, self._since = members if unassigned else frozenset(), now
            elif now - self._since >= self._session_seconds:
                # All workers choose the same one, whose shards stop for a moment.
                removed = min(members, key=lambda member: (len(member.partitions), member.member_id))
                logger.warning(
                    "the shards %s of %s have no worker; the group assigns all again", unassigned, self._group
                )
                self._since = now
                self._cluster.remove_member(self._group, removed, REQUEST_SECONDS)
        except BrokerError as error:
            logger.debug("the group %s cannot be checked: %s", self._group, error)

    def _unassigned(self, members: frozenset[GroupMember]) -> list[int]:
        """Return the shards that no member has; none without members."""
        if not members:
            return []
        assigned = {
            part.partition for member in members for part in member.partitions if part.source == self._topic
        }
        return sorted(set(range(self._shards)) - assigned)
