"""The HTTP server: uvicorn, with limits on connections, idle clients and slow readers."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["Connections", "listen", "make_server", "serve_until"]

MOST_CONNECTIONS = 900  # below the 1024 open files of many systems
CHECK_SECONDS = 5.0  # between two checks of a connection
SEND_BUFFER = 262_144  # bytes that the system holds for a slow reader; on its own it takes megabytes for each
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n"
    b"Content-Type: application/problem+json\r\nContent-Length: %d\r\n\r\n%s"
)
FULL_BODY = (
    b'{"type":"urn:stream-bayes:too-many-connections","title":"Service Unavailable","status":503,'
    b'"detail":"%d connections are open already; close some, or try again"}' % MOST_CONNECTIONS
)


class Connections:
    """The open connections, to abort one by the address of its client."""

    def __init__(self) -> None:
        self.open: dict[Any, asyncio.Transport] = {}

    def abort(self, client: Any) -> None:
        """Close the connection of a client at once, without sending what is buffered."""
        transport = self.open.pop(tuple(client), None) if client is not None else None
        if transport is not None:
            transport.abort()


def make_server(app: ASGIApp, connections: Connections) -> uvicorn.Server:
    """Return a server of an application that runs with `serve(sockets=[...])`."""

    class Connection(H11Protocol):
        """A connection that is closed when it is idle, or when its reader does not read."""

        _timer: asyncio.TimerHandle | None = None
        _idle = _stuck = 0  # checks in a row

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # of a socket: always this kind
            super().connection_made(transport)
            if len(self.connections) > MOST_CONNECTIONS:
                transport.write(FULL % (len(FULL_BODY), FULL_BODY))
                transport.close()
                return
            if self.client is not None:
                connections.open[tuple(self.client)] = transport
            self._timer = self.loop.call_later(CHECK_SECONDS, self._check)

        def connection_lost(self, exc: Exception | None) -> None:
            if self._timer is not None:
                self._timer.cancel()
            if self.client is not None and connections.open.get(tuple(self.client)) is self.transport:
                del connections.open[tuple(self.client)]
            super().connection_lost(exc)

        def _check(self) -> None:
            is_answering = self.cycle is not None and not self.cycle.response_complete
            self._idle = 0 if is_answering else self._idle + 1
            self._stuck = self._stuck + 1 if self.transport.get_write_buffer_size() else 0
            if self._idle > 1 or self._stuck > 2:
                self.transport.abort()
                return
            self._timer = self.loop.call_later(CHECK_SECONDS, self._check)

    # Invalid requests are the client's business, and a line for each would fill the disk.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        timeout_keep_alive=int(CHECK_SECONDS),
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=16_384,
    )
    return uvicorn.Server(config)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address.

    Raises
    ------
    OSError
        If the address cannot be listened at.
    """
    family, kind, proto, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    line = socket.socket(family, kind, proto)
    try:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)  # of its connections, too
        line.bind(address)
        line.listen(128)
        line.set_inheritable(True)
    except OSError:
        line.close()
        raise
    return line


async def serve_until(
    server: uvicorn.Server, line: socket.socket, done: Callable[[], bool], end_followers: Callable[[], None]
) -> None:
    """Serve until `done` returns True, or a signal ends the server; answers without an end are completed then."""

    async def watch() -> None:
        while not (done() or server.should_exit):
            await asyncio.sleep(0.1)
        end_followers()
        server.should_exit = True

    watching = asyncio.create_task(watch())
    try:
        await server.serve(sockets=[line])
    finally:
        watching.cancel()
