"""What is kept comes back; the file is what other tools read; and the same content makes the same bytes."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from stream_bayes import NaiveBayes
from stream_bayes.core.events.event import Partition
from stream_bayes.core.values import payloads
from stream_bayes.core.values import values as values_module
from stream_bayes.errors import BadSnapshot, BadValue, SnapshotNotWritten
from stream_bayes.saving.snapshots import archive
from stream_bayes.saving.snapshots.sections import MOST_DEPTH
from stream_bayes.saving.snapshots.snapshot import Snapshot, describe, head_size
from stream_bayes.testing import learners
from stream_bayes.testing.assertions import same_bytes
from stream_bayes.testing.sample_streams import Streams
from tests.hash_seeds import printed_with
from tests.saving.snapshots.forging import KEY, example, same, same_content, zipped

GOLDEN = Path(__file__).parents[2] / "golden"
KINDS = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")

names = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,9}", fullmatch=True)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None))
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
arrays = nps.arrays(st.sampled_from(KINDS), nps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
states = st.dictionaries(st.text().filter(lambda key: key != "arrays"), values, max_size=3)
states_with_arrays = st.builds(
    lambda state, held: {**state, "arrays": held}, states, st.dictionaries(names, arrays, max_size=3)
)
counts = st.integers(0, 2**63 - 1)
snapshots = st.builds(
    Snapshot,
    learner=st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}", fullmatch=True),
    sections=st.dictionaries(names, states | states_with_arrays, max_size=3),
    configuration=st.text(max_size=9),
    schema=st.none() | st.text(max_size=9),
    positions=st.dictionaries(st.builds(Partition, st.text(max_size=9), counts), counts, max_size=3),
    clock=counts,
    outputs=st.dictionaries(st.text(max_size=9), counts, max_size=3),
)


@given(snapshots, st.none() | st.binary(min_size=16, max_size=40))
def test_everything_that_is_kept_comes_back(snapshot: Snapshot, key: bytes | None) -> None:
    file = snapshot.to_bytes(key)
    loaded = Snapshot.from_bytes(file, key)
    for section, state in snapshot.sections.items():
        held = {name: np.ascontiguousarray(array) for name, array in state.get("arrays", {}).items()}
        for name, array in held.items():
            assert same(array.reshape(state["arrays"][name].shape), loaded.sections[section]["arrays"][name])
    assert same_content(loaded, snapshot)
    assert loaded.to_bytes(key) == file


LEARNERS = learners()


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_comes_back_to_the_byte(name: str) -> None:
    model: Any = LEARNERS[name].clone()
    for x, y, w in Streams(model).samples(30):
        model.learn_one(x, y, w)
    example_snapshot = Snapshot(learner=type(model).__name__, sections={"learner": model.state()})
    loaded = Snapshot.from_bytes(example_snapshot.to_bytes()).sections["learner"]
    same_bytes(type(model).from_state(loaded), model, "a snapshot")


def test_numpy_reads_the_arrays_without_pickle() -> None:
    for file in (example().to_bytes(), example().to_bytes(KEY)):
        read = np.load(io.BytesIO(file), allow_pickle=False)
        held = example().sections["learner"]["arrays"]
        for name, array in held.items():
            assert same(read[f"learner/{name}"], array)
        assert json.loads(read["meta.json"])["learner"] == "Counter"
        assert json.loads(read["metrics/state.json"]) == {"seen": 7}


def test_other_zip_tools_find_nothing_wrong() -> None:
    for key, comment in ((None, b""), (KEY, b"hmac-sha256:")):
        with zipfile.ZipFile(io.BytesIO(example().to_bytes(key))) as read:
            assert read.testzip() is None
            assert read.comment[:12] == comment
            assert read.namelist()[:3] == ["meta.json", "empty/state.json", "learner/state.json"]
            assert {entry.compress_type for entry in read.infolist()} == {zipfile.ZIP_STORED}
            assert {entry.date_time for entry in read.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.skipif(shutil.which("unzip") is None, reason="the program unzip is not installed here")
def test_unzip_lists_and_tests_it(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(example().to_bytes(KEY))
    listed = subprocess.run(["unzip", "-l", path], capture_output=True, text=True, check=True)
    assert "learner/weight.npy" in listed.stdout
    tested = subprocess.run(["unzip", "-t", path], capture_output=True, text=True, check=True)
    assert "No errors detected" in tested.stdout


def test_the_file_is_the_zip_that_is_drawn() -> None:
    # Written once more, by the tests' own hand.
    with zipfile.ZipFile(io.BytesIO(example().to_bytes())) as read:
        entries = [(name, read.read(name)) for name in read.namelist()]
    assert zipped(entries) == example().to_bytes()


def test_arrays_stand_where_kernels_can_read_them() -> None:
    loaded = Snapshot.from_bytes(example().to_bytes())
    for array in loaded.sections["learner"]["arrays"].values():
        assert array.flags.aligned and array.flags.c_contiguous and not array.flags.writeable


def test_the_signature_is_over_every_byte_before_it() -> None:
    file = example().to_bytes(KEY)
    assert file[-76:-64] == b"hmac-sha256:"
    assert file[-64:].decode() == hmac.new(KEY, file[:-64], hashlib.sha256).hexdigest()


def test_the_same_content_makes_the_same_bytes_in_every_process() -> None:
    script = (
        "from tests.saving.snapshots.forging import *; import sys; "
        "sys.stdout.buffer.write(example().to_bytes(KEY))"
    )
    for seed in (1, 2):
        assert printed_with(seed, script) == example().to_bytes(KEY)


def test_the_order_of_sections_arrays_positions_and_outputs_does_not_matter() -> None:
    forward = example()
    backward = Snapshot(
        learner=forward.learner,
        sections={
            name: {
                key: dict(list(value.items())[::-1]) if key == "arrays" else value
                for key, value in state.items()
            }
            for name, state in list(forward.sections.items())[::-1]
        },
        configuration=forward.configuration,
        schema=forward.schema,
        positions=dict(list(forward.positions.items())[::-1]),
        clock=forward.clock,
        outputs=dict(list(forward.outputs.items())[::-1]),
        package=forward.package,
    )
    assert backward.to_bytes() == forward.to_bytes()


def test_arrays_of_any_layout_and_byte_order_are_written_alike() -> None:
    plain = np.arange(12.0).reshape(3, 4)
    wide = np.zeros((3, 8))
    wide[:, ::2] = plain
    forms = [plain, np.asfortranarray(plain), plain.astype(">f8"), wide[:, ::2]]
    files = {Snapshot(learner="C", sections={"a": {"arrays": {"b": form}}}).to_bytes() for form in forms}
    assert len(files) == 1


# -- taking ---------------------------------------------------------------------------------------------------------


def test_what_changes_after_a_snapshot_was_taken_is_not_in_it() -> None:
    table, nested = np.zeros(3), {"list": [1]}
    state: dict[str, Any] = {"nested": nested, "arrays": {"table": table}}
    positions, outputs, sections = {Partition("a"): 1}, {"out": 1}, {"learner": state}
    example_snapshot = Snapshot.take(learner="C", sections=sections, positions=positions, outputs=outputs)
    before = example_snapshot.to_bytes()
    table[0] = 1.0
    nested["list"].append(2)
    state["new"] = 1
    state["arrays"]["new"] = table
    positions[Partition("a")] = 2
    outputs["out"] = 2
    sections["new"] = {}
    assert example_snapshot.to_bytes() == before


def test_taking_and_writing_a_snapshot_leaves_the_learner_as_it_was() -> None:
    model, twin = NaiveBayes(), NaiveBayes()
    for number in range(50):
        for one in (model, twin):
            one.learn_one({"sky": f"s{number % 7}", "heat": number / 3}, number % 3)
        Snapshot.take(learner="NaiveBayes", sections={"learner": model.state()}).to_bytes()
    same_bytes(model, twin, "taking snapshots")


def test_a_loaded_array_cannot_be_written_to() -> None:
    loaded = Snapshot.from_bytes(bytearray(example().to_bytes()))
    with pytest.raises(ValueError, match="read-only"):
        loaded.sections["learner"]["arrays"]["weight"][0, 0] = 1.0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"learner": "os.system"}, "learner"),
        ({"learner": ""}, "learner"),
        ({"learner": 1}, "learner"),
        ({"configuration": None}, "configuration"),
        ({"schema": 3}, "schema"),
        ({"schema": "x" * 5000}, "schema"),
        ({"clock": -1}, "clock"),
        ({"clock": 1.0}, "clock"),
        ({"clock": True}, "clock"),
        ({"clock": 2**63}, "clock"),
        ({"positions": {("a", 0): 1}}, "positions"),
        ({"positions": {Partition("a", -1): 1}}, "positions"),
        ({"positions": {Partition("a"): None}}, "position of"),
        ({"outputs": {"a": -1}}, "length of 'a'"),
        ({"outputs": {1: 1}}, "outputs"),
        ({"sections": {"../a": {}}}, "sections"),
        ({"sections": {"": {}}}, "sections"),
        ({"sections": {"a.b": {}}}, "sections"),
        ({"sections": {"ä": {}}}, "sections"),
        ({"sections": {"a": []}}, "section a"),
        ({"sections": {"a": {"b": {1: 2}}}}, "section a: expected texts as keys"),
        ({"sections": {"a": {"b": {1, 2}}}}, "section a: expected values that JSON has"),
        ({"sections": {"a": {"b": np.int64(1)}}}, "section a: expected values that JSON has"),
        ({"sections": {"a": {"b": [np.zeros(2)]}}}, "section a: expected values that JSON has"),
        ({"sections": {"a": {"arrays": []}}}, "arrays of a"),
        ({"sections": {"a": {"arrays": {"../b": np.zeros(2)}}}}, "array of a"),
        ({"sections": {"a": {"arrays": {"b": [1.0]}}}}, "array of a, b: expected a numpy array"),
        ({"sections": {"a": {"arrays": {"b": np.array([None])}}}}, "array of a, b: expected one of"),
        ({"sections": {"a": {"arrays": {"b": np.array(["x"])}}}}, "array of a, b: expected one of"),
        ({"sections": {"a": {"arrays": {"b": np.zeros(2, "f8,i4")}}}}, "array of a, b: expected one of"),
        ({"sections": {"a": {"arrays": {"b": np.zeros((1,) * 9)}}}}, "array of a, b: expected one of"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(changes: dict[str, Any], said: str) -> None:
    parts: dict[str, Any] = {"learner": "Counter", "sections": {}}
    for make in (Snapshot, Snapshot.take):
        with pytest.raises(BadValue, match=said):
            make(**{**parts, **changes})


def test_nesting_is_limited_alike_in_writing_and_reading() -> None:
    value: Any = 1
    for _ in range(MOST_DEPTH - 1):
        value = [value]
    loaded = Snapshot.from_bytes(Snapshot(learner="C", sections={"a": {"b": value}}).to_bytes())
    assert loaded.sections["a"]["b"] == value
    with pytest.raises(BadValue, match="values within values"):
        Snapshot(learner="C", sections={"a": {"b": [value]}})


def test_the_deepest_label_and_the_deepest_payload_do_not_break_a_snapshot() -> None:
    label: Any = "deep"
    for _ in range(values_module.MAX_DEPTH):
        label = (label,)
    payload: Any = {label: 1}
    for _ in range(payloads.MAX_DEPTH - 1):
        payload = {1: payload}
    model = NaiveBayes()
    model.learn_one({label: label}, label)
    sections = {"learner": model.state(), "pending": {"waiting": [[payloads.tagged_payload(payload)]]}}
    file = Snapshot(learner="NaiveBayes", sections=sections).to_bytes()
    loaded = Snapshot.from_bytes(file).sections
    assert NaiveBayes.from_state(loaded["learner"]).predict_proba_one({label: label}) == {label: 1.0}
    assert payloads.untagged_payload(loaded["pending"]["waiting"][0][0]) == payload


def test_a_snapshot_too_large_for_a_zip_is_refused_before_anything_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert archive.MOST_BYTES == 2**32 - 1  # sizes and extents have 32 bits
    for key, size in [(key, len(example().to_bytes(key))) for key in (None, KEY)]:
        monkeypatch.setattr(archive, "MOST_BYTES", size)
        assert len(example().to_bytes(key)) == size
        monkeypatch.setattr(archive, "MOST_BYTES", size - 1)
        with pytest.raises(SnapshotNotWritten, match="do not fit in one snapshot"):
            next(example().pieces(key))


def test_more_positions_than_meta_holds_are_refused() -> None:
    positions = {Partition("x" * 4000, number): number for number in range(1100)}
    with pytest.raises(BadValue, match="at most 4,194,304 bytes"):
        Snapshot(learner="C", sections={}, positions=positions).to_bytes()


@pytest.mark.parametrize("key", [b"", b"too short", "x" * 40])
def test_a_key_that_protects_nothing_is_refused(key: Any) -> None:
    with pytest.raises(BadValue, match="at least 16 random bytes"):
        example().to_bytes(key)
    with pytest.raises(BadValue, match="at least 16 random bytes"):
        Snapshot.from_bytes(example().to_bytes(KEY), key)


# -- describing -----------------------------------------------------------------------------------------------------


def test_a_snapshot_is_described_by_its_beginning_alone() -> None:
    for key in (None, KEY):
        file = example().to_bytes(key)
        needed = head_size(file[:100])
        description = describe(file[:needed], len(file))
        assert needed < len(file) / 2
        assert description["bytes"] == len(file) and description["signed"] is (key is not None)
        assert description["positions"] == [["a", 0, 0], ["a", 1, 2**40], ["b", 0, 5]]
        assert description["outputs"] == {"a b/ü.csv": 0, "out.jsonl": 90}
        assert description["sections"]["learner"]["arrays"]["weight"] == ["<f8", [2, 3]]
        assert (description["learner"], description["clock"], description["schema"]) == (
            "Counter",
            7,
            "60303ae2",
        )
        assert (description["configuration"], description["format"]) == ("9f86d081", 1)
        assert description["package"] == "0.1.0"


def test_describing_sees_that_the_file_has_another_size() -> None:
    file = example().to_bytes()
    for size in (len(file) - 1, len(file) + 1, len(file) + 77, head_size(file[:100])):
        with pytest.raises(BadSnapshot, match="it is truncated, or something was added"):
            describe(file[: head_size(file[:100])], size)


def test_a_repr_names_what_it_is_and_not_its_tables() -> None:
    assert "weight" not in repr(example()) and "Counter" in repr(example())


# -- formats that were released -------------------------------------------------------------------------------------


def test_a_file_of_format_1_loads() -> None:
    file = (GOLDEN / "snapshot-1.zip").read_bytes()
    expected = Snapshot(
        learner="Counter",
        sections={
            "learner": {
                "text": "größe",
                "values": [True, None, 0.1, 10**30],
                "arrays": {
                    f"a{number}": np.array([0, 1, 1]).astype(kind) for number, kind in enumerate(KINDS)
                },
            },
            "metrics": {"seen": 4, "least": float("inf"), "mean": float("nan")},
        },
        configuration="9f86d081",
        schema=None,
        positions={Partition("weather.csv"): 4, Partition("orders", 2): 2**40},
        clock=4,
        outputs={"out.jsonl": 120},
        package="0.1.0",
    )
    assert same_content(Snapshot.from_bytes(file), expected)
    with np.load(io.BytesIO(file), allow_pickle=False) as read:
        assert read["learner/a0"].tolist() == [0.0, 1.0, 1.0]


def test_format_1_is_written_to_the_byte_as_it_was_released() -> None:
    file = (GOLDEN / "snapshot-1.zip").read_bytes()
    assert Snapshot.from_bytes(file).to_bytes() == file
