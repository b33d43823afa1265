"""The loop: poll, predict, score, learn, write, commit; and snapshots of state and positions together.

    poll -> [ Step: predict -> score -> learn | hold ] -> sinks: write, commit -> snapshot, when due

A snapshot holds the state after some event, the next position of every partition, and the lengths of the outputs. A
start loads it, seeks to the positions, cuts the outputs back to their lengths, and continues. So every event counts
once, in the model and in the outputs, whatever happens in between.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from stream_bayes.core.events.event import COMMAND, Event, Partition, Position, Slice
from stream_bayes.core.events.unlearn_spans import Span
from stream_bayes.errors import (
    BadState,
    BadValue,
    BrokerAway,
    CannotResume,
    Exhausted,
    NoSnapshot,
    NotSupported,
    OtherSettings,
    SourceError,
)
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore
from stream_bayes.streams.contracts.continuity_marks import check_ends, check_marks, ends_state, marks_state
from stream_bayes.streams.contracts.recovery import Recovery, ResumePoint
from stream_bayes.streams.contracts.sink import DriftEntry, ReplaceableSink, Sink
from stream_bayes.streams.contracts.slices import slices_of
from stream_bayes.streams.contracts.source import EndlessSource, HasEndOffsets, HasRawRecords, Record, Source
from stream_bayes.streams.engine.challengers import Challengers
from stream_bayes.streams.engine.commands import SpanSamples, find_samples, obey
from stream_bayes.streams.engine.history import History, Ranges
from stream_bayes.streams.engine.progress import Progress
from stream_bayes.streams.engine.rebuild_check import ReplacedState, check_not_smaller
from stream_bayes.streams.engine.saving import Schedule, SnapshotWriter
from stream_bayes.streams.engine.setting_changes import changes_text, differences
from stream_bayes.streams.engine.step import Step
from stream_bayes.streams.engine.time_check import TimeCheck
from stream_bayes.streams.records.commands import COMMANDS
from stream_bayes.streams.served_models.served import digest

__all__ = ["SETTINGS", "Engine"]

logger = logging.getLogger(__name__)

BATCH = 1000  # events between two commits, at most
IDLE_SECONDS = 0.05  # between two polls of a source without new records
SETTINGS = "settings"  # the section with the settings
LOG = "log"  # the section that shows whether the log is the same: the identity that recovery checks, or
READ = "read"  # marks of what was read
ENDS = "ends"  # the section with the marks of what was written to files
HISTORY = "history"  # the section with the records that the state has learned from


class Engine:
    """Runs a stream through a step, writes its results, and saves its state.

    With a source and sinks of one medium every event has exactly one result, also after crashes; see `delivery` for
    others. State and results depend on the sequence of events alone, not on batches or times.

    Parameters
    ----------
    step
        The model with its losses and its pending samples.
    source
        Source of the events.
    predictions, dead_letters, drifts
        Sinks of predictions, dead letters and drift entries. Each is optional.
    recovery
        Checks that a run can resume, and replays what was committed, where partitions have no order of their own.
    store
        The store of snapshots. None: nothing is saved, and every run starts from the beginning.
    schedule
        When a snapshot is due.
    settings
        All that later state depends on, as JSON: a snapshot with other settings is refused. By default the model's.
    challengers
        Models that process the same records, and whose answers are not written.
    open_again
        Returns another reader of the source, for samples that are to be unlearned and are no longer remembered. None:
        such samples cannot be unlearned.
    accept_gap
        True to let a rebuild replace the present state by one that has learned fewer samples.
    batch
        Maximum number of events between two commits.
    clock, sleep
        Return seconds, and wait. Only the schedule of snapshots and the times that are reported depend on them.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes, streams
    >>> days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
    >>> step = streams.Step(streams.served(NaiveBayes()))
    >>> engine = streams.Engine(step, streams.from_iterable(days))
    >>> engine.run().processed
    100
    """

    def __init__(
        self,
        step: Step,
        source: Source,
        *,
        predictions: Sink | None = None,
        dead_letters: Sink | None = None,
        drifts: Sink | None = None,
        recovery: Recovery | None = None,
        store: SnapshotStore | None = None,
        schedule: Schedule | None = None,
        settings: Mapping[str, Any] | None = None,
        challengers: Challengers | None = None,
        open_again: Callable[[], Source] | None = None,
        accept_gap: bool = False,
        batch: int = BATCH,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if type(batch) is not int or batch < 1:
            raise BadValue(f"batch: expected a whole number of events of at least 1, got {batch!r}")
        self.step = step
        self.source = source
        self.predictions = predictions
        self.dead_letters = dead_letters
        self.drifts = drifts
        self.recovery = recovery
        self.store = store
        self.schedule = Schedule(every_seconds=60.0) if schedule is None else schedule
        self.settings = dict({"model": step.model.settings()} if settings is None else settings)
        self.challengers = Challengers() if challengers is None else challengers
        self.history = History()
        self.batch = batch
        self.times = TimeCheck()
        if step.time is not None:
            step.time.report = self.times.report_apart
        self.positions: dict[Partition, Position] = {}
        self.replayed = 0
        self.reached: float | None = None  # event time of the last record committed or replayed in this run
        self.committed: Sequence[Record] = ()  # the last batch
        self.predict_seconds = self.commit_seconds = 0.0  # that it took
        if isinstance(source, HasRawRecords):
            step.raw_of = source.raw_of
        self._sinks = [sink for sink in (predictions, dead_letters, drifts) if sink is not None]
        self._watchers: list[Callable[[Progress], None]] = []
        self._attendants: list[Callable[[], None]] = []
        self._starters: list[Callable[[], None]] = []
        self._clock = clock
        self._sleep = sleep
        self._writer: SnapshotWriter | None = None
        self._pruned: int | None = None  # the snapshot after which the journal was last pruned
        self._open_again = open_again
        self._accept_gap = accept_gap
        self._replaced = ReplacedState(None, None)  # by a rebuild
        self._until: int | None = None
        self._has_unlearned = False  # since the last snapshot
        self._is_aside = False  # a rebuild that writes beside the present state
        self._stopping = False
        self._running = False
        self._began = (0, 0, 0.0)

    @property
    def delivery(self) -> str:
        """The delivery guarantee: `"exactly once"` or `"at least once"`."""
        sinks = [sink for sink in self._sinks if sink is not self.drifts or self.recovery is None]
        media = {sink.medium for sink in sinks if sink.medium != "none"}
        return "exactly once" if media <= {self.source.medium} else "at least once"

    @property
    def running(self) -> bool:
        """True from the start of a run to its end. Thread-safe."""
        return self._running

    @property
    def healthy(self) -> bool:
        """True while the engine runs, can read, and writes its snapshots. Thread-safe."""
        writer = self._writer
        connected = not isinstance(self.source, HasEndOffsets) or self.source.connected
        connected = connected and (self.recovery is None or self.recovery.ready)
        return self._running and connected and (writer is None or writer.healthy)

    @property
    def lag(self) -> dict[Partition, int]:
        """The lag of each partition with a known end: positions between the model and the end."""
        ends = self.source.end_offsets if isinstance(self.source, HasEndOffsets) else {}
        positions = dict(self.positions)  # a copy: the engine's thread adds partitions
        return {part: max(0, ends[part] - position) for part, position in positions.items() if part in ends}

    @property
    def snapshots(self) -> tuple[int, int]:
        """The numbers of snapshots that this run has written, and that could not be written."""
        writer = self._writer
        return (0, 0) if writer is None else (writer.written, writer.failures)

    def stop(self) -> None:
        """Let the run end after the present batch, with a commit and a snapshot. Signal handlers may call this."""
        self._stopping = True
        if self.recovery is not None:
            self.recovery.interrupt()

    def watch(self, watcher: Callable[[Progress], None]) -> None:
        """Call `watcher` with the progress after every commit."""
        self._watchers.append(watcher)

    def at_start(self, starter: Callable[[], None]) -> None:
        """Call `starter` when the state was loaded and replayed, before the first batch of a run."""
        self._starters.append(starter)

    def attend(self, attendant: Callable[[], None]) -> None:
        """Call `attendant` between two batches, in the engine's thread; also while no record comes."""
        self._attendants.append(attendant)

    # -- running ------------------------------------------------------------------------------------------------------

    def run(self, limit: int | None = None, *, rebuild: bool = False, until_end: bool = False) -> Progress:
        """Process events until the source ends, `stop` is called, or `limit` more were processed.

        Parameters
        ----------
        limit
            Maximum number of records in this run.
        rebuild
            True to start from scratch, without the snapshots. Files are written anew beside the present ones, which
            they replace once the source was read to its present end, or `limit`. A run that fails or is stopped before
            leaves everything as it was.
        until_end
            True to stop at the end that the source had when the run began, for logs that keep growing.
        """
        try:
            if not self._start_or_abort(rebuild):
                logger.warning(
                    "stopped before the start: nothing was changed, and an earlier worker keeps running"
                )
                return self.progress
            self._running = True
            logger.log(
                logging.INFO if self.delivery == "exactly once" else logging.WARNING,
                "starts after %d records; each result is written %s",
                self.step.processed,
                self.delivery,
            )
            until = self._until = None if limit is None else self.step.processed + limit
            log = (
                self.source
                if (until_end or self._is_aside) and isinstance(self.source, EndlessSource)
                else None
            )
            end = {} if log is None else log.fetch_end()
            for starter in self._starters:
                starter()
            while not self._stopping and (until is None or self.step.processed < until):
                room = self.batch if until is None else min(self.batch, until - self.step.processed)
                if not self._poll_and_process(room):
                    break
                if log is not None and ((self._is_aside and self._is_beyond(end)) or log.has_reached(end)):
                    if self._is_aside and (later := self._saved_meanwhile()):
                        end = {part: min(at, later.get(part, at)) for part, at in log.fetch_end().items()}
                        continue
                    self._adopt()
                    if until_end:
                        break
                    log = None
            if self._is_aside and self._stopping:
                logger.warning("stopped before the rebuild had caught up: nothing was changed")
                return self.progress
            self._adopt()
            self._report_end()
            self._finish()
            logger.info("ends after %d records", self.step.processed)
        finally:
            self._running = self._stopping = self._is_aside = False
            self._close()
        return self.progress

    def _poll_and_process(self, room: int) -> bool:
        """Process the next records, or wait a moment if there are none. Return False at the end of the source."""
        try:
            records = self.source.poll(room)
        except Exhausted:
            return False
        if records:
            self._process(records)
        elif not self.step.model.work():
            self._sleep(IDLE_SECONDS)
        if self.recovery is not None:
            self.recovery.maintain(self.positions)
        for attendant in self._attendants:
            attendant()
        self._save_when_due()
        return True

    def _report_end(self) -> None:
        """Warn of wrong times, and of samples that were not learned for want of a time."""
        self.times.report()
        if self.step.held:
            logger.warning(
                "%d samples or labels are not learned yet: the time of the stream starts with the second or third "
                "record, and with it the model",
                self.step.held,
            )

    @property
    def progress(self) -> Progress:
        """The progress of the run."""
        step = self.step
        taken, learned, began = self._began
        return Progress(
            step.processed,
            step.processed - taken,
            self.replayed,
            self._clock() - began,
            step.learned - learned,
        )

    def _process(self, records: Sequence[Record]) -> None:
        """Process one batch and commit its results."""
        slices = slices_of(records, self.positions, self.source.may_skip)
        began = self._clock()
        self.times.inspect(records)  # first: wrong times may be why records cannot be processed
        for sink in self._sinks:
            sink.begin()
        try:
            self._learn(records, slices)
            if self._is_aside and self.recovery is not None:  # a file is its owner's to edit
                self._replaced.add(records)
            predicted = self._clock()
            self._write()
            for sink in self._sinks:
                sink.commit(slices)
        except BaseException:
            self._abort()
            raise
        self.predict_seconds, self.commit_seconds = predicted - began, self._clock() - predicted
        self.committed = records
        self.reached = records[-1].time
        for watcher in self._watchers:
            watcher(self.progress)

    def _learn(self, records: Sequence[Record], slices: Sequence[Slice]) -> None:
        """Process records with all models; commands among them, each in its place."""
        if not any(each.partition.source.endswith(COMMANDS) for each in slices):
            self._learn_from(records, slices)
            return
        starts = {each.partition: each.start for each in slices}
        for is_command, run in groupby(records, _is_command):
            part = list(run)
            if not is_command:
                self._learn_from(part, slices_of(part, starts, self.source.may_skip))
                continue
            for each in part:
                assert isinstance(each, Event)
                positions = {**self.positions, **starts}
                obey(each, positions, self.step, self.challengers, self.history, self._read_again)
                starts[each.partition] = each.after
                self._has_unlearned = True

    def _learn_from(self, records: Sequence[Record], slices: Sequence[Slice]) -> None:
        self.step.process(records)
        self.challengers.process(records)
        self.history.add(records, slices)

    def _write(self) -> None:
        step = self.step
        if self.predictions is not None:
            self.predictions.write(step.collect_outputs())
        if self.dead_letters is not None and step.dead_letters.letters:
            self.dead_letters.write(step.dead_letters.letters)
        if self.drifts is not None and step.drifts:
            self.drifts.write(step.drifts)
        step.clear_results()

    # -- start and end -----------------------------------------------------------------------------------------

    def preview(self, rebuild: bool = False) -> dict[str, Any]:
        """Return the start of a run as JSON values, without writing anything; raise what the run would raise.

        Raises
        ------
        BadSnapshot
            If the newest snapshot cannot be resumed from.
        """
        try:
            newest = None if self.store is None or rebuild else self.store.latest()
            if self.recovery is not None:
                self.recovery.check(self._resume_point(self._newest(rebuild)), rebuild)
            if newest is not None:
                self._load(newest.snapshot)
            positions = self.source.positions if newest is None else newest.snapshot.positions
            return {
                "snapshot": None if newest is None else newest.generation,
                "records": self.step.processed,
                "positions": {
                    f"{source}[{number}]": position for (source, number), position in positions.items()
                },
                "delivery": self.delivery,
            }
        finally:
            self._close()

    def _start_or_abort(self, rebuild: bool) -> bool:
        """Start; if that is refused, leave no outputs that it began."""
        try:
            return self._start(rebuild)
        except BaseException:
            self._abort()
            raise

    def _abort(self) -> None:
        for sink in self._sinks:
            sink.abort()

    def _start(self, rebuild: bool) -> bool:
        """Take over from an earlier worker and resume. Return False, without that, if `stop` was called before."""
        self._began = (self.step.processed, self.step.learned, self._clock())
        point = self._check_start(rebuild)  # before taking over: a start that is refused changes nothing
        recovery = self.recovery
        drifts: list[DriftEntry] = []
        if rebuild and recovery is not None and recovery.replays_rebuild:
            drifts = self._rebuild_from_log(recovery)
        elif rebuild and not self._stopping and (recovery is None or point is not None):
            self._start_aside(point)
            return True
        if self._stopping:
            return False
        self._take_over(rebuild)
        newest = None if rebuild else self._newest(rebuild)
        self._open_outputs(newest, rebuild)
        self._rewrite_drifts(drifts, ())
        if recovery is not None:
            self._resume(recovery, point if rebuild else self._resume_point(newest), rebuild)
        is_resumable = recovery is None or recovery.replay_is_listed
        if self._writer is not None and newest is not None:
            self.schedule.mark_taken(self.step.processed, self._clock())
        elif self._writer is not None and is_resumable:
            # Before the first commit: a later start finds this snapshot, or nothing was committed.
            self._save_now(self._writer)
        if recovery is not None:
            self._replay(recovery.replay())
        if not is_resumable:
            if self._stopping:
                return False
            if self._writer is not None:
                self._save_now(self._writer)
        return True

    def _rebuild_from_log(self, recovery: Recovery) -> list[DriftEntry]:
        """Learn what is committed, until the earlier worker has saved nothing more meanwhile. Return the drifts."""
        self.positions = dict(self.source.positions)
        drifts = self._catch_up(recovery.catch_up())
        while not self._stopping and self._saved_meanwhile():
            drifts += self._catch_up(recovery.catch_up())
        if not self._stopping:
            self._check_not_smaller()
        return drifts

    def _take_over(self, rebuild: bool) -> None:
        """Own the store, and end what an earlier worker began to replace."""
        if self.store is not None:
            self.store.take_over()
            if rebuild:
                self._keep_present(self.store)
            self._writer = SnapshotWriter(self.store)
        generation = self._newest_generation()
        for sink in self._sinks:
            if isinstance(sink, ReplaceableSink):
                sink.finish_replacing(generation)

    def _open_outputs(self, newest: Snapshot | None, rebuild: bool) -> None:
        """Load the snapshot, if there is one, and cut the outputs back to their lengths in it."""
        lengths: Mapping[str, int] = {}
        if newest is None:
            self.positions = dict(self.source.positions)
        else:
            lengths = newest.outputs
            check_ends(self._sinks, newest.sections.get(ENDS, {}))
            self._load(newest)
        self._began = (self.step.processed, self.step.learned, self._clock())
        for sink in self._sinks:
            sink.open(0 if rebuild else None if newest is None else lengths.get(sink.name))

    def _resume(self, recovery: Recovery, point: ResumePoint | None, rebuild: bool) -> None:
        """Recover what was committed after the snapshot, and read on from there."""
        try:
            self.positions = dict(recovery.resume(point, rebuild))
        except (CannotResume, SourceError):
            if self.store is not None:
                self.store.check_owner()  # the reason may be that another worker goes on
            raise
        self.source.seek(self.positions)

    def _check_start(self, rebuild: bool) -> ResumePoint | None:
        """Check that a start is possible, and return what it resumes from.

        Another worker may save, and prune the journal below its snapshots, while this one looks: then look again.
        """
        while True:
            newest = self._newest_generation()
            present = self._newest(rebuild)
            point = self._resume_point(present)
            self._replaced = ReplacedState(newest, present if rebuild else None)
            del present  # its arrays
            try:
                if self.recovery is not None:
                    self.recovery.check(point, rebuild)
                return point
            except (CannotResume, SourceError):
                if self._newest_generation() == newest:
                    raise

    def _newest_generation(self) -> int | None:
        return None if self.store is None else max(self.store.list(), default=None)

    def _start_aside(self, point: ResumePoint | None) -> None:
        """Start from scratch, beside the present state."""
        if self.recovery is not None:
            self.source.seek(self.recovery.resume(point, True))
        self.positions = dict(self.source.positions)
        for sink in self._sinks:
            if isinstance(sink, ReplaceableSink):
                sink.open_aside()
            else:
                sink.open(0)
        self._is_aside = True

    def _is_beyond(self, end: Mapping[Partition, Position]) -> bool:
        return bool(end) and all(self.positions.get(part, 0) >= at for part, at in end.items())

    def _saved_meanwhile(self) -> Mapping[Partition, Position]:
        """Return the positions of the state to replace, if another worker has saved it since the last look."""
        newest = self._newest_generation()
        if newest == self._replaced.generation:
            return {}
        present = self._newest(True)
        if present is None:
            return {}
        self._replaced.replace(newest, present)
        return self._replaced.positions

    def _adopt(self) -> None:
        """Replace the present state by the rebuilt one. The snapshot is the commit point."""
        if not self._is_aside:
            return
        self._saved_meanwhile()
        self._check_not_smaller()
        sinks: list[Any] = [sink for sink in self._sinks if isinstance(sink, ReplaceableSink)]
        if self.store is not None:
            self.store.take_over()
            self._keep_present(self.store)
            self._writer = SnapshotWriter(self.store)
            generation = max(self.store.list(), default=0) + 1
            for sink in sinks:
                sink.finish_replacing(generation - 1)
                sink.prepare(generation)
            self._save_now(self._writer)
        for sink in sinks:
            sink.replace()
        self._is_aside = False

    def _check_not_smaller(self) -> None:
        """Refuse a rebuild from which records are missing, unless it was to be cut short or a gap is accepted."""
        is_cut_short = self._until is not None and self.step.processed >= self._until
        present = self._replaced.account
        if present is not None and not is_cut_short and not self._accept_gap:
            check_not_smaller(self.step.account, present, self._replaced.records_beyond)

    def _keep_present(self, store: SnapshotStore) -> None:
        """Copy the snapshots that a rebuild replaces to a directory beside theirs."""
        kept = store.keep_aside()
        if kept is not None:
            logger.info("the snapshots before the rebuild are kept in %s", kept)

    def _newest(self, rebuild: bool) -> Snapshot | None:
        """Return the snapshot to resume from; for a rebuild the one to replace, if it can be read."""
        if self.store is None:
            return None
        try:
            newest = self.store.latest()
        except NoSnapshot:
            if not rebuild:
                raise
            return None
        return None if newest is None else newest.snapshot

    def _resume_point(self, snapshot: Snapshot | None) -> ResumePoint | None:
        """Return what recovery needs of a snapshot; None without one."""
        if snapshot is None or self.recovery is None:
            return None
        length = snapshot.outputs.get(self.recovery.name)
        return ResumePoint(snapshot.positions, length, snapshot.sections.get(LOG, {}))

    def preview_unlearning(self, span: Span) -> SpanSamples:
        """Return the samples that a command would unlearn from the newest snapshot, without writing anything.

        Raises
        ------
        NoSnapshot
            If there is none.
        NotSupported
            If the command would be refused.
        """
        try:
            newest = None if self.store is None else self.store.latest()
            if newest is None:
                raise NoSnapshot("there are no snapshots of this pipeline: it has learned nothing")
            self._load(newest.snapshot)
            samples = find_samples(self.step, span, self.history, self._read_again)
            self.step.unlearn(*samples)  # of this process alone
            return samples
        finally:
            self._close()

    def _read_again(self, ranges: Ranges) -> Iterator[Record]:
        """Yield the records in ranges, in the order of the source."""
        if self._open_again is None:
            raise NotSupported(
                "samples of the span are no longer remembered, and this source cannot be read again"
            )
        stops = ranges.stops
        source = self._open_again()
        try:
            source.seek({**self.positions, **ranges.starts})
            while True:
                try:
                    records = source.poll(self.batch)
                except Exhausted:
                    return
                yield from (record for record in records if record in ranges)
                positions = source.positions
                if all(positions.get(part, 0) >= stop for part, stop in stops.items()):
                    return
                if not records and isinstance(source, EndlessSource) and source.has_reached(stops):
                    return
                if not records and self._stopping:
                    raise BrokerAway("stopped while records were read again, to be unlearned")
        finally:
            source.close()

    def _load(self, snapshot: Snapshot) -> None:
        """Load a snapshot, and seek to its positions."""
        sections = dict(snapshot.sections)
        log = sections.pop(LOG, {})
        sections.pop(ENDS, None)  # checked before the outputs were opened
        self.history.load(sections.pop(HISTORY, {}))
        changed = differences(sections.pop(SETTINGS, {}), self.settings)
        if changed:
            raise OtherSettings(
                f"the newest snapshot was taken with other settings: {changes_text(changed)}. "
                "Start with those; or from scratch, with --rebuild or in another directory",
                tuple(changed),
            )
        self.challengers.load(sections, snapshot.clock)
        self.step.load(sections)
        self.positions = dict(snapshot.positions)
        if self.recovery is None:  # else it may have to skip positions that expired
            self.source.seek(self.positions)
            check_marks(self.source, log.get(READ, []))

    def _replay(self, batches: Iterable[Sequence[Record]]) -> None:
        """Process again the records committed after the snapshot. Their results are not written again.

        Except for drift entries in a file: it was cut back to the snapshot.
        """
        for drifts, slices in self._processed_again(batches):
            self._rewrite_drifts(drifts, slices)
        self.source.seek(self.positions)

    def _catch_up(self, batches: Iterable[Sequence[Record]]) -> list[DriftEntry]:
        """Process what was committed, for a rebuild, and write nothing: a rebuild that fails leaves all as it was."""
        return [entry for drifts, _ in self._processed_again(batches, self._replaced.add) for entry in drifts]

    def _processed_again(
        self,
        batches: Iterable[Sequence[Record]],
        note: Callable[[Sequence[Record]], None] = lambda records: None,
    ) -> Iterator[tuple[list[DriftEntry], Sequence[Slice]]]:
        """Yield the drift entries and the slices of batches, each once it was processed again, until `stop`."""
        for records in batches:
            slices = slices_of(records, self.positions, self.source.may_skip)
            self._learn(records, slices)
            note(records)
            yield list(self.step.drifts), slices
            self.step.clear_results()
            self.replayed += len(records)
            self.reached = records[-1].time if records else self.reached
            if self._stopping:
                break

    def _rewrite_drifts(self, drifts: Sequence[DriftEntry], slices: Sequence[Slice]) -> None:
        """Write replayed drift entries to a file: it was cut back to the snapshot."""
        if self.drifts is not None and self.drifts.medium == "local" and drifts:
            self.drifts.begin()
            self.drifts.write(drifts)
            self.drifts.commit(slices)

    def _finish(self) -> None:
        """Write a last snapshot, after waiting for one that is being written.

        Raises
        ------
        SnapshotNotWritten
            If it failed: the run ends, and its last results are not in any snapshot.
        """
        self._write_last()
        if self.recovery is not None:
            self.recovery.finish(self.positions)

    def _write_last(self) -> None:
        writer = self._writer
        if writer is None:
            return
        writer.wait()
        if self.schedule.due_at_end(self.step.processed) or (
            self.schedule.at_end and writer.failures_in_a_row
        ):
            self._save_now(writer)
        elif writer.failures_in_a_row:
            assert writer.last_failure is not None
            raise writer.last_failure

    def _close(self) -> None:
        """Close sinks, source and snapshot writer, even after an error."""
        for sink in self._sinks:
            sink.close()
        self.source.close()
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()

    def _parts_with_length(self) -> list[Sink | Recovery]:
        return [*self._sinks, *([] if self.recovery is None else [self.recovery])]

    # -- snapshots ----------------------------------------------------------------------------------------------------

    def _save_when_due(self) -> None:
        writer = self._writer
        if writer is None or writer.busy:
            return
        writer.check()
        if self.recovery is not None and writer.generation != self._pruned:
            self._pruned = writer.generation
            self._prune(self.recovery)
        if self._has_unlearned or self.schedule.due(self.step.processed, self._clock()):
            self._save()

    def _prune(self, recovery: Recovery) -> None:
        """Delete the journal before the oldest snapshot."""
        assert self.store is not None
        try:
            oldest = self.store.describe(self.store.list()[0])
        except (NoSnapshot, BadState, OSError):
            return  # broken, or just deleted by its owner: try again after the next snapshot
        if recovery.name in oldest["outputs"]:
            recovery.prune(oldest["outputs"][recovery.name], self.positions)

    def _save_now(self, writer: SnapshotWriter) -> None:
        """Write a snapshot, and wait for it.

        Raises
        ------
        SnapshotNotWritten
            If it failed.
        """
        self._save()
        writer.wait()
        if writer.failures_in_a_row:
            assert writer.last_failure is not None
            raise writer.last_failure

    def _save(self) -> None:
        """Freeze the state, and write it as a snapshot in the background."""
        assert self._writer is not None
        for sink in self._sinks:
            sink.sync()
        frozen: dict[str, Any] = {
            "learner": self.step.model.name,
            "configuration": digest(self.settings),
            "positions": dict(self.positions),
            "clock": self.step.processed,
            "outputs": {
                part.name: part.length for part in self._parts_with_length() if part.length is not None
            },
        }
        sections, challengers = self.step.freeze(), self.challengers.freeze()
        of_run: dict[str, Any] = {SETTINGS: self.settings, HISTORY: self.history.state()}
        self._has_unlearned = False  # a replay need not read again what a snapshot holds
        if self.recovery is not None:
            of_run[LOG] = dict(self.recovery.identity)
        elif read := marks_state(self.source, self.positions):
            of_run[LOG] = {READ: read}
        if ends := ends_state(self._sinks):
            of_run[ENDS] = ends
        self.schedule.mark_taken(self.step.processed, self._clock())
        self._writer.write(lambda: Snapshot(sections=sections() | challengers() | of_run, **frozen))


def _is_command(record: Record) -> bool:
    return isinstance(record, Event) and record.kind is COMMAND
