from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB, NaiveBayes
from stream_bayes.errors import BadLabel
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.explanation import Explanation
from stream_bayes.testing.public_learners import learners

nominal = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["u", "v", "w", True, None]), max_size=4)
numeric = st.dictionaries(st.sampled_from("mno"), st.integers(-50, 50), max_size=3)
mixed = st.tuples(nominal, numeric).map(lambda pair: {**pair[0], **pair[1]})
bags = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([0, 1, 1, 2, 5, 0.5]), max_size=6)
labels = st.sampled_from(["x", "y", True])

LEARNERS: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "naive Bayes": (NaiveBayes, {}, mixed),
    "naive Bayes, m-estimate": (NaiveBayes, {"prior": "m-estimate", "strength": 0.5}, mixed),
    "naive Bayes, fading": (NaiveBayes, {"half_life": 5.0, "variance": "classes"}, mixed),
    "Gaussian": (GaussianNB, {"class_prior": "uniform"}, numeric),
    "Multinomial": (MultinomialNB, {}, bags),
    "Complement": (ComplementNB, {"class_prior": "counted"}, bags),
    "Bernoulli": (BernoulliNB, {}, bags),
    "Bernoulli, by scan": (BernoulliNB, {"half_life": 7.0, "alpha": 0.3}, bags),
}


@pytest.mark.parametrize("learner", LEARNERS)
@given(data=st.data())
def test_baseline_and_evidence_add_up_to_the_joint_log_likelihood(learner, data):
    kind, settings, events = LEARNERS[learner]
    model = kind(**settings)
    for x, y in data.draw(st.lists(st.tuples(events, labels), min_size=1, max_size=12)):
        model.learn_one(x, y)
    x = data.draw(events)
    why, joint = model.explain_one(x), model.joint_log_likelihood(x)
    assert why.kind == "log-evidence"
    assert list(why.evidence) == list(x)
    assert why.baseline.keys() == joint.keys()
    for y, score in joint.items():
        added = math.fsum([why.baseline[y], *(per_class[y] for per_class in why.evidence.values())])
        terms = [why.baseline[y], *(per_class[y] for per_class in why.evidence.values()), 1.0]
        assert added == pytest.approx(score, abs=1e-12 * max(map(abs, terms)))
        assert why.total[y] == pytest.approx(added, abs=1e-12 * max(map(abs, terms)))


@pytest.mark.parametrize("learner", LEARNERS)
def test_log_odds_are_those_of_the_predicted_probabilities(learner):
    kind, settings, _ = LEARNERS[learner]
    model = kind(**settings)
    numbers = "Gaussian" in learner
    for i in range(30):
        row = {"m": float(i % 7), "n": float(i % 5)} if numbers else {"a": 1 + i % 2, "b": i % 3, "c": i % 2}
        model.learn_one(row, "xyz"[i % 3])
    x = {"m": 2.5, "n": 1.0} if numbers else {"a": 1, "c": 1, "never": 1}
    why, p = model.explain_one(x), model.predict_proba_one(x)
    for y in "xyz":
        assert why.log_odds(y) == pytest.approx(math.log(p[y] / (1 - p[y])), abs=1e-9)
        for z in "xyz":
            if z != y:
                assert why.log_odds(y, z) == pytest.approx(math.log(p[y] / p[z]), abs=1e-9)


def test_what_is_missing_or_was_never_learned_says_nothing():
    model = NaiveBayes()
    model.learn_one({"sky": "grey", "heat": 20.0}, "rain")
    model.learn_one({"sky": "blue", "heat": 30.0}, "sun")
    x = {"sky": "green", "heat": None, "wind": "west", "rain": 3.5}
    nothing = dict.fromkeys(("rain", "sun"), 0.0)
    assert model.explain_one(x).evidence == dict.fromkeys(x, nothing)


def test_an_absent_word_speaks_in_the_baseline_of_a_bernoulli_model():
    model = BernoulliNB()
    model.learn_one({"free": 1}, "spam")
    model.learn_one({"lunch": 1}, "ham")
    why = model.explain_one({"free": 3})
    # Each word: 2/3 in its own class, 1/3 in the other.
    assert why.baseline["spam"] == pytest.approx(math.log(1 / 2 * 1 / 3 * 2 / 3))
    assert why.evidence["free"]["spam"] == pytest.approx(math.log((2 / 3) / (1 / 3)))
    assert why.evidence["free"]["ham"] == pytest.approx(math.log((1 / 3) / (2 / 3)))


def test_a_value_that_a_class_never_had_rules_it_out_unsmoothed():
    model = NaiveBayes(strength=0)
    for sky, y in [("grey", "rain"), ("blue", "sun"), ("blue", "rain")]:
        model.learn_one({"sky": sky}, y)
    why = model.explain_one({"sky": "grey"})
    assert why.evidence["sky"]["sun"] == -math.inf
    assert why.total == pytest.approx(model.joint_log_likelihood({"sky": "grey"}))
    assert why.log_odds("rain") == math.inf
    assert why.log_odds("sun") == -math.inf


