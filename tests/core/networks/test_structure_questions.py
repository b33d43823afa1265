"""Properties read from a graph: separation, relatives, orders."""

from __future__ import annotations

import itertools

import networkx as nx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import name_order
from stream_bayes.errors import BadStructure
from tests.core.networks.drawn_structures import as_networkx, structures


def blocked(graph, way, given):
    """The definition: some inner variable stops the way.

    A collider does unless it, or something below it, is given; any other does if it is given.
    """
    for before, v, after in zip(way, way[1:], way[2:], strict=False):
        collider = graph.has_edge(before, v) and graph.has_edge(after, v)
        if collider and given.isdisjoint({v} | nx.descendants(graph, v)):
            return True
        if not collider and v in given:
            return True
    return False


def separated_by_definition(graph, a, b, given):
    ways = nx.all_simple_paths(graph.to_undirected(), a, b)
    return all(blocked(graph, way, given) for way in ways)


# --- d-separation -----------------------------------------------------------------------------------------------


@given(structures(most=5))
def test_d_separation_is_what_its_definition_says(structure):
    graph = as_networkx(structure)
    for a, b in itertools.permutations(structure.variables, 2):
        rest = [v for v in structure if v not in (a, b)]
        for given_ in itertools.chain.from_iterable(
            itertools.combinations(rest, k) for k in range(len(rest) + 1)
        ):
            expected = separated_by_definition(graph, a, b, set(given_))
            assert structure.d_separated(a, b, set(given_)) == expected


@given(structures(most=8), st.data())
def test_d_separation_of_sets_is_that_of_networkx(structure, data):
    roles = {v: data.draw(st.sampled_from("abgx")) for v in structure}
    a, b, known = ({v for v, role in roles.items() if role == which} for which in "abg")
    assume(a and b)
    expected = nx.is_d_separator(as_networkx(structure), a, b, known)
    assert structure.d_separated(a, b, known) == expected
    assert structure.d_separated(list(b), frozenset(a), list(known)) == expected


@given(structures(most=5))
def test_the_markov_blanket_separates_and_no_part_of_it_would(structure):
    for v in structure:
        blanket = structure.markov_blanket(v)
        rest = {other for other in structure if other != v and other not in blanket}
        assert structure.d_separated(v, rest, set(blanket))
        for member in blanket:
            assert not structure.d_separated(v, member, set(blanket) - {member})


def test_nothing_is_separated_from_an_empty_side():
    structure = Structure({"a": [], "b": ["a"]})
    assert structure.d_separated("a", [])
    assert structure.d_separated([], "b", "a")


@pytest.mark.parametrize(
    "sides", [("a", "a", []), ("a", "b", "a"), ("a", "b", ["b"]), (["a", "b"], "b", [])], ids=repr
)
def test_a_variable_stands_on_one_side_only(sides):
    with pytest.raises(BadStructure, match="stands in two"):
        Structure({"a": [], "b": ["a"]}).d_separated(*sides)


def test_a_tuple_is_one_name():
    structure = Structure({("a", "b"): [], "c": [("a", "b")]})
    assert not structure.d_separated(("a", "b"), "c")


# --- other questions --------------------------------------------------------------------------------------------


@given(structures(most=8))
def test_relatives_are_those_of_networkx(structure):
    graph = as_networkx(structure)
    for v in structure:
        assert structure.ancestors(v) == tuple(sorted(nx.ancestors(graph, v), key=name_order))
        assert structure.descendants(v) == tuple(sorted(nx.descendants(graph, v), key=name_order))
        assert sorted(structure.parents(v), key=name_order) == sorted(graph.predecessors(v), key=name_order)
        assert structure.children(v) == tuple(sorted(graph.successors(v), key=name_order))


@given(structures(most=8))
def test_the_topological_order_takes_the_first_name_that_is_ready(structure):
    graph = as_networkx(structure)
    assert list(structure.topological_order) == list(
        nx.lexicographical_topological_sort(graph, key=name_order)
    )


@given(structures(most=8))
def test_the_moral_graph_is_that_of_networkx(structure):
    moral = nx.moral_graph(as_networkx(structure))
    assert structure.moral_graph() == {v: frozenset(moral[v]) for v in structure}
