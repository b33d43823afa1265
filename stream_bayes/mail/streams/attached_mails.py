r"""Mails that are attached to others: forwarded as attachments, or reported by a feedback loop (ARF, RFC 5965).

    Content-Type: multipart/report; report-type=feedback-report; boundary=x

    --x                                           a text for people
    --x   Content-Type: message/feedback-report   Feedback-Type: abuse
    --x   Content-Type: message/rfc822            the mail that it is about, which is returned

Bytes stay as they are, so that the mail has the id that it had when it came.
"""

from __future__ import annotations

import base64
import quopri
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from stream_bayes.mail.text._fields import fields_of

__all__ = ["attached_mails"]

MOST_PARTS: Final = 1_000  # that are looked at
MOST_DEPTH: Final = 8  # of multiparts within one another
MOST_FIELDS, LONGEST_FIELD = 100, 2_000
MAILS: Final = (b"message/rfc822", b"message/global")
NOT_SPAM: Final = b"not-spam"  # the feedback type of a mail that is wanted
_BOUNDARY = re.compile(rb';[ \t]*boundary[ \t]*=[ \t]*(?:"([^"]{1,300})"|([^\s;"]{1,300}))', re.IGNORECASE)
_TYPE = re.compile(rb"^feedback-type:[ \t]*([\w-]{1,40})", re.IGNORECASE | re.MULTILINE)
_EML = re.compile(rb"name[ \t]*=[ \t]*\"?[^\";]{0,200}\.eml\b", re.IGNORECASE)


class _BodyPart(NamedTuple):
    """A part of a mail: its type in lower case, and its body, decoded."""

    media: bytes
    body: bytes


def attached_mails(raw: bytes, label: str | None = None) -> tuple[list[bytes], str]:
    r"""Return the mails attached to a mail, and why there is none to learn; "" if there is one. `label` is the one by
    which they are asked for: a feedback report that says otherwise is refused.

    Examples
    --------
    >>> head = b"Subject: Fwd\nContent-Type: multipart/mixed; boundary=x\n\n"
    >>> attached = b"--x\n\nsee\n--x\nContent-Type: message/rfc822\n\nSubject: pills\n\nfree\n--x--\n"
    >>> attached_mails(head + attached, "spam")
    ([b'Subject: pills\n\nfree'], '')
    >>> attached_mails(b"Subject: lunch\n\nsee\n")
    ([], 'no mail is attached to it')
    """
    parts = list(_parts(raw.replace(b"\r\n", b"\n")))
    for part in parts:
        kind = _TYPE.search(part.body) if part.media == b"message/feedback-report" else None
        if kind is not None and label is not None and (label == "ham") != (kind[1].lower() == NOT_SPAM):
            return [], f"it reports a mail as {kind[1].decode('ascii')}"
    mails = [part.body for part in parts if part.media in MAILS and part.body.strip()]
    if mails:
        return mails, ""
    only_headers = any(part.media == b"text/rfc822-headers" for part in parts)
    return (
        [],
        "only the headers of a mail are attached to it" if only_headers else "no mail is attached to it",
    )


def _parts(raw: bytes) -> Iterator[_BodyPart]:
    """Yield the parts of a mail that hold no others; an attached mail is one part."""
    waiting, parts = [(raw, 0)], 0
    while waiting and parts < MOST_PARTS:
        entity, depth = waiting.pop()
        parts += 1
        fields, end, _ = fields_of(entity, 0, len(entity), MOST_FIELDS, LONGEST_FIELD)
        body = entity[end + 1 :].removeprefix(b"\n") if end else entity.removeprefix(b"\n")
        values = {name.lower(): value for name, value in reversed(fields)}
        content = values.get("content-type", b"text/plain")
        media = content.partition(b";")[0].strip().lower()
        boundary = _BOUNDARY.search(content)
        if media.startswith(b"multipart/"):
            if boundary is not None and depth < MOST_DEPTH:
                inner = _between(body, boundary[1] or boundary[2])
                waiting += [(part, depth + 1) for part in reversed(inner)]
            continue
        if media == b"application/octet-stream" and _EML.search(
            content + b";" + values.get("content-disposition", b"")
        ):
            media = MAILS[0]
        if depth:  # a mail is not attached to itself
            yield _BodyPart(media, _decoded(body, values.get("content-transfer-encoding", b"")))


def _between(body: bytes, boundary: bytes) -> list[bytes]:
    """Return what is between the boundary lines of a multipart."""
    inner: list[bytes] = []
    begin = -1
    text = b"\n" + body
    for line in re.finditer(rb"\n--" + re.escape(boundary) + rb"(--)?[ \t]*(?=\n|\Z)", text):
        if begin >= 0:
            inner.append(text[begin : line.start()])
        if line[1] or len(inner) == MOST_PARTS:
            return inner
        begin = line.end() + 1
    return [*inner, text[begin:]] if begin >= 0 else inner


def _decoded(body: bytes, encoding: bytes) -> bytes:
    kind = encoding.strip().lower()
    if kind == b"base64":
        letters = re.sub(rb"[^A-Za-z0-9+/]", b"", body)
        letters = letters[: len(letters) - (len(letters) % 4 == 1)]
        return base64.b64decode(letters + b"=" * (-len(letters) % 4)).replace(b"\r\n", b"\n")
    return quopri.decodestring(body) if kind == b"quoted-printable" else body
