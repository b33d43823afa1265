"""Families of a network are counted as a dictionary would, in whole tables and by configurations alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_bayes
from stream_bayes.core import _family_counts
from stream_bayes.core.family_counts import FamilyCounts, network_encoder
from stream_bayes.core.network import DiscreteNetwork
from stream_bayes.core.structure import Structure
from stream_bayes.errors import (
    BadState,
    BadWeight,
    BudgetExceeded,
    CannotMerge,
    KindChanged,
    NotLearned,
    NotSupported,
    UnknownFeature,
)

EXAMPLES = 80 if stream_bayes.compiled else 15
NAN = float("nan")

STRUCTURE = Structure({"größe": [], "b": ["größe"], "c": ["b", "größe"], "d": ["c", "b", "a"], "a": []})
OTHER = Structure({"größe": ["a"], "b": ["größe"], "c": ["größe", "b"], "d": ["c", "a"], "a": []})
VALUES: list[Any] = ["x", "y", True, ("z", 1), b"w"]
NAMES: Any = STRUCTURE.variables

rows = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(NAMES, st.sampled_from([*VALUES, *VALUES, None, NAN]))
)
whole = st.sampled_from([1.0, 1.0, 2.0, 3.0])
fractions = st.sampled_from([1.0, 0.5, 0.3, 2.75])
samples = st.lists(st.tuples(rows, whole), max_size=25)
HALVES = st.sampled_from([None, None, 2.0, 30.0])


SIZES = pytest.mark.parametrize("most", [65536, 5], ids=["whole tables", "configurations"])


@contextmanager
def cells(most: int) -> Iterator[None]:
    """With 5 every family of a variable with parents is too large for a table of all its cells."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_family_counts, "MOST_CELLS", most)
        yield


def fresh(structure: Structure = STRUCTURE, **options: Any) -> FamilyCounts:
    return FamilyCounts(network_encoder(), structure, **options)


def learned(events: list[tuple[dict[str, Any], float]], **options: Any) -> FamilyCounts:
    counts = fresh(**options)
    for x, w in events:
        counts.learn(x, w)
    return counts


def counted(events: Any, structure: Structure = STRUCTURE) -> dict[Any, float]:
    """{(variable, parents' values, value): weight} of events that have the whole family."""
    found: Any = Counter()
    for x, w in events:
        for name in structure.variables:
            family = [x.get(member) for member in (*structure.parents(name), name)]
            if all(value is not None and value == value for value in family):
                found[name, tuple(family[:-1]), family[-1]] += w
    return {key: weight for key, weight in found.items() if weight}


def told(counts: FamilyCounts) -> dict[Any, float]:
    """The same out of the store, in each of the ways there are to read it."""
    found = {}
    for family in counts.families():
        codes, weights = family.configurations
        values = counts.values_of(family.variable)
        for above, row in zip(codes.tolist(), weights, strict=True):
            assert np.array_equal(family.row(above), row)
            if family.is_whole:
                assert np.array_equal(family.table[tuple(above)], row)
            named = tuple(
                counts.values_of(parent)[code] for parent, code in zip(family.parents, above, strict=True)
            )
            for value, weight in zip(values, row.tolist(), strict=True):
                if weight:
                    found[family.variable, named, value] = weight
        if family.is_whole:
            assert family.table.shape == family.shape
            assert family.table.sum() == pytest.approx(weights.sum())
    return found


def close(one: dict[Any, float], other: dict[Any, float]) -> None:
    largest = max([1.0, *one.values(), *other.values()])
    for key in {*one, *other}:
        assert one.get(key, 0.0) == pytest.approx(other.get(key, 0.0), abs=1e-9 * largest), key


def same(one: FamilyCounts, other: FamilyCounts) -> None:
    mine, theirs = one.state(), other.state()
    assert mine["meta"] == theirs["meta"]
    assert set(mine["arrays"]) == set(theirs["arrays"])
    for name, array in mine["arrays"].items():
        assert array.tobytes() == theirs["arrays"][name].tobytes(), name


@SIZES
@settings(max_examples=EXAMPLES)
@given(samples, st.data())
def test_counts_are_those_of_a_dictionary_and_what_is_unlearned_was_never_there(most, samples, data):
    with cells(most):
        counts = learned(samples)
        assert told(counts) == counted(samples)
        assert counts.weight == sum(w for _, w in samples)
        gone = [data.draw(st.booleans()) for _ in samples]
        for (x, w), out in zip(samples, gone, strict=True):
            if out:
                counts.unlearn(x, w)
        assert told(counts) == counted([sample for sample, out in zip(samples, gone, strict=True) if not out])


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
        close(told(counts), counted([(x, w * 2.0 ** ((clock - now) / half_life)) for x, w, clock in aged]))
        if not aged:
            assert told(counts) == {}


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
        close(told(one), told(whole))
        if half_life is None:
            assert told(one) == told(whole)


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
        assert told(counts) == expected
        twin = FamilyCounts.from_state(counts.state(), network_encoder(), window=size)
        assert twin.structure == OTHER
        same(counts, twin)
        for x, w in third:
            counts.learn(x, w)
        for x, w in reversed(third[-size:]):
            counts.unlearn(x, w)
        if len(third) <= size:
            assert told(counts) == expected


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


