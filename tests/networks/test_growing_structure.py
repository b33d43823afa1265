"""A BayesNet without a given structure grows one: as good as the true one, by the events alone, within its limits."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

from stream_bayes import Schema
from stream_bayes.data.schema import Numeric
from stream_bayes.errors import (
    BadStructure,
    BadValue,
    BudgetExceeded,
    CannotMerge,
    NeverMet,
    SchemaError,
    UnknownFeature,
)
from stream_bayes.networks import (
    BIC,
    BOSS,
    BayesNet,
    BayesNetClassifier,
    HillClimbing,
    Inference,
    Structure,
    edge_confidence,
    sample_of,
    score,
)
from tests.concepts import drawn_network


def events_of(network: Any, count: int, seed: int) -> list[dict[str, Any]]:
    columns = Inference(network).sample(count, np.random.default_rng(seed))
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


@pytest.fixture(scope="module")
def world() -> tuple[Any, list[dict[str, Any]]]:
    network = drawn_network(6, 3)
    return network, events_of(network, 2500, 3)


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_it_becomes_as_good_as_the_true_structure(seed: int) -> None:
    network = drawn_network(8, seed)
    model, true = BayesNet("learn"), BayesNet(network.structure)
    behind = [model.score_learn_one(x) - true.score_learn_one(x) for x in events_of(network, 2500, seed)]
    assert float(np.mean(behind[1500:])) < 0.02
    assert model.generation >= 1


def test_independent_variables_stay_independent() -> None:
    rng = np.random.default_rng(5)
    model = BayesNet("learn")
    for _ in range(1500):
        model.learn_one({name: int(rng.integers(3)) for name in "abcd"})
    assert model.structure.edges == ()
    assert all(change.why is not None for change in model.changes)


def test_the_log_says_what_changed_and_what_it_gained(world: tuple[Any, list[dict[str, Any]]]) -> None:
    model = BayesNet("learn")
    for x in world[1][:800]:
        model.learn_one(x)
    adopted = [change for change in model.changes if change.why is None]
    assert len(adopted) == model.generation > 0
    assert all(
        change.gain is not None and change.gain > 0.0 and change.score_gain > 0.0 for change in adopted
    )
    assert all(change.difference for change in adopted)
    assert [change.event for change in model.changes] == sorted(change.event for change in model.changes)


def test_a_restart_at_any_event_changes_nothing(world: tuple[Any, list[dict[str, Any]]]) -> None:
    settings: dict[str, Any] = {"window": 150, "search": HillClimbing(restarts=1, score=BIC())}
    whole, parts, cold = (BayesNet("learn", **settings) for _ in range(3))
    in_trial = 0
    for number, x in enumerate(world[1][:500]):
        whole.learn_one(x)
        parts.learn_one(x)
        if number % 23 == 0:
            saved = json.loads(json.dumps({k: v for k, v in parts.state().items() if k != "arrays"}))
            parts = BayesNet.from_state({**saved, "arrays": parts.state()["arrays"]})
            in_trial += parts.store.tried is not None
    cold.learn_many(world[1][:500])
    expected = whole.state()
    for model in (parts, cold, copy.deepcopy(whole)):
        state = model.state()
        assert (state["checksum"], state["reading"]) == (expected["checksum"], expected["reading"])
    assert in_trial > 2


@pytest.mark.parametrize("kind", [HillClimbing, BOSS])
def test_limits_of_the_search_are_kept(world: tuple[Any, list[dict[str, Any]]], kind: Any) -> None:
    tiers = [["v5", "v4"], ["v3"], ["v2", "v1"]]
    search = kind(tiers=tiers, required=[("v5", "v1")], forbidden=[("v4", "v5")], max_parents=2)
    model = BayesNet("learn", search=search)
    for x in world[1][:1500]:
        model.learn_one(x)
    number = {name: k for k, tier in enumerate(tiers) for name in tier}
    edges = model.structure.edges
    assert ("v5", "v1") in edges and ("v4", "v5") not in edges and len(edges) > 3
    assert all(number[a] <= number[b] for a, b in edges if a in number and b in number)
    assert all(len(model.structure.parents(name)) <= 2 for name in model.structure)
    clone = model.clone()
    assert clone.search == search and clone.is_growing and clone.clock == 0


def test_variables_and_values_may_come_late_or_be_missing() -> None:
    rng = np.random.default_rng(2)
    model = BayesNet("learn")
    for number in range(1200):
        a = int(rng.integers(2))
        x = {"a": a, "b": a if rng.random() < 0.95 else 1 - a}
        if number > 300:
            x["c"] = x["b"] if rng.random() < 0.9 else 2
        if rng.random() < 0.2:
            x.pop("a")
        assert np.isfinite(model.score_learn_one(x))
    assert model.structure.cpdag().directions().keys() >= {frozenset("ab"), frozenset("bc")}


def test_confidence_of_edges_is_high_where_there_is_one(world: tuple[Any, list[dict[str, Any]]]) -> None:
    network, events = world
    model = BayesNet("learn", window=1000)
    model.learn_many(events[:1000])
    shares = model.edge_confidence(8)
    joined = {frozenset(edge) for edge in network.structure.edges}
    both = {pair: sum(share for edge, share in shares.items() if frozenset(edge) == pair) for pair in joined}
    others = [share for edge, share in shares.items() if frozenset(edge) not in joined]
    assert float(np.mean(list(both.values()))) > 0.6  # some edges are too weak for so few events
    assert sum(others) / (15 - len(joined)) < 0.1
    with pytest.raises(BadValue, match="replicates"):
        edge_confidence(model.recent(), HillClimbing(), 0, np.random.default_rng(1))


def test_the_score_of_a_structure_is_the_one_that_searches_maximise(
    world: tuple[Any, list[dict[str, Any]]],
) -> None:
    sample = sample_of(world[1][:500])
    found = HillClimbing().search(sample)
    assert score(found.structure, sample) == pytest.approx(found.score)
    assert score(Structure({name: [] for name in sample.variables}), sample) == pytest.approx(
        found.start_score
    )
    with pytest.raises(UnknownFeature, match="the sample has no variable"):
        score(Structure({"other": []}), sample)


def test_bad_settings_are_refused_with_what_to_do() -> None:
    with pytest.raises(BadStructure, match="lead from a later tier"):
        HillClimbing(tiers=[["a"], ["b"]], required=[("b", "a")])
    with pytest.raises(BadStructure, match="is in two of them"):
        HillClimbing(tiers=[["a"], ["a"]])
    with pytest.raises(BadValue, match="needs a structure that stays"):
        BayesNet("learn", missing="window-em")
    with pytest.raises(BadValue, match="search is for structure='learn'"):
        BayesNet({"a": []}, search=HillClimbing())
    with pytest.raises(SchemaError, match="declare its cuts"):
        BayesNet("learn", schema=Schema({"a": Numeric()}))
    model = BayesNet("learn")
    model.learn_one({"a": 1})
    with pytest.raises(CannotMerge):
        model.merge(model.clone())


def test_edges_of_variables_that_have_not_come_wait_for_them() -> None:
    rng = np.random.default_rng(1)
    model = BayesNet("learn", search=HillClimbing(required=[("late", "a")], tiers=[["late"], ["a", "never"]]))
    for number in range(700):
        x = {"a": int(rng.integers(2)), "b": int(rng.integers(2))}
        if number > 200:
            x["late"] = int(rng.integers(2))
        if number == 63:
            with pytest.warns(NeverMet, match="no event had so far"):
                model.learn_one(x)
        else:
            model.learn_one(x)
        assert (("late", "a") in model.structure.edges) is (number > 200)
    schema = Schema({"a": ["x"], "late": ["y"]})
    with pytest.raises(UnknownFeature, match="'never'"):  # nothing comes that is not declared
        BayesNet("learn", schema=schema, search=model.search)
    declared = BayesNet("learn", schema=schema, search=HillClimbing(required=[("late", "a")]))
    assert declared.structure.edges == (("late", "a"),)


def test_a_structure_beyond_the_budget_is_refused_and_said(world: tuple[Any, list[dict[str, Any]]]) -> None:
    free = BayesNet("learn", window=300)
    free.learn_many(world[1][:63])  # before the first search
    model = BayesNet("learn", window=300, memory_budget=free.memory_bytes + 200)
    model.learn_many(world[1])
    assert any(change.why is not None and "bytes" in change.why for change in model.changes)
    assert model.clock == len(world[1])


def test_a_new_value_during_a_trial_follows_an_event_that_lacks_a_variable():
    rng, tried = np.random.default_rng(5), 0
    model = BayesNet("learn")
    for number in range(400):
        rain = bool(rng.random() < 0.5)
        model.learn_one({"rain": rain, "lawn": rain, "coin": bool(rng.random() < 0.5)})
        growth = model._growth
        assert growth is not None
        if growth._trial is not None:
            model.learn_one({"coin": True, "lawn": rain})
            model.learn_one({"rain": f"value {number}", "lawn": rain, "coin": True})
            tried += 1
    assert tried >= 10


def test_a_structure_on_trial_that_cannot_score_an_event_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = BayesNet("learn")
    for number in range(70):
        model.learn_one({"rain": number % 3 == 0, "lawn": number % 3 == 0})
    growth: Any = model._growth
    assert growth.store.tried is not None

    def gain(row: Any) -> float:
        raise BudgetExceeded("an exact answer would need more")

    monkeypatch.setattr(growth, "_gain", gain)
    model.learn_one({"rain": True})
    assert growth.store.tried is None and model.clock == 71
    assert model.changes[-1].why == "an exact answer would need more"


def test_the_rows_of_a_table_are_fitted_in_any_order(world: tuple[Any, list[dict[str, Any]]]) -> None:
    network, rows = world
    test = events_of(network, 500, 90)
    first = sorted(rows[0])[0]
    losses = []
    for table in (rows, sorted(rows, key=lambda x: str(x[first]))):
        model = BayesNet("learn").fit(table)
        assert model.clock == len(rows)
        losses.append(-float(np.mean([model.log_likelihood_one(x) for x in test])))
    assert losses[1] < losses[0] + 0.01
    kept = BayesNet("learn", half_life=500.0).fit(rows[:600])
    other = BayesNet("learn", half_life=500.0)
    other.learn_many(rows[:600])
    assert kept.log_likelihood_one(test[0]) == other.log_likelihood_one(test[0])  # their order is asked for


def test_a_classifier_whose_structure_grows_is_fitted_in_any_order(
    world: tuple[Any, list[dict[str, Any]]],
) -> None:
    rows = world[1]
    first, *others = sorted(rows[0])
    xs, ys = [{name: row[name] for name in others} for row in rows], [row[first] for row in rows]
    order = sorted(range(len(rows)), key=lambda row: str(ys[row]))
    losses = []
    for places in (range(len(rows)), order):
        model = BayesNetClassifier("learn").fit([xs[n] for n in places], [ys[n] for n in places])
        losses.append(
            -float(np.mean([np.log(model.predict_proba_one(x)[y]) for x, y in zip(xs, ys, strict=True)]))
        )
    assert model.clock == len(rows) and losses[1] < losses[0] + 0.02
