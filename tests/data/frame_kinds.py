"""Frames of each library, and rows and values to put into them."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from stream_bayes.data.schema import Nominal, Numeric, Schema

SCHEMA = Schema(
    {"colour": Nominal(["red", "green"]), "size": Numeric(), "ripe": Nominal(), "note": Nominal()},
    classes=["yes", "no"],
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)  # polars and pyarrow hold no surrogates
floats = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(min_size=1, max_size=4)
scalars = st.one_of(st.text(max_size=3), st.binary(max_size=3), st.booleans(), st.integers(), floats)
values = st.one_of(scalars, st.tuples(scalars, scalars))


def as_mapping(rows):
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


def pandas_frame(rows, **options):
    return pd.DataFrame(as_mapping(rows), **options)


def pandas_python_strings(rows):
    """As pandas keeps strings where pyarrow is not installed."""
    with pd.option_context("mode.string_storage", "python"):
        return pandas_frame(rows)


def pandas_nullable(rows):
    return pandas_frame(rows).convert_dtypes()


def pandas_objects(rows):
    return pandas_frame(rows, dtype=object)


def polars_frame(rows):
    return pl.DataFrame(as_mapping(rows))


def narwhals_frame(rows):
    return nw.from_native(polars_frame(rows))


def pandas_arrow(rows):
    return pandas_frame(rows).convert_dtypes(dtype_backend="pyarrow")


def pyarrow_table(rows):
    return pa.table(as_mapping(rows))


FRAMES = [
    list,
    as_mapping,
    pandas_frame,
    pandas_python_strings,
    pandas_nullable,
    pandas_objects,
    polars_frame,
    narwhals_frame,
    pandas_arrow,
    pyarrow_table,
]
DATA_FRAMES = [kind for kind in FRAMES if kind not in (list, as_mapping)]
any_frame = pytest.mark.parametrize("frame_of", FRAMES)
any_data_frame = pytest.mark.parametrize("frame_of", DATA_FRAMES)


FRUIT: list[dict[str, Any]] = [
    {"colour": "red", "size": 1.5, "count": 3, "ripe": True, "y": "yes"},
    {"colour": "green", "size": None, "count": 4, "ripe": False, "y": "no"},
    {"colour": "red", "size": 2.0, "count": 3, "ripe": True, "y": "yes"},
]
