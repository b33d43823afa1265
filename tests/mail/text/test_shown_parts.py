"""The parts of a message that its reader sees: all are read, and of several forms of a text the one that is shown."""

from __future__ import annotations

import base64
import binascii

import pytest

from stream_bayes.mail import EmailTokens, Limits
from stream_bayes.mail.text.attachments import FURTHER_PAGES
from tests.mail.messages import HAM, encoded, headers, multipart, plain

SHOWN = {"winner", "cheap", "pills"}
TEXT = "winner of cheap pills"
HAM_TEXT = b"Content-Type: text/plain\n\n" + " ".join(HAM * 20).encode()
LONG = " ".join(f"word{number}" for number in range(6_000))


def part(body: str, media: str = "text/plain", more: str = "") -> bytes:
    return f"Content-Type: {media}\n{more}\n{body}\n".encode()


def inner(media: str, *parts: bytes, title: str = "") -> bytes:
    """A multipart within a message."""
    boundary = f"inner{len(parts)}{media[-3:]}"
    lines = b"".join(b"--" + boundary.encode() + b"\n" + one + b"\n" for one in parts)
    head = f'{title}Content-Type: {media}; boundary="{boundary}"\n\n'
    return head.encode() + lines + f"--{boundary}--\n".encode()


ENRICHED = "<bold>win</bold>ner of <color><param>meeting</param>che</color>ap<nl>pi<x-tag></x-tag>lls"
RTF = r"{\rtf1{\fonttbl{\f0 meeting;}}\b win\b0 ner of cheap\par pills}"
EVENT = """BEGIN:VCALENDAR
BEGIN:VEVENT
SUMMARY:winner of
DESCRIPTION:get che
 ap offers\\, today
LOCATION:pills
URL:https://shop.example.com/offer
END:VEVENT
END:VCALENDAR"""
PAGE = "<p>winner of <b>che</b>ap pills</p>"
OCTETS = "application/octet-stream"
UUENCODED = f"begin 644 a\n{binascii.b2a_uu(PAGE.encode()).decode()}`\nend\n"

