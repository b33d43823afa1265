"""The data file named on the command line: its format, its columns, and clear errors for what is wrong with it."""

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
from stream_bayes.streams.sources.constructors import format_of

__all__ = ["Delimiter", "File", "Ignore", "Nominal", "Target", "Time", "source_of"]

MANY_LABELS = 50  # distinct numbers: more than this are measurements rather than classes

File = Annotated[Path, typer.Argument(help="CSV or JSON lines file, plain or gzipped.", show_default=False)]
Target = Annotated[str, typer.Option(help="Column with the labels.", show_default=False)]
Nominal = Annotated[
    list[str],
    typer.Option("--nominal", help="Numeric column to treat as nominal, such as a code. Repeatable."),
]
Ignore = Annotated[
    list[str], typer.Option("--ignore", help="Column to leave out of the features. Repeatable.")
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="Delimiter of a CSV file: one character, or 'tab'. Detected if not given.", show_default=False
    ),
]
Time = Annotated[
    str | None, typer.Option(help="Column with the event time: seconds since 1970, or ISO 8601.")
]


def source_of(
    file: Path, target: str, time: str | None, nominal: list[str], ignore: list[str], delimiter: str | None
) -> tuple[Source, Schema | None]:
    """Return a file as a source, with the schema inferred from its first rows; None for JSON lines."""
    table: dict[str, Any] = {"kind": format_of(file), "path": str(file), "target": target, "ignore": ignore}
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
        raise BadValue("--nominal is for CSV files; in JSON, strings are nominal and numbers are numeric")
    return make_source(config, Path(), schema), schema


def check_target(file: Path, target: str) -> None:
    """Raise `SchemaError` if none of the first records has the target. (In JSON, any record may lack any field.)"""
    with closing(JSONLinesSource(file)) as source:
        events = first_events(file, source)
    names = sorted({str(name) for event in events for name in event.x})
    if events and target not in names:
        raise SchemaError(
            f"{file}: target: none of the first {len(events):,} records has a field {target!r}"
            f"{closest(target, names)} Found: {', '.join(names)}"
        )


def first_events(file: Path, source: Source) -> list[Event]:
    """Return the events among the first records. Raise `SchemaError` if all of these are bad: it is the wrong file."""
    records: list[Record] = []
    try:
        while len(records) < FIRST_ROWS:
            records += source.poll(FIRST_ROWS - len(records))
    except Exhausted:
        pass
    bad = [record for record in records if isinstance(record, BadRecord)]
    if bad and len(bad) == len(records):
        raise SchemaError(
            f"{file}: none of the first {len(bad):,} records can be read; the first one: {bad[0].detail}"
        )
    return [record for record in records if isinstance(record, Event)]


def warn_of_measurements(file: Path, fields: Fields, delimiter: str) -> None:
    """Warn if the labels look like measurements: a classifier makes each distinct number a class."""
    with closing(CSVSource(file, fields, delimiter=delimiter)) as source:
        labels = {event.y for event in first_events(file, source) if event.y is not None}
    kind = inferred_features(["y"], ({"y": label} for label in labels))["y"]
    if isinstance(kind, features.Numeric) and len(labels) > MANY_LABELS:
        typer.echo(
            f"warning: --target {fields.target} has {len(labels):,} distinct numbers in the first {FIRST_ROWS:,} "
            "rows; these models learn classes, so each number becomes one",
            err=True,
        )


def with_nominal(schema: Schema, names: list[str]) -> Schema:
    """Return the schema with some features declared nominal."""
    unknown = [name for name in names if name not in schema.features]
    if unknown:
        raise BadValue(
            f"--nominal {unknown[0]}: no such feature; the features are {', '.join(schema.features)}"
        )
    declared = {name: features.Nominal() if name in names else spec for name, spec in schema.features.items()}
    return Schema(declared, classes=schema.classes, target=schema.target, unknown=schema.unknown)
