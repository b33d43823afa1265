"""The columns of a JSON file, inferred from its first rows, and its records read by them."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from stream_bayes.core.events.event import Event
from stream_bayes.data.amounts import number
from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.features import Numeric
from stream_bayes.data.schema import Schema
from stream_bayes.streams.contracts.source import Source, records_of
from stream_bayes.streams.files.column_profile import ColumnProfile
from stream_bayes.streams.files.json_lines import JSONLinesSource
from stream_bayes.streams.files.table_profile import FIRST_ROWS, compare_columns
from stream_bayes.streams.files.telling_columns import EXAMINED_ROWS, decide_codes, with_telling_blanks
from stream_bayes.streams.files.typed_columns import record_profiles
from stream_bayes.streams.records.decoder import MAX_RECORD_BYTES
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.json_decoder import JSONDecoder
from stream_bayes.streams.records.object_decoder import Scalar

__all__ = ["InferredJSONDecoder", "inferred_json_schema", "json_schema", "reading_nested"]

logger = logging.getLogger(__name__)

MOST_COUNTED = 100  # names of later fields that are counted each; further ones together
OTHERS = "..."


class InferredJSONDecoder(JSONDecoder):
    """A JSON object, read by a schema that the first rows of its file have shown.

    Texts are read as the cells of a table: without blanks around them, as a missing value if nothing is left, as a
    number in a column of numbers. A field that comes after these rows is a feature as it is, and is counted. A value
    that is not of its column's kind is missing, and counted in `bad_fields`. A column of the schema is of a kind that
    is read, such as an `Amount`.

    Attributes
    ----------
    late_fields
        The number of records with a field that the first rows lack, by name.
    """

    def __init__(self, fields: Fields, schema: Schema, max_record_bytes: int = MAX_RECORD_BYTES) -> None:
        super().__init__(replace(fields, on_bad_field="missing"), schema, max_record_bytes)
        self.late_fields: Counter[str] = Counter()
        self._is_open = True
        self._number_columns = {
            name for name, column in schema.columns.items() if isinstance(column, Numeric)
        }

    def _arranged(self, content: dict[str, Any]) -> dict[str, Any]:
        content = {
            name: self._read_text(name, value) if isinstance(value, str) else value
            for name, value in content.items()
        }
        arranged = super()._arranged(content)
        if len(arranged) < len(content):
            for name in content.keys() - arranged.keys():
                if self.fields.is_feature(name):
                    arranged[name] = content[name]
                    self._count_late_field(name)
        return arranged

    def _read_text(self, name: str, text: str) -> Scalar | None:
        text = text.strip()
        if name in self._number_columns:
            try:
                return number(text)
            except ValueError:
                pass
        return text or None

    def _count_late_field(self, name: str) -> None:
        if self.late_fields[name] == 0 and len(self.late_fields) <= MOST_COUNTED:
            logger.warning(
                "field %s comes first after the first %s rows, which show how a field is read; its texts are names, "
                "here and in later records",
                name[:100],
                f"{EXAMINED_ROWS:,}",
            )
        self.late_fields[name if len(self.late_fields) <= MOST_COUNTED else OTHERS] += 1


class _NestingDecoder(JSONDecoder):
    """A decoder that notes whether a record holds objects in an object."""

    is_nested = False

    def _arranged(self, content: dict[str, Any]) -> dict[str, Any]:
        self.is_nested |= dict in map(type, content.values())
        return {}


def reading_nested(path: str | os.PathLike[str], fields: Fields) -> Fields:
    """Return the fields of a JSON file, flattened if its first rows hold objects in objects.

    Raises
    ------
    SourceError
        If the file cannot be read.
    """
    decoder = _NestingDecoder()
    if not (fields.flatten or fields.envelope):
        with closing(JSONLinesSource(path, decoder)) as source:
            for _ in records_of(source, FIRST_ROWS):
                if decoder.is_nested:
                    return replace(fields, flatten=True)
    return fields


def inferred_json_schema(path: str | os.PathLike[str], fields: Fields) -> Schema | None:
    """Return the schema of a JSON file by its rows; None if each value is a feature as it is, and no feature is
    missing.

    Raises
    ------
    SourceError
        If the file cannot be read.
    """

    def open_rows(schema: Schema | None) -> Source:
        decoder = JSONDecoder(fields) if schema is None else InferredJSONDecoder(fields, schema)
        return JSONLinesSource(path, decoder)

    with closing(open_rows(None)) as source:
        profiles = record_profiles(records_of(source, FIRST_ROWS), fields)
    decide_codes(profiles, fields, open_rows)
    schema = json_schema(path, fields, profiles)
    return None if schema is None else with_telling_blanks(schema, profiles, fields, open_rows)


def json_schema(
    path: str | os.PathLike[str],
    fields: Fields,
    profiles: Mapping[str, ColumnProfile],
    is_needed: bool = False,
) -> Schema | None:
    """Return the schema of a JSON file by the profiles of its first rows, and by the fields that come later; None if
    each value is a feature as it is, and no feature is missing, unless a schema `is_needed`.
    """
    if not is_needed and not any(
        isinstance(each.kind.column, ColumnKind) or (each.missing and fields.is_feature(name))
        for name, each in profiles.items()
    ):
        return None
    later: dict[str, ColumnProfile] = {}
    with closing(JSONLinesSource(path, JSONDecoder(fields))) as source:
        for event in _events(source, EXAMINED_ROWS):
            for name in event.x.keys() - profiles.keys():
                later.setdefault(name, ColumnProfile(str(name))).add_value(event.x[name])
    compare_columns(later.values())
    columns = {
        name: each.kind.column for name, each in {**profiles, **later}.items() if fields.is_feature(name)
    }
    return Schema(columns, target=fields.label_name(columns))


def _events(source: Source, rows: int) -> Iterator[Event]:
    return (record for record in records_of(source, rows) if isinstance(record, Event))
