"""Kafka topics as sinks for predictions and dead letters."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from stream_bayes.core.events.event import Slice
from stream_bayes.errors import BadValue
from stream_bayes.kafka.clients.client import Header
from stream_bayes.kafka.delivery import Delivery
from stream_bayes.kafka.transactions import Transactions
from stream_bayes.streams.contracts.incidents import OVERSIZE
from stream_bayes.streams.contracts.sink import DeadLetter, Output, Result
from stream_bayes.streams.files.json_sink import json_bytes

__all__ = ["TOO_LARGE", "KafkaDeadLetters", "KafkaSink"]

logger = logging.getLogger(__name__)

TOO_LARGE = "output_too_large"
RECORD_OVERHEAD = 2048  # bytes that a record may take besides its key, value and headers
MAX_EXCERPT = 4096  # bytes of an oversize output that its dead letter holds


class KafkaSink:
    """Writes outputs to a topic as JSON, with the event's key.

    Outputs of one input partition go to one output partition, in order; if both topics have the same number of
    partitions, to the one of the same number. An output that is too large becomes a dead letter. With at-least-once
    delivery, headers hold the event's source, partition and position, by which repeated outputs can be recognised. The
    topic must exist. Without `dead_letters`, outputs that are too large are only logged and counted.

    Attributes
    ----------
    oversize
        The number of outputs that were too large.
    """

    name = "predictions"  # in snapshots

    def __init__(
        self,
        delivery: Delivery,
        topic: str,
        dead_letters: KafkaDeadLetters | None = None,
    ) -> None:
        if topic in delivery.topics:
            raise BadValue(
                f"topic {topic!r} is the topic of another sink of this pipeline; choose one for each"
            )
        delivery.topics.append(topic)
        self.topic = topic
        self.delivery = delivery
        self.dead_letters = dead_letters
        self.oversize = 0
        self._once = isinstance(delivery, Transactions)
        self.medium = "kafka" if self._once else "outside"

    @property
    def incidents(self) -> Mapping[str, int]:
        return {OVERSIZE: self.oversize}

    def open(self, length: int | None) -> None:
        self.delivery.open()

    @property
    def length(self) -> int | None:
        return None  # a topic is never cut back

    def begin(self) -> None:
        self.delivery.begin()

    def write(self, results: Sequence[Result]) -> None:
        for result in results:
            self._send(result, json_bytes(result))

    def commit(self, slices: Sequence[Slice]) -> None:
        self.delivery.commit(slices)

    def abort(self) -> None:
        self.delivery.abort()

    def sync(self) -> None:
        self.delivery.sync()

    def close(self) -> None:
        self.delivery.close()

    def _send(self, result: Result, value: bytes) -> None:
        key = key_bytes(result.key)
        headers = [] if self._once and isinstance(result, Output) else headers_of(result)
        if size_of(key, value, headers) > self.delivery.max_message_bytes:
            self._handle_oversize(result, value)
            return
        partition = self.delivery.partition(self.topic, result.partition)
        self.delivery.send((self.topic, partition, key, value, headers))

    def _handle_oversize(self, result: Result, value: bytes) -> None:
        self.oversize += 1
        detail = (
            f"its output has {len(value)} bytes, and a record may have {self.delivery.max_message_bytes}; "
            "raise max_message_bytes and the topic's max.message.bytes"
        )
        logger.warning(
            "%s, partition %d, position %d: %s", result.source, result.partition, result.position, detail
        )
        if self.dead_letters is not None:
            letter = DeadLetter(
                result.key,
                result.source,
                result.partition,
                result.position,
                result.time,
                TOO_LARGE,
                detail,
                value[:MAX_EXCERPT],
            )
            self.dead_letters.write([letter])


class KafkaDeadLetters(KafkaSink):
    """Writes dead letters to a topic as JSON, with topic, partition, offset and error in the headers.

    If a letter is too large, its record is truncated and, if need be, its key dropped.
    """

    name = "dead_letters"

    def _handle_oversize(self, result: Result, value: bytes) -> None:
        self.oversize += 1
        assert isinstance(result, DeadLetter)
        room = self.delivery.max_message_bytes // 4
        cut = msgspec.structs.replace(result, raw=result.raw[:room], detail=result.detail[:room])
        if size_of(key_bytes(cut.key), json_bytes(cut), headers_of(cut)) > self.delivery.max_message_bytes:
            room = min(room, MAX_EXCERPT)
            cut = msgspec.structs.replace(cut, raw=result.raw[:room], detail=result.detail[:room], key=None)
        partition = self.delivery.partition(self.topic, cut.partition)
        self.delivery.send((self.topic, partition, key_bytes(cut.key), json_bytes(cut), headers_of(cut)))


def key_bytes(key: object) -> bytes | None:
    """Return a key as bytes; text and bytes as they are, anything else as JSON.

    Examples
    --------
    >>> key_bytes("order-7"), key_bytes(7), key_bytes(None)
    (b'order-7', b'7', None)
    """
    if key is None or isinstance(key, bytes):
        return key
    return key.encode("utf-8", "surrogatepass") if isinstance(key, str) else json_bytes(key)


def headers_of(result: Result) -> list[Header]:
    """Return headers with the event's position; for a dead letter also the error."""
    position = b"%d" % result.position
    if isinstance(result, Output):
        return [*_position_headers("source", result.source, result.partition), ("position", position)]
    headers = [*_position_headers("topic", result.source, result.partition), ("offset", position)]
    if isinstance(result, DeadLetter):
        headers.append(("error", result.reason.encode()))
    return headers


@lru_cache
def _position_headers(name: str, source: str, partition: int) -> tuple[Header, Header]:
    """Return the headers that all records of a partition share."""
    return (name, source.encode()), ("partition", b"%d" % partition)


def size_of(key: bytes | None, value: bytes, headers: Sequence[Header]) -> int:
    """Return an upper bound of a record's bytes."""
    size = len(value) + RECORD_OVERHEAD if key is None else len(key) + len(value) + RECORD_OVERHEAD
    for name, content in headers:
        size += len(name) + len(content)
    return size