def test_axes_follow_the_parents_by_name_whatever_was_met_first():
    counts = FamilyCounts(network_encoder(), Structure({"c": ["b", "a"], "a": [], "b": []}))
    counts.learn({"c": "u", "b": "p", "a": "k"})
    counts.learn({"c": "v", "b": "q", "a": "k"}, 2.0)
    family = counts.family("c")
    assert family.parents == ("a", "b")
    assert family.table.tolist() == [[[1.0, 0.0], [0.0, 2.0]]]
    assert family.shape == (1, 2, 2)
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


# -- budget ---------------------------------------------------------------------------------------------------------


@SIZES
def test_a_budget_holds_and_refusing_changes_nothing(most):
    with cells(most):
        events = [({"größe": f"v{n % 40}", "b": f"w{n % 7}", "c": f"u{n}"}, 1.0) for n in range(300)]
        counts = fresh(memory_budget=30_000)
        refused = 0
        for x, w in events:
            before = counts.state()
            try:
                counts.learn(x, w)
            except BudgetExceeded:
                refused += 1
                same_state(before, counts.state())
            assert counts.memory_bytes <= 30_000
        assert 0 < refused < 300
        before = counts.state()
        with pytest.raises(BudgetExceeded):
            counts.learn_many([x for x, _ in events])
        with pytest.raises(BudgetExceeded):
            counts.learn_columns(
                ["c"], np.arange(5000, dtype=np.int32).reshape(-1, 1), [[f"t{n}" for n in range(5000)]]
            )
        same_state(before, counts.state())


def test_configurations_that_would_pass_the_budget_are_refused_without_new_names():
    with cells(5):
        counts = fresh()
        for value in VALUES:
            counts.learn(dict.fromkeys(NAMES, value))
        counts.memory_budget = counts.memory_bytes + 100
        refused = 0
        for one in VALUES:
            for other in VALUES:
                before = counts.state()
                try:
                    counts.learn({"größe": one, "b": other, "c": one, "a": other, "d": one})
                except BudgetExceeded:
                    refused += 1
                    same_state(before, counts.state())
                assert counts.memory_bytes <= counts.memory_budget
        assert refused


def same_state(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one["meta"] == other["meta"]
    for name, array in one["arrays"].items():
        assert array.tobytes() == other["arrays"][name].tobytes(), name


def test_a_structure_whose_families_pass_the_budget_is_not_taken():
    counts = learned([(dict.fromkeys(NAMES, f"v{n}"), 1.0) for n in range(30)], window=30)
    counts.memory_budget = counts.memory_bytes + 1000
    before = counts.state()
    dense = Structure({"größe": ["a", "b"], "a": [], "b": [], "c": ["a", "b"], "d": ["a"]})
    with pytest.raises(BudgetExceeded):
        counts.change_structure(dense)
    assert counts.structure == STRUCTURE
    same_state(before, counts.state())


# -- what is given beforehand ---------------------------------------------------------------------------------------


LAWN = Structure({"rain": [], "lawn": ["rain"]})
KNOWN = DiscreteNetwork(
    LAWN,
    states={"rain": ["no", "yes"], "lawn": ["wet", "dry"]},
    tables={"rain": [0.8, 0.2], "lawn": [[0.25, 0.75], [1.0, 0.0]]},
)


def test_a_prior_is_kept_beside_the_counts():
    counts: Any = FamilyCounts(network_encoder(), LAWN)
    counts.learn({"rain": "yes", "lawn": "dry"})
    assert counts.family("lawn").prior is None
    counts.set_prior(KNOWN, 4.0)
    lawn = counts.family("lawn")
    assert (counts.values_of("rain"), counts.values_of("lawn")) == (("yes", "no"), ("dry", "wet"))
    assert lawn.prior.tolist() == [[0.0, 4.0], [3.0, 1.0]]
    assert lawn.table.tolist() == [[1.0, 0.0], [0.0, 0.0]]
    counts.learn({"rain": "maybe", "lawn": "dry"})
    assert counts.family("rain").prior.tolist() == pytest.approx([0.8, 3.2, 0.0])
    twin: Any = FamilyCounts.from_state(counts.state(), network_encoder())
    same(counts, twin)
    assert twin.family("lawn").prior.tolist() == counts.family("lawn").prior.tolist()
    merged: Any = FamilyCounts(network_encoder(), LAWN)
    merged.set_prior(KNOWN, 4.0)
    merged.merge(counts)
    assert merged.family("lawn").prior.tolist() == [[1.0, 3.0], [4.0, 0.0], [0.0, 0.0]]
    assert merged.family("lawn").table.tolist() == [[0.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    with pytest.raises(CannotMerge, match="same prior"):
        counts.merge(FamilyCounts(network_encoder(), LAWN))
    counts.change_structure(Structure({"rain": ["lawn"], "lawn": []}))
    assert counts.priors == {}


@pytest.mark.parametrize("weight", [-1.0, NAN, True, "1", None])
def test_a_weight_that_is_none_is_refused(weight):
    with pytest.raises(BadWeight):
        FamilyCounts(network_encoder(), LAWN).set_prior(KNOWN, weight)


def test_a_prior_of_another_structure_is_refused():
    with pytest.raises(CannotMerge, match="another structure"):
        fresh().set_prior(KNOWN, 1.0)


# -- what does not fit ------------------------------------------------------------------------------------------------


def test_what_is_not_declared_is_refused_or_ignored():
    declared = network_encoder({"rain": ["no", "yes"], "lawn": ["wet"]})
    counts = FamilyCounts(declared, LAWN)
    counts.learn({"rain": "no", "lawn": "dry", "moon": "new"})
    codes = np.zeros((1, 3), np.int32)
    counts.learn_columns(["moon", "lawn", "rain"], codes, [["new"], ["dry"], ["yes"]])
    assert counts.family("lawn").table.tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert counts.held_values("lawn").tolist() == [True, True]
    with pytest.raises(UnknownFeature, match="'moon'"):
        counts.change_structure(Structure({"moon": []}))


def test_numbers_are_refused():
    counts = fresh()
    with pytest.raises(KindChanged):
        counts.learn({"a": 1.5})


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, NAN], [1.0, np.inf]])
def test_weights_that_do_not_fit_the_columns_are_refused(weights):
    counts = fresh()
    with pytest.raises(BadWeight):
        counts.learn_columns(["a"], np.zeros((2, 1), np.int32), [["x"]], np.array(weights))
    assert counts.values_of("a") == ()


