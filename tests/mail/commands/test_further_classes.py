"""Filters of more than two classes on the command line, over sockets, and in protocols of two answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stream_bayes.mail.server.server import SpamServer
from stream_bayes.mail.start import main
from stream_bayes.mail.store.home import SpamHome
from tests.cli.test_snapshots import run
from tests.mail.filter.test_classes import WORDS, mails
from tests.mail.messages import plain
from tests.mail.server.conversations import MailServer, exchanged, over_http, serving

CLASSES = ("ham", "spam", "newsletter")
LETTER = plain(" ".join(WORDS["newsletter"] * 3), sender="u1@s1.example", subject="word1 9-9")
SERVED = {"spamd": "127.0.0.1:0", "milter": "127.0.0.1:0", "http": "127.0.0.1:0"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("classes")
    boxes = {name: (directory / f"{name}.mbox").open("wb") for name in CLASSES}
    for raw, name in mails(330):
        if name in CLASSES:
            boxes[name].write(b"From ann@example.com Mon Jan  1 10:00:00 2024\n" + raw + b"\n")
    for box in boxes.values():
        box.close()
    (directory / "letter.eml").write_bytes(LETTER)
    named = [f"{name}={directory / name}.mbox" for name in CLASSES]
    done = run("spam", "train", "--home", directory / "home", *named)
    assert done.exit_code == 0, done.output
    return directory


def classified(directory: Path, home: Path, capfd: pytest.CaptureFixture[str]) -> tuple[list[str], int]:
    with pytest.raises(SystemExit) as ended:
        main(["spam", "classify", "--home", str(home), str(directory / "letter.eml")])
    code = ended.value.code
    assert isinstance(code, int)
    return capfd.readouterr().out.split(), code


def test_a_further_class_is_trained_classified_corrected_and_explained(
    trained: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    with SpamHome(home).changing(SpamHome(trained / "home").load):
        pass
    words, code = classified(trained, home, capfd)
    assert words[0] == "newsletter" and code == 0  # as spam, by the costs of the default
    assert run("spam", "tune", "--home", home, "--cost", "spam:newsletter=10").exit_code == 0
    words, code = classified(trained, home, capfd)
    assert words[0] == "newsletter" and code == 1
    assert (
        "0 corrected, 1 learned"
        in run("spam", "learn", "--home", home, "spam", trained / "letter.eml").stdout
    )
    done = run("spam", "correct", "--home", home, "newsletter", "--mail", trained / "letter.eml")
    assert "1 corrected" in done.stdout
    why = json.loads(run("spam", "explain", "--home", home, trained / "letter.eml", "--json").stdout)
    assert why["verdict"] == "newsletter" and {"others", "newsletter"} < why["tokens"][0].keys()
    assert json.loads(run("spam", "stats", "--home", home, "--json").stdout)["newsletter_messages"] > 20


def test_classes_are_named_once(trained: Path, tmp_path: Path) -> None:
    for arguments, reason in (
        ([f"Spam={trained}/spam.mbox"], "small letters"),
        (["--classes", "spam,ham", "--ham", f"{trained}/ham.mbox"], "ham,spam first"),
        ([f"{trained}/ham.mbox"], "CLASS="),
    ):
        done = run("spam", "train", "--home", tmp_path / "new", *arguments)
        assert done.exit_code == 3 and reason in done.stderr
    for arguments in ([f"work={trained}/ham.mbox"], ["--classes", "ham,spam", f"ham={trained}/ham.mbox"]):
        done = run("spam", "train", "--home", trained / "home", *arguments)
        assert done.exit_code == 3 and "made with the classes ham, spam, newsletter" in done.stderr
    done = run("spam", "learn", "--home", tmp_path / "new", "newsletter", trained / "letter.eml")
    assert done.exit_code == 3 and "train newsletter=" in done.stderr
    done = run("spam", "learn", "--home", trained / "home", "work", trained / "letter.eml")
    assert done.exit_code == 3 and "ham or spam or newsletter" in done.stderr


def test_protocols_of_two_answers_say_what_the_costs_make_of_a_further_class(
    trained: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(SpamHome(trained / "home"), SERVED, may_learn=True, on_spam="reject") as server:
        assert answers_of(server) == ("newsletter", "True", b"y")
        assert classified(trained, trained / "home", capfd)[1] == 0
        status, answer = over_http(server, "POST", "/learn/newsletter", LETTER)
        assert (status, answer) == (200, {"outcome": "learned"})
        assert over_http(server, "POST", "/learn/work", LETTER)[0] == 404
        with pytest.raises(SystemExit) as ended:
            main(["spam", "learn", "--home", str(trained / "home"), "work", str(trained / "letter.eml")])
        assert ended.value.code == 3 and "got 'work'" in capfd.readouterr().err
        assert run("spam", "tune", "--home", trained / "home", "--cost", "spam:newsletter=10").exit_code == 0
        assert answers_of(server) == ("newsletter", "False", b"a")


def answers_of(server: SpamServer) -> tuple[str, str, bytes]:
    """The verdict over HTTP, what spamd calls spam, and the last answer of the milter."""
    _, judged = over_http(server, "POST", "/judge", LETTER)
    head = f"CHECK SPAMC/1.5\r\nContent-length: {len(LETTER)}\r\n\r\n".encode()
    status = exchanged(server.addresses()["spamd"], head + LETTER).decode().split("Spam: ")[1].split(" ")[0]
    mail_server = MailServer(server.addresses()["milter"], steps=0x1FFFFF)
    last = mail_server.deliver(LETTER)[-1][0]
    mail_server.close()
    assert judged["as"] == ("spam" if status == "True" else "ham")
    return judged["verdict"], status, last
