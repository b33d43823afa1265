"""How results reach their topics: all of a batch, or none.

Several sinks share one delivery. What they write is kept until the last of them commits, and is then sent at once; so a
batch that a broker did not take can be sent again, however far it got.

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
from stream_bayes.streams.contracts.slices import positions_after
from stream_bayes.streams.kafka.client import (
    MOST_BYTES,
    TRANSACTION_SECONDS,
    Interrupted,
    Send,
    Writer,
)
from stream_bayes.streams.kafka.client_factory import make_writer
from stream_bayes.streams.kafka.cluster import Cluster
from stream_bayes.streams.kafka.connection import Connection

__all__ = ["AtLeastOnce", "Delivery"]

logger = logging.getLogger(__name__)

PAUSE = 0.5  # before a batch is sent again


class Delivery(ABC):
    """What sinks of one pipeline share.

    Parameters
    ----------
    connection
        How the cluster is reached.
    name
        The pipeline's: the consumer group and all other identities derive from it.
    most_bytes
        How large a record may be.
    sleep
        Waiting.

    Attributes
    ----------
    aborts
        How often a batch had to be sent again.
    waiting
        Whether a batch is there that no broker has taken yet, though it was tried.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        *,
        most_bytes: int = MOST_BYTES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.connection = connection
        self.name = name
        self.group = name
        self.most_bytes = most_bytes
        self.cluster = Cluster(connection)
        self.topics: list[str] = []  # what sinks write to
        self.aborts = 0
        self.waiting = False
        self._interrupted = False
        self._sleep = sleep
        self._partitions: dict[str, int] = {}
        self._sends: list[Send] = []
        self._begun = 0
        self._writer: Writer | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r} at {self.connection})"

    def check(self) -> None:
        """Look whether everything is there to write to; nothing is changed.

        Raises
        ------
        BrokerError
            If a topic is missing.
        """
        found = self.cluster.existing(self.topics)
        self._partitions = {topic: found[topic].partitions for topic in self.topics}

    def open(self) -> None:
        """Make ready to write; sinks may each call this."""
        self._interrupted = False
        if self._writer is None:
            self.check()
            self._open()

    def partition(self, topic: str, number: int) -> int:
        """Where what comes from a partition goes: all of it to one, so that it stays in order."""
        return number % self._partitions[topic]

    def begin(self) -> None:
        """A sink begins a batch."""
        self._begun += 1

    def send(self, send: Send) -> None:
        """A sink adds a record to the batch."""
        self._sends.append(send)

    def commit(self, slices: Sequence[Slice]) -> None:
        """A sink is done with the batch; with the last of them it is sent."""
        self._begun -= 1
        if not self._begun:
            sends, self._sends = self._sends, []
            self._deliver(sends, slices)

    def abort(self) -> None:
        """Drop the batch."""
        self._begun = 0
        self._sends = []

    def interrupt(self) -> None:
        """From now on wait for no broker that does not answer. May be called from a signal."""
        self._interrupted = True

    def close(self) -> None:
        """Let go of everything."""
        self._drop_writer()
        self.cluster.close()

    @abstractmethod
    def _open(self) -> None:
        """Make the writer."""

    @abstractmethod
    def _deliver(self, sends: Sequence[Send], slices: Sequence[Slice]) -> None:
        """Send a batch, until it was taken."""

    @abstractmethod
    def mark(self, positions: Mapping[Partition, Position]) -> None:
        """Store the group's positions anew, before they expire."""

    def _leave_if_interrupted(self, said: object) -> None:
        if self._interrupted:
            raise BrokerAway(
                f"{self.name} was told to end while no broker took its results: what they were made from is taken "
                f"again at the next start ({said})"
            )

    def _drop_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _note(self, error: Exception) -> None:
        self.aborts += 1
        self.waiting = True
        logger.warning("a batch of %s is sent again: %s", self.name, error)


class AtLeastOnce(Delivery):
    """Results first, positions after them: a crash in between repeats results.

    Parameters
    ----------
    connection, name, most_bytes, sleep
        As of a `Delivery`.
    stores_positions
        Whether what is read comes from this cluster too, so that its positions are stored for the group.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        *,
        stores_positions: bool = True,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        super().__init__(connection, name, most_bytes=most_bytes)
        self.stores_positions = stores_positions

    def _open(self) -> None:
        self._writer = make_writer(self.connection, None, TRANSACTION_SECONDS, self.most_bytes)

    def _deliver(self, sends: Sequence[Send], slices: Sequence[Slice]) -> None:
        while True:
            try:
                if self._writer is None:
                    self._open()
                assert self._writer is not None
                self._writer.send_all(sends)
                self._writer.flush()
                self.mark(positions_after(slices))
                self.waiting = False
                return
            except (Interrupted, BrokerAway) as error:
                self._note(error)
                said = str(error)  # the error itself would hold the client
            self._drop_writer()
            self._leave_if_interrupted(said)
            self._sleep(PAUSE)

    def mark(self, positions: Mapping[Partition, Position]) -> None:
        if self.stores_positions and positions:
            self.cluster.commit(self.group, positions)
