"""Scores of families: the formulas worked out in plain Python, and what follows for equivalent structures."""

from __future__ import annotations

import math
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.family_scorer import FamilyScorer
from stream_bayes.core.search.scores import AIC, BIC, K2, BDeu, LogLikelihood, Score
from stream_bayes.errors import BadValue
from tests.core.search.drawn_samples import Drawn, drawn_samples
from tests.oracles.structure_scores import family_score, structure_score

SCORES = [LogLikelihood(), AIC(), BIC(), BDeu(), BDeu(7.5), K2()]
EQUIVALENT = [score for score in SCORES if score.equivalent]


def expected_of(score: Score, drawn: Drawn, child: Any, parents: Any) -> float:
    size = score.sample_size if isinstance(score, BDeu) else 1.0
    return family_score(type(score).__name__, drawn.rows, drawn.sizes, child, parents, size)


def score_of(score: Score, drawn: Drawn, structure: Structure) -> float:
    sample = drawn.sample
    parents = [[sample.place(p) for p in structure.parents(v)] for v in sample.variables]
    return FamilyScorer(sample, score).total(parents)


@given(drawn_samples(), st.sampled_from(SCORES), st.data())
def test_a_family_scores_as_the_formula_says(drawn: Drawn, score: Score, data: st.DataObject) -> None:
    child, *others = data.draw(st.permutations(list(drawn.sizes)))
    parents = others[: data.draw(st.integers(0, len(others)))]
    sample = drawn.sample
    found = FamilyScorer(sample, score).score(sample.place(child), [sample.place(p) for p in parents])
    assert found == pytest.approx(expected_of(score, drawn, child, parents), rel=1e-9, abs=1e-9)


@given(drawn_samples(least=2), st.sampled_from(SCORES), st.data())
def test_a_structure_scores_the_sum_of_its_families(drawn: Drawn, score: Score, data: st.DataObject) -> None:
    order = data.draw(st.permutations(list(drawn.sizes)))
    parents = {v: data.draw(st.sets(st.sampled_from(order[:i]))) if i else set() for i, v in enumerate(order)}
    size = score.sample_size if isinstance(score, BDeu) else 1.0
    expected = structure_score(
        type(score).__name__,
        drawn.rows,
        drawn.sizes,
        {v: sorted(p, key=repr) for v, p in parents.items()},
        size,
    )
    assert score_of(score, drawn, Structure(parents)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(drawn_samples(least=2, missing=False), st.sampled_from(EQUIVALENT))
def test_equivalent_structures_score_alike_where_nothing_is_missing(drawn: Drawn, score: Score) -> None:
    names = list(drawn.sizes)
    full = [Structure.from_edges(combinations(order, 2)) for order in permutations(names)]
    chains = [Structure.from_edges(pairwise(names))]
    chains.append(Structure.from_edges([(b, a) for a, b in chains[0].edges]))
    for structures in (full, chains):
        scores = [score_of(score, drawn, structure) for structure in structures]
        assert scores == pytest.approx([scores[0]] * len(scores), rel=1e-9, abs=1e-9)


def test_k2_prefers_one_of_two_equivalent_structures() -> None:
    rows = [({"a": 0, "b": 0}, 1.0), ({"a": 0, "b": 1}, 1.0), ({"a": 1, "b": 2}, 1.0)]
    drawn = Drawn(rows, {"a": 2, "b": 3})
    one = score_of(K2(), drawn, Structure.from_edges([("a", "b")]))
    other = score_of(K2(), drawn, Structure.from_edges([("b", "a")]))
    assert abs(one - other) > 0.1
    assert not K2().equivalent


def test_bdeu_is_the_probability_of_the_rows_in_turn() -> None:
    # Each row is predicted from those before it, by the counts and the prior.
    values, width, prior = [0, 2, 2, 1, 0, 0], 3, 6.0
    expected, counts = 0.0, [0] * width
    for value in values:
        expected += math.log((counts[value] + prior / width) / (sum(counts) + prior))
        counts[value] += 1
    assert BDeu(prior).family(np.array([counts], float), 1, 6.0) == pytest.approx(expected)


@given(drawn_samples(missing=False), st.sampled_from([AIC(), BIC()]))
def test_a_parent_that_is_always_the_same_costs_nothing(drawn: Drawn, score: Score) -> None:
    child = next(iter(drawn.sizes))
    rows = [({**row, "same": 0}, weight) for row, weight in drawn.rows]
    more = Drawn(rows, {**drawn.sizes, "same": 1})
    alone = expected_of(score, drawn, child, ())
    assert score_of(score, more, Structure.from_edges([("same", child)], more.sizes)) == pytest.approx(
        sum(expected_of(score, drawn, v, ()) for v in drawn.sizes), abs=1e-9
    )
    assert expected_of(score, more, child, ("same",)) == pytest.approx(alone, abs=1e-9)


@given(drawn_samples(least=2, missing=False))
def test_the_log_likelihood_never_falls_with_another_parent(drawn: Drawn) -> None:
    child, parent, *_ = drawn.sample.variables
    scorer = FamilyScorer(drawn.sample, LogLikelihood())
    assert scorer.score(0, (1,)) >= scorer.score(0, ()) - 1e-9
    assert (child, parent) == drawn.sample.variables[:2]


def test_configurations_that_do_not_occur_may_be_left_out() -> None:
    counts = np.array([[3.0, 1.0], [0.0, 0.0], [0.0, 4.0]])
    for score in SCORES:
        assert score.family(counts, 5, 8.0) == pytest.approx(score.family(counts[[0, 2]], 5, 8.0))


def test_without_rows_only_the_penalty_is_left() -> None:
    assert LogLikelihood().family(np.zeros((2, 3)), 2, 0.0) == 0.0
    assert AIC().family(np.zeros((2, 3)), 2, 10.0) == -4.0
    assert BIC().family(np.zeros((2, 3)), 2, 0.0) == 0.0
    assert BDeu().family(np.zeros((2, 3)), 2, 0.0) == 0.0


@pytest.mark.parametrize("size", [0.0, -1.0, math.inf, math.nan])
def test_a_prior_is_worth_some_rows(size: float) -> None:
    with pytest.raises(BadValue, match="sample_size: expected a number above 0"):
        BDeu(size)
