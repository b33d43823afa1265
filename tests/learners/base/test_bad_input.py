"""Refusals of what is not a sample: the error, its words, and nothing changed."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import pytest

from stream_bayes import (
    NaiveBayes,
    Nominal,
    Schema,
)
from stream_bayes.errors import BadLabel, BadValue, BadWeight, KindChanged
from tests.learners.base.trained_learners import EACH, LEARNERS, refuses, trained
from tests.samples_of_pairs import paired

# --- labels ---


LABELS = [
    (None, "a label is needed ... None ... learn when its label comes"),
    (math.nan, "a label is needed ... nan"),
    (pd.NA, "a label is needed ... NA"),
    (["rain"], "expected str ... got list ... ['rain'] ... convert it first"),
    ({"a": 1}, "expected str ... got dict"),
    ({"rain"}, "expected str ... got set"),
    (np.array(["rain"]), "expected str ... ndarray"),
    (math.inf, "finite float ... inf"),
    (1j, "expected str ... complex"),
    (Decimal(1), "expected str ... Decimal"),
    (("rain", None), "expected str ... tuple"),
    (object(), "expected str ... object"),
]


@pytest.mark.parametrize(
    ("name", "label", "words"), [(name, *label) for name, label in paired(LEARNERS, LABELS)]
)
def test_a_label_that_is_none(name, label, words):
    model, x = trained(name)
    fresh = {f"new {key}": value for key, value in x.items()} if "schema" not in name else x
    for act in (model.learn_one, model.predict_learn_one):
        refuses(model, BadLabel, words, partial(act, fresh, label))
    for y in ([None, label], ["rain", label]):
        refuses(model, BadLabel, "row", partial(model.learn_many, [fresh, fresh], y))
    refuses(model, BadLabel, words, lambda: model.unlearn_one(x, label))


def test_a_label_outside_the_declared_classes():
    for model in (
        NaiveBayes(schema=Schema({"a": Nominal()}, classes=["x", "y"])),
        NaiveBayes(class_prior={"x": 1.0}),
    ):
        model.learn_one({"a": "u"}, "x")
        refuses(
            model, BadLabel, "'z' ... declared classes ... 'x'", partial(model.learn_one, {"a": "v"}, "z")
        )
        for rows in ([{"a": "v"}, {"a": "u"}], pd.DataFrame({"a": ["v", "u"]})):
            refuses(model, BadLabel, "row 1 ... 'z'", partial(model.learn_many, rows, ["x", "z"]))


# --- features and values ---


@pytest.mark.parametrize("key", [7, None, ("a", "b"), b"sky", True])
def test_a_feature_name_that_is_no_str_where_a_schema_is_declared(key):
    model, x = trained("NaiveBayes, schema")
    for act in (lambda: model.learn_one({**x, key: "u"}, "new"), lambda: model.predict_one({key: 1})):
        refuses(model, BadValue, f"feature names are str ... schema ... {key!r}", act)


@pytest.mark.parametrize("name", ["NaiveBayes", "NaiveBayes, schema", "NaiveBayes, fading", "GaussianNB"])
@pytest.mark.parametrize("value", ["warm", "20.5", b"1", True, (1.0,), ""])
def test_a_numeric_feature_that_gets_something_else(name, value):
    model, x = trained(name)
    error = KindChanged if name in ("NaiveBayes", "NaiveBayes, fading") else BadValue
    words = f"'heat' is numeric ... {value!r} ... {type(value).__name__}"
    bad = {**x, "new": 3, "heat": value}
    for act in (
        lambda: model.learn_one(bad, "new"),
        lambda: model.predict_learn_one(bad, "new"),
        lambda: model.unlearn_one(bad, "rain"),
        lambda: model.predict_one(bad),
        lambda: model.predict_proba_one({"heat": value}),
        lambda: model.joint_log_likelihood({"heat": value}),
    ):
        refuses(model, error, words, act)
    refuses(model, error, f"row 1 ... {words}", lambda: model.learn_many([x, bad], ["new", "rain"]))


@pytest.mark.parametrize("name", ["NaiveBayes", "NaiveBayes, schema", "GaussianNB"])
@pytest.mark.parametrize(
    "value", [math.inf, -math.inf, np.float32("inf"), np.inf, 10**400], ids=lambda v: str(v)[:9]
)
def test_a_number_that_is_not_finite(name, value):
    model, x = trained(name)
    for act in (
        lambda: model.learn_one({**x, "heat": value}, "new"),
        lambda: model.predict_one({**x, "heat": value}),
    ):
        refuses(model, BadValue, "'heat'", act)


@pytest.mark.parametrize(
    "value", [["u"], {"u"}, object(), 1j, Decimal(1), math.inf, ("u", None)], ids=lambda v: type(v).__name__
)
def test_a_value_of_no_supported_type(value):
    model, x = trained("NaiveBayes")
    for act in (
        lambda: model.learn_one({**x, "new": value}, "new"),
        lambda: model.learn_one({**x, "other": "u", "sky": value}, "new"),
    ):
        refuses(model, BadValue, "feature ... expected ... finite", act)


def test_a_nominal_feature_that_gets_a_number():
    model, x = trained("NaiveBayes")
    words = "'sky' is nominal ... 3 ... declare it Nominal in a schema"
    refuses(model, KindChanged, words, lambda: model.learn_one({**x, "new": "u", "sky": 3}, "new"))


@EACH
@pytest.mark.parametrize("x", [None, 3, "sky", ["sky"], [("sky", "grey", 1)]])
def test_features_that_are_no_dict(name, x):
    model, _ = trained(name)
    if x == ["sky"] and "bag" in model.inputs:
        model.learn_one(x, "new")  # the tokens of a text
        return
    for act in (
        lambda: model.learn_one(x, "new"),
        lambda: model.predict_one(x),
        lambda: model.unlearn_one(x, "rain"),
    ):
        refuses(model, BadValue, "as a dict {", act)


# --- weights ---


WEIGHTS = [math.inf, -math.inf, -1, -1e-300, math.nan, "1", "heavy", None, [1], 10**400, b"1"]


@pytest.mark.parametrize(("name", "weight"), paired(LEARNERS, WEIGHTS), ids=lambda value: repr(value)[:24])
def test_a_weight_that_is_none(name, weight):
    model, x = trained(name)
    words = f"a weight must be a finite number ... {weight!r}" if weight != 10**400 else "a weight must be"
    for act in (
        lambda: model.learn_one({**x, "new": 1.5} if "schema" not in name else x, "new", w=weight),
        lambda: model.predict_learn_one(x, "new", w=weight),
        lambda: model.unlearn_one(x, "rain", w=weight),
        lambda: model.learn_many([x, x], ["new", "rain"], w=[1.0, weight]),
    ):
        refuses(model, BadWeight, words, act)


@EACH
def test_a_weight_for_each_of_other_rows(name):
    model, x = trained(name)
    refuses(
        model,
        ValueError,
        "2 rows ... 3 weights",
        lambda: model.learn_many([x, x], ["new", "rain"], w=[1, 1, 1]),
    )
    refuses(model, ValueError, "2 rows ... 1 labels", lambda: model.learn_many([x, x], ["new"]))


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB"])
def test_a_count_and_a_weight_that_only_together_are_infinite(name):
    model, _ = trained(name)
    with pytest.raises((BadValue, BadWeight)):
        model.learn_one({"free": 1e300}, "rain", w=1e300)


# --- bags ---


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB"])
@pytest.mark.parametrize(
    "count", [-1, -0.5, math.inf, -math.inf, np.float64("inf"), 10**400], ids=lambda c: str(c)[:9]
)
def test_a_count_that_is_negative_or_not_finite(name, count):
    model, x = trained(name)
    bad = {"new": 1, **x, "free": count}
    for act in (
        lambda: model.learn_one(bad, "new"),
        lambda: model.predict_learn_one(bad, "new"),
        lambda: model.predict_one(bad),
        lambda: model.predict_one({"unknown": count}),
        lambda: model.unlearn_one(bad, "rain"),
    ):
        refuses(model, BadValue, "a count ... finite", act)
    refuses(
        model, BadValue, "row 1 ... 'free' ... a count", lambda: model.learn_many([x, bad], ["new", "rain"])
    )
    frame = pd.DataFrame({"free": [1.0, math.inf if isinstance(count, int) and count > 1 else float(count)]})
    refuses(model, BadValue, "row 1 ... 'free'", lambda: model.learn_many(frame, ["new", "rain"]))


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "BernoulliNB"])
@pytest.mark.parametrize("count", ["2", [1], 1j, b"1", (1,)], ids=repr)
def test_a_count_that_is_no_number(name, count):
    model, x = trained(name)
    for act in (
        lambda: model.learn_one({"new": 1, **x, "free": count}, "new"),
        lambda: model.predict_one({"free": count}),
    ):
        refuses(model, BadValue, "'free'", act)
