"""Decompression that is bounded while it expands: a kilobyte may hold a gigabyte of zeros."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from stream_bayes.errors import BadValue

__all__ = ["MOST_DICTIONARY", "pieces_of", "unpacked"]

CHUNK = 1 << 16  # bytes unpacked at once
READ_AT_ONCE = 1 << 15  # compressed bytes
MOST_DICTIONARY = 1 << 27  # bytes that xz may take for what it refers back to: `xz -9` takes half of them


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Inflater:
    """A decompressor of zlib, with the methods that those of bz2 and lzma have."""

    def __init__(self, window_bits: int) -> None:
        self._inner = zlib.decompressobj(window_bits)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        part = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self.needs_input = len(part) < max_length and not self._inner.unconsumed_tail
        return part


FORMS: Mapping[str, Callable[[], Any]] = {
    "zlib": lambda: _Inflater(zlib.MAX_WBITS),
    "gzip": lambda: _Inflater(16 + zlib.MAX_WBITS),
    "deflate": lambda: _Inflater(-zlib.MAX_WBITS),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(memlimit=MOST_DICTIONARY),
}
REPEATED = ("gzip", "bzip2", "xz")  # of these several may follow each other, with zeros between them


def pieces_of(read: Callable[[int], bytes], form: str) -> Iterator[bytes]:
    """Yield what is compressed in a stream in pieces of at most CHUNK bytes, as they are asked for.

    Raises
    ------
    BadValue
        If the stream is not compressed so, is cut off, goes on with something else, or needs a large dictionary.
    """
    data = read(READ_AT_ONCE)
    while True:
        unpacking: _Decompressor = FORMS[form]()
        while not unpacking.eof:
            try:
                part = unpacking.decompress(data, CHUNK)
            except (OSError, zlib.error, lzma.LZMAError) as error:
                raise BadValue(f"expected bytes compressed by {form}: {_reason(error)}") from None
            if part:
                yield part
            data = read(READ_AT_ONCE) if unpacking.needs_input and not unpacking.eof else b""
            if unpacking.needs_input and not unpacking.eof and not data:
                raise BadValue(f"expected the end of what {form} has compressed, but it is cut off")
        data = unpacking.unused_data
        while not (data := data.lstrip(b"\0") if form in REPEATED else data) and (more := read(READ_AT_ONCE)):
            data = more
        if not data:
            return
        if form == "deflate":  # Avro's writers leave a part of zlib's checksum after it
            return
        if form not in REPEATED:
            raise BadValue(f"expected the end after what {form} has compressed, got more bytes")


def _reason(error: Exception) -> str:
    if isinstance(error, lzma.LZMAError) and "limit" in str(error):
        return f"it needs a dictionary of more than {MOST_DICTIONARY:,} bytes; compress it again by xz -9 or less"
    return str(error)


def unpacked(
    data: bytes, most: int, form: str = "zlib", reserve: Callable[[int], object] = lambda size: None
) -> bytes:
    """Return what was compressed. `data` has all compressed bytes; of gzip, bzip2 and xz there may be several members.
    They may hold `most` bytes. `form` is `"zlib"`, `"gzip"`, `"deflate"` (without a header), `"bzip2"` or `"xz"`.
    `reserve` is called with the size of each part before it is kept; it raises if there is no memory for it.

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
    size, at = 0, 0

    def read(count: int) -> bytes:
        nonlocal at
        at += count
        return data[at - count : at]

    for part in pieces_of(read, form):
        size += len(part)
        if size > most:
            raise BadValue(f"expected at most {most:,} bytes once it is unpacked, got more")
        reserve(len(part))
        parts.append(part)
    return b"".join(parts)
