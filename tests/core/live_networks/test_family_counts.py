"""Families of a network are counted as a dictionary would, in whole tables and by configurations alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.core.live_networks.family_counts import FamilyCounts, network_encoder
from stream_bayes.core.networks.structure import Structure
from stream_bayes.errors import (
    NotLearned,
    NotSupported,
)
from tests.core.live_networks.family_events import (
    EXAMPLES,
    HALVES,
    NAMES,
    OTHER,
    SIZES,
    STRUCTURE,
    VALUES,
    cells,
    close,
    counted,
    fractions,
    fresh,
    learned,
    rows,
    same,
    samples,
    stored_weights,
)


@SIZES
@settings(max_examples=EXAMPLES)
@given(samples, st.data())
def test_counts_are_those_of_a_dictionary_and_what_is_unlearned_was_never_there(most, samples, data):
    with cells(most):
        counts = learned(samples)
        assert stored_weights(counts) == counted(samples)
        assert counts.weight == sum(w for _, w in samples)
        gone = [data.draw(st.booleans()) for _ in samples]
        for (x, w), out in zip(samples, gone, strict=True):
            if out:
                counts.unlearn(x, w)
        assert stored_weights(counts) == counted(
            [sample for sample, out in zip(samples, gone, strict=True) if not out]
        )


@SIZES
@settings(max_examples=EXAMPLES)
@given(st.lists(st.tuples(rows, fractions), max_size=20), st.sampled_from([0.5, 2.0, 30.0]), st.data())
def test_faded_counts_have_their_closed_form_and_are_taken_back_at_their_time(most, events, half_life, data):
    with cells(most):
        counts, aged = fresh(half_life=half_life), []
        for x, w in events:
            counts.learn(x, w)
            aged.append((x, w, counts.tables.clock))
        counts.advance(3)
        for x, w, clock in list(aged):
            if data.draw(st.integers(0, 2)) == 0:
                counts.unlearn(x, w, at=clock)
                aged.remove((x, w, clock))
        now = counts.tables.clock
        close(
            stored_weights(counts),
            counted([(x, w * 2.0 ** ((clock - now) / half_life)) for x, w, clock in aged]),
        )
        if not aged:
            assert stored_weights(counts) == {}


@SIZES
@settings(max_examples=EXAMPLES)
@given(samples, samples, HALVES)
def test_merged_counts_are_those_of_all_events(most, first, second, half_life):
    with cells(most):
        one, other = learned(first, half_life=half_life), fresh(half_life=half_life)
        other.advance(len(first))
        for x, w in second:
            other.learn(x, w)
        whole = learned([*first, *second], half_life=half_life)
        before = other.state()
        one.merge(other)
        assert other.state()["meta"] == before["meta"]
        close(stored_weights(one), stored_weights(whole))
        if half_life is None:
            assert stored_weights(one) == stored_weights(whole)


@SIZES
@settings(max_examples=EXAMPLES)
@given(samples, samples, HALVES)
def test_saving_loses_nothing(most, first, more, half_life):
    with cells(most):
        counts = learned(first, half_life=half_life)
        twin = FamilyCounts.from_state(counts.state(), network_encoder(), half_life=half_life)
        copy = counts.copy(network_encoder())
        assert twin.structure == copy.structure == STRUCTURE
        for one in (counts, twin, copy):
            for x, w in more:
                one.learn(x, w)
        same(counts, twin)
        same(counts, copy)


@SIZES
@settings(max_examples=EXAMPLES)
@given(st.lists(st.tuples(rows, st.sampled_from([1.0, 2.0, 0.0, 0.5])), max_size=25), HALVES, st.booleans())
def test_columns_and_many_are_learned_as_one_by_one(most, events, half_life, whole):
    with cells(most):
        if whole:
            events = [(x, float(round(w))) for x, w in events]
        one = learned(events, half_life=half_life)
        many, columns = fresh(half_life=half_life), fresh(half_life=half_life)
        vocabularies = [VALUES[::-1] if name == "b" else VALUES for name in NAMES]
        codes = np.full((len(events), len(NAMES)), -1, np.int32)
        for r, (x, _) in enumerate(events):
            for c, name in enumerate(NAMES):
                if x.get(name) in vocabularies[c]:
                    codes[r, c] = vocabularies[c].index(x[name])
        ws = np.array([w for _, w in events])
        half = len(events) // 2
        for part in (slice(half), slice(half, None)):
            many.learn_many([x for x, _ in events[part]], ws[part].tolist())
            columns.learn_columns(NAMES, codes[part], vocabularies, ws[part])
        same(one, many)
        same(one, columns)
        assert [counts.held_values("a").tolist() for counts in (one, columns)] == 2 * [
            [True] * len(one.values_of("a"))
        ]


@SIZES
@settings(max_examples=EXAMPLES)
@given(samples, samples, samples, st.integers(1, 40))
def test_another_structure_counts_what_the_window_holds_and_keeps_what_stays(
    most, first, second, third, size
):
    with cells(most):
        counts = learned(first, window=size)
        counts.change_structure(OTHER)
        for x, w in second:
            counts.learn(x, w)
        begun = max(len(first) - size, 0)
        everything = counted([*first, *second], OTHER)
        recent = counted([*first[begun:], *second], OTHER)
        kept = ("b", "c", "a")  # c has the same parents, in another order
        expected = {key: n for key, n in everything.items() if key[0] in kept}
        expected |= {key: n for key, n in recent.items() if key[0] not in kept}
        assert stored_weights(counts) == expected
        twin = FamilyCounts.from_state(counts.state(), network_encoder(), window=size)
        assert twin.structure == OTHER
        same(counts, twin)
        for x, w in third:
            counts.learn(x, w)
        for x, w in reversed(third[-size:]):
            counts.unlearn(x, w)
        if len(third) <= size:
            assert stored_weights(counts) == expected


def test_what_was_taken_back_is_not_counted_again_from_the_window():
    counts = fresh(window=5)
    for value in "xyx":
        counts.learn({"größe": "x", "a": value})
    counts.unlearn({"größe": "x", "a": "y"})
    counts.change_structure(OTHER)
    assert counts.values_of("a") == ("x", "y")
    assert counts.family("größe").table.tolist() == [[2.0], [0.0]]


def test_an_event_from_before_a_family_is_not_taken_from_it():
    counts = fresh(window=2)
    for value in "xyz":
        counts.learn({"größe": "x", "a": value})
    counts.change_structure(OTHER)
    before = counts.family("größe").table.tolist()
    counts.unlearn({"größe": "x", "a": "x"}, at=1)
    assert counts.family("größe").table.tolist() == before == [[0.0], [1.0], [1.0]]
    assert counts.family("a").table.tolist() == [0.0, 1.0, 1.0]


def test_axes_follow_the_parents_as_written_whatever_was_met_first():
    counts = FamilyCounts(network_encoder(), Structure({"c": ["b", "a"], "a": [], "b": []}))
    counts.learn({"c": "u", "b": "p", "a": "k"})
    counts.learn({"c": "v", "b": "q", "a": "k"}, 2.0)
    family = counts.family("c")
    assert family.parents == ("b", "a")
    assert family.table.tolist() == [[[1.0, 0.0]], [[0.0, 2.0]]]
    assert family.shape == (2, 1, 2)
    with pytest.raises(ValueError, match="read-only"):
        family.table[0, 0, 0] = 5.0


def test_values_together_that_never_came_are_not_unlearned():
    counts = fresh()
    counts.learn({"größe": "x", "b": "x"})
    counts.learn({"größe": "y", "b": "y"})
    before = counts.state()
    with pytest.raises(NotLearned, match="these values together"):
        counts.unlearn({"größe": "x", "b": "y"})
    for name, array in counts.state()["arrays"].items():
        assert array.tobytes() == before["arrays"][name].tobytes()


def test_without_all_cells_there_is_no_table_to_ask_for():
    with cells(5):
        counts = learned([({"größe": "x", "b": "y"}, 1.0)] * 3 + [({"größe": "y", "b": "x"}, 1.0)])
        for value in VALUES:
            counts.learn({"größe": value, "b": value})
        family = counts.family("b")
        assert not family.is_whole
        assert family.row([1]).tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
        assert counts.family("c").row([0, 0]).tolist() == []
        with pytest.raises(NotSupported, match="'b' has 5x5 cells"):
            _ = family.table


def test_many_parents_with_many_values_take_room_for_what_was_met_alone():
    parents = [f"p{n}" for n in range(4)]
    counts = FamilyCounts(network_encoder(), Structure({"child": parents, **dict.fromkeys(parents, ())}))
    source = np.random.default_rng(3)
    for _ in range(600):
        codes = source.integers(10, size=5)
        counts.learn({name: f"v{code}" for name, code in zip([*parents, "child"], codes, strict=True)})
    assert not counts.family("child").is_whole
    assert counts.memory_bytes < 8 * 10**5 / 4
    assert counts.family("child").configurations[1].sum() == 600.0
