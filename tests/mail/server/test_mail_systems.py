"""The server in mail systems: spamc, a milter's mail server, HTTP, and systemd, by protocol and by program."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stream_bayes.errors import BadValue, InUse, SourceError
from stream_bayes.mail.server.server import PROTOCOLS, SpamServer, WebAccess
from stream_bayes.mail.start import without_own_fields
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.identity import id_of_mail
from tests.mail.messages import plain
from tests.mail.server.conversations import (
    CERTAIN_HAM,
    CERTAIN_SPAM,
    MailServer,
    exchanged,
    over_http,
    serving,
    trained_home,
)

ROOT = Path(__file__).parents[3]
SPAMC = shutil.which("spamc")
needs_spamc = pytest.mark.skipif(SPAMC is None, reason="spamc is not installed")
ANYWHERE = {"spamd": "127.0.0.1:0", "milter": "127.0.0.1:0", "http": "127.0.0.1:0"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_home(tmp_path_factory.mktemp("trained") / "home").directory


@pytest.fixture
def server(home: SpamHome) -> Iterator[SpamServer]:
    with serving(home, ANYWHERE, may_learn=True) as running:
        yield running


def request(verb: str, raw: bytes = b"", *headers: str) -> bytes:
    lines = [f"{verb} SPAMC/1.5", f"Content-length: {len(raw)}", *headers]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + raw


# -- spamd ------------------------------------------------------------------------------------------------------------


def asked(server: SpamServer, data: bytes) -> tuple[str, dict[str, str], bytes]:
    """The first line of the response, its headers and its body, whose length must be right."""
    head, _, body = exchanged(server.addresses()["spamd"], data).partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    assert int(headers.get("Content-length", "0")) == len(body)
    return first, headers, body


@pytest.mark.parametrize(("raw", "is_spam"), [(CERTAIN_SPAM, True), (CERTAIN_HAM, False)])
def test_spamd_checks_reports_and_processes_a_mail(server: SpamServer, raw: bytes, is_spam: bool) -> None:
    first, headers, body = asked(server, request("CHECK", raw))
    assert (first, body) == ("SPAMD/1.1 0 EX_OK", b"")
    verdict, _, numbers = headers["Spam"].partition(" ; ")
    score, threshold = map(float, numbers.split(" / "))
    assert verdict == str(is_spam) and (score >= threshold) == is_spam
    assert asked(server, request("SYMBOLS", raw))[2].startswith(
        b"STREAM_BAYES_SPAM," if is_spam else b"STREAM_BAYES_HAM,"
    )
    assert b"probability of spam" in asked(server, request("REPORT", raw))[2]
    assert bool(asked(server, request("REPORT_IFSPAM", raw))[2]) == is_spam
    forged = b"X-Spam-Flag: NO\nX-Stream-Bayes: ham\n" + raw
    body = asked(server, request("PROCESS", forged))[2]
    assert body.endswith(raw) and body.count(b"X-Stream-Bayes: ") == 1
    assert body.startswith(b"X-Stream-Bayes: spam," if is_spam else b"X-Stream-Bayes: ham,")
    assert (b"X-Spam-Flag: YES\n" in body) == is_spam and b"X-Spam-Flag: NO" not in body
    assert asked(server, request("HEADERS", forged))[2] == body.partition(b"\n\n")[0] + b"\n\n"
    packed = zlib.compress(raw)
    assert asked(server, request("CHECK", packed, "Compress: zlib"))[1] == headers | {"Content-length": "0"}


def test_spamd_learns_corrects_and_forgets(server: SpamServer) -> None:
    raw = plain("quetzal")

    def label() -> Any:
        return server.home.load().label_of(id_of_mail(raw))

    for given in ("spam", "ham"):
        tell = request("TELL", raw, f"Message-class: {given}", "Set: local")
        assert asked(server, tell)[1]["DidSet"] == "local" and label() == given
        assert "DidSet" not in asked(server, tell)[1]
    forget = request("TELL", raw, "Remove: local")
    assert asked(server, forget)[1]["DidRemove"] == "local" and label() is None
    assert "Spam" in asked(server, request("CHECK", raw))[1]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"PING SPAMC/1.2\r\n\r\n", "SPAMD/1.5 0 PONG"),
        (b"GET / HTTP/1.1\r\n\r\n", "SPAMD/1.1 64 EX_USAGE"),
        (request("DANCE"), "SPAMD/1.1 64 EX_USAGE"),
        (b"CHECK SPAMC/1.5\r\nContent-length: 10\r\n\r\nshort", "SPAMD/1.1 65 EX_DATAERR"),
        (b"CHECK SPAMC/1.5\r\nContent-length: x\r\n\r\n", "SPAMD/1.1 64 EX_USAGE"),
        (request("CHECK", b"no zlib", "Compress: zlib"), "SPAMD/1.1 65 EX_DATAERR"),
        (request("TELL", b"a: b\n\nc", "Set: local", "Message-class: eggs"), "SPAMD/1.1 64 EX_USAGE"),
        (request("TELL", b"a: b\n\nc", "Set: remote", "Message-class: spam"), "SPAMD/1.1 64 EX_USAGE"),
    ],
)
def test_spamd_names_what_is_wrong_with_a_request(server: SpamServer, data: bytes, code: str) -> None:
    assert exchanged(server.addresses()["spamd"], data).decode().split("\r\n")[0] == code
    assert server.home.load().clock == 400


def test_nobody_teaches_over_tcp_unless_allowed(
    home: SpamHome, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tell = request("TELL", CERTAIN_HAM, "Message-class: spam", "Set: local")
    listen = {"spamd": "127.0.0.1:0", "http": "127.0.0.1:0"}
    with serving(home, listen, web=WebAccess()) as server:
        for _ in range(2):
            assert asked(server, tell)[0] == "SPAMD/1.1 69 EX_UNAVAILABLE"
        assert server.service.refused == 2 and caplog.text.count("--allow-learn") == 1
        assert over_http(server, "POST", "/learn/spam", CERTAIN_HAM)[0] == 403
    with serving(home, {"spamd": str(tmp_path / "spamd")}) as server:
        assert (tmp_path / "spamd").stat().st_mode & 0o077 == 0
        assert asked(server, tell)[1]["DidSet"] == "local"
    assert not (tmp_path / "spamd").exists()


def spamc(server: SpamServer, raw: bytes, *arguments: str) -> tuple[int, bytes]:
    """The exit code and the output of the program."""
    assert SPAMC is not None
    host, _, port = server.addresses()["spamd"].rpartition(":")
    command = [SPAMC, "-F", os.devnull, "-d", host, "-p", port, "-x", *arguments]
    done = subprocess.run(command, input=raw, capture_output=True, check=False, timeout=60)
    return done.returncode, done.stdout


@needs_spamc
def test_the_program_spamc_works_unchanged(server: SpamServer) -> None:
    code, out = spamc(server, CERTAIN_SPAM, "-c")
    score, threshold = map(float, out.split(b"/"))
    assert code == 1 and score >= threshold
    assert spamc(server, CERTAIN_HAM, "-c")[0] == 0
    code, out = spamc(server, CERTAIN_SPAM)
    assert code == 0 and out.startswith(b"X-Stream-Bayes: spam,") and out.endswith(CERTAIN_SPAM)
    assert spamc(server, CERTAIN_SPAM, "--headers")[1] == out
    assert spamc(server, CERTAIN_HAM, "-y")[1].startswith(b"STREAM_BAYES_HAM")
    assert b"probability of spam" in spamc(server, CERTAIN_SPAM, "-r")[1]
    assert spamc(server, b"", "-K")[0] == 0
    raw = plain("quetzal")
    for label in ("spam", "ham"):
        assert b"successfully un/learned" in spamc(server, raw, "-L", label)[1]
        assert server.home.load().label_of(id_of_mail(raw)) == label
    assert b"already un/learned" in spamc(server, raw, "-L", "ham")[1]
    assert b"successfully un/learned" in spamc(server, raw, "-L", "forget")[1]
    assert server.home.load().label_of(id_of_mail(raw)) is None


# -- milter -----------------------------------------------------------------------------------------------------------


def applied(raw: bytes, answers: list[tuple[bytes, bytes]], steps: int = 0) -> bytes:
    """A mail after the changes that a milter answers, as a mail server makes them after agreeing on steps."""
    colon = b":" if steps & 0x100000 else b": "  # the space is a part of the value, or the mail server's
    head, _, body = raw.partition(b"\n\n")
    fields = [field.replace(b"\x01", b"\n") for field in head.replace(b"\n ", b"\x01 ").split(b"\n")]
    for command, data in answers:
        if command == b"i":
            name, value, _ = data[4:].split(b"\0")
            fields.insert(struct.unpack(">I", data[:4])[0], name + colon + value)
        elif command == b"m":
            name, value, _ = data[4:].split(b"\0")
            same = [
                place for place, field in enumerate(fields) if field.lower().startswith(name.lower() + b":")
            ]
            assert value == b""
            del fields[same[struct.unpack(">I", data[:4])[0] - 1]]
    return b"\n".join(fields) + b"\n\n" + body


@pytest.mark.parametrize("steps", [0x1FFFFF, 0, 0x80 | 0x100000])
def test_a_milter_marks_each_mail_and_removes_forged_headers(server: SpamServer, steps: int) -> None:
    postfix = MailServer(server.addresses()["milter"], steps)
    assert postfix.steps & ~steps == 0
    forged = b"X-Stream-Bayes: ham,\n really\nTo: x\nX-Stream-Bayes: ham\nX-Stream-Bayes-Id: 1\n"
    for raw, label in ((CERTAIN_SPAM, b"spam"), (CERTAIN_HAM, b"ham"), (CERTAIN_SPAM, b"spam")):
        answers = postfix.deliver(forged + raw)
        assert answers[-1] == (b"a", b"")
        marked = applied(forged + raw, answers, postfix.steps)
        assert marked.startswith(b"X-Stream-Bayes: " + label) and marked.count(b"X-Stream-Bayes") == 2
        assert without_own_fields(marked) == b"To: x\n" + raw
        assert b"X-Stream-Bayes-Id: " + id_of_mail(b"To: x\n" + raw).encode() in marked
    postfix.send(b"A")  # after a mail that was aborted another begins anew
    assert applied(CERTAIN_HAM, postfix.deliver(CERTAIN_HAM), postfix.steps).startswith(
        b"X-Stream-Bayes: ham"
    )
    postfix.close()


@pytest.mark.parametrize(("on_spam", "expected"), [("reject", b"y"), ("quarantine", b"q")])
def test_a_milter_rejects_or_quarantines_spam_and_nothing_else(
    home: SpamHome, on_spam: str, expected: bytes
) -> None:
    with serving(home, {"milter": "127.0.0.1:0"}, on_spam=on_spam) as server:
        postfix = MailServer(server.addresses()["milter"], 0x1FFFFF)
        assert expected in [command for command, _ in postfix.deliver(CERTAIN_SPAM)]
        assert expected not in [command for command, _ in postfix.deliver(CERTAIN_HAM)]
        postfix.close()


def test_a_milter_accepts_a_mail_that_it_cannot_judge(server: SpamServer) -> None:
    postfix = MailServer(server.addresses()["milter"], 0x1FFFFF)
    (server.home.directory / "filter.zip").write_bytes(b"PK broken")
    assert postfix.deliver(CERTAIN_SPAM) == [(b"a", b"")]
    postfix.close()


# -- HTTP -------------------------------------------------------------------------------------------------------------


def test_scores_and_probabilities_come_over_http(server: SpamServer) -> None:
    status, found = over_http(server, "POST", "/judge", CERTAIN_SPAM)
    assert status == 200 and found["verdict"] == "spam" and found["probability"] >= found["threshold"] > 0.9
    assert over_http(server, "POST", "/correct/ham", {"id": found["id"]}) == (200, {"outcome": "learned"})
    assert over_http(server, "POST", "/learn/spam", CERTAIN_SPAM) == (200, {"outcome": "corrected"})
    assert over_http(server, "POST", "/forget", {"id": found["id"]}) == (200, {"outcome": "forgotten"})
    assert over_http(server, "POST", "/forget", {"id": "unknown"})[0] == 404
    assert over_http(server, "POST", "/learn/eggs", b"a")[0] == 404
    assert over_http(server, "GET", "/ping") == (200, {"judged": 1, "changed": 3})
    assert server.home.load().label_of(id_of_mail(CERTAIN_SPAM)) is None


# -- sockets ----------------------------------------------------------------------------------------------------------


def test_addresses_that_cannot_be_are_named(home: SpamHome) -> None:
    for address in ("here", "127.0.0.1:99999", "127.0.0.1:"):
        with pytest.raises(BadValue, match=r"--spamd .*: expected PORT, HOST:PORT or the path"):
            SpamServer(home, {"spamd": address})
    with pytest.raises(SourceError, match=r"--spamd 192\.0\.2\.1:7: cannot listen"):
        SpamServer(home, {"spamd": "192.0.2.1:7"})
    assert not home.socket.exists()
    with pytest.raises(BadValue, match="mark, quarantine, reject"):
        SpamServer(home, on_spam="burn")
    with serving(home, {}), pytest.raises(InUse, match="another server"):
        SpamServer(home)


def test_systemd_passes_its_sockets_by_name(home: SpamHome, tmp_path: Path) -> None:
    paths = {name: tmp_path / name for name in ("socket", "spamd")}
    opened = []
    for path in paths.values():
        opened.append(socket.socket(socket.AF_UNIX))
        opened[-1].bind(str(path))
    # What systemd does between fork and exec: descriptors from 3 on, and the process's own id.
    code = (
        "import os, sys\n"
        f"descriptors = {[each.fileno() for each in opened]!r}\n"
        "moved = [os.dup(each) for each in descriptors]\n"
        "for place, each in enumerate(moved): os.dup2(each, 3 + place)\n"
        "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='2', LISTEN_FDNAMES='socket:spamd')\n"
        "from stream_bayes.mail.start import main\n"
        f"main(['spam', 'serve', '--home', {str(home.directory)!r}])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        pass_fds=[each.fileno() for each in opened],
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None and process.stdout.readline().startswith(b"listening on")
        assert exchanged(str(paths["spamd"]), request("CHECK", CERTAIN_SPAM)).startswith(b"SPAMD/1.1 0 EX_OK")
        raw = b"STREAM-BAYES 1 classify %d\n%b" % (len(CERTAIN_SPAM), CERTAIN_SPAM)
        assert exchanged(str(paths["socket"]), raw).startswith(b"OK spam")
    finally:
        process.terminate()
        process.communicate(timeout=60)
        for each in opened:
            each.close()
    assert process.returncode == 0


# -- the examples -----------------------------------------------------------------------------------------------------

MAIL_EXAMPLES = ROOT / "examples" / "mail"


def test_the_units_name_sockets_that_the_server_takes() -> None:
    service = (MAIL_EXAMPLES / "stream-bayes-spam.service").read_text()
    sockets = sorted(MAIL_EXAMPLES.glob("*.socket"))
    assert len(sockets) == 3
    for path in sockets:
        assert path.name in service
        lines = dict(
            line.split("=", 1) for line in path.read_text().splitlines() if "=" in line and line[0] != "#"
        )
        assert lines["FileDescriptorName"] in ("socket", *PROTOCOLS)
        assert lines["Service"] == "stream-bayes-spam.service"


@needs_spamc
def test_the_script_that_dovecot_pipes_mails_to_learns_them(server: SpamServer) -> None:
    port = server.addresses()["spamd"].rpartition(":")[2]
    raw = plain("quetzal")
    command = [str(MAIL_EXAMPLES / "stream-bayes-learn"), "spam"]
    for label in ("spam", "ham"):
        command[-1] = label
        subprocess.run(command, input=raw, env=os.environ | {"SPAMD_PORT": port}, check=True, timeout=60)
        assert server.home.load().label_of(id_of_mail(raw)) == label
    assert subprocess.run([command[0], "eggs"], input=raw, check=False, capture_output=True).returncode == 64
