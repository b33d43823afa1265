"""The journal of a pipeline: a topic that holds an entry for each commit, with its slices; a partition for each shard.

    {"format":1,"worker":"5c1e...","number":0,"slices":[],"cluster":"w1u7...","topics":{"days":"b9a4..."}}
    {"format":1,"worker":"5c1e...","number":1,"slices":[["days",0,0,500],["days",1,0,480]],"records":[500,480],
     "marks":[[4,...],[4,...]]}
    {"format":1,"worker":"5c1e...","number":2,"slices":[],"positions":[["days",0,500],["days",1,480]],"cluster":...}

The slices of an entry are one range for each partition. Their records, merged by time, are the batch in its order.

A worker writes the first when it takes over: the `worker` in it shows others that they are fenced. The second is a
commit, in the same transaction as its results. The third is written periodically, and before the journal is deleted
below the oldest snapshot, so the rest always holds the source's identity and the committed positions.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import msgspec

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.errors import BrokerAway, CannotResume, SourceError
from stream_bayes.kafka.clients.client import Interrupted, Message, Reader
from stream_bayes.kafka.clients.factory import make_reader
from stream_bayes.kafka.clients.reconnecting import ReconnectingReader
from stream_bayes.kafka.clients.record_marks import NO_MARK, Mark, MarkRow
from stream_bayes.kafka.cluster import Cluster

__all__ = ["FORMAT", "JournalRecord", "committed_in", "entries_from"]

FORMAT = 1
POLL_SECONDS = 0.2
POLL_LIMIT = 500
FETCH_MAX_BYTES = 2**22


class JournalRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One record of a journal."""

    format: int  # `FORMAT`, when it was written
    worker: str
    number: int  # of the entry among that worker's entries
    # the input of the commit: topic, partition, start and stop position
    slices: tuple[tuple[str, int, int, int], ...]
    # The next position to read of each partition. This and the next three stand only in entries without slices.
    positions: tuple[tuple[str, int, int], ...] = ()
    cluster: str | None = None  # the source's ids of cluster and topics
    topics: dict[str, str] | None = None
    # the first position that the pipeline read of each partition
    origins: tuple[tuple[str, int, int], ...] = ()
    # Of each slice or position, the record before its end: epoch, timestamp and checksum, as in `read_trail`.
    marks: tuple[MarkRow, ...] = ()
    tape: bytes = b""  # the answers of the batch, if they depend on more than its journal; see `workers.tape`
    records: tuple[int, ...] = ()  # the number of records in each slice
    offset: int = 0  # in the journal; not written

    @property
    def slices_read(self) -> list[Slice]:
        """The slices, as `Slice` objects."""
        counts = self.records or (None,) * len(self.slices)
        return [
            Slice(Partition(topic, number), start, stop, count)
            for (topic, number, start, stop), count in zip(self.slices, counts, strict=True)
        ]

    @property
    def next_positions(self) -> dict[Partition, Position]:
        """The positions by partition."""
        return {Partition(topic, number): position for topic, number, position in self.positions}

    @property
    def read_marks(self) -> dict[Partition, Mark]:
        """The marks of the last records, by partition."""
        ends = [
            *((Partition(topic, number), stop) for topic, number, _, stop in self.slices),
            *self.next_positions.items(),
        ]
        return {
            partition: Mark(end - 1, *mark)
            for (partition, end), mark in zip(
                ends, self.marks or (NO_MARK,) * len(ends), strict=True
            )  # none in entries of earlier versions
            if mark != NO_MARK
        }


