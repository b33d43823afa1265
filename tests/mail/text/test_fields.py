"""Tests of the kernel that reads header fields, against regular expressions, and of the addresses in a field's text."""

from __future__ import annotations

import base64
import random
import re

import pytest

from stream_bayes.mail import EmailTokens
from stream_bayes.mail.text._fields import cut_addresses, fields_of

END = re.compile(rb"\n(?![ \t]|[!-9;-~]{1,200}[ \t]{0,20}:|>?From [^\n]{1,100}[0-9]:[0-9][0-9])")
FIELD = re.compile(rb"([!-9;-~]{1,200})[ \t]{0,20}:(.*)", re.DOTALL)
ADDRESS = re.compile(r"([\w.+=&'*/-]{1,64})@((?:[\w-]{1,63}\.){0,8}[\w-]{1,63})")


def expected_fields(raw: bytes) -> tuple[list[tuple[str, bytes]], int]:
    """Return the fields and the end of their block, as patterns find them."""
    if FIELD.match(raw.partition(b"\n")[0]) is None:
        return [], 0
    found = END.search(raw)
    end = len(raw) if found is None else found.start()
    fields: list[tuple[str, bytes]] = []
    is_open = False
    for line in raw[:end].split(b"\n"):
        match = FIELD.fullmatch(line)
        if line[:1] in (b" ", b"\t"):
            if is_open:
                fields[-1] = (fields[-1][0], fields[-1][1] + b" " + line.strip(b" \t"))
            continue
        is_open = match is not None
        if match is not None:
            fields.append((match[1].decode(), match[2].strip(b" \t")))
    return fields, end


@pytest.mark.parametrize("seed", range(20))
def test_fields_are_those_that_patterns_find(seed: int) -> None:
    random_source = random.Random(seed)
    pieces = [
        b"To",
        b": ",
        b":",
        b" ",
        b"\t",
        b"\n",
        b"\n",
        b"\n ",
        b"a@b",
        b"From x 1:23",
        b">From y 9:59",
        b"\xff",
        b"=",
    ]
    for _ in range(500):
        raw = b"".join(random_source.choices(pieces, k=random_source.randrange(12)))
        fields, end, defects = fields_of(raw, 0, len(raw), 1_000, 1_000)
        assert (fields, end) == expected_fields(raw), raw
        assert set(defects) <= {"header-line"}, raw


def test_names_and_blanks_before_the_colon_are_bounded() -> None:
    for name, blanks, is_field in ((200, 20, True), (201, 0, False), (5, 21, False)):
        raw = b"a" * name + b" " * blanks + b": x\n"
        assert (fields_of(raw, 0, len(raw), 9, 9)[0] != []) is is_field


def test_fields_beyond_the_limits_are_cut_and_the_end_is_still_found() -> None:
    raw = b"A: 123456\nB: 1\n 2\nC: 3\nD: 4\n\nbody"
    fields, end, defects = fields_of(raw, 0, len(raw), 2, 4)
    assert fields == [("A", b"12 6"), ("B", b"1 2")]
    assert raw[end:] == b"\n\nbody" and defects == ["long-header", "many-headers"]


def test_a_long_value_keeps_its_end_however_it_is_folded() -> None:
    for fold in (b"", b"\n ", b"\n" + b" " * 50):
        raw = b"Subject: begin" + (fold + b" filler") * 2_000 + b" the end\n\n"
        (field,), _, defects = fields_of(raw, 0, len(raw), 9, 100)
        assert field[1].startswith(b"begin") and field[1].endswith(b"the end") and len(field[1]) <= 100
        assert defects == ["long-header"]


def test_fields_that_the_reader_sees_count_behind_any_number_of_others() -> None:
    page = base64.b64encode(b"<p>free pills")
    raw = b"X-Pad: 1\n" * 500 + b"Subject: winner\nContent-Transfer-Encoding: base64\n"
    raw += b'Content-Type: text/html; pad="' + b"x " * 2_000 + b'"; charset=utf-8\n\n' + page
    bag = EmailTokens().transform_one(raw)
    assert {"subject:winner", "free", "pills", "charset:utf-8", "defect:many-headers"} <= bag.keys()


def test_only_the_part_between_start_and_stop_is_read() -> None:
    raw = b"--x\nA: 1\n\nB: 2\n"
    assert fields_of(raw, 4, 9, 9, 9) == ([("A", b"1")], 8, [])
    assert fields_of(raw, 4, 8, 9, 9) == ([("A", b"1")], 8, [])
    assert fields_of(raw, 9, 9, 9, 9) == ([], 9, [])


@pytest.mark.parametrize("seed", range(20))
def test_addresses_are_those_that_a_pattern_finds(seed: int) -> None:
    random_source = random.Random(seed)
    pieces = ["ann", "@", "@", ".", "..", "-", "+", " ", "<", "é", "x" * 70, "a.b.c.d.e.f.g.h.", "mx1", "_"]
    for _ in range(500):
        text = "".join(random_source.choices(pieces, k=random_source.randrange(12)))
        assert cut_addresses(text) == (ADDRESS.findall(text), ADDRESS.sub(" ", text)), text
