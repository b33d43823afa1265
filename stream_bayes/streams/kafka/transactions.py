"""Ending what a transaction left open in its partitions, though the cluster takes it for ended.

A broker that was killed as it decided a transaction may take it, once it is back, for one whose partitions know it.
Nobody can read past its records then, and whatever ends the next transaction of the same id ends this one too: results
that were sent again because nobody could read them would then count twice, and with one that fails, those that were
committed would be lost. So it is ended as it was decided, before anything is sent.

One transaction a batch, sent until it has taken place once.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.errors import BrokerAway, Fenced, SinkError
from stream_bayes.streams.contracts.slices import positions_after
from stream_bayes.streams.kafka.client import MOST_BYTES, TRANSACTION_SECONDS, EpochLost, Interrupted, Send
from stream_bayes.streams.kafka.client_factory import make_writer
from stream_bayes.streams.kafka.cluster import Cluster
from stream_bayes.streams.kafka.connection import Connection
from stream_bayes.streams.kafka.delivery import PAUSE, Delivery
from stream_bayes.streams.kafka.journal_topic import FORMAT, Entry, entries_from
from stream_bayes.streams.kafka.python_client import PythonWriter

__all__ = ["Transactions", "end_in_doubt", "hangs"]

logger = logging.getLogger(__name__)

CHECKS = 40
CHECK_PAUSE = 0.05  # seconds between two checks


def hangs(cluster: Cluster, journal: Partition, sleep: Callable[[float], None]) -> bool:
    """Whether there are records in a journal that nobody can read, and that stay so.

    Nobody else writes to a journal: once all others were fenced, whatever is open has been left by them.
    """
    for look in range(CHECKS):
        if look:
            sleep(CHECK_PAUSE)
        if cluster.ends([journal]) == cluster.lengths([journal]):
            return False
    return True


def end_in_doubt(
    make_writer: Callable[[], PythonWriter], partitions: Sequence[Partition], group: str, committed: bool
) -> None:
    """End it in all partitions that it may have written to, with nothing written to them.

    Parameters
    ----------
    make_writer
        Makes a writer of the transactions' id: of the client that can end one in which nothing was written.
    partitions, group
        Where.
    committed
        What was decided.

    Raises
    ------
    Interrupted
        If that did not take place.
    """
    decided = "committed" if committed else "aborted"
    logger.warning("a transaction of %s was left open by the cluster; it is ended, as %s", group, decided)
    writer = make_writer()
    try:
        writer.fence()
        writer.begin()
        writer.join(partitions, group)
        if committed:
            writer.commit()
        else:
            writer.abort()
    finally:
        writer.close()


SOON = 0.05  # all partitions know what was committed
GRACE = 3.0  # for another worker to say that it took over
MOST_FAILURES = 20  # of one batch, while the cluster answers,
MOST_SECONDS = 600.0  # and for so long: until then it may be loading, or have too few brokers


class Batch(NamedTuple):
    """What one transaction holds: records, what the journal says of them, and the group's positions after them."""

    sends: Sequence[Send]
    entry: Entry
    positions: Mapping[Partition, Position]


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
        self._last: Batch | None = None  # of which the cluster said that it was committed

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
            self._persist(Batch((), Entry(FORMAT, self.worker, 0, (), **self._read), {}))
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
        end_in_doubt(partial(PythonWriter, *told), [self.journal, *outputs], self.group, self._was_committed)
        if hangs(self.cluster, self.journal, self._sleep):
            raise Interrupted(f"a transaction is left open in {self.journal.source}")

    def _deliver(self, sends: Sequence[Send], slices: Sequence[Slice]) -> None:
        self._number += 1
        told = tuple((*part.partition, part.start, part.stop) for part in slices)
        entry = Entry(FORMAT, self.worker, self._number, told)
        self._persist(Batch(sends, entry, positions_after(slices)))

    def mark(self, positions: Mapping[Partition, Position]) -> None:
        self._number += 1
        told = tuple((*partition, position) for partition, position in positions.items())
        entry = Entry(FORMAT, self.worker, self._number, (), told, **self._read)
        self._persist(Batch((), entry, positions))

    def _persist(self, batch: Batch) -> None:
        """One transaction, until it has taken place once."""
        self._try(batch)
        self.waiting = False
        self._last = batch

    def _try(self, batch: Batch) -> None:
        failures, since = 0, self._clock()
        while True:
            try:
                self._transact(batch)
                return
            except Interrupted as error:
                self._note(error)
                # The error itself would hold the client.
                said, lost = str(error), isinstance(error, EpochLost)
            self._drop_writer()
            while True:
                failures += 1
                self._sleep(PAUSE)
                try:
                    if self._recovered(batch, lost):
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

    def _transact(self, batch: Batch) -> None:
        writer = self._writer
        assert writer is not None
        writer.begin()
        writer.send_all(batch.sends)
        stands_at = writer.send(*self.journal, None, msgspec.json.encode(batch.entry))
        if batch.positions:
            writer.offsets(self.group, batch.positions)
        writer.commit()
        self.length = stands_at() + 1

    def _recovered(self, batch: Batch, lost: bool) -> bool:
        """Begin to write again; whether the batch turned out to have been committed.

        Raises
        ------
        Fenced
            If another worker has taken over.
        """
        is_there = self._found(batch.entry, self.length)
        if (
            lost and not is_there
        ):  # by another worker, which will say so; or because the transaction took too long
            self._sleep(GRACE)
            is_there = self._found(batch.entry, self.length)
        self._fence()  # what was open has ended now
        if is_there or self._found(batch.entry, self.length):
            return True
        self._send_last_again()
        return False

    def _send_last_again(self) -> None:
        """The batch before, if it is gone: where its end did not get about, it ended with what was begun after it."""
        if self._last is None or self._found(self._last.entry, self.length - 1):
            return
        (begin,) = self.cluster.beginnings([self.journal]).values()
        (end,) = self.cluster.lengths([self.journal]).values()
        if begin < self.length <= end:  # else it is another journal, which tells nothing
            self._transact(self._last)

    def _found(self, entry: Entry, start: Position) -> bool:
        """Whether the journal holds an entry, from a position on."""
        for written in entries_from(self.cluster, self.journal.source, start):
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
