"""A budget of memory for input: what has arrived and is not answered yet, over all connections of a process."""

from __future__ import annotations

from collections import Counter
from threading import Lock
from types import TracebackType
from typing import Self

from stream_bayes.errors import StreamBayesError

__all__ = ["MEMORY", "MemoryBudget", "MemoryFull", "Reservation"]

MEMORY = 64_000_000  # bytes of input in flight; parsing takes a small multiple of it


class MemoryFull(StreamBayesError):
    """Input that does not fit into the budget of memory at the moment."""


class MemoryBudget:
    """Bytes of input in flight. Thread-safe.

    Parameters
    ----------
    most
        Bytes in all. One address may take half of them while others take none.

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
        self._lock = Lock()

    def open(self, address: str = "") -> Reservation:
        """Return a reservation of nothing, for a client's address; "" for a Unix socket, which may take all."""
        return Reservation(self, address)

    def change(self, address: str, size: int) -> None:
        """Take `size` bytes more, or give them back if it is negative.

        Raises
        ------
        MemoryFull
            If they do not fit.
        """
        with self._lock:
            if size > 0:
                left = self.most - self.taken
                if address:
                    left = min(left, self.most // 2 - self._by_address[address])
                if size > left:
                    raise MemoryFull(
                        f"too much input is in flight: {self.taken:,} of {self.most:,} bytes are taken, "
                        f"{self._by_address[address]:,} of them by this address; try again"
                    )
            self.taken += size
            self._by_address[address] += size
            if not self._by_address[address]:
                del self._by_address[address]


class Reservation:
    """The part of a budget that one request takes, in a `with` block."""

    def __init__(self, budget: MemoryBudget, address: str) -> None:
        self.size = 0
        self._budget = budget
        self._address = address

    def grow(self, size: int) -> None:
        """Take more bytes; raise `MemoryFull` if they do not fit."""
        self._budget.change(self._address, size)
        self.size += size

    def close(self) -> None:
        """Give all bytes back."""
        size, self.size = self.size, 0
        self._budget.change(self._address, -size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
