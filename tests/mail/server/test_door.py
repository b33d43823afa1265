"""The mail server's door: pages cannot teach it, bombs expand within bounds, and silent clients give way."""

from __future__ import annotations

import gc
import http.client
import json
import socket
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from stream_bayes.door import request_reading
from stream_bayes.door.connections import ConnectionLimits
from stream_bayes.errors import SourceError
from stream_bayes.mail.filter.verdict import Judgement
from stream_bayes.mail.server import listeners, milter
from stream_bayes.mail.server.filter_service import FilterService
from stream_bayes.mail.server.server import SpamServer, WebAccess
from stream_bayes.mail.start import MOST_TO_SERVER, without_fields
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.identity import id_of_mail
from tests.mail.server.conversations import (
    CERTAIN_HAM,
    CERTAIN_SPAM,
    TOKEN,
    MailServer,
    exchanged,
    over_http,
    serving,
    trained_home,
)
from tests.waiting import until

ANYWHERE = {"spamd": "127.0.0.1:0", "milter": "127.0.0.1:0", "http": "127.0.0.1:0"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_home(tmp_path_factory.mktemp("trained") / "home", 100).directory


@pytest.fixture
def server(home: SpamHome) -> Iterator[SpamServer]:
    with serving(home, ANYWHERE, may_learn=True) as running:
        yield running


def refusals(server: SpamServer) -> dict[str, int]:
    return {reason: count for each in server.refusals() for reason, count in each.counts.items()}


# -- HTTP -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": ""}, 415),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer no"}, 401),
    ],
)
@pytest.mark.parametrize("path", ["/learn/ham", "/correct/ham", "/forget"])
def test_no_page_and_nobody_without_the_token_teaches_the_filter(
    server: SpamServer, path: str, headers: dict[str, str], status: int
) -> None:
    before = over_http(server, "GET", "/ping")[1]
    sent, problem = over_http(server, "POST", path, CERTAIN_SPAM, **headers)
    assert sent == status and problem["type"].startswith("urn:stream-bayes:")
    assert over_http(server, "GET", "/ping")[1] == before and server.service.changed == 0


def test_a_name_of_another_host_reads_nothing(server: SpamServer) -> None:
    assert over_http(server, "GET", "/ping", Host="evil.example")[0] == 421
    assert over_http(server, "POST", "/judge", CERTAIN_SPAM, Host="evil.example:11340")[0] == 421
    assert over_http(server, "POST", "/judge", CERTAIN_SPAM, Content_Type="text/plain")[0] == 415


@pytest.mark.parametrize(
    "framing",
    [
        "Content-Length: abc",
        "Content-Length: 1_0",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: -1",
    ],
)
@pytest.mark.parametrize("method", ["POST /judge", "GET /ping"])
def test_a_request_with_a_doubtful_length_gets_one_answer(
    server: SpamServer, method: str, framing: str
) -> None:
    head = f"{method} HTTP/1.1\r\nHost: localhost\r\nContent-Type: message/rfc822\r\n{framing}\r\n\r\n"
    second = "GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = exchanged(server.addresses()["http"], (head + "0\r\n\r\n" + second).encode())
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"content-length: ") == 1


def test_without_a_token_nothing_is_learned_over_http(home: SpamHome) -> None:
    with serving(home, ANYWHERE, may_learn=True, web=WebAccess()) as server:
        status, problem = over_http(server, "POST", "/learn/ham", CERTAIN_SPAM)
        assert status == 403 and "--token-env" in problem["detail"]


def test_over_a_unix_socket_no_token_is_needed(home: SpamHome, tmp_path: Path) -> None:
    with serving(home, {"http": str(tmp_path / "http")}, web=WebAccess()):
        head = b"POST /learn/ham HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: message/rfc822\r\n"
        raw = head + b"Content-Length: %d\r\n\r\n" % len(CERTAIN_SPAM) + CERTAIN_SPAM
        assert b'{"outcome":"learned"}' in exchanged(str(tmp_path / "http"), raw)


