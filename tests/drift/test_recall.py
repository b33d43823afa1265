"""A family that returns to a table of before a change gets it back; others, and stationary streams, recall nothing."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from stream_bayes import DriftAdaptive, MixedNetwork, Nominal, Numeric, Schema
from stream_bayes.drift import recall
from stream_bayes.drift.family_detectors import TOGETHER
from stream_bayes.drift.recall import FamilyMemory
from stream_bayes.drift.remembered_families import RememberedTable
from stream_bayes.errors import BadState, StreamBayesError
from stream_bayes.networks import BayesNet, DynamicNetwork
from stream_bayes.saving.river.model_state import model_state, restore_model

SIZE, ROWS, TURN = 8, 1200, 500
EDGES = {"a": [], "b": ["a"], "c": ["a"], "d": []}


def events(count: int, seed: int, b: int = 0, c: int = 0) -> list[dict[str, Any]]:
    """Draw events in which two values follow a third one, each shifted by a number of steps."""
    rng = np.random.default_rng(seed)
    rows = []
    for a, other, another, d in rng.integers(SIZE, size=(count, 4)).tolist():
        follows = rng.random(2) < 0.8
        rows.append(
            {
                "a": a,
                "b": (a + b) % SIZE if follows[0] else other,
                "c": (a + c) % SIZE if follows[1] else another,
                "d": d,
            }
        )
    return rows


def in_turn() -> list[dict[str, Any]]:
    """Return events in which the table of b changes, then that of c, and b's is back."""
    return [*events(ROWS, 1), *events(TURN, 2, 3), *events(TURN, 3, 3, 3), *events(TURN, 4, 0, 3)]


def alone(network: Any, **settings: Any) -> DriftAdaptive:
    """Return a network with memory whose rivals are judged later."""
    return DriftAdaptive(network, policy="refit", judge_after=500, trials=1, **settings)


def recalled(model: DriftAdaptive) -> list[tuple[int, list[str]]]:
    return [
        (entry["event"], entry["detector"]["families"])
        for entry in model.log.entries
        if entry["candidate"] == "recalled"
    ]


def test_a_table_that_returns_counts_its_events_of_before_while_the_others_stay() -> None:
    rows = in_turn()
    model = alone(BayesNet(EDGES))
    for x in rows:
        model.learn_one(x)
    [(event, families)] = recalled(model)
    assert families == ["b"] and ROWS + 2 * TURN < event < ROWS + 2 * TURN + 150
    store: Any = model.model_.store
    changes = [one for one in model.log.entries if one["what"] == "drift"]
    left = (
        changes[0]["since"] - 1 - TOGETHER + len(rows) - changes[-1]["since"] + 1
    )  # before a block that may be after the change, and since the return
    counted = {name: store.family(name).table.sum() for name in EDGES}
    since = {one["detector"]["families"][0]: one["since"] for one in changes}
    assert counted.pop("b") == left
    assert counted.pop("c") == len(rows) - since["c"] + 1
    assert set(counted.values()) == {len(rows)}
    entry = next(one for one in model.log.entries if one["candidate"] == "recalled")
    assert entry["score"]["after"] < entry["score"]["before"]
    assert entry["detector"]["numbers"]["log_evidence"] >= math.log(1 / recall.ERROR)
    assert model.generation == len([one for one in model.log.entries if one["what"] == "adopted"])


def test_only_events_after_the_proposal_judge_it() -> None:
    rows = in_turn()
    model = alone(BayesNet(EDGES))
    proposed: list[int] = []
    for x in rows:
        before = len(model._succession.memory.proposals)
        model.learn_one(x)
        now = model._succession.memory.proposals
        if len(now) > before:
            proposed.append(model.clock)
            assert [(one.events, one.gain) for one in now] == [(0, 0.0)] * len(now)
    [(event, _)] = recalled(model)
    entry = next(one for one in model.log.entries if one["candidate"] == "recalled")
    assert entry["events"] == event - proposed[-1]


def test_a_family_that_changes_to_something_new_recalls_nothing() -> None:
    rows = in_turn()
    model = alone(BayesNet(EDGES))
    for x in [*rows[: ROWS + TURN], *events(TURN, 9, 5)]:
        model.learn_one(x)
    assert len([one for one in model.log.entries if one["candidate"] == "families"]) >= 2
    assert recalled(model) == []


