"""Files of results: what was committed is there once, whatever crashes."""

from __future__ import annotations

import csv
import errno
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.errors import SinkError
from stream_bayes.saving.snapshots.file_system import FileSystem
from stream_bayes.streams.contracts.sink import DeadLetter, ModelVersion, Output, Sink
from stream_bayes.streams.files.csv_sink import CSVSink
from stream_bayes.streams.files.json_sink import JSONLinesSink
from stream_bayes.streams.files.sink import FileSink
from stream_bayes.streams.sinks import CallableSink, NoSink
from stream_bayes.testing.faults import Crash, FaultyFileSystem, Survives

MODEL = ModelVersion("nb", 2, "abc")


def output(number: int, key: object = None, **values) -> Output:
    given = {"prediction": "yes", "probabilities": {"yes": 0.75, "no": 0.25}, **values}
    return Output(key, "days", 0, number, 1.5, model=MODEL, **given)


def letter(number: int, raw: bytes = b"\xff") -> DeadLetter:
    return DeadLetter(None, "days", 0, number, None, "not_json", "expected JSON", raw)


def batch(sink: Sink, *results) -> None:
    sink.begin()
    sink.write(results)
    sink.commit([])


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


MAKES: dict[str, Callable[..., FileSink]] = {"json": JSONLinesSink, "csv": CSVSink}
BOTH = pytest.mark.parametrize("make", MAKES.values(), ids=MAKES.keys())


class Run:
    """A stream that writes an output a batch, and keeps a snapshot after every second one."""

    def __init__(self, make: Callable[..., FileSink], path: Path, files: FileSystem) -> None:
        self.sink = make(path, file_system=files)
        self.snapshot: tuple[int, int] | None = None  # how many outputs, and the length of the file

    def go(self, begin: tuple[int, int] | None) -> None:
        """Go on from a snapshot to seven outputs."""
        self.snapshot = begin
        self.sink.open(None if begin is None else begin[1])
        if begin is None:  # as the engine does: an empty snapshot before the first commit
            self.sink.sync()
            self._save(0)
        for number in range(self.snapshot[0] if self.snapshot else 0, 7):
            batch(self.sink, output(number), output(number + 100))
            if number % 2:
                self.sink.sync()
                self._save(number + 1)
        self.sink.close()

    def _save(self, count: int) -> None:
        assert self.sink.length is not None
        self.snapshot = (count, self.sink.length)


@BOTH
@pytest.mark.parametrize("survives", Survives)
def test_a_crash_at_every_operation_leaves_what_the_snapshot_knows_and_each_result_comes_once(
    tmp_path, make, survives
):
    expected = tmp_path / "expected"
    Run(make, expected, FileSystem()).go(None)
    for number in itertools.count(1):
        path = tmp_path / str(number) / "out"
        files = FaultyFileSystem(crash_at=number, survives=survives)
        run = Run(make, path, files)
        try:
            run.go(None)
        except Crash:
            pass
        else:
            assert number > 12
            break
        where = f"crash at {files.operations[-1]}, operation {number}"
        if run.snapshot is not None:  # what it knows of is there, and is the beginning of what is expected
            begun = path.read_bytes()[: run.snapshot[1]] if path.exists() else b""
            assert begun == expected.read_bytes()[: run.snapshot[1]], where
        # The next process goes on from the snapshot, is killed on the way, and so on until it is done.
        for later in itertools.count(3):
            following = Run(make, path, FaultyFileSystem(crash_at=later))
            begin = run.snapshot
            if begin is None and path.exists() and path.stat().st_size:
                raise AssertionError(where)  # nothing is written before the first snapshot
            try:
                following.go(begin)
                break
            except Crash:
                run.snapshot = following.snapshot
        assert path.read_bytes() == expected.read_bytes(), where


def begun(make, path, files):
    """A sink that has taken a batch."""
    sink = make(path, file_system=files)
    sink.open(None)
    batch(sink, output(0))
    return sink


@BOTH
def test_a_full_disk_costs_the_batch_and_nothing_before_it(tmp_path, make):
    files = FaultyFileSystem()
    sink = begun(make, tmp_path / "out", files)
    before = (tmp_path / "out").read_bytes()
    files.space = 10
    with pytest.raises(
        SinkError, match=r"out did not take \d+ bytes: No space left on device; it holds \d+ bytes, as"
    ):
        batch(sink, output(1))
    assert (tmp_path / "out").read_bytes() == before and sink.length == len(before)
    files.space = None
    sink.abort()
    batch(sink, output(2))
    sink.close()
    assert len((tmp_path / "out").read_bytes()) > len(before)


