"""Trees of cliques: each table finds a place, each variable's cliques hang together, and nothing depends on arrival."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stream_bayes.core.inference.junction_tree import junction_tree
from stream_bayes.core.inference.plans import Question, cells_needed, plan_for, tree_for


@st.composite
def questions(draw):
    """Scopes over at most nine variables, their sizes, and some variables to be kept together."""
    n = draw(st.integers(1, 9))
    scope = st.lists(st.integers(0, n - 1), unique=True, max_size=4)
    return (
        draw(st.lists(scope, max_size=10)),
        draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)),
        draw(st.lists(st.integers(0, n - 1), unique=True, max_size=3)),
    )


@given(questions())
def test_every_scope_lies_in_a_clique_and_the_targets_in_the_root(question):
    scopes, sizes, together = question
    tree = junction_tree(scopes, sizes, together)
    assert all(any(set(scope) <= set(clique) for clique in tree.cliques) for scope in scopes)
    assert set(together) <= set(tree.cliques[-1])


@given(questions())
def test_the_cliques_of_a_variable_hang_together(question):
    tree = junction_tree(*question)
    assert tree.parent[-1] == -1
    assert all(at < above for at, above in enumerate(tree.parent[:-1]))
    for v in {v for clique in tree.cliques for v in clique}:
        tops = [at for at, clique in enumerate(tree.cliques) if v in clique and v not in tree.separator(at)]
        assert len(tops) == 1


@given(questions())
def test_no_clique_lies_within_its_neighbour(question):
    tree = junction_tree(*question)
    for at, above in enumerate(tree.parent[:-1]):
        assert not set(tree.cliques[at]) <= set(tree.cliques[above]) or tree.cliques[at] == ()
        assert not set(tree.cliques[above]) <= set(tree.cliques[at])


@given(questions(), st.randoms(use_true_random=False))
def test_the_order_in_which_scopes_come_does_not_matter(question, random):
    scopes, sizes, together = question
    shuffled = [random.sample(scope, len(scope)) for scope in random.sample(scopes, len(scopes))]
    assert junction_tree(shuffled, sizes, together[::-1]) == junction_tree(scopes, sizes, together)


def test_a_tree_of_variables_needs_no_clique_of_three():
    edges = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]
    assert max(map(len, junction_tree(edges, [2] * 6).cliques)) == 2


def test_a_ring_is_cut_at_its_largest_variable_last():
    """Two ways across a ring of four: the one that joins the two small ones makes the smaller tables."""
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert set(junction_tree(ring, [9, 2, 9, 2]).cliques) == {(0, 1, 3), (1, 2, 3)}
    assert set(junction_tree(ring, [2, 9, 2, 9]).cliques) == {(0, 1, 2), (0, 2, 3)}


def test_a_cause_of_a_thousand_is_a_star_and_quickly_found():
    edges = [(0, leaf) for leaf in range(1, 1001)]
    tree = junction_tree(edges, [3] * 1001)
    assert len(tree.cliques) == 1000
    assert tree.cells([3] * 1001) == 9000


def test_the_plan_asks_for_the_cells_it_says():
    parents, sizes = [[], [0], [0], [1, 2]], [2, 3, 2, 4]
    for question in (Question((0, 1, 2, 3)), Question((0, 1, 3), frozenset([0]), (1, 3), both_ways=False)):
        tree = tree_for(question, parents, sizes)
        assert plan_for(question, tree, parents, sizes).cells == cells_needed(question, tree, sizes)
