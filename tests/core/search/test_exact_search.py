"""Exact search against all structures, scored one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, combinations, permutations
from typing import Any

import numpy as np
import pytest

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.exact_search import ExactSearch
from stream_bayes.core.search.family_scorer import FamilyScorer
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.saved_search import search_from_json
from stream_bayes.core.search.scores import AIC, BIC, K2, BDeu, LogLikelihood, Score
from stream_bayes.core.search.structure_score import score


def drawn(variables: int, rows: int, seed: int, parents: int = 3) -> Sample:
    """Return rows of a random network; variables have two to four values."""
    rng = np.random.default_rng(seed)
    names = [f"v{k:02}" for k in rng.permutation(variables)]
    sizes = {name: int(rng.integers(2, 5)) for name in names}
    columns: dict[str, Any] = {}
    for k, name in enumerate(names):
        above = list(rng.choice(names[:k], min(k, int(rng.integers(0, parents + 1))), replace=False))
        number, many = np.zeros(rows, int), 1
        for parent in above:
            number, many = number * sizes[parent] + columns[parent], many * sizes[parent]
        table = rng.dirichlet(np.full(sizes[name], 0.5), many).cumsum(axis=1)
        columns[name] = np.minimum((rng.random(rows)[:, None] > table[number]).sum(axis=1), sizes[name] - 1)
    return Sample(columns, sizes)


def subsets(members: Sequence[int]) -> Iterable[tuple[int, ...]]:
    return chain.from_iterable(combinations(members, many) for many in range(len(members) + 1))


def best_of_all(sample: Sample, by: Score, may: Callable[[int, tuple[int, ...]], bool]) -> float:
    """Return the highest score of all structures: for each order, the best parents of each variable before it."""
    scorer, size = FamilyScorer(sample, by), len(sample.variables)
    best = -np.inf
    for order in permutations(range(size)):
        totals = []
        for k, child in enumerate(order):
            scores = [scorer.score(child, own) for own in subsets(sorted(order[:k])) if may(child, own)]
            totals.append(max(scores, default=-np.inf))
        best = max(best, sum(totals))
    return best


@pytest.mark.parametrize("by", [BIC(), AIC(), BDeu(5.0), K2(), LogLikelihood()], ids=str)
def test_no_structure_has_a_higher_score(by: Score) -> None:
    for seed in range(3):
        sample = drawn(5, 150, seed)
        result = ExactSearch(score=by).search(sample)
        assert result.is_optimal and result.finished
        assert result.score == pytest.approx(best_of_all(sample, by, lambda child, own: True), abs=1e-7)
        assert result.score == pytest.approx(score(result.structure, sample, by), abs=1e-7)
        assert sum(move.gain for move in result.path) == pytest.approx(result.score - result.start_score)


def test_constraints_are_kept_and_the_best_within_them_is_found() -> None:
    sample = drawn(5, 300, 7)
    names = sample.variables
    search = ExactSearch(
        max_parents=2,
        required=[(names[3], names[0])],
        forbidden=[(names[1], names[2])],
        tiers=[[names[2], names[3]], [names[4]]],
    )

    def may(child: int, own: tuple[int, ...]) -> bool:
        return (
            len(own) <= 2
            and (child != 0 or 3 in own)
            and not (child == 2 and 1 in own)
            and not (child in (2, 3) and 4 in own)
        )

    result = search.search(sample)
    assert result.is_optimal
    assert result.score == pytest.approx(best_of_all(sample, BIC(), may))
    own = [tuple(sample.place(p) for p in result.structure.parents(name)) for name in names]
    assert all(may(child, parents) for child, parents in enumerate(own))
    assert search_from_json(search.to_json()) == search


def test_where_a_climb_ends_below_the_optimum_it_is_reached() -> None:
    gains = []
    for seed in range(12):
        sample = drawn(11, 300, seed)
        climbed = HillClimbing(max_parents=3, restarts=0).search(sample).score
        gains.append(ExactSearch(max_parents=3).search(sample).score - climbed)
    assert min(gains) >= -1e-6
    assert max(gains) > 5.0


def test_a_start_that_is_as_good_stays_and_the_rows_order_does_not_matter() -> None:
    sample = drawn(7, 400, 3)
    first = ExactSearch().search(sample)
    for structure in (first.structure, *_equivalent(first.structure)):
        again = ExactSearch().search(sample, structure)
        assert again.structure == structure and not again.path
    mixed = np.random.default_rng(1).permutation(len(sample))
    turned = sample.replaced(np.ascontiguousarray(sample.codes[mixed]), sample.weights[mixed])
    assert ExactSearch().search(turned).structure == first.structure


def _equivalent(structure: Structure) -> list[Structure]:
    """Return the structures with one reversible edge turned that are equivalent."""
    found = []
    for a, b in structure.edges:
        edges = [(b, a) if edge == (a, b) else edge for edge in structure.edges]
        try:
            turned = Structure.from_edges(edges, structure.variables)
        except ValueError:
            continue
        if turned.same_equivalence_class(structure):
            found.append(turned)
    return found


def test_a_budget_and_many_variables_are_climbed_and_say_that_they_are_not_optimal() -> None:
    sample = drawn(9, 300, 2)
    cut = ExactSearch(max_families=150).search(sample)
    assert not cut.is_optimal and not cut.finished and cut.families < 250
    assert cut.score >= ExactSearch(max_parents=1).search(sample).score
    assert cut.score <= ExactSearch().search(sample).score
    wide = drawn(22, 100, 2)
    assert not ExactSearch(max_parents=2).search(wide).is_optimal
    stopped = ExactSearch().search(sample, should_stop=lambda: True)
    assert not stopped.finished and not stopped.structure.edges


def test_gaps_are_filled_in_and_invent_no_edges() -> None:
    rng = np.random.default_rng(4)
    codes = (rng.random((2000, 6)) < 0.2).astype(int)
    codes[rng.random(codes.shape) < 0.3] = -1
    names = [f"v{k}" for k in range(6)]
    sample = Sample({name: codes[:, k] for k, name in enumerate(names)}, dict.fromkeys(names, 2))
    assert len(ExactSearch().search(sample).structure.edges) <= 1
