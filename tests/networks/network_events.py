"""Events of a small network with values of every kind, what is learned of them, and how two learned ones compare."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

import stream_bayes
from stream_bayes import BayesNet, Structure
from tests.oracles import bayes_net as oracle

EXAMPLES = 40 if stream_bayes.compiled else 8
NAN = float("nan")

PARENTS: dict[Any, list[Any]] = {"a": [], "ü": ["a"], "c": ["a", "ü"], "d": ["c"]}
VALUES: dict[str, list[Any]] = {
    "a": ["x", "y"],
    "ü": [True, False],
    "c": ["p", ("q", 1), b"r"],
    "d": ["u", "v"],
}

rows = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from([*values, *values, None, NAN]) for name, values in VALUES.items()}
)
whole = st.sampled_from([1.0, 1.0, 2.0, 3.0])
fractions = st.sampled_from([1.0, 0.5, 0.3, 2.75])
events_of = lambda weights, least=0: st.lists(st.tuples(rows, weights), min_size=least, max_size=20)
COMPLETE = {name: values[0] for name, values in VALUES.items()}


def fresh(**arguments: Any) -> BayesNet:
    return BayesNet(Structure(PARENTS), **arguments)


def learned(events: Any, **arguments: Any) -> BayesNet:
    model = fresh(**arguments)
    for x, w in events:
        model.learn_one(x, w)
    return model


def unsmoothed(events: Any) -> BayesNet:
    """One whose shares are quotients of whole numbers, and so exact in any order."""
    return learned(events, strength=0.0)


def tables(model: BayesNet) -> dict[Any, Any]:
    """{variable: {((parent, value), ...): {value: probability}}}, whatever the order of codes."""
    found = {}
    for variable in model.structure.variables:
        if not model.states[variable]:
            continue  # nothing is known of it yet
        table = model.cpt(variable)
        found[variable] = {
            frozenset(zip(table.parents, row, strict=True)): shares for row, shares in table.items()
        }
    return found


def close(one: Any, other: Any, tolerance: float = 1e-12) -> None:
    assert one.keys() == other.keys()
    for key, held in one.items():
        if isinstance(held, dict):
            close(held, other[key], tolerance)
        else:
            assert held == pytest.approx(other[key], abs=tolerance), key


def expected(events: Any, **settings: Any) -> dict[Any, Any]:
    made = oracle.network(PARENTS, events, **settings)
    found = {}
    for variable, above in PARENTS.items():
        labels = made.labels[variable]
        if not labels:
            continue
        found[variable] = {
            frozenset(zip(above, row, strict=True)): {
                label: float(weight / sum(weights)) for label, weight in zip(labels, weights, strict=True)
            }
            for row, weights in made.tables[variable].items()
        }
    return found


def same_bytes(one: BayesNet, other: BayesNet) -> None:
    mine, theirs = one.state(), other.state()
    assert {k: v for k, v in mine.items() if k != "arrays"} == {
        k: v for k, v in theirs.items() if k != "arrays"
    }
    for name, array in mine["arrays"].items():
        assert array.tobytes() == theirs["arrays"][name].tobytes(), name


START = [({name: values[k % len(values)] for name, values in VALUES.items()}, 1.0) for k in range(3)]
