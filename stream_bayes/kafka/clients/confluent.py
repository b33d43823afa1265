"""Reader and writer over confluent-kafka."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import BrokerError, SinkError, StreamBayesError
from stream_bayes.kafka.clients.client import EpochLost, Interrupted, Message, Send, position_lost
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.kafka_python import client_failed, not_allowed
from stream_bayes.kafka.clients.time_limits import CLOSE_SECONDS, GRACE_SECONDS, LOCAL_SECONDS, bounded

__all__ = ["ConfluentReader", "ConfluentWriter"]

T = TypeVar("T")

logger = logging.getLogger(__name__)

NOT_ALLOWED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError._AUTHENTICATION,
}
LOST = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}
GONE = {KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE}
DELIVERY_SECONDS = 15.0  # as with kafka-python
QUEUE_PAUSE = 0.05
FETCH_WAIT_MS = 100  # after which a broker answers that a partition is at its end, for which others may wait
NO_TIME = 0  # the kind of a timestamp that does not exist
UNKNOWN_EPOCH = -1


def translated(connection: Connection, error: KafkaError) -> Exception:
    """Return the client's error as one of this package."""
    code = error.code()
    if code in NOT_ALLOWED:
        return not_allowed(connection, error.name())
    if code == KafkaError.MSG_SIZE_TOO_LARGE:
        return SinkError(
            "a topic accepts only smaller records than the sink writes: raise its max.message.bytes, "
            "or lower max_message_bytes of the sink"
        )
    return (EpochLost if code in LOST else Interrupted)(f"{error.name()}: {error.str()}")


@contextmanager
def translated_errors(connection: Connection) -> Iterator[None]:
    """Translate the client's errors into those of this package."""
    try:
        yield
    except KafkaException as error:
        raise translated(connection, error.args[0]) from error
    except StreamBayesError:
        raise
    except Exception as error:  # no client should raise it
        raise client_failed(connection, error) from error


