"""Mails that are written against the rules and shown all the same: what the reader sees is read."""

from __future__ import annotations

import base64
import quopri

import pytest

from stream_bayes.mail import EmailTokens
from tests.mail.messages import headers

PAGE = b"<html><body><p>cheap pills</p></body></html>"
BASE64 = b"Content-Transfer-Encoding: base64\n"
OCTETS = b"application/octet-stream"


def tokens_of(raw: bytes) -> dict[str, int]:
    return EmailTokens().transform_one(raw)


def mail(fields: str, body: bytes) -> bytes:
    return headers(more=fields).encode() + b"\n" + body


def with_part(fields: bytes, body: bytes) -> bytes:
    parts = b"--b\nContent-Type: text/plain\n\nhello\n--b\n" + fields + b"\n" + body + b"\n--b--\n"
    return mail("Content-Type: multipart/mixed; boundary=b\n", parts)


@pytest.mark.parametrize(
    "fields",
    [
        b'Content-Type: %b; name="=?utf-8?B?%b?="\n' % (OCTETS, base64.b64encode("é.html".encode())),
        b"Content-Type: %b\nContent-Disposition: attachment; filename*=UTF-8''caf%%C3%%A9%%2Ehtml\n" % OCTETS,
        b'Content-Type: %b\nContent-Disposition: attachment; filename*0="invo"; filename*1="ice.html"\n'
        % OCTETS,
        b"Content-Type: %b;\n name*1*=ice.html; name*0*=iso-8859-1''%%FCinvo\n" % OCTETS,
        b'Content-Type: %b; name="invoice.html. "\n' % OCTETS,
        b"Content-Type: %b; name=my invoice.html; x=y\n" % OCTETS,
        b"Content-Type: %b name=invoice.html\n" % OCTETS,
        b'Content-Type: %b; name="in\\"voice.html"\n' % OCTETS,
        b'Content-Type: %b; name="%b.html"\n' % (OCTETS, b"x" * 310),
    ],
)
def test_an_attached_page_is_read_however_its_name_is_written(fields: bytes) -> None:
    tokens = tokens_of(with_part(fields + BASE64, base64.encodebytes(PAGE)))
    assert {"cheap", "pills", "file:.html"} <= tokens.keys()


def test_the_name_of_a_file_is_decoded_from_its_charset() -> None:
    fields = b"Content-Type: %b; name*0*=koi8-r''%%D0%%D2; name*1*=%%C9.pdf\n" % OCTETS
    assert "file:при.pdf" in tokens_of(with_part(fields, b"x"))


@pytest.mark.parametrize("encoding", ["base64 (x)", '"base64"', "base64;", " BASE64 ", "'base64'"])
def test_an_encoding_is_known_whatever_stands_around_it(encoding: str) -> None:
    fields = f"Content-Type: text/plain\nContent-Transfer-Encoding: {encoding}\n"
    tokens = tokens_of(mail(fields, base64.encodebytes(b"cheap pills")))
    assert {"cheap", "pills"} <= tokens.keys()
    assert ("defect:bad-encoding" in tokens) == (encoding.strip().lower() != "base64")


@pytest.mark.parametrize("between", [b"", b"\n", b"\n\n"])
def test_texts_of_base64_one_after_another_are_read(between: bytes) -> None:
    body = between.join(base64.b64encode(text) for text in (b"dear ", b"cheap p", b"ills now"))
    assert body.count(b"=") > 3
    tokens = tokens_of(mail("Content-Transfer-Encoding: base64\n", body))
    assert {"dear", "cheap", "pills", "now", "defect:bad-base64"} <= tokens.keys()


def nested_mail(outer: str, inner: str) -> bytes:
    page = base64.encodebytes(PAGE)
    lines = [
        b"--%b\nContent-Type: text/plain\n\nDear Ann\n--%b" % (outer.encode(), outer.encode()),
        f"Content-Type: multipart/related; boundary={inner}\n\n--{inner}".encode(),
        b"Content-Type: text/html\n" + BASE64 + b"\n" + page + f"--{inner}".encode(),
        f"Content-Type: image/png\n\nx\n--{inner}--\n--{outer}--\n".encode(),
    ]
    return mail(f"Content-Type: multipart/alternative; boundary={outer}\n", b"\n".join(lines))


@pytest.mark.parametrize(("outer", "inner"), [("b", "b-1"), ("b", "b--1"), ("b", "bb"), ("b", "b.b--")])
def test_a_boundary_may_begin_as_another_one(outer: str, inner: str) -> None:
    """In each the page is the form that is shown, and the text before it is not."""
    tokens = tokens_of(nested_mail(outer, inner))
    assert {"cheap", "pills", "hidden:Dear", "mime:image/png"} <= tokens.keys()
    assert "Dear" not in tokens and not [token for token in tokens if token.startswith("defect:")]


def test_a_boundary_line_may_have_more_behind_it() -> None:
    tokens = tokens_of(
        nested_mail("b", "c").replace(b"\n--b\n", b"\n--b what\n").replace(b"--c\n", b"--c  \n")
    )
    assert {"cheap", "pills", "hidden:Dear"} <= tokens.keys()


