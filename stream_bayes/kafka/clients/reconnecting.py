"""A reader that survives its client: after a failure it makes another one and resumes from the same positions."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import SourceError
from stream_bayes.kafka.clients.client import ClientFailed, Interrupted, Message, Reader, position_lost
from stream_bayes.kafka.clients.record_marks import Mark, mark_of

__all__ = ["RECONNECT_WAIT_MS", "ReconnectingReader"]

RECONNECT_WAIT_MS = 1000  # at most, between attempts of a client to reach a broker

T = TypeVar("T")
# Where the log of each partition begins now; raises as a call of a `Reader` does.
Beginnings: TypeAlias = Callable[[Iterable[Partition]], Mapping[Partition, Position]]
R = TypeVar("R", bound=Message | Mark)

logger = logging.getLogger(__name__)


class ReconnectingReader:
    """A `Reader` that replaces its inner reader after a failure. The call that fails raises; the next one reconnects.

    The log may lose its end and grow again. So after a failure, and before the first record of another leader, the last
    record of each partition is read once more, and compared: if it is another one, the position is lost. One that has
    expired meanwhile, by `beginnings`, shows nothing.

    An error of `make` is raised by the call that needed the reader, and the next call tries again. After
    `silent_seconds` without a record the reader counts as failed: a client may lose a thread, or look for a partition
    where it no longer is, and raise nothing. None for no limit. Only this depends on `clock`.
    """

    def __init__(
        self,
        make: Callable[[], Reader],
        beginnings: Beginnings,
        *,
        silent_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make = make
        self._beginnings = beginnings
        self._silent_seconds = silent_seconds
        self._clock = clock
        self._next: dict[Partition, Position] = {}
        self._paused: set[Partition] = set()
        self._last: dict[Partition, Message | Mark] = {}  # that was returned, or read earlier
        self._epochs: dict[Partition, int] = {}  # of the leader that wrote the last record, or the next one
        self._repeating: set[Partition] = set()  # partitions whose last record is read once more
        self._may_have_moved = False
        self._reader: Reader | None = make()
        self._last_record_at = clock()

    def assign(self, positions: Mapping[Partition, Position]) -> None:
        self._next = dict(positions)
        self._last_record_at = self._clock()
        # Where reading goes on, as when partitions are added, the last record is compared too.
        self._last = self._before_positions(self._last)
        self._epochs = {part: epoch for part, epoch in self._epochs.items() if part in self._last}
        self._paused.clear()
        if self._reader is None:
            self._connect()
        else:
            self._assign(self._reader)

    def compare(self, marks: Mapping[Partition, Mark]) -> None:
        """Compare the records before the positions with these marks, when they are read next."""
        before = self._before_positions(marks)
        self._last |= before
        self._epochs |= {part: mark.epoch for part, mark in before.items() if mark.epoch >= 0}
        self._may_have_moved = True

    def poll(self, limit: int, seconds: float) -> list[Message]:
        messages: list[Message] = []
        try:
            messages = self._call(lambda reader: reader.poll(limit, seconds))
            if self._repeating:
                messages = self._compared(messages)
            messages = self._of_known_leaders(messages)
        except Interrupted:
            self._may_have_moved = True  # past messages that nobody got
            raise
        except SourceError:
            self._may_have_moved = True
            if not self._forget_expired():
                raise
        finally:
            self._track(messages)
        return messages

    def _forget_expired(self) -> bool:
        """Forget the records to be read once more that have expired; return False if none has: it is not because of
        them that a position is lost.
        """
        begins = self._beginnings(self._repeating) if self._repeating else {}
        expired = [part for part, begin in begins.items() if self._last[part].offset < begin]
        for part in expired:
            del self._last[part]
        return bool(expired)

    def _compared(self, messages: list[Message]) -> list[Message]:
        """Return the messages without those that are read once more. Raise if one of these is another than before."""
        new = []
        for message in messages:
            last = self._last.get(message.partition) if message.partition in self._repeating else None
            self._repeating.discard(message.partition)
            if last is None or message.offset > last.offset:
                new.append(message)
            elif not mark_of(message).is_of(last if isinstance(last, Mark) else mark_of(last)):
                self._last.clear()
                self._repeating.clear()
                raise position_lost()
        return new

    def _of_known_leaders(self, messages: list[Message]) -> list[Message]:
        """Return the messages of each partition up to the first of another leader: its log may lack the one before."""
        epochs = self._epochs
        if all(epochs.get(message.partition) == message.epoch for message in messages):
            return messages
        accepted: list[Message] = []
        waiting: set[Partition] = set()
        for message in messages:
            part = message.partition
            if part in waiting:
                continue
            before = epochs.get(part)
            epochs[part] = message.epoch
            if before in (None, message.epoch):
                accepted.append(message)
            else:
                waiting.add(part)
                self._may_have_moved = True  # so that the record before is read once more
        return accepted

    def position(self, partition: Partition) -> Position:
        position = self._call(lambda reader: reader.position(partition))
        return max(position, self._next[partition]) if partition in self._repeating else position

    def pause(self, partitions: Iterable[Partition]) -> None:
        partitions = list(partitions)
        self._paused.update(partitions)
        self._call(lambda reader: reader.pause(partitions))

    def resume(self, partitions: Iterable[Partition]) -> None:
        partitions = list(partitions)
        self._paused.difference_update(partitions)
        self._call(lambda reader: reader.resume(partitions))

    def close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def discard(self, reason: str) -> None:
        """Close the inner reader; the next call makes another, which resumes from the same positions."""
        logger.warning("a Kafka reader is replaced: %s", reason)
        self.close()

    def _call(self, call: Callable[[Reader], T]) -> T:
        if self._reader is None:
            self._connect()
        elif self._may_have_moved:
            self._assign(self._reader)
        assert self._reader is not None
        try:
            return call(self._reader)
        except ClientFailed as error:
            self.discard(str(error))
            raise

    def _connect(self) -> None:
        """Make a reader that resumes from the last positions."""
        self._reader = self._make()
        self._last_record_at = self._clock()
        self._assign(self._reader)

    def _assign(self, reader: Reader) -> None:
        self._may_have_moved = False
        self._repeating = set(self._before_positions(self._last))
        try:
            reader.assign({part: at - (part in self._repeating) for part, at in self._next.items()})
            if self._paused:
                reader.pause(self._paused)
        except BaseException:  # a reader with other positions must not be polled
            self.close()
            raise

    def _before_positions(self, records: Mapping[Partition, R]) -> dict[Partition, R]:
        """Return the records that are just before the positions to read next."""
        return {part: each for part, each in records.items() if each.offset == self._next.get(part, 0) - 1}

    def _track(self, messages: list[Message]) -> None:
        """Move past these messages; drop the reader after a long silence."""
        for message in messages:
            self._next[message.partition] = message.offset + 1
            self._last[message.partition] = message
        now = self._clock()
        if messages:
            self._last_record_at = now
        elif self._silent_seconds is not None and now - self._last_record_at >= self._silent_seconds:
            self._last_record_at = now
            self.discard(f"nothing has come for {self._silent_seconds:g} seconds")
