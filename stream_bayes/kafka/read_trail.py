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

from collections.abc import Iterable, Mapping
from typing import Any

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.kafka.clients.client import Message
from stream_bayes.kafka.clients.record_marks import NO_MARK, Mark, MarkRow, mark_of

__all__ = ["ReadTrail", "marks_in", "origins_in"]


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
