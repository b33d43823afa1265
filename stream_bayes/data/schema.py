"""Schemas: the declared features and classes of a stream, and encoding frames by them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Literal, NoReturn, Self, TypeAlias, cast

from stream_bayes.core.values.inputs import check_classes
from stream_bayes.core.values.values import (
    JSONValue,
    Value,
    canonical_label,
    is_missing,
    shown,
    tagged_many,
    untagged_many,
)
from stream_bayes.data.amounts import Amount
from stream_bayes.data.codes import Code
from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.columns import (
    CodedColumns,
    Codes,
    ForeignRule,
    code_columns,
    code_labels,
    refuse_foreign,
    skip_foreign,
)
from stream_bayes.data.coordinates import Coordinates
from stream_bayes.data.dates import Date
from stream_bayes.data.declarations import (
    ColumnDeclaration,
    declared,
    declared_from_json,
    declared_to_json,
    expanded,
)
from stream_bayes.data.features import (
    DeclaredValues,
    Nominal,
    Numeric,
    Spec,
    checked_limit,
    declared_values,
    inferred_spec,
    json_fields,
)
from stream_bayes.data.frame_columns import FrameCells, factorise, python_values
from stream_bayes.data.frame_dates import temporal_kind
from stream_bayes.data.frames import NamedColumns, Native, read_table
from stream_bayes.data.texts import Text
from stream_bayes.errors import BadLabel, BadState, BadValue, SchemaError, UnknownFeature

__all__ = [
    "MISSING",
    "Amount",
    "Code",
    "Coordinates",
    "Date",
    "Nominal",
    "Numeric",
    "Schema",
    "Text",
    "usual_target",
]  # what a schema is written with

Unknown: TypeAlias = Literal["ignore", "refuse"]
MISSING = ("no", "yes")  # values of the feature of whether a cell is missing


class Schema:
    """The declared features and classes, and the rule for undeclared features. Immutable.

    Equal schemas have equal fingerprints and pickles, in every process.

    Parameters
    ----------
    features
        Each column's `Nominal` or `Numeric`, or the kind by which its cells are read: `Amount`, `Date`,
        `Coordinates`, `Code` or `Text`. Short for these are a list of values, the types str, bool, float and int, and
        "nominal", "numeric", "amount", "date", "coordinates" and "code". Order is kept.
    classes
        All classes, if they are known. Any other label is then refused.
    target
        The class variable's name, and that of the labels' column in a frame.
    unknown
        `"ignore"` or `"refuse"`: the treatment of undeclared features.
    blanks
        Columns for which it is a feature of its own, `NAME missing`, whether their cell is missing.

    Attributes
    ----------
    columns
        The declaration of each column, as records hold it.
    features
        The features that the columns become, as learners take them. Most columns are a feature as they are; `read`
        makes the features of the others.
    features_of
        The names of the features that each column becomes.
    missing_features
        The name of the feature of whether a column's cell is missing, by column.

    Raises
    ------
    SchemaError
        If the declaration contradicts itself.

    Examples
    --------
    >>> Schema({"colour": ["red", "green"], "size": Numeric()}, classes=["ripe", "raw"])
    Schema({'colour': Nominal(('red', 'green')), 'size': Numeric()}, classes=('ripe', 'raw'))
    >>> Schema({"colour": str, "size": float}) == Schema({"colour": "nominal", "size": "numeric"})
    True
    """

    columns: Mapping[str, ColumnDeclaration]
    features: Mapping[str, Spec]
    features_of: Mapping[str, tuple[str, ...]]
    missing_features: Mapping[str, str]
    classes: DeclaredValues | None
    target: str
    unknown: Unknown

    def __init__(
        self,
        features: Mapping[str, ColumnDeclaration | Sequence[Value] | type | str],
        classes: Sequence[Value] | None = None,
        target: str = "class",
        unknown: Unknown = "ignore",
        blanks: Sequence[str] = (),
    ) -> None:
        if not isinstance(features, Mapping):
            raise SchemaError(f"features: expected a mapping from names, got {type(features).__name__}")
        if unknown not in ("ignore", "refuse"):
            raise SchemaError(f"unknown: expected 'ignore' or 'refuse', got {shown(unknown)}")
        columns = {_name("feature", name): declared(name, given) for name, given in features.items()}
        if isinstance(blanks, str) or any(name not in columns for name in blanks):
            raise SchemaError(f"blanks: expected a list of declared columns, got {shown(blanks)}")
        made, missing = expanded(columns, tuple(dict.fromkeys(blanks)))
        specs = {name: spec for features in made.values() for name, spec in features.items()}
        specs |= dict.fromkeys(missing.values(), Nominal(MISSING))
        target = _name("target", target)
        if target in columns or target in specs:
            raise SchemaError(
                f"{shown(target)} is the target's name and a feature's; give target another name"
            )
        labels = None if classes is None else declared_values("classes", classes, canonical_label)
        # Not by assignment, which __setattr__ refuses.
        self.__dict__.update(
            columns=MappingProxyType(columns),
            features=MappingProxyType(specs),
            features_of=MappingProxyType({name: tuple(features) for name, features in made.items()}),
            classes=labels,
            target=target,
            unknown=str.__str__(unknown),
            missing_features=MappingProxyType(missing),
        )

    @classmethod
    def infer(cls, frame: Native, target: str | None = None, max_values: int | None = None) -> Self:
        """Return the schema inferred from a frame's columns.

        Columns of str, bool, bytes, tuples or categories are nominal, with the values found in order of
        appearance; int and float are numeric. Dates and times become calendar features.

        Parameters
        ----------
        frame
            A data frame, a list of dicts, or a mapping from names to sequences.
        target
            The column of labels, whose values become the classes.
        max_values
            Maximum number of declared values per nominal feature: the first ones found.

        Raises
        ------
        SchemaError
            If a column has values of both kinds, or none at all.
        BadLabel
            If the labels seem to be numbers rather than classes.

        Examples
        --------
        >>> Schema.infer({"colour": ["red", "green"], "size": [1, 2.5], "y": [True, False]}, target="y")
        Schema({'colour': Nominal(('red', 'green')), 'size': Numeric()}, classes=(True, False), target='y')
        """
        table = read_table(frame)
        limit = None if max_values is None else checked_limit(max_values)
        if target is None and "class" in table.columns:
            raise SchemaError("column 'class' has the target's usual name; say target='class', or rename it")
        classes = None
        if target is not None:
            labels = _column(table, target)
            _, classes = factorise(labels, (), canonical_label, BadLabel)
            if not classes:
                raise SchemaError(f"column {shown(target)}, the target, holds no label")
            check_classes(classes)
        features = {
            _name("feature", name): temporal_kind(cells) or inferred_spec(name, cells, limit)
            for name, cells in table.columns.items()
            if target is None or name != target
        }
        return cls(features, classes, "class" if target is None else target)

    def encode(self, frame: Native, target: str | None = None) -> CodedColumns:
        """Encode a frame's declared columns, for learning.

        Parameters
        ----------
        frame
            A data frame, a list of dicts, or a mapping from names to sequences.
        target
            The column of labels; if not given, the schema's target where the frame has such a column.

        Raises
        ------
        BadValue, BadLabel
            If a value or label is not allowed; it names the column and the row, counted from 0.
        UnknownFeature
            If the frame has other columns and the schema refuses them.
        SchemaError
            If this is not a frame, or it lacks the target.

        Examples
        --------
        >>> batch = Schema({"colour": Nominal()}).encode({"colour": ["red", None], "class": [True, False]})
        >>> batch.codes.tolist(), batch.vocabularies, batch.label_values()
        ([[0], [-1]], (('red',),), [True, False])
        """
        table = read_table(frame)
        labels, classes = None, self.classes or ()
        if target is not None and target in self.columns:
            raise SchemaError(f"{shown(target)} is a feature; it cannot be the target too")
        label_name = self.target if target is None else target
        if target is not None or label_name in table.columns:
            labels, classes = code_labels(_column(table, label_name), self.classes)
        return self._coded(table, label_name, refuse_foreign, labels, classes)

    def lookup(self, frame: Native) -> CodedColumns:
        """Encode a frame's declared columns, for predicting: like `encode`, but foreign values count as missing.

        A value outside a closed feature counts as missing, and labels are not read.

        Examples
        --------
        >>> schema = Schema({"colour": Nominal(["red"], closed=True)})
        >>> schema.lookup([{"colour": "blue"}, {"colour": "red"}]).codes.tolist()
        [[-1], [0]]
        """
        return self._coded(read_table(frame), self.target, skip_foreign, None, self.classes or ())

    def to_json(self) -> dict[str, JSONValue]:
        """Return the schema as JSON, from which `from_json` makes an equal one.

        Examples
        --------
        >>> Schema({"size": Numeric()}).to_json()
        {'features': [['size', {'kind': 'numeric'}]], 'classes': None, 'target': 'class', 'unknown': 'ignore'}
        """
        return {
            "features": [[name, declared_to_json(column)] for name, column in self.columns.items()],
            "classes": None if self.classes is None else tagged_many(self.classes),
            "target": self.target,
            "unknown": self.unknown,
            **({"blanks": [*self.missing_features]} if self.missing_features else {}),
        }

    @classmethod
    def from_json(cls, saved: object) -> Self:
        """Return the schema that `to_json` wrote.

        Raises
        ------
        BadState
            For anything else.

        Examples
        --------
        >>> Schema.from_json(Schema({"size": Numeric()}).to_json())
        Schema({'size': Numeric()})
        """
        blanks: object = []
        if type(saved) is dict and "blanks" in saved:
            saved = dict(saved)
            blanks = saved.pop("blanks")
        features, classes, target, unknown = json_fields(saved, "features", "classes", "target", "unknown")
        if type(blanks) is not list:
            raise BadState(f"a saved schema: expected a list of columns as blanks, got {shown(blanks)}")
        if type(features) is not list:
            raise BadState(f"a saved schema: expected a list of features, got {shown(features)}")
        pairs = [declared_from_json(feature) for feature in features]
        if len(dict(pairs)) < len(pairs):
            raise BadState("a saved schema: two features have the same name")
        labels = None if classes is None else untagged_many(classes)
        try:
            # The constructor checks the types of both names.
            return cls(dict(pairs), labels, cast("str", target), cast("Unknown", unknown), blanks)
        except SchemaError as error:
            raise BadState(f"a saved schema: {error}") from None

    @cached_property
    def kinds(self) -> Mapping[str, ColumnKind]:
        """The columns whose cells `read` turns into features; the others are features as they are."""
        return {name: column for name, column in self.columns.items() if isinstance(column, ColumnKind)}

    def read(self, x: Mapping[str, object]) -> dict[str, object]:
        """Return the features of an event by its columns, as sources and services read them.

        Raises
        ------
        BadValue
            If a cell is not of its column's kind.

        Examples
        --------
        >>> Schema({"price": Amount(["$"]), "sky": Nominal()}).read({"price": "$1,037.50", "sky": "grey"})
        {'price': 1037.5, 'sky': 'grey'}
        """
        features: dict[str, object] = {}
        for name, value in x.items():
            kind = self.kinds.get(name)
            if kind is None:
                features[name] = value
                continue
            made = self.features_of[name]
            try:
                values = (None,) * len(made) if is_missing(value) else kind.read(value)
            except ValueError as error:
                raise BadValue(f"column {shown(name)}: expected {error}, got {shown(value)}") from None
            features.update(zip(made, values, strict=True))
        for name, feature in self.missing_features.items():
            if feature not in x:
                features[feature] = MISSING[is_missing(x.get(name))]
        return features

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal: the same in every process, for equal schemas only."""
        return hashlib.sha256(self._text.encode("ascii")).hexdigest()

    @cached_property
    def _text(self) -> str:
        return json.dumps(self.to_json(), separators=(",", ":"), ensure_ascii=True)

    def _coded(
        self,
        table: NamedColumns,
        target: str,
        foreign: ForeignRule,
        labels: Codes | None,
        classes: DeclaredValues,
    ) -> CodedColumns:
        if self.unknown == "refuse":
            for name in table.columns:
                if name != target and name not in self.columns:
                    raise UnknownFeature(f"the schema does not declare the feature {shown(name)}")
        return code_columns(self._read_table(table), self.features, foreign, labels, classes)

    def _read_table(self, table: NamedColumns) -> NamedColumns:
        """Return a table of features: the columns of kinds that are read are replaced by what they become."""
        read: dict[Hashable, FrameCells] = {}
        for name, kind in self.kinds.items():
            if name not in table.columns:
                continue
            made: list[tuple[object, ...]] = []
            absent = (None,) * len(self.features_of[name])
            for row, value in enumerate(python_values(table.columns[name])):
                try:
                    made.append(absent if value is None else kind.read(value))
                except ValueError as error:
                    raise BadValue(
                        f"row {row}: column {shown(name)}: expected {error}, got {shown(value)}"
                    ) from None
            columns = zip(*made, strict=True) if made else ([] for _ in absent)
            read.update(zip(self.features_of[name], map(list, columns), strict=True))
        for name, feature in self.missing_features.items():
            if name in table.columns:
                values = python_values(table.columns[name])
                read[feature] = [MISSING[value is None] for value in values]
        if not read:
            return table
        kept = {name: cells for name, cells in table.columns.items() if name not in self.kinds}
        return NamedColumns(table.rows, {**kept, **read})

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Schema is immutable; make another one to change {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Schema is immutable; {name!r} stays")

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Schema) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        parts = [repr(dict(self.columns))]
        parts += [] if self.classes is None else [f"classes={self.classes!r}"]
        parts += [] if self.target == "class" else [f"target={self.target!r}"]
        parts += [] if self.unknown == "ignore" else [f"unknown={self.unknown!r}"]
        parts += [f"blanks={[*self.missing_features]!r}"] if self.missing_features else []
        return f"Schema({', '.join(parts)})"

    def __reduce__(self) -> tuple[Callable[[str], Schema], tuple[str]]:
        # As one string: pickle's bytes for a tree of strings depend on which of them are the same object.
        return _from_text, (self._text,)

    def __copy__(self) -> Schema:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Schema:
        return self


def usual_target(features: Iterable[str]) -> str:
    """Return a name for the class where none is given: `"class"`, with `_` after it if a feature has that name.

    Examples
    --------
    >>> usual_target(["sky", "wind"]), usual_target(["ticket", "class"])
    ('class', 'class_')
    """
    target, taken = "class", set(features)
    while target in taken:
        target += "_"
    return target


def _from_text(text: str) -> Schema:
    return Schema.from_json(json.loads(text))


def _name(what: str, name: object) -> str:
    if not isinstance(name, str) or not name:
        raise SchemaError(f"{what}: expected a non-empty str as its name, got {shown(name)}; rename it")
    return str.__str__(name)


def _column(table: NamedColumns, target: str) -> FrameCells:
    if target not in table.columns:
        raise SchemaError(
            f"the frame has no column {shown(target)} for the target, only {shown([*table.columns])}"
        )
    return table.columns[target]