READ = {
    "a second text": multipart(HAM_TEXT, part(TEXT)),
    "a first text": multipart(part(TEXT), HAM_TEXT),
    "a text after a page": multipart(part("<p>agenda", "text/html"), part(TEXT)),
    "a second page": multipart(
        part("<p>agenda", "text/html"), part(PAGE, "text/html"), media="multipart/related"
    ),
    "a text beside the page that is shown": multipart(
        part("notes"),
        inner("multipart/mixed", part("<p>agenda", "text/html"), part(TEXT)),
        media="multipart/alternative",
    ),
    **{
        f"{media} beside the page that others show": multipart(
            part("notes"), part(PAGE, media), part("<p>agenda", "text/html"), media="multipart/alternative"
        )
        for media in FURTHER_PAGES
    },
    "an unknown type of text": multipart(HAM_TEXT, part(TEXT, "text/x-unknown")),
    "enriched": multipart(HAM_TEXT, part(ENRICHED, "text/enriched")),
    "enriched alone": headers(more="Content-Type: text/enriched\n").encode() + b"\n" + ENRICHED.encode(),
    "richtext": multipart(HAM_TEXT, part(ENRICHED, "text/richtext")),
    "RTF": multipart(HAM_TEXT, part(RTF, "text/rtf")),
    "RTF alone": headers(more="Content-Type: text/rtf\n").encode() + b"\n" + RTF.encode(),
    "an event": multipart(HAM_TEXT, part(EVENT, "text/calendar; method=REQUEST")),
    "an event beside a page": multipart(
        part("<p>agenda", "text/html"), part(EVENT, "text/calendar"), media="multipart/alternative"
    ),
    "soft line ends within words": multipart(
        HAM_TEXT, part("> win \n> ner of che \nap  \n pi \nlls", "text/plain; format=Flowed; delsp=Yes")
    ),
    "a page as uuencode": multipart(
        HAM_TEXT, part(UUENCODED, "text/html", "Content-Transfer-Encoding: x-uuencode\n")
    ),
    "a text that says it is uuencode": multipart(
        HAM_TEXT, part(TEXT, "text/plain", "Content-Transfer-Encoding: x-uue\n")
    ),
    "octets that are text": multipart(HAM_TEXT, part(TEXT, OCTETS)),
    "octets that are a page": multipart(HAM_TEXT, encoded(PAGE, "base64", media=OCTETS)),
    "octets that are quoted text": multipart(HAM_TEXT, encoded(TEXT, "quoted-printable", media=OCTETS)),
    "a page beside octets": multipart(
        part(PAGE, "text/html"), encoded("<p>agenda", "base64", media=OCTETS), media="multipart/alternative"
    ),
    "a page beside octets with the name of a page": multipart(
        part(PAGE, "text/html"), part("<p>agenda", OCTETS + "; name=a.html"), media="multipart/alternative"
    ),
    "a message": multipart(HAM_TEXT, b"Content-Type: message/rfc822\n\n" + plain(TEXT)),
    "the title of a message": multipart(
        HAM_TEXT, b"Content-Type: message/rfc822\n\n" + plain("agenda", subject=TEXT)
    ),
    "the title of a message of several parts": multipart(
        HAM_TEXT,
        b"Content-Type: message/rfc822\n\n"
        + inner("multipart/mixed", part("agenda"), part("notes"), title=f"Subject: {TEXT}\n"),
    ),
    "the title of an encoded message": multipart(
        HAM_TEXT,
        b"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"
        + base64.encodebytes(inner("multipart/mixed", part("agenda"), title=f"Subject: {TEXT}\n")),
    ),
    "a part of a digest": multipart(
        b"\nSubject: winner\n\ncheap pills\n", b"\nSubject: notes\n\nagenda\n", media="multipart/digest"
    ),
    "after four long parts": multipart(
        *[part("\n".join(["agenda notes"] * 5_000))] * 4, part(TEXT + " again" * 20_000)
    ),
    "after a part with more words than are counted": multipart(part(LONG), part(TEXT)),
}


@pytest.mark.parametrize("name", READ)
def test_every_part_that_is_shown_is_read(name: str) -> None:
    bag = EmailTokens().transform_one(READ[name])
    assert bag.keys() >= SHOWN and not any(token.startswith("unread:") for token in bag)
    if name.startswith("an event"):
        assert "url:shop.example.com" in bag


@pytest.mark.parametrize("flow", ["flowed", "flowed; delsp=no", "fixed; delsp=yes"])
def test_soft_line_ends_separate_words_unless_they_are_deleted(flow: str) -> None:
    bag = EmailTokens().transform_one(multipart(part("cheap \npills", f"text/plain; format={flow}")))
    assert {"cheap", "pills"} <= bag.keys()


def test_the_line_before_a_signature_is_no_soft_line_end() -> None:
    bag = EmailTokens().transform_one(
        multipart(part("notes\n-- \nAnn", "text/plain; format=flowed; delsp=yes"))
    )
    assert {"notes", "Ann"} <= bag.keys()


def test_octets_that_are_no_text_are_not_read() -> None:
    octets = base64.encodebytes(bytes(range(256))).decode()
    bag = EmailTokens().transform_one(
        multipart(HAM_TEXT, part(octets, OCTETS, "Content-Transfer-Encoding: base64\n"))
    )
    assert "part:2" not in bag


