"""Families counted together, over weighted rows, and while rows come and go: as if each were counted alone and anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.search import family_scorer
from stream_bayes.core.search.family_scorer import FamilyScorer
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.scores import BIC, K2, BDeu, LogLikelihood, Score
from stream_bayes.errors import BadValue
from tests.core.search.drawn_samples import Drawn, drawn_samples, sample_of
from tests.oracles.structure_scores import family_score

SCORES = [LogLikelihood(), BIC(), BDeu(2.0), K2()]


def families(size: int, most: int = 4) -> list[tuple[int, tuple[int, ...]]]:
    """Each variable with the first few others as parents, from none to all."""
    found = []
    for child in range(size):
        others = [v for v in range(size) if v != child]
        found += [(child, tuple(others[:k])) for k in range(min(most, len(others)) + 1)]
    return found


def scores_of(scorer: FamilyScorer) -> list[float]:
    return [scorer.score(child, parents) for child, parents in families(len(scorer.sample.variables))]


@given(drawn_samples(least=2), st.sampled_from(SCORES), st.data())
def test_candidates_counted_together_score_as_each_alone(
    drawn: Drawn, score: Score, data: st.DataObject
) -> None:
    sample = drawn.sample
    child, *others = data.draw(st.permutations(range(len(sample.variables))))
    cut = data.draw(st.integers(0, len(others) - 1))
    parents, candidates = others[:cut], others[cut:]
    together = FamilyScorer(sample, score).with_each(child, parents, candidates)
    for candidate, found in zip(candidates, together.tolist(), strict=True):
        alone = FamilyScorer(sample, score).score(child, (candidate, *parents))
        assert found == pytest.approx(alone, rel=1e-12, abs=1e-12)


@given(drawn_samples(least=2), st.sampled_from(SCORES))
def test_tables_of_any_size_say_the_same(drawn: Drawn, score: Score) -> None:
    # With hardly any room every family is counted a few rows of its table at a time.
    expected = scores_of(FamilyScorer(drawn.sample, score))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(family_scorer, "CELLS", 1)
        patch.setattr(family_scorer, "MOST_SPARE", 0)
        assert scores_of(FamilyScorer(drawn.sample, score)) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("score", SCORES)
def test_many_parents_and_large_vocabularies_score_as_the_formula_says(score: Score) -> None:
    rng = np.random.default_rng(5)
    sizes = {"a": 300, "b": 200, "c": 40, "d": 2, "e": 9}
    rows: Any = [
        (
            {v: int(rng.integers(size) ** 0.5) for v, size in sizes.items()},
            1.0,
        )
        for _ in range(60)
    ]
    sample = sample_of(rows, sizes)
    scorer = FamilyScorer(sample, score)
    size = score.sample_size if isinstance(score, BDeu) else 1.0
    for child, parents in families(5):
        names = [sample.variables[p] for p in parents]
        expected = family_score(type(score).__name__, rows, sizes, sample.variables[child], names, size)
        assert scorer.score(child, parents) == pytest.approx(expected, rel=1e-9)


def test_a_table_of_billions_of_cells_is_not_made() -> None:
    # 6,000 x 6,000 x 6,000 cells would take 1.7 TB.
    rng = np.random.default_rng(1)
    columns = {v: rng.integers(0, 6_000, 500) for v in "abc"}
    rows: Any = [({v: int(columns[v][k]) for v in "abc"}, 1.0) for k in range(500)]
    sizes = dict.fromkeys("abc", 6_000)
    found = FamilyScorer(Sample(columns, sizes), BIC()).score(0, (1, 2))
    assert found == pytest.approx(family_score("BIC", rows, sizes, "a", "bc"))


@given(drawn_samples(whole=True), st.sampled_from(SCORES))
def test_a_row_of_weight_two_is_two_rows(drawn: Drawn, score: Score) -> None:
    many = Drawn([(row, 1.0) for row, weight in drawn.rows for _ in range(int(weight))], drawn.sizes)
    once = scores_of(FamilyScorer(drawn.sample, score))
    assert scores_of(FamilyScorer(many.sample, score)) == pytest.approx(once, rel=1e-12, abs=1e-12)


@given(drawn_samples(), st.sampled_from(SCORES))
def test_collapsed_rows_score_the_same(drawn: Drawn, score: Score) -> None:
    sample = drawn.sample
    expected = scores_of(FamilyScorer(sample, score))
    assert scores_of(FamilyScorer(sample.collapsed(), score)) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_rows_with_gaps_are_refused() -> None:
    whole = Sample({"a": [0, 0, 1], "b": [0, 0, 1]}, {"a": 2, "b": 2})
    lacking = Sample({"a": [0, 0, 1], "b": [0, 0, -1]}, {"a": 2, "b": 2})
    with pytest.raises(BadValue, match="without missing values"):
        FamilyScorer(lacking, LogLikelihood())
    with pytest.raises(BadValue, match="without missing values"):
        FamilyScorer(whole, LogLikelihood()).follow(whole, lacking)


def test_each_family_is_counted_once() -> None:
    sample = Sample({v: [0, 1, 1, 0] for v in "abcd"}, dict.fromkeys("abcd", 2))
    scorer = FamilyScorer(sample, BIC())
    scorer.with_each(0, (1,), (2, 3))
    assert scorer.families == 2
    scorer.score(0, (2, 1))
    scorer.with_each(0, (2,), (1, 3))
    assert scorer.families == 3  # 2 with 3 alone is new
    scorer.total([[], [], [], []])
    assert scorer.families == 7


@given(drawn_samples(least=2, rows=40, whole=True), st.sampled_from(SCORES), st.data())
def test_rows_that_come_and_go_leave_the_scores_of_those_that_are_there(
    drawn: Drawn, score: Score, data: st.DataObject
) -> None:
    rows, sizes = drawn.rows, drawn.sizes
    gone, seen = sorted(data.draw(st.integers(0, len(rows))) for _ in range(2))
    more = data.draw(st.integers(seen, len(rows)))
    scorer = FamilyScorer(sample_of(rows[:seen], sizes), score)
    scores_of(scorer)
    # First rows are added, then some are taken out while others come.
    scorer.follow(sample_of(rows[:more], sizes), sample_of(rows[seen:more], sizes))
    fresh = FamilyScorer(sample_of(rows[:more], sizes), score)
    assert scores_of(scorer) == pytest.approx(scores_of(fresh), rel=1e-12, abs=1e-12)
    scorer.follow(
        sample_of(rows[gone:], sizes),
        sample_of(rows[more:], sizes),
        sample_of(rows[:gone], sizes).collapsed(),
    )
    fresh = FamilyScorer(sample_of(rows[gone:], sizes), score)
    assert scores_of(scorer) == pytest.approx(scores_of(fresh), rel=1e-12, abs=1e-12)


def test_families_that_were_counted_need_not_be_counted_again() -> None:
    first = Sample({v: [0, 1, 1, 0] for v in "abc"}, dict.fromkeys("abc", 2))
    added = Sample({v: [1] for v in "abc"}, dict.fromkeys("abc", 2))
    both = Sample({v: [0, 1, 1, 0, 1] for v in "abc"}, dict.fromkeys("abc", 2))
    scorer = FamilyScorer(first, BIC())
    scorer.with_each(0, (), (1, 2))
    before = scorer.families
    scorer.follow(both, added)
    found = scorer.with_each(0, (), (1, 2))
    assert scorer.families == before
    assert found == pytest.approx(FamilyScorer(both, BIC()).with_each(0, (), (1, 2)))


def test_with_a_value_more_everything_is_counted_anew() -> None:
    first = Sample({"a": [0, 1], "b": [0, 1]}, {"a": 2, "b": 2})
    added = Sample({"a": [2], "b": [0]}, {"a": 3, "b": 2})
    both = Sample({"a": [0, 1, 2], "b": [0, 1, 0]}, {"a": 3, "b": 2})
    scorer = FamilyScorer(first, BDeu())
    scores_of(scorer)
    scorer.follow(both, added)
    assert scores_of(scorer) == pytest.approx(scores_of(FamilyScorer(both, BDeu())))


@given(drawn_samples(least=2), st.sampled_from(SCORES))
def test_the_table_of_a_pair_serves_both_of_its_variables(drawn: Drawn, score: Score) -> None:
    sample = drawn.sample
    others = list(range(1, len(sample.variables)))
    scorer = FamilyScorer(sample, score)
    scorer.with_each(0, (), others)
    counted = scorer.families
    for other in others:
        alone = FamilyScorer(sample, score)
        alone.with_each(other, (), [0])
        assert scorer.score(other, (0,)) == pytest.approx(alone.score(other, (0,)), rel=1e-12, abs=1e-12)
    assert scorer.families == counted == len(others)
