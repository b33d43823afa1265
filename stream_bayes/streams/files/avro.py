"""Avro container files as a source of events, read by fastavro."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from stream_bayes.by_name import closest
from stream_bayes.core.events.event import Partition, Position
from stream_bayes.core.values.values import shown
from stream_bayes.data.features import Nominal, Numeric, Spec
from stream_bayes.data.schema import Schema
from stream_bayes.errors import Exhausted, MissingPackage, SchemaError, SourceError, Undecodable
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.files.csv_cells import Misfits
from stream_bayes.streams.files.source import checked_name
from stream_bayes.streams.records.avro_types import check_sizes, plain_value
from stream_bayes.streams.records.bad_records import bad_record
from stream_bayes.streams.records.fields import Assembler, Fields
from stream_bayes.streams.records.object_decoder import flattened

__all__ = ["AvroSource", "kinds_of"]

MAGIC = b"Obj\x01"
NUMBERS = {"int", "long", "float", "double"}
TEXTS = {"string", "boolean", "enum"}


class AvroSource:
    """An Avro container file. Positions are numbers of records.

    Numbers, and timestamps, dates and decimals, are numeric features; text, enums and booleans are nominal. A nested
    record becomes fields named `outer.inner`. Logical types become values as those of an `AvroDecoder` do. With a sink
    that can be cut back, each event counts exactly once.

    Parameters
    ----------
    path
        Path of the file.
    fields
        Roles of the fields. Fields of arrays and maps must be ignored.
    name
        Name of the source; by default the file's.

    Raises
    ------
    MissingPackage
        If fastavro is not installed.
    SourceError
        If the file cannot be read.
    SchemaError
        If there is no field for a role, or a feature is an array or a map.

    Attributes
    ----------
    schema
        The schema by the types of the fields.
    columns
        The names of the fields.
    misfits
        Counts of infinite numbers, which are missing, by field.
    """

    medium = "local"
    may_skip = False
    connected = True

    def __init__(
        self, path: str | os.PathLike[str], fields: Fields | None = None, name: str | None = None
    ) -> None:
        self.path = Path(path)
        self.name = checked_name(self.path.name if name is None else name)
        self.fields = Fields() if fields is None else fields
        self._partition = Partition(self.name)
        try:
            import fastavro
        except ImportError as error:
            raise MissingPackage(
                f"{path}: Avro is read by fastavro, which is not installed: pip install 'stream-bayes[registry]'"
            ) from error
        self._open_blocks = fastavro.block_reader
        try:
            self._file = self.path.open("rb")
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {error.strerror}") from error
        try:
            kinds = self._kinds(fastavro.parse_schema)
            self.columns = tuple(kinds)
            self.schema = self._declared(kinds)
        except BaseException:
            self._file.close()
            raise
        self.misfits: dict[str, Misfits] = {}
        self._used = [
            name for name in kinds if name in self.schema.features or name in self.fields.roles.values()
        ]
        self._event = Assembler(self.fields).event
        self._position: Position = 0
        self._records = self._read(0)

    def __repr__(self) -> str:
        return f"AvroSource({str(self.path)!r})"

    @property
    def positions(self) -> Mapping[Partition, Position]:
        return {self._partition: self._position}

    def poll(self, limit: int) -> list[Record]:
        found = list(islice(self._records, limit))
        if not found:
            raise Exhausted(f"{self.path} has been read to its end")
        records = [self._record(content, self._position + place) for place, content in enumerate(found)]
        self._position += len(found)
        return records

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        if unknown := [partition for partition in positions if partition != self._partition]:
            raise SourceError(f"expected positions of {self._partition}, got those of {shown(unknown)}")
        position = positions.get(self._partition, 0)
        self._position, self._records = position, self._read(position)

    def close(self) -> None:
        self._file.close()

    def _blocks(self) -> Any:
        self._file.seek(0)
        if (head := self._file.read(len(MAGIC))) != MAGIC:
            raise SourceError(f"{self.path} is no Avro file: it begins with {head!r}, not with {MAGIC!r}")
        self._file.seek(0)
        try:
            return self._open_blocks(self._file)
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
        if skip:
            raise SourceError(
                f"{self.path} has {done} records, but was read to record {position} before: it was replaced. Bring "
                "the file back, or start over without the snapshot"
            )

    def _record(self, content: dict[str, Any], position: Position) -> Record:
        try:
            flat = flattened(content)
            row = {name: self._value(name, flat.get(name)) for name in self._used}
            return self._event(row, position, self._partition, 1)
        except Undecodable as error:
            return bad_record(error, b"", position, self._partition, 1)

    def _value(self, name: str, value: Any) -> Any:
        if name == self.fields.time and isinstance(value, (date, datetime)):
            return value.isoformat()  # a time has a unit of its own, whatever the unit of numbers
        if type(value) is float and math.isinf(value):
            self.misfits.setdefault(name, Misfits()).add(str(value))
            return None
        return plain_value(value)

    def _declared(self, kinds: Mapping[str, str]) -> Schema:
        for role, name in self.fields.roles.items():
            if name not in kinds:
                raise SchemaError(
                    f"{self.path}: {role}: there is no field {name!r}{closest(name, kinds)} There are {shown([*kinds])}"
                )
        features: dict[str, Spec] = {}
        for name, kind in kinds.items():
            if not self.fields.is_feature(name):
                continue
            if kind not in ("number", "text"):
                raise SchemaError(f"{self.path}: field {name!r} holds {kind}; leave it out: --ignore {name}")
            features[name] = Numeric() if kind == "number" else Nominal()
        return Schema(features, target=self.fields.target or "class")


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
            found = {_kind_of(kind) for kind in types}
            kinds[name] = found.pop() if len(found) == 1 else _mixed(found)
    return kinds


def _listed(types: Any) -> list[Any]:
    """Return the types that a value may have, without null."""
    return [kind for kind in (types if isinstance(types, list) else [types]) if kind != "null"]


def _kind_of(schema: Any) -> str:
    kind = schema if isinstance(schema, str) else schema["type"]
    logical = None if isinstance(schema, str) else schema.get("logicalType")
    if not isinstance(kind, str):
        return _kind_of(kind)
    if kind in TEXTS:
        return "text"
    return "number" if kind in NUMBERS or logical == "decimal" else kind


def _mixed(kinds: set[str]) -> str:
    """Return the kind of a field of several types: names, if all of these are values."""
    others = kinds - {"text", "number"}
    return min(others) if others else "text"
