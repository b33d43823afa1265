"""Random input at every port: an answer or the end, never a fault of the server, and never a lasting one."""

from __future__ import annotations

import shutil
import socket
import struct
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_bayes.mail.server.server import SpamServer
from stream_bayes.mail.store.home import SpamHome
from tests.door.test_connections import answers_in, serving
from tests.mail.server import conversations
from tests.mail.server.conversations import CERTAIN_SPAM, trained_home

FEW = settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
MANY = settings(
    max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

NUMBERS = st.one_of(
    st.integers(-3, 400).map(str), st.sampled_from(["1_0", "+1", "0x5", "", "9" * 30, "\u0661", "1e3"])
)
NAMES = st.sampled_from(
    [
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Origin",
        "Content-Type",
        "Connection",
        "Expect",
        "X-A",
        "Upgrade",
    ]
)
VALUES = st.one_of(
    NUMBERS,
    st.sampled_from(
        ["localhost", "chunked", "application/json", "close", "100-continue", "http://[", "h2c", "gzip"]
    ),
    st.text(st.characters(codec="latin-1"), max_size=8),
)
HEADS = st.builds(
    lambda method, path, version, headers: (
        f"{method} {path} {version}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers) + "\r\n"
    ).encode("latin-1", "replace"),
    st.sampled_from(["GET", "POST", "HEAD", "PUT", "PRI", "CONNECT", "get", ""]),
    st.one_of(
        st.sampled_from(["/echo", "/livez", "*", "//x", "/%00", "http://evil/"]),
        VALUES.map(lambda each: f"/{each}"),
    ),
    st.sampled_from(["HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.2", ""]),
    st.lists(st.tuples(NAMES, VALUES), max_size=6),
)
REQUESTS = st.lists(st.one_of(HEADS, st.binary(max_size=60)), min_size=1, max_size=3).map(b"".join)


@pytest.fixture(scope="module")
def web() -> Iterator[int]:
    with serving() as (port, _):
        yield port


@pytest.fixture(scope="module")
def mail(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SpamServer]:
    trained = trained_home(tmp_path_factory.mktemp("trained") / "home", 60).directory
    home = tmp_path_factory.mktemp("fuzz") / "home"
    shutil.copytree(trained, home)
    listen = dict.fromkeys(("spamd", "milter", "http"), "127.0.0.1:0")
    with conversations.serving(SpamHome(home), listen) as server:
        yield server


def exchanged(address: str, data: bytes) -> bytes:
    """Return all that a server sends until it closes; a reset is an end, too."""
    host, _, port = address.rpartition(":")
    received = b""
    with socket.create_connection((host, int(port)), timeout=20) as line:
        try:
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
            while part := line.recv(1 << 16):
                received += part
        except ConnectionError:
            pass
    return received


def check_http(port: int, data: bytes) -> None:
    received = exchanged(f"127.0.0.1:{port}", data)
    if data.startswith((b"HEAD", b"CONNECT")) or b"\nHEAD" in data or b"100 Continue" in received:
        statuses = [int(line.split()[1]) for line in received.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    else:
        statuses = [status for status, _, _ in answers_in(received)]
    assert 500 not in statuses, (data, received)
    assert all(status < 400 for status in statuses[:-1]) or statuses[-1] != 200, "an answer after a refusal"
    alive = exchanged(
        f"127.0.0.1:{port}", b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    assert b" 200 " in alive


def check_mail(server: SpamServer, protocol: str, data: bytes) -> None:
    judged, changed = server.service.judged, server.service.changed
    exchanged(server.addresses()[protocol], data)
    assert server.service.changed == changed, "nobody may teach it"
    assert server._memory.taken == 0
    request = b"CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % len(CERTAIN_SPAM) + CERTAIN_SPAM
    assert exchanged(server.addresses()["spamd"], request).startswith(b"SPAMD/1.1 0 EX_OK")
    assert server.service.judged > judged


FIELDS = st.sampled_from(["Content-length", "Compress", "User", "Set", "Message-class"])
SPAMD = st.builds(
    lambda verb, headers, body: (
        (
            f"{verb} SPAMC/1.5\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers) + "\r\n"
        ).encode("utf-8", "replace")
        + body
    ),
    st.sampled_from(["CHECK", "TELL", "PROCESS", "HEADERS", "SYMBOLS", "PING", "SKIP", "DANCE"]),
    st.lists(st.tuples(FIELDS, st.one_of(VALUES, st.just("zlib"))), max_size=4),
    st.binary(max_size=80),
)
PACKETS = st.lists(
    st.builds(
        lambda command, data, lie: struct.pack(">I", max(0, len(data) + 1 + lie)) + command + data,
        st.sampled_from([b"O", b"L", b"B", b"E", b"R", b"M", b"A", b"D", b"Q", b"K", b"Z"]),
        st.one_of(st.binary(max_size=40), st.just(struct.pack(">III", 6, 0x1FF, 0x1FFFFF))),
        st.sampled_from([0, 0, 0, 1, -1, 1 << 21]),
    ),
    max_size=8,
).map(b"".join)


@FEW
@given(data=REQUESTS)
def test_http(web: int, data: bytes) -> None:
    check_http(web, data)


@FEW
@given(data=st.one_of(SPAMD, st.binary(max_size=200)))
def test_spamd(mail: SpamServer, data: bytes) -> None:
    check_mail(mail, "spamd", data)


@FEW
@given(data=st.one_of(PACKETS, st.binary(max_size=200)))
def test_milter(mail: SpamServer, data: bytes) -> None:
    check_mail(mail, "milter", data)


@FEW
@given(data=REQUESTS)
def test_http_of_the_filter(mail: SpamServer, data: bytes) -> None:
    check_mail(mail, "http", data)


@pytest.mark.soak
@pytest.mark.parametrize("protocol", ["http", "spamd", "milter"])
def test_many_requests(mail: SpamServer, protocol: str) -> None:
    data = {"http": REQUESTS, "spamd": SPAMD, "milter": PACKETS}[protocol]

    @MANY
    @given(data=data)
    def run(data: bytes) -> None:
        check_mail(mail, protocol, data)

    run()
