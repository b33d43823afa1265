"""What is known of the features and classes before the first event, and frames coded by it."""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Literal, NoReturn, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from stream_bayes.core.values import (
    JSONValue,
    Value,
    canonical,
    canonical_label,
    shown,
    tagged_many,
    untagged_many,
)
from stream_bayes.errors import BadLabel, BadState, BadValue, SchemaError, UnknownFeature
from stream_bayes.frames import Cells, Native, Table, factorise, labels_of, numbers, read_table, value_types

__all__ = ["CodedColumns", "Nominal", "Numeric", "Schema"]

Codes: TypeAlias = npt.NDArray[np.int32]
Vocabulary: TypeAlias = tuple[Value, ...]
Unknown: TypeAlias = Literal["ignore", "refuse"]


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Nominal:
    """A feature whose values are names: equal or not, and nothing between.

    Parameters
    ----------
    values
        The values known beforehand. They keep this order, and count as values even without a sample.
    max_values
        A bound on memory: past so many values, new ones share one code.
    closed
        Whether a value outside `values` is refused at learning. If not, it is a new value like any other.

    Examples
    --------
    >>> Nominal(["red", "green"], closed=True)
    Nominal(('red', 'green'), closed=True)
    """

    values: Vocabulary | None
    max_values: int | None
    closed: bool

    def __init__(
        self, values: Sequence[Value] | None = None, max_values: int | None = None, closed: bool = False
    ) -> None:
        declared = None if values is None else _declared("values", values, canonical)
        limit = None if max_values is None else _limit(max_values)
        if declared is not None and limit is not None and limit < len(declared):
            raise SchemaError(f"max_values={limit} is less than the {len(declared)} values declared")
        if type(closed) is not bool:
            raise SchemaError(f"closed: expected True or False, got {shown(closed)}")
        if closed and declared is None:
            raise SchemaError("closed=True needs values: without them every value would be refused")
        object.__setattr__(self, "values", declared)
        object.__setattr__(self, "max_values", limit)
        object.__setattr__(self, "closed", closed)

    def __eq__(self, other: object) -> bool:
        # By type too: 1 and True are the same in a table of counts, but not in what is reported.
        return _spec_json(self) == _spec_json(other) if isinstance(other, Nominal) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.values, self.max_values, self.closed))

    def __repr__(self) -> str:
        parts = [] if self.values is None else [repr(self.values)]
        parts += [] if self.max_values is None else [f"max_values={self.max_values}"]
        parts += ["closed=True"] if self.closed else []
        return f"Nominal({', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class Numeric:
    """A feature whose values are numbers, int or float. A bool is refused.

    Examples
    --------
    >>> Numeric()
    Numeric()
    """


