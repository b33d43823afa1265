"""Many followers at once, over real connections: slow ones are dropped, idle clients cut off, and memory is bounded."""

from __future__ import annotations

import asyncio
import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Thread
from typing import Any

import pytest

from stream_bayes.door import http_server as server
from stream_bayes.door.request_checks import Door, ServiceLimits
from stream_bayes.serve import event_stream
from stream_bayes.serve.app import ACCESS, Service, ServiceAbilities
from stream_bayes.serve.status_board import MOST_BEHIND, Board
from tests.waiting import PATIENCE, until

SLOW, SWIFT = 100, 100
MESSAGES, SIZE = 96, 8_000


@contextmanager
def serving(board: Board) -> Iterator[tuple[int, asyncio.AbstractEventLoop]]:
    """Serve a board from a thread of this process."""
    line = server.listen("127.0.0.1", 0)
    stopped, running = Event(), Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        door = Door(ServiceLimits(), access=ACCESS)
        service = Service(board, ServiceAbilities("days"), door)
        running.set()
        await server.serve_until(server.make_server(service.app, door), line, stopped.is_set, board.end)

    thread = Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert running.wait(60)
        yield int(line.getsockname()[1]), loops[0]
    finally:
        stopped.set()
        thread.join()
        line.close()


def follow(port: int, address: str = "127.0.0.1") -> socket.socket:
    line = socket.socket()
    line.bind((address, 0))
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.connect(("127.0.0.1", port))
    line.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return line


def test_of_200_followers_the_slow_half_is_dropped_and_the_others_miss_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_stream, "MOST_FOLLOWERS_EACH", SLOW + SWIFT)
    monkeypatch.setattr(server, "SEND_BUFFER", 16_384)  # so that less has to be sent
    board = Board("days")
    with serving(board) as (port, loop), ExitStack() as around:
        slow = [around.enter_context(follow(port)) for _ in range(SLOW)]
        swift = [around.enter_context(follow(port)) for _ in range(SWIFT)]
        until("all followers", lambda: len(board.followers) == SLOW + SWIFT)
        received, sent = dict.fromkeys(swift, 0), 0
        with selectors.DefaultSelector() as ready:
            for line in swift:
                line.setblocking(False)
                ready.register(line, selectors.EVENT_READ)

            def read_until(number: int) -> None:
                end = time.monotonic() + PATIENCE
                while min(received.values()) < number * SIZE:
                    assert time.monotonic() < end
                    for key, _ in ready.select(0.1):
                        line: Any = key.fileobj
                        part = line.recv(1 << 20)
                        assert part, "a reader that keeps up was dropped"
                        received[line] += len(part)

            while sent < MESSAGES:
                for _ in range(MOST_BEHIND // 4):
                    loop.call_soon_threadsafe(board.publish, "status", {"text": "x" * SIZE})
                    sent += 1
                read_until(sent)
        assert board.dropped_followers == SLOW
        held = {id(message) for each in board.followers for message in each.queue._queue}  # type: ignore[attr-defined]  # the list within
        assert len(board.followers) == SWIFT and len(held) <= MOST_BEHIND
        for line in slow:
            line.settimeout(60)
            while line.recv(1 << 20):  # ends: what was sent before the reader was dropped, and no more
                pass


def test_one_address_that_follows_as_often_as_it_may_leaves_room_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_stream, "MOST_FOLLOWERS_EACH", 3)
    monkeypatch.setattr(event_stream, "MOST_FOLLOWERS", 5)
    board = Board("days")

    def answer(line: socket.socket) -> bytes:
        line.settimeout(60)
        return line.recv(4096).split(b"\r\n", 1)[0]

    with serving(board) as (port, _), ExitStack() as around:
        greedy = [around.enter_context(follow(port)) for _ in range(3)]
        assert [answer(line) for line in greedy] == [b"HTTP/1.1 200 OK"] * 3
        assert answer(around.enter_context(follow(port))).startswith(b"HTTP/1.1 429")
        others = [around.enter_context(follow(port, "127.0.0.2")) for _ in range(2)]
        assert [answer(line) for line in others] == [b"HTTP/1.1 200 OK"] * 2
        assert answer(around.enter_context(follow(port, "127.0.0.3"))).startswith(b"HTTP/1.1 503")


def test_a_client_that_sends_no_request_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 2.0)  # longer than a busy machine takes to send so little
    begun = (b"", b"GET /v1/history HTT", b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
    with serving(Board("days")) as (port, _), ExitStack() as around:
        lines = []
        for part in begun:
            lines.append(around.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)))
            lines[-1].sendall(part)
        for part, line in zip(begun, lines, strict=True):
            with suppress(ConnectionResetError):
                assert part == b"" or b" 408 " in line.recv(1000)
                assert line.recv(1000) == b""
