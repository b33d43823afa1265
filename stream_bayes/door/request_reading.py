"""Reading requests from a socket: within a deadline for the whole request, and within a budget of memory."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from stream_bayes.door.input_budget import Reservation

__all__ = ["RequestReader"]

CHUNK = 1 << 16  # bytes received at once
REST_SECONDS, MOST_REST = 1.0, 1 << 26  # of what comes after the answer, and its bytes


class RequestReader:
    r"""The requests of one connection, read by one thread; an open connection as `Connections` counts it. `address` is
    that of the other end; "" for a Unix socket. The first request must arrive within `seconds`.

    Examples
    --------
    >>> one, other = socket.socketpair()
    >>> reader = RequestReader(one, "", 5.0)
    >>> other.sendall(b"PING\nrest")
    >>> reader.readline(100), reader.read(2), one.close(), other.close()
    (b'PING\n', b're', None, None)
    """

    def __init__(self, line: socket.socket, address: str, seconds: float) -> None:
        self.line = line
        self.address = address
        self.has_served = False
        self.waits_since: float | None = None
        self._buffer = bytearray()
        self.begin(seconds)

    def begin(self, seconds: float) -> None:
        """Give the next request, or its next part, a deadline."""
        self._since = time.monotonic()
        self._deadline = self._since + seconds

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Shorten the deadline inside a `with` block."""
        deadline = self._deadline
        self._deadline = min(deadline, time.monotonic() + seconds)
        try:
            yield
        finally:
            self._deadline = deadline

    def drop(self) -> None:
        """End the connection at once. Thread-safe: its own thread then reads the end."""
        with suppress(OSError):
            self.line.shutdown(socket.SHUT_RDWR)

    def has_begun(self) -> bool:
        """Wait for the next byte; return False at the end of the connection."""
        return bool(self._buffer) or self._receive()

    def readline(self, most: int) -> bytes:
        """Return a line with its end, or the first bytes of one that is longer than `most`, or of the last one."""
        while (end := self._buffer.find(b"\n", 0, most)) < 0:
            if len(self._buffer) >= most or not self._receive():
                return self._take(most)
        return self._take(end + 1)

    def read(self, size: int, reservation: Reservation | None = None) -> bytes:
        """Return so many bytes, or fewer at the end of the connection. Each part is reserved once it is here.

        Raises
        ------
        TimeoutError
            If they do not arrive until the deadline.
        MemoryFull
            If they do not fit into the budget.
        """
        parts = []
        while size:
            if not self._buffer and not self._receive():
                break
            part = self._take(size)
            if reservation is not None:
                reservation.grow(len(part))
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def write(self, data: bytes, seconds: float) -> None:
        """Send bytes; raise `TimeoutError` if the client does not read them in time."""
        self.line.settimeout(seconds)
        self.line.sendall(data)
        self.has_served = True

    def finish(self) -> None:
        """End the answer, and discard what the client still sends, for a while: one whose connection is closed while it
        sends loses the answer.
        """
        self.line.shutdown(socket.SHUT_WR)
        self.begin(REST_SECONDS)
        left = MOST_REST
        with suppress(TimeoutError):
            while left > 0 and self._receive():
                left -= len(self._buffer)
                self._buffer.clear()

    def _take(self, size: int) -> bytes:
        part = bytes(self._buffer[:size])
        del self._buffer[:size]
        return part

    def _receive(self) -> bool:
        left = self._deadline - time.monotonic()
        if left <= 0.0:
            raise TimeoutError("the request did not arrive in time")
        self.line.settimeout(left)
        self.waits_since = self._since
        try:
            part = self.line.recv(CHUNK)
        finally:
            self.waits_since = None
        self._buffer += part
        return bool(part)
