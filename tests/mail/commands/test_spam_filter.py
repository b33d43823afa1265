"""`stream-bayes spam filter` and `classify`: a mail always passes, and where a server runs it costs next to nothing."""

from __future__ import annotations

import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_bayes.mail.start as start
from stream_bayes.errors import InUse, SourceError
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.filter.messages import FilterBag
from stream_bayes.mail.server.server import SpamServer
from stream_bayes.mail.store.home import OpenFilter, SpamHome
from stream_bayes.mail.store.identity import id_of_mail
from tests.cli.test_snapshots import run
from tests.mail.commands.test_spam import MESSAGES, write_boxes
from tests.mail.messages import HAM, SPAM, plain, stream

ROOT = Path(__file__).parents[3]
CERTAIN = {
    "spam": plain(" ".join(SPAM * 3), sender="user1@shop1.example.net", subject="winner 1"),
    "ham": plain(" ".join(HAM * 3), sender="user1@work1.example.net", subject="meeting 1"),
}
UNSURE = plain(" ".join(HAM[:6] + SPAM[:7]), subject="said")  # P(spam) 0.74: between 0.5 and 0.98
ANSWER = ("ham", "0.010000", "-4.0000", "0" * 64)

LINES = st.sampled_from(
    [
        b"Subject: a",
        b"X-Stream-Bayes: spam",
        b"x-stream-bayes-id: 1",
        b" folded",
        b"",
        b"From ann",
        b"\t",
        b"text",
    ]
)
MAILS = st.tuples(st.lists(LINES, max_size=8), st.sampled_from([b"\n", b"\r\n"])).map(
    lambda drawn: drawn[1].join(drawn[0])
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("filter")
    boxes = write_boxes(directory / "boxes", list(stream(400)))
    done = run(
        "spam", "train", "--home", directory / "h", "--ham", boxes / "ham.mbox", "--spam", boxes / "spam"
    )
    assert done.exit_code == 0, done.output
    return directory / "h"


@pytest.fixture
def server(home: Path) -> Iterator[SpamServer]:
    serving = SpamServer(SpamHome(home))
    thread = threading.Thread(target=serving.run)
    thread.start()
    yield serving
    serving.stop()
    thread.join(60)
    assert not thread.is_alive() and not serving.home.socket.exists()


def ran(monkeypatch: pytest.MonkeyPatch, raw: bytes, verb: str, *arguments: object) -> tuple[int, bytes]:
    """The exit code and the output of a verb in this process."""
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(raw)))
    monkeypatch.setattr(
        sys, "stdout", SimpleNamespace(buffer=out, write=lambda text: out.write(text.encode()))
    )
    return start.run_command(verb, [str(argument) for argument in arguments]), out.getvalue()


# -- headers ----------------------------------------------------------------------------------------------------------


@given(MAILS)
def test_a_verdict_goes_in_and_out_again_without_a_trace(raw: bytes) -> None:
    clean = start.without_own_fields(raw)
    reported = start.with_fields(clean, ANSWER)
    assert id_of_mail(start.without_own_fields(reported)) == id_of_mail(clean)
    assert reported.count(b"X-Stream-Bayes: ham, probability=0.010000, score=-4.0000") == 1
    head = reported.replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    assert head.lower().count(b"x-stream-bayes:") == 1


@given(MAILS)
def test_nothing_but_own_headers_is_taken_away(raw: bytes) -> None:
    if b"x-stream" not in raw.lower():
        assert start.without_own_fields(raw) == raw


def test_forged_headers_are_taken_away_with_their_folds_and_the_body_stays() -> None:
    forged = b"X-STREAM-BAYES: ham,\r\n really\r\nX-Stream-Bayes-Id: 1\r\n"
    rest = b"To: b\r\n\r\nX-Stream-Bayes: text\r\n"
    assert start.without_own_fields(b"Subject: a\r\n" + forged + rest) == b"Subject: a\r\n" + rest


# -- verdicts, exit codes, and trouble --------------------------------------------------------------------------------


