"""AODE: who is a super-parent, what it weighs, and which values are left out."""

from __future__ import annotations

import itertools
import math
import pickle
import random
import warnings
from typing import Any

import pytest

from stream_bayes import AODE, SPODE, LiveChoice, NaiveBayes
from stream_bayes.errors import (
    NeverEligible,
)
from stream_bayes.testing.assertions import same_bytes
from tests.learners.biased_events import biased_events
from tests.learners.training import trained

# -- who is a super-parent --------------------------------------------------------------------------------------------


def assert_super_parents(model: AODE, x: dict[str, Any], names: list[str]) -> None:
    """Demand that just these features of an event answer: their mean differs from that of any others."""
    answer = model.predict_proba_one(x)
    joints = {}
    for name in x:
        single = SPODE(parent=name, min_count=0, half_life=model.half_life)
        single.store.load(model.store.state())
        single.reading.derive()
        joints[name] = {y: math.exp(score) for y, score in single.joint_log_likelihood(x).items()}
    for size in range(len(x) + 1):
        for some in itertools.combinations(x, size):
            if some:
                joint = {y: math.fsum(joints[name][y] for name in some) for y in answer}
                total = math.fsum(joint.values())
                mean = {y: p / total for y, p in joint.items()}
            else:
                mean = naive(model).predict_proba_one(x)
            same = all(abs(answer[y] - mean[y]) < 1e-12 for y in answer)
            assert same == (sorted(some) == names), (some, names)


def naive(model: AODE) -> NaiveBayes:
    """Naive Bayes of the counts that a model holds."""
    plain = NaiveBayes(prior="m-estimate", half_life=model.half_life)
    state = model.store.state()
    arrays = {name: array for name, array in state["arrays"].items() if name not in ("pairs", "beside")}
    plain.store.load({"meta": {**state["meta"], "order": 1}, "arrays": arrays})
    return plain


def mixed(model: Any, weight: float = 1.0) -> Any:
    """A model after some events whose features depend on one another."""
    for x, y in biased_events(0, 40):
        model.learn_one(x, y, weight)
    return model


@pytest.mark.parametrize(("weight", "names"), [(29.0, []), (30.0, ["a"]), (31.0, ["a"])])
def test_a_value_of_weight_30_is_a_super_parent_and_one_of_29_is_not(weight, names):
    model = mixed(AODE(), 0.5)
    model.learn_one({"a": "heavy", "b": "x"}, "u", weight - 9)
    model.learn_one({"a": "heavy", "b": "z"}, "v", 9)
    assert_super_parents(model, {"a": "heavy", "b": "y", "c": "x"}, names)


def test_a_super_parents_weight_is_that_of_all_classes_and_not_its_number_of_events():
    model = mixed(AODE(min_count=4), 0.125)
    for y in "uv":
        for _ in range(2):
            model.learn_one({"a": "heavy", "b": f"only {y}", "c": "x"}, y, 1.0)
        for _ in range(12):
            model.learn_one({"a": "light", "b": "y", "c": "z"}, y, 0.125)
    assert_super_parents(model, {"a": "heavy", "b": "only u", "c": "z"}, ["a", "c"])
    assert_super_parents(model, {"a": "light", "b": "y", "c": "x"}, ["b", "c"])


@pytest.mark.parametrize("parts", [[0.1] * 10, [0.3, 0.3, 0.3, 0.1], [0.7, 0.1, 0.1, 0.1]])
def test_fractions_that_sum_to_min_count_but_for_rounding_are_enough(parts):
    model = mixed(AODE(min_count=1), 1 / 256)
    for number, w in enumerate(parts):
        model.learn_one({"a": "heavy", "b": "xyxz"[number % 4]}, "u", w)
    assert sum(parts) < 1.0
    assert_super_parents(model, {"a": "heavy", "b": "x", "c": "y"}, ["a"])


def test_min_count_is_in_fresh_samples_when_counts_fade():
    model = mixed(AODE(min_count=4, half_life=100.0), 1 / 32)
    for number in range(6):
        model.learn_one({"a": "heavy", "b": "xyz"[number % 3]}, "uv"[number % 2])
    x = {"a": "heavy", "b": "x", "c": "y"}
    assert_super_parents(model, x, ["a"])
    model.advance(50)  # what weighed 5.9 weighs 4.2 of a fresh sample
    assert_super_parents(model, x, ["a"])
    model.advance(10)  # and now 3.9
    assert_super_parents(model, x, [])
    assert model.predict_proba_one(x) == naive(model).predict_proba_one(x)


def test_a_value_that_was_wholly_unlearned_is_no_super_parent_and_no_child():
    model = trained(AODE(min_count=1), biased_events(1, 30))
    before = model.predict_proba_one({"a": "x", "b": "y"})
    model.learn_one({"c": "odd"}, "u")
    model.unlearn_one({"c": "odd"}, "u")
    assert model.predict_proba_one({"a": "x", "b": "y", "c": "odd"}) == pytest.approx(before, abs=1e-12)


