"""Listening sockets of the mail server: a thread for each connection, within limits; HTTP in an event loop."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from stream_bayes.door.connections import AdmittedTo, ConnectionLimits, Connections
from stream_bayes.door.input_budget import MemoryFull
from stream_bayes.door.refusals import Refusals
from stream_bayes.door.request_reading import RequestReader

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from stream_bayes.door.request_checks import Door

__all__ = ["Converse", "MailListener", "SocketListener", "WebListener"]

logger = logging.getLogger(__name__)

BEGIN_SECONDS = 10.0  # for the first request of a connection to begin
IDLE_THREADS = 4  # of each socket that wait for connections
MOST_TURNED_AWAY = 32  # clients of each socket that read at once why they are refused
ACCEPT_PAUSE = 0.1  # seconds after a connection that could not be accepted
LIMITS = ConnectionLimits(most=256, most_each=200, for_probes=0)  # a mail server is one address

Converse = Callable[[RequestReader], None]  # answers the requests of a connection


class MailListener(Protocol):
    """A socket that is served."""

    socket: socket.socket
    refusals: Refusals

    def start(self) -> None:
        """Begin to serve."""
        ...

    def stop(self) -> None:
        """Accept nothing more."""
        ...


class SocketListener:
    """Serves an open socket, a thread for each connection.

    Some threads wait for connections, so that the one that accepts a mail also judges it: starting a thread, and waking
    it, would take longer than most verdicts. When the last one gets a connection, it starts another first. `converse`
    answers the requests of a connection. `refusals` counts what is refused; `busy` is sent to a client whose connection
    is refused. `inherited` is True for a socket that another process has opened, and goes on using.
    """

    def __init__(
        self, opened: socket.socket, converse: Converse, refusals: Refusals, busy: bytes, *, inherited: bool
    ) -> None:
        self.socket = opened
        self.refusals = refusals
        opened.setblocking(True)
        self._connections = Connections(LIMITS.within_files())
        self._converse = converse
        self._busy = busy
        self._inherited = inherited
        self._turned_away = threading.BoundedSemaphore(MOST_TURNED_AWAY)
        self._lock = threading.Lock()
        self._idle = 0
        self._stopping = False

    def start(self) -> None:
        """Begin to serve."""
        for _ in range(IDLE_THREADS):
            self._add_thread()

    def stop(self) -> None:
        """Wake the waiting threads, and accept nothing more. Open connections go on until they end."""
        self._stopping = True
        if not self._inherited:
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)
            return
        for _ in range(self._idle):  # shutting it down would end it for its owner too
            with socket.socket(self.socket.family) as line, suppress(OSError):
                line.settimeout(1.0)
                line.connect(self.socket.getsockname())

    def _add_thread(self) -> None:
        with self._lock:
            self._idle += 1
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        """Serve one connection after another."""
        while True:
            reader = self._accepted()
            with self._lock:
                self._idle -= 1
                is_last = not self._idle
            if reader is None:
                return
            if is_last:
                self._add_thread()
            self._answer(reader)
            with self._lock:
                if self._stopping or self._idle >= IDLE_THREADS:
                    return
                self._idle += 1

    def _accepted(self) -> RequestReader | None:
        """Return the next connection; None if the server stops."""
        while not self._stopping:
            try:
                line, peer = self.socket.accept()
            except OSError as error:  # a client that has gone already, or too many open files
                if not self._stopping:
                    logger.debug("no connection was accepted: %s", error)
                    time.sleep(ACCEPT_PAUSE)
                continue
            if not self._stopping:
                return RequestReader(line, peer[0] if isinstance(peer, tuple) else "", BEGIN_SECONDS)
            line.close()
        return None

    def _answer(self, reader: RequestReader) -> None:
        with reader.line as line:
            try:
                if line.family != socket.AF_UNIX:
                    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._connections.admit(reader) is AdmittedTo.REFUSED:
                    self._turn_away(reader)
                    return
                try:
                    self._converse(reader)
                except MemoryFull as error:
                    self.refusals.add("busy", reader.address, str(error))
                except ValueError as error:
                    self.refusals.add("protocol", reader.address, str(error))
                reader.finish()
            except TimeoutError as error:
                self.refusals.add("slow", reader.address, str(error))
            except OSError as error:  # clients that disconnect, or do not finish their request
                logger.debug("a connection ended: %s", error)
            except Exception:  # a bug ends this connection, and not the thread that serves others
                logger.exception("a connection ended with an error")
            finally:
                self._connections.remove(reader)

    def _turn_away(self, reader: RequestReader) -> None:
        """Answer a connection that is not admitted. Wait for the client to read the answer, as far as few do."""
        self.refusals.add(
            "too-many-connections", reader.address, f"{len(self._connections)} connections are open already"
        )
        reader.write(self._busy, 1.0)
        if self._turned_away.acquire(blocking=False):
            try:
                reader.finish()
            finally:
                self._turned_away.release()


class WebListener:
    """Serves an application over HTTP, behind the guard, in a thread of its own. `app` comes with its guard. `door` is
    what its connections share.
    """

    def __init__(self, opened: socket.socket, app: ASGIApp, door: Door) -> None:
        self.socket = opened
        self.refusals = door.refusals
        self._app = app
        self._door = door
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self) -> None:
        """Accept nothing more, and wait for the answers that are being sent."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        # Imported on use: most servers have no HTTP.
        from stream_bayes.door.http_server import make_server, serve_until

        server = make_server(self._app, self._door)
        asyncio.run(serve_until(server, self.socket, self._stopped.is_set, lambda: None))
