"""Adjustment sets, effects, noisy-OR and sensitivities against enumeration and finite differences."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from stream_bayes.core.inference.effects import adjustment_set, average_effect
from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.inference.sensitivity import finding_impacts, table_sensitivities
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.noisy_or import noisy_or
from stream_bayes.core.networks.structure import Structure
from stream_bayes.errors import BadValue, UnknownFeature


def random_network(seed: int, size: int = 6) -> DiscreteNetwork:
    rng = np.random.default_rng(seed)
    names = [f"v{k}" for k in rng.permutation(size)]
    parents = {v: [p for p in names[:k] if rng.random() < 0.45][:3] for k, v in enumerate(names)}
    states = {v: [0, 1, 2][: int(rng.integers(2, 4))] for v in names}
    tables = {v: rng.dirichlet(np.ones(len(states[v])), [len(states[p]) for p in parents[v]]) for v in names}
    return DiscreteNetwork(Structure(parents), states, tables)


def joint(network: DiscreteNetwork, done: dict[Any, int] | None = None) -> dict[tuple[Any, ...], float]:
    """Return the probability of each combination of values; after an intervention, without the tables of its own."""
    variables = network.structure.variables
    found = {}
    for values in itertools.product(*(network.states[v] for v in variables)):
        at = dict(zip(variables, values, strict=True))
        if done and any(at[v] != value for v, value in done.items()):
            continue
        found[values] = math.prod(
            network.probability(v, at[v], at) for v in variables if v not in (done or {})
        )
    return found


def test_effects_are_those_of_the_joint_without_the_cause_s_own_table_and_of_adjusting() -> None:
    adjusted = 0
    for seed in range(12):
        network = random_network(seed)
        variables = network.structure.variables
        cause, effect = variables[0], variables[3]
        means = []
        for label in (0, 1):
            after = joint(network, {cause: label})
            means.append(sum(p * values[3] for values, p in after.items()))
        assert average_effect(network, cause, effect, (0, 1)) == pytest.approx(means[1] - means[0], abs=1e-12)
        chosen = adjustment_set(network.structure, cause, effect)
        if chosen is None:  # the effect comes before its cause, beside it
            assert effect in network.structure.parents(cause)
            continue
        engine, mean = Inference(network), 0.0
        for at in itertools.product(*(network.states[v] for v in chosen)):
            given = dict(zip(chosen, at, strict=True))
            weight = engine.probability_of_evidence(given) if given else 1.0
            mean += weight * sum(p * label for label, p in engine.query(effect, {**given, cause: 1}).items())
        assert mean == pytest.approx(means[1], abs=1e-9)
        adjusted += bool(chosen)
    assert adjusted >= 3


def test_an_adjustment_set_is_among_those_of_all_sets_that_none_is_part_of() -> None:
    rng = np.random.default_rng(2)
    kinds = set()
    for seed in range(25):
        graph = random_network(seed + 100, 7).structure
        cause, effect = (str(v) for v in rng.choice(graph.variables, 2, replace=False))
        hidden = [v for v in graph.variables if v not in (cause, effect) and rng.random() < 0.3]
        back = Structure({v: [p for p in graph.parents(v) if p != cause] for v in graph.variables})
        free = [v for v in graph.variables if v not in {cause, effect, *hidden, *graph.descendants(cause)}]
        valid = [
            set(some)
            for size in range(len(free) + 1)
            for some in itertools.combinations(free, size)
            if back.d_separated(cause, effect, set(some))
        ]
        minimal = [some for some in valid if not any(other < some for other in valid)]
        chosen = adjustment_set(graph, cause, effect, hidden)
        assert (chosen is None) is (not valid)
        assert chosen is None or set(chosen) in minimal
        kinds.add(None if chosen is None else min(len(chosen), 2))
    assert kinds == {None, 0, 1, 2}


def test_sensitivities_are_the_differences_that_small_changes_of_the_tables_make() -> None:
    network = random_network(4)
    step = 1e-6
    evidence: dict[str, Any] = {
        "v1": 0,
        "v4": {label: 0.3 + 0.5 * label for label in (0, 1, 2)[: len(network.states["v4"])]},
    }
    rows = table_sensitivities(network, "v0", 1, evidence)
    assert len(rows) == sum(table.size for table in network.tables.values())
    assert [abs(row.derivative) for row in rows] == sorted(
        (abs(row.derivative) for row in rows), reverse=True
    )
    for row in rows[:12]:
        answers = []
        for change in (-step, step):
            tables = {v: table.copy() for v, table in network.tables.items()}
            at = tuple(
                network.states[p].index(label)
                for p, label in zip(network.structure.parents(row.variable), row.parents, strict=True)
            )
            code, cells = network.states[row.variable].index(row.label), tables[row.variable][at]
            changed = row.probability + change
            cells *= (1.0 - changed) / (1.0 - row.probability)
            cells[code] = changed
            answers.append(
                Inference(DiscreteNetwork(network.structure, network.states, tables)).query("v0", evidence)[1]
            )
        assert row.derivative == pytest.approx((answers[1] - answers[0]) / (2 * step), rel=1e-4, abs=1e-7)


def test_each_finding_is_taken_away_and_left_alone_the_weightiest_first() -> None:
    network = random_network(4)
    engine, evidence = Inference(network), {"v1": 0, "v4": 1, "v5": 1}
    impacts = finding_impacts(network, "v0", 1, evidence)
    answer = engine.query("v0", evidence)[1]
    away = [abs(impact.without - answer) for impact in impacts]
    assert away == sorted(away, reverse=True)
    for impact in impacts:
        rest = {v: value for v, value in evidence.items() if v != impact.variable}
        assert impact.without == pytest.approx(engine.query("v0", rest)[1], abs=1e-12)
        alone = engine.query("v0", {impact.variable: impact.value})[1]
        assert impact.alone == pytest.approx(alone, abs=1e-12)


def test_a_noisy_or_is_the_sum_over_which_causes_come_through() -> None:
    strengths, leak = [0.3, 0.8, 0.5], 0.05
    table = noisy_or(strengths, leak)
    for present in itertools.product((0, 1), repeat=3):
        total = 0.0
        for through in itertools.product((0, 1), repeat=4):
            chances = [*(p * there for p, there in zip(strengths, present, strict=True)), leak]
            p = math.prod(q if passes else 1.0 - q for q, passes in zip(chances, through, strict=True))
            total += p * any(through)
        assert table[present][1] == pytest.approx(total, abs=1e-12)
        assert table[present].sum() == pytest.approx(1.0)


def test_bad_questions_are_refused_by_name() -> None:
    network = random_network(4)
    with pytest.raises(UnknownFeature, match="cause and effect"):
        average_effect(network, "drug", "v0", (0, 1))
    with pytest.raises(UnknownFeature, match="hidden"):
        adjustment_set(network.structure, "v1", "v0", hidden=["age"])
    with pytest.raises(BadValue, match="give two variables"):
        adjustment_set(network.structure, "v1", "v1")
    with pytest.raises(BadValue, match="got 7"):
        average_effect(network, "v1", "v0", (0, 7))
    with pytest.raises(BadValue, match="got None for 1"):
        average_effect(network, "v1", "v0", (0, 1), {0: 1.5})
    with pytest.raises(BadValue, match="finite number for each label"):
        average_effect(network, "v1", "v0", (0, 1), dict.fromkeys(network.states["v0"], math.inf))
    with pytest.raises(BadValue, match="is in the evidence"):
        table_sensitivities(network, "v0", 1, {"v0": 1})
    with pytest.raises(BadValue, match=r"expected probabilities, got 1\.5"):
        noisy_or([0.5, 1.5])
    with pytest.raises(BadValue, match="at most 20 causes"):
        noisy_or([0.5] * 21)
