"""Messages made for tests, and streams of them. Every name and word is made up here."""

from __future__ import annotations

import base64
import quopri
from collections.abc import Iterator

import numpy as np

__all__ = ["encoded", "headers", "multipart", "nested", "plain", "stream"]

HAM = "meeting notes agenda lunch review patch compile thread kernel regards schedule draft paper seminar".split()
SPAM = "winner free cash pills offer click guarantee mortgage casino cheap urgent limited prize deal".split()
BOTH = [f"word{number}" for number in range(300)]


def headers(sender: str = "ann@example.com", subject: str = "hello", more: str = "") -> str:
    """A block of headers without the blank line after it."""
    return (
        f"Received: from mx.{sender.partition('@')[2]} ([192.0.2.7]) by in.example.org with ESMTP; Mon, 1 Jan 2024\n"
        f"From: {sender}\nTo: bob@example.org\nSubject: {subject}\nDate: Mon, 1 Jan 2024 10:00:00 +0100\n"
        f"Message-ID: <{subject}.17@{sender.partition('@')[2]}>\n{more}"
    )


def plain(body: str, **kwargs: str) -> bytes:
    """A message of plain text."""
    return f"{headers(**kwargs)}\n{body}\n".encode()


def encoded(text: str, encoding: str, charset: str = "utf-8", media: str = "text/plain") -> bytes:
    """A part with its headers."""
    data = text.encode(charset)
    body = base64.encodebytes(data) if encoding == "base64" else quopri.encodestring(data)
    head = f"Content-Type: {media}; charset={charset}\nContent-Transfer-Encoding: {encoding}\n\n"
    return head.encode() + body


def multipart(*parts: bytes, boundary: str = "=_b", media: str = "multipart/mixed", **kwargs: str) -> bytes:
    """A message of parts."""
    head = headers(**kwargs) + f'MIME-Version: 1.0\nContent-Type: {media}; boundary="{boundary}"\n\n'
    line = f"--{boundary}".encode()
    return head.encode() + b"".join(line + b"\n" + part + b"\n" for part in parts) + line + b"--\n"


def nested(depth: int) -> bytes:
    """Multiparts within one another, each with a boundary of its own."""
    lines = ["From: a@example.com"]
    for level in range(depth):
        lines += [f"Content-Type: multipart/mixed; boundary=b{level}", "", f"--b{level}"]
    return "\n".join([*lines, "", "core"]).encode()


def stream(number: int, seed: int = 0, spam_share: float = 0.4) -> Iterator[tuple[bytes, str]]:
    """Messages of two kinds, whose words overlap, and their labels."""
    rng = np.random.default_rng(seed)
    for place in range(number):
        spam = bool(rng.random() < spam_share)
        own, other = (SPAM, HAM) if spam else (HAM, SPAM)
        words = [
            *rng.choice(BOTH, 30).tolist(),
            *rng.choice(own, 4).tolist(),
            *rng.choice(other, 1).tolist(),
            *rng.choice(HAM + SPAM, 1).tolist(),
        ]
        sender = f"user{rng.integers(200)}@{'shop' if rng.random() < 0.5 else 'work'}{rng.integers(20)}.example.net"
        yield plain(" ".join(words), sender=sender, subject=f"{words[31]} {place}"), "spam" if spam else "ham"