def entries_from(cluster: Cluster, partition: Partition, start: Position) -> Iterator[JournalRecord | None]:
    """Yield the entries from an offset to the present end, in order; None for every poll without entries.

    Raises
    ------
    BrokerAway
        If the cluster stops answering.
    CannotResume
        If the topic holds records that are no journal entries.
    """
    topic = partition.source
    end = cluster.end_offsets([partition])[partition]
    if start >= end:
        return
    make = partial(make_reader, cluster.connection, FETCH_MAX_BYTES)
    reader = ReconnectingReader(make, cluster.beginning_offsets)
    try:
        at = max(start, cluster.beginning_offsets([partition])[partition])
        reader.assign({partition: at})
        silent_since = time.monotonic()
        while True:
            try:
                messages, reached = _poll(reader, partition)
            except SourceError:
                begin = cluster.beginning_offsets([partition])[partition]
                if begin <= at:
                    raise
                at = begin  # its owner has pruned it meanwhile
                reader.assign({partition: at})
                continue
            at = max(at, reached)
            for message in messages:
                if message.offset < end:  # a busy worker writes faster than this reads
                    yield decode_entry(topic, message.value, message.offset)
            if reached >= end:
                return
            if messages:
                silent_since = time.monotonic()
                continue
            if time.monotonic() - silent_since > cluster.connection.seconds:
                raise BrokerAway(
                    f"the journal {topic!r} has records up to {end}, and Kafka at {cluster.connection} sent none after "
                    f"{reached} in {cluster.connection.seconds:g} seconds; check its brokers"
                )
            yield None
    finally:
        reader.close()


def _poll(reader: Reader, partition: Partition) -> tuple[list[Message], Position]:
    """Poll once. Return the messages, and the reader's position after them."""
    messages: list[Message] = []
    try:
        messages = reader.poll(POLL_LIMIT, POLL_SECONDS)
        return messages, reader.position(partition)
    except (BrokerAway, Interrupted):
        time.sleep(POLL_SECONDS)
        return messages, messages[-1].offset + 1 if messages else 0


def decode_entry(topic: str, value: bytes | None, offset: int) -> JournalRecord:
    try:
        entry = msgspec.json.decode(value or b"", type=JournalRecord)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CannotResume(
            f"topic {topic!r} is not a journal of this package: record {offset} is {error}; "
            "give the pipeline another name"
        ) from error
    if entry.format > FORMAT:
        raise CannotResume(
            f"the journal {topic!r} was written by a newer version: record {offset} has format {entry.format}, "
            f"this version reads {FORMAT}; upgrade"
        )
    if (fault := _fault_in(entry)) is not None:
        raise CannotResume(
            f"the journal {topic!r} was altered: record {offset} has {fault}, which no worker writes. Restore the "
            "topic, or give the pipeline another name"
        )
    return msgspec.structs.replace(entry, offset=offset)


def _fault_in(entry: JournalRecord) -> str | None:
    """Return what shows that an entry was not written by a worker; None if nothing does."""
    ranges = entry.slices
    if any(number < 0 or not 0 <= start < stop for _, number, start, stop in ranges):
        return f"the ranges {[list(part) for part in ranges]}"
    if any(number < 0 or position < 0 for _, number, position in entry.positions):
        return f"the positions {[list(part) for part in entry.positions]}"
    if len({part[:2] for part in ranges}) < len(ranges):
        return "two ranges of one partition"
    if ranges and entry.positions:
        return "ranges and positions"
    counts = entry.records
    if counts and len(counts) != len(ranges):
        return f"{len(counts)} numbers of records for {len(ranges)} ranges"
    if any(not 0 <= count <= stop - start for count, (*_, start, stop) in zip(counts, ranges, strict=False)):
        return f"{list(counts)} records in the ranges {[list(part) for part in ranges]}"
    ends = len(ranges) + len(entry.positions)
    if entry.marks and len(entry.marks) != ends:
        return f"{len(entry.marks)} marks for {ends} positions"
    return None


def committed_in(
    entries: Iterable[JournalRecord | None], before: Mapping[Partition, Position] | None = None
) -> dict[Partition, Position]:
    """Return the committed positions according to entries, the latest after positions before them.

    The entry of a worker that answered a range again, after another went on from there, moves nothing back.

    Examples
    --------
    >>> first = JournalRecord(1, "w", 1, (("days", 0, 0, 5), ("days", 1, 0, 3)))
    >>> entries = [first, JournalRecord(1, "w", 2, (("days", 0, 5, 9),))]
    >>> committed_in(entries)
    {Partition(source='days', partition=0): 9, Partition(source='days', partition=1): 3}
    """
    positions = dict(before or {})
    for entry in entries:
        if entry is not None:
            positions.update(entry.next_positions)
            for part in entry.slices_read:
                positions[part.partition] = max(part.stop, positions.get(part.partition, 0))
    return positions
