"""Shards that no worker has: found once they stay so, and then one member is removed, the same for all workers."""

from __future__ import annotations

from typing import Any

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import BrokerAway
from stream_bayes.kafka.cluster import GroupMember
from stream_bayes.workers.assignment_check import AssignmentCheck

SESSION = 8.0


def member(name: str, *shards: int) -> GroupMember:
    return GroupMember(name, None, frozenset(Partition("p.journal", shard) for shard in shards))


class Group:
    """A cluster with one group."""

    def __init__(self, *members: GroupMember) -> None:
        self.members = frozenset(members)
        self.removed: list[str] = []
        self.is_away = False

    def settled_members(self, group: str, seconds: float) -> frozenset[GroupMember]:
        if self.is_away:
            raise BrokerAway("no broker")
        return self.members

    def remove_member(self, group: str, removed: GroupMember, seconds: float) -> None:
        self.removed.append(removed.member_id)


def checked(group: Any, seconds: float, now: float = 0.0) -> None:
    """Check the group as a worker does that polls ten times a second."""
    moment = now
    check = AssignmentCheck(group, "p", "p.journal", 4, SESSION, lambda: moment)
    for tick in range(int(10 * seconds)):
        moment = now + tick / 10
        check.check()


def test_a_member_with_the_fewest_shards_is_removed_once_a_shard_stays_without_worker() -> None:
    group = Group(member("c", 0), member("b", 1), member("a", 3, 4))
    checked(group, SESSION - 1)
    assert not group.removed  # who gives shards up may still be at it
    checked(group, SESSION + 3)
    assert group.removed == ["b"]


def test_a_group_that_assigns_all_or_rebalances_or_does_not_answer_is_left_alone() -> None:
    for group in (Group(member("a", 0, 1), member("b", 2, 3)), Group(), Group(member("a"))):
        group.is_away = group.members == frozenset({member("a")})
        checked(group, 5 * SESSION)
        assert not group.removed


def test_a_shard_that_moves_while_others_do_is_not_left() -> None:
    group, moment = Group(), 0.0
    found: Any = group
    check = AssignmentCheck(found, "p", "p.journal", 4, SESSION, lambda: moment)
    for tick in range(200):
        moment = float(tick)
        group.members = frozenset({member("a", tick // 4 % 4)})  # another one each time
        check.check()
    assert not group.removed
