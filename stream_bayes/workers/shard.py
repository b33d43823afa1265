"""A shard: an engine over a share of the partitions, with its own partition of the journal and transactional id."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.errors import Fenced
from stream_bayes.kafka.clients.client import Send
from stream_bayes.kafka.journal import JournalRecord
from stream_bayes.kafka.offset_rules import ClusterState
from stream_bayes.kafka.recovery import JournalRecovery
from stream_bayes.kafka.transactions import Transactions
from stream_bayes.kafka.transactions_in_doubt import is_in_doubt
from stream_bayes.streams.contracts.incidents import total_incidents
from stream_bayes.streams.contracts.recovery import ResumePoint
from stream_bayes.streams.contracts.sink import Result
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.engine.engine import Engine
from stream_bayes.streams.service.timings import Timings
from stream_bayes.workers.model_topic import ModelPublisher
from stream_bayes.workers.product_totals import ServedShard
from stream_bayes.workers.shard_counts import ShardCounts
from stream_bayes.workers.shard_topics import rescale_id, shard_id
from stream_bayes.workers.snapshot_topic import SnapshotTopic

__all__ = ["JournalSink", "Shard", "ShardRecovery", "ShardTransactions"]

logger = logging.getLogger(__name__)


class ShardTransactions(Transactions):
    """Transactions of one shard, which also hold its counts and its snapshots when these are due. The journal is the
    shard's partition.

    Attributes
    ----------
    take_tape
        Returns the answers of the batch.
    publisher, store
        The counts and the snapshots to add.
    """

    take_tape: Callable[[], bytes]
    publisher: ModelPublisher
    store: SnapshotTopic

    def __init__(self, *arguments: Any, shard: int, **others: Any) -> None:
        super().__init__(*arguments, **others)
        self.shard = shard
        self.journal = Partition(self.journal.source, shard)

    @property
    def described(self) -> str:
        return f"{self.name} (shard {self.shard})"

    @property
    def transactional_id(self) -> str:
        return shard_id(self.name, self.shard)

    def _end_in_doubt(self) -> None:
        """End what is open in the journal: that of a rescale which was killed, or one of this shard.

        A rescale that still runs then fails, and has changed nothing.
        """
        writer = self._writer_of(rescale_id(self.name))
        try:
            writer.fence()
        finally:
            writer.close()
        if is_in_doubt(self.cluster, self.journal, self._sleep):
            super()._end_in_doubt()

    def flush(self, positions: Mapping[Partition, Position], *, at_end: bool) -> None:
        """Commit what is due and has no batch to go with."""
        sends = self._due(at_end)
        if sends:
            self.commit_offsets(positions, sends)

    def _deliver(self, sends: Sequence[Send], slices: Sequence[Slice], tape: bytes = b"") -> None:
        super()._deliver([*sends, *self._due(at_end=False)], slices, self.take_tape())

    def _due(self, at_end: bool) -> list[Send]:
        return [*self.store.collect(), *self.publisher.collect(at_end=at_end)]


class ShardRecovery(JournalRecovery):
    """Replays a shard's journal with the answers that it holds."""

    def __init__(
        self,
        source: Any,
        pipeline: str,
        delivery: ShardTransactions,
        *,
        model: ServedShard,
        **others: Any,
    ) -> None:
        super().__init__(source, pipeline, delivery, **others)
        self._shard_delivery = delivery
        self._model = model

    def check(self, point: ResumePoint | None, rebuild: bool) -> None:
        """Wait until an earlier owner's last commit is readable. It is fenced already, so `resume` checks the rest."""
        if point is not None:
            self._shard_delivery.await_decision()

    def _cluster_state(self, committed: Mapping[Partition, Position] | None = None) -> ClusterState:
        return super()._cluster_state(committed)._replace(can_rebuild=False)

    def replay(self) -> Iterator[Sequence[Record]]:
        yield from super().replay()
        self._model.go_live()

    def _begin_entry(self, entry: JournalRecord) -> None:
        self._model.replay(entry.tape)

    def maintain(self, positions: Mapping[Partition, Position]) -> None:
        self._shard_delivery.flush(positions, at_end=False)
        super().maintain(positions)

    def finish(self, positions: Mapping[Partition, Position]) -> None:
        # A replay that was stopped stands before what was committed and published.
        if self._model.is_live:
            self._shard_delivery.flush(positions, at_end=True)