@BOTH
def test_a_batch_that_the_disk_did_not_take_can_be_let_go_of_while_its_error_is_told(tmp_path, make):
    files = FaultyFileSystem()
    sink = begun(make, tmp_path / "out", files)
    files.refusal = errno.ENOSPC
    with pytest.raises(SinkError, match="No space left on device") as told:
        batch(sink, output(1))
    assert told.tb is not None  # its frames still hold the bytes
    sink.abort()
    files.refusal = None
    batch(sink, output(2))
    sink.close()
    assert (tmp_path / "out").stat().st_size == sink.length


def test_a_sync_that_fails_is_told(tmp_path):
    files = FaultyFileSystem()
    sink = JSONLinesSink(tmp_path / "out", file_system=files)
    sink.open(None)
    files.refusal = errno.EIO
    with pytest.raises(SinkError, match="may not outlast a power cut"):
        sink.sync()
    sink.close()


def test_a_batch_that_is_aborted_leaves_no_trace(tmp_path):
    sink = JSONLinesSink(tmp_path / "out")
    sink.open(None)
    batch(sink, output(0))
    sink.begin()
    sink.write([output(1)])
    sink.abort()
    sink.commit([])
    sink.begin()
    sink.write([output(2)])
    sink.close()  # without a commit
    assert [line["position"] for line in lines(tmp_path / "out")] == [0]


def test_a_file_that_holds_something_is_not_written_over_unless_that_is_allowed(tmp_path):
    path = tmp_path / "out"
    path.write_text("precious")
    with pytest.raises(
        SinkError, match="out holds 8 bytes already, and the stream begins anew: choose another file"
    ):
        JSONLinesSink(path).open(None)
    assert path.read_text() == "precious"
    sink = JSONLinesSink(path, overwrite=True)
    sink.open(None)
    sink.close()
    assert path.read_text() == ""


def test_a_file_that_is_missing_or_shorter_than_the_snapshot_says_is_refused_and_not_created(tmp_path):
    path = tmp_path / "results" / "out"
    with pytest.raises(SinkError, match="out does not exist, and held 5 bytes when the snapshot was taken"):
        JSONLinesSink(path).open(5)
    assert not path.parent.exists()
    path.parent.mkdir()
    path.write_text("abc")
    with pytest.raises(SinkError, match="out holds 3 bytes, but 5 when the snapshot was taken"):
        JSONLinesSink(path, overwrite=True).open(5)
    assert path.read_text() == "abc"


def test_two_processes_do_not_write_one_file(tmp_path):
    first, second = JSONLinesSink(tmp_path / "out"), JSONLinesSink(tmp_path / "out")
    first.open(None)
    with pytest.raises(SinkError, match="is being written by another process"):
        second.open(None)
    first.close()
    second.open(None)
    second.close()


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(SinkError, match=r"cannot be written: Is a directory"):
        JSONLinesSink(tmp_path).open(None)
    with pytest.raises(SinkError, match=r"is not open; call open\(\)"):
        batch(JSONLinesSink(tmp_path / "out"), output(0))


def test_results_as_json_hold_every_field(tmp_path):
    sink = JSONLinesSink(tmp_path / "out")
    sink.open(None)
    batch(sink, output(3, "größe"), letter(4))
    sink.close()
    assert lines(tmp_path / "out") == [
        {
            "key": "größe",
            "source": "days",
            "partition": 0,
            "position": 3,
            "time": 1.5,
            "prediction": "yes",
            "probabilities": {"yes": 0.75, "no": 0.25},
            "version": 1,
            "model": {"name": "nb", "generation": 2, "configuration": "abc"},
        },
        {
            "key": None,
            "source": "days",
            "partition": 0,
            "position": 4,
            "time": None,
            "reason": "not_json",
            "detail": "expected JSON",
            "raw": "/w==",
            "version": 1,
        },
    ]


