"""Delivery of results to topics, a batch at a time.

The sinks of a pipeline share one delivery. It buffers their records until the last sink commits, and then sends them
all. So a batch that a broker did not accept can be sent again, however far it got.

    AtLeastOnce    results and dead letters, then the group's positions; for clusters without transactions
    Transactions   results, dead letters, the journal's entry and the group's positions in one; in `transactions.py`
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.errors import BrokerAway
from stream_bayes.kafka.clients.client import (
    MAX_MESSAGE_BYTES,
    TRANSACTION_SECONDS,
    Interrupted,
    Send,
    Writer,
)
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.factory import make_writer
from stream_bayes.kafka.cluster import Cluster
from stream_bayes.streams.contracts.slices import positions_after

__all__ = ["AtLeastOnce", "Delivery"]

logger = logging.getLogger(__name__)

RETRY_PAUSE = 0.5  # seconds before a batch is sent again
COMMIT_SECONDS = 1.0  # between commits of the group's positions, where no transaction has them


class Delivery(ABC):
    """Sends the records of a pipeline's sinks, a batch at a time. The consumer group and all other ids derive from
    `name`, the pipeline's.

    Attributes
    ----------
    resends
        The number of times that a batch was sent again.
    waiting
        True while no broker has accepted a batch that was sent.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        *,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.connection = connection
        self.name = name
        self.group = name
        self.max_message_bytes = max_message_bytes
        self.cluster = Cluster(connection)
        self.topics: list[str] = []  # of the sinks
        self.resends = 0
        self.waiting = False
        self._interrupted = False
        self._sleep = sleep
        self._partitions: dict[str, int] = {}
        self._sends: list[Send] = []
        self._open_sinks = 0
        self._writer: Writer | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r} at {self.connection})"

    @property
    def described(self) -> str:
        """The name in errors and in the log."""
        return self.name

    def check(self) -> None:
        """Check that all topics exist. Change nothing.

        Raises
        ------
        BrokerError
            If a topic is missing.
        """
        topics = self.cluster.require_topics(self.topics)
        self._partitions = {topic: topics[topic].partitions for topic in self.topics}

    def open(self) -> None:
        """Open the writer. Every sink may call this."""
        self._interrupted = False
        if self._writer is None:
            self.check()
            self._open()

    def partition(self, topic: str, number: int) -> int:
        """Return the output partition for an input partition: always the same one, which keeps the order."""
        return number % self._partitions[topic]

    def begin(self) -> None:
        """Begin a batch, for one sink."""
        self._open_sinks += 1

    def send(self, send: Send) -> None:
        """Add a record to the batch."""
        self._sends.append(send)

    def commit(self, slices: Sequence[Slice]) -> None:
        """End the batch, for one sink. The last sink sends it."""
        self._open_sinks -= 1
        if not self._open_sinks:
            sends, self._sends = self._sends, []
            self._deliver(sends, slices)

    def abort(self) -> None:
        """Drop the batch."""
        self._open_sinks = 0
        self._sends = []

    def interrupt(self) -> None:
        """Stop waiting for brokers that do not answer. May be called from a signal handler."""
        self._interrupted = True

    def close(self) -> None:
        """Close writer and cluster."""
        self._drop_writer()
        self.cluster.close()

    @abstractmethod
    def _open(self) -> None:
        """Make the writer, and fence earlier ones."""

    @abstractmethod
    def _deliver(self, sends: Sequence[Send], slices: Sequence[Slice]) -> None:
        """Send a batch until brokers accept it."""

    @abstractmethod
    def sync(self) -> None:
        """Commit positions that wait for their time, before a snapshot goes beyond them."""

    @abstractmethod
    def commit_due(self) -> None:
        """Commit positions that have waited long enough."""

    @abstractmethod
    def commit_offsets(self, positions: Mapping[Partition, Position]) -> None:
        """Commit the group's positions outside of a batch."""

    def _raise_if_interrupted(self, reason: object) -> None:
        if self._interrupted:
            raise BrokerAway(
                f"{self.described} was stopped while no broker accepted its results: their events are processed "
                f"again at the next start ({reason})"
            )

    def _drop_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _record_retry(self, error: Exception) -> None:
        self.resends += 1
        self.waiting = True
        logger.warning("a batch of %s is sent again: %s", self.described, error)


class AtLeastOnce(Delivery):
    """Sends results first and commits positions after them: a crash in between repeats results.

    A start resumes from the snapshot, so positions of the group are for other programs, which show the lag. A commit
    takes longer than a batch: there is one a second, one before each snapshot and one at the end. `stores_positions` is
    True if the source reads this cluster too, so that its positions are committed for the group.

    Attributes
    ----------
    floor
        Positions below which none are committed: a rebuild repeats results, and the present state may outlast it.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        *,
        stores_positions: bool = True,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(connection, name, max_message_bytes=max_message_bytes, sleep=sleep)
        self.stores_positions = stores_positions
        self.floor: Mapping[Partition, Position] = {}
        self._clock = clock
        self._uncommitted: dict[Partition, Position] = {}
        self._committed_at = clock() - COMMIT_SECONDS

    def _open(self) -> None:
        self._writer = make_writer(self.connection, None, TRANSACTION_SECONDS, self.max_message_bytes)

    def _deliver(self, sends: Sequence[Send], slices: Sequence[Slice]) -> None:
        while True:
            try:
                if self._writer is None:
                    self._open()
                assert self._writer is not None
                self._writer.send_all(sends)
                self._writer.flush()
                break
            except (Interrupted, BrokerAway) as error:
                self._record_retry(error)
                reason = str(error)  # not the error itself, which would keep the client alive
            self._drop_writer()
            self._raise_if_interrupted(reason)
            self._sleep(RETRY_PAUSE)
        self.waiting = False
        self._uncommitted |= positions_after(slices)
        self.commit_due()

    def commit_due(self) -> None:
        if self._clock() - self._committed_at >= COMMIT_SECONDS:
            self.sync()

    def sync(self) -> None:
        if not self._uncommitted:
            return
        self._committed_at = self._clock()
        try:
            self.commit_offsets(self._uncommitted)
            self._uncommitted = {}
        except (Interrupted, BrokerAway) as error:  # results are there, and a snapshot has the positions
            logger.warning("the positions of %s are not committed yet: %s", self.described, error)

    def commit_offsets(self, positions: Mapping[Partition, Position]) -> None:
        positions = {part: at for part, at in positions.items() if at >= self.floor.get(part, 0)}
        if self.stores_positions and positions:
            self.cluster.commit_offsets(self.group, positions)