Spec: TypeAlias = Nominal | Numeric


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumns:
    """A batch of rows as arrays of codes, with the vocabularies that say what the codes mean.

    A vocabulary may hold values that no row has. Codes are of this batch alone: who learns from it maps each
    vocabulary to its own codes, by value.

    Parameters
    ----------
    names
        The nominal columns.
    codes
        int32, rows by nominal columns, C-contiguous; -1 is missing.
    vocabularies
        Per nominal column, the value of each code.
    numeric_names
        The numeric columns.
    numeric
        float64, rows by numeric columns, C-contiguous; NaN is missing.
    labels
        int32, a code into `classes` per row; None if the batch has no labels.
    classes
        The label of each code.

    Raises
    ------
    SchemaError
        If a dtype, a shape or a code does not fit. What is read from these arrays need not be checked again.

    Examples
    --------
    >>> batch = Schema({"colour": ["red", "green"], "size": Numeric()}).encode(
    ...     [{"colour": "green", "size": 2.5, "class": "ripe"}, {"colour": "red", "class": "raw"}]
    ... )
    >>> batch.codes.tolist(), batch.vocabularies, batch.labels.tolist(), batch.classes
    ([[1], [0]], (('red', 'green'),), [0, 1], ('ripe', 'raw'))
    >>> batch.to_dicts()
    [{'colour': 'green', 'size': 2.5}, {'colour': 'red'}]
    """

    names: tuple[str, ...]
    codes: Codes
    vocabularies: tuple[Vocabulary, ...]
    numeric_names: tuple[str, ...]
    numeric: npt.NDArray[np.float64]
    labels: Codes | None
    classes: Vocabulary

    def __post_init__(self) -> None:
        rows = len(self.codes)
        _check_array("codes", self.codes, np.dtype(np.int32), (rows, len(self.names)))
        _check_array("numeric", self.numeric, np.dtype(np.float64), (rows, len(self.numeric_names)))
        every_name = (*self.names, *self.numeric_names)
        if len(set(every_name)) < len(every_name):
            raise SchemaError(f"two columns have the same name: {shown(every_name)}")
        if len(self.vocabularies) != len(self.names):
            raise SchemaError(f"{len(self.names)} nominal columns, but {len(self.vocabularies)} vocabularies")
        for name, column, vocabulary in zip(self.names, self.codes.T, self.vocabularies, strict=True):
            _check_vocabulary(f"column {shown(name)}", vocabulary)
            _check_codes(f"column {shown(name)}", column, -1, len(vocabulary))
        _check_vocabulary("classes", self.classes)
        if self.labels is not None:
            _check_array("labels", self.labels, np.dtype(np.int32), (rows,))
            _check_codes("labels", self.labels, 0, len(self.classes))
        if np.isinf(self.numeric).any():
            raise SchemaError("numeric: expected finite numbers, or NaN where missing, got an infinite one")

    def __len__(self) -> int:
        return len(self.codes)

    def rows(self, start: int, stop: int) -> CodedColumns:
        """The rows from `start` up to `stop`, as views of the same arrays with the same vocabularies."""
        part = object.__new__(
            CodedColumns
        )  # a slice of checked columns needs no check, and should cost nothing
        for field in ("names", "vocabularies", "numeric_names", "classes"):
            object.__setattr__(part, field, getattr(self, field))
        object.__setattr__(part, "codes", self.codes[start:stop])
        object.__setattr__(part, "numeric", self.numeric[start:stop])
        object.__setattr__(part, "labels", None if self.labels is None else self.labels[start:stop])
        return part

    def to_dicts(self) -> list[dict[str, Value]]:
        """Each row as a dict, with what is missing left out."""
        rows: list[dict[str, Value]] = []
        for codes, numeric in zip(self.codes.tolist(), self.numeric.tolist(), strict=True):
            nominal = zip(self.names, self.vocabularies, codes, strict=True)
            row: dict[str, Value] = {name: values[code] for name, values, code in nominal if code >= 0}
            row.update((name, x) for name, x in zip(self.numeric_names, numeric, strict=True) if x == x)
            rows.append(row)
        return rows

    def label_values(self) -> list[Value]:
        """The label of each row.

        Raises
        ------
        BadLabel
            If the batch has no labels.
        """
        if self.labels is None:
            raise BadLabel("a label is needed for each row, but this batch was coded without a target column")
        return [self.classes[code] for code in self.labels.tolist()]


