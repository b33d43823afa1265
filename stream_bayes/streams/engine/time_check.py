"""Warnings of event times that cannot be right: of another unit, or in the future.

State and results never depend on them: records are processed with the times that they have.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from stream_bayes.core.events.event import Event
from stream_bayes.streams.contracts.incidents import FUTURE_TIMES, JUMPS, LATE_TIMES, WRONG_UNIT
from stream_bayes.streams.contracts.source import Record

__all__ = ["TimeCheck"]

logger = logging.getLogger(__name__)

DAY = 86_400.0
MARGIN = DAY  # by which clocks may differ, time zones included
EARLIEST = 631_152_000.0  # 1990: where a time in another unit would lie
FACTORS = (1e3, 1e6, 1e9)  # between seconds, milliseconds, microseconds and nanoseconds
KINDS = {
    FUTURE_TIMES: "in the future",
    JUMPS: "further ahead of the stream than max_skew",
    LATE_TIMES: "further behind the stream than max_skew",
    WRONG_UNIT: "of another unit than declared",
}
FIRST_DATE, LAST_DATE = -62_135_596_800.0, 253_402_300_799.0  # of those that a datetime can hold


class TimeCheck:
    """Counts of records whose times cannot be right. The first of each kind is logged, and the totals by `report`.

    A time too large for a date of today, and right if it is divided by a thousand, a million or a milliard, is of a
    finer unit than declared. If the times of the first batch are all right once they are multiplied, the unit is
    coarser: a stream that counts its own time from 0 is not meant. `clock` returns seconds since 1970. Times that a
    clock of the pipeline lags behind or has left far behind are counted by `report_apart`, as its `report`.

    Examples
    --------
    >>> from stream_bayes.core.events.event import Event
    >>> check = TimeCheck(clock=lambda: 1_800_000_000.0)
    >>> check.inspect([Event({}, time=1_790_000_000.0), Event({}, time=1_790_000_000_000.0)])
    >>> check.incidents
    {'wrong_time_unit': 1}
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._counts: Counter[str] = Counter()
        self._coarse_factor: float | None = None
        self._is_first = True

    @property
    def incidents(self) -> Mapping[str, int]:
        """The number of records with such a time, by kind. Thread-safe."""
        return dict(self._counts)

    def inspect(self, records: Sequence[Record]) -> None:
        """Count the records of a batch whose times cannot be right."""
        times = [record.time for record in records if record.time is not None]
        if not times:
            return
        latest, today = max(times), self._clock() + MARGIN
        if self._is_first:
            self._is_first = False
            self._coarse_factor = _common_factor(times, today)
        if self._coarse_factor is not None:
            self._count_coarse(records, self._coarse_factor, today)
        if latest > today:
            for record in records:
                if record.time is not None and record.time > today:
                    self._count_late(record, record.time, today)

    def report_apart(self, event: Event, moment: float, now: float) -> None:
        """Count a time that is more than `max_skew` from a clock of the pipeline: an event's, or that of an earlier one
        which did not start the clock.
        """
        days = abs(moment - now) / DAY
        if moment == event.time:
            text = f"{days:,.0f} days ahead of the stream: the clock catches up in steps of max_skew"
            late = (
                f"{days:,.0f} days behind the stream ({_date(now)}): it counts as that old. If the first records had "
                "wrong times, take them out, and start with --rebuild --accept-gap"
            )
            self._count(JUMPS if moment > now else LATE_TIMES, event, moment, text if moment > now else late)
            return
        text = f"{days:,.0f} days from the other two of the first three, of which this is the last: it starts no clock"
        self._count(JUMPS if moment > now else LATE_TIMES, event, moment, text)

    def report(self) -> None:
        """Log the totals, if there are any beyond those that were logged."""
        for kind, count in self._counts.items():
            if count > 1:
                logger.warning("%d records of this run had times %s", count, KINDS[kind])

    def _count_coarse(self, records: Sequence[Record], factor: float, today: float) -> None:
        for record in records:
            moment = record.time
            if moment is not None and EARLIEST <= moment * factor <= today:
                self._count(
                    WRONG_UNIT, record, moment, f"{factor:,.0f} times too small: declare a coarser time_unit"
                )

    def _count_late(self, record: Record, moment: float, today: float) -> None:
        factor = next((factor for factor in FACTORS if EARLIEST <= moment / factor <= today), None)
        if factor is not None:
            text = f'{factor:,.0f} times too large: declare a finer time_unit, such as "ms" for milliseconds'
            self._count(WRONG_UNIT, record, moment, text)
        else:
            days = (moment - self._clock()) / DAY
            text = f"{days:,.0f} days in the future: alone it starts no clock, and it moves one by at most max_skew"
            self._count(FUTURE_TIMES, record, moment, text)

    def _count(self, kind: str, record: Record, moment: float, text: str) -> None:
        self._counts[kind] += 1
        if self._counts[kind] == 1:
            source, number = record.partition
            logger.warning(
                "the record at position %d of %s[%d] has the time %s (%.15g seconds), %s. Such records are counted",
                record.position,
                source,
                number,
                _date(moment),
                moment,
                text,
            )


def _date(moment: float) -> str:
    """Return seconds since 1970 as a date."""
    if not FIRST_DATE < moment < LAST_DATE:
        return "never"
    return datetime.fromtimestamp(moment, UTC).isoformat(" ", "minutes")


def _common_factor(times: Sequence[float], today: float) -> float | None:
    """Return the factor that makes all times dates between 1990 and today; None if there is none, or it is 1."""
    for factor in FACTORS:
        if min(times) * factor >= EARLIEST and max(times) * factor <= today:
            return factor
    return None
