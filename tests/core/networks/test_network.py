"""Networks of tables: what fits together is kept to the bit, what does not is refused by name."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from stream_bayes.core.networks.discrete_network import DiscreteNetwork, first_bad_row
from stream_bayes.core.networks.structure import Structure
from stream_bayes.errors import BadStructure, BadValue

STRUCTURE = Structure({"b": [], "a": [], "c": ["b", "a"]})
STATES: dict[str, list[Any]] = {"a": ["x", "y"], "b": [0, 1, 2], "c": [True, False]}
TABLES: dict[str, Any] = {
    "a": [0.25, 0.75],
    "b": [0.5, 0.25, 0.25],
    "c": np.array([[[p, 1 - p] for p in (x, x + 0.3)] for x in (0.1, 0.2, 0.3)]),
}


def network(**changes: Any) -> DiscreteNetwork:
    """The example, with some arguments replaced; in `states` and `tables` only the entries named."""
    states = STATES | changes.pop("states", {})
    tables = TABLES | changes.pop("tables", {})
    return DiscreteNetwork(changes.pop("structure", STRUCTURE), states, tables, **changes)


def test_the_axes_of_a_table_are_the_parents_as_written_and_then_the_variable():
    assert network().tables["c"].shape == (3, 2, 2)
    assert network().table("c", ("a", "b")).shape == (2, 3, 2)
    assert network().probability("c", False, {"a": "y", "b": 2}) == 0.4
    assert network().probability("a", "y") == 0.75


def test_probabilities_are_asked_for_by_labels_that_exist():
    with pytest.raises(BadValue, match="the label of the parent 'b' is needed"):
        network().probability("c", True, {"a": "x"})
    with pytest.raises(BadValue, match=re.escape("'b': expected one of (0, 1, 2), got 3")):
        network().probability("c", True, {"a": "x", "b": 3})


def test_tables_are_copied_and_cannot_be_written_to():
    mine = np.array([0.25, 0.75])
    made = network(tables={"a": mine})
    mine[:] = 0
    assert made.tables["a"].tolist() == [0.25, 0.75]
    with pytest.raises(ValueError, match="read-only"):
        made.tables["a"][0] = 1.0
    with pytest.raises(TypeError):
        made.tables["a"] = mine  # type: ignore[index]  # wrong on purpose
    with pytest.raises(FrozenInstanceError):
        made.name = "other"  # type: ignore[misc]  # wrong on purpose


@pytest.mark.parametrize(
    "changes",
    [
        {"structure": Structure({"a": [], "b": [], "c": ["a"], "d": ["a"]})},
        {"states": {"a": ["x", "z"]}},
        {"states": {"a": ["y", "x"]}},
        {"tables": {"a": [0.25 + 2**-54, 0.75]}},
        {"name": "other"},
        {"properties": ["version 1"]},
        {"properties_of": {"a": ["seen"]}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_networks_that_differ_anywhere_are_not_equal(changes):
    if "structure" in changes:
        other = DiscreteNetwork(
            changes["structure"],
            STATES | {"d": ["only"]},
            TABLES | {"c": [[0.5, 0.5], [0.5, 0.5]], "d": [[1.0], [1.0]]},
        )
    else:
        other = network(**changes)
    assert other != network()
    assert pickle.loads(pickle.dumps(other)) == other


def test_copies_are_equal_and_the_tolerance_is_kept():
    made = network(tables={"a": [0.3, 0.6]}, tolerance=0.2, properties=["p"], properties_of={"a": ["q"]})
    for again in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert again == made
        assert hash(again) == hash(made)
        assert again.tolerance == 0.2
        assert not again.tables["c"].flags.writeable


def test_its_repr_is_short():
    assert repr(network()) == "DiscreteNetwork(3 variables, 2 edges, 17 probabilities)"
    one = DiscreteNetwork(Structure({"a": []}), {"a": ["x"]}, {"a": [1]})
    assert repr(one) == "DiscreteNetwork(1 variable, 0 edges, 1 probability)"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"states": {"d": ["x"]}}, "labels for 'd', which is not a variable of the structure"),
        ({"tables": {"d": [1.0]}}, "a table for 'd', which is not a variable of the structure"),
        ({"properties_of": {"d": ["x"]}}, "properties for 'd', which is not a variable"),
        ({"states": {"a": []}}, "variable 'a' needs at least one label"),
        ({"states": {"a": "xy"}}, "the labels of 'a': expected a list of values"),
        ({"states": {"a": ["x", "x"]}}, "variable 'a' has the label 'x' twice"),
        ({"states": {"b": [0, 1, True]}}, "variable 'b' has the label True twice"),
        ({"tables": {"a": [0.5, 0.25, 0.25]}}, "the table of 'a': expected the shape (2,)"),
        (
            {"tables": {"c": np.full((2, 3, 2), 0.5)}},
            "expected the shape (3, 2, 2), an axis for each of ['b', 'a', 'c']",
        ),
        ({"tables": {"a": ["x", "y"]}}, "the table of 'a': expected numbers"),
        ({"tables": {"a": [0.5, 0.25]}}, "the table of 'a': the probabilities sum to 0.75"),
        ({"tables": {"a": [-0.5, 1.5]}}, "the table of 'a': expected probabilities, got -0.5"),
        ({"tables": {"a": [float("nan"), 1.0]}}, "the table of 'a': expected probabilities, got nan"),
        (
            {"tables": {"a": [float("inf"), float("-inf")]}},
            "the table of 'a': expected probabilities, got inf",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_is_refused_by_name(changes, message):
    with pytest.raises(BadStructure, match=re.escape(message)):
        network(**changes)


def test_a_bad_row_is_named_by_its_parents_labels():
    table = TABLES["c"].copy()
    table[2, 1] = [0.5, 0.25]
    with pytest.raises(
        BadStructure, match=re.escape("the table of 'c', row (2, 'y') of ('b', 'a'): the prob")
    ):
        network(tables={"c": table})


def test_labels_and_tables_are_needed_for_each_variable():
    with pytest.raises(BadStructure, match="variable 'c' needs labels"):
        DiscreteNetwork(STRUCTURE, {"a": ["x"], "b": ["x"]}, TABLES)
    with pytest.raises(BadStructure, match="variable 'a' needs a table"):
        DiscreteNetwork(STRUCTURE, STATES, {"b": TABLES["b"], "c": TABLES["c"]})


@pytest.mark.parametrize("bad", [{"tolerance": -1.0}, {"tolerance": float("nan")}, {"tolerance": "1"}])
def test_a_bad_tolerance_is_refused(bad):
    with pytest.raises(BadValue, match="tolerance: expected a finite number"):
        network(**bad)


@pytest.mark.parametrize(
    "bad", [{"properties": "text"}, {"properties": [1]}, {"properties_of": {"a": "text"}}]
)
def test_properties_are_lists_of_texts(bad):
    with pytest.raises(BadValue, match="properties: expected a list of texts"):
        network(**bad)


def test_the_tolerance_is_for_sums_alone():
    assert network(tables={"a": [0.3, 0.6]}, tolerance=0.2).tables["a"].tolist() == [0.3, 0.6]
    with pytest.raises(BadStructure, match=r"expected probabilities, got -0\.01"):
        network(tables={"a": [-0.01, 1.01]}, tolerance=0.2)


def test_seven_digits_are_exact_enough():
    assert first_bad_row(np.array([[0.3333333] * 3]), 1e-6) is None
    assert first_bad_row(np.array([[0.33333] * 3]), 1e-6) is not None


def test_the_first_bad_row_is_told():
    rows = np.array([[0.5, 0.5], [0.25, 0.25], [2.0, -1.0]])
    assert first_bad_row(rows, 1e-6) == (1, "the probabilities sum to 0.5, which is not 1 to within 1e-06")
