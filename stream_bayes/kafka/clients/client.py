"""The protocols of a Kafka client: read records, and write them in transactions.

A client library's own errors do not leave its adapter. An error that may pass is `Interrupted`; one that a person must
mend is a `BrokerError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import msgspec

from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import BrokerError, SourceError

__all__ = [
    "MAX_MESSAGE_BYTES",
    "TRANSACTION_SECONDS",
    "ClientFailed",
    "EpochLost",
    "Header",
    "Interrupted",
    "Message",
    "Reader",
    "Send",
    "Writer",
    "position_lost",
]

Header = tuple[str, bytes]
Send = tuple[str, int, bytes | None, bytes | None, list[Header]]  # topic, partition, key, value, headers

TRANSACTION_SECONDS = 60.0
MAX_MESSAGE_BYTES = 1_000_000  # of a record with its headers; by default topics accept 1,048,588


class Message(msgspec.Struct, frozen=True, gc=False):
    """One record of a topic, as it was read."""

    partition: Partition
    offset: int
    time: float | None  # timestamp in seconds since 1970; None if the topic keeps none
    key: bytes | None
    value: bytes | None  # None is a tombstone for the key
    epoch: int = -1  # of the leader of the partition that wrote it; -1 if it is unknown


class Interrupted(BrokerError):
    """A request failed or was not answered. It may succeed later."""


class ClientFailed(Interrupted):
    """The client itself failed, or a call to it did not return: drop it, and make another."""


class EpochLost(Interrupted):
    """Another writer has fenced this transactional id, or the transaction timed out."""


class Reader(Protocol):
    """Reads assigned partitions under read_committed: without transactions that are open or aborted."""

    def assign(self, positions: Mapping[Partition, Position]) -> None:
        """Read these partitions and no others, from these positions."""
        ...

    def poll(self, limit: int, seconds: float) -> list[Message]:
        """Return up to `limit` messages, those of one partition in order; an empty list after the timeout.

        Raises
        ------
        SourceError
            If a partition no longer holds the position to read next.
        BrokerError
            If the user may not read it.
        """
        ...

    def position(self, partition: Partition) -> Position:
        """Return the position to read next. It moves past offsets without a record, such as transaction markers."""
        ...

    def pause(self, partitions: Iterable[Partition]) -> None:
        """Fetch nothing from these partitions until they are resumed."""
        ...

    def resume(self, partitions: Iterable[Partition]) -> None:
        """Fetch from these partitions again."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class Writer(Protocol):
    """Writes records; in transactions, if it was made with a transactional id.

    All methods but `close` raise `Interrupted` and `BrokerError`. Close the writer after either.
    """

    def fence(self) -> None:
        """Fence earlier writers of this transactional id: end their transaction, and let them write no more."""
        ...

    def begin(self) -> None:
        """Begin a transaction."""
        ...

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> Callable[[], int]:
        """Write a record. Return a function that returns its offset, once it is committed or flushed."""
        ...

    def send_all(self, sends: Iterable[Send]) -> None:
        """Write records in order."""
        ...

    def send_offsets(self, group: str, positions: Mapping[Partition, Position]) -> None:
        """Add the group's positions to the transaction."""
        ...

    def commit(self) -> None:
        """Commit the transaction."""
        ...

    def abort(self) -> None:
        """Abort the transaction."""
        ...

    def flush(self) -> None:
        """Wait until everything sent outside of a transaction is written."""
        ...

    def close(self) -> None:
        """Close the connections at once. An open transaction is left to the next `fence`."""
        ...


def position_lost() -> SourceError:
    """Return the error for a position outside of the log, or of a log that holds other records than were read."""
    return SourceError(
        "a partition no longer holds the position to read next: its records expired before they were read, its log "
        "lost its end, or its topic was recreated. Start again: the check at the start names the cause"
    )