def test_an_event_without_features_gets_the_class_prior():
    model = trained(AODE(min_count=1), biased_events(2, 30))
    model.learn_one({}, "u")
    assert model.predict_proba_one({}) == pytest.approx(model.class_prior_, abs=1e-15)
    assert model.predict_proba_one({"never": "met", "a": None}) == model.predict_proba_one({})


@pytest.mark.parametrize("kind", [AODE, SPODE])
def test_events_without_features_can_be_all_there_is(kind):
    model = kind(min_count=1)
    for y, expected in [("u", {}), ("u", {"u": 1.0}), ("v", {"u": 1.0}), ("v", {"u": 0.625, "v": 0.375})]:
        answer = model.predict_learn_one({}, y)
        assert {label: p for label, p in answer.items() if p} == pytest.approx(expected)
    assert model.predict_proba_one({}) == pytest.approx({"u": 0.5, "v": 0.5})


def test_an_event_of_one_feature_gets_its_share_of_the_joint_table():
    model = trained(AODE(min_count=1), biased_events(3, 30))
    joint = model.joint("a")
    total = math.fsum(joint[y]["x"] for y in joint)
    assert model.predict_proba_one({"a": "x"}) == pytest.approx({y: joint[y]["x"] / total for y in joint})


# -- fading that makes super-parents impossible -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "warns"),
    [
        (lambda: AODE(half_life=10.0), True),
        (lambda: AODE(half_life=20.0), True),
        (lambda: AODE(half_life=21.0), False),
        (lambda: AODE(half_life=10.0, min_count=14), False),
        (lambda: AODE(half_life=10.0, min_count=15), True),
        (lambda: AODE(min_count=1e9), False),
        (lambda: SPODE(half_life=10.0), False),
        (lambda: SPODE(half_life=10.0, min_count=15), True),
        (lambda: LiveChoice(half_life=10.0, min_count=15), True),
        (lambda: LiveChoice(half_life=10.0), False),
    ],
)
def test_a_min_count_that_fading_keeps_out_of_reach_is_warned_of(make, warns):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make()
    assert [warning.category for warning in caught] == [NeverEligible] * warns
    assert all(str(warning.message).startswith("with half_life=") for warning in caught)


