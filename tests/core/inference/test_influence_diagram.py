"""Influence diagrams against trying every policy, and Raiffa's oil wildcatter."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from stream_bayes.errors import BadValue, BudgetExceeded, UnknownFeature
from stream_bayes.networks import BayesNet, Decision, DiscreteNetwork, InfluenceDiagram, Structure, Utility

STATES = {"oil": ["dry", "wet", "soaking"], "seismic": ["none", "open", "closed"], "test": ["no", "yes"]}


def wildcatter() -> InfluenceDiagram:
    """Raiffa's oil wildcatter, with the test as a decision before drilling."""
    given_test = np.array([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.4, 0.5]])
    seismic = np.stack([np.full((3, 3), 1 / 3), given_test])  # without a test it tells nothing
    network = DiscreteNetwork(
        Structure({"oil": [], "test": [], "seismic": ["test", "oil"]}),
        states=STATES,
        tables={"oil": [0.5, 0.3, 0.2], "test": [0.5, 0.5], "seismic": seismic},
    )
    payoff = {
        (oil, drill): (-70.0, 50.0, 200.0)[k] if drill else 0.0
        for k, oil in enumerate(STATES["oil"])
        for drill in (True, False)
    }
    return InfluenceDiagram(
        network,
        {"test": Decision(), "drill": Decision(["seismic"], [True, False])},
        {"payoff": Utility(["oil", "drill"], payoff), "cost": Utility(["test"], {"yes": -10, "no": 0})},
    )


def test_the_oil_wildcatter_tests_and_drills_unless_there_is_no_structure() -> None:
    diagram = wildcatter()
    assert diagram.expected_utility() == pytest.approx(22.5)
    assert diagram.expected_utilities() == pytest.approx({"yes": 22.5, "no": 20.0})
    best = {(row["test"], row["seismic"]): row["drill"] for row in diagram.policy("drill")}
    assert [best["yes", seen] for seen in STATES["seismic"]] == [False, True, True]
    assert diagram.expected_utilities({"test": "yes", "seismic": "closed"})[True] == pytest.approx(
        (0.05 * -70 + 0.09 * 50 + 0.1 * 200) / 0.24 - 10
    )
    assert diagram.value_of("oil", "drill") == pytest.approx(55.0 - 22.5)


def drawn(seed: int) -> tuple[DiscreteNetwork, dict[str, Decision], dict[str, Utility]]:
    rng = np.random.default_rng(seed)
    structure = Structure({"d": [], "e": ["d", "a"], "a": [], "b": ["a"], "c": ["a", "d"], "f": ["c", "e"]})
    states: dict[Any, list[str]] = {v: [f"{v}{k}" for k in range(3 if v in "ac" else 2)] for v in "abcdef"}
    tables = {
        v: rng.dirichlet(np.ones(len(states[v])), [len(states[p]) for p in structure.parents(v)])
        for v in structure.variables
    }

    def utility(*of: str) -> Utility:
        return Utility(of, {key: float(rng.normal()) for key in itertools.product(*(states[v] for v in of))})

    decisions = {"d": Decision(["b"]), "e": Decision(["c"])}
    return (
        DiscreteNetwork(structure, states, tables),
        decisions,
        {"u": utility("d", "a"), "v": utility("e", "f")},
    )


def brute_force(network: DiscreteNetwork, utilities: dict[str, Utility]) -> float:
    """Return the best expected utility over every pair of policies d(b), e(b, d, c)."""
    states, best = network.states, -math.inf

    def joint(values: dict[str, Any]) -> float:
        return math.prod([network.probability(v, values[v], values) for v in "abcf"])

    chance = [
        dict(zip("abcf", each, strict=True)) for each in itertools.product(*(states[v] for v in "abcf"))
    ]
    gain: dict[tuple[Any, ...], float] = {}
    for d, e in itertools.product(states["d"], states["e"]):
        for outcome in chance:
            values = {**outcome, "d": d, "e": e}
            worth = sum(u.values[tuple(values[v] for v in u.of)] for u in utilities.values())
            key = (values["b"], d, values["c"], e)
            gain[key] = gain.get(key, 0.0) + joint(values) * worth
    for choice in itertools.product(states["d"], repeat=len(states["b"])):
        total = sum(
            max(gain[b, d, c, e] for e in states["e"])
            for b, d in zip(states["b"], choice, strict=True)
            for c in states["c"]
        )
        best = max(best, total)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_the_best_policy_is_the_best_of_all(seed: int) -> None:
    network, decisions, utilities = drawn(seed)
    assert InfluenceDiagram(network, decisions, utilities).expected_utility() == pytest.approx(
        brute_force(network, utilities), rel=1e-9
    )


def test_a_live_network_decides_and_knowing_what_changes_nothing_is_worth_nothing() -> None:
    model = BayesNet({"rain": [], "mood": [], "wet": ["rain"]})
    for k in range(60):
        model.learn_one({"rain": k % 3 == 0, "mood": "ab"[k % 2], "wet": k % 3 == 0})
    walk = InfluenceDiagram(
        model,
        {"go": Decision([], [True, False])},
        {
            "joy": Utility(
                ["wet", "go"], {(w, g): (5.0 - 20.0 * w) * g for w in (True, False) for g in (True, False)}
            )
        },
    )
    assert walk.value_of("mood") == 0.0
    assert walk.value_of("rain") > 1.0


def test_what_makes_no_diagram_is_refused_by_name() -> None:
    network, decisions, utilities = drawn(1)
    one = utilities["u"]
    cases: list[tuple[Any, Any, type[Exception], str]] = [
        ({"d": Decision(["x"])}, utilities, UnknownFeature, "no variable"),
        ({"d": Decision(["c"]), "e": Decision()}, utilities, BadValue, "follows from 'd'"),
        ({"d": Decision(options=["x"])}, utilities, BadValue, "leave options out"),
        ({"g": Decision()}, utilities, BadValue, "give its options"),
        (
            decisions,
            {"u": Utility(one.of, {**one.values, ("d0", "a0"): math.inf})},
            BadValue,
            "finite number",
        ),
        (
            decisions,
            {"u": Utility(one.of, dict(list(one.values.items())[1:]))},
            BadValue,
            "1 combinations in all",
        ),
        (decisions, {"u": Utility(["d", "a"], {("d0", "sunny"): 1.0})}, BadValue, "sunny"),
        (decisions, {"u": {"d0": 1.0}}, BadValue, "Utility"),
        ({}, utilities, BadValue, "at least one"),
    ]
    for given, worth, error, said in cases:
        with pytest.raises(error, match=said):
            InfluenceDiagram(network, given, worth)
    diagram = InfluenceDiagram(network, decisions, utilities)
    with pytest.raises(BadValue, match="not decided"):
        diagram.expected_utility({"c": "c0"})
    with pytest.raises(BadValue, match="follows from"):
        diagram.value_of("f", "d")
    wide = {f"k{k}": Decision([], range(10)) for k in range(6)}
    with pytest.raises(BudgetExceeded, match="1,000,000 combinations"):
        InfluenceDiagram(network, wide, {"u": Utility(["k0"], dict.fromkeys(range(10), 1.0))})
