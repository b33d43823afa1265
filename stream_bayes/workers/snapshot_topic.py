"""Snapshots of a shard in `NAME.state`: a compacted topic in place of a directory.

A snapshot is written in the transaction of the next batch. So the journal always goes on from it, and a worker on
another machine finds both. A directory may cache the snapshot: it is used if it is as new as the topic.
"""

from __future__ import annotations

import builtins
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from stream_bayes.errors import Fenced, NoSnapshot
from stream_bayes.kafka.clients.client import Send
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import ReadableSnapshot, WrittenSnapshot
from stream_bayes.workers.publication import End, Origin, Publisher
from stream_bayes.workers.snapshot_cache import SnapshotCache
from stream_bayes.workers.state_parts import pieces
from stream_bayes.workers.topic_reader import TopicReader, record_key

__all__ = ["SnapshotTopic"]

logger = logging.getLogger(__name__)


class SnapshotTopic:
    """The newest snapshot of one shard, with the methods of a `SnapshotStore` that the engine calls. `topic` has a
    partition for each shard, which the readers of `open_reader` read. `part_bytes` is the size of a record. It signs
    with `key`; None for no signature. `cache` is a local copy of the newest snapshot; None for none.
    """

    def __init__(
        self,
        open_reader: Callable[[], TopicReader],
        topic: str,
        shard: int,
        source: Origin,
        part_bytes: int,
        key: bytes | None = None,
        cache: SnapshotCache | None = None,
    ) -> None:
        self.topic = topic
        self._open_reader = open_reader
        self._shard = shard
        self._source = source
        self._part_bytes = part_bytes
        self._key = key
        self._cache = cache
        self._lock = threading.Lock()
        self._publisher: Publisher | None = None
        self._snapshot: ReadableSnapshot | None = None
        self._end: End | None = None  # of the snapshot that was read
        self._generation = 0
        self._waiting: tuple[builtins.list[Send], int, dict[str, Any], WrittenSnapshot] | None = None
        self._committed: tuple[int, dict[str, Any], WrittenSnapshot] | None = None

    def take_over(self) -> None:
        """Do nothing: the shard's transactional id has fenced earlier owners."""

    def check_owner(self) -> None:
        """Raise `Fenced` if the topic has another snapshot than the one that was read: another worker goes on."""
        reader = self._open_reader()
        try:
            newest = reader.newest_end(self._shard)
        finally:
            reader.close()
        if newest is not None and newest[1] != self._end:
            raise Fenced(
                f"another worker has taken over shard {self._shard}: {self.topic!r} has a snapshot that was not there "
                "when this one started"
            )

    def latest(self) -> ReadableSnapshot | None:
        """Return the snapshot in the topic; None without one. It is read once."""
        if self._publisher is None:
            reader = self._open_reader()
            try:
                if not self._read_cached(reader):
                    self._read(reader)
            finally:
                reader.close()
        return self._snapshot

    def _read_cached(self, reader: TopicReader) -> bool:
        """Take the snapshot from the cache. Return False if that is not as new as the topic."""
        if self._cache is None or (newest := reader.newest_end(self._shard)) is None:
            return False
        value, end = newest
        data = self._cache.read(value)
        if data is None:
            return False
        logger.info(
            "shard %d starts from %s, which is as new as %s", self._shard, self._cache.path, self.topic
        )
        self._begin_with(end, data, end.parts)
        return True

    def _read(self, reader: TopicReader) -> None:
        reader.read_to_end()
        assembly = reader.assemblies[self._shard]
        if assembly.end is None:
            self._publisher = Publisher(self._source, self._shard, self._key, assembly.digests)
            return
        parts = assembly.parts
        data = b"".join(parts[f"snapshot/{number}"] for number in range(len(parts)))
        self._begin_with(assembly.end, data, assembly.digests)

    def _begin_with(self, end: End, data: bytes, published: Mapping[str, str]) -> None:
        snapshot = Snapshot.from_bytes(data)
        self._publisher = Publisher(self._source, self._shard, self._key, published)
        self._snapshot, self._end = ReadableSnapshot(0, snapshot, ()), end
        self._committed = 0, {"outputs": dict(snapshot.outputs)}, WrittenSnapshot(end.written, len(data))

    def newest_written(self) -> WrittenSnapshot | None:
        """Return time and size of the newest committed snapshot."""
        return None if self._committed is None else self._committed[2]

    def list(self) -> builtins.list[int]:
        """Return the generation of the committed snapshot."""
        return [] if self._committed is None else [self._committed[0]]

    def describe(self, generation: int) -> dict[str, Any]:
        """Return the lengths of the outputs of the committed snapshot.

        Raises
        ------
        NoSnapshot
            If none is committed.
        """
        if self._committed is None:
            raise NoSnapshot(f"topic {self.topic!r} has no snapshot of shard {self._shard} yet")
        return self._committed[1]

    def save(self, snapshot: Snapshot) -> int:
        """Make the records of a snapshot; the next transaction takes them. Thread-safe. Return its generation."""
        assert self._publisher is not None
        data = snapshot.to_bytes()
        parts = pieces("snapshot", data, self._part_bytes)
        now = time.time()
        with self._lock:
            records = self._publisher.records(parts, snapshot.clock, now)
            sends: builtins.list[Send] = [
                (self.topic, self._shard, record_key(self._shard, name), value, []) for name, value in records
            ]
            if self._waiting is not None:  # what a commit has not taken counts as published already
                sends = [*self._waiting[0], *sends]
            self._generation += 1
            outputs = {"outputs": dict(snapshot.outputs)}
            self._waiting = sends, self._generation, outputs, WrittenSnapshot(now, len(data))
            generation = self._generation
        if (
            self._cache is not None
        ):  # before the commit: without that, the topic has another end, and this is not used
            end = records[-1].value
            assert end is not None
            self._cache.write(end, data)
        return generation

    def collect(self) -> builtins.list[Send]:
        """Return the records of a snapshot that waits for a transaction; it counts as committed now."""
        with self._lock:
            waiting, self._waiting = self._waiting, None
        if waiting is None:
            return []
        sends, *committed = waiting
        self._committed = tuple(committed)  # type: ignore[assignment]  # the rest of the tuple
        return sends
