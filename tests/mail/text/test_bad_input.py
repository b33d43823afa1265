"""Whatever comes: bounded time and memory, never an exception."""

from __future__ import annotations

import socket
import time
import tracemalloc
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_bayes
from stream_bayes.mail import EmailTokens, SpamFilter
from stream_bayes.mail.text import headers as header_tokens
from stream_bayes.mail.text import sheets, styles, tags, visibility, web
from stream_bayes.mail.text.transfer_encodings import fast_parser_is_installed
from tests.machine import slowness
from tests.mail.messages import headers, multipart, nested, plain

PARSERS = ["standard", *(["fast"] if fast_parser_is_installed() else [])]
MEGABYTE = 2**20


def typed(kind: str, body: bytes) -> bytes:
    return headers(more=f"Content-Type: {kind}\n").encode() + b"\n" + body


def encoded(encoding: str, body: bytes) -> bytes:
    return headers(more=f"Content-Transfer-Encoding: {encoding}\n").encode() + b"\n" + body


CASES = {
    "empty": b"",
    "one byte": b"\0",
    "50 MB of words": b"Subject: long\n\n" + b"word " * 10_000_000,
    "50,000 nested parts": nested(50_000),
    "a header of 1 MB": b"Subject: " + b"long " * 200_000 + b"\n\nbody",
    "a Content-Type of 14 KB": b"Content-Type: text/plain" + b"; x=(((" * 2_000 + b"\n\nbody",
    "a name of 1 MB": b"N" * MEGABYTE + b": value\n\nbody",
    "100,000 headers": b"A: b\n" * 100_000 + b"\nbody",
    "100,000 encoded words": b"Subject: " + b"=?utf-8?q?a?= " * 100_000 + b"\n\nbody",
    "NULs": plain("nul") + b"\0" * MEGABYTE,
    "high bytes": b"\xff" * MEGABYTE,
    "open tags": typed("text/html", b"<" * MEGABYTE),
    "open comments": typed("text/html", b"<!--" * 200_000),
    "nested tags": typed("text/html", b"<div>" * 200_000),
    "attributes": typed("text/html", b"<a" + b" b=c" * 200_000 + b">"),
    "entities": typed("text/html", b"&#" * 400_000),
    "addresses": plain("http://" * 100_000),
    "dots": plain("a." * 400_000),
    "ats": plain("a@" * 400_000),
    "addresses in From": plain("x", sender="a@b.example, " * 50_000 + "a@b.example"),
    "one long word": plain("x" * MEGABYTE),
    "one long wide word": plain("中" * 300_000),
    "soft line ends": encoded("quoted-printable", b"=\n" * 400_000),
    "equal signs": encoded("quoted-printable", b"=" * MEGABYTE),
    "equal signs and letters": encoded("quoted-printable", b"=x" * 400_000),
    "high bytes in quoted-printable": encoded("quoted-printable", b"\xff" * MEGABYTE),
    "NULs in quoted-printable": encoded("quoted-printable", b"\0" * MEGABYTE),
    "blanks": encoded("quoted-printable", b" " * MEGABYTE + b"x"),
    "blanks at the ends of lines": encoded("quoted-printable", b" \n" * 400_000),
    "base64 of nothing": encoded("base64", b"=" * MEGABYTE),
    "base64 that ends at each letter": encoded("base64", b"a=" * 400_000),
    "high bytes in base64": encoded("base64", b"a\xff" * 400_000),
    "short lines of base64": encoded("base64", b"YQ==\n" * 200_000),
    "uuencode": encoded("x-uuencode", b"begin 644 a\n" * 80_000),
}


def four_pages(page: bytes) -> bytes:
    """A mail of as much HTML as is read of one."""
    part = b"Content-Type: text/html\n\n" + page
    return multipart(part, part, part, part)


# Each takes its place in the tokenizer to the limit of what is read: four parts of 64 KB, or 120 headers.
EXHAUSTING = {
    "lists within lists": four_pages(b"<ul><li>" * 8_192),
    "a style for each tag": four_pages(
        b"".join(b"<p style='color:#%06x'>a" % number for number in range(2_700))
    ),
    "sheets": four_pages(b"<style>" + b".a{color:red}" * 5_000 + b"</style><p class=a>"),
    "selectors within one another": four_pages(
        b"<style>" + b"i b i b i b{color:red}" * 400 + b"</style>" + b"<i><b>" * 50 + b"<u><i>a</u>" * 1_500
    ),
    "a selector for each tag": four_pages(
        b"<style>"
        + b"".join(b"p .a%d[b*=c],.d .a%d{display:none}" % (n, n) for n in range(480))
        + b"</style><div class=d>"
        + b"".join(b"<p class='a%d a%d a%d' b=c%d>a" % (n, n + 1, n + 2, n) for n in range(1_100))
    ),
    "the same rule for all": four_pages(
        b"<style>"
        + b"*{color:red;left:1px;font:1px a}" * 490
        + b"</style>"
        + b"".join(b"<p id=a%d>a" % n for n in range(3_000))
    ),
    "open conditions": four_pages(
        b"<style>" + b"@media (min-width:1px){" * 2_500 + b"</style><p style='" + b"calc(" * 900
    ),
    "attributes of their own": four_pages(b"".join(b"<a b%d=c%d d=e>" % (n, n) for n in range(4_000))),
    "quotes that do not match": four_pages(b'<a "' * 16_000),
    "disguised letters": multipart(
        *[b"Content-Type: text/plain; charset=utf-8\n\n" + "ａ\u200bаb ".encode() * 7_000] * 4
    ),
    "hops": (b"Received: from " + b" ".join(b"a%d.b.cc" % number for number in range(120)) + b"\n") * 120
    + b"\nbody",
}


