"""An array of JSON objects as lines, an object each."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stream_bayes.streams.byte_files.byte_file import ByteFile, Generated, ReplayableFile

__all__ = ["is_array", "lines_of_array"]

READ_AT_ONCE = 2**15
BLANKS = b" \t\r\n"
BOM = b"\xef\xbb\xbf"
OUTSIDE = re.compile(rb'[\[{\]},"\r\n]')  # what matters outside a text
INSIDE = re.compile(rb'[\\"]')  # and inside one


def is_array(file: ByteFile) -> bool:
    """Return True if the first byte of a file that is not blank begins an array."""
    while data := file.read(READ_AT_ONCE):
        if rest := data.removeprefix(BOM).lstrip(BLANKS):
            return rest.startswith(b"[")
    return False


def lines_of_array(inner: ReplayableFile) -> ReplayableFile:
    r"""Return the content of a file that holds an array as lines: one for each element, whatever lines it has.

    Examples
    --------
    >>> import io
    >>> lines_of_array(io.BytesIO(b'[\n  {"sky": "grey, [dark]",\n   "rain": true}, {}\n]')).read(100)
    b'   {"sky": "grey, [dark]",    "rain": true}\n {} \n'
    """
    return Generated(_pieces(inner))


def _pieces(inner: ReplayableFile) -> Iterator[bytes]:
    depth, is_text, is_escaped = 0, False, False
    while data := inner.read(READ_AT_ONCE):
        made, begin, at = bytearray(), 0, 0
        if is_escaped:
            at, is_escaped = 1, False
        while match := (INSIDE if is_text else OUTSIDE).search(data, at):
            at, mark = match.end(), match.group()
            if is_text:
                is_text = mark == b"\\"
                if is_text and at == len(data):
                    is_escaped = True
                at += is_text
                continue
            if mark == b'"':
                is_text = True
                continue
            put = mark
            if mark in b"{[":
                put = b"" if not depth else mark
                depth += 1
            elif mark in b"}]":
                depth -= 1
                put = b"\n" if not depth else mark
            elif mark in b"\r\n":
                put = b" "
            elif depth == 1:
                put = b"\n"
            made += data[begin : match.start()] + put
            begin = at
        made += data[begin:]
        yield bytes(made)