@pytest.mark.parametrize(
    "fields",
    [
        "Content-Type: multipart/mixed boundary=b\n",
        "Content-Type: multipart/mixed\n",
        "Content-Type: multipart/mixed; boundary=other\n",
        'Content-Type: multipart/mixed; boundary="b "\n',
        'Content-Type: multipart/mixed; boundary="b\n',
        "Content-Type: multipart/mixed; boundary*0=b\n",
    ],
)
def test_parts_are_found_without_a_right_boundary(fields: str) -> None:
    part = b"--b\nContent-Type: text/html\n" + BASE64 + b"\n" + base64.encodebytes(PAGE) + b"--b--\n"
    tokens = tokens_of(mail(fields, part))
    assert {"cheap", "pills", "mime:text/html"} <= tokens.keys()


@pytest.mark.parametrize("kind", ["global", "news", "partial; id=x; number=1; total=1"])
def test_messages_of_other_types_are_opened(kind: str) -> None:
    inner = (
        b"Subject: winner\nContent-Type: text/plain\n" + BASE64 + b"\n" + base64.encodebytes(b"cheap pills")
    )
    assert {"winner", "cheap", "pills"} <= tokens_of(mail(f"Content-Type: message/{kind}\n", inner)).keys()


@pytest.mark.parametrize("codec", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("charset", ["", "; charset=utf-8", "; charset=iso-8859-1"])
def test_a_mark_at_the_beginning_is_the_charset(codec: str, charset: str) -> None:
    fields = f"Content-Type: text/html{charset}\nContent-Transfer-Encoding: base64\n"
    tokens = tokens_of(mail(fields, base64.encodebytes("<p>cheap café".encode(codec))))
    assert {"cheap", "café"} <= tokens.keys()
    assert not [token for token in tokens if token.startswith(("defect:", "text:"))]


def encoded_word(data: bytes, encoding: str) -> str:
    if encoding == "Q":
        return f"=?utf-8?Q?{quopri.encodestring(data, header=True).decode()}?="
    return f"=?utf-8?B?{base64.b64encode(data).decode()}?="


@pytest.mark.parametrize("encoding", ["Q", "B"])
def test_a_letter_that_is_split_between_two_words_is_read(encoding: str) -> None:
    subject = "".join(encoded_word(bytes([byte]), encoding) + "\n " for byte in "дёшево".encode())
    raw = f"From: ann@example.com\nSubject: {subject}now\n\nbody".encode()
    assert {"subject:дёшево", "subject:now"} <= tokens_of(raw).keys()


@pytest.mark.parametrize("encoding", ["Q", "B"])
@pytest.mark.parametrize("times", [20, 60, 200])
def test_a_long_encoded_word_is_read(encoding: str, times: int) -> None:
    word = encoded_word(b"cheap pills " * times, encoding).replace("=\n", "").replace("\n", "")
    tokens = tokens_of(f"From: ann@example.com\nSubject: {word}\n\nbody".encode())
    assert {"subject:cheap", "subject:pills"} <= tokens.keys()


@pytest.mark.parametrize(
    "text",
    ["cheap_pills_for_you_and_everybody", "only.cheap.pills.for.you.today", "all-cheap-pills-are-here-today"],
)
def test_words_that_signs_join_are_read(text: str) -> None:
    tokens = tokens_of(f"From: ann@example.com\nSubject: {text}\n\n{text}".encode())
    assert {"subject:cheap", "subject:pills", "cheap", "pills", f"long:{text[0]}30"} <= tokens.keys()


def test_a_long_address_in_a_text_is_read() -> None:
    assert {"barrister", "lottery", "example"} <= tokens_of(
        b"A: b\n\nbarrister.smith@lottery.example.com"
    ).keys()


def test_a_long_word_of_letters_alone_stays_one() -> None:
    assert EmailTokens().transform_one("x" * 40) == {"long:x40": 1}


@pytest.mark.parametrize(
    "page",
    [
        '<a href=" //shop.example.com/x">q</a>',
        '<a href="ht\ntps://shop.exa\tmple.com/x">q</a>',
        '<a href="https:\\\\shop.example.com\\x">q</a>',
        '<a href="https:/shop.example.com/x">q</a>',
        '<a href="https:shop.example.com/x">q</a>',
        "<div style=\"background: URL( 'http://shop.example.com/a.png')\">q</div>",
        '<meta http-equiv="refresh" content="0; url=http://shop.example.com/">q',
        '<svg><a xlink:href="http://shop.example.com/">q</a></svg>',
        '<button formaction="http://shop.example.com/">q</button>',
        f'<a {"title=long " * 100} href="http://shop.example.com/">q</a>',
    ],
)
def test_links_are_found_as_browsers_follow_them(page: str) -> None:
    assert "url:shop.example.com" in tokens_of(mail("Content-Type: text/html\n", page.encode()))


@pytest.mark.parametrize("link", ["x/y.html", "#top", "?q=1", "cid:a@b", "/x", "javascript:x()"])
def test_a_link_within_a_site_names_no_host(link: str) -> None:
    tokens = tokens_of(mail("Content-Type: text/html\n", f'<a href="{link}">q</a>'.encode()))
    assert not [token for token in tokens if token.startswith("url:")]


def test_the_hint_of_an_empty_field_is_seen() -> None:
    tokens = tokens_of(mail("Content-Type: text/html\n", b"<input type=text placeholder='cheap pills'>"))
    assert {"cheap", "pills"} <= tokens.keys()
