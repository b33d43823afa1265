"""What is asked of a Kafka client, whichever it is: read records, and write them in transactions.

A client's own errors do not leave it. What may go away by itself is `Interrupted`; what nobody but a person can mend is
a `BrokerError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import msgspec

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import BrokerError

__all__ = [
    "MOST_BYTES",
    "TRANSACTION_SECONDS",
    "ClientFailed",
    "EpochLost",
    "Header",
    "Interrupted",
    "Message",
    "Reader",
    "Send",
    "Writer",
]

Header = tuple[str, bytes]
Send = tuple[str, int, bytes | None, bytes | None, list[Header]]  # topic, partition, key, value, headers

TRANSACTION_SECONDS = 60.0
MOST_BYTES = 1_000_000  # of a record with its headers: topics take 1,048,588 unless told otherwise


class Message(msgspec.Struct, frozen=True, gc=False):
    """One record of a topic, as it came.

    Parameters
    ----------
    partition
        Which topic, and which of its partitions.
    offset
        Where it stands there.
    time
        In seconds since 1970; None where the topic keeps none.
    key, value
        Its bytes. A value of None deletes what was written with the key.
    """

    partition: Partition
    offset: int
    time: float | None
    key: bytes | None
    value: bytes | None


class Interrupted(BrokerError):
    """The cluster did not do what was asked, or did not say so. It may do it later."""


class ClientFailed(Interrupted):
    """The client itself failed, or did not come back: nothing more is to be asked of it, and another may do better."""


class EpochLost(Interrupted):
    """Another writer has begun with this transactional id, or the cluster gave the transaction up after its time."""


class Reader(Protocol):
    """Reads partitions that it is given, under read_committed: without transactions that are open or were aborted."""

    def assign(self, positions: Mapping[Partition, Position]) -> None:
        """Read these partitions and no others, from these positions."""
        ...

    def poll(self, limit: int, seconds: float) -> list[Message]:
        """What has come, at most `limit`; those of one partition in their order. None after so many seconds.

        Raises
        ------
        SourceError
            If a partition no longer holds the position that is read next.
        BrokerError
            If this may not be read.
        """
        ...

    def reached(self, partition: Partition) -> Position:
        """Up to where a partition was read; past what it holds that is no record, such as the ends of transactions."""
        ...

    def pause(self, partitions: Iterable[Partition]) -> None:
        """Leave these out until they are resumed."""
        ...

    def resume(self, partitions: Iterable[Partition]) -> None:
        """Go on with these."""
        ...

    def close(self) -> None:
        """Let go of the connections."""
        ...


class Writer(Protocol):
    """Writes records, in transactions where it was made with a transactional id.

    All but `close` raise `Interrupted` and `BrokerError`; after one of them the writer is to be closed.
    """

    def fence(self) -> None:
        """End what an earlier writer of this transactional id has begun; it cannot write any more."""
        ...

    def begin(self) -> None:
        """Begin a transaction."""
        ...

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> Callable[[], int]:
        """Write a record; what is returned tells its offset, once it was committed or flushed."""
        ...

    def send_all(self, sends: Iterable[Send]) -> None:
        """Write records in their order."""
        ...

    def offsets(self, group: str, positions: Mapping[Partition, Position]) -> None:
        """Let the group's positions be these, as part of the transaction."""
        ...

    def commit(self) -> None:
        """Make the transaction count."""
        ...

    def abort(self) -> None:
        """Undo the transaction."""
        ...

    def flush(self) -> None:
        """Return once everything was written, outside of transactions."""
        ...

    def close(self) -> None:
        """Let go of the connections at once; a transaction that is open is left to the next `fence`."""
        ...
