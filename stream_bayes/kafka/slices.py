"""Reading the slices of given batches, for a replay."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.errors import BrokerAway
from stream_bayes.kafka.clients.client import Interrupted, Message, Reader

__all__ = ["SliceReader"]

POLL_SECONDS = 0.2
POLL_LIMIT = 1000  # messages
MAX_BUFFERED = 5000  # messages of a partition, while another one is waited for


class SliceReader:
    """Reads each partition once, front to back, and returns the messages of batch after batch. The maker of the reader
    closes it.
    """

    def __init__(self, reader: Reader, positions: Mapping[Partition, Position]) -> None:
        self._reader = reader
        self._buffers: dict[Partition, deque[Message]] = {partition: deque() for partition in positions}
        self._paused: set[Partition] = set()
        reader.assign(positions)

    def read(self, slices: Sequence[Slice]) -> Iterator[dict[Partition, list[Message]] | None]:
        """Yield None for every poll without messages, and at the end the messages of each partition."""
        ranges: dict[Partition, list[Message]] = {}
        for part in slices:
            buffer, messages = self._buffers[part.partition], ranges.setdefault(part.partition, [])
            while True:
                while buffer and buffer[0].offset < part.stop:
                    messages.append(buffer.popleft())
                # Compacted records and transaction markers never come, but the reader's position moves past them.
                if buffer or self._position(part.partition) >= part.stop:
                    break
                if not self._fetch(part.partition):
                    yield None
        yield ranges

    def _position(self, partition: Partition) -> Position:
        try:
            return self._reader.position(partition)
        except (BrokerAway, Interrupted):
            return 0

    def _fetch(self, wanted: Partition) -> bool:
        """Poll once; pause partitions whose buffer is full. Return True if messages came."""
        try:
            if wanted in self._paused:
                self._reader.resume([wanted])
                self._paused.discard(wanted)
            messages = self._reader.poll(POLL_LIMIT, POLL_SECONDS)
        except (BrokerAway, Interrupted):
            time.sleep(POLL_SECONDS)
            return False
        for message in messages:
            self._buffers[message.partition].append(message)
        full = [
            partition
            for partition, buffer in self._buffers.items()
            if len(buffer) > MAX_BUFFERED and partition not in self._paused
        ]
        if full:
            self._paused.update(full)
            with suppress(BrokerAway, Interrupted):
                self._reader.pause(full)
        return bool(messages)
