"""Publishing a shard's counts to `NAME.model`, within the transactions of its results."""

from __future__ import annotations

import time
from collections.abc import Callable

from stream_bayes.kafka.clients.client import Send
from stream_bayes.workers.product_totals import ModelTotal, ServedShard
from stream_bayes.workers.publication import Publisher
from stream_bayes.workers.publication_pace import Pace
from stream_bayes.workers.state_parts import parts_of
from stream_bayes.workers.topic_reader import record_key

__all__ = ["ModelPublisher"]


class ModelPublisher:
    """Publishes the counts of one shard when they are due. They are due after `every_seconds` or `every_events`,
    whichever is reached first. The shards share the lock of `total`. `publisher` finds the parts that changed; a record
    takes `part_bytes`. `clock` is monotonic.

    Attributes
    ----------
    published, bytes_published
        Number of publications, and of their bytes.
    owned
        Returns the number of shards that share the worker's time.
    """

    def __init__(
        self,
        topic: str,
        model: ServedShard,
        total: ModelTotal,
        publisher: Publisher,
        *,
        every_seconds: float,
        every_events: int | None,
        part_bytes: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.published = 0
        self.bytes_published = 0
        self.events: Callable[[], int] = lambda: 0  # number of records that the shard has processed
        self.owned: Callable[[], int] = lambda: 1
        self._topic = topic
        self._model = model
        self._total = total
        self._publisher = publisher
        self._every_events = every_events
        self._part_bytes = part_bytes
        self._pace = Pace(clock, every_seconds)
        self._at_events = -1  # of the last publication

    def collect(self, *, at_end: bool = False) -> list[Send]:
        """Return the records of a publication if one is due, or, at the end, if anything is new."""
        events = self.events()
        new = events - self._at_events
        by_events = self._every_events is not None and new >= self._every_events
        if not events or not new or not (by_events or at_end or self._pace.is_due()):
            return []
        self._pace.begin()
        with self._total.lock:  # another shard's sum may be taken of this one
            content = self._model.model.content()
        records = self._publisher.records(parts_of(content.state(), self._part_bytes), events, time.time())
        shard = self._model.shard
        self._at_events = events
        self._pace.end(self.owned())
        self.published += 1
        self.bytes_published += sum(len(value) for _, value in records if value is not None)
        return [(self._topic, shard, record_key(shard, name), value, []) for name, value in records]
