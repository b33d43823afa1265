"""Patterns: what follows from some arrows, against every graph that has them."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_bayes.core.search.pdag import PDAG
from tests.builds import examples

Edges = frozenset[tuple[int, int]]


def is_acyclic(size: int, edges: Edges) -> bool:
    left = set(range(size))
    while left:
        roots = {v for v in left if not any(a in left for a, b in edges if b == v)}
        if not roots:
            return False
        left -= roots
    return True


def colliders(edges: Edges) -> set[tuple[frozenset[int], int]]:
    joined = {frozenset(edge) for edge in edges}
    return {
        (frozenset((a, b)), c)
        for (a, c), (b, d) in combinations(sorted(edges), 2)
        if c == d and frozenset((a, b)) not in joined
    }


def flags(size: int, edges: Any) -> NDArray[np.bool_]:
    answer = np.zeros((size, size), bool)
    for a, b in edges:
        answer[a, b] = True
    return answer


@st.composite
def directed(draw: Any, most: int = 5) -> tuple[int, Edges]:
    size = draw(st.integers(1, most))
    order = draw(st.permutations(range(size)))
    pairs = list(combinations(order, 2))
    return size, frozenset(draw(st.lists(st.sampled_from(pairs), unique=True, max_size=8)) if pairs else [])


def like(size: int, edges: Edges, known: Edges) -> list[Edges]:
    """All acyclic graphs of the same edges and colliders that point as is known."""
    found = []
    for turned in product((False, True), repeat=len(edges)):
        other = frozenset(
            (b, a) if turn else (a, b) for turn, (a, b) in zip(turned, sorted(edges), strict=True)
        )
        if known <= other and is_acyclic(size, other) and colliders(other) == colliders(edges):
            found.append(other)
    return found


@settings(max_examples=examples(80))
@given(directed(), st.data())
def test_meeks_rules_find_every_arrow_that_follows_and_no_other(
    graph: tuple[int, Edges], data: st.DataObject
) -> None:
    size, edges = graph
    known = frozenset(data.draw(st.sets(st.sampled_from(sorted(edges)))) if edges else ())
    arrows = sorted(known | {(a, c) for pair, c in colliders(edges) for a in pair})
    joined = flags(size, edges) | flags(size, edges).T
    pattern = PDAG(joined, ~np.eye(size, dtype=bool))
    assert pattern.point(arrows)
    pattern.complete()
    alternatives = like(size, edges, known)
    expected = frozenset.intersection(*alternatives)
    assert {tuple(edge) for edge in np.argwhere(pattern.arrows).tolist()} == expected
    extension = frozenset((a, b) for b, parents in enumerate(pattern.parents()) for a in parents)
    assert extension in alternatives


@settings(max_examples=examples(80))
@given(directed(), st.data())
def test_whatever_is_asked_there_is_a_structure_with_the_edges_and_arrows(
    graph: tuple[int, Edges], data: st.DataObject
) -> None:
    size, edges = graph
    joined = flags(size, edges) | flags(size, edges).T
    pattern = PDAG(joined, ~np.eye(size, dtype=bool))
    pairs = np.argwhere(joined).tolist()
    for _ in range(4 if pairs else 0):
        asked = [(a, b) for a, b in data.draw(st.lists(st.sampled_from(pairs), max_size=3))]
        before = pattern.arrows.copy()
        done = pattern.point(asked)
        assert all(pattern.arrows[a, b] for a, b in asked) if done else (pattern.arrows == before).all()
    pattern.complete()
    found = frozenset((a, b) for b, parents in enumerate(pattern.parents()) for a in parents)
    assert is_acyclic(size, found)
    assert {frozenset(edge) for edge in found} == {frozenset(edge) for edge in edges}
    assert {tuple(edge) for edge in np.argwhere(pattern.arrows).tolist()} <= found


def test_no_arrow_points_where_it_is_not_allowed() -> None:
    joined = flags(2, [(0, 1), (1, 0)])
    pattern = PDAG(joined, flags(2, [(1, 0)]))
    assert not pattern.point([(0, 1)])
    assert pattern.point([(1, 0)])
