"""Avro container files as a source of events, read by fastavro."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from itertools import islice
from typing import IO, Any, cast

from stream_bayes._build import install_command
from stream_bayes.core.events.event import Position
from stream_bayes.errors import MissingPackage, SourceError, Undecodable
from stream_bayes.streams.byte_files.avro_blocks import MAGIC, plain_container
from stream_bayes.streams.files.csv_cells import Misfits
from stream_bayes.streams.files.typed import CLOCK, DATE, NUMBER, TEXT, TIME, TypedFile
from stream_bayes.streams.records.avro_types import check_sizes, plain_value
from stream_bayes.streams.records.nested_fields import flattened

__all__ = ["AvroSource", "kinds_of"]

NUMBERS = {"int", "long", "float", "double"}
TEXTS = {"string", "boolean", "enum"}
LISTS = ("array", "map")
RECORDS = ("record", "error")
NAMED = (*RECORDS, "enum", "fixed")
LOGICAL = {  # types that fastavro reads as those of Python
    "decimal": NUMBER,
    "date": DATE,
    **dict.fromkeys(("time-millis", "time-micros"), CLOCK),
    **dict.fromkeys(("timestamp-millis", "timestamp-micros"), TIME),
    **dict.fromkeys(("local-timestamp-millis", "local-timestamp-micros"), TIME),
}


class AvroSource(TypedFile):
    """An Avro container file: see `TypedFile`.

    Numbers and decimals are numeric features; text, enums and booleans are nominal. Timestamps, dates and times of day
    become calendar features. A nested record becomes fields named `outer.inner`. Fields of arrays and maps must be
    ignored. A block is bounded while it is decompressed.
    """

    def _open(self) -> Mapping[str, str]:
        try:
            import fastavro
        except ImportError as error:
            raise MissingPackage(
                f"{self.path}: Avro is read by fastavro, which is not installed: {install_command('registry')}"
            ) from error
        self._open_blocks = fastavro.block_reader
        self._values_schema: Any = None
        try:
            self._file = self.path.open("rb")
        except OSError as error:
            raise SourceError(f"{self.path} cannot be read: {error.strerror}") from error
        try:
            return self._kinds(fastavro.parse_schema)
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        self._file.close()

    def _blocks(self) -> Any:
        self._file.seek(0)
        if (head := self._file.read(len(MAGIC))) != MAGIC:
            raise SourceError(f"{self.path} is no Avro file: it begins with {head!r}, not with {MAGIC!r}")
        try:
            blocks = cast("IO[bytes]", plain_container(self._file))
            return self._open_blocks(blocks, self._values_schema)
        except Exception as error:  # fastavro has no error of its own
            raise SourceError(f"{self.path} cannot be read as Avro: {error}") from error

    def _kinds(self, parse: Callable[..., Any]) -> dict[str, str]:
        named: dict[str, Any] = {}
        try:
            schema = parse(self._blocks().writer_schema, named_schemas=named)
            check_sizes(schema, named)
        except Undecodable as error:
            raise SourceError(f"{self.path}: its schema is refused: {error.detail}") from None
        if not isinstance(schema, dict) or schema["type"] != "record":
            raise SourceError(f"{self.path}: expected a file of records, got one of other values")
        if any(
            _holds_list(field["type"], named) for kind in named.values() for field in kind.get("fields", ())
        ):
            self._values_schema = parse(_without_lists(schema, named, set()))
        return kinds_of(schema, named)

    def _read(self, position: Position) -> Iterator[Any]:
        """Yield the records from a position on. Blocks before it are not decoded."""
        skip, done = position, 0
        try:
            for block in self._blocks():
                if skip >= block.num_records:
                    skip -= block.num_records
                    done += block.num_records
                    continue
                yield from islice(block, skip, None)
                done += block.num_records
                skip = 0
        except (OSError, SourceError):
            raise
        except Exception as error:  # of fastavro and of the codecs
            raise SourceError(
                f"{self.path} cannot be read after {done} records: {str(error) or type(error).__name__}. "
                "Bring the whole file, or a sound copy"
            ) from error
        self._check_length(done, position)

    def _row(self, record: dict[str, Any]) -> dict[str, Any]:
        flat = flattened(record)
        return {name: self._value(name, flat.get(name)) for name in self._used}

    def _value(self, name: str, value: Any) -> Any:
        if name == self.fields.time and isinstance(value, (date, datetime)):
            return value.isoformat()  # a time has a unit of its own, whatever the unit of numbers
        if type(value) is float and math.isinf(value):
            self.misfits.setdefault(name, Misfits()).add(str(value))
            return None
        return value if name in self.schema.kinds else plain_value(value)


def kinds_of(schema: Mapping[str, Any], named: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return the kind of each field of a record: `"number"`, `"text"`, or the name of another type.

    Fields of nested records are named by their paths.

    Examples
    --------
    >>> wind = {"name": "wind", "type": ["null", "double"]}
    >>> place = {"type": "record", "name": "Place", "fields": [{"name": "city", "type": "string"}, wind]}
    >>> kinds_of({"type": "record", "name": "Day", "fields": [{"name": "at", "type": place}]}, {})
    {'at.city': 'text', 'at.wind': 'number'}
    """
    kinds: dict[str, str] = {}
    for field in schema["fields"]:
        name, types = prefix + field["name"], field["type"]
        types = [named.get(kind, kind) if isinstance(kind, str) else kind for kind in _listed(types)]
        records = [kind for kind in types if isinstance(kind, dict) and kind["type"] == "record"]
        if records and len(records) == len(types):
            for record in records:
                kinds |= kinds_of(record, named, f"{name}.")
        else:
            distinct = {_kind_of(kind) for kind in types}
            kinds[name] = distinct.pop() if len(distinct) == 1 else _mixed(distinct)
    return kinds


