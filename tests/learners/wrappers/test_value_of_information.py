"""The value of a feature and of the label: by enumeration, never below 0, and refused where it is not known."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from river import naive_bayes

from stream_bayes import (
    AODE,
    TAN,
    AdaptiveBayes,
    BayesNetClassifier,
    Costs,
    DecidingClassifier,
    NaiveBayes,
    Thresholds,
)
from stream_bayes.errors import BadValue, NotLearned, NotSupported, UnknownFeature

COSTS = Costs(
    {"treat": {"ill": 0, "well": 20}, "home": {"ill": 100, "well": 0}, "test": {"ill": 7, "well": 7}}
)
STRUCTURE: dict[str, list[str]] = {"c": [], "a": ["c"], "b": ["a", "c"]}


def taught(classifier: Any) -> DecidingClassifier:
    source, model = random.Random(3), DecidingClassifier(classifier, COSTS)
    for _ in range(120):
        y = "ill" if source.random() < 0.2 else "well"
        a = "xyz"[(y == "ill") + (source.random() < 0.3)]
        model.learn_one({"a": a, "b": "uv"[(y == "ill") == (source.random() < 0.7)]}, y)
    return model


@pytest.mark.parametrize(
    "classifier", [NaiveBayes(), AODE(), TAN(), BayesNetClassifier(STRUCTURE, target="c")]
)
def test_the_value_is_the_risk_saved_on_average_over_the_feature_and_never_below_0(classifier: Any) -> None:
    model = taught(classifier)
    for x, feature in [({}, "a"), ({"b": "u"}, "a"), ({"a": "y"}, "b"), ({"a": "z"}, "b")]:
        weights = {v: {y: math.exp(s) for y, s in classifier.joint_log_likelihood({**x, feature: v}).items()}
                   for v in ("xyz" if feature == "a" else "uv")}  # fmt: skip
        total = sum(sum(row.values()) for row in weights.values())
        before = min(
            sum(COSTS.cost(d, y) * sum(row[y] for row in weights.values()) for y in ("ill", "well"))
            for d in COSTS.decisions
        )
        after = sum(
            min(sum(COSTS.cost(d, y) * p for y, p in row.items()) for d in COSTS.decisions)
            for row in weights.values()
        )
        value = model.value_of_one(x, feature)
        assert value == pytest.approx((before - after) / total, abs=1e-12) and value >= 0.0
        if not isinstance(classifier, AODE | TAN):
            assert before / total == pytest.approx(model.risk_one(x))  # of which the feature is a part
        assert value <= model.value_of_one(x) + 1e-9 or isinstance(
            classifier, AODE | TAN
        )  # that of the label


def test_a_label_is_asked_for_where_it_is_worth_its_price() -> None:
    model = taught(NaiveBayes())
    x = {"a": "y"}
    p = model.predict_proba_one(x)["ill"]
    assert model.risk_one(x) == model.value_of_one(x) == pytest.approx(min(20 * (1 - p), 100 * p, 7))
    assert model.ask_one(x, model.value_of_one(x) - 0.1) and not model.ask_one(x, model.value_of_one(x))


def test_what_has_no_value_is_refused() -> None:
    model = taught(NaiveBayes())
    for x, feature, error, message in [
        ({"a": "x"}, "a", BadValue, "has 'a' already"),
        ({}, "c", UnknownFeature, "no feature 'c'"),
    ]:
        with pytest.raises(error, match=message):
            model.value_of_one(x, feature)
    with pytest.raises(BadValue, match="price"):
        model.ask_one({}, -1.0)
    with pytest.raises(NotLearned, match="no class is known"):
        DecidingClassifier(NaiveBayes(), COSTS).value_of_one({}, "a")
    with pytest.raises(NotLearned, match="no class is known"):
        DecidingClassifier(NaiveBayes(), COSTS).ask_one({}, 1.0)
    assert math.isnan(DecidingClassifier(NaiveBayes(), COSTS).risk_one({}))
    numbers = DecidingClassifier(NaiveBayes(), COSTS)
    numbers.learn_one({"n": 1.0}, "ill")
    binned = DecidingClassifier(AODE(), COSTS)
    binned.learn_one({"n": 1.0}, "ill")
    for refused, feature, message in [
        (numbers, "n", "'n' is a number"),
        (binned, "n", "'n' is a number"),
        (DecidingClassifier(naive_bayes.GaussianNB(), COSTS), "a", "no joint probabilities"),
        (DecidingClassifier(AdaptiveBayes(), COSTS), "a", "no joint probabilities"),
        (DecidingClassifier(NaiveBayes(), Thresholds(0.9)), "a", "Thresholds has no costs"),
    ]:
        with pytest.raises(NotSupported, match=message):
            refused.value_of_one({}, feature)
