"""Counts of other filters: bogofilter's are added, those that cannot be read back are refused with a way on."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from stream_bayes.errors import BadFormat
from stream_bayes.mail import SpamFilter
from stream_bayes.mail.filter.other_filters import (
    is_bogofilter_dump,
    read_bogofilter_dump,
    refuse_other_formats,
)
from stream_bayes.mail.store.home import SpamHome
from tests.cli.test_snapshots import run

DUMP = b""".ENCODING 2 0 20240101
.MSG_COUNT 20 30 20240101
.WORDLIST_VERSION 20040500 0 20240101
caf\xc3\xa9 0 25 20240101
subj:pills 18 0 20240101
rcvd:relay.example 2 3
head:X-Mailer 9 9 20240101
mime:png 3 0 20240101
mime:gif 1 0 20240101
"""
HAM, SPAM = b"Subject: lunch\n\ncaf\xc3\xa9\n", b"Subject: pills\n\nhello\n"


def test_words_and_headers_carry_over_and_the_rest_is_counted() -> None:
    assert is_bogofilter_dump(DUMP)
    counts, skipped = read_bogofilter_dump(DUMP, ("ham", "spam"))
    assert counts["messages"] == [30, 20]
    assert counts["tokens"] == {"café": [25, 0], "subject:pills": [0, 18], "received:relay.example": [3, 2]}
    assert skipped == {"tokens of head:": 1, "tokens of mime:": 2}


def test_a_filter_judges_by_imported_counts_and_goes_on_learning() -> None:
    model = SpamFilter()
    model.import_counts(read_bogofilter_dump(DUMP, ("ham", "spam")).counts)
    assert model.messages == {"ham": 30, "spam": 20}
    assert model.score_one(HAM) < 0 < model.score_one(SPAM)
    model.learn_one(SPAM, "spam")
    assert model.messages == {"ham": 30, "spam": 21}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b".ENCODING 2 0 20240101\nfree 1 0 20240101\n", "a line .MSG_COUNT"),
        (
            b".MSG_COUNT 2 1 20240101\nfree one 0 20240101\n",
            "line 2: expected token, spam, ham and date, got 'free one",
        ),
    ],
)
def test_a_broken_dump_is_refused_with_its_line(data: bytes, expected: str) -> None:
    with pytest.raises(BadFormat, match=expected):
        read_bogofilter_dump(data, ("ham", "spam"))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"v\t3\tdb_version # this must be the first line!!!\nv\t12\tnum_spam\n", "sa-learn.*spam train"),
        (b"SQLite format 3\0" + bytes(100), "rspamd.*spam train"),
        (b'"BAYES_HAM_keys": ["RS"]\n"RS": {"learns_ham": 3}\n', "rspamd.*spam train"),
        (b'{"pattern": "RS", "meta": {"learns_ham": 3}, "elts": {\n', "rspamd.*spam train"),
        (bytes(12) + b"\x61\x15\x06\x00" + bytes(100), "bogoutil -d"),
    ],
)
def test_what_cannot_be_read_back_is_refused_with_a_way_on(
    tmp_path: Path, data: bytes, expected: str
) -> None:
    with pytest.raises(BadFormat, match=expected):
        refuse_other_formats(data)
    (tmp_path / "theirs").write_bytes(data)
    done = run("spam", "import", tmp_path / "theirs", "--home", tmp_path / "home")
    assert done.exit_code == 3
    assert not (tmp_path / "home" / "filter.zip").exists()


def test_the_command_says_what_was_added_and_what_was_not(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(DUMP)
    done = run("spam", "import", tmp_path / "dump", "--home", tmp_path / "home")
    assert done.exit_code == 0
    for said in (
        "added 3 tokens of 50 messages",
        "skipped 2 tokens of mime:",
        "50 messages in the filter now",
    ):
        assert said in done.stdout


BACKUP = b"v\t3\tdb_version # this must be the first line!!!\nv\t2\tnum_spam\nv\t3\tnum_nonspam\n"


def test_only_a_backup_takes_words_and_a_broken_one_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("caf\u00e9 pills")
    for data, expected in (
        (DUMP, "--words is for the output of `sa-learn --backup`"),
        (BACKUP + b"t\t1\tx\n", "line 4: expected a line of `sa-learn --backup`"),
        (BACKUP[: BACKUP.rindex(b"v\t")], "num_spam and num_nonspam"),
    ):
        (tmp_path / "theirs").write_bytes(data)
        done = run(
            "spam", "import", tmp_path / "theirs", "--words", tmp_path / "words", "--home", tmp_path / "home"
        )
        assert done.exit_code == 3 and expected in " ".join(done.stderr.split())
    assert not (tmp_path / "home" / "filter.zip").exists()


@pytest.mark.skipif(shutil.which("sa-learn") is None, reason="SpamAssassin is not installed")
def test_what_spamassassin_learned_is_looked_up_by_the_words_of_mails(tmp_path: Path) -> None:
    learn = ["sa-learn", "--local", f"--dbpath={tmp_path / 'bayes'}", f"--prefspath={tmp_path / 'none'}"]
    for label, mail in (("ham", HAM), ("spam", SPAM)):
        box = tmp_path / label
        box.mkdir()
        for number in range(3):
            head = f"From: ann@{label}.example.com\nTo: bob@example.org\nMessage-ID: <{label}{number}@a>\n"
            text = (
                b"Content-Type: text/plain; charset=utf-8\n"
                + mail
                + b"see http://shop.example.net/now\nnumber%d\n" % number
            )
            (box / str(number)).write_bytes(head.encode() + text)
        subprocess.run([*learn, f"--{label}", str(box)], check=True, capture_output=True)
    done = subprocess.run([*learn, "--backup"], check=True, capture_output=True)
    (tmp_path / "backup").write_bytes(done.stdout)
    (tmp_path / "list").write_text("hello\nunseen\n")
    command = [
        "spam",
        "import",
        tmp_path / "backup",
        "--home",
        tmp_path / "home",
        "--words",
        tmp_path / "list",
    ]
    result = run(*command, "--words", tmp_path / "ham")
    assert result.exit_code == 0, result.stderr
    assert "of 6 messages" in result.stdout and "hashes of no known word" in result.stdout
    counts = SpamHome(tmp_path / "home").load().export_counts()
    assert counts["messages"] == [3, 3]
    expected = {
        "caf\u00e9": [3, 0],
        "hello": [0, 3],
        "url:shop.example.net": [3, 3],
        "from:ham.example.com": [3, 0],
    }
    assert {token: counts["tokens"].get(token) for token in expected} == expected
    assert "unseen" not in counts["tokens"]


@pytest.mark.skipif(shutil.which("bogofilter") is None, reason="bogofilter is not installed")
def test_what_bogofilter_learned_is_imported(tmp_path: Path) -> None:
    for number in range(3):
        for flag, mail in (("-n", HAM), ("-s", SPAM)):
            text = b"From: ann%d@example.com\nContent-Type: text/plain; charset=utf-8\n" % number + mail
            subprocess.run(["bogofilter", "-d", tmp_path, flag], input=text, check=True)
    dump = subprocess.run(
        ["bogoutil", "-d", tmp_path / "wordlist.db"], capture_output=True, check=True
    ).stdout
    assert is_bogofilter_dump(dump)
    counts, _ = read_bogofilter_dump(dump, ("ham", "spam"))
    assert counts["messages"] == [3, 3]
    assert counts["tokens"]["café"] == [3, 0]
    assert counts["tokens"]["subject:pills"] == [0, 3]
