"""Junction trees, made by variable elimination: orders in which variables are summed out, and the trees that result.

To sum a variable out, all tables that contain it are multiplied into one. In the moral graph, that table's variables
are the neighbours, which are joined with each other when the variable is removed. A good order keeps the tables small.
The best order is hard to find, so three heuristics are tried and the cheapest tree is taken.

Graphs here are undirected, over the vertices 0, 1, ...; a set of vertices is an int with one bit for each.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

__all__ = ["JunctionTree", "eliminated", "joint_size", "junction_tree"]

Bits: TypeAlias = int
EliminationRule: TypeAlias = Callable[[int, Sequence[Bits], Sequence[int]], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class JunctionTree:
    """A tree of cliques with the running intersection property: the cliques of each variable are connected."""

    # The variables of each clique, ascending. Children come before their parents; the root is last.
    cliques: tuple[tuple[int, ...], ...]
    parent: tuple[int, ...]  # the position of each clique's parent; -1 for the root

    def separator(self, clique: int) -> tuple[int, ...]:
        """Return the variables that a clique shares with its parent, ascending; none for the root."""
        if self.parent[clique] < 0:
            return ()
        above = set(self.cliques[self.parent[clique]])
        return tuple([v for v in self.cliques[clique] if v in above])

    def cells(self, sizes: Sequence[int]) -> int:
        """Return the number of cells of all cliques' tables."""
        return sum(joint_size(clique, sizes) for clique in self.cliques)


def junction_tree(
    scopes: Iterable[Iterable[int]], sizes: Sequence[int], together: Iterable[int] = ()
) -> JunctionTree:
    """Return a junction tree in which each scope lies within a clique. The scopes are sets of variables: those of each
    table. `sizes` has the number of values of each variable. Variables that are `together` must be in the root
    together. Without any, the root is a clique in the middle of the tree.

    Examples
    --------
    >>> junction_tree([(0,), (0, 1), (0, 2), (1, 2, 3), (3, 4)], sizes=[2] * 5)
    JunctionTree(cliques=((3, 4), (0, 1, 2), (1, 2, 3)), parent=(2, 2, -1))
    """
    targets = tuple(sorted(set(together)))
    neighbours = _joined((*scopes, targets))
    trees = [
        _tree(eliminated(neighbours, sizes, rule), targets, sizes)
        for rule in (_fill, _weighted_fill, _weight)
    ]
    return min(trees, key=lambda tree: tree.cells(sizes))  # the first of equal trees


def eliminated(
    neighbours: dict[int, Bits], sizes: Sequence[int], rule: EliminationRule
) -> list[tuple[int, Bits]]:
    """Return the variables in the order in which a rule eliminates them, each with its neighbours at that point.
    `sizes` has the number of values of each variable. `rule` is the cost of eliminating one. The cheapest goes next;
    ties go to the smallest number.
    """
    adjacent = [neighbours.get(v, 0) for v in range(len(sizes))]
    cost = {v: rule(v, adjacent, sizes) for v in neighbours}
    waiting = [(cost[v], v) for v in neighbours]
    heapq.heapify(waiting)
    order = []
    stale = 0  # vertices whose cost may have changed
    while waiting:
        # A vertex of cost 0 adds no edge and stays at cost 0, so these go first, before any other cost is updated.
        if stale and waiting[0][0][0] > 0:
            for u in _members(stale):
                if (now := rule(u, adjacent, sizes)) != cost[u]:
                    cost[u] = now
                    heapq.heappush(waiting, (now, u))
            stale = 0
        at, v = heapq.heappop(waiting)
        if cost.get(v) != at:
            continue  # an outdated entry: the vertex also waits at its present cost
        del cost[v]
        around = adjacent[v]
        order.append((v, around))
        stale |= around
        for u in _members(around):
            new = around & ~adjacent[u] & ~(1 << u)
            adjacent[u] = (adjacent[u] | new) & ~(1 << v)
            for w in _members(new):  # common neighbours of a new edge's ends have one edge less to add
                stale |= adjacent[w] & adjacent[u]
        stale &= ~(1 << v)
    return order


def _fill(v: int, adjacent: Sequence[Bits], sizes: Sequence[int]) -> tuple[int, int]:
    """Return the number of edges to add; then the cells of the table."""
    around = adjacent[v]
    missing = sum((around & ~adjacent[u]).bit_count() - 1 for u in _members(around))
    return missing // 2, _weight(v, adjacent, sizes)[0]


def _weighted_fill(v: int, adjacent: Sequence[Bits], sizes: Sequence[int]) -> tuple[int, int]:
    """Return the edges to add, each weighted by the pairs of values that it joins; then the cells of the table."""
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
    """Return the number of cells of the table."""
    return sizes[v] * joint_size(_members(adjacent[v]), sizes), 0


def _tree(order: Sequence[tuple[int, Bits]], together: tuple[int, ...], sizes: Sequence[int]) -> JunctionTree:
    """Return the tree of the cliques that an order makes, without those that lie within others."""
    if not order:
        return JunctionTree(cliques=((),), parent=(-1,))
    members = [around | 1 << v for v, around in order]
    rank = {v: i for i, (v, _) in enumerate(order)}
    above = [min((rank[u] for u in _members(around)), default=-1) for _, around in order]
    # A parent with exactly one variable less lies within its child. The child replaces it.
    stands_for = list(range(len(order)))
    taken = [False] * len(order)
    for i, p in enumerate(above):
        if p >= 0 and not taken[p] and members[p].bit_count() == members[i].bit_count() - 1:
            taken[p] = True
            stands_for[p] = stands_for[i]
    maximal = [i for i in range(len(order)) if stands_for[i] == i]
    joined: dict[int, list[int]] = {i: [] for i in maximal}
    tops = []
    for i, p in enumerate(above):
        a = stands_for[i]
        if p < 0:
            tops.append(a)
        elif (b := stands_for[p]) != a:
            joined[a].append(b)
            joined[b].append(a)
    for top in tops[1:]:  # components that share no variable are attached to the first
        joined[tops[0]].append(top)
        joined[top].append(tops[0])
    cliques = {i: tuple(_members(members[i])) for i in maximal}
    if together:
        fitting = [i for i in maximal if set(together) <= set(cliques[i])]
        root = min(fitting, key=lambda i: (joint_size(cliques[i], sizes), cliques[i]))
    else:
        root = _middle(joined)
    return _rooted(cliques, joined, root)


def _rooted(cliques: dict[int, tuple[int, ...]], joined: dict[int, list[int]], root: int) -> JunctionTree:
    walk = [(root, -1)]
    for i, above in walk:
        walk += [(j, i) for j in sorted(joined[i], key=cliques.__getitem__) if j != above]
    walk.reverse()
    number = {i: at for at, (i, _) in enumerate(walk)}
    number[-1] = -1
    return JunctionTree(tuple([cliques[i] for i, _ in walk]), tuple([number[above] for _, above in walk]))


def _middle(joined: dict[int, list[int]]) -> int:
    """Return the middle of the longest path through a tree."""
    way = [min(joined)]
    # The vertex farthest from any start is one end of a longest path; the vertex farthest from that end is the other.
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


def joint_size(variables: Iterable[int], sizes: Sequence[int]) -> int:
    """Return the number of joint values of some variables: the cells of their table."""
    return prod(sizes[v] for v in variables)
