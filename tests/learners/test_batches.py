"""Many rows at once, as whatever they come, do what the same rows do one at a time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from stream_bayes import (
    BernoulliNB,
    CodedColumns,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    Nominal,
    Numeric,
    Schema,
)
from stream_bayes.errors import BadLabel, BadValue, BadWeight, KindChanged, SchemaError, UnknownFeature

Rows = list[dict[str, Any]]


def named_rows(seed: int, rows: int, *, missing: float = 0.2) -> tuple[Rows, list[str]]:
    source = random.Random(seed)
    made: Rows = []
    for i in range(rows):
        full: dict[str, Any] = {
            "sky": source.choice(["grey", "blue", "ü"]),
            "warm": source.random() < 0.5,
            "heat": round(source.gauss(20, 5), 2),
            "n": source.randrange(-5, 6),
        }
        if i > rows // 2:
            full["late"] = source.choice("ab")
        made.append({name: value for name, value in full.items() if source.random() >= missing})
    return made, [source.choice(["rain", "sun", "snow"]) for _ in range(rows)]


def bag_rows(seed: int, rows: int) -> tuple[Rows, list[str]]:
    source = random.Random(seed)
    words = [f"w{k}" for k in range(9)]
    made: Rows = [
        {w: source.choice([0, 1, 1, 3]) for w in words if source.random() < 0.5} for _ in range(rows)
    ]
    return made, [source.choice(["ham", "spam", "news"]) for _ in range(rows)]


NAMES = ["sky", "warm", "heat", "n", "late"]
SCHEMA = Schema(
    {"sky": Nominal(), "warm": Nominal(), "heat": Numeric(), "n": Numeric(), "late": Nominal()},
    unknown="refuse",
)


def as_columns(rows: Rows, names: list[str]) -> dict[str, list[Any]]:
    return {name: [row.get(name) for row in rows] for name in names}


def as_pandas(rows: Rows, names: list[str]) -> pd.DataFrame:
    return pd.DataFrame(as_columns(rows, names))


def as_nullable(rows: Rows, names: list[str]) -> pd.DataFrame:
    dtypes = {"sky": "string", "warm": "boolean", "heat": "Float64", "n": "Int64", "late": "string"}
    return pd.DataFrame(
        {
            name: pd.array(column, dtype=dtypes.get(name, "Int64"))
            for name, column in as_columns(rows, names).items()
        }
    )


def as_categorical(rows: Rows, names: list[str]) -> pd.DataFrame:
    frame = as_pandas(rows, names)
    for name in ("sky", "late"):
        if name in frame:
            frame[name] = pd.Categorical(frame[name], categories=["unused", "ü", "b", "blue", "a", "grey"])
    return frame


def as_polars(rows: Rows, names: list[str]) -> pl.DataFrame:
    return pl.DataFrame(as_columns(rows, names), strict=False)


def as_objects(rows: Rows, names: list[str]) -> pd.DataFrame:
    return pd.DataFrame(as_columns(rows, names), dtype=object)


def as_coded(rows: Rows, names: list[str]) -> CodedColumns:
    return Schema({name: SCHEMA.features[name] for name in names}).encode(as_columns(rows, names))


def as_coded_otherwise(rows: Rows, names: list[str]) -> CodedColumns:
    """The same, the columns and every vocabulary in another order, with values that no row has."""
    backwards = {
        "sky": ["unused", "ü", "grey", "blue"],
        "warm": [True, "unused", False],
        "late": ["b", "unused", "a"],
    }
    features: dict[str, Any] = {name: backwards.get(name, SCHEMA.features[name]) for name in reversed(names)}
    return Schema(features).encode(as_columns(rows, names))


def as_dicts(rows: Rows, names: list[str]) -> Rows:
    return [{name: value for name, value in row.items() if name in names} for row in rows]


FORMS: dict[str, Callable[[Rows, list[str]], Any]] = {
    "pandas": as_pandas,
    "nullable": as_nullable,
    "categorical": as_categorical,
    "objects": as_objects,
    "polars": as_polars,
    "dicts": as_dicts,
    "coded": as_coded,
    "coded otherwise": as_coded_otherwise,
}
IN_EACH_FORM = pytest.mark.parametrize("form", FORMS)

MODELS: dict[str, Callable[[], Any]] = {
    "plain": NaiveBayes,
    "schema": lambda: NaiveBayes(schema=SCHEMA),
    "fading": lambda: NaiveBayes(half_life=30.0),
    "m-estimate, given prior": lambda: NaiveBayes(
        "m-estimate", class_prior={"rain": 0.2, "sun": 0.3, "snow": 0.5}
    ),
}


def answers(given: Any, rows: int) -> list[dict[Any, float]]:
    """Probabilities in whatever kind, as a dict a row."""
    if isinstance(given, pd.DataFrame):
        return [dict(zip(given.columns.tolist(), row, strict=True)) for row in given.to_numpy().tolist()]
    if isinstance(given, pl.DataFrame):
        return given.to_dicts()
    if isinstance(given, list):
        return given
    assert given.values.shape == (rows, len(given.labels))
    return [dict(zip(given.labels, row, strict=True)) for row in given.values.tolist()]


def same_knowledge(one: Any, other: Any) -> None:
    mine, theirs = one._store.by_name(), other._store.by_name()
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        assert value == pytest.approx(theirs[name], rel=1e-12, abs=1e-12)
    assert one.clock == other.clock


# --- learning and predicting as one at a time ---


@IN_EACH_FORM
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("weighted", ["unweighted", "one weight", "a weight a row"])
def test_learning_many_is_learning_one_at_a_time(model, form, weighted):
    many, one = MODELS[model](), MODELS[model]()
    for seed in range(3):
        rows, labels = named_rows(seed, 40)
        w: Any = {"unweighted": None, "one weight": 2, "a weight a row": [0.5 + i % 3 for i in range(40)]}[
            weighted
        ]
        many.learn_many(FORMS[form](rows, NAMES), labels, w)
        for i, (x, y) in enumerate(zip(rows, labels, strict=True)):
            one.learn_one(x, y, w=1 if w is None else w[i] if isinstance(w, list) else w)
    same_knowledge(many, one)


@IN_EACH_FORM
@pytest.mark.parametrize("model", MODELS)
def test_predicting_many_is_predicting_one_at_a_time(model, form):
    learner = MODELS[model]()
    for x, y in zip(*named_rows(1, 60), strict=True):
        learner.learn_one(x, y)
    rows, _ = named_rows(2, 50)
    rows.append({})
    before = learner.state()["checksum"]
    given = FORMS[form](rows, NAMES)
    expected = [learner.predict_proba_one(x) for x in rows]
    got = answers(learner.predict_proba_many(given), len(rows))
    assert len(got) == len(rows)
    for mine, theirs in zip(got, expected, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-12)
    assert list(learner.predict_many(given)) == [learner.predict_one(x) for x in rows]
    assert learner.state()["checksum"] == before


@IN_EACH_FORM
@pytest.mark.parametrize("model", MODELS)
def test_test_then_train_over_many_is_predicting_and_learning_one_at_a_time(model, form):
    many, one = MODELS[model](), MODELS[model]()
    for seed in range(2):
        rows, labels = named_rows(seed, 40)
        got = answers(many.predict_learn_many(FORMS[form](rows, NAMES), labels), len(rows))
        for x, y, p in zip(rows, labels, got, strict=True):
            expected = one.predict_proba_one(x)
            assert {
                label: share for label, share in p.items() if share or label in expected
            } == pytest.approx(expected, abs=1e-9)
            one.learn_one(x, y)
    same_knowledge(many, one)


@pytest.mark.parametrize("form", ["pandas", "polars", "dicts", "coded", "nullable"])
@pytest.mark.parametrize("variance", [None, "classes", "features", "both"])
def test_gaussians_learn_and_answer_many_as_one(variance, form):
    names = ["heat", "n"]
    many, one = GaussianNB(variance=variance), GaussianNB(variance=variance)
    rows, labels = named_rows(5, 60)
    numeric = as_dicts(rows, names)
    many.learn_many(FORMS[form](numeric, names), labels)
    for x, y in zip(numeric, labels, strict=True):
        one.learn_one(x, y)
    same_knowledge(many, one)
    for p, x in zip(answers(many.predict_proba_many(FORMS[form](numeric, names)), 60), numeric, strict=True):
        assert p == pytest.approx(one.predict_proba_one(x), abs=1e-12)


def sparse(rows: Rows, names: list[str]) -> pd.DataFrame:
    frame = pd.DataFrame(as_columns(rows, names)).fillna(0)
    return frame.astype(pd.SparseDtype("float64", 0.0))


def as_counts(rows: Rows, names: list[str]) -> CodedColumns:
    return Schema({name: Numeric() for name in names}).encode(as_columns(rows, names))


BAG_FORMS: dict[str, Callable[[Rows, list[str]], Any]] = {
    "pandas": as_pandas,
    "nullable": as_nullable,
    "polars": as_polars,
    "dicts": as_dicts,
    "sparse": sparse,
    "coded": as_counts,
}


@pytest.mark.parametrize("form", BAG_FORMS)
@pytest.mark.parametrize("kind", [MultinomialNB, ComplementNB, BernoulliNB])
def test_bags_of_words_learn_and_answer_many_as_one(kind, form):
    words = [f"w{k}" for k in range(9)]
    many, one, live, slow = kind(), kind(), kind(), kind()
    for seed in range(3):
        rows, labels = bag_rows(seed, 30)
        given = BAG_FORMS[form](rows, words)
        many.learn_many(given, labels)
        together = answers(live.predict_learn_many(given, labels), 30)
        for x, y, p in zip(rows, labels, together, strict=True):
            one.learn_one(x, y)
            expected = slow.predict_proba_one(x)
            assert {
                label: share for label, share in p.items() if share or label in expected
            } == pytest.approx(expected, abs=1e-9)
            slow.learn_one(x, y)
    same_knowledge(many, one)
    same_knowledge(live, one)
    rows, _ = bag_rows(9, 30)
    rows.append({"w0": 1, "never": 4})
    given = BAG_FORMS[form](rows, [*words, "never"])
    for p, x in zip(answers(many.predict_proba_many(given), 31), rows, strict=True):
        assert p == pytest.approx(one.predict_proba_one(x), abs=1e-12)
    assert list(many.predict_many(given)) == [one.predict_one(x) for x in rows]


@pytest.mark.parametrize("threshold", [-1.0, 0.0, 1.0])
def test_a_threshold_is_the_same_for_many_as_for_one(threshold):
    rows = [{"a": 0, "b": 2}, {"a": 1, "b": 0}, {"a": 2, "b": 1}]
    many, one = BernoulliNB(true_threshold=threshold), BernoulliNB(true_threshold=threshold)
    many.learn_many(pd.DataFrame(rows), ["x", "y", "x"])
    for x, y in zip(rows, "xyx", strict=True):
        one.learn_one(x, y)
    same_knowledge(many, one)


@pytest.mark.parametrize("column", [[True, False, True], [True, None, True]])
def test_a_column_of_booleans_counts_words(column):
    many, one = MultinomialNB(), MultinomialNB()
    many.learn_many(pd.DataFrame({"a": column, "b": [1, 2, 3]}), ["x", "y", "x"])
    for a, b, y in zip(column, [1, 2, 3], "xyx", strict=True):
        one.learn_one({"a": a, "b": b}, y)
    same_knowledge(many, one)


# --- what is answered ---


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
        assert model._store.by_name()["x",] == 4.0


@pytest.mark.parametrize("form", ["pandas", "dicts", "polars"])
def test_rows_of_weight_0_name_nothing_as_one_at_a_time(form):
    rows = [{"sky": "grey"}, {"sky": "blue"}, {"sky": "red"}]
    many, one = NaiveBayes(max_values=2), NaiveBayes(max_values=2)
    many.learn_many(FORMS[form](rows, ["sky"]), ["w", "x", "y"], [0, 1, 1])
    for x, y, w in zip(rows, "wxy", [0, 1, 1], strict=True):
        one.learn_one(x, y, w=w)
    same_knowledge(many, one)
    assert many._store.encoder.labels.values == ["x", "y"]


# --- between batches ---


@pytest.mark.parametrize("form", ["pandas", "polars", "dicts", "coded"])
def test_columns_may_come_and_go_between_batches(form):
    many, one = NaiveBayes(), NaiveBayes()
    for seed, names in enumerate([NAMES, ["sky", "n"], ["late", "heat"], ["n"], NAMES[::-1]]):
        rows, labels = named_rows(seed, 30)
        many.learn_many(FORMS[form](rows, names), labels)
        for x, y in zip(as_dicts(rows, names), labels, strict=True):
            one.learn_one(x, y)
    same_knowledge(many, one)
    rows, _ = named_rows(8, 20)
    for names in (NAMES, ["heat"], ["sky", "late"]):
        got = answers(many.predict_proba_many(FORMS[form](rows, names)), 20)
        for p, x in zip(got, as_dicts(rows, names), strict=True):
            assert p == pytest.approx(one.predict_proba_one(x), abs=1e-12)


def test_a_column_without_any_value_is_not_met():
    model = NaiveBayes()
    frame = pd.DataFrame({"sky": ["grey", "blue"], "nothing": [None, None], "nan": [float("nan")] * 2})
    model.learn_many(frame, ["x", "y"])
    assert list(model._store.encoder.features) == ["sky"]


# --- what is refused, and that nothing is left of it ---

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
