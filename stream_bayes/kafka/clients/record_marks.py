"""The mark of a record: what shows that a log still holds it."""

from __future__ import annotations

import zlib
from typing import NamedTuple

from stream_bayes.core.events.event import Position
from stream_bayes.kafka.clients.client import Message

__all__ = ["NO_MARK", "Mark", "MarkRow", "mark_of"]

MarkRow = tuple[int, int, int]  # epoch, time, checksum
NO_MARK: MarkRow = (-1, -1, -1)


class Mark(NamedTuple):
    """The record before a position."""

    offset: Position  # the position less one
    epoch: int  # of the leader that wrote it; -1 if the client does not report it
    time: int  # timestamp in milliseconds; -1 without one
    checksum: int  # CRC-32 of key and value

    @property
    def row(self) -> MarkRow:
        """The mark without its offset, as a journal holds it beside the position."""
        return (self.epoch, self.time, self.checksum)

    def is_of(self, other: Mark) -> bool:
        """Return True if both are marks of one record. Only a broker can compare epochs."""
        return (self.offset, self.time, self.checksum) == (other.offset, other.time, other.checksum)


def mark_of(message: Message) -> Mark:
    """Return the mark of a record.

    Examples
    --------
    >>> from stream_bayes.core.events.event import Partition
    >>> mark_of(Message(Partition("days"), 7, 1.5, b"day-7", b"{}", 3))
    Mark(offset=7, epoch=3, time=1500, checksum=4057589844)
    """
    key, value = message.key, message.value
    sizes = b"%d %d" % (-1 if key is None else len(key), -1 if value is None else len(value))
    checksum = zlib.crc32(value or b"", zlib.crc32(key or b"", zlib.crc32(sizes)))
    time = -1 if message.time is None else round(1000 * message.time)
    return Mark(message.offset, message.epoch, time, checksum)
