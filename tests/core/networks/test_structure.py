"""Structures: how they are made and changed, what is refused, and what they become."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import re
import subprocess
import sys
import time
from dataclasses import FrozenInstanceError
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stream_bayes.core.networks.equivalence import Difference
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import OTHER
from stream_bayes.errors import BadState, BadStructure, MissingPackage, UnknownFeature
from tests.core.networks.drawn_structures import as_networkx, structures

# --- making one -------------------------------------------------------------------------------------------------


def test_all_ways_to_make_one_agree():
    expected = Structure({"wet": ["rain", "sprinkler"], "sprinkler": ["rain"], "rain": [], "moon": []})
    edges = [("rain", "wet"), ("rain", "sprinkler"), ("sprinkler", "wet")]
    assert Structure.from_edges(edges, ["moon"]) == expected
    graph = nx.DiGraph(edges)
    graph.add_node("moon")
    assert Structure.from_networkx(graph) == expected
    assert Structure.from_networkx(nx.MultiDiGraph(graph)) == expected


@given(structures(), st.randoms(use_true_random=False))
def test_structures_with_the_same_edges_are_equal_in_every_order(structure, random):
    edges, variables = list(structure.edges), list(structure.variables)
    random.shuffle(edges)
    random.shuffle(variables)
    again = Structure.from_edges(edges, variables)
    assert again == structure
    assert hash(again) == hash(structure)
    assert all(set(again.parents(v)) == set(structure.parents(v)) for v in structure)
    assert again.topological_order == structure.topological_order
    assert again.to_dot() == structure.to_dot()


@given(structures())
def test_it_comes_back_from_every_form(structure):
    assert Structure(dict(zip(structure, map(structure.parents, structure), strict=True))) == structure
    assert Structure.from_networkx(structure.to_networkx()) == structure
    assert Structure.from_json(json.loads(json.dumps(structure.to_json()))) == structure
    for again in (pickle.loads(pickle.dumps(structure)), copy.deepcopy(structure), copy.copy(structure)):
        assert again == structure
        assert again.edges == structure.edges
        assert again.topological_order == structure.topological_order
        assert all(v in again for v in structure)


def test_variables_stand_in_the_order_of_their_names_and_parents_as_they_were_written():
    structure = Structure({"z": ["a", 10, 9], "a": [9], 10: [], 9: []})
    assert structure.variables == (9, 10, "a", "z")
    assert structure.parents("z") == ("a", 10, 9)
    assert structure.children(9) == ("a", "z")
    assert structure.edges == ((9, "a"), (9, "z"), (10, "z"), ("a", "z"))
    assert list(structure) == list(structure.variables)
    assert len(structure) == 4
    assert "a" in structure and "b" not in structure


def test_names_of_numpy_become_plain():
    parents: dict[Any, list[Any]] = {np.str_("a"): [np.int64(3)], np.int64(3): []}
    structure = Structure(parents)
    assert [type(v) for v in structure] == [int, str]


def test_it_differs_where_an_edge_or_a_variable_does():
    one = Structure({"a": [], "b": ["a"]})
    assert one != Structure({"a": ["b"], "b": []})
    assert one != Structure({"a": [], "b": []})
    assert one != Structure({"a": [], "b": ["a"], "c": []})
    other_type: Any = {"a": [], "b": ["a"]}
    assert one != other_type


def test_it_cannot_be_changed():
    structure = Structure({"a": []})
    with pytest.raises(FrozenInstanceError):
        structure.variables = ()  # type: ignore[misc]  # wrong on purpose
    with pytest.raises((FrozenInstanceError, TypeError)):
        structure.other = 1  # type: ignore[attr-defined]  # wrong on purpose


def test_one_without_variables_is_a_structure():
    empty = Structure({})
    assert empty.edges == empty.topological_order == ()
    assert empty.moral_graph() == {}
    assert empty.d_separated([], [])


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ({"a": ["b"], "b": ["a"]}, "'a' -> 'b' -> 'a'"),
        ({"c": ["b"], "b": ["d"], "d": ["c"], "a": ["d"]}, "'b' -> 'c' -> 'd' -> 'b'"),
        ({"a": ["a"]}, "'a' cannot be its own parent"),
        ({"a": [], "b": ["a", "a"]}, "'a' is given twice as a parent of 'b'"),
        ({1: [], "b": [1, True]}, "True is given twice as a parent of 'b'"),
        ({"a": ["b"]}, "unknown variable 'b' among the parents of 'a'"),
        ({"a": "b", "b": []}, "write ['b']"),
        ({"a": None}, "the parents of 'a': expected a list"),
        ({None: []}, "a variable's name: expected str"),
        ({float("nan"): []}, "a variable's name"),
        ({OTHER: []}, "a variable's name"),
        ({"a": [["b"]]}, "a variable's name"),
        ([("a", "b")], "see Structure.from_edges"),
    ],
    ids=repr,
)
def test_a_graph_that_cannot_be_is_refused(parents, message):
    with pytest.raises(BadStructure, match=re.escape(message)):
        Structure(parents)


@pytest.mark.parametrize(
    ("edges", "variables", "message"),
    [
        ([("a", "b"), ("a", "b")], (), "'a' is given twice"),
        ([("a", "b", "c")], (), "expected edges (parent, child), got ('a', 'b', 'c')"),
        (["ab"], (), "expected edges (parent, child), got 'ab'"),
        ([], "abc", "write ['abc']"),
        ([("a", None)], (), "a variable's name"),
    ],
    ids=repr,
)
def test_edges_that_cannot_be_are_refused(edges, variables, message):
    with pytest.raises(BadStructure, match=re.escape(message)):
        Structure.from_edges(edges, variables)


def test_a_graph_without_directions_is_refused():
    with pytest.raises(BadStructure, match="no direction"):
        Structure.from_networkx(nx.Graph([("a", "b")]))


def test_two_edges_between_the_same_nodes_are_refused():
    with pytest.raises(BadStructure, match="twice"):
        Structure.from_networkx(nx.MultiDiGraph([("a", "b"), ("a", "b")]))


def test_a_long_cycle_is_named_in_part():
    ring = {i: [(i - 1) % 50] for i in range(50)}
    with pytest.raises(
        BadStructure, match=r"cycle: 0 -> 1 -> .* -> 10 -> \(39 more\) -> 0; remove"
    ) as caught:
        Structure(ring)
    assert len(str(caught.value)) < 150


def test_the_longest_cycle_shown_whole_and_the_next():
    with pytest.raises(BadStructure, match="9 -> 10 -> 0;"):
        Structure({i: [(i - 1) % 11] for i in range(11)})
    with pytest.raises(BadStructure, match=r"9 -> 10 -> \(1 more\) -> 0;"):
        Structure({i: [(i - 1) % 12] for i in range(12)})


@pytest.mark.parametrize(
    "question",
    ["parents", "children", "ancestors", "descendants", "markov_blanket"],
)
def test_a_question_about_an_unknown_variable_names_it(question):
    with pytest.raises(UnknownFeature, match=r"no variable 'c'; its variables: \['a', 'b'\]"):
        getattr(Structure({"a": [], "b": []}), question)("c")


def test_a_tuple_in_place_of_several_variables_is_explained():
    structure = Structure({"a": [], "b": [], "c": []})
    with pytest.raises(UnknownFeature, match="pass several variables as a list or a set"):
        structure.d_separated("a", ("b", "c"))
    with pytest.raises(UnknownFeature, match="pass several variables as a list or a set"):
        structure.parents(["b", "c"])  # type: ignore[arg-type]  # wrong on purpose


# --- one edge more or less --------------------------------------------------------------------------------------


@given(structures())
def test_each_change_of_an_edge_does_just_that_or_names_the_cycle(structure):
    graph = as_networkx(structure)
    for a, b in itertools.permutations(structure.variables, 2):
        changed = graph.copy()
        if (a, b) in structure.edges:
            changed.remove_edge(a, b)
            assert structure.without_edge(a, b) == Structure.from_networkx(changed)
            assert structure.without_edge(a, b).with_edge(a, b) == structure
            changed.add_edge(b, a)
            change = structure.with_reversed
        else:
            changed.add_edge(a, b)
            change = structure.with_edge
        if nx.is_directed_acyclic_graph(changed):
            assert change(a, b) == Structure.from_networkx(changed)
        else:
            with pytest.raises(BadStructure, match="cycle"):
                change(a, b)


def test_changes_of_edges_that_are_not_as_assumed_are_refused():
    structure = Structure({"a": [], "b": ["a"]})
    with pytest.raises(BadStructure, match="'a' -> 'b' is there already"):
        structure.with_edge("a", "b")
    with pytest.raises(BadStructure, match="'a' cannot be its own parent"):
        structure.with_edge("a", "a")
    for change in (structure.without_edge, structure.with_reversed):
        with pytest.raises(BadStructure, match="there is no edge 'b' -> 'a'"):
            change("b", "a")
    with pytest.raises(UnknownFeature):
        structure.with_edge("a", "c")


# --- JSON -------------------------------------------------------------------------------------------------------


@given(structures())
def test_json_keeps_the_order_of_parents(structure):
    again = Structure.from_edges(reversed(structure.edges), reversed(structure.variables))
    for each in (structure, again):
        assert Structure.from_json(json.loads(json.dumps(each.to_json()))).lists_parents_as(each)
    ordered = Structure.from_edges(structure.edges, structure.variables)
    assert all(again.parents(v) == ordered.parents(v)[::-1] for v in structure)


@pytest.mark.parametrize(
    "saved",
    [
        None,
        [],
        {},
        {"variables": ["a"]},
        {"variables": ["a"], "parents": [[]], "more": 1},
        {"variables": "a", "parents": [[]]},
        {"variables": [None], "parents": [[]]},
        {"variables": ["b", "a"], "parents": [[], []]},
        {"variables": ["a", "a"], "parents": [[], []]},
        {"variables": [{"int": "1"}, {"bool": True}], "parents": [[], []]},
        {"variables": ["a", "b"], "parents": [[]]},
        {"variables": ["a", "b"], "parents": {"a": []}},
        {"variables": ["a", "b"], "parents": [[], [2]]},
        {"variables": ["a", "b"], "parents": [[], [-1]]},
        {"variables": ["a", "b"], "parents": [[], [0, 0]]},
        {"variables": ["a", "b"], "parents": [[], [False]]},
        {"variables": ["a", "b"], "parents": [[], [0.0]]},
        {"variables": ["a", "b"], "parents": [[], "0"]},
        {"variables": ["a", "b"], "parents": [[], [1]]},
        {"variables": ["a", "b"], "parents": [[1], [0]]},
    ],
    ids=repr,
)
def test_json_that_no_structure_wrote_is_bad_state(saved):
    with pytest.raises(BadState, match="saved"):
        Structure.from_json(saved)


def test_a_saved_cycle_is_named():
    with pytest.raises(BadState, match="'a' -> 'b' -> 'a'"):
        Structure.from_json({"variables": ["a", "b"], "parents": [[1], [0]]})


# --- networkx and Graphviz --------------------------------------------------------------------------------------


def test_without_networkx_its_graphs_are_read_and_asking_for_one_says_what_to_install(monkeypatch):
    class Graph:
        nodes = ("a", "b", "c")
        edges = (("a", "b"),)

        def is_directed(self):
            return True

    monkeypatch.setitem(sys.modules, "networkx", None)
    structure = Structure.from_networkx(Graph())
    assert structure == Structure({"a": [], "b": ["a"], "c": []})
    with pytest.raises(MissingPackage, match=re.escape(".[networkx]")):
        structure.to_networkx()
    assert issubclass(MissingPackage, ImportError)


def test_structures_do_not_import_networkx():
    code = "import sys, stream_bayes.core.networks.structure; sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_no_parents_are_an_empty_list_and_not_none():
    with pytest.raises(BadStructure, match=r"got None; write \[\] for none"):
        Structure({"rain": None})  # type: ignore[dict-item]  # wrong on purpose


def test_a_difference_is_drawn_in_colours():
    before = Structure({"a": [], "b": ["a"], "c": ["a", "b"], "d": []})
    after = Structure({"a": ["c", "d"], "b": ["a"], "c": [], "d": []})
    assert after.to_dot(before.difference(after)).splitlines() == [
        "digraph structure {",
        '  "a";',
        '  "b";',
        '  "c";',
        '  "d";',
        '  "a" -> "b" [color="#D55E00"];',
        '  "c" -> "a" [color="#D55E00"];',
        '  "d" -> "a" [color="#0072B2"];',
        '  "b" -> "c" [color="#777777", style=dashed];',
        "}",
    ]


def test_a_difference_that_leads_elsewhere_is_not_drawn():
    before, after = Structure({"a": [], "b": ["a"]}), Structure({"a": [], "b": []})
    with pytest.raises(BadStructure, match="without the edge 'a' -> 'b'"):
        before.to_dot(before.difference(after))
    with pytest.raises(BadStructure, match="with the edge 'a' -> 'b'"):
        after.to_dot(after.difference(before))
    with pytest.raises(UnknownFeature):
        after.to_dot(Difference(removed=(("x", "y"),)))


def test_names_are_quoted_for_graphviz():
    names = ['say "hi"', "back\\slash", "two\nlines", "ends\\", "->", 'a" -> "b', ("t", 1), "naïve"]
    text = Structure({name: [] for name in names}).to_dot()
    lines = text.splitlines()[1:-1]
    assert len(lines) == len(names)
    strings = [re.fullmatch(r'  "((?:[^"\\]|\\[\\"n])*)";', line) for line in lines]
    shown = {
        re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], found[1]) for found in strings if found
    }
    assert shown == {name if isinstance(name, str) else repr(name) for name in names}


def test_names_that_look_alike_stay_apart_for_graphviz():
    lines = Structure({"1": [], 1: ["1"]}).to_dot().splitlines()
    assert lines[1:-1] == ['  "1";', "  \"'1'\";", '  "\'1\'" -> "1";']


# --- size -------------------------------------------------------------------------------------------------------


def test_two_hundred_variables_are_no_burden():
    rng = np.random.default_rng(4)
    parents = {i: set(rng.integers(max(0, i - 20), i, 3).tolist()) if i else set() for i in range(223)}
    structure = Structure(parents)
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, 223, (200, 2)) if a != b]
    start = time.process_time()
    for a, b in pairs:
        structure.d_separated(a, b, {v for v in structure.parents(a) if v != b})
        structure.markov_blanket(a)
    structure.cpdag()
    structure.moral_graph()
    # Measured at 0.04 s; the margin is for slow machines.
    assert time.process_time() - start < 2


@example([])
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_any_edges_make_a_structure_or_bad_structure(edges):
    try:
        structure = Structure.from_edges(edges)
    except BadStructure:
        loops = any(a == b for a, b in edges)
        assert loops or len(set(edges)) < len(edges) or not nx.is_directed_acyclic_graph(nx.DiGraph(edges))
    else:
        assert set(structure.edges) == set(edges)
