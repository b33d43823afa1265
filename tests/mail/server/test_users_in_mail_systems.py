"""Users in the protocols of mail systems and on the command line, and the memory of a thousand of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import stream_bayes.mail.start as start
from stream_bayes.mail.server.server import ServedUsers, SpamServer
from stream_bayes.mail.store.home import SpamHome
from tests.cli.test_snapshots import run
from tests.mail.messages import plain
from tests.mail.server.conversations import (
    CERTAIN_SPAM,
    MailServer,
    exchanged,
    over_http,
    serving,
    trained_home,
)

ROOT = Path(__file__).parents[3]
ANYWHERE = {"spamd": "127.0.0.1:0", "milter": "127.0.0.1:0", "http": "127.0.0.1:0"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_home(tmp_path_factory.mktemp("trained") / "home", 200).directory


def spamd(server: SpamServer, verb: str, *headers: str, raw: bytes = CERTAIN_SPAM) -> str:
    lines = [f"{verb} SPAMC/1.5", f"Content-length: {len(raw)}", *headers]
    data = "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + raw
    return exchanged(server.addresses()["spamd"], data).decode()


def score_of(answer: str) -> float:
    found = re.search(r"; (-?[0-9.]+) /", answer)
    assert found is not None, answer
    return float(found[1])


def posted(
    server: SpamServer, path: str, body: bytes | dict[str, str], user: str | None = None
) -> tuple[int, Any]:
    return over_http(server, "POST", path, body, **({} if user is None else {"User": user}))


HAM = ("Message-class: ham", "Set: local")


def test_spamd_and_http_use_the_filter_of_the_user_that_is_named(home: SpamHome) -> None:
    with serving(home, ANYWHERE, may_learn=True, users=ServedUsers()) as server:
        common = spamd(server, "CHECK")
        assert "DidSet: local" in spamd(server, "TELL", "User: ann", *HAM)
        assert "DidSet: local" not in spamd(server, "TELL", "User: ann", *HAM)
        assert spamd(server, "CHECK") == spamd(server, "CHECK", "User: bob") == common
        assert score_of(spamd(server, "CHECK", "User: ann")) < score_of(common) - 1
        assert "SPAMD/1.1 67 EX_NOUSER" in spamd(server, "CHECK", "User: ../ann")
        status, judged = posted(server, "/judge", CERTAIN_SPAM)
        assert status == 200 and judged == posted(server, "/judge", CERTAIN_SPAM, "bob")[1]
        own = posted(server, "/judge?user=ann", CERTAIN_SPAM)[1]
        assert own == posted(server, "/judge", CERTAIN_SPAM, "ann")[1] and own["score"] < judged["score"]
        assert posted(server, "/correct/spam?user=ann", {"id": own["id"]}) == (200, {"outcome": "corrected"})
        assert posted(server, "/forget", {"id": own["id"]}, "ann") == (200, {"outcome": "forgotten"})
        assert posted(server, "/judge", CERTAIN_SPAM, "ann")[1] == judged
        assert posted(server, "/learn/ham", CERTAIN_SPAM, "bob")[1] == {"outcome": "learned"}
        assert posted(server, "/judge", CERTAIN_SPAM, "a/b")[0] == 422
        assert server.service._opened.following == 0, "the site learned nothing"


@pytest.mark.skipif(shutil.which("spamc") is None, reason="spamc is not installed")
def test_the_script_of_dovecot_teaches_the_filter_of_the_user_that_is_named(home: SpamHome) -> None:
    with serving(home, ANYWHERE, may_learn=True, users=ServedUsers()) as server:
        port = server.addresses()["spamd"].rpartition(":")[2]
        script = [str(ROOT / "examples" / "mail" / "stream-bayes-learn"), "ham", "ann"]
        subprocess.run(
            script, input=CERTAIN_SPAM, env=os.environ | {"SPAMD_PORT": port}, check=True, timeout=60
        )
        judged = {user: posted(server, "/judge", CERTAIN_SPAM, user)[1]["score"] for user in (None, "ann")}
        assert judged["ann"] < judged[None]
        assert server.service._opened.following == 0, "the site learned nothing"


def test_without_users_a_server_ignores_who_is_named(home: SpamHome) -> None:
    with serving(home, ANYWHERE, may_learn=True) as server:
        assert "DidSet: local" in spamd(server, "TELL", "User: root", *HAM)
        assert not (home.directory / "users").exists() and server.service._opened.following == 1
        assert posted(server, "/judge", CERTAIN_SPAM, "a/b")[0] == 200


def test_a_milter_judges_for_the_recipient_and_by_the_site_for_several(home: SpamHome) -> None:
    def score(answers: list[tuple[bytes, bytes]]) -> float:
        found = re.search(rb"score=(-?[0-9.]+)", b" ".join(data for _, data in answers))
        assert found is not None
        return float(found[1])

    with serving(home, ANYWHERE, users=ServedUsers(with_domain=False)) as server:
        server.service.learn(CERTAIN_SPAM, "ham", "bob")
        for steps in (0x1FFFFF, 0):  # declined and silent steps as Postfix offers them, and a server without
            line = MailServer(server.addresses()["milter"], steps)
            common = score(line.deliver(CERTAIN_SPAM, [b"eve@example.org"]))
            assert score(line.deliver(CERTAIN_SPAM, [b"Bob+list@example.org"])) < common - 1
            assert score(line.deliver(CERTAIN_SPAM, [b"bob@example.org", b"eve@example.org"])) == common
            assert score(line.deliver(CERTAIN_SPAM, [b"bob@example.org", b"bob+x@example.org"])) < common - 1
            assert score(line.deliver(CERTAIN_SPAM, [b'"../x"@example.org'])) == common
            line.close()


@pytest.mark.skipif(shutil.which("spamc") is None, reason="spamc is not installed")
def test_spamc_learns_and_judges_for_its_user(home: SpamHome) -> None:
    def spamc(*words: str) -> str:
        host, _, port = server.addresses()["spamd"].rpartition(":")
        found = subprocess.run(
            ["spamc", "-d", host, "-p", port, *words], input=CERTAIN_SPAM, capture_output=True, timeout=60
        )
        return found.stdout.decode()

    with serving(home, ANYWHERE, may_learn=True, users=ServedUsers()) as server:
        before = spamc("-u", "ann", "-c")
        assert "successfully un/learned" in spamc("-u", "ann", "-L", "ham")
        assert spamc("-u", "ann", "-c") != before == spamc("-u", "bob", "-c")


def started(
    monkeypatch: pytest.MonkeyPatch, home: SpamHome, *words: str, raw: bytes = b""
) -> tuple[Any, str]:
    """The exit code and the output of a command that uses the server."""
    out = BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=out))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(read=lambda: raw, isatty=bool)))
    monkeypatch.setenv("STREAM_BAYES_SPAM", str(home.directory))
    verb, *others = words
    act = start.run_command if verb in ("classify", "filter") else start.change_on_server
    code = act(verb, list(others))
    monkeypatch.undo()
    return code, out.getvalue().decode()


def test_commands_for_a_user_do_the_same_through_the_server_and_without(
    home: SpamHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail = tmp_path / "mail"
    mail.write_bytes(CERTAIN_SPAM)
    shutil.copytree(home.directory, tmp_path / "other")
    answers: list[list[str]] = []
    with serving(home, {}):
        answers.append(
            [
                started(monkeypatch, home, *words)[1]
                for words in (
                    ("learn", "ham", "-u", "ann", str(mail)),
                    ("classify", "--user=ann", str(mail)),
                    ("classify", str(mail)),
                    ("forget", "--user", "ann", "--mail", str(mail)),
                    ("learn", "ham", "-u", "bob", str(mail)),
                    ("forget-user", "bob"),
                )
            ]
        )
        assert started(monkeypatch, home, "forget-user", "bob")[0] == start.ERROR
        assert started(monkeypatch, home, "classify", "-u", "a/b", str(mail))[0] == start.ERROR
        marked = started(monkeypatch, home, "filter", "-u", "ann", raw=CERTAIN_SPAM)[1].encode()
        assert marked.endswith(CERTAIN_SPAM) and marked.startswith(b"X-Stream-Bayes: ")
    alone = SpamHome(tmp_path / "other")
    at = ("--home", alone.directory)
    answers.append([])
    for words in (("learn", "ham", "-u", "ann", mail), ("forget", "--mail", "-u", "ann", mail)):
        answers[1].append(run("spam", *words, *at).output)
        for name in ("ann", None) if words[0] == "learn" else ():
            options = ["--home", str(alone.directory), str(mail), *(["-u", name] if name else [])]
            answers[1].append(started(monkeypatch, alone, "classify", *options)[1])
    answers[1] += [
        run("spam", *words, *at).output
        for words in (("learn", "ham", "-u", "bob", mail), ("forget-user", "bob"))
    ]
    assert answers[0] == answers[1]
    assert answers[0][1].split()[2] != answers[0][2].split()[2], "the user's score is another one"


def test_users_are_trained_explained_tuned_and_listed(home: SpamHome, tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number % 2}").mkdir(exist_ok=True)
        (tmp_path / f"{number % 2}" / str(number)).write_bytes(plain(f"quetzal{number}"))
    at = ("--home", home.directory)
    site = home.load().state()["checksum"]
    assert "no user has a filter" in run("spam", "users", *at).output
    trained = run("spam", "train", "-u", "ann", "--ham", tmp_path / "0", "--spam", tmp_path / "1", *at)
    assert "6 messages learned" in trained.output, trained.output
    listed = json.loads(run("spam", "users", "--json", *at).output)["users"]
    assert [(row["user"], row["ham"], row["spam"]) for row in listed] == [("ann", 3, 3)]
    assert listed[0]["tokens"] > 6 and listed[0]["bytes"] > 1000
    assert "ann" in run("spam", "users", *at).output
    assert "quetzal1" in run("spam", "explain", "-u", "ann", tmp_path / "1" / "1", *at).output
    assert "quetzal1" not in run("spam", "explain", "-u", "bob", tmp_path / "1" / "1", *at).output
    assert json.loads(run("spam", "stats", "-u", "ann", "--json", *at).output)["messages_learned"] == 6
    assert run("spam", "stats", "-u", "bob", *at).exit_code == 4
    tuned = json.loads(run("spam", "tune", "-u", "ann", "--profile", "tag", "--json", *at).output)
    assert tuned["spam_from"] == pytest.approx(0.9)
    assert json.loads(run("spam", "stats", "--json", *at).output)["spam_threshold"] > 0.98
    for words in (
        ("train", "-u", "../x", "--ham", tmp_path / "0"),
        ("train", "-u", "ann", "--pairs", "--ham", tmp_path / "0"),
    ):
        refused = run("spam", *words, *at)
        assert refused.exit_code == 3, refused.output
    assert home.load().state()["checksum"] == site
    assert run("spam", "serve", "--teach-site", *at).exit_code == 3


SERVED = """
import re, sys
from pathlib import Path
from stream_bayes.mail.server.filter_service import FilterService
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.users import Quota
from tests.mail.messages import stream

