"""The count store: learning, unlearning, time, and values past their limit."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stream_bayes.core.values.values import OTHER
from stream_bayes.errors import BadWeight, KindChanged, NotLearned
from tests.builds import examples
from tests.core.counts.stores import (
    MANY,
    ORDERS,
    bag_store,
    counted,
    fractions,
    frozen,
    learned,
    named,
    rows,
    rows_store,
    samples,
    whole,
)

# --- learning and unlearning ---


@ORDERS
@given(many=samples)
@example(many=MANY)
def test_counts_are_those_of_a_dict(order, many):
    assert named(learned(many, order)) == counted(many, order)


@ORDERS
@given(many=samples, chosen=st.randoms(use_true_random=False))
def test_unlearning_leaves_the_counts_of_the_other_samples(order, many, chosen):
    store = learned(many, order)
    gone = [sample for sample in many if chosen.random() < 0.5]
    kept = list(many)
    for sample in gone:
        kept.remove(sample)
    chosen.shuffle(gone)
    for x, y, w in gone:
        store.unlearn(dict(reversed(x.items())), y, w)
    assert named(store) == counted(kept, order)


@ORDERS
@given(many=st.lists(st.tuples(rows, st.sampled_from("abc"), fractions), max_size=20), chosen=st.randoms())
def test_no_weight_is_left_where_no_sample_is(order, many, chosen):
    store = learned(many, order)
    chosen.shuffle(many)
    for x, y, w in many:
        store.unlearn(x, y, w)
    assert named(store) == {}
    for name, array in store.state()["arrays"].items():
        assert not array.any(), name


@ORDERS
@given(many=samples, kept=samples)
def test_no_weight_is_left_of_samples_taken_back_at_their_time(order, many, kept):
    store = rows_store(order, half_life=3.0)
    when = []
    for x, y, w in many:
        store.learn(x, y, w)
        when.append(store.tables.clock)
    for x, y, w in kept:
        store.learn(x, y, w)
    for (x, y, w), at in zip(many, when, strict=True):
        store.unlearn(x, y, w, at=at)
    alone = rows_store(order, half_life=3.0)
    alone.advance(len(many))
    for x, y, w in kept:
        alone.learn(x, y, w)
    expected = named(alone)
    assert named(store).keys() == expected.keys()
    assert named(store) == pytest.approx(expected, rel=1e-6)


def test_no_weight_is_left_after_hundreds_of_half_lives():
    store = rows_store(2, half_life=1.0)
    x = {"sky": "grey", "wind": "west", "heat": 21.5}
    store.learn(x, "rain")
    at = store.tables.clock
    store.advance(700)
    store.unlearn(x, "rain", at=at)
    assert store.by_name() == {}
    for name, array in store.state()["arrays"].items():
        assert not array.any(), name


def test_a_number_taken_back_leaves_no_moments():
    store = learned([({"heat": 21.5}, "rain", 0.3), ({"heat": 17.25}, "rain", 0.7)])
    store.unlearn({"heat": 17.25}, "rain", 0.7)
    assert store.by_name()["heat", "rain"] == pytest.approx((0.3, 21.5, 0.0), abs=1e-9)
    store.unlearn({"heat": 21.5}, "rain", 0.3)
    assert store.by_name() == {}
    assert not any(array.any() for array in store.state()["arrays"].values())


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), fractions), min_size=1, max_size=30))
def test_moments_are_those_of_numpy(numbers):
    store = learned([({"heat": number}, "rain", weight) for number, weight in numbers])
    value, weight = np.array(numbers).T
    mean = np.average(value, weights=weight)
    scale = 1e-9 * max(1.0, float(np.abs(value).max()))
    got: Any = store.by_name()["heat", "rain"]
    assert got[0] == pytest.approx(weight.sum(), rel=1e-12)
    assert got[1] == pytest.approx(mean, abs=scale)
    assert got[2] == pytest.approx((weight * (value - mean) ** 2).sum(), abs=scale * max(1.0, scale * 1e9))


@pytest.mark.parametrize(
    ("x", "y", "w"),
    [
        ({"sky": "grey"}, "snow", 1),
        ({"sky": "green"}, "rain", 1),
        ({"sky": "blue"}, "rain", 1),
        ({"sky": "grey"}, "rain", 3),
        ({"sky": "grey", "moon": "full"}, "rain", 1),
        ({"heat": 20.0}, "rain", 3),
        ({"heat": 3.5}, "sun", 1),
        ({"sky": "grey", "heat": 20.0, "wind": "west"}, "rain", 2),
    ],
)
@ORDERS
def test_what_was_never_learned_is_not_taken_back_and_nothing_changes(order, x, y, w):
    store = learned(
        [
            ({"sky": "grey", "wind": "west", "heat": 20.0}, "rain", 1),
            ({"sky": "grey", "heat": 21.0}, "rain", 1),
            ({"sky": "blue"}, "sun", 5),
        ],
        order,
    )
    before = frozen(store)
    with pytest.raises(NotLearned, match="cannot unlearn"):
        store.unlearn(x, y, w)
    assert frozen(store) == before


@pytest.mark.parametrize("at", [-1, 3, True, 1.0])
def test_a_time_that_never_was_is_refused(at):
    store = learned([({"sky": "grey"}, "rain", 1), ({"sky": "grey"}, "rain", 1)], half_life=2.0)
    with pytest.raises(NotLearned, match="clock"):
        store.unlearn({"sky": "grey"}, "rain", at=at)


@pytest.mark.parametrize(
    "store", [rows_store(2), bag_store(), bag_store(word_histogram=True)], ids=["rows", "bag", "histogram"]
)
def test_a_sample_of_weight_zero_lets_time_pass_and_names_nothing(store):
    store.learn({"sky": 1}, "rain", 0)
    assert store.by_name() == {}
    assert store.state()["meta"]["labels"] == []
    assert store.tables.clock == 1


def test_a_feature_that_changes_kind_midway_leaves_no_trace():
    store = learned([({"sky": "grey"}, "rain", 1)], 2)
    before = frozen(store)
    with pytest.raises(KindChanged):
        store.learn({"new": "x", "sky": 3}, "snow")
    assert frozen(store) == before


# --- time ---


@ORDERS
def test_a_sample_weighs_half_after_half_life_learned_events(order):
    store = rows_store(order, half_life=4.0)
    store.learn({"sky": "grey", "wind": "west", "heat": 20.0}, "rain", 8)
    for _ in range(4):
        store.learn({}, "sun")
    assert store.by_name()["sky", "grey", "rain"] == pytest.approx(4.0, rel=1e-12)
    assert store.by_name()["rain",] == pytest.approx(4.0, rel=1e-12)
    assert named(store)["heat", "rain"][0] == pytest.approx(4.0, rel=1e-12)
    store.advance(4)
    assert named(store)["sky", "grey", "rain"] == pytest.approx(2.0, rel=1e-12)
    if order == 2:
        assert named(store)[frozenset({("sky", "grey"), ("wind", "west")}), "rain"] == pytest.approx(2.0)
    assert store.tables.clock == 9


def test_fading_by_clock_is_the_sum_of_faded_samples_across_many_rescalings():
    store, expected, half_life = rows_store(2, half_life=1.5), 0.0, 1.5
    for i in range(2000):
        store.learn({"a": "x", "b": "y"}, "c", 1 + i % 3)
        expected = expected * 2 ** (-1 / half_life) + 1 + i % 3
    assert named(store)["a", "x", "c"] == pytest.approx(expected, rel=1e-12)
    assert named(store)[frozenset({("a", "x"), ("b", "y")}), "c"] == pytest.approx(expected, rel=1e-12)


@ORDERS
def test_fade_multiplies_every_weight_and_what_is_left_can_be_taken_back(order):
    store = learned([({"sky": "grey", "wind": "west", "heat": 20.0}, "rain", 1)], order)
    store.fade(0.3)
    assert store.by_name()["sky", "grey", "rain"] == pytest.approx(0.3)
    assert store.by_name()["heat", "rain"] == pytest.approx((0.3, 20.0, 0.0))
    store.unlearn({"sky": "grey", "wind": "west", "heat": 20.0}, "rain", 0.3)
    assert store.by_name() == {}
    assert not any(array.any() for array in store.state()["arrays"].values())


@pytest.mark.parametrize("factor", [-0.1, 1.5, math.nan, math.inf])
def test_a_fading_factor_outside_0_to_1_is_refused(factor):
    store = learned([({"sky": "grey"}, "rain", 1)])
    before = frozen(store)
    with pytest.raises(BadWeight, match="between 0 and 1"):
        store.fade(factor)
    assert frozen(store) == before


@pytest.mark.parametrize("events", [-1, 1.5, True, "1", None])
def test_time_passes_by_whole_events(events):
    with pytest.raises(BadWeight, match="whole number"):
        rows_store().advance(events)


# --- max_values ---


def test_values_past_the_limit_share_one_code_that_is_counted_and_taken_back_exactly():
    store = rows_store(2, max_values=2)
    for value in ["a", "b", "c", "d", "c", "a"]:
        store.learn({"f": value, "g": "x"}, "y")
    expected = {("f", "a", "y"): 2, ("f", "b", "y"): 1, ("f", OTHER, "y"): 3}
    assert {key: n for key, n in named(store).items() if key[0] == "f"} == expected
    assert named(store)[frozenset({("f", OTHER), ("g", "x")}), "y"] == 3
    store.unlearn({"f": "d", "g": "x"}, "y")
    assert named(store)["f", OTHER, "y"] == 2
    for value in ["c", "c", "a", "b", "a"]:
        store.unlearn({"f": value, "g": "x"}, "y")
    assert named(store) == {}
    with pytest.raises(NotLearned):
        store.unlearn({"f": "d", "g": "x"}, "y")


def test_two_new_words_of_one_bag_past_the_limit_are_both_counted_and_both_taken_back():
    store = bag_store(max_values=1)
    store.learn({"a": 1, "b": 2, "c": 3}, "y")
    counts = {key[-2]: n for key, n in store.by_name().items() if len(key) > 1}
    assert counts == {"a": 1, OTHER: 5}
    store.unlearn({"a": 1, "b": 2, "c": 3}, "y")
    assert store.by_name() == {}


def test_two_words_that_share_a_code_are_not_taken_back_from_one_sample():
    store = bag_store(max_values=1)
    store.learn({"a": 1, "b": 1}, "y")
    before = frozen(store)
    with pytest.raises(NotLearned):
        store.unlearn({"b": 1, "c": 1}, "y")  # both are <other>, which was seen once
    assert frozen(store) == before


# --- bags ---

bags = st.dictionaries(st.sampled_from([f"t{i}" for i in range(30)]), st.integers(0, 4), max_size=10)


@settings(max_examples=examples(50))
@given(st.lists(st.tuples(bags, st.sampled_from("abcde"), whole), max_size=30), st.randoms())
def test_tokens_are_counted_as_often_as_they_occur(many, chosen):
    store = bag_store()
    for x, y, w in many:
        store.learn(x, y, w)
    expected: Counter[Any] = Counter()
    for x, y, w in many:
        for token, count in x.items():
            expected[token, y] += w * count
    got = {key[-2:]: n for key, n in store.by_name().items() if len(key) > 1}
    assert got == {key: n for key, n in expected.items() if n}
    chosen.shuffle(many)
    for x, y, w in many:
        store.unlearn(x, y, w)
    assert store.by_name() == {}
