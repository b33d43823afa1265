"""Exactly-once delivery: every batch in one transaction, sent until it is committed once."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec

from stream_bayes.core.events.event import Partition, Position, Slice
from stream_bayes.errors import BrokerAway, Fenced, SinkError
from stream_bayes.kafka.clients.client import (
    MAX_MESSAGE_BYTES,
    TRANSACTION_SECONDS,
    EpochLost,
    Interrupted,
    Send,
    Writer,
)
from stream_bayes.kafka.clients.connection import Connection
from stream_bayes.kafka.clients.factory import make_writer
from stream_bayes.kafka.clients.kafka_python import PythonWriter
from stream_bayes.kafka.delivery import RETRY_PAUSE, Delivery
from stream_bayes.kafka.journal import FORMAT, JournalRecord, entries_from
from stream_bayes.kafka.read_trail import ReadTrail
from stream_bayes.kafka.transactions_in_doubt import end_in_doubt, is_in_doubt
from stream_bayes.streams.contracts.slices import positions_after

__all__ = ["ReadLog", "Transactions"]

logger = logging.getLogger(__name__)

VISIBLE_AFTER = 0.05  # seconds until a commit is readable in all partitions
TAKEOVER_GRACE = 3.0  # seconds in which a new owner writes its first entry
TAKEOVER_SECONDS = 60.0  # the same for one that the cluster reports: it may be on a busy machine
TAKEOVER_POLL = 0.25  # seconds
# A batch is given up after both, while the cluster answers: it may be loading, or have too few brokers.
MAX_FAILURES = 20
MAX_RETRY_SECONDS = 600.0


class ReadLog(Protocol):
    """The log that a pipeline reads."""

    trail: ReadTrail

    def identity(self) -> Mapping[str, Any]:
        """Return the ids of cluster and topics, as JSON values."""
        ...


class Transaction(NamedTuple):
    """The contents of one transaction: records, their journal entry, and the group's positions after them."""

    sends: Sequence[Send]
    entry: JournalRecord
    positions: Mapping[Partition, Position]


