"""Parquet files as a source of events, read by pyarrow."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from stream_bayes._build import install_command
from stream_bayes.core.events.event import Partition, Position
from stream_bayes.errors import MissingPackage, SourceError
from stream_bayes.streams.byte_files.parquet_pages import MOST_PAGE, check_pages
from stream_bayes.streams.files.csv_cells import Misfits
from stream_bayes.streams.files.typed import CLOCK, DATE, DURATION, NUMBER, TEXT, TIME, TypedFile

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.parquet import FileMetaData

__all__ = ["ParquetSource"]

BATCH_ROWS = 4096
BUFFER = 1 << 16  # bytes of a column read at once
DELTAS = {"DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"}  # encodings of texts apart from their lengths


class ParquetSource(TypedFile):
    """A Parquet file: see `TypedFile`. Numeric columns are numeric features, all others nominal.

    Fields of structs are columns named `outer.inner`; columns of lists must be ignored. The size of each page is
    checked before it is decompressed.
    """

    field_word = "column"
    record_word = "rows"

    def _open(self) -> Mapping[str, str]:
        try:
            from pyarrow import parquet
        except ImportError:
            raise MissingPackage(
                f"{self.path}: Parquet is read by pyarrow, which is not installed: {install_command('parquet')}"
            ) from None
        try:
            with parquet.ParquetFile(self.path) as file:
                columns = [*_flat_columns(file.schema_arrow)]
                # A page of few bytes may hold one long text thousands of times: it is kept once. pyarrow cannot do so
                # where pages are of another encoding, too.
                self._in_full = _columns_of(file.metadata, DELTAS)
                texts = [name for name, kind in columns if _is_text(kind)]
                self._file = parquet.ParquetFile(
                    self.path,
                    metadata=file.metadata,
                    read_dictionary=[name for name in texts if name not in self._in_full],
                    buffer_size=BUFFER,
                )
        except (OSError, ValueError) as error:  # pyarrow raises both
            raise SourceError(f"{self.path} cannot be read as Parquet: {error}") from error
        kinds = {name: _kind_of(kind) for name, kind in columns}
        if len(kinds) < len(columns):
            self._file.close()
            (name, _), *_ = Counter(name for name, _ in columns).most_common(1)
            raise SourceError(f"{self.path}: two columns are named {name!r}; rename one")
        return kinds

    @property
    def end_offsets(self) -> Mapping[Partition, Position]:
        """The number of rows."""
        return {self._partition: self._file.metadata.num_rows}

    def seek(self, positions: Mapping[Partition, Position]) -> None:
        self._check_length(self._file.metadata.num_rows, positions.get(self._partition, 0))
        super().seek(positions)

    def close(self) -> None:
        self._file.close()

    def _read(self, position: int) -> Iterator[dict[str, Any]]:
        """Yield the rows from a position on. Groups of rows before it are not decoded."""
        names = self._used
        groups = self._file.metadata.num_row_groups
        first, skipped = 0, 0
        while first < groups and skipped + self._file.metadata.row_group(first).num_rows <= position:
            skipped += self._file.metadata.row_group(first).num_rows
            first += 1
        skip = position - skipped
        for batch in self._batches(list(range(first, groups)), names):
            part = batch.slice(skip)
            values = dict(_flat_arrays(part.schema, part.columns))
            skip = max(0, skip - batch.num_rows)
            columns = [self._values(name, values[name]) for name in names]
            for row in zip(*columns, strict=True) if columns else ((),) * part.num_rows:
                yield dict(zip(names, row, strict=True))

    def _batches(self, groups: list[int], names: list[str]) -> Iterator[pyarrow.RecordBatch]:
        done = 0
        try:
            with self.path.open("rb") as file:
                for group in groups:
                    dictionaries = check_pages(file, self._file.metadata, group, names)
                    longest = max(
                        (size for name, size in dictionaries.items() if name in self._in_full), default=0
                    )
                    rows = max(1, min(BATCH_ROWS, MOST_PAGE // max(1, longest)))
                    for batch in self._file.iter_batches(rows, row_groups=[group], columns=names):
                        yield batch
                        done += batch.num_rows
        except (OSError, ValueError, NotImplementedError, MemoryError) as error:  # pyarrow raises them all
            raise SourceError(
                f"{self.path} cannot be read after {done} rows from here: {' '.join(str(error).split())}. "
                "Bring the whole file, or a sound copy"
            ) from error

    def _values(self, name: str, column: pyarrow.Array) -> list[Any]:
        values = _listed(column)
        kinds = set(map(type, values)) - {type(None), str, bool, int}
        if kinds == {float}:
            infinite = [value for value in values if value is not None and math.isinf(value)]
            for value in infinite:
                self.misfits.setdefault(name, Misfits()).add(str(value))
            if infinite:
                return [None if value is not None and math.isinf(value) else value for value in values]
        elif Decimal in kinds:
            return [None if value is None else float(value) for value in values]
        elif kinds and kinds != {bytes} and name not in self.schema.kinds:  # times of roles
            return [None if value is None else str(value) for value in values]
        return values

    def _row(self, record: dict[str, Any]) -> dict[str, Any]:
        return record.copy()


def _columns_of(metadata: FileMetaData, encodings: set[str]) -> set[str]:
    """Return the columns that have pages of some encodings."""
    chunks = (
        metadata.row_group(group).column(index)
        for group in range(metadata.num_row_groups)
        for index in range(metadata.num_columns)
    )
    return {chunk.path_in_schema for chunk in chunks if not encodings.isdisjoint(chunk.encodings)}


def _is_text(column: pyarrow.DataType) -> bool:
    from pyarrow import types

    return any(
        check(column)
        for check in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    )


def _flat_columns(
    columns: Iterable[pyarrow.Field], outer: str = ""
) -> Iterator[tuple[str, pyarrow.DataType]]:
    """Yield names and types of columns; fields of a struct are columns with its name before theirs."""
    from pyarrow import types

    for column in columns:
        if types.is_struct(column.type):
            yield from _flat_columns(column.type, f"{outer}{column.name}.")
        else:
            yield outer + column.name, column.type


def _flat_arrays(
    columns: Iterable[pyarrow.Field], arrays: Iterable[pyarrow.Array], outer: str = ""
) -> Iterator[tuple[str, pyarrow.Array]]:
    """Yield names and values of columns, as `_flat_columns` does; the fields of a missing struct are missing."""
    from pyarrow import types

    for column, values in zip(columns, arrays, strict=True):
        if types.is_struct(column.type):
            yield from _flat_arrays(column.type, values.flatten(), f"{outer}{column.name}.")
        else:
            yield outer + column.name, values


def _listed(column: pyarrow.Array) -> list[Any]:
    """Return the values of a column; equal texts of a dictionary are one object."""
    from pyarrow import DictionaryArray

    if not isinstance(column, DictionaryArray):
        return column.to_pylist()
    distinct = column.indices.unique()
    texts = dict(zip(distinct.to_pylist(), column.dictionary.take(distinct).to_pylist(), strict=True))
    return [texts[code] for code in column.indices.to_pylist()]


def _kind_of(column: pyarrow.DataType) -> str:
    from pyarrow import types

    if types.is_nested(column):
        return str(column)
    is_number = types.is_integer(column) or types.is_floating(column) or types.is_decimal(column)
    if types.is_date(column):
        return DATE
    if types.is_timestamp(column):
        return TIME
    if types.is_time(column):
        return CLOCK
    if types.is_duration(column):
        return DURATION
    return NUMBER if is_number else TEXT
