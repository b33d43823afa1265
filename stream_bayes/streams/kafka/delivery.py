"""How results reach their topics: all of a batch, or none.

Several sinks share one delivery. What they write is kept until the last of them commits, and is then sent at once; so a
batch that a broker did not take can be sent again, however far it got.

    Transactions   results, dead letters, the journal's entry and the group's positions in one transaction
    AtLeastOnce    results and dead letters, then the group's positions; for clusters without transactions
"""

from __future__ import annotations

import logging
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from stream_bayes.core.event import Partition, Position, Slice
from stream_bayes.errors import BrokerAway, Fenced, SinkError
from stream_bayes.streams.kafka.clients import make_writer
from stream_bayes.streams.kafka.cluster import Cluster
from stream_bayes.streams.kafka.connection import Connection
from stream_bayes.streams.kafka.entries import FORMAT, Entry, entries_from
from stream_bayes.streams.kafka.hanging import end_what_hangs, hangs
from stream_bayes.streams.kafka.python_client import PythonWriter
from stream_bayes.streams.kafka.transport import (
    MOST_BYTES,
    TRANSACTION_SECONDS,
    EpochLost,
    Interrupted,
    Send,
    Writer,
)
from stream_bayes.streams.sink import positions_after

__all__ = ["AtLeastOnce", "Delivery", "Transactions"]

logger = logging.getLogger(__name__)

PAUSE = 0.5  # before a batch is sent again
SOON = 0.05  # all partitions know what was committed
GRACE = 3.0  # for another worker to say that it took over
MOST_FAILURES = 20  # of one batch, while the cluster answers,
MOST_SECONDS = 600.0  # and for so long: until then it may be loading, or have too few brokers


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