def _without_lists(schema: Any, named: Mapping[str, Any], written: set[str]) -> Any:
    """Return the schema with which fastavro passes over fields of arrays and maps instead of building them.

    Of an array of records a byte would become a dict. `named` has the types, `written` those that were defined so far.
    """
    if isinstance(schema, list):
        return [_without_lists(part, named, written) for part in schema]
    if isinstance(schema, str):
        return (
            schema
            if schema in written or schema not in named
            else _without_lists(named[schema], named, written)
        )
    if schema["type"] in NAMED:
        if schema["name"] in written:
            return schema["name"]
        written.add(schema["name"])
    if schema["type"] not in RECORDS:
        return schema
    fields = [field for field in schema["fields"] if not _holds_list(field["type"], named)]
    kept = [{**field, "type": _without_lists(field["type"], named, written)} for field in fields]
    return {"type": "record", "name": schema["name"], "fields": kept}


def _holds_list(types: Any, named: Mapping[str, Any]) -> bool:
    parts = [named.get(part, part) if isinstance(part, str) else part for part in _listed(types)]
    return any(isinstance(part, dict) and part["type"] in LISTS for part in parts)


def _listed(types: Any) -> list[Any]:
    """Return the types that a value may have, without null."""
    return [kind for kind in (types if isinstance(types, list) else [types]) if kind != "null"]


def _kind_of(schema: Any) -> str:
    kind = schema if isinstance(schema, str) else schema["type"]
    logical = "" if isinstance(schema, str) else str(schema.get("logicalType"))
    if not isinstance(kind, str):
        return _kind_of(kind)
    if kind in TEXTS:
        return TEXT
    return LOGICAL.get(logical, NUMBER if kind in NUMBERS else kind)


def _mixed(kinds: set[str]) -> str:
    """Return the kind of a field of several types: names, if all of these are values."""
    others = kinds - {TEXT, NUMBER, *LOGICAL.values()}
    return min(others) if others else TEXT
