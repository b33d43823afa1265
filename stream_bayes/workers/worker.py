"""A worker: runs the shards that the group assigns to it, and sums them with those of the others."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from stream_bayes.errors import BrokerAway, BrokerError
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.cluster import Cluster, GroupMember
from stream_bayes.kafka.membership import Membership, Subscription, join
from stream_bayes.workers.assignment_check import AssignmentCheck
from stream_bayes.workers.product_totals import ModelTotal
from stream_bayes.workers.replicas import Replicas
from stream_bayes.workers.shard import Shard
from stream_bayes.workers.shard_counts import ShardCounts

__all__ = ["Worker"]

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.1
STOP_SECONDS = 30.0
LEAVE_SECONDS = 2.0  # for the request to leave the group
RESTART_SECONDS = 1.0  # after a start at which no broker answered


class Worker:
    """One of the workers of a pipeline.

    Its group is the pipeline's `name`. `prepare` is called first: it checks and creates the topics, and returns the one
    whose partitions are the shards; what it refuses changes nothing. `make_replicas` makes what follows the other
    shards, `make_shard` the shard of a number. `instance_id`, in the group, keeps the worker's shards over a crash;
    None for a member without one. After `session_seconds` without a sign of life the group gives a worker's shards to
    others.

    Attributes
    ----------
    rebalances
        Number of times that shards came or went.
    """

    def __init__(
        self,
        name: str,
        connection: Connection,
        shards: int,
        total: ModelTotal,
        *,
        prepare: Callable[[], str],
        make_replicas: Callable[[], Replicas],
        make_shard: Callable[[int, bool], Shard],
        instance_id: str | None = None,
        session_seconds: float = 10.0,
    ) -> None:
        self.name = name
        self.connection = connection
        self.shards = shards
        self.total = total
        self.instance_id = instance_id
        self.session_seconds = session_seconds
        self.rebalances = 0
        self.replicas: Replicas | None = None
        self._prepare = prepare
        self._make_replicas = make_replicas
        self._make_shard = make_shard
        self._lock = threading.RLock()  # callbacks of the group come in another thread
        self._assigned: set[int] = set()
        self._running: dict[int, Shard] = {}
        self._restart_at: dict[int, float] = {}
        self._ended: set[int] = set()
        self._past = ShardCounts()  # of shards that have ended
        self._is_stopping = False
        self._is_running = False
        self._until_end = False

    @property
    def owned(self) -> Mapping[int, Shard]:
        """The shards that run here, by number. Thread-safe."""
        with self._lock:
            return dict(self._running)

    @property
    def healthy(self) -> bool:
        """True while it takes part in the group, and its shards can read and write. Thread-safe."""
        replicas = self.replicas
        shards = [shard for shard in self.owned.values() if shard.restore_seconds is not None]
        return (
            self._is_running
            and (replicas is None or replicas.failure is None)
            and all(shard.engine.healthy for shard in shards)
        )

    @property
    def counts(self) -> ShardCounts:
        """Counts of this run by this worker's shards, those included that have ended. Thread-safe."""
        total = ShardCounts()
        with self._lock:
            total.add(self._past)
            for shard in self._running.values():
                total.add(shard.counts)
        return total

    def stop(self) -> None:
        """Let the worker end: each shard commits, publishes, and is left to the others. For signal handlers."""
        self._is_stopping = True

    def run(self, until_end: bool = False) -> None:
        """Take part in the group until `stop`, or, with `until_end`, until all shards here have reached their ends.

        Raises
        ------
        StreamBayesError
            If a shard, the group or the model's topic fails.
        """
        self._until_end = until_end
        journal = self._prepare()
        replicas = self.replicas = self._make_replicas()
        member: Membership | None = None
        cluster = Cluster(self.connection)
        check = AssignmentCheck(cluster, self.name, journal, self.shards, self.session_seconds)
        has_failed = True
        try:
            replicas.start()
            while not replicas.wait_until_current(POLL_SECONDS) and not self._is_stopping:
                self._raise_failure(replicas)
            if self._is_stopping:
                return
            self._is_running = True
            member = join(
                Subscription(
                    self.connection,
                    self.name,
                    journal,
                    instance_id=self.instance_id,
                    session_seconds=self.session_seconds,
                    assigned=self._on_assigned,
                    revoked=self._on_revoked,
                )
            )
            while not self._is_stopping and not self._is_done():
                try:
                    member.poll(POLL_SECONDS)
                except (BrokerAway, Interrupted) as error:
                    logger.warning("the group %s does not answer: %s", self.name, error)
                    time.sleep(POLL_SECONDS)
                self._check_shards()
                self._raise_failure(replicas)
                check.check()
            has_failed = False
        finally:
            self._is_running = False  # not ready any more
            self._release(set(self._running), STOP_SECONDS)
            if member is not None:
                member_id = member.member_id
                member.close()
                if self.instance_id is not None and not has_failed:
                    self._leave(cluster, member_id, self.instance_id)
            cluster.close()
            replicas.stop()

    # -- the group ----------------------------------------------------------------------------------------------------

    def _leave(self, cluster: Cluster, member_id: str, instance_id: str) -> None:
        """Leave the group as a static member, whose client does not: others get its shards now, not after its session.

        After an error it stays in the group, for it may be back before its session ends.
        """
        try:
            cluster.remove_member(self.name, GroupMember(member_id, instance_id, frozenset()), LEAVE_SECONDS)
        except BrokerError as error:
            logger.warning(
                "the group %s keeps the shards of %s for up to %g seconds: %s",
                self.name,
                instance_id,
                self.session_seconds,
                error,
            )

    def _on_assigned(self, numbers: frozenset[int]) -> None:
        with self._lock:
            self.rebalances += 1
            self._assigned |= numbers  # and started by `run`: this may be the thread of heartbeats

    def _on_revoked(self, numbers: frozenset[int]) -> None:
        with self._lock:
            self.rebalances += 1
            self._assigned -= numbers
        # Shards that do not end in time are fenced by their next owners.
        self._release(set(numbers), self.session_seconds / 2)

    def _start(self, number: int) -> None:
        assert self.replicas is not None
        self._restart_at.pop(number, None)
        self.replicas.own(number)
        shard = self._running[number] = self._make_shard(number, self._until_end)
        shard.publisher.owned = self._count
        shard.start()

    def _count(self) -> int:
        return max(1, len(self._running))

    def _release(self, numbers: set[int], seconds: float) -> None:
        with self._lock:
            leaving = [self._running[number] for number in numbers if number in self._running]
        for shard in leaving:
            shard.stop()
        deadline = time.monotonic() + seconds
        for shard in leaving:
            shard.join(max(0.0, deadline - time.monotonic()))
        with self._lock:
            for shard in leaving:
                self._forget(shard)

    def _forget(self, shard: Shard) -> None:
        if self._running.get(shard.number) is shard:
            del self._running[shard.number]
            self._past.add(shard.counts)
            assert self.replicas is not None
            self.replicas.release(shard.number)

    # -- shards -------------------------------------------------------------------------------------------------------

    def _check_shards(self) -> None:
        """Start shards that came, or found no broker; drop those that others have; raise the errors of the rest."""
        now = time.monotonic()
        with self._lock:
            for number, shard in list(self._running.items()):
                if not shard.has_ended:
                    continue
                if shard.is_fenced:
                    self._forget(shard)
                    self._restart_at[number] = now + self.session_seconds
                elif isinstance(
                    shard.failure, (BrokerAway, Interrupted)
                ):  # shards also move while brokers are away
                    self._forget(shard)
                    self._restart_at[number] = now + RESTART_SECONDS
                elif shard.failure is not None and number in self._assigned:
                    raise shard.failure
                elif self._until_end:
                    self._ended.add(number)
            # Fenced, and still assigned: the other owner is gone again.
            self._restart_at = {
                number: due for number, due in self._restart_at.items() if number in self._assigned
            }
            for number in sorted(self._assigned - set(self._running)):
                if now >= self._restart_at.get(number, now):
                    self._start(number)

    def _is_done(self) -> bool:
        if not self._until_end:
            return False
        with self._lock:
            return bool(self._assigned) and self._assigned == set(self._running) & self._ended

    def _raise_failure(self, replicas: Replicas) -> None:
        if replicas.failure is not None:
            raise replicas.failure

    # -- figures ------------------------------------------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """Return the figures of a run as JSON values."""
        return {
            "records": self.counts.records,
            "shards": sorted(self.owned),
            "rebalances": self.rebalances,
            "publications": 0 if self.replicas is None else self.replicas.applied,
        }
