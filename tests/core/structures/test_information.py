"""What features tell of the class and of one another: brute-force sums, and no trace of the order of events."""

from __future__ import annotations

import math
import random
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.structures.named_features import NamedFeatures
from tests.builds import examples
from tests.core.counts.stores import MANY, Sample, fractions, learned, rows_store, samples, whole
from tests.oracles.aode import OneDependenceOracle

EXAMPLES = settings(max_examples=examples(30))

odd_values = st.sampled_from(["a", True, False, b"a", ("a", 1), "größe", "", None])
odd_rows = st.dictionaries(st.sampled_from(["f", "g", ("h", 2), "größe", b"i"]), odd_values)
odd_samples = st.lists(st.tuples(odd_rows, st.sampled_from(["y", 1, False, ("y",)]), whole), max_size=30)


def information_in(store: CountStore) -> tuple[list[Any], NDArray[np.float64], NDArray[np.float64]]:
    """The features by name, what each tells of the class, and what each pair tells given the class."""
    named = NamedFeatures(store.tables, store.encoder)
    return named.names, named.with_class(), named.information.between_all()


def assert_same_bits(one: CountStore, other: CountStore) -> None:
    (names, with_class, between), (same_names, same_with_class, same_between) = (
        information_in(one),
        information_in(other),
    )
    assert names == same_names
    assert with_class.tobytes() == same_with_class.tobytes()
    assert between.tobytes() == same_between.tobytes()


def assert_brute_force(store: CountStore, many: list[Sample]) -> None:
    oracle = OneDependenceOracle()
    for x, y, w in many:
        oracle.learn(x, y, w)
    names, with_class, between = information_in(store)
    for i, name in enumerate(names):
        assert with_class[i] == pytest.approx(oracle.mutual_information(name), rel=1e-9, abs=1e-12)
    for i, j in combinations(range(len(names)), 2):
        expected = oracle.conditional_mutual_information(names[i], names[j])
        assert between[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert between[i, j] == between[j, i] >= 0.0
    assert (with_class >= 0.0).all()
    assert not np.diagonal(between).any()


def shuffled(many: list[Sample], source: random.Random) -> list[Sample]:
    """The same samples in another order, the features of each too."""
    mixed = []
    for x, y, w in source.sample(many, len(many)):
        mixed.append((dict(source.sample(sorted(x.items(), key=repr), len(x))), y, w))
    return mixed


# -- the sums ---------------------------------------------------------------------------------------------------------


@EXAMPLES
@given(odd_samples)
def test_information_is_the_brute_force_sum_where_values_are_missing(many):
    assert_brute_force(learned(many, 2), many)


@EXAMPLES
@given(st.lists(st.tuples(odd_rows, st.sampled_from("xyz"), fractions), max_size=20))
def test_information_is_the_brute_force_sum_of_fractional_weights(many):
    assert_brute_force(learned(many, 2), many)


def test_information_is_the_brute_force_sum_of_counts_past_every_table():
    weights = [1, 4095, 4096, 4097, 1e6, 2.0**40]
    source = random.Random(5)
    many = [
        ({"a": source.choice("xyz"), "b": source.choice("xy"), "c": "x"}, source.choice("uv"), float(w))
        for w in weights
        for _ in range(3)
    ]
    assert_brute_force(learned(many, 2), many)


def test_information_is_of_the_weights_as_they_have_faded():
    source = random.Random(6)
    store, oracle = rows_store(2, half_life=4.0), OneDependenceOracle(half_life=4.0)
    for _ in range(40):
        x = {"a": source.choice("xyz"), "b": source.choice("xy"), "c": source.choice("xy")}
        y = source.choice("uv")
        store.learn(x, y)
        oracle.learn(x, y)
    names, with_class, between = information_in(store)
    for i, name in enumerate(names):
        assert with_class[i] == pytest.approx(oracle.mutual_information(name), rel=1e-9)
        for j in range(i):
            expected = oracle.conditional_mutual_information(name, names[j])
            assert between[i, j] == pytest.approx(expected, rel=1e-9)


def test_a_copy_of_a_feature_tells_all_of_it_and_a_coin_tells_nothing():
    many: list[Sample] = []
    for a in "xy":
        for coin in "ht":
            for y in "uv":
                many += [({"a": a, "copy": a + "!", "coin": coin}, y, 1.0)] * (
                    3 if (a == "x") == (y == "u") else 1
                )
    names, with_class, between = information_in(learned(many, 2))
    place = {name: number for number, name in enumerate(names)}
    # That of a given the class, which is the same for both.
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert between[place["a"], place["copy"]] == pytest.approx(entropy, rel=1e-12)
    assert between[place["a"], place["coin"]] == pytest.approx(0.0, abs=1e-15)
    assert (
        with_class[place["a"]] == with_class[place["copy"]] == pytest.approx(math.log(2) - entropy, rel=1e-12)
    )
    assert with_class[place["coin"]] == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("weight", [1.0, 3.0, 0.1, 7.7])
def test_a_feature_of_one_value_tells_nothing_but_rounding(weight):
    source = random.Random(7)
    for classes in range(1, 8):
        many = [
            ({"same": "x", "also": "y", "other": source.choice("xyz")}, source.randrange(classes), weight)
            for _ in range(60)
        ]
        names, with_class, between = information_in(learned(many, 2))
        same, also, other = (names.index(name) for name in ("same", "also", "other"))
        assert max(with_class[same], with_class[also]) < 1e-14
        assert max(between[same, also], between[same, other], between[also, other]) < 1e-14


def test_features_that_never_came_together_tell_nothing_of_one_another():
    names, with_class, between = information_in(learned([({"a": "x"}, "u", 1), ({"b": "y"}, "v", 1)], 2))
    assert names == ["a", "b"]
    assert not between.any()
    assert not with_class.any()


def test_a_feature_whose_samples_are_all_gone_is_not_among_those_that_tell():
    store = learned([({"a": "x", "b": "y"}, "u", 1), ({"b": "z"}, "v", 1)], 2)
    store.unlearn({"a": "x", "b": "y"}, "u")
    assert information_in(store)[0] == ["b"]
    assert information_in(rows_store(2))[0] == []


# -- no trace of the order --------------------------------------------------------------------------------------------


@EXAMPLES
@given(samples, st.randoms(use_true_random=False))
@example(MANY, random.Random(1))
def test_any_order_of_events_and_features_gives_the_same_bits(many, source):
    assert_same_bits(learned(many, 2), learned(shuffled(many, source), 2))


@EXAMPLES
@given(odd_samples, st.randoms(use_true_random=False))
def test_any_order_of_names_of_any_kind_gives_the_same_bits(many, source):
    assert_same_bits(learned(many, 2), learned(shuffled(many, source), 2))


@EXAMPLES
@given(samples, samples, st.randoms(use_true_random=False))
@example(MANY[::2], MANY[1::2], random.Random(2))
def test_merged_shards_give_the_same_bits(one, other, source):
    merged = learned(shuffled(one, source), 2)
    merged.merge(learned(shuffled(other, source), 2))
    assert_same_bits(merged, learned(one + other, 2))


@EXAMPLES
@given(samples, samples)
def test_what_was_learned_and_taken_back_leaves_the_same_bits(many, gone):
    store = learned(gone + many, 2)
    for x, y, w in gone:
        store.unlearn(x, y, w)
    assert_same_bits(store, learned(many, 2))


@EXAMPLES
@given(samples)
def test_a_state_gives_the_same_bits(many):
    store, twin = learned(many, 2), rows_store(2)
    twin.load(store.state())
    assert_same_bits(store, twin)
