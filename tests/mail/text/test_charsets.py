"""Bytes to text under whatever name."""

from __future__ import annotations

import encodings.aliases

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.mail.text.charsets import decode_text, decoded_header, python_charset

NAMES = sorted({*encodings.aliases.aliases, *encodings.aliases.aliases.values()})


@pytest.mark.parametrize(
    ("data", "charset", "text", "defect"),
    [
        ("käse".encode(), "utf-8", "käse", ""),
        ("käse".encode("latin-1"), "ISO-8859-1", "käse", ""),
        ("日本".encode("iso-2022-jp"), "iso-2022-jp", "日本", ""),
        (b"plain", "", "plain", ""),
        ("käse".encode(), "us-ascii", "käse", "8bit"),
        ("käse".encode("latin-1"), "", "käse", "8bit"),
        ("käse".encode("latin-1"), "utf-8", "k\ufffdse", "charset-lie"),
        ("käse".encode("latin-1"), "x-no-such", "käse", "unknown-charset"),
        ("käse".encode(), "'utf-8'", "käse", ""),
        (b"zipped", "zlib", "zipped", "unknown-charset"),
        (b"xn--", "punycode", "xn--", "unknown-charset"),
    ],
)
def test_text_is_decoded_and_a_lie_is_told(data: bytes, charset: str, text: str, defect: str) -> None:
    assert decode_text(data, charset) == (text, defect)


@pytest.mark.parametrize("data", [b"", bytes(range(256)), b"+AGE-\xff", b"\x1b$B\x1b"])
def test_no_charset_makes_decoding_raise(data: bytes) -> None:
    for charset in (*NAMES, "", "\0", "a" * 1000, "utf-8\0", "..", "ä"):
        assert isinstance(decode_text(data, charset)[0], str), charset


@pytest.mark.parametrize("name", "idna punycode unicode_escape zlib base64 rot13 bz2 hex uu".split())
def test_codecs_that_are_no_charset_are_refused(name: str) -> None:
    assert python_charset(name) is None


@given(st.binary(max_size=300), st.integers(0, 5))
def test_no_header_makes_decoding_raise(value: bytes, words: int) -> None:
    text, charsets, used = decoded_header(value, words)
    assert isinstance(text, str)
    assert used <= words
    assert len(charsets) == used


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"=?utf-8?Q?a_b=3F?=", "a b?"),
        (b"=?UTF-8*en?b?w6Q=?= =?utf-8?b?w6Q?=", "ää"),
        (b"x =?utf-8?q?y?= z", "x y z"),
        (b"=?utf-8?x?no?=", "=?utf-8?x?no?="),
        (b"=?utf-8?q?unended", "=?utf-8?q?unended"),
    ],
)
def test_encoded_words_are_decoded(value: bytes, text: str) -> None:
    assert decoded_header(value, 9)[0] == text


def test_encoded_words_past_the_limit_stay_as_they_are() -> None:
    text, charsets, used = decoded_header(b"=?utf-8?q?a?= " * 50, 3)
    assert text.startswith("aaa=?utf-8?q?a?=")
    assert (charsets, used) == (["utf-8"] * 3, 3)
