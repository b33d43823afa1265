"""Trees over samples: the likeliest of all trees, and trees got back."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import networkx as nx
import pytest
from hypothesis import given

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.family_scorer import FamilyScorer
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.scores import LogLikelihood
from stream_bayes.core.search.tree_search import chow_liu_tree, tan_structure
from stream_bayes.errors import BadStructure, UnknownFeature
from tests.core.search.drawn_samples import Drawn, drawn_samples, plain_sample
from tests.oracles.independence import information


def skeleton(structure: Structure) -> set[frozenset[Any]]:
    return {frozenset(edge) for edge in structure.edges}


def log_likelihood(sample: Sample, structure: Structure) -> float:
    parents = [[sample.place(p) for p in structure.parents(v)] for v in sample.variables]
    return FamilyScorer(sample, LogLikelihood()).total(parents)


def trees(names: list[Any]) -> list[Structure]:
    """All trees over some variables, away from the first."""
    found = []
    for edges in combinations(list(combinations(names, 2)), len(names) - 1):
        graph = nx.Graph(edges)
        graph.add_nodes_from(names)
        if nx.is_connected(graph):
            found.append(Structure.from_edges(list(nx.bfs_edges(graph, names[0])), names))
    return found


@given(drawn_samples(missing=False))
def test_no_tree_makes_a_sample_more_likely(drawn: Drawn) -> None:
    sample = drawn.sample
    best = max(log_likelihood(sample, tree) for tree in trees(list(sample.variables)))
    found = chow_liu_tree(sample)
    assert len(found.edges) == len(sample.variables) - 1
    assert log_likelihood(sample, found) == pytest.approx(best, abs=1e-9)


@given(drawn_samples(least=2, missing=False))
def test_no_tree_under_a_label_makes_a_sample_more_likely(drawn: Drawn) -> None:
    sample = drawn.sample
    label, *features = sample.variables
    best = max(
        log_likelihood(sample, Structure.from_edges([*tree.edges, *((label, v) for v in features)]))
        for tree in trees(features)
    )
    found = tan_structure(sample, label)
    assert all(label in found.parents(v) for v in features)
    assert len(found.edges) == 2 * len(features) - 1
    assert log_likelihood(sample, found) == pytest.approx(best, abs=1e-9)


@given(drawn_samples(least=2))
def test_pairs_are_weighed_over_the_rows_that_have_both(drawn: Drawn) -> None:
    graph = nx.Graph()
    for a, b in combinations(drawn.sizes, 2):
        both = sum(weight for row, weight in drawn.rows if None not in (row[a], row[b]))
        graph.add_edge(a, b, weight=information(drawn.rows, a, b) / both if both else 0.0)
    heaviest = nx.maximum_spanning_tree(graph).size(weight="weight")
    found = sum(graph.edges[edge]["weight"] for edge in chow_liu_tree(drawn.sample).edges)
    assert found == pytest.approx(heaviest, abs=1e-9)


def test_a_pair_that_few_rows_have_is_not_the_weaker_for_it() -> None:
    """In the chain a, b, c few rows have a and b, and most have a and c: their sum is the largest, a row's is not."""
    pairs = {
        ("a", "b"): (380, 20),
        ("b", "c"): (720, 80),
        ("a", "c"): (1720, 280),
    }  # how often they agree, and do not: 0.95, 0.9, and what follows from these
    rows = [
        {one: value, other: value if like else 1 - value}
        for (one, other), times in pairs.items()
        for like, often in zip((True, False), times, strict=True)
        for value in (0, 1)
        for _ in range(often)
    ]
    columns = {name: [row.get(name, -1) for row in rows] for name in "abc"}
    found = chow_liu_tree(Sample(columns, dict.fromkeys("abc", 2)))
    assert skeleton(found) == {frozenset("ab"), frozenset("bc")}


@pytest.mark.parametrize("seed", range(4))
def test_a_random_tree_is_got_back(seed: int) -> None:
    source = random.Random(seed)
    tree = Structure.from_edges([(f"v{source.randrange(i)}", f"v{i}") for i in range(1, 9)])
    assert skeleton(chow_liu_tree(plain_sample(tree, 4_000, seed))) == skeleton(tree)


def test_a_tree_under_a_label_is_got_back() -> None:
    tree = [("a", "b"), ("b", "c"), ("b", "d")]
    network = Structure.from_edges([*tree, *(("y", v) for v in "abcd")])
    found = tan_structure(plain_sample(network, 20_000, 1), "y")
    assert found == network


def test_edges_lead_away_from_the_root() -> None:
    sample = plain_sample(Structure.from_edges([("a", "b"), ("b", "c")]), 2_000, 1)
    assert chow_liu_tree(sample, root="c").edges == (("b", "a"), ("c", "b"))
    under = tan_structure(sample, "a", root="c")
    assert under.edges == (("a", "b"), ("a", "c"), ("c", "b"))


def test_of_equal_pairs_the_first_by_name_are_joined() -> None:
    sample = Sample({v: [0, 1] * 3 for v in ("c", "b", "a", "y")}, dict.fromkeys("abcy", 2))
    assert chow_liu_tree(sample).edges == (("a", "b"), ("a", "c"), ("a", "y"))
    assert tan_structure(sample, "y").edges == (("a", "b"), ("a", "c"), ("y", "a"), ("y", "b"), ("y", "c"))


def test_few_variables_make_small_trees() -> None:
    assert chow_liu_tree(Sample({}, {})) == Structure({})
    assert chow_liu_tree(Sample({"a": [0]}, {"a": 1})) == Structure({"a": []})
    assert tan_structure(Sample({"a": [0]}, {"a": 1}), "a") == Structure({"a": []})


def test_a_root_is_a_feature() -> None:
    sample = Sample({"a": [0], "b": [0]}, {"a": 1, "b": 1})
    with pytest.raises(BadStructure, match="root: expected a feature, got 'a'"):
        tan_structure(sample, "a", root="a")
    with pytest.raises(UnknownFeature, match="'z'"):
        tan_structure(sample, "z")
    with pytest.raises(UnknownFeature, match="'z'"):
        chow_liu_tree(sample, root="z")