@pytest.mark.parametrize("call", ["AODE(half_life=9)", "SPODE(half_life=9, min_count=30)"])
def test_the_warning_points_to_the_line_that_makes_the_learner(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Its name is what matters.
        eval(compile(call, "the user's file", "eval"), {"AODE": AODE, "SPODE": SPODE})
    assert [warning.filename for warning in caught] == ["the user's file"]


def test_what_the_warning_says_is_so():
    stream = biased_events(4, 300)
    with pytest.warns(NeverEligible):
        model = AODE(half_life=10.0, min_count=15)
    naive = NaiveBayes(prior="m-estimate", half_life=10.0)
    for x, y in stream:
        assert model.predict_learn_one(x, y) == naive.predict_learn_one(x, y)


# -- without smoothing ------------------------------------------------------------------------------------------------


def test_unsmoothed_a_class_that_never_held_a_pair_of_values_is_impossible():
    model = AODE(min_count=1, strength=0.0)
    for x, y in [({"a": "x", "b": "y"}, "u"), ({"a": "o", "b": "y"}, "v"), ({"a": "x", "b": "z"}, "v")]:
        model.learn_one(x, y)
    assert model.predict_proba_one({"a": "x", "b": "y"}) == {"u": 1.0, "v": 0.0}
    assert model.joint_log_likelihood({"a": "x", "b": "y"})["v"] == -math.inf


def test_where_every_class_is_impossible_the_class_prior_answers():
    model = AODE(min_count=1, strength=0.0)
    for x, y in [({"a": "x", "b": "y"}, "u"), ({"a": "o", "b": "z"}, "v"), ({"a": "o", "b": "z"}, "v")]:
        model.learn_one(x, y)
    assert model.predict_proba_one({"a": "x", "b": "z"}) == pytest.approx({"u": 1 / 3, "v": 2 / 3})


def test_a_class_that_one_super_parent_allows_is_possible():
    model = AODE(min_count=1, strength=0.0)
    # Under a=x the value c=z is missing, so nothing is known of it there; under b=y it never came.
    for x, y in [({"a": "x", "b": "y"}, "u"), ({"b": "y", "c": "o"}, "u"), ({"a": "o", "c": "z"}, "u")]:
        model.learn_one(x, y)
    joint = math.exp(model.joint_log_likelihood({"a": "x", "b": "y", "c": "z"})["u"])
    # a: n(u, x) = 1 of 2; b is y in 1 of 1; c was not there. b: impossible. c: n(u, z) = 1 of 2; a is x in 0 of 1.
    assert joint == pytest.approx((1 / 2 * 1 + 0 + 0) / 3)


# -- mutual information as weights ------------------------------------------------------------------------------------


def test_rederive_derives_weights_at_once():
    model = AODE(weights="mutual-information", min_count=1)
    trained(model, biased_events(7, 38))
    last = model.weights_
    model.rederive()
    assert model.weights_ != last


def test_weights_are_derived_when_there_are_a_tenth_more_events():
    model, last, changes = AODE(weights="mutual-information", min_count=1), None, []
    for number, (x, y) in enumerate(biased_events(8, 160), 1):
        model.learn_one(x, y)
        if number > 1 and model.weights_ != last:
            changes.append(number)
        last = model.weights_
    assert changes == [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 121, 133, 146, 160]


def test_without_weights_every_super_parent_weighs_1():
    assert trained(AODE(min_count=1), biased_events(9, 30)).weights_ == {"a": 1.0, "b": 1.0, "c": 1.0}


@pytest.mark.parametrize("seed", range(6))
def test_where_no_feature_tells_anything_all_super_parents_weigh_alike(seed):
    # Information that is 0 comes out of sums of logarithms, and must not be a weight for its rounding.
    source = random.Random(seed)
    model, plain = AODE(weights="mutual-information", min_count=1), AODE(min_count=1)
    for _ in range(50 + seed):
        y = source.choice("uvwxy")
        for one in (model, plain):
            one.learn_one({"a": "same", "b": "same", "c": "same"}, y)
    model.rederive()
    x = {"a": "same", "b": "same"}
    assert model.weights_ == plain.weights_
    assert model.predict_proba_one(x) == pytest.approx(plain.predict_proba_one(x), abs=1e-12)


def test_weights_are_the_same_bits_whatever_the_order_of_events_and_features():
    stream = biased_events(10, 120, names="abcde")
    source = random.Random(11)
    model = trained(AODE(weights="mutual-information", min_count=1), stream)
    shards = [AODE(weights="mutual-information", min_count=1) for _ in range(3)]
    for x, y in source.sample(stream, len(stream)):
        shards[source.randrange(3)].learn_one(dict(source.sample(list(x.items()), len(x))), y)
    merged = shards[0] + shards[1] + shards[2]
    for one in (model, merged):
        one.rederive()
    assert model.weights_ == merged.weights_
    assert model.weights_.keys() == set("abcde")


def test_weights_come_back_with_state_and_pickle():
    model = trained(AODE(weights="mutual-information", min_count=1), biased_events(12, 47))
    for twin in (AODE.from_state(model.state()), pickle.loads(pickle.dumps(model))):
        assert twin.weights_ == model.weights_
        stream = biased_events(13, 30)
        trained(twin, stream)
        again = trained(AODE.from_state(model.state()), stream)
        same_bytes(twin, again, "going on")


# -- values that others imply -----------------------------------------------------------------------------------------


PREGNANT = [
    ({"sex": "f", "pregnant": "yes", "age": "young"}, "u"),
    ({"sex": "f", "pregnant": "yes", "age": "old"}, "v"),
    ({"sex": "f", "pregnant": "no", "age": "old"}, "v"),
    ({"sex": "m", "pregnant": "no", "age": "old"}, "u"),
    ({"sex": "f", "pregnant": "yes", "age": "young"}, "u"),
]


@pytest.mark.parametrize("critical", [0, 1, 2, 2.5])
def test_a_value_is_left_out_when_the_one_that_implies_it_weighs_more_than_the_limit(critical):
    model, plain = AODE(min_count=1, subsumption=critical), AODE(min_count=1)
    x = {"sex": "f", "pregnant": "yes", "age": "young"}
    for one in (model, plain):
        trained(one, PREGNANT)
    # young (2) implies pregnant (3), which implies female (4): each leaves out what it implies.
    kept = {"age": "young"} if critical < 2 else {"pregnant": "yes", "age": "young"}
    assert model.predict_proba_one(x) == plain.predict_proba_one(kept)
    assert plain.predict_proba_one(x) != plain.predict_proba_one(kept)


def test_at_the_limit_nothing_is_left_out():
    model, plain = AODE(min_count=1, subsumption=3), AODE(min_count=1)
    x = {"sex": "f", "pregnant": "yes"}
    for one in (model, plain):
        trained(one, PREGNANT)
    assert model.predict_proba_one(x) == plain.predict_proba_one(x)


@pytest.mark.parametrize("order", list(itertools.permutations(["b", "a", "é"])))
def test_of_values_that_imply_each_other_the_first_by_name_stays(order):
    model, plain = AODE(min_count=1, subsumption=1), AODE(min_count=1)
    for one in (model, plain):
        for value, y in [("x", "u"), ("x", "u"), ("x", "v"), ("y", "v"), ("y", "v")]:
            one.learn_one(dict.fromkeys(order, value), y)
    answer = model.predict_proba_one(dict.fromkeys(order, "x"))
    assert answer == pytest.approx(plain.predict_proba_one({"a": "x"}), abs=1e-15)


def test_an_implication_survives_fading():
    model = AODE(min_count=1, subsumption=5, half_life=30.0)
    plain = AODE(min_count=1, half_life=30.0)
    for one in (model, plain):
        for number in range(300):
            one.learn_one({"sex": "f", "pregnant": "yes"}, "uv"[number % 2])
            one.learn_one({"sex": "fm"[number % 2], "pregnant": "no"}, "uv"[number % 3 == 0])
    x = {"sex": "f", "pregnant": "yes"}
    assert model.predict_proba_one(x) == plain.predict_proba_one({"pregnant": "yes"})
