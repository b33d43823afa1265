"""A file from a stranger: it is the very file that would be written for what it holds, or it is refused."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.errors import BadSnapshot
from stream_bayes.saving.snapshots.snapshot import Snapshot, describe
from tests.saving.snapshots.forging import KEY, LITTLE, accepts, example, forged, refused, text_of, zipped

FILE = example().to_bytes()
SIGNED = example().to_bytes(KEY)


def test_the_forger_can_forge() -> None:
    # Otherwise the tests below would only see that he cannot.
    assert accepts(forged())
    section = ("a/state.json", b"{}")
    declared = {"a": {"text": 2, "arrays": {"b": ["<f8", [2]]}}}
    array = Snapshot(learner="C", sections={"a": {"arrays": {"b": np.ones(2)}}}).to_bytes()
    with zipfile.ZipFile(io.BytesIO(array)) as read:
        header = read.read("a/b.npy")
    assert accepts(forged([section, ("a/b.npy", header)], sections=declared))


def test_every_single_flipped_bit_is_noticed() -> None:
    for number in range(len(FILE)):
        for bit in range(8):
            altered = bytearray(FILE)
            altered[number] ^= 1 << bit
            assert not accepts(bytes(altered)), f"bit {bit} of byte {number}"


def test_every_truncation_is_noticed() -> None:
    for size in range(len(FILE)):
        assert not accepts(FILE[:size])
    for size in range(len(SIGNED) - 100, len(SIGNED)):
        assert not accepts(SIGNED[:size])
        assert not accepts(SIGNED[:size], KEY)


mutations = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.integers(0, len(FILE)), st.binary(min_size=1, max_size=8)),
        st.tuples(st.just("insert"), st.integers(0, len(FILE)), st.binary(min_size=1, max_size=80)),
        st.tuples(st.just("cut"), st.integers(0, len(FILE)), st.integers(1, 200)),
        st.tuples(st.just("copy"), st.integers(0, len(FILE)), st.integers(0, len(FILE))),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=500)
@given(mutations)
def test_a_mutated_file_is_refused_or_the_same(changes: list[tuple[str, int, Any]]) -> None:
    altered = bytearray(FILE)
    for how, start, what in changes:
        if how == "set":
            altered[start : start + len(what)] = what
        elif how == "insert":
            altered[start:start] = what
        elif how == "cut":
            del altered[start : start + what]
        else:
            altered[start : start + 64] = altered[what : what + 64]
    file = bytes(altered)
    assert accepts(file) is (file == FILE)
    with suppress(BadSnapshot):
        describe(file, len(file))


@settings(max_examples=300)
@given(st.binary(max_size=300), st.booleans())
def test_random_bytes_are_refused(data: bytes, begun: bool) -> None:
    assert not accepts(FILE[:39] + data if begun else data)
    assert not accepts(data, KEY)


# -- one by one -----------------------------------------------------------------------------------------------------


def test_compressed_entries_are_refused_bombs_among_them() -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr("meta.json", bytes(100 * LITTLE))
    with refused("meta.json"):
        Snapshot.from_bytes(bomb.getvalue())
    with zipfile.ZipFile(io.BytesIO(FILE)) as read:
        entries = [(name, read.read(name)) for name in read.namelist()]
    again = io.BytesIO()
    with zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as written:
        for name, data in entries:
            written.writestr(name, data)
    with refused("meta.json"):
        Snapshot.from_bytes(again.getvalue())
    # In place, with the sizes that are expected.
    altered = bytearray(FILE)
    start = altered.index(b"metrics/state.json") - 30
    altered[start + 8] = zipfile.ZIP_DEFLATED
    with refused("metrics/state.json is compressed"):
        Snapshot.from_bytes(bytes(altered))


def test_a_zip_that_others_would_take_is_refused_when_it_is_not_in_the_one_form() -> None:
    with zipfile.ZipFile(io.BytesIO(FILE)) as read:
        entries = [(name, read.read(name)) for name in read.namelist()]
    assert accepts(zipped(entries))
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as written:  # stored, but unaligned and dated otherwise
        for name, data in entries:
            written.writestr(name, data)
    variants = {
        "reversed": zipped(entries[::-1]),
        "swapped": zipped([entries[0], *entries[2:], entries[1]]),
        "an entry twice": zipped([*entries, entries[-1]]),
        "an entry more": zipped([*entries, ("more", b"more")]),
        "an entry less": zipped(entries[:-1]),
        "the same name twice": zipped([*entries[:-1], (entries[-2][0], entries[-1][1])]),
        "by another hand": other.getvalue(),
        "with a comment": zipped(entries, b"comment"),
        "with a long comment": zipped(entries, b"c" * 76),
        "with something before it": b"#!/bin/sh\n" + FILE,
        "with something after it": FILE + b"\0",
        "followed by a signature it does not announce": FILE + SIGNED[-76:],
        "followed by itself": FILE + FILE,
    }
    for what, file in variants.items():
        assert not accepts(file), what


def test_entries_that_overlap_are_refused() -> None:
    # Two entries of the directory share the bytes of one: 20 GB out of 10 MB, to a reader that follows it.
    directory = FILE.index(b"PK\1\2")
    listed = [at for at in range(directory, len(FILE)) if FILE[at : at + 4] == b"PK\1\2"]
    for one in listed:
        for other in listed:
            if one != other:
                altered = bytearray(FILE)
                altered[one + 42 : one + 46] = FILE[other + 42 : other + 46]
                with refused("the zip's directory was altered"):
                    Snapshot.from_bytes(bytes(altered))


def test_zip64_is_refused_in_every_place() -> None:
    extra = struct.pack("<HHQQ", 1, 16, 2**43, 2**43)
    huge = io.BytesIO()
    with zipfile.ZipFile(huge, "w") as written, written.open("meta.json", "w", force_zip64=True) as meta:
        meta.write(text_of({"format": 1}))
    assert not accepts(huge.getvalue())
    start = FILE.index(b"PK\5\6")
    record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 9, 9, 100, 2**50)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, start, 1)
    assert not accepts(FILE[:start] + record + locator + FILE[start:])
    for at in range(len(FILE)):
        if FILE[at : at + 4] in (b"PK\3\4", b"PK\1\2"):
            sizes = at + (18 if FILE[at + 2] == 3 else 20)
            altered = bytearray(FILE)
            altered[sizes : sizes + 8] = b"\xff" * 8
            with refused("claims 4,294,967,295 bytes|was altered"):
                Snapshot.from_bytes(bytes(altered))
            assert not accepts(FILE[:at] + extra + FILE[at:])


# -- signatures -----------------------------------------------------------------------------------------------------


def test_a_signed_snapshot_is_read_with_its_key_only() -> None:
    assert accepts(SIGNED, KEY)
    with refused("altered, or signed with another key"):
        Snapshot.from_bytes(SIGNED, b"another key, as long as that one")
    with refused("is signed; give the key"):
        Snapshot.from_bytes(SIGNED)


def test_an_unsigned_snapshot_is_refused_where_a_signature_is_asked_for() -> None:
    with refused("does not end with a signature"):
        Snapshot.from_bytes(FILE, KEY)
    stripped = SIGNED[:-78] + b"\0\0"
    assert accepts(stripped)
    with refused("does not end with a signature"):
        Snapshot.from_bytes(stripped, KEY)


def test_nothing_of_a_file_whose_signature_does_not_fit_is_looked_at() -> None:
    for start in range(0, len(SIGNED), 7):
        altered = bytearray(SIGNED)
        altered[start] ^= 1
        with pytest.raises(BadSnapshot, match="signature"):
            Snapshot.from_bytes(bytes(altered), KEY)


def test_a_signature_in_capitals_is_another_file() -> None:
    assert not accepts(SIGNED[:-64] + SIGNED[-64:].upper(), KEY)


def test_reading_never_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert accepts(FILE) and accepts(SIGNED, KEY) and not accepts(FILE[:-1])
