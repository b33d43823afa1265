"""Recovery at a start, after the rules of `offset_rules`.

OffsetRecovery     for sinks without transactions: checks log and snapshot; nothing is replayed
JournalRecovery    for transactions: replays the batches that the journal lists after the snapshot
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.core.events.time_merge import merge_ranges
from stream_bayes.errors import BrokerAway, BrokerError, CannotResume
from stream_bayes.kafka.aligned_reader import AlignedReader
from stream_bayes.kafka.clients.client import Interrupted, Message
from stream_bayes.kafka.clients.factory import make_reader
from stream_bayes.kafka.clients.reconnecting import ReconnectingReader
from stream_bayes.kafka.clients.record_marks import Mark
from stream_bayes.kafka.delivery import AtLeastOnce, Delivery
from stream_bayes.kafka.history_check import HistoryCheck
from stream_bayes.kafka.journal import JournalRecord, committed_in, entries_from
from stream_bayes.kafka.offset_rules import (
    ClusterState,
    Reached,
    check_agreement,
    check_first,
    check_history,
    check_journal,
    check_not_above,
    check_not_below,
    check_rebuild,
    expired_positions,
    partition_names,
    rebuild_cost,
    resume_positions,
    slices_text,
)
from stream_bayes.kafka.read_trail import marks_in, origins_in
from stream_bayes.kafka.replay_plan import ReplayPlan
from stream_bayes.kafka.slices import SliceReader
from stream_bayes.kafka.source import FETCH_MAX_BYTES, KafkaSource
from stream_bayes.kafka.topic_identity import check_identity
from stream_bayes.kafka.transactions import Transactions
from stream_bayes.streams.contracts.incidents import GAP, REPEATED, RESENT
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

    Nothing is replayed: events after the snapshot are processed again, and their results are repeated. `delivery` is
    shared by the pipeline's sinks, if any write to Kafka. With `accept_gap` it goes on where positions after the
    snapshot have expired. The group's positions are committed again after a day without a commit.

    Attributes
    ----------
    gap
        The number of positions skipped because they had expired.
    repeated
        The number of ranges that the journal holds twice.
    """

    name = "log"
    replays_rebuild = False
    replay_is_listed = True

    def __init__(
        self,
        source: KafkaSource,
        pipeline: str,
        delivery: Delivery | None = None,
        *,
        accept_gap: bool = False,
    ) -> None:
        self.source = source
        self.pipeline = pipeline
        self.accept_gap = accept_gap
        self.refresh_seconds = REFRESH_SECONDS
        self.gap = 0
        self.repeated = 0
        self._history = HistoryCheck(source, self._open_reader)
        self._delivery = delivery
        self._identity: Mapping[str, Any] = {}
        self._positions: Mapping[Partition, Position] = {}
        self._positions_since = time.monotonic()

    @property
    def length(self) -> int | None:
        return None

    @property
    def identity(self) -> Mapping[str, Any]:
        return {**self._identity, **self.source.trail.state()} if self._identity else {}

    def check(self, point: ResumePoint | None, rebuild: bool) -> None:
        # All topics at once, so that the error names every missing one.
        written = [] if self._delivery is None else self._delivery.topics
        self.source.cluster.check_topics(self.source.decoders, written)
        if self._delivery is not None and self.source.cluster.has_members(self._delivery.group):
            raise BrokerError(
                f"the group {self._delivery.group!r} has members: workers of a pipeline with [workers], or "
                "other consumers, use this name, and go on when this one starts. Stop them, or give it another name"
            )
        self._plan(point, rebuild)
        if point is not None and not rebuild:
            self.source.trail.load(point.identity, point.positions)

    def resume(self, point: ResumePoint | None, rebuild: bool) -> Mapping[Partition, Position]:
        plan = self._resume(point, rebuild)
        if rebuild and isinstance(self._delivery, AtLeastOnce):
            ends = plan.state.ends
            self._delivery.floor = {part: min(at, ends[part]) for part, at in plan.state.committed.items()}
        return plan.starts

    def catch_up(self) -> Iterator[Sequence[Record]]:
        return iter(())

    def replay(self) -> Iterator[Sequence[Record]]:
        return iter(())

    def maintain(self, positions: Mapping[Partition, Position]) -> None:
        """Commit unchanged positions again before they expire."""
        if self._delivery is None:
            return
        self._delivery.commit_due()
        now = time.monotonic()
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
        if self._delivery is not None:
            self._delivery.sync()

    def interrupt(self) -> None:
        if self._delivery is not None:
            self._delivery.interrupt()

    @property
    def ready(self) -> bool:
        """True while the cluster answers, as far as is known: records come, and results are accepted."""
        return self.source.connected and not (self._delivery is not None and self._delivery.waiting)

    @property
    def incidents(self) -> Mapping[str, int]:
        resent = {} if self._delivery is None else {RESENT: self._delivery.resends}
        return {GAP: self.gap, REPEATED: self.repeated, **resent}

    def _cluster_state(self, committed: Mapping[Partition, Position] | None = None) -> ClusterState:
        """Return the cluster's state. Positions are read before the ends of the log: another worker may go on."""
        source = self.source
        source.check_decoders()
        identity = source.identity()
        partitions = source.partitions()
        group = self._committed() if committed is None else committed
        return ClusterState(
            self.pipeline,
            identity,
            source.cluster.beginning_offsets(partitions),
            source.cluster.end_offsets(partitions),
            {partition: at for partition, at in group.items() if partition in partitions},
        )

    def _committed(self) -> Mapping[Partition, Position]:
        if self._delivery is None:
            return {}
        return self.source.cluster.committed_offsets(self._delivery.group)

    def _resume(self, point: ResumePoint | None, rebuild: bool) -> ReplayPlan:
        plan = self._plan(point, rebuild)
        self._identity = plan.state.identity
        if point is not None and not rebuild:
            self._commit_again(plan.state, point)
            self.gap += sum(expired_positions(plan.state, point, accept=True).values())
            self.source.trail.load(point.identity, point.positions)
            self._complete_marks(plan.state, point)
        return plan

    def _plan(self, point: ResumePoint | None, rebuild: bool) -> ReplayPlan:
        """Plan the start. Change nothing but the place where the source begins.

        Raises
        ------
        CannotResume
            If the rules of a start forbid it.
        """
        reached = _reached_by(point)
        state = self._cluster_state()
        if rebuild:  # the state that it replaces was made of what was committed after the snapshot, too
            further = {part: max(at, reached.positions.get(part, at)) for part, at in state.committed.items()}
            reached = reached._replace(positions={**reached.positions, **further})
        state, tails = self._with_cost(state, reached)
        if rebuild:
            check_rebuild(state, self.accept_gap)
            return ReplayPlan(self._begin_at(state, reached), {}, [], state)
        if point is None:
            check_first(state, state.committed)
            return ReplayPlan(self._begin_at(state, reached), {}, [], state)
        check_identity(state, point.identity, "the snapshot")
        gaps = expired_positions(state, point, self.accept_gap)
        check_history(state, reached.positions, tails)
        check_not_below(state, point, self._moved_back_by_workers(state, point))
        return ReplayPlan(resume_positions(state, point, gaps), point.positions, [], state)

    def _moved_back_by_workers(self, state: ClusterState, point: ResumePoint) -> frozenset[Partition]:
        """Return the partitions whose position a slower worker moved back, after it was taken over."""
        is_below = any(at < point.positions.get(part, 0) for part, at in state.committed.items())
        return self.source.cluster.committed_by_workers(self.pipeline) if is_below else frozenset()

    def _commit_again(self, state: ClusterState, point: ResumePoint) -> None:
        """Commit the snapshot's positions where a slower worker moved those of the group back."""
        below = {
            part: point.positions[part]
            for part, at in state.committed.items()
            if at < point.positions.get(part, 0)
        }
        if below and self._delivery is not None:
            logger.warning(
                "a worker that was taken over moved positions of %s below the snapshot's: these are committed again",
                self.pipeline,
            )
            self._delivery.commit_offsets(below)

    # -- the history of the log ---------------------------------------------------------------------------------------

    def _with_cost(
        self, state: ClusterState, reached: Reached
    ) -> tuple[ClusterState, dict[Partition, Position | None]]:
        """Return the state with the cost of a rebuild, and the partitions that hold other records than were read."""
        tails = self._history.tails(state, reached)
        starts = self.source.starts(reached.origins)
        return state._replace(cost=rebuild_cost(state, reached, starts, tails)), tails

    def _begin_at(self, state: ClusterState, reached: Reached) -> dict[Partition, Position]:
        """Let the source begin at the first positions of earlier runs, and return them."""
        origins = {
            part: at for part, at in reached.origins.items() if state.is_same(part.source, reached.identity)
        }
        trail = self.source.trail
        trail.origins = self.source.starts(origins or trail.origins)
        return dict(trail.origins)

    def _complete_marks(self, state: ClusterState, point: ResumePoint) -> None:
        """Add the marks that a snapshot lacks: it is of an earlier version, or reading began at a record."""
        trail = self.source.trail
        offsets = {
            part: at - 1
            for part, at in point.positions.items()
            if part not in trail.marks and part in state.ends
        }
        if point.identity and "marks" not in point.identity:
            logger.warning(
                "the snapshot of %s is from before leader epochs were kept: whether the log lost its end before now "
                "is not known. They are kept from the next snapshot on",
                self.pipeline,
            )
        trail.marks |= self._history.present_marks(state, offsets)

    def _open_reader(self) -> closing[ReconnectingReader]:
        make = partial(make_reader, self.source.connection, FETCH_MAX_BYTES)
        beginnings = self.source.cluster.beginning_offsets
        return closing(ReconnectingReader(make, beginnings, silent_seconds=self.source.stuck_seconds))


