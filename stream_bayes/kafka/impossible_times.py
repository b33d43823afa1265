"""Records whose time is after that at which they were written, such as one of milliseconds read as seconds."""

from __future__ import annotations

import logging

import msgspec

from stream_bayes.streams.contracts.source import Record

__all__ = ["ImpossibleTimes"]

logger = logging.getLogger(__name__)


class ImpossibleTimes:
    """A bound of the times of records: no event happens after its record was written, but clocks differ.

    `max_skew` is the most seconds by which the time of a record may be after the time of writing.

    Attributes
    ----------
    count
        The number of records whose time was replaced.
    """

    def __init__(self, max_skew: float) -> None:
        self.max_skew = max_skew
        self.count = 0

    def are_in(self, record: Record, written: float | None) -> bool:
        """Return True if a record has such a time."""
        return record.time is not None and written is not None and record.time > written + self.max_skew

    def replaced(self, record: Record, written: float) -> Record:
        """Return a record with the time at which it was written in place of its own. Log the first."""
        self.count += 1
        if self.count == 1:
            topic, number = record.partition
            logger.warning(
                "the record at position %d of %s[%d] has the time %.15g, more than max_skew = %g seconds after it was "
                "written, %.15g: such records are processed with the time of writing, and counted",
                record.position,
                topic,
                number,
                record.time,
                self.max_skew,
                written,
            )
        return msgspec.structs.replace(record, time=written)
