"""A reader that outlives its clients: one that fails is let go, and another goes on from where it was."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.streams.kafka.client import ClientFailed, Message, Reader

__all__ = ["ReconnectingReader"]

T = TypeVar("T")

logger = logging.getLogger(__name__)


class ReconnectingReader:
    """A `Reader` that makes another one where its own has failed; until then nothing comes.

    Parameters
    ----------
    make
        Makes one; whatever that raises is raised by what is asked of this one, and tried again when it is asked next.
    silent_seconds
        After how long without a record it takes its reader for one that has failed: a client may have lost a thread, or
        look for a partition where it no longer is, and say nothing of it. Never, if not given.
    clock
        The seconds that pass. Only when another reader is made depends on them.
    """

    def __init__(
        self,
        make: Callable[[], Reader],
        *,
        silent_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make = make
        self._silent_seconds = silent_seconds
        self._clock = clock
        self._next: dict[Partition, Position] = {}
        self._paused: set[Partition] = set()
        self._reader: Reader | None = make()
        self._heard = clock()

    def assign(self, positions: Mapping[Partition, Position]) -> None:
        self._next = dict(positions)
        self._paused.clear()
        if self._reader is None:
            self._begin()
        else:
            self._assign(self._reader)

    def poll(self, limit: int, seconds: float) -> list[Message]:
        messages: list[Message] = []
        try:
            messages = self._ask(lambda reader: reader.poll(limit, seconds))
        finally:
            self._note(messages)
        return messages

    def reached(self, partition: Partition) -> Position:
        return self._ask(lambda reader: reader.reached(partition))

    def pause(self, partitions: Iterable[Partition]) -> None:
        partitions = list(partitions)
        self._paused.update(partitions)
        self._ask(lambda reader: reader.pause(partitions))

    def resume(self, partitions: Iterable[Partition]) -> None:
        partitions = list(partitions)
        self._paused.difference_update(partitions)
        self._ask(lambda reader: reader.resume(partitions))

    def close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def _ask(self, question: Callable[[Reader], T]) -> T:
        if self._reader is None:
            self._begin()
        assert self._reader is not None
        try:
            return question(self._reader)
        except ClientFailed as error:
            self._renew(str(error))
            raise

    def _begin(self) -> None:
        """Make another reader, that goes on from where the last one was."""
        self._reader = self._make()
        self._assign(self._reader)

    def _assign(self, reader: Reader) -> None:
        self._heard = self._clock()
        try:
            reader.assign(self._next)
            if self._paused:
                reader.pause(self._paused)
        except BaseException:  # what reads elsewhere must not be asked
            self.close()
            raise

    def _note(self, messages: list[Message]) -> None:
        """Go on after these; where none come for long, with another reader."""
        for message in messages:
            self._next[message.partition] = message.offset + 1
        now = self._clock()
        if messages:
            self._heard = now
        elif self._silent_seconds is not None and now - self._heard >= self._silent_seconds:
            self._heard = now
            self._renew(f"nothing has come for {self._silent_seconds:g} seconds")

    def _renew(self, why: str) -> None:
        """Let go of the reader; another one is made when it is asked next."""
        logger.warning("a reader of Kafka is made anew: %s", why)
        self.close()
