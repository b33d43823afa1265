"""Structures compared: against every graph of the same skeleton and v-structures."""

from __future__ import annotations

import itertools
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.networks.equivalence import Difference, EquivalenceClass
from stream_bayes.core.networks.structure import Structure
from stream_bayes.errors import BadStructure
from tests.builds import EVERYTHING

LETTERS = list("abcdef")


@st.composite
def pairs_of_structures(draw, most=6):
    """Two structures of the same variables, often alike."""
    n = draw(st.integers(1, most))
    names = LETTERS[:n]
    found = []
    for order in (draw(st.permutations(names)), draw(st.permutations(names))):
        edges = st.tuples(st.sampled_from(names), st.sampled_from(names)).filter(lambda e: e[0] != e[1])
        place = {v: i for i, v in enumerate(order)}
        found.append(
            {tuple(sorted(edge, key=place.__getitem__)) for edge in draw(st.sets(edges, max_size=10))}
        )
    return tuple(Structure.from_edges(edges, names) for edges in found)


def skeleton(edges):
    return frozenset(map(frozenset, edges))


def v_structures(edges):
    joined = skeleton(edges)
    return frozenset(
        (frozenset((a, b)), c)
        for (a, c), (b, other) in itertools.combinations(edges, 2)
        if c == other and frozenset((a, b)) not in joined
    )


