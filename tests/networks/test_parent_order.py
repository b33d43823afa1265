"""Parents keep the order in which they were written, and every table, answer, file and state is by that order."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes.core.networks.structure import Structure
from stream_bayes.errors import CannotMerge
from stream_bayes.networks import (
    BayesNet,
    BayesNetClassifier,
    DiscreteNetwork,
    Inference,
    from_pgmpy,
    from_pyagrum,
    read_bif,
    to_pgmpy,
    to_pyagrum,
    write_bif,
)
from tests.concepts import drawn_network

LAWN = {"sprinkler": [], "rain": [], "lawn": ["sprinkler", "rain"]}
STATES: dict[str, Any] = {"sprinkler": [True, False], "rain": [True, False], "lawn": ["wet", "dry"]}
WET = {(True, True): 0.99, (True, False): 0.9, (False, True): 0.8, (False, False): 0.05}  # (sprinkler, rain)


def lawn_network(parents: tuple[str, str]) -> DiscreteNetwork:
    """Return the lawn with its parents written in this order."""
    axis = [parents.index(name) for name in ("sprinkler", "rain")]
    table = np.zeros((2, 2, 2))
    for place in itertools.product(range(2), repeat=2):
        labels = [(True, False)[place[k]] for k in axis]
        table[place] = (WET[labels[0], labels[1]], 1.0 - WET[labels[0], labels[1]])
    tables: dict[str, Any] = {"sprinkler": [0.3, 0.7], "rain": [0.2, 0.8], "lawn": table}
    return DiscreteNetwork(Structure({**LAWN, "lawn": parents}), STATES, tables)


def rewritten(network: DiscreteNetwork, rng: np.random.Generator) -> DiscreteNetwork:
    """Return an equal network with the parents of each variable in another order."""
    order = {v: [network.structure.parents(v)[k] for k in rng.permutation(len(network.structure.parents(v)))]
             for v in network.structure}  # fmt: skip
    tables = {v: network.table(v, order[v]) for v in network.structure}
    return DiscreteNetwork(Structure(order), network.states, tables)


def lawn_events(number: int = 400, seed: int = 1) -> list[dict[str, Any]]:
    columns = Inference(lawn_network(("sprinkler", "rain"))).sample(number, np.random.default_rng(seed))
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_parents_are_those_that_were_written() -> None:
    structure = Structure(LAWN)
    assert structure.parents("lawn") == ("sprinkler", "rain")
    assert Structure.from_json(structure.to_json()).parents("lawn") == ("sprinkler", "rain")
    edges = [("sprinkler", "lawn"), ("rain", "lawn")]
    assert Structure.from_edges(edges).parents("lawn") == ("sprinkler", "rain")
    assert structure.with_edge("rain", "sprinkler").parents("lawn") == ("sprinkler", "rain")
    assert Structure.from_networkx(structure.to_networkx()).parents("lawn") == ("sprinkler", "rain")


def test_structures_with_other_orders_are_equal() -> None:
    one, other = Structure(LAWN), Structure({**LAWN, "lawn": ["rain", "sprinkler"]})
    assert one == other and hash(one) == hash(other)
    assert one != Structure({**LAWN, "lawn": ["rain"]})
    assert one.edges == other.edges and one.topological_order == other.topological_order
    assert one.cpdag() == other.cpdag() and one.shd(other) == 0 and not one.difference(other)


def test_networks_with_other_orders_are_equal() -> None:
    one, other = lawn_network(("sprinkler", "rain")), lawn_network(("rain", "sprinkler"))
    assert one == other and hash(one) == hash(other)
    assert one.tables["lawn"].tobytes() != other.tables["lawn"].tobytes()
    swapped = DiscreteNetwork(other.structure, STATES, dict(one.tables))
    assert swapped != one


@pytest.mark.parametrize("order", [("sprinkler", "rain"), ("rain", "sprinkler")])
def test_tables_answer_for_the_written_order(order: tuple[str, str], tmp_path: Path) -> None:
    network = lawn_network(order)
    given = {"sprinkler": True, "rain": False}
    row = tuple(given[name] for name in order)
    model = BayesNet.from_network(network)
    assert model.structure.parents("lawn") == order
    assert model.cpt("lawn")[row]["wet"] == pytest.approx(0.9)
    assert model.to_network() == network
    assert Inference(network).query("lawn", given)["wet"] == pytest.approx(0.9)
    assert network.probability("lawn", "wet", given) == 0.9
    write_bif(network, tmp_path / "lawn.bif")
    read = read_bif(tmp_path / "lawn.bif")
    assert read == network and read.structure.parents("lawn") == order
    again = DiscreteNetwork.from_json(network.to_json())
    assert again == network and again.tables["lawn"].tobytes() == network.tables["lawn"].tobytes()


def test_a_learned_table_is_by_the_written_order() -> None:
    model = BayesNet(LAWN, strength=0.0)
    model.learn_one({"sprinkler": True, "rain": False, "lawn": "wet"})
    model.learn_one({"sprinkler": False, "rain": True, "lawn": "dry"})
    assert model.cpt("lawn").parents == ("sprinkler", "rain")
    assert model.cpt("lawn")[True, False] == {"wet": 1.0, "dry": 0.0}
    assert model.cpt("lawn").interval({"rain": False, "sprinkler": True})["wet"][1] > 0.9
    copied = BayesNet.from_state(model.state())
    assert copied.cpt("lawn").parents == ("sprinkler", "rain")
    assert copied.cpt("lawn")[True, False] == {"wet": 1.0, "dry": 0.0}
    model.structure = Structure({**LAWN, "lawn": ["rain", "sprinkler"]})
    assert model.cpt("lawn")[False, True] == {"wet": 1.0, "dry": 0.0}


def test_a_structure_set_by_hand_keeps_its_order_in_a_state() -> None:
    model = BayesNet("learn")
    for event in lawn_events(40):
        model.learn_one(event)
    model.structure = LAWN
    copied = BayesNet.from_state(model.state())
    assert copied.structure.parents("lawn") == ("sprinkler", "rain")
    assert dict(copied.cpt("lawn")) == dict(model.cpt("lawn"))


@pytest.mark.parametrize("settings", [{}, {"missing": "stepwise-em"}, {"missing": "window-em"}])
def test_a_network_in_one_order_is_the_prior_of_another(settings: dict[str, Any]) -> None:
    events = lawn_events(60)
    for number in (0, len(events)):
        answers = []
        for mine, prior in itertools.product([("sprinkler", "rain"), ("rain", "sprinkler")], repeat=2):
            network = lawn_network(prior)
            model = BayesNet(Structure({**LAWN, "lawn": mine}), network=network, network_weight=5, **settings)
            for event in events[:number]:
                model.learn_one(event)
            given = {"sprinkler": True, "rain": False}
            answers.append(
                [
                    *model.query("lawn", given).values(),
                    model.log_likelihood_one({"sprinkler": False, "rain": True, "lawn": "wet"}),
                    *model.cpt("lawn")[tuple(given[v] for v in mine)].values(),
                ]
            )
        for answer in answers[1:]:
            assert answer == pytest.approx(answers[0], rel=1e-9)


def test_networks_with_other_orders_merge() -> None:
    events = lawn_events()
    models = [
        BayesNet(Structure({**LAWN, "lawn": order}))
        for order in (["sprinkler", "rain"], ["rain", "sprinkler"])
    ]
    for k, model in enumerate(models):
        model.learn_many(events[k::2])
    whole = BayesNet(LAWN)
    whole.learn_many(events)
    merged = models[0] + models[1]
    assert dict(merged.cpt("lawn")) == dict(whole.cpt("lawn"))
    with pytest.raises(CannotMerge):
        merged.merge(BayesNet({**LAWN, "lawn": ["rain"]}))


@pytest.mark.parametrize("seed", range(6))
def test_every_answer_is_the_same_in_every_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = drawn_network(7, seed, most_parents=3)
    other = rewritten(network, rng)
    assert network == other
    assert other.structure.variables == network.structure.variables
    one, two = Inference(network), Inference(other)
    evidence = {"v1": "v1=0", "v5": {"v5=0": 0.5, "v5=1": 0.2, "v5=2": 1.0}}
    for variable, answer in one.marginals(evidence).items():
        assert dict(two.marginals(evidence)[variable]) == pytest.approx(dict(answer), rel=1e-9)
        assert dict(two.query(variable, evidence)) == pytest.approx(dict(answer), rel=1e-9)
    assert two.most_probable(evidence) == one.most_probable(evidence)
    draws = [engine.sample(200, np.random.default_rng(3)) for engine in (one, two)]
    assert draws[0] == draws[1]
    for method in ("likelihood-weighting", "gibbs"):
        settings: dict[str, Any] = {"method": method, "samples": 400}
        first, second = (
            e.query("v3", {"v1": "v1=0"}, rng=np.random.default_rng(1), **settings) for e in (one, two)
        )
        assert dict(first) == pytest.approx(dict(second), rel=1e-9)
    families = one.families(evidence), two.families(evidence)
    for v in network.structure:
        order = [other.structure.parents(v).index(p) for p in network.structure.parents(v)]
        assert families[1][v].transpose(*order, len(order)) == pytest.approx(families[0][v], abs=1e-12)


def test_an_engine_loads_a_network_with_another_order() -> None:
    engine = Inference(lawn_network(("sprinkler", "rain")))
    engine.load(lawn_network(("rain", "sprinkler")))
    assert engine.query("lawn", {"sprinkler": True, "rain": False})["wet"] == pytest.approx(0.9)


def test_a_view_takes_over_no_plans_of_another_order() -> None:
    model = BayesNet(LAWN, window=1000)
    model.learn_many(lawn_events())
    evidence = {"sprinkler": True, "rain": False}
    before = model.view().query("lawn", evidence)
    model.structure = Structure({**LAWN, "lawn": ["rain", "sprinkler"]})
    assert dict(model.view().query("lawn", evidence)) == pytest.approx(dict(before), rel=1e-12)


def test_a_classifier_counts_alike_in_every_order() -> None:
    events = lawn_events()
    answers = []
    for order in (["sprinkler", "rain"], ["rain", "sprinkler"]):
        model = BayesNetClassifier(Structure({**LAWN, "lawn": order}), target="rain")
        for event in events:
            model.learn_one({k: v for k, v in event.items() if k != "rain"}, event["rain"])
        network = model.to_network()
        assert network.structure.parents("lawn") == tuple(order)
        answers.append(
            (model.predict_proba_one({"lawn": "wet"}), network, model.query("lawn", {"rain": True}))
        )
    assert answers[0][0] == pytest.approx(answers[1][0], rel=1e-12)
    assert answers[0][1] == answers[1][1]
    assert dict(answers[0][2]) == pytest.approx(dict(answers[1][2]), rel=1e-12)


@pytest.mark.parametrize("order", [("sprinkler", "rain"), ("rain", "sprinkler")])
def test_other_tools_keep_the_order(order: tuple[str, str]) -> None:
    pytest.importorskip("pgmpy")
    network = lawn_network(order)
    model = to_pgmpy(network)
    assert tuple(model.get_cpds("lawn").variables) == ("lawn", *order)
    back = from_pgmpy(model)
    assert back == network and back.structure.parents("lawn") == order


@pytest.mark.parametrize("order", [("sprinkler", "rain"), ("rain", "sprinkler")])
def test_pyagrum_keeps_the_order(order: tuple[str, str]) -> None:
    pytest.importorskip("pyagrum")
    network = lawn_network(order)
    model = to_pyagrum(network)
    assert tuple(model.cpt("lawn").names) == ("lawn", *order)
    back = from_pyagrum(model)
    assert back.structure.parents("lawn") == order
    np.testing.assert_allclose(back.tables["lawn"], network.tables["lawn"])


def test_labels_of_a_parent_may_be_in_another_order_in_a_table_of_pgmpy() -> None:
    factors = pytest.importorskip("pgmpy.factors.discrete")
    models = pytest.importorskip("pgmpy.models")
    model = models.DiscreteBayesianNetwork([("rain", "lawn")])
    model.add_cpds(
        factors.TabularCPD("rain", 2, [[0.2], [0.8]], state_names={"rain": ["yes", "no"]}),
        factors.TabularCPD(
            "lawn", 2, [[0.1, 0.9], [0.9, 0.1]], ["rain"], [2],
            state_names={"lawn": ["wet", "dry"], "rain": ["no", "yes"]},
        ),
    )  # fmt: skip
    assert from_pgmpy(model).probability("lawn", "wet", {"rain": "yes"}) == 0.9