def _reached_by(point: ResumePoint | None) -> Reached:
    """Return what a snapshot has reached."""
    if point is None:
        return Reached({}, {}, {}, {})
    identity = point.identity
    return Reached(point.positions, identity, origins_in(identity), marks_in(identity, point.positions))


class JournalRecovery(OffsetRecovery):
    """Replays what was committed in transactions after the snapshot, batch by batch in the order of the journal.

    Results of replayed events are not written again. The sinks share `delivery`, which writes the journal.
    """

    name = "journal"
    replays_rebuild = True

    def __init__(self, source: KafkaSource, pipeline: str, delivery: Transactions, **others: Any) -> None:
        super().__init__(source, pipeline, delivery, **others)
        self.delivery = delivery
        self._replaying = ReplayPlan({}, {}, [], ClusterState(pipeline, {}, {}, {}, {}))
        self._replayed: int | None = None  # the journal's length during a replay
        self._present: ResumePoint | None = None  # the state that a rebuild replaces
        self._uncounted: Sequence[JournalRecord] = ()  # entries after the state that a rebuild replaces
        self._caught_up: ResumePoint | None = None  # by a rebuild
        self._identity_before: Mapping[str, Any] = {}  # of the log that a rebuild leaves

    def check(self, point: ResumePoint | None, rebuild: bool) -> None:
        if point is not None:
            self.delivery.await_decision()
        self._present, self._caught_up, self._uncounted = point, None, ()
        super().check(point, rebuild)

    @property
    def length(self) -> int | None:
        return self.delivery.length if self._replayed is None else self._replayed

    def resume(self, point: ResumePoint | None, rebuild: bool) -> Mapping[Partition, Position]:
        self._replaying = plan = self._resume(point, rebuild)
        length = self.delivery.length
        if rebuild:
            self.delivery.commit_offsets({**plan.starts, **plan.committed})
        elif check_agreement(plan.state, plan.committed, plan.repeated):
            self.delivery.commit_offsets(plan.committed)
        self.repeated += len(plan.repeated)
        if plan.repeated:
            logger.warning(
                "the journal of %s holds %s twice: two workers answered these records, so their results are there "
                "twice. Each is learned once, in the order of the first answer",
                self.delivery.described,
                slices_text(plan.repeated),
            )
        # A snapshot taken before the replay must not claim what is still to be replayed.
        self._replayed = plan.batches[0][0].offset if plan.batches else length
        if rebuild:  # what the passes of a rebuild have not read, a start after a kill reads by its entries
            starts = plan.starts
            left = [
                entry
                for entry in self._uncounted
                if any(part.stop > starts.get(part.partition, 0) for part in entry.slices_read)
            ]
            self._replayed = left[0].offset if left else length
            self.replay_is_listed = _lists(left, starts, plan.committed)
        return plan.starts

    def catch_up(self) -> Iterator[Sequence[Record]]:
        for _ in range(MAX_PASSES):
            began = time.monotonic()
            plan = self._plan(self._present, True)
            yield from self._replay_merged(plan)
            positions = {**plan.starts, **plan.committed}
            state = {**plan.state.identity, **self.source.trail.state()}
            self._caught_up = ResumePoint(positions, plan.length, state)
            if time.monotonic() - began < CATCH_UP_SECONDS:
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
        counted = self._counts_between(starts, stops)
        counts: Counter[Partition] = Counter()
        with self._open_reader() as reader:
            aligned = AlignedReader(
                reader,
                source.topics,
                source.decode,
                lambda partitions: {partition: stops[partition] for partition in partitions},
                buffer_bytes=FETCH_MAX_BYTES,
                stops=stops,
                trail=source.trail,
            )
            aligned.assign(starts)
            reader.compare(
                source.trail.marks
            )  # the log may have lost its end since an earlier part of the replay
            is_done = False
            while not is_done:
                try:
                    records = aligned.poll(REPLAY_BATCH, POLL_SECONDS)
                    for record in records:
                        part = counted.get(record.partition)
                        if part is not None and record.position >= part.start:
                            counts[record.partition] += 1
                    yield records
                    is_done = aligned.has_reached(stops)
                except (BrokerAway, Interrupted) as error:
                    logger.warning("the replay of %s waits for a broker: %s", self.delivery.described, error)
                    time.sleep(POLL_SECONDS)
                    yield ()
        for partition, part in counted.items():
            self._check_count(slices_text([part]), part.records or 0, counts[partition])

    def _counts_between(
        self, starts: Mapping[Partition, Position], stops: Mapping[Partition, Position]
    ) -> dict[Partition, Slice]:
        """Return the ends of ranges of which the journal knows the number of records, for a rebuild.

        It has an entry for all that was committed after the snapshot that a rebuild replaces; what that is made of is
        counted by its samples. With an accepted gap nothing is counted.
        """
        counted: dict[Partition, Slice] = {}
        for entry in () if self.accept_gap else self._uncounted:
            for part in entry.slices_read:
                partition = part.partition
                before = counted.get(partition, Slice(partition, part.start, part.start, 0))
                is_within = starts.get(partition, 0) <= part.start and part.stop <= stops.get(partition, 0)
                if is_within and part.records is not None and part.start >= before.stop:
                    records = (before.records or 0) + part.records
                    counted[partition] = Slice(partition, before.start, part.stop, records)
        return counted

    def _replay_entries(self, plan: ReplayPlan) -> Iterator[Sequence[Record]]:
        """Yield the batches of the journal."""
        work = plan.batches
        starts: dict[Partition, Position] = {}
        for _, slices in work:
            for part in slices:
                starts.setdefault(part.partition, part.start)
        if not starts:
            return
        source = self.source
        with self._open_reader() as reader:
            slice_reader = SliceReader(reader, starts)
            reader.compare(source.trail.marks)
            for entry, slices in work:
                for ranges in slice_reader.read(slices):
                    if ranges is None:
                        yield ()
                        continue
                    while (decoded := self._decoded(ranges)) is None:
                        yield ()
                    self._replayed = entry.offset + 1
                    self._begin_entry(entry)
                    for part in slices:
                        if part in entry.slices_read and part.records is not None:
                            self._check_count(slices_text([part]), part.records, len(decoded[part.partition]))
                    for messages in ranges.values():
                        if messages:
                            source.trail.add(messages[-1])
                    self._check_marks(entry)
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
            logger.warning("the replay of %s waits: %s", self.delivery.described, error)
            time.sleep(POLL_SECONDS)
            return None

    def _check_marks(self, entry: JournalRecord) -> None:
        """Refuse a replay that reads other records than the entry's batch had: the log lost its end meanwhile.

        Raises
        ------
        CannotResume
            If a last record is another one.
        """
        read = self.source.trail.marks
        for part, mark in entry.read_marks.items():
            if part in read and read[part].offset == mark.offset and not read[part].is_of(mark):
                raise CannotResume(
                    f"the log of {self.delivery.described} lost its end while it was replayed: "
                    f"{partition_names([part])} has another record at {mark.offset} than the one that was processed. "
                    "Start again: the check at the start says what can be done"
                )

    def _check_count(self, what: str, expected: int, count: int) -> None:
        """Refuse a replay from which records are missing that were processed, unless a gap is accepted.

        Raises
        ------
        CannotResume
            If the log has fewer of them now: they were compacted, or deleted.
        """
        if count >= expected:
            return
        if not self.accept_gap:
            raise CannotResume(
                f"{what} had {expected} records when {self.delivery.described} processed them, and "
                f"{expected - count} of these are compacted or deleted: the model would lack them. Start with "
                "--accept-gap to go on without them, and let the topic keep all records for longer than the oldest "
                "snapshot (min.compaction.lag.ms)"
            )
        self.gap += expected - count
        logger.warning("%s: %d records are gone that were processed", what, expected - count)

    def _begin_entry(self, entry: JournalRecord) -> None:
        """Prepare for the replay of an entry's batch."""

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

    def _plan(self, point: ResumePoint | None, rebuild: bool) -> ReplayPlan:
        journal, cluster = self.delivery.journal, self.delivery.cluster
        committed = self._committed()
        if rebuild:
            self.delivery.await_decision()  # so that the journal has what these were committed with
        exists = journal.source in cluster.topics([journal.source])
        beginning = cluster.beginning_offsets([journal])[journal] if exists else None
        end = cluster.end_offsets([journal])[journal] if exists else 0
        length = 0 if point is None or rebuild else point.length or 0
        entries = self._read_entries(length) if exists and length <= end else []
        state = self._cluster_state(committed)
        if point is None or rebuild:
            return self._plan_from_origin(state, point, rebuild, entries, end)
        entries = _of_newest_log(entries)
        reached = _reached_by(point)
        reached = reached._replace(
            positions=committed_in(entries, point.positions),
            marks={**reached.marks, **_marks_of(entries)},
        )
        state, tails = self._with_cost(state, reached)
        check_identity(state, point.identity, "the snapshot")
        gaps = expired_positions(state, point, self.accept_gap)
        check_history(state, reached.positions, tails)
        check_journal(state, point, beginning, end)
        check_not_below(state, point)
        return ReplayPlan(resume_positions(state, point, gaps), point.positions, entries, state, end)

    def _entries_after_present(
        self, state: ClusterState, newest: Sequence[JournalRecord]
    ) -> list[JournalRecord]:
        """Return the entries of records that the state which a rebuild replaces does not hold.

        Its length alone does not say: a replay that is stopped leaves the length where it began.
        """
        if self._present is None:
            return list(newest)
        length, identity = self._present.length or 0, self._present.identity
        read = {
            part: at for part, at in self._present.positions.items() if state.is_same(part.source, identity)
        }
        return [
            entry
            for entry in newest
            if entry.offset >= length
            and any(part.stop > read.get(part.partition, 0) for part in entry.slices_read)
        ]

    def _plan_from_origin(
        self,
        state: ClusterState,
        point: ResumePoint | None,
        rebuild: bool,
        entries: Sequence[JournalRecord],
        end: Position,
    ) -> ReplayPlan:
        """Plan a first start, or a rebuild: it merges all that was committed by time, whatever order that came in.

        So the state after a rebuild is a function of the log and the committed positions alone. Two of them give the
        same bytes, though the journal was pruned in between.
        """
        newest = _of_newest_log(entries)
        if rebuild:
            first = newest[0].offset if newest else end
            pruned = [entry for entry in self._uncounted if entry.offset < first]  # since the pass before
            self._uncounted = [*pruned, *self._entries_after_present(state, newest)]
        reached = _reached_in(newest, point)
        if reached.identity and set(reached.identity["topics"]) != set(state.identity["topics"]):
            check_identity(state, reached.identity, "the journal")
        if self._caught_up is None:
            self._identity_before = reached.identity
        positions = {
            part: at for part, at in reached.positions.items() if state.is_same(part.source, reached.identity)
        }
        if rebuild:
            recorded = committed_in(newest)  # a journal that is gone says nothing
            check_not_above(state, {part: at for part, at in positions.items() if part in recorded})
        # Positions of the group that are of a recreated log, or of another cluster, are void.
        for part, at in state.committed.items():
            if state.is_same(part.source, self._identity_before):
                positions[part] = max(at, positions.get(part, at))
        origin = reached._replace(positions={**reached.positions, **positions})
        state, tails = self._with_cost(state, origin)
        if not rebuild:
            for entry in entries:  # not only the newest: a shard has added its first one before this
                check_identity(state, _identity_in(entry), "the journal")
            check_first(state, positions)
            return ReplayPlan(self._begin_at(state, reached), {}, [], state, end)
        caught_up = self._caught_up
        if caught_up is None:
            check_rebuild(state, self.accept_gap)
            starts = self._begin_at(state, reached)
        else:
            check_identity(state, caught_up.identity, "the rebuild")
            gaps = expired_positions(state, caught_up, self.accept_gap)
            check_history(state, caught_up.positions, self._history.tails(state, _reached_by(caught_up)))
            starts = resume_positions(state, caught_up, gaps)
        for part, start in starts.items():  # with an accepted gap, what was read may have expired up to there
            if part in positions:
                positions[part] = max(positions[part], start)
        for part, tail in tails.items():  # what is there now has no results
            if tail is not None and part in positions:
                positions[part] = min(positions[part], tail)
        return ReplayPlan(starts, positions, [], state, end)

    def _read_entries(self, start: Position) -> list[JournalRecord]:
        """Return the entries from an offset on."""
        entries = entries_from(self.delivery.cluster, self.delivery.journal, start)
        return [entry for entry in entries if entry is not None]


