"""A file in perfect form whose content is hostile: refused, without room for what it claims."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.errors import BadSnapshot
from stream_bayes.saving.snapshots.sections import MOST_DEPTH
from stream_bayes.saving.snapshots.snapshot import Snapshot, describe, head_size
from tests.saving.snapshots.forging import META, accepts, example, forged, npy, refused, text_of, zipped

FILE = example().to_bytes()


def with_array(kind: Any, shape: Any, data: bytes, name: str = "b") -> bytes:
    listed = {"a": {"text": 2, "arrays": {name: [kind, shape]}}}
    return forged([("a/state.json", b"{}"), (f"a/{name}.npy", data)], sections=listed)


def header_of(text: str) -> bytes:
    padded = text + " " * (-(11 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded.encode()


def test_an_array_of_8_tib_is_refused_without_room_for_it() -> None:
    header = header_of("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }")
    file = with_array("<f8", [2**40], header)
    with refused("it is truncated, or something was added"):
        Snapshot.from_bytes(file)
    with refused("it is truncated, or something was added"):
        describe(file, len(file))
    with refused("fit in a file"):
        Snapshot.from_bytes(with_array("<f8", [2**41], header))
    with refused("fit in a file"):
        Snapshot.from_bytes(with_array("<f8", [2**40, 2**40, 0], header))
    with refused("fit in a file"):
        Snapshot.from_bytes(with_array("<f8", [0] * 9, header))


def test_a_header_that_claims_another_shape_than_meta_is_refused() -> None:
    for text in (
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }",
        "{'descr': '<f8', 'fortran_order': True, 'shape': (2,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, ), }",
        "{'shape': (2,), 'fortran_order': False, 'descr': '<f8', }",
        "__import__('os').system('false')",
    ):
        with refused("a/b.npy was altered: it is not spelled|it is truncated, or something was added"):
            Snapshot.from_bytes(with_array("<f8", [2], header_of(text) + bytes(16)))


def test_arrays_of_objects_and_of_other_types_are_refused() -> None:
    pickled = npy(np.array([{"a": 1}], dtype=object))
    for kind in (
        "|O",
        "O",
        "<U8",
        "|V8",
        "|S8",
        "<f2",
        "<c16",
        "<M8[s]",
        ">f8",
        "f8",
        "float64",
        "<f8,<f8",
        None,
        8,
    ):
        with refused("the sections describe|not described as expected"):
            Snapshot.from_bytes(with_array(kind, [1], pickled))
    with refused("it is truncated, or something was added|not spelled"):
        Snapshot.from_bytes(with_array("<i8", [1], pickled))


def test_a_truth_value_is_0_or_1() -> None:
    header = header_of("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }")
    assert accepts(with_array("|b1", [2], header + b"\x00\x01"))
    with refused("neither 0 nor 1"):
        Snapshot.from_bytes(with_array("|b1", [2], header + b"\x00\x02"))


@pytest.mark.parametrize(
    "name",
    [
        "../a",
        "/etc/passwd",
        "a/../../b",
        "..",
        ".",
        "",
        "a\\b",
        "C:",
        "a\0b",
        "ä",
        "a.b",
        "-a",
        "x" * 101,
        "a\n",
    ],
)
def test_names_that_are_paths_or_anything_but_plain_are_refused(name: str) -> None:
    with refused("the sections describe"):
        Snapshot.from_bytes(forged(sections={name: {"text": 2}}))
    with refused("the sections describe"):
        Snapshot.from_bytes(forged(sections={"a": {"text": 2, "arrays": {name: ["<f8", [2]]}}}))


@pytest.mark.parametrize(
    "name", ["../state.json", "/a/state.json", "a/state.jso\0", "b/state.json", "a\\state.json"]
)
def test_an_entry_under_another_name_than_meta_says_is_refused(name: str) -> None:
    with refused("was altered|it is truncated, or something was added"):
        Snapshot.from_bytes(forged([(name, b"{}")], sections={"a": {"text": 2}}))


@pytest.mark.parametrize(
    "learner", ["os.system", "a:b", "a b", "", "ä", "1a", None, ["NaiveBayes"], "x" * 101]
)
def test_a_learner_is_a_name_and_never_an_import_path(learner: Any) -> None:
    with refused("learner"):
        Snapshot.from_bytes(forged(learner=learner))
    with refused("learner"):
        file = forged(learner=learner)
        describe(file, len(file))


@pytest.mark.parametrize("newer", [2, 99, 2**62])
def test_a_newer_format_is_refused_as_such(newer: int) -> None:
    message = "this version of stream_bayes reads 1; a newer version wrote it, upgrade to read it"
    # Whatever else is new in it.
    for file in (
        forged(format=newer),
        zipped([("meta.json", text_of({"format": newer, "new": []})), ("new", b"")]),
    ):
        with refused(message):
            Snapshot.from_bytes(file)
        with refused(message):
            describe(file, len(file))


@pytest.mark.parametrize("other", [0, -1, "1", 1.0, True, None, [1], 10**400])
def test_a_format_that_there_never_was_is_refused(other: Any) -> None:
    with refused("meta.json was altered: it has format"):
        Snapshot.from_bytes(forged(format=other))


def test_a_meta_larger_than_any_is_refused_unread() -> None:
    with refused("claims 4,194,305 bytes"):
        Snapshot.from_bytes(zipped([("meta.json", b" " * (2**22 + 1))]))
    claimed = bytearray(FILE)
    claimed[18:26] = struct.pack("<II", 2**32 - 1, 2**32 - 1)
    for read in (Snapshot.from_bytes, head_size):
        with refused("claims 4,294,967,295 bytes"):
            read(bytes(claimed))


@pytest.mark.parametrize("depth", [MOST_DEPTH, 100_000])
def test_deeply_nested_json_is_refused(depth: int) -> None:
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        nested = opening * depth + b"1" + closing * depth
        with refused("meta.json was altered"):
            Snapshot.from_bytes(zipped([("meta.json", nested)]))
        text = b'{"a":' + nested + b"}"
        with refused("was altered"):
            Snapshot.from_bytes(forged([("a/state.json", text)], sections={"a": {"text": len(text)}}))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"1",
        b"null",
        b'{"a":1}\n',
        b'{"a": 1}',
        b'{"a":1,"a":2}',
        b'{"a":01}',
        b'{"a":1e999}',
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"\xff":1}',
        '{"ü":1}'.encode(),
        b"\xef\xbb\xbf{}",
        '{"a":1}'.encode("utf-16"),
        b'{"\\u0061":1}',
        b'{"arrays":{}}',
        b'{"a":"\0"}',
    ],
)
def test_texts_that_this_package_does_not_write_are_refused(text: bytes) -> None:
    with refused("was altered"):
        Snapshot.from_bytes(forged([("a/state.json", text)], sections={"a": {"text": len(text)}}))
    with refused("meta.json was altered"):
        Snapshot.from_bytes(zipped([("meta.json", text)]))


@pytest.mark.parametrize(
    "changes",
    [
        {"positions": [["a", 0, 1], ["a", 0, 2]]},
        {"positions": [["b", 0, 1], ["a", 0, 2]]},
        {"positions": [["a", 0]]},
        {"positions": {"a": 1}},
        {"positions": [[["a"], 0, 1]]},
        {"positions": [["a", True, 1]]},
        {"positions": [["a", 0, 2**63]]},
        {"positions": 3},
        {"outputs": [["a", 1]]},
        {"outputs": {"b": 1, "a": 2}},
        {"outputs": {"a": 1.0}},
        {"clock": 1.0},
        {"clock": -1},
        {"sections": []},
        {"sections": {"a": 3}},
        {"sections": {"a": {}}},
        {"sections": {"a": {"text": 2, "more": 1}}},
        {"sections": {"a": {"text": -2}}},
        {"sections": {"a": {"text": 2**64}}},
        {"sections": {"a": {"text": 2, "arrays": {"b": ["<f8"]}}}},
        {"sections": {"a": {"text": 2, "arrays": {"b": ["<f8", 2]}}}},
        {"sections": {"a": {"text": 2, "arrays": {"b": ["<f8", [-1]]}}}},
        {"sections": {"a": {"text": 2, "arrays": {"b": ["<f8", [1.0]]}}}},
        {"sections": {"a": {"text": 2, "arrays": {"b": [["<f8"], [1]]}}}},
        {"more": 1},
    ],
)
def test_a_meta_of_wrong_types_or_in_another_order_is_refused(changes: dict[str, Any]) -> None:
    entries = [("a/state.json", b"{}")] if "sections" in changes else []
    with refused():
        Snapshot.from_bytes(forged(entries, **changes))


def test_a_meta_with_more_or_less_in_it_is_not_described() -> None:
    less = {key: value for key, value in META.items() if key != "outputs"}
    for meta in ({**META, "more": 1}, less, {"format": 1}):
        file = zipped([("meta.json", text_of(meta))])
        with refused("meta.json was altered: it has"):
            describe(file, len(file))


def test_keys_of_meta_in_another_order_are_refused() -> None:
    with zipfile.ZipFile(io.BytesIO(forged())) as read:
        meta = json.loads(read.read("meta.json"))
    assert accepts(zipped([("meta.json", text_of(meta))]))
    assert not accepts(zipped([("meta.json", text_of(dict(reversed(meta.items()))))]))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["<f8", "|O", "../a", "a", "text", "arrays", "state"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["text", "arrays", "a", "b", "../c", ""]), inner, max_size=3)
    ),
    max_leaves=12,
)
META_KEYS = [
    "format",
    "package",
    "learner",
    "configuration",
    "schema",
    "clock",
    "positions",
    "outputs",
    "sections",
]


@settings(max_examples=500)
@given(st.sampled_from(META_KEYS), json_values)
def test_a_meta_that_says_anything_is_refused_or_what_would_be_written(key: str, value: Any) -> None:
    file = forged(**{key: value})
    accepts(file)
    with suppress(BadSnapshot):
        describe(file, len(file))


@settings(max_examples=300)
@given(json_values | st.binary(max_size=60), st.binary(max_size=40))
def test_a_section_that_holds_anything_is_refused_or_what_would_be_written(value: Any, data: bytes) -> None:
    text = value if isinstance(value, bytes) else text_of(value)
    accepts(forged([("a/state.json", text)], sections={"a": {"text": len(text)}}))
    header = npy(np.zeros(len(data), np.uint8))
    listed = {"a": {"text": len(text), "arrays": {"b": ["|u1", [len(data)]]}}}
    accepts(forged([("a/state.json", text), ("a/b.npy", header + data)], sections=listed))
