"""The structure of messages, and what is found wrong with them."""

from __future__ import annotations

import time
from email import message_from_bytes

import pytest

from stream_bayes.mail.text.limits import Limits
from stream_bayes.mail.text.structure import Outline, outline
from tests.mail.messages import encoded, headers, multipart, nested, plain

LIMITS = Limits()


def read(raw: bytes, limits: Limits = LIMITS) -> Outline:
    return outline(raw, limits)


def test_headers_come_in_their_order_unfolded_and_as_they_were_written() -> None:
    found = read(b"from: a@b\nSubject: one\n two\n\tthree\nX-Empty:\n\nbody")
    assert found.headers == [("from", b"a@b"), ("Subject", b"one two three"), ("X-Empty", b"")]
    assert [leaf.body for leaf in found.leaves] == [b"body"]
    assert not found.defects


def test_every_way_to_end_a_line_reads_the_same() -> None:
    raw = multipart(encoded("one", "base64"), encoded("two", "quoted-printable"))
    wire = read(raw.replace(b"\n", b"\r\n"))
    assert wire == read(raw)
    assert read(raw.replace(b"\n", b"\r")).defects == {"bare-cr": None}


def test_parts_are_found_at_all_depths_in_their_order() -> None:
    inner = multipart(b"\nfirst", encoded("second", "base64", media="text/html"), boundary="in")
    inner = inner[inner.index(b"MIME-Version") :]
    raw = multipart(inner, b"Content-Type: text/plain\n\nthird", media="multipart/alternative")
    found = read(raw)
    assert [(leaf.media, leaf.depth) for leaf in found.leaves] == [
        ("text/plain", 2),
        ("text/html", 2),
        ("text/plain", 1),
    ]
    assert [leaf.body.strip() for leaf in found.leaves[::2]] == [b"first", b"third"]
    assert found.containers == ["multipart/alternative", "multipart/mixed"]
    assert found.boundary == "=_b"
    assert not found.defects


def test_a_message_within_a_message_is_opened() -> None:
    raw = multipart(b"Content-Type: message/rfc822\n\n" + plain("deep words", subject="inner"))
    found = read(raw)
    assert found.containers == ["multipart/mixed", "message/rfc822"]
    assert found.leaves[0].body.strip() == b"deep words"
    assert ("Subject", b"inner") in found.leaves[0].headers


@pytest.mark.parametrize(
    ("raw", "defect"),
    [
        (b"", "empty"),
        (b"just words\nwithout headers", "no-headers"),
        (b"From: a@b", "no-body"),
        (b"From: a@b\nnonsense\n\nbody", "header-line"),
        (b"From: a@b\nFrom: c@d\n\nbody", "twice-from"),
        (b"From: a@b\nSubject:\n\nbody", "blank-subject"),
        (b"Subject: caf\xe9\n\nbody", "raw-header"),
        (b"A: " + b"x" * 2000 + b"\n\nbody", "long-header"),
        (b"A: b\n" * 500 + b"\nbody", "many-headers"),
        (b"A: b\n\nbo\0dy", "nul"),
        (b"A: b\nContent-Type: nonsense\n\nbody", "bad-type"),
        (b"A: b\nContent-Transfer-Encoding: base63\n\nbody", "bad-encoding"),
        (b"A: b\nContent-Type: multipart/mixed\n\nbody", "no-boundary"),
        (b"A: b\nContent-Type: multipart/mixed; boundary=x\n\nbody", "no-parts"),
        (b"A: b\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nbody", "unclosed"),
        (
            b"A: b\nContent-Type: multipart/mixed; boundary=x\n\n" + b"p" * 300 + b"\n--x\n\nq\n--x--",
            "preamble",
        ),
        (b"A: b\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nq\n--x--\n" + b"p" * 300, "epilogue"),
        (
            b"A: b\nContent-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\nq\n" * 300 + b"--x--",
            "many-parts",
        ),
        (nested(50), "deep"),
        (b"A: b\n\n" + b"x" * (LIMITS.message + 1), "oversize"),
    ],
)
def test_a_defect_is_named(raw: bytes, defect: str) -> None:
    assert defect in read(raw).defects


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (b"From: a@b.com\nSubject: hi\nBuy cheap pills\n", b"Buy cheap pills\n"),
        (b"From: a@b.com\r\nSubject: hi\r\nBuy cheap\r\n\r\npills", b"Buy cheap\n\npills"),
        (b"From: a@b.com\n folded\n<html>\nSee: this", b"<html>\nSee: this"),
        (b"From: a@b.com\nFrom our shop: cheap\npills", b"From our shop: cheap\npills"),
        (b"A: b\n" * 300 + b"Buy cheap pills", b"Buy cheap pills"),
    ],
)
def test_headers_end_at_the_first_line_that_is_no_field(raw: bytes, body: bytes) -> None:
    found = read(raw)
    assert [leaf.body for leaf in found.leaves] == [body]
    assert "header-line" in found.defects and "no-body" not in found.defects
    assert message_from_bytes(raw).get_payload(decode=True).replace(b"\r\n", b"\n") == body  # type: ignore[union-attr]  # one part, bytes


