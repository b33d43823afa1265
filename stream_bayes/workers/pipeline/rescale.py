"""Changing the number of shards of a pipeline, in one transaction.

    1  topics of the next generation are created; workers do not look at them yet
    2  a transaction begins, with an entry in each partition of the journal: no shard can start until it is decided
    3  the transactional ids of all shards are fenced: none that runs can commit
    4  the journals end with these entries, so the snapshots and the entries after them are all there will ever be
    5  states and counts of the new shards, and the records that name the generation, are added; it is committed

Killed before the commit, nothing has changed: the next run, or the next shard that starts, aborts the transaction.
After it, everything has. A shard whose journal goes on after its snapshot is replayed first, and leaves a snapshot.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from stream_bayes.core.events.event import Partition
from stream_bayes.errors import BadConfig, BrokerAway, BrokerError, NoSnapshot
from stream_bayes.kafka.clients.client import Interrupted, Send, Writer
from stream_bayes.kafka.clients.factory import make_writer
from stream_bayes.kafka.cluster import Cluster
from stream_bayes.kafka.journal import FORMAT as JOURNAL_FORMAT
from stream_bayes.kafka.journal import JournalRecord, committed_in, entries_from
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.streams.pipelines.config import PipelineConfig
from stream_bayes.workers.pipeline.parts import WorkerParts
from stream_bayes.workers.publication import FORMAT, MOVED, Moved, Publisher
from stream_bayes.workers.rescaling import NewShard, reshard
from stream_bayes.workers.shard_topics import ShardTopics, present_topics, rescale_id, shard_id
from stream_bayes.workers.state_parts import parts_of, pieces
from stream_bayes.workers.topic_reader import TopicReader, record_key
from stream_bayes.workers.total import Total

__all__ = ["Rescaled", "rescale"]

logger = logging.getLogger(__name__)

TRANSACTION_SECONDS = 600.0  # states of gigabytes are read and written within it
ATTEMPTS = 3  # shards that are replayed leave snapshots, and then it is tried again
POLL_SECONDS = 0.2


class Rescaled(NamedTuple):
    """The result of a rescale."""

    before: int  # number of shards
    after: int
    events: int  # records in the model
    generation: int  # the number of the topics that it has now
    has_changed: bool  # False if the pipeline had so many shards already


def rescale(config: PipelineConfig, shards: int, directory: Path = Path()) -> Rescaled:
    """Give a pipeline with [workers] another number of shards. Stop its workers first. The number of shards in the file
    may be the present one, or the new one already. Its paths are relative to `directory`.

    Raises
    ------
    StreamBayesError
        If it cannot be done. Nothing has changed then.
    """
    if config.workers is None or config.kafka is None:
        raise BadConfig("workers: is missing; only a pipeline with [workers] has shards")
    if not 1 <= shards <= 1024:
        raise BadConfig(f"--shards: expected 1 to 1024, got {shards}")
    cluster = Cluster(config.kafka.connection())
    try:
        return _Rescale(config, shards, directory, cluster).run()
    finally:
        cluster.close()


def _with_shards(config: PipelineConfig, shards: int) -> PipelineConfig:
    assert config.workers is not None
    return config.model_copy(update={"workers": config.workers.model_copy(update={"shards": shards})})


class _Rescale:
    def __init__(self, config: PipelineConfig, shards: int, directory: Path, cluster: Cluster) -> None:
        self._cluster = cluster
        self._name = config.name
        self._directory = directory
        self._new = WorkerParts(_with_shards(config, shards), directory)
        if not isinstance(self._new.total, Total):
            raise BadConfig(
                f"model.kind: the shards of a {config.model.kind} cannot be moved to others; give the pipeline another "
                "name with the new number of shards, and it learns its topics again"
            )
        topics = present_topics(cluster, self._name, self._new.key)
        self._new.topics = topics
        described = self._new.present_topics(cluster)
        if len(described) < len(topics.names):
            raise NoSnapshot(
                f"there is no pipeline {self._name!r} with [workers] at {cluster.connection}: start its workers with "
                f"workers.shards = {shards}"
            )
        self._old = WorkerParts(_with_shards(config, described[topics.journal].partitions), directory)
        self._old.topics = topics
        self._moved_events = 0

    @property
    def _shards(self) -> int:
        return self._new.table.shards

    def run(self) -> Rescaled:
        old, new = self._old, self._new
        new.check_input(self._cluster)
        old.partitions = self._partitions_before()
        self._check_keys()
        if old.table.shards == new.table.shards and old.kept_partitions == new.kept_partitions:
            topics = old.topics
            events = sum(snapshot.clock for snapshot in self._snapshots().values())
            return Rescaled(self._shards, self._shards, events, topics.generation, has_changed=False)
        if self._cluster.has_members(self._name):
            raise BrokerError(
                f"the group {self._name!r} has members: stop all workers first. One that was killed leaves it after "
                f"workers.session_seconds = {old.table.session_seconds:g}"
            )
        new.topics = self._create_next()
        for _ in range(ATTEMPTS):
            unsettled = self._move()
            if unsettled is None:
                events = self._moved_events
                return Rescaled(
                    old.table.shards, self._shards, events, new.topics.generation, has_changed=True
                )
            self._replay(unsettled)
        raise BrokerError(
            f"a worker of {self._name!r} goes on while its shards are moved: stop all workers first"
        )

    # -- checks -------------------------------------------------------------------------------------------------------

    def _partitions_before(self) -> int:
        """Return the number of partitions of the input that the present shards are of."""
        topics, key = self._old.topics, self._old.key
        reader = TopicReader(
            self._old.connection, topics.state, range(self._old.table.shards), key, cluster=self._cluster
        )
        try:
            reader.read_to_end()
            ends = [assembly.end for assembly in reader.assemblies.values() if assembly.end is not None]
        finally:
            reader.close()
        recorded: int = next((end.source.partitions for end in ends), 0)
        return recorded or self._new.partitions  # 0 without labels: no key depends on it

    def _check_keys(self) -> None:
        """Refuse numbers of shards for which a label would not come to the shard with its sample."""
        before, now = self._old.kept_partitions, self._new.kept_partitions
        if before == now or before is None or now is None:
            return
        if before % self._shards or now % self._shards:
            fitting = [n for n in range(1, min(before, now) + 1) if not before % n and not now % n]
            raise BadConfig(
                f"--shards: the topics had {before} partitions, and have {now} now, so a key is in another partition "
                f"than before. It comes to the same shard only if the number of shards divides both: one of {fitting}; "
                f"got {self._shards}"
            )

    def _create_next(self) -> ShardTopics:
        """Create the topics of the next generation, or take those that a run before this one has left."""
        new, generation = self._new, self._old.topics.generation + 1
        while any(
            topic.partitions != self._shards
            for topic in self._cluster.topics(ShardTopics(self._name, generation).names).values()
        ):
            generation += 1  # of a rescale to another number, which did not come to its end
        new.topics = ShardTopics(self._name, generation)
        new.create_topics(self._cluster)
        return new.topics

    # -- shards whose journals go on after their snapshots ------------------------------------------------------------

    def _replay(self, unsettled: list[int]) -> None:
        """Replay shards, and let each leave a snapshot."""
        logger.info("the shards %s of %s are replayed", unsettled, self._name)
        for number in unsettled:
            shard = self._old.make_shard(number, until_end=False, only_replay=True)
            shard.run()  # its answers are in its journal, so it needs no other shard
            if shard.failure is not None:
                raise shard.failure

    # -- the transaction ----------------------------------------------------------------------------------------------

    def _move(self) -> list[int] | None:
        """Move all shards in one transaction, and return None. Else nothing was moved: return those to replay first."""
        writer = self._writer(rescale_id(self._name))
        try:
            writer.fence()
            writer.begin()
            ends = self._enter(writer)
            for shard in range(self._old.table.shards):
                fencing = self._writer(shard_id(self._name, shard))
                try:
                    fencing.fence()
                finally:
                    fencing.close()
            self._await_decisions(ends)
            if self._cluster.high_watermarks(ends) != ends:  # a shard that was running then: look again
                writer.abort()
                return []
            snapshots = self._snapshots()
            unsettled = [
                shard
                for shard in range(self._old.table.shards)
                if not self._is_settled(shard, snapshots.get(shard))
            ]
            if unsettled:
                writer.abort()
                return unsettled
            moved = reshard(
                snapshots,
                self._shards,
                self._new.settings,
                self._new.make_step,
                self._new.total.clone(),
            )
            writer.send_all(self._sends(moved))
            self._commit(writer)
            self._moved_events = sum(each.snapshot.clock for each in moved.values())
            return None
        except Interrupted as error:
            raise BrokerAway(
                f"the shards of {self._name!r} were not moved, and nothing has changed: {error}. Make sure that no "
                "worker starts, and run it again"
            ) from error
        finally:
            writer.close()

    def _commit(self, writer: Writer) -> None:
        """Commit, and find out what came of it: the answer may be lost."""
        failure = "its transaction was aborted"
        try:
            writer.commit()
        except Interrupted as error:
            failure = str(error)
        fencing = self._writer(rescale_id(self._name))
        try:
            fencing.fence()  # what was committed is readable then, and what was not is aborted
        finally:
            fencing.close()
        if present_topics(self._cluster, self._name, self._old.key) != self._new.topics:
            raise Interrupted(failure)

    def _writer(self, transactional_id: str) -> Writer:
        seconds = max(TRANSACTION_SECONDS, self._old.kafka.transaction_seconds)
        return make_writer(self._old.connection, transactional_id, seconds, self._old.kafka.max_message_bytes)

    @property
    def _journals(self) -> list[Partition]:
        return [Partition(self._old.topics.journal, shard) for shard in range(self._old.table.shards)]

    def _await_decisions(self, ends: Mapping[Partition, int]) -> None:
        """Wait until all transactions before the last entries of the journals are decided."""
        deadline = time.monotonic() + self._old.connection.seconds
        while any(end < ends[part] - 1 for part, end in self._cluster.end_offsets(ends).items()):
            if time.monotonic() > deadline:
                raise Interrupted(f"a transaction is left open in {self._old.topics.journal!r}")
            time.sleep(POLL_SECONDS)

    def _enter(self, writer: Writer) -> dict[Partition, int]:
        """Write an entry into each journal. Return the offsets after them."""
        entry = msgspec.json.encode(JournalRecord(JOURNAL_FORMAT, uuid.uuid4().hex, 0, ()))
        offsets: dict[Partition, Callable[[], int]] = {
            part: writer.send(*part, None, entry) for part in self._journals
        }
        writer.flush()
        return {part: offset() + 1 for part, offset in offsets.items()}

    def _snapshots(self) -> dict[int, Snapshot]:
        """Return the newest snapshots of the present shards."""
        old = self._old
        reader = old.reader(old.topics.state, range(old.table.shards), self._cluster)
        try:
            reader.read_to_end()
            return {
                shard: Snapshot.from_bytes(
                    b"".join(assembly.parts[f"snapshot/{number}"] for number in range(len(assembly.parts)))
                )
                for shard, assembly in reader.assemblies.items()
                if assembly.end is not None
            }
        finally:
            reader.close()

    def _is_settled(self, shard: int, snapshot: Snapshot | None) -> bool:
        """Return True if nothing was committed after a snapshot."""
        if snapshot is None:
            return False
        journal = Partition(self._old.topics.journal, shard)
        committed = committed_in(entries_from(self._cluster, journal, snapshot.outputs["journal"]))
        return all(snapshot.positions.get(part, 0) >= at for part, at in committed.items())

    def _sends(self, moved: Mapping[int, NewShard]) -> Iterator[Send]:
        old, new, now = self._old, self._new, time.time()
        for shard, (snapshot, learner) in moved.items():
            parts = {
                new.topics.state: pieces("snapshot", snapshot.to_bytes(), new.part_bytes),
                new.topics.model: parts_of(learner.content().state(), new.part_bytes),
            }
            for topic, of_topic in parts.items():
                for name, value in Publisher(new.origin, shard, new.key).records(
                    of_topic, snapshot.clock, now
                ):
                    yield (topic, shard, record_key(shard, name), value, [])
        record = msgspec.json.encode(
            Moved(FORMAT, self._name, new.topics.generation, self._shards).signed(old.key)
        )
        for topic in (old.topics.model, old.topics.state):
            for shard in range(old.table.shards):
                yield (topic, shard, record_key(shard, MOVED), record, [])
