"""The value of features and of the label: by enumeration and quadrature, never below 0, refused without P(x, y)."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from river import naive_bayes
from scipy import stats

from stream_bayes import (
    AODE,
    LDA,
    QDA,
    TAN,
    AdaptiveBayes,
    BayesianLogistic,
    BayesNetClassifier,
    Binning,
    Costs,
    DecidingClassifier,
    GaussianNB,
    LiveChoice,
    NaiveBayes,
    NearestNeighbours,
    SlidingWindow,
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


def numbers_of(seed: int, count: int) -> list[Any]:
    source, rows = random.Random(seed), []
    for _ in range(count):
        y = source.choice(["ill", "well", "well"])
        first = source.gauss(y == "ill", 1.0)
        rows.append(({"n": first, "m": first + source.gauss(0.5 * (y == "ill"), 0.2)}, y))
    return rows


def test_the_value_of_a_number_is_what_the_overlap_of_two_gaussians_leaves() -> None:
    costs, model = Costs.zero_one(["ill", "well"]), GaussianNB(predictive="plug-in", variance="classes")
    for x, y in numbers_of(1, 200):
        model.learn_one({"n": x["n"]}, y)
    (high, sd), (low, _) = (model.conditional("n", {"class": y}).values() for y in ("ill", "well"))
    p, q = model.class_prior_["ill"], model.class_prior_["well"]
    border = (high + low) / 2 - sd**2 * math.log(p / q) / (high - low)  # above it, ill is more probable
    wrong = p * stats.norm.cdf(border, high, sd) + q * stats.norm.sf(border, low, sd)
    assert DecidingClassifier(model, costs).value_of_one({}, "n") == pytest.approx(
        min(p, q) - wrong, rel=1e-6
    )


@pytest.mark.parametrize(
    "classifier", [NaiveBayes(), QDA(), LDA(shrinkage=0.0), AODE(binning=Binning(bins=4))]
)
def test_the_value_of_a_number_is_the_risk_saved_on_average_over_it(classifier: Any) -> None:
    model = DecidingClassifier(classifier, COSTS)
    for x, y in numbers_of(2, 300):
        model.learn_one(x, y)
    most = 0.0
    for x in ({}, {"m": 1.5}):
        line = np.linspace(-25.0, 25.0, 40_001)
        if isinstance(classifier, AODE):  # a number is uniform in its bin, which has the measure 1
            bins: Any = classifier.store.encoder.bins
            slot = classifier.store.encoder.features["n"].slot
            ends = [bins.edges[slot][0], *bins.cuts[slot], bins.edges[slot][1]]
            line = np.concatenate([np.linspace(a, b, 4001)[:-1] for a, b in pairwise(ends)])
        joint = [list(classifier.joint_log_likelihood({**x, "n": v}).values()) for v in line.tolist()]
        cost = [[COSTS.cost(d, y) for d in COSTS.decisions] for y in classifier.classes_]
        risks = np.exp(joint) @ np.array(cost)
        saved = (risks.sum(axis=0).min() - risks.min(axis=1).sum()) / np.exp(joint).sum()
        most = max(most, saved)
        assert model.value_of_one(x, "n") == pytest.approx(saved, rel=5e-3, abs=1e-9)
    assert most > 0.05


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
    binned = DecidingClassifier(AODE(), COSTS)
    binned.learn_one({"n": 1.0}, "ill")
    with pytest.raises(NotLearned, match="cut points of 'n' are not set yet"):
        binned.value_of_one({}, "n")
    for refused, feature, message in [
        (DecidingClassifier(naive_bayes.GaussianNB(), COSTS), "a", "no joint probabilities"),
        *[
            (DecidingClassifier(each, COSTS), "a", "no joint probabilities")  # P(y | x) alone
            for each in (
                AdaptiveBayes(),
                LiveChoice(),
                NearestNeighbours(),
                BayesianLogistic(features="fourier"),
                BayesianLogistic(),
                SlidingWindow(LiveChoice(), 9),
            )
        ],
        (DecidingClassifier(NaiveBayes(), Thresholds(0.9)), "a", "Thresholds has no costs"),
    ]:
        with pytest.raises(NotSupported, match=message):
            refused.value_of_one({}, feature)
