"""A learned network takes other structures and networks from outside, and is kept without loss."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes import BayesNet, DiscreteNetwork, Nominal, Schema, Structure, read_bif, write_bif
from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.errors import (
    BadState,
    BadStructure,
    BadValue,
    BudgetExceeded,
    CannotMerge,
    CountsForgotten,
    NotSupported,
    UnknownFeature,
)
from tests.core.inference.random_networks import networks
from tests.networks.network_events import (
    COMPLETE,
    EXAMPLES,
    PARENTS,
    START,
    close,
    events_of,
    fractions,
    fresh,
    learned,
    same_bytes,
    tables,
)
from tests.resealing import resealed

# -- structures -------------------------------------------------------------------------------------------------------


def test_cycles_are_refused():
    with pytest.raises(BadStructure, match="cycle"):
        BayesNet({"chicken": ["egg"], "egg": ["chicken"]})
    with pytest.raises(BadValue, match="structure"):
        BayesNet()
    with pytest.raises(UnknownFeature, match="'b'"):
        BayesNet({"a": ["b"], "b": []}, schema=Schema({"a": Nominal()}))


def test_another_structure_keeps_the_families_they_share():
    model = learned(START)
    with pytest.warns(CountsForgotten, match=r"the tables of \['d'\] begin anew; a BayesNet with window="):
        model.structure = Structure({**PARENTS, "d": ["a"]})
    assert tables(model)["c"] == tables(learned(START))["c"]
    model.learn_one(COMPLETE)
    only = BayesNet({"a": [], "d": ["a"]})
    only.learn_one({"a": "x", "d": "u"})
    assert model.cpt("d")["x",]["u"] == pytest.approx((1 + 0.5) / (1 + 1))
    assert BayesNet.from_state(model.state()).structure == model.structure


def test_what_a_search_over_the_recent_events_found_is_counted_from_them():
    rng = np.random.default_rng(3)
    model = BayesNet({"rain": [], "lawn": [], "coin": []}, window=200)
    events = []
    for rain, flip, coin in rng.random((300, 3)).tolist():
        wet = (rain < 0.3) == (flip < 0.9)
        events.append(
            {"rain": rain < 0.3, "lawn": "wet" if wet else "dry", "coin": None if coin < 0.1 else coin < 0.5}
        )
        model.learn_one(events[-1])
    sample = model.recent()
    assert (len(sample), sample.variables) == (200, ("coin", "lawn", "rain"))
    found = HillClimbing().search(sample)
    assert set(map(frozenset, found.structure.edges)) == {frozenset({"rain", "lawn"})}
    model.structure = found.structure
    below = found.structure.edges[0][1]
    last = BayesNet(found.structure)
    for x in events[-200:]:
        last.learn_one(x)
    assert dict(model.cpt(below)) == dict(last.cpt(below))
    with pytest.raises(NotSupported, match="window"):
        last.recent()
    with pytest.raises(CannotMerge):
        model.merge(BayesNet(found.structure, window=200))
    assert BayesNet.from_state(model.state()).cpt(below).intervals() == model.cpt(below).intervals()


def test_before_any_event_another_structure_forgets_nothing():
    model = fresh()
    model.structure = {**PARENTS, "d": ["a"]}
    model.learn_one(COMPLETE)
    model.structure = model.structure
    assert model.cpt("d")["x",]["u"] == 1.0


def test_other_learners_are_not_merged():
    for other in (fresh(strength=2.0), BayesNet({"a": []}), fresh(half_life=3.0)):
        with pytest.raises(CannotMerge):
            fresh().merge(other)


# -- networks from outside --------------------------------------------------------------------------------------------


@settings(max_examples=EXAMPLES, deadline=None)
@given(networks(), st.sampled_from([0.3, 1.0, 7.0]))
def test_given_tables_are_reproduced_to_the_last_bit(drawn, weight):
    model = BayesNet.from_network(drawn.ours, weight=weight)
    assert model.to_network() == drawn.ours
    assert BayesNet.from_state(model.state()).to_network() == drawn.ours
    assert pickle.loads(pickle.dumps(model)).to_network() == drawn.ours
    assert model.clone().to_network() == drawn.ours


LAWN = DiscreteNetwork(
    Structure({"rain": [], "lawn": ["rain"]}),
    states={"rain": ["yes", "no"], "lawn": ["wet", "dry"]},
    tables={"rain": [0.2, 0.8], "lawn": [[0.9, 0.1], [0.05, 0.95]]},
    name="lawn",
)


@pytest.mark.parametrize("network", ["lawn.bif", Structure({"rain": []})])
def test_what_is_no_network_is_not_taken_for_one(network):
    with pytest.raises(BadValue, match="network must be a DiscreteNetwork, as read_bif returns it, not"):
        BayesNet.from_network(network)
    with pytest.raises(BadValue, match="network must be a DiscreteNetwork, as read_bif returns it, not"):
        BayesNet({"rain": []}, network=network)


def test_a_given_network_is_worth_so_many_samples():
    model = BayesNet.from_network(LAWN, weight=10, strength=0)
    for _ in range(5):
        model.learn_one({"rain": "yes", "lawn": "dry"})
    assert model.cpt("lawn")["yes",] == pytest.approx({"wet": 9 / 15, "dry": 6 / 15})
    assert model.cpt("lawn")["no",] == pytest.approx({"wet": 0.05, "dry": 0.95})
    model.learn_one({"rain": "drizzle", "lawn": "damp"})
    assert model.cpt("lawn")["drizzle",] == {"wet": 0.0, "dry": 0.0, "damp": 1.0}
    assert model.cpt("rain")[()] == pytest.approx({"yes": 7 / 16, "no": 8 / 16, "drizzle": 1 / 16})
    smoothed = BayesNet.from_network(LAWN, weight=10, strength=1)
    assert smoothed.cpt("rain")[()] == pytest.approx({"yes": 2.5 / 11, "no": 8.5 / 11})
    with pytest.raises(BadStructure):
        BayesNet({"rain": []}, network=LAWN)
    with pytest.raises(BadStructure):
        model.structure = Structure({"rain": [], "lawn": []})


def test_before_any_event_a_given_network_answers_as_itself():
    model, engine = BayesNet.from_network(LAWN), Inference(LAWN)
    for evidence in ({}, {"lawn": "wet"}, {"rain": "no"}):
        for variable in LAWN.structure:
            assert dict(model.query(variable, evidence)) == pytest.approx(
                dict(engine.query(variable, evidence)), abs=1e-15
            )
    model.learn_one({"rain": "yes", "lawn": "dry"})
    assert model.cpt("rain")[()]["yes"] == pytest.approx((0.2 + 1.0) / 2.0)
    assert BayesNet.from_network(LAWN, weight=0.0).cpt("rain")[()]["yes"] == 0.5


def test_what_was_given_does_not_fade():
    model = BayesNet.from_network(LAWN, weight=10, strength=0, half_life=1.0)
    for _ in range(20):
        model.learn_one({"rain": "yes"})
    fresh = sum(0.5**k for k in range(20))
    assert model.cpt("rain")[()]["yes"] == pytest.approx((2.0 + fresh) / (10.0 + fresh), abs=1e-12)


def test_beside_values_that_come_later_what_was_given_stays_in_its_place():
    model = BayesNet.from_network(LAWN, weight=10, strength=0)
    model.learn_one({"rain": "no", "lawn": "flooded"}, 5.0)
    model.learn_one({"rain": "hail", "lawn": "wet"})
    assert {row: list(shares.values()) for row, shares in model.cpt("lawn").items()} == {
        ("yes",): pytest.approx([0.9, 0.1, 0.0]),
        ("no",): pytest.approx([0.5 / 15, 9.5 / 15, 5.0 / 15]),
        ("hail",): [1.0, 0.0, 0.0],
    }


def test_a_learned_network_goes_through_a_file(tmp_path):
    model = BayesNet.from_network(LAWN, strength=0)
    write_bif(model.to_network(), tmp_path / "lawn.bif")
    again = BayesNet.from_network(read_bif(tmp_path / "lawn.bif"), strength=0)
    assert again.to_network() == LAWN
    model.learn_one({"rain": "yes", "lawn": "wet"})
    write_bif(model, tmp_path / "lawn.bif")
    assert read_bif(tmp_path / "lawn.bif") == model.to_network()
    with pytest.raises(BadValue, match="expected a DiscreteNetwork, or a BayesNet"):
        write_bif(LAWN.structure, tmp_path / "lawn.bif")  # type: ignore[arg-type]  # wrong on purpose


def test_a_network_of_unknown_values_cannot_be_handed_over():
    with pytest.raises(BadStructure, match="no value of"):
        BayesNet({"rain": []}).to_network()


# -- keeping ----------------------------------------------------------------------------------------------------------


@settings(max_examples=EXAMPLES)
@given(events_of(fractions), st.sampled_from([None, 3.0]))
def test_saving_loses_nothing(events, half_life):
    model = learned(events, half_life=half_life)
    for other in (
        BayesNet.from_state(model.state()),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ):
        same_bytes(other, model)
        other.learn_one(COMPLETE)
        more = learned([*events, (COMPLETE, 1.0)], half_life=half_life)
        close(tables(other), tables(more), 0.0)


def altered(state: dict[str, Any], path: list[Any], value: Any) -> dict[str, Any]:
    """A state with something else in one place, and a checksum that fits."""
    made = copy.deepcopy(state)
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return resealed(made)


def test_hostile_states_are_refused():
    state = BayesNet.from_network(LAWN).state()
    saved = state["parameters"]["network"]["network"]
    for path, value in [
        (["parameters", "structure"], {"structure": Structure({"rain": [], "lawn": []}).to_json()}),
        (["parameters", "structure"], {"structure": {"variables": [], "parents": [[7]]}}),
        (["parameters", "structure"], 5),
        (["parameters", "network", "network"], {**saved, "tables": [[[0.5, 0.5], [2.0, -1.0]], [0.2, 0.8]]}),
        (["parameters", "network", "network"], {**saved, "states": [["wet"], ["yes", "no"]]}),
        (["parameters", "network", "network"], {"tables": []}),
        (["parameters", "network"], "lawn"),
        (["parameters", "strength"], -1.0),
        (["store", "families"], []),
        (["reading"], {"due": 5}),
        (["arrays", "family_weight"], np.zeros(3)),
    ]:
        with pytest.raises(BadState):
            BayesNet.from_state(altered(state, path, value))
    with pytest.raises(BadState):
        BayesNet.from_state({**state, "clock": 3})


def test_a_budget_holds():
    model = fresh(memory_budget=20_000)

    def learn(k: int, more: int = 1) -> None:
        for number in range(k, k + more):
            model.learn_one({"a": str(number), "ü": True, "c": str(number), "d": "u"})

    with pytest.raises(BudgetExceeded):
        learn(0, 10_000)
    before = model.state()["checksum"]
    with pytest.raises(BudgetExceeded):
        learn(10_000)
    assert model.state()["checksum"] == before
    assert model.memory_bytes <= 20_000
    learn(0)
