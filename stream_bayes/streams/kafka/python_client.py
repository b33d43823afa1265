"""Reading and writing with kafka-python."""

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
from kafka.structs import OffsetAndMetadata

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import BrokerAway, BrokerError, SinkError, SourceError, StreamBayesError
from stream_bayes.streams.kafka.client import ClientFailed, EpochLost, Interrupted, Message, Send
from stream_bayes.streams.kafka.connection import Connection
from stream_bayes.streams.kafka.time_limits import CLOSE_SECONDS, GRACE_SECONDS, OWN_SECONDS, bounded

__all__ = [
    "PythonReader",
    "PythonWriter",
    "asking",
    "failed",
    "gone",
    "made",
    "refused",
    "unreachable",
]

T = TypeVar("T")

logger = logging.getLogger(__name__)

NOT_ALLOWED = (kafka_errors.AuthorizationError, kafka_errors.SaslAuthenticationFailedError)
REFUSAL = re.compile(r"\w*(Authorization|Authentication)Failed")
TOO_LARGE = (kafka_errors.MessageSizeTooLargeError, kafka_errors.RecordListTooLargeError)
LOST = (kafka_errors.ProducerFencedError, kafka_errors.InvalidProducerEpochError)
GONE = (
    kafka_errors.OffsetOutOfRangeError,
    kafka_errors.NoOffsetForPartitionError,
    kafka_errors.LogTruncationError,
)
LOOK_SECONDS = 1.0  # for an answer to how far was read, which the client knows by itself but once in a while
LEARN_MS = 1000  # for one answer to which partitions a topic has
DELIVERY_SECONDS = 15  # after which a record is given up, and its transaction tried anew


@contextmanager
def asking(connection: Connection) -> Iterator[None]:
    """Turn the client's errors into ours."""
    try:
        yield
    except NOT_ALLOWED as error:
        raise refused(connection, _name(error)) from error
    except TOO_LARGE as error:
        raise SinkError(
            "a topic takes only smaller records than the sink writes: raise its max.message.bytes, "
            "or lower most_bytes of the sink"
        ) from error
    except kafka_errors.UnsupportedVersionError as error:
        raise BrokerError(
            f"Kafka at {connection} is too old for this; with delivery = 'at-least-once' no transactions are needed"
        ) from error
    except kafka_errors.KafkaError as error:
        # Once a transaction has failed, every later call says so in the words of the first.
        refusal = REFUSAL.search(str(error))
        if refusal is not None:
            raise refused(connection, refusal[0]) from error
        lost = isinstance(error, LOST) or any(kind.__name__ in str(error) for kind in LOST)
        raise (EpochLost if lost else Interrupted)(_said(error)) from error
    except StreamBayesError:
        raise
    except Exception as error:
        # What ended a thread of the client's is raised by whatever is asked of it then.
        raise failed(connection, error) from error


def _name(error: BaseException) -> str:
    return type(error).__name__.removesuffix("Error")


def _said(error: BaseException) -> str:
    """An error of the client's in a line, with its name once.

    Examples
    --------
    >>> _said(kafka_errors.KafkaTimeoutError("no answer in 3 seconds"))
    'KafkaTimeout: no answer in 3 seconds'
    """
    told = " ".join(str(error).split())
    for name in (type(error).__name__, f"[Error {getattr(error, 'errno', None)}] {type(error).__name__}"):
        told = told.removeprefix(name).removeprefix(":").lstrip()
    return f"{_name(error)}: {told}".removesuffix(": ")


def made(client: Callable[..., T], seconds: float, **settings: Any) -> T:
    """A client; where none can be made nothing is left of it, and a refusal is told from silence."""
    parts: list[KafkaNetClient] = []

    def network(**inner: Any) -> KafkaNetClient:
        part = KafkaNetClient(**inner)
        # The client takes this setting, and forgets it.
        part.cluster.config["allow_auto_create_topics"] = False
        parts.append(part)
        return part

    refusals = _Refusals()
    told = logging.getLogger("kafka.net.manager")
    told.addFilter(refusals)
    try:
        return bounded(lambda: client(kafka_client=network, **settings), seconds + GRACE_SECONDS)
    except BaseException:
        for part in parts:
            part._net.stop(1000 * CLOSE_SECONDS)  # its thread goes on otherwise, and tries to connect
            with suppress(Exception):  # where it did not stop in time; what was raised first is what counts
                part._net.close()
        if refusals.last is not None:
            raise refusals.last from None
        raise
    finally:
        told.removeFilter(refusals)


