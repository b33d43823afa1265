"""Connections over real sockets: kept ones are not cut, idle ones give way, what is no HTTP is refused."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from threading import Event, Thread
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from stream_bayes.door import http_server
from stream_bayes.door.connections import AdmittedTo, ConnectionLimits, Connections, network_of
from stream_bayes.door.http_server import listen, make_server, serve_until
from stream_bayes.door.request_checks import Door, ServiceLimits, guarded


async def answer(request: Request) -> Response:
    client = "" if request.client is None else request.client.host
    return Response(f"{client} {len(await request.body())}")


@contextmanager
def serving(
    limits: ServiceLimits | None = None, most: ConnectionLimits | None = None, host: str = "127.0.0.1"
) -> Iterator[tuple[int, Door]]:
    """Serve a route behind the guard from a thread of this process."""
    door = Door(ServiceLimits(token="x" * 20) if limits is None else limits)
    if most is not None:
        door.connections.limits = most
    routes = [Route(path, answer, methods=["GET", "POST"]) for path in ("/livez", "/echo")]
    line, stopped = listen(host, 0), Event()
    server = make_server(guarded(Router(routes), door), door)
    thread = Thread(target=lambda: asyncio.run(serve_until(server, line, stopped.is_set, lambda: None)))
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield int(line.getsockname()[1]), door
    finally:
        stopped.set()
        thread.join()
        line.close()


def connect(port: int, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(source, 0))


def exchange(port: int, data: bytes) -> list[tuple[int, dict[str, str], bytes]]:
    """Return all answers until the server closes, or is silent after an answer."""
    with connect(port) as line:
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)
        received = b""
        while part := line.recv(1 << 16):
            received += part
    return list(answers_in(received))


def answers_in(received: bytes) -> Iterator[tuple[int, dict[str, str], bytes]]:
    while received:
        head, _, rest = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        size = int(headers["content-length"])
        yield int(first.split()[1]), headers, rest[:size]
        received = rest[size:]


def test_a_kept_connection_in_use_is_never_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "CHECK_SECONDS", 0.05)  # as slow checks over minutes
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.3)
    with serving() as (port, door):
        kept = HTTPConnection("127.0.0.1", port, timeout=60)
        kept.connect()
        line = kept.sock
        for pause in [0.02] * 60 + [0.8] * 2:  # longer than the checks, and than the time for a head
            kept.request("GET", "/echo")
            assert kept.getresponse().read() == b"127.0.0.1 0"
            assert kept.sock is line, "it was closed, and opened again"
            time.sleep(pause)
        kept.close()
    assert door.refusals.counts == {}


def test_a_head_that_does_not_arrive_is_a_problem_even_on_a_kept_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        http_server, "HEAD_SECONDS", 2.0
    )  # longer than a busy machine takes to send so little
    whole = b"GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving() as (port, door), ExitStack() as around:
        lines = {before: around.enter_context(connect(port)) for before in (b"", whole)}
        for before, line in lines.items():
            line.sendall(before + b"GET /echo HTTP/1.1\r\nX-Slow: ")
        for before, line in lines.items():
            received = b""
            while part := line.recv(1000):
                received += part
            answers = list(answers_in(received))
            assert [status for status, _, _ in answers] == [200] * bool(before) + [408]
            assert json.loads(answers[-1][2])["type"] == "urn:stream-bayes:slow"
    assert door.refusals.counts == {"slow": 2}


GET = "GET /echo HTTP/1.1\r\nHost: localhost\r\n"
POST = (
    "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer "
    + "x" * 20
)
SECOND = "\r\n\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (POST + "\r\nContent-Length: abc", SECOND),
        (POST + "\r\nContent-Length: 1_0", SECOND),
        (POST + "\r\nContent-Length: +1", SECOND),
        (POST + "\r\nContent-Length: 1\r\nContent-Length: 2", SECOND),
        (POST + "\r\nContent-Length: 5\r\nTransfer-Encoding: chunked", "\r\n\r\n0" + SECOND),
        (POST + "\r\nTransfer-Encoding: chunked", "\r\n\r\nxyz" + SECOND),
        (POST + "\r\nTransfer-Encoding: gzip, chunked", "\r\n\r\n0" + SECOND),
        (POST.replace("1.1", "1.0") + "\r\nTransfer-Encoding: chunked", "\r\n\r\n0" + SECOND),
        (GET + "Content-Length: 46", SECOND),
        (GET + "Transfer-Encoding: chunked", "\r\n\r\n0" + SECOND),
        (GET + "Host: evil.example", SECOND),
        (GET + "Origin: http://localhost\r\nOrigin: http://evil.example", SECOND),
        (GET.replace("/echo", "/%00"), SECOND),
        ("PRI * HTTP/2.0", "\r\n\r\nSM\r\n\r\n"),
        ("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS\r\n\r\n"),
        ("GET /echo HTTP/1.1\r\nX: " + "a" * 20_000, SECOND),
    ],
)
def test_a_request_that_may_be_read_in_two_ways_gets_one_refusal_and_the_end(head: str, body: str) -> None:
    with serving() as (port, door):
        answers = exchange(port, (head + body).encode("latin-1"))
    assert len(answers) == 1, answers
    status, headers, text = answers[0]
    assert status in (400, 501) and headers["connection"] == "close"
    assert headers["content-type"] == "application/problem+json" and json.loads(text)["status"] == status
    counts = door.refusals.counts  # of a broken chunk, the request that it belongs to is also cut off
    assert sum(counts.values()) - counts.get("cut-off", 0) == 1


def test_a_body_that_is_cut_off_or_compressed_is_refused() -> None:
    with serving() as (port, door):
        exchange(port, (POST + "\r\nContent-Length: 100\r\n\r\n{").encode())
        answers = exchange(
            port, (POST + "\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}").encode()
        )
    assert [status for status, _, _ in answers] == [415]
    assert door.refusals.counts == {"cut-off": 1, "content-encoding": 1}


SMALL = ConnectionLimits(most=30, most_each=10, for_probes=4)


def test_idle_connections_of_one_client_give_way_to_its_next_request() -> None:
    with serving(most=SMALL) as (port, door), ExitStack() as around:
        kept = HTTPConnection("127.0.0.1", port, timeout=60)
        kept.request("GET", "/echo")
        kept.getresponse().read()
        line = kept.sock
        for _ in range(60):
            around.enter_context(connect(port))
        other = HTTPConnection("127.0.0.1", port, timeout=60, source_address=("127.0.0.2", 0))
        for each, address in ((kept, b"127.0.0.1"), (other, b"127.0.0.2")):
            each.request("GET", "/echo")
            assert each.getresponse().read() == address + b" 0"
        assert kept.sock is line, "one in use gives way last"
        assert len(door.connections) <= 11
        kept.close()
        other.close()


def test_probes_are_answered_while_requests_that_are_being_answered_take_all_connections() -> None:
    limits = ServiceLimits(seconds=20.0, token="x" * 20)
    with (
        serving(limits, ConnectionLimits(most=12, most_each=100, for_probes=4)) as (port, _),
        ExitStack() as around,
    ):
        for _ in range(8):
            line = around.enter_context(connect(port))
            line.sendall(b"GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n")
            line.recv(1000)
            door_full = line
        assert door_full is not None
        # All of them begin a request, so that none waits from the start; the newest ones are for probes then.
        probe = HTTPConnection("127.0.0.1", port, timeout=60, source_address=("127.0.0.3", 0))
        probe.request("GET", "/livez")
        assert probe.getresponse().status == 200
        probe.close()


def test_a_client_that_is_turned_away_while_it_sends_reads_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        http_server, "REST_SECONDS", 60.0
    )  # however long a busy machine takes to send the rest
    with serving(most=ConnectionLimits(most=0, most_each=0, for_probes=0)) as (port, door):
        for head in (
            b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000\r\n\r\n",
            b"no HTTP\r\n",
        ):
            with connect(port) as line:
                line.sendall(head)
                for _ in range(3):
                    line.sendall(bytes(10_000))
                    time.sleep(0.02)
                received = b""
                while part := line.recv(1000):
                    received += part
            ((status, _, body),) = answers_in(received)
            assert status == 503 and json.loads(body)["type"] == "urn:stream-bayes:too-many-connections"
    assert door.refusals.counts == {"too-many-connections": 2}


def test_clients_that_are_turned_away_and_stay_take_few_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "MOST_TURNED_AWAY", 3)
    monkeypatch.setattr(http_server, "REST_SECONDS", 20.0)
    with (
        serving(most=ConnectionLimits(most=0, most_each=0, for_probes=0)) as (port, _),
        ExitStack() as around,
    ):
        lines = [around.enter_context(connect(port)) for _ in range(10)]
        for line in lines:
            while line.recv(1000):  # the answer, and its end
                pass
        start = time.monotonic()
        closed = 0
        for line in lines:
            try:
                for _ in range(5):
                    line.sendall(b"x")
                    time.sleep(0.01)
            except ConnectionError:
                closed += 1
        assert closed == 7 and time.monotonic() - start < 10.0


class Waiting:
    """A connection that waits since a time, or is being answered."""

    def __init__(self, address: str, since: float | None, has_served: bool = False) -> None:
        self.address, self.waits_since, self.has_served = address, since, has_served
        self.is_open = True

    def drop(self) -> None:
        self.is_open = False


def test_the_client_with_most_connections_gives_way_and_answers_never_do() -> None:
    connections = Connections(ConnectionLimits(most=8, most_each=5, for_probes=2))
    busy = [Waiting("10.0.0.1", None) for _ in range(5)]
    assert [connections.admit(each) for each in busy] == [AdmittedTo.ALL] * 5
    assert connections.admit(Waiting("10.0.0.1", None)) is AdmittedTo.REFUSED
    others = [Waiting("10.0.0.2", None), Waiting("10.0.0.3", None), Waiting("10.0.0.4", None)]
    assert [connections.admit(each) for each in others] == [
        AdmittedTo.ALL,
        AdmittedTo.PROBES,
        AdmittedTo.PROBES,
    ]
    assert connections.admit(Waiting("10.0.0.5", None)) is AdmittedTo.REFUSED
    busy[3].waits_since = 3.0
    busy[4].waits_since, busy[4].has_served = 1.0, True
    assert connections.admit(Waiting("10.0.0.5", None)) is AdmittedTo.PROBES
    assert [each.is_open for each in busy] == [True, True, True, False, True]
    assert len(connections) == 8


def test_a_trusted_proxy_names_its_clients_and_nobody_else_does() -> None:
    forwarded = "X-Forwarded-For: 203.0.113.9, 198.51.100.7\r\n\r\n"
    for proxies, expected in (
        (("127.0.0.0/8",), b"198.51.100.7 0"),
        ((), b"127.0.0.1 0"),
        (("10.0.0.1",), b"127.0.0.1 0"),
    ):
        with serving(ServiceLimits(proxies=proxies)) as (port, _):
            assert exchange(port, (GET + forwarded).encode())[0][2] == expected


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_a_service_at_an_address_of_ipv6_has_its_name() -> None:
    with serving(ServiceLimits(host="::1"), host="::1") as (port, _):
        for name, status in ((f"[::1]:{port}", 200), ("[::2]", 421), ("[::1]@evil.example", 421)):
            line = HTTPConnection("::1", port, timeout=60)
            line.request("GET", "/echo", headers={"Host": name})
            assert line.getresponse().status == status, name
            line.close()


def test_networks_of_ipv6_count_as_one_client() -> None:
    same = {network_of(f"2001:db8:1:2::{number:x}") for number in range(1, 100)}
    assert same == {"2001:db8:1:2::/64"} and network_of("2001:db8:1:3::1") not in same


def test_a_large_answer_that_nobody_reads_is_dropped_for_those_who_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_server, "MOST_UNREAD", 3_000_000)
    large = b"x" * 1_000_000

    async def send_large(request: Request) -> Response:
        return Response(large)

    door = Door(ServiceLimits())
    line, stopped = listen("127.0.0.1", 0), Event()
    server = make_server(guarded(Router([Route("/large", send_large)]), door), door)
    thread = Thread(target=lambda: asyncio.run(serve_until(server, line, stopped.is_set, lambda: None)))
    thread.start()
    try:
        with ExitStack() as around:
            for _ in range(20):
                slow = around.enter_context(socket.socket())
                slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                slow.connect(("127.0.0.1", line.getsockname()[1]))
                slow.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            reader: Any = HTTPConnection("127.0.0.1", line.getsockname()[1], timeout=60)
            reader.request("GET", "/large")
            assert reader.getresponse().read() == large
            reader.close()
        assert door.refusals.counts["unread"] >= 10
    finally:
        stopped.set()
        thread.join()
        line.close()