def test_every_fault_over_http_is_a_problem_and_metrics_count_it(server: SpamServer) -> None:
    for path, body, status in (
        ("/learn/eggs", CERTAIN_SPAM, 404),
        ("/nowhere", CERTAIN_SPAM, 404),
        ("/forget", b"\xff", 422),
        ("/forget", {"id": "unknown"}, 404),
        ("/correct/ham", {"name": "x"}, 422),
    ):
        got, problem = over_http(server, "POST", path, body)
        assert got == status == problem["status"], problem
    assert over_http(server, "PUT", "/judge")[0] in (405, 415)
    over_http(server, "POST", "/learn/ham", CERTAIN_SPAM, Authorization="")
    line = http.client.HTTPConnection(server.addresses()["http"], timeout=60)
    line.request("GET", "/metrics")
    text = line.getresponse().read().decode()
    line.close()
    assert 'stream_bayes_refusals_total{port="http",reason="token"} 1.0' in text


# -- spamd ------------------------------------------------------------------------------------------------------------


def check(raw: bytes, *headers: str) -> bytes:
    lines = ["CHECK SPAMC/1.5", f"Content-length: {len(raw)}", *headers]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + raw


def peak_of(call: object, *arguments: object) -> int:
    """Return the most bytes of memory, over those at the start, while a function runs."""
    import tracemalloc

    gc.collect()
    tracemalloc.start()
    call(*arguments)  # type: ignore[operator]  # a callable
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def test_a_bomb_expands_no_further_than_the_largest_mail(server: SpamServer) -> None:
    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(128)) + packer.flush()
    assert len(bomb) < 140_000
    answers: list[bytes] = []

    def attack() -> None:
        threads = [
            threading.Thread(
                target=lambda: answers.append(
                    exchanged(server.addresses()["spamd"], check(bomb, "Compress: zlib"))
                )
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert peak_of(attack) < 60_000_000
    assert len(answers) == 4
    assert all(answer.split()[1] in (b"65", b"75") for answer in answers), answers
    assert exchanged(server.addresses()["spamd"], check(CERTAIN_SPAM)).startswith(b"SPAMD/1.1 0 EX_OK")
    assert sum(refusals(server).values()) == 4 and server.service.judged == 1


@pytest.mark.parametrize("broken", [lambda packed: packed[:-3], lambda packed: packed + b"more"])
def test_a_mail_that_was_cut_off_while_compressed_gets_no_verdict(server: SpamServer, broken: object) -> None:
    packed = broken(zlib.compress(CERTAIN_SPAM))  # type: ignore[operator]  # a callable
    answer = exchanged(server.addresses()["spamd"], check(packed, "Compress: zlib"))
    assert answer.startswith(b"SPAMD/1.1 65 EX_DATAERR") and b"Spam:" not in answer


@pytest.mark.parametrize("length", ["1_0", "\u0661", "+1", "-1", "00", "9" * 5000, str(MOST_TO_SERVER + 1)])
def test_a_length_that_is_no_number_is_refused(server: SpamServer, length: str) -> None:
    request = f"CHECK SPAMC/1.5\r\nContent-length: {length}\r\n\r\n0123456789".encode()
    assert exchanged(server.addresses()["spamd"], request).startswith(b"SPAMD/1.1 64 EX_USAGE")
    own = f"STREAM-BAYES 1 classify {length}\n0123456789".encode()
    assert exchanged(str(server.home.socket), own).startswith(b"ERROR")


@pytest.mark.parametrize("length", [str(MOST_TO_SERVER + 1), "+1"])
def test_a_client_that_is_refused_while_it_sends_reads_why(
    server: SpamServer, length: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        request_reading, "REST_SECONDS", 60.0
    )  # however long a busy machine takes for the rest
    host, _, port = server.addresses()["spamd"].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as line:
        line.sendall(f"CHECK SPAMC/1.5\r\nContent-length: {length}\r\n\r\n".encode())
        for _ in range(5):
            time.sleep(0.05)
            line.sendall(bytes(10_000))
        answer = b""
        while more := line.recv(1 << 16):
            answer += more
    assert answer.startswith(b"SPAMD/1.1 64 EX_USAGE")


def test_a_client_that_is_turned_away_while_it_sends_reads_why(
    home: SpamHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With one connection at most, which is answered only when all others have been turned away.
    monkeypatch.setattr(listeners, "LIMITS", ConnectionLimits(most=1, most_each=1, for_probes=0))
    monkeypatch.setattr(request_reading, "REST_SECONDS", 60.0)
    reached, released = threading.Event(), threading.Event()
    judge = FilterService.judge

    def judged_late(self: FilterService, raw: bytes, user: str | None = None) -> Judgement:
        reached.set()
        assert released.wait(30)
        return judge(self, raw, user)

    monkeypatch.setattr(FilterService, "judge", judged_late)
    with serving(home, ANYWHERE) as server, ExitStack() as around:
        host, _, port = server.addresses()["spamd"].rpartition(":")

        def connected() -> socket.socket:
            return around.enter_context(socket.create_connection((host, int(port)), timeout=60))

        first = connected()
        first.sendall(check(CERTAIN_SPAM))
        assert reached.wait(60)
        for _ in range(2):
            line = connected()
            for _ in range(3):
                line.sendall(bytes(10_000))
                time.sleep(0.02)
            answer = b""
            while more := line.recv(1 << 16):
                answer += more
            assert answer.startswith(b"SPAMD/1.1 75 EX_TEMPFAIL") and b"too many connections" in answer
        released.set()
        assert first.recv(1000).startswith(b"SPAMD/1.1 0 EX_OK")
        assert refusals(server)["too-many-connections"] == 2


def test_mails_in_flight_take_bounded_memory_and_honest_ones_wait_for_it(server: SpamServer) -> None:
    size = MOST_TO_SERVER - 1000
    with ExitStack() as around:
        for number in range(5):  # each holds what it has sent; one address gets half of the budget
            source = (f"127.0.0.{number + 10}", 0)
            host, _, port = server.addresses()["spamd"].rpartition(":")
            line = around.enter_context(socket.create_connection((host, int(port)), source_address=source))
            line.sendall(b"CHECK SPAMC/1.5\r\nContent-length: %d\r\n\r\n" % size + b"a" * 7_000_000)
        until("the mails in flight", lambda: server._memory.taken >= 30_000_000)
        assert server._memory.taken <= server._memory.most
    assert exchanged(server.addresses()["spamd"], check(CERTAIN_SPAM)).startswith(b"SPAMD/1.1 0 EX_OK")


def test_silent_clients_give_way_and_use_no_more_threads(
    home: SpamHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listeners, "LIMITS", ConnectionLimits(most=30, most_each=20, for_probes=0))
    before = threading.active_count()
    with serving(home, ANYWHERE) as server, ExitStack() as around:
        for protocol in ("spamd", "milter"):
            host, _, port = server.addresses()[protocol].rpartition(":")
            for _ in range(120):
                around.enter_context(socket.create_connection((host, int(port))))
        assert exchanged(server.addresses()["spamd"], check(CERTAIN_SPAM)).startswith(b"SPAMD/1.1 0 EX_OK")
        postfix = MailServer(server.addresses()["milter"], 0x1FFFFF)
        assert postfix.deliver(CERTAIN_SPAM)[-1] == (b"a", b"")
        postfix.close()
        assert threading.active_count() - before < 2 * 30 + 30


def test_a_client_that_sends_nothing_or_too_slowly_is_closed(
    home: SpamHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listeners, "BEGIN_SECONDS", 0.3)
    monkeypatch.setattr("stream_bayes.mail.server.spamd.SECONDS", 0.5)
    with serving(home, ANYWHERE) as server:
        for protocol, begun in (("spamd", b""), ("milter", b""), ("milter", b"\0\0"), ("spamd", b"CHE")):
            host, _, port = server.addresses()[protocol].rpartition(":")
            with socket.create_connection((host, int(port)), timeout=60) as line:
                line.sendall(begun)
                start = time.monotonic()
                while line.recv(1000):
                    pass
                assert time.monotonic() - start < 5.0
        assert refusals(server)["slow"] >= 2


# -- milter -----------------------------------------------------------------------------------------------------------


def test_headers_without_end_take_bounded_memory_and_the_mail_gets_its_verdict(server: SpamServer) -> None:
    postfix = MailServer(server.addresses()["milter"], 0x1FFFFF)
    head, _, _ = CERTAIN_SPAM.partition(b"\n\n")

    def attack() -> None:
        for field in head.split(b"\n"):
            name, _, value = field.partition(b":")
            postfix.send(b"L", name + b"\0" + value + b"\0")
        for number in range(200):
            postfix.send(b"L", b"X-%d\0" % number + b"a" * 1_000_000 + b"\0")
        for _ in range(40):
            postfix.send(b"B", b"b" * 1_000_000)
        postfix.send(b"E", b"")
        while postfix.receive()[0] != b"a":
            pass

    assert peak_of(attack) < 150_000_000
    assert refusals(server)["left-out"] == 1 and server.service.judged == 1
    postfix.close()


def test_a_mail_that_does_not_fit_into_memory_passes_without_forged_headers(server: SpamServer) -> None:
    server._memory.most = 100_000
    postfix = MailServer(server.addresses()["milter"], 0x1FFFFF)
    answers = postfix.deliver(b"X-Stream-Bayes: ham\nX-stream-bayes-id: 1\n" + CERTAIN_SPAM + b"a" * 200_000)
    assert [command for command, _ in answers] == [b"m", b"m", b"a"]
    assert refusals(server)["busy"] == 1
    postfix.close()


def test_more_forged_headers_than_can_be_removed_are_rejected(
    server: SpamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milter, "MAX_FORGED", 3)
    postfix = MailServer(server.addresses()["milter"], 0x1FFFFF)
    assert postfix.deliver(b"X-Stream-Bayes: ham\n" * 4 + CERTAIN_HAM)[0][0] == b"y"
    assert postfix.deliver(CERTAIN_HAM)[-1] == (b"a", b"")
    postfix.close()


def test_a_mail_of_headers_alone_takes_a_small_multiple_of_its_size() -> None:
    raw = (
        b"Subject: x\n"
        + b"A: b\n" * 80_000
        + b"To: c\n" * 10_000
        + b"X-Stream-Bayes: ham\n" * 5_000
        + b"\nbody"
    )

    def read() -> None:
        id_of_mail(without_fields(raw, (b"x-stream-bayes",)))

    assert peak_of(read) < 6 * len(raw)
    assert b"X-Stream-Bayes" not in without_fields(raw, (b"x-stream-bayes",))


# -- sockets ----------------------------------------------------------------------------------------------------------


def test_a_file_where_a_socket_should_be_is_never_deleted(home: SpamHome, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("precious")
    with pytest.raises(SourceError, match="expected no file there, or the socket of a server"):
        SpamServer(home, {"spamd": str(notes)})
    assert notes.read_text() == "precious"


def test_a_socket_that_took_the_path_of_this_one_stays_when_this_one_ends(
    home: SpamHome, tmp_path: Path
) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as other, serving(home, {"spamd": str(path)}) as server:
        assert exchanged(str(path), check(CERTAIN_SPAM)).startswith(b"SPAMD/1.1 0 EX_OK")
        path.unlink()
        other.bind(str(path))
        assert server.answered == 1
    assert path.is_socket()
    with serving(home, {"spamd": str(path)}):  # the one that died there is replaced
        assert exchanged(str(path), check(CERTAIN_SPAM)).startswith(b"SPAMD/1.1 0 EX_OK")
    assert not path.exists()


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_every_protocol_takes_addresses_of_ipv6(home: SpamHome) -> None:
    with serving(home, dict.fromkeys(ANYWHERE, "[::1]:0")) as server:
        assert all(server.addresses()[name].startswith("[::1]:") for name in ANYWHERE)
        assert exchanged(server.addresses()["spamd"], check(CERTAIN_SPAM)).startswith(b"SPAMD/1.1 0 EX_OK")
        postfix = MailServer(server.addresses()["milter"], 0x1FFFFF)
        assert postfix.deliver(CERTAIN_SPAM)[-1] == (b"a", b"")
        postfix.close()
        assert over_http(server, "GET", "/ping")[0] == 200


def test_packets_of_any_bytes_end_in_an_answer_or_the_end(server: SpamServer) -> None:
    for data in (
        b"",
        b"\xff" * 100,
        struct.pack(">I", 0),
        struct.pack(">I", 3) + b"O\0\0",
        struct.pack(">I", 1) + b"L",
    ):
        exchanged(server.addresses()["milter"], data)
    assert json.dumps(TOKEN) not in str(refusals(server))
    assert exchanged(server.addresses()["spamd"], check(CERTAIN_SPAM)).startswith(b"SPAMD/1.1 0 EX_OK")