class _Refusals(logging.Filter):
    """Remembers that a broker refused who asks: the client only logs it, and tries again until its time is up."""

    def __init__(self) -> None:
        super().__init__()
        self.last: Exception | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        for told in record.args if isinstance(record.args, tuple) else ():
            if isinstance(told, NOT_ALLOWED):
                self.last = told
        return True


class PythonReader:
    """A `Reader` of kafka-python's consumer."""

    def __init__(self, connection: Connection, most_bytes: int) -> None:
        self._connection = connection
        try:
            with asking(connection):
                self._consumer = made(
                    KafkaConsumer,
                    connection.seconds,
                    group_id=None,
                    enable_auto_commit=False,
                    auto_offset_reset="none",
                    isolation_level="read_committed",
                    allow_auto_create_topics=False,
                    fetch_max_bytes=most_bytes,
                    max_partition_fetch_bytes=min(most_bytes, 2**20),
                    metrics_enabled=False,
                    **connection.python_settings(),
                )
        except Interrupted as error:
            raise unreachable(connection, error) from error
        self._partitions: dict[Any, Partition] = {}

    def assign(self, positions: Mapping[Partition, Position]) -> None:
        self._partitions = {TopicPartition(*partition): partition for partition in positions}
        with asking(self._connection):
            self._consumer.assign(list(self._partitions))
            for place, partition in self._partitions.items():
                self._consumer.seek(place, positions[partition])

    def poll(self, limit: int, seconds: float) -> list[Message]:
        try:
            with asking(self._connection):
                # It waits without end for its thread, which may have ended.
                poll = partial(self._consumer.poll, int(1000 * seconds), limit)
                polled = bounded(poll, seconds + OWN_SECONDS)
        except Interrupted as error:
            if isinstance(error.__cause__, GONE):
                raise gone() from error
            raise
        return [
            Message(
                self._partitions[place],
                record.offset,
                record.timestamp / 1000 if record.timestamp is not None and record.timestamp >= 0 else None,
                record.key,
                record.value,
            )
            for place, records in polled.items()
            for record in records
        ]

    def reached(self, partition: Partition) -> Position:
        look = partial(self._consumer.position, TopicPartition(*partition), timeout_ms=1000 * LOOK_SECONDS)
        with asking(self._connection):
            position: int | None = bounded(look, LOOK_SECONDS + OWN_SECONDS)
        if position is None:
            raise Interrupted("the client does not know yet how far it has read")
        return position

    def pause(self, partitions: Iterable[Partition]) -> None:
        with asking(self._connection):
            self._consumer.pause(*[TopicPartition(*partition) for partition in partitions])

    def resume(self, partitions: Iterable[Partition]) -> None:
        with asking(self._connection):
            self._consumer.resume(*[TopicPartition(*partition) for partition in partitions])

    def close(self) -> None:
        close = partial(self._consumer.close, autocommit=False, timeout_ms=1000 * CLOSE_SECONDS)
        with suppress(BrokerError), asking(self._connection):
            bounded(close, CLOSE_SECONDS + GRACE_SECONDS)