UNSEEN = {
    "a text": part(" ".join(HAM)),
    "enriched": part(" ".join(HAM), "text/enriched"),
    "RTF": part(r"{\rtf1 " + " ".join(HAM) + "}", "text/rtf"),
    "a first page": part(f"<p>{' '.join(HAM)}", "text/html"),
    "parts": inner("multipart/mixed", part(" ".join(HAM)), part(" ".join(HAM))),
}
FORMS = {
    "a page": part(PAGE, "text/html"),
    "a page with pictures": inner("multipart/related", part(PAGE, "text/html"), part("A", "image/png")),
    "a choice": inner("multipart/alternative", part(TEXT), part(PAGE, "text/html")),
    "a page in parts": inner("multipart/mixed", part(PAGE, "text/html"), part("greetings")),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", UNSEEN)
def test_a_form_that_is_not_shown_is_no_content(name: str, form: str) -> None:
    bag = EmailTokens().transform_one(multipart(UNSEEN[name], FORMS[form], media="multipart/alternative"))
    assert bag.keys() >= SHOWN and not bag.keys() & set(HAM) and "hidden:alternative" in bag


def test_a_mark_stands_between_texts_and_a_short_part_is_read_first() -> None:
    tokens = list(
        EmailTokens().transform_one(multipart(HAM_TEXT, part(TEXT), part("winner of this agenda, too")))
    )
    hops, second, third = (tokens.index(token) for token in ("hops:1", "part:2", "part:3"))
    assert tokens[hops + 1 : second] == ["winner", "of", "cheap", "pills"]
    assert tokens[second + 1 : third] == ["this", "agenda", "too"]
    assert {"meeting", "notes"} <= set(tokens[third:])
    assert "part:2" not in EmailTokens().transform_one(plain(TEXT))
    both = multipart(part(TEXT), FORMS["a page"], media="multipart/alternative")
    assert "part:2" not in EmailTokens().transform_one(both)


@pytest.mark.parametrize("raw", [plain(LONG), LONG], ids=["mail", "text"])
def test_a_full_bag_is_a_defect(raw: bytes | str) -> None:
    assert "defect:many-tokens" in EmailTokens().transform_one(raw)
    assert "defect:many-tokens" not in EmailTokens(limits=Limits(tokens=7_000)).transform_one(raw)


def test_what_an_encoded_message_leaves_out_is_a_defect() -> None:
    deep = encoded(
        "\n".join(
            [
                "Subject: x",
                *(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}" for n in range(20)),
                "",
                TEXT,
            ]
        ),
        "base64",
        media="message/rfc822",
    )
    assert "defect:deep" in EmailTokens().transform_one(multipart(HAM_TEXT, deep))


ALTERNATIVE = b"From: a@example.com\nContent-Type: multipart/alternative; boundary=b\n\n"
PLAIN = b"--b\nContent-Type: text/plain\n\ncheap pills\n"


@pytest.mark.parametrize(
    "other",
    [
        b"--b\nContent-Type: text/html\n\n\n--b--\n",
        b'--b\nContent-Type: text/html; name=a.html\nContent-Disposition: attachment; filename="a.html"\n\n'
        b"<p>Dear Ann, lunch at noon\n--b--\n",
    ],
)
def test_a_text_beside_a_blank_or_an_attached_page_is_read(other: bytes) -> None:
    tokens = EmailTokens().transform_one(ALTERNATIVE + PLAIN + other)
    assert {"cheap", "pills"} <= tokens.keys() and "hidden:alternative" not in tokens
    assert ("Dear" in tokens) == (b"Dear" in other)


@pytest.mark.parametrize("page", [b"<b></b>", b"<i><b></b></i>", b"<p></p>", b"<span> </span>"])
def test_a_page_without_text_has_none(page: bytes) -> None:
    raw = b"From: a@example.com\nContent-Type: text/html\n\n" + page
    assert "defect:no-text" in EmailTokens().transform_one(raw)


def test_texts_of_many_pictures_are_read() -> None:
    page = b"<img alt=x>" * 200 + b"<img alt='cheap pills'>"
    tokens = EmailTokens().transform_one(b"From: a@example.com\nContent-Type: text/html\n\n" + page)
    assert {"cheap", "pills"} <= tokens.keys()


def test_a_byte_order_mark_before_the_headers_is_no_text() -> None:
    tokens = EmailTokens().transform_one(
        b"\xef\xbb\xbfFrom: a@example.com\nContent-Type: text/html\n\n<p>che<b></b>ap"
    )
    assert "cheap" in tokens and "from:example.com" in tokens and "defect:no-headers" not in tokens
