"""A data file named on the command line: what format it has, what its columns hold, and what is wrong with it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from stream_bayes.by_name import closest
from stream_bayes.core.events.event import BadRecord, Event
from stream_bayes.data import features
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, Exhausted, SchemaError
from stream_bayes.streams.contracts.source import Record, Source
from stream_bayes.streams.files.csv_source import CSVSource
from stream_bayes.streams.files.csv_types import FIRST_ROWS, delimiter_of, inferred_features, inferred_schema
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.pipelines.config import checked
from stream_bayes.streams.pipelines.pipeline import make_source
from stream_bayes.streams.records.fields import Fields

__all__ = ["DATA", "Delimiter", "File", "Ignore", "Nominal", "Target", "Time", "kind_of", "source_of"]

TABLES, LINES = (".csv", ".tsv", ".txt", ".data"), (".jsonl", ".ndjson", ".json")
DATA = (*TABLES, *LINES, ".gz")
MANY = 50  # different numbers: more are measurements, rather than names

File = Annotated[Path, typer.Argument(help="A CSV or JSON lines file, plain or gzipped.", show_default=False)]
Target = Annotated[str, typer.Option(help="The column that holds the labels.", show_default=False)]
Nominal = Annotated[
    list[str], typer.Option("--nominal", help="A column of numbers that are names. May be repeated.")
]
Ignore = Annotated[list[str], typer.Option("--ignore", help="A column that is no feature. May be repeated.")]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="What stands between the cells of a CSV file: a character, or tab.", show_default=False
    ),
]
Time = Annotated[
    str | None, typer.Option(help="The column that holds the time: seconds since 1970, or ISO 8601.")
]


def source_of(
    file: Path, target: str, time: str | None, nominal: list[str], ignore: list[str], delimiter: str | None
) -> tuple[Source, Schema | None]:
    """A file as a source, and what its first rows show to be in it."""
    table: dict[str, Any] = {"kind": kind_of(file), "path": str(file), "target": target, "ignore": ignore}
    if time is not None:
        table["time"] = time
    if table["kind"] == "csv" and delimiter is not None:
        table["delimiter"] = delimiter
    config = checked({"name": "replay", "source": table, "model": {"kind": "nb"}})
    schema = None
    if table["kind"] == "csv":
        fields = Fields(target=target, time=time, ignore=tuple(ignore))
        between = delimiter_of(file, delimiter)
        schema = with_nominal(inferred_schema(file, fields, delimiter=between), nominal)
        warn_of_measurements(file, fields, between)
    else:
        check_target(file, target)
    if table["kind"] != "csv" and nominal:
        raise BadValue("--nominal is for CSV files: in JSON, text is nominal and numbers are numeric")
    return make_source(config, Path(), schema), schema


def check_target(file: Path, target: str) -> None:
    """Refuse a target that no record of the first ones has: in JSON, any record may lack any field."""
    with closing(JSONLinesSource(file)) as source:
        events = first_events(file, source)
    names = sorted({str(name) for event in events for name in event.x})
    if events and target not in names:
        raise SchemaError(
            f"{file}: target: none of the first {len(events):,} records has a field {target!r}"
            f"{closest(target, names)} They have {', '.join(names)}"
        )


def first_events(file: Path, source: Source) -> list[Event]:
    """The events among the first records; refused is a file whose first records are all bad, for it is another one."""
    records: list[Record] = []
    try:
        while len(records) < FIRST_ROWS:
            records += source.poll(FIRST_ROWS - len(records))
    except Exhausted:
        pass
    bad = [record for record in records if isinstance(record, BadRecord)]
    if bad and len(bad) == len(records):
        raise SchemaError(
            f"{file}: none of the first {len(bad):,} records can be read; of the first one: {bad[0].detail}"
        )
    return [record for record in records if isinstance(record, Event)]


def warn_of_measurements(file: Path, fields: Fields, delimiter: str) -> None:
    """Say so where the labels are numbers of which hardly two are the same: to a classifier, each is a class."""
    with closing(CSVSource(file, fields, delimiter=delimiter)) as source:
        labels = {event.y for event in first_events(file, source) if event.y is not None}
    kind = inferred_features(["y"], ({"y": label} for label in labels))["y"]
    if isinstance(kind, features.Numeric) and len(labels) > MANY:
        typer.echo(
            f"warning: --target {fields.target} holds {len(labels):,} different numbers in the first {FIRST_ROWS:,} "
            "rows; these models learn classes, and each number will be one",
            err=True,
        )


def with_nominal(schema: Schema, names: list[str]) -> Schema:
    """The schema with some features declared nominal."""
    unknown = [name for name in names if name not in schema.features]
    if unknown:
        raise BadValue(
            f"--nominal {unknown[0]}: there is no such feature; there are {', '.join(schema.features)}"
        )
    declared = {name: features.Nominal() if name in names else spec for name, spec in schema.features.items()}
    return Schema(declared, classes=schema.classes, target=schema.target, unknown=schema.unknown)


def kind_of(file: Path) -> str:
    """The format that a file's name tells."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    if last in TABLES:
        return "csv"
    if last in LINES:
        return "jsonl"
    raise BadValue(f"{file}: expected a name that ends in .csv or .jsonl, perhaps with .gz")
