"""Columns of a frame that hold dates, times or durations by their own types."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

import narwhals as nw

from stream_bayes.data.amounts import Amount
from stream_bayes.data.column_kind import ColumnKind
from stream_bayes.data.dates import Date
from stream_bayes.data.frame_columns import FrameCells, python_values

__all__ = ["temporal_kind"]

DATE_PARTS = ("date", "month", "day", "weekday")


def temporal_kind(cells: FrameCells) -> ColumnKind | None:
    """Return the kind of a column of dates, times or durations; None for any other column, and for an empty one.

    Dates without a time of day get no hour, and times alone get only that. Durations are in seconds.

    Examples
    --------
    >>> temporal_kind([date(2021, 3, 4), None]).parts, temporal_kind([time(12, 30)]).parts
    (('date', 'month', 'day', 'weekday'), ('hour',))
    >>> temporal_kind([timedelta(minutes=2)])
    Amount(units=('s',), decimal='.', cuts=None)
    >>> temporal_kind(["2021-03-04"])  # a text by its type
    """
    if isinstance(cells, nw.Series) and not _may_be_temporal(cells.dtype):
        return None
    values = [value for value in python_values(cells) if value is not None]
    if values and all(isinstance(value, timedelta) for value in values):
        return Amount(["s"])
    if not values or not all(isinstance(value, (date, time)) for value in values):
        return None
    if all(isinstance(value, time) for value in values):
        return Date(parts=["hour"])
    has_hours = any(
        isinstance(value, time) or (isinstance(value, datetime) and value.time() != time())
        for value in values
    )
    return Date(parts=[*DATE_PARTS, *["hour"] * has_hours])


def _may_be_temporal(kind: nw.dtypes.DType) -> bool:
    """Return True for a type of dates, times or durations, and for one of Python's objects."""
    return kind.is_temporal() or isinstance(kind, (nw.Object, nw.Unknown))
