"""The columns of a CSV file with their roles, and converting rows of cells to events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

from stream_bayes.checked_names import closest
from stream_bayes.core.events.event import ONE, SAMPLE, TOMBSTONE, Event, Kind, Partition
from stream_bayes.core.values.values import shown
from stream_bayes.data.amounts import is_number
from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.features import DeclaredValues, Numeric
from stream_bayes.data.schema import Schema
from stream_bayes.errors import SchemaError, Undecodable
from stream_bayes.streams.files._csv_rows import rows_of_columns
from stream_bayes.streams.files.csv_cells import (
    BlankCells,
    Cells,
    DeclaredCells,
    KindCells,
    Misfits,
    MomentCells,
    NumberCells,
    ReadCells,
    TextCells,
    WeightCells,
)
from stream_bayes.streams.files.csv_delimiters import DELIMITERS
from stream_bayes.streams.records.fields import Fields
from stream_bayes.streams.records.undecodable import DecodeReason, shortened, undecodable

__all__ = ["CSVColumns"]

BYTE_ORDER_MARK = "\ufeff"


class CSVColumns:
    """The columns of a file.

    Values are converted a column at a time, for many rows, which takes a third of the time of row by row. `names` are
    from left to right. By `schema`, cells of a numeric column are numbers, those of a nominal one are text, or the
    declared values that are written so; others are read by their kind. Without a schema, all are text. Cells in
    `missing` stand for a missing value. `decimal` and `thousands` are marks in numbers. `misfits` counts cells that are
    not of the kind of their column and are read as missing; None to raise for them.

    Raises
    ------
    SchemaError
        If two columns have one name, or a declared field or feature has no column, or the schema refuses one.

    Examples
    --------
    >>> schema = Schema({"sky": ["grey"], "wind": Numeric()}, target="rain")
    >>> columns = CSVColumns(["sky", "wind", "rain"], Fields(), schema)
    >>> columns.events(["grey", "3.5", "yes", "blue", "", "no"], [0, 13], [13, 9], Partition("days"))[1]
    Event(x={'sky': 'blue', 'wind': None}, y='no', position=13, partition=Partition(source='days', partition=0),
          length=9)
    """

    def __init__(
        self,
        names: Sequence[str],
        fields: Fields,
        schema: Schema | None = None,
        missing: Iterable[str] = ("",),
        decimal: str = ".",
        thousands: str = "",
        misfits: dict[str, Misfits] | None = None,
        heading: Sequence[str] = (),
    ) -> None:
        self.names = tuple(names)
        # The row of names as it stands in the file. One name alone may well be a value, too.
        self._heading = [*heading] if len(heading) > 1 else []
        # Each of the files that were put together may have begun with a mark of its encoding.
        self._first_names = {heading[0], BYTE_ORDER_MARK + heading[0]} if self._heading else set()
        self.fields = fields.with_schema(schema)
        self._index = {name: index for index, name in enumerate(names)}  # there may be 10,000 of them
        if len(self._index) < len(names):
            twice = sorted({name for index, name in enumerate(names) if self._index[name] != index})
            raise SchemaError(
                f"column names must be unique, but these are repeated: {shown(twice)}"
                + (self._headless_hint() or "; if the first line is data: --no-header")
            )
        for what, wanted in {
            **{role: (name,) for role, name in fields.roles.items()},
            "required": fields.required,
            "only": fields.only or (),
            "ignore": fields.ignore,
        }.items():
            self._check_there(what, wanted)
        # The file may well be without labels where only the schema names the target.
        roles = {role: name for role, name in self.fields.roles.items() if name in self._index}
        features = [name for name in names if self.fields.is_feature(name)]
        if schema is not None:
            features = self._declared(features, schema)
        absent = frozenset(missing)
        self._roles = {
            role: (self._index[name], _role_cells(role, self.fields, absent, schema))
            for role, name in roles.items()
        }
        self._misfits = misfits
        self._new_misfits: dict[str, Misfits] = {}
        if misfits is not None and schema is not None:
            read = [name for name in features if isinstance(schema.columns[name], (Numeric, ColumnKind))]
            self._new_misfits = {name: Misfits() for name in read}
        self._features = [
            (
                self._index[name],
                _feature_cells(name, schema, absent, decimal, thousands, self._new_misfits.get(name)),
            )
            for name in features
        ]
        self._feature_names = _feature_names(features, schema)
        for name, feature in ({} if schema is None else schema.missing_features).items():
            if name in features:
                self._features.append((self._index[name], BlankCells(name, absent)))
                self._feature_names.append(feature)
        self._required = [self._index[name] for name in fields.required]
        self._missing = absent

    def events(
        self, cells: list[str], positions: Sequence[int], lengths: Sequence[int], partition: Partition
    ) -> list[Event]:
        """Return the events of some rows. `cells` are those of all rows, one row after another.

        Raises
        ------
        Undecodable
            If a cell does not fit its column.
        """
        try:
            events = self._events(cells, positions, lengths, partition)
        except Undecodable:
            for misfits in self._new_misfits.values():
                misfits.count = 0  # these rows are read again, one by one
            raise
        for name, misfits in self._new_misfits.items():
            if misfits.count and self._misfits is not None:
                total = self._misfits.setdefault(name, Misfits(0, misfits.first))
                total.count += misfits.count
                misfits.count = 0
        return events

    def _events(
        self, cells: list[str], positions: Sequence[int], lengths: Sequence[int], partition: Partition
    ) -> list[Event]:
        width, count = len(self.names), len(positions)
        if self._heading and not self._first_names.isdisjoint(cells[::width]):
            self._check_not_heading(cells)
        for index in self._required:
            if not self._missing.isdisjoint(cells[index::width]):
                name = shortened(self.names[index])
                raise undecodable(DecodeReason.MISSING_FIELD, f"expected a value in the column {name}")
        features = [
            values for index, column in self._features for values in column.columns(cells[index::width])
        ]
        xs: Iterable[dict[str, Any]] = rows_of_columns(self._feature_names, features, count)
        by_role = {role: column.values(cells[index::width]) for role, (index, column) in self._roles.items()}
        labels: Iterable[Any] = by_role.get("target", repeat(None, count))
        if self.fields.targets:
            roles = [f"target {name}" for name in self.fields.targets]
            rows = zip(*(by_role[role] for role in roles), strict=True)
            labels = [self.fields.labels(dict(zip(roles, row, strict=True))) for row in rows]
        kinds: Iterable[Kind] = by_role.get("kind", repeat(self.fields.default_kind, count))
        if "kind" in by_role or self.fields.default_kind is not SAMPLE:
            kinds = list(kinds)
            xs = (x if kind is SAMPLE else {} for x, kind in zip(xs, kinds, strict=True))
            labels = (None if kind is TOMBSTONE else label for label, kind in zip(labels, kinds, strict=True))
        keys, times = by_role.get("key", repeat(None)), by_role.get("time", repeat(None))
        weights = by_role.get("weight", repeat(ONE))
        return list(
            map(Event, xs, labels, keys, times, positions, weights, kinds, repeat(partition), lengths)
        )

    def _check_not_heading(self, cells: list[str]) -> None:
        """Raise `Undecodable` if a row is the heading again."""
        width, rest = len(self.names), self._heading[1:]
        firsts = enumerate(cells[::width])
        if any(
            first in self._first_names and cells[n * width + 1 : (n + 1) * width] == rest
            for n, first in firsts
        ):
            raise undecodable(DecodeReason.REPEATED_HEADING, "the row is the names of the columns again")

    def _check_there(self, what: str, wanted: Iterable[str]) -> None:
        for name in wanted:
            if name not in self._index:
                hint = closest(name, self.names)
                if "," in name and all(part.strip() in self._index for part in name.split(",")):
                    hint = "; name each of several columns on its own."
                raise SchemaError(
                    f"{what}: there is no column {shortened(name)}{hint} There are {shown([*self.names])}"
                    + self._hint()
                )

    def _hint(self) -> str:
        """Return a hint if another delimiter would split the heading, or the heading is data."""
        delimiters = [mark for mark in DELIMITERS if len(self.names) == 1 and mark in self.names[0]]
        if delimiters:
            mark = "a tab" if delimiters[0] == "\t" else repr(delimiters[0])
            return f"; is the delimiter perhaps {mark}?"
        return self._headless_hint()

    def _headless_hint(self) -> str:
        """Return a hint if the heading is data: half of it are numbers."""
        numbers = sum(map(is_number, self.names))
        if numbers * 2 < len(self.names):
            return ""
        return (
            f". The first line looks like data ({numbers} of {len(self.names)} cells are numbers): for a file "
            "without a heading give the columns' names, or use --no-header, which calls them c1, c2, ..."
        )

    def _declared(self, features: Sequence[str], schema: Schema) -> list[str]:
        """Return the features that the schema declares."""
        self._check_there("schema", filter(self.fields.is_feature, schema.columns))
        unknown = [name for name in features if name not in schema.columns]
        if unknown and (schema.unknown == "refuse" or self.fields.only is not None):
            raise SchemaError(
                f"the schema does not declare {shown(unknown)}; declare these columns, or ignore them"
            )
        return [name for name in features if name in schema.columns]


def _role_cells(role: str, fields: Fields, missing: frozenset[str], schema: Schema | None) -> Cells:
    """Return the converter of a role's column."""
    name = fields.roles[role]
    if role == "target" or name in fields.targets:
        return _nominal_cells(name, missing, None if schema is None else schema.classes)
    if role == "time":
        return MomentCells(fields, missing)
    if role == "weight":
        return WeightCells(name, missing)
    if role == "kind":
        return KindCells(fields, missing)
    return TextCells(name, missing)


def _feature_cells(
    name: str,
    schema: Schema | None,
    missing: frozenset[str],
    decimal: str,
    thousands: str,
    misfits: Misfits | None,
) -> Cells:
    """Return the converter of a feature's column."""
    spec = None if schema is None else schema.columns[name]
    if isinstance(spec, ColumnKind):
        return ReadCells(name, missing, spec, misfits)
    if isinstance(spec, Numeric):
        return NumberCells(name, missing, decimal, thousands, misfits)
    return _nominal_cells(name, missing, None if spec is None else spec.values)


def _feature_names(columns: Sequence[str], schema: Schema | None) -> list[str]:
    """Return the names of the features that columns become."""
    return (
        [*columns]
        if schema is None
        else [feature for name in columns for feature in schema.features_of[name]]
    )


def _nominal_cells(name: str, missing: frozenset[str], declared: DeclaredValues | None) -> Cells:
    if declared is None or all(isinstance(value, str) for value in declared):
        return TextCells(name, missing)
    return DeclaredCells(name, missing, declared)
