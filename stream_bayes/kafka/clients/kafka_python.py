"""Reader and writer over kafka-python.

Some calls go past kafka-python's public methods, which are slow or may wait for ever:

    KafkaProducer._accumulator.append, ._sender.wakeup, .force_close and .join, ._closed
    KafkaProducer._transaction_manager: maybe_add_partition_to_transaction, send_offsets_to_transaction, begin_commit,
        begin_abort
    KafkaConsumer._fetcher._next_partition_records
    KafkaAdminClient._manager.run and .send, ._async_get_leader_for_partitions, and OffsetForLeaderEpochRequest
    KafkaNetClient, its ._net.stop and ._net.close, its .cluster.config, and the logger "kafka.net.manager"

So pyproject.toml bounds kafka-python from above. A test lists these parts; raise the bound after a run of
tests/kafka_broker.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka import errors as kafka_errors
from kafka.net.compat import KafkaNetClient
from kafka.protocol.consumer import OffsetForLeaderEpochRequest
from kafka.structs import OffsetAndMetadata

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import BrokerAway, BrokerError, SinkError, SourceError, StreamBayesError
from stream_bayes.kafka.clients.client import ClientFailed, EpochLost, Interrupted, Message, Send
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.time_limits import CLOSE_SECONDS, GRACE_SECONDS, LOCAL_SECONDS, bounded

__all__ = [
    "PythonReader",
    "PythonWriter",
    "client_failed",
    "fetch_epoch_ends",
    "make_client",
    "not_allowed",
    "position_lost",
    "translated_errors",
    "unreachable",
]

T = TypeVar("T")

logger = logging.getLogger(__name__)

NOT_ALLOWED = (kafka_errors.AuthorizationError, kafka_errors.SaslAuthenticationFailedError)
NOT_ALLOWED_NAME = re.compile(r"\w*(Authorization|Authentication)Failed")
TOO_LARGE = (kafka_errors.MessageSizeTooLargeError, kafka_errors.RecordListTooLargeError)
CONNECTION_LOGGER = "kafka.net.manager"
LOST = (kafka_errors.ProducerFencedError, kafka_errors.InvalidProducerEpochError)
GONE = (
    kafka_errors.OffsetOutOfRangeError,
    kafka_errors.NoOffsetForPartitionError,
    kafka_errors.LogTruncationError,
)
POSITION_SECONDS = 1.0  # for the reader's position, for which the client rarely needs a broker
METADATA_MS = 1000  # for one request for a topic's partitions
DELIVERY_SECONDS = 15  # after which a record fails, and its transaction is tried again


@contextmanager
def translated_errors(connection: Connection) -> Iterator[None]:
    """Translate the client's errors into those of this package."""
    try:
        yield
    except NOT_ALLOWED as error:
        raise not_allowed(connection, _error_name(error)) from error
    except TOO_LARGE as error:
        raise SinkError(
            "a topic accepts only smaller records than the sink writes: raise its max.message.bytes, "
            "or lower max_message_bytes of the sink"
        ) from error
    except kafka_errors.UnsupportedVersionError as error:
        raise BrokerError(
            f"Kafka at {connection} is too old for this; with delivery = 'at-least-once' no transactions are needed"
        ) from error
    except kafka_errors.KafkaError as error:
        # Once a transaction has failed, every later call repeats the first error in its text.
        refusal = NOT_ALLOWED_NAME.search(str(error))
        if refusal is not None:
            raise not_allowed(connection, refusal[0]) from error
        lost = isinstance(error, LOST) or any(kind.__name__ in str(error) for kind in LOST)
        raise (EpochLost if lost else Interrupted)(_message_of(error)) from error
    except StreamBayesError:
        raise
    except Exception as error:
        # An error that ended a thread of the client is raised by the next call.
        raise client_failed(connection, error) from error


def _error_name(error: BaseException) -> str:
    return type(error).__name__.removesuffix("Error")


def _message_of(error: BaseException) -> str:
    """Return an error of the client in a line, with its name once.

    Examples
    --------
    >>> _message_of(kafka_errors.KafkaTimeoutError("no answer in 3 seconds"))
    'KafkaTimeout: no answer in 3 seconds'
    """
    text = " ".join(str(error).split())
    for name in (type(error).__name__, f"[Error {getattr(error, 'errno', None)}] {type(error).__name__}"):
        text = text.removeprefix(name).removeprefix(":").lstrip()
    return f"{_error_name(error)}: {text}".removesuffix(": ")


