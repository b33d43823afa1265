"""Copies of models behind pipelines, rules and drift detection: each predicts, explains and describes itself."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from river import compose, linear_model, preprocessing

from stream_bayes import (
    A2DE,
    AODE,
    TAN,
    AdaptiveBayes,
    BayesNetClassifier,
    DecidingClassifier,
    DriftAdaptive,
    HalfLifeChoice,
    NaiveBayes,
    Thresholds,
)
from stream_bayes.data.features import Nominal, Numeric
from stream_bayes.data.schema import Schema
from stream_bayes.errors import NotSupported, UnknownFeature
from stream_bayes.mail import SpamFilter
from stream_bayes.serve.model_answers import ModelAnswers

MODELS: dict[str, Any] = {
    "pipeline": preprocessing.StandardScaler() | NaiveBayes(),
    "renamed network": compose.Prefixer("my ") | BayesNetClassifier(),
    "drift": preprocessing.StandardScaler() | DriftAdaptive(TAN()),
    "rule": DecidingClassifier(NaiveBayes(), Thresholds(0.999)),
    "rule of a pipeline": DecidingClassifier(
        preprocessing.StandardScaler() | NaiveBayes(), Thresholds(0.999)
    ),
    "mixture": AdaptiveBayes(label_memory=0),
    "half-lives": HalfLifeChoice(NaiveBayes(), (None, 50.0)),
    "River's": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
}
X = {"wind": 1.0, "rain": 4.0}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_behind_others_predicts_explains_and_is_described(name: str) -> None:
    model = MODELS[name].clone()
    for day in range(150):
        model.learn_one({"wind": day % 7 / 2, "rain": float(day % 3 + 3 * (day % 2))}, day % 2 == 1)
    copy = ModelAnswers(model)
    answer = copy.predict(X)
    own = model.predict_proba_one(X)
    assert answer["probabilities"] == pytest.approx({str(label).lower(): p for label, p in own.items()})
    assert answer["prediction"] == ("unsure" if "rule" in name else True)
    assert copy.predict_many([X, X])["predictions"][1]["prediction"] == answer["prediction"]
    if name == "River's":
        with pytest.raises(NotSupported, match="has no intervals"):
            copy.predict(X, level=0.9)
    else:
        intervals = copy.predict(X, level=0.9)["intervals"]
        for label, p in answer["probabilities"].items():
            assert intervals[label][0] <= p <= intervals[label][1]
        assert copy.predict_many([X], level=0.9)["predictions"][0]["intervals"] == intervals
        assert copy.explain(X, level=0.9)["intervals"] == intervals
    explained = copy.explain(X)
    strongest = explained["evidence"][0]
    assert strongest["feature"] == ("my rain" if "renamed" in name else "rain")
    assert strongest["evidence"]["true"] > strongest["evidence"]["false"]
    described = copy.describe()
    if name != "River's":
        assert described["learner"] in {type(copy.answering).__name__}
        assert {each["name"] for each in described["features"]} >= {strongest["feature"]}
        assert set(map(str, described["labels"])) == {"True", "False"}


def test_predicting_learns_nothing_where_events_without_a_label_are_learned() -> None:
    model = NaiveBayes(unlabelled="em")
    for number in range(20):
        model.learn_one({"a": "xy"[number % 2]}, number % 2)
    copy = ModelAnswers(model)
    copy.predict_many([{"a": "x"}] * 50)
    assert (copy.answering.clock, model.clock) == (20, 20)


@pytest.mark.parametrize("name", ["rule", "mixture", "half-lives"])
def test_an_unknown_feature_is_refused_where_features_are_the_models_own(name: str) -> None:
    model = MODELS[name].clone()
    model.learn_one({"wind": 1.0}, "yes")
    with pytest.raises(UnknownFeature, match="did you mean 'wind'"):
        ModelAnswers(model).predict({"wnd": 1.0})


@pytest.mark.parametrize("average", [AODE(min_count=1), A2DE()])
def test_an_average_over_parents_is_drawn_by_its_strongest_dependences(average: Any) -> None:
    tree, model = TAN(), average.clone()
    for day in range(300):
        numbers = {"sky": day % 3, "wind": (day % 3) // 2, "moon": day // 7 % 4, "street": day % 2}
        x = {name: f"v{value}" for name, value in numbers.items()}
        for learner in (tree, model):
            learner.learn_one(x, "yes" if day % 5 else "no")
    tree.rederive()
    described = ModelAnswers(model).describe()
    expected = [[parent, child] for child, parent in tree.parents_.items() if parent is not None]
    assert sorted(described["edges"]) == sorted(expected)
    assert {"sky", "wind"} in map(set, described["edges"])
    assert described["edges_are"] == "dependences"
    assert {node["name"] for node in described["graph"]["nodes"]} == {"sky", "wind", "moon", "street"}


def test_a_filter_is_described_by_its_most_telling_tokens_unless_they_are_hashed() -> None:
    plain, hashed = SpamFilter(), SpamFilter(key=b"a key of sixteen bytes")
    for n in range(60):
        mail = f"{'winner' if n % 2 else 'agenda'} hello{n % 7} {'cheap' if n % 4 == 1 else 'tea'}"
        for model in (plain, hashed):
            model.learn_one(mail, "spam" if n % 2 else "ham", id=f"m{n}")
    told = ModelAnswers(plain).describe()["telling"]
    assert {each["token"] for each in told[:2]} == {"winner", "agenda"}
    assert told[0]["information"] == pytest.approx(math.log(2))
    found = {each["token"]: (each["wanted"], each["unwanted"]) for each in told}
    assert found["winner"] == (0.0, 30.0) and found["agenda"] == (30.0, 0.0) and found["cheap"] == (0.0, 15.0)
    assert [each["information"] for each in told] == sorted(
        (each["information"] for each in told), reverse=True
    )
    assert (
        ModelAnswers(hashed).describe()["telling"] == []
        and ModelAnswers(SpamFilter()).describe()["telling"] == []
    )


def test_each_row_of_a_monitor_has_a_posterior_by_its_name_which_is_evidence_too() -> None:
    model = BayesNetClassifier(
        schema=Schema({"t": Numeric([-1, 0, 1]), "w": Numeric(range(1, 20)), "f": Nominal()})
    )
    rng = random.Random(1)
    for k in range(300):
        x = {"t": rng.gauss(0, 1), "w": rng.uniform(0, 20), "f": rng.choice((1.0, 2.5, True))}
        model.learn_one(x, float(k % 3))
    copy = ModelAnswers(model)
    posteriors = copy.query({}, None)["posteriors"]
    monitors = {node["name"]: node["rows"] for node in copy.describe()["graph"]["nodes"]}
    assert (
        monitors.keys() == posteriors.keys()
        and len(monitors["t"]) == 4
        and monitors["w"][-1]["value"] is None
    )
    for name, rows in monitors.items():
        for value in (row["value"] for row in rows if row["value"] is not None):
            assert posteriors[name]["probabilities"][value] > 0.0
            answer = copy.query({name: value}, [name])
            assert answer["posteriors"][name]["probabilities"][value] == 1.0
            alone = math.log(posteriors[name]["probabilities"][value])
            assert answer["evidence"]["log_probability"] == pytest.approx(alone)
