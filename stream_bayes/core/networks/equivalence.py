"""Comparison of structures: edge by edge, and by equivalence class.

Two structures are equivalent when they imply the same independences. That is so when they join the same variables and
have the same v-structures (a -> c <- b with a and b not joined). A class of equivalent structures is drawn as one
graph, the completed partially directed acyclic graph (CPDAG) of Chickering (1995, 2002): an edge that points the same
way in all structures is *compelled* and keeps its arrow; any other edge is *reversible* and has no arrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from stream_bayes.core.values.values import Value, shown
from stream_bayes.errors import BadStructure

__all__ = ["Difference", "Edge", "EquivalenceClass", "check_same_variables"]

Edge: TypeAlias = tuple[Value, Value]  # parent, child


@dataclass(frozen=True, slots=True)
class Difference:
    """The changes from one structure to another that data can show; false if the two are equivalent.

    A chain a -> b -> c and its reverse c -> b -> a imply the same independences, so there is no change between them.

    Parameters
    ----------
    added, removed
        Edges between variables that only the later (added) or only the earlier (removed) structure joins.
    reversed
        Edges between variables that both structures join, and whose direction changed: all equivalent structures of one
        of the two agree on it, those of the other do not, or on the opposite. As they point in the later structure.

    Examples
    --------
    >>> from stream_bayes.core.networks.structure import Structure
    >>> before = Structure({"sky": [], "wind": ["sky"], "rain": ["wind"]})
    >>> after = Structure({"sky": ["wind"], "wind": [], "rain": ["wind"]})
    >>> bool(before.difference(after))
    False
    >>> print(before.difference(Structure({"sky": [], "wind": ["rain", "sky"], "rain": []})))
    reversed into 'rain' -> 'wind', 'sky' -> 'wind'
    """

    added: tuple[Edge, ...] = ()
    removed: tuple[Edge, ...] = ()
    reversed: tuple[Edge, ...] = ()

    @classmethod
    def between(cls, before: Sequence[Edge], after: Sequence[Edge]) -> Difference:
        """Return the changes from one list of edges to another, edge by edge, in the order of the edges given."""
        old, new = set(before), set(after)
        return cls(
            added=tuple([(a, b) for a, b in after if (a, b) not in old and (b, a) not in old]),
            removed=tuple([(a, b) for a, b in before if (a, b) not in new and (b, a) not in new]),
            reversed=tuple([(a, b) for a, b in after if (b, a) in old]),
        )

    def __len__(self) -> int:
        return len(self.added) + len(self.removed) + len(self.reversed)

    def __str__(self) -> str:
        kinds = (("added", self.added), ("removed", self.removed), ("reversed into", self.reversed))
        return "; ".join(f"{kind} {_listed(edges, '->')}" for kind, edges in kinds if edges) or "no change"


@dataclass(frozen=True, slots=True)
class EquivalenceClass:
    """All structures that imply the same independences, as one graph (the CPDAG).

    Parameters
    ----------
    variables
        All variables, by name.
    compelled
        Edges that point this way in every structure of the class.
    reversible
        Pairs whose edge points one way in some structures and the other way in others; the earlier name first.

    Examples
    --------
    >>> from stream_bayes.core.networks.structure import Structure
    >>> print(Structure({"sky": [], "wind": [], "rain": ["sky", "wind"], "puddle": ["rain"]}).cpdag())
    'rain' -> 'puddle', 'sky' -> 'rain', 'wind' -> 'rain'
    >>> print(Structure({"sky": [], "rain": ["sky"], "puddle": ["rain"]}).cpdag())
    'puddle' -- 'rain', 'rain' -- 'sky'
    """

    variables: tuple[Value, ...]
    compelled: tuple[Edge, ...]
    reversible: tuple[Edge, ...]

    def shd(self, other: EquivalenceClass) -> int:
        """Return the structural Hamming distance: the number of pairs of variables whose edge is missing, extra, or of
        another direction or kind.

        Raises
        ------
        BadStructure
            If the other class is of other variables.

        Examples
        --------
        The two chains are equivalent, so their distance is 0. The third structure is a collider and differs in both
        edges.

        >>> from stream_bayes.core.networks.structure import Structure
        >>> chain = Structure.from_edges([("a", "b"), ("b", "c")])
        >>> chain.cpdag().shd(Structure.from_edges([("c", "b"), ("b", "a")]).cpdag())
        0
        >>> chain.cpdag().shd(Structure.from_edges([("a", "b"), ("c", "b")]).cpdag())
        2
        """
        check_same_variables(self.variables, other.variables)
        mine, theirs = self.directions(), other.directions()
        return sum(mine.get(pair) != theirs.get(pair) for pair in mine.keys() | theirs.keys())

    def directions(self) -> dict[frozenset[Value], frozenset[Edge]]:
        """Return, for each joined pair, the directions of its edge in the class: one or both."""
        directions = {frozenset((a, b)): frozenset(((a, b),)) for a, b in self.compelled}
        directions.update((frozenset((a, b)), frozenset(((a, b), (b, a)))) for a, b in self.reversible)
        return directions

    def __str__(self) -> str:
        parts = [_listed(self.compelled, "->"), _listed(self.reversible, "--")]
        return ", ".join(filter(None, parts)) or "no edge"


def check_same_variables(mine: Sequence[Value], theirs: Sequence[Value]) -> None:
    """Raise `BadStructure` unless two structures have the same variables."""
    if tuple(mine) == tuple(theirs):
        return
    only_mine, only_theirs = set(mine) - set(theirs), set(theirs) - set(mine)
    lack = [
        f"only the {which} has {shown([name for name in names if name in only])}"
        for which, names, only in (("first", mine, only_mine), ("second", theirs, only_theirs))
        if only
    ]
    raise BadStructure(
        f"only structures of the same variables can be compared; {' and '.join(lack)}; declare a variable without "
        "edges as isolated"
    )


def _listed(edges: Iterable[Edge], arrow: str) -> str:
    return ", ".join([f"{shown(a)} {arrow} {shown(b)}" for a, b in edges])
