"""The other shards, as they are published: a thread reads the model's topic and updates the sum."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from stream_bayes.errors import BrokerAway, StreamBayesError
from stream_bayes.kafka.clients.client import Interrupted
from stream_bayes.workers.product_totals import ModelTotal
from stream_bayes.workers.publication_pace import Pace
from stream_bayes.workers.topic_reader import TopicReader

__all__ = ["Replicas"]

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.1


class Replicas:
    """Keeps the sum up to date with the shards that others own. The reader, of the model's topic, is closed with this.

    Attributes
    ----------
    failure
        The error that ended the thread.
    applied
        Number of publications that were added.
    """

    def __init__(self, reader: TopicReader, total: ModelTotal) -> None:
        self.failure: Exception | None = None
        self.applied = 0
        self._reader = reader
        self._total = total
        self._pace = Pace(time.monotonic)
        self._running_here: set[int] = set()
        self._changed: set[int] = set()
        self._discarded: set[int] = set()
        self._is_stopping = threading.Event()
        self._is_current = threading.Event()
        self._thread = threading.Thread(target=self._run, name="replicas", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def wait_until_current(self, seconds: float) -> bool:
        """Wait until everything is read and added that was there at the start. Return False if it takes longer."""
        return self._is_current.wait(seconds)

    def take_all(self) -> None:
        """Add everything that the reader has read already."""
        self._changed |= {
            shard for shard, assembly in self._reader.assemblies.items() if assembly.end is not None
        }
        self.update()
        self._is_current.set()

    def own(self, shard: int) -> None:
        """Leave a shard to this worker, which now learns it."""
        with self._total.lock:
            self._running_here.add(shard)

    def release(self, shard: int) -> None:
        """Follow a shard that this worker no longer learns; what it learned and did not commit is discarded."""
        with self._total.lock:
            self._running_here.discard(shard)
            self._discarded.add(shard)

    @property
    def oldest_age(self) -> float:
        """The age of the oldest other shard's counts, in seconds: since they were published. 0 without other shards."""
        ends = [self._reader.assemblies[shard].end for shard in self._others()]
        return max((time.time() - end.written for end in ends if end is not None), default=0.0)

    @property
    def memory_bytes(self) -> int:
        """The bytes of the parts of all shards, as they were read."""
        return sum(sum(map(len, assembly.parts.values())) for assembly in self._reader.assemblies.values())

    def _others(self) -> list[int]:
        return [shard for shard in self._reader.assemblies if shard not in self._running_here]

    def stop(self) -> None:
        """End the thread."""
        self._is_stopping.set()
        if self._thread.is_alive():
            self._thread.join(10 * POLL_SECONDS + 5.0)
        self._reader.close()

    def _run(self) -> None:
        try:
            while not self._is_stopping.is_set():
                try:
                    self._changed |= self._reader.poll(POLL_SECONDS)
                except (BrokerAway, Interrupted) as error:
                    logger.warning("%s cannot be read: %s", self._reader.topic, error)
                    self._is_stopping.wait(POLL_SECONDS)
                    continue
                is_at_end = self._is_current.is_set() or self._reader.is_at_end()
                if is_at_end and self._pace.is_due():
                    self.update()
                    self._is_current.set()
        except StreamBayesError as error:
            self.failure = error
            logger.error("the other shards cannot be followed: %s", error)

    def update(self) -> None:
        """Take the sum over the newest publications."""
        self._pace.begin()
        changed, self._changed = self._changed, set()
        with self._total.lock:
            discarded, self._discarded = self._discarded, set()
        learners: dict[int, Any] = {}
        for shard in (changed | discarded) - self._running_here:
            assembly = self._reader.assemblies[shard]
            if assembly.end is not None:
                learners[shard] = self._total.loaded(shard, assembly.parts)
            elif shard in discarded:
                learners[shard] = self._total.clone()
        with self._total.lock:
            others = {
                shard: learner for shard, learner in learners.items() if shard not in self._running_here
            }
            if others:
                self._total.replace(others)
                self.applied += len(others)
        self._pace.end()
