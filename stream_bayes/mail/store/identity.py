"""The identity of mails: an id that delivery does not change, and its signature in the filter's header.

Delivery adds headers (Return-Path, Received, Delivered-To) and changes line ends and transfer encodings. So the id is a
SHA-256 over the letters of the decoded parts and the headers that the author wrote. Lists and forwarders change more;
then the header X-Stream-Bayes-Id still names the mail as the filter saw it. Anybody can write such a header, so it
carries an HMAC with a key of the home.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import quopri
import re

from stream_bayes.mail.text.charsets import sound_base64
from stream_bayes.mail.text.limits import Limits
from stream_bayes.mail.text.structure import PartLeaf, head_and_body, outline

__all__ = ["IdKey", "id_of_mail"]

STABLE = (b"from", b"to", b"cc", b"subject", b"date", b"message-id")
OWN = re.compile(
    rb"^x-stream-bayes-id:[ \t]*([0-9a-f]{64}\.[0-9a-f]{32})[ \t]*$", re.IGNORECASE | re.MULTILINE
)
SIGNED = re.compile(r"([0-9a-f]{64})\.([0-9a-f]{32})")
KEY_BYTES = 32
MOST_STABLE = 1_000  # headers that count for an id
FOOTER_BYTES = 1_000  # the longest that a list writes below a mail, with the rule above it
_RULE = re.compile(rb"^(?:-- ?|[-_=*]{5,})[ \t]*$", re.MULTILINE)
_SUBJECT_TAGS = re.compile(rb"^(?:\[[^\]\n]{1,60}\] *|\*{3,}[A-Za-z ]{1,30}\*{3,} *)+")
_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())


def id_of_mail(raw: bytes) -> str:
    r"""Return the id of a mail: a SHA-256 that is the same in an mbox, a Maildir and a pipe, before and after delivery.

    It covers the parts as they are decoded, and the headers From, To, Cc, Subject, Date and Message-ID; of a mail
    without any of these, all bytes. What servers, mailboxes and lists change does not count: line ends, white space and
    signs other than letters and digits (a quoted `>From`), the transfer encoding of a part, tags before the subject,
    and a footer under a line of dashes or underscores.

    Examples
    --------
    >>> mail = b"Subject: a\n\nb\n"
    >>> id_of_mail(b"From ann Mon Jan  1\nReturn-Path: <ann@example.com>\nSubject:  a\r\n\r\nb\n\n") == id_of_mail(mail)
    True
    >>> id_of_mail(b"Subject: [SPAM] a\n\nb\n______________\nTo leave this list, ...\n") == id_of_mail(mail)
    True
    >>> id_of_mail(b"Subject: a\n\nc\n") == id_of_mail(mail)
    False
    """
    raw = raw.replace(b"\r\n", b"\n")
    if raw.startswith((b"From ", b">From ")):
        raw = raw[raw.find(b"\n") + 1 :]
    parsed = outline(raw, Limits(message=len(raw) + 1, text=len(raw) + 1))
    stable: list[bytes] = []
    for name, value in parsed.headers:
        lower = name.lower().encode("latin-1")
        if lower in STABLE:
            text = b" ".join(value.split())
            stable.append(lower + b":" + (_SUBJECT_TAGS.sub(b"", text) if lower == b"subject" else text))
            if len(stable) == MOST_STABLE:
                break
    if not stable:
        return hashlib.sha256(raw.strip()).hexdigest()
    digest = hashlib.sha256(b"\n".join(sorted(stable)) + b"\n\n")
    leaves = parsed.leaves
    if len(leaves) > 1 and _is_footer(leaves[-1]):
        leaves = leaves[:-1]
    for leaf in leaves:
        digest.update(_letters_of(leaf) + b"\n")
    return digest.hexdigest()


def _letters_of(leaf: PartLeaf) -> bytes:
    """Return the letters and digits of a part, decoded, without the footer of a list; other parts as their bytes."""
    body = leaf.body
    if leaf.encoding == "base64":
        body = binascii.a2b_base64(sound_base64(body)[0])
    elif leaf.encoding == "quoted-printable":
        body = quopri.decodestring(body)
    if not leaf.media.startswith("text/"):
        return body.strip()
    rules = list(_RULE.finditer(body, max(len(body) - FOOTER_BYTES, 0)))
    if rules:
        body = body[: rules[0].start()]
    return body.translate(None, _SIGNS)


def _is_footer(leaf: PartLeaf) -> bool:
    """Return True if a part is one that a list added below the others."""
    return (
        leaf.media == "text/plain" and len(leaf.body) <= FOOTER_BYTES and _RULE.match(leaf.body) is not None
    )


class IdKey:
    """The key that signs ids in headers. `key` are random bytes that only the filter's owner can read.

    Examples
    --------
    >>> key = IdKey(bytes(32))
    >>> signed = key.signed("9f" * 32)
    >>> key.verified(signed) == "9f" * 32, key.verified("00" + signed[2:]), IdKey(b"1" * 32).verified(signed)
    (True, None, None)
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def signed(self, name: str) -> str:
        """Return an id with its signature."""
        return f"{name}.{self._signature(name)}"

    def verified(self, text: str) -> str | None:
        """Return the id of a signed one; None if this key has not signed it."""
        match = SIGNED.fullmatch(text)
        if match is None or not hmac.compare_digest(self._signature(match[1]), match[2]):
            return None
        return match[1]

    def id_in(self, raw: bytes) -> str | None:
        """Return the id that this key has signed in the headers of a mail; None without one."""
        head, _ = head_and_body(raw.replace(b"\r\n", b"\n"))
        for match in OWN.finditer(head):
            name = self.verified(match[1].decode("ascii").lower())
            if name is not None:
                return name
        return None

    def _signature(self, name: str) -> str:
        return hmac.new(self._key, name.encode("ascii"), hashlib.sha256).hexdigest()[:32]
