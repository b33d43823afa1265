"""Probabilities of edges against the sum over all orders and their structures; networks averaged from them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from stream_bayes.errors import BadStructure, BadValue, BudgetExceeded
from stream_bayes.networks import (
    BDeu,
    FamilyScorer,
    HillClimbing,
    Sample,
    Structure,
    average_network,
    edge_confidence,
    edge_posterior,
)


def drawn(rows: int, seed: int = 3) -> Sample:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, (2, rows))
    c = np.where(rng.random(rows) < 0.85, a & b, rng.integers(0, 2, rows))
    d = np.where(rng.random(rows) < 0.7, c, rng.integers(0, 3, rows))
    return Sample({"a": a, "b": b, "c": c, "d": d}, {"a": 2, "b": 2, "c": 2, "d": 3})


@pytest.mark.parametrize(
    "search",
    [
        HillClimbing(score=BDeu(2.0), max_parents=2),
        HillClimbing(
            score=BDeu(2.0), required=[("a", "d")], forbidden=[("b", "c")], tiers=[["a", "b"], ["d"]]
        ),
    ],
)
def test_probabilities_are_those_of_the_sum_over_all_orders(search: HillClimbing) -> None:
    sample = drawn(60)
    names, total, shares = sample.variables, 0.0, dict.fromkeys(itertools.permutations("abcd", 2), 0.0)
    allowed, scorer = search.allowed(names), FamilyScorer(sample, search.score)
    most = 3 if search.max_parents is None else search.max_parents
    for order in itertools.permutations(range(4)):
        options = []
        for k, child in enumerate(order):
            needed = {names.index(p) for p, v in search.required if v == names[child]}
            options.append(
                [
                    parents
                    for number in range(most + 1)
                    for parents in itertools.combinations(order[:k], number)
                    if needed <= {*parents} and all(allowed[p, child] for p in parents)
                ]
            )
        for chosen in itertools.product(*options):
            family = list(zip(order, chosen, strict=True))
            weight = math.exp(sum(scorer.score(child, parents) for child, parents in family) + 160.0)
            total += weight
            for child, parents in family:
                for parent in parents:
                    shares[str(names[parent]), str(names[child])] += weight
    found = edge_posterior(sample, search)
    for edge, share in shares.items():
        assert found.get(edge, 0.0) == pytest.approx(share / total, abs=1e-9), edge


def test_the_graph_that_made_the_rows_is_averaged_from_the_posterior_as_from_replicates() -> None:
    sample = drawn(600)
    found = edge_posterior(sample)
    assert average_network(found).same_equivalence_class(
        Structure({"a": [], "b": [], "c": ["a", "b"], "d": ["c"]})
    )
    replicates = edge_confidence(sample, HillClimbing(score=BDeu(), restarts=3), 10, np.random.default_rng(1))
    averaged = average_network(replicates, variables=sample.variables)
    assert {frozenset(edge) for edge in averaged.edges} == {
        frozenset(e) for e in average_network(found).edges
    }


def test_children_whose_best_parents_fit_no_order_leave_probabilities() -> None:
    rng, columns, before = np.random.default_rng(1), {}, np.zeros(2_000, int)
    for k in range(8):
        before = np.where(rng.random(2_000) < 0.9, before, rng.integers(0, 4, 2_000))
        columns[f"v{k}"] = before
    found = edge_posterior(Sample(columns, dict.fromkeys(columns, 4)))
    for k in range(7):
        there, back = found[f"v{k}", f"v{k + 1}"], found[f"v{k + 1}", f"v{k}"]
        assert there + back == pytest.approx(1.0, abs=1e-3)
    assert found["v0", "v4"] < 0.01


def test_an_average_has_no_cycle_and_bad_arguments_are_refused() -> None:
    ring = {("a", "b"): 0.9, ("b", "c"): 0.8, ("c", "a"): 0.7}
    assert average_network(ring).edges == (("a", "b"), ("a", "c"), ("b", "c"))
    assert average_network(ring, threshold=0.85, variables=["z"]).edges == (("a", "b"),)
    with pytest.raises(BadValue, match="threshold"):
        average_network(ring, threshold=0.0)
    for share in (-0.1, 1.2, float("nan")):
        with pytest.raises(
            BadValue, match=r"probabilities: expected a number from 0 to 1, got .* for \('a', 'b'\)"
        ):
            average_network({("a", "b"): share})
    for edge in (("a", "a"), ("a", "b", "c"), "ab"):
        with pytest.raises(BadStructure, match="probabilities: "):
            average_network({edge: 0.9})
    wide = Sample({f"v{k}": np.arange(20) % 2 for k in range(17)}, {f"v{k}": 2 for k in range(17)})
    with pytest.raises(BudgetExceeded, match="edge_confidence"):
        edge_posterior(wide)
    with pytest.raises(BadValue, match="search"):
        edge_posterior(drawn(10), "hill")  # type: ignore[arg-type]  # wrong on purpose
