"""The HTTP server: uvicorn, with limits on connections, requests that do not arrive, and readers that do not read."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Any

import h11
import msgspec
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from stream_bayes.door.connections import AdmittedTo
from stream_bayes.door.problems import problem
from stream_bayes.door.request_checks import Door

__all__ = ["HEAD_SECONDS", "listen", "make_server", "serve_until"]

# For the head of a request to arrive, once it has begun; for the first one, since connecting.
HEAD_SECONDS = 10.0
IDLE_SECONDS = 75  # between two requests of a kept connection; proxies close theirs after 60
CHECK_SECONDS = 5.0  # between two looks at what a client has not read yet
STUCK_CHECKS = 3  # in a row at which nothing moved
LEAST_READ = 4_096  # bytes between two checks by which a reader moves
MOST_UNREAD = 64_000_000  # bytes of answers that clients have not read yet
LARGE = 65_536  # bytes of an answer from which the unread bytes of all are added up
SEND_BUFFER = 262_144  # bytes that the system holds for a slow reader; on its own it takes megabytes for each
LARGEST_HEAD = 16_384  # bytes of a request's line and headers
REST_SECONDS, MOST_REST = 1.0, 1 << 26  # of what a client sends after it was turned away, and its bytes
MOST_TURNED_AWAY = 32  # clients at once whose rest is discarded; further ones may not read why
ACCEPTED_TOGETHER = 64  # connections, before the door turns any of them away
MOST_WAITING = 2_048  # connections that wait in the kernel


def make_server(app: ASGIApp, door: Door) -> uvicorn.Server:
    """Return a server of an application that runs with `serve(sockets=[...])`."""

    class DoorConnection(_HTTPConnection):
        _door = door

    # Invalid requests are the client's business, and a line for each would fill the disk.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        http=DoorConnection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,  # `guarded` does that, for trusted proxies
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        backlog=ACCEPTED_TOGETHER,
    )
    return _Server(config)


class _Server(uvicorn.Server):
    """A server that accepts few connections in one turn of its loop, while many may wait in the kernel.

    The loop takes the length of the queue for the number to accept before anything else runs; those that the door
    turns away would all be open until then.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for line in sockets or ():
            line.listen(MOST_WAITING)


class _JoinedWrites:
    """A transport that sends at once what is written in one turn of the loop: a head with its body."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write bytes at the end of the turn; many at once, without a copy."""
        if len(data) >= LARGE:
            self.flush()
            self._transport.write(data)
            return
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)

    def flush(self) -> None:
        """Send what was written in this turn."""
        parts, self._parts = self._parts, []
        if parts:
            self._transport.write(b"".join(parts))

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size() + sum(map(len, self._parts))

    def close(self) -> None:
        self.flush()
        self._transport.close()


