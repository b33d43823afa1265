"""Of a batch with a fault in it, nothing is left."""

from __future__ import annotations

import pandas as pd
import pytest

from stream_bayes import (
    MultinomialNB,
    NaiveBayes,
    Nominal,
    Schema,
)
from stream_bayes.errors import BadLabel, BadValue, BadWeight, KindChanged, SchemaError, UnknownFeature
from stream_bayes.learners.base import batches
from tests.learners.base.batch_inputs import (
    FORMS,
)

GOOD = pd.DataFrame({"sky": ["grey", "blue", "red"], "heat": [20.0, 21.0, 22.0]})


@pytest.mark.parametrize(
    ("rows", "labels", "weights", "error", "words"),
    [
        (
            [{"sky": "new"}, {"heat": "hot"}, {"sky": "red"}],
            "xyz",
            None,
            KindChanged,
            "row 1.*'heat' is numeric",
        ),
        ([{"sky": "new"}, {"other": [1]}, {"sky": "red"}], "xyz", None, BadValue, "row 1.*'other'"),
        ([{"sky": "new"}, {"heat": float("inf")}, {}], "xyz", None, BadValue, "row 1.*'heat'.*finite"),
        ([{"sky": "new"}, {"heat": 1.0}, {}], ["new", "x", None], None, BadLabel, "row 2.*a label is needed"),
        ([{"sky": "new"}, {"heat": 1.0}, {}], ["new", ["x"], "y"], None, BadLabel, "row 1.*list"),
        ([{"sky": "new"}, 7, {}], "xyz", None, BadValue, "row 1.*dict"),
        ([{"sky": "new"}, {}, {}], "xyz", [1, -1, 1], BadWeight, "-1"),
        ([{"sky": "new"}, {}, {}], "xyz", [1, 1], SchemaError, "3 rows, but 2 weights"),
        ([{"sky": "new"}, {}, {}], "xy", None, SchemaError, "3 rows, but 2 labels"),
        ([{"sky": "new"}], None, None, BadLabel, "a label is needed for each row"),
        (GOOD.assign(heat=["a", "b", "c"]), "xyz", None, (BadValue, KindChanged), "'heat'"),
        (GOOD.assign(heat=[1.0, float("inf"), 2.0]), "xyz", None, BadValue, "row 1.*'heat'.*finite"),
        (GOOD.assign(other=[1, "u", None]), "xyz", None, KindChanged, "'other' holds both"),
        (GOOD.assign(other=["u", [1], "v"]), "xyz", None, BadValue, "row 1.*'other'"),
        (GOOD.assign(sky=[1, 2, 3]), "xyz", None, KindChanged, "'sky'"),
        (GOOD, ["new", None, "x"], None, BadLabel, "row 1.*a label is needed"),
        (GOOD, ["new", "y"], None, SchemaError, "3 rows, but 2 labels"),
        (GOOD, "xyz", [1.0, float("nan"), 1.0], BadWeight, "nan"),
        (GOOD, None, None, BadLabel, "a label is needed for each row"),
        (7, "x", None, (SchemaError, BadValue), "data frame|list of dicts"),
    ],
)
def test_a_bad_row_in_the_middle_leaves_nothing_of_any(rows, labels, weights, error, words):
    model = NaiveBayes()
    model.learn_one({"sky": "grey", "heat": 20.0}, "x")
    before, memory = model.state()["checksum"], model.memory_bytes
    ys = list(labels) if isinstance(labels, str) else labels
    for act in (model.learn_many, model.predict_learn_many):
        with pytest.raises(error, match=f"(?s){words}"):
            act(rows, ys, weights)
        assert model.state()["checksum"] == before
        assert model.memory_bytes == memory


@pytest.mark.parametrize("form", ["pandas", "polars", "dicts", "coded"])
def test_what_a_closed_schema_does_not_declare_is_refused_by_row(form):
    schema = Schema({"sky": Nominal(["grey", "blue"], closed=True)}, classes=["x", "y"], unknown="refuse")
    model = NaiveBayes(schema=schema)
    model.learn_one({"sky": "grey"}, "x")
    before = model.state()["checksum"]
    rows = [{"sky": "blue"}, {"sky": "green"}]
    with pytest.raises(BadValue, match=r"row 1.*'sky'.*'green'"):
        model.learn_many(FORMS[form](rows, ["sky"]), ["x", "y"])
    with pytest.raises(BadLabel, match=r"row 1.*'z'"):
        model.learn_many(FORMS[form](rows[:1] * 2, ["sky"]), ["x", "z"])
    with pytest.raises(UnknownFeature, match="'warm'"):
        model.learn_many(FORMS[form]([{"warm": True}, {"warm": False}], ["warm"]), ["x", "y"])
    assert model.state()["checksum"] == before
    assert list(model.predict_many(FORMS[form](rows, ["sky"]))) == [model.predict_one(x) for x in rows]


def test_a_batch_past_the_budget_leaves_nothing_of_itself():
    model = NaiveBayes(memory_budget=4000)
    model.learn_one({"sky": "grey"}, "x")
    before, memory = model.state()["checksum"], model.memory_bytes
    for rows in (
        [{"sky": f"shade {i}"} for i in range(500)],
        pd.DataFrame({"sky": [f"s{i}" for i in range(500)]}),
    ):
        with pytest.raises(MemoryError, match="memory_budget"):
            model.learn_many(rows, ["y"] * 500)
        assert model.state()["checksum"] == before
        assert model.memory_bytes == memory


def test_a_nominal_column_is_no_bag_of_words():
    coded = Schema({"sky": Nominal()}).encode([{"sky": "grey"}])
    with pytest.raises(BadValue, match="'sky' is nominal"):
        MultinomialNB().learn_many(coded, ["x"])
    with pytest.raises(BadValue, match="'sky'"):
        MultinomialNB().learn_many(pd.DataFrame({"sky": ["grey"]}), ["x"])


def test_a_bad_row_in_a_later_block_leaves_nothing_of_any(monkeypatch):
    monkeypatch.setattr(batches, "BLOCK_ROWS", 2)
    model = NaiveBayes(schema=Schema({"sky": Nominal(["grey", "blue"], closed=True)}, classes=["x", "y"]))
    model.learn_one({"sky": "grey"}, "x")
    before = model.state()["checksum"]
    sky = ["grey", "blue", "blue", "grey", "blue", "red", "grey"]
    with pytest.raises(BadValue, match=r"row 5.*red"):
        model.learn_many(pd.DataFrame({"sky": sky}), list("xyxyxyx"))
    assert model.state()["checksum"] == before
