"""What a message says to whoever made a mistake that is easy to make: what was wrong, and what to do instead."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from river import base, linear_model, naive_bayes, preprocessing

import stream_bayes
from stream_bayes import AODE, DecidingClassifier, GaussianNB, MultinomialNB, NaiveBayes, Schema, Thresholds
from stream_bayes.errors import BadLabel, BadValue, NotLearned, SchemaError, StreamBayesError
from stream_bayes.testing.assertions import changes_nothing
from stream_bayes.testing.public_learners import counting_learners, settings_of
from tests.samples_of_pairs import paired

KINDS = {
    kind.__name__: partial(kind, **settings_of(name)[0])
    for name, kind in counting_learners().items()
    if name != "sliding-window"
}
BAGS = ("MultinomialNB", "ComplementNB", "BernoulliNB")
UNLEARNING = {kind.__name__ for kind in counting_learners().values() if kind.unlearns}
SUMS = {name: make for name, make in KINDS.items() if name in UNLEARNING}
EACH = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)

ONE_ROW: dict[str, Callable[[Any, Any], object]] = {
    "learn_one": lambda model, x: model.learn_one(x, "a"),
    "unlearn_one": lambda model, x: model.unlearn_one(x, "a"),
    "predict_one": lambda model, x: model.predict_one(x),
    "predict_proba_one": lambda model, x: model.predict_proba_one(x),
    "predict_learn_one": lambda model, x: model.predict_learn_one(x, "a"),
    "joint_log_likelihood": lambda model, x: model.joint_log_likelihood(x),
    "explain_one": lambda model, x: model.explain_one(x),
}


def refused(model: Any, error: type[Exception], act: Callable[[], object]) -> str:
    """The message of a refusal that changed nothing."""
    with changes_nothing(model, "a refusal"), pytest.raises(error) as caught:
        act()
    return str(caught.value)


def learned(make: Callable[[], Any]) -> Any:
    model = make()
    x = {"size": 1} if "nominal" not in model.inputs else {"colour": "red"}
    model.learn_one(x, "a")
    return model


# --- x is not a dict ---


MANY_ROWS: list[tuple[Any, str]] = [
    ([{"secret": 1}, {"secret": 2}], "list of length 2"),
    (pd.DataFrame({"secret": [1, 2, 3]}), "DataFrame of shape (3, 1)"),
    (pl.DataFrame({"secret": [1, 2, 3]}), "DataFrame of shape (3, 1)"),
    (pd.Series([1.0, 2.0], ["secret", "b"]), "Series of shape (2,)"),
    (np.zeros((4, 2)), "ndarray of shape (4, 2)"),
]


# A learner may have a verb of its own, so each has a case; how rows are told from an event stands in one place.
@pytest.mark.parametrize(
    ("name", "verb", "rows", "told"),
    [
        (*each, *many)
        for each, many in paired(itertools.product(KINDS, ONE_ROW), MANY_ROWS)
        if each[1] != "unlearn_one" or each[0] in UNLEARNING  # refused, whatever it is given
    ],
)
def test_many_rows_given_to_a_verb_for_one_point_to_the_verbs_for_many(name, verb, rows, told):
    model = learned(KINDS[name])
    message = refused(model, BadValue, lambda: ONE_ROW[verb](model, rows))
    assert f"{{name: value}}, not as {told}" in message
    assert "_many" in message
    assert "secret" not in message


@pytest.mark.parametrize(
    ("name", "verb", "text"),
    [
        (*each, text)
        for each, text in paired(itertools.product(BAGS, ONE_ROW), ["a secret message", b"a secret message"])
    ],
)
def test_text_given_for_a_bag_of_words_points_to_what_counts_it(name, verb, text):
    model = learned(KINDS[name])
    message = refused(model, BadValue, lambda: ONE_ROW[verb](model, text))
    assert f"{{token: count}}, not as {type(text).__name__} of length 16" in message
    assert "feature_extraction.BagOfWords() | " in message
    assert "secret" not in message


# --- unlearning ---


@pytest.mark.parametrize(
    ("make", "x"),
    [
        (NaiveBayes, {"a": "u"}),
        (partial(AODE, min_count=1.0), {"a": "u"}),
        (GaussianNB, {"a": 1.5}),
        (MultinomialNB, {"a": 1}),
    ],
)
def test_a_faded_sample_that_is_taken_back_at_full_weight_is_told_of_at(make, x):
    model = make(half_life=2.0)
    model.learn_one(x, "y")
    clock = model.clock
    model.advance(3)
    message = refused(model, NotLearned, lambda: model.unlearn_one(x, "y"))
    assert "faded" in message and "unlearn_one(x, y, at=clock)" in message
    model.unlearn_one(x, "y", at=clock)
    assert model.classes_ == ()


def test_where_nothing_fades_or_a_time_was_given_no_message_speaks_of_one():
    plain, fading = NaiveBayes(), NaiveBayes(half_life=2.0)
    for model in (plain, fading):
        model.learn_one({"a": "u"}, "y")
    assert "at=" not in refused(plain, NotLearned, lambda: plain.unlearn_one({"a": "u"}, "y", w=2))
    assert "at=" not in refused(fading, NotLearned, lambda: fading.unlearn_one({"a": "u"}, "y", w=2, at=1))


# --- columns, labels and weights of many rows ---


def test_a_column_that_is_none_is_not_spoken_of_as_labels():
    for rows in ({"sky": "grey"}, {"sky": 3}, {"sky": np.zeros((2, 2))}):
        message = refused(model := NaiveBayes(), SchemaError, partial(model.predict_many, rows))
        assert "column 'sky'" in message and "values" in message and "label" not in message


def test_what_cannot_be_process_one_by_one_is_called_what_it_should_be():
    model, rows = NaiveBayes(), [{"a": "u"}, {"a": "v"}]
    assert "labels" in refused(model, SchemaError, lambda: model.learn_many(rows, "yn"))
    message = refused(model, SchemaError, lambda: model.learn_many(rows, ["y", "n"], w={"a": 1}))
    assert "weights" in message and "label" not in message
    with pytest.raises(SchemaError, match=r"a list of values"):
        stream_bayes.Nominal("red")
    with pytest.raises(SchemaError, match=r"a list of labels"):
        Schema({"a": ["u"]}, classes="yes")


def test_a_frame_of_labels_is_asked_for_one_column():
    model, rows = NaiveBayes(), pd.DataFrame({"a": ["u", "v"]})
    message = refused(model, SchemaError, lambda: model.learn_many(rows, pd.DataFrame({"secret": [1, 2]})))
    assert "give one column" in message and "secret" not in message


@pytest.mark.parametrize(
    ("make", "words"),
    [(NaiveBayes, "began with a number; declare it Nominal"), (GaussianNB, "convert it to a number")],
)
def test_a_number_that_came_as_text_is_told_what_to_do(make, words):
    model = make()
    model.learn_one({"a": 3}, "y")
    assert words in refused(model, StreamBayesError, lambda: model.learn_one({"a": "3"}, "y"))


# --- what a schema is written with ---


@pytest.mark.parametrize(
    ("name", "schema"), paired(KINDS, [{"sky": "nominal"}, {"sky": ["grey"]}, ["sky"], "nominal"])
)
def test_a_schema_that_is_none_is_told_how_to_write_one(name, schema):
    make = KINDS[name]
    with pytest.raises(BadValue, match=r"Schema\(\{.*Nominal\(\).*Numeric\(\)") as caught:
        make(schema=schema)
    assert type(schema).__name__ in str(caught.value)


@pytest.mark.parametrize("spec", ["nominall", stream_bayes.Nominal, list, None])
def test_a_feature_of_a_schema_that_is_neither_kind_is_told_of_both(spec):
    with pytest.raises(SchemaError, match=r"feature 'sky'.*([Nn]ominal).*([Nn]umeric)"):
        Schema({"sky": spec})


@pytest.mark.parametrize("make", [NaiveBayes, AODE, MultinomialNB])
@pytest.mark.parametrize("name", [7, b"sky", None, ("sky",)])
def test_a_name_that_no_schema_could_declare_is_refused_and_not_passed_over(make, name):
    model = make(schema=Schema({"sky": stream_bayes.Numeric()}))
    model.learn_one({"sky": 1}, "a")
    for act in (
        lambda: model.predict_one({name: 1}),
        lambda: model.learn_many([{name: 1}], ["a"]),
        lambda: model.predict_many(frame_of(name)),
        lambda: model.learn_many(frame_of(name), ["a"]),
    ):
        assert f"str where a schema is declared, not {name!r}" in refused(model, BadValue, act)


def frame_of(name: Any) -> pd.DataFrame:
    frame = pd.DataFrame([[1.0]])
    frame.columns = pd.Index([name], dtype=object, tupleize_cols=False)
    return frame


# --- questions to a model ---


def test_log_odds_of_a_class_that_is_not_known_name_those_that_are():
    model = NaiveBayes()
    for number in range(200):
        model.learn_one({"a": "u"}, f"class {number}")
    why = model.explain_one({"a": "u"})
    for asked in (("rani",), ("class 1", "rani")):
        with pytest.raises(BadLabel) as caught:
            why.log_odds(*asked)
        message = str(caught.value)
        assert "'rani'" in message and "'class 0', 'class 1'" in message
        assert "200" in message and "None" not in message
        assert len(message) < 200
    with pytest.raises(BadLabel, match="nothing has been learned"):
        NaiveBayes().explain_one({}).log_odds("rani")


@pytest.mark.parametrize(("name", "given"), paired(KINDS, ["x", 3, ["class"], ("class", "a")]))
def test_what_is_given_to_a_conditional_is_a_dict(name, given):
    model = learned(KINDS[name])
    message = refused(model, BadValue, lambda: model.conditional("colour", given=given))
    assert "given" in message and "{'class': label}" in message and type(given).__name__ in message


# --- adding learners up ---


@pytest.mark.parametrize("make", SUMS.values(), ids=SUMS)
def test_a_sum_of_learners_is_what_they_know_together(make):
    one, other = learned(make), learned(make)
    with changes_nothing(one, "sum"), changes_nothing(other, "sum"):
        total: Any = sum([one, other])
    assert total.store.by_name() == (one + other).store.by_name()
    alone: Any = sum([one])
    assert alone is not one and alone.store.by_name() == one.store.by_name()


@pytest.mark.parametrize("start", [1, 0.0, False, None, "0", [], 2])
def test_a_sum_of_learners_starts_from_0_alone(start):
    with pytest.raises(TypeError):
        start + NaiveBayes()


# --- deciders ---


class Nowhere:
    """No classifier, and no rule."""


class Certain(base.Classifier):
    """A classifier without probabilities."""

    def learn_one(self, x: dict[Any, Any], y: Any) -> None: ...

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> bool:
        return True


@pytest.mark.parametrize(
    "classifier",
    [
        None,
        "NaiveBayes",
        Nowhere(),
        NaiveBayes,
        preprocessing.StandardScaler(),
        linear_model.LinearRegression(),
        preprocessing.StandardScaler() | linear_model.LinearRegression(),
        Certain(),
        preprocessing.StandardScaler() | Certain(),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_decider_needs_a_classifier_with_probabilities(classifier):
    with pytest.raises(BadValue, match=r"classifier must be .*predict_proba_one"):
        DecidingClassifier(classifier, Thresholds(0.9))


@pytest.mark.parametrize("rule", [None, 0.9, "unsure", Thresholds, {"spam": 0.9}, Nowhere()])
def test_a_decider_needs_a_rule(rule):
    with pytest.raises(BadValue, match=r"rule must be .*Costs.*Thresholds.*decide"):
        DecidingClassifier(naive_bayes.GaussianNB(), rule)


def test_a_decider_of_a_decider_or_of_a_pipeline_is_one():
    inner = DecidingClassifier(preprocessing.StandardScaler() | GaussianNB(), Thresholds(0.9))
    assert DecidingClassifier(inner, Thresholds(0.8)).predict_one({"a": 1.0}) is None
