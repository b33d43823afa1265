"""The id of a mail survives what mailboxes, servers and lists do to it, and nothing else."""

from __future__ import annotations

import base64
import quopri

import pytest

from stream_bayes.mail.store.identity import id_of_mail

HEAD = b"From: ann@example.com\nSubject: minutes\nDate: Mon, 1 Jan 2024 09:00:00 +0000\nMessage-ID: <1@example.com>\n"
BODY = (
    "Gr\u00fc\u00dfe an alle,\nFrom the office we send this line.\n"
    + "A line that quoted-printable has to fold, as it is longer than seventy-six letters in all.\n"
).encode()
FOOTER = (
    b"_______________________________________________\nAnnounce mailing list\nhttps://lists.example.com\n"
)


def mail(body: bytes, encoding: str = "8bit", head: bytes = HEAD) -> bytes:
    fields = f"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: {encoding}\n\n"
    return head + fields.encode() + body


def with_part_added(body: bytes) -> bytes:
    part = b"--b\nContent-Type: text/plain; charset=utf-8\n\n"
    return HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n" + part + body + part + FOOTER + b"--b--\n"


@pytest.mark.parametrize(
    "form",
    [
        mail(BODY.replace(b"\nFrom ", b"\n>From ")),
        mail(quopri.encodestring(BODY), "quoted-printable"),
        mail(base64.encodebytes(BODY), "base64"),
        mail(BODY.replace(b"\n", b"\r\n") + b"\n\n"),
        mail(BODY, head=HEAD.replace(b"minutes", b"[SPAM] [Announce] minutes")),
        mail(BODY, head=HEAD.replace(b"minutes", b"***SPAM*** minutes")),
        mail(BODY + FOOTER),
        mail(BODY + b"-- \nAnnounce, a list\n"),
        with_part_added(BODY),
    ],
    ids=["quoted", "QP", "base64", "CRLF", "tags", "spamassassin", "footer", "signature", "part"],
)
def test_what_mailboxes_servers_and_lists_change_does_not_count(form: bytes) -> None:
    assert id_of_mail(form) == id_of_mail(mail(BODY))


@pytest.mark.parametrize(
    "other",
    [
        mail(BODY + b"cheap pills\n"),
        mail(BODY.replace(b"office", b"pharmacy")),
        mail(BODY + b"_____\n" + b"cheap pills " * 100),
        mail(BODY, head=HEAD.replace(b"<1@", b"<2@")),
        mail(BODY, head=HEAD.replace(b"minutes", b"hours")),
        with_part_added(BODY).replace(FOOTER, b"cheap pills\n"),
    ],
    ids=["more", "words", "after a footer", "id", "subject", "part"],
)
def test_what_an_author_changes_makes_another_mail(other: bytes) -> None:
    assert id_of_mail(other) != id_of_mail(mail(BODY))
