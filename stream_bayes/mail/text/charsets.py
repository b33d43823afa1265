"""Decoding bytes to text, with any declared charset, right or wrong.

A known charset decodes with U+FFFD for invalid bytes, and as the larger one that readers show under its name. For an
unknown one, or none, `charset_guess.py` guesses.
"""

from __future__ import annotations

import binascii
import codecs
import re
from functools import lru_cache

from stream_bayes.mail.text.charset_guess import guessed_text, western_text

__all__ = ["charset_of_page", "decode_text", "decoded_header", "python_charset", "sound_base64"]

# Some take quadratic time, some unpack, some exist on one system only. None was ever a charset of mail.
_REFUSED = frozenset(
    "idna punycode unicode_escape raw_unicode_escape undefined mbcs oem base64 bz2 hex quopri uu zlib rot13".split()
)
_NONE = frozenset({"", "us-ascii", "ascii"})  # 8-bit text under these names has no known charset
# Readers show these names as the charsets of Windows that contain them (Encoding Standard of the WHATWG, 4.2).
_SHOWN_AS = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "iso8859-11": "cp874",
}
# A mark at the beginning decides, whatever charset is declared (Encoding Standard, 6).
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_META = re.compile(rb"<meta\b[^<>]{0,200}?\bcharset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.IGNORECASE)
MAX_TEXTS = 1_000  # of base64 in one body
META_BYTES = 1 << 12  # at the beginning of a page, where its charset may be named
_WORD = re.compile(rb"=\?([\w.:*-]{1,60})\?([bBqQ])\?([^?]{0,2000})\?=")
_BETWEEN = re.compile(rb"\?=[ \t]{1,20}=\?")  # blanks between two encoded words are not part of the text
_ESCAPE = re.compile(rb"=([0-9a-fA-F]{2})")
_NOT_BASE64 = bytes(
    sorted(set(range(256)) - set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"))
)


@lru_cache(maxsize=256)
def python_charset(name: str) -> str | None:
    """Return Python's name of a charset; None for one that may not be used."""
    try:
        codec = codecs.lookup(name.strip("'\" "))
        # Codecs that do not decode bytes to text raise here; an empty input would not reach them.
        b"a".decode(codec.name, "replace")
    except (LookupError, ValueError, UnicodeError):
        return None
    return None if codec.name.replace("-", "_").removesuffix("_codec") in _REFUSED else codec.name


def decode_text(data: bytes, charset: str) -> tuple[str, str]:
    r"""Return the text, and the defect of its charset or "".

    Examples
    --------
    >>> decode_text(b"caf\xc3\xa9", "utf-8")
    ('café', '')
    >>> decode_text(b"caf\xe9", "x-unknown")
    ('café', 'unknown-charset')
    """
    if data[:2] in (b"\xef\xbb", b"\xff\xfe", b"\xfe\xff") and not charset.startswith("utf-32"):
        for mark, named in _MARKS:
            if data.startswith(mark):
                return data[len(mark) :].decode(named, "replace"), ""
    if charset in _NONE:
        text, guess = guessed_text(data)
        return text, "8bit" if guess else ""
    codec = python_charset(charset)
    if codec is None:
        return guessed_text(data)[0], "unknown-charset"
    if codec == "iso8859-1":
        return western_text(data), ""
    try:
        text = data.decode(_SHOWN_AS.get(codec, codec), "replace")
    except (UnicodeError, ValueError, LookupError):  # a codec without "replace"
        return guessed_text(data)[0], "charset-lie"
    return text, "charset-lie" if "\ufffd" in text else ""


def charset_of_page(data: bytes) -> str:
    """Return the charset that a page names in its own head; "" if none.

    Examples
    --------
    >>> charset_of_page(b'<html><meta http-equiv="Content-Type" content="text/html; charset=KOI8-R">')
    'koi8-r'
    """
    match = _META.search(data, 0, META_BYTES)
    return "" if match is None else match[1].decode("ascii", "replace").lower()


def sound_base64(data: bytes) -> tuple[bytes, bool]:
    """Return valid base64 made from data, of its alphabet in whole groups; and True if the data was anything else."""
    clean = data.translate(None, b"\n \t")
    body, padding, rest = clean.partition(b"=")
    if rest.strip(b"="):  # texts of base64 one after another, which readers decode in turn
        texts = [sound_base64(text.partition(b"=")[0])[0] for text in clean.split(b"=", MAX_TEXTS)]
        return binascii.b2a_base64(b"".join(map(binascii.a2b_base64, texts)), newline=False), True
    wrong = False
    kept = body.translate(None, _NOT_BASE64)
    wrong |= len(kept) != len(body) or (len(kept) + len(padding + rest)) % 4 != 0
    spare = len(kept) % 4
    if spare == 1:
        kept = kept[:-1]
    elif spare:
        kept += b"=" * (4 - spare)
    return kept, wrong


def decoded_header(value: bytes, words: int) -> tuple[str, list[str], int]:
    """Return the text of a header's value, the charsets of its encoded words, and the number of words decoded. `value`
    is unfolded. At most `words` encoded words are decoded; those beyond stay as they are.

    Examples
    --------
    >>> decoded_header(b"=?utf-8?q?caf=C3=A9?= =?utf-8?b?IGJhcg==?= now", 10)
    ('café bar now', ['utf-8', 'utf-8'], 2)
    """
    if b"=?" not in value:
        return decode_text(value, "")[0], [], 0
    value = _BETWEEN.sub(b"?==?", value)
    parts: list[str] = []
    charsets: list[str] = []
    done = start = 0
    run, charset_of_run = b"", ""  # words that follow one another: a letter may be split between them
    for match in _WORD.finditer(value):
        if done == words:
            break
        charset = match[1].partition(b"*")[0].decode("latin-1").lower()
        if match.start() > start or charset != charset_of_run:
            parts += (decode_text(run, charset_of_run)[0], decode_text(value[start : match.start()], "")[0])
            run, charset_of_run = b"", charset
        if match[2] in b"bB":
            data = binascii.a2b_base64(sound_base64(match[3])[0])
        else:
            data = _ESCAPE.sub(
                lambda escape: bytes.fromhex(escape[1].decode("ascii")), match[3].replace(b"_", b" ")
            )
        run += data
        charsets.append(decode_text(run, charset)[1] or charset)
        done += 1
        start = match.end()
    parts += (decode_text(run, charset_of_run)[0], decode_text(value[start:], "")[0])
    return "".join(parts), charsets, done
