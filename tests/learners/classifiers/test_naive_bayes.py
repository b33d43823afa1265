"""Naive Bayes on nominal and mixed features: smoothing, class priors, test-then-train."""

from __future__ import annotations

import itertools
import math

import pytest

from stream_bayes import GaussianNB, NaiveBayes, Schema
from stream_bayes.errors import BadLabel, NotSupported, UnknownFeature
from tests.learners.training import Row, trained


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("prior", ["laplace", "m-estimate"])
def test_smoothing_is_the_formula_for_classes_and_values(prior, strength):
    model = NaiveBayes(prior=prior, strength=strength)
    for sky, y, n in [("grey", "rain", 4), ("blue", "rain", 1), ("blue", "sun", 2), ("red", "sun", 1)]:
        model.learn_one({"sky": sky}, y, w=n)

    def smoothed(n: float, total: float, cells: int) -> float:
        if prior == "laplace":
            return (n + strength) / (total + strength * cells)
        return (n + strength / cells) / (total + strength)

    assert model.class_prior_ == pytest.approx(
        {"rain": smoothed(5, 8, 2), "sun": smoothed(3, 8, 2)}, abs=1e-15
    )
    rain, sun = {"grey": 4, "blue": 1, "red": 0}, {"grey": 0, "blue": 2, "red": 1}
    for y, counts, total in (("rain", rain, 5), ("sun", sun, 3)):
        expected = {value: smoothed(n, total, 3) for value, n in counts.items()}
        assert model.conditional("sky", {"class": y}) == pytest.approx(expected, abs=1e-15)
        for value in counts:
            score = model.joint_log_likelihood({"sky": value})[y]
            joint = expected[value] * model.class_prior_[y]
            assert math.exp(score) == pytest.approx(joint, abs=1e-15)
            cells = model.joint("sky")[y]
            assert cells[value] == pytest.approx(smoothed(counts[value], 8, 6), abs=1e-15)


def test_a_missing_value_is_left_out_of_the_denominator():
    model = NaiveBayes()
    for sky in ["grey", None, float("nan"), "grey"]:
        model.learn_one({"sky": sky}, "rain")
    model.learn_one({"wind": "west"}, "rain")
    model.learn_one({"sky": "blue"}, "sun")
    assert model.conditional("sky")["rain"] == {"grey": 3 / 4, "blue": 1 / 4}


