"""Kafka topics as a source: all partitions merged by time, with checks for new and stuck ones."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from stream_bayes.core.events.event import ONE, TOMBSTONE, Event, Partition, Position
from stream_bayes.core.events.time import MAX_SKEW
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue, BrokerAway, BrokerError, SourceError, Undecodable
from stream_bayes.kafka.aligned_reader import AlignedReader
from stream_bayes.kafka.clients.client import ClientFailed, Interrupted, Message
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.factory import make_reader
from stream_bayes.kafka.clients.reconnecting import ReconnectingReader
from stream_bayes.kafka.cluster import Cluster
from stream_bayes.kafka.impossible_times import ImpossibleTimes
from stream_bayes.kafka.read_trail import ReadTrail
from stream_bayes.kafka.topic_identity import check_not_recreated
from stream_bayes.streams.contracts.incidents import BAD_FIELDS, IMPOSSIBLE_TIMES, OUT_OF_ORDER, RESEEKS
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.engine.time_check import TimeCheck
from stream_bayes.streams.records.commands import decode_command
from stream_bayes.streams.records.decoder import Decoder
from stream_bayes.streams.records.undecodable import bad_record

__all__ = ["FETCH_MAX_BYTES", "START", "KafkaSource", "Labels", "Share", "keys_moved"]

logger = logging.getLogger(__name__)

START = ("earliest", "latest")
POLL_SECONDS = 0.2  # short, so that a silent stream can be stopped
CHECK_SECONDS = 5.0  # between two checks of the end offsets
CHECK_TIMEOUT = 1.0  # seconds that a check may take, for the stream waits
METADATA_SECONDS = 30.0  # between two checks for new partitions, and for the topic of commands
STUCK_SECONDS = 60.0
FETCH_MAX_BYTES = 2**24  # buffered per broker, about


class Share(NamedTuple):
    """The partitions of every topic that one shard reads: those whose number is `shard` modulo `shards`."""

    shard: int
    shards: int
    # The number that every topic has to keep, because others would move keys to other shards; None if keys have no
    # meaning, as without labels.
    partitions: int | None


def keys_moved(what: str, before: int, now: int) -> str:
    """Return the text of the error for partitions that were added to topics with keys of samples and labels."""
    return (
        f"{what} had {before} partitions, and has {now} now: keys are in other partitions than before, so a label "
        "would not come to the shard with its sample. Stop the workers, and move the shards with `stream-bayes rescale "
        f"FILE --shards N`, where N divides both {before} and {now}"
    )


class Labels(NamedTuple):
    """A second topic, with labels and corrections for the samples of the first."""

    topic: str
    decoder: Decoder  # Set its fields' `default_kind` to `Kind.LABEL`, unless each record holds its kind.


class KafkaSource:
    """Reads all partitions of a topic, and of a second topic with labels, under read_committed.

    All partitions are merged by the time of their events; of equals, samples come before labels. So a backlog is
    processed in the order in which it happened, and not as it was fetched. Partitions are assigned, not subscribed to:
    one worker reads them all. A partition added later is read from its beginning. While no broker answers, `poll`
    returns nothing, and reading resumes by itself. A recreated topic, or records that expire before they are read,
    raise an error.

    The topic must exist. A record's key and timestamp become the event's, unless fields hold others. A first run starts
    at `start`: `"earliest"`, `"latest"`, or seconds since 1970. With `tombstones`, a record without value withdraws the
    sample with its key; otherwise it is skipped. The reader is replaced
    after `stuck_seconds` without progress in a partition that has records. `share` names the partitions to
    read; None for all. `commands` is a topic of commands to the pipeline, read as soon as it exists.

    The time of an event may be at most `max_skew` seconds after the timestamp of its record. No event happens after it
    was written, so one beyond, such as milliseconds read as seconds, is processed with that timestamp. A partition at
    its end is waited for `wait_idle` seconds while others have records, as with Kafka's `max.task.idle.ms`; one with
    records that were not fetched yet is always waited for. Only checks of the cluster and `wait_idle` depend on
    `clock`.

    Attributes
    ----------
    connected
        True if the cluster answered the last request.
    reseeks
        The number of times that the reader was replaced.
    trail
        Where reading began, and the last records read.
    """

    medium = "kafka"
    may_skip = True  # compaction, transaction markers and aborted transactions leave gaps

    def __init__(
        self,
        connection: Connection,
        topic: str,
        decoder: Decoder,
        *,
        labels: Labels | None = None,
        start: str | float = "earliest",
        tombstones: bool = False,
        stuck_seconds: float = STUCK_SECONDS,
        max_skew: float = MAX_SKEW,
        wait_idle: float = 0.0,
        share: Share | None = None,
        commands: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if labels is not None and labels.topic == topic:
            raise BadValue(
                f"labels: {shown(topic)} is the topic of the samples; give labels a topic of their own"
            )
        if isinstance(max_skew, bool) or not max_skew > 0:
            raise BadValue(f"max_skew: expected seconds above 0, got {shown(max_skew)}")
        if isinstance(wait_idle, bool) or not 0.0 <= wait_idle < math.inf:
            raise BadValue(f"wait_idle: expected seconds of at least 0, got {shown(wait_idle)}")
        if start not in START and (isinstance(start, (str, bool)) or not start >= 0):
            raise BadValue(f"start: expected 'earliest', 'latest' or seconds since 1970, got {shown(start)}")
        self.name = topic
        self.connection = connection
        self.cluster = Cluster(connection)
        self.decoders = {topic: decoder} | ({} if labels is None else {labels.topic: labels.decoder})
        decoder.watch_texts(topic)
        self.start = start
        self.tombstones = tombstones
        self.stuck_seconds = stuck_seconds
        self._impossible = ImpossibleTimes(max_skew)
        self.wait_idle = wait_idle
        self.share = share
        self.commands = commands
        self._lacks_commands = False  # for want of permission, which was logged
        self.connected = False
        self.reseeks = 0
        self.trail = ReadTrail()
        self._clock = clock
        self._reader: ReconnectingReader | None = None
        self._aligned: AlignedReader | None = None
        self._out_of_order = 0
        self._times = TimeCheck()
        self._ids: dict[str, str] = {}
        self._ends: Mapping[Partition, Position] = {}
        self._progress: dict[Partition, tuple[Position, float]] = {}  # the last position, and since when
        self._checked_at = self._partitions_checked_at = clock()

    def __repr__(self) -> str:
        return f"KafkaSource({', '.join(self.decoders)} at {self.connection})"

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def positions(self) -> Mapping[Partition, Position]:
        """The next position to read of each partition; before any `seek`, the start of a first run."""
        return self.starts() if self._aligned is None else dict(self._aligned.positions)

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        new = [partition for partition in self.partitions() if partition not in positions]
        added = self.cluster.beginning_offsets(new) if new else {}
        self.trail.origins |= added
        if self._reader is None:
            make = partial(make_reader, self.connection, FETCH_MAX_BYTES)
            self._reader = ReconnectingReader(make, self.cluster.beginning_offsets)
        if self._aligned is None:
            self._aligned = AlignedReader(
                self._reader,
                self.topics,
                self.decode,
                self._fetch_ends,
                buffer_bytes=FETCH_MAX_BYTES,
                wait_idle=self.wait_idle,
                trail=self.trail,
                clock=self._clock,
            )
        self._aligned.assign({**positions, **added})
        self._reader.compare(
            self.trail.marks
        )  # once more: the log may have lost its end since the check at the start
        self._progress.clear()
        self.connected = True

    def poll(self, limit: int) -> list[Record]:
        aligned = self._aligned_reader()
        self._check_cluster(aligned)
        try:
            records = aligned.poll(limit, POLL_SECONDS)
        except (BrokerAway, Interrupted) as error:
            self.reseeks += isinstance(error, ClientFailed)
            aligned.forget_ends()
            self._disconnected(error)
            time.sleep(POLL_SECONDS)
            return []
        if records:
            self.connected = True
        return records

    def close(self) -> None:
        reader, self._reader, self._aligned = self._reader, None, None
        if reader is not None:
            reader.close()
        self.cluster.close()
        for decoder in self.decoders.values():
            decoder.close()

    def _aligned_reader(self) -> AlignedReader:
        if self._aligned is None:
            self.seek(self.positions)
        assert self._aligned is not None
        return self._aligned

    def decode(self, message: Message) -> Record | None:
        """Return a message as a record; None for a message without value that is to be skipped.

        Raises
        ------
        BrokerError
            As of a `Decoder`.
        """
        partition = message.partition
        if partition.source == self.commands:
            return decode_command(message.value or b"", message.offset, partition, 1, message.time)
        decoder = self.decoders[partition.source]
        try:
            key = decoder.decoded_key(message.key)
        except Undecodable as error:
            raw = b"" if message.value is None else message.value
            fault = Undecodable(error.reason, f"its key: {error.detail}")
            return bad_record(fault, raw, message.offset, partition, 1, message.key, message.time)
        if message.value is None:
            if not self.tombstones:
                return None
            return Event({}, None, key, message.time, message.offset, ONE, TOMBSTONE, partition)
        record = decoder.decode(message.value, message.offset, partition, 1, key, message.time)
        if message.time is not None and self._impossible.are_in(record, message.time):
            self._times.inspect([record])  # which names another unit
            return self._impossible.replaced(record, message.time)
        return record

    def raw_of(self, event: Event, /) -> bytes | None:
        """Return the bytes of an event of the last batch, for its dead letter."""
        return None if self._aligned is None else self._aligned.raw_of(event)

    def check_decoders(self) -> None:
        """Raise `BrokerError` if a service that decodes records does not respond, or refuses."""
        for decoder in self.decoders.values():
            decoder.check()

    # -- the log ------------------------------------------------------------------------------------------------------

    @property
    def topics(self) -> list[str]:
        """The topics in their order: of records with equal times, those of an earlier one come first."""
        return [*self.decoders, *([] if self.commands is None else [self.commands])]

    def identity(self) -> dict[str, Any]:
        """Return the ids of the cluster and of the topics, except the topic of commands, for a snapshot."""
        self.partitions()
        return {"cluster": self.cluster.cluster_id(), "topics": dict(self._ids)}

    def partitions(self) -> list[Partition]:
        """Return all present partitions, or those of the share.

        Raises
        ------
        BrokerError
            If a topic does not exist.
        SourceError
            If a topic was recreated since the first call, or partitions were added to one that shards share.
        """
        topics = self.cluster.require_topics(self.decoders)
        for name, topic in topics.items():
            check_not_recreated(self._ids, name, topic.id)
            if self.share is not None and self.share.partitions not in (None, topic.partitions):
                raise SourceError(keys_moved(f"topic {name!r}", self.share.partitions, topic.partitions))
        first, step = (0, 1) if self.share is None else self.share[:2]
        partitions = [
            Partition(name, number)
            for name in self.decoders
            for number in range(first, topics[name].partitions, step)
        ]
        if self.commands is not None and self._has_commands(self.commands):
            partitions.append(Partition(self.commands))
        return partitions

    def _has_commands(self, topic: str) -> bool:
        """Return True if the topic of commands exists, and this user may describe it."""
        try:
            return topic in self.cluster.topics([topic])
        except BrokerAway:
            raise
        except BrokerError as error:
            if not self._lacks_commands:
                self._lacks_commands = True
                logger.warning("commands are not read: %s", error)
            return False

    def starts(self, origins: Mapping[Partition, Position] | None = None) -> dict[Partition, Position]:
        """Return the positions at which a first run begins. `origins` are those where it has begun already; those of
        the trail, if not given.
        """
        origins = self.trail.origins if origins is None else origins
        partitions = self.partitions()
        beginnings = self.cluster.beginning_offsets(partitions)
        new = [partition for partition in partitions if partition not in origins]
        return {
            partition: max(origins.get(partition, 0), beginnings[partition]) for partition in partitions
        } | self._first_starts(new, beginnings, is_first=not origins)

    def _first_starts(
        self, new: list[Partition], beginnings: Mapping[Partition, Position], *, is_first: bool
    ) -> dict[Partition, Position]:
        """Return where partitions without an origin begin: one that is added to others is read whole."""
        if self.start == "earliest" or not is_first or not new:
            return {partition: beginnings[partition] for partition in new}
        if self.start == "latest":
            return self.cluster.end_offsets(new)
        return self.cluster.offsets_at(new, float(self.start))

    @property
    def position_units(self) -> Mapping[str, str]:
        """A position is an offset."""
        return dict.fromkeys({partition.source for partition in self.positions}, "offsets")

    @property
    def end_offsets(self) -> Mapping[Partition, Position]:
        """The end offset of each partition at the last check."""
        return self._ends

    def fetch_end(self) -> Mapping[Partition, Position]:
        return self.cluster.end_offsets(self.positions)

    def has_reached(self, end: Mapping[Partition, Position], /) -> bool:
        try:
            return self._aligned_reader().has_reached(end)
        except (BrokerAway, Interrupted):
            return False  # until it answers again

    def _fetch_ends(self, partitions: Iterable[Partition]) -> Mapping[Partition, Position]:
        self._ends = self.cluster.end_offsets(partitions, CHECK_TIMEOUT)
        return self._ends

    @property
    def incidents(self) -> Mapping[str, int]:
        aligned = self._aligned
        self._out_of_order = self._out_of_order if aligned is None else aligned.out_of_order
        bad_fields = sum(decoder.bad_fields.total() for decoder in self.decoders.values())
        return {
            BAD_FIELDS: bad_fields,
            IMPOSSIBLE_TIMES: self._impossible.count,
            OUT_OF_ORDER: self._out_of_order,
            RESEEKS: self.reseeks,
            **self._times.incidents,
        }

    # -- checks while reading -----------------------------------------------------------------------------------------

    def _check_cluster(self, aligned: AlignedReader) -> None:
        """Check periodically that the cluster answers; find new partitions and stuck ones."""
        now = self._clock()
        if now - self._checked_at < CHECK_SECONDS:
            return
        try:
            if not self.connected:
                self.check_decoders()
            if now - self._partitions_checked_at >= METADATA_SECONDS:
                self._partitions_checked_at = now
                self._add_partitions(aligned)
            self._fetch_ends(aligned.positions)
            self._restart_if_stuck(aligned, now)
            self.connected = True
        except (BrokerAway, Interrupted) as error:
            self._disconnected(error)
        finally:
            self._checked_at = self._clock()

    def _disconnected(self, error: Exception) -> None:
        if self.connected:
            logger.warning("nothing can be read of %s at present: %s", self.name, error)
        self.connected = False

    def _add_partitions(self, aligned: AlignedReader) -> None:
        new = [partition for partition in self.partitions() if partition not in aligned.positions]
        if new:
            logger.info("partitions were added, and are read from their beginnings: %s", new)
            added = self.cluster.beginning_offsets(new)
            self.trail.origins |= added
            aligned.add(added)

    def _restart_if_stuck(self, aligned: AlignedReader, now: float) -> None:
        """Replace the reader if a partition has records and none came for long."""
        for partition, end in self._ends.items():
            try:
                awaits_no_fetch = aligned.awaits_no_fetch(partition, end)
            except Interrupted:  # a reader that never returns its position is stuck too
                awaits_no_fetch = False
            fetched = aligned.fetched(partition)
            at, since = self._progress.get(partition, (-1, now))
            if fetched != at or awaits_no_fetch:
                self._progress[partition] = (fetched, now)
            elif now - since >= self.stuck_seconds:
                self.reseeks += 1
                self._progress.clear()
                assert self._reader is not None
                # A client whose thread has ended raises nothing and finds no new leader.
                self._reader.discard(f"{partition} sent nothing for {now - since:.0f} seconds")
                return
