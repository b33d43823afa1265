"""Structures found from information: the trees of networkx, Sahami's definition, and trees got back from samples."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stream_bayes.core.structures._tan_and_kdb import dependence_parents, spanning_tree
from stream_bayes.core.structures.named_features import NamedFeatures
from tests.core.counts.stores import rows_store
from tests.oracles.random_trees import random_tree, tree_events, undirected

Matrix = NDArray[np.float64]


def matrix(size: int, numbers: Any) -> Matrix:
    """A symmetric matrix with zeros on its diagonal."""
    made = np.zeros((size, size))
    for (i, j), number in zip(combinations(range(size), 2), numbers, strict=True):
        made[i, j] = made[j, i] = number
    return made


def pairs(size: int) -> int:
    return size * (size - 1) // 2


# Few different numbers, so that many are equal; and real ones.
ties = st.integers(0, 3).map(float)
reals = st.floats(0.0, 1.0)
matrices = st.tuples(st.integers(1, 9), st.sampled_from([ties, reals])).flatmap(
    lambda case: st.lists(case[1], min_size=pairs(case[0]), max_size=pairs(case[0])).map(
        lambda numbers: matrix(case[0], numbers)
    )
)


def edges(parents: list[int]) -> set[frozenset[int]]:
    return {frozenset((child, parent)) for child, parent in enumerate(parents) if parent >= 0}


def ancestors(parents: list[int], variable: int) -> list[int]:
    """The way up to the root; a circle would be longer than there are variables."""
    way = [variable]
    while parents[way[-1]] >= 0:
        way.append(parents[way[-1]])
        assert len(way) <= len(parents)
    return way


# -- trees -----------------------------------------------------------------------------------------------------------


@given(matrices, st.integers(0, 8))
def test_a_spanning_tree_weighs_as_much_as_networkxs(information: Matrix, root: int) -> None:
    root %= len(information)
    parents = spanning_tree(information, root)
    graph = nx.Graph()
    graph.add_nodes_from(range(len(information)))
    for i, j in combinations(range(len(information)), 2):
        graph.add_edge(i, j, weight=information[i, j])
    heaviest = nx.maximum_spanning_tree(graph)
    assert len(edges(parents)) == len(information) - 1
    mine = sorted(information[tuple(edge)] for edge in edges(parents))
    # All maximum trees have the same weights, each as often.
    assert mine == sorted(weight for _, _, weight in heaviest.edges(data="weight"))


@given(matrices, st.integers(0, 8))
def test_every_edge_leads_away_from_the_root(information: Matrix, root: int) -> None:
    root %= len(information)
    parents = spanning_tree(information, root)
    assert parents[root] == -1
    assert all(ancestors(parents, variable)[-1] == root for variable in range(len(parents)))


@given(matrices)
def test_the_root_decides_directions_only(information: Matrix) -> None:
    trees = [edges(spanning_tree(information, root)) for root in range(len(information))]
    assert all(tree == trees[0] for tree in trees)


@given(matrices)
def test_of_equal_trees_the_one_of_the_first_variables_is_taken(information: Matrix) -> None:
    # Grown from the first variable: always the strongest edge out, of equal ones to the first variable, and for that
    # from the first that was reached.
    reached, expected = [0], set()
    while len(reached) < len(information):
        best = max(information[i, j] for i in reached for j in range(len(information)) if j not in reached)
        new = min(
            j
            for j in range(len(information))
            if j not in reached and any(information[i, j] == best for i in reached)
        )
        expected.add(frozenset((next(i for i in reached if information[i, new] == best), new)))
        reached.append(new)
    assert edges(spanning_tree(information)) == expected


def test_where_nothing_tells_anything_all_hang_on_the_first() -> None:
    assert spanning_tree(np.zeros((5, 5))) == [-1, 0, 0, 0, 0]
    assert spanning_tree(np.zeros((1, 1))) == [-1]
    assert spanning_tree(np.zeros((0, 0))) == []


# -- k-dependence ----------------------------------------------------------------------------------------------------


@given(matrices, st.data(), st.integers(0, 3))
def test_parents_are_the_strongest_of_those_that_tell_more_of_the_class(
    information: Matrix, data: st.DataObject, most: int
) -> None:
    size = len(information)
    numbers = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=size, max_size=size)
    with_class = np.array(data.draw(numbers))
    expected = []
    for variable in range(size):
        above = [
            other for other in range(size) if (-with_class[other], other) < (-with_class[variable], variable)
        ]
        above.sort(key=lambda other: (-information[variable, other], other))
        expected.append(above[:most])
    assert dependence_parents(with_class, information, most) == expected


def test_without_features_there_are_no_parents() -> None:
    assert dependence_parents(np.zeros(0), np.zeros((0, 0)), 1) == []
    assert dependence_parents(np.array([1.0]), np.zeros((1, 1)), 1) == [[]]


# -- trees got back from samples ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_a_random_tree_is_got_back_from_its_samples(seed: int) -> None:
    source = random.Random(seed)
    names = [f"f{place}" for place in range(6 if seed % 2 else 10)]
    source.shuffle(names)
    tree = random_tree(source, names)
    store = rows_store(2)
    for x, label in tree_events(source, tree, 2 + seed % 3, 700):
        # Each event lacks a feature: pairs are counted over those that have both.
        del x[source.choice(names)]
        store.learn(x, label)
    named = NamedFeatures(store.tables, store.encoder)
    found = edges(spanning_tree(named.information.between_all(), 0))
    assert {frozenset(named.names[place] for place in edge) for edge in found} == undirected(tree)


@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1))
def test_a_large_random_matrix_has_networkxs_tree(seed: int) -> None:
    size = 40
    information = matrix(size, np.random.default_rng(seed).random(pairs(size)))
    graph = nx.from_numpy_array(information)
    expected = {frozenset(edge) for edge in nx.maximum_spanning_tree(graph).edges()}
    assert edges(spanning_tree(information, size // 2)) == expected