@pytest.mark.parametrize(
    ("key", "written"),
    [
        (7, 7),
        (10**30, 10**30),
        (True, True),
        (1.5, 1.5),
        (b"\xff", "/w=="),
        (("a", b"\xff"), ["a", "/w=="]),
        (np.int64(5), 5),
        (np.float64(0.5), 0.5),
        ("\ud800", "\ud800"),
        (("\udfff", b"\xff", np.bool_(True)), ["\udfff", "/w==", True]),
    ],
)
def test_every_key_is_written_as_json(tmp_path, key, written):
    sink = JSONLinesSink(tmp_path / "out")
    sink.open(None)
    batch(sink, output(0, key), output(1, prediction=key))
    sink.close()
    found = lines(tmp_path / "out")
    assert (found[0]["key"], found[1]["prediction"]) == (written, written)


def test_a_key_that_is_no_value_is_refused_by_type(tmp_path):
    sink = JSONLinesSink(tmp_path / "out")
    sink.open(None)
    sink.begin()
    with pytest.raises(SinkError, match=r"of the type builtins\.object cannot be written as JSON"):
        sink.write([output(0), output(1, object())])
    sink.write([output(2)])
    sink.commit([])
    sink.close()
    assert [line["position"] for line in lines(tmp_path / "out")] == [2]


@given(key=st.text(), labels=st.dictionaries(st.text(), st.floats(0, 1), max_size=3))
def test_any_text_comes_back_from_json_and_from_csv(tmp_path_factory, key, labels):
    directory = tmp_path_factory.mktemp("sinks")
    result = output(0, key, probabilities=labels, prediction=key)
    for sink in (JSONLinesSink(directory / "json"), CSVSink(directory / "csv")):
        sink.open(None)
        batch(sink, result)
        sink.close()
    (found,) = [json.loads(line) for line in (directory / "json").read_bytes().splitlines()]
    assert found["key"] == key and found["probabilities"] == labels
    if key.isprintable():
        with (directory / "csv").open(encoding="utf-8", newline="") as file:
            (row,) = csv.DictReader(file)
        assert row["key"] == row["prediction"] == key and json.loads(row["probabilities"]) == labels


def test_a_csv_file_has_its_columns_once_however_often_it_is_opened(tmp_path):
    path = tmp_path / "out"
    length = None
    for number in range(3):
        sink = CSVSink(path)
        sink.open(length)
        batch(sink, output(number, b"\xff"))
        length = sink.length
        sink.close()
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["position"] for row in rows] == ["0", "1", "2"]
    assert rows[0] == {
        "key": "/w==",
        "source": "days",
        "partition": "0",
        "position": "0",
        "time": "1.5",
        "prediction": "yes",
        "probabilities": '{"yes":0.75,"no":0.25}',
        "model": "nb",
        "generation": "2",
        "configuration": "abc",
        "version": "1",
    }


def test_a_csv_file_is_of_one_kind_of_result(tmp_path):
    sink = CSVSink(tmp_path / "out", of=DeadLetter)
    sink.open(None)
    batch(sink, letter(3))
    sink.begin()
    with pytest.raises(SinkError, match="has the columns of DeadLetter, got a Output"):
        sink.write([output(0)])
    sink.close()
    with (tmp_path / "out").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["reason"], row["raw"], row["key"]) == ("not_json", "/w==", "")


def test_a_function_gets_each_batch_when_it_is_committed():
    got: list[list] = []
    sink: Sink = CallableSink(got.append)
    sink.open(None)
    sink.begin()
    sink.write([output(0)])
    sink.write([output(1)])
    assert got == []
    sink.commit([])
    sink.begin()
    sink.write([output(2)])
    sink.abort()
    sink.commit([])
    sink.sync()
    sink.close()
    assert got == [[output(0), output(1)]]
    assert (sink.medium, sink.length) == ("outside", None)


def test_nowhere_takes_everything():
    sink: Sink = NoSink()
    sink.open(None)
    batch(sink, output(0))
    sink.abort()
    sink.sync()
    sink.close()
    assert (sink.medium, sink.length) == ("none", None)


def test_an_encoder_that_knows_the_schema_reads_the_results_back(tmp_path):
    sink = JSONLinesSink(tmp_path / "out")
    sink.open(None)
    batch(sink, letter(1, b"\x00\xff"), letter(2))
    sink.close()
    decoder = msgspec.json.Decoder(DeadLetter)
    assert decoder.decode_lines((tmp_path / "out").read_bytes()) == [letter(1, b"\x00\xff"), letter(2)]
