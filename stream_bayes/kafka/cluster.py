"""A cluster besides its records: topics, offsets, transactions, and the one topic that a pipeline creates.

Each request is repeated until a broker answers, or the seconds of the `Connection` are over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

from kafka import KafkaAdminClient, TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType, MemberToRemove, OffsetSpec, TransactionState
from kafka.structs import OffsetAndMetadata

from stream_bayes.checked_names import closest
from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import BrokerError
from stream_bayes.kafka.clients import kafka_python_parts as inner
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.kafka_python import (
    make_client,
    not_allowed,
    translated_errors,
    unreachable,
)
from stream_bayes.kafka.clients.time_limits import GRACE_SECONDS, bounded

__all__ = ["Cluster", "Topic"]

T = TypeVar("T")

REQUEST_SECONDS = 5.0  # for one attempt
RETRY_PAUSE = 0.2  # seconds between two attempts
MAX_REPLICATION_FACTOR = 3  # of a journal, unless given
DECIDING = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
UNCOMMITTED = (TransactionState.EMPTY, TransactionState.ONGOING)
COMMITTED = (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
STATE_UNKNOWN = (  # no such transaction, a cluster that is too old, or a user without permission
    kafka_errors.TransactionalIdNotFoundError,
    kafka_errors.UnsupportedVersionError,
    kafka_errors.TransactionalIdAuthorizationFailedError,
)
COMMITTED_BY = "stream_bayes"  # kept beside the positions that workers commit outside of transactions
SETTLED = "Stable"  # the state of a group that does not rebalance
COMPACT = "compact"
JOURNAL_SETTINGS = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


class Topic(NamedTuple):
    """A topic's id, which a recreated topic does not share, its number of partitions, and this user's permissions."""

    id: str
    partitions: int
    allowed: frozenset[str]  # such as READ; empty if the cluster does not report them


class GroupMember(NamedTuple):
    """A member of a consumer group, its instance id if it is static, and its partitions."""

    member_id: str
    instance_id: str | None
    partitions: frozenset[Partition]


class Cluster:
    """Requests to a cluster about topics, offsets and transactions, repeated for a while until it answers."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._admin: KafkaAdminClient | None = None

    def __repr__(self) -> str:
        return f"Cluster({self.connection})"

    def close(self) -> None:
        """Close the connections. The next request opens new ones."""
        admin, self._admin = self._admin, None
        if admin is not None:
            with suppress(kafka_errors.KafkaError, Interrupted):
                bounded(admin.close, GRACE_SECONDS)

    # -- reading ------------------------------------------------------------------------------------------------------

    def cluster_id(self) -> str:
        """Return the cluster's id."""
        return str(self._call(lambda admin: admin.describe_cluster())["cluster_id"])

    def broker_count(self) -> int:
        """Return the number of brokers."""
        return len(self._call(lambda admin: admin.describe_cluster())["brokers"])

    def topics(self, names: Iterable[str]) -> dict[str, Topic]:
        """Return those of these topics that exist.

        Raises
        ------
        BrokerError
            If the user may not describe one of them.
        """
        names = list(names)

        def describe(admin: Any) -> list[Any]:
            topics: list[Any] = admin.describe_topics(names)
            for topic in topics:
                _raise_if_retriable(kafka_errors.for_code(topic["error_code"]))
            return topics

        by_name = {}
        for answer in self._call(describe):
            fault = kafka_errors.for_code(answer["error_code"])
            if issubclass(fault, kafka_errors.UnknownTopicOrPartitionError):
                continue
            if fault is not kafka_errors.NoError:
                raise BrokerError(
                    f"topic {answer['name']!r} at {self.connection}: {fault.__name__.removesuffix('Error')}; "
                    "check its name and this user's permissions"
                )
            allowed = frozenset(answer.get("authorized_operations") or ())
            by_name[answer["name"]] = Topic(str(answer.get("topic_id")), len(answer["partitions"]), allowed)
        return by_name

    def require_topics(self, names: Iterable[str]) -> dict[str, Topic]:
        """Return these topics.

        Raises
        ------
        BrokerError
            If one of them does not exist, or the user may not describe it.
        """
        names = list(names)
        topics = self.topics(names) if names else {}
        missing = [name for name in names if name not in topics]
        if missing:
            raise BrokerError(self._missing_topics(missing))
        return topics

    def check_topics(self, read: Iterable[str], written: Iterable[str]) -> None:
        """Check that topics exist, and that this user may read and write them. Change nothing.

        Raises
        ------
        BrokerError
            If not.
        """
        needed = dict.fromkeys(read, "READ") | dict.fromkeys(written, "WRITE")
        for name, topic in self.require_topics(needed).items():
            if topic.allowed and needed[name] not in topic.allowed:
                raise not_allowed(self.connection, f"this user may not {needed[name].lower()} topic {name!r}")

    def _missing_topics(self, missing: list[str]) -> str:
        """Return the error's text for topics that do not exist; for a single one, with similar names."""
        first, *others = missing
        if others:
            fault = f"there are no topics {', '.join(map(repr, missing))} at {self.connection}."
        else:
            similar = closest(first, self._call(lambda admin: admin.list_topics()))
            fault = f"there is no topic {first!r} at {self.connection}{similar}"
        remedy = f"kafka-topics.sh --create --topic {first}"
        return f"{fault} Topics are not created here: correct the name, or create it first, as with {remedy}"

    def beginning_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, Position]:
        """Return the first offset that each partition still holds."""
        return self._list_offsets(dict.fromkeys(partitions, OffsetSpec.EARLIEST))

    def end_offsets(
        self, partitions: Iterable[Partition], seconds: float | None = None
    ) -> dict[Partition, Position]:
        """Return each partition's last stable offset: the end of what is readable, before any open transaction."""
        return self._list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST), seconds)

    def high_watermarks(self, partitions: Iterable[Partition]) -> dict[Partition, Position]:
        """Return each partition's high watermark: its end, records of open transactions included."""
        return self._list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST), isolation="read_uncommitted")

    def offsets_at(self, partitions: Iterable[Partition], moment: float) -> dict[Partition, Position]:
        """Return each partition's first offset with a timestamp at or after a moment, in seconds since 1970."""
        partitions = list(partitions)
        offsets = self._list_offsets(dict.fromkeys(partitions, int(1000 * moment)))
        ends = self.end_offsets(partitions)  # -1 stands for partitions without such a record
        return {part: at if at >= 0 else ends[part] for part, at in offsets.items()}

    def epoch_ends(self, epochs: Mapping[Partition, int]) -> dict[Partition, tuple[int, Position]]:
        """Return where the log of a leader epoch ends (KIP-320), and in which epoch that is.

        Returns
        -------
        dict
            The largest epoch up to that one which the partition has, and the offset after its last record; -1 for both
            if the partition has none. Partitions that do not report it, and all of a cluster that is too old or by a
            client that cannot ask, are left out.
        """
        if not epochs or not inner.are_tried():
            return {}
        wanted = {TopicPartition(*partition): epoch for partition, epoch in epochs.items()}
        try:
            ends = self._call(lambda admin: inner.fetch_epoch_ends(admin, wanted))
        except BrokerError as error:
            if isinstance(error.__cause__, kafka_errors.UnsupportedVersionError):
                return {}
            raise
        return {Partition(*part): end for part, end in ends.items()}

    def committed_offsets(self, group: str) -> dict[Partition, Position]:
        """Return the offsets committed by a group."""
        stored = self._call(lambda admin: admin.list_group_offsets(group)).get(group, {})
        return {Partition(*part): at.offset for part, at in stored.items() if at.offset >= 0}

    def committed_by_workers(self, group: str) -> frozenset[Partition]:
        """Return the partitions of which a worker committed the position last, outside of a transaction."""
        stored = self._call(lambda admin: admin.list_group_offsets(group)).get(group, {})
        return frozenset(Partition(*part) for part, at in stored.items() if at.metadata == COMMITTED_BY)

    def settled_members(self, group: str, seconds: float | None = None) -> frozenset[GroupMember]:
        """Return the members of a consumer group that is not rebalancing; none while it is."""
        described = self._call(lambda admin: admin.describe_groups([group]), seconds)[group]
        if described["group_state"] != SETTLED:
            return frozenset()
        return frozenset(
            GroupMember(
                member["member_id"],
                member["group_instance_id"],
                frozenset(
                    Partition(topic["topic"], number)
                    for topic in (member["member_assignment"] or {}).get("assigned_partitions", ())
                    for number in topic["partitions"]
                ),
            )
            for member in described["members"]
        )

    def has_members(self, group: str) -> bool:
        """Return True if a consumer group has members, those included that are silent for less than a session."""
        return bool(self._call(lambda admin: admin.describe_groups([group]))[group]["members"])

    def remove_member(self, group: str, member: GroupMember, seconds: float | None = None) -> None:
        """Remove a member from a consumer group, which rebalances then; one that lives joins again.

        Raises
        ------
        BrokerError
            If the group has another member of this id.
        """
        removed = MemberToRemove(member.member_id, member.instance_id)
        faults = self._call(lambda admin: admin.remove_group_members(group, [removed]), seconds)
        for fault in faults.values():
            if fault not in (kafka_errors.NoError, kafka_errors.UnknownMemberIdError):
                raise BrokerError(f"group {group!r} did not remove {member.instance_id}: {fault.__name__}")

    def is_deciding(self, transactional_id: str) -> bool:
        """Return True while a transaction is decided, and its markers are not yet in all partitions.

        A commit is answered before its markers are written: for some milliseconds partitions and group offsets read as
        before. False if the cluster does not report the state.
        """
        return self._transaction_state(transactional_id) in DECIDING

    def was_committed(self, transactional_id: str) -> bool | None:
        """Return True if the last transaction was decided to be committed; None if the cluster does not report it."""
        state = self._transaction_state(transactional_id)
        return None if state in (None, TransactionState.EMPTY) else state in COMMITTED

    def has_new_owner(self, transactional_id: str) -> bool:
        """Return True if a worker owns the id that has committed nothing under it yet.

        To be called by a worker that lost its epoch, and so has no transaction. After one that took too long the id has
        no new owner.
        """
        return self._transaction_state(transactional_id) in UNCOMMITTED

    def _transaction_state(self, transactional_id: str) -> Any:
        def describe(admin: Any) -> Any:
            with suppress(*STATE_UNKNOWN):
                return admin.describe_transactions([transactional_id])[transactional_id].state
            return None

        return self._call(describe)

    # -- writing ------------------------------------------------------------------------------------------------------

    def commit_offsets(self, group: str, positions: Mapping[Partition, Position]) -> None:
        """Commit the offsets of a group, outside of any transaction.

        Raises
        ------
        BrokerError
            If the cluster refuses it.
        """
        offsets = {
            TopicPartition(*part): OffsetAndMetadata(at, COMMITTED_BY, -1) for part, at in positions.items()
        }

        def store(admin: Any) -> dict[Any, Any]:
            faults: dict[Any, Any] = admin.alter_group_offsets(group, offsets)
            for fault in faults.values():
                _raise_if_retriable(fault)
            return faults

        for target, fault in self._call(store).items():
            if fault is not kafka_errors.NoError:
                raise BrokerError(
                    f"the positions of group {group!r} in {target.topic} could not be stored: {fault.__name__}; "
                    "check that no other program uses this group, and this user's permissions"
                )

    def create_journal(self, name: str, replication_factor: int | None, partitions: int = 1) -> None:
        """Create a topic without retention limits, unless it exists."""
        self._create_topic(name, replication_factor, partitions, JOURNAL_SETTINGS)

    def create_compacted(self, name: str, replication_factor: int | None, partitions: int) -> None:
        """Create a compacted topic, unless it exists."""
        self._create_topic(name, replication_factor, partitions, {"cleanup.policy": COMPACT})

    def check_compacted(self, name: str) -> None:
        """Raise `BrokerError` for a topic that is not compacted; pass if this user may not read its settings."""
        resource = ConfigResource(ConfigResourceType.TOPIC, name)

        def describe(admin: Any) -> Any:
            with suppress(kafka_errors.TopicAuthorizationFailedError, kafka_errors.UnsupportedVersionError):
                return admin.describe_configs([resource], config_filter="all")
            return {}

        settings = self._call(describe).get("topic", {}).get(name, {})
        policy = settings.get("cleanup.policy", {}).get("value")
        if policy not in (None, COMPACT):
            raise BrokerError(
                f"topic {name!r} at {self.connection} has cleanup.policy={policy}, and needs {COMPACT}: others would "
                f"lose what has not changed for long. Set it with kafka-configs.sh --alter --topic {name} --add-config "
                f"cleanup.policy={COMPACT}, or delete the topic, and it is created again"
            )

    def _create_topic(
        self, name: str, replication_factor: int | None, partitions: int, configs: Mapping[str, str]
    ) -> None:
        if name in self.topics([name]):
            return
        settings = {
            "num_partitions": partitions,
            "replication_factor": replication_factor or min(MAX_REPLICATION_FACTOR, self.broker_count()),
            "configs": dict(configs),
        }
        with suppress(_TopicExists):
            self._call(lambda admin: admin.create_topics({name: settings}))
        deadline = time.monotonic() + self.connection.seconds
        while name not in self.topics([name]):
            if time.monotonic() > deadline:
                raise BrokerError(f"topic {name!r} was created at {self.connection}, and does not exist")
            time.sleep(RETRY_PAUSE)

    def delete_records_below(self, partition: Partition, position: Position) -> None:
        """Delete a partition's records below a position."""
        self._call(lambda admin: admin.delete_records({TopicPartition(*partition): position}))

    # -- requests -----------------------------------------------------------------------------------------------------

    def _list_offsets(
        self,
        wanted: Mapping[Partition, int],
        seconds: float | None = None,
        isolation: str = "read_committed",
    ) -> dict[Partition, Position]:
        if not wanted:
            return {}
        specs = {TopicPartition(*partition): spec for partition, spec in wanted.items()}
        offsets = self._call(lambda admin: admin.list_partition_offsets(specs, isolation), seconds)
        return {Partition(*part): offset.offset for part, offset in offsets.items()}

    def _call(self, request: Callable[[Any], T], seconds: float | None = None) -> T:
        """Return the answer to a request, repeated until the time is up.

        Raises
        ------
        BrokerError
            If no broker answers, or the user may not make this request.
        """
        timeout = self.connection.seconds if seconds is None else seconds
        deadline = time.monotonic() + timeout
        while True:
            try:
                with translated_errors(self.connection):
                    admin = self._connect(deadline)
                    left = max(0.0, deadline - time.monotonic())
                    return bounded(partial(request, admin), left + REQUEST_SECONDS)
            except Interrupted as error:
                cause = error.__cause__
                if isinstance(cause, kafka_errors.TopicAlreadyExistsError):
                    raise _TopicExists from error
                self.close()  # a client may stay with a broker that is gone
                if time.monotonic() + RETRY_PAUSE > deadline:
                    raise unreachable(self.connection, error, timeout) from error
            time.sleep(RETRY_PAUSE)

    def _connect(self, deadline: float) -> KafkaAdminClient:
        if self._admin is None:
            settings = self.connection.python_settings()
            settings |= self.connection.further_settings(KafkaAdminClient)
            seconds_left = max(0.2, deadline - time.monotonic())
            self._admin = make_client(
                KafkaAdminClient,
                seconds_left,
                **settings | {"bootstrap_timeout_ms": int(1000 * seconds_left)},
                request_timeout_ms=int(1000 * min(REQUEST_SECONDS, self.connection.seconds)),
            )
        return self._admin


def _raise_if_retriable(fault: type[kafka_errors.KafkaError]) -> None:
    """Raise faults that may pass, such as a coordinator that is loading or has moved."""
    if fault.retriable and not issubclass(fault, kafka_errors.UnknownTopicOrPartitionError):
        raise fault()


class _TopicExists(Exception):
    """The topic to create exists: another process was quicker."""
