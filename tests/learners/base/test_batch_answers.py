"""What many rows are answered with, in kind, and what labels and weights may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from stream_bayes import (
    NaiveBayes,
    Nominal,
    Schema,
)
from tests.learners.base.batch_inputs import (
    FORMS,
    answers,
    same_knowledge,
)


@pytest.mark.parametrize(
    "labels", [[True, False], [1, 2], ["x", "y"], [("a", 1), ("b", 2)], [b"x", 2.5]], ids=str
)
def test_a_pandas_frame_is_answered_with_its_index_and_labels_of_their_types(labels):
    model = NaiveBayes()
    frame = pd.DataFrame({"sky": ["grey", "blue", "grey"]}, index=["p", "q", "r"])
    model.learn_many(frame, [labels[0], labels[1], labels[0]])
    p = model.predict_proba_many(frame)
    assert isinstance(p, pd.DataFrame)
    assert list(p.index) == ["p", "q", "r"]
    assert [type(label) for label in p.columns.tolist()] == [type(label) for label in labels]
    assert p.columns.tolist() == labels
    predicted = model.predict_many(frame)
    assert isinstance(predicted, pd.Series)
    assert list(predicted.index) == ["p", "q", "r"]
    assert predicted.tolist() == [labels[0], labels[1], labels[0]]


def test_a_polars_frame_is_answered_in_polars():
    model, frame = NaiveBayes(), pl.DataFrame({"sky": ["grey", "blue"]})
    model.learn_many(frame, pl.Series(["rain", "sun"]))
    p = model.predict_proba_many(frame)
    assert isinstance(p, pl.DataFrame)
    assert p.columns == ["rain", "sun"]
    assert p.sum_horizontal().to_list() == pytest.approx([1.0, 1.0])
    predicted = model.predict_many(frame)
    assert isinstance(predicted, pl.Series)
    assert predicted.to_list() == ["rain", "sun"]


def test_lists_and_coded_columns_are_answered_in_kind():
    model, rows = NaiveBayes(schema=Schema({"sky": Nominal()})), [{"sky": "grey"}, {"sky": "blue"}]
    coded = Schema({"sky": Nominal()}).encode(
        [{**x, "class": y} for x, y in zip(rows, ["rain", "sun"], strict=True)]
    )
    model.learn_many(coded)  # with the labels it was coded with
    assert model.predict_many(rows) == model.predict_many(coded) == ["rain", "sun"]
    assert isinstance(model.predict_proba_many(rows), list)
    answer = model.predict_proba_many(coded)
    assert answer.labels == ("rain", "sun")
    assert answer.values.dtype == np.float64
    assert answer.values.sum(axis=1) == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("form", ["pandas", "polars", "dicts", "coded"])
def test_before_any_learning_many_rows_have_no_answer(form):
    rows = [{"sky": "grey"}, {"sky": "blue"}]
    given, model = FORMS[form](rows, ["sky"]), NaiveBayes()
    predicted = model.predict_many(given)
    assert list(predicted) == [None, None]
    p = model.predict_proba_many(given)
    if form == "pandas":
        assert p.shape == (2, 0)
    elif form == "dicts":
        assert p == [{}, {}]
    elif form == "coded":
        assert (p.labels, p.values.shape) == ((), (2, 0))
    else:
        assert p.columns == []


@pytest.mark.parametrize("form", ["pandas", "polars", "dicts", "coded"])
def test_no_rows_teach_nothing_and_have_no_answers(form):
    model = NaiveBayes()
    model.learn_one({"sky": "grey"}, "rain")
    before = model.state()["checksum"]
    given: Any = [] if form == "dicts" else FORMS[form]([{"sky": "grey"}], ["sky"])
    if form == "coded":
        given = given.rows(0, 0)
    elif form != "dicts":
        given = given.head(0)
    model.learn_many(given, [])
    assert model.state()["checksum"] == before
    assert list(model.predict_many(given)) == []
    assert len(answers(model.predict_proba_many(given), 0)) == 0


def test_a_tie_goes_to_the_first_by_name_for_many_as_for_one():
    model = NaiveBayes()
    for y in ("b", 10, "a", 2):
        model.learn_one({}, y)
    assert model.predict_many([{}, {}]) == [2, 2]
    assert model.predict_many(pd.DataFrame({"x": [1.0]})).tolist() == [2]


def test_labels_may_be_a_series_an_array_or_a_list():
    for labels in (
        pd.Series(["x", "y"]),
        pl.Series(["x", "y"]),
        np.array(["x", "y"]),
        ["x", "y"],
        ("x", "y"),
    ):
        model = NaiveBayes()
        model.learn_many(pd.DataFrame({"sky": ["grey", "blue"]}), labels)
        assert model.classes_ == ("x", "y")
        assert all(type(label) is str for label in model.classes_)


@pytest.mark.parametrize(
    "w",
    [2, 2.0, np.float64(2), np.int64(2), np.float32(2), [2, 2], np.array([2, 2]), pd.Series([2.0, 2.0])],
    ids=lambda w: type(w).__name__,
)
def test_weights_may_be_one_for_all_or_one_each(w):
    for rows in ([{"sky": "grey"}, {"sky": "grey"}], pd.DataFrame({"sky": ["grey", "grey"]})):
        model = NaiveBayes()
        model.learn_many(rows, ["x", "x"], w)
        assert model.store.by_name()["x",] == 4.0


@pytest.mark.parametrize("form", ["pandas", "dicts", "polars"])
def test_rows_of_weight_0_name_nothing_as_one_at_a_time(form):
    rows = [{"sky": "grey"}, {"sky": "blue"}, {"sky": "red"}]
    many, one = NaiveBayes(max_values=2), NaiveBayes(max_values=2)
    many.learn_many(FORMS[form](rows, ["sky"]), ["w", "x", "y"], [0, 1, 1])
    for x, y, w in zip(rows, "wxy", [0, 1, 1], strict=True):
        one.learn_one(x, y, w=w)
    same_knowledge(many, one)
    assert many.store.encoder.labels.values == ["x", "y"]
