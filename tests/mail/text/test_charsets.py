"""Bytes to text under whatever name."""

from __future__ import annotations

import encodings.aliases

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.mail import EmailTokens
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


UNDECLARED = {
    "koi8-r": [
        "Дешёвые часы и сумки, доставка бесплатно. Звоните!",
        "ВНИМАНИЕ! ВАШ СЧЕТ ЗАБЛОКИРОВАН",
        "Привет",
    ],
    "cp1251": [
        "Срочно! Подтвердите пароль",
        "ВНИМАНИЕ! ВАШ СЧЕТ",
        "Ваше замовлення готове, натисніть посилання",
    ],
    "cp866": ["Срочно! Подтвердите пароль"],
    "iso8859-5": ["Срочно! Подтвердите пароль"],
    "gb18030": ["您好，本公司代开发票，欢迎来电咨询。", "免费获得大奖，请点击链接", "你好"],
    "big5": ["您好，本公司提供低利貸款，歡迎來電洽詢。", "免費獲得大獎，請點擊連結"],
    "cp932": ["無料でお試しください。今すぐクリック！", "お金がすぐに必要な方へ"],
    "euc-jp": ["無料でお試しください。今すぐクリック！", "お金がすぐに必要な方へ"],
    "iso-2022-jp": ["無料でお試しください"],
    "iso-2022-kr": ["무료 상담"],
    "euc-kr": ["무료 상담을 원하시면 지금 전화주세요", "안녕하세요"],
    "cp1253": ["Κερδίστε χρήματα από το σπίτι σας σήμερα", "Συγχαρητήρια"],
    "cp1255": ["הלוואות מיידיות לכל מטרה התקשרו עכשיו"],
    "cp1256": ["اربح المال من المنزل اليوم اتصل الآن"],
    "cp874": ["รับเงินกู้ด่วน ดอกเบี้ยต่ำ โทรเลย"],
    "cp1252": [
        "Grüße aus München",
        "naïve café déjà vu",
        "Ääni työ",
        "¿qué?",
        "“quoted” — don’t",
        "£100 €50",
        "ÖÄ på",
    ],
}


@pytest.mark.parametrize("charset", UNDECLARED)
def test_text_under_no_charset_is_read_as_its_reader_sees_it(charset: str) -> None:
    for text in UNDECLARED[charset]:
        assert decode_text(text.encode(charset), "") == (text, "8bit")
        assert decoded_header(text.encode(charset), 9)[0] == text


def test_declared_charsets_are_the_larger_ones_that_readers_show() -> None:
    assert decode_text("镕 €".encode("gb18030"), "gb2312") == ("镕 €", "")
    assert decode_text("①".encode("cp932"), "shift_jis") == ("①", "")
    assert decode_text("‘free’".encode("cp1252"), "iso-8859-1") == ("‘free’", "")


def test_a_page_may_name_its_charset_itself() -> None:
    page = '<meta charset="cp866"><p>Да'.encode("cp866")
    raw = b"Content-Type: text/html\n\n" + page
    assert "Да" in EmailTokens().transform_one(raw)


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