def test_counts_of_another_structure_are_not_merged():
    counts = learned([({"a": "x"}, 1.0)])
    with pytest.raises(CannotMerge, match="same structure"):
        counts.merge(fresh(OTHER))


def altered(change: Any) -> dict[str, Any]:
    counts = learned([(dict.fromkeys(NAMES, VALUES[n % 3]), 1.5) for n in range(6)])
    state = counts.state()
    meta = {**state["meta"], "families": [list(each) for each in state["meta"]["families"]]}
    arrays = {name: array.copy() for name, array in state["arrays"].items()}
    change(meta, arrays)
    return {"meta": meta, "arrays": arrays}


def family(place: int, part: int, value: Any) -> Any:
    def change(meta: dict[str, Any], arrays: dict[str, Any]) -> None:
        meta["families"][place][part] = value

    return change


def array(name: str, place: Any, value: Any) -> Any:
    def change(meta: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name][place] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (family(0, 0, 5), "no variable"),
        (family(0, 0, -1), "no variable"),
        (family(0, 0, True), "no variable"),
        (family(1, 1, [5]), "no parents"),
        (family(1, 1, [-1]), "no parents"),
        (family(1, 1, [1]), "no parents"),
        (family(2, 1, [4, 1]), "no parents"),
        (family(2, 1, None), "no parents"),
        (family(4, 1, [1]), "cycle|items"),
        (family(1, 2, 2), "items"),
        (family(1, 2, -1), "no number of configurations"),
        (family(1, 2, 2**50), "no number of configurations"),
        (family(1, 3, -1), "no time"),
        (family(1, 3, 8), "no time"),
        (lambda meta, arrays: meta["families"].append(meta["families"][0]), "twice|items"),
        (lambda meta, arrays: meta["families"].pop(), "items"),
        (lambda meta, arrays: meta.pop("families"), "AttributeError|its arrays|NoneType"),
        (array("family_codes", 0, 3), "unknown value"),
        (array("family_codes", 0, -1), "no count or code"),
        (array("family_codes", 0, 1), "out of order"),
        (array("family_weight", 0, -1.0), "no count or code"),
        (array("family_weight", 0, NAN), "no count or code"),
        (array("family_weight", 4, 1.0), "no sample has"),
        (array("family_samples", 0, 0.5), "fractions"),
        (array("family_samples", 0, 0.0), "holds no sample|no sample has"),
        (
            lambda meta, arrays: arrays.update(family_codes=arrays["family_codes"].astype(np.int64)),
            "flat array",
        ),
        (lambda meta, arrays: arrays.update(family_weight=arrays["family_weight"][:-1]), "items"),
        (lambda meta, arrays: arrays.pop("family_samples"), "KeyError"),
        (lambda meta, arrays: arrays.update(family_more=np.zeros(1)), "family_more"),
        (lambda meta, arrays: arrays.update(prior=np.ones(1)), "more than its families"),
        (lambda meta, arrays: arrays.update(prior=np.array([NAN])), "no weights"),
        (lambda meta, arrays: meta.update(priors=[[0, [4]]]), "does not fit"),
        (lambda meta, arrays: meta.update(priors=[[0, [-1]]]), "does not fit"),
        (lambda meta, arrays: meta.update(priors=[[0, [3]]]), "cut short"),
        (lambda meta, arrays: meta.update(priors=[[7, [3]]]), "no variable"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(change, words):
    with pytest.raises(BadState, match=words):
        FamilyCounts.from_state(altered(change), network_encoder())