def test_before_any_learning_there_is_nothing_to_explain():
    why = NaiveBayes().explain_one({"sky": "grey"})
    assert why.baseline == why.total == {}
    assert why.evidence == {"sky": {}}


class Gated(NaiveBayes):
    """Two features that only speak together: no sum over features."""

    additive = False

    def joint_log_likelihood(self, x: Any) -> dict[Any, float]:
        scores = super().joint_log_likelihood({})
        if {"a", "b"} <= x.keys():
            scores["y"] += 2.0
        if "c" in x:
            scores["z"] += 1.0
        return scores


def test_a_learner_that_is_no_sum_is_explained_by_what_each_feature_changes_when_added():
    model = Gated()
    model.learn_one({}, "y")
    model.learn_one({}, "z")
    why = model.explain_one({"a": 1, "b": 1, "c": 1})
    assert why.kind == "step-by-step"
    assert why.baseline == pytest.approx({"y": math.log(0.5), "z": math.log(0.5)})
    assert why.evidence["a"] == pytest.approx({"y": 1.0, "z": 0.0})  # of the 2 that they say together
    assert why.evidence["b"] == pytest.approx({"y": 1.0, "z": 0.0})
    assert why.evidence["c"] == pytest.approx({"y": 0.0, "z": 1.0})


def test_the_table_shows_the_features_that_tell_classes_apart_first():
    why = Explanation(
        "log-evidence",
        {"ham": -0.25, "spam": -1.5},
        {
            "the": {"ham": -2.0, "spam": -2.125},
            "viagra": {"ham": -9.0, "spam": -2.0},
            7: {"ham": 0.0, "spam": 0.0},
        },
    )
    assert str(why).splitlines() == [
        "log-evidence      ham     spam",
        "(baseline)     -0.250   -1.500",
        "viagra         -9.000   -2.000",
        "the            -2.000   -2.125",
        "7               0.000    0.000",
    ]
    assert [feature for feature, _ in why.ranked()] == ["viagra", "the", 7]


def test_the_table_keeps_its_columns_with_long_names_and_impossible_classes():
    why = Explanation(
        "log-evidence",
        {"a rather long label": -0.7, True: -math.inf},
        {"a feature with a rather long name": {"a rather long label": -1.0, True: -math.inf}},
    )
    lines = str(why).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert "-inf" in lines[1]
    assert lines[0].split() == ["log-evidence", "a", "rather", "long", "label", "True"]


@pytest.mark.parametrize("labels", [("snow",), ("rain", "snow"), ("snow", "rain")])
def test_log_odds_of_a_label_that_is_no_class_are_refused(labels):
    with pytest.raises(BadLabel, match="snow"):
        Explanation("log-evidence", {"rain": -1.0, "sun": -1.0}, {}).log_odds(*labels)


def test_log_odds_of_the_only_class_are_infinite():
    assert Explanation("log-evidence", {"rain": -1.0}, {}).log_odds("rain") == math.inf


def test_unsmoothed_a_word_that_every_message_of_a_class_has_is_evidence_and_no_contradiction():
    model = BernoulliNB(alpha=0)
    for bag, y in [({"a": 1, "b": 1}, "x"), ({"a": 1}, "x"), ({"b": 1}, "y"), ({"a": 1}, "y")]:
        model.learn_one(bag, y)
    # Without "a" the class x is impossible, so the baseline alone rules it out, and the word lets it in again.
    why, joint = model.explain_one({"a": 1}), model.joint_log_likelihood({"a": 1})
    assert joint["x"] == pytest.approx(math.log(1 / 2 * 1 / 2))
    assert why.total == pytest.approx(joint)


def test_where_every_class_is_impossible_the_log_odds_are_those_of_the_answer():
    model = NaiveBayes(strength=0)
    for i in range(3):
        model.learn_one({"a": "u", "b": "u"}, "y")
        if i:
            model.learn_one({"a": "v", "b": "v"}, "z")
    x = {"a": "u", "b": "v"}  # y never had the one, z never the other: the class prior answers
    p, why = model.predict_proba_one(x), model.explain_one(x)
    assert p == pytest.approx({"y": 3 / 5, "z": 2 / 5})
    assert why.log_odds("y") == pytest.approx(math.log(p["y"] / p["z"]))


@pytest.mark.parametrize(("name", "learner"), learners().items(), ids=[*learners()])
def test_an_explanation_before_anything_was_learned_can_be_printed(
    name: str, learner: BayesClassifier
) -> None:
    x = {} if "schema" in name or "binning=None" in name else {"free": 2}
    why = learner.explain_one(x)
    assert str(why) == "nothing has been learned: there is no class to explain"
    assert [feature for feature, _ in why.ranked()] == list(x)
