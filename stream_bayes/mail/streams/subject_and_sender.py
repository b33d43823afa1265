"""Subject and sender of a mail, for people to read."""

from __future__ import annotations

from collections.abc import Collection
from email.errors import MessageError
from email.parser import BytesHeaderParser
from email.policy import default

__all__ = ["HEADINGS", "headings_of"]

HEADINGS = {"subject": "Subject", "sender": "From"}
MOST_BYTES = 65_536  # of a mail that are searched for its headers
MOST_LETTERS = 300


def headings_of(raw: bytes, wanted: Collection[str] = tuple(HEADINGS)) -> dict[str, str]:
    r"""Return the subject and the sender of a mail, decoded and shortened; those that are missing are left out.

    Examples
    --------
    >>> headings_of(b"Subject: =?utf-8?q?caf=C3=A9?=\nFrom: ann@example.org\n\nlunch?\n")
    {'subject': 'café', 'sender': 'ann@example.org'}
    >>> headings_of(b"no header at all")
    {}
    """
    try:
        head = BytesHeaderParser(policy=default).parsebytes(raw[:MOST_BYTES].lstrip())
        headers = {name: head.get(HEADINGS[name]) for name in HEADINGS if name in wanted}
        texts = {name: " ".join(str(value).split()) for name, value in headers.items() if value is not None}
    except (MessageError, ValueError, LookupError, TypeError, AttributeError, IndexError):
        return {}  # the library stumbles over some forged headers
    return {name: text[:MOST_LETTERS] for name, text in texts.items() if text}
