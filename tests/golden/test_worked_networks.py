"""Independences that lecture notes read from two networks, statement by statement."""

from __future__ import annotations

import pytest

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.values.values import Value

# P(x1) P(x2) P(x3 | x1) P(x4 | x1, x2) P(x5 | x2)
FIVE = Structure({"x1": [], "x2": [], "x3": ["x1"], "x4": ["x1", "x2"], "x5": ["x2"]})

# P(x1) P(x2) P(x3) P(x4 | x2, x3) P(x5 | x1, x3) P(x6 | x4) P(x7 | x4, x5)
SEVEN = Structure(
    {
        "x1": [],
        "x2": [],
        "x3": [],
        "x4": ["x2", "x3"],
        "x5": ["x1", "x3"],
        "x6": ["x4"],
        "x7": ["x4", "x5"],
    }
)


def added_by_moralising(structure: Structure) -> set[frozenset[Value]]:
    joined = {frozenset((a, b)) for a, several in structure.moral_graph().items() for b in several}
    return joined - {frozenset(edge) for edge in structure.edges}


@pytest.mark.parametrize(
    ("a", "b", "given"),
    [("x3", "x4", "x1"), ("x4", "x5", "x2"), ("x3", "x2", "x1"), ("x3", "x5", "x1"), ("x3", "x5", "x2")],
)
def test_five_variables_separated_by_one(a, b, given):
    assert FIVE.d_separated(a, b, given)


def test_five_variables_two_causes_are_independent_until_their_effect_is_known():
    assert FIVE.d_separated("x1", "x2")
    assert not FIVE.d_separated("x1", "x2", "x4")


def test_five_variables_moralising_joins_the_two_causes():
    assert added_by_moralising(FIVE) == {frozenset(("x1", "x2"))}


def test_seven_variables_moralising_joins_three_pairs():
    assert added_by_moralising(SEVEN) == {
        frozenset(("x4", "x5")),
        frozenset(("x1", "x3")),
        frozenset(("x2", "x3")),
    }


def test_seven_variables_only_ancestors_are_kept_before_moralising():
    # In the moral graph of all seven x4 and x5 are joined, by their child x7.
    assert SEVEN.d_separated("x4", "x5", "x3")


def test_seven_variables_an_effect_joins_what_was_independent():
    assert SEVEN.d_separated("x1", "x4")
    assert not SEVEN.d_separated("x1", "x4", "x5")
