"""Messages between the engine's process and the service's, over a pair of sockets: a size, then MessagePack."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from threading import Lock
from typing import Any, TypeAlias

import msgspec

__all__ = ["WANTED_SECONDS", "Channel", "ChannelMessage"]

ChannelMessage: TypeAlias = dict[str, Any]  # with its kind under "what"

WANTED_SECONDS = 5.0  # for which views are handed over after a request for one
SIZE = struct.Struct("<Q")
PIECE = 1 << 20  # bytes received at once


class Channel:
    """One end of the pair. Sending waits while the other end does not read, so nothing piles up.

    Examples
    --------
    >>> one, other = (Channel(line) for line in socket.socketpair())
    >>> one.send({"what": "status", "processed": 7})
    >>> other.receive()
    {'what': 'status', 'processed': 7}
    >>> one.close()
    >>> other.receive()
    >>> other.close()
    """

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._turn = Lock()

    def send(self, message: ChannelMessage) -> None:
        """Send a message. Thread-safe; raises `OSError` if the other end is gone."""
        body = msgspec.msgpack.encode(message)
        with self._turn:
            self._line.sendall(SIZE.pack(len(body)))
            self._line.sendall(body)

    def receive(self) -> ChannelMessage | None:
        """Return the next message; None once the other end is closed."""
        head = self._read(SIZE.size)
        body = None if head is None else self._read(SIZE.unpack(head)[0])
        return None if body is None else msgspec.msgpack.decode(body, type=dict[str, Any])

    def close(self) -> None:
        """Close this end. The other end's `receive` then returns None."""
        with suppress(OSError):  # the other end was closed before
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()

    def _read(self, size: int) -> bytes | None:
        parts: list[bytes] = []
        while size:
            try:
                part = self._line.recv(min(size, PIECE))
            except OSError:
                return None
            if not part:
                return None
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
