"""Frames of any library are read alike, and answered in kind."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.data.frames import is_frame, iter_dicts, labels_of, like_frame, like_series, read_table
from stream_bayes.errors import SchemaError
from tests.data.frame_kinds import (
    FRUIT,
    SCHEMA,
    any_data_frame,
    values,
)


def test_only_data_frames_are_frames():
    assert is_frame(pd.DataFrame())
    assert is_frame(pl.DataFrame())
    assert is_frame(nw.from_native(pl.DataFrame()))
    for other in ([{"a": 1}], {"a": [1]}, pd.Series([1]), np.zeros((2, 2)), pl.LazyFrame({"a": [1]}), None):
        assert not is_frame(other)


@pytest.mark.parametrize(
    "frame",
    [
        None,
        5,
        "abc",
        ["abc"],
        [1],
        {"a": 1},
        {"a": "abc"},
        {"a": [1], "b": [1, 2]},
        {"a": np.zeros((2, 2))},
        iter([{"a": 1}]),
    ],
)
def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(SchemaError):
        read_table(frame)


def test_a_lazy_frame_is_refused_with_what_to_do():
    with pytest.raises(SchemaError, match="collect"):
        read_table(pl.LazyFrame({"a": [1]}))


def test_columns_of_one_name_are_refused_by_name():
    with pytest.raises(SchemaError, match="'a'"):
        read_table(pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]))
    with pytest.raises(SchemaError, match="True"):
        read_table(pd.DataFrame([[1, 2]], columns=pd.Index([1, True], dtype=object)))


def test_columns_of_one_name_in_a_pyarrow_table_are_refused_by_name():
    with pytest.raises(SchemaError, match="'a'"):
        read_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))


def test_names_that_are_not_strings_stay_as_they_are():
    frame = pd.DataFrame([[1, "x", True]], columns=[0, ("a", 1), "b"])
    assert list(iter_dicts(frame)) == [{0: 1, ("a", 1): "x", "b": True}]
    assert list(iter_dicts({0: [1]})) == [{0: 1}]
    assert SCHEMA.encode(frame).names == ()


def test_a_pandas_answer_has_the_index_and_labels_of_any_type():
    frame = pd.DataFrame({"a": [1, 2]}, index=["r", "s"])
    cases: list[tuple[list[Any], str]] = [
        ([True, False], "bool"),
        ([3, 1], "int64"),
        ([1, "a"], "object"),
        ([1, 2.5], "object"),
        ([("a", 1)], "object"),
    ]
    for labels, kind in cases:
        answer = like_frame(frame, {label: np.array([0.25, 0.75]) for label in labels})
        assert list(answer.index) == ["r", "s"]
        assert list(answer.columns) == labels
        assert not isinstance(answer.columns, pd.MultiIndex)
        assert [type(label) for label in answer.columns.tolist()] == [type(label) for label in labels]
        assert answer.columns.dtype == kind
        assert answer.to_numpy().tolist() == [[0.25] * len(labels), [0.75] * len(labels)]
    assert like_frame(frame, {True: np.array([0.25, 0.75])})[True].tolist() == [0.25, 0.75]
    assert like_frame(frame, {}).shape == (2, 0)


@any_data_frame
def test_an_answer_is_of_the_library_asked_with(frame_of):
    frame = nw.to_native(frame_of(FRUIT), pass_through=True)
    answer = like_frame(frame, {"yes": np.array([0.1, 0.2, 0.3]), "no": np.array([0.9, 0.8, 0.7])})
    assert type(answer) is type(frame)
    assert next(iter_dicts(answer)) == {"yes": 0.1, "no": 0.9}
    series = like_series(frame, ["yes", None, "no"], "y")
    assert is_frame(frame)
    assert type(series) is type(nw.from_native(frame).get_column("colour").to_native())
    assert [label if isinstance(label, str) else None for label in labels_of(series)] == ["yes", None, "no"]


def test_polars_columns_are_named_by_strings():
    frame = pl.DataFrame({"a": [1]})
    answer = like_frame(frame, {True: np.array([1.0]), 2: np.array([0.5])})
    assert answer.columns == ["True", "2"]
    assert like_frame(frame, {}).shape[1] == 0
    with pytest.raises(SchemaError, match="distinct"):
        like_frame(frame, {1: np.array([1.0]), "1": np.array([0.5])})


def test_rows_and_mappings_are_answered_in_kind():
    columns = {True: np.array([0.25, 1.0])}
    assert like_frame([{"a": 1}, {"a": 2}], columns) == [{True: 0.25}, {True: 1.0}]
    assert list(like_frame({"a": [1, 2]}, columns)) == [True]
    assert like_series([{"a": 1}], ["yes"]) == ["yes"]


@pytest.mark.parametrize("library", [pd, pl])
@given(labels=st.lists(values | st.none(), min_size=1, max_size=4))
def test_labels_survive_a_series_with_their_types(library, labels):
    native = library.DataFrame({"a": range(len(labels))})
    back = labels_of(like_series(native, labels, "y"))
    assert back == labels
    assert [type(label) for label in back] == [type(label) for label in labels]


def test_labels_of_arrays_series_and_lists_are_python_objects():
    arrays = np.array([1, 2]), pa.array([1, 2]), pa.chunked_array([[1], [2]])
    for labels in (*arrays, pd.Series([1, 2]), pl.Series([1, 2]), [1, 2], (1, 2), range(1, 3)):
        back = labels_of(labels)
        assert back == [1, 2]
        assert {type(label) for label in back} == {int}
    for bad in ("ab", {"a": 1}, np.zeros((2, 2)), pd.DataFrame({"a": [1]}), 5):
        with pytest.raises(SchemaError):
            labels_of(bad)
