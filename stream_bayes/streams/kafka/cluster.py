"""What is asked of a cluster beside its records: topics, offsets, and the one topic that a pipeline makes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

from kafka import KafkaAdminClient, TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import OffsetSpec, TransactionState
from kafka.structs import OffsetAndMetadata

from stream_bayes.by_name import closest
from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import BrokerError
from stream_bayes.streams.kafka.client import Interrupted
from stream_bayes.streams.kafka.connection import Connection
from stream_bayes.streams.kafka.python_client import asking, made, refused, unreachable
from stream_bayes.streams.kafka.time_limits import GRACE_SECONDS, bounded

__all__ = ["Cluster", "Topic"]

T = TypeVar("T")

REQUEST_SECONDS = 5.0  # for one answer
PAUSE = 0.2  # between two attempts
MOST_COPIES = 3  # of a topic that is made here, unless told
DECIDING = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
COMMITTED = (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
DOES_NOT_SAY = (  # because there was none, because it is too old, or not to this user
    kafka_errors.TransactionalIdNotFoundError,
    kafka_errors.UnsupportedVersionError,
    kafka_errors.TransactionalIdAuthorizationFailedError,
)
JOURNAL = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


class Topic(NamedTuple):
    """A topic: what tells it from another one of its name, how many partitions it has, and what this user may do."""

    id: str
    partitions: int
    allowed: frozenset[str]  # such as READ; empty where the cluster does not say


class Cluster:
    """Asks a cluster, and asks again for a while where it does not answer.

    Parameters
    ----------
    connection
        How it is reached.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._admin: KafkaAdminClient | None = None

    def __repr__(self) -> str:
        return f"Cluster({self.connection})"

    def close(self) -> None:
        """Let go of the connections; the next question makes new ones."""
        admin, self._admin = self._admin, None
        if admin is not None:
            with suppress(kafka_errors.KafkaError, Interrupted):
                bounded(admin.close, GRACE_SECONDS)

    # -- questions ----------------------------------------------------------------------------------------------------

    def id(self) -> str:
        """What tells this cluster from others."""
        return str(self._ask(lambda admin: admin.describe_cluster())["cluster_id"])

    def brokers(self) -> int:
        """How many brokers there are."""
        return len(self._ask(lambda admin: admin.describe_cluster())["brokers"])

    def topics(self, names: Iterable[str]) -> dict[str, Topic]:
        """Those of these topics that there are.

        Raises
        ------
        BrokerError
            If one of them may not be seen.
        """
        names = list(names)

        def look(admin: Any) -> list[Any]:
            topics: list[Any] = admin.describe_topics(names)
            for topic in topics:
                _ask_again_after(kafka_errors.for_code(topic["error_code"]))
            return topics

        found = {}
        for told in self._ask(look):
            fault = kafka_errors.for_code(told["error_code"])
            if issubclass(fault, kafka_errors.UnknownTopicOrPartitionError):
                continue
            if fault is not kafka_errors.NoError:
                raise BrokerError(
                    f"topic {told['name']!r} at {self.connection}: {fault.__name__.removesuffix('Error')}; "
                    "check its name, and what this user may do"
                )
            allowed = frozenset(told.get("authorized_operations") or ())
            found[told["name"]] = Topic(str(told.get("topic_id")), len(told["partitions"]), allowed)
        return found

    def existing(self, names: Iterable[str]) -> dict[str, Topic]:
        """These topics.

        Raises
        ------
        BrokerError
            If one of them is not there, or may not be seen.
        """
        names = list(names)
        found = self.topics(names) if names else {}
        missing = [name for name in names if name not in found]
        if missing:
            raise BrokerError(self._without(missing))
        return found

    def check(self, read: Iterable[str], written: Iterable[str]) -> None:
        """Look whether topics are there, and may be read and written; nothing is changed.

        Raises
        ------
        BrokerError
            If not.
        """
        doing = dict.fromkeys(read, "READ") | dict.fromkeys(written, "WRITE")
        for name, topic in self.existing(doing).items():
            if topic.allowed and doing[name] not in topic.allowed:
                raise refused(self.connection, f"this user may not {doing[name].lower()} topic {name!r}")

    def _without(self, missing: list[str]) -> str:
        """What to say of topics that are not there; of a single one, which may have been meant."""
        first, *others = missing
        if others:
            said = f"there are no topics {', '.join(map(repr, missing))} at {self.connection}."
        else:
            meant = closest(first, self._ask(lambda admin: admin.list_topics()))
            said = f"there is no topic {first!r} at {self.connection}{meant}"
        how = f"kafka-topics.sh --create --topic {first}"
        return f"{said} None is made here: mend the name, or make it first, as with {how}"

    def beginnings(self, partitions: Iterable[Partition]) -> dict[Partition, Position]:
        """The first position that each partition still holds."""
        return self._listed(dict.fromkeys(partitions, OffsetSpec.EARLIEST))

    def ends(
        self, partitions: Iterable[Partition], seconds: float | None = None
    ) -> dict[Partition, Position]:
        """The position after the last one that can be read of each partition, transactions that are open left out."""
        return self._listed(dict.fromkeys(partitions, OffsetSpec.LATEST), seconds)

    def lengths(self, partitions: Iterable[Partition]) -> dict[Partition, Position]:
        """The position after the last one of each partition, those of transactions that are open too."""
        return self._listed(dict.fromkeys(partitions, OffsetSpec.LATEST), isolation="read_uncommitted")

    def since(self, partitions: Iterable[Partition], moment: float) -> dict[Partition, Position]:
        """The first position of each partition whose time is this one, in seconds since 1970, or later."""
        partitions = list(partitions)
        found = self._listed(dict.fromkeys(partitions, int(1000 * moment)))
        ends = self.ends(partitions)  # where nothing is as late, -1 was told
        return {part: at if at >= 0 else ends[part] for part, at in found.items()}

    def committed(self, group: str) -> dict[Partition, Position]:
        """The positions that are stored for a group."""
        told = self._ask(lambda admin: admin.list_group_offsets(group))
        stored = told.get(group, {})
        return {Partition(*place): at.offset for place, at in stored.items() if at.offset >= 0}

    def is_deciding(self, transactional_id: str) -> bool:
        """Whether a transaction was committed or aborted just now, and not all of it can be read yet.

        Who commits is told so before the partitions are: for some milliseconds after it they, and the positions of a
        group, are as they were before. A cluster that does not say is taken to have decided.
        """
        return self._state(transactional_id) in DECIDING

    def was_committed(self, transactional_id: str) -> bool | None:
        """Whether the last transaction was decided to be committed; None where the cluster does not say."""
        state = self._state(transactional_id)
        return None if state in (None, TransactionState.EMPTY) else state in COMMITTED

    def _state(self, transactional_id: str) -> Any:
        def look(admin: Any) -> Any:
            with suppress(*DOES_NOT_SAY):
                return admin.describe_transactions([transactional_id])[transactional_id].state
            return None

        return self._ask(look)

    # -- changes ------------------------------------------------------------------------------------------------------

    def commit(self, group: str, positions: Mapping[Partition, Position]) -> None:
        """Store the positions of a group, outside of any transaction.

        Raises
        ------
        BrokerError
            If the cluster refuses it.
        """
        told = {TopicPartition(*part): OffsetAndMetadata(at, "", -1) for part, at in positions.items()}

        def store(admin: Any) -> dict[Any, Any]:
            faults: dict[Any, Any] = admin.alter_group_offsets(group, told)
            for fault in faults.values():
                _ask_again_after(fault)
            return faults

        for place, fault in self._ask(store).items():
            if fault is not kafka_errors.NoError:
                raise BrokerError(
                    f"the positions of group {group!r} in {place.topic} could not be stored: {fault.__name__}; "
                    "check that no other program uses this group, and what this user may do"
                )

    def make_journal(self, name: str, copies: int | None) -> None:
        """Make a topic of one partition that keeps all until it is deleted, unless there is one of that name."""
        if name in self.topics([name]):
            return
        told = {
            "num_partitions": 1,
            "replication_factor": copies or min(MOST_COPIES, self.brokers()),
            "configs": JOURNAL,
        }
        with suppress(_AlreadyThere):
            self._ask(lambda admin: admin.create_topics({name: told}))
        deadline = time.monotonic() + self.connection.seconds
        while name not in self.topics([name]):
            if time.monotonic() > deadline:
                raise BrokerError(f"topic {name!r} was made at {self.connection}, and is not there")
            time.sleep(PAUSE)

    def delete_below(self, partition: Partition, position: Position) -> None:
        """Let the cluster delete what stands before a position."""
        self._ask(lambda admin: admin.delete_records({TopicPartition(*partition): position}))

    # -- asking -------------------------------------------------------------------------------------------------------

    def _listed(
        self,
        wanted: Mapping[Partition, int],
        seconds: float | None = None,
        isolation: str = "read_committed",
    ) -> dict[Partition, Position]:
        if not wanted:
            return {}
        specs = {TopicPartition(*partition): spec for partition, spec in wanted.items()}
        told = self._ask(lambda admin: admin.list_partition_offsets(specs, isolation), seconds)
        return {Partition(*place): found.offset for place, found in told.items()}

    def _ask(self, question: Callable[[Any], T], seconds: float | None = None) -> T:
        """One answer; where there is none, ask again until the time is up.

        Raises
        ------
        BrokerError
            If there is none, or this may not be asked.
        """
        patience = self.connection.seconds if seconds is None else seconds
        deadline = time.monotonic() + patience
        while True:
            try:
                with asking(self.connection):
                    admin = self._connected(deadline)
                    left = max(0.0, deadline - time.monotonic())
                    return bounded(partial(question, admin), left + REQUEST_SECONDS)
            except Interrupted as error:
                cause = error.__cause__
                if isinstance(cause, kafka_errors.TopicAlreadyExistsError):
                    raise _AlreadyThere from error
                self.close()  # it may hold on to a broker that is gone, and ask it again and again
                if time.monotonic() + PAUSE > deadline:
                    raise unreachable(self.connection, error, patience) from error
            time.sleep(PAUSE)

    def _connected(self, deadline: float) -> KafkaAdminClient:
        if self._admin is None:
            settings = self.connection.python_settings()
            patience = max(0.2, deadline - time.monotonic())
            self._admin = made(
                KafkaAdminClient,
                patience,
                **settings | {"bootstrap_timeout_ms": int(1000 * patience)},
                request_timeout_ms=int(1000 * min(REQUEST_SECONDS, self.connection.seconds)),
            )
        return self._admin


def _ask_again_after(fault: type[kafka_errors.KafkaError]) -> None:
    """Raise what goes away by itself, such as a coordinator that is loading, or is another one now."""
    if fault.retriable and not issubclass(fault, kafka_errors.UnknownTopicOrPartitionError):
        raise fault()


class _AlreadyThere(Exception):
    """A topic that was to be made is there: another process was quicker."""