def empty_caches() -> None:
    """Forget what was cached of earlier messages: a sender repeats nothing."""
    for cached in (
        *(
            sheets.element_of,
            visibility._own_style,
            visibility.look_within,
            tags._read_tag,
            styles.declarations_of,
            styles.color_of,
        ),
        *(header_tokens._rule_of, web._tokens_of),
    ):
        cached.cache_clear()


@pytest.mark.skipif(not stream_bayes.compiled, reason="the uncompiled build is slow")
@pytest.mark.parametrize("raw", [*CASES.values(), *EXHAUSTING.values()], ids=[*CASES, *EXHAUSTING])
def test_no_hostile_mail_takes_more_than_250_ms(raw: bytes) -> None:
    tokens = EmailTokens()
    taken: list[float] = []
    while not taken or (taken[-1] > 0.25 and len(taken) < 4):  # again, if the machine was busy
        empty_caches()
        start = time.process_time()
        tokens.transform_one(raw)
        taken.append(time.process_time() - start)
    assert min(taken) <= 0.25 or min(taken) <= 0.25 * slowness()


@cache
def read(name: str, parser: str) -> tuple[dict[str, int], float]:
    """The tokens of a case, and how long they took: read once for all tests."""
    tokens = EmailTokens(parser=parser)
    start = time.process_time()
    bag = tokens.transform_one(CASES[name])
    return bag, time.process_time() - start


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("name", CASES)
def test_time_and_memory_are_bounded(name: str, parser: str) -> None:
    bag, seconds = read(name, parser)
    assert seconds < 10.0  # measured at up to 0.5: what looks again and again takes minutes
    assert len(bag) < 6_000
    assert max(map(len, bag), default=0) < 700  # an address may be long


@pytest.mark.parametrize("name", ["50 MB of words", "50,000 nested parts", "high bytes", "nested tags"])
def test_no_message_takes_more_than_a_few_times_what_is_read_of_it(name: str) -> None:
    tokens = EmailTokens(parser="standard")
    tokens.transform_one(plain("warm"))
    tracemalloc.start()
    tokens.transform_one(CASES[name])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 * MEGABYTE


@pytest.mark.parametrize("parser", PARSERS)
def test_nothing_that_a_mail_links_to_is_fetched(parser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    page = (
        b'<img src="http://tracker.example/x.png"><link rel=stylesheet href="http://a.example/s.css"><p>lunch'
    )
    head = (
        b"From: a@b.example\nContent-Type: message/external-body; access-type=anon-ftp; site=ftp.example\n\n"
    )
    html = b"From: a@b.example\nContent-Type: text/html\n\n"
    assert "lunch" in EmailTokens(parser=parser).transform_one(html + page)
    assert EmailTokens(parser=parser).transform_one(head)


def test_the_parsers_agree_on_the_worst() -> None:
    bags = [{name: read(name, parser)[0] for name in CASES} for parser in PARSERS]
    assert bags[0] == bags[-1]


@given(st.binary(max_size=500))
def test_no_bytes_make_it_raise(raw: bytes) -> None:
    bag = EmailTokens().transform_one(raw)
    assert all(type(token) is str and count >= 1 for token, count in bag.items())


@given(st.text(max_size=500))
def test_no_text_makes_it_raise(text: str) -> None:
    EmailTokens(pairs=True).transform_one(text)


def test_the_filter_learns_and_judges_the_worst() -> None:
    model = SpamFilter()
    for number, raw in enumerate(CASES.values()):
        model.score_one(raw)
        model.learn_one(raw, "spam" if number % 2 else "ham")
    restored = SpamFilter.from_state(model.state())
    for name in CASES:
        bag, _ = read(name, PARSERS[-1])
        assert 0.0 < model.predict_proba_one(bag)["spam"] < 1.0
        assert restored.score_one(bag) == model.score_one(bag)
