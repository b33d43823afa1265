"""The identity of mails: an id that delivery does not change, and its signature in the filter's header.

Delivery adds headers (Return-Path, Received, Delivered-To) and changes line ends. So the id is a SHA-256 over the body
and the headers that the author wrote. Lists and forwarders also change these; then the header X-Stream-Bayes-Id still
names the mail as the filter saw it. Anybody can write such a header, so it carries an HMAC with a key of the home.
"""

from __future__ import annotations

import hashlib
import hmac
import re

from stream_bayes.mail.text.structure import head_and_body

__all__ = ["IdKey", "id_of_mail"]

STABLE = (b"from", b"to", b"cc", b"subject", b"date", b"message-id")
OWN = re.compile(
    rb"^x-stream-bayes-id:[ \t]*([0-9a-f]{64}\.[0-9a-f]{32})[ \t]*$", re.IGNORECASE | re.MULTILINE
)
SIGNED = re.compile(r"([0-9a-f]{64})\.([0-9a-f]{32})")
KEY_BYTES = 32
MOST_STABLE = 1_000  # headers that count for an id
_FIELD = re.compile(rb"[^\n]+(?:\n[ \t][^\n]*)*")
_BLANKS_AT_END = re.compile(rb"[ \t]+(?=\n)")


def id_of_mail(raw: bytes) -> str:
    r"""Return the id of a mail: a SHA-256 that is the same in an mbox, a Maildir and a pipe, before and after delivery.

    It covers the body and the headers From, To, Cc, Subject, Date and Message-ID; of a mail without any of these, all
    bytes. Line ends, folds and white space at the ends of lines do not count.

    Examples
    --------
    >>> mail = b"Subject: a\n\nb\n"
    >>> id_of_mail(b"From ann Mon Jan  1\nReturn-Path: <ann@example.com>\nSubject:  a\r\n\r\nb\n\n") == id_of_mail(mail)
    True
    >>> id_of_mail(b"Subject: a\n\nc\n") == id_of_mail(mail)
    False
    """
    raw = raw.replace(b"\r\n", b"\n")
    if raw.startswith((b"From ", b">From ")):
        raw = raw[raw.find(b"\n") + 1 :]
    head, body = head_and_body(raw)
    stable: list[bytes] = []
    for match in _FIELD.finditer(head):  # one at a time: a list of a million fields takes a hundred megabytes
        name, _, value = match[0].partition(b":")
        name = name.strip().lower()
        if name in STABLE:
            stable.append(name + b":" + b" ".join(value.split()))
            if len(stable) == MOST_STABLE:
                break
    if not stable:
        return hashlib.sha256(raw.strip()).hexdigest()
    digest = hashlib.sha256(b"\n".join(sorted(stable)) + b"\n\n")
    digest.update(_BLANKS_AT_END.sub(b"", body).strip())
    return digest.hexdigest()


class IdKey:
    """The key that signs ids in headers.

    Parameters
    ----------
    key
        Random bytes that only the filter's owner can read.

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
        found = SIGNED.fullmatch(text)
        if found is None or not hmac.compare_digest(self._signature(found[1]), found[2]):
            return None
        return found[1]

    def id_in(self, raw: bytes) -> str | None:
        """Return the id that this key has signed in the headers of a mail; None without one."""
        head, _ = head_and_body(raw.replace(b"\r\n", b"\n"))
        for found in OWN.finditer(head):
            name = self.verified(found[1].decode("ascii").lower())
            if name is not None:
                return name
        return None

    def _signature(self, name: str) -> str:
        return hmac.new(self._key, name.encode("ascii"), hashlib.sha256).hexdigest()[:32]