class PythonWriter:
    """A `Writer` of kafka-python's producer."""

    def __init__(
        self, connection: Connection, transactional_id: str | None, seconds: float, most_bytes: int
    ) -> None:
        self._connection = connection
        self._patience = min(seconds, DELIVERY_SECONDS)
        self._sent: list[Any] = []
        self._asked_after = transactional_id is None  # a transaction fails with any of its records
        self._known: set[str] = set()
        try:
            with asking(connection):
                self._producer = made(
                    KafkaProducer,
                    connection.seconds,
                    transactional_id=transactional_id,
                    transaction_timeout_ms=int(1000 * seconds),
                    delivery_timeout_ms=int(1000 * self._patience) + 1000,
                    request_timeout_ms=int(1000 * self._patience) // 2,
                    max_block_ms=int(1000 * connection.seconds),
                    max_request_size=most_bytes,
                    linger_ms=5,
                    batch_size=2**16,
                    allow_auto_create_topics=False,
                    metrics_enabled=False,
                    **connection.python_settings(),
                )
        except Interrupted as error:
            raise unreachable(connection, error) from error

    def fence(self) -> None:
        with asking(self._connection):
            self._producer.init_transactions()

    def begin(self) -> None:
        self._sent = []
        with asking(self._connection):
            self._producer.begin_transaction()

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> Callable[[], int]:
        if topic not in self._known:
            self._learn_of(topic)
        with asking(self._connection):
            future = self._producer.send(topic, value, key, [], partition)
            if future.is_done:
                future.get(timeout=0)
        self._sent.append(future)
        return lambda: int(future.get(timeout=0).offset)

    def send_all(self, sends: Iterable[Send]) -> None:
        # Not by the client's `send`, which looks at sizes and partitions anew for every record, and wakes its thread up
        # for each once a batch is full: that takes longer than all else.
        append, wake = self._producer._accumulator.append, self._producer._sender.wakeup
        places: dict[tuple[str, int], Any] = {}
        with asking(self._connection):
            for topic, partition, key, value, headers in sends:
                place = places.get((topic, partition))
                if place is None:
                    place = places[topic, partition] = self._place(topic, partition)
                future, _, is_first, _ = append(place, None, key, value, headers)
                if is_first:  # of its batch: the one before is full
                    wake()
                if self._asked_after:
                    self._sent.append(future)

    def _place(self, topic: str, partition: int) -> Any:
        """A partition, made known to the transaction if there is one."""
        if topic not in self._known:
            self._learn_of(topic)
        place = TopicPartition(topic, partition)
        if not self._asked_after:
            self._transaction.maybe_add_partition_to_transaction(place)
        return place

    def _learn_of(self, topic: str) -> None:
        """Let the client ask which partitions there are: again after a second, for a request may go unnoticed."""
        config = self._producer.config
        patience = config["max_block_ms"]
        config["max_block_ms"] = LEARN_MS
        try:
            for attempts_left in reversed(range(max(1, patience // LEARN_MS))):
                try:
                    with asking(self._connection):
                        self._producer.partitions_for(topic)
                    break
                except Interrupted:
                    if not attempts_left:
                        raise
        finally:
            config["max_block_ms"] = patience
        self._known.add(topic)

    def offsets(self, group: str, positions: Mapping[Partition, Position]) -> None:
        told = {TopicPartition(*part): OffsetAndMetadata(at, "", -1) for part, at in positions.items()}
        self._answered(self._transaction.send_offsets_to_transaction, told, group)

    def join(self, partitions: Iterable[Partition], group: str) -> None:
        """Let the transaction end in these partitions, and in a group's positions, though it writes nothing there."""
        with asking(self._connection):
            for partition in partitions:
                self._place(*partition)
        self.offsets(group, {})

    def commit(self) -> None:
        self._answered(self._transaction.begin_commit)

    def abort(self) -> None:
        self._answered(self._transaction.begin_abort)

    @property
    def _transaction(self) -> Any:
        return self._producer._transaction_manager

    def _answered(self, question: Callable[..., Any], *told: Any) -> None:
        """What the client's own methods do, which would wait for ever where no broker answers."""
        with asking(self._connection):
            answer = question(*told)
            self._producer._sender.wakeup()
            if not answer.wait(1000 * self._patience):
                raise kafka_errors.KafkaTimeoutError(f"no answer in {self._patience:g} seconds")

    def flush(self) -> None:
        sent, self._sent = self._sent, []
        with asking(self._connection):
            self._producer.flush(timeout=self._producer.config["delivery_timeout_ms"] / 1000)
            for future in sent:
                future.get(timeout=0)

    def close(self) -> None:
        # At once, and first: `close` alone leaves the thread of a producer going that still has something to send.
        sender = self._producer._sender
        with suppress(BrokerError), asking(self._connection):
            sender.force_close()
            sender.join(CLOSE_SECONDS)
            self._producer.close(timeout=0)
        self._producer._closed = True  # else whoever collects it as garbage waits for what it did not send


def refused(connection: Connection, why: str) -> BrokerError:
    """The error for what a cluster does not allow."""
    return BrokerError(
        f"Kafka at {connection} does not allow it: {why}; check who asks, and what they may do"
    )


def unreachable(connection: Connection, error: Exception, seconds: float | None = None) -> BrokerAway:
    """The error for a cluster of which no broker answers."""
    return BrokerAway(
        f"no Kafka broker answered at {connection} in {seconds or connection.seconds:g} seconds ({error}); "
        "check the addresses, TLS, and who asks"
        + (": a broker closes the connection of whom it refuses" if connection.mechanism else "")
    )


def failed(connection: Connection, error: Exception) -> ClientFailed:
    """The error for what no client should raise; it is logged with where it was raised."""
    logger.warning("a client of Kafka at %s failed, and is let go of", connection, exc_info=error)
    return ClientFailed(f"the client failed: {error!r}")


def gone() -> SourceError:
    """The error for a position that is no longer kept, or not yet."""
    return SourceError(
        "a partition no longer holds the position that is read next: its records expired before they were read, "
        "or its topic was made anew. Start again to be told which"
    )