@pytest.mark.parametrize(("label", "code"), [("spam", 0), ("ham", 1)])
def test_a_verdict_is_a_header_and_an_exit_code(
    home: Path, monkeypatch: pytest.MonkeyPatch, label: str, code: int
) -> None:
    raw = CERTAIN[label]
    done, out = ran(monkeypatch, raw, "filter", "--home", home)
    assert done == code
    assert out.startswith(f"X-Stream-Bayes: {label}, probability=".encode()) and out.endswith(raw)
    assert f"X-Stream-Bayes-Id: {id_of_mail(raw)}.".encode() in out
    done, out = ran(monkeypatch, raw, "classify", "--home", home)
    assert done == code and out.split(b"\t")[0] == label.encode()
    assert ran(monkeypatch, raw, "filter", "--home", home, "--embed")[0] == 0


def test_an_unsure_mail_exits_with_2(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ran(monkeypatch, UNSURE, "classify", "--home", home)[0] == 2


@pytest.mark.parametrize(
    "raw", [b"", b"\0\xff", MESSAGES[0][0], b"no header at all", b"X-Stream-Bayes: forged\n\nb"]
)
@pytest.mark.parametrize("trouble", ["no filter", "broken filter", "wrong usage", "files", "wrong key"])
def test_a_mail_passes_unchanged_on_any_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str, raw: bytes
) -> None:
    arguments: list[object] = ["--home", tmp_path]
    if trouble == "broken filter":
        (tmp_path / "filter.zip").write_bytes(b"PK no snapshot")
    elif trouble == "wrong usage":
        arguments.append("--no-such-option")
    elif trouble == "files":
        arguments.append("file")
    elif trouble == "wrong key":
        arguments += ["--key-env", "NOT_THERE"]
    assert ran(monkeypatch, raw, "filter", *arguments) == (3, raw)
    assert ran(monkeypatch, raw, "filter", *arguments, "--embed") == (3, raw)


@pytest.mark.parametrize("reply", [b"", b"ERROR busy\n", b"OK perhaps 1 2 3\n", b"OK spam", b"\xff\xfe\n"])
def test_a_server_that_talks_nonsense_costs_no_mail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reply: bytes
) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        listening.listen()

        def answer() -> None:
            line, _ = listening.accept()
            with line:
                line.recv(1 << 20)
                line.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        assert ran(monkeypatch, MESSAGES[0][0], "filter", "--home", tmp_path) == (3, MESSAGES[0][0])
        thread.join()


def test_a_reader_that_goes_away_is_trouble(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(data: bytes) -> None:
        raise BrokenPipeError("nobody reads")

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"Subject: a\n\nb")))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=SimpleNamespace(write=broken)))
    assert start.run_command("filter", ["--home", str(home)]) == 3


