"""`stream-bayes spam learn`, `correct` and `forget`: through a running server, and without one alike."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest

import stream_bayes.mail.start as start
from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.identity import id_of_mail
from tests.cli.test_snapshots import run
from tests.mail.messages import plain
from tests.mail.server.conversations import serving, trained_home

RAW = plain("quetzal")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_home(tmp_path_factory.mktemp("trained") / "home", 60).directory


def changed(
    home: SpamHome, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object
) -> tuple[int | None, str]:
    """The exit code and the output of a command sent to the server."""
    out = BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=out))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO(RAW)))
    verb, *others = map(str, words)
    code = start.change_on_server(verb, [*others, "--home", str(home.directory)])
    monkeypatch.undo()
    return code, (out.getvalue().decode() + capsys.readouterr().err).strip()


def test_the_server_learns_corrects_and_forgets(
    home: SpamHome, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mail").write_bytes(RAW)
    key = id_of_mail(RAW)
    with serving(home, {}) as server:
        before = home.version()
        for words, expected in (
            (("learn", "spam"), "0 corrected, 1 learned, 0 unchanged"),
            (("learn", "spam", tmp_path / "mail"), "0 corrected, 0 learned, 1 unchanged"),
            (("correct", "ham", key[:10]), "1 corrected, 0 learned, 0 unchanged"),
            (("correct", "spam", "--mail", tmp_path / "mail"), "1 corrected, 0 learned, 0 unchanged"),
        ):
            assert changed(home, capsys, monkeypatch, *words) == (0, expected)
            assert home.load().label_of(key) == ("ham" if "ham" in words else "spam")
        assert changed(home, capsys, monkeypatch, "forget", key) == (0, "1 message forgotten")
        code, text = changed(home, capsys, monkeypatch, "forget", "--mail", tmp_path / "mail")
        assert code == 3 and "never learned or judged" in text
        assert server.service.changed == 4 and home.version() == before
        code, text = changed(home, capsys, monkeypatch, "learn", "spam", tmp_path / "missing")
        assert code == 3 and "missing" in text


def test_without_a_server_and_for_mistakes_the_package_answers(
    home: SpamHome, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert changed(home, capsys, monkeypatch, "learn", "spam") == (None, "")
    with serving(home, {}):
        for words in (
            ("learn",),
            ("learn", "--eggs"),
            ("forget",),
            ("correct", "--help"),
            ("learn", "--nope"),
        ):
            assert changed(home, capsys, monkeypatch, *words) == (None, "")


def test_the_same_commands_work_without_a_server(home: SpamHome, tmp_path: Path) -> None:
    (tmp_path / "mail").write_bytes(RAW)
    key = id_of_mail(RAW)
    for words, expected, label in (
        (("learn", "spam", tmp_path / "mail"), "0 corrected, 1 learned, 0 unchanged", "spam"),
        (("correct", "ham", key), "1 corrected, 0 learned, 0 unchanged", "ham"),
        (("correct", "spam", "--mail", tmp_path / "mail"), "1 corrected, 0 learned, 0 unchanged", "spam"),
        (("forget", "--mail", tmp_path / "mail"), "1 message forgotten", None),
    ):
        done = run("spam", *words, "--home", home.directory)
        assert done.exit_code == 0 and expected in done.output, done.output
        assert home.load().label_of(key) == label
    assert not any(b"quetzal" in path.read_bytes() for path in home.directory.iterdir())


def test_the_first_mail_makes_a_filter(tmp_path: Path) -> None:
    (tmp_path / "mail").write_bytes(RAW)
    done = run("spam", "learn", "spam", tmp_path / "mail", "--home", tmp_path / "new")
    assert done.exit_code == 0, done.output
    assert SpamHome(tmp_path / "new").load().label_of(id_of_mail(RAW)) == "spam"
    assert run("spam", "learn", "eggs", tmp_path / "mail", "--home", tmp_path / "other").exit_code == 3
    assert not (tmp_path / "other").exists()


def test_one_message_is_one_message(home: SpamHome, tmp_path: Path) -> None:
    for number in (1, 2):
        box = tmp_path / str(number)
        box.mkdir()
        for place in range(number):
            (box / str(place)).write_bytes(plain(f"ocelot {number} {place}"))
        noun = f"{number} message{'' if number == 1 else 's'}"
        at = ("--home", home.directory)
        assert f"{noun} learned" in run("spam", "train", "--spam", box, *at).output
        assert f"{noun} forgotten" in run("spam", "forget", "--mail", box, *at).output


def test_of_a_box_what_was_learned_is_forgotten_and_the_rest_counted(
    home: SpamHome, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [plain(f"okapi {number}") for number in range(4)]
    box = tmp_path / "box"
    box.write_bytes(b"".join(b"From a Mon Jan  1 00:00:00 2024\n" + raw + b"\n\n" for raw in texts))
    keys = [id_of_mail(raw) for raw in texts]

    def learn(number: int) -> None:
        (tmp_path / "mail").write_bytes(texts[number])
        assert run("spam", "learn", "spam", tmp_path / "mail", "--home", home.directory).exit_code == 0

    for number in (1, 3):
        learn(number)
    done = run("spam", "forget", "--mail", box, "--home", home.directory)
    assert (done.exit_code, done.stdout) == (0, "2 messages forgotten, 2 never learned\n")
    assert not {*keys} & {*home.load().ids()}
    done = run("spam", "forget", "--mail", box, "--home", home.directory)
    assert done.exit_code == 3 and "nothing to forget" in done.output
    learn(2)
    with serving(home, {}):
        forget = ("forget", "--mail", box)
        assert changed(home, capsys, monkeypatch, *forget) == (0, "1 message forgotten, 3 never learned")
        code, text = changed(home, capsys, monkeypatch, *forget)
        assert code == 3 and "nothing to forget" in text