def make_client(client: Callable[..., T], seconds: float, **settings: Any) -> T:
    """Make a client. On failure, end its thread, and raise a broker's refusal rather than a time-out."""
    parts: list[KafkaNetClient] = []

    def network(**inner: Any) -> KafkaNetClient:
        part = KafkaNetClient(**inner)
        # The client accepts this setting and does not pass it on.
        part.cluster.config["allow_auto_create_topics"] = False
        parts.append(part)
        return part

    refusals = _RefusalFilter()
    log = logging.getLogger(CONNECTION_LOGGER)
    log.addFilter(refusals)
    try:
        return bounded(lambda: client(kafka_client=network, **settings), seconds + GRACE_SECONDS)
    except BaseException:
        for part in parts:
            part._net.stop(1000 * CLOSE_SECONDS)  # or its thread goes on trying to connect
            with suppress(Exception):  # if it did not stop in time; the first error is the one to raise
                part._net.close()
        if refusals.last is not None:
            raise refusals.last from None
        raise
    finally:
        log.removeFilter(refusals)


class _RefusalFilter(logging.Filter):
    """Keeps a broker's refusal of this user: the client only logs it, and tries again until its time is up."""

    def __init__(self) -> None:
        super().__init__()
        self.last: Exception | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        for argument in record.args if isinstance(record.args, tuple) else ():
            if isinstance(argument, NOT_ALLOWED):
                self.last = argument
        return True


class PythonReader:
    """A `Reader` of kafka-python's consumer."""

    def __init__(self, connection: Connection, fetch_max_bytes: int) -> None:
        self._connection = connection
        try:
            with translated_errors(connection):
                self._consumer = make_client(
                    KafkaConsumer,
                    connection.seconds,
                    group_id=None,
                    enable_auto_commit=False,
                    auto_offset_reset="none",
                    isolation_level="read_committed",
                    allow_auto_create_topics=False,
                    fetch_max_bytes=fetch_max_bytes,
                    max_partition_fetch_bytes=min(fetch_max_bytes, 2**20),
                    metrics_enabled=False,
                    **connection.python_settings() | connection.further_settings(KafkaConsumer),
                )
        except Interrupted as error:
            raise unreachable(connection, error) from error
        self._partitions: dict[Any, Partition] = {}

    def assign(self, positions: Mapping[Partition, Position]) -> None:
        self._partitions = {TopicPartition(*partition): partition for partition in positions}
        with translated_errors(self._connection):
            self._consumer.assign(list(self._partitions))
            for place, partition in self._partitions.items():
                self._consumer.seek(place, positions[partition])

    def poll(self, limit: int, seconds: float) -> list[Message]:
        try:
            with translated_errors(self._connection):
                # The client waits for its thread without a limit, and the thread may have ended.
                self._drop_exhausted()
                poll = partial(self._consumer.poll, int(1000 * seconds), limit)
                polled = bounded(poll, seconds + LOCAL_SECONDS)
        except Interrupted as error:
            if isinstance(error.__cause__, GONE):
                raise position_lost() from error
            raise
        return [
            Message(
                self._partitions[place],
                record.offset,
                record.timestamp / 1000 if record.timestamp is not None and record.timestamp >= 0 else None,
                record.key,
                record.value,
                record.leader_epoch,
            )
            for place, records in polled.items()
            for record in records
        ]

    def _drop_exhausted(self) -> None:
        """Drop the client's present portion if nothing is left of it.

        What the client had fetched of a resumed partition takes the place of that portion only if there is none. If no
        other partition has records, it would stay aside for ever.
        """
        fetcher = self._consumer._fetcher
        if not fetcher._next_partition_records:
            fetcher._next_partition_records = None

    def position(self, partition: Partition) -> Position:
        fetch = partial(
            self._consumer.position, TopicPartition(*partition), timeout_ms=1000 * POSITION_SECONDS
        )
        with translated_errors(self._connection):
            position: int | None = bounded(fetch, POSITION_SECONDS + LOCAL_SECONDS)
        if position is None:
            raise Interrupted("the client has no position yet")
        return position

    def pause(self, partitions: Iterable[Partition]) -> None:
        with translated_errors(self._connection):
            self._consumer.pause(*[TopicPartition(*partition) for partition in partitions])

    def resume(self, partitions: Iterable[Partition]) -> None:
        with translated_errors(self._connection):
            self._consumer.resume(*[TopicPartition(*partition) for partition in partitions])

    def close(self) -> None:
        close = partial(self._consumer.close, autocommit=False, timeout_ms=1000 * CLOSE_SECONDS)
        with suppress(BrokerError), translated_errors(self._connection):
            bounded(close, CLOSE_SECONDS + GRACE_SECONDS)


