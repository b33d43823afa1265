"""Recovery at a start, after the rules of `start_rules`.

OffsetRecovery     for sinks without transactions: checks log and snapshot; nothing is replayed
JournalRecovery    for transactions: replays the batches that the journal lists after the snapshot
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.core.events.time_merge import merge_ranges
from stream_bayes.errors import BrokerAway
from stream_bayes.kafka.aligned_reader import AlignedReader
from stream_bayes.kafka.clients.client import Interrupted, Message
from stream_bayes.kafka.clients.factory import make_reader
from stream_bayes.kafka.clients.reconnecting import ReconnectingReader
from stream_bayes.kafka.delivery import Delivery
from stream_bayes.kafka.journal import JournalRecord, committed_in, entries_from
from stream_bayes.kafka.slices import SliceReader
from stream_bayes.kafka.source import KafkaSource
from stream_bayes.kafka.start_rules import (
    ClusterState,
    check_agreement,
    check_first,
    check_journal,
    check_not_below,
    expired_positions,
    resume_positions,
)
from stream_bayes.kafka.topic_identity import check_identity
from stream_bayes.kafka.transactions import Transactions
from stream_bayes.streams.contracts.incidents import GAP, RESENT
from stream_bayes.streams.contracts.recovery import ResumePoint
from stream_bayes.streams.contracts.source import Record

__all__ = ["JournalRecovery", "OffsetRecovery"]

logger = logging.getLogger(__name__)

RETRY_SECONDS = 60.0
POLL_SECONDS = 0.2
REPLAY_BATCH = 1000  # records
# A rebuild reads what was committed meanwhile until a pass is this short; the rest is read with the old worker fenced.
CATCH_UP_SECONDS = 3.0
MAX_PASSES = 10
REFRESH_SECONDS = 86_400.0  # Kafka deletes the offsets of a group seven days after its last commit


class OffsetRecovery:
    """Checks at a start that a log and a snapshot belong together; for sinks without transactions.

    Nothing is replayed: events after the snapshot are processed again, and their results are repeated.

    Parameters
    ----------
    source
        Reads the log.
    pipeline
        The pipeline's name.
    delivery
        Shared by the pipeline's sinks, if any write to Kafka.
    accept_gap
        True to go on where positions after the snapshot have expired.
    refresh_seconds
        Seconds without a commit after which the group's positions are committed again.
    clock
        Returns seconds.

    Attributes
    ----------
    gap
        The number of positions skipped because they had expired.
    """

    name = "log"

    def __init__(
        self,
        source: KafkaSource,
        pipeline: str,
        delivery: Delivery | None = None,
        *,
        accept_gap: bool = False,
        refresh_seconds: float = REFRESH_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source = source
        self.pipeline = pipeline
        self.accept_gap = accept_gap
        self.refresh_seconds = refresh_seconds
        self.gap = 0
        self._delivery = delivery
        self._identity: Mapping[str, Any] = {}
        self._clock = clock
        self._positions: Mapping[Partition, Position] = {}
        self._positions_since = clock()

    @property
    def length(self) -> int | None:
        return None

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._identity

    def check(self, point: ResumePoint | None, rebuild: bool) -> None:
        # All topics at once, so that the error names every missing one.
        written = [] if self._delivery is None else self._delivery.topics
        self.source.cluster.check_topics(self.source.decoders, written)
        self._plan(self._cluster_state(), point, rebuild)

    def resume(self, point: ResumePoint | None, rebuild: bool) -> Mapping[Partition, Position]:
        return self._resume(point, rebuild).starts

    def catch_up(self) -> Iterator[Sequence[Record]]:
        return iter(())

    def replay(self) -> Iterator[Sequence[Record]]:
        return iter(())

    def maintain(self, positions: Mapping[Partition, Position]) -> None:
        """Commit unchanged positions again before they expire."""
        if self._delivery is None:
            return
        now = self._clock()
        if positions != self._positions:
            self._positions, self._positions_since = dict(positions), now
        elif now - self._positions_since >= self.refresh_seconds:
            self._positions_since = now
            try:
                self._delivery.commit_offsets(positions)
            except (BrokerAway, Interrupted) as error:
                logger.warning("the positions of %s are not refreshed yet: %s", self.pipeline, error)
                self._positions_since += RETRY_SECONDS - self.refresh_seconds

    def prune(self, length: int, positions: Mapping[Partition, Position]) -> None:
        pass  # without a journal, nothing grows

    def finish(self, positions: Mapping[Partition, Position]) -> None:
        pass  # each batch was committed

    def interrupt(self) -> None:
        if self._delivery is not None:
            self._delivery.interrupt()

    @property
    def ready(self) -> bool:
        """True while the cluster answers, as far as is known: records come, and results are accepted."""
        return self.source.connected and not (self._delivery is not None and self._delivery.waiting)

    @property
    def incidents(self) -> Mapping[str, int]:
        resent = {} if self._delivery is None else {RESENT: self._delivery.aborts}
        return {GAP: self.gap, **resent}

    def _cluster_state(self) -> ClusterState:
        source = self.source
        source.check_decoders()
        identity = source.identity()
        partitions = source.partitions()
        group = {} if self._delivery is None else source.cluster.committed_offsets(self._delivery.group)
        return ClusterState(
            self.pipeline,
            identity,
            source.cluster.beginning_offsets(partitions),
            source.cluster.end_offsets(partitions),
            {partition: at for partition, at in group.items() if partition in partitions},
        )

    def _resume(self, point: ResumePoint | None, rebuild: bool) -> ReplayPlan:
        state = self._cluster_state()
        self._identity = state.identity
        plan = self._plan(state, point, rebuild)
        if point is not None:
            self.gap += sum(expired_positions(state, point, accept=True).values())
        return plan

    def _plan(self, state: ClusterState, point: ResumePoint | None, rebuild: bool) -> ReplayPlan:
        """Plan the start.

        Raises
        ------
        CannotResume
            If the rules of a start forbid it.
        """
        if point is None:
            if not rebuild:
                check_first(state, state.committed)
            return ReplayPlan(self.source.starts(), [], {}, state)
        check_identity(state, point.identity, "the snapshot")
        gaps = expired_positions(state, point, self.accept_gap)
        check_not_below(state, point)
        return ReplayPlan(resume_positions(state, point, gaps), [], {}, state)


class JournalRecovery(OffsetRecovery):
    """Replays what was committed in transactions after the snapshot, batch by batch in the order of the journal.

    Results of replayed events are not written again.

    Parameters
    ----------
    source, pipeline, accept_gap, refresh_seconds, clock
        As of an `OffsetRecovery`.
    delivery
        Shared by the sinks; writes the journal.
    """

    name = "journal"

    def __init__(self, source: KafkaSource, pipeline: str, delivery: Transactions, **others: Any) -> None:
        super().__init__(source, pipeline, delivery, **others)
        self.delivery = delivery
        self._replaying = ReplayPlan({}, [], {}, ClusterState(pipeline, {}, {}, {}, {}))
        self._replayed: int | None = None  # the journal's length during a replay
        self._caught_up: ResumePoint | None = None  # by a rebuild

    def check(self, point: ResumePoint | None, rebuild: bool) -> None:
        if point is not None:
            self.delivery.await_decision()
        super().check(point, rebuild)

    @property
    def length(self) -> int | None:
        return self.delivery.length if self._replayed is None else self._replayed

    def resume(self, point: ResumePoint | None, rebuild: bool) -> Mapping[Partition, Position]:
        self._replaying = plan = self._resume(point, rebuild)
        length = self.delivery.length
        if rebuild:
            self.delivery.commit_offsets({**plan.starts, **plan.committed})
        elif check_agreement(plan.state, plan.committed):
            self.delivery.commit_offsets(plan.committed)
        # A snapshot taken before the replay must not claim what is still to be replayed.
        self._replayed = plan.entries[0].offset if plan.entries else length
        return plan.starts

    def catch_up(self) -> Iterator[Sequence[Record]]:
        self._caught_up = None
        for _ in range(MAX_PASSES):
            began = self._clock()
            state = self._cluster_state()
            plan = self._plan(state, None, True)
            yield from self._replay_merged(plan)
            yield from self._replay_entries(plan)
            self._replayed = None
            self._caught_up = ResumePoint({**plan.starts, **plan.committed}, plan.length, state.identity)
            if self._clock() - began < CATCH_UP_SECONDS:
                return

    def replay(self) -> Iterator[Sequence[Record]]:
        plan = self._replaying
        yield from self._replay_merged(plan)
        yield from self._replay_entries(plan)
        self._replayed = None

    def _replay_merged(self, plan: ReplayPlan) -> Iterator[Sequence[Record]]:
        """Yield the committed records that no entry holds, merged by time."""
        starts, stops = plan.unrecorded()
        if not stops:
            return
        source = self.source
        with self._open_reader() as reader:
            aligned = AlignedReader(
                reader,
                source.topics,
                source.decode,
                lambda partitions: {partition: stops[partition] for partition in partitions},
                buffer_bytes=source.fetch_max_bytes,
                stops=stops,
            )
            aligned.assign(starts)
            is_done = False
            while not is_done:
                try:
                    yield aligned.poll(REPLAY_BATCH, POLL_SECONDS)
                    is_done = aligned.has_reached(stops)
                except (BrokerAway, Interrupted) as error:
                    logger.warning("the replay of %s waits for a broker: %s", self.pipeline, error)
                    time.sleep(POLL_SECONDS)
                    yield ()

    def _replay_entries(self, plan: ReplayPlan) -> Iterator[Sequence[Record]]:
        """Yield the batches of the journal."""
        work = [(entry, plan.clip(entry.slices_read)) for entry in plan.entries]
        starts: dict[Partition, Position] = {}
        for _, slices in work:
            for part in slices:
                starts.setdefault(part.partition, part.start)
        if not starts:
            return
        source = self.source
        with self._open_reader() as reader:
            slice_reader = SliceReader(reader, starts)
            for entry, slices in work:
                for ranges in slice_reader.read(slices):
                    if ranges is None:
                        yield ()
                        continue
                    while (decoded := self._decoded(ranges)) is None:
                        yield ()
                    self._replayed = entry.offset + 1
                    self._begin_entry(entry)
                    yield merge_ranges(source.topics, decoded)

    def _decoded(
        self, ranges: Mapping[Partition, Sequence[Message]]
    ) -> Mapping[Partition, list[Record]] | None:
        """Return the records of an entry; None while a service that decodes them does not respond."""
        decode = self.source.decode
        try:
            return {
                partition: [record for message in messages if (record := decode(message)) is not None]
                for partition, messages in ranges.items()
            }
        except BrokerAway as error:
            logger.warning("the replay of %s waits: %s", self.pipeline, error)
            time.sleep(POLL_SECONDS)
            return None

    def _begin_entry(self, entry: JournalRecord) -> None:
        """Prepare for the replay of an entry's batch."""

    def _open_reader(self) -> closing[ReconnectingReader]:
        make = partial(make_reader, self.source.connection, self.source.fetch_max_bytes)
        return closing(ReconnectingReader(make, silent_seconds=self.source.stuck_seconds))

    def prune(self, length: int, positions: Mapping[Partition, Position]) -> None:
        """Delete the journal below a length, after proof that this worker still owns it."""
        # Raises if another worker has taken over. And the entry that it writes holds the committed positions.
        self.delivery.commit_offsets(positions)
        try:
            self.delivery.cluster.delete_records_below(self.delivery.journal, length)
        except (BrokerAway, Interrupted) as error:
            logger.warning(
                "%s is pruned after the next snapshot instead: %s", self.delivery.journal.source, error
            )

    def _plan(self, state: ClusterState, point: ResumePoint | None, rebuild: bool) -> ReplayPlan:
        journal, cluster = self.delivery.journal, self.delivery.cluster
        exists = journal.source in cluster.topics([journal.source])
        beginning = cluster.beginning_offsets([journal])[journal] if exists else None
        end = cluster.end_offsets([journal])[journal] if exists else 0
        if point is None:
            return self._plan_without_snapshot(state, rebuild, exists, end)
        check_identity(state, point.identity, "the snapshot")
        gaps = expired_positions(state, point, self.accept_gap)
        check_journal(state, point, beginning, end)
        entries, _ = self._read_entries(point.length or 0)
        check_not_below(state, point)
        starts = resume_positions(state, point, gaps)
        return ReplayPlan(starts, entries, {**point.positions, **committed_in(entries)}, state, end)

    def _plan_without_snapshot(
        self, state: ClusterState, rebuild: bool, exists: bool, end: Position
    ) -> ReplayPlan:
        reached = self._caught_up
        starts, first = self.source.starts(), 0
        if reached is not None:
            check_identity(state, reached.identity, "the rebuild")
            gaps = expired_positions(state, reached, accept=False)
            starts, first = resume_positions(state, reached, gaps), reached.length or 0
        entries, changed = self._read_entries(first) if exists else ([], False)
        committed = dict(state.committed)
        with_identity = [entry for entry in entries if entry.topics is not None]
        if with_identity:
            newest: dict[str, Any] = {
                "cluster": with_identity[-1].cluster,
                "topics": with_identity[-1].topics,
            }
            if newest != state.identity:
                if not rebuild or set(newest["topics"]) != set(state.identity["topics"]):
                    check_identity(state, newest, "the journal")
                entries, committed = [], {}  # of a log that is gone
        if any(entry.slices or entry.positions for entry in entries):
            committed = committed_in(entries)
        elif changed or reached is not None:
            committed = {}  # the group's positions are of the previous log, or those that were reached
        if not rebuild:
            check_first(state, committed or state.committed)
            committed, entries = {}, []
        return ReplayPlan(
            starts, entries, {**(reached.positions if reached else {}), **committed}, state, end
        )

    def _read_entries(self, start: Position) -> tuple[list[JournalRecord], bool]:
        """Return the entries of the newest log from an offset on, and True if earlier ones are of another log."""
        entries: list[JournalRecord] = []
        changed = False
        identity: tuple[Any, Any] | None = None
        for entry in entries_from(self.delivery.cluster, self.delivery.journal, start):
            if entry is None:
                continue
            if entry.topics is not None:
                if identity not in (None, (entry.cluster, entry.topics)):
                    entries, changed = [], True
                identity = (entry.cluster, entry.topics)
            entries.append(entry)
        return entries, changed