def test_a_value_never_seen_or_all_unlearned_is_skipped():
    model = trained(
        NaiveBayes(), [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun"), ({"sky": "red"}, "sun")]
    )
    model.unlearn_one({"sky": "red"}, "sun")
    for value in ("green", "red"):
        assert model.joint_log_likelihood({"sky": value}) == model.joint_log_likelihood({})
    assert model.conditional("sky")["rain"].keys() == {"grey", "blue"}


def test_a_declared_value_without_weight_is_a_zero_count():
    schema = Schema({"sky": ["grey", "blue", "red"]}, classes=["rain", "sun", "snow"])
    model = trained(NaiveBayes(schema=schema), [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")])
    assert model.conditional("sky")["rain"] == {"grey": 2 / 4, "blue": 1 / 4, "red": 1 / 4}
    assert model.conditional("sky")["snow"] == {"grey": 1 / 3, "blue": 1 / 3, "red": 1 / 3}
    assert model.class_prior_ == pytest.approx({"rain": 2 / 5, "sun": 2 / 5, "snow": 1 / 5})
    assert model.joint_log_likelihood({"sky": "red"})["rain"] == pytest.approx(math.log(2 / 5 * 1 / 4))
    assert model.joint_log_likelihood({"sky": "green"}) == model.joint_log_likelihood({})


def test_unsmoothed_0_of_0_is_skipped():
    model = NaiveBayes(strength=0)
    model.learn_one({"sky": "grey"}, "rain")
    model.learn_one({}, "sun")  # never had a sky
    assert model.predict_proba_one({"sky": "grey"}) == pytest.approx({"rain": 0.5, "sun": 0.5})


def test_where_every_class_is_impossible_the_class_prior_answers():
    model = NaiveBayes(strength=0)
    for x, y in [
        ({"a": 1 == 1, "b": "u"}, "y"),
        ({"a": False, "b": "v"}, "z"),
        ({"a": False, "b": "v"}, "z"),
    ]:
        model.learn_one(x, y)
    x = {"a": True, "b": "v"}
    assert model.joint_log_likelihood({"a": True})["z"] == -math.inf
    assert model.predict_proba_one(x) == pytest.approx({"y": 1 / 3, "z": 2 / 3})
    assert model.predict_one(x) == "z"


def test_five_hundred_features_do_not_underflow():
    model = NaiveBayes(strength=0.01)
    for y, n in (("a", 400), ("b", 500)):
        for value in ("u", "v"):
            w = n if (value == "u") == (y == "a") else 1
            model.learn_one({f"f{i}": value for i in range(3000)}, y, w=w)
    x = {f"f{i}": "u" if i % 2 else "v" for i in range(3000)}
    scores = model.joint_log_likelihood(x)
    for y in "ab":
        table = model.conditional("f0", {"class": y})
        expected = 1500 * (math.log(table["u"]) + math.log(table["v"])) + math.log(model.class_prior_[y])
        assert scores[y] == pytest.approx(expected, rel=1e-12)
    assert model.predict_one(x) == "a"


def test_class_priors_can_be_uniform_or_given():
    rows: list[Row] = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun"), ({"sky": "grey"}, "rain")]
    assert trained(NaiveBayes(class_prior="uniform"), rows).class_prior_ == pytest.approx(
        {"rain": 0.5, "sun": 0.5}
    )
    given_prior = {"rain": 0.1, "sun": 0.7, "snow": 0.2}
    model = trained(NaiveBayes(class_prior=given_prior), rows)
    assert model.class_prior_ == pytest.approx(given_prior)
    assert model.predict_proba_one({}) == pytest.approx(given_prior)
    with pytest.raises(BadLabel, match="'hail' is not among the declared classes"):
        model.learn_one({"sky": "grey"}, "hail")


def test_a_tie_goes_to_the_first_by_name():
    for labels in itertools.permutations([10, "b", 2, "a"]):
        assert trained(NaiveBayes(), [({}, y) for y in labels]).predict_one({}) == 2


def test_before_any_learning_there_is_no_answer():
    for model in (NaiveBayes(), GaussianNB(), NaiveBayes(class_prior={"a": 0.5, "b": 0.5})):
        assert model.predict_one({"x": 1.0}) is None
        assert model.predict_proba_one({"x": 1.0}) == {}
        assert model.joint_log_likelihood({"x": 1.0}) == {}
        assert model.class_prior_ == {}


def test_a_numeric_feature_that_holds_no_samples_is_skipped():
    model = trained(
        NaiveBayes(), [({"s": "u", "x": 1.0}, "a"), ({"s": "v", "x": 2.0}, "b"), ({"s": "u"}, "a")]
    )
    model.unlearn_one({"x": 1.0, "s": "u"}, "a")
    model.unlearn_one({"x": 2.0, "s": "v"}, "b")
    model.learn_one({"s": "v"}, "b")
    expected = model.predict_proba_one({"s": "u"})
    assert model.predict_proba_one({"s": "u", "x": 3.0}) == expected
    assert model.predict_proba_one({"s": "u", "never": 3.0}) == expected


def test_test_then_train_predicts_as_before_the_sample_was_known():
    model, twin = NaiveBayes(), NaiveBayes()
    rows: list[Row] = [
        ({"s": "u"}, "a"),
        ({"s": "v", "x": 3.0}, "b"),  # a numeric feature nobody has met
        ({"s": "w", "x": 4.0}, "a"),  # and a value
        ({"s": "u", "x": 1.0, "t": True}, "c"),  # and a class
        ({"s": "v", "z": -2.0}, "a"),
    ]
    for x, y in rows:
        expected = twin.predict_proba_one(x)
        twin.learn_one(x, y)
        assert model.predict_learn_one(x, y) == pytest.approx(expected, abs=1e-12)
    assert model.state()["checksum"] == twin.state()["checksum"]


def test_test_then_train_with_weight_0_names_nothing_and_predicts():
    model = trained(NaiveBayes(), [({"s": "u"}, "a"), ({"s": "v"}, "b"), ({"s": "u"}, "a")])
    expected = model.predict_proba_one({"s": "u"})
    rows: list[Row] = [
        ({"s": "w", "new": "x"}, "a"),
        ({"x": 3.5, "s": "u"}, "c"),
        ({f"f{i}": "x" for i in range(99)}, "d"),
    ]
    for x, y in rows:
        known = {name: value for name, value in x.items() if value == "u"}
        assert model.predict_learn_one(x, y, w=0) == pytest.approx(model.predict_proba_one(known))
    assert model.predict_proba_one({"s": "u"}) == expected
    assert model.classes_ == ("a", "b")


def test_values_past_max_values_share_one_place():
    model = NaiveBayes(max_values=2)
    for sky in ["grey", "blue", "red", "green", "red"]:
        model.learn_one({"sky": sky}, "rain")
    assert list(model.conditional("sky")["rain"].values()) == [2 / 8, 2 / 8, 4 / 8]
    assert model.joint_log_likelihood({"sky": "violet"}) == model.joint_log_likelihood({"sky": "red"})


@pytest.mark.parametrize("feature", ["nothing", 7, None])
def test_a_table_of_a_feature_nobody_met_is_refused_by_name(feature):
    model = trained(NaiveBayes(), [({"sky": "grey"}, "rain")])
    for ask in (model.conditional, model.joint):
        with pytest.raises(UnknownFeature, match="no feature"):
            ask(feature)


def test_a_numeric_feature_has_no_joint_table_of_counts():
    with pytest.raises(NotSupported, match="'x' is numeric"):
        trained(NaiveBayes(), [({"x": 1.0}, "a")]).joint("x")


@pytest.mark.parametrize("strength", [0.0, 1.0])
@pytest.mark.parametrize("prior", ["laplace", "m-estimate"])
def test_faded_counts_are_smoothed_in_units_of_a_fresh_sample(prior, strength):
    faded, fresh = NaiveBayes(prior, strength, half_life=4.0), NaiveBayes(prior, strength)
    for x, y, w in [
        ({"s": "u", "x": 1.0}, "a", 8),
        ({"s": "v", "x": 5.0}, "b", 16),
        ({"s": "v", "x": 2.0}, "a", 8),
    ]:
        faded.learn_one(x, y, w=w * 2 ** (2 + -faded.clock / 4))
        fresh.learn_one(x, y, w=w * 2 ** (2 - fresh.clock / 4) * 2 ** (-(4.0 * 3 - 1 - fresh.clock) / 4))
    faded.advance(9)
    x = {"s": "u", "x": 3.0}
    assert faded.joint_log_likelihood(x) == pytest.approx(fresh.joint_log_likelihood(x), rel=1e-9)
    assert faded.class_prior_ == pytest.approx(fresh.class_prior_, rel=1e-9)
