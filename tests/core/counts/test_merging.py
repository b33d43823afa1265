"""Merging stores: by name, by clock, and within the limits."""

from __future__ import annotations

import pytest
from hypothesis import example, given

from stream_bayes.errors import BudgetExceeded, CannotMerge
from tests.core.counts.stores import (
    MANY,
    ORDERS,
    counted,
    frozen,
    learned,
    named,
    rows_store,
    samples,
)


@ORDERS
@given(many=samples, other=samples)
@example(many=MANY[::2], other=MANY[:0:-3])
def test_merging_adds_by_name_whatever_the_order_of_codes(order, many, other):
    store, second = (
        learned(many, order),
        learned([(dict(reversed(x.items())), y, w) for x, y, w in other], order),
    )
    before = frozen(second)
    store.merge(second)
    assert named(store) == counted(many + other, order)
    assert frozen(second) == before
    for x, y, w in many:
        store.unlearn(x, y, w)
    assert named(store) == counted(other, order)


@ORDERS
def test_merging_adds_the_moments_of_numbers(order):
    values = [3.0, 8.5, -2.0, 11.0, 0.25]
    store = learned([({"heat": v, "wind": "west"}, "rain", 1) for v in values[:2]], order)
    store.merge(learned([({"wind": "east", "heat": v}, "rain", 0.5) for v in values[2:]], order))
    whole = learned(
        [
            ({"heat": v, "wind": "east" if i > 1 else "west"}, "rain", 0.5 if i > 1 else 1)
            for i, v in enumerate(values)
        ],
        order,
    )
    assert store.by_name()["heat", "rain"] == pytest.approx(whole.by_name()["heat", "rain"], rel=1e-12)
    assert named(store).keys() == named(whole).keys()


@ORDERS
@pytest.mark.parametrize("events", [(5, 12), (12, 5), (7, 7), (2, 900)])
def test_merging_ages_the_older_of_two_clocks(order, events):
    mine, theirs = rows_store(order, half_life=3.0), rows_store(order, half_life=3.0)
    mine.learn({"a": "x", "b": "y", "n": 1.0}, "c", 4)
    theirs.learn({"b": "y", "a": "x", "n": 3.0}, "c", 4)
    mine.advance(events[0])
    theirs.advance(events[1])
    first = 4 * 2 ** (-max(0, events[1] - events[0]) / 3) * 2 ** (-events[0] / 3)
    second = 4 * 2 ** (-max(0, events[0] - events[1]) / 3) * 2 ** (-events[1] / 3)
    mine.merge(theirs)
    assert mine.tables.clock == max(events) + 1
    expected = pytest.approx(first + second, rel=1e-12)
    assert named(mine)["a", "x", "c"] == expected
    assert named(mine)["n", "c"][0] == expected
    if order == 2:
        assert named(mine)[frozenset({("a", "x"), ("b", "y")}), "c"] == expected


@ORDERS
def test_shards_that_share_the_streams_clock_merge_to_the_whole_and_unlearn_by_it(order):
    whole = rows_store(order, half_life=10.0)
    shards = [rows_store(order, half_life=10.0) for _ in range(3)]
    for i, (x, y, w) in enumerate(MANY):
        whole.learn(x, y, w)
        for number, shard in enumerate(shards):
            if number == i % 3:
                shard.learn(x, y, w)
            else:
                shard.advance(1)
    for shard in shards[1:]:
        shards[0].merge(shard)
    expected = named(whole)
    assert named(shards[0]).keys() == expected.keys()
    assert named(shards[0]) == pytest.approx(expected, rel=1e-9)
    for i, (x, y, w) in enumerate(MANY):
        shards[0].unlearn(x, y, w, at=i + 1)
    assert named(shards[0]) == {}


def test_a_store_of_whole_weights_takes_in_fractional_ones():
    store = learned([({"a": "x"}, "c", 2)])
    store.merge(learned([({"a": "x"}, "c", 0.5), ({"a": "y"}, "c", 0.25)]))
    assert store.by_name() == {("c",): 2.75, ("a", "x", "c"): 2.5, ("a", "y", "c"): 0.25}
    store.unlearn({"a": "y"}, "c", 0.25)
    store.unlearn({"a": "x"}, "c", 0.5)
    store.unlearn({"a": "x"}, "c", 2)
    assert store.by_name() == {}


def test_stores_of_other_orders_or_half_lives_do_not_merge():
    for other in (rows_store(2), rows_store(1, half_life=3.0)):
        with pytest.raises(CannotMerge, match="same order and half_life"):
            rows_store().merge(other)


def test_a_feature_of_another_kind_is_refused_by_name_and_nothing_changes():
    store = learned([({"a": "x"}, "c", 1)])
    before = frozen(store)
    with pytest.raises(CannotMerge, match="'a' is nominal in one learner and numeric in the other"):
        store.merge(learned([({"b": "x"}, "d", 1), ({"a": 3.5}, "e", 1)]))
    assert frozen(store) == before


@ORDERS
def test_a_merge_that_passes_the_budget_changes_nothing(order):
    store = learned([({"a": "x"}, "c", 1)], order, memory_budget=1000)
    before = frozen(store)
    with pytest.raises(BudgetExceeded):
        store.merge(learned([(x, y, w) for x, y, w in MANY], order))
    assert frozen(store) == before


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("values", ["abc", "de"])
def test_merging_past_the_limit_is_refused_by_name(reverse, values):
    stores = [rows_store(max_values=3), rows_store(max_values=3)]
    for store, names in zip(stores, ("abcd" if values == "abc" else "abc", values), strict=True):
        for value in names:
            store.learn({"f": value}, "y")
    first, second = reversed(stores) if reverse else stores
    before = frozen(first)
    with pytest.raises(CannotMerge, match="feature 'f' has passed max_values=3"):
        first.merge(second)
    assert frozen(first) == before


def test_merging_within_the_limit_is_exact():
    first, second = rows_store(max_values=3), rows_store(max_values=3)
    for value in "ab":
        first.learn({"f": value}, "y")
    for value in "cb":
        second.learn({"f": value}, "y")
    first.merge(second)
    assert first.by_name() == {("y",): 4, ("f", "a", "y"): 1, ("f", "b", "y"): 2, ("f", "c", "y"): 1}
