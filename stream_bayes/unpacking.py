"""Decompression that is bounded while it expands: a kilobyte may hold a gigabyte of zeros."""

from __future__ import annotations

import zlib
from collections.abc import Callable

from stream_bayes.errors import BadValue

__all__ = ["unpacked"]

CHUNK = 1 << 16  # bytes unpacked at once
FORMATS = {"zlib": zlib.MAX_WBITS, "gzip": 16 + zlib.MAX_WBITS}


def unpacked(
    data: bytes, most: int, form: str = "zlib", reserve: Callable[[int], object] = lambda size: None
) -> bytes:
    """Return what was compressed. `data` has all compressed bytes; of gzip there may be several members. They may hold
    `most` bytes. `form` is `"zlib"` or `"gzip"`. `reserve` is called with the size of each part before it is kept; it
    raises if there is no memory for it.

    Raises
    ------
    BadValue
        If they hold more, are cut off, are followed by something else, or are not compressed so.

    Examples
    --------
    >>> unpacked(zlib.compress(b"grey"), 4)
    b'grey'
    >>> unpacked(zlib.compress(bytes(1_000_000)), 1000)
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadValue: expected at most 1,000 bytes once it is unpacked, got more
    """
    parts: list[bytes] = []
    size = 0
    while True:
        unpacking = zlib.decompressobj(FORMATS[form])
        try:
            while not unpacking.eof:
                part = unpacking.decompress(data, CHUNK)
                data = unpacking.unconsumed_tail
                if not (part or data or unpacking.eof):
                    raise BadValue(f"expected the end of what {form} has compressed, but it is cut off")
                size += len(part)
                if size > most:
                    raise BadValue(f"expected at most {most:,} bytes once it is unpacked, got more")
                reserve(len(part))
                parts.append(part)
        except zlib.error as error:
            raise BadValue(f"expected bytes compressed by {form}: {error}") from None
        data = unpacking.unused_data.lstrip(b"\0") if form == "gzip" else unpacking.unused_data
        if not data:
            return b"".join(parts)
        if form != "gzip":
            raise BadValue(f"expected the end after what {form} has compressed, got {len(data):,} more bytes")