users, each, megabytes = map(int, sys.argv[2:])
service = FilterService(SpamHome(Path(sys.argv[1])), quota=Quota(open_bytes=megabytes << 20))
mails = list(stream(each, seed=9))
for number in range(users):
    for raw, label in mails:
        service.learn(raw.replace(b"word", b"user%d" % number), label, f"user{number}")
for number in range(0, users, 7):
    assert service.judge(mails[0][0], f"user{number}").id
assert service._users.open_bytes <= megabytes << 20
status = Path("/proc/self/status").read_text()
print(len(service._users), int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) // 1024)
"""


def served(home: SpamHome, users: int, each: int, megabytes: int) -> tuple[int, int]:
    """The number of open filters, and the most memory of a server in megabytes."""
    found = subprocess.run(
        [sys.executable, "-c", SERVED, str(home.directory), str(users), str(each), str(megabytes)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    opened, memory = map(int, found.stdout.split())
    return opened, memory


def test_memory_does_not_grow_with_the_number_of_users(home: SpamHome) -> None:
    opened, memory = served(home, 30, 2, 1)
    assert opened < 25 and memory <= 200
    assert len([*(home.directory / "users").iterdir()]) == 30


@pytest.mark.soak
def test_a_thousand_users_take_at_most_300_megabytes(home: SpamHome) -> None:
    _, memory = served(home, 1_000, 30, 64)
    assert memory <= 300
    assert len([*(home.directory / "users").iterdir()]) == 1_000