def test_after_all_tables_were_counted_again_those_that_did_not_change_come_back() -> None:
    rows = in_turn()
    model = DriftAdaptive(BayesNet(EDGES))
    succession = model._succession
    for x in rows[:ROWS]:
        model.learn_one(x)
    twin = succession._all_refitted(ROWS - 100)
    succession._remember_all(model.model_, twin, ROWS - 100)
    succession.model = twin
    assert {one.family.variable for one in succession.memory.proposals} == set(EDGES)
    succession.recent.move(twin, ROWS - 100)
    for x in events(TURN, 8):
        model.learn_one(x)
    store: Any = model.model_.store
    sums = [store.family(name).table.sum() for name in EDGES]
    assert (
        sums.count(ROWS - TOGETHER + TURN) >= len(sums) - 2
    )  # a root of few values may gain too little from its old events


@pytest.mark.parametrize("retired", [0, 1, 2])
def test_memory_is_bounded_counted_and_none_without_retired_models(retired: int) -> None:
    rows = in_turn()
    model = alone(BayesNet(EDGES), retired=retired)
    worlds = [rows[:ROWS], rows[ROWS : ROWS + TURN]]
    for turn in range(5):
        for x in worlds[turn % 2][:400]:
            model.learn_one(x)
    memory = model._succession.memory
    assert 0 < max(map(len, memory.families.values()), default=1) <= max(retired, 1)
    assert (memory.memory_bytes > 0) == (recalled(model) != []) == (retired > 0)
    whole, taken = model.memory_bytes, memory.memory_bytes
    memory.families, memory.proposals = {}, []
    assert model.memory_bytes == whole - taken


@pytest.mark.parametrize("every", [7, 53])
def test_a_restart_at_any_event_changes_nothing(every: int) -> None:
    rows = in_turn()

    def make() -> DriftAdaptive:
        return DriftAdaptive(BayesNet("learn", window=600), window=600)

    whole, parts = make(), make()
    for number, x in enumerate(rows):
        assert whole.score_learn_one(x) == parts.score_learn_one(x)
        if number % 211 == 0 or (number % every == 0 and parts._succession.memory.proposals):
            parts = restore_model(make(), model_state(parts))
    assert parts.log.entries == whole.log.entries and recalled(whole)
    assert parts._succession.memory.memory_bytes == whole._succession.memory.memory_bytes > 0


@pytest.mark.parametrize(("half_life", "weight"), [(None, 1.0), (None, 0.5), (900.0, 1.0)])
def test_gaps_fading_fractions_and_bins_are_remembered(half_life: float | None, weight: float) -> None:
    schema = Schema({"heat": Numeric(cuts=[-1.0, -0.5, 0.0, 0.5, 1.0]), "fan": Nominal(list("abcdef"))})
    rng = np.random.default_rng(5)
    model = alone(BayesNet([("heat", "fan")], schema=schema, half_life=half_life))
    for number in range(2700):
        heat = float(rng.normal())
        step = int(np.searchsorted([-1.0, -0.5, 0.0, 0.5, 1.0], heat, side="right"))
        fan = (step + 3 * (1000 <= number < 2000)) % 6 if rng.random() > 0.05 else int(rng.integers(6))
        x: dict[str, Any] = {"heat": heat, "fan": "abcdef"[fan]}
        if rng.random() < 0.1:
            del x["fan" if rng.random() < 0.5 else "heat"]
        model.learn_one(x, None, weight)
    assert [families for _, families in recalled(model)] == [["fan"]]
    network: Any = model.model_
    assert network.cpt("fan")[("[1.0, inf)",)]["f"] > 0.85


HOMES: dict[str, list[str]] = {"kind": [], "size": ["kind"], "price": ["kind", "size"], "sold": ["kind"]}


def homes(count: int, seed: int, slope: float = 2.0, step: int = 0) -> list[dict[str, Any]]:
    """Draw names and numbers, of which a slope and a table may change."""
    rng = np.random.default_rng(seed)
    rows = []
    for kind in rng.integers(4, size=count).tolist():
        size, noise = float(rng.normal()), float(rng.normal())
        month = int(rng.integers(8)) if rng.random() < 0.2 else (3 * kind + step) % 8
        price = slope * size + 3.0 * kind + 0.5 * noise
        rows.append({"kind": f"kind {kind}", "size": size, "price": price, "sold": f"month {month}"})
    return rows


