"""The schedule of snapshots, and their writer in the background."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor

from stream_bayes.errors import BadValue, SnapshotNotWritten
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.saving.snapshots.store import SnapshotStore

__all__ = ["Schedule", "SnapshotWriter"]

logger = logging.getLogger(__name__)


class Schedule:
    """Schedule of snapshots: due after a number of events or seconds, and at the end.

    It reads no clock; callers pass the time. Without new events no snapshot is due.

    Parameters
    ----------
    every_events
        Number of events between two snapshots; None for no such limit.
    every_seconds
        Seconds between two snapshots; None for no such limit.
    at_end
        True to take one when the stream ends or is stopped.

    Examples
    --------
    >>> schedule = Schedule(every_events=1000, every_seconds=60.0)
    >>> schedule.due(events=0, now=5.0)  # the first one, so that every restart has one
    True
    >>> schedule.mark_taken(events=0, now=5.0)
    >>> schedule.due(events=999, now=64.0), schedule.due(events=1000, now=6.0), schedule.due(events=1, now=65.0)
    (False, True, True)
    """

    def __init__(
        self, every_events: int | None = None, every_seconds: float | None = None, at_end: bool = True
    ) -> None:
        if every_events is not None and (type(every_events) is not int or every_events < 1):
            raise BadValue(
                f"every_events: expected a whole number of at least 1, or None, got {every_events!r}"
            )
        if every_seconds is not None and not every_seconds > 0:
            raise BadValue(f"every_seconds: expected a number above 0, or None, got {every_seconds!r}")
        self.every_events = every_events
        self.every_seconds = every_seconds
        self.at_end = at_end
        self._last: tuple[int, float] | None = None

    def mark_taken(self, events: int, now: float) -> None:
        """Record that a snapshot was taken or loaded after `events` events."""
        self._last = (events, now)

    def due(self, events: int, now: float) -> bool:
        """Return True if a snapshot is due after `events` events."""
        if self._last is None:
            return True
        new, passed = events - self._last[0], now - self._last[1]
        by_events = self.every_events is not None and new >= self.every_events
        by_time = self.every_seconds is not None and passed >= self.every_seconds
        return by_events or (by_time and new > 0)

    def due_at_end(self, events: int) -> bool:
        """Return True if a last snapshot is due at the end of the stream."""
        return self.at_end and (self._last is None or events > self._last[0])


class SnapshotWriter:
    """Writes snapshots in another thread, one at a time, and counts the failures.

    A snapshot that could not be written to disk is logged and counted, and the stream continues. Any other error, such
    as a new owner of the directory, is raised by the next call of `check`, `write`, `wait` or `close`.

    `store` must have been taken over. After `most_failures` in a row it is not `healthy`, until a snapshot is written.
    One by default: what no snapshot holds may expire. Without an `executor` it has a thread of its own.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     store = SnapshotStore(directory)
    ...     store.take_over()
    ...     writer = SnapshotWriter(store)
    ...     writer.write(Snapshot.take(learner="Counter", sections={"metrics": {"seen": 7}}))
    ...     writer.close()
    ...     writer.generation, writer.healthy
    True
    (1, True)
    """

    def __init__(
        self, store: SnapshotStore, most_failures: int = 1, executor: Executor | None = None
    ) -> None:
        if type(most_failures) is not int or most_failures < 1:
            raise BadValue(f"most_failures: expected a whole number of at least 1, got {most_failures!r}")
        self.store = store
        self.most_failures = most_failures
        self.generation: int | None = None  # the last one written
        self.written = 0
        self.failures = 0
        self.failures_in_a_row = 0
        self.last_failure: SnapshotNotWritten | None = None
        self._own_executor = ThreadPoolExecutor(1, "snapshots") if executor is None else None
        self._executor = executor or self._own_executor
        self._writing: Future[None] | None = None

    @property
    def busy(self) -> bool:
        """True while a snapshot is being written."""
        return self._writing is not None and not self._writing.done()

    @property
    def healthy(self) -> bool:
        """True unless too many writes have failed in a row."""
        return self.failures_in_a_row < self.most_failures

    def write(self, snapshot: Snapshot | Callable[[], Snapshot]) -> bool:
        """Begin to write a snapshot. Return False, without doing anything, while another is being written.

        The snapshot must not change any more; see `Snapshot.take`. A function that makes one is called in the other
        thread, and must read only what does not change.
        """
        if self.busy:
            return False
        self.wait()
        assert self._executor is not None
        self._writing = self._executor.submit(self._save, snapshot)
        return True

    def check(self) -> None:
        """Raise the error of the last write, if it has ended with one."""
        if not self.busy:
            self.wait()

    def wait(self) -> None:
        """Wait for the snapshot that is being written, if any."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def close(self) -> None:
        """Wait, then end the thread."""
        try:
            self.wait()
        finally:
            if self._own_executor is not None:
                self._own_executor.shutdown()

    def _save(self, snapshot: Snapshot | Callable[[], Snapshot]) -> None:
        try:
            self.generation = self.store.save(snapshot() if callable(snapshot) else snapshot)
        except SnapshotNotWritten as error:
            self.failures += 1
            self.failures_in_a_row += 1
            self.last_failure = error
            logger.warning("%s (failure %d in a row)", error, self.failures_in_a_row)
        else:
            self.written += 1
            self.failures_in_a_row = 0
