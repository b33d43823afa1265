"""Mails from files of every kind."""

from __future__ import annotations

import gzip
import mailbox
import os
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.errors import SourceError
from stream_bayes.mail.streams import mailbox as reading
from stream_bayes.mail.streams.mailbox import mails, size_of

LINES = st.lists(
    st.sampled_from(["From here on", ">From there", "text", "", "From: no", ">>From"]), max_size=6
)


def raws(path: Path) -> list[bytes]:
    return [mail.raw for mail in mails(path)]


def test_a_file_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "mail").write_bytes(b"Subject: a\n\nFrom here\n")
    assert raws(tmp_path / "mail") == [b"Subject: a\n\nFrom here\n"]


def test_an_empty_file_is_a_box_without_messages(tmp_path: Path) -> None:
    (tmp_path / "box").write_bytes(b"")
    assert raws(tmp_path / "box") == []


def test_an_mbox_is_read_as_python_wrote_it(tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "box")
    bodies = ["one\n", "two\n\nFrom the start\n", "three\n"]
    for body in bodies:
        message = Message()
        message["Subject"] = "a"
        message.set_payload(body)
        box.add(message)
    box.close()
    assert raws(tmp_path / "box") == [f"Subject: a\n\n{body}".encode() for body in bodies]


@given(st.lists(LINES, min_size=1, max_size=4))
def test_an_mboxrd_is_unquoted(tmp_path_factory: pytest.TempPathFactory, bodies: list[list[str]]) -> None:
    path = tmp_path_factory.mktemp("box") / "box"
    with path.open("wb") as box:
        for body in bodies:
            box.write(b"From ann Mon Jan  1 00:00:00 2024\n")
            for line in ["Subject: a", "", *body]:
                quoted = ">" + line if line.lstrip(">").startswith("From ") else line
                box.write(quoted.encode() + b"\n")
            box.write(b"\n")
    assert raws(path) == [
        "".join(f"{line}\n" for line in ["Subject: a", "", *body]).encode() for body in bodies
    ]


def test_a_compressed_mbox_is_read_too(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "box.gz", "wb") as box:
        box.write(b"From a\nSubject: a\n\none\n\nFrom b\nSubject: b\n\ntwo\n")
    assert raws(tmp_path / "box.gz") == [b"Subject: a\n\none\n", b"Subject: b\n\ntwo\n"]


def test_a_pipe_is_read_as_a_file_is(tmp_path: Path) -> None:
    box = b"From a\nSubject: a\n\none\n\nFrom b\nSubject: b\n\ntwo\n"
    for sent in (box, gzip.compress(box)):
        out, into = os.pipe()
        try:
            os.write(into, sent)
            os.close(into)
            assert raws(Path(f"/dev/fd/{out}")) == [b"Subject: a\n\none\n", b"Subject: b\n\ntwo\n"]
        finally:
            os.close(out)


def test_a_maildir_is_what_was_delivered(tmp_path: Path) -> None:
    for folder, name in (("cur", "2"), ("new", "1"), ("tmp", "3"), ("cur", ".hidden")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_bytes(name.encode())
    assert raws(tmp_path) == [b"2", b"1"]


def test_a_directory_is_its_files(tmp_path: Path) -> None:
    for name in "bac":
        (tmp_path / name).write_bytes(name.encode())
    assert raws(tmp_path) == [b"a", b"b", b"c"]


def test_a_directory_is_what_lies_below_it_too(tmp_path: Path) -> None:
    for place in ("b/2/x", "b/1/y", "a", "c/box/cur/z", "c/box/tmp/t", ".git/config", "b/.secret"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(place.encode())
    (tmp_path / "b" / "round").symlink_to(tmp_path, target_is_directory=True)
    assert raws(tmp_path) == [b"a", b"b/1/y", b"b/2/x", b"c/box/cur/z"]
    assert size_of([tmp_path]) == sum(map(len, raws(tmp_path)))


def test_progress_ends_at_the_size(tmp_path: Path) -> None:
    (tmp_path / "box").write_bytes(b"From a\n\none\n\nFrom b\n\ntwo\n" * 50)
    (tmp_path / "other").write_bytes(b"Subject: x\n\n")
    done = [mail.done for mail in mails(tmp_path)]
    assert done == sorted(done) and done[-1] == size_of([tmp_path])
    assert size_of([tmp_path, "-"]) is None


def test_of_a_message_without_end_the_beginning_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_BYTES", 100)
    (tmp_path / "box").write_bytes(b"From a\n" + b"line of ten\n" * 100 + b"\nFrom b\n\ntwo\n")
    first, second = raws(tmp_path / "box")
    assert 90 < len(first) < 220 and second == b"\ntwo\n"
    (tmp_path / "mail").write_bytes(b"x" * 1000)
    assert len(raws(tmp_path / "mail")[0]) == 100


def test_unreadable_paths_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nothing"):
        raws(tmp_path / "nothing")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"From a\n\none\n")[:-9])
    with pytest.raises(SourceError, match="cut"):
        raws(tmp_path / "cut.gz")
    (tmp_path / "bad.gz").write_bytes(gzip.compress(b"")[:10] + b"\xff" * 20)
    with pytest.raises(SourceError, match="bad"):
        raws(tmp_path / "bad.gz")


def test_a_mail_program_may_move_mails_while_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcd":
        (tmp_path / "cur" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "cur" / name).write_bytes(name.encode())
    listed = reading._files

    def listed_late(path: Path) -> Iterator[Path]:
        for file in listed(path):
            if file.name == "b":
                file.rename(tmp_path / "cur" / "b:2,S")
            yield file

    with monkeypatch.context() as patch:
        patch.setattr(reading, "_files", listed_late)
        assert raws(tmp_path) == [b"a", b"c", b"d"]
    found = []
    for mail in mails(tmp_path):  # moved while it is at hand
        found.append(mail.raw)
        Path(mail.origin).rename(f"{mail.origin}.seen")
    assert len(found) == 4
