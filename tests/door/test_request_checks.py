"""Refusals of the service: hosts, sites, tokens, sizes, rates, and how it goes on after bad input."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stream_bayes.door.request_checks import Access, Door, ServiceLimits, guarded
from stream_bayes.streams.engine.engine import Engine
from tests.serve.weather import TOKEN, Client, pipeline_text, running, write_days


@pytest.fixture(scope="module")
def weather(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Client]]:
    directory = tmp_path_factory.mktemp("guard")
    write_days(directory, 200)
    settings = 'max_body_bytes = 20_000\nseconds = 1.0\nhosts = ["bayes.example.org"]'
    with running(directory, pipeline_text(serve=settings)) as (engine, client):
        client.get("/v1/model")
        yield engine, client


@pytest.fixture
def client(weather: tuple[Engine, Client]) -> Iterator[Client]:
    engine, client = weather
    yield client
    assert engine.running
    assert client.post("/v1/predict", {"x": {"sky": "grey"}})["prediction"] == "yes"


LABEL = {"key": "d1", "label": "yes"}


def test_writes_need_the_token_and_reads_do_not(client: Client) -> None:
    stranger = Client(client.port, None)
    assert "Authorization: Bearer" in stranger.refusal("/v1/labels", LABEL, 401)
    for wrong in ("Bearer ", "Bearer no", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN):
        stranger.refusal("/v1/labels", LABEL, 401, Authorization=wrong)
    stranger.refusal("/v1/learn", {"id": "a", "label": "ham"}, 401)
    stranger.get("/v1/history")
    stranger.post("/v1/predict", {"x": {"sky": "grey"}})


def test_a_page_of_another_site_can_send_nothing(client: Client) -> None:
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        client.refusal("/v1/labels", LABEL, 403, **headers)
        client.refusal("/v1/predict", {"x": {}}, 403, **headers)
    own = {"Origin": f"http://127.0.0.1:{client.port}", "Sec-Fetch-Site": "same-origin"}
    client.post("/v1/predict", {"x": {"sky": "grey"}}, **own)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        client.refusal("/v1/labels", LABEL, 415, **{"Content-Type": kind})


def test_a_name_of_another_host_is_refused(client: Client) -> None:
    status, _, answer = client.send("GET", "/v1/history", None, Host="evil.example")
    assert status == 421 and "serve.hosts" in answer["detail"]
    client.get("/v1/history", Host="bayes.example.org")
    client.get("/v1/history", Host=f"localhost:{client.port}")


def test_every_answer_forbids_inline_scripts_sniffing_and_frames(client: Client) -> None:
    for path in ("/v1/model", "/docs", "/nowhere", "/openapi.json"):
        _, headers, _ = client.send("GET", path)
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        ("/v1/predict", b"{", 400, "expected a JSON object"),
        ("/v1/predict", b'{"x":{"sky":' + b"[" * 5000 + b"]" * 5000 + b"}}", 400, "expected a JSON object"),
        ("/v1/predict", b"", 400, "expected a JSON object"),
        ("/v1/predict", {}, 422, '"x"'),
        ("/v1/predict", {"x": {}, "events": []}, 422, '"x"'),
        ("/v1/predict", {"x": [1]}, 422, "Expected `object | null`"),
        ("/v1/predict", {"xs": {}}, 422, "unknown field `xs`"),
        ("/v1/predict", {"x": {"wind": "strong"}}, 422, "wind"),
        ("/v1/predict", {"x": {"sky": {"left": "grey"}}}, 422, "sky"),
        ("/v1/predict", {"events": [{"sky": "grey"}, {"wind": []}]}, 422, "wind"),
        ("/v1/explain", {"id": "nobody"}, 404, "v1/history"),
        ("/v1/query", {"evidence": {"sky": "grey"}}, 409, "is not a network"),
        ("/v1/check", {"mail": 1}, 409, "is not a spam filter"),
        ("/v1/labels", {"key": None, "label": "yes"}, 422, "key"),
        ("/v1/labels", {"key": "d1", "label": ["yes"]}, 422, "label"),
        ("/v1/labels", {"key": "d1", "label": "yes", "kind": "guess"}, 422, "guess"),
    ],
)
def test_a_bad_body_is_a_problem_that_names_the_fault(
    client: Client, path: str, body: Any, status: int, text: str
) -> None:
    assert text in client.refusal(path, body, status)


@pytest.mark.parametrize("limit", ["0", "-1", "x", "1e3", "9" * 30])
def test_a_bad_limit_is_a_problem(client: Client, limit: str) -> None:
    status, _, answer = client.send("GET", f"/v1/history?limit={limit}")
    assert status == 422 and "whole number" in answer["detail"]


@pytest.mark.parametrize("path", ["/v1/history?limit=", "/v1/drifts/picture?number="])
@pytest.mark.parametrize(
    "number",
    ["000000000001", "9" * 5_000, "00", "+1", " 1", "1_0", "\u0661", "%00", "\u00b2", "", "1.0", "0x1"],
)
def test_a_number_of_a_query_is_a_number_or_a_problem(client: Client, path: str, number: str) -> None:
    status, _, answer = client.send("GET", path + quote(number))
    assert status == 422 and "expected a whole number from" in answer["detail"]


@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
        ("POST", "/v1/predict", {"x": {"sky": "grey"}}, {"Origin": "http://["}),
        ("GET", "/v1/history", None, {"Host": "["}),
        ("GET", "/v1/history", None, {"Authorization": "Bearer \xff"}),
        ("POST", "/v1/labels", {"key": 1e30, "label": "yes"}, {}),
        ("POST", "/v1/labels", {"key": 10**30, "label": "yes"}, {}),
        ("POST", "/v1/labels", {"key": "d1", "label": 10**30}, {}),
        ("POST", "/v1/labels", {"key": "d1", "label": -(10**30), "new_label": True}, {}),
        ("POST", "/v1/labels", b'{"key": 1e999, "label": "yes"}', {}),
        ("POST", "/v1/labels", b'{"key": "\xff", "label": "yes"}', {}),
        ("POST", "/v1/labels", {"key": "d1", "label": "yes"}, {"Idempotency-Key": "x" * 300}),
        ("POST", "/v1/predict", {"x": {"wind": 10**400}}, {}),
        ("POST", "/v1/predict", {"x": {"sky": 10**30}}, {}),
        ("POST", "/v1/predict", b'{"x": {"sky": "\\ud800"}}', {}),
        ("POST", "/v1/explain", {"x": {"wind": 10**400, "sky": 10**30}}, {}),
        ("POST", "/v1/query", {"evidence": {"sky": 10**400}}, {}),
        ("POST", "/v1/learn?label=ham", b"\xff", {"Content-Type": "message/rfc822"}),
        ("GET", "/%00", None, {}),
        ("GET", "/" + "a" * 5_000, None, {}),
        ("GET", "/%ff%fe", None, {}),
        ("GET", "/v1/model?name=%00%ff", None, {}),
        ("GET", "/v1/history?key=%ff", None, {}),
        ("GET", "/v1/drifts/picture?number=0&graph=%00", None, {}),
    ],
)
def test_no_request_makes_the_service_fail(
    client: Client, method: str, path: str, body: Any, headers: dict[str, str]
) -> None:
    status, got, answer = client.send(method, path, body, **headers)
    assert status != 500, answer
    assert status < 300 or got["content-type"] == "application/problem+json"


def test_other_methods_and_paths_are_problems(client: Client) -> None:
    for method, path, expected in (("DELETE", "/v1/labels", 405), ("GET", "/etc/passwd", 404)):
        status, headers, answer = client.send(method, path, b"{}" if method == "DELETE" else None)
        assert status == expected and headers["content-type"] == "application/problem+json", answer
    assert client.send("GET", "/../../etc/passwd")[0] == 404


def test_a_body_of_100_mb_is_refused_by_its_header_and_by_its_size(client: Client) -> None:
    assert "at most 20,000 bytes" in client.refusal("/v1/predict", b" " * 20_001, 413)
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as line:
        line.sendall(request_of("Content-Length: 100000000"))
        assert b" 413 " in line.recv(100)
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as line:
        line.sendall(request_of("Transfer-Encoding: chunked"))
        line.sendall((b"2710\r\n" + b" " * 10_000 + b"\r\n") * 3)
        assert b" 413 " in line.recv(100)


def request_of(header: str) -> bytes:
    return (
        "POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        + header
        + "\r\n\r\n"
    ).encode()


def test_a_client_that_sends_its_body_slowly_is_cut_off(client: Client) -> None:
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as line:
        line.sendall(request_of("Content-Length: 1000") + b"{")
        start = time.monotonic()
        answer = line.recv(1000)
    assert b" 408 " in answer and time.monotonic() - start < 10


@pytest.mark.parametrize(
    ("path", "header", "length", "status"),
    [
        ("/v1/predict", "Host: evil.example", 15_000, b"421"),
        ("/v1/labels", "Host: localhost", 15_000, b"401"),
        ("/v1/predict", "Host: localhost", 25_000, b"413"),
    ],
)
def test_a_client_that_is_refused_while_it_sends_its_body_reads_why(
    client: Client, path: str, header: str, length: int, status: bytes
) -> None:
    head = f"POST {path} HTTP/1.1\r\n{header}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as line:
        line.sendall(head.encode())
        for _ in range(5):
            time.sleep(0.02)  # all told far less than the second for which a refused body is discarded
            line.sendall(b" " * (length // 5))
        answer = b""
        while more := line.recv(1 << 16):
            answer += more
    assert answer.split()[1] == status and b"application/problem+json" in answer


def test_one_address_cannot_send_without_end() -> None:
    statuses: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Response("alive")(scope, receive, send)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def request_often(guard: ASGIApp) -> None:
        scope = {"type": "http", "method": "GET", "path": "/v1/history", "headers": [(b"host", b"localhost")]}
        for address in ("10.0.0.1", "10.0.0.2"):
            for _ in range(21):
                await guard(scope | {"client": (address, 1)}, receive, send)

    asyncio.run(request_often(guarded(app, Door(ServiceLimits(max_requests=10)))))
    assert statuses == ([200] * 20 + [429]) * 2


def answer_of(app: Any, limits: ServiceLimits, **headers: str) -> tuple[int, Any]:
    """Return the status and body of the guard's answer to a read."""
    found: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        found.append(message)

    given = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/history",
        "headers": [(b"host", b"localhost"), *given],
    }

    async def request() -> None:
        await guarded(app, Door(limits))(scope, receive, send)

    asyncio.run(request())
    return found[0]["status"], found[1]["body"]


