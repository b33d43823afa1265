"""Topics as sinks: predictions, and dead letters, in one transaction with what they were made from."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from stream_bayes.core.events.event import Slice
from stream_bayes.errors import BadValue
from stream_bayes.streams.contracts.incidents import OVERSIZE
from stream_bayes.streams.contracts.sink import DeadLetter, Output, Result
from stream_bayes.streams.files.json_sink import json_bytes
from stream_bayes.streams.kafka.client import Header
from stream_bayes.streams.kafka.delivery import Delivery
from stream_bayes.streams.kafka.transactions import Transactions

__all__ = ["TOO_LARGE", "KafkaDeadLetters", "KafkaSink"]

logger = logging.getLogger(__name__)

TOO_LARGE = "output_too_large"
ROOM = 2048  # bytes that a record may take beside its key, value and headers
SHOWN = 4096  # bytes of an output that is too large which its dead letter holds


class KafkaSink:
    """A topic of outputs: JSON, with the event's key.

    Where outputs may be repeated, without transactions, headers say where the event stood, so that they can be told.
    What comes from one partition goes to one, in order; with as many partitions as the input has, to that of the same
    number. An output that is larger than the topic takes becomes a dead letter.

    Parameters
    ----------
    delivery
        What the pipeline's sinks share.
    topic
        Where to. It must be there: no topic is made.
    dead_letters
        Where outputs go that are too large. If not given, they are logged and counted only.
    name
        Its name in snapshots.

    Attributes
    ----------
    oversize
        How many outputs were too large.
    """

    def __init__(
        self,
        delivery: Delivery,
        topic: str,
        dead_letters: KafkaDeadLetters | None = None,
        name: str = "predictions",
    ) -> None:
        if topic in delivery.topics:
            raise BadValue(
                f"topic {topic!r} is the topic of another sink of this pipeline; choose one for each"
            )
        delivery.topics.append(topic)
        self.name = name
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
        return None  # what was committed is in the cluster, and nothing is ever cut off there

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
        pass  # a transaction that was committed is on as many brokers as the topic wants

    def close(self) -> None:
        self.delivery.close()

    def _send(self, result: Result, value: bytes) -> None:
        key = key_bytes(result.key)
        headers = [] if self._once and isinstance(result, Output) else headers_of(result)
        if size_of(key, value, headers) > self.delivery.most_bytes:
            self._too_large(result, value)
            return
        partition = self.delivery.partition(self.topic, result.partition)
        self.delivery.send((self.topic, partition, key, value, headers))

    def _too_large(self, result: Result, value: bytes) -> None:
        self.oversize += 1
        said = (
            f"its output has {len(value)} bytes, and a record may have {self.delivery.most_bytes}; "
            "raise most_bytes and the topic's max.message.bytes"
        )
        logger.warning(
            "%s, partition %d, position %d: %s", result.source, result.partition, result.position, said
        )
        if self.dead_letters is not None:
            letter = DeadLetter(
                result.key,
                result.source,
                result.partition,
                result.position,
                result.time,
                TOO_LARGE,
                said,
                value[:SHOWN],
            )
            self.dead_letters.write([letter])


class KafkaDeadLetters(KafkaSink):
    """A topic of dead letters: JSON, with the record's place and what is wrong with it in the headers.

    Of a letter that is too large its record is cut short, and if need be its key left out.

    Parameters
    ----------
    delivery, topic, name
        As of a `KafkaSink`.
    """

    def __init__(self, delivery: Delivery, topic: str, name: str = "dead_letters") -> None:
        super().__init__(delivery, topic, None, name)

    def _too_large(self, result: Result, value: bytes) -> None:
        self.oversize += 1
        assert isinstance(result, DeadLetter)
        room = self.delivery.most_bytes // 4
        cut = msgspec.structs.replace(result, raw=result.raw[:room], detail=result.detail[:room])
        if size_of(key_bytes(cut.key), json_bytes(cut), headers_of(cut)) > self.delivery.most_bytes:
            room = min(room, SHOWN)
            cut = msgspec.structs.replace(cut, raw=result.raw[:room], detail=result.detail[:room], key=None)
        partition = self.delivery.partition(self.topic, cut.partition)
        self.delivery.send((self.topic, partition, key_bytes(cut.key), json_bytes(cut), headers_of(cut)))


def key_bytes(key: object) -> bytes | None:
    """A key, as it came.

    Examples
    --------
    >>> key_bytes("order-7"), key_bytes(7), key_bytes(None)
    (b'order-7', b'7', None)
    """
    if key is None or isinstance(key, bytes):
        return key
    return key.encode("utf-8", "surrogatepass") if isinstance(key, str) else json_bytes(key)


def headers_of(result: Result) -> list[Header]:
    """Where its event stood; of a dead letter also what is wrong."""
    position = b"%d" % result.position
    if isinstance(result, Output):
        return [*_place("source", result.source, result.partition), ("position", position)]
    headers = [*_place("topic", result.source, result.partition), ("offset", position)]
    if isinstance(result, DeadLetter):
        headers.append(("error", result.reason.encode()))
    return headers


@lru_cache
def _place(name: str, source: str, partition: int) -> tuple[Header, Header]:
    """The headers that all of a partition have in common."""
    return (name, source.encode()), ("partition", b"%d" % partition)


def size_of(key: bytes | None, value: bytes, headers: Sequence[Header]) -> int:
    """How many bytes a record takes, at most."""
    size = len(value) + ROOM if key is None else len(key) + len(value) + ROOM
    for name, held in headers:
        size += len(name) + len(held)
    return size
