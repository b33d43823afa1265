"""Tests of the kernel that reads header fields, against regular expressions, and of the addresses in a field's text."""

from __future__ import annotations

import random
import re

import pytest

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
    for line in raw[:end].split(b"\n"):
        match = FIELD.fullmatch(line)
        if line[:1] in (b" ", b"\t"):
            fields[-1] = (fields[-1][0], fields[-1][1] + b" " + line.strip(b" \t"))
        elif match is not None:
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
    assert fields == [("A", b"1234"), ("B", b"1 2")]
    assert raw[end:] == b"\n\nbody" and defects == ["long-header", "many-headers"]


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