def test_a_fault_of_the_service_is_a_problem_without_a_trace(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError("a secret of the data")

    status, body = answer_of(app, ServiceLimits())
    assert status == 500 and json.loads(body)["type"] == "urn:stream-bayes:internal"
    assert b"secret" not in body and b"Traceback" not in body and b".py" not in body


def test_an_answer_that_takes_too_long_is_cut_off() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(30.0)

    status, body = answer_of(app, ServiceLimits(seconds=0.05))
    assert status == 503 and "longer than 0.05 s" in json.loads(body)["detail"]


def test_reads_need_the_token_for_reads_if_there_is_one() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Response("history")(scope, receive, send)

    limits = ServiceLimits(token=TOKEN, read_token="a token for all readers")
    for given in ({}, {"Authorization": "Bearer no"}):
        status, body = answer_of(app, limits, **given)
        assert status == 401 and b"history" not in body
    for token in ("a token for all readers", TOKEN):
        assert answer_of(app, limits, Authorization=f"Bearer {token}") == (200, b"history")


def test_the_service_is_off_and_at_the_loopback_unless_told_otherwise() -> None:
    from stream_bayes.streams.pipelines.config import parse_config

    assert parse_config(pipeline_text().replace("[serve]\nport = 0", "")).serve is None
    own = parse_config(pipeline_text()).serve
    assert own is not None and own.host == "127.0.0.1"


def test_bodies_that_arrive_together_take_bounded_memory() -> None:
    statuses: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Response("alive")(scope, receive, send)

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def request_together(guard: ASGIApp) -> None:
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/v1/predict", "headers": headers}
        arrived = asyncio.Event()

        def receiver() -> Receive:
            parts = iter((True, False))

            async def receive() -> Message:
                more = next(parts)
                if not more:
                    await arrived.wait()
                return {"type": "http.request", "body": b" " * 7_000_000 * more, "more_body": more}

            return receive

        tasks = [asyncio.ensure_future(guard(scope, receiver(), send)) for _ in range(12)]
        await asyncio.sleep(0.1)
        arrived.set()
        await asyncio.gather(*tasks)
        await guard(scope, receiver(), send)  # what has arrived counts no more

    asyncio.run(
        request_together(guarded(app, Door(ServiceLimits(), access=Access(computing=["/v1/predict"]))))
    )
    assert sorted(statuses[:12]) == [200] * 9 + [503] * 3 and statuses[12] == 200


def test_many_idle_connections_do_not_keep_others_out(client: Client) -> None:
    lines = [socket.create_connection(("127.0.0.1", client.port), timeout=60) for _ in range(300)]
    try:
        assert client.get("/livez") == b"alive\n"
    finally:
        for line in lines:
            line.close()


@pytest.mark.soak
def test_ten_thousand_connections_are_refused_and_the_stream_goes_on(
    weather: tuple[Engine, Client], tmp_path_factory: pytest.TempPathFactory
) -> None:
    engine, client = weather
    lines = []
    try:
        for _ in range(10_000):
            try:
                lines.append(socket.create_connection(("127.0.0.1", client.port), timeout=5))
            except OSError:  # no more files, or the backlog is full
                break
        refused = lines[-1].recv(1000)
        assert len(lines) > 2_000 and b" 503 " in refused and b"connections are open already" in refused
        assert engine.running
        end = time.monotonic() + 30.0
        while client.send("GET", "/livez")[0] != 200:  # until the idle ones are closed
            assert time.monotonic() < end
            time.sleep(0.5)
    finally:
        for line in lines:
            line.close()
    assert client.post("/v1/predict", {"x": {"sky": "grey"}})["prediction"] == "yes"


def test_tokens_too_short_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stream_bayes.errors import BadConfig
    from stream_bayes.streams.pipelines.config import parse_config

    monkeypatch.setenv("SHORT", "secret")
    with pytest.raises(BadConfig, match="at least 16 characters") as refused:
        parse_config(pipeline_text(serve='token = "${SHORT}"'))
    assert "secret" not in str(refused.value).replace("a secret is", "")
    with pytest.raises(BadConfig, match=r"\$\{NAME\}"):
        parse_config(pipeline_text(serve='token = "written here, in the file"'))


def test_without_a_token_there_are_no_writes(tmp_path: Path) -> None:
    write_days(tmp_path, 50)
    with running(tmp_path, pipeline_text(), None) as (_, client):
        assert "takes no writes" in client.refusal("/v1/labels", LABEL, 403)
        assert json.loads(json.dumps(client.get("/v1/model")))["writes"] is False