class Transactions(Delivery):
    """Every batch in one transaction, with the journal's entry and the group's positions.

    The transactional id derives from the pipeline's name, so whoever opens this fences the worker before. A batch whose
    commit was not answered is looked for in the journal before it is sent again; and so is another worker, whose
    entries say that it has taken over.

    Parameters
    ----------
    connection, name, most_bytes, sleep
        As of a `Delivery`.
    identity
        What is read: the source's `identity`.
    journal
        The journal's topic, made where it is not there.
    copies
        On how many brokers the journal is kept. All of them up to three, if not given.
    transaction_seconds
        After how long the cluster gives up a transaction whose worker died without a successor. Until then nobody reads
        what comes after it.
    clock
        The seconds that pass. Only when to give up depends on them.

    Attributes
    ----------
    length
        The journal's offset after the last entry that is known.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        identity: Callable[[], Mapping[str, Any]],  # as JSON values
        *,
        journal: str | None = None,
        copies: int | None = None,
        transaction_seconds: float = TRANSACTION_SECONDS,
        most_bytes: int = MOST_BYTES,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(connection, name, most_bytes=most_bytes, sleep=sleep)
        self.journal = Partition(f"{name}.journal" if journal is None else journal)
        self.copies = copies
        self.transaction_seconds = transaction_seconds
        self.length = 0
        self.worker = uuid.uuid4().hex
        self._identity = identity
        self._clock = clock
        self._was_committed = True  # of what nothing is known; few transactions are aborted
        self._read: Mapping[str, Any] = {}
        self._number = 0

    @property
    def transactional_id(self) -> str:
        """What fences the worker before."""
        return f"{self.name}.stream-bayes"

    def settle(self) -> None:
        """Wait until what the worker before has committed can be read, where it ended just now."""
        deadline = time.monotonic() + self.connection.seconds
        while self.cluster.is_deciding(self.transactional_id) and time.monotonic() < deadline:
            self._sleep(SOON)

    def _open(self) -> None:
        self.cluster.make_journal(self.journal.source, self.copies)
        try:
            self._fence()
            self.length = self.cluster.ends([self.journal])[self.journal]
            self._read = self._identity()
            self._persist((), Entry(FORMAT, self.worker, 0, (), **self._read), {})
        except Interrupted as error:
            raise BrokerAway(
                f"Kafka at {self.connection} did not let {self.name!r} begin: {error}"
            ) from error

    def _fence(self) -> None:
        decided = self.cluster.was_committed(self.transactional_id)
        if decided is not None:  # once all others are fenced the cluster does not say any more
            self._was_committed = decided
        self._make_writer()
        if hangs(self.cluster, self.journal, self._sleep):
            self._end_what_hangs()
            self._make_writer()

    def _make_writer(self) -> None:
        self._writer = make_writer(
            self.connection, self.transactional_id, self.transaction_seconds, self.most_bytes
        )
        self._writer.fence()

    def _end_what_hangs(self) -> None:
        outputs = [Partition(name, n) for name, count in self._partitions.items() for n in range(count)]
        self._drop_writer()
        told = (self.connection, self.transactional_id, self.transaction_seconds, self.most_bytes)
        end_what_hangs(
            partial(PythonWriter, *told), [self.journal, *outputs], self.group, self._was_committed
        )
        if hangs(self.cluster, self.journal, self._sleep):
            raise Interrupted(f"a transaction is left open in {self.journal.source}")

    def _deliver(self, sends: Sequence[Send], slices: Sequence[Slice]) -> None:
        self._number += 1
        told = tuple((*part.partition, part.start, part.stop) for part in slices)
        self._persist(sends, Entry(FORMAT, self.worker, self._number, told), positions_after(slices))

    def mark(self, positions: Mapping[Partition, Position]) -> None:
        self._number += 1
        told = tuple((*partition, position) for partition, position in positions.items())
        self._persist((), Entry(FORMAT, self.worker, self._number, (), told, **self._read), positions)

    def _persist(self, sends: Sequence[Send], entry: Entry, positions: Mapping[Partition, Position]) -> None:
        """One transaction, until it has taken place once."""
        failures, since = 0, self._clock()
        while True:
            try:
                self._transact(sends, entry, positions)
                self.waiting = False
                return
            except Interrupted as error:
                self._note(error)
                said, lost = (
                    str(error),
                    isinstance(error, EpochLost),
                )  # the error itself would hold the client
            self._drop_writer()
            while True:
                failures += 1
                self._sleep(PAUSE)
                try:
                    if self._recovered(entry, lost):
                        self.waiting = False
                        return
                    break
                except BrokerAway as error:
                    failures, since = 0, self._clock()
                    logger.warning("%s waits for a broker: %s", self.name, error)
                    self._leave_if_interrupted(error)
                except Interrupted as error:
                    said, lost = str(error), isinstance(error, EpochLost)
                self._drop_writer()
                self._give_up_after(failures, since, said)
            self._give_up_after(failures, since, said)

    def _give_up_after(self, failures: int, since: float, said: str) -> None:
        if failures > 1:
            self._leave_if_interrupted(said)
        passed = self._clock() - since
        if failures >= MOST_FAILURES and passed >= MOST_SECONDS:
            raise SinkError(
                f"{self.name}: a batch was not taken in {failures} attempts and {passed:.0f} seconds, though Kafka at "
                f"{self.connection} answers: {said}"
            )

    def _transact(self, sends: Sequence[Send], entry: Entry, positions: Mapping[Partition, Position]) -> None:
        writer = self._writer
        assert writer is not None
        writer.begin()
        writer.send_all(sends)
        stands_at = writer.send(*self.journal, None, msgspec.json.encode(entry))
        if positions:
            writer.offsets(self.group, positions)
        writer.commit()
        self.length = stands_at() + 1

    def _recovered(self, entry: Entry, lost: bool) -> bool:
        """Begin to write again; whether the entry turned out to have been committed.

        Raises
        ------
        Fenced
            If another worker has taken over.
        """
        if self._found(entry):
            self._fence()
            return True
        if lost:  # by another worker, which will say so; or because the transaction took too long
            self._sleep(GRACE)
            if self._found(entry):
                self._fence()
                return True
        self._fence()
        return self._found(entry)  # now that whatever was open has ended

    def _found(self, entry: Entry) -> bool:
        for written in entries_from(self.cluster, self.journal.source, self.length):
            if written is None:
                continue
            if written.worker != self.worker:
                raise Fenced(
                    f"another worker has taken over the pipeline {self.name!r}; this one stops, and must not be "
                    "started again while that one runs"
                )
            if written.number == entry.number:
                self.length = written.offset + 1
                return True
        return False
