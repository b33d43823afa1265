"""Graphs over numbers, against networkx and against what the words mean."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.networks.graph_algorithms import (
    children_of,
    cycle_in,
    moral_neighbours,
    needed_families,
    reached,
    topological_order,
)


@st.composite
def digraphs(draw):
    """Parents of each vertex; cycles and loops may occur."""
    n = draw(st.integers(0, 7))
    return [sorted(draw(st.sets(st.integers(0, n - 1)))) for _ in range(n)]


@st.composite
def acyclic(draw):
    n = draw(st.integers(0, 7))
    label = draw(st.permutations(range(n)))
    parents: list[list[int]] = [[] for _ in range(n)]
    for child in range(n):
        parents[label[child]] = sorted(
            label[p] for p in draw(st.sets(st.integers(0, child - 1)) if child else st.just(set()))
        )
    return parents


def as_networkx(parents):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(parents)))
    graph.add_edges_from((p, child) for child, several in enumerate(parents) for p in several)
    return graph


@given(digraphs())
def test_children_are_the_other_ends_of_the_parents_edges(parents):
    graph = as_networkx(parents)
    assert children_of(parents) == [sorted(graph.successors(v)) for v in range(len(parents))]


@given(acyclic())
def test_the_order_puts_parents_first_and_then_the_smallest(parents):
    order = topological_order(parents, children_of(parents))
    assert order == list(nx.lexicographical_topological_sort(as_networkx(parents)))


@given(digraphs())
def test_what_no_order_reaches_is_on_or_below_a_cycle(parents):
    graph = as_networkx(parents)
    on_cycles = {
        v for v in graph if nx.has_path(graph, v, v) and any(nx.has_path(graph, c, v) for c in graph[v])
    }
    below = set().union(*({v} | nx.descendants(graph, v) for v in on_cycles))
    assert set(topological_order(parents, children_of(parents))) == set(graph) - below


@given(digraphs())
def test_a_cycle_is_found_exactly_where_there_is_one(parents):
    cycle = cycle_in(parents)
    assert bool(cycle) == (not nx.is_directed_acyclic_graph(as_networkx(parents)))
    assert len(set(cycle)) == len(cycle)
    for i, v in enumerate(cycle):  # index -1 closes it
        assert cycle[i - 1] in parents[v]
    assert not cycle or cycle[0] == min(cycle)


@given(digraphs(), st.data())
def test_reached_is_reached_without_what_is_closed(parents, data):
    vertices = range(len(parents))
    subsets = st.sets(st.sampled_from(vertices)) if parents else st.just(set())
    starts, closed = data.draw(subsets), data.draw(subsets)
    closed -= starts
    graph = as_networkx(parents)
    graph.remove_nodes_from(closed)
    expected = starts.union(*(nx.descendants(graph, v) for v in starts))
    assert reached(starts, children_of(parents), closed) == expected


@given(acyclic())
def test_the_moral_graph_is_that_of_networkx(parents):
    moral = nx.moral_graph(as_networkx(parents))
    assert moral_neighbours(parents, range(len(parents))) == {v: set(moral[v]) for v in moral}


@given(acyclic().filter(len), st.data())
def test_a_table_is_needed_if_what_it_hangs_on_would_not_be_separated_from_what_is_asked(parents, data):
    vertices = range(len(parents))
    asked = data.draw(st.sampled_from(vertices))
    known = data.draw(st.sets(st.sampled_from(vertices))) - {asked}
    graph = as_networkx(parents)
    graph.add_edges_from((("table", v), v) for v in vertices)
    needed = [v for v in vertices if not nx.is_d_separator(graph, {("table", v)}, {asked}, known)]
    assert needed_families(parents, asked, known) == needed
