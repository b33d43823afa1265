"""Coded columns: a batch of rows as codes with its own vocabularies, and encoding a frame into one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from stream_bayes.core.values.values import Value, canonical, canonical_label, shown
from stream_bayes.data.features import DeclaredValues, Nominal, Spec
from stream_bayes.data.frame_columns import FrameCells, factorise, numbers
from stream_bayes.data.frames import NamedColumns
from stream_bayes.errors import BadLabel, BadValue, SchemaError

__all__ = [
    "CodedColumns",
    "Codes",
    "ForeignRule",
    "SparseCounts",
    "code_columns",
    "code_labels",
    "refuse_foreign",
    "skip_foreign",
]

Codes: TypeAlias = npt.NDArray[np.int32]
ForeignRule: TypeAlias = Callable[[str, Codes, DeclaredValues, DeclaredValues], tuple[Codes, DeclaredValues]]


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumns:
    """A batch of rows as arrays of codes, with the vocabularies of the codes.

    A vocabulary may hold values that no row has. Codes are local to this batch: a learner maps each vocabulary to its
    own codes by value.

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
        If a dtype, a shape or a code does not fit; so readers of the arrays need no checks.

    Examples
    --------
    >>> from stream_bayes import Numeric, Schema
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
    vocabularies: tuple[DeclaredValues, ...]
    numeric_names: tuple[str, ...]
    numeric: npt.NDArray[np.float64]
    labels: Codes | None
    classes: DeclaredValues

    def __post_init__(self) -> None:
        rows = len(self.codes)
        _check_array("codes", self.codes, np.dtype(np.int32), (rows, len(self.names)))
        _check_array("numeric", self.numeric, np.dtype(np.float64), (rows, len(self.numeric_names)))
        every_name = (*self.names, *self.numeric_names)
        if len(set(every_name)) < len(every_name):
            raise SchemaError(f"two columns have the same name: {shown(every_name)}")
        if len(self.vocabularies) != len(self.names):
            raise SchemaError(f"{len(self.names)} nominal columns, but {len(self.vocabularies)} vocabularies")
        for name, vocabulary in zip(self.names, self.vocabularies, strict=True):
            _check_vocabulary(f"column {shown(name)}", vocabulary)
        # Over all columns at once: along a column of an array of rows it takes four times as long.
        sizes = np.array(list(map(len, self.vocabularies)), np.int64)
        is_good = (self.codes.min(axis=0, initial=0) >= -1) & (self.codes.max(axis=0, initial=-1) < sizes)
        for column in np.flatnonzero(~is_good)[:1].tolist():
            _check_codes(f"column {shown(self.names[column])}", self.codes[:, column], -1, int(sizes[column]))
        _check_vocabulary("classes", self.classes)
        if self.labels is not None:
            _check_array("labels", self.labels, np.dtype(np.int32), (rows,))
            _check_codes("labels", self.labels, 0, len(self.classes))
        if np.isinf(self.numeric).any():
            raise SchemaError("numeric: expected finite numbers, or NaN where missing, got an infinite one")

    def __len__(self) -> int:
        return len(self.codes)

    def rows(self, start: int, stop: int) -> CodedColumns:
        """Return the rows from `start` up to `stop`, as views of the same arrays with the same vocabularies."""
        return self._taken(slice(start, stop))

    def in_order(self, order: npt.NDArray[np.int64]) -> CodedColumns:
        """Return the rows in another order."""
        return self._taken(order)

    def _taken(self, rows: slice | npt.NDArray[np.int64]) -> CodedColumns:
        # Rows of checked columns need no check, and a slice should cost nothing.
        part = object.__new__(CodedColumns)
        for field in ("names", "vocabularies", "numeric_names", "classes"):
            object.__setattr__(part, field, getattr(self, field))
        object.__setattr__(part, "codes", self.codes[rows])
        object.__setattr__(part, "numeric", self.numeric[rows])
        object.__setattr__(part, "labels", None if self.labels is None else self.labels[rows])
        return part

    def to_dicts(self) -> list[dict[str, Value]]:
        """Return each row as a dict, without missing values."""
        rows: list[dict[str, Value]] = []
        for codes, numeric in zip(self.codes.tolist(), self.numeric.tolist(), strict=True):
            nominal = zip(self.names, self.vocabularies, codes, strict=True)
            row: dict[str, Value] = {name: values[code] for name, values, code in nominal if code >= 0}
            row.update((name, x) for name, x in zip(self.numeric_names, numeric, strict=True) if x == x)
            rows.append(row)
        return rows

    def label_values(self) -> list[Value]:
        """Return the label of each row.

        Raises
        ------
        BadLabel
            If the batch has no labels.
        """
        if self.labels is None:
            raise BadLabel("a label is needed for each row, but this batch was coded without a target column")
        return [self.classes[code] for code in self.labels.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class SparseCounts:
    """A batch of rows as a sparse matrix of counts, for learners of text."""

    names: tuple[str, ...]  # a token for each column
    # a CSR matrix or array of SciPy, rows by tokens
    matrix: Any  # SciPy brings no types
    labels: Codes | None  # this and the next as in `CodedColumns`
    classes: DeclaredValues

    def __post_init__(self) -> None:
        if self.matrix.shape[1] != len(self.names):
            raise SchemaError(f"{self.matrix.shape[1]} columns of counts, but {len(self.names)} names")
        if self.labels is not None:
            _check_array("labels", self.labels, np.dtype(np.int32), (len(self),))
            _check_codes("labels", self.labels, 0, len(self.classes))

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def rows(self, start: int, stop: int) -> SparseCounts:
        """Return the rows from `start` up to `stop`."""
        labels = None if self.labels is None else self.labels[start:stop]
        return SparseCounts(self.names, self.matrix[start:stop], labels, self.classes)

    def in_order(self, order: npt.NDArray[np.int64]) -> SparseCounts:
        """Return the rows in another order."""
        labels = None if self.labels is None else self.labels[order]
        return SparseCounts(self.names, self.matrix[order], labels, self.classes)


def code_labels(cells: FrameCells, classes: DeclaredValues | None) -> tuple[Codes, DeclaredValues]:
    """Return the code of each row's label, and the labels; declared classes come first and exclude others."""
    declared = classes or ()
    codes, vocabulary = factorise(cells, declared, canonical_label, BadLabel)
    if (codes < 0).any():
        raise BadLabel(f"row {int(np.argmax(codes < 0))}: a label is needed; leave out rows without one")
    if classes is not None and len(vocabulary) > len(declared):
        row = int(np.argmax(codes >= len(declared)))
        raise BadLabel(
            f"row {row}: label {shown(vocabulary[codes[row]])} is not among the declared {shown(declared)}"
        )
    return codes, vocabulary


def code_columns(
    table: NamedColumns,
    features: Mapping[str, Spec],
    foreign: ForeignRule,
    labels: Codes | None,
    classes: DeclaredValues,
) -> CodedColumns:
    """Return the declared columns of a table as codes; `foreign` handles values outside a closed feature."""
    present = {name: spec for name, spec in features.items() if name in table.columns}
    nominal = {name: spec for name, spec in present.items() if isinstance(spec, Nominal)}
    numeric = [name for name in present if name not in nominal]
    codes = np.empty((table.rows, len(nominal)), np.int32)
    vocabularies: list[DeclaredValues] = []
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
    return CodedColumns(tuple(nominal), codes, tuple(vocabularies), tuple(numeric), measured, labels, classes)


def refuse_foreign(name: str, codes: Codes, vocabulary: DeclaredValues, declared: DeclaredValues) -> NoReturn:
    """Raise `BadValue` for a value outside a closed feature, naming the row. For learning."""
    row = int(np.argmax(codes >= len(declared)))
    raise BadValue(
        f"row {row}: feature {shown(name)} is closed: expected one of {shown(declared)}, "
        f"got {shown(vocabulary[codes[row]])}"
    )


def skip_foreign(
    name: str, codes: Codes, vocabulary: DeclaredValues, declared: DeclaredValues
) -> tuple[Codes, DeclaredValues]:
    """Count a value outside a closed feature as missing. For predicting."""
    return np.where(codes < len(declared), codes, np.int32(-1)), declared


def _check_array(what: str, array: object, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
        got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise SchemaError(f"{what}: expected a {dtype} array of shape {shape}, got {got}")
    if not array.flags.c_contiguous:
        raise SchemaError(f"{what}: expected a C-contiguous array; use numpy.ascontiguousarray")


def _check_vocabulary(what: str, vocabulary: DeclaredValues) -> None:
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
