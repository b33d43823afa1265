"""Parquet files as a source of events, read by pyarrow."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stream_bayes.by_name import closest
from stream_bayes.core.events.event import Partition, Position
from stream_bayes.core.values.values import shown
from stream_bayes.data.features import Nominal, Numeric
from stream_bayes.data.schema import Schema
from stream_bayes.errors import Exhausted, SchemaError, SourceError, Undecodable
from stream_bayes.streams.contracts.source import Record
from stream_bayes.streams.files.csv_cells import Misfits
from stream_bayes.streams.files.source import checked_name
from stream_bayes.streams.records.bad_records import bad_record
from stream_bayes.streams.records.fields import Assembler, Fields

if TYPE_CHECKING:
    import pyarrow

__all__ = ["ParquetSource"]

BATCH_ROWS = 4096


class ParquetSource:
    """A Parquet file. Positions are numbers of rows; numeric columns are numeric features, all others nominal.

    With a sink that can be cut back, each event counts exactly once.

    Parameters
    ----------
    path
        Path of the file.
    fields
        Roles of the columns. Columns of lists and structs must be ignored.
    name
        Name of the source; by default the file's.

    Raises
    ------
    SourceError
        If pyarrow is not installed, or the file cannot be read.
    SchemaError
        If a field has no column, or a feature is a list or a struct.

    Attributes
    ----------
    schema
        The schema, inferred from the types of the columns.
    misfits
        Counts of infinite numbers, which count as missing, by column.
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
        self.misfits: dict[str, Misfits] = {}
        self._partition = Partition(self.name)
        self._event = Assembler(self.fields).event
        try:
            from pyarrow import parquet
        except ImportError:
            raise SourceError(
                f"{path}: Parquet is read by pyarrow, which is not installed: pip install 'stream-bayes[parquet]'"
            ) from None
        try:
            self._file = parquet.ParquetFile(self.path)
        except (OSError, ValueError) as error:  # pyarrow raises both
            raise SourceError(f"{path} cannot be read as Parquet: {error}") from error
        try:
            self.schema = self._declared(self._file.schema_arrow)
        except SchemaError:
            self._file.close()
            raise
        self._position: Position = 0
        self._batches = self._read(0)

    def __repr__(self) -> str:
        return f"ParquetSource({str(self.path)!r})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._file.schema_arrow.names)

    @property
    def positions(self) -> Mapping[Partition, Position]:
        return {self._partition: self._position}

    @property
    def end_offsets(self) -> Mapping[Partition, Position]:
        """The number of rows."""
        return {self._partition: self._file.metadata.num_rows}

    def poll(self, limit: int) -> list[Record]:
        rows = list(islice(self._batches, limit))
        if not rows:
            raise Exhausted(f"{self.path} has been read to its end")
        records = [self._record(row, self._position + place) for place, row in enumerate(rows)]
        self._position += len(rows)
        return records

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        if unknown := [partition for partition in positions if partition != self._partition]:
            raise SourceError(f"expected positions of {self._partition}, got those of {shown(unknown)}")
        position = positions.get(self._partition, 0)
        if position > self._file.metadata.num_rows:
            raise SourceError(
                f"{self.path} has {self._file.metadata.num_rows} rows, but was read to row {position} before: it was "
                "replaced. Bring the file back, or start over without the snapshot"
            )
        self._position, self._batches = position, self._read(position)

    def close(self) -> None:
        self._file.close()

    def _read(self, position: int) -> Iterator[dict[str, Any]]:
        """Yield the rows from a position on."""
        names = [name for name in self.columns if self._is_used(name)]
        groups = self._file.metadata.num_row_groups
        first, skipped = 0, 0
        while first < groups and skipped + self._file.metadata.row_group(first).num_rows <= position:
            skipped += self._file.metadata.row_group(first).num_rows
            first += 1
        skip = position - skipped
        for batch in self._file.iter_batches(
            BATCH_ROWS, row_groups=list(range(first, groups)), columns=names
        ):
            part = batch.slice(skip)
            skip = max(0, skip - batch.num_rows)
            columns = [self._values(name, part.column(name)) for name in names]
            for row in zip(*columns, strict=True) if columns else ((),) * part.num_rows:
                yield dict(zip(names, row, strict=True))

    def _values(self, name: str, column: pyarrow.Array) -> list[Any]:
        values: list[Any] = column.to_pylist()
        kinds = set(map(type, values)) - {type(None), str, bool, int}
        if kinds == {float}:
            infinite = [value for value in values if value is not None and math.isinf(value)]
            for value in infinite:
                self.misfits.setdefault(name, Misfits()).add(str(value))
            if infinite:
                return [None if value is not None and math.isinf(value) else value for value in values]
        elif Decimal in kinds:
            return [None if value is None else float(value) for value in values]
        elif kinds and kinds != {bytes}:  # dates and times
            return [None if value is None else str(value) for value in values]
        return values

    def _record(self, row: dict[str, Any], position: Position) -> Record:
        try:
            return self._event(row, position, self._partition, 1)
        except Undecodable as error:
            return bad_record(error, b"", position, self._partition, 1)

    def _is_used(self, name: str) -> bool:
        return self.fields.is_feature(name) or name in self.fields.roles.values()

    def _declared(self, found: pyarrow.Schema) -> Schema:
        from pyarrow import types

        for role, name in self.fields.roles.items():
            if name not in found.names:
                raise SchemaError(
                    f"{self.path}: {role}: there is no column {name!r}{closest(name, found.names)} There are "
                    f"{shown([*found.names])}"
                )
        features: dict[str, Nominal | Numeric] = {}
        for column in found:
            if not self.fields.is_feature(column.name):
                continue
            if types.is_nested(column.type):
                raise SchemaError(
                    f"{self.path}: column {column.name!r} holds {column.type}; leave it out: --ignore {column.name}"
                )
            kind = column.type
            is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
            features[column.name] = Numeric() if is_number else Nominal()
        return Schema(features, target=self.fields.target or "class")
