"""Snapshots of a shard in `NAME.state`: a compacted topic in place of a directory.

A snapshot is written in the transaction of the next batch. So the journal always goes on from it, and a worker on
another machine finds both.
"""

from __future__ import annotations

import builtins
import threading
import time
from collections.abc import Callable
from typing import Any

from stream_bayes.errors import NoSnapshot
from stream_bayes.snapshots.snapshot import Snapshot
from stream_bayes.streams.files.snapshot_store import Found, Newest
from stream_bayes.streams.kafka.client import Send
from stream_bayes.streams.workers.publication import Publisher, Source
from stream_bayes.streams.workers.topic_reader import TopicReader, record_key

__all__ = ["StateTopic"]


class StateTopic:
    """The newest snapshot of one shard, with the methods of a `SnapshotStore` that the engine calls.

    Parameters
    ----------
    open_reader
        Returns a reader of the shard's partition.
    topic, shard
        The topic and the partition.
    source
        The pipeline.
    part_bytes
        The size of a record.
    key
        A secret to sign with; None for no signature.
    """

    def __init__(
        self,
        open_reader: Callable[[], TopicReader],
        topic: str,
        shard: int,
        source: Source,
        part_bytes: int,
        key: bytes | None = None,
    ) -> None:
        self.topic = topic
        self._open_reader = open_reader
        self._shard = shard
        self._source = source
        self._part_bytes = part_bytes
        self._key = key
        self._lock = threading.Lock()
        self._publisher: Publisher | None = None
        self._found: Found | None = None
        self._generation = 0
        self._waiting: tuple[builtins.list[Send], int, dict[str, Any], Newest] | None = None
        self._committed: tuple[int, dict[str, Any], Newest] | None = None

    def take_over(self) -> None:
        """Do nothing: the shard's transactional id has fenced earlier owners."""

    def latest(self) -> Found | None:
        """Return the snapshot in the topic; None without one. It is read once."""
        if self._publisher is None:
            reader = self._open_reader()
            try:
                reader.read_to_end()
                assembly = reader.assemblies[self._shard]
                self._publisher = Publisher(self._source, self._shard, self._key, assembly.digests)
                if assembly.end is not None:
                    parts = assembly.parts
                    data = b"".join(parts[f"snapshot/{number}"] for number in range(len(parts)))
                    snapshot = Snapshot.from_bytes(data)
                    self._found = Found(0, snapshot, ())
                    described = {"outputs": dict(snapshot.outputs)}
                    self._committed = 0, described, Newest(assembly.end.written, len(data))
            finally:
                reader.close()
        return self._found

    def newest(self) -> Newest | None:
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
        size = self._part_bytes
        parts = {
            f"snapshot/{number}": data[number * size : (number + 1) * size]
            for number in range(max(1, -(-len(data) // size)))
        }
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
            self._waiting = sends, self._generation, outputs, Newest(now, len(data))
            return self._generation

    def collect(self) -> builtins.list[Send]:
        """Return the records of a snapshot that waits for a transaction; it counts as committed now."""
        with self._lock:
            waiting, self._waiting = self._waiting, None
        if waiting is None:
            return []
        sends, *committed = waiting
        self._committed = tuple(committed)  # type: ignore[assignment]  # the rest of the tuple
        return sends
