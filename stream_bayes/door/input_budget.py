"""A budget of memory for input: what has arrived and is not answered yet, over all connections of a process."""

from __future__ import annotations

from collections import Counter
from threading import Condition
from types import TracebackType
from typing import Self

from stream_bayes.errors import StreamBayesError

__all__ = ["MEMORY", "MemoryBudget", "MemoryFull", "Reservation"]

MEMORY = 64_000_000  # bytes of input in flight; parsing takes a small multiple of it


class MemoryFull(StreamBayesError):
    """Input that does not fit into the budget of memory at the moment."""


class MemoryBudget:
    """Bytes of input in flight. Thread-safe. One address may take half of them while others take none.

    Examples
    --------
    >>> budget = MemoryBudget(1000)
    >>> with budget.open("192.0.2.1") as reservation:
    ...     reservation.grow(400)
    ...     budget.taken
    400
    >>> budget.taken
    0
    """

    def __init__(self, most: int = MEMORY) -> None:
        self.most = most
        self.taken = 0
        self._by_address: Counter[str] = Counter()
        self._changed = Condition()
        self._waiting = 0  # threads

    def open(self, address: str = "", patience: float = 0.0) -> Reservation:
        """Return a reservation of nothing. `address` is the client's; "" for a Unix socket, which may take all. A
        thread waits `patience` seconds for others to give bytes back.
        """
        return Reservation(self, address, patience)

    def take(self, address: str, size: int, patience: float, beside: int = 0) -> None:
        """Take bytes beside those that the same request has; raise `MemoryFull` if they do not fit in time."""
        most = self.most // 2 if address else self.most
        with self._changed:
            if size > self._left(address):
                self._waiting += 1
                try:
                    is_there = size + beside <= most and self._changed.wait_for(
                        lambda: size <= self._left(address), patience
                    )
                finally:
                    self._waiting -= 1
                if not is_there:
                    raise MemoryFull(
                        f"too much input is in flight: {self.taken:,} of {self.most:,} bytes are taken, "
                        f"{self._by_address[address]:,} of them by this address; try again"
                    )
            self.taken += size
            self._by_address[address] += size

    def give_back(self, address: str, size: int) -> None:
        """Give bytes back."""
        with self._changed:
            self.taken -= size
            self._by_address[address] -= size
            if not self._by_address[address]:
                del self._by_address[address]
            if self._waiting:
                self._changed.notify_all()

    def _left(self, address: str) -> int:
        left = self.most - self.taken
        return min(left, self.most // 2 - self._by_address[address]) if address else left


class Reservation:
    """The part of a budget that one request takes, in a `with` block."""

    def __init__(self, budget: MemoryBudget, address: str, patience: float) -> None:
        self.size = 0
        self._patience = patience
        self._budget = budget
        self._address = address

    def grow(self, size: int) -> None:
        """Take more bytes; raise `MemoryFull` if they do not fit."""
        if not size:
            return
        self._budget.take(self._address, size, self._patience, self.size)
        self.size += size

    def close(self) -> None:
        """Give all bytes back."""
        size, self.size = self.size, 0
        if not size:
            return
        self._budget.give_back(self._address, size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