def test_numbers_and_names_below_names_count_what_they_were_before() -> None:
    model = alone(MixedNetwork(HOMES))
    turns = [homes(700, 1), homes(300, 2, -1.0), homes(300, 3, -1.0, 2), homes(300, 4)]
    for x in [x for turn in turns for x in turn]:
        model.learn_one(x)
    assert sorted(families for _, families in recalled(model)) == [["price"], ["sold"]]
    since: dict[str, int] = {}
    for one in model.log.entries:
        if one["what"] == "drift":
            since |= dict.fromkeys(one["detector"]["families"], one["since"])
    network = network_of_numbers(model)
    weight = {v: weight_of(network, v) for v in HOMES}
    for v, before in {"price": 700, "sold": 1000}.items():
        assert 0 <= before + 1600 - since[v] + 1 - weight[v] < 80  # without what may be after the change
    assert weight["kind"] == weight["size"] == 1600


def network_of_numbers(model: DriftAdaptive) -> MixedNetwork:
    assert isinstance(model.model_, MixedNetwork)
    return model.model_


def weight_of(network: MixedNetwork, v: str) -> float:
    sums = network.store.sums_of(v)
    assert sums is not None
    return sums.weight


def test_a_number_that_changes_to_something_new_recalls_nothing() -> None:
    model = alone(MixedNetwork(HOMES))
    for x in [*homes(500, 1), *homes(500, 2, -1.0), *homes(300, 4, 0.5)]:
        model.learn_one(x)
    assert len([one for one in model.log.entries if one["candidate"] == "families"]) >= 2
    assert recalled(model) == []


@pytest.mark.parametrize("cuts", [[-1.0, 0.0, 1.0], None])
def test_a_name_below_a_number_is_recalled_where_its_cuts_stay(cuts: list[float] | None) -> None:
    schema = Schema({"heat": Numeric(cuts=cuts), "fan": Nominal(list("abcd"))})
    model = alone(MixedNetwork({"heat": [], "fan": ["heat"]}, schema=schema))
    rng = np.random.default_rng(3)
    for number in range(1500):
        heat = float(rng.normal())
        step = int(np.searchsorted([-1.0, 0.0, 1.0], heat)) + 2 * (700 <= number < 1100)
        model.learn_one(
            {"heat": heat, "fan": "abcd"[step % 4 if rng.random() < 0.9 else int(rng.integers(4))]}
        )
    assert [families for _, families in recalled(model)] == ([["fan"]] if cuts else [])
    assert network_of_numbers(model).query("fan", {"heat": 2.0})["d"] > 0.8


@pytest.mark.parametrize("structure", [HOMES, "learn"])
def test_a_restart_while_numbers_are_judged_changes_nothing(structure: Any) -> None:
    def make() -> DriftAdaptive:
        return alone(MixedNetwork(structure, window=400), window=400)

    whole, parts, judged = make(), make(), 0
    for x in [*homes(400, 1), *homes(500, 2, -1.0), *homes(200, 3)]:
        assert whole.score_learn_one(x) == parts.score_learn_one(x)
        if parts._succession.memory.proposals and judged < 3:
            judged += 1
            parts = restore_model(make(), model_state(parts))
    assert judged and parts.log.entries == whole.log.entries and recalled(whole)
    one, other = model_state(whole), model_state(parts)
    assert json.dumps(one["model"]) == json.dumps(other["model"])
    assert all(np.array_equal(array, other["arrays"][name]) for name, array in one["arrays"].items())


def test_what_is_refused_while_numbers_are_judged_changes_nothing() -> None:
    model = alone(MixedNetwork(HOMES))
    rows = [*homes(400, 1), *homes(500, 2, -1.0), *homes(100, 3)]
    for x in rows:
        model.learn_one(x)
        if model._succession.memory.proposals:
            break
    before = json.dumps(model_state(model)["model"])
    for bad in ({**rows[0], "price": math.inf}, {**rows[0], "price": "dear"}, {**rows[0], "kind": 1.5}):
        with pytest.raises(StreamBayesError):
            model.learn_one(bad)
    assert json.dumps(model_state(model)["model"]) == before


