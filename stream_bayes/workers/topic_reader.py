"""Reading the publications of shards from a compacted topic, up to its end or as they come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import BadState, BrokerAway
from stream_bayes.kafka.clients.client import Interrupted, Message
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.factory import make_reader
from stream_bayes.kafka.clients.reconnecting import ReconnectingReader
from stream_bayes.kafka.cluster import Cluster
from stream_bayes.kafka.source import keys_moved
from stream_bayes.workers.publication import END, MOVED, Assembly, End, Moved, Origin

__all__ = ["TopicReader", "record_key"]

POLL_LIMIT = 1000
POLL_SECONDS = 0.2
FETCH_MAX_BYTES = 2**24
TAIL = 8  # offsets in which the last record of a partition is searched for: markers of transactions follow it


def record_key(shard: int, name: str) -> bytes:
    """Return the key of a record of a shard.

    Examples
    --------
    >>> record_key(3, "end")
    b'3/end'
    """
    return f"{shard}/{name}".encode()


class TopicReader:
    """Reads shards' publications. Each shard is the partition of its number. `key` is the secret of the signatures;
    None to take unsigned publications. `source` is the origin that these must have; None to take those of any.
    `cluster` is left open by `close`; None for one of its own.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        shards: Iterable[int],
        key: bytes | None = None,
        source: Origin | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        self.topic = topic
        self.assemblies = {shard: Assembly(shard, key) for shard in shards}
        self._source = source
        self._is_own_cluster = cluster is None
        self._cluster = Cluster(connection) if cluster is None else cluster
        self._partitions = {shard: Partition(topic, shard) for shard in self.assemblies}
        self._beginnings = self._cluster.beginning_offsets(self._partitions.values())
        self._next = dict(self._beginnings)
        self._ends = self._cluster.end_offsets(self._partitions.values())
        make = partial(make_reader, connection, FETCH_MAX_BYTES)
        self._reader = ReconnectingReader(make, self._cluster.beginning_offsets)
        self._reader.assign(self._next)

    def poll(self, seconds: float = POLL_SECONDS) -> set[int]:
        """Read what has come. Return the shards that were published.

        Raises
        ------
        BadState
            If another program writes to the topic.
        BrokerError
            As of a `Reader`.
        """
        published = set()
        for message in self._poll(seconds):
            shard = message.partition.partition
            if self._add(self.assemblies[shard], message):
                published.add(shard)
        return published

    def _poll(self, seconds: float) -> list[Message]:
        messages = self._reader.poll(POLL_LIMIT, seconds)
        for message in messages:
            self._next[message.partition] = message.offset + 1
        return messages

    def read_to_end(self) -> None:
        """Read up to the present end.

        Raises
        ------
        BrokerAway
            If no broker answers.
        """
        self._ends = self._cluster.end_offsets(self._partitions.values())
        self._read_until_end(self.poll)

    def newest_end(self, shard: int) -> tuple[bytes, End] | None:
        """Return the newest end of a shard, as it was written and decoded; None if none is among the last records.

        Only these are read. For a reader of one shard, before anything else is read.

        Raises
        ------
        BadState
            If the workers of this pipeline did not write it.
        BrokerAway
            If no broker answers.
        """
        ends = self._values_in_tail(shard, END)
        if not ends:
            return None
        end = self.assemblies[shard].checked_end(ends[-1])
        self._check_source(end)
        return ends[-1], end

    def newest_move(self, shard: int) -> Moved | None:
        """Return the record of a rescale that ends a shard's partition; None without one. Read as `newest_end` does.

        Raises
        ------
        BadState
            If the workers of this pipeline did not write it.
        BrokerAway
            If no broker answers.
        """
        moves = self._values_in_tail(shard, MOVED)
        return self.assemblies[shard].checked_move(moves[-1]) if moves else None

    def _values_in_tail(self, shard: int, name: str) -> list[bytes]:
        """Return the values of a name among the last records of a shard."""
        partition = self._partitions[shard]
        self._ends = self._cluster.end_offsets([partition])
        first = max(self._beginnings[partition], self._ends[partition] - TAIL)
        self._next = {**self._beginnings, partition: first}
        self._reader.assign(self._next)
        messages: list[Message] = []
        self._read_until_end(lambda: messages.extend(self._poll(POLL_SECONDS)))
        self._next = dict(self._beginnings)
        self._reader.assign(self._next)
        self._check_not_moved(shard, messages, name)
        return [message.value or b"" for message in messages if message.key == record_key(shard, name)]

    def _check_not_moved(self, shard: int, messages: Iterable[Message], name: str) -> None:
        if name == MOVED:
            return
        for message in messages:
            if message.key == record_key(shard, MOVED):
                raise BadState(str(self.assemblies[shard].checked_move(message.value)))

    def _read_until_end(self, poll: Callable[[], object]) -> None:
        seconds = self._cluster.connection.seconds
        progress, since = dict(self._next), time.monotonic()
        while not self.is_at_end():
            try:
                poll()
            except (BrokerAway, Interrupted):
                time.sleep(POLL_SECONDS)
            if progress != self._next:
                progress, since = dict(self._next), time.monotonic()
            elif time.monotonic() - since > 2 * seconds:
                raise BrokerAway(
                    f"topic {self.topic!r} at {self._cluster.connection} sent nothing in {2 * seconds:g} seconds; "
                    "check its brokers"
                )

    def is_at_end(self) -> bool:
        """Return True once everything was read that there was at the start, or at the last `read_to_end`."""
        return all(self._has_reached(partition, end) for partition, end in self._ends.items())

    def _has_reached(self, partition: Partition, end: Position) -> bool:
        if self._next[partition] < end:
            try:  # compacted records and transaction markers never come
                self._next[partition] = max(self._next[partition], self._reader.position(partition))
            except (BrokerAway, Interrupted):
                return False
        return self._next[partition] >= end

    def close(self) -> None:
        """Close the connections."""
        self._reader.close()
        if self._is_own_cluster:
            self._cluster.close()

    def _add(self, assembly: Assembly, message: Message) -> bool:
        shard, _, name = (message.key or b"").decode("utf-8", "replace").partition("/")
        if shard != str(assembly.shard) or not name:
            raise BadState(
                f"{self.topic}[{message.partition.partition}], offset {message.offset}: the key {message.key!r} is no "
                "part of a shard: another program writes to this topic; give the pipeline another name"
            )
        try:
            if name == MOVED:
                raise BadState(str(assembly.checked_move(message.value)))
            if not assembly.add(name, message.value):
                return False
        except BadState as error:
            raise BadState(
                f"{self.topic}[{message.partition.partition}], offset {message.offset}: {error}"
            ) from error
        assert assembly.end is not None
        self._check_source(assembly.end)
        return True

    def _check_source(self, end: End) -> None:
        expected = self._source
        if expected is None:
            self._source = end.source
        elif end.source != expected:
            if end.source == msgspec.structs.replace(expected, partitions=end.source.partitions):
                what = f"the input of {expected.pipeline!r}, by topic {self.topic!r},"
                raise BadState(keys_moved(what, end.source.partitions, expected.partitions))
            changed = [
                f"{name}={getattr(end.source, name)!r}, not {getattr(expected, name)!r}"
                for name in ("pipeline", "shards", "partitions", "settings")
                if getattr(end.source, name) != getattr(expected, name)
            ]
            raise BadState(
                f"topic {self.topic!r} was written with {', '.join(changed)}: shards of other settings cannot be "
                "summed. Start this worker with the same pipeline file, or give its pipeline another name"
            )
