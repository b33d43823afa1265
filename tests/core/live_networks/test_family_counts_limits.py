"""Counts of families keep to a budget, take what is given beforehand, and refuse what does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes.core.live_networks.family_counts import FamilyCounts, network_encoder
from stream_bayes.core.networks.structure import Structure
from stream_bayes.errors import (
    BadState,
    BadWeight,
    BudgetExceeded,
    CannotMerge,
    KindChanged,
    UnknownFeature,
)
from tests.core.live_networks.family_events import (
    NAMES,
    NAN,
    OTHER,
    SIZES,
    STRUCTURE,
    VALUES,
    cells,
    fresh,
    learned,
)

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


def test_configurations_that_hold_nothing_any_more_take_no_room():
    with cells(5):
        counts = fresh()
        names = [f"v{n}" for n in range(40)]
        events = [{"größe": one, "b": names[-n], "c": one, "a": one, "d": one} for n, one in enumerate(names)]
        for x in events:
            counts.learn(x)
        for x in events[:35:2] + events[1:35:2]:
            counts.unlearn(x)
        held = [len(counts.tables.families.rows_of(f)[0]) for f in range(len(NAMES))]
        assert [family.rows for family in counts.tables.families.hashed if family] == [
            rows for rows, family in zip(held, counts.tables.families.hashed, strict=True) if family
        ]
        for x in events[35:]:
            counts.learn(x)
            counts.unlearn(x)
            counts.unlearn(x)
        assert all(family.rows == 0 for family in counts.tables.families.hashed if family)


def test_merging_fractions_into_whole_counts_keeps_to_the_budget():
    events = [dict.fromkeys(NAMES, f"v{n}") for n in range(12)]
    halves = learned([(x, 0.5) for x in events])
    ample = learned([(x, 1.0) for x in events])
    tight = FamilyCounts.from_state(ample.state(), network_encoder()).memory_bytes
    counts = learned([(x, 1.0) for x in events], memory_budget=tight + 500)
    before = counts.state()
    with pytest.raises(BudgetExceeded):
        counts.merge(halves)
    same_state(before, counts.state())
    ample.merge(halves)
    assert ample.memory_bytes > tight + 500


def test_configurations_that_merging_would_bring_count_against_the_budget():
    with cells(5):
        pairs = [
            {"größe": one, "b": two, "c": one, "a": two, "d": one} for one in "uvwxyz" for two in "uvwxyz"
        ]
        mine, theirs = pairs[::7], pairs[::5]
        names = learned([(x, 1.0) for x in mine])
        names.merge(learned([(x, 1.0) for x in theirs]))
        need = FamilyCounts.from_state(names.state(), network_encoder()).memory_bytes
        counts = learned([(x, 1.0) for x in mine], memory_budget=need)
        counts.merge(learned([(x, 1.0) for x in theirs]))
        assert counts.memory_bytes == need
        scant = learned([(x, 1.0) for x in mine], memory_budget=need - 1)
        with pytest.raises(BudgetExceeded):
            scant.merge(learned([(x, 1.0) for x in theirs]))


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


# -- what does not fit ------------------------------------------------------------------------------------------------


def test_what_is_not_declared_is_refused_or_ignored():
    declared = network_encoder({"rain": ["no", "yes"], "lawn": ["wet"]})
    counts = FamilyCounts(declared, Structure({"rain": [], "lawn": ["rain"]}))
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
        (family(0, 0, 5), "not a variable"),
        (family(0, 0, -1), "not a variable"),
        (family(0, 0, True), "not a variable"),
        (family(1, 1, [5]), "no parents"),
        (family(1, 1, [-1]), "no parents"),
        (family(1, 1, [1]), "no parents"),
        (family(2, 1, [4, 1]), "no parents"),
        (family(2, 1, None), "no parents"),
        (family(4, 1, [1]), "cycle|items"),
        (family(1, 2, 2), "items"),
        (family(1, 2, -1), "not a number of configurations"),
        (family(1, 2, 2**50), "not a number of configurations"),
        (family(1, 3, -1), "not a time"),
        (family(1, 3, 8), "not a time"),
        (lambda meta, arrays: meta["families"].append(meta["families"][0]), "twice|items"),
        (lambda meta, arrays: meta["families"].pop(), "items"),
        (lambda meta, arrays: meta.pop("families"), "AttributeError|its arrays|NoneType"),
        (array("family_codes", 0, 3), "unknown value"),
        (array("family_codes", 0, -1), "not a count or code"),
        (array("family_codes", 0, 1), "out of order"),
        (array("family_weight", 0, -1.0), "not a count or code"),
        (array("family_weight", 0, NAN), "not a count or code"),
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
    ],
)
def test_a_state_that_does_not_fit_is_refused(change, words):
    with pytest.raises(BadState, match=words):
        FamilyCounts.from_state(altered(change), network_encoder())
