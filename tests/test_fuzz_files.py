"""Files that were changed at random are read, or refused by an error of the package: by nothing else."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_bayes import NaiveBayes
from stream_bayes.errors import Exhausted, StreamBayesError
from stream_bayes.networks.files.bif import parse_bif, read_bif
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.sources.constructors import from_file

FEW = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
MANY = settings(
    max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

CSV = b'id,name,rain\n1,ann,yes\n2,"b\no",no\n3,"c ""d""",yes\n' * 3
ARFF = (
    b"@relation days\n@attribute sky {grey,blue}\n@attribute wind numeric\n@data\ngrey,3.5\n{0 blue}\n?,1\n"
)
LINES = b'{"sky": "grey", "wind": 3.5, "tags": ["a"]}\n{"sky": null}\n'
BIF = (
    b"network coin {} variable coin { type discrete [ 2 ] { heads, tails }; }"
    b"variable n { type discrete [ 2 ] { a, b }; } probability ( coin ) { table 0.5, 0.5; }"
    b"probability ( n | coin ) { (heads) 0.1, 0.9; (tails) 0.2, 0.8; }"
)
TOML = b"""name = "days"
source = { kind = "csv", path = "days.csv", target = "rain", key = "day" }
model = { kind = "nb" }
labels = {}
predictions = { kind = "jsonl", path = "out.jsonl" }
[schema.features]
sky = "nominal"
"""


def avro() -> bytes:
    fastavro = pytest.importorskip("fastavro")
    schema = {
        "type": "record",
        "name": "Day",
        "fields": [{"name": "sky", "type": "string"}, {"name": "n", "type": "int"}],
    }
    file = io.BytesIO()
    fastavro.writer(file, schema, [{"sky": "grey", "n": number} for number in range(20)], codec="deflate")
    return file.getvalue()


def parquet() -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as files

    sink = pyarrow.BufferOutputStream()
    files.write_table(pyarrow.table({"sky": ["grey", "blue"] * 5, "n": list(range(10))}), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def snapshot() -> bytes:
    model = NaiveBayes()
    for number in range(10):
        model.learn_one({"sky": "grey" if number % 2 else "blue", "wind": float(number)}, number % 3)
    return Snapshot(learner="NaiveBayes", sections={"model": model.state()}, clock=10).to_bytes()


def changed(content: bytes) -> st.SearchStrategy[bytes]:
    """Return a strategy of the content with pieces replaced, taken out, doubled, or cut off."""
    places = st.integers(0, len(content))

    def apply(changes: list[tuple[int, int, bytes]]) -> bytes:
        data = content
        for start, length, piece in changes:
            data = data[:start] + piece + data[start + length :]
        return data

    pieces = st.one_of(
        st.binary(max_size=6), st.sampled_from([b'"', b",", b"{", b"\0", b"\n", b"9" * 30, b"\xff\xfe"])
    )
    return st.lists(st.tuples(places, st.integers(0, 12), pieces), min_size=1, max_size=4).map(apply)


def read_file(suffix: str) -> Callable[[bytes, Path], None]:
    def read(data: bytes, directory: Path) -> None:
        path = directory / f"days.{suffix}"
        path.write_bytes(data)
        with closing(from_file(path)) as source:
            for _ in range(100):
                source.poll(100)

    return read


def read_network(data: bytes, directory: Path) -> None:
    (directory / "coin.bif").write_bytes(data)
    read_bif(directory / "coin.bif")


TARGETS: dict[str, tuple[Callable[[], bytes], Callable[[bytes, Path], Any]]] = {
    "csv": (lambda: CSV, read_file("csv")),
    "arff": (lambda: ARFF, read_file("arff")),
    "jsonl": (lambda: LINES, read_file("jsonl")),
    "avro": (avro, read_file("avro")),
    "parquet": (parquet, read_file("parquet")),
    "bif": (lambda: BIF, read_network),
    "toml": (lambda: TOML, lambda data, _: parse_config(data.decode("utf-8", "replace"))),
    "snapshot": (
        snapshot,
        lambda data, _: NaiveBayes.from_state(Snapshot.from_bytes(data).sections["model"]),
    ),
}


def check(name: str, directory: Path, how: settings) -> None:
    content, read = TARGETS[name]
    sound = content()

    @how
    @given(data=changed(sound))
    def run(data: bytes) -> None:
        with suppress(StreamBayesError, Exhausted):
            read(data, directory)

    run()


@pytest.mark.parametrize("name", TARGETS)
def test_a_changed_file_is_read_or_refused(name: str, tmp_path: Path) -> None:
    check(name, tmp_path, FEW)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", TARGETS)
def test_many_changed_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    check(name, tmp_path, MANY)


def test_a_sound_network_is_read() -> None:
    assert set(parse_bif(BIF.decode()).states) == {"coin", "n"}
