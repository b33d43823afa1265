"""Files and encrypted text within plain text: uuencode and OpenPGP's armour."""

from __future__ import annotations

import binascii
import re
from typing import Final

__all__ = ["cut_armour", "cut_uuencoded", "decoded_uuencode"]

_BEGIN: Final = re.compile(r"^begin [0-7]{3,4} (\S[^\n]{0,100})\n", re.MULTILINE)
_ARMOUR: Final = re.compile(
    r"^(-----BEGIN PGP (MESSAGE|SIGNATURE|PUBLIC KEY BLOCK)-----\n(?:[A-Za-z]{1,20}: [^\n]{0,200}\n){0,8})"
    r".*?(?:^-----END PGP \2-----\n?|\Z)",
    re.MULTILINE | re.DOTALL,
)
MAX_FILES: Final = 20
MAX_BEGINNINGS: Final = 2_000  # that are looked at; most may be sentences


def cut_uuencoded(text: str, most: int) -> tuple[str, list[tuple[str, bytes]]]:
    r"""Return a text without the files in it, and the names and contents of these. `most` is the most bytes of all
    files; of more, the beginning is decoded.

    Examples
    --------
    >>> cut_uuencoded("see\nbegin 644 a.txt\n%<&EL;',`\n`\nend\nbye", 100)
    ('see\nbye', [('a.txt', b'pills')])
    """
    kept: list[str] = []
    files: list[tuple[str, bytes]] = []
    start = 0
    for _ in range(MAX_BEGINNINGS):
        match = _BEGIN.search(text, start)
        if match is None or len(files) == MAX_FILES:
            break
        end, data = match.end(), bytearray()
        while end < len(text):
            stop = text.find("\n", end)
            stop = len(text) if stop < 0 else stop
            line = text[end:stop].rstrip("\r")
            if line == "end" or not 1 <= len(line) <= 90:
                end = stop + 1 if line == "end" else end
                break
            try:
                decoded = binascii.a2b_uu(line)
            except (binascii.Error, ValueError):
                break
            if len(data) < most:
                data += decoded
            end = stop + 1
        if not data:  # a sentence that begins like a file
            kept.append(text[start : match.end()])
            start = match.end()
            continue
        most -= len(data)
        kept.append(text[start : match.start()])
        files.append((match[1].strip(), bytes(data)))
        start = end
    return "".join([*kept, text[start:]]), files


def decoded_uuencode(body: bytes) -> bytes:
    r"""Return the files in a body that is sent as uuencode, and the rest of its text.

    Examples
    --------
    >>> decoded_uuencode(b"begin 644 a.txt\n%<&EL;',`\n`\nend\nnow"), decoded_uuencode(b"pills")
    (b'pills\nnow', b'pills')
    """
    rest, files = cut_uuencoded(body.decode("latin-1"), len(body))
    return b"\n".join([*(data for _, data in files), rest.encode("latin-1")])


def cut_armour(text: str) -> tuple[str, bool]:
    """Return a text without OpenPGP's base64, and True if some of that was an encrypted message.

    The lines before the base64 stay, as they name the program; not of an encrypted message, which has no other text.
    """
    is_encrypted = "-----BEGIN PGP MESSAGE-----" in text
    return _ARMOUR.sub(lambda match: "" if match[2] == "MESSAGE" else match[1], text), is_encrypted
