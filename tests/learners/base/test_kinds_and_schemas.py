"""What kind a feature is, by its first value or by the schema, and arguments that contradict."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stream_bayes import GaussianNB, NaiveBayes, Nominal, Numeric, Schema
from stream_bayes.errors import BadLabel, BadValue, KindChanged, NotSupported, SchemaError, UnknownFeature
from tests.learners.training import trained


def test_without_a_schema_the_first_value_decides_the_kind():
    model = trained(NaiveBayes(), [({"s": "u", "b": True, "t": (1, 2), "y": b"x", "i": 3, "f": 0.5}, "a")])
    for name in "sbty":
        assert list(model.conditional(name)["a"].values()) == [1.0]
    for name in "if":
        assert model.conditional(name)["a"].keys() == {"mean", "sd"}


def test_a_boolean_and_a_number_are_the_same_value_where_they_are_nominal():
    model = NaiveBayes(schema=Schema({"n": Nominal()}))
    for value in (True, 1, 1.0, "1"):
        model.learn_one({"n": value}, "a")
    assert model.conditional("n")["a"] == {True: 4 / 6, "1": 2 / 6}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("u", 1, "nominal"),
        (True, 2.5, "nominal"),
        (1, "u", "numeric"),
        (2.5, b"x", "numeric"),
        (1, ("a",), "numeric"),
    ],
)
def test_a_feature_that_changes_kind_is_refused_at_learning_and_predicting(first, second, expected):
    model = trained(NaiveBayes(), [({"x": first}, "a")])
    before = model.state()["checksum"]
    for act in (lambda: model.learn_one({"x": second}, "a"), lambda: model.predict_one({"x": second})):
        with pytest.raises(KindChanged, match=f"'x' is {expected}"):
            act()
    assert model.state()["checksum"] == before


@pytest.mark.parametrize(
    "model",
    [
        trained(NaiveBayes(), [({"x": 1.0}, "a")]),
        trained(GaussianNB(), [({"x": 1.0}, "a")]),
        GaussianNB(),
        NaiveBayes(schema=Schema({"x": Numeric()})),
        GaussianNB(schema=Schema({"x": Numeric()})),
    ],
    ids=["met", "Gaussian, met", "Gaussian, new", "declared", "Gaussian, declared"],
)
@pytest.mark.parametrize("value", [True, np.True_, "1.0", b"1", (1.0,)])
def test_a_numeric_feature_takes_numbers_only(model, value):
    with pytest.raises((BadValue, KindChanged), match="'x' is numeric"):
        model.learn_one({"x": value}, "a")


def test_numpy_numbers_are_numbers():
    model = trained(
        GaussianNB(), [({"x": np.float32(1.5), "y": np.int64(3)}, "a"), ({"x": 2, "y": np.uint8(5)}, "a")]
    )
    assert model.conditional("x")["a"]["mean"] == 1.75
    assert model.conditional("y")["a"]["mean"] == 4.0


def test_ints_are_nominal_where_the_schema_says_so():
    model = trained(
        NaiveBayes(schema=Schema({"die": [1, 2, 3, 4, 5, 6]})), [({"die": 6}, "loaded"), ({"die": 2}, "fair")]
    )
    assert model.conditional("die")["loaded"] == {1: 1 / 7, 2: 1 / 7, 3: 1 / 7, 4: 1 / 7, 5: 1 / 7, 6: 2 / 7}


def test_a_closed_feature_refuses_other_values_at_learning_and_skips_them_at_predicting():
    model = NaiveBayes(schema=Schema({"sky": Nominal(["grey", "blue"], closed=True)}))
    model.learn_one({"sky": "grey"}, "rain")
    before = model.state()["checksum"]
    with pytest.raises(BadValue, match="'sky': 'green' is not among the declared values"):
        model.learn_one({"sky": "green"}, "rain")
    assert model.state()["checksum"] == before
    assert model.predict_proba_one({"sky": "green"}) == {"rain": 1.0}


@pytest.mark.parametrize("kind", [NaiveBayes, GaussianNB])
def test_a_feature_that_is_not_declared_is_ignored_or_refused(kind):
    ignoring = kind(schema=Schema({"x": Numeric()}))
    refusing = kind(schema=Schema({"x": Numeric()}, unknown="refuse"))
    ignoring.learn_one({"x": 1.0, "other": "u"}, "a")
    assert ignoring.store.by_name() == {("a",): 1.0, ("x", "a"): (1.0, 1.0, 0.0)}
    ignoring.unlearn_one({"x": 1.0, "other": "u"}, "a")
    assert ignoring.store.by_name() == {}
    for act in (refusing.predict_one, lambda x: refusing.learn_one(x, "a")):
        with pytest.raises(UnknownFeature, match="'other' is not declared"):
            act({"x": 1.0, "other": "u"})
    assert refusing.store.by_name() == {}


def test_declared_classes_are_all_there_are():
    model = NaiveBayes(schema=Schema({"x": Numeric()}, classes=["a", "b"]))
    with pytest.raises(BadLabel, match="'c' is not among the declared classes"):
        model.learn_one({"x": 1.0}, "c")
    model.learn_one({"x": 1.0}, "a")
    assert model.predict_proba_one({}) == pytest.approx({"a": 2 / 3, "b": 1 / 3})
    assert model.classes_ == ("a", "b")


def test_the_class_goes_by_the_schemas_name():
    model = NaiveBayes(schema=Schema({"class": Nominal()}, target="survived"))
    model.learn_one({"class": "first"}, True)
    assert model.conditional("class", {"survived": True}) == {"first": 1.0}
    with pytest.raises(NotSupported, match="the class is called 'survived'"):
        model.conditional("class", {"class": "first"})
    with pytest.raises(BadLabel, match="the classes are"):
        model.conditional("class", {"survived": "perhaps"})


def test_a_schema_must_suit_the_learner():
    with pytest.raises(SchemaError, match="'sky' is declared nominal"):
        GaussianNB(schema=Schema({"sky": Nominal()}))
    with pytest.raises(SchemaError, match="class_prior names the classes"):
        NaiveBayes(schema=Schema({"x": Numeric()}, classes=["a", "b"]), class_prior={"a": 0.5, "c": 0.5})
    with pytest.raises(BadValue, match="schema must be a Schema"):
        NaiveBayes(schema={"x": Numeric()})  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"prior": "bayes"}, "prior must be one of 'laplace', 'm-estimate'"),
        ({"strength": -1}, "strength must be a finite number of at least 0"),
        ({"strength": math.nan}, "strength must be a finite number"),
        ({"strength": "1"}, "strength must be a finite number"),
        ({"class_prior": "even"}, "class_prior must be 'counted', 'uniform' or"),
        ({"class_prior": {"a": 0.5, "b": 0.6}}, "must sum to 1"),
        ({"class_prior": {"a": 1.5, "b": -0.5}}, "at least 0"),
        ({"half_life": 0}, "half_life must be a finite number above 0"),
        ({"half_life": math.inf}, "half_life must be a finite number"),
        ({"variance": "all"}, "variance must be one of"),
        ({"variance_floor": -1e-9}, "variance_floor must be"),
        ({"max_values": 0}, "max_values must be a whole number of at least 1"),
        ({"max_values": True}, "max_values must be a whole number"),
        ({"memory_budget": 1.5}, "memory_budget must be a whole number"),
    ],
)
def test_wrong_arguments_are_refused_when_the_learner_is_made(settings, words):
    with pytest.raises(BadValue, match=words):
        NaiveBayes(**settings)
