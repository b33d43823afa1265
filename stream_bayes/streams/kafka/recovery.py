"""What a start checks and replays: against the log alone, or with the journal of what was committed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.errors import BrokerAway
from stream_bayes.streams.contracts.incidents import GAP, RESENT
from stream_bayes.streams.contracts.recovery import ResumePoint
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.kafka.client import Interrupted
from stream_bayes.streams.kafka.client_factory import make_reader
from stream_bayes.streams.kafka.delivery import Delivery
from stream_bayes.streams.kafka.journal_topic import Entry, committed_in, entries_from
from stream_bayes.streams.kafka.reconnecting import ReconnectingReader
from stream_bayes.streams.kafka.slices import SliceReader, striped
from stream_bayes.streams.kafka.source import KafkaSource
from stream_bayes.streams.kafka.start_rules import (
    Found,
    check_agreement,
    check_first,
    check_identity,
    check_journal,
    check_not_below,
    gaps_in,
    resumed,
)
from stream_bayes.streams.kafka.transactions import Transactions

__all__ = ["JournalRecovery", "OffsetRecovery"]

logger = logging.getLogger(__name__)

RETRY_SECONDS = 60.0
MARK_SECONDS = 86_400.0  # the positions of a group that stores none expire after seven days


class OffsetRecovery:
    """Checks at a start whether a log and a snapshot belong together; for sinks without transactions.

    Nothing is replayed: what came after the snapshot is taken again, with its results.

    Parameters
    ----------
    source
        What reads the log.
    pipeline
        The pipeline's name.
    delivery
        What its sinks share, if any write to Kafka.
    accept_gap
        Whether to go on where positions after the snapshot have expired.
    mark_seconds
        After how long without a commit the group's positions are stored anew.
    clock
        The seconds that pass.

    Attributes
    ----------
    gap
        How many positions were left out because they had expired.
    """

    name = "log"

    def __init__(
        self,
        source: KafkaSource,
        pipeline: str,
        delivery: Delivery | None = None,
        *,
        accept_gap: bool = False,
        mark_seconds: float = MARK_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source = source
        self.pipeline = pipeline
        self.accept_gap = accept_gap
        self.mark_seconds = mark_seconds
        self.gap = 0
        self._delivery = delivery
        self._identity: Mapping[str, Any] = {}
        self._clock = clock
        self._told: Mapping[Partition, Position] = {}
        self._told_at = clock()

    @property
    def length(self) -> int | None:
        return None

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._identity

    def check(self, point: ResumePoint | None, rebuild: bool) -> None:
        # All topics at once, so that all that are missing are named.
        written = [] if self._delivery is None else self._delivery.topics
        self.source.cluster.check(self.source.decoders, written)
        self._positions(self._found(), point, rebuild)

    def resume(self, point: ResumePoint | None, rebuild: bool) -> Mapping[Partition, Position]:
        found = self._found()
        self._identity = found.identity
        positions = self._positions(found, point, rebuild)
        if point is not None:
            self.gap += sum(gaps_in(found, point, accept=True).values())
        return positions

    def replay(self) -> Iterator[Sequence[Record]]:
        return iter(())

    def maintain(self, positions: Mapping[Partition, Position]) -> None:
        """Store the group's positions anew before they expire."""
        if self._delivery is None:
            return
        now = self._clock()
        if positions != self._told:
            self._told, self._told_at = dict(positions), now
        elif now - self._told_at >= self.mark_seconds:
            self._told_at = now
            try:
                self._delivery.mark(positions)
            except (BrokerAway, Interrupted) as error:
                logger.warning("the positions of %s are not stored anew yet: %s", self.pipeline, error)
                self._told_at += RETRY_SECONDS - self.mark_seconds

    def prune(self, length: int, positions: Mapping[Partition, Position]) -> None:
        pass  # there is nothing that grows

    def interrupt(self) -> None:
        if self._delivery is not None:
            self._delivery.interrupt()

    @property
    def ready(self) -> bool:
        """Whether the cluster answers, as far as is known: records come, and results are taken."""
        return self.source.connected and not (self._delivery is not None and self._delivery.waiting)

    @property
    def incidents(self) -> Mapping[str, int]:
        resent = {} if self._delivery is None else {RESENT: self._delivery.aborts}
        return {GAP: self.gap, **resent}

    def _found(self) -> Found:
        source = self.source
        identity = source.identity()
        partitions = source.partitions()
        group = {} if self._delivery is None else source.cluster.committed(self._delivery.group)
        committed = {partition: at for partition, at in group.items() if partition in partitions}
        beginnings, ends = source.cluster.beginnings(partitions), source.cluster.ends(partitions)
        return Found(self.pipeline, identity, beginnings, ends, committed)

    def _positions(
        self, found: Found, point: ResumePoint | None, rebuild: bool
    ) -> Mapping[Partition, Position]:
        """Where to go on from; an error if that cannot be."""
        if point is None:
            if not rebuild:
                check_first(found, found.committed)
            return self.source.starts()
        check_identity(found, point.identity, "the snapshot")
        gaps = gaps_in(found, point, self.accept_gap)
        check_not_below(found, point)
        return resumed(found, point, gaps)


