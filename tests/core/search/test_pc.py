"""PC: with tests that are never wrong it finds the class; with real ones it stays within its limits."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.pc import PC, g_test
from stream_bayes.core.search.sample import Sample
from stream_bayes.errors import BadStructure, BadValue, UnknownFeature
from tests.builds import examples
from tests.core.search.drawn_samples import Drawn, drawn_samples, plain_sample
from tests.oracles.independence import g_test as expected_test

LAWN = Structure(
    {"sky": [], "sprinkler": [], "wet": ["sky", "sprinkler"], "slip": ["wet"], "shoes": ["slip"]}
)


@st.composite
def structures(draw: Any, most: int = 6) -> Structure:
    order = draw(st.permutations("fbdaec"[: draw(st.integers(1, most))]))
    parents: dict[str, list[str]] = {v: [] for v in order}
    for i, v in enumerate(order[1:], start=1):
        parents[v] = draw(st.lists(st.sampled_from(order[:i]), unique=True, max_size=3))
    return Structure(parents)


def knows(structure: Structure) -> Any:
    """A test that reads the structure."""
    names = structure.variables

    def test(one: int, other: int, given: tuple[int, ...]) -> float:
        return float(structure.d_separated(names[one], names[other], [names[v] for v in given]))

    return test


@settings(max_examples=examples(80))
@given(structures())
def test_with_tests_that_are_never_wrong_the_class_is_found(structure: Structure) -> None:
    result = PC().search_by(structure.variables, knows(structure))
    assert result.cpdag == structure.cpdag()
    assert result.structure.cpdag() == structure.cpdag()
    assert result.consistent
    assert result.finished
    for (a, b), given_ in result.separations.items():
        assert structure.d_separated(a, b, list(given_))


@given(structures(), st.data())
def test_known_edges_point_as_they_are_known_to(structure: Structure, data: st.DataObject) -> None:
    edges = structure.edges
    required = data.draw(st.lists(st.sampled_from(edges), unique=True)) if edges else []
    pairs = [pair for pair in permutations(structure.variables, 2) if pair not in edges]
    forbidden = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    found = PC(required=required, forbidden=forbidden).search_by(structure.variables, knows(structure))
    # All that is known is true, so the true structure is one of those that are left.
    assert found.structure.cpdag() == structure.cpdag()
    assert set(found.cpdag.compelled) <= set(edges)
    assert set(required) <= set(found.cpdag.compelled)
    assert set(structure.cpdag().compelled) <= set(found.cpdag.compelled)


@settings(max_examples=examples(60))
@given(drawn_samples(missing=True), st.data())
def test_whatever_the_sample_says_the_limits_are_kept(drawn: Drawn, data: st.DataObject) -> None:
    names = list(drawn.sizes)
    pairs = list(permutations(names, 2))
    order = data.draw(st.permutations(names))
    some = st.lists(st.sampled_from(pairs), unique=True, max_size=4) if pairs else st.just([])
    required = [(a, b) for a, b in data.draw(some) if order.index(a) < order.index(b)]
    forbidden = [pair for pair in data.draw(some) if pair not in required]
    search = PC(significance=0.3, required=required, forbidden=forbidden, max_given=1)
    result = search.search(drawn.sample)
    assert set(required) <= set(result.cpdag.compelled) <= set(result.structure.edges)
    assert not set(forbidden) & set(result.structure.edges)
    both = {*map(frozenset, result.cpdag.compelled), *map(frozenset, result.cpdag.reversible)}
    assert {frozenset(edge) for edge in result.structure.edges} == both
    assert all(len(given_) <= 1 for given_ in result.separations.values())
    assert search.search(drawn.sample) == result


@given(drawn_samples(least=2, missing=True), st.data())
def test_g_is_what_the_formula_says(drawn: Drawn, data: st.DataObject) -> None:
    one, other, *given_ = data.draw(st.permutations(list(drawn.sizes)))
    found = g_test(drawn.sample, one, other, given_)
    statistic, freedom, p_value = expected_test(drawn.rows, one, other, given_)
    assert found.freedom == freedom
    assert found.statistic == pytest.approx(statistic, abs=1e-8)
    assert found.p_value == pytest.approx(p_value, abs=1e-6)


def test_independent_variables_seem_dependent_as_often_as_the_significance_says() -> None:
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(500):
        a, b, c = rng.integers(0, 3, (3, 400))
        found += (
            g_test(Sample({"a": a, "b": b, "c": c}, dict.fromkeys("abc", 3)), "a", "b", ["c"]).p_value <= 0.05
        )
    assert 11 <= found <= 40  # 25 are expected, with a deviation of 5


@pytest.mark.parametrize("seed", range(3))
def test_the_class_of_a_known_structure_is_found(seed: int) -> None:
    result = PC(significance=0.001).search(plain_sample(LAWN, 20_000, seed).collapsed())
    assert result.cpdag == LAWN.cpdag()
    assert result.structure.same_equivalence_class(LAWN)


@pytest.mark.parametrize("seed", [1, 16, 24, 42])  # where it would matter who is asked first
def test_other_names_leave_the_same_edges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns: dict[Any, Any] = {}
    for k in range(6):
        above = [columns[v] for v in columns if rng.random() < 0.5]
        chance = rng.random((2,) * len(above))[tuple(above)] if above else rng.random()
        columns[k] = (rng.random(300) < chance).astype(int)
    turned = {k: 5 - k for k in columns}
    other = {turned[k]: column for k, column in columns.items()}
    one, two = (PC().search(Sample(named, dict.fromkeys(named, 2))).structure for named in (columns, other))
    back: dict[Any, Any] = {new: old for old, new in turned.items()}
    assert {frozenset(edge) for edge in one.edges} == {frozenset((back[a], back[b])) for a, b in two.edges}


def _colliders(edges: Any, joined: Any) -> set[tuple[Any, Any, Any]]:
    """Return all a -> c <- b of which a and b are not joined."""
    return {
        (min(a, b), c, max(a, b))
        for (a, c), (b, d) in combinations(edges, 2)
        if c == d and frozenset((a, b)) not in joined
    }


@pytest.mark.parametrize("rows", [60, 300, 2_000])
def test_the_order_of_rows_and_columns_changes_nothing_and_no_collider_is_added_in_silence(
    rows: int,
) -> None:
    for seed in range(25):
        rng = np.random.default_rng([rows, seed])
        columns: dict[Any, Any] = {}
        for v in "abcdef":
            above = [column for column in columns.values() if rng.random() < 0.5]
            chance = rng.random((2,) * len(above))[tuple(above)] if above else rng.random()
            columns[v] = (rng.random(rows) < chance).astype(int)
        result = PC().search(Sample(columns, dict.fromkeys(columns, 2)))
        row, names = rng.permutation(rows), rng.permutation([*columns]).tolist()
        turned = {v: columns[v][row] for v in names}
        again = PC().search(Sample(turned, dict.fromkeys(turned, 2)))
        assert (again.cpdag, again.structure, again.consistent) == (
            result.cpdag,
            result.structure,
            result.consistent,
        )
        joined = {frozenset(edge) for edge in result.structure.edges}
        more = _colliders(result.structure.edges, joined) - _colliders(result.cpdag.compelled, joined)
        assert result.consistent == (not more), seed


def test_contradictory_tests_are_told() -> None:
    # A square whose both diagonals were found independent of everything: no structure has four such colliders.
    square = {(0, 2), (1, 3)}
    result = PC().search_by("abcd", lambda a, b, given_: float((a, b) in square and not given_))
    assert len(result.structure.edges) == 4
    joined = {frozenset(edge) for edge in result.structure.edges}
    more = _colliders(result.structure.edges, joined) - _colliders(result.cpdag.compelled, joined)
    assert result.consistent == (not more)
    assert set(result.cpdag.compelled) <= set(result.structure.edges)
    assert result.separations == {("a", "c"): (), ("b", "d"): ()}


def test_max_given_bounds_the_tests() -> None:
    chain = Structure.from_edges([("a", "b"), ("b", "c")])
    assert PC(max_given=0).search_by("abc", knows(chain)).cpdag.reversible == (
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    )
    assert PC(max_given=1).search_by("abc", knows(chain)).cpdag == chain.cpdag()


def test_a_search_that_was_stopped_says_so() -> None:
    asked: list[int] = []

    def should_stop() -> bool:
        asked.append(1)
        return len(asked) > 4

    told: list[tuple[int, int]] = []
    result = PC().search_by(
        LAWN.variables,
        knows(LAWN),
        should_stop=should_stop,
        progress=lambda tests, edges: told.append((tests, edges)),
    )
    assert not result.finished
    assert result.tests == 4
    assert [tests for tests, _ in told] == [1, 2, 3, 4]
    assert told[-1][1] == len(result.structure.edges)
    whole = PC().search_by(
        LAWN.variables, knows(LAWN), progress=lambda tests, edges: told.append((tests, edges))
    )
    assert told[-1] == (whole.tests, len(LAWN.edges))


@pytest.mark.parametrize("settings", [{"significance": 0.0}, {"significance": 1.0}, {"max_given": -1}])
def test_settings_that_make_no_sense_are_refused(settings: Any) -> None:
    with pytest.raises(BadValue, match=next(iter(settings))):
        PC(**settings)


def test_edges_that_contradict_one_another_are_refused() -> None:
    with pytest.raises(BadStructure, match=r"both required and forbidden.*'b'"):
        PC(required=[("a", "b")], forbidden=[("a", "b")])
    with pytest.raises(BadStructure, match="cycle: 'a' -> 'b' -> 'a'"):
        PC(required=[("a", "b"), ("b", "a")]).search_by("ab", lambda *_: 0.0)
    with pytest.raises(UnknownFeature, match="'z'"):
        PC(required=[("a", "z")]).search_by("ab", lambda *_: 0.0)
