"""Reading slices of partitions in a given order, for a replay."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.errors import BrokerAway
from stream_bayes.streams.kafka.client import Interrupted, Message, Reader

__all__ = ["SliceReader", "striped"]

POLL_SECONDS = 0.2
AT_ONCE = 1000  # messages a poll
MOST_AHEAD = 5000  # messages of a partition that are kept while another is waited for
STRIPE = 1000  # positions


class SliceReader:
    """Reads partitions side by side, each once from front to back, and hands out slices as they are asked for.

    Parameters
    ----------
    reader
        What reads; it is closed by whoever made it.
    positions
        From where.
    """

    def __init__(self, reader: Reader, positions: Mapping[Partition, Position]) -> None:
        self._reader = reader
        self._ahead: dict[Partition, deque[Message]] = {partition: deque() for partition in positions}
        self._paused: set[Partition] = set()
        reader.assign(positions)

    def read(self, slices: Sequence[Slice]) -> Iterator[list[Message] | None]:
        """The messages of these slices, in one list at the end; before it None for every time that none came."""
        taken: list[Message] = []
        for part in slices:
            ahead = self._ahead[part.partition]
            while True:
                while ahead and ahead[0].offset < part.stop:
                    taken.append(ahead.popleft())
                # What is compacted away, or ends a transaction, never comes: but the reader gets past it.
                if ahead or self._reached(part.partition) >= part.stop:
                    break
                if not self._fetch(part.partition):
                    yield None
        yield taken

    def _reached(self, partition: Partition) -> Position:
        try:
            return self._reader.reached(partition)
        except (BrokerAway, Interrupted):
            return 0

    def _fetch(self, wanted: Partition) -> bool:
        """Read on, of other partitions not too far; whether anything came."""
        try:
            if wanted in self._paused:
                self._reader.resume([wanted])
                self._paused.discard(wanted)
            messages = self._reader.poll(AT_ONCE, POLL_SECONDS)
        except (BrokerAway, Interrupted):
            time.sleep(POLL_SECONDS)
            return False
        for message in messages:
            self._ahead[message.partition].append(message)
        full = [
            partition
            for partition, ahead in self._ahead.items()
            if len(ahead) > MOST_AHEAD and partition not in self._paused
        ]
        if full:
            self._paused.update(full)
            with suppress(BrokerAway, Interrupted):
                self._reader.pause(full)
        return bool(messages)


def striped(
    starts: Mapping[Partition, Position], stops: Mapping[Partition, Position]
) -> Iterator[Sequence[Slice]]:
    """Slices over everything between two positions, taking turns between partitions: an order where none is known.

    Examples
    --------
    >>> one, two = Partition("days", 0), Partition("days", 1)
    >>> [[(part.partition.partition, part.start, part.stop) for part in slices]
    ...     for slices in striped({one: 0, two: 10}, {one: 1500, two: 20})]
    [[(0, 0, 1000)], [(1, 10, 20)], [(0, 1000, 1500)]]
    """
    left = {
        partition: start for partition, start in sorted(starts.items()) if start < stops.get(partition, 0)
    }
    while left:
        for partition, start in list(left.items()):
            stop = min(start + STRIPE, stops[partition])
            yield [Slice(partition, start, stop)]
            if stop == stops[partition]:
                del left[partition]
            else:
                left[partition] = stop


def advanced(positions: Mapping[Partition, Position], slices: Iterable[Slice]) -> dict[Partition, Position]:
    """Positions, moved past slices."""
    return {**positions, **{part.partition: part.stop for part in slices}}
