"""Formats of data files, by the endings of their names.

A package of its own brings a format by an entry point, whose name is the ending: files like `days.fwf` are then read by
`evaluate`, `from_file` and the commands.

    [project.entry-points."stream_bayes.file_formats"]
    fwf = "my_package.fixed_width:FixedWidthSource"
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue
from stream_bayes.registry import Registry
from stream_bayes.streams.byte_files.archives import DATA_NAMES, table_in
from stream_bayes.streams.byte_files.spreadsheets import SPREADSHEETS
from stream_bayes.streams.contracts.source import Source
from stream_bayes.streams.records.fields import Fields

__all__ = ["TYPED_FILES", "TypedSource", "format_of", "is_data_name", "suffix_of"]

CSV, JSON_LINES = "csv", "jsonl"
TEXT_FILES = {
    CSV: (".csv", ".tsv", ".txt", ".data", ".dat", *SPREADSHEETS),
    JSON_LINES: (".jsonl", ".ndjson", ".json"),
}
COMPRESSED = (".gz", ".zst", ".bz2", ".xz", ".zip")


class TypedSource(Source, Protocol):
    """A file that declares its columns and their types, as a source. It is made from a path, the roles of its columns,
    a name, and `schema`, which takes the place of the declared types where it is not None.
    """

    path: Path
    fields: Fields
    schema: Schema

    @property
    def columns(self) -> Sequence[str]:
        """The names of all columns."""
        ...


# Files that declare the types of their columns, by their ending without the dot.
TYPED_FILES: Registry[Callable[..., TypedSource]] = Registry(
    "format of data files",
    "file_formats",
    {
        "arff": "stream_bayes.streams.files.arff:ARFFSource",
        "parquet": "stream_bayes.streams.files.parquet:ParquetSource",
        "pq": "stream_bayes.streams.files.parquet:ParquetSource",
        "avro": "stream_bayes.streams.files.avro:AvroSource",
    },
)


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a file, with that of its compression.

    Examples
    --------
    >>> suffix_of("a.b.csv"), suffix_of("orders.tsv.gz")
    ('.csv', '.tsv.gz')
    """
    suffixes = Path(path).suffixes
    is_compressed = bool(suffixes) and suffixes[-1].lower() in COMPRESSED
    return "".join(suffixes[-2:] if is_compressed else suffixes[-1:])


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format of a file by its suffix before .gz, .zip, ...: csv, jsonl, or a name in `TYPED_FILES`.

    A .zip without another suffix is opened: the format is that of the table in it.

    Raises
    ------
    BadValue
        If the suffix is unknown.

    Examples
    --------
    >>> format_of("orders.tsv.gz"), format_of("orders.ndjson"), format_of("iris.arff.zst")
    ('csv', 'jsonl', 'arff')
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in COMPRESSED]
    last = suffixes[-1] if suffixes else ""
    if not last and Path(path).suffix.lower() == ".zip" and Path(path).is_file():
        with Path(path).open("rb") as file:
            member = Path(table_in(Path(path), file).filename).suffix.lower()
            last = member if member in DATA_NAMES else ".csv"
    for name, endings in TEXT_FILES.items():
        if last in endings:
            return name
    if last[1:] in TYPED_FILES:
        return "parquet" if last == ".pq" else last[1:]
    raise BadValue(
        f"{path}: expected a name that ends in {', '.join(_suffixes())}, optionally with {' or '.join(COMPRESSED)}; "
        "for other names use streams.from_csv or streams.from_jsonl; for a topic, streams.from_kafka or stream-bayes "
        "run PIPELINE.toml"
    )


def is_data_name(path: Path) -> bool:
    """Return True if the name of a file is that of data, whether it is there or not.

    Examples
    --------
    >>> is_data_name(Path("days.csv")), is_data_name(Path("days.gz")), is_data_name(Path("spam.toml"))
    (True, True, False)
    """
    suffix = path.suffix.lower()
    is_text = suffix in COMPRESSED or any(suffix in suffixes for suffixes in TEXT_FILES.values())
    return is_text or suffix[1:] in TYPED_FILES


def _suffixes() -> Iterator[str]:
    for suffixes in TEXT_FILES.values():
        yield from suffixes
    for name in TYPED_FILES:
        yield f".{name}"
