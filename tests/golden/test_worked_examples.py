"""Worked examples of textbooks and lecture notes, learned one sample at a time, to the digit they print.

A figure stands here as it is printed: `shows(value, "0.474")` asks that the value, rounded to as many digits,
reads the same.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB as BatchGaussianNB

from stream_bayes import Costs, GaussianNB, NaiveBayes, Nominal, Schema

HERE = Path(__file__).parent


def shows(value: float, printed: str) -> bool:
    return f"{value:.{len(printed.partition('.')[2])}f}" == printed


def samples(name: str, target: str, numeric: tuple[str, ...] = ()) -> list[tuple[dict[str, Any], str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        rows: list[dict[str, Any]] = [dict(row) for row in csv.DictReader(file)]
    for row in rows:
        row.update((column, float(row[column])) for column in numeric)
    return [(row, row.pop(target)) for row in rows]


# --- watermelons: six nominal features and two numeric ones, seventeen melons ---

WATERMELONS = [(x, ripe == "true") for x, ripe in samples("watermelon-3.0.csv", "ripe", ("density", "sugar"))]
T1 = {
    "color": "green",
    "root": "curly",
    "sound": "muffled",
    "texture": "clear",
    "umbilicus": "hollow",
    "surface": "hard",
    "density": 0.697,
    "sugar": 0.460,
}


def melons(**settings: Any) -> NaiveBayes:
    model = NaiveBayes(predictive="plug-in", **settings)
    for x, ripe in WATERMELONS:
        model.learn_one(x, ripe)
    return model


@pytest.mark.parametrize(
    ("feature", "value", "ripe", "unripe"),
    [
        ("color", "green", 3 / 8, 3 / 9),
        ("root", "curly", 5 / 8, 3 / 9),
        ("sound", "muffled", 6 / 8, 4 / 9),
        ("texture", "clear", 7 / 8, 2 / 9),
        ("umbilicus", "hollow", 5 / 8, 2 / 9),
        ("surface", "hard", 6 / 8, 6 / 9),
    ],
)
def test_melons_unsmoothed_tables_are_shares_of_the_class(feature, value, ripe, unripe):
    model = melons(strength=0)
    assert model.conditional(feature, {"class": True})[value] == ripe
    assert model.conditional(feature, {"class": False})[value] == unripe


@pytest.mark.parametrize(
    ("feature", "ripe", "mean", "sd", "density"),
    [
        ("density", True, ".574", ".129", "1.959"),
        ("density", False, ".496", ".195", "1.203"),
        ("sugar", True, ".279", ".101", "0.788"),
        ("sugar", False, ".154", ".108", "0.066"),
    ],
)
def test_melons_densities_are_gaussian_with_the_n_minus_1_variance(feature, ripe, mean, sd, density):
    model = melons(strength=0)
    table = model.conditional(feature, {"class": ripe})
    assert shows(table["mean"], f"0{mean}")
    assert shows(table["sd"], f"0{sd}")
    assert shows(math.exp(model.explain_one(T1).evidence[feature][ripe]), density)


def test_melon_t1_is_ripe_with_the_joint_probabilities_printed():
    model = melons(strength=0)
    joint = {ripe: math.exp(score) for ripe, score in model.joint_log_likelihood(T1).items()}
    assert shows(joint[True], "0.052")
    assert shows(joint[True], "0.05238")
    assert f"{joint[False]:.3e}" == "6.858e-05"
    assert model.predict_one(T1) is True


def test_melon_t1_unripe_from_rounded_factors_is_the_printed_product():
    evidence = melons(strength=0).explain_one(T1).evidence
    factors = [math.exp(per_class[False]) for per_class in evidence.values()]
    product = round(9 / 17, 3) * math.prod(round(factor, 3) for factor in factors)
    assert f"{product:.2e}" == "6.80e-05"


def test_melons_laplace_adds_one_to_every_cell():
    model = melons()
    prior = model.class_prior_
    assert prior == pytest.approx({True: 9 / 19, False: 10 / 19}, abs=1e-15)
    assert shows(prior[True], "0.474")
    assert shows(prior[False], "0.526")
    color, sound = model.conditional("color"), model.conditional("sound")
    assert color[True]["green"] == 4 / 11
    assert shows(color[True]["green"], "0.364")
    assert color[False]["green"] == 4 / 12
    assert shows(color[False]["green"], "0.333")
    assert sound[True]["crisp"] == 1 / 11
    assert shows(sound[True]["crisp"], "0.091")


# --- play tennis: fourteen days, four nominal features ---

DAYS = samples("play-tennis.csv", "play")
SUNNY = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}


def tennis(strength: float) -> NaiveBayes:
    model = NaiveBayes(strength=strength)
    for x, play in DAYS:
        model.learn_one(x, play)
    return model


@pytest.mark.parametrize(
    ("feature", "value", "yes", "no"),
    [
        ("outlook", "Sunny", 2 / 9, 3 / 5),
        ("temperature", "Cool", 3 / 9, 1 / 5),
        ("humidity", "High", 3 / 9, 4 / 5),
        ("wind", "Strong", 3 / 9, 3 / 5),
    ],
)
def test_tennis_tables_are_shares_of_the_class(feature, value, yes, no):
    model = tennis(strength=0)
    assert model.conditional(feature, {"class": "Yes"})[value] == yes
    assert model.conditional(feature, {"class": "No"})[value] == no


def test_tennis_is_not_played_on_a_sunny_cool_humid_windy_day():
    model = tennis(strength=0)
    joint = {play: math.exp(score) for play, score in model.joint_log_likelihood(SUNNY).items()}
    assert shows(joint["Yes"], "0.0053")
    assert shows(joint["No"], "0.0206")
    assert model.predict_one(SUNNY) == "No"


@pytest.mark.parametrize("imaginary", [0.5, 1, 2, 10])
def test_tennis_with_l_imaginary_examples_a_cell(imaginary):
    model = tennis(strength=imaginary)
    days = {"Yes": 9, "No": 5}
    for play, n in days.items():
        assert model.class_prior_[play] == pytest.approx((n + imaginary) / (14 + imaginary * 2), abs=1e-15)
        for feature in SUNNY:
            counts: dict[str, int] = dict.fromkeys([x[feature] for x, _ in DAYS], 0)
            for x, y in DAYS:
                counts[x[feature]] += y == play
            expected = {
                value: (count + imaginary) / (n + imaginary * len(counts)) for value, count in counts.items()
            }
            assert model.conditional(feature, {"class": play}) == pytest.approx(expected, abs=1e-15)


# --- temperatures: one Gaussian a class ---


def test_temperatures_have_the_printed_means_and_deviations():
    model = GaussianNB(predictive="plug-in")
    for play, temperatures in {
        "Yes": [25.2, 19.3, 18.5, 21.7, 20.1, 24.3, 22.8, 23.1, 19.8],
        "No": [27.3, 30.1, 17.4, 29.5, 15.1],
    }.items():
        for temperature in temperatures:
            model.learn_one({"temperature": temperature}, play)
    yes, no = model.conditional("temperature")["Yes"], model.conditional("temperature")["No"]
    assert shows(yes["mean"], "21.64")
    assert shows(no["mean"], "23.88")
    assert shows(yes["sd"], "2.35")
    assert shows(no["sd"], "7.09")


# --- the Titanic: 2201 people in 24 weighted rows ---

PASSENGERS = [(x, survived, int(x.pop("n"))) for x, survived in samples("titanic-counts.csv", "survived")]
# One of the features is called "class", so the class variable goes by another name.
SHIP = Schema({"class": Nominal(), "sex": Nominal(), "age": Nominal()}, target="survived")


def titanic(*, weighted: bool) -> NaiveBayes:
    model = NaiveBayes(strength=0, schema=SHIP)
    for x, survived, n in PASSENGERS:
        if weighted:
            model.learn_one(x, survived, w=n)
        else:
            for _ in range(n):
                model.learn_one(x, survived)
    return model


@pytest.mark.parametrize("weighted", [True, False], ids=["weighted", "one by one"])
def test_titanic_tables_are_the_printed_ones(weighted):
    model = titanic(weighted=weighted)
    assert shows(model.class_prior_["No"], "0.676965")
    assert shows(model.class_prior_["Yes"], "0.323035")
    assert shows(model.conditional("class", {"survived": "No"})["1st"], "0.08187919")
    assert shows(model.conditional("sex", {"survived": "No"})["Male"], "0.91543624")
    assert shows(model.conditional("age", {"survived": "No"})["Adult"], "0.96510067")
    assert shows(model.conditional("class", {"survived": "Yes"})["Crew"], "0.29817159")


def test_titanic_training_rows_are_predicted_with_the_printed_confusion():
    model = titanic(weighted=True)
    confusion: dict[tuple[str, str], int] = {}
    for x, survived, n in PASSENGERS:
        cell = (model.predict_one(x), survived)
        confusion[cell] = confusion.get(cell, 0) + n
    assert confusion == {
        ("No", "No"): 1364,
        ("No", "Yes"): 362,
        ("Yes", "No"): 126,
        ("Yes", "Yes"): 349,
    }


# --- a coin: 75 white of 100 ---


def coin(strength: float) -> NaiveBayes:
    model = NaiveBayes(strength=strength)
    for toss in range(100):
        model.learn_one({}, "black" if toss % 4 == 3 else "white")
    return model


def test_coin_maximum_likelihood_is_the_share():
    assert coin(0).class_prior_["white"] == 0.75
    assert coin(0).predict_proba_one({})["white"] == pytest.approx(0.75, abs=1e-15)


def test_coin_with_a_uniform_prior_has_the_posterior_mean_and_the_exact_beta_interval():
    model = coin(1)
    assert model.class_prior_["white"] == pytest.approx(76 / 102, abs=1e-15)
    low, high = model.predict_interval_one({}, level=0.95)["white"]
    assert shows(low, "0.6567")
    assert shows(high, "0.8244")


# --- decisions ---


def test_the_decision_with_the_least_risk_is_the_sum_over_classes_of_cost_times_probability():
    lambdas = {
        "a": {"c1": 0, "c2": 5, "c3": 1},
        "b": {"c1": 2, "c2": 0, "c3": 1},
        "c": {"c1": 3, "c2": 3, "c3": 0},
    }
    p = {"c1": 0.5, "c2": 0.3, "c3": 0.2}
    costs = Costs(lambdas)
    risk = {decision: sum(row[label] * p[label] for label in p) for decision, row in lambdas.items()}
    assert costs.risk(p) == pytest.approx(risk, abs=1e-15)
    assert costs.decide(p) == min(risk, key=risk.__getitem__) == "b"


def test_with_zero_one_costs_the_decision_is_the_most_probable_class():
    model = tennis(strength=1)
    costs = Costs.zero_one(["Yes", "No"])
    for x, _ in DAYS:
        assert costs.decide(model.predict_proba_one(x)) == model.predict_one(x)


@pytest.mark.parametrize("c", [0.5, 1, 2, 9, 99])
def test_with_a_false_positive_c_times_as_dear_spam_needs_c_of_one_plus_c(c):
    costs = Costs.false_positive(c)
    for p in [c / (1 + c) + step for step in (-0.001, 0.0, 0.001)]:
        assert costs.decide({"spam": p, "ham": 1 - p}) == ("spam" if p >= c / (1 + c) else "ham")


# --- iris ---


def test_iris_is_classified_with_the_printed_accuracy_and_as_the_batch_learner_does():
    iris = load_iris()
    train, test, train_y, test_y = train_test_split(
        iris.data, iris.target, test_size=0.3, random_state=20190308
    )
    model = GaussianNB(predictive="plug-in")
    for row, y in zip(train.tolist(), train_y.tolist(), strict=True):
        model.learn_one(dict(enumerate(row)), y)
    predicted = [model.predict_one(dict(enumerate(row))) for row in test.tolist()]
    accuracy = sum(p == y for p, y in zip(predicted, test_y.tolist(), strict=True)) / len(predicted)
    assert shows(accuracy, "0.9333")
    assert accuracy == BatchGaussianNB().fit(train, train_y).score(test, test_y)