class Transactions(Delivery):
    """Delivers every batch in one transaction, with its journal entry and the group's positions.

    The transactional id derives from the pipeline's name, so opening this fences the previous worker. Before a batch
    whose commit was not answered is sent again, the journal is searched for its entry, and for entries of another
    worker, which show that it has taken over.

    The identity and the trail of `log`, which is read, are written into the journal. Its topic, `NAME.journal` if not
    given, is created if it does not exist, with as many replicas as there are brokers, up to three, if no number is
    given. After `transaction_seconds` the cluster aborts the transaction of a worker that died without a successor;
    until then no consumer can read past it. Only the time limit on retries depends on `clock`.

    Attributes
    ----------
    length
        The journal's offset after the last known entry.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        log: ReadLog,
        *,
        journal: str | None = None,
        replication_factor: int | None = None,
        transaction_seconds: float = TRANSACTION_SECONDS,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(connection, name, max_message_bytes=max_message_bytes, sleep=sleep)
        self.journal = Partition(f"{name}.journal" if journal is None else journal)
        self.replication_factor = replication_factor
        self.transaction_seconds = transaction_seconds
        self.length = 0
        self.worker = uuid.uuid4().hex
        self._log = log
        self._clock = clock
        # The last known decision of the cluster. Without one, the likelier: few transactions are aborted.
        self._was_committed = True
        self._identity: Mapping[str, Any] = {}
        self._entry_number = 0
        self._previous: Transaction | None = None  # its commit was answered

    @property
    def transactional_id(self) -> str:
        """The id by which a new worker fences the previous one."""
        return f"{self.name}.stream-bayes"

    def await_decision(self) -> None:
        """Wait until the last commit of a worker that has just ended is readable."""
        deadline = time.monotonic() + self.connection.seconds
        while self.cluster.is_deciding(self.transactional_id) and time.monotonic() < deadline:
            self._sleep(VISIBLE_AFTER)

    def commit_offsets(self, positions: Mapping[Partition, Position], sends: Sequence[Send] = ()) -> None:
        self._entry_number += 1
        rows = tuple((*partition, position) for partition, position in positions.items())
        marks = self._log.trail.rows_at(positions.items())
        entry = JournalRecord(
            FORMAT, self.worker, self._entry_number, (), rows, marks=marks, **self._log_state()
        )
        self._commit_once(Transaction(sends, entry, positions))

    def sync(self) -> None:
        pass  # each transaction commits its positions

    def commit_due(self) -> None:
        pass  # likewise

    def _log_state(self) -> dict[str, Any]:
        """Return the fields of an entry that say which log is read, and from where on."""
        origins = tuple((*part, at) for part, at in sorted(self._log.trail.origins.items()))
        return {**self._identity, "origins": origins}

    # -- opening ------------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        self.cluster.create_journal(self.journal.source, self.replication_factor)
        self._identity = self._log.identity()
        try:
            self._fence()
            self.length = self.cluster.end_offsets([self.journal])[self.journal]
            self._commit_once(
                Transaction((), JournalRecord(FORMAT, self.worker, 0, (), **self._log_state()), {})
            )
        except Interrupted as error:
            raise BrokerAway(
                f"Kafka at {self.connection} did not let {self.described} begin: {error}"
            ) from error

    def _fence(self) -> None:
        decided = self.cluster.was_committed(self.transactional_id)
        if decided is not None:  # after fencing, the cluster no longer reports it
            self._was_committed = decided
        self._make_writer()
        if is_in_doubt(self.cluster, self.journal, self._sleep):
            self._end_in_doubt()
            self._make_writer()

    def _make_writer(self) -> None:
        self._writer = self._writer_of(self.transactional_id)
        self._writer.fence()

    def _writer_of(self, transactional_id: str) -> Writer:
        return make_writer(
            self.connection, transactional_id, self.transaction_seconds, self.max_message_bytes
        )

    def _end_in_doubt(self) -> None:
        outputs = [Partition(name, n) for name, count in self._partitions.items() for n in range(count)]
        self._drop_writer()
        arguments = (
            self.connection,
            self.transactional_id,
            self.transaction_seconds,
            self.max_message_bytes,
        )
        make = partial(PythonWriter, *arguments)
        end_in_doubt(make, [self.journal, *outputs], self.group, self._was_committed)
        if is_in_doubt(self.cluster, self.journal, self._sleep):
            raise Interrupted(f"a transaction is left open in {self.journal.source}")

    # -- delivering ---------------------------------------------------------------------------------------------------

    def _deliver(self, sends: Sequence[Send], slices: Sequence[Slice], tape: bytes = b"") -> None:
        self._entry_number += 1
        rows = tuple((*part.partition, part.start, part.stop) for part in slices)
        positions = positions_after(slices)
        marks = self._log.trail.rows_at((part.partition, part.stop) for part in slices)
        counts = tuple(part.records for part in slices if part.records is not None)
        entry = JournalRecord(
            FORMAT, self.worker, self._entry_number, rows, marks=marks, tape=tape, records=counts
        )
        self._commit_once(Transaction(sends, entry, positions))

    def _commit_once(self, batch: Transaction) -> None:
        """Commit a batch exactly once."""
        self._retry_until_committed(batch)
        self.waiting = False
        self._previous = batch

    def _retry_until_committed(self, batch: Transaction) -> None:
        failures, since = 0, self._clock()
        while True:
            try:
                self._transact(batch)
                return
            except Interrupted as error:
                self._record_retry(error)
                # Not the error itself, which would keep the client alive.
                reason, lost = str(error), isinstance(error, EpochLost)
            self._drop_writer()
            while True:
                failures += 1
                self._sleep(RETRY_PAUSE)
                try:
                    if self._recover(batch, lost):
                        return
                    break
                except BrokerAway as error:
                    failures, since = 0, self._clock()
                    logger.warning("%s waits for a broker: %s", self.described, error)
                    self._raise_if_interrupted(error)
                except Interrupted as error:
                    reason, lost = str(error), isinstance(error, EpochLost)
                self._drop_writer()
                self._give_up_after(failures, since, reason)
            self._give_up_after(failures, since, reason)

    def _give_up_after(self, failures: int, since: float, reason: str) -> None:
        if failures > 1:
            self._raise_if_interrupted(reason)
        passed = self._clock() - since
        if failures >= MAX_FAILURES and passed >= MAX_RETRY_SECONDS:
            raise SinkError(
                f"{self.described}: a batch was not taken in {failures} attempts and {passed:.0f} seconds, though "
                f"Kafka at {self.connection} answers: {reason}"
            )

    def _transact(self, batch: Transaction) -> None:
        writer = self._writer
        assert writer is not None
        writer.begin()
        writer.send_all(batch.sends)
        entry_offset = writer.send(*self.journal, None, msgspec.json.encode(batch.entry))
        if batch.positions:
            writer.send_offsets(self.group, batch.positions)
        writer.commit()
        self.length = entry_offset() + 1

    def _recover(self, batch: Transaction, lost: bool) -> bool:
        """Make a new writer after a failure. Return True if the batch turns out to be committed.

        Raises
        ------
        Fenced
            If another worker has taken over.
        """
        self._end_of(batch.entry, self.length)  # raises if another worker has taken over
        if lost:
            self._await_new_owner(batch.entry)
        self._fence()  # an open transaction has ended now
        # Again, whatever was read before: another worker may have taken over between that and the fencing.
        end = self._end_of(batch.entry, self.length)
        if end is not None:
            self.length = end
            return True
        self._resend_previous()
        return False

    def _await_new_owner(self, entry: JournalRecord) -> None:
        """Wait for the first entry of another worker, which may be starting.

        The epoch was lost to another worker, or because the transaction took too long. Fencing at once would take the
        pipeline back from a worker that is still starting, even if this worker's last batch is committed.

        Raises
        ------
        Fenced
            If another worker has taken over.
        """
        for waited in range(1, round(TAKEOVER_SECONDS / TAKEOVER_POLL) + 1):
            self._sleep(TAKEOVER_POLL)
            self._end_of(entry, self.length)
            if waited * TAKEOVER_POLL >= TAKEOVER_GRACE:
                if not self.cluster.has_new_owner(self.transactional_id):
                    break
                self._raise_if_interrupted("another worker is taking over")

    def _resend_previous(self) -> None:
        """Resend the previous batch if its commit was lost: without its commit markers, fencing aborted it."""
        if self._previous is None or self._end_of(self._previous.entry, self.length - 1) is not None:
            return
        (begin,) = self.cluster.beginning_offsets([self.journal]).values()
        (end,) = self.cluster.high_watermarks([self.journal]).values()
        if begin < self.length <= end:  # else it is another journal, which proves nothing
            self._transact(self._previous)

    def _end_of(self, entry: JournalRecord, start: Position) -> Position | None:
        """Search the journal from an offset on for an entry of this worker. Return the offset after it, or None.

        Read to the end even if the entry is there: another worker may have taken over after it. Nothing is noted: if
        the fencing after this fails, the next attempt has to find the same.

        Raises
        ------
        Fenced
            If there is an entry of another worker.
        """
        end = None
        for written in entries_from(self.cluster, self.journal, start):
            if written is None:
                continue
            if written.worker != self.worker:
                raise Fenced(
                    f"another worker has taken over the pipeline {self.described}; this one stops, and must not be "
                    "started again while that one runs"
                )
            if written.number == entry.number:
                end = written.offset + 1
        return end
