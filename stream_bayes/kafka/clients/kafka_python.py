"""Reader and writer over kafka-python.

Where the installed version has been tried, they call its inner parts, all of which are in `kafka_python_parts.py`; with
another version they keep to its public methods.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka import errors as kafka_errors
from kafka.structs import OffsetAndMetadata

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import BrokerAway, BrokerError, SinkError, StreamBayesError
from stream_bayes.kafka.clients import kafka_python_parts as inner
from stream_bayes.kafka.clients.client import (
    ClientFailed,
    EpochLost,
    Interrupted,
    Message,
    Send,
    position_lost,
)
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.time_limits import CLOSE_SECONDS, GRACE_SECONDS, LOCAL_SECONDS, bounded

__all__ = [
    "PythonReader",
    "PythonWriter",
    "client_failed",
    "make_client",
    "not_allowed",
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
    network = inner.NetworkParts() if inner.are_tried() else None
    refusals = _RefusalFilter()
    log = logging.getLogger(CONNECTION_LOGGER)
    log.addFilter(refusals)
    try:
        settings |= network.settings if network else {}
        return bounded(lambda: client(**settings), seconds + GRACE_SECONDS)
    except BaseException:
        if network:
            network.stop()
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
            for part, partition in self._partitions.items():
                self._consumer.seek(part, positions[partition])

    def poll(self, limit: int, seconds: float) -> list[Message]:
        try:
            with translated_errors(self._connection):
                if inner.are_tried():
                    inner.drop_exhausted(self._consumer)
                # The client waits for its thread without a limit, and the thread may have ended.
                poll = partial(self._consumer.poll, int(1000 * seconds), limit)
                polled = bounded(poll, seconds + LOCAL_SECONDS)
        except Interrupted as error:
            if isinstance(error.__cause__, GONE):
                raise position_lost() from error
            raise
        return [
            Message(
                self._partitions[part],
                record.offset,
                record.timestamp / 1000 if record.timestamp is not None and record.timestamp >= 0 else None,
                record.key,
                record.value,
                record.leader_epoch,
            )
            for part, records in polled.items()
            for record in records
        ]

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
        steps = inner.ProducerParts if inner.are_tried() else _PublicSteps
        self._steps = steps(self._producer, self._timeout)

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
        with translated_errors(self._connection):
            futures = self._steps.send_all(sends, self._join_transaction)
        if self._checks_each_send:
            self._sent += futures

    def _join_transaction(self, topic: str, partition: int) -> Any:
        """Return a partition, after it was added to the transaction, if there is one."""
        if topic not in self._known_topics:
            self._fetch_metadata(topic)
        joined = TopicPartition(topic, partition)
        if not self._checks_each_send:
            self._steps.join(joined)
        return joined

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
        with translated_errors(self._connection):
            self._steps.send_offsets(offsets, group)

    def add_partitions(self, partitions: Iterable[Partition], group: str) -> None:
        """Add partitions and a group's offsets to the transaction without writing to them, so that it ends there."""
        with translated_errors(self._connection):
            for partition in partitions:
                self._join_transaction(*partition)
        self.send_offsets(group, {})

    def commit(self) -> None:
        with translated_errors(self._connection):
            self._steps.commit()

    def abort(self) -> None:
        with translated_errors(self._connection):
            self._steps.abort()

    def flush(self) -> None:
        sent, self._sent = self._sent, []
        with translated_errors(self._connection):
            self._producer.flush(timeout=self._producer.config["delivery_timeout_ms"] / 1000)
            for future in sent:
                future.get(timeout=0)

    def close(self) -> None:
        with suppress(BrokerError), translated_errors(self._connection):
            self._steps.close()


class _PublicSteps:
    """The steps of `ProducerParts` by public methods. Each is given so many seconds, in a thread of its own."""

    def __init__(self, producer: Any, seconds: float) -> None:
        self._producer = producer
        self._seconds = seconds

    def send_all(self, sends: Iterable[Send], join: Callable[[str, int], Any]) -> list[Any]:
        return [
            self._producer.send(topic, value, key, list(headers), partition)
            for topic, partition, key, value, headers in sends
        ]

    def join(self, partition: Any) -> None:
        """Refuse: public methods add a partition to a transaction by writing to it."""
        raise BrokerError(
            "a transaction was left open by the cluster, and kafka-python "
            f"{version('kafka-python')} cannot end it: install 'kafka-python<3.1', start once, and go on as before"
        )

    def send_offsets(self, offsets: Mapping[Any, Any], group: str) -> None:
        self._bounded(partial(self._producer.send_offsets_to_transaction, offsets, group))

    def commit(self) -> None:
        self._bounded(self._producer.commit_transaction)

    def abort(self) -> None:
        self._bounded(self._producer.abort_transaction)

    def _bounded(self, call: Callable[[], Any]) -> None:
        bounded(call, self._seconds)

    def close(self) -> None:
        bounded(partial(self._producer.close, timeout=CLOSE_SECONDS), CLOSE_SECONDS + GRACE_SECONDS)


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