def acyclic_graphs(names):
    """Every one: each pair is not joined, or joined this way, or that way."""
    for arrows in itertools.product((0, 1, 2), repeat=len(names) * (len(names) - 1) // 2):
        edges = [
            (a, b) if arrow == 1 else (b, a)
            for (a, b), arrow in zip(itertools.combinations(names, 2), arrows, strict=True)
            if arrow
        ]
        if is_acyclic(names, edges):
            yield tuple(edges)


def is_acyclic(names, edges):
    left = set(names)
    while sources := left - {b for a, b in edges if a in left}:
        left -= sources
    return not left


def orientations(structure):
    """Every acyclic graph with the structure's skeleton and v-structures."""
    edges = structure.edges
    for flips in itertools.product((False, True), repeat=len(edges)):
        turned = [(b, a) if flip else (a, b) for (a, b), flip in zip(edges, flips, strict=True)]
        if is_acyclic(structure.variables, turned) and v_structures(turned) == v_structures(edges):
            yield set(turned)


def drawn(variables, members):
    """The graph of a class by its definition: what all members agree on, and what they do not."""
    agreed = set.intersection(*members)
    free = {tuple(sorted(edge)) for member in members for edge in member - agreed}
    return EquivalenceClass(tuple(variables), tuple(sorted(agreed)), tuple(sorted(free)))


@pytest.mark.parametrize(
    ("n", "graphs", "classes"),
    [(1, 1, 1), (2, 3, 2), (3, 25, 11), (4, 543, 185)]
    + [(5, 29281, 8782)] * EVERYTHING,  # no kernel is asked here: once is enough for the many
)
def test_each_class_of_all_graphs_has_one_drawing_and_another_than_the_rest(n, graphs, classes):
    by_class = defaultdict(list)
    for edges in acyclic_graphs(LETTERS[:n]):
        by_class[skeleton(edges), v_structures(edges)].append(edges)
    assert sum(map(len, by_class.values())) == graphs
    drawings = set()
    for members in by_class.values():
        expected = drawn(LETTERS[:n], list(map(set, members)))
        assert {Structure.from_edges(edges, LETTERS[:n]).cpdag() for edges in members} == {expected}
        drawings.add(expected)
    assert len(drawings) == len(by_class) == classes


@given(pairs_of_structures())
def test_the_drawing_holds_what_all_orientations_agree_on(pair):
    structure, _ = pair
    assert structure.cpdag() == drawn(structure.variables, list(orientations(structure)))


@given(pairs_of_structures(most=5))
def test_structures_are_equivalent_exactly_if_they_imply_the_same_independences(pair):
    one, two = pair
    same = all(
        one.d_separated(a, b, set(known)) == two.d_separated(a, b, set(known))
        for a, b in itertools.combinations(one.variables, 2)
        for k in range(len(one) - 1)
        for known in itertools.combinations([v for v in one if v not in (a, b)], k)
    )
    assert one.same_equivalence_class(two) == same
    assert (one.cpdag().shd(two.cpdag()) == 0) == same


@given(pairs_of_structures())
def test_reversing_a_reversible_edge_of_a_member_stays_in_the_class(pair):
    structure, _ = pair
    for a, b in structure.edges:
        if set(structure.parents(b)) == {a, *structure.parents(a)}:  # Chickering: a covered edge
            assert structure.with_reversed(a, b).same_equivalence_class(structure)
            assert tuple(sorted((a, b))) in structure.cpdag().reversible


# --- difference and distance ------------------------------------------------------------------------------------


@given(pairs_of_structures())
def test_a_difference_leads_from_one_class_to_the_other(pair):
    before, after = pair
    difference = before.difference(after)
    joined = {frozenset(edge) for edge in before.edges} - {frozenset(edge) for edge in difference.removed}
    assert joined | {frozenset(edge) for edge in difference.added} == {
        frozenset(edge) for edge in after.edges
    }
    assert set(difference.added) | set(difference.reversed) <= set(after.edges)
    assert set(difference.removed) <= set(before.edges)
    assert len(difference) == before.cpdag().shd(after.cpdag())
    assert bool(difference) != before.same_equivalence_class(after)


def test_a_chain_reversed_is_no_change():
    chain = Structure.from_edges([("a", "b"), ("b", "c")])
    assert not chain.difference(Structure.from_edges([("c", "b"), ("b", "a")]))
    collider = Structure.from_edges([("a", "b"), ("c", "b")])
    assert chain.difference(collider) == Difference(reversed=(("a", "b"), ("c", "b")))


@given(pairs_of_structures())
def test_the_way_back_is_the_difference_turned_round(pair):
    one, two = pair
    there, back = one.difference(two), two.difference(one)
    assert there.added == back.removed
    assert there.removed == back.added
    assert {frozenset(edge) for edge in there.reversed} == {frozenset(edge) for edge in back.reversed}


@given(pairs_of_structures())
def test_the_distance_is_the_number_of_differences_of_the_classes(pair):
    one, two = pair
    assert one.shd(two) == two.shd(one) == len(one.difference(two)) == one.cpdag().shd(two.cpdag())


@given(pairs_of_structures())
def test_the_distance_of_classes_counts_pairs_whose_marks_differ(pair):
    def mark(drawing, a, b):
        directed = ((a, b) in drawing.compelled, (b, a) in drawing.compelled)
        return (*directed, (a, b) in drawing.reversible)

    one, two = (structure.cpdag() for structure in pair)
    expected = sum(mark(one, a, b) != mark(two, a, b) for a, b in itertools.combinations(one.variables, 2))
    assert one.shd(two) == two.shd(one) == expected


def test_the_difference_reads_as_a_line_of_a_log():
    before = Structure({"a": [], "b": ["a"], "c": ["a", "b"], 4: []})
    after = Structure({"a": ["c", 4], "b": ["a"], "c": [], 4: []})
    assert str(before.difference(after)) == (
        "added 4 -> 'a'; removed 'b' -> 'c'; reversed into 'a' -> 'b', 'c' -> 'a'"
    )
    assert str(before.difference(before)) == "no change"
    assert before.difference(after) == Difference(
        added=((4, "a"),), removed=(("b", "c"),), reversed=(("a", "b"), ("c", "a"))
    )


def test_the_drawing_reads_as_a_line():
    assert str(Structure({"a": [], "b": ["a"]}).cpdag()) == "'a' -- 'b'"
    assert str(Structure({"a": [], "b": []}).cpdag()) == "no edge"


@pytest.mark.parametrize("compare", ["difference", "shd", "same_equivalence_class"])
def test_structures_of_other_variables_are_not_compared(compare):
    one, two = Structure({"a": [], "b": [], "c": []}), Structure({"a": [], "d": []})
    with pytest.raises(
        BadStructure, match=r"only the first has \['b', 'c'\] and only the second has \['d'\]"
    ):
        getattr(one, compare)(two)
    with pytest.raises(BadStructure, match=r"compared; only the second has \['d'\]; declare"):
        getattr(Structure({"a": []}), compare)(two)
    with pytest.raises(BadStructure, match="only the first has"):
        one.cpdag().shd(two.cpdag())


def test_a_large_tree_is_wholly_reversible_and_a_large_collider_wholly_compelled():
    tree = Structure({i: [(i - 1) // 2] if i else [] for i in range(300)})
    assert tree.cpdag().compelled == ()
    collider = Structure({i: [] for i in range(299)} | {299: list(range(299))})
    assert collider.cpdag().reversible == ()
    assert len(tree.cpdag().reversible) == 299