class PythonWriter:
    """A `Writer` of kafka-python's producer."""

    def __init__(
        self, connection: Connection, transactional_id: str | None, seconds: float, max_message_bytes: int
    ) -> None:
        self._connection = connection
        self._timeout = min(seconds, DELIVERY_SECONDS)
        self._sent: list[Any] = []
        self._checks_each_send = transactional_id is None  # a transaction fails with any of its records
        self._known_topics: set[str] = set()
        try:
            with translated_errors(connection):
                self._producer = make_client(
                    KafkaProducer,
                    connection.seconds,
                    transactional_id=transactional_id,
                    transaction_timeout_ms=int(1000 * seconds),
                    delivery_timeout_ms=int(1000 * self._timeout) + 1000,
                    request_timeout_ms=int(1000 * self._timeout) // 2,
                    max_block_ms=int(1000 * connection.seconds),
                    max_request_size=max_message_bytes,
                    linger_ms=5,
                    batch_size=2**16,
                    allow_auto_create_topics=False,
                    metrics_enabled=False,
                    **connection.python_settings() | connection.further_settings(KafkaProducer),
                )
        except Interrupted as error:
            raise unreachable(connection, error) from error

    def fence(self) -> None:
        with translated_errors(self._connection):
            self._producer.init_transactions()

    def begin(self) -> None:
        self._sent = []
        with translated_errors(self._connection):
            self._producer.begin_transaction()

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> Callable[[], int]:
        if topic not in self._known_topics:
            self._fetch_metadata(topic)
        with translated_errors(self._connection):
            future = self._producer.send(topic, value, key, [], partition)
            if future.is_done:
                future.get(timeout=0)
        self._sent.append(future)

        def offset() -> int:
            with translated_errors(self._connection):  # of a commit that another worker overtook
                return int(future.get(timeout=0).offset)

        return offset

    def send_all(self, sends: Iterable[Send]) -> None:
        # Past the client's `send`: that checks sizes and partitions again for every record, and after a full batch
        # wakes its thread for each, which takes longer than everything else.
        append, wake = self._producer._accumulator.append, self._producer._sender.wakeup
        places: dict[tuple[str, int], Any] = {}
        with translated_errors(self._connection):
            for topic, partition, key, value, headers in sends:
                place = places.get((topic, partition))
                if place is None:
                    place = places[topic, partition] = self._join_transaction(topic, partition)
                future, _, is_first, _ = append(place, None, key, value, headers)
                if is_first:  # of its batch: the previous batch is full
                    wake()
                if self._checks_each_send:
                    self._sent.append(future)

    def _join_transaction(self, topic: str, partition: int) -> Any:
        """Add a partition to the transaction, if there is one."""
        if topic not in self._known_topics:
            self._fetch_metadata(topic)
        place = TopicPartition(topic, partition)
        if not self._checks_each_send:
            self._transaction.maybe_add_partition_to_transaction(place)
        return place

    def _fetch_metadata(self, topic: str) -> None:
        """Let the client fetch a topic's partitions; retry every second, for a request may get lost."""
        config = self._producer.config
        max_block = config["max_block_ms"]
        config["max_block_ms"] = METADATA_MS
        try:
            for attempts_left in reversed(range(max(1, max_block // METADATA_MS))):
                try:
                    with translated_errors(self._connection):
                        self._producer.partitions_for(topic)
                    break
                except Interrupted:
                    if not attempts_left:
                        raise
        finally:
            config["max_block_ms"] = max_block
        self._known_topics.add(topic)

    def send_offsets(self, group: str, positions: Mapping[Partition, Position]) -> None:
        offsets = {TopicPartition(*part): OffsetAndMetadata(at, "", -1) for part, at in positions.items()}
        self._call(self._transaction.send_offsets_to_transaction, offsets, group)

    def add_partitions(self, partitions: Iterable[Partition], group: str) -> None:
        """Add partitions and a group's offsets to the transaction without writing to them, so that it ends there."""
        with translated_errors(self._connection):
            for partition in partitions:
                self._join_transaction(*partition)
        self.send_offsets(group, {})

    def commit(self) -> None:
        self._call(self._transaction.begin_commit)

    def abort(self) -> None:
        self._call(self._transaction.begin_abort)

    @property
    def _transaction(self) -> Any:
        return self._producer._transaction_manager

    def _call(self, request: Callable[..., Any], *arguments: Any) -> None:
        """Make a request and wait for its answer: the client's own methods wait for ever if no broker answers."""
        with translated_errors(self._connection):
            result = request(*arguments)
            self._producer._sender.wakeup()
            if not result.wait(1000 * self._timeout):
                raise kafka_errors.KafkaTimeoutError(f"no answer in {self._timeout:g} seconds")

    def flush(self) -> None:
        sent, self._sent = self._sent, []
        with translated_errors(self._connection):
            self._producer.flush(timeout=self._producer.config["delivery_timeout_ms"] / 1000)
            for future in sent:
                future.get(timeout=0)

    def close(self) -> None:
        # First of all: `close` alone leaves the thread running while there is something to send.
        sender = self._producer._sender
        with suppress(BrokerError), translated_errors(self._connection):
            sender.force_close()
            sender.join(CLOSE_SECONDS)
            self._producer.close(timeout=0)
        self._producer._closed = True  # else its `__del__` waits for what was not sent


async def fetch_epoch_ends(admin: Any, wanted: Mapping[Any, int]) -> dict[Any, tuple[int, Position]]:
    """Return the end of an epoch of each partition; those with an error that stays are left out."""
    ends: dict[Any, tuple[int, Position]] = {}
    leaders = await admin._async_get_leader_for_partitions(set(wanted))
    for leader, places in leaders.items():
        by_topic: dict[str, list[Any]] = {}
        for place in places:
            partition = OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition(
                partition=place.partition, current_leader_epoch=-1, leader_epoch=wanted[place]
            )
            by_topic.setdefault(place.topic, []).append(partition)
        request = OffsetForLeaderEpochRequest(replica_id=-1, topics=list(by_topic.items()))
        response = await admin._manager.send(request, node_id=leader)
        for topic in response.topics:
            for answer in topic.partitions:
                fault = kafka_errors.for_code(answer.error_code)
                if fault is kafka_errors.NoError:
                    ends[TopicPartition(topic.topic, answer.partition)] = (
                        answer.leader_epoch,
                        answer.end_offset,
                    )
                elif fault.retriable:
                    raise fault()
    return ends


def not_allowed(connection: Connection, reason: str) -> BrokerError:
    """Return the error for a request that the cluster refuses to this user."""
    return BrokerError(
        f"Kafka at {connection} does not allow it: {reason}; check the user and its permissions"
    )


def unreachable(connection: Connection, error: Exception, seconds: float | None = None) -> BrokerAway:
    """Return the error for a cluster of which no broker answers."""
    return BrokerAway(
        f"no Kafka broker answered at {connection} in {seconds or connection.seconds:g} seconds ({error}); "
        "check the addresses, TLS and the user"
        + (": a broker closes the connections that it refuses" if connection.mechanism else "")
    )


def client_failed(connection: Connection, error: Exception) -> ClientFailed:
    """Return the error for an unexpected error of a client, and log that with its traceback."""
    logger.warning("a client of Kafka at %s failed, and is dropped", connection, exc_info=error)
    return ClientFailed(f"the client failed: {error!r}")


def position_lost() -> SourceError:
    """Return the error for a position outside of the log."""
    return SourceError(
        "a partition no longer holds the position to read next: its records expired before they were read, "
        "or its topic was recreated. Start again: the check at the start names the cause"
    )
