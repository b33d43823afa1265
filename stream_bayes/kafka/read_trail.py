"""The trail of a reader through a log: where it began, and the last record that it read of each partition.

A log can lose its tail and grow again, or come back from an older copy. Its offsets then go on as if nothing had
happened, and a position alone proves nothing. So positions are kept together with a mark of the record before them:

    epoch       the leader that wrote it (KIP-320): brokers report where the log of an epoch ends
    time        its timestamp, in milliseconds
    checksum    of its key and value

Brokers that report no epochs, and logs that were restored with theirs, are recognised by the record itself. Where it
began is kept because a rebuild begins there too, whatever the log has lost since.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.kafka.clients.client import Message

__all__ = ["NO_MARK", "Mark", "MarkRow", "ReadTrail", "mark_of"]

MarkRow = tuple[int, int, int]  # epoch, time, checksum
NO_MARK: MarkRow = (-1, -1, -1)


class Mark(NamedTuple):
    """The record before a position.

    Parameters
    ----------
    offset
        Its offset: the position less one.
    epoch
        The leader epoch in which it was written; -1 if the client does not report it.
    time
        Its timestamp in milliseconds; -1 without one.
    checksum
        CRC-32 of its key and value.
    """

    offset: Position
    epoch: int
    time: int
    checksum: int

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
    >>> mark_of(Message(Partition("days"), 7, 1.5, b"day-7", b"{}", 3))
    Mark(offset=7, epoch=3, time=1500, checksum=4057589844)
    """
    key, value = message.key, message.value
    sizes = b"%d %d" % (-1 if key is None else len(key), -1 if value is None else len(value))
    checksum = zlib.crc32(value or b"", zlib.crc32(key or b"", zlib.crc32(sizes)))
    time = -1 if message.time is None else round(1000 * message.time)
    return Mark(message.offset, message.epoch, time, checksum)


class ReadTrail:
    """First positions and last records of what a reader has read.

    Attributes
    ----------
    origins
        The first position read of each partition, in this run or the first one.
    marks
        The mark before the present position of each partition. Without one, nothing was read, or it is not known.
    """

    def __init__(self) -> None:
        self.origins: dict[Partition, Position] = {}
        self.marks: dict[Partition, Mark] = {}

    def add(self, message: Message) -> None:
        """Record a message as the last one of its partition."""
        self.marks[message.partition] = mark_of(message)

    def rows_at(self, positions: Iterable[tuple[Partition, Position]]) -> tuple[MarkRow, ...]:
        """Return the marks before these positions, `NO_MARK` where there is none; nothing if there are none at all."""
        marks = self.marks
        rows = tuple(
            mark.row if (mark := marks.get(part)) is not None and mark.offset == at - 1 else NO_MARK
            for part, at in positions
        )
        return rows if any(row != NO_MARK for row in rows) else ()

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "origins": [[*part, at] for part, at in sorted(self.origins.items())],
            "marks": [[*part, *mark] for part, mark in sorted(self.marks.items())],
        }

    def load(self, state: Mapping[str, Any], positions: Mapping[Partition, Position]) -> None:
        """Load what `state` returned, as far as it belongs to these positions."""
        self.origins = origins_in(state)
        self.marks = marks_in(state, positions)


def origins_in(state: Mapping[str, Any]) -> dict[Partition, Position]:
    """Return the first positions in a saved state; none in one from before they were kept."""
    return {Partition(topic, number): at for topic, number, at in state.get("origins") or ()}


def marks_in(state: Mapping[str, Any], positions: Mapping[Partition, Position]) -> dict[Partition, Mark]:
    """Return the marks in a saved state that are of the records before these positions."""
    marks = {Partition(topic, number): Mark(*mark) for topic, number, *mark in state.get("marks") or ()}
    return {part: mark for part, mark in marks.items() if positions.get(part) == mark.offset + 1}
