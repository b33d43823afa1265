"""Replaying a recorded stream at its original pace, or at a multiple of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue, Exhausted
from stream_bayes.streams.contracts.source import Record, Source
from stream_bayes.streams.sources.source_around import SourceAround

__all__ = ["Paced"]

LONGEST_SLEEP = 0.1  # seconds; so that a replay with long silences can be stopped


class Paced(SourceAround):
    """A source that returns each record when it is due.

    The first record with a time is due at once, each other one after the difference of their times, divided by `speed`.
    A record without a time, or with an earlier one, is due together with the record before it. The speed does not
    change what is learned.

    Parameters
    ----------
    source
        The source to replay.
    speed
        Seconds of the stream per second; infinity for no waiting.
    clock, sleep
        Functions that return the time and that wait, in seconds.

    Examples
    --------
    >>> from stream_bayes.core.events.event import Event
    >>> from stream_bayes.streams.sources.iterable import IterableSource
    >>> moments = IterableSource([Event({}, time=100.0), Event({}, time=160.0)])
    >>> passed = [0.0]
    >>> def sleep(seconds):
    ...     passed[0] += seconds
    >>> replay = Paced(moments, speed=60.0, clock=lambda: passed[0], sleep=sleep)
    >>> while passed[0] < 1.0:
    ...     for event in replay.poll(10):
    ...         print(event.time, "after", round(passed[0], 2), "seconds")
    100.0 after 0.0 seconds
    160.0 after 1.0 seconds
    """

    _waiting: list[Record]  # read, not yet due
    _start: tuple[float, float] | None  # a time of the stream, and of the clock

    def __init__(
        self,
        source: Source,
        speed: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if isinstance(speed, bool) or not isinstance(speed, (int, float)) or not speed > 0:
            raise BadValue(f"speed: expected a number above 0, got {shown(speed)}")
        super().__init__(source)
        self.speed = speed
        self._clock = clock
        self._sleep = sleep
        self._stopped = False
        self._begin()

    def __repr__(self) -> str:
        return f"Paced({self.source!r}, speed={self.speed})"

    @property
    def positions(self) -> Mapping[Partition, Position]:
        return dict(self._positions)

    def poll(self, limit: int) -> list[Record]:
        if self._stopped:
            raise Exhausted(f"the replay of {self.name} was stopped")
        if not self._waiting:
            self._waiting = self.source.poll(limit)
        if math.isinf(self.speed):
            return self._released(min(limit, len(self._waiting)))
        due = self._due(limit)
        if not due and self._waiting:
            self._sleep(max(0.0, min(self._wait_for(self._waiting[0], self._clock()), LONGEST_SLEEP)))
            due = self._due(limit)
        return self._released(due)

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        self.source.seek(positions)
        self._begin()

    def stop(self) -> None:
        """End the replay: `poll` raises `Exhausted`, and `positions` stay. Thread-safe."""
        self._stopped = True

    def has_reached(self, end: Mapping[Partition, Position], /) -> bool:
        """Return True once all records before this end were returned; a source without ends is read until exhausted."""
        return not self._waiting and super().has_reached(end)

    def _begin(self) -> None:
        self._waiting = []
        self._positions = dict(self.source.positions)
        self._start = None

    def _released(self, count: int) -> list[Record]:
        """Return the first waiting records."""
        records, self._waiting = self._waiting[:count], self._waiting[count:]
        for record in records:
            self._positions[record.partition] = record.after
        return records

    def _due(self, limit: int) -> int:
        """Return the number of waiting records that are due."""
        now = self._clock()
        count = 0
        for record in self._waiting[:limit]:
            if record.time is not None and self._start is None:
                self._start = (record.time, now)
            if self._wait_for(record, now) > 0:
                break
            count += 1
        return count

    def _wait_for(self, record: Record, now: float) -> float:
        """Return the seconds until a record is due; 0 or less if it is due already."""
        if record.time is None or self._start is None:
            return 0.0
        moment, begun = self._start
        return begun + (record.time - moment) / self.speed - now