class _HTTPConnection(H11Protocol):
    """A connection that is closed when a request does not arrive, or when its reader does not read.

    uvicorn closes one that is idle after an answer. A subclass has the door.
    """

    _door: Door
    admission = AdmittedTo.ALL
    has_served = False
    is_local = False  # over a Unix socket
    address = ""
    _head_timer: asyncio.TimerHandle | None = None
    _check_timer: asyncio.TimerHandle | None = None
    _unread = _stuck = 0
    _has_resumed = False
    _has_ended = False  # the client will send nothing more
    _has_refused = False  # it reads why, and what it still sends is discarded
    _rest = MOST_REST
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # of a socket: always this kind
        self.app_state = {**self.app_state, "connection": self}
        self._joined = _JoinedWrites(transport, self.loop)
        super().connection_made(self._joined)  # type: ignore[arg-type]  # it has what is used
        line = transport.get_extra_info("socket")
        self.is_local = line is not None and line.family == socket.AF_UNIX
        self.address = "" if self.client is None else self.client[0]
        self._since = self.loop.time()
        self.admission = self._door.connections.admit(self)
        if self.admission is AdmittedTo.REFUSED:
            count = len(self._door.connections)
            self._refuse(
                503, "too-many-connections", f"{count} connections are open already; close some, or try again"
            )
            return
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._end_head)
        self._check_timer = self.loop.call_later(CHECK_SECONDS, self._check)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        if self._check_timer is not None:
            self._check_timer.cancel()
        self._door.turned_away -= self._has_refused
        self._door.connections.remove(self)
        super().connection_lost(exc)

    # -- requests -----------------------------------------------------------------------------------------------------

    @property
    def has_whole_request(self) -> bool:
        """True once all bytes of the present request are here."""
        return self.cycle is not None and not self.cycle.more_body

    @property
    def waits_since(self) -> float | None:
        """The time since which it waits for bytes of its client; None while a request is being answered."""
        is_whole = self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body
        return None if is_whole else self._since

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._has_refused:
            self._rest -= len(data)
            if self._rest <= 0:
                self.drop()
            return
        super().data_received(data)
        self._watch_head()

    def on_response_complete(self) -> None:
        self.has_served = True
        self._since = self.loop.time()
        super().on_response_complete()
        if self._has_ended:
            self.transport.close()
        else:
            self._watch_head()

    def eof_received(self) -> bool:  # type: ignore[override]  # True keeps the other half open, as asyncio says
        """Send the answer to a client that has closed its half; one without an end would be sent to nobody."""
        if self._has_refused:
            return False
        self._joined.flush()  # before asyncio closes the line
        self._has_ended = self.waits_since is None and self.scope["path"] not in self._door.access.endless
        return self._has_ended

    def _watch_head(self) -> None:
        """Start the deadline of a head that has begun, and stop that of one that is whole."""
        is_between = self.cycle is None or self.cycle.response_complete
        if not is_between:
            self._stop_head_timer()
        elif self._head_timer is None and self.conn.trailing_data[0]:
            self._since = self.loop.time()
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._end_head)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _end_head(self) -> None:
        self._head_timer = None
        if self.transport.is_closing() or self._has_refused:
            return
        if self.conn.trailing_data[0]:
            self._refuse(408, "slow", f"the head of the request did not arrive within {HEAD_SECONDS:g} s")
        else:  # a connection that was opened in advance
            self.drop()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, such as a preface of HTTP/2, or TLS at a plain port."""
        self._refuse(400, "framing", "expected a request of HTTP/1.1 with a head of at most 16 KiB")

    def _refuse(self, status: int, kind: str, detail: str) -> None:
        """Answer without a request that could be answered, and close."""
        self._door.refusals.add(kind, self.address, detail)
        answer = problem(status, kind, detail, {"Connection": "close"})
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            lines = [f"HTTP/1.1 {status} {msgspec.json.decode(answer.body)['title']}".encode()]
            lines += [name + b": " + value for name, value in answer.raw_headers]
            self.transport.write(b"\r\n".join(lines) + b"\r\n\r\n" + bytes(answer.body))
        if self.cycle is not None:  # nothing may be written after this
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._door.connections.remove(self)
        self._end_answer()

    def _end_answer(self) -> None:
        """Close after a refusal. Discard first what the client still sends, for a while and of few at once: one whose
        connection is closed while it sends loses the answer.
        """
        self._joined.flush()
        if self._door.turned_away >= MOST_TURNED_AWAY or not self.transport.can_write_eof():
            self.transport.close()
            return
        self._door.turned_away += 1
        self._has_refused = True
        self.transport.write_eof()
        self.loop.call_later(REST_SECONDS, self.transport.close)

    # -- answers ------------------------------------------------------------------------------------------------------

    def drop(self) -> None:
        """Close the connection at once, without sending what is buffered."""
        self.transport.abort()

    def make_room_for(self, size: int) -> None:
        """Drop the connections whose clients leave most bytes unread, if a large answer would not fit beside them."""
        if size < LARGE:
            return
        unread = {
            each: each.unread_bytes
            for each in self._door.connections.all()
            if isinstance(each, _HTTPConnection)
        }
        total = sum(unread.values())
        for each, left in sorted(unread.items(), key=lambda item: -item[1]):
            if total + size <= MOST_UNREAD or not left:
                return
            self._door.refusals.add("unread", each.address, f"{left:,} bytes of an answer were not read")
            each.drop()
            total -= left

    @property
    def unread_bytes(self) -> int:
        """Bytes that wait in this process for the client to read."""
        return self.transport.get_write_buffer_size()

    def resume_writing(self) -> None:
        self._has_resumed = True
        super().resume_writing()

    def _check(self) -> None:
        """Drop a client that does not read its answer."""
        unread = self.unread_bytes
        has_moved = not unread or self._has_resumed or unread <= self._unread - LEAST_READ
        self._stuck = 0 if has_moved or not self._unread else self._stuck + 1
        self._unread, self._has_resumed = unread, False
        if self._stuck >= STUCK_CHECKS:
            self._door.refusals.add("unread", self.address, f"{unread:,} bytes of an answer were not read")
            self.drop()
            return
        self._check_timer = self.loop.call_later(CHECK_SECONDS, self._check)


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
