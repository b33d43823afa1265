"""Many rows at once, as whatever they come, do what the same rows do one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from stream_bayes import (
    BernoulliNB,
    CodedColumns,
    ComplementNB,
    GaussianNB,
    MultinomialNB,
    NaiveBayes,
    Numeric,
    Schema,
)
from stream_bayes.learners.base import batches
from tests.learners.base.batch_inputs import (
    FORMS,
    IN_EACH_FORM,
    MODELS,
    NAMES,
    Rows,
    answers,
    as_columns,
    as_dicts,
    as_nullable,
    as_pandas,
    as_polars,
    bag_rows,
    named_rows,
    same_knowledge,
)


@IN_EACH_FORM
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("weighted", ["unweighted", "one weight", "a weight a row"])
def test_learning_many_is_learning_one_at_a_time(model, form, weighted, monkeypatch):
    many, one = MODELS[model](), MODELS[model]()
    for seed in range(3):
        monkeypatch.setattr(batches, "BLOCK_ROWS", (100, 16, 40)[seed])
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
    assert list(model.store.encoder.features) == ["sky"]
