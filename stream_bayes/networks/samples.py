"""Rows of a data frame, or of dicts, as a sample that structures are searched over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from stream_bayes.core.search.sample import Sample
from stream_bayes.core.values._weights import read_weight
from stream_bayes.core.values.inputs import WHOLE, may_be_name
from stream_bayes.core.values.values import Value, canonical, shown
from stream_bayes.data.columns import CodedColumns
from stream_bayes.data.frame_columns import factorise
from stream_bayes.data.frames import Native, labels_of, read_table
from stream_bayes.errors import BadWeight, SchemaError

__all__ = ["sample_of"]


def sample_of(rows: Native, weights: Native = None) -> Sample:
    """Make a sample of rows, with each value as a category, whole numbers included.

    Parameters
    ----------
    rows
        A data frame (pandas, polars, ...), columns of values by name, a list of dicts, or `CodedColumns`. None and NaN
        are missing.
    weights
        The weight of each row; 1 if not given.

    Raises
    ------
    SchemaError
        If `rows` is not a table, or has other numbers than whole ones, which are measurements.

    Examples
    --------
    >>> from stream_bayes.networks import HillClimbing, sample_of
    >>> rows = {"rain": [0, 1] * 50, "wet": ["no", "yes"] * 50, "day": ["sun", "sun", "mon", "mon"] * 25}
    >>> HillClimbing().search(sample_of(rows)).structure
    Structure({'day': (), 'rain': (), 'wet': ('rain',)})
    """
    if isinstance(rows, CodedColumns):
        if rows.numeric_names:
            raise SchemaError(
                f"numbers are not searched over, but {shown(rows.numeric_names)} hold some; declare their cuts, or "
                "leave them out"
            )
        columns: Mapping[Any, Any] = {name: rows.codes[:, k] for k, name in enumerate(rows.names)}
        sizes: dict[Any, int] = {
            name: len(values) for name, values in zip(rows.names, rows.vocabularies, strict=True)
        }
    else:
        table = read_table(rows)
        coded: dict[Any, Any] = {
            name: factorise(cells, (), partial(canonical, feature=name))
            for name, cells in table.columns.items()
        }
        for name, (_, values) in coded.items():
            _refuse_measurements(name, values)
        columns = {name: codes for name, (codes, _) in coded.items()}
        sizes = {name: len(values) for name, (_, values) in coded.items()}
    row_weights = None if weights is None else [read_weight(one) for one in labels_of(weights, "weights")]
    count = len(next(iter(columns.values()))) if columns else 0
    if row_weights is not None and len(row_weights) != count:
        raise BadWeight(f"{count} rows, but {len(row_weights)} weights")
    return Sample(columns, {name: max(size, 1) for name, size in sizes.items()}, row_weights)


def _refuse_measurements(name: Value, values: Iterable[Value]) -> None:
    """Raise `SchemaError` for numbers that are not whole: each would be a category of its own."""
    number = next((value for value in values if not may_be_name(value, WHOLE)), None)
    if number is not None:
        raise SchemaError(
            f"column {shown(name)}: expected categories, got the number {shown(number)}; put measurements into bins "
            "first, as pandas.qcut(column, 5).astype(str) does, or leave the column out"
        )
