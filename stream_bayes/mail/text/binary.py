"""Bytes that are no text: pictures, programs, archives, noise."""

from __future__ import annotations

from typing import Final

__all__ = ["is_binary"]

SAMPLED: Final = 1 << 16  # bytes that are looked at
ODD_SHARE: Final = 50  # one control character in so many bytes
CONTROLS: Final = bytes({*range(32), 127} - set(b"\t\n\r\f\b\x1b"))


def is_binary(data: bytes) -> bool:
    r"""Return True if the beginning of some bytes is no text in any charset of mails.

    Examples
    --------
    >>> is_binary(b"lunch\n"), is_binary(bytes(range(256)))
    (False, True)
    """
    begin = data[:SAMPLED]
    odd = len(begin) - len(begin.translate(None, CONTROLS))
    return b"\0" in begin or ODD_SHARE * odd > len(begin)
