"""Files that were changed at random are read, or refused by an error of the package: by nothing else."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stream_bayes import NaiveBayes
from stream_bayes.errors import Exhausted, StreamBayesError
from stream_bayes.networks.files.bif import parse_bif
from stream_bayes.networks.files.network_files import ENDINGS, read_network
from stream_bayes.saving.snapshots.snapshot import Snapshot
from stream_bayes.streams.pipelines.config import parse_config
from stream_bayes.streams.sources.constructors import from_file
from tests.fuzzing import changed, few, many

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


def read_file(suffix: str) -> Callable[[bytes, Path], None]:
    def read(data: bytes, directory: Path) -> None:
        path = directory / f"days.{suffix}"
        path.write_bytes(data)
        with closing(from_file(path)) as source:
            for _ in range(100):
                source.poll(100)

    return read


def network(ending: str) -> bytes:
    """Return a network in a format, as this package writes it."""
    chosen = ENDINGS[f".{ending}"]
    return chosen.text(parse_bif(BIF.decode())).encode()


def read_coin(ending: str) -> Callable[[bytes, Path], None]:
    def read(data: bytes, directory: Path) -> None:
        path = directory / f"coin.{ending}"
        path.write_bytes(data)
        read_network(path)

    return read


def zipped(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return file.getvalue()


TARGETS: dict[str, tuple[Callable[[], bytes], Callable[[bytes, Path], Any]]] = {
    "csv": (lambda: CSV, read_file("csv")),
    "arff": (lambda: ARFF, read_file("arff")),
    "jsonl": (lambda: LINES, read_file("jsonl")),
    "avro": (avro, read_file("avro")),
    "parquet": (parquet, read_file("parquet")),
    "zip": (lambda: zipped("days.csv", CSV), read_file("zip")),
    "gz": (lambda: gzip.compress(CSV), read_file("csv.gz")),
    "json": (lambda: b"[" + LINES.strip().replace(b"\n", b",\n") + b"]", read_file("json")),
    "bif": (lambda: BIF, read_coin("bif")),
    **{ending: (partial(network, ending), read_coin(ending)) for ending in ("xml", "xdsl", "net")},
    "toml": (lambda: TOML, lambda data, _: parse_config(data.decode("utf-8", "replace"))),
    "snapshot": (
        snapshot,
        lambda data, _: NaiveBayes.from_state(Snapshot.from_bytes(data).sections["model"]),
    ),
}


def reading(name: str, directory: Path) -> Callable[[bytes], None]:
    read = TARGETS[name][1]

    def check(data: bytes) -> None:
        with suppress(StreamBayesError, Exhausted):
            read(data, directory)

    return check


@pytest.mark.parametrize("name", TARGETS)
def test_a_changed_file_is_read_or_refused(name: str, tmp_path: Path) -> None:
    few(changed(TARGETS[name][0]()), reading(name, tmp_path))


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", TARGETS)
def test_many_changed_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    many(changed(TARGETS[name][0]()), reading(name, tmp_path))


def test_a_sound_network_is_read() -> None:
    assert set(parse_bif(BIF.decode()).states) == {"coin", "n"}
