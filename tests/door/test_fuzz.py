"""Random input at every port: an answer or the end, never a fault of the server, and never a lasting one."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import strategies as st

from stream_bayes.mail.server.server import SpamServer
from stream_bayes.mail.store.home import SpamHome
from tests.door.test_connections import answers_in, serving
from tests.fuzzing import few, many
from tests.mail.server import conversations
from tests.mail.server.conversations import CERTAIN_SPAM, exchanged, trained_home
from tests.serve.weather import TOKEN, pipeline_text, running, write_days

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


# What may be said at the Unix socket of the filter: its owner's. It learns there, so that only its end is checked.
COMMANDS = st.builds(
    lambda version, words, data: (" ".join(["STREAM-BAYES", version, *words]) + "\n").encode() + data,
    st.sampled_from(["1", "1", "1", "2", "", "01"]),
    st.lists(
        st.one_of(
            NUMBERS,
            st.sampled_from(
                ["classify", "learn", "correct", "forget", "forget-mail", "forget-user", "spam", "ham"]
            ),
            st.sampled_from(["user=ann", "user=../x", "user=", "9f86d081", "\x00", "\r"]),
        ),
        max_size=4,
    ),
    st.binary(max_size=60),
)


def check_commands(server: SpamServer, data: bytes) -> None:
    address = str(server.home.socket)
    answer = exchanged(address, data)
    assert answer == b"" or (answer.startswith((b"OK ", b"ERROR ")) and answer.count(b"\n") == 1), (
        data,
        answer,
    )
    assert server._memory.taken == 0
    request = b"STREAM-BAYES 1 classify %d\n" % len(CERTAIN_SPAM) + CERTAIN_SPAM
    assert exchanged(address, request).startswith(b"OK ")


# Queries and bodies of the service, whose values decide: what is read from one must be a number, a name or a problem.
VALUE = st.one_of(
    NUMBERS, st.text(max_size=6), st.sampled_from(["yes", "sky", "grey", "d1", "main", "\x00", "\ud800"])
)
PATHS = st.sampled_from(
    [
        "history",
        "model",
        "evaluation",
        "drifts",
        "drifts/picture",
        "events",
        "monitors",
        "openapi.json",
        "numbers",
    ]
)
QUERIES = st.builds(
    lambda path, pairs: (
        f"GET /v1/{path}?"
        + "&".join(f"{name}={quote(value, errors='surrogatepass')}" for name, value in pairs)
        + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    ).encode(),
    PATHS.filter(lambda path: path != "events"),
    st.lists(
        st.tuples(st.sampled_from(["limit", "number", "key", "name", "graph", "label", "since", "x"]), VALUE),
        max_size=3,
    ),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["x", "events", "key", "label", "sky", "wind", "evidence", "targets", "id", "kind"]
            ),
            inner,
        ),
    ),
    max_leaves=8,
)


def posted(path: str, content: Any) -> bytes:
    body = json.dumps(content).encode()
    head = f"POST /v1/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


BODIES = st.builds(posted, st.sampled_from(["predict", "explain", "query", "labels", "check"]), JSON)


def check_service(port: int, data: bytes) -> None:
    status, headers, body = next(iter(answers_in(exchanged(f"127.0.0.1:{port}", data))))
    assert status != 500, (data, body)
    assert status < 300 or headers["content-type"] == "application/problem+json", (data, body)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    directory = tmp_path_factory.mktemp("weather")
    write_days(directory, 100)
    with running(directory, pipeline_text()) as (_, client):
        client.get("/v1/model")
        yield client.port


TARGETS = ["http", "filter-http", "spamd", "milter", "commands", "queries", "bodies"]


def target(
    name: str, request: pytest.FixtureRequest
) -> tuple[st.SearchStrategy[bytes], Callable[[bytes], None]]:
    """Return the input of a target, and its check."""
    if name == "http":
        return REQUESTS, partial(check_http, request.getfixturevalue("web"))
    if name in ("queries", "bodies"):
        inputs = QUERIES if name == "queries" else BODIES
        return inputs, partial(check_service, request.getfixturevalue("service"))
    server = request.getfixturevalue("mail")
    if name == "commands":
        return st.one_of(COMMANDS, st.binary(max_size=100)), partial(check_commands, server)
    inputs = {"filter-http": REQUESTS, "spamd": SPAMD, "milter": PACKETS}[name]
    inputs = inputs if name == "filter-http" else st.one_of(inputs, st.binary(max_size=200))
    return inputs, partial(check_mail, server, name.removeprefix("filter-"))


@pytest.mark.parametrize("name", TARGETS)
def test_random_input_gets_an_answer_or_the_end(name: str, request: pytest.FixtureRequest) -> None:
    few(*target(name, request))


@pytest.mark.soak
@pytest.mark.parametrize("name", TARGETS)
def test_much_random_input_gets_an_answer_or_the_end(name: str, request: pytest.FixtureRequest) -> None:
    many(*target(name, request))
