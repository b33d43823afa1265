"""K2: parents from those before, as long as one helps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.k2 import K2Search
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.scores import BIC, K2, BDeu, Score
from stream_bayes.errors import BadStructure, BadValue, UnknownFeature
from tests.builds import examples
from tests.core.search.drawn_samples import Drawn, drawn_samples, plain_sample
from tests.oracles.structure_scores import family_score, structure_score


@settings(max_examples=examples(60))
@given(drawn_samples(), st.sampled_from([K2(), BIC(), BDeu()]), st.none() | st.integers(0, 2), st.data())
def test_each_variable_takes_the_parent_that_helps_most(
    drawn: Drawn, score: Score, most: int | None, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(list(drawn.sizes)))
    result = K2Search(order, score, most).search(drawn.sample)

    def scored(child: Any, parents: Any) -> float:
        return family_score(type(score).__name__, drawn.rows, drawn.sizes, child, parents)

    by_child: dict[Any, list[Any]] = {v: [] for v in order}
    for move in result.path:
        parents, child = by_child[move.child], move.child
        before = scored(child, parents)
        gains = [
            scored(child, [*parents, v]) - before for v in order[: order.index(child)] if v not in parents
        ]
        assert move.gain == pytest.approx(max(gains), abs=1e-8)
        assert move.gain == pytest.approx(scored(child, [*parents, move.parent]) - before, abs=1e-8)
        assert move.gain > 0
        assert move.kind == "add"
        parents.append(move.parent)
    for child, parents in by_child.items():
        if most is not None and len(parents) == most:
            continue
        before = scored(child, parents)
        for v in order[: order.index(child)]:
            assert v in parents or scored(child, [*parents, v]) <= before + 1e-7
    assert result.structure == Structure(by_child)
    assert most is None or max(map(len, by_child.values())) <= most
    assert result.finished
    name = type(score).__name__
    assert result.score == pytest.approx(structure_score(name, drawn.rows, drawn.sizes, by_child), abs=1e-8)
    alone: dict[Any, list[Any]] = {v: [] for v in order}
    assert result.start_score == pytest.approx(
        structure_score(name, drawn.rows, drawn.sizes, alone), abs=1e-8
    )
    assert set(result.difference.added) == set(result.structure.edges)


def test_with_its_order_a_known_structure_is_found() -> None:
    lawn = Structure({"sky": [], "sprinkler": [], "wet": ["sky", "sprinkler"], "slip": ["wet"]})
    found = K2Search(lawn.topological_order).search(plain_sample(lawn, 10_000, 1))
    assert found.structure == lawn


def test_of_equal_parents_the_first_by_name_is_taken() -> None:
    sample = Sample({v: [0, 1] * 9 for v in "abc"}, dict.fromkeys("abc", 2))
    assert K2Search("bac").search(sample).structure.edges == (("a", "c"), ("b", "a"))


def test_a_search_that_was_stopped_says_so() -> None:
    sample = Sample({v: [0, 1] * 9 for v in "abc"}, dict.fromkeys("abc", 2))
    told: list[tuple[int, float]] = []
    result = K2Search("abc").search(
        sample,
        should_stop=lambda: len(told) > 0,
        progress=lambda families, score: told.append((families, score)),
    )
    assert not result.finished
    assert len(result.path) == len(told) == 1
    assert told[0][1] == result.score > result.start_score


def test_a_search_that_spent_its_families_says_so() -> None:
    sample = Sample({v: [0, 1] * 9 for v in "abc"}, dict.fromkeys("abc", 2))
    whole, cut = K2Search("abc").search(sample), K2Search("abc", max_families=4).search(sample)
    assert (whole.finished, cut.finished) == (True, False)
    assert whole.families > 4
    assert cut.path == whole.path[:1]


def test_what_is_no_order_is_refused() -> None:
    sample = Sample({"a": [0], "b": [0]}, {"a": 1, "b": 1})
    with pytest.raises(BadStructure, match=r"each variable once, got .*'a'"):
        K2Search("aba")
    with pytest.raises(BadStructure, match=r"order: expected each of \('a', 'b'\) once; 'b' is missing"):
        K2Search("a").search(sample)
    with pytest.raises(UnknownFeature, match="order: the sample has no variable 'c'"):
        K2Search("abc").search(sample)
    with pytest.raises(BadValue, match="max_parents: expected a whole number"):
        K2Search("ab", max_parents=-1)
    with pytest.raises(BadValue, match="max_families: expected a whole number"):
        K2Search("ab", max_families=-1)
