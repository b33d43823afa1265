"""Frames of any library: read as columns, and results in the same library.

A *frame* is an eager data frame (pandas, polars, pyarrow and others that narwhals supports), a list of dicts,
or a mapping from names to sequences. Nothing here imports any of these libraries. They are used through narwhals, and
through the frame's own methods for what narwhals lacks (an index, labels that are not strings).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

import narwhals as nw
import numpy as np
import numpy.typing as npt

from stream_bayes.core.values.values import Value, shown
from stream_bayes.data.frame_columns import FrameCells, python_values
from stream_bayes.errors import BadValue, MissingPackage, SchemaError

__all__ = [
    "Library",
    "NamedColumns",
    "Native",
    "events_in",
    "frame_of",
    "is_frame",
    "iter_dicts",
    "labels_of",
    "like_frame",
    "like_series",
    "read_table",
]

Native: TypeAlias = Any  # a frame or series of a library this package does not depend on: no type to name
Library: TypeAlias = Literal["pandas", "polars", "pyarrow"]
LIBRARIES: tuple[Library, ...] = ("pandas", "polars", "pyarrow")
Label = TypeVar("Label", bound=Value)  # since mappings are invariant in their keys


@dataclass(frozen=True, slots=True)
class NamedColumns:
    """The columns of a frame, in its order, under their names as they are (pandas allows any label)."""

    rows: int
    columns: Mapping[Hashable, FrameCells]


def is_frame(obj: object) -> bool:
    """Return True for an eager data frame; False for a list of dicts, a dict or a lazy frame.

    Examples
    --------
    >>> import pandas as pd
    >>> is_frame(pd.DataFrame({"a": [1]})), is_frame({"a": 1}), is_frame(pd.Series([1]))
    (True, False, False)
    """
    return isinstance(obj, nw.DataFrame) or nw.dependencies.is_into_dataframe(obj)


def events_in(rows: Native) -> Iterable[Mapping[Any, Any]]:
    """Return the rows of a frame, or of columns by name, as dicts; anything else is an iterable of dicts already.

    Examples
    --------
    >>> import pandas as pd
    >>> [*events_in(pd.DataFrame({"a": [1.0, None], "b": ["x", "y"]}))], events_in([{"a": 1}])
    ([{'a': 1.0, 'b': 'x'}, {'b': 'y'}], [{'a': 1}])
    """
    return iter_dicts(rows) if is_frame(rows) or isinstance(rows, Mapping) else rows


def iter_dicts(frame: Native) -> Iterator[dict[Hashable, object]]:
    """Yield each row of a frame as a dict of Python values, without missing values.

    Names stay as they are, so a pandas frame whose columns are numbered gives numbered keys.

    Raises
    ------
    SchemaError
        If this is not a frame, or two columns have the same name.

    Examples
    --------
    >>> import pandas as pd
    >>> list(iter_dicts(pd.DataFrame({"colour": ["red", None], 0: [1, 2]})))
    [{'colour': 'red', 0: 1}, {0: 2}]
    """
    table = read_table(frame)
    names = list(table.columns)
    if not names:
        yield from ({} for _ in range(table.rows))
    for row in zip(*map(python_values, table.columns.values()), strict=True):
        yield {name: value for name, value in zip(names, row, strict=True) if value is not None}


def labels_of(labels: Native, called: str = "labels") -> list[object]:
    """Return the labels of a series, array, list or other iterable as Python objects, in order and unchecked.

    `called` names them in errors: labels, values or weights.

    Examples
    --------
    >>> import numpy as np
    >>> labels_of(np.array([True, False]))
    [True, False]
    """
    if isinstance(labels, nw.Series):
        return list(labels.to_list())
    if nw.dependencies.is_into_series(labels):
        return list(nw.from_native(labels, series_only=True).to_list())
    if isinstance(labels, np.ndarray):
        if labels.ndim != 1:
            raise SchemaError(f"expected one dimension of {called}, got an array of shape {labels.shape}")
        return list(labels.tolist())
    if is_frame(labels):
        raise SchemaError(
            f"expected a series, an array or a list of {called}, got a whole frame; give one column"
        )
    if isinstance(labels, (str, bytes, Mapping)) or not isinstance(labels, Iterable):
        raise SchemaError(
            f"expected a series, an array or a list of {called}, got {type(labels).__name__}: {shown(labels)}"
        )
    if hasattr(labels, "to_pylist"):  # an array of pyarrow, whose elements are scalars of its own
        return list(labels.to_pylist())
    return list(labels)


def like_frame(native: Native, columns: Mapping[Label, npt.NDArray[Any]]) -> Native:
    """Return columns as a frame of the same library as another, with as many rows, and its index if it has one.

    Labels name the columns. In pandas they keep their types (River looks up `True` and `False`); polars and
    pyarrow name columns by strings only, so there a label becomes `str(label)`. A list of dicts or a mapping
    is answered by a list of dicts or a dict.

    Raises
    ------
    SchemaError
        If two labels become the same string.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> like_frame(pd.DataFrame({"a": [1, 2]}, index=["x", "y"]), {True: np.array([0.25, 1.0])})
       True
    x  0.25
    y  1.00
    """
    if not is_frame(native):
        if isinstance(native, Mapping):
            return dict(columns)
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]
    native = nw.to_native(native, pass_through=True)
    library = nw.get_native_namespace(native)
    if nw.dependencies.is_pandas_like_dataframe(native):
        # By number first: given as names, tuples would become a pandas MultiIndex.
        frame = library.DataFrame(dict(enumerate(columns.values())), index=native.index)
        frame.columns = library.Index(list(columns), dtype=_pandas_dtype(columns), tupleize_cols=False)
        return frame
    named = {str(label): column for label, column in columns.items()}
    if len(named) < len(columns):
        raise SchemaError(
            f"the labels {shown(list(columns))} are not distinct as column names; use a pandas frame, "
            "or predict row by row"
        )
    if not named:
        return nw.from_native(native, eager_only=True).select([]).to_native()
    return nw.from_dict(named, backend=library).to_native()


def frame_of(columns: Mapping[str, list[Any]], library: Library) -> Native:
    """Return columns as a data frame of a library: `"pandas"`, `"polars"` or `"pyarrow"`.

    Raises
    ------
    MissingPackage
        If the library is not installed.
    BadValue
        If the library is another one.
    SchemaError
        If it has no column for values like these.

    Examples
    --------
    >>> frame_of({"a": ["x", "y"], "b": [1, 2]}, "pandas")
       a  b
    0  x  1
    1  y  2
    """
    if library not in LIBRARIES:
        raise BadValue(f"library: expected one of {', '.join(map(repr, LIBRARIES))}, got {shown(library)}")
    try:
        return nw.from_dict(columns, backend=library).to_native()
    except ModuleNotFoundError as error:
        raise MissingPackage(
            f"to_frame needs {library}, which is not installed: pip install {library}"
        ) from error
    except Exception as error:  # each library raises its own
        raise SchemaError(f"{library} has no columns for values like these: {error}") from error


def like_series(native: Native, values: Sequence[Value | None], name: Hashable = None) -> Native:
    """Return values as a series of the same library as a frame or series, with its index if it has one.

    Each value keeps its type, in a column of Python objects where no other dtype holds them all. For what has
    no series (a list of dicts, a mapping, an array) the values come back as a list.

    Raises
    ------
    SchemaError
        If the library has no series for values like these.

    Examples
    --------
    >>> import pandas as pd
    >>> like_series(pd.DataFrame({"a": [1, 2]}, index=["x", "y"]), [True, False], "spam")
    x     True
    y    False
    Name: spam, dtype: bool
    """
    if not (is_frame(native) or isinstance(native, nw.Series) or nw.dependencies.is_into_series(native)):
        return list(values)
    native = nw.to_native(native, pass_through=True)
    library = nw.get_native_namespace(native)
    if hasattr(native, "index") and hasattr(library, "Index"):
        return library.Series(list(values), index=native.index, name=name, dtype=_pandas_dtype(values))
    column = "" if name is None else str(name)
    types = set(map(type, values)) - {type(None)}
    try:
        if (
            len(types) > 1
            or tuple in types
            or any(type(v) is int and not -(2**63) <= v < 2**63 for v in values)
        ):
            return nw.new_series(column, list(values), nw.Object(), backend=library).to_native()
        return nw.new_series(column, list(values), backend=library).to_native()
    except Exception as error:  # each library raises its own
        raise SchemaError(
            f"{library.__name__} has no series for values like {shown(list(values))}: {error}"
        ) from error


def _pandas_dtype(values: Iterable[Value | None]) -> type | None:
    """Return object where pandas would cast (1 and 2.5 to floats, None to NaN), else its own choice."""
    types = set(map(type, values))
    return None if len(types) == 1 and types <= {str, bool, int, float} else object


def read_table(frame: Native) -> NamedColumns:
    """Return the columns of any frame.

    Raises
    ------
    SchemaError
        If this is not a frame, two columns have the same name, or columns differ in length.

    Examples
    --------
    >>> read_table([{"a": 1}, {"b": "x"}])
    NamedColumns(rows=2, columns={'a': [1, None], 'b': [None, 'x']})
    """
    if is_frame(frame):
        return _frame_table(nw.to_native(frame, pass_through=True))
    if isinstance(frame, Mapping):
        return _mapping_table(frame)
    if isinstance(frame, Sequence) and not isinstance(frame, (str, bytes)):
        return _rows_table(frame)
    hint = "; collect it first" if hasattr(frame, "collect") else ""
    raise SchemaError(
        "expected a data frame, a list of dicts or a mapping from names to sequences, "
        f"got {type(frame).__name__}{hint}"
    )


def _frame_table(native: Native) -> NamedColumns:
    if nw.dependencies.is_pandas_like_dataframe(native):
        _refuse_duplicates(native.columns)
        # One after the other, since narwhals looks columns up by strings only.
        cells = nw.from_native(native, eager_only=True).iter_columns()
        return NamedColumns(len(native), dict(zip(native.columns, cells, strict=True)))
    if nw.dependencies.is_pyarrow_table(native):
        _refuse_duplicates(native.column_names)  # pyarrow allows them, narwhals would refuse without a name
    frame = nw.from_native(native, eager_only=True)
    return NamedColumns(len(frame), {name: frame.get_column(name) for name in frame.columns})


def _refuse_duplicates(names: Iterable[Hashable]) -> None:
    seen: set[Hashable] = set()
    for name in names:
        if name in seen:
            raise SchemaError(f"two columns are named {shown(name)}; rename one")
        seen.add(name)


def _mapping_table(frame: Mapping[Hashable, Native]) -> NamedColumns:
    columns: dict[Hashable, FrameCells] = {}
    for name, cells in frame.items():
        try:
            columns[name] = labels_of(cells, "values")
        except SchemaError as error:
            raise SchemaError(f"column {shown(name)}: {error}; for a single row write [row]") from None
    lengths = {name: len(cells) for name, cells in columns.items()}
    if len(set(lengths.values())) > 1:
        raise SchemaError(f"columns differ in length: {shown(lengths)}")
    return NamedColumns(next(iter(lengths.values()), 0), columns)


def _rows_table(rows: Sequence[Native]) -> NamedColumns:
    names: dict[Hashable, None] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise SchemaError(f"row {number}: expected a dict, got {type(row).__name__}: {shown(row)}")
        names.update(dict.fromkeys(row))
    return NamedColumns(len(rows), {name: [row.get(name) for row in rows] for name in names})
