"""Readers of what structures are made from: dicts of parents, edges, networkx graphs, saved JSON.

Each reader checks its input and returns the variables in the order of their names, with the parents of each as
positions among them, in the order in which they were written. Cycles are not checked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

from stream_bayes.core.values.unknown_names import did_you_mean
from stream_bayes.core.values.values import Value, canonical, name_order, shown, untagged_many
from stream_bayes.errors import BadState, BadStructure, BadValue

__all__ = [
    "DirectedGraph",
    "VariablesAndParents",
    "from_edges",
    "from_graph",
    "from_json",
    "from_parents",
    "parents_of",
    "read_edges",
]

VariablesAndParents: TypeAlias = tuple[tuple[Value, ...], list[list[int]]]


class DirectedGraph(Protocol):
    """The part of a networkx graph that is read. Any object may be a node there; names are checked on reading."""

    @property
    def nodes(self) -> Iterable[Any]:
        """The nodes."""
        ...

    @property
    def edges(self) -> Iterable[Any]:
        """The edges: pairs of nodes, followed by a key in a multigraph."""
        ...

    def is_directed(self) -> bool:
        """Return True if edges have a direction."""
        ...


def from_parents(parents: object) -> VariablesAndParents:
    """Read `{child: [parent, ...]}` with an entry for each variable.

    Examples
    --------
    >>> from_parents({"wet": ["sprinkler", "rain"], "sprinkler": ["rain"], "rain": []})
    (('rain', 'sprinkler', 'wet'), [[], [0], [1, 0]])
    """
    if not isinstance(parents, Mapping):
        raise BadStructure(
            f"expected {{child: [parent, ...]}}, got {type(parents).__name__}; for edges see Structure.from_edges"
        )
    named = {_name(child): parents_of(child, several) for child, several in parents.items()}
    if len(named) < len(parents):
        raise BadStructure(f"two variables have the same name: {shown(list(parents))}; rename one")
    variables = tuple(sorted(named, key=name_order))
    number = {name: i for i, name in enumerate(variables)}
    for child in variables:
        for parent in named[child]:
            if parent not in number:
                rest = f"correct its name, or give it an entry of its own: {shown(parent)}: []"
                raise BadStructure(
                    f"unknown variable {shown(parent)} among the parents of {shown(child)}"
                    f"{did_you_mean(parent, variables, rest)}"
                )
    return variables, [[number[parent] for parent in named[child]] for child in variables]


def from_edges(edges: Iterable[object], variables: Iterable[object]) -> VariablesAndParents:
    """Read edges `(parent, child)` and further variables without edges.

    Examples
    --------
    >>> from_edges([("rain", "wet")], variables=["moon"])
    (('moon', 'rain', 'wet'), [[], [], [1]])
    """
    if isinstance(variables, (str, bytes)):
        raise BadStructure(
            f"variables: expected a list of names, got {shown(variables)}; write [{shown(variables)}]"
        )
    parents: dict[Value, list[Value]] = {_name(variable): [] for variable in variables}
    for edge in edges:
        parent, child = _edge(edge)
        parents.setdefault(parent, [])
        parents.setdefault(child, []).append(parent)
    return from_parents(parents)


def read_edges(edges: object, what: str) -> tuple[tuple[Value, Value], ...]:
    """Read edges `(parent, child)` of an argument such as `required` or `forbidden`.

    Examples
    --------
    >>> read_edges([["rain", "wet"]], "required")
    (('rain', 'wet'),)
    """
    if not isinstance(edges, Iterable) or isinstance(edges, (str, bytes, Mapping)):
        raise BadStructure(f"{what}: expected a list of edges (parent, child), got {shown(edges)}")
    try:
        return tuple([_edge(edge) for edge in edges])
    except BadStructure as error:
        raise BadStructure(f"{what}: {error}") from None


def from_graph(graph: DirectedGraph) -> VariablesAndParents:
    """Read the nodes and edges of a graph such as `networkx.DiGraph`, without their attributes."""
    if not graph.is_directed():
        raise BadStructure(
            "expected a directed graph, got one whose edges have no direction; see networkx.DiGraph"
        )
    edges = [tuple(edge)[:2] for edge in graph.edges]
    if hasattr(
        graph, "predecessors"
    ):  # networkx lists edges by their first node, and predecessors as they were added
        rank = {(parent, v): k for v in graph.nodes for k, parent in enumerate(graph.predecessors(v))}
        edges.sort(key=lambda edge: rank.get(edge, 0))
    return from_edges(edges, graph.nodes)


def from_json(saved: object) -> VariablesAndParents:
    """Read the JSON values of `Structure.to_json`.

    Raises
    ------
    BadState
        If `saved` is anything else. Cycles are not checked.

    Examples
    --------
    >>> from_json({"variables": ["rain", "wet"], "parents": [[], [0]]})
    (('rain', 'wet'), [[], [0]])
    """
    if not isinstance(saved, dict) or saved.keys() != {"variables", "parents"}:
        raise BadState(f"a saved structure: expected its variables and parents, got {shown(saved)}")
    variables, parents = tuple(untagged_many(saved["variables"])), saved["parents"]
    if not all(a < b for a, b in pairwise(map(name_order, variables))):
        raise BadState(
            "a saved structure: the variables are not in the order of their names, or not distinct"
        )
    if type(parents) is not list or len(parents) != len(variables):
        raise BadState(
            f"a saved structure: expected the parents of {len(variables)} variables, got {shown(parents)}"
        )
    for child, several in enumerate(parents):
        is_sound = type(several) is list and all(type(p) is int and 0 <= p < len(variables) for p in several)
        if not is_sound or len(set(several)) < len(several):
            raise BadState(
                f"a saved structure: expected as parents of {shown(variables[child])} different positions among "
                f"{len(variables)} variables, got {shown(several)}"
            )
    return variables, [list(several) for several in parents]


def _name(name: object) -> Value:
    try:
        return canonical(name)
    except BadValue as error:
        raise BadStructure(
            f"a variable's name: {str(error).removeprefix('value: ').partition(';')[0]}"
        ) from None


def _edge(edge: object) -> tuple[Value, Value]:
    if not isinstance(edge, (tuple, list)) or len(edge) != 2:
        raise BadStructure(f"expected edges (parent, child), got {shown(edge)}")
    return _name(edge[0]), _name(edge[1])


def parents_of(child: object, several: object) -> list[Value]:
    """Read the parents of a variable."""
    if several is None:
        raise BadStructure(
            f"the parents of {shown(child)}: expected a list of names, got None; write [] for none"
        )
    if not isinstance(several, Iterable) or isinstance(several, (str, bytes)):
        raise BadStructure(
            f"the parents of {shown(child)}: expected a list of names, got {shown(several)}; write [{shown(several)}]"
        )
    parents = [_name(parent) for parent in several]
    if len(set(parents)) < len(parents):
        twice = next(parent for i, parent in enumerate(parents) if parent in parents[:i])
        raise BadStructure(f"{shown(twice)} is given twice as a parent of {shown(child)}; once is enough")
    if child in parents:
        raise BadStructure(f"{shown(child)} cannot be its own parent")
    return parents
