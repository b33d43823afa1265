"""A classifier that decides: it learns and unlearns as the one it wraps, and answers with its rule's decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pytest
from river import base, checks, compose, datasets, linear_model, naive_bayes, optim, preprocessing, tree

from stream_bayes import (
    Costs,
    DecidingClassifier,
    NaiveBayes,
    Thresholds,
)
from stream_bayes.errors import BadLabel, NotLearned, NotSupported
from tests.learners.base.batch_inputs import FORMS, NAMES, answers, named_rows
from tests.learners.wrappers.test_decision_rules import RULES


@pytest.mark.parametrize(
    "params", [*DecidingClassifier._unit_test_params()], ids=lambda p: type(p["rule"]).__name__
)
def test_a_deciding_classifier_obeys_rivers_checks(params):
    model = DecidingClassifier(**params)
    once = {check.__name__: check for check in checks.yield_checks(model)}  # on the last of River's datasets
    for name in sorted(once.keys() - model._unit_test_skips()):
        once[name](model.clone())


def test_learning_and_probabilities_are_those_of_the_classifier():
    plain = naive_bayes.GaussianNB()
    model = DecidingClassifier(naive_bayes.GaussianNB(), Thresholds(0.9))
    answers = set()
    for x, y in datasets.Phishing().take(300):
        assert model.predict_proba_one(x) == plain.predict_proba_one(x)
        assert model.predict_one(x) == model.rule.decide(plain.predict_proba_one(x))
        answers.add(model.predict_one(x))
        plain.learn_one(x, y)
        model.learn_one(x, y)
    assert answers == {None, True, False, "unsure"}


def test_zero_one_costs_change_nothing_about_a_classifier():
    model = DecidingClassifier(naive_bayes.GaussianNB(), Costs.zero_one([True, False]))
    for x, y in datasets.Phishing().take(300):
        assert model.predict_one(x) == model.classifier.predict_one(x)
        model.learn_one(x, y)


def test_costs_that_the_stream_is_charged_by_are_lowered_by_deciding_with_them():
    costs = Costs.false_positive(20, positive=True, negative=False)
    model = DecidingClassifier(preprocessing.StandardScaler() | linear_model.LogisticRegression(), costs)
    paid = {"classifier": 0.0, "decider": 0.0}
    for x, y in datasets.Phishing():
        paid["decider"] += costs.cost(model.predict_one(x), y)
        paid["classifier"] += costs.cost(model.classifier.predict_one(x), y)
        model.learn_one(x, y)
    assert paid["decider"] < paid["classifier"] / 2


def test_keyword_arguments_reach_the_classifier():
    model = DecidingClassifier(linear_model.LogisticRegression(), Thresholds(0.5))
    twin = linear_model.LogisticRegression()
    model.learn_one({"x": 1.0}, True, w=5.0)
    twin.learn_one({"x": 1.0}, True, w=5.0)
    assert model.predict_proba_one({"x": 1.0}) == twin.predict_proba_one({"x": 1.0})


def test_a_pipeline_can_be_inside_or_outside():
    inside = DecidingClassifier(preprocessing.StandardScaler() | naive_bayes.GaussianNB(), Thresholds(0.9))
    outside = compose.Pipeline(
        preprocessing.StandardScaler(), DecidingClassifier(naive_bayes.GaussianNB(), Thresholds(0.9))
    )
    for x, y in datasets.Phishing().take(100):
        assert inside.predict_one(x) == outside.predict_one(x)
        inside.learn_one(x, y)
        outside.learn_one(x, y)
    assert inside._multiclass


@pytest.mark.parametrize("rule", RULES)
def test_a_clone_keeps_the_rule_and_forgets_what_was_learned(rule):
    model = DecidingClassifier(naive_bayes.BernoulliNB(), rule)
    model.learn_one({"x": 1}, "a")
    clone = model.clone()
    assert clone.rule == rule
    assert clone.predict_proba_one({"x": 1}) == {}
    assert clone.predict_one({"x": 1}) is None


def test_a_label_that_the_costs_do_not_know_is_an_error_of_deciding_not_of_learning():
    model = DecidingClassifier(naive_bayes.BernoulliNB(), Costs.zero_one(["a", "b"]))
    model.learn_one({"x": 1}, "c")
    assert set(model.predict_proba_one({"x": 1})) == {"c"}
    with pytest.raises(BadLabel, match="label 'c'"):
        model.predict_one({"x": 1})


# --- unlearning ---


@pytest.mark.parametrize("half_life", [None, 10.0])
def test_unlearning_is_that_of_the_classifier(half_life):
    model: Any = DecidingClassifier(NaiveBayes(half_life=half_life), Thresholds(0.5))
    plain = NaiveBayes(half_life=half_life)
    rows, labels = named_rows(3, 20)
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y, w=2.0)
        plain.learn_one(x, y, w=2.0)
    model.unlearn_one(rows[4], labels[4], w=2.0, at=5)
    plain.unlearn_one(rows[4], labels[4], w=2.0, at=5)
    assert model.classifier.state()["checksum"] == plain.state()["checksum"]
    with pytest.raises(NotLearned):
        model.unlearn_one(rows[0], "never", w=2.0)


# --- many rows ---

SURE = Thresholds({"rain": 0.6, "sun": 0.4, "snow": 0.5}, otherwise="ask")
DEAR = Costs.zero_one(["rain", "sun", "snow"], unsure=0.45)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rule", [SURE, DEAR], ids=["thresholds", "costs"])
def test_many_rows_are_learned_and_decided_as_one_by_one(rule, form):
    many: Any = DecidingClassifier(NaiveBayes(), rule)
    one: Any = DecidingClassifier(NaiveBayes(), rule)
    rows, labels = named_rows(1, 60)
    weights = [1.0 + i % 2 for i in range(60)]
    many.learn_many(FORMS[form](rows, NAMES), labels, w=weights)
    for x, y, w in zip(rows, labels, weights, strict=True):
        one.learn_one(x, y, w=w)
    asked, _ = named_rows(2, 40)
    given = FORMS[form](asked, NAMES)
    expected = [one.predict_one(x) for x in asked]
    assert {"ask", "unsure"} & set(expected) and len(set(expected)) > 2
    assert list(many.predict_many(given)) == expected
    mine = many.predict_proba_many(given)
    theirs = many.classifier.predict_proba_many(given)
    assert type(mine) is type(theirs)
    assert answers(mine, 40) == answers(theirs, 40)


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("labels", [[True, False], [1, 2], ["x", "y"], [("a", 1), 2.5]], ids=str)
def test_rules_meet_the_labels_of_many_rows_with_their_types(library, labels):
    costs = Costs.zero_one(labels, unsure=0.2)
    model = DecidingClassifier(NaiveBayes(), costs)
    frame = library.DataFrame({"sky": ["grey"] * 9 + ["blue"] * 9})
    model.learn_many(frame, [labels[0]] * 9 + [labels[1]] * 9)
    decided = list(model.predict_many(library.DataFrame({"sky": ["grey", "blue", "red"]})))
    assert decided == [*labels, "unsure"]
    assert [type(decision) for decision in decided[:2]] == [type(label) for label in labels]


def test_a_frame_is_decided_in_a_series_of_its_library():
    model = DecidingClassifier(NaiveBayes(), Thresholds(0.7))
    columns = {"sky": ["grey", "grey", "blue"]}
    frame = pd.DataFrame(columns, index=["p", "q", "r"])
    model.learn_many(frame, pd.Series(["rain", "rain", "sun"], index=frame.index))
    decided = model.predict_many(frame)
    assert isinstance(decided, pd.Series)
    assert decided.to_dict() == {"p": "rain", "q": "rain", "r": "unsure"}
    also = model.predict_many(pl.DataFrame(columns))
    assert isinstance(also, pl.Series)
    assert also.to_list() == decided.tolist()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rule", RULES)
def test_nothing_is_decided_of_many_rows_before_any_learning(rule, form):
    given = FORMS[form]([{"sky": "grey"}, {"sky": "blue"}], ["sky"])
    assert list(DecidingClassifier(NaiveBayes(), rule).predict_many(given)) == [None, None]


def test_no_rows_have_no_decisions():
    model = DecidingClassifier(NaiveBayes(), Thresholds(0.6))
    model.learn_one({"sky": "grey"}, "rain")
    assert model.predict_many([]) == []
    assert len(model.predict_many(pd.DataFrame({"sky": []}))) == 0


def test_many_rows_go_through_a_pipeline_inside_or_outside():
    costs = Costs.false_positive(3, positive=True, negative=False, unsure=0.3)
    fast = linear_model.LogisticRegression(optim.SGD(1.0))
    inside = DecidingClassifier(preprocessing.StandardScaler() | fast.clone(), costs)
    outside = preprocessing.StandardScaler() | DecidingClassifier(fast.clone(), costs)
    stream = list(datasets.Phishing().take(300))
    frame = pd.DataFrame([x for x, _ in stream])
    labels = pd.Series([y for _, y in stream])
    for start in range(0, 300, 50):
        for model in (inside, outside):
            model.learn_many(frame[start : start + 50], labels[start : start + 50])
    decided = [inside.predict_one(x) for x, _ in stream]
    assert set(decided) == {True, False, "unsure"}
    assert inside.predict_many(frame).tolist() == outside.predict_many(frame).tolist() == decided


def test_a_decider_of_decisions_asks_the_innermost_classifier():
    inner = DecidingClassifier(NaiveBayes(), Thresholds(0.99))
    outer = DecidingClassifier(inner, Thresholds({True: 0.6, False: 0.1}))
    frame = pl.DataFrame({"sky": ["grey", "grey", "blue"]})
    outer.learn_many(frame, [True, True, False])
    outer.unlearn_one({"sky": "grey"}, True)
    assert outer.predict_many(frame).to_list() == [outer.predict_one(x) for x in frame.to_dicts()]
    assert inner.predict_many(frame).to_list() == ["unsure"] * 3


# --- what the classifier cannot do ---

CALLS: dict[str, Callable[[Any], Any]] = {
    "unlearn_one": lambda model: model.unlearn_one({"x": 1.0}, True),
    "learn_many": lambda model: model.learn_many(pd.DataFrame({"x": [1.0]}), pd.Series([True])),
    "predict_proba_many": lambda model: model.predict_proba_many(pd.DataFrame({"x": [1.0]})),
    "predict_many": lambda model: model.predict_many(pd.DataFrame({"x": [1.0]})),
}


@pytest.mark.parametrize("verb", CALLS)
@pytest.mark.parametrize("piped", [False, True], ids=["alone", "in a pipeline"])
def test_what_the_classifier_cannot_do_is_not_supported(piped, verb):
    classifier: Any = tree.HoeffdingTreeClassifier()
    if piped:
        classifier = preprocessing.StandardScaler() | classifier
    words = (
        "Pipeline has no unlearn_one"
        if piped and verb == "unlearn_one"
        else "HoeffdingTreeClassifier has no "
    )
    with pytest.raises(NotSupported, match=words):
        CALLS[verb](DecidingClassifier(classifier, Thresholds(0.5)))


class Silent(base.MiniBatchClassifier):
    """One that names the labels of many rows, and not how probable they are."""

    def learn_one(self, x, y):
        raise AssertionError

    def predict_proba_one(self, x, **kwargs):
        raise AssertionError

    def learn_many(self, X, y):
        raise AssertionError

    def predict_many(self, X):
        raise AssertionError


def test_without_probabilities_of_many_rows_there_are_no_decisions():
    for verb in ("predict_proba_many", "predict_many"):
        with pytest.raises(NotSupported, match="Silent has no predict_proba_many"):
            CALLS[verb](DecidingClassifier(Silent(), Thresholds(0.5)))


def test_columns_that_may_be_labels_of_any_type_are_not_decided_upon():
    model = DecidingClassifier(linear_model.LogisticRegression(), Thresholds({True: 0.9}))
    with pytest.raises(
        NotSupported, match="LogisticRegression answered with columns named False, True, all strings"
    ):
        model.predict_many(pl.DataFrame({"x": [1.0]}))
