"""Exact inference at its limits: little memory and tiny probabilities."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from stream_bayes.errors import (
    BudgetExceeded,
    ImpossibleEvidence,
)
from tests.core.inference.random_networks import evidence_on, networks


def grid(side: int, labels: int = 2, seed: int = 1) -> DiscreteNetwork:
    """Each variable depends on the one above and the one to the left: no order makes its tables small."""
    rng = np.random.default_rng(seed)
    parents = {
        (i, j): [at for at in ((i - 1, j), (i, j - 1)) if min(at) >= 0]
        for i in range(side)
        for j in range(side)
    }
    structure = Structure(parents)
    states = {v: range(labels) for v in parents}
    tables = {v: rng.dirichlet(np.ones(labels), [labels] * len(structure.parents(v))) for v in parents}
    return DiscreteNetwork(structure, states, tables)


def fan(leaves: int, likely: float) -> DiscreteNetwork:
    """A cause with many effects. The first half speaks for its first label, the second half for the other one."""
    names = [f"e{i:04}" for i in range(leaves)]
    tables: dict[str, list] = {"cause": [0.5, 0.5]}
    for i, name in enumerate(names):
        rows = [[likely, 1 - likely], [1e-3 * likely, 1 - 1e-3 * likely]]
        tables[name] = rows if i < leaves // 2 else rows[::-1]
    structure = Structure({"cause": [], **{name: ["cause"] for name in names}})
    return DiscreteNetwork(structure, {v: ["yes", "no"] for v in structure}, tables)


# -- memory ----------------------------------------------------------------------------------------------------------


@given(networks(), st.data())
def test_with_less_memory_the_answers_are_the_same_or_refused(drawn, data):
    evidence = data.draw(evidence_on(drawn.ours))
    targets = data.draw(st.lists(st.sampled_from(drawn.ours.structure.variables), unique=True, min_size=1))
    ample = Inference(drawn.ours)
    scant = Inference(drawn.ours, memory_budget=ample.bytes_for_everything - 1)
    for ask in (
        lambda engine: dict(engine.query(targets, evidence)),
        lambda engine: {v: dict(answer) for v, answer in engine.marginals(evidence).items()},
        lambda engine: engine.log_probability(evidence),
        lambda engine: engine.most_probable(evidence).log_probability,
    ):
        try:
            answer = ask(scant)
        except BudgetExceeded:
            continue
        except ImpossibleEvidence:
            with pytest.raises(ImpossibleEvidence):
                ask(ample)
            continue
        expected = ask(ample)
        if isinstance(answer, dict) and answer and isinstance(next(iter(answer.values())), dict):
            for v in answer:
                assert answer[v] == pytest.approx(expected[v], abs=1e-12)
        else:
            assert answer == pytest.approx(expected, abs=1e-12)


def test_where_everything_does_not_fit_a_question_about_little_is_answered():
    network = grid(4)
    engine = Inference(network, memory_budget=Inference(network).bytes_for_everything - 1)
    row = {(1, j): 0 for j in range(4)}  # cuts the grid in two
    answer = engine.query((0, 0), row)
    assert dict(answer) == pytest.approx(dict(Inference(network).query((0, 0), row)), abs=1e-12)
    assert "for this question" in answer.reason
    together = Inference(network).marginals(method="exact")
    for variable, answer in engine.marginals(method="exact").items():  # one by one
        assert dict(answer) == pytest.approx(dict(together[variable]), abs=1e-12)
    little = Inference(network, memory_budget=100)
    with pytest.raises(
        BudgetExceeded, match=r"would need [\d,]+ bytes, the budget is [\d,]+; raise memory_budget"
    ):
        little.marginals(method="exact")


def test_what_does_not_fit_is_refused_before_anything_is_allocated():
    engine = Inference(grid(14), memory_budget=10**6)
    assert engine.bytes_for_everything > 10**7
    tracemalloc.start()
    try:
        with pytest.raises(BudgetExceeded):
            engine.query((13, 13), {(0, 0): 1}, method="exact")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * 10**6


def test_a_joint_that_does_not_fit_by_itself_is_refused():
    structure = Structure({i: [] for i in range(60)})
    network = DiscreteNetwork(structure, {i: [0, 1] for i in range(60)}, {i: [0.5, 0.5] for i in range(60)})
    with pytest.raises(BudgetExceeded):
        Inference(network).query(list(range(60)))


def test_auto_samples_where_the_exact_answer_does_not_fit_and_says_why():
    network = grid(6)
    engine = Inference(network, memory_budget=400)
    with pytest.raises(BudgetExceeded, match="which needs rng="):
        engine.query((5, 5))
    with pytest.raises(BudgetExceeded, match="raise memory_budget"):
        engine.query((5, 5), method="exact", rng=np.random.default_rng(1))
    answer = engine.query((5, 5), rng=np.random.default_rng(1), samples=3_000)
    assert answer.method == "likelihood-weighting"
    assert "would need" in answer.reason
    exact = Inference(network).query((5, 5))
    assert exact.method == "exact"
    assert exact.sampled is None
    assert answer.sampled is not None
    for label, share in answer.items():
        assert abs(share - exact[label]) < 4 * answer.sampled.errors[label]


# -- tiny probabilities ------------------------------------------------------------------------------------------------


def test_many_effects_of_one_cause_neither_underflow_nor_lose_the_weaker_half():
    """Half of 700 effects has the likelihood 1e-1050, which underflows; the other half compensates for it."""
    network = fan(700, likely=0.9)
    engine = Inference(network)
    seen = {v: "yes" for v in network.structure if v != "cause"}
    assert dict(engine.query("cause", seen)) == pytest.approx({"yes": 0.5, "no": 0.5}, abs=1e-9)
    one = 350 * (math.log(0.9) + math.log(0.9e-3))
    assert engine.log_probability(seen) == pytest.approx(one, rel=1e-12)
    assert engine.log_probability({**seen, "cause": "yes"}) == pytest.approx(one - math.log(2), rel=1e-12)
    more = {**seen, "e0699": "no"}
    expected = {"yes": 1 - 0.9e-3, "no": 1 - 0.9}
    total = sum(p / (0.9e-3 if label == "yes" else 0.9) for label, p in expected.items())
    for label, p in expected.items():
        share = p / (0.9e-3 if label == "yes" else 0.9) / total
        assert engine.query("cause", more)[label] == pytest.approx(share, rel=1e-9)
        assert engine.marginals(more)["cause"][label] == pytest.approx(share, rel=1e-9)
        assert engine.families(more)["cause"].tolist()[["yes", "no"].index(label)] == pytest.approx(
            share, rel=1e-9
        )
    assert engine.most_probable(more)["cause"] == "yes"


def test_tables_of_tiny_numbers_are_multiplied_without_loss():
    tiny = 1e-200
    network = DiscreteNetwork(
        Structure({"a": [], "b": ["a"], "c": ["a"]}),
        {v: [0, 1] for v in "abc"},
        {"a": [tiny, 1.0], "b": [[tiny, 1.0], [tiny, 1.0]], "c": [[1.0, tiny], [tiny, 1.0]]},
    )
    engine = Inference(network)
    assert engine.log_probability({"a": 0, "b": 0, "c": 1}) == pytest.approx(600 * -math.log(10), rel=1e-12)
    assert engine.log_probability({"b": 0, "c": 0}) == pytest.approx(
        math.log(2) - 400 * math.log(10), rel=1e-12
    )
    assert dict(engine.query("a", {"b": 0, "c": 0})) == pytest.approx({0: 0.5, 1: 0.5})


def test_next_to_nothing_is_no_zero():
    network = DiscreteNetwork(Structure({"a": []}), {"a": [0, 1]}, {"a": [1e-300, 1.0]})
    assert Inference(network).query("a")[0] == pytest.approx(1e-300, rel=1e-12)
    assert Inference(network).query("a", {"a": {0: 1.0, 1: 0.0}})[0] == 1.0
    assert Inference(network).log_probability({"a": {0: 1e300, 1: 0.0}}) == pytest.approx(0.0, abs=1e-12)
