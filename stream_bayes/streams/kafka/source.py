"""Topics as a source: every partition read in its order, from where it is told, and watched while it is silent."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from stream_bayes.core.events.event import ONE, TOMBSTONE, Event, Partition, Position
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue, BrokerAway, SourceError
from stream_bayes.streams.contracts.incidents import RESEEKS
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.kafka.client import ClientFailed, Interrupted, Message, Reader
from stream_bayes.streams.kafka.client_factory import make_reader
from stream_bayes.streams.kafka.cluster import Cluster
from stream_bayes.streams.kafka.connection import Connection
from stream_bayes.streams.kafka.reconnecting import ReconnectingReader
from stream_bayes.streams.records.decoder import Decoder

__all__ = ["START", "KafkaSource", "Labels"]

logger = logging.getLogger(__name__)

START = ("earliest", "latest")
POLL_SECONDS = 0.2  # a stream that is silent can still be told to stop
LOOK_SECONDS = 5.0  # between two looks at the ends of the partitions
LOOK_PATIENCE = 1.0  # seconds that such a look may take, for the stream waits
TOPIC_SECONDS = 30.0  # between two looks for new partitions
STUCK_SECONDS = 60.0  # without a record though there are some, after which a partition is sought anew
MOST_BYTES = 2**24


class Labels(NamedTuple):
    """A second topic, of labels and corrections for the samples of the first.

    Parameters
    ----------
    topic
        Its name.
    decoder
        What its records are; its fields' `default_kind` is `Kind.LABEL`, unless each says what it is.
    """

    topic: str
    decoder: Decoder


class KafkaSource:
    """All partitions of a topic, and of a second one with labels if there is one.

    They are assigned, not subscribed to: one worker reads them all. Transactions that are open or were aborted are left
    out. A partition that is added while it reads is read from its beginning. While no broker answers nothing comes, and
    it goes on by itself; a topic that is made anew, or records that expire before they are read, end it.

    Parameters
    ----------
    connection
        How the cluster is reached.
    topic
        What is read. It must be there: no topic is made.
    decoder
        What its records are. A record's key and time are the event's, where no field says another.
    labels
        The topic of labels.
    start
        Where to begin where there is no snapshot: `"earliest"`, `"latest"`, or a moment in seconds since 1970.
    tombstones
        Whether a record without value withdraws the sample with its key, or is left out.
    most_bytes
        How much is kept ready of each broker, at most about.
    stuck_seconds
        After how long without a record of a partition, though there are some, reading begins anew.
    clock
        The seconds that pass. Only looks at the cluster depend on them.

    Attributes
    ----------
    connected
        Whether the cluster answered when it was asked last.
    reseeks
        How often reading began anew because nothing came of a partition.
    """

    medium = "kafka"
    may_skip = True  # compaction, the ends of transactions, and transactions that were aborted leave gaps

    def __init__(
        self,
        connection: Connection,
        topic: str,
        decoder: Decoder,
        *,
        labels: Labels | None = None,
        start: str | float = "earliest",
        tombstones: bool = False,
        most_bytes: int = MOST_BYTES,
        stuck_seconds: float = STUCK_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if labels is not None and labels.topic == topic:
            raise BadValue(
                f"labels: {shown(topic)} is the topic of the samples; let labels have one of their own"
            )
        if start not in START and (isinstance(start, (str, bool)) or not start >= 0):
            raise BadValue(f"start: expected 'earliest', 'latest' or seconds since 1970, got {shown(start)}")
        self.name = topic
        self.connection = connection
        self.cluster = Cluster(connection)
        self.decoders = {topic: decoder} | ({} if labels is None else {labels.topic: labels.decoder})
        self.start = start
        self.tombstones = tombstones
        self.most_bytes = most_bytes
        self.stuck_seconds = stuck_seconds
        self.connected = False
        self.reseeks = 0
        self._clock = clock
        self._reader: ReconnectingReader | None = None
        self._next: dict[Partition, Position] = {}
        self._ids: dict[str, str] = {}
        self._ends: dict[Partition, Position] = {}
        self._moved: dict[Partition, tuple[Position, float]] = {}  # where it was, and since when
        self._looked = self._looked_for_partitions = clock()

    def __repr__(self) -> str:
        return f"KafkaSource({', '.join(self.decoders)} at {self.connection})"

    # -- what the engine reads ----------------------------------------------------------------------------------------

    @property
    def positions(self) -> Mapping[Partition, Position]:
        """The next to read of each partition; before anything was sought, where a first run begins."""
        return dict(self._next) or self.starts()

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        new = [partition for partition in self.partitions() if partition not in positions]
        self._next = dict(positions) | (self.cluster.beginnings(new) if new else {})
        if self._reader is None:
            self._reading()
        else:
            self._reader.assign(self._next)
            self._moved.clear()
        self.connected = True

    def poll(self, limit: int) -> list[Record]:
        if not self._next:
            self.seek(self.positions)
        self._look()
        try:
            messages = self._reading().poll(limit, POLL_SECONDS)
        except (BrokerAway, Interrupted) as error:
            self.reseeks += isinstance(error, ClientFailed)
            self._away(error)
            time.sleep(POLL_SECONDS)
            return []
        if messages:
            self.connected = True
        return self.decoded(messages)

    def close(self) -> None:
        self._drop_reader()
        self.cluster.close()

    def _reading(self) -> Reader:
        """What reads, where it is to be; made where there is none."""
        if self._reader is None:
            self._reader = ReconnectingReader(partial(make_reader, self.connection, self.most_bytes))
            self._reader.assign(self._next)
            self._moved.clear()
        return self._reader

    def _drop_reader(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def decoded(self, messages: Iterable[Message]) -> list[Record]:
        """What these are; the next to read moves past them."""
        records = []
        for message in messages:
            partition = message.partition
            self._next[partition] = message.offset + 1
            record = self._record(message, partition)
            if record is not None:
                records.append(record)
        return records

    def _record(self, message: Message, partition: Partition) -> Record | None:
        key = _text(message.key)
        if message.value is None:
            if not self.tombstones:
                return None
            return Event({}, None, key, message.time, message.offset, ONE, TOMBSTONE, partition)
        decoder = self.decoders[partition.source]
        return decoder.decode(message.value, message.offset, partition, 1, key, message.time)

    # -- what is known of the log -------------------------------------------------------------------------------------

    def identity(self) -> dict[str, Any]:
        """The cluster and the topics, as a snapshot keeps them."""
        self.partitions()
        return {"cluster": self.cluster.id(), "topics": dict(self._ids)}

    def partitions(self) -> list[Partition]:
        """All partitions there are now.

        Raises
        ------
        BrokerError
            If a topic is not there.
        SourceError
            If a topic was made anew since it was looked at first.
        """
        topics = self.cluster.existing(self.decoders)
        for name, topic in topics.items():
            if self._ids.setdefault(name, topic.id) != topic.id:
                raise SourceError(f"topic {name!r} was deleted and made anew while it was read")
        return [
            Partition(name, number) for name in self.decoders for number in range(topics[name].partitions)
        ]

    def starts(self) -> dict[Partition, Position]:
        """Where a first run begins."""
        partitions = self.partitions()
        if self.start == "earliest":
            return self.cluster.beginnings(partitions)
        if self.start == "latest":
            return self.cluster.ends(partitions)
        return self.cluster.since(partitions, float(self.start))

    @property
    def end_offsets(self) -> Mapping[Partition, Position]:
        """The position after the last record of each partition, when the cluster was asked last."""
        return self._ends

    def fetch_end(self) -> Mapping[Partition, Position]:
        return self.cluster.ends(self._next or self.positions)

    def has_reached(self, end: Mapping[Partition, Position], /) -> bool:
        try:
            return all(self._reading().reached(partition) >= position for partition, position in end.items())
        except (BrokerAway, Interrupted):
            return False  # it will answer again

    @property
    def incidents(self) -> Mapping[str, int]:
        return {RESEEKS: self.reseeks}

    # -- while it reads -----------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Now and then: does the cluster answer, has a partition been added, is one stuck?"""
        now = self._clock()
        if now - self._looked < LOOK_SECONDS:
            return
        try:
            if now - self._looked_for_partitions >= TOPIC_SECONDS:
                self._looked_for_partitions = now
                self._add_partitions()
            self._ends = self.cluster.ends(self._next, LOOK_PATIENCE)
            self._leave_stuck(now)
            self.connected = True
        except (BrokerAway, Interrupted) as error:
            self._away(error)
        finally:
            self._looked = self._clock()

    def _away(self, error: Exception) -> None:
        if self.connected:
            logger.warning("nothing can be read of %s until a broker answers: %s", self.name, error)
        self.connected = False

    def _add_partitions(self) -> None:
        new = [partition for partition in self.partitions() if partition not in self._next]
        if new:
            logger.info("partitions were added, and are read from their beginnings: %s", new)
            self.seek(self._next)

    def _leave_stuck(self, now: float) -> None:
        """Where a partition has records, and none came for long, begin to read again, with a new reader."""
        for partition, end in self._ends.items():
            try:
                reached = self._reading().reached(partition)
            except Interrupted:  # one that never says it is stuck too
                reached = self._next[partition]
            at, since = self._moved.get(partition, (-1, now))
            if reached != at or reached >= end:
                self._moved[partition] = (reached, now)
            elif now - since >= self.stuck_seconds:
                logger.warning(
                    "nothing has come of %s for %d seconds; it is read anew", partition, now - since
                )
                self.reseeks += 1
                self._drop_reader()  # a client whose thread has ended says nothing of it, and finds no new leader
                return


def _text(key: bytes | None) -> str | bytes | None:
    """A key as text, where it is some."""
    if key is None:
        return None
    try:
        return key.decode()
    except UnicodeDecodeError:
        return key
