"""Reading and writing with confluent-kafka."""

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
from stream_bayes.streams.kafka.client import EpochLost, Interrupted, Message, Send
from stream_bayes.streams.kafka.connection import Connection
from stream_bayes.streams.kafka.python_client import failed, gone, refused
from stream_bayes.streams.kafka.time_limits import CLOSE_SECONDS, GRACE_SECONDS, OWN_SECONDS, bounded

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
DELIVERY_SECONDS = 15.0  # as with the other client
QUEUE_PAUSE = 0.05
NO_TIME = 0  # the kind of a timestamp that is none


def translated(connection: Connection, error: KafkaError) -> Exception:
    """The client's error as ours."""
    code = error.code()
    if code in NOT_ALLOWED:
        return refused(connection, error.name())
    if code == KafkaError.MSG_SIZE_TOO_LARGE:
        return SinkError(
            "a topic takes only smaller records than the sink writes: raise its max.message.bytes, "
            "or lower most_bytes of the sink"
        )
    return (EpochLost if code in LOST else Interrupted)(f"{error.name()}: {error.str()}")


@contextmanager
def asking(connection: Connection) -> Iterator[None]:
    """Turn the client's errors into ours."""
    try:
        yield
    except KafkaException as error:
        raise translated(connection, error.args[0]) from error
    except StreamBayesError:
        raise
    except Exception as error:  # no client should raise it
        raise failed(connection, error) from error


