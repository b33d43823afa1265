"""The columns of files that declare types: these are kept, and texts are read as the cells of a table are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from stream_bayes.core.events.event import BadRecord, Event
from stream_bayes.data.codes import Code
from stream_bayes.data.features import Nominal
from stream_bayes.data.schema import Schema
from stream_bayes.errors import SchemaError
from stream_bayes.streams.contracts.source import Record, Source, records_of
from stream_bayes.streams.files.column_profile import ColumnProfile
from stream_bayes.streams.files.table_profile import FIRST_ROWS, typed_profiles
from stream_bayes.streams.files.telling_columns import decide_codes, labels_of, with_telling_blanks
from stream_bayes.streams.records.fields import Fields

__all__ = ["first_records", "inferred_typed_schema", "record_profiles", "typed_schema"]


def inferred_typed_schema(fields: Fields, open_rows: Callable[[Schema | None], Any]) -> Schema:
    """Return the schema of a file that declares its columns: its own, but for texts and codes, which its rows show.

    Raises
    ------
    SourceError, SchemaError
        If the file cannot be read, or lacks a column.
    """
    with closing(open_rows(None)) as source:
        declared: Schema = source.schema
        numeric: Collection[str] = getattr(source, "numeric_names", ())
        records = [*records_of(source, FIRST_ROWS)]
    if not any(isinstance(record, Event) for record in records):
        return declared
    profiles = record_profiles(records, fields, numeric)
    decide_codes(profiles, fields, open_rows)
    return with_telling_blanks(typed_schema(declared, profiles), profiles, fields, open_rows)


def typed_schema(declared: Schema, profiles: Mapping[str, ColumnProfile]) -> Schema:
    """Return the schema that a file declares, in which texts and codes are read as their profiles show them."""
    shown_kinds = {name: each.kind.column for name, each in profiles.items()}
    columns = {
        name: shown if column == Nominal() or shown == Code() else column
        for name, column in declared.columns.items()
        for shown in (shown_kinds.get(name, column),)
    }
    return Schema(columns, declared.classes, declared.target, declared.unknown)


def first_records(path: str | Path, source: Source, rows: int = FIRST_ROWS) -> list[Record]:
    """Return the first records. Raise `SchemaError` if all of these are bad: it is the wrong file."""
    records = list(records_of(source, rows))
    bad = [record for record in records if isinstance(record, BadRecord)]
    if bad and len(bad) == len(records):
        raise SchemaError(
            f"{path}: none of the first {len(bad):,} records can be read; the first one: {bad[0].detail}"
        )
    return records


def record_profiles(
    records: Iterable[Record], fields: Fields, numeric: Collection[str] = ()
) -> dict[str, ColumnProfile]:
    """Return the profiles of records of typed values, targets included. `numeric` are the fields that the file declares
    as numbers, of which a target is read as a text.
    """
    events = [record for record in records if isinstance(record, Event)]
    targets, rows = fields.all_targets, list[Mapping[str, object]]()
    labels = [labels_of(event, fields) for event in events]
    labelled = [name for k, name in enumerate(targets) if any(each[k] is not None for each in labels)]
    for event, of_event in zip(events, labels, strict=True):
        named = dict(zip(targets, of_event, strict=True)) if targets else {}
        rows.append(
            {
                **event.x,
                **{name: _as_number(named[name]) if name in numeric else named[name] for name in labelled},
            }
        )
    return typed_profiles(rows)


def _as_number(text: Any) -> Any:
    """Return the number in a text of a field of numbers, as whole as it is written; anything else as it is.

    Examples
    --------
    >>> _as_number("12"), _as_number("1.5"), _as_number("?")
    (12, 1.5, '?')
    """
    for kind in (int, float) if isinstance(text, str) else ():
        with suppress(ValueError):
            return kind(text)
    return text
