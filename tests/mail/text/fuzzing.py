"""A fuzzer of messages: `python -m tests.mail.text.fuzzing PARSER SEED COUNT` prints a digest of each message's tokens.

It runs in a process of its own, so that a parser that takes the process down is seen; two parsers are given the same
messages, and their lines compared.
"""

from __future__ import annotations

import hashlib
import sys
import time

import numpy as np

from stream_bayes.mail import EmailTokens
from tests.mail.messages import encoded, headers, multipart, nested, plain

__all__ = ["message", "seeds"]

SLOWEST = 5.0  # seconds of one message

PIECES = [
    *(
        b"\n",
        b"\r\n",
        b"\n\n",
        b"\0",
        b"\xff\xfe",
        b"--=_b",
        b"--=_b--",
        b"--b1\n",
        b"=\n",
        b"=3D",
        b"=_:",
        b"--=_:\n",
    ),
    b"Content-Type: multipart/mixed; boundary=b1\n\n",
    b"Content-Type: message/rfc822\n\n",
    b"Content-Type: text/html; charset=utf-16\n",
    b"Content-Transfer-Encoding: base64\n",
    b"Content-Transfer-Encoding: quoted-printable\n",
    b"charset=unicode_escape",
    b"=?utf-8?b?//8=?=",
    b"=?utf-7?q?+?=",
    b"<a href=http://x.example/",
    b"<script>",
    b"<!--",
    b"http://",
    b"@" * 50,
    b"a." * 80,
    b"(" * 300,
    b'"' * 301,
    b" " * 500,
    "中文字".encode(),
    b"\x1b$B",
]


def seeds() -> list[bytes]:
    """Sound messages to begin with."""
    page = "<html><body><p>one <a href='http://x.example/y'>two</a><!-- c --></p></body></html>"
    return [
        plain("some words and http://example.com/path"),
        multipart(encoded("käse " * 40, "base64"), encoded(page, "quoted-printable", "latin-1", "text/html")),
        multipart(multipart(b"\ninner", boundary="b1"), encoded("日本", "base64", "iso-2022-jp")),
        headers(subject="=?utf-8?b?w6Q=?= =?latin-1?q?=E4?=").encode() + b"\n\xe4\xf6",
        nested(5),
        multipart(b"Content-Type: message/rfc822\n\n" + plain("deep"), media="multipart/digest"),
    ]


def message(rng: np.random.Generator) -> bytes:
    """A message with some of its bytes changed, cut, repeated or replaced."""
    known = seeds()
    raw = bytearray(known[rng.integers(len(known))])
    for _ in range(int(rng.integers(1, 12))):
        start = int(rng.integers(len(raw) + 1))
        stop = min(start + int(rng.geometric(0.05)), len(raw))
        match int(rng.integers(6)):
            case 0:
                raw[start:stop] = b""
            case 1:
                raw[start:start] = raw[start:stop] * int(rng.integers(1, 40))
            case 2:
                raw[start:start] = PIECES[rng.integers(len(PIECES))]
            case 3:
                raw[start:stop] = rng.bytes(stop - start)
            case 4:
                raw[start:start] = PIECES[rng.integers(len(PIECES))] * int(rng.integers(1, 200))
            case _:
                other = known[rng.integers(len(known))]
                raw[start:stop] = other[: int(rng.integers(len(other)))]
    return bytes(raw)


def main(parser: str, seed: int, count: int) -> None:
    """Print a line for each message."""
    rng = np.random.default_rng(seed)
    tokens = EmailTokens(parser=parser)
    for number in range(count):
        raw = message(rng)
        start = time.process_time()
        bag = tokens.transform_one(raw)
        if time.process_time() - start > SLOWEST:
            raise SystemExit(f"message {number} of seed {seed} took more than {SLOWEST} s")
        text = repr(sorted(bag.items())).encode("utf-8", "surrogatepass")
        print(number, hashlib.sha256(text).hexdigest()[:16], flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