class JournalRecovery(OffsetRecovery):
    """The journal of a pipeline whose results are committed in transactions.

    A start replays what was committed after the snapshot, slice by slice in the order of the journal, and writes none
    of it again.

    Parameters
    ----------
    source, pipeline, accept_gap, mark_seconds, clock
        As of a `OffsetRecovery`.
    delivery
        What the sinks share, and what writes the journal.
    """

    name = "journal"

    def __init__(self, source: KafkaSource, pipeline: str, delivery: Transactions, **others: Any) -> None:
        super().__init__(source, pipeline, delivery, **others)
        self.delivery = delivery
        self._plan = Plan({}, [], {}, Found(pipeline, {}, {}, {}, {}))
        self._replayed: int | None = None  # the journal's length, while it is replayed

    def check(self, point: ResumePoint | None, rebuild: bool) -> None:
        if point is not None:
            self.delivery.settle()
        super().check(point, rebuild)

    @property
    def length(self) -> int | None:
        return self.delivery.length if self._replayed is None else self._replayed

    def resume(self, point: ResumePoint | None, rebuild: bool) -> Mapping[Partition, Position]:
        starts = super().resume(point, rebuild)
        plan, length = self._plan, self.delivery.length
        if rebuild:
            self.delivery.mark({**starts, **plan.committed})
        elif check_agreement(plan.found, plan.committed):
            self.delivery.mark(plan.committed)
        # A snapshot of before the replay must not claim what is going to be replayed.
        self._replayed = plan.entries[0].offset if plan.entries else length
        return starts

    def replay(self) -> Iterator[Sequence[Record]]:
        plan = self._plan
        work: list[tuple[int | None, Sequence[Slice]]] = [(None, part) for part in plan.stripes()]
        work += [(entry.offset + 1, plan.clipped(entry.taken)) for entry in plan.entries]
        starts = {
            part.partition: plan.starts.get(part.partition, part.start)
            for _, slices in work
            for part in slices
        }
        if starts:
            make = partial(make_reader, self.source.connection, self.source.most_bytes)
            reader = ReconnectingReader(make, silent_seconds=self.source.stuck_seconds)
            try:
                ahead = SliceReader(reader, starts)
                for length, slices in work:
                    for messages in ahead.read(slices):
                        if messages is not None and length is not None:
                            self._replayed = length
                        yield self.source.decoded(messages or ())
            finally:
                reader.close()
        self._replayed = None

    def prune(self, length: int, positions: Mapping[Partition, Position]) -> None:
        """Delete what stands before a length, once it is sure that this worker still owns the journal."""
        self.delivery.mark(positions)  # raises if another one has taken over; and then the rest still tells C
        try:
            self.delivery.cluster.delete_below(self.delivery.journal, length)
        except (BrokerAway, Interrupted) as error:
            logger.warning("%s is cut off after the next snapshot: %s", self.delivery.journal.source, error)

    def _positions(
        self, found: Found, point: ResumePoint | None, rebuild: bool
    ) -> Mapping[Partition, Position]:
        journal, cluster = self.delivery.journal, self.delivery.cluster
        there = journal.source in cluster.topics([journal.source])
        beginning = cluster.beginnings([journal])[journal] if there else None
        end = cluster.ends([journal])[journal] if there else 0
        if point is None:
            return self._first(found, rebuild, there)
        check_identity(found, point.identity, "the snapshot")
        gaps = gaps_in(found, point, self.accept_gap)
        check_journal(found, point, beginning, end)
        entries, _ = self._written(point.length or 0)
        check_not_below(found, point)
        starts = resumed(found, point, gaps)
        self._plan = Plan(starts, entries, {**point.positions, **committed_in(entries)}, found)
        return starts

    def _first(self, found: Found, rebuild: bool, there: bool) -> Mapping[Partition, Position]:
        """Where to begin without a snapshot, and what of that was committed already."""
        starts = self.source.starts()
        entries, changed = self._written(0) if there else ([], False)
        committed = dict(found.committed)
        told = [number for number, entry in enumerate(entries) if entry.topics is not None]
        if told:
            opening = entries[told[-1]]
            newest: dict[str, Any] = {"cluster": opening.cluster, "topics": opening.topics}
            if newest != found.identity:
                if not rebuild or set(newest["topics"]) != set(found.identity["topics"]):
                    check_identity(found, newest, "the journal")
                entries, committed = [], {}  # of a log that is gone
        if any(entry.slices or entry.positions for entry in entries):
            committed = committed_in(entries)
        elif changed:
            committed = {}  # what the group has stored is of the log before
        if not rebuild:
            check_first(found, committed or found.committed)
            committed, entries = {}, []
        self._plan = Plan(starts, entries, committed, found)
        return starts

    def _written(self, length: Position) -> tuple[list[Entry], bool]:
        """The entries from an offset on, of the log that was read last; whether there are some of another log."""
        entries: list[Entry] = []
        changed = False
        identity: tuple[Any, Any] | None = None
        for entry in entries_from(self.delivery.cluster, self.delivery.journal.source, length):
            if entry is None:
                continue
            if entry.topics is not None:
                if identity not in (None, (entry.cluster, entry.topics)):
                    entries, changed = [], True
                identity = (entry.cluster, entry.topics)
            entries.append(entry)
        return entries, changed


