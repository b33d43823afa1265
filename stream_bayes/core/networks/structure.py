"""Structures of Bayesian networks: directed acyclic graphs over variables, and what follows from the graph alone.

An edge points from a parent to its child. The joint probability of a network is the product of P(variable | parents)
over all variables, and its independences can be read from the graph without any number: see `Structure.d_separated`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

from stream_bayes._build import install_command
from stream_bayes.core.networks.dot import dot_text
from stream_bayes.core.networks.equivalence import Difference, Edge, EquivalenceClass, check_same_variables
from stream_bayes.core.networks.graph_algorithms import (
    children_of,
    compelled_parents,
    cycle_in,
    is_separated,
    moral_neighbours,
    reached,
    topological_order,
)
from stream_bayes.core.networks.pictures import drawn_structure, links_of
from stream_bayes.core.networks.structure_input import (
    DirectedGraph,
    from_edges,
    from_graph,
    from_json,
    from_parents,
)
from stream_bayes.core.values.unknown_names import unknown_variable
from stream_bayes.core.values.values import JSONValue, Value, shown, tagged_many
from stream_bayes.errors import BadState, BadStructure, MissingPackage

__all__ = ["Structure"]

MOST_SHOWN = 12  # variables of a cycle that a message lists

# One variable, or a list or set of them. A tuple is one variable: names may be tuples.
Variables: TypeAlias = Value | list[Value] | AbstractSet[Value]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Structure:
    """The parents of each variable of a Bayesian network: a directed acyclic graph. Immutable.

    Variables are in the order of their names. The parents of a variable keep the order in which they were written: that
    of the axes of its table. Structures with the same edges are equal, whatever that order, and give equal results,
    ties included. Names are strings, numbers, bools, bytes or tuples of these.

    Parameters
    ----------
    parents
        The parents of each variable: `{child: [parent, ...]}`. Each variable needs an entry, also one without parents.

    Raises
    ------
    BadStructure
        If there is a cycle, a variable is its own parent or twice the parent of another, or a parent has no entry.

    Notes
    -----
    Time and memory are nearly proportional to the number of variables and edges. The moral graph and d-separation also
    join the parents of each variable with each other.

    Examples
    --------
    >>> lawn = Structure({"rain": [], "sprinkler": ["rain"], "wet": ["sprinkler", "rain"]})
    >>> lawn
    Structure({'rain': (), 'sprinkler': ('rain',), 'wet': ('sprinkler', 'rain')})
    >>> lawn.children("rain")
    ('sprinkler', 'wet')
    >>> Structure({"chicken": ["egg"], "egg": ["chicken"]})
    Traceback (most recent call last):
        ...
    stream_bayes.errors.BadStructure: the edges form a cycle: 'chicken' -> 'egg' -> 'chicken'; remove or reverse one
    """

    variables: tuple[Value, ...]
    _parents: tuple[tuple[int, ...], ...] = field(
        compare=False
    )  # positions in `variables`, as they were written
    _children: tuple[tuple[int, ...], ...]  # ascending; with `variables`, they are all that is compared
    _order: tuple[int, ...] = field(compare=False)  # parents before children
    _number_by_name: dict[Value, int] = field(compare=False)

    def __init__(self, parents: Mapping[Any, Iterable[Value]]) -> None:  # Any Value; but keys are invariant
        self._fill(*from_parents(parents))

    @classmethod
    def _of(cls, variables: tuple[Value, ...], parents: Sequence[Sequence[int]]) -> Self:
        made = object.__new__(cls)
        made._fill(variables, parents)
        return made

    def _fill(self, variables: tuple[Value, ...], parents: Sequence[Sequence[int]]) -> None:
        """Set the attributes of the frozen dataclass; raise `BadStructure` if there is a cycle."""
        children = children_of(parents)
        order = topological_order(parents, children)
        if len(order) < len(variables):
            raise BadStructure(
                f"the edges form a cycle: {_cycle_text(variables, cycle_in(parents))}; remove or reverse one"
            )
        object.__setattr__(self, "variables", variables)
        object.__setattr__(self, "_parents", tuple(map(tuple, parents)))
        object.__setattr__(self, "_children", tuple(map(tuple, children)))
        object.__setattr__(self, "_order", tuple(order))
        object.__setattr__(self, "_number_by_name", {name: i for i, name in enumerate(variables)})

    @classmethod
    def from_edges(cls, edges: Iterable[tuple[Value, Value]], variables: Iterable[Value] = ()) -> Self:
        """Make the structure with these edges, each `(parent, child)`.

        Parameters
        ----------
        edges
            Every name in them is a variable. The parents of a variable are in the order of its edges.
        variables
            Further variables: those without edges. Variables of edges may be repeated here.

        Examples
        --------
        >>> Structure.from_edges([("rain", "wet")], variables=["moon"])
        Structure({'moon': (), 'rain': (), 'wet': ('rain',)})
        """
        return cls._of(*from_edges(edges, variables))

    @classmethod
    def from_networkx(cls, graph: DirectedGraph) -> Self:
        """Make the structure of a directed networkx graph, or of any object with `nodes`, `edges` and `is_directed()`.

        Attributes of nodes and edges are ignored.
        """
        return cls._of(*from_graph(graph))

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All edges as `(parent, child)`, in the order of the parents' names, then the children's."""
        names = self.variables
        return tuple([(names[a], names[b]) for a, children in enumerate(self._children) for b in children])

    @property
    def topological_order(self) -> tuple[Value, ...]:
        """The variables with parents before children; ties in the order of names.

        Examples
        --------
        >>> Structure({"a": ["c"], "b": [], "c": []}).topological_order
        ('b', 'c', 'a')
        """
        return self._named(self._order)

    def parents(self, variable: Value) -> tuple[Value, ...]:
        """Return the parents of a variable in the order in which they were written: that of the axes of its table."""
        return self._named(self._parents[self._number_of(variable)])

    def children(self, variable: Value) -> tuple[Value, ...]:
        """Return the children of a variable, by name."""
        return self._named(self._children[self._number_of(variable)])

    def ancestors(self, variable: Value) -> tuple[Value, ...]:
        """Return the ancestors of a variable, by name: all from which a directed path leads to it."""
        start = self._number_of(variable)
        return self._named(sorted(reached([start], self._parents) - {start}))

    def descendants(self, variable: Value) -> tuple[Value, ...]:
        """Return the descendants of a variable, by name: all to which a directed path leads from it."""
        start = self._number_of(variable)
        return self._named(sorted(reached([start], self._children) - {start}))

    def markov_blanket(self, variable: Value) -> tuple[Value, ...]:
        """Return a variable's parents, children and the children's other parents, by name.

        Given these, the variable is independent of all others.

        Examples
        --------
        >>> Structure({"a": [], "b": [], "c": ["a", "b"], "d": ["c"]}).markov_blanket("a")
        ('b', 'c')
        """
        v = self._number_of(variable)
        children = self._children[v]
        blanket = {*self._parents[v], *children, *(p for child in children for p in self._parents[child])}
        return self._named(sorted(blanket - {v}))

    def moral_graph(self) -> dict[Value, frozenset[Value]]:
        """Return the neighbours of each variable once co-parents are joined and arrows dropped.

        Examples
        --------
        >>> moral = Structure({"a": [], "b": [], "c": ["a", "b"]}).moral_graph()
        >>> sorted(moral["a"])
        ['b', 'c']
        """
        joined = moral_neighbours(self._parents, range(len(self.variables)))
        return {name: frozenset(self._named(joined[v])) for v, name in enumerate(self.variables)}

    def d_separated(self, a: Variables, b: Variables, given: Variables = frozenset()) -> bool:
        """Return True if the graph implies that `a` and `b` are independent given `given`.

        That is the case if every path between them passes through `given` in the moral graph of these variables and
        their ancestors.

        Parameters
        ----------
        a, b, given
            A variable, or a list or set of variables. No variable may be in two of them. A tuple is one name.

        Examples
        --------
        Rain and a sprinkler are independent, but not given that the lawn is wet.

        >>> lawn = Structure({"rain": [], "sprinkler": [], "wet": ["rain", "sprinkler"]})
        >>> lawn.d_separated("rain", "sprinkler"), lawn.d_separated("rain", "sprinkler", given="wet")
        (True, False)
        """
        one, two, conditioning = (self._numbers_of(several) for several in (a, b, given))
        twice = (one & two) | (one & conditioning) | (two & conditioning)
        if twice:
            raise BadStructure(
                f"a variable may stand in one of a, b and given only; {shown(self.variables[min(twice)])} stands in two"
            )
        return is_separated(self._parents, one, two, conditioning)

    def cpdag(self) -> EquivalenceClass:
        """Return the equivalence class: all structures that imply the same independences, as one graph.

        Examples
        --------
        >>> chain = Structure({"a": [], "b": ["a"], "c": ["b"]}).cpdag()
        >>> chain.compelled, chain.reversible
        ((), (('a', 'b'), ('b', 'c')))
        """
        compelled = compelled_parents(self._parents, self._order)
        names, directed, free = self.variables, [], []
        for a, children in enumerate(self._children):
            for b in children:
                if a in compelled[b]:
                    directed.append((names[a], names[b]))
                else:
                    free.append((min(a, b), max(a, b)))
        return EquivalenceClass(
            names, tuple(directed), tuple([(names[a], names[b]) for a, b in sorted(free)])
        )

    def same_equivalence_class(self, other: Structure) -> bool:
        """Return True if both structures imply the same independences, so that no data can distinguish them."""
        check_same_variables(self.variables, other.variables)
        return self.cpdag() == other.cpdag()

    def difference(self, other: Structure) -> Difference:
        """Return the changes from this structure to another of the same variables, by their equivalence classes."""
        check_same_variables(self.variables, other.variables)
        mine, theirs = self.cpdag().directions(), other.cpdag().directions()
        shared = {pair: mine[pair] != theirs[pair] for pair in mine.keys() & theirs.keys()}
        return Difference(
            added=tuple([edge for edge in other.edges if frozenset(edge) not in shared]),
            removed=tuple([edge for edge in self.edges if frozenset(edge) not in shared]),
            reversed=tuple([edge for edge in other.edges if shared.get(frozenset(edge), False)]),
        )

    def shd(self, other: Structure) -> int:
        """Return the structural Hamming distance of the equivalence classes: the number of changes in `difference`.

        A direction that no data can decide does not count.

        Examples
        --------
        >>> chain = Structure.from_edges([("a", "b"), ("b", "c")])
        >>> chain.shd(Structure.from_edges([("c", "b"), ("b", "a")])), chain.shd(chain.without_edge("a", "b"))
        (0, 1)
        """
        return len(self.difference(other))

    def with_edge(self, parent: Value, child: Value) -> Self:
        """Return the same structure with one more edge."""
        a, b = self._number_of(parent), self._number_of(child)
        if a == b:
            raise BadStructure(f"{shown(child)} cannot be its own parent")
        if a in self._parents[b]:
            raise BadStructure(f"the edge {shown(parent)} -> {shown(child)} is there already")
        return self._with({b: [*self._parents[b], a]})  # as the last axis before the variable's own

    def without_edge(self, parent: Value, child: Value) -> Self:
        """Return the same structure without one of its edges."""
        a, b = self._edge(parent, child)
        return self._with({b: [p for p in self._parents[b] if p != a]})

    def with_reversed(self, parent: Value, child: Value) -> Self:
        """Return the same structure with one of its edges pointing the other way."""
        a, b = self._edge(parent, child)
        return self._with({b: [p for p in self._parents[b] if p != a], a: [*self._parents[a], b]})

    def _with(self, changed: Mapping[int, Sequence[int]]) -> Self:
        return self._of(self.variables, [changed.get(v, mine) for v, mine in enumerate(self._parents)])

    def lists_parents_as(self, other: Structure) -> bool:
        """Return True if another structure is equal and lists the parents of each variable in the same order.

        Only then do tables of the one fit the other as they stand.

        Examples
        --------
        >>> one = Structure({"rain": [], "sprinkler": [], "wet": ["rain", "sprinkler"]})
        >>> other = Structure({"rain": [], "sprinkler": [], "wet": ["sprinkler", "rain"]})
        >>> one == other, one.lists_parents_as(other)
        (True, False)
        """
        return self.variables == other.variables and self._parents == other._parents

    def to_networkx(self) -> Any:  # a networkx.DiGraph; networkx brings no types
        """Return the graph as a `networkx.DiGraph`.

        Raises
        ------
        MissingPackage
            If networkx is not installed.
        """
        try:
            import networkx
        except ImportError:
            raise MissingPackage(
                f"Structure.to_networkx needs networkx; install it with: {install_command('networkx')}"
            ) from None
        graph = networkx.DiGraph()
        graph.add_nodes_from(self.variables)
        graph.add_edges_from((parent, child) for child in self.variables for parent in self.parents(child))
        return graph

    def to_dot(self, difference: Difference | None = None) -> str:
        """Return the graph in Graphviz's DOT language.

        Parameters
        ----------
        difference
            Changes that led to this structure. Added edges are drawn blue, reversed edges orange, and removed edges
            grey and dashed.

        Examples
        --------
        >>> print(Structure({"rain": [], "wet": ["rain"]}).to_dot())
        digraph structure {
          "rain";
          "wet";
          "rain" -> "wet";
        }
        """
        if difference is None:
            difference = Difference()
        self._check_leads_here(difference)
        return dot_text(self.variables, self.edges, difference)

    def _check_leads_here(self, difference: Difference) -> None:
        mine = set(self.edges)
        for a, b in (*difference.added, *difference.reversed):
            if (a, b) not in mine:
                raise BadStructure(
                    f"this difference leads to a structure with the edge {shown(a)} -> {shown(b)}, which this one "
                    "lacks; draw the later of the two structures"
                )
        for a, b in difference.removed:
            self._number_of(a), self._number_of(b)
            if (a, b) in mine:
                raise BadStructure(
                    f"this difference leads to a structure without the edge {shown(a)} -> {shown(b)}, which this one "
                    "has; draw the later of the two structures"
                )

    def to_json(self) -> dict[str, JSONValue]:
        """Return the structure as JSON values: the names, and each variable's parents as positions in them.

        Examples
        --------
        >>> Structure({"wet": ["rain"], "rain": []}).to_json()
        {'variables': ['rain', 'wet'], 'parents': [[], [0]]}
        """
        return {
            "variables": tagged_many(self.variables),
            "parents": [list(several) for several in self._parents],
        }

    @classmethod
    def from_json(cls, saved: object) -> Self:
        """Make the structure that `to_json` wrote.

        Raises
        ------
        BadState
            If `saved` is anything else.
        """
        variables, parents = from_json(saved)
        try:
            return cls._of(variables, parents)
        except BadStructure as error:
            raise BadState(f"a saved structure: {error}") from None

    def _named(self, numbers: Iterable[int]) -> tuple[Value, ...]:
        return tuple([self.variables[number] for number in numbers])

    def _number_of(self, variable: Value) -> int:
        try:
            return self._number_by_name[variable]
        except (KeyError, TypeError):  # TypeError: a list or a set
            many = isinstance(variable, (tuple, list, AbstractSet))
            hint = "; pass several variables as a list or a set, if several are allowed" if many else ""
            raise unknown_variable(variable, self.variables, hint=hint) from None

    def _numbers_of(self, variables: Variables) -> set[int]:
        if isinstance(variables, (list, AbstractSet)):
            return {self._number_of(variable) for variable in variables}
        return {self._number_of(variables)}

    def _edge(self, parent: Value, child: Value) -> tuple[int, int]:
        a, b = self._number_of(parent), self._number_of(child)
        if a not in self._parents[b]:
            raise BadStructure(f"there is no edge {shown(parent)} -> {shown(child)}")
        return a, b

    def __contains__(self, variable: object) -> bool:
        return variable in self._number_by_name

    def __iter__(self) -> Iterator[Value]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def _repr_svg_(self) -> str:
        return drawn_structure(self.variables, links_of(self.variables, self.edges)).svg()

    def __repr__(self) -> str:
        return f"Structure({ {v: self.parents(v) for v in self.variables}!r})"


def _cycle_text(variables: Sequence[Value], cycle: Sequence[int]) -> str:
    names = [shown(variables[v]) for v in (*cycle, cycle[0])]
    if len(names) > MOST_SHOWN:
        names[MOST_SHOWN - 1 : -1] = [f"({len(names) - MOST_SHOWN} more)"]
    return " -> ".join(names)