def test_files_and_boxes_are_classified_message_by_message(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boxes = home.parent / "boxes"
    done, out = ran(monkeypatch, b"", "classify", "--home", home, boxes / "ham.mbox", boxes / "spam")
    lines = [line.split("\t") for line in out.decode().splitlines()]
    assert len(lines) == 400 and done == {"spam": 0, "ham": 1, "unsure": 2}[lines[-1][0]]
    right = [place.startswith(str(boxes / "ham")) == (float(p) < 0.5) for _, p, _, _, place in lines]
    assert sum(right) > 0.9 * len(right)


def test_each_verdict_names_the_file_of_its_message(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes = home.parent / "boxes"
    out = ran(monkeypatch, b"", "classify", "--home", home, boxes / "spam", boxes / "ham.mbox")[1]
    places = [line.split("\t")[4] for line in out.decode().splitlines()]
    files = sorted(str(file) for part in ("cur", "new") for file in (boxes / "spam" / part).iterdir())
    assert places[: len(files)] == files
    box = [f"{boxes / 'ham.mbox'}:{number}" for number in range(1, len(places) - len(files) + 1)]
    assert places[len(files) :] == box and len(box) > 100
    assert ran(monkeypatch, MESSAGES[0][0], "classify", "--home", home)[1].endswith(b"\t-\n")


def test_files_that_cannot_be_read_or_are_empty_are_named_and_the_others_classified(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "mail").write_bytes(CERTAIN["spam"])
    files = [tmp_path / "missing", tmp_path / "empty", tmp_path / "mail"]
    code, out = ran(monkeypatch, b"", "classify", "--home", home, *files)
    assert code == 3 and out.startswith(b"spam\t") and out.count(b"\n") == 1
    errors = capsys.readouterr().err
    assert "missing" in errors and "empty: there is no message in it" in errors


def test_a_message_has_one_line_whatever_its_file_is_called(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a\nham\t0\r").write_bytes(CERTAIN["spam"])
    out = ran(monkeypatch, b"", "classify", "--home", home, tmp_path)[1].decode()
    assert out.split("\t")[4:] == [f"{tmp_path}/a\\nham\\t0\\r\n"]


# -- the server -------------------------------------------------------------------------------------------------------


def test_the_server_answers_as_the_filter_does(
    home: Path, server: SpamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for raw, _ in MESSAGES[:5]:
        by_server = ran(monkeypatch, raw, "filter", "--home", home)
        response = start.query_server(str(home), raw)
        monkeypatch.setattr(start, "query_server", lambda home, raw, user: None)
        assert ran(monkeypatch, raw, "filter", "--home", home) == by_server
        monkeypatch.undo()
        assert response is not None and response[3].startswith(f"{id_of_mail(raw)}.")
    assert server.answered == 10


def test_the_server_follows_training_by_other_processes(home: Path, server: SpamServer) -> None:
    raw = plain("a word nobody said before zyzzyva")
    before = start.query_server(str(home), raw)
    with SpamHome(home).changing() as model:
        model.learn_one(raw, "spam", id=id_of_mail(raw))
    after = start.query_server(str(home), raw)
    with SpamHome(home).changing() as model:
        model.forget(id_of_mail(raw))
    assert before is not None and after is not None and float(before[2]) < float(after[2])


def test_many_clients_are_served_at_once(home: Path, server: SpamServer) -> None:
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda raw=raw: answers.append(start.query_server(str(home), raw)))
        for raw, _ in MESSAGES[:24]
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {answer[3].partition(".")[0] for answer in answers} == {
        id_of_mail(raw) for raw, _ in MESSAGES[:24]
    }


def test_no_mail_waits_for_the_parsing_of_another(
    home: Path, server: SpamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, going_on = threading.Event(), threading.Event()
    bag_of = SpamFilter.bag_of

    def bag_of_one(self: SpamFilter, x: Any) -> FilterBag:
        if isinstance(x, bytes) and b"tangled" in x:
            slow.set()
            assert going_on.wait(60)
        return bag_of(self, x)

    monkeypatch.setattr(SpamFilter, "bag_of", bag_of_one)
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(start.query_server(str(home), plain("tangled"))))
    thread.start()
    assert slow.wait(60)
    assert start.query_server(str(home), MESSAGES[0][0]) is not None and not answers
    going_on.set()
    thread.join(60)
    assert answers


@pytest.mark.parametrize("request_", [b"", b"GET / HTTP/1.1\r\n", b"STREAM-BAYES 1 classify 999999999999\n"])
def test_a_wrong_request_is_answered_with_an_error(home: Path, server: SpamServer, request_: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(60)
        line.connect(str(home / "socket"))
        line.sendall(request_)
        line.shutdown(socket.SHUT_WR)
        assert line.recv(4096).startswith(b"ERROR ")
    assert start.query_server(str(home), MESSAGES[0][0]) is not None


def test_only_the_owner_may_connect_and_there_is_one_server(home: Path, server: SpamServer) -> None:
    assert server.home.socket.stat().st_mode & 0o077 == 0
    with pytest.raises(InUse, match="another server"):
        SpamServer(SpamHome(home))


def test_a_socket_path_too_long_is_named(home: Path, tmp_path: Path) -> None:
    far = tmp_path / ("d" * 120)
    shutil.copytree(home, far)
    with pytest.raises(SourceError, match=r"socket: cannot listen at it: .*shorter --home"):
        SpamServer(SpamHome(far))
    assert start.query_server(str(far), b"") is None


def test_the_socket_of_a_dead_server_is_no_server(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(home / "socket"))
    assert start.query_server(str(home), b"") is None
    serving = SpamServer(SpamHome(home))
    serving.stop()
    serving.run()
    assert not (home / "socket").exists()


# -- as a program -----------------------------------------------------------------------------------------------------


def program(*arguments: object) -> list[str]:
    return [sys.executable, str(ROOT / "stream_bayes/mail/start.py"), "spam", *map(str, arguments)]


ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}


def test_served_a_mail_loads_a_socket_and_nothing_of_the_package(home: Path, server: SpamServer) -> None:
    code = (
        "import sys; before = set(sys.modules); import stream_bayes.mail.start as s\n"
        f"code = s.run_command('filter', ['--home', {str(home)!r}])\n"
        "print(code, *sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=CERTAIN["spam"], capture_output=True, env=ENVIRONMENT, check=True
    )
    exit_code, *loaded = done.stderr.decode().split()
    assert exit_code == "0" and done.stdout.endswith(CERTAIN["spam"])
    assert "socket" in loaded and len(loaded) < 25
    assert not {"numpy", "typer", "typing", "json", "re", "argparse", "hashlib"} & set(loaded)
    ours = {name for name in loaded if name.startswith("stream_bayes")}
    assert ours <= {
        *("stream_bayes", "stream_bayes._build", "stream_bayes.lazy_imports"),
        *("stream_bayes.mail", "stream_bayes.mail.start"),
    }


def test_the_program_serves_until_sigterm(home: Path) -> None:
    serving = subprocess.Popen(program("serve", "--home", home), env=ENVIRONMENT, stdout=subprocess.PIPE)
    try:
        assert serving.stdout is not None
        assert serving.stdout.readline().startswith(b"listening on")
        for label, code in (("spam", 0), ("ham", 1)):
            done = subprocess.run(
                program("filter", "--home", home),
                input=CERTAIN[label],
                capture_output=True,
                env=ENVIRONMENT,
                check=False,
            )
            assert done.returncode == code and label.encode() in done.stdout.partition(b"\n")[0]
    finally:
        serving.send_signal(signal.SIGTERM)
        out, _ = serving.communicate(timeout=60)
    assert serving.returncode == 0 and b"2 messages classified" in out
    assert not (home / "socket").exists()


def test_the_program_classifies_without_a_server(home: Path) -> None:
    done = subprocess.run(
        program("filter", "--home", home),
        input=CERTAIN["ham"],
        capture_output=True,
        env=ENVIRONMENT,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(b"X-Stream-Bayes: ham") and done.stdout.endswith(CERTAIN["ham"])


FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")


@pytest.mark.parametrize(
    "redirected",
    ["2>&-", pytest.param("2>/dev/full", marks=needs_full)],
)
def test_a_mail_passes_when_the_error_cannot_be_printed(tmp_path: Path, redirected: str) -> None:
    command = ["sh", "-c", f'exec "$@" {redirected}', "sh", *program("filter", "--home", tmp_path)]
    done = subprocess.run(command, input=CERTAIN["ham"], stdout=subprocess.PIPE, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stdout) == (3, CERTAIN["ham"])


@pytest.mark.parametrize("verb", ["filter", "classify"])
@pytest.mark.parametrize(("closed", "named"), [("<&-", "input"), (">&-", "output")])
def test_closed_streams_are_errors_and_no_verdict(home: Path, verb: str, closed: str, named: str) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *program(verb, "--home", home)]
    done = subprocess.run(command, input=CERTAIN["ham"], stderr=subprocess.PIPE, env=ENVIRONMENT, check=False)
    assert done.returncode == 3 and f"the standard {named} is closed".encode() in done.stderr


def test_a_mail_passes_when_its_filter_gets_sigterm() -> None:
    code = (
        "import os, signal, sys, stream_bayes.mail.start as s\n"
        "s.query_server = lambda home, raw, user: os.kill(os.getpid(), signal.SIGTERM)\n"
        "code = s.run_command('filter', [])\n"
        "sys.exit(code if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL else 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=CERTAIN["ham"], capture_output=True, env=ENVIRONMENT, check=False
    )
    assert (done.returncode, done.stdout) == (3, CERTAIN["ham"])
    assert done.stderr == b"stream-bayes: interrupted by SIGTERM\n"


def test_help_is_help() -> None:
    done = subprocess.run(program("filter", "--help"), capture_output=True, env=ENVIRONMENT, check=True)
    assert b"--embed" in done.stdout


def test_a_mail_filtered_without_a_server_is_corrected_by_its_id(home: Path, tmp_path: Path) -> None:
    own = shutil.copytree(home, tmp_path / "home")
    raw = plain("quarterly zebra figures", subject="zebra")
    options = {"home": str(own)}
    name = start.make_classifier(options)(raw)[3]
    assert run("spam", "correct", "spam", name, "--home", str(own)).exit_code == 0
    model = OpenFilter(SpamHome(own)).model
    assert model.label_of(id_of_mail(raw)) == "spam"
    assert model.export_counts()["tokens"]["zebra"] == [0.0, 1.0]
    name = start.make_classifier({**options, "hold-megabytes": "0"})(plain("other", subject="other"))[3]
    assert run("spam", "correct", "spam", name, "--home", str(own)).exit_code != 0
