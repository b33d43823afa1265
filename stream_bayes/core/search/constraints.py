"""Arguments that searches share: required and forbidden edges, and limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.networks.equivalence import Edge
from stream_bayes.core.networks.structure_input import read_edges
from stream_bayes.core.values.unknown_names import check_variables
from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadStructure, BadValue

__all__ = ["ROUNDING", "against_tiers", "check_limit", "edge_matrix", "read_constraints", "read_tiers"]

ROUNDING = 1e-9  # gains closer than this share of the score count as equal, so that rounding does not decide


def read_constraints(
    required: Iterable[Edge], forbidden: Iterable[Edge]
) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    """Return required and forbidden edges as tuples; raise `BadStructure` if an edge is both.

    Examples
    --------
    >>> read_constraints([["rain", "wet"]], [])
    ((('rain', 'wet'),), ())
    """
    needed, excluded = read_edges(required, "required"), read_edges(forbidden, "forbidden")
    if both := [edge for edge in needed if edge in excluded]:
        raise BadStructure(f"edges cannot be both required and forbidden: {shown(both)}; take them from one")
    return needed, excluded


def read_tiers(tiers: Iterable[Iterable[Value]], required: Iterable[Edge]) -> tuple[tuple[Value, ...], ...]:
    """Return tiers as tuples; raise `BadStructure` if a variable is in two, or a required edge leads to an earlier one.

    Examples
    --------
    >>> read_tiers([["season"], ["rain", "wind"]], [("season", "rain")])
    (('season',), ('rain', 'wind'))
    """
    if isinstance(tiers, str) or any(isinstance(tier, str) for tier in tiers):
        raise BadValue(f"tiers: expected lists of variables, got {shown(tiers)}")
    read = tuple(tuple(tier) for tier in tiers)
    tier_of: dict[Value, int] = {}
    for number, tier in enumerate(read):
        for name in tier:
            if name in tier_of:
                raise BadStructure(f"tiers: {shown(name)} is in two of them; leave it in one")
            tier_of[name] = number
    against = [(a, b) for a, b in required if a in tier_of and b in tier_of and tier_of[a] > tier_of[b]]
    if against:
        raise BadStructure(
            f"the required edges {shown(against)} lead from a later tier to an earlier one; change one of them"
        )
    return read


def against_tiers(tiers: Sequence[Sequence[Value]], names: Sequence[Value]) -> NDArray[np.bool_]:
    """Return a matrix that is True at [parent, child] if the parent is in a later tier.

    Variables that are in no tier may be joined to any. Raises `UnknownFeature` for a tier with another variable.
    """
    check_variables([name for tier in tiers for name in tier], names, "tiers", whole="the sample")
    number = {name: k for k, tier in enumerate(tiers) for name in tier}
    tier = np.array([number.get(name, -1) for name in names], np.int64)
    return (tier[:, None] > tier) & (tier >= 0)


def edge_matrix(edges: Iterable[Edge], names: Sequence[Value], what: str = "edges") -> NDArray[np.bool_]:
    """Return a matrix that is True at [parent, child] of each edge, by positions among the names.

    Raises `UnknownFeature` for an edge of another variable; `what` is the argument that has the edges.

    Examples
    --------
    >>> edge_matrix([("rain", "wet")], ["rain", "wet"]).tolist()
    [[False, True], [False, False]]
    """
    position = {name: k for k, name in enumerate(names)}
    matrix = np.zeros((len(position), len(position)), bool)
    for edge in edges:
        check_variables(edge, names, what, whole="the sample")
        matrix[position[edge[0]], position[edge[1]]] = True
    return matrix


def check_limit(name: str, value: object) -> None:
    """Raise `BadValue` unless a limit is a whole number of at least 0, or None."""
    if value is not None and (type(value) is not int or value < 0):
        raise BadValue(f"{name}: expected a whole number from 0 on, or None, got {value!r}")