def test_a_part_whose_headers_lack_a_blank_line_keeps_its_words() -> None:
    found = read(multipart(b"Content-Type: text/html\n<p>cheap pills"))
    assert [(leaf.media, leaf.body.strip()) for leaf in found.leaves] == [("text/html", b"<p>cheap pills")]


def test_an_mbox_separator_among_headers_ends_nothing() -> None:
    found = read(b"A: b\n>From ann@b.com Mon Jan  1 10:00:00 2024\nSubject: hi\n\nbody")
    assert found.headers[1] == ("Subject", b"hi") and found.leaves[0].body == b"body"


def test_a_sound_message_has_no_defect() -> None:
    raw = multipart(encoded("käse", "base64"), encoded("käse " * 50, "quoted-printable", "latin-1"))
    assert read(plain("body")).defects == read(raw).defects == {}


def test_a_message_that_says_it_has_parts_but_has_none_is_read_as_text() -> None:
    found = read(headers(more="Content-Type: multipart/mixed; boundary=zz\n").encode() + b"\nhidden words")
    assert [(leaf.media, leaf.body) for leaf in found.leaves] == [("text/plain", b"hidden words")]


def test_a_part_without_headers_is_text() -> None:
    found = read(multipart(b"no headers here, only words"))
    assert found.leaves[0].body.strip() == b"no headers here, only words"


def test_the_parts_that_a_multipart_shares_a_boundary_with_are_counted_together() -> None:
    # Each level finds the same boundary lines again; without a common count that is parts to the power of depth.
    part = b"Content-Type: multipart/mixed; boundary=x\n\n--x\n"
    found = read(b"From: a@b\n" + part * 5000)
    assert len(found.leaves) <= LIMITS.parts


@pytest.mark.parametrize(
    "raw",
    [
        nested(50_000),
        b"From: a@b\nContent-Type: multipart/mixed; boundary=x\n\n" + b"--x\n" * 500_000,
        b"Subject: " + b"a" * 2**20 + b"\n\nbody",
        b"Subject: a\n" + b" folded\n" * 200_000 + b"\nbody",
        b"Content-Type: text/plain" + b"; a=b" * 200_000 + b"\n\nbody",
        b"Content-Type: " + b" " * 2**20 + b"x\n\nbody",
        b":" * 2**20,
        b"-" * 2**20,
        b"a" * 50_000_000,
    ],
    ids=["nested", "boundaries", "long header", "folds", "parameters", "blanks", "colons", "dashes", "50 MB"],
)
def test_hostile_structure_takes_no_longer_than_its_bytes(raw: bytes) -> None:
    start = time.process_time()
    read(raw)
    assert time.process_time() - start < 10.0
