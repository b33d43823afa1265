"""The journal of a pipeline: a topic with one partition, in which each commit says what it was made from.

    {"format":1,"worker":"5c1e...","number":0,"slices":[],"cluster":"w1u7...","topics":{"days":"b9a4..."}}
    {"format":1,"worker":"5c1e...","number":1,"slices":[["days",0,0,500],["days",1,0,480]]}
    {"format":1,"worker":"5c1e...","number":2,"slices":[],"positions":[["days",0,500],["days",1,480]],"cluster":...}

The first is what a worker writes when it takes over; by the name in it others learn that they were taken over from. The
second is a commit, in the same transaction as its results. The third comes now and then, and before the journal is cut
off below the oldest snapshot: so what is left of it always tells what was read, and how far was committed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial

import msgspec

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.errors import BrokerAway, CannotResume
from stream_bayes.streams.kafka.client import Interrupted, Message, Reader
from stream_bayes.streams.kafka.client_factory import make_reader
from stream_bayes.streams.kafka.cluster import Cluster
from stream_bayes.streams.kafka.reconnecting import ReconnectingReader
from stream_bayes.streams.kafka.slices import advanced

__all__ = ["FORMAT", "Entry", "committed_in", "entries_from"]

FORMAT = 1
POLL_SECONDS = 0.2
AT_ONCE = 500
MOST_BYTES = 2**22


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One record of a journal.

    Parameters
    ----------
    format
        `FORMAT`, when it was written.
    worker, number
        Who wrote it, and the how manieth of theirs it is.
    slices
        What was read for it: topic, partition, and the positions from and to.
    positions
        The next to read of each partition; only in entries without slices.
    cluster, topics
        What is read, by id; only in entries without slices.
    offset
        Where it stands in the journal; not written.
    """

    format: int
    worker: str
    number: int
    slices: tuple[tuple[str, int, int, int], ...]
    positions: tuple[tuple[str, int, int], ...] = ()
    cluster: str | None = None
    topics: dict[str, str] | None = None
    offset: int = 0

    @property
    def taken(self) -> list[Slice]:
        """The slices, as such."""
        return [Slice(Partition(topic, number), start, stop) for topic, number, start, stop in self.slices]

    @property
    def reached(self) -> dict[Partition, Position]:
        """The positions, as such."""
        return {Partition(topic, number): position for topic, number, position in self.positions}


def entries_from(cluster: Cluster, topic: str, start: Position) -> Iterator[Entry | None]:
    """The entries from an offset to what is the end now, in their order; None for every time that one must wait.

    Raises
    ------
    BrokerAway
        If the cluster stops answering meanwhile.
    CannotResume
        If something else than a journal is there.
    """
    partition = Partition(topic)
    end = cluster.ends([partition])[partition]
    if start >= end:
        return
    reader = ReconnectingReader(partial(make_reader, cluster.connection, MOST_BYTES))
    try:
        reader.assign({partition: max(start, cluster.beginnings([partition])[partition])})
        silent_since = time.monotonic()
        while True:
            messages, reached = _read(reader, partition)
            for message in messages:
                yield _entry(topic, message.value, message.offset)
            if messages:
                silent_since = time.monotonic()
                continue
            if reached >= end:
                return
            if time.monotonic() - silent_since > cluster.connection.seconds:
                raise BrokerAway(
                    f"the journal {topic!r} has records up to {end}, and Kafka at {cluster.connection} sent none after "
                    f"{reached} in {cluster.connection.seconds:g} seconds; look whether its brokers are well"
                )
            yield None
    finally:
        reader.close()


def _read(reader: Reader, partition: Partition) -> tuple[list[Message], Position]:
    """What has come, and up to where was read where nothing has."""
    try:
        messages = reader.poll(AT_ONCE, POLL_SECONDS)
        return messages, 0 if messages else reader.reached(partition)
    except (BrokerAway, Interrupted):
        time.sleep(POLL_SECONDS)
        return [], 0


def _entry(topic: str, value: bytes | None, offset: int) -> Entry:
    try:
        entry = msgspec.json.decode(value or b"", type=Entry)
    except msgspec.DecodeError as error:
        raise CannotResume(
            f"topic {topic!r} is no journal of this package: record {offset} is {error}; give the pipeline another name"
        ) from error
    if entry.format > FORMAT:
        raise CannotResume(
            f"the journal {topic!r} was written by a newer version: record {offset} has format {entry.format}, "
            f"this version reads {FORMAT}; upgrade"
        )
    return msgspec.structs.replace(entry, offset=offset)


def committed_in(entries: Iterable[Entry | None]) -> dict[Partition, Position]:
    """Up to where entries say that a log was committed.

    Examples
    --------
    >>> entries = [Entry(1, "w", 1, (("days", 0, 0, 5), ("days", 1, 0, 3))), Entry(1, "w", 2, (("days", 0, 5, 9),))]
    >>> committed_in(entries)
    {Partition(source='days', partition=0): 9, Partition(source='days', partition=1): 3}
    """
    positions: dict[Partition, Position] = {}
    for entry in entries:
        if entry is not None:
            positions = advanced(positions | entry.reached, entry.taken)
    return positions
