"""The columns of a scikit-learn input as codes: arrays, lists of rows, data frames and sparse matrices.

The first batch decides which columns are nominal, and which hold dates; later batches are read in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.values.values import Value, canonical, shown
from stream_bayes.data.codes import WHOLE, Code, common_width
from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.columns import CodedColumns, Codes, SparseCounts
from stream_bayes.data.declarations import ColumnDeclaration, expanded
from stream_bayes.data.features import Nominal, Numeric, Spec
from stream_bayes.data.frame_columns import FrameCells, factorise, numbers, python_values, value_types
from stream_bayes.data.frame_dates import temporal_kind
from stream_bayes.data.frames import Native, read_table
from stream_bayes.errors import BadValue

__all__ = ["FROM_DTYPE", "Categorical", "ColumnKinds"]

FROM_DTYPE = "from_dtype"
BLOCK_ROWS = 1 << 12  # rows that stay in the processor's cache
MOST_SMALL = 1024  # whole numbers below this are their own codes
MOST_EMPTY = 4  # a table for the range of whole numbers may have this number of places for each row

# "from_dtype", "all", None for none, or names, positions or a mask of the nominal columns.
Categorical: TypeAlias = "str | Sequence[str] | Sequence[int] | Sequence[bool] | NDArray[Any] | None"
FrameColumn: TypeAlias = "FrameCells | NDArray[Any]"


@dataclass(frozen=True)
class ColumnKinds:
    """The columns of an input, the features that they become, and which of these are nominal.

    Examples
    --------
    >>> rows = np.array([["grey", 1.5], ["blue", 2.0]], dtype=object)
    >>> columns = ColumnKinds.of(rows, ("sky", "wind"))
    >>> columns.nominal
    (True, False)
    >>> batch = columns.encode(rows)
    >>> batch.codes.tolist(), batch.vocabularies, batch.numeric.tolist()
    ([[0], [1]], (('grey', 'blue'),), [[1.5], [2.0]])
    """

    names: tuple[str, ...]  # of each feature
    nominal: tuple[bool, ...]  # True for each nominal feature
    # The kind by which each column of dates, times or durations is read; None for a column that is a feature as it is.
    # Empty if all are.
    kinds: tuple[ColumnKind | None, ...] = ()
    # How the names of a nominal feature were written: numbers, or texts with the width of their digits; a later batch
    # may have texts in place of numbers, or numbers in place of texts, as CSV files that pandas reads.
    written: tuple[Code | type[int] | None, ...] = ()

    @classmethod
    def of(cls, X: Native, names: tuple[str, ...], categorical: Categorical = FROM_DTYPE) -> ColumnKinds:
        """Return the columns of a first batch."""
        columns = _columns_of(X)
        kinds = tuple(None if isinstance(column, np.ndarray) else temporal_kind(column) for column in columns)
        if isinstance(categorical, str) and categorical == FROM_DTYPE:
            nominal = tuple(
                kind is None and _is_nominal(name, column)
                for name, column, kind in zip(names, columns, kinds, strict=True)
            )
        else:
            nominal = _chosen(categorical, names)
        if not any(kinds):
            written = (
                _written(name, column) if is_name else None
                for name, column, is_name in zip(names, columns, nominal, strict=True)
            )
            return cls(names, nominal, written=tuple(written))
        specs: list[ColumnDeclaration] = [Nominal() if is_nominal else Numeric() for is_nominal in nominal]
        columns_read = dict(
            zip(names, (kind or spec for kind, spec in zip(kinds, specs, strict=True)), strict=True)
        )
        made, _ = expanded(columns_read)
        features = {feature: spec for name in names for feature, spec in made[name].items()}
        made_of = cls(tuple(features), tuple(isinstance(spec, Nominal) for spec in features.values()), kinds)
        each = zip(features, made_of._features_of(X), made_of.nominal, strict=True)
        written = (_written(name, column) if is_name else None for name, column, is_name in each)
        return replace(made_of, written=tuple(written))

    @property
    def features(self) -> dict[str, Spec]:
        """Each column as a feature of a schema."""
        return {
            name: Nominal() if is_nominal else Numeric()
            for name, is_nominal in zip(self.names, self.nominal, strict=True)
        }

    def encode(self, X: Native, classes: tuple[Value, ...] = (), labels: Codes | None = None) -> Any:
        """Return a batch as codes, with the codes of its labels if there are some."""
        if _is_sparse(X):
            return SparseCounts(self.names, X.tocsr(), labels, classes)
        are_numbers = all(each is None or each is int for each in self.written)
        if all(self.nominal) and are_numbers and (small := _small_codes(X)) is not None:
            whole = tuple(tuple(range(high + 1)) for high in small.max(axis=0, initial=-1).tolist())
            return CodedColumns(self.names, small, whole, (), np.empty((len(small), 0)), labels, classes)
        vocabularies: list[tuple[Value, ...]] = []
        rows = X.shape[0]
        codes = np.empty((rows, sum(self.nominal)), np.int32)
        measured = np.empty((rows, len(self.names) - sum(self.nominal)), np.float64)
        if isinstance(X, np.ndarray) and X.dtype.kind in "fiu" and not any(self.nominal):
            measured[:] = X
        else:
            numeric = 0
            written = self.written or (None,) * len(self.names)
            each = zip(self.names, self.nominal, written, self._features_of(X), strict=True)
            for name, is_nominal, as_written, column in each:
                if is_nominal:
                    column = _as_written(name, column, as_written)
                    codes[:, len(vocabularies)], vocabulary = _coded(name, column)
                    vocabularies.append(vocabulary)
                else:
                    measured[:, numeric] = _measured(name, column)
                    numeric += 1
        return CodedColumns(
            tuple(name for name, is_nominal in zip(self.names, self.nominal, strict=True) if is_nominal),
            codes,
            tuple(vocabularies),
            tuple(name for name, is_nominal in zip(self.names, self.nominal, strict=True) if not is_nominal),
            measured,
            labels,
            classes,
        )

    def _features_of(self, X: Native) -> Iterator[FrameColumn]:
        """Yield the column of each feature."""
        for position, (column, kind) in enumerate(
            zip(_columns_of(X), self.kinds or (None,) * len(self.names), strict=True)
        ):
            if kind is None:
                yield column
                continue
            values = column.tolist() if isinstance(column, np.ndarray) else python_values(column)
            rows = [_read(position, kind, value) for value in values]
            yield from map(list, zip(*rows, strict=True)) if rows else ([] for _ in kind.features(""))


def _read(position: int, kind: ColumnKind, value: object) -> tuple[Value | None, ...]:
    """Return the features of a value, by the kind that its column had in the first batch."""
    if value is None:
        return (None,) * len(kind.features(""))
    try:
        return kind.read(value)
    except ValueError as error:
        raise BadValue(
            f"column {position}: expected {error}, as in the first batch, got {shown(value)}"
        ) from None


def _is_sparse(X: Native) -> bool:
    return hasattr(X, "tocsr")


def _columns_of(X: Native) -> Sequence[FrameColumn]:
    if isinstance(X, np.ndarray):
        if X.dtype.kind in "fiu":
            return list(X.T)
        return [column.tolist() for column in X.T]
    if _is_sparse(X):
        return [np.empty(0)] * int(X.shape[1])  # counts
    return list(read_table(X).columns.values())


def _is_nominal(name: str, column: FrameColumn) -> bool:
    """Return True for a column of names, False for one of numbers."""
    if isinstance(column, np.ndarray):
        return False
    if isinstance(column, nw.Series):
        kind = column.dtype
        if kind.is_integer() or kind.is_float():
            return False
        if isinstance(kind, (nw.String, nw.Boolean, nw.Categorical, nw.Enum)):
            return True
    types = value_types(column, name)
    if types & {int, float} and types - {int, float}:
        type_names = ", ".join(sorted(kind.__name__ for kind in types))
        raise BadValue(
            f"column {shown(name)} holds both numbers and names ({type_names}); name it in categorical_features, or "
            "convert it to one kind"
        )
    return not types & {int, float}


def _chosen(categorical: Categorical, names: tuple[str, ...]) -> tuple[bool, ...]:
    """Return a mask of the columns that `categorical_features` names."""
    if categorical is None:
        return (False,) * len(names)
    if isinstance(categorical, str):
        if categorical == "all":
            return (True,) * len(names)
        raise BadValue(
            f'categorical_features: expected "{FROM_DTYPE}", "all", None, or names, positions or a mask of '
            f"columns, got {categorical!r}"
        )
    given = np.asarray(categorical)
    if given.dtype.kind == "b":
        if given.shape != (len(names),):
            raise BadValue(
                f"categorical_features: expected a mask of {len(names)} columns, got {given.shape}"
            )
        return tuple(given.tolist())
    chosen = set(given.tolist())
    possible: set[Any] = set(range(len(names))) if given.dtype.kind in "iu" else set(names)
    if chosen - possible:
        raise BadValue(
            f"categorical_features: there is no column {shown(min(chosen - possible, key=str))}; expected "
            f"names or positions of {shown(names)}"
        )
    return tuple(column in chosen or name in chosen for column, name in enumerate(names))


def _small_codes(X: Native) -> Codes | None:
    """Return an array of small whole numbers as codes, as `OrdinalEncoder` makes them; None for anything else."""
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "fiu":
        return None
    codes = np.empty(X.shape, np.int32)
    with np.errstate(invalid="ignore"):  # NaN is not an int
        for start in range(0, len(X), BLOCK_ROWS):
            block, given = codes[start : start + BLOCK_ROWS], X[start : start + BLOCK_ROWS]
            block[...] = given
            differs = block != given
            if differs.any():
                is_missing = np.isnan(given) if X.dtype.kind == "f" else np.zeros(given.shape, bool)
                if (differs & ~is_missing).any():
                    return None
                block[is_missing] = -1
                if (block[~is_missing] < 0).any():
                    return None
            elif block.min(initial=0) < 0:
                return None
            if block.max(initial=0) >= MOST_SMALL:
                return None
    return codes


def _written(name: str, column: FrameColumn) -> Code | type[int] | None:
    """Return how the names in a column are written: as numbers, as texts, or otherwise, such as true and false."""
    if _has_numbers(name, column):
        return int
    texts = (
        [value for value in python_values(column) if isinstance(value, str)]
        if not isinstance(column, np.ndarray)
        else []
    )
    return Code(common_width(texts)) if texts else None


def _has_numbers(name: str, column: FrameColumn) -> bool:
    if isinstance(column, np.ndarray):
        return True
    if isinstance(column, nw.Series) and (column.dtype.is_integer() or column.dtype.is_float()):
        return True
    types = value_types(column, name)
    return bool(types) and types <= {int, float}


def _as_written(name: str, column: FrameColumn, written: Code | type[int] | None) -> FrameColumn:
    """Return a column of names as those of the first batch were written: `7` and `"7"` are the same name."""
    if written is None or _has_numbers(name, column) is (written is int):
        return column
    values = column.tolist() if isinstance(column, np.ndarray) else python_values(column)
    if written is int:
        return [
            int(match[1]) if isinstance(v, str) and (match := WHOLE.fullmatch(v.strip())) else v
            for v in values
        ]
    assert isinstance(written, Code)
    return [
        written.read(v)[0]
        if isinstance(v, (int, float)) and v == v and v is not True and v is not False
        else v
        for v in values
    ]


def _coded(name: str, column: FrameColumn) -> tuple[Codes, tuple[Value, ...]]:
    """Return the codes of a nominal column, -1 if missing, and the value of each code."""
    if isinstance(column, nw.Series) and (column.dtype.is_integer() or column.dtype.is_float()):
        column = np.array(column.to_numpy())
    if isinstance(column, np.ndarray):
        return _coded_numbers(name, column)
    return factorise(column, (), partial(canonical, feature=name))


def _coded_numbers(name: str, column: NDArray[Any]) -> tuple[Codes, tuple[Value, ...]]:
    """Return the codes of numbers that are names. Whole numbers in a small range need no sort."""
    is_missing = np.isnan(column) if column.dtype.kind == "f" else None
    if is_missing is not None and is_missing.any():
        codes = np.full(len(column), -1, np.int32)
        codes[~is_missing], vocabulary = _coded_numbers(name, column[~is_missing])
        return codes, vocabulary
    if not len(column):
        return np.empty(0, np.int32), ()
    low, high = column.min(), column.max()
    if high - low <= MOST_EMPTY * len(column) + 256:
        offsets = (column - low).astype(np.int32)
        if column.dtype.kind != "f" or (((offsets + low) == column).all() and float(low).is_integer()):
            is_present = np.bincount(offsets) > 0
            code_of = np.cumsum(is_present, dtype=np.int32) - 1
            return code_of[offsets], tuple((np.flatnonzero(is_present) + int(low)).tolist())
    values, row_codes = np.unique(column, return_inverse=True)
    convert: Callable[[object], Value] = partial(canonical, feature=name)
    return row_codes.astype(np.int32), tuple(convert(value) for value in values.tolist())


def _measured(name: str, column: FrameColumn) -> NDArray[np.float64]:
    if isinstance(column, np.ndarray):
        return column.astype(np.float64, copy=False)
    return numbers(column, name)
