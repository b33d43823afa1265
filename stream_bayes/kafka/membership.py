"""Membership in a consumer group that only assigns partitions: nothing of them is fetched.

The group's protocol decides which worker has which shard. It is cooperative: only what moves is revoked. A member that
is static, with an instance id, keeps its partitions over a restart.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from stream_bayes.errors import BrokerAway, BrokerError, Fenced
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.time_limits import CLOSE_SECONDS, GRACE_SECONDS, bounded

__all__ = ["SESSION_SECONDS", "Changed", "Membership", "Subscription", "join"]

logger = logging.getLogger(__name__)

SESSION_SECONDS = 10.0  # without a heartbeat, after which the group gives a member's partitions to others
MOST_HEARTBEAT_MS = 1000  # so that shards move within seconds, however long a session is
JOIN_SECONDS = 60.0  # for one call, which may wait for other members

Changed = Callable[[frozenset[int]], None]


class Membership(Protocol):
    """A member of a group. Its callbacks are called within `poll`, or in a thread of the client."""

    def poll(self, seconds: float) -> None:
        """Take part in the group's protocol for so long.

        Raises
        ------
        Fenced
            If another member has this one's instance id.
        BrokerError
            If the group refuses this member.
        Interrupted
            If no broker answers.
        """
        ...

    @property
    def member_id(self) -> str:
        """The id that the group gave to this member; empty before it joined."""
        ...

    def close(self) -> None:
        """Leave the group; a static member stays in it until its session ends."""
        ...


@dataclass(frozen=True)
class Subscription:
    """A member's subscription: a group on one topic, whose partitions it assigns. All members of a group must use one
    client.
    """

    connection: Connection
    group: str
    topic: str  # whose partitions are assigned
    instance_id: str | None  # of a static member
    session_seconds: float  # without a heartbeat after which a member has left
    # Called with the numbers of partitions that came, as `revoked` with those that went. A partition is given to
    # another member when `revoked` returns, unless this member was too late for that.
    assigned: Changed
    revoked: Changed

    @property
    def session_ms(self) -> int:
        """The session's time-out in milliseconds."""
        return int(1000 * self.session_seconds)

    @property
    def heartbeat_ms(self) -> int:
        """Milliseconds between two heartbeats: by the answer, a member learns that the group rebalances."""
        return min(self.session_ms // 4, MOST_HEARTBEAT_MS)

    def on_assigned(self, partitions: Iterable[Any]) -> None:
        """Report partitions that came."""
        numbers = _numbers(partitions)
        logger.info("%s assigned the shards %s", self.group, sorted(numbers))
        self.assigned(numbers)

    def on_revoked(self, partitions: Iterable[Any]) -> None:
        """Report partitions that went."""
        numbers = _numbers(partitions)
        logger.info("%s revoked the shards %s", self.group, sorted(numbers))
        self.revoked(numbers)

    def fenced(self) -> Fenced:
        """Return the error for a second member of one instance id."""
        return Fenced(
            f"another worker of the group {self.group!r} has the instance id {self.instance_id!r}; this one stops. "
            "Give each worker an instance id of its own"
        )

    def inconsistent(self) -> BrokerError:
        """Return the error for members of one group that use two clients."""
        return BrokerError(
            f"the group {self.group!r} has members of another client, or is used by another program: give all workers "
            "of the pipeline one client in [kafka]"
        )


def join(subscription: Subscription) -> Membership:
    """Join a group by the client of its connection."""
    is_python = subscription.connection.client == "kafka-python"
    return PythonMember(subscription) if is_python else ConfluentMember(subscription)


class PythonMember:
    """A member by kafka-python."""

    def __init__(self, subscription: Subscription) -> None:
        from kafka import ConsumerRebalanceListener, KafkaConsumer
        from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

        from stream_bayes.kafka.clients.kafka_python import make_client, translated_errors

        self._subscription = subscription
        connection = subscription.connection
        self._translated = partial(translated_errors, connection)
        member = self

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # the package brings no types
            def on_partitions_assigned(self, assigned: Any) -> None:
                with suppress(Exception):  # fetching nothing is an economy
                    member._consumer.pause(*assigned)
                subscription.on_assigned(assigned)

            def on_partitions_revoked(self, revoked: Any) -> None:
                subscription.on_revoked(revoked)

        settings: dict[str, Any] = {
            "group_id": subscription.group,
            "group_instance_id": subscription.instance_id,
            "session_timeout_ms": subscription.session_ms,
            "heartbeat_interval_ms": subscription.heartbeat_ms,
            "partition_assignment_strategy": [CooperativeStickyAssignor],
            "enable_auto_commit": False,
            "auto_offset_reset": "latest",
            "allow_auto_create_topics": False,
            "metrics_enabled": False,
        }
        self._consumer: Any = make_client(
            KafkaConsumer,
            connection.seconds,
            **settings | connection.python_settings() | connection.further_settings(KafkaConsumer),
        )
        self._await_partitions()
        self._consumer.subscribe([subscription.topic], listener=Listener())

    def _await_partitions(self) -> None:
        """Wait until the client has the partitions: until then it assigns none, and would not assign them later."""
        deadline = time.monotonic() + JOIN_SECONDS
        partitions_now = partial(self._consumer.partitions_for_topic, self._subscription.topic)
        while time.monotonic() < deadline:
            with suppress(BrokerAway, Interrupted), self._translated():
                if bounded(partitions_now, JOIN_SECONDS):
                    return
            time.sleep(0.05)
        logger.warning(
            "the client does not know the partitions of %s after %d seconds",
            self._subscription.topic,
            JOIN_SECONDS,
        )

    def poll(self, seconds: float) -> None:
        from kafka import errors as kafka_errors

        from stream_bayes.kafka.clients import kafka_python_parts as inner

        try:
            with self._translated():
                if inner.are_tried():
                    inner.finish_join(self._consumer)
                bounded(partial(self._consumer.poll, int(1000 * seconds)), seconds + JOIN_SECONDS)
        except Interrupted as error:
            if isinstance(error.__cause__, kafka_errors.FencedInstanceIdError):
                raise self._subscription.fenced() from error
            if isinstance(error.__cause__, kafka_errors.InconsistentGroupProtocolError):
                raise self._subscription.inconsistent() from error
            raise

    @property
    def member_id(self) -> str:
        return str(self._consumer.group_metadata().member_id or "")

    def close(self) -> None:
        close = partial(self._consumer.close, autocommit=False, timeout_ms=1000 * CLOSE_SECONDS)
        with suppress(BrokerError), self._translated():
            bounded(close, CLOSE_SECONDS + JOIN_SECONDS)


class ConfluentMember:
    """A member by confluent-kafka."""

    def __init__(self, subscription: Subscription) -> None:
        from confluent_kafka import Consumer

        from stream_bayes.kafka.clients.confluent import translated_errors

        self._subscription = subscription
        self._translated = partial(translated_errors, subscription.connection)
        settings: dict[str, Any] = subscription.connection.confluent_settings() | {
            "group.id": subscription.group,
            "session.timeout.ms": subscription.session_ms,
            "heartbeat.interval.ms": subscription.heartbeat_ms,
            "partition.assignment.strategy": "cooperative-sticky",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "latest",
        }
        if subscription.instance_id is not None:
            settings["group.instance.id"] = subscription.instance_id
        self._consumer: Any = Consumer(settings, logger=logger)
        with self._translated():
            self._consumer.subscribe(
                [subscription.topic],
                on_assign=self._on_assign,
                on_revoke=self._on_revoke,
                on_lost=self._on_revoke,
            )

    def _on_assign(self, consumer: Any, partitions: Iterable[Any]) -> None:
        partitions = list(partitions)
        consumer.incremental_assign(partitions)
        consumer.pause(partitions)
        self._subscription.on_assigned(partitions)

    def _on_revoke(self, consumer: Any, partitions: Iterable[Any]) -> None:
        self._subscription.on_revoked(partitions)

    def poll(self, seconds: float) -> None:
        from confluent_kafka import KafkaError

        with self._translated():
            message = self._consumer.poll(seconds)
        error = None if message is None else message.error()
        if error is None:
            return
        if error.code() in (KafkaError.FENCED_INSTANCE_ID, KafkaError._FATAL):  # noqa: SLF001  # its public name
            raise self._subscription.fenced()
        if error.code() == KafkaError.INCONSISTENT_GROUP_PROTOCOL:
            raise self._subscription.inconsistent()
        logger.debug("%s: %s", self._subscription.group, error.str())  # the client recovers by itself

    @property
    def member_id(self) -> str:
        return str(self._consumer.memberid() or "")

    def close(self) -> None:
        with suppress(BrokerError), self._translated():
            bounded(self._consumer.close, CLOSE_SECONDS + GRACE_SECONDS + JOIN_SECONDS)


def _numbers(partitions: Iterable[Any]) -> frozenset[int]:
    return frozenset(each.partition for each in partitions)
