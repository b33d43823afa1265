"""The tables by themselves: where cells stand, how numbers are added up, and what is left of samples taken back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes import AODE, BernoulliNB, MultinomialNB, NaiveBayes
from stream_bayes.core.counts._layout import Layout
from stream_bayes.core.counts._pairs import PairCounts
from stream_bayes.core.counts.store import CountStore


def store(order: int = 1, **settings: Any) -> CountStore:
    return CountStore(NaiveBayes().store.encoder, order=order, **settings)


rooms = st.lists(st.integers(0, 5), max_size=7)


@given(rooms, st.integers(1, 4))
def test_every_position_and_every_pair_of_positions_has_one_cell(room, classes):
    layout = Layout(room, room, [0] * len(room), classes)
    starts = [*np.asarray(layout.start).tolist(), layout.positions]
    assert [b - a for a, b in itertools.pairwise(starts)] == room
    cells = []
    for f, g in itertools.combinations(range(len(room)), 2):
        for code, earlier in itertools.product(range(room[g]), range(room[f])):
            cells.append(layout.pair_start[g] + code * layout.start[g] + layout.start[f] + earlier)
    assert sorted(cells) == list(range(layout.pairs))


@given(rooms.flatmap(lambda room: st.tuples(st.just(room), st.tuples(*(st.integers(0, r) for r in room)))))
def test_positions_of_codes_are_within_their_runs(case):
    room, used = case
    layout = Layout(used, room, [0] * len(room), 2)
    expected = [layout.start[f] + code for f, n in enumerate(used) for code in range(n)]
    assert layout.positions_of(used).tolist() == expected


@given(rooms, st.lists(st.integers(0, 3), min_size=7, max_size=7))
def test_pairs_poured_into_a_wider_table_keep_their_weights(used, more):
    room = [n + extra for n, extra in zip(used, more, strict=False)]
    narrow, wide = Layout(used, used, [0] * len(used), 2), Layout(used, room, [0] * len(used), 3)
    pairs, target = PairCounts(narrow), PairCounts(wide)
    weight = np.arange(1.0, 2 * narrow.pairs + 1)
    pairs.weight = weight.copy()
    target.pour(pairs, wide.positions_of(used), np.array([2, 0], np.longlong), 0.5)
    got = np.asarray(target.weight)
    assert sorted(got[got > 0]) == pytest.approx((0.5 * weight).tolist())
    assert not got.reshape(-1, 3)[:, 1].any()
    back = PairCounts(narrow)
    places = np.zeros(wide.positions, np.longlong)
    places[wide.positions_of(used)] = np.arange(narrow.positions)
    back.pour(target, places, np.array([1, 1, 0], np.longlong), 2.0)
    assert np.asarray(back.weight).tolist() == weight.tolist()


# --- numbers ---


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9, -1e12])
def test_moments_far_from_zero_keep_their_variance(offset):
    held, values = store(), [4.0, 7.0, 13.0, 16.0] * 25
    for value in values:
        held.learn({"x": offset + value}, "y")
    moments: Any = held.by_name()["x", "y"]
    weight, mean, m2 = moments
    assert weight == 100
    assert mean == pytest.approx(offset + 10.0, abs=1e-9 * max(1.0, abs(offset)))
    assert m2 == pytest.approx(2250.0, rel=1e-12)


def test_whole_counts_are_exact_past_what_single_precision_holds():
    held = store(2)
    for _ in range(3):
        held.learn({"a": "x", "b": "y"}, "c", 2.0**24)
    held.learn({"a": "x", "b": "y"}, "c")
    counts = held.by_name()
    assert set(counts.values()) == {3 * 2.0**24 + 1}
    for _ in range(3):
        held.unlearn({"a": "x", "b": "y"}, "c", 2.0**24)
    assert set(held.by_name().values()) == {1.0}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "parts", [[0.1] * 10, [0.1, 0.2, 0.3, 0.4], [1 / 3, 2 / 3, 1.5], [1e-9, 1.0, 1e6 + 0.5]]
)
def test_a_weight_is_exactly_0_at_0_samples_in_whatever_order_they_go(order, parts):
    for gone in (parts, parts[::-1], sorted(parts)):
        held = store(order)
        for w in parts:
            held.learn({"a": "x", "b": "y", "n": 3.5}, "c", w)
        for left, w in enumerate(gone, 1 - len(gone)):
            assert held.by_name()
            held.unlearn({"a": "x", "b": "y", "n": 3.5}, "c", w)
            assert bool(held.by_name()) == (left < 0)
        assert all(
            array.tolist() == np.zeros_like(array).tolist() for array in held.state()["arrays"].values()
        )


def test_part_of_a_sample_taken_back_leaves_a_sample():
    held = store()
    held.learn({"a": "x"}, "c", 1.0)
    held.unlearn({"a": "x"}, "c", 0.25)
    assert held.by_name() == {("c",): 0.75, ("a", "x", "c"): 0.75}
    held.unlearn({"a": "x"}, "c", 0.75)
    assert held.by_name() == {}


@pytest.mark.parametrize("half_life", [0.01, 0.5, 3.0, 1e9])
def test_any_half_life_keeps_weights_finite(half_life):
    held = store(2, half_life=half_life)
    for step in range(1500):
        held.learn({"a": "xy"[step % 2], "b": "z", "n": float(step % 5)}, "c")
    counts = held.by_name()
    assert (
        counts["c",] == pytest.approx(1 / -math.expm1(-math.log(2) / half_life), rel=1e-3) or half_life == 1e9
    )
    assert all(np.isfinite(count).all() for count in counts.values())
    held.advance(10**9)
    assert all(np.isfinite(count).all() for count in held.by_name().values())
    held.learn({"a": "x", "b": "z", "n": 2.0}, "c")
    assert held.by_name()["a", "x", "c"] >= 1.0


# --- the histogram of counts ---


@given(
    st.lists(
        st.tuples(st.sets(st.integers(0, 15), max_size=6), st.sampled_from("xyz"), st.integers(1, 3)),
        max_size=30,
    ),
    st.randoms(),
)
def test_buckets_hold_as_many_words_as_have_their_count_in_rising_order(many, source):
    model = BernoulliNB()
    events = [(sample, True) for sample in many]
    for sample in many:
        if source.random() < 0.6:
            events.insert(
                source.randrange(max(i for i, e in enumerate(events) if e[0] is sample) + 1, len(events) + 1),
                (sample, False),
            )
    for (words, y, w), learning in events:
        bag: dict[Any, Any] = {f"w{word}": 1 for word in words}
        (model.learn_one if learning else model.unlearn_one)(bag, y, w=w)
        counts = model.store.by_name()
        histogram: Any = model.store.tables.values.histogram
        for label, name in enumerate(model.store.encoder.labels.values):
            held = [n for key, n in counts.items() if len(key) > 1 and key[-1] == name]
            found, node = [], histogram.head[label]
            while node >= 0:
                found.append((histogram.count[node], histogram.number[node]))
                node = histogram.later[node]
            assert found == [(count, held.count(count)) for count in sorted(set(held))]
            assert histogram.words[label] == len(held)


# --- what rounding leaves ---

MAGNITUDES = st.sampled_from([1e12, 1e9, 1e6, 7.0, 1.0, 0.3, 0.1, 1e-3, 1e-12])
TAKEN: dict[str, tuple[Callable[[], Any], Callable[[int], dict[str, Any]]]] = {
    "names": (partial(NaiveBayes, class_prior="uniform"), lambda n: {"a": "uv"[n % 2], "b": "w"}),
    "numbers": (NaiveBayes, lambda n: {"x": 1.5 * n - 2.0}),
    "bags": (MultinomialNB, lambda n: {"u": 1 + n % 3, "v": 0.7}),
    "pairs": (AODE, lambda n: {"a": "uv"[n % 2], "b": "w"}),
    "fading": (partial(NaiveBayes, half_life=3.0), lambda n: {"a": "uv"[n % 2], "x": n / 3}),
}


@given(st.data(), st.sampled_from(sorted(TAKEN)), st.lists(MAGNITUDES, min_size=1, max_size=6))
def test_whatever_the_weights_and_the_order_nothing_is_left_when_all_is_taken_back(data, kind, weights):
    make, event = TAKEN[kind]
    model: Any = make()
    learned = []
    for number, weight in enumerate(weights):
        model.learn_one(event(number), "y", w=weight)
        learned.append((event(number), weight, model.clock))
    for x, weight, clock in data.draw(st.permutations(learned)):
        model.unlearn_one(x, "y", w=weight, at=clock)
    assert model.store.by_name() == {}
    assert model.classes_ == ()
    assert model.predict_proba_one(learned[0][0]) == {}


@given(st.data(), st.sampled_from(["names", "bags"]), st.lists(MAGNITUDES, min_size=2, max_size=6))
def test_what_is_left_of_many_weights_is_known_to_a_billionth_of_the_largest_ever_held(data, kind, weights):
    make, event = TAKEN[kind]
    model, rest = make(), make()
    numbered = list(enumerate(weights))
    taken = data.draw(st.lists(st.sampled_from(numbered), unique=True))
    for number, weight in numbered:
        model.learn_one(event(number), "y", w=weight)
        if (number, weight) not in taken:
            rest.learn_one(event(number), "y", w=weight)
    for number, weight in taken:
        model.unlearn_one(event(number), "y", w=weight)
    left, expected = model.store.by_name(), rest.store.by_name()
    assert model.classes_ == rest.classes_
    for name in left.keys() | expected.keys():
        assert abs(left.get(name, 0.0) - expected.get(name, 0.0)) <= 1e-9 * 3 * sum(weights)


def test_part_of_a_sample_may_be_taken_back_and_the_rest_stays():
    model = NaiveBayes()
    model.learn_one({"a": "u"}, "y", w=2.5)
    model.unlearn_one({"a": "u"}, "y", w=1.0)
    assert model.store.by_name() == {("y",): 1.5, ("a", "u", "y"): 1.5}


def test_a_remainder_of_tiny_weights_is_no_rounding():
    model = AODE()
    for _ in range(3):
        model.learn_one({"a": "u", "b": "w"}, "y", w=1e-12)
    model.unlearn_one({"a": "u", "b": "w"}, "y", w=1e-12)
    assert list(model.store.by_name().values()) == pytest.approx([2e-12] * 4, rel=1e-9, abs=0.0)


def test_how_rounding_is_measured_is_saved_and_merged():
    for settle in (lambda m: type(m).from_state(m.state()), lambda m: m + NaiveBayes()):
        model = NaiveBayes()
        for weight in (1e9, 0.001, 0.1):
            model.learn_one({"a": "u"}, "y", w=weight)
        model.unlearn_one({"a": "u"}, "y", w=1e9)
        model = settle(model)
        for weight in (0.001, 0.1):
            model.unlearn_one({"a": "u"}, "y", w=weight)
        assert model.classes_ == ()
