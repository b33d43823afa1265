"""Orders in which variables are summed out, and the trees of tables that they make.

To sum a variable out, all tables that hold it are multiplied into one. Which variables that table holds can be told
from a graph: they are the neighbours, which are joined with each other when the variable goes. A good order keeps these
tables small; the best one is hard to find, so three rules of thumb are tried and the cheapest of the three is taken.

Graphs here are undirected, over the numbers 0, 1, ...; a set of vertices is an int with a bit for each.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

__all__ = ["CliqueTree", "clique_tree", "eliminated"]

Bits: TypeAlias = int
Rule: TypeAlias = Callable[[int, Sequence[Bits], Sequence[int]], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class CliqueTree:
    """Sets of variables joined to a tree, in which the sets that hold one variable hang together.

    Parameters
    ----------
    cliques
        The variables of each, ascending. Children come before their parents, the root comes last.
    parent
        The place of each one's parent; -1 for the root.
    """

    cliques: tuple[tuple[int, ...], ...]
    parent: tuple[int, ...]

    def separator(self, place: int) -> tuple[int, ...]:
        """The variables that a clique shares with its parent, ascending; none for the root."""
        if self.parent[place] < 0:
            return ()
        above = set(self.cliques[self.parent[place]])
        return tuple([v for v in self.cliques[place] if v in above])

    def cells(self, sizes: Sequence[int]) -> int:
        """How many cells the tables of all cliques have together."""
        return sum(_cells(clique, sizes) for clique in self.cliques)


def clique_tree(
    scopes: Iterable[Iterable[int]], sizes: Sequence[int], together: Iterable[int] = ()
) -> CliqueTree:
    """A tree of cliques such that each scope lies in one of them.

    Parameters
    ----------
    scopes
        Sets of variables: those that a table holds.
    sizes
        How many values each variable has.
    together
        Variables that shall lie in the root together. Without any, the root is a clique in the middle of the tree.

    Examples
    --------
    >>> clique_tree([(0,), (0, 1), (0, 2), (1, 2, 3), (3, 4)], sizes=[2] * 5)
    CliqueTree(cliques=((3, 4), (0, 1, 2), (1, 2, 3)), parent=(2, 2, -1))
    """
    wanted = tuple(sorted(set(together)))
    neighbours = _joined((*scopes, wanted))
    trees = [
        _tree(eliminated(neighbours, sizes, rule), wanted, sizes) for rule in (_fill, _heavy_fill, _weight)
    ]
    return min(trees, key=lambda tree: tree.cells(sizes))  # of equal ones the first


def eliminated(neighbours: dict[int, Bits], sizes: Sequence[int], rule: Rule) -> list[tuple[int, Bits]]:
    """The variables in the order in which a rule sums them out, each with the neighbours it has then.

    Parameters
    ----------
    neighbours
        Those of each vertex.
    sizes
        How many values each variable has.
    rule
        What it costs to sum out a variable: the cheapest goes next, of equal ones the smallest number.
    """
    adjacent = [neighbours.get(v, 0) for v in range(len(sizes))]
    cost = {v: rule(v, adjacent, sizes) for v in neighbours}
    waiting = [(cost[v], v) for v in neighbours]
    heapq.heapify(waiting)
    order = []
    stale = 0  # those whose cost may have changed
    while waiting:
        # What costs nothing joins nobody, and never will cost anything, so all that may go before others are looked at.
        if stale and waiting[0][0][0] > 0:
            for u in _members(stale):
                if (now := rule(u, adjacent, sizes)) != cost[u]:
                    cost[u] = now
                    heapq.heappush(waiting, (now, u))
            stale = 0
        at, v = heapq.heappop(waiting)
        if cost.get(v) != at:
            continue  # it is among those waiting at its present cost too
        del cost[v]
        around = adjacent[v]
        order.append((v, around))
        stale |= around
        for u in _members(around):
            new = around & ~adjacent[u] & ~(1 << u)
            adjacent[u] = (adjacent[u] | new) & ~(1 << v)
            for w in _members(new):  # whoever neighbours both ends of a new edge has one less to join
                stale |= adjacent[w] & adjacent[u]
        stale &= ~(1 << v)
    return order


def _fill(v: int, adjacent: Sequence[Bits], sizes: Sequence[int]) -> tuple[int, int]:
    """How many edges it would add; then the cells of its table."""
    around = adjacent[v]
    missing = sum((around & ~adjacent[u]).bit_count() - 1 for u in _members(around))
    return missing // 2, _weight(v, adjacent, sizes)[0]


def _heavy_fill(v: int, adjacent: Sequence[Bits], sizes: Sequence[int]) -> tuple[int, int]:
    """As `_fill`, but an edge counts as much as it joins pairs of values."""
    around = adjacent[v]
    alike: dict[int, Bits] = {}
    for u in _members(around):
        alike[sizes[u]] = alike.get(sizes[u], 0) | 1 << u
    missing = 0
    for u in _members(around):
        others = around & ~adjacent[u] & ~(1 << u)
        if others:
            missing += sizes[u] * sum(size * (others & bits).bit_count() for size, bits in alike.items())
    return missing // 2, _weight(v, adjacent, sizes)[0]


def _weight(v: int, adjacent: Sequence[Bits], sizes: Sequence[int]) -> tuple[int, int]:
    """The cells of its table."""
    return sizes[v] * _cells(_members(adjacent[v]), sizes), 0


def _tree(order: Sequence[tuple[int, Bits]], together: tuple[int, ...], sizes: Sequence[int]) -> CliqueTree:
    """The tree of the cliques that an order makes, without those that lie within others."""
    if not order:
        return CliqueTree(cliques=((),), parent=(-1,))
    members = [around | 1 << v for v, around in order]
    place = {v: i for i, (v, _) in enumerate(order)}
    above = [min((place[u] for u in _members(around)), default=-1) for _, around in order]
    # A clique's parent lies within it when it has one variable less. It then goes, and the larger one takes its place.
    stands_for = list(range(len(order)))
    taken = [False] * len(order)
    for i, p in enumerate(above):
        if p >= 0 and not taken[p] and members[p].bit_count() == members[i].bit_count() - 1:
            taken[p] = True
            stands_for[p] = stands_for[i]
    kept = [i for i in range(len(order)) if stands_for[i] == i]
    joined: dict[int, list[int]] = {i: [] for i in kept}
    tops = []
    for i, p in enumerate(above):
        a = stands_for[i]
        if p < 0:
            tops.append(a)
        elif (b := stands_for[p]) != a:
            joined[a].append(b)
            joined[b].append(a)
    for top in tops[1:]:  # parts that share nothing hang on the first
        joined[tops[0]].append(top)
        joined[top].append(tops[0])
    cliques = {i: tuple(_members(members[i])) for i in kept}
    if together:
        fitting = [i for i in kept if set(together) <= set(cliques[i])]
        root = min(fitting, key=lambda i: (_cells(cliques[i], sizes), cliques[i]))
    else:
        root = _middle(joined)
    return _rooted(cliques, joined, root)


def _rooted(cliques: dict[int, tuple[int, ...]], joined: dict[int, list[int]], root: int) -> CliqueTree:
    found = [(root, -1)]
    for i, above in found:
        found += [(j, i) for j in sorted(joined[i], key=cliques.__getitem__) if j != above]
    found.reverse()
    place = {i: at for at, (i, _) in enumerate(found)}
    place[-1] = -1
    return CliqueTree(tuple([cliques[i] for i, _ in found]), tuple([place[above] for _, above in found]))


def _middle(joined: dict[int, list[int]]) -> int:
    """The middle of the longest way through a tree."""
    way = [min(joined)]
    # The farthest from anywhere is an end of a longest way; the farthest from there is the other.
    for _ in range(2):
        came: dict[int, int] = {way[0]: way[0]}
        reached = [way[0]]
        for i in reached:
            for j in joined[i]:
                if j not in came:
                    came[j] = i
                    reached.append(j)
        way = [reached[-1]]
        while came[way[-1]] != way[-1]:
            way.append(came[way[-1]])
    return way[len(way) // 2]


def _joined(scopes: Iterable[Iterable[int]]) -> dict[int, Bits]:
    neighbours: dict[int, Bits] = {}
    for scope in scopes:
        several = set(scope)
        bits = sum(1 << v for v in several)
        for v in several:
            neighbours[v] = (neighbours.get(v, 0) | bits) & ~(1 << v)
    return dict(sorted(neighbours.items()))


def _members(bits: Bits) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _cells(variables: Iterable[int], sizes: Sequence[int]) -> int:
    return prod(sizes[v] for v in variables)