class ReplayPlan:
    """A start's first positions, and what to replay.

    Parameters
    ----------
    starts
        The first position of each partition.
    entries
        The journal's entries after that.
    committed
        The committed positions. What no entry holds is replayed first, merged by time.
    state
        The cluster's state: a replay does not wait for what the log has lost.
    length
        The journal's length.
    """

    def __init__(
        self,
        starts: Mapping[Partition, Position],
        entries: Sequence[JournalRecord],
        committed: Mapping[Partition, Position],
        state: ClusterState,
        length: Position = 0,
    ) -> None:
        ends = state.ends
        self.state = state
        self.length = length
        self.starts = starts
        self.entries = [entry for entry in entries if entry.slices]
        self.committed = {part: min(at, ends[part]) for part, at in committed.items() if part in ends}
        self._ends = ends

    def unrecorded(self) -> tuple[dict[Partition, Position], dict[Partition, Position]]:
        """Return the first and last positions of what was committed before the first entry."""
        first: dict[Partition, Position] = {}
        for entry in self.entries:
            for part in entry.slices_read:
                first.setdefault(part.partition, part.start)
        stops = {
            part: min(first.get(part, at), self._ends[part])
            for part, at in self.committed.items()
            if self.starts.get(part, 0) < min(first.get(part, at), self._ends[part])
        }
        return {part: self.starts.get(part, 0) for part in stops}, stops

    def clip(self, slices: Sequence[Slice]) -> list[Slice]:
        """Return slices without the parts before the start, or beyond the log's end."""
        return [
            Slice(
                part.partition,
                max(part.start, self.starts.get(part.partition, 0)),
                min(part.stop, self._ends[part.partition]),
            )
            for part in slices
            if part.stop > self.starts.get(part.partition, 0) and part.partition in self._ends
        ]