class JournalSink:
    """A sink that drops results, and commits the journal of a pipeline that writes none."""

    name = "journal_only"
    medium = "kafka"
    length = None

    def __init__(self, delivery: ShardTransactions) -> None:
        self._delivery = delivery

    def open(self, length: int | None) -> None:
        self._delivery.open()

    def begin(self) -> None:
        self._delivery.begin()

    def write(self, results: Sequence[Result]) -> None:
        pass

    def commit(self, slices: Sequence[Slice]) -> None:
        self._delivery.commit(slices)

    def abort(self) -> None:
        self._delivery.abort()

    def sync(self) -> None:
        pass

    def close(self) -> None:
        self._delivery.close()


class Shard:
    """Runs a shard's engine in a thread. `prepare` is called once its predecessor is fenced, before the engine starts.
    With `until_end` it ends where the topics ended at the start.

    Attributes
    ----------
    failure
        The error with which it ended.
    restore_seconds
        Seconds from its start to its first new record.
    """

    def __init__(
        self,
        number: int,
        engine: Engine,
        delivery: ShardTransactions,
        publisher: ModelPublisher,
        prepare: Callable[[], None],
        until_end: bool = False,
    ) -> None:
        self.number = number
        self.engine = engine
        self.publisher = publisher
        self.failure: BaseException | None = None
        self.restore_seconds: float | None = None
        self._delivery = delivery
        self._prepare = prepare
        self._until_end = until_end
        self._is_stopped = False
        self._timings = Timings()
        self._dead_before: Counter[str] | None = None  # dead letters of earlier runs; None during the start
        self._failed_snapshots = 0  # kept, because the engine has none after its end
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self.run, name=f"shard-{number}", daemon=True)

    def start(self) -> None:
        """Run it in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Let it end after the present batch, with a commit."""
        self._is_stopped = True
        self.engine.stop()

    def join(self, seconds: float | None = None) -> bool:
        """Wait until it has ended. Return False if it takes longer."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def processed(self) -> int:
        """Number of new records in this run."""
        progress = self.engine.progress
        return progress.processed_in_run - progress.replayed

    @property
    def counts(self) -> ShardCounts:
        """Counts of this run. Thread-safe."""
        engine = self.engine
        now = Counter(dict(engine.step.dead_letters.counts))
        parts = (engine.source, engine.recovery, engine.predictions, engine.dead_letters, engine.times)
        return ShardCounts(
            self.processed,
            self.publisher.published,
            self.publisher.bytes_published,
            max(self._failed_snapshots, engine.snapshots[1]),
            Counter() if self._dead_before is None else now - self._dead_before,
            Counter(total_incidents(parts)),
            self._timings,
        )

    @property
    def has_ended(self) -> bool:
        """True once it has ended."""
        return not self._thread.is_alive()

    @property
    def is_fenced(self) -> bool:
        """True if it ended because another worker has the shard."""
        return isinstance(self.failure, Fenced)

    def run(self) -> None:
        """Run it in this thread. Its error is in `failure`."""
        try:
            self._delivery.open()
            self._prepare()
            if self._is_stopped:
                self.engine.stop()
            self.engine.at_start(self._begin_counting)
            self.engine.watch(lambda _: self._timings.observe(self.engine))
            self.engine.attend(self._record_start)
            self.engine.run(until_end=self._until_end)
        except BaseException as error:  # reported by the worker, in its own thread
            self.failure = error
            if self.is_fenced:
                logger.info("shard %d is dropped: %s", self.number, error)
            else:
                logger.warning("shard %d ends with an error: %s", self.number, error)
        finally:
            self._delivery.close()
            self.engine.source.close()

    def _begin_counting(self) -> None:
        self._dead_before = Counter(dict(self.engine.step.dead_letters.counts))

    def _record_start(self) -> None:
        """Record the time that the start took, at the end of the first batch."""
        self._failed_snapshots = self.engine.snapshots[1]
        if self.restore_seconds is not None:
            return
        self.restore_seconds = time.monotonic() - self._began
        logger.info(
            "shard %d goes on after %d records, %d of them replayed, in %.1f seconds",
            self.number,
            self.engine.step.processed,
            self.engine.replayed,
            self.restore_seconds,
        )