class ConfluentReader:
    """A `Reader` of confluent-kafka's consumer."""

    def __init__(self, connection: Connection, most_bytes: int) -> None:
        self._connection = connection
        self._consumer: Any = Consumer(
            connection.confluent_settings()
            | {
                "group.id": "stream_bayes",  # it has to have one, and neither joins it nor commits to it
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "fetch.message.max.bytes": min(most_bytes, 2**20),
                "fetch.max.bytes": max(most_bytes, 2**20),
                "receive.message.max.bytes": max(most_bytes, 2**20) + 2**20,
                "queued.max.messages.kbytes": max(1, most_bytes // 1024),
            },
            logger=logger,
        )
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._reached: dict[Partition, Position] = {}

    def assign(self, positions: Mapping[Partition, Position]) -> None:
        self._reached = dict(positions)
        self._partitions = {(partition.source, partition.partition): partition for partition in positions}
        told = [TopicPartition(*part, at) for part, at in positions.items()]
        with asking(self._connection):
            bounded(partial(self._consumer.assign, told), OWN_SECONDS)  # it waits without end for its thread

    def poll(self, limit: int, seconds: float) -> list[Message]:
        with asking(self._connection):
            first: Any = self._consumer.poll(seconds)  # asked for many, it would wait for the last of them
            came: list[Any] = [] if first is None else [first]
            if came and limit > 1:
                came += self._consumer.consume(limit - 1, 0)
        messages = []
        for record in came:
            if record.error() is not None:
                self._note(record)
                continue
            partition = self._partitions[record.topic(), record.partition()]
            offset = record.offset()
            kind, moment = record.timestamp()
            self._reached[partition] = offset + 1
            seconds_since = moment / 1000 if kind != NO_TIME else None
            messages.append(Message(partition, offset, seconds_since, record.key(), record.value()))
        return messages

    def _note(self, record: Any) -> None:
        error = record.error()
        if error.code() == KafkaError._PARTITION_EOF:
            self._reached[self._partitions[record.topic(), record.partition()]] = record.offset()
        elif error.code() in GONE:
            raise gone()
        else:
            fault = translated(self._connection, error)
            if not isinstance(fault, Interrupted):
                raise fault
            logger.debug("%s", fault)  # it goes on by itself

    def reached(self, partition: Partition) -> Position:
        return self._reached[partition]

    def pause(self, partitions: Iterable[Partition]) -> None:
        with asking(self._connection):
            self._consumer.pause([TopicPartition(*partition) for partition in partitions])

    def resume(self, partitions: Iterable[Partition]) -> None:
        with asking(self._connection):
            self._consumer.resume([TopicPartition(*partition) for partition in partitions])

    def close(self) -> None:
        held, self._consumer = [self._consumer], None
        _let_go(self._connection, held, _close)


class ConfluentWriter:
    """A `Writer` of confluent-kafka's producer."""

    def __init__(
        self, connection: Connection, transactional_id: str | None, seconds: float, most_bytes: int
    ) -> None:
        self._connection = connection
        self._patience = min(seconds, DELIVERY_SECONDS)
        settings = connection.confluent_settings() | {
            "enable.idempotence": True,
            "linger.ms": 5,
            "message.max.bytes": most_bytes,
            "message.timeout.ms": int(1000 * self._patience),
        }
        if transactional_id is not None:
            settings |= {
                "transactional.id": transactional_id,
                "transaction.timeout.ms": int(1000 * seconds),
            }
        self._producer: Any = Producer(settings, logger=logger)
        self._group: Any = None
        self._faults: list[KafkaError] = []
        # A transaction fails with any of its records; without one, each has to be asked after.
        self._noted = self._note_fault if transactional_id is None else None

    def fence(self) -> None:
        self._answered(self._producer.init_transactions, self._connection.seconds)

    def begin(self) -> None:
        self._faults.clear()
        with asking(self._connection):
            bounded(self._producer.begin_transaction, OWN_SECONDS)  # it waits without end for its thread

    def send(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
    ) -> Callable[[], int]:
        stands: list[int] = []

        def delivered(error: KafkaError | None, record: Any) -> None:
            if error is None:
                stands.append(record.offset())
            else:
                self._faults.append(error)

        with asking(self._connection):
            try:
                self._producer.produce(topic, value, key, partition, delivered)
            except BufferError:
                self._wait_and_produce(topic, value, key, partition, delivered)
        return lambda: stands[0]

    def send_all(self, sends: Iterable[Send]) -> None:
        noted = self._noted
        produce: Callable[..., None] = self._producer.produce
        with asking(self._connection):
            for topic, partition, key, value, headers in sends:
                try:
                    produce(topic, value, key, partition, noted, None, 0, headers)
                except BufferError:
                    self._wait_and_produce(topic, value, key, partition, noted, None, 0, headers)

    def _wait_and_produce(self, *told: Any) -> None:
        """Write a record once there is room for it in the client's queue."""
        deadline = time.monotonic() + self._patience
        while True:
            self._producer.poll(QUEUE_PAUSE)
            try:
                self._producer.produce(*told)
                return
            except BufferError:
                if time.monotonic() > deadline:
                    raise Interrupted("the client's queue stays full") from None

    def _note_fault(self, error: KafkaError | None, record: Any) -> None:
        if error is not None:
            self._faults.append(error)

    def offsets(self, group: str, positions: Mapping[Partition, Position]) -> None:
        if self._group is None:
            self._group = self._group_metadata(group)
        told = [TopicPartition(*part, at) for part, at in positions.items()]
        self._answered(partial(self._producer.send_offsets_to_transaction, told, self._group), self._patience)

    def _group_metadata(self, group: str) -> Any:
        with asking(self._connection):
            held = [Consumer(self._connection.confluent_settings() | {"group.id": group}, logger=logger)]
            try:
                return bounded(held[0].consumer_group_metadata, OWN_SECONDS)
            finally:
                _let_go(self._connection, held, _close)

    def commit(self) -> None:
        self._answered(self._producer.commit_transaction, self._patience)

    def abort(self) -> None:
        self._answered(self._producer.abort_transaction, self._patience)

    def _answered(self, question: Callable[[float], T], seconds: float) -> T:
        """What the client comes to in so many seconds, which it is told and does not always keep to."""
        with asking(self._connection):
            return bounded(partial(question, seconds), seconds + GRACE_SECONDS)

    def flush(self) -> None:
        left = self._answered(self._producer.flush, self._patience)
        faults = self._faults[:]
        self._faults.clear()
        if faults:
            raise translated(self._connection, faults[0])
        if left:
            raise Interrupted(f"{left} records were not taken")

    def close(self) -> None:
        held, self._producer = [self._producer], None
        _let_go(self._connection, held, _forget)


def _close(consumer: Any) -> None:
    consumer.close()


def _forget(producer: Any) -> None:
    """Drop what is still in its queue: it was not committed, and is sent again, if at all, by another writer."""
    producer.purge()
    producer.flush(0)


def _let_go(connection: Connection, held: list[Any], end: Callable[[Any], None]) -> None:
    """End a client, the last one that is held, for so long as that may take.

    It is given up in the thread that ends it, for that too is a call: it waits for the client's own threads.
    """

    def let_go() -> None:
        end(held.pop())

    if held[0] is not None:
        with suppress(BrokerError), asking(connection):
            bounded(let_go, CLOSE_SECONDS + GRACE_SECONDS)
