"""`stream-bayes cuts`: cut points of the numeric features of a file or a topic, as the schema of a pipeline file."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from stream_bayes.cli.data_file import DataOptions, open_table, warn_of_misfits
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.output import JSON, STANDARD_OUTPUT, checked_output, note, print_json
from stream_bayes.core.events.event import Event
from stream_bayes.data.declarations import features_table
from stream_bayes.data.schema import Amount, Numeric, Schema
from stream_bayes.errors import BadState, BadValue, Exhausted
from stream_bayes.private_files import write_private
from stream_bayes.streams.contracts.source import EndlessSource, Source
from stream_bayes.streams.sources.file_formats import is_data_name

__all__ = ["cuts"]

BATCH = 1000


def cuts(
    data: Annotated[
        str,
        typer.Argument(
            help="Data file, pipeline file (TOML) whose source is read, or a topic with --servers.",
            show_default=False,
        ),
    ],
    *,
    bins: Annotated[int, typer.Option(help="Bins of each numeric feature.", min=2)] = 16,
    servers: Annotated[
        str | None,
        typer.Option(help="Brokers of a topic of JSON records.", metavar="HOST:PORT"),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Field with the labels; it is not a feature.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the table to this file. Default, and -: standard output.", show_default=False
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Save the sketches to this file, to merge them later.", show_default=False),
    ] = None,
    merge: Annotated[
        list[Path], typer.Option("--merge", help="File of saved sketches to merge in. Repeatable.")
    ] = [],
    limit: Annotated[int | None, typer.Option(help="Stop after this number of records.", min=1)] = None,
    options: DataOptions,
    json: JSON = False,
) -> None:
    """Find cut points of numeric features, and write the [schema.features] table of a pipeline file."""
    with exit_on_error():
        from stream_bayes.streams.sources.cut_sketch import CutSketch

        out = None if out == STANDARD_OUTPUT else out
        for option, path in (("--out", out), ("--save", save)):
            if path is not None:
                checked_output(option, path)
        sketch = CutSketch()
        for path in merge:
            try:
                sketch.merge(CutSketch.from_bytes(path.read_bytes()))
            except (OSError, BadState) as error:
                raise BadValue(f"--merge {path}: {error}") from error
        source, declared = _opened(data, servers, target, options)
        with closing(source):
            records, skipped = _read(source, sketch, limit)
            warn_of_misfits(source, lambda line: note([line], quiet=json))
        note(
            [
                f"warning: {count:,} of {records:,} records skipped: {reason}"
                for reason, count in sorted(skipped.items())
            ],
            quiet=json,
        )
        if save is not None:
            write_private(save, sketch.to_bytes())
        schema, lines = _with_declared(sketch.schema(bins), declared)
        note([*sketch.warnings(bins), *lines, f"{records:,} records read"], quiet=json)
        table = features_table(schema.columns)
        if out is not None:
            write_private(out, table.encode())
        if json:
            print_json({"records": records, "skipped": skipped, "bins": bins, "schema": schema.to_json()})
        elif out is None:
            typer.echo(table, nl=False)
        else:
            typer.echo(f"{len(schema.features):,} features written to {out}")


def _opened(
    data: str, servers: str | None, target: str | None, options: DataOptions
) -> tuple[Source, Schema | None]:
    """Return the source to read, and the kinds of its features if they are declared or inferred."""
    path = Path(data)
    if path.suffix == ".toml":
        from stream_bayes.streams.pipelines.config import load_config
        from stream_bayes.streams.pipelines.pipeline import make_source

        if servers is not None or target is not None:
            raise BadValue(f"--servers and --target are in the pipeline file {data}; leave them out")
        config = load_config(path)
        if config.messages_for is not None:
            raise BadValue(f"{data}: its source holds messages, which have no numeric features")
        schema = config.schema_of_stream()
        config = config.model_copy(update={"labels": None})
        form = None if config.source.kind != "csv" else config.source.form(path.parent)
        return make_source(config, path.parent, schema, form), schema
    if servers is not None:
        from stream_bayes.streams.sources.constructors import TOPICS

        ignored = list(options.ignore)
        return TOPICS["kafka"](servers.split(","), data, target=target, ignore=ignored), None
    if not path.exists() and not is_data_name(path):
        raise BadValue(
            f"{data}: there is no such file; for a topic, name its brokers with --servers HOST:PORT"
        )
    table = open_table(path, target, options)
    return table.source, table.schema


def _read(source: Source, sketch: Any, limit: int | None) -> tuple[int, Counter[str]]:
    """Add all records up to the present end. Return their number, and that of those skipped by reason."""
    end = source.fetch_end() if isinstance(source, EndlessSource) else None
    records, skipped = 0, Counter[str]()
    while limit is None or records < limit:
        try:
            batch = source.poll(BATCH if limit is None else min(BATCH, limit - records))
        except Exhausted:
            break
        for record in batch:
            records += 1
            if isinstance(record, Event):
                sketch.add(record.x)
            else:
                skipped[record.reason] += 1
        if not batch and end is not None and isinstance(source, EndlessSource) and source.has_reached(end):
            break
    return records, skipped


def _with_declared(inferred: Schema, declared: Schema | None) -> tuple[Schema, list[str]]:
    """Return the declared features with the cut points that were found, and warnings."""
    if declared is None:
        return inferred, []
    specs, lines = dict(declared.columns), []
    for name, spec in specs.items():
        if not isinstance(spec, (Numeric, Amount)):
            continue
        sketched = inferred.features.get(name)
        if isinstance(sketched, Numeric):
            specs[name] = replace(spec, cuts=sketched.cuts)
        else:
            lines.append(
                f"warning: {name}: is declared numeric, and no number was found; it has no cut points"
            )
    return Schema(
        specs, declared.classes, declared.target, declared.unknown, [*declared.missing_features]
    ), lines