def test_saved_sums_that_were_altered_are_refused() -> None:
    def make() -> DriftAdaptive:
        return alone(MixedNetwork(HOMES))

    model = make()
    for x in [*homes(500, 1), *homes(200, 2, -1.0)]:
        model.learn_one(x)
    state = model_state(model)
    restore_model(make(), state)
    text = json.dumps(state["model"])
    shape = '"shape": ["price", true, ["kind"], ["size"], []]'
    assert shape in text, text[text.index('"memory"') :][:600]
    for bad in (
        '"shape": ["price", 1, ["kind"], ["size"], []]',
        '"shape": ["price", false, ["kind"], ["size"], []]',
        '"shape": ["price", true, ["size"], ["kind"], []]',
        '"shape": ["price", true, ["kind"], ["size"], [["size", [1.0, 0.5]]]]',
        '"shape": ["price", true, ["kind"], [], []]',
    ):
        with pytest.raises(BadState):
            restore_model(make(), {**state, "model": json.loads(text.replace(shape, bad))})


def test_networks_in_time_recall_too() -> None:
    model = alone(DynamicNetwork({"sky": [1]}))
    rng, sky = np.random.default_rng(2), 0
    for number in range(3400):
        step = 1 if not 1200 <= number < 2400 else 3
        sky = (sky + step) % 8 if rng.random() < 0.9 else int(rng.integers(8))
        model.learn_one({"sky": f"s{sky}", "wind": str(rng.choice(["north", "south"]))})
    assert ["sky"] in [families for _, families in recalled(model)]


def test_saved_memory_that_was_altered_is_refused() -> None:
    rows = in_turn()

    def make() -> DriftAdaptive:
        return alone(BayesNet(EDGES))

    model = make()
    for x in rows:
        model.learn_one(x)
        if model._succession.memory.proposals:
            break
    state = model_state(model)
    restore_model(make(), state)
    text = json.dumps(state["model"])
    for good, bad in (
        ('"kept": 3', '"kept": -1'),
        ('"families": [{"names"', '"families": [{"nomes"'),
        ('{"names": [["a", "b"], [[', '{"names": [["a", "b"], [[1], ['),
        ('{"names": [["a", "b"], [[3, 0,', '{"names": [["a", "b"], [[3,'),
        ('"proposals": [[0, ', '"proposals": [[3, '),
        ("1, 0, 0.0, 0.0]]", "0, 0, 0.0, 0.0]]"),
        ("0.0, 0.0]]", '0.0, {"float": "nan"}]]'),
    ):
        assert good in text, text[text.index('"memory"') :][:600]
        with pytest.raises(BadState):
            restore_model(make(), {**state, "model": json.loads(text.replace(good, bad))})
    names = [name for name in state["arrays"] if name.endswith(("codes", "-weights", "-samples"))]
    for name in names:
        for bad in (
            state["arrays"][name] * 0 - 1,
            state["arrays"][name][..., :0],
            state["arrays"][name] + 10**6,
        ):
            with suppress(BadState):
                restored = restore_model(make(), {**state, "arrays": {**state["arrays"], name: bad}})
                for x in rows[:5]:
                    restored.learn_one(x)


def test_a_right_table_is_given_up_for_a_remembered_one_at_most_as_often_as_promised() -> None:
    """The null of the e-value: values follow the present table's own predictions."""
    rng, wrong = np.random.default_rng(11), 0
    for _ in range(400):
        model = BayesNet({"rain": [], "lawn": ["rain"]})
        for rain, lawn in rng.integers(2, size=(40, 2)).tolist():
            model.learn_one({"rain": rain, "lawn": lawn})
        memory = FamilyMemory(2, 200)
        share = float(rng.random())
        other = BayesNet({"rain": [], "lawn": ["rain"]})
        for rain in rng.integers(2, size=300).tolist():
            other.learn_one({"rain": rain, "lawn": int(rng.random() < share)})
        cells = other.store.cells_of("lawn")
        values = tuple(other.store.values_of(name) for name in cells.members)
        memory.families["lawn"] = [RememberedTable(cells, values)]
        memory.propose(model, "lawn", 1)
        if not memory.proposals:  # the values came in another order
            continue
        while memory.proposals:
            rain = int(rng.integers(2))
            chance = model.store.family("lawn").table[model.store.values_of("rain").index(rain)]
            lawn = model.store.values_of("lawn")[int(rng.random() < (chance[1] + 0.5) / (chance.sum() + 1.0))]
            row = model.store.encode({"rain": rain, "lawn": lawn}, "event")
            losses = memory.losses(model, row, 1.0)
            model.learn_row(row)
            wrong += bool(memory.judge(losses))
    assert wrong <= 400 * recall.ERROR * 3
