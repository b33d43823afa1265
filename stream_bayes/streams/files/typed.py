"""Files whose fields have types, as a source of events: Avro and Parquet."""

from __future__ import annotations

import os
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from stream_bayes.checked_names import closest
from stream_bayes.core.events.event import Partition, Position
from stream_bayes.core.values.values import shown
from stream_bayes.data.amounts import Amount, number
from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.dates import DATES_BY_TYPE
from stream_bayes.data.declarations import ColumnDeclaration
from stream_bayes.data.features import Nominal, Numeric
from stream_bayes.data.schema import Schema
from stream_bayes.errors import Exhausted, SchemaError, SourceError, Undecodable
from stream_bayes.streams.contracts.continuity_marks import ReadMark
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.files.csv_cells import Misfits
from stream_bayes.streams.files.source import MARKS, checked_name
from stream_bayes.streams.records.fields import Assembler, Fields
from stream_bayes.streams.records.undecodable import bad_record

__all__ = ["CLOCK", "DATE", "DURATION", "NUMBER", "TEXT", "TIME", "TypedFile"]

# The kinds of fields that are features.
NUMBER, TEXT, DATE, TIME, CLOCK, DURATION = "number", "text", "date", "time", "time of day", "duration"

SPECS: dict[str, ColumnDeclaration] = {
    NUMBER: Numeric(),
    TEXT: Nominal(),
    DATE: DATES_BY_TYPE[date],
    TIME: DATES_BY_TYPE[datetime],
    CLOCK: DATES_BY_TYPE[time],
    DURATION: Amount(["s"]),
}


