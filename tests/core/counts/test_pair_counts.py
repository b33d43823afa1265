"""Tables of pairs and triples, and the table beside them: how much of a value came with another feature."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stream_bayes.core.counts._layout import Layout
from stream_bayes.core.counts.store import CountStore
from stream_bayes.errors import BadState, BudgetExceeded
from tests.builds import examples
from tests.core.counts.stores import (
    MANY,
    Sample,
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

EXAMPLES = settings(max_examples=examples(30))
HIGHER = pytest.mark.parametrize("order", [2, 3])

SKY = {"sky": "grey", "wind": "west", "moon": "full"}


def beside(store: CountStore) -> dict[Any, float] | None:
    """The table beside the pairs by name, in fresh samples; None as long as there is none."""
    tables: Any = store.tables
    if tables.pairs.beside is None:
        return None
    layout, features = tables.values.layout, store.encoder.nominal
    table = np.asarray(tables.pairs.beside).reshape(layout.positions, layout.features, layout.classes)
    found = {}
    for feature, other in itertools.permutations(features, 2):
        for code, value in enumerate(feature.vocabulary.values[: layout.used[feature.slot]]):
            for label, y in enumerate(store.encoder.labels.values[: tables.labels]):
                weight = table[layout.start[feature.slot] + code, other.slot, label]
                if weight:
                    found[feature.name, value, other.name, y] = float(weight) / tables.unit
    # Nothing stands anywhere else: not in spare room, and not beside a feature itself.
    assert np.count_nonzero(table) == len(found)
    return found


def counted_beside(many: list[Sample]) -> dict[Any, float]:
    """The same by counting in a dict."""
    counts: Any = Counter()
    for x, y, w in many:
        held = [(name, value) for name, value in x.items() if value is not None]
        for (name, value), (other, _) in itertools.permutations(held, 2):
            counts[name, value, other, y] += w
    return dict(counts)


def is_complete(many: list[Sample]) -> bool:
    """Whether each sample has each feature that any of them has."""
    present = [{name for name, value in x.items() if value is not None} for x, _, _ in many]
    return all(names == set().union(*present) for names in present)


# -- where cells stand ------------------------------------------------------------------------------------------------

rooms = st.lists(st.integers(0, 4), max_size=6)


@given(rooms, st.integers(1, 3))
def test_every_triple_of_positions_of_different_features_has_one_cell(room, classes):
    layout = Layout(room, room, [0] * len(room), classes)
    expected = sum(math.prod(three) for three in itertools.combinations(room, 3))
    assert layout.triples == expected
    assert sorted(layout.triples_of(room).tolist()) == list(range(expected))


@given(rooms.flatmap(lambda room: st.tuples(st.just(room), st.tuples(*(st.integers(0, r) for r in room)))))
def test_cells_of_codes_come_in_one_order_whatever_the_room(case):
    room, used = case
    wide, tight = (Layout(used, places, [0] * len(room), 2) for places in (room, used))
    # In tables without spare room every cell is taken, in rising order.
    assert tight.pairs_of(used).tolist() == list(range(tight.pairs))
    assert tight.triples_of(used).tolist() == list(range(tight.triples))
    pairs, triples = wide.pairs_of(used).tolist(), wide.triples_of(used).tolist()
    assert len(set(pairs)) == len(pairs) == tight.pairs
    assert len(set(triples)) == len(triples) == tight.triples
    assert all(0 <= cell < wide.pairs for cell in pairs)
    assert all(0 <= cell < wide.triples for cell in triples)


# -- pairs and triples ------------------------------------------------------------------------------------------------


@HIGHER
def test_tables_that_grow_in_every_direction_keep_every_count(order):
    store, held = rows_store(order), []
    for number in range(14):
        # More values of one feature, more features, and more classes, each past the first room.
        x = {"grows": f"v{number}", "flips": number % 2 == 0, **{f"f{i}": "x" for i in range(number // 2)}}
        held.append((x, f"y{number % 11}", 1.0 + number % 3))
        store.learn(*held[-1])
        assert named(store) == counted(held, order)
    for number in range(14):
        store.learn({"grows": f"v{number}", "flips": True, "f0": "y"}, "y0")
        held.append(({"grows": f"v{number}", "flips": True, "f0": "y"}, "y0", 1.0))
    assert named(store) == counted(held, order)


def test_triples_stand_under_their_names_in_order():
    store = learned([({"b": "y", "c": 1 > 0, "a": "x"}, "u", 2.0)], 3)
    assert store.by_name()["a", "x", "b", "y", "c", True, "u"] == 2.0
    assert max(map(len, store.by_name())) == 7


def test_a_store_of_pairs_has_no_triples_and_one_of_values_no_pairs():
    assert max(map(len, learned([(SKY, "u", 1.0)], 2).by_name())) == 5
    assert max(map(len, learned([(SKY, "u", 1.0)], 1).by_name())) == 3


def test_every_triple_of_an_event_is_counted_once():
    x = {f"f{i}": "x" for i in range(7)}
    store = learned([(x, "u", 3.0)] * 2, 3)
    assert [n for key, n in store.by_name().items() if len(key) == 7] == [6.0] * 35


@HIGHER
@EXAMPLES
@given(many=samples, other=samples, source=st.randoms(use_true_random=False))
@example(many=MANY[:60], other=MANY[60:], source=None)
def test_whatever_was_done_the_tables_are_those_of_a_dict(order, many, other, source):
    store, held = learned(many, order), list(many)
    steps = ["merge", "unlearn", "reload", "learn"]
    if source is not None:
        source.shuffle(steps)
    for step in steps:
        if step == "merge":
            store.merge(learned(other, order))
            held += other
        elif step == "unlearn":
            for sample in held[::3]:
                store.unlearn(*sample)
            held = [sample for number, sample in enumerate(held) if number % 3]
        elif step == "reload":
            twin = rows_store(order)
            twin.load(store.state())
            assert beside(twin) == beside(store)
            assert frozen(twin)[:2] == frozen(store)[:2]
            store = twin
        else:
            for x, y, w in other[:3]:
                held.append(({**x, "new": "x"}, y, w))
                store.learn(*held[-1])
        assert named(store) == counted(held, order)
        if beside(store) is not None:
            assert beside(store) == counted_beside(held)
        else:
            assert is_complete(held)


@HIGHER
@EXAMPLES
@given(many=st.lists(st.tuples(rows, st.sampled_from("abc"), fractions), min_size=1, max_size=20))
def test_fading_fades_pairs_triples_and_what_stands_beside(order, many):
    half_life = 3.0
    store = rows_store(order, half_life=half_life)
    for x, y, w in many:
        store.learn(x, y, w)
    faded = [(x, y, w * 2 ** ((i + 1 - len(many)) / half_life)) for i, (x, y, w) in enumerate(many)]
    assert named(store) == pytest.approx(counted(faded, order), rel=1e-12)
    if beside(store) is not None:
        assert beside(store) == pytest.approx(counted_beside(faded), rel=1e-12)
    store.advance(1000)  # and the tables are rescaled
    store.learn(SKY, "a", 2.0)
    expected = counted([(SKY, "a", 2.0)], order)
    assert {key: n for key, n in named(store).items() if n > 1e-9} == expected
    assert {key: n for key, n in (beside(store) or {}).items() if n > 1e-9} == (
        counted_beside([(SKY, "a", 2.0)]) if beside(store) is not None else {}
    )


# -- what stands beside -----------------------------------------------------------------------------------------------


def test_nothing_stands_beside_as_long_as_every_event_has_every_feature():
    store = rows_store(2)
    for number in range(30):
        store.learn({"a": f"v{number % 9}", "b": number % 2 == 0, "c": "x"}, number % 5)
    assert beside(store) is None
    assert "beside" not in store.state()["arrays"]
    store.unlearn({"a": "v3", "b": False, "c": "x"}, 3)
    assert beside(store) is None


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize(
    "odd", [{"a": "x", "b": None}, {"a": "x"}, {}, {"a": "x", "b": "y", "late": "z"}], ids=repr
)
def test_the_first_event_that_lacks_a_feature_sets_up_what_stands_beside(order, odd):
    many: list[Sample] = [({"a": "x", "b": "yz"[i % 2]}, "uv"[i % 3 == 0], 1.0 + i) for i in range(6)]
    store = learned(many, order)
    before = store.memory_bytes
    assert beside(store) is None
    store.learn(odd, "u", 2.0)
    many.append((odd, "u", 2.0))
    assert beside(store) == counted_beside(many)
    assert store.memory_bytes > before
    store.learn({"b": "new", "later": "x"}, "w")
    many.append(({"b": "new", "later": "x"}, "w", 1.0))
    assert beside(store) == counted_beside(many)


def test_an_event_without_any_feature_first_sets_it_up_as_soon_as_there_is_one():
    many: list[Sample] = [({}, "u", 1.0), ({"a": "x", "b": "y"}, "u", 1.0), ({"a": "x", "b": "z"}, "v", 2.0)]
    assert beside(learned(many[:1], 2)) is None
    assert beside(learned(many, 2)) == counted_beside(many)


@EXAMPLES
@given(samples, st.randoms(use_true_random=False))
def test_what_stands_beside_follows_unlearning_to_nothing(many, source):
    store = learned(many, 2)
    held = list(many)
    source.shuffle(held)
    while held:
        x, y, w = held.pop()
        store.unlearn(x, y, w)
        if beside(store) is not None:
            assert beside(store) == counted_beside(held)
    assert not beside(store)


@given(st.lists(st.tuples(rows, st.sampled_from("abc"), fractions), max_size=15), st.randoms())
def test_nothing_stands_beside_where_no_sample_of_any_weight_is_left(many, source):
    store = learned(many, 2)
    source.shuffle(many)
    for x, y, w in many:
        store.unlearn(x, y, w)
    assert not beside(store)


@EXAMPLES
@given(samples, samples)
def test_merging_counts_what_stands_beside_anew(many, other):
    store = learned(many, 2)
    store.merge(learned([(dict(reversed(x.items())), y, w) for x, y, w in other], 2))
    if is_complete(many + other):
        assert beside(store) is None
    else:
        assert beside(store) == counted_beside(many + other)


@HIGHER
@pytest.mark.parametrize("gone", ["a", "b", "c"])
@pytest.mark.parametrize("weights", [[1e6, 1e-3, 0.1], [0.1, 1e6, 1 / 3], [1e-3, 0.7, 1e6]])
def test_no_rounding_is_left_of_a_value_whose_samples_are_all_gone(order, gone, weights):
    # The other values of its events stay, and what was rounded in their pairs with it must not.
    usual = {"a": "x", "b": "x", "c": "x", "d": "x"}
    store = learned([(usual, "u", 3.0), ({"a": "x"}, "u", 1.0), (usual, "v", 1.0)], order)
    odd = usual | {gone: "odd"}
    for w in weights:
        store.learn(odd, "u", w)
    for w in weights:
        store.unlearn(odd, "u", w)
    assert not [key for key in store.by_name() if "odd" in key]
    assert not [key for key in beside(store) or {} if "odd" in key]


def test_two_complete_stores_with_other_features_merge_into_one_with_gaps():
    one: list[Sample] = [({"a": "x", "b": "y"}, "u", 1.0)] * 2
    other: list[Sample] = [({"b": "y", "c": "z"}, "u", 3.0)]
    store = learned(one, 2)
    store.merge(learned(other, 2))
    assert beside(store) == counted_beside(one + other)
    same = learned(one, 2)
    same.merge(learned(one, 2))
    assert beside(same) is None


def test_a_state_that_lacks_what_stands_beside_is_refused():
    state = learned([(SKY, "u", 1.0), ({"sky": "blue"}, "v", 1.0)], 2).state()
    del state["arrays"]["beside"]
    with pytest.raises(BadState, match="beside"):
        rows_store(2).load(state)


def test_a_table_beside_outlives_the_gaps_that_set_it_up_and_comes_back_with_its_state():
    store = learned([(SKY, "u", 1.0), ({"sky": "blue"}, "v", 1.0)], 2)
    store.unlearn({"sky": "blue"}, "v")
    twin = rows_store(2)
    twin.load(store.state())
    assert beside(twin) == beside(store) == counted_beside([(SKY, "u", 1.0)])


# -- room -------------------------------------------------------------------------------------------------------------


@HIGHER
def test_a_budget_leaves_room_for_what_may_have_to_stand_beside(order):
    # The table comes with the first event that lacks a feature, too late to refuse: so the budget counts it before.
    many: list[Sample] = [({f"f{i}": f"v{n % 3}" for i in range(6)}, n % 2, 1.0) for n in range(6)]
    smallest = learned(many, order).memory_bytes
    while True:
        try:
            store = learned(many, order, memory_budget=smallest)
            break
        except BudgetExceeded:
            smallest += 64
    assert beside(store) is None
    store.learn({"f0": "v0"}, 0)
    assert beside(store) is not None
    assert store.memory_bytes <= smallest


@HIGHER
def test_a_store_too_small_for_an_event_refuses_it_and_holds_what_it_held(order):
    held = learned([(SKY, "u", 1.0)], order, memory_budget=8000)
    before = frozen(held)
    with pytest.raises(BudgetExceeded, match="memory_budget"):
        held.learn({f"wide {i}": "x" for i in range(40)}, "u")
    assert frozen(held) == before
    held.learn(SKY, "u")
    assert named(held) == counted([(SKY, "u", 2.0)], order)


@given(samples, whole)
def test_triples_hold_the_pairs_that_stores_of_pairs_hold(many, weight):
    many = [(x, y, w * weight) for x, y, w in many[:15]]
    triples, pairs = named(learned(many, 3)), named(learned(many, 2))
    assert {
        key: n for key, n in triples.items() if not isinstance(key[0], frozenset) or len(key[0]) == 2
    } == pairs
