"""`stream-bayes inspect`: the columns of a data file, what is odd about them, and a schema to paste."""

from __future__ import annotations

import json as json_text
from contextlib import closing
from pathlib import Path
from shlex import join
from typing import Annotated, Any

import typer

from stream_bayes.cli.data_file import DataFile, DataOptions, File, named_targets, open_table
from stream_bayes.cli.exit_codes import exit_on_error
from stream_bayes.cli.options import arguments_of
from stream_bayes.cli.output import JSON, checked_output, print_json, print_table
from stream_bayes.cli.tasks import seen_as
from stream_bayes.data.declarations import features_table
from stream_bayes.data.schema import Code, Nominal
from stream_bayes.errors import BadValue
from stream_bayes.learners.catalogue import REGRESSION
from stream_bayes.private_files import write_private
from stream_bayes.streams.files.code_columns import may_be_codes
from stream_bayes.streams.files.column_profile import ID_EVENTS, ColumnProfile
from stream_bayes.streams.files.table_profile import FIRST_ROWS

__all__ = ["inspect"]

EXAMPLES = 3
EXAMPLE_WIDTH = 24


def inspect(
    file: File,
    *,
    target: Annotated[
        list[str] | None,
        typer.Option(help="Column with the labels. Repeatable, for several numbers.", show_default=False),
    ] = None,
    options: DataOptions,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write a report: distributions, missing cells, what each feature tells about the label, duplicates.",
            show_default=False,
        ),
    ] = None,
    json: JSON = False,
) -> None:
    """Show the columns of a data file: kinds, missing values, identifiers, classes, suggestions, a schema to paste."""
    with exit_on_error():
        if html is not None:
            checked_output("--html", html)
            if len(target or ()) > 1:
                raise BadValue("--html: the report is about one target; name one, or leave --html out")
        table = open_table(file, named_targets(target), options)
        with closing(table.source):
            rows = [_row(table, name, profile) for name, profile in table.profiles.items()]
            first, *described = table.described()
            kinds = len(table.guesses)
            task, said = seen_as(table)
            warnings = table.warnings(for_numbers=task == REGRESSION)
            notes = [*described[:kinds], *described[kinds + 2 :], *warnings, *said]
            if html is not None:
                from stream_bayes.cli.inspection import inspected
                from stream_bayes.cli.inspection_page import inspection_page

                stripped = [note.strip() for note in notes]
                page = inspection_page(table, rows, stripped, schema_text(table), inspected(table))
                write_private(html, page.encode())
        if json:
            print_json(
                {"columns": rows, "notes": [note.strip() for note in notes], "schema": schema_text(table)}
            )
            return
        print_table(first, rows, right=("values", "missing", "distinct"))
        for note in notes:
            typer.echo(note.strip() if note.startswith("  ") else note)
        typer.echo(f"\n# for a pipeline file:\n{schema_text(table)}")
        command = ["stream-bayes", "compare" if target else "inspect", str(file)]
        command += [part for name in target or ["COLUMN"] for part in ("--target", name)]
        command += arguments_of(options)
        typer.echo(f"\nnext: {join(command)}")


def _row(table: DataFile, name: str, profile: ColumnProfile) -> dict[str, Any]:
    examples = ", ".join(
        text if len(text) <= EXAMPLE_WIDTH else text[: EXAMPLE_WIDTH - 3] + "..."
        for text in list(profile.counts)[:EXAMPLES]
    )
    if table.features.get(name) is not None and table.is_numeric(name):
        examples = f"{profile.lowest:g} to {profile.highest:g}" if profile.is_numeric else examples
    return {
        "column": name,
        "kind": kind_of_column(table, name, profile),
        "values": profile.values,
        "missing": profile.missing.total(),
        "distinct": profile.distinct,
        "examples": examples,
        "why": profile.kind.reason,
    }


def kind_of_column(table: DataFile, name: str, profile: ColumnProfile) -> str:
    """Return the kind of a column in words, with what is odd about it."""
    if name in table.all_targets:
        return "target"
    if name not in table.features:
        return "left out"
    if not profile.values:
        return "empty"
    declared = None if table.schema is None else table.schema.columns.get(name)
    is_changed = declared in (Nominal(), Code()) and profile.kind.column != declared  # by --nominal
    kind = "category" if is_changed else profile.kind.word
    if name in table.ids:
        return "row id" if not table.ids[name].recurring else f"{kind}, identifier?"
    if name in table.entities:
        return "entity"
    if table.is_numeric(name) and may_be_codes(profile):
        return f"{kind}, code?"
    if table.is_numeric(name) and profile.may_be_id:
        return f"{kind}, identifier?"
    if profile.kind.doubt and not is_changed:
        return f"{kind}, {profile.kind.doubt}"
    if kind == "category" and profile.distinct == profile.values < ID_EVENTS:
        return f"{kind}, identifier?"  # too few rows to know whether values recur
    if (
        kind == "constant"
        and not profile.has_ended
        and profile.values + profile.missing.total() >= FIRST_ROWS
    ):
        return "constant, so far?"  # later rows may hold others
    return kind


def schema_text(table: DataFile) -> str:
    """Return the tables of a pipeline file that declare the columns."""
    columns = table.schema.columns if table.schema is not None else None
    if columns is None:
        columns = {name: each.kind.column for name, each in table.features.items()}
    blanks = [] if table.schema is None else [*table.schema.missing_features]
    above = "[source]\nflatten = true\n\n" if table.is_nested else ""
    above += f"[schema]\nblanks = {json_text.dumps(blanks, ensure_ascii=False)}\n" if blanks else ""
    return above + features_table(columns).rstrip("\n")
