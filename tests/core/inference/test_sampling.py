"""Sampled answers are within their stated errors, and report few effective samples. Seeds are fixed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stream_bayes.core.inference.inference import Inference
from stream_bayes.core.inference.sampling import chain_estimate, weighted_estimate
from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure

METHODS = ("likelihood-weighting", "gibbs")


def chain(seed: int, length: int = 6, labels: int = 3, together: float = 1.0) -> DiscreteNetwork:
    """A row of variables, with a parent two places back too. Small `together` binds them tightly."""
    rng = np.random.default_rng(seed)
    parents = {f"v{i}": [f"v{j}" for j in (i - 2, i - 1) if j >= 0] for i in range(length)}
    structure = Structure(parents)
    tables = {v: rng.dirichlet(np.full(labels, together), [labels] * len(parents[v])) + 1e-3 for v in parents}
    tables = {v: table / table.sum(axis=-1, keepdims=True) for v, table in tables.items()}
    return DiscreteNetwork(structure, {v: range(labels) for v in parents}, tables)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_sampled_posteriors_are_within_four_of_their_own_errors(method, seed):
    network = chain(seed)
    engine = Inference(network)
    evidence = {"v5": 1, "v3": {0: 0.5, 1: 1.0, 2: 0.25}}
    rng = np.random.default_rng(seed)
    for target in ("v0", ["v1", "v4"]):
        exact = engine.query(target, evidence)
        answer = engine.query(target, evidence, method=method, rng=rng, samples=4000)
        assert answer.method == method
        assert answer.reason == "requested"
        found = answer.sampled
        assert found is not None
        assert found.samples == 4000
        assert (found.r_hat is None) == (method != "gibbs")
        assert list(answer) == list(exact)
        assert sum(answer.values()) == pytest.approx(1.0)
        for label, share in answer.items():
            assert abs(share - exact[label]) < 4 * found.errors[label]
            assert found.errors[label] < 0.1


@pytest.mark.parametrize("method", METHODS)
def test_stated_errors_are_the_spread_of_many_answers(method):
    """The stated error is neither far below the true one nor far above it."""
    engine = Inference(chain(1, length=4, labels=2))
    evidence = {"v3": 1}
    rng = np.random.default_rng(7)
    answers = [
        engine.query("v0", evidence, method=method, rng=rng, samples=400, chains=2, burn_in=50)
        for _ in range(60)
    ]
    spread = np.std([answer[0] for answer in answers], ddof=1)
    stated = np.mean([answer.sampled.errors[0] for answer in answers if answer.sampled])
    assert 0.6 < stated / spread < 1.6
    mean = np.mean([answer[0] for answer in answers])
    assert abs(mean - engine.query("v0", evidence)[0]) < 4 * spread / math.sqrt(len(answers))


@pytest.mark.parametrize("method", METHODS)
def test_all_marginals_come_from_the_same_samples(method):
    network = chain(2)
    engine = Inference(network)
    evidence = {"v2": 0}
    answers = engine.marginals(evidence, method=method, rng=np.random.default_rng(3), samples=4000)
    exact = engine.marginals(evidence)
    assert list(answers) == list(exact)
    assert answers["v2"][0] == 1.0
    for v, answer in answers.items():
        assert answer.sampled is not None
        for label, share in answer.items():
            assert abs(share - exact[v][label]) < 4 * answer.sampled.errors[label]


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_answer(method):
    engine = Inference(chain(3))
    one, two = (
        engine.query("v0", {"v5": 2}, method=method, rng=np.random.default_rng(5), samples=200)
        for _ in range(2)
    )
    assert dict(one) == dict(two)
    other = engine.query("v0", {"v5": 2}, method=method, rng=np.random.default_rng(6), samples=200)
    assert dict(one) != dict(other)


def test_improbable_evidence_leaves_few_samples_that_count():
    network = DiscreteNetwork(
        Structure({"cause": [], "effect": ["cause"]}),
        {"cause": [0, 1], "effect": [0, 1]},
        {"cause": [0.001, 0.999], "effect": [[0.9, 0.1], [1e-5, 1 - 1e-5]]},
    )
    answer = Inference(network).query(
        "cause", {"effect": 0}, method="likelihood-weighting", rng=np.random.default_rng(1), samples=10_000
    )
    assert answer.sampled is not None
    assert answer.sampled.effective < 100
    assert abs(answer[0] - Inference(network).query("cause", {"effect": 0})[0]) < 4 * answer.sampled.errors[0]


def test_chains_that_do_not_meet_have_a_large_r_hat():
    """Two variables that nearly always agree: a chain stays where it began."""
    network = DiscreteNetwork(
        Structure({"a": [], "b": ["a"]}),
        {"a": [0, 1], "b": [0, 1]},
        {"a": [0.5, 0.5], "b": [[1 - 1e-7, 1e-7], [1e-7, 1 - 1e-7]]},
    )
    answer = Inference(network).query(
        "b", method="gibbs", rng=np.random.default_rng(0), samples=1000, chains=8
    )
    assert answer.sampled is not None
    assert answer.sampled.r_hat is not None
    assert answer.sampled.r_hat > 1.5
    loose = Inference(chain(1)).query("v0", method="gibbs", rng=np.random.default_rng(0), samples=4000)
    assert loose.sampled is not None
    assert loose.sampled.r_hat is not None
    assert loose.sampled.r_hat < 1.02


def test_chains_that_all_drift_the_same_way_have_a_large_r_hat():
    often = np.repeat([0.1, 0.9], 1000)
    cells = (np.random.default_rng(1).random((4, 2000)) < often).astype(np.int64)
    found = chain_estimate(cells, 2)
    assert found.r_hat is not None and found.r_hat > 1.5


def test_sweeps_before_the_chains_forget_where_they_began_do_not_count():
    """Chains start from rows drawn without the evidence, and so far from its posterior."""
    network = DiscreteNetwork(
        Structure({"v0": [], **{f"v{k}": [f"v{k - 1}"] for k in range(1, 6)}}),
        {f"v{k}": [0, 1] for k in range(6)},
        {"v0": [0.97, 0.03], **{f"v{k}": [[0.98, 0.02], [0.02, 0.98]] for k in range(1, 6)}},
    )
    evidence = {"v5": 1, "v0": {0: 1.0, 1: 300.0}}
    engine = Inference(network)
    assert engine.query("v2", evidence)[1] > 0.95
    early, late = (
        engine.query(
            "v2",
            evidence,
            method="gibbs",
            rng=np.random.default_rng(1),
            samples=160,
            chains=40,
            burn_in=sweeps,
        )[1]
        for sweeps in (0, 1000)
    )
    assert early < 0.6 and late > 0.9


def test_independent_draws_count_fully_and_repeated_ones_do_not():
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 2, (4, 5000))
    assert chain_estimate(cells, 2).effective == pytest.approx(20_000, rel=0.1)
    assert chain_estimate(np.repeat(cells, 10, axis=1), 2).effective == pytest.approx(20_000, rel=0.1)


def test_what_was_never_drawn_has_an_error_too():
    found = weighted_estimate(np.zeros(1000, np.int64), np.zeros(1000), 2)
    assert found.shares.tolist() == [1.0, 0.0]
    assert found.errors.tolist() == [0.001, 0.001]
    chains = chain_estimate(np.zeros((4, 250), np.int64), 2)
    assert chains.errors.tolist() == [0.001, 0.001]
    assert chains.r_hat == 1.0


def test_drawn_rows_have_the_networks_frequencies():
    network = chain(4, length=3)
    engine = Inference(network)
    n = 20_000
    codes = engine.sample_codes(n, np.random.default_rng(2))
    assert codes.shape == (n, 3)
    for v, table in engine.families().items():
        family = [*network.structure.parents(v), v]
        columns = [network.structure.variables.index(u) for u in family]
        flat = np.ravel_multi_index(codes[:, columns].T, table.shape)
        shares = np.bincount(flat, minlength=table.size) / n
        assert np.abs(shares - table.ravel()).max() < 5 * math.sqrt(0.25 / n)


def test_columns_hold_labels_and_never_what_is_impossible():
    network = DiscreteNetwork(
        Structure({"größe": [], ("x", 1): ["größe"]}),
        {"größe": ["klein", "groß"], ("x", 1): ["neither", 2.5, True]},
        {"größe": [0.5, 0.5], ("x", 1): [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]},
    )
    columns = Inference(network).sample(500, np.random.default_rng(1))
    assert set(columns) == {"größe", ("x", 1)}
    seen = set(zip(columns["größe"], columns[("x", 1)], strict=True))
    assert seen == {("klein", 2.5), ("groß", "neither"), ("groß", True)}
    assert {name: len(column) for name, column in columns.items()} == {"größe": 500, ("x", 1): 500}
    assert Inference(network).sample(0, np.random.default_rng(1)) == {"größe": [], ("x", 1): []}