def _lists(
    entries: Sequence[JournalRecord],
    starts: Mapping[Partition, Position],
    stops: Mapping[Partition, Position],
) -> bool:
    """Return True if entries have all positions from `starts` to `stops`, without a gap."""
    reached = {part: starts.get(part, 0) for part in stops}
    for entry in entries:
        for part in entry.slices_read:
            if part.start <= reached.get(part.partition, 0):
                reached[part.partition] = max(part.stop, reached.get(part.partition, 0))
    return all(reached[part] >= stop for part, stop in stops.items())


def _identity_in(entry: JournalRecord) -> dict[str, Any]:
    """Return the identity of the log in an entry; nothing if it has none."""
    return {} if entry.topics is None else {"cluster": entry.cluster, "topics": entry.topics}


def _of_newest_log(entries: Sequence[JournalRecord]) -> list[JournalRecord]:
    """Return the entries as far as they are of the newest log."""
    newest: list[JournalRecord] = []
    identity: dict[str, Any] = {}
    for entry in entries:
        if entry.topics is not None:
            if identity not in ({}, _identity_in(entry)):
                newest = []
            identity = _identity_in(entry)
        newest.append(entry)
    return newest


def _marks_of(entries: Sequence[JournalRecord]) -> dict[Partition, Mark]:
    """Return the last mark of each partition in entries."""
    marks: dict[Partition, Mark] = {}
    for entry in entries:
        for partition in (*(part.partition for part in entry.slices_read), *entry.next_positions):
            marks.pop(partition, None)
        marks.update(entry.read_marks)
    return marks


def _reached_in(entries: Sequence[JournalRecord], point: ResumePoint | None) -> Reached:
    """Return what earlier runs have reached, by the whole journal and the newest snapshot."""
    before = _reached_by(point)
    named = [entry for entry in entries if entry.topics is not None]
    origins = {Partition(topic, number): at for entry in named for topic, number, at in entry.origins}
    if not named:
        identity = before.identity
    else:
        identity = _identity_in(named[-1])
        if before.identity and any(before.identity[name] != identity[name] for name in identity):
            before = Reached({}, {}, {}, {})  # of a log that the journal has left already
    positions = committed_in(entries)
    length = 0 if point is None else point.length or 0
    # A journal that lost its end has less than the snapshot, and its first entries move nothing back.
    later = (entry for entry in entries if entry.offset >= length)
    for part, at in committed_in(later, before.positions).items():
        positions[part] = max(at, positions.get(part, at))
    return Reached(
        positions,
        identity,
        {**origins, **before.origins},
        {**before.marks, **_marks_of(entries)},
    )
