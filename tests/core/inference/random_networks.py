"""Networks drawn by hypothesis, as the package and the oracle take them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from stream_bayes.core.networks.discrete_network import DiscreteNetwork
from stream_bayes.core.networks.structure import Structure
from tests.oracles.enumeration import Enumeration

NAMES = ("b", "a", 3, ("x", 1), "ü", True)  # hypothesis picks which of them depend on which


@dataclass
class Drawn:
    """A network, both ways."""

    ours: DiscreteNetwork
    oracle: Enumeration

    def __repr__(self) -> str:
        return f"{self.ours.structure!r} {dict(self.ours.states)!r} {dict(self.ours.tables)!r}"


def both(
    parents: dict[Any, list[Any]],
    labels: dict[Any, list[Any]],
    rows: dict[Any, dict[tuple[Any, ...], list[float]]],
) -> Drawn:
    """A network from rows of weights by the labels of the parents, as listed."""
    structure = Structure(parents)
    tables = {}
    for v in structure.variables:
        by_name = structure.parents(v)
        table = np.empty([len(labels[u]) for u in (*by_name, v)])
        for combination in product(*(range(len(labels[u])) for u in by_name)):
            at = {u: labels[u][code] for u, code in zip(by_name, combination, strict=True)}
            weights = np.array(rows[v][tuple(at[u] for u in parents[v])], float)
            table[combination] = weights / weights.sum()
        tables[v] = table
    # The oracle gets the very numbers that the package gets, or they would differ by rounding already.
    same = {
        v: {
            values: tables[v][
                tuple(
                    labels[u].index(dict(zip(parents[v], values, strict=True))[u])
                    for u in structure.parents(v)
                )
            ].tolist()
            for values in rows[v]
        }
        for v in parents
    }
    return Drawn(DiscreteNetwork(structure, labels, tables), Enumeration(parents, labels, same))


@st.composite
def networks(draw: Any, zeros: bool = True, most: int = 5) -> Drawn:
    names = draw(st.permutations(NAMES))[: draw(st.integers(1, most))]
    labels = {v: list(range(draw(st.integers(1, 3)))) for v in names}
    parents: dict[Any, list[Any]] = {}
    for i, v in enumerate(names):
        parents[v] = draw(st.lists(st.sampled_from(names[:i]), unique=True, max_size=3)) if i else []
    weight = st.integers(0 if zeros else 1, 9)
    rows = {}
    for v in names:
        rows[v] = {
            values: draw(
                st.lists(weight, min_size=len(labels[v]), max_size=len(labels[v])).filter(any)  # not all zero
            )
            for values in product(*(labels[u] for u in parents[v]))
        }
    return both(parents, labels, rows)


@st.composite
def evidence_on(draw: Any, network: DiscreteNetwork, zeros: bool = True) -> dict[Any, Any]:
    """Evidence with some variables observed, some with likelihoods, some missing."""
    found: dict[Any, Any] = {}
    likelihood = st.integers(0 if zeros else 1, 4)
    for v in network.structure.variables:
        labels = network.states[v]
        kind = draw(st.sampled_from(["none", "none", "missing", "hard", "soft"]))
        if kind == "missing":
            found[v] = None
        elif kind == "hard":
            found[v] = draw(st.sampled_from(labels))
        elif kind == "soft":
            numbers = draw(st.lists(likelihood, min_size=len(labels), max_size=len(labels)).filter(any))
            found[v] = {label: number / 4 for label, number in zip(labels, numbers, strict=True)}
    return found
