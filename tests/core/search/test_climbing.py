"""The inner loops of hill climbing against matrices of structures drawn at random, and plain definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search import _climbing
from stream_bayes.errors import BadStructure

NONE = -np.inf


def drawn(seed: int) -> tuple[Structure, Any]:
    """A structure, and its matrix [parent, child]."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 8))
    order = rng.permutation(size)
    has = np.zeros((size, size), np.uint8)
    has[np.ix_(order, order)] = np.triu(rng.random((size, size)) < 0.4, 1)
    return Structure({int(v): np.flatnonzero(has[:, v]).tolist() for v in range(size)}), has


def reach_of(has: Any) -> Any:
    reach = np.full_like(has, 7)  # what was there before does not matter
    _climbing.find_reach(has, reach, *np.empty((2, len(has)), np.longlong))
    return reach


@pytest.mark.parametrize("seed", range(30))
def test_reachability_is_that_of_the_powers_of_the_matrix(seed: int) -> None:
    _, has = drawn(seed)
    size = len(has)
    expected = np.linalg.matrix_power(np.eye(size, dtype=int) + has, size) > 0
    reach = reach_of(has)
    assert (reach == expected).all()
    free = np.argwhere(~expected.T & ~has.astype(bool) & ~np.eye(size, dtype=bool)).tolist()
    for parent, child in free[:3]:
        more, extended = has.copy(), reach.copy()
        more[parent, child] = 1
        _climbing.extend_reach(extended, parent, child)
        assert (extended == reach_of(more)).all()


def changed(structure: Structure, kind: int, parent: int, child: int) -> Structure | None:
    """The structure after a change; None if there is no such edge, or a cycle."""
    exists = (parent, child) in structure.edges
    if exists == (kind == 0):
        return None
    step = (structure.with_edge, structure.without_edge, structure.with_reversed)[kind]
    try:
        return step(parent, child)
    except BadStructure:
        return None


@pytest.mark.parametrize("seed", range(40))
def test_the_best_change_is_the_first_of_the_largest_that_keeps_every_limit(seed: int) -> None:
    structure, has = drawn(seed)
    size, rng = len(has), np.random.default_rng(seed)
    gains = rng.integers(-3, 4, (size, size)).astype(float)
    allowed, required, tabu = (
        (rng.random((size, size)) < share).astype(np.uint8) for share in (0.8, 0.1, 0.2)
    )
    allowed |= has
    np.fill_diagonal(allowed, 0)
    most, above, many = 2, 1.5, has.sum(axis=0, dtype=np.longlong)
    expected: tuple[float, list[int]] = (NONE, [])
    for kind in range(3):
        for parent, child in np.ndindex(size, size):
            after = None if parent == child else changed(structure, kind, parent, child)
            if after is None or (kind and required[parent, child]):
                continue
            head, tail = (parent, child) if kind == 2 else (child, parent)
            if kind != 1 and (not allowed[tail, head] or len(structure.parents(head)) >= most):
                continue
            gain = float(gains[parent, child] + (gains[child, parent] if kind == 2 else 0.0))
            if tabu[parent, child] and gain <= above:
                continue
            if gain > expected[0]:
                expected = (gain, [kind, parent, child])
    found = np.zeros(3, np.longlong)
    gain = _climbing.best_change(
        gains, has, reach_of(has), allowed, required, tabu, many, most, above, 1e-9, found
    )
    assert gain == expected[0]
    assert gain == NONE or found.tolist() == expected[1]


@pytest.mark.parametrize("seed", range(30))
def test_covered_edges_are_those_whose_reversal_stays_in_the_class(seed: int) -> None:
    structure, has = drawn(seed)
    size = len(has)
    found = np.empty((int(has.sum()), 2), np.longlong)
    every, none = np.ones((size, size), np.uint8), np.zeros((size, size), np.uint8)
    count = _climbing.covered_edges(has, every, none, has.sum(axis=0, dtype=np.longlong), size, found)
    expected = []
    for edge in sorted(structure.edges):
        turned = changed(structure, 2, *edge)  # type: ignore[arg-type]  # variables are numbers here
        if turned is not None and turned.same_equivalence_class(structure):
            expected.append(list(edge))
    assert found[:count].tolist() == expected