class TypedFile(ABC):
    """A file with typed fields, whose positions are numbers of records: the base of a source for each format.

    With a sink that can be cut back, each event counts exactly once. Fields of other kinds than numbers and texts must
    be ignored. By default `name` is the file's. `schema` has the columns, in place of those by the types of the fields:
    texts are then read as cells are.

    Raises
    ------
    MissingPackage
        If the package that reads such files is not installed.
    SourceError
        If the file cannot be read.
    SchemaError
        If there is no field for a role, or a feature is neither a number nor a text.

    Attributes
    ----------
    schema
        The schema, as given or by the types of the fields.
    columns
        The names of the fields.
    misfits
        Counts of values that are not of their column's kind, and of infinite numbers, which are missing, by field.
    """

    medium = "local"
    may_skip = False
    connected = True

    field_word: ClassVar[str] = "field"
    record_word: ClassVar[str] = "records"

    def __init__(
        self,
        path: str | os.PathLike[str],
        fields: Fields | None = None,
        name: str | None = None,
        schema: Schema | None = None,
    ) -> None:
        self.path = Path(path)
        self.name = checked_name(self.path.name if name is None else name)
        fields = Fields() if fields is None else fields
        self.misfits: dict[str, Misfits] = {}
        self._partition = Partition(self.name)
        self.fields = fields
        kinds = self._open()
        self.fields = _without_inner(fields, kinds)
        self._event = Assembler(self.fields).event
        try:
            self.columns = tuple(kinds)
            by_types = self._declared(kinds)
            self.schema = by_types if schema is None else schema
        except SchemaError:
            self.close()
            raise
        used = {*self.schema.columns, *self.fields.roles.values()}
        self._used = [name for name in kinds if name in used]
        self._is_read = bool(schema or self.schema.kinds or self.schema.missing_features)
        self._position: Position = 0
        self._records = self._read(0)
        self._newest: Sequence[Any] = ()  # what was polled last
        self._marks: deque[ReadMark] = deque(maxlen=MARKS)  # at the ends of what was polled before

    @abstractmethod
    def _open(self) -> Mapping[str, str]:
        """Open the file, and return the kind of each field: a number, a text, or the name of another type."""

    @abstractmethod
    def _read(self, position: Position) -> Iterator[Any]:
        """Yield the records from a position on."""

    @abstractmethod
    def _row(self, record: Any) -> dict[str, Any]:
        """Return the values of a record by field."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    @property
    def positions(self) -> Mapping[Partition, Position]:
        return {self._partition: self._position}

    @property
    def position_units(self) -> Mapping[str, str]:
        """A position is a number of records."""
        return {self.name: "rows"}

    def poll(self, limit: int) -> list[Record]:
        contents = list(islice(self._records, limit))
        if not contents:
            raise Exhausted(f"{self.path} has been read to its end")
        records = [self._record(content, self._position + offset) for offset, content in enumerate(contents)]
        if self._newest:
            self._marks.append(ReadMark(self._position, _checksum(self._newest[-1])))
        self._newest = contents
        self._position += len(contents)
        return records

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        if unknown := [partition for partition in positions if partition != self._partition]:
            raise SourceError(f"expected positions of {self._partition}, got those of {shown(unknown)}")
        position = positions.get(self._partition, 0)
        self._position, self._records = position, self._read(position)
        self._newest = ()
        self._marks.clear()

    def marks(self, positions: Mapping[Partition, Position], /) -> Mapping[Partition, ReadMark]:
        position = positions.get(self._partition, 0)
        into_newest = position - self._position + len(self._newest)
        if into_newest > 0:
            return {self._partition: ReadMark(position, _checksum(self._newest[into_newest - 1]))}
        earlier = [mark for mark in self._marks if mark.position <= position]
        return {self._partition: earlier[-1]} if earlier else {}

    def check_marks(self, marks: Mapping[Partition, ReadMark], /) -> None:
        mark = marks.get(self._partition)
        if mark is None:
            return
        misfits, self.misfits = self.misfits, {}  # of a record that is not read for its own sake
        record = next(self._read(mark.position - 1))
        self.misfits = misfits
        if _checksum(record) != mark.checksum:
            raise SourceError(
                f"{self.path}: {self.record_word.removesuffix('s')} {mark.position} is not what was read: the file was "
                "changed or replaced. Bring it back, or start over without the snapshot"
            )
        if mark.position == self._position:
            self._marks.append(mark)

    def _record(self, content: Any, position: Position) -> Record:
        try:
            return self._event(self._read_row(self._row(content)), position, self._partition, 1)
        except Undecodable as error:
            return bad_record(error, b"", position, self._partition, 1)

    def _read_row(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the features of a row; values that are not of their column's kind are missing and counted."""
        row = {
            name: (value.strip() or None) if isinstance(value, str) else value for name, value in row.items()
        }
        if not self._is_read:
            return row
        fitting = dict(row)
        for name, column in self.schema.columns.items():
            value = row.get(name)
            if value is None or (isinstance(column, Numeric) and isinstance(value, (int, float))):
                continue
            try:
                if isinstance(column, Numeric):
                    fitting[name] = number(str(value))
                elif isinstance(column, ColumnKind):
                    column.read(value)
            except ValueError:
                fitting[name] = None
                self.misfits.setdefault(name, Misfits()).add(str(value))
        return self.schema.read(fitting)

    def _check_length(self, length: int, position: Position) -> None:
        """Raise `SourceError` if the file has fewer records than were read before."""
        if position > length:
            words = self.record_word
            raise SourceError(
                f"{self.path} has {length} {words}, but was read to {words.removesuffix('s')} {position} before: it "
                "was replaced. Bring the file back, or start over without the snapshot"
            )

    def _declared(self, kinds: Mapping[str, str]) -> Schema:
        for role, name in self.fields.roles.items():
            if name not in kinds:
                raise SchemaError(
                    f"{self.path}: {role}: there is no {self.field_word} {name!r}{closest(name, kinds)} There are "
                    f"{shown([*kinds])}"
                )
        features: dict[str, ColumnDeclaration] = {}
        for name, kind in kinds.items():
            if not self.fields.is_feature(name):
                continue
            if kind not in SPECS:
                raise SchemaError(
                    f"{self.path}: {self.field_word} {name!r} holds {kind}; leave it out: --ignore {name}"
                )
            features[name] = SPECS[kind]
        return Schema(features, target=self.fields.label_name(features))


def _without_inner(fields: Fields, names: Collection[str]) -> Fields:
    """Return the fields of a file; to ignore one that holds others is to ignore these."""
    inner = [
        name
        for name in names
        for outer in fields.ignore
        if outer not in names and name.startswith(f"{outer}.")
    ]
    return replace(fields, ignore=(*fields.ignore, *inner)) if inner else fields


def _checksum(record: Any) -> int:
    return zlib.crc32(repr(record).encode("utf-8", "surrogatepass"))