class ConfluentReader:
    """A `Reader` of confluent-kafka's consumer."""

    def __init__(self, connection: Connection, fetch_max_bytes: int) -> None:
        self._connection = connection
        self._consumer: Any = Consumer(
            connection.confluent_settings()
            | {
                "group.id": "stream_bayes",  # required, though nothing joins or commits to it
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "fetch.wait.max.ms": FETCH_WAIT_MS,
                "fetch.message.max.bytes": min(fetch_max_bytes, 2**20),
                "fetch.max.bytes": max(fetch_max_bytes, 2**20),
                "receive.message.max.bytes": max(fetch_max_bytes, 2**20) + 2**20,
                "queued.max.messages.kbytes": max(1, fetch_max_bytes // 1024),
            },
            logger=logger,
        )
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._positions: dict[Partition, Position] = {}

    def assign(self, positions: Mapping[Partition, Position]) -> None:
        self._positions = dict(positions)
        self._partitions = {(partition.source, partition.partition): partition for partition in positions}
        assigned = [TopicPartition(*part, at) for part, at in positions.items()]
        with translated_errors(self._connection):
            # The client waits for its thread without a limit.
            bounded(partial(self._consumer.assign, assigned), LOCAL_SECONDS)

    def poll(self, limit: int, seconds: float) -> list[Message]:
        with translated_errors(self._connection):
            first: Any = self._consumer.poll(seconds)  # `consume` would wait until it has all of them
            records: list[Any] = [] if first is None else [first]
            if records and limit > 1:
                records += self._consumer.consume(limit - 1, 0)
        messages = []
        for record in records:
            if record.error() is not None:
                self._handle_error(record)
                continue
            partition = self._partitions[record.topic(), record.partition()]
            offset = record.offset()
            kind, moment = record.timestamp()
            self._positions[partition] = offset + 1
            seconds_since = moment / 1000 if kind != NO_TIME else None
            epoch = record.leader_epoch()
            messages.append(
                Message(
                    partition,
                    offset,
                    seconds_since,
                    record.key(),
                    record.value(),
                    UNKNOWN_EPOCH if epoch is None else epoch,
                )
            )
        return messages

    def _handle_error(self, record: Any) -> None:
        error = record.error()
        if error.code() == KafkaError._PARTITION_EOF:
            self._positions[self._partitions[record.topic(), record.partition()]] = record.offset()
        elif error.code() in GONE:
            raise position_lost()
        elif error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:  # of the group that is named and not used
            fault = translated(self._connection, error)
            if not isinstance(fault, Interrupted):
                raise fault
            logger.debug("%s", fault)  # the client recovers by itself

    def position(self, partition: Partition) -> Position:
        return self._positions[partition]

    def pause(self, partitions: Iterable[Partition]) -> None:
        with translated_errors(self._connection):
            self._consumer.pause([TopicPartition(*partition) for partition in partitions])

    def resume(self, partitions: Iterable[Partition]) -> None:
        with translated_errors(self._connection):
            self._consumer.resume([TopicPartition(*partition) for partition in partitions])

    def close(self) -> None:
        consumers, self._consumer = [self._consumer], None
        _end_within_limit(self._connection, consumers, _close)


class ConfluentWriter:
    """A `Writer` of confluent-kafka's producer."""

    def __init__(
        self, connection: Connection, transactional_id: str | None, seconds: float, max_message_bytes: int
    ) -> None:
        self._connection = connection
        self._timeout = min(seconds, DELIVERY_SECONDS)
        settings = connection.confluent_settings() | {
            "enable.idempotence": True,
            "linger.ms": 5,
            "message.max.bytes": max_message_bytes,
            "message.timeout.ms": int(1000 * self._timeout),
        }
        if transactional_id is not None:
            settings |= {
                "transactional.id": transactional_id,
                "transaction.timeout.ms": int(1000 * seconds),
            }
        self._producer: Any = Producer(settings, logger=logger)
        self._group: Any = None
        self._faults: list[KafkaError] = []
        # A transaction fails with any of its records; without one, each delivery must be checked.
        self._on_delivery = self._record_fault if transactional_id is None else None

    def fence(self) -> None:
        self._call(self._producer.init_transactions, self._connection.seconds)

    def begin(self) -> None:
        self._faults.clear()
        with translated_errors(self._connection):
            # The client waits for its thread without a limit.
            bounded(self._producer.begin_transaction, LOCAL_SECONDS)

    def send(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
    ) -> Callable[[], int]:
        offsets: list[int] = []

        def delivered(error: KafkaError | None, record: Any) -> None:
            if error is None:
                offsets.append(record.offset())
            else:
                self._faults.append(error)

        with translated_errors(self._connection):
            try:
                self._producer.produce(topic, value, key, partition, delivered)
            except BufferError:
                self._produce_when_room(topic, value, key, partition, delivered)

        def offset() -> int:
            if offsets:
                return offsets[0]
            raise (
                translated(self._connection, self._faults[0])
                if self._faults
                else Interrupted("a record was not delivered")
            )

        return offset

    def send_all(self, sends: Iterable[Send]) -> None:
        on_delivery = self._on_delivery
        produce: Callable[..., None] = self._producer.produce
        with translated_errors(self._connection):
            for topic, partition, key, value, headers in sends:
                try:
                    produce(topic, value, key, partition, on_delivery, None, 0, headers)
                except BufferError:
                    self._produce_when_room(topic, value, key, partition, on_delivery, None, 0, headers)

    def _produce_when_room(self, *arguments: Any) -> None:
        """Write a record once the client's queue has room for it."""
        deadline = time.monotonic() + self._timeout
        while True:
            self._producer.poll(QUEUE_PAUSE)
            try:
                self._producer.produce(*arguments)
                return
            except BufferError:
                if time.monotonic() > deadline:
                    raise Interrupted("the client's queue stays full") from None

    def _record_fault(self, error: KafkaError | None, record: Any) -> None:
        if error is not None:
            self._faults.append(error)

    def send_offsets(self, group: str, positions: Mapping[Partition, Position]) -> None:
        if self._group is None:
            self._group = self._group_metadata(group)
        offsets = [TopicPartition(*part, at) for part, at in positions.items()]
        self._call(partial(self._producer.send_offsets_to_transaction, offsets, self._group), self._timeout)

    def _group_metadata(self, group: str) -> Any:
        with translated_errors(self._connection):
            consumers = [Consumer(self._connection.confluent_settings() | {"group.id": group}, logger=logger)]
            try:
                return bounded(consumers[0].consumer_group_metadata, LOCAL_SECONDS)
            finally:
                _end_within_limit(self._connection, consumers, _close)

    def commit(self) -> None:
        self._call(self._producer.commit_transaction, self._timeout)

    def abort(self) -> None:
        self._call(self._producer.abort_transaction, self._timeout)

    def _call(self, request: Callable[[float], T], seconds: float) -> T:
        """Make a request with a time-out, to which the client does not always keep."""
        with translated_errors(self._connection):
            return bounded(partial(request, seconds), seconds + GRACE_SECONDS)

    def flush(self) -> None:
        left = self._call(self._producer.flush, self._timeout)
        faults = self._faults[:]
        self._faults.clear()
        if faults:
            raise translated(self._connection, faults[0])
        if left:
            raise Interrupted(f"{left} records were not accepted")

    def close(self) -> None:
        producers, self._producer = [self._producer], None
        _end_within_limit(self._connection, producers, _purge)


def _close(consumer: Any) -> None:
    consumer.close()


def _purge(producer: Any) -> None:
    """Drop the records in the queue: they are not committed, and another writer sends them again if need be."""
    producer.purge()
    producer.flush(0)


def _end_within_limit(connection: Connection, clients: list[Any], end: Callable[[Any], None]) -> None:
    """End a client within the time limit.

    `clients` has the last reference to it. The thread that ends the client drops that reference, for its destructor
    waits for the client's threads too.
    """

    def end_and_drop() -> None:
        end(clients.pop())

    if clients[0] is not None:
        with suppress(BrokerError), translated_errors(connection):
            bounded(end_and_drop, CLOSE_SECONDS + GRACE_SECONDS)
