r"""Mails in the files of Dovecot's dbox: a message each (sdbox, `u.12`) or many (mdbox, `m.3`).

2 M1e C65a1b2c3\n                            version, length of a message's header, time of creation
\1\2N          0000000000000123\n            a message's header: its size as the last number, in hexadecimal
(the message)
\n\1\3\n G0a1b...\n R65a1...\n \n            its metadata, a key and a value a line, until an empty line
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Final

from stream_bayes.errors import SourceError

__all__ = ["dbox_mails", "is_dbox"]

_BEGIN: Final = re.compile(rb"[0-9] M[0-9a-f]{1,8} C[0-9a-f]{1,16}[ \w]{0,100}\r?\n")
_MESSAGE: Final = re.compile(rb"\x01\x02[^\n]{1,100} ([0-9a-fA-F]{1,16})\n")
MAX_LINE: Final = 1 << 16
AT_ONCE: Final = 1 << 20  # bytes of a long message that are skipped


def is_dbox(first: bytes) -> bool:
    """Return True for the first line of a dbox file."""
    return _BEGIN.fullmatch(first) is not None


def dbox_mails(stream: IO[bytes], name: str, longest: int) -> Iterator[bytes]:
    """Yield the messages of a dbox file whose first line is read; of a longer one the first bytes.

    Raises
    ------
    SourceError
        If the file ends within a message, or is damaged.
    """
    while head := stream.readline(MAX_LINE):
        match = _MESSAGE.fullmatch(head)
        if match is None:
            raise SourceError(f"{name}: expected the header of a message in a dbox file, got {head[:40]!r}")
        size = int(match[1], 16)
        raw = stream.read(min(size, longest))
        left = size - len(raw)
        while left > 0 and (skipped := stream.read(min(left, AT_ONCE))):
            left -= len(skipped)
        if left > 0 or stream.readline(MAX_LINE) != b"\n" or stream.readline(MAX_LINE) != b"\1\3\n":
            raise SourceError(
                f"{name}: a message of {size:,} bytes in a dbox file does not end where it says"
            )
        yield raw
        while stream.readline(MAX_LINE) not in (b"\n", b""):
            pass
