"""`--attached`: mails forwarded as attachments and reports of feedback loops label the mail within them."""

from __future__ import annotations

import base64
from pathlib import Path

from stream_bayes.mail.store.home import SpamHome
from stream_bayes.mail.store.identity import id_of_mail
from tests.cli.test_snapshots import run
from tests.mail.messages import multipart, plain

FORWARDED = [plain(f"{word} pills", subject=word) for word in ("first", "second", "third", "fourth")]


def attached(raw: bytes, media: str = "message/rfc822", more: str = "") -> bytes:
    return f"Content-Type: {media}\n{more}\n".encode() + raw


def report(kind: str, inner: bytes) -> bytes:
    feedback = f"Feedback-Type: {kind}\nUser-Agent: Loop/1\nVersion: 1\n".encode()
    parts = [b"\na report\n", attached(feedback, "message/feedback-report"), inner]
    return multipart(*parts, media="multipart/report; report-type=feedback-report", subject=kind)


def test_the_inner_mail_is_labelled_and_what_holds_none_is_refused(tmp_path: Path) -> None:
    encoded = base64.encodebytes(FORWARDED[1].replace(b"\n", b"\r\n"))
    nested = multipart(b"\nsee below\n", attached(FORWARDED[2]), boundary="=_b2")
    mails = {
        "abuse": report("abuse", attached(FORWARDED[0])),
        "encoded": multipart(
            b"\nsee\n",
            attached(
                encoded, 'application/octet-stream; name="x.eml"', "Content-Transfer-Encoding: base64\n"
            ),
        ),
        "nested": multipart(nested.partition(b"MIME-Version: 1.0\n")[2], b"\na footer\n"),
        "none": plain("lunch"),
        "headers": report("abuse", attached(b"Subject: x\n", "text/rfc822-headers")),
        "wanted": report("not-spam", attached(FORWARDED[3])),
    }
    for name, raw in mails.items():
        (tmp_path / f"{name}.eml").write_bytes(raw)
    at = ("--home", tmp_path / "home")
    done = run("spam", "train", "--attached", "--spam", tmp_path / "nested.eml", *at)
    assert done.exit_code == 0, done.output
    files = [tmp_path / f"{name}.eml" for name in mails]
    done = run("spam", "learn", "--attached", "spam", *files, *at)
    assert "0 corrected, 2 learned, 1 unchanged" in done.output
    for reason in ("3 refused", "no mail is attached", "only the headers", "reports a mail as not-spam"):
        assert reason in done.output.replace("\n", " "), done.output
    done = run("spam", "learn", "--attached", "ham", tmp_path / "wanted.eml", *at)
    assert "1 learned" in done.output
    model = SpamHome(tmp_path / "home").load()
    assert [model.label_of(id_of_mail(raw)) for raw in FORWARDED] == ["spam", "spam", "spam", "ham"]
    assert model.correctable == 4