class Schema:
    """The features, the classes, and what to do with features that are neither. Immutable.

    Equal schemas have equal fingerprints and pickles, in every process.

    Parameters
    ----------
    features
        Each feature's `Nominal` or `Numeric`; a list or tuple is short for `Nominal(values)`. Order is kept.
    classes
        All classes, if they are known. Any other label is then refused.
    target
        The class variable's name, and that of the labels' column in a frame.
    unknown
        Whether features that are not declared are ignored or refused.

    Raises
    ------
    SchemaError
        If the declaration contradicts itself.

    Examples
    --------
    >>> Schema({"colour": ["red", "green"], "size": Numeric()}, classes=["ripe", "raw"])
    Schema({'colour': Nominal(('red', 'green')), 'size': Numeric()}, classes=('ripe', 'raw'))
    """

    features: Mapping[str, Spec]
    classes: Vocabulary | None
    target: str
    unknown: Unknown

    def __init__(
        self,
        features: Mapping[str, Spec | Sequence[Value]],
        classes: Sequence[Value] | None = None,
        target: str = "class",
        unknown: Unknown = "ignore",
    ) -> None:
        if not isinstance(features, Mapping):
            raise SchemaError(f"features: expected a mapping from names, got {type(features).__name__}")
        if unknown not in ("ignore", "refuse"):
            raise SchemaError(f"unknown: expected 'ignore' or 'refuse', got {shown(unknown)}")
        specs = {_name("feature", name): _spec(name, spec) for name, spec in features.items()}
        target = _name("target", target)
        if target in specs:
            raise SchemaError(
                f"{shown(target)} is the target's name and a feature's; give target another name"
            )
        labels = None if classes is None else _declared("classes", classes, canonical_label)
        # Written past __setattr__, which keeps everybody else out.
        self.__dict__.update(
            features=MappingProxyType(specs), classes=labels, target=target, unknown=str.__str__(unknown)
        )

    @classmethod
    def infer(cls, frame: Native, target: str | None = None, max_values: int | None = None) -> Self:
        """The schema that a frame's columns show.

        Columns of str, bool, bytes, tuples or categories are nominal, with the values found in order of
        appearance; int and float are numeric.

        Parameters
        ----------
        frame
            A data frame, a list of dicts, or a mapping from names to sequences.
        target
            The column of labels, whose values become the classes.
        max_values
            For each nominal feature; of more values found, the first so many are declared.

        Raises
        ------
        SchemaError
            If a column has values of both kinds, or none at all.

        Examples
        --------
        >>> Schema.infer({"colour": ["red", "green"], "size": [1, 2.5], "y": [True, False]}, target="y")
        Schema({'colour': Nominal(('red', 'green')), 'size': Numeric()}, classes=(True, False), target='y')
        """
        table = read_table(frame)
        limit = None if max_values is None else _limit(max_values)
        if target is None and "class" in table.columns:
            raise SchemaError("column 'class' has the target's usual name; say target='class', or rename it")
        classes = None
        if target is not None:
            labels = _column(table, target)
            _, classes = factorise(labels, (), canonical_label, BadLabel)
            if not classes:
                raise SchemaError(f"column {shown(target)}, the target, holds no label")
        features = {
            _name("feature", name): _inferred(name, cells, limit)
            for name, cells in table.columns.items()
            if target is None or name != target
        }
        return cls(features, classes, "class" if target is None else target)

    def encode(self, frame: Native, target: str | None = None) -> CodedColumns:
        """A frame's declared columns as codes, for learning.

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
            If this is no frame, or it lacks the target asked for.

        Examples
        --------
        >>> batch = Schema({"colour": Nominal()}).encode({"colour": ["red", None], "class": [True, False]})
        >>> batch.codes.tolist(), batch.vocabularies, batch.label_values()
        ([[0], [-1]], (('red',),), [True, False])
        """
        table = read_table(frame)
        labels, classes = None, self.classes or ()
        if target is not None and target in self.features:
            raise SchemaError(f"{shown(target)} is a feature; it cannot be the target too")
        label_name = self.target if target is None else target
        if target is not None or label_name in table.columns:
            labels, classes = self._coded_labels(_column(table, label_name))
        return self._coded(table, label_name, _refuse_foreign, labels, classes)

    def lookup(self, frame: Native) -> CodedColumns:
        """A frame's declared columns as codes, for predicting: as `encode`, but nothing foreign is refused.

        A value outside a closed feature counts as missing, and labels are not read.

        Examples
        --------
        >>> schema = Schema({"colour": Nominal(["red"], closed=True)})
        >>> schema.lookup([{"colour": "blue"}, {"colour": "red"}]).codes.tolist()
        [[-1], [0]]
        """
        return self._coded(read_table(frame), self.target, _skip_foreign, None, self.classes or ())

    def to_json(self) -> dict[str, JSONValue]:
        """The schema as JSON, from which `from_json` makes an equal one.

        Examples
        --------
        >>> Schema({"size": Numeric()}).to_json()
        {'features': [['size', {'kind': 'numeric'}]], 'classes': None, 'target': 'class', 'unknown': 'ignore'}
        """
        return {
            "features": [[name, _spec_json(spec)] for name, spec in self.features.items()],
            "classes": None if self.classes is None else tagged_many(self.classes),
            "target": self.target,
            "unknown": self.unknown,
        }

    @classmethod
    def from_json(cls, saved: object) -> Self:
        """The schema that `to_json` wrote.

        Raises
        ------
        BadState
            For anything else.

        Examples
        --------
        >>> Schema.from_json(Schema({"size": Numeric()}).to_json())
        Schema({'size': Numeric()})
        """
        features, classes, target, unknown = _fields(saved, "features", "classes", "target", "unknown")
        if type(features) is not list:
            raise BadState(f"a saved schema: expected a list of features, got {shown(features)}")
        pairs = [_saved_feature(feature) for feature in features]
        if len(dict(pairs)) < len(pairs):
            raise BadState("a saved schema: two features have the same name")
        labels = None if classes is None else untagged_many(classes)
        try:
            # The constructor checks the types of both names.
            return cls(dict(pairs), labels, cast("str", target), cast("Unknown", unknown))
        except SchemaError as error:
            raise BadState(f"a saved schema: {error}") from None

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal: the same in every process, for equal schemas only."""
        return hashlib.sha256(self._text.encode("ascii")).hexdigest()

    @cached_property
    def _text(self) -> str:
        return json.dumps(self.to_json(), separators=(",", ":"), ensure_ascii=True)

    def _coded_labels(self, cells: Cells) -> tuple[Codes, Vocabulary]:
        declared = self.classes or ()
        codes, classes = factorise(cells, declared, canonical_label, BadLabel)
        if (codes < 0).any():
            raise BadLabel(f"row {int(np.argmax(codes < 0))}: a label is needed; leave out rows without one")
        if self.classes is not None and len(classes) > len(declared):
            row = int(np.argmax(codes >= len(declared)))
            raise BadLabel(
                f"row {row}: label {shown(classes[codes[row]])} is not among the declared {shown(declared)}"
            )
        return codes, classes

    def _coded(
        self, table: Table, target: str, foreign: ForeignRule, labels: Codes | None, classes: Vocabulary
    ) -> CodedColumns:
        if self.unknown == "refuse":
            for name in table.columns:
                if name != target and name not in self.features:
                    raise UnknownFeature(f"the schema does not declare the feature {shown(name)}")
        present = {name: spec for name, spec in self.features.items() if name in table.columns}
        nominal = {name: spec for name, spec in present.items() if isinstance(spec, Nominal)}
        numeric = [name for name in present if name not in nominal]
        codes = np.empty((table.rows, len(nominal)), np.int32)
        vocabularies: list[Vocabulary] = []
        for column, (name, spec) in enumerate(nominal.items()):
            declared = spec.values or ()
            coded, vocabulary = factorise(table.columns[name], declared, partial(canonical, feature=name))
            if spec.closed and len(vocabulary) > len(declared):
                coded, vocabulary = foreign(name, coded, vocabulary, declared)
            codes[:, column] = coded
            vocabularies.append(vocabulary)
        measured = np.empty((table.rows, len(numeric)), np.float64)
        for column, name in enumerate(numeric):
            measured[:, column] = numbers(table.columns[name], name)
        return CodedColumns(
            tuple(nominal), codes, tuple(vocabularies), tuple(numeric), measured, labels, classes
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Schema is immutable; make another one to change {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Schema is immutable; {name!r} stays")

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Schema) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        parts = [repr(dict(self.features))]
        parts += [] if self.classes is None else [f"classes={self.classes!r}"]
        parts += [] if self.target == "class" else [f"target={self.target!r}"]
        parts += [] if self.unknown == "ignore" else [f"unknown={self.unknown!r}"]
        return f"Schema({', '.join(parts)})"

    def __reduce__(self) -> tuple[Callable[[str], Schema], tuple[str]]:
        # As one string: pickle's bytes for a tree of strings depend on which of them are the same object.
        return _from_text, (self._text,)

    def __copy__(self) -> Schema:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Schema:
        return self


ForeignRule: TypeAlias = Callable[[str, Codes, Vocabulary, Vocabulary], tuple[Codes, Vocabulary]]


def _refuse_foreign(name: str, codes: Codes, found: Vocabulary, declared: Vocabulary) -> NoReturn:
    row = int(np.argmax(codes >= len(declared)))
    raise BadValue(
        f"row {row}: feature {shown(name)} is closed: expected one of {shown(declared)}, "
        f"got {shown(found[codes[row]])}"
    )


def _skip_foreign(
    name: str, codes: Codes, found: Vocabulary, declared: Vocabulary
) -> tuple[Codes, Vocabulary]:
    return np.where(codes < len(declared), codes, np.int32(-1)), declared


def _from_text(text: str) -> Schema:
    return Schema.from_json(json.loads(text))


def _name(what: str, name: object) -> str:
    if not isinstance(name, str) or not name:
        raise SchemaError(f"{what}: expected a non-empty str as its name, got {shown(name)}; rename it")
    return str.__str__(name)


def _spec(name: object, spec: object) -> Spec:
    if isinstance(spec, (Nominal, Numeric)):
        return spec
    if isinstance(spec, (list, tuple)):
        try:
            return Nominal(spec)
        except SchemaError as error:
            raise SchemaError(f"feature {shown(name)}: {error}") from None
    raise SchemaError(
        f"feature {shown(name)}: expected Nominal(...), Numeric() or a list of values, got {shown(spec)}"
    )


def _declared(what: str, given: Sequence[Value], convert: Callable[[object], Value]) -> Vocabulary:
    if isinstance(given, (set, frozenset)):
        raise SchemaError(f"{what}: a set has no order to keep; give a list or tuple")
    try:
        values = tuple([convert(value) for value in labels_of(given)])
    except (BadValue, BadLabel, SchemaError) as error:
        raise SchemaError(f"{what}: {error}") from None
    if not values:
        raise SchemaError(f"{what}: expected at least one; leave it out if none is known")
    seen: set[Value] = set()
    for value in values:
        if value in seen:
            raise SchemaError(f"{what}: {shown(value)} is given twice (True, 1 and 1.0 are one value)")
        seen.add(value)
    return values


def _limit(given: object) -> int:
    try:
        limit = 0 if isinstance(given, bool) else operator.index(given)  # type: ignore[arg-type]  # or raises
    except TypeError:
        limit = 0
    if limit < 1:
        raise SchemaError(f"max_values: expected an int of at least 1, got {shown(given)}")
    return limit


def _inferred(name: object, cells: Cells, limit: int | None) -> Spec:
    types = value_types(cells, name)
    if not types:
        raise SchemaError(f"column {shown(name)} holds no value, so its kind is unknown; declare or drop it")
    numeric = types & {int, float}
    if numeric == types:
        return Numeric()
    if numeric:
        kinds = ", ".join(sorted(kind.__name__ for kind in types))
        raise SchemaError(
            f"column {shown(name)} mixes nominal and numeric values ({kinds}); make them one kind"
        )
    _, values = factorise(cells, (), partial(canonical, feature=name))
    return Nominal(values[:limit], limit)


def _column(table: Table, target: str) -> Cells:
    if target not in table.columns:
        raise SchemaError(
            f"the frame has no column {shown(target)} for the target, only {shown([*table.columns])}"
        )
    return table.columns[target]


def _spec_json(spec: Spec) -> dict[str, JSONValue]:
    if isinstance(spec, Numeric):
        return {"kind": "numeric"}
    return {
        "kind": "nominal",
        "values": None if spec.values is None else tagged_many(spec.values),
        "max_values": spec.max_values,
        "closed": spec.closed,
    }


def _saved_feature(saved: object) -> tuple[str, Spec]:
    if type(saved) is not list or len(saved) != 2 or type(saved[0]) is not str:
        raise BadState(f"a saved schema: expected a feature's name and kind, got {shown(saved)}")
    name, spec = saved
    if spec == {"kind": "numeric"}:
        return name, Numeric()
    kind, values, max_values, closed = _fields(spec, "kind", "values", "max_values", "closed")
    if kind != "nominal":
        raise BadState(f"a saved schema: feature {shown(name)} is of the unknown kind {shown(kind)}")
    known = None if values is None else untagged_many(values)
    try:
        # The constructor checks the types of both.
        return name, Nominal(known, cast("int | None", max_values), cast("bool", closed))
    except SchemaError as error:
        raise BadState(f"a saved schema: feature {shown(name)}: {error}") from None


def _fields(saved: object, *names: str) -> list[object]:
    if type(saved) is not dict or saved.keys() != set(names):
        raise BadState(f"a saved schema: expected an object with {', '.join(names)}, got {shown(saved)}")
    return [saved[name] for name in names]


def _check_array(what: str, array: object, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
        got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise SchemaError(f"{what}: expected a {dtype} array of shape {shape}, got {got}")
    if not array.flags.c_contiguous:
        raise SchemaError(f"{what}: expected a C-contiguous array; use numpy.ascontiguousarray")


def _check_vocabulary(what: str, vocabulary: Vocabulary) -> None:
    try:
        plain = all(type(value) is str or type(canonical(value)) is type(value) for value in vocabulary)
    except BadValue as error:
        raise SchemaError(f"{what}: {error}") from None
    if not plain or type(vocabulary) is not tuple or len(set(vocabulary)) < len(vocabulary):
        raise SchemaError(f"{what}: expected a tuple of plain values, none twice, got {shown(vocabulary)}")


def _check_codes(what: str, codes: Codes, lowest: int, size: int) -> None:
    if codes.size and not (lowest <= codes.min() and codes.max() < size):
        raise SchemaError(
            f"{what}: expected codes from {lowest} to {size - 1}, got {codes.min()} to {codes.max()}"
        )