class Plan:
    """What is to be replayed.

    Parameters
    ----------
    starts
        From where.
    entries
        What the journal says came after that.
    committed
        Up to where; what the entries do not tell the order of comes first, in stripes.
    found
        What there is: what the log has lost is not waited for.
    """

    def __init__(
        self,
        starts: Mapping[Partition, Position],
        entries: Sequence[Entry],
        committed: Mapping[Partition, Position],
        found: Found,
    ) -> None:
        ends = found.ends
        self.found = found
        self.starts = starts
        self.entries = [entry for entry in entries if entry.slices]
        self.committed = {part: min(at, ends[part]) for part, at in committed.items() if part in ends}
        self._ends = ends

    def stripes(self) -> Iterator[Sequence[Slice]]:
        """What no entry tells the order of."""
        told: dict[Partition, Position] = {}
        for entry in self.entries:
            for part in entry.taken:
                told.setdefault(part.partition, part.start)
        return striped(self.starts, {part: told.get(part, at) for part, at in self.committed.items()})

    def clipped(self, slices: Sequence[Slice]) -> list[Slice]:
        """Slices, without what lies before the start, or was lost at the end."""
        return [
            Slice(part.partition, part.start, min(part.stop, self._ends[part.partition]))
            for part in slices
            if part.stop > self.starts.get(part.partition, 0) and part.partition in self._ends
        ]
