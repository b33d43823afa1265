"""Algorithms on directed graphs over the vertices 0, 1, ..., shared by structures, searches and inference.

A graph is a list with the parents of each vertex; an argument `children` lists the children of each vertex, ascending.
Ties go to the smallest vertices, so equal graphs give equal results.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations

__all__ = [
    "children_of",
    "compelled_parents",
    "cycle_in",
    "is_separated",
    "moral_neighbours",
    "needed_families",
    "reached",
    "topological_order",
]


def children_of(parents: Sequence[Iterable[int]]) -> list[list[int]]:
    """Return the children of each vertex, ascending.

    Examples
    --------
    >>> children_of([[], [0], [0, 1]])
    [[1, 2], [2], []]
    """
    children: list[list[int]] = [[] for _ in parents]
    for child, several in enumerate(parents):
        for parent in several:
            children[parent].append(child)
    return children


def topological_order(parents: Sequence[Sequence[int]], children: Sequence[Iterable[int]]) -> list[int]:
    """Return the vertices with parents before children, ties by the smallest. Those on or below a cycle are left out.

    Examples
    --------
    >>> topological_order([[2], [], []], [[], [], [0]])
    [1, 2, 0]
    """
    waiting = [len(several) for several in parents]
    ready = [v for v, count in enumerate(waiting) if count == 0]  # ascending, so it is a heap
    order = []
    while ready:
        v = heapq.heappop(ready)
        order.append(v)
        for child in children[v]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heapq.heappush(ready, child)
    return order


def cycle_in(parents: Sequence[Sequence[int]]) -> list[int]:
    """Return the vertices of a cycle along its arrows, beginning with the smallest; empty if there is no cycle.

    Examples
    --------
    >>> cycle_in([[2], [0], [1], [0]]), cycle_in([[], [0]])
    ([0, 1, 2], [])
    """
    left = set(range(len(parents))).difference(topological_order(parents, children_of(parents)))
    if not left:
        return []
    way = [min(left)]
    position: dict[int, int] = {}
    # Each vertex left has a parent that is left too, so walking back to parents must close a cycle.
    while way[-1] not in position:
        position[way[-1]] = len(way) - 1
        way.append(min(left.intersection(parents[way[-1]])))
    cycle = way[position[way[-1]] + 1 :][::-1]
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]


def reached(
    starts: Iterable[int],
    neighbours: Mapping[int, Iterable[int]] | Sequence[Iterable[int]],
    closed: AbstractSet[int] = frozenset(),
) -> set[int]:
    """Return the starts and every vertex reached from them along paths that avoid the closed vertices.

    Examples
    --------
    >>> reached([0], [[1, 2], [3], [], []], closed={1})
    {0, 2}
    """
    visited = set(starts)
    ahead = list(visited)
    while ahead:
        for v in neighbours[ahead.pop()]:
            if v not in visited and v not in closed:
                visited.add(v)
                ahead.append(v)
    return visited


def moral_neighbours(parents: Sequence[Sequence[int]], included: Iterable[int]) -> dict[int, set[int]]:
    """Return the moral graph: the neighbours of each vertex once co-parents are joined and arrows dropped. A vertex
    that is `included` needs its parents included as well.

    Examples
    --------
    >>> moral_neighbours([[], [], [0, 1], [2]], included=[0, 1, 2])
    {0: {1, 2}, 1: {0, 2}, 2: {0, 1}}
    """
    joined: dict[int, set[int]] = {v: set() for v in included}
    for v in joined:
        for a, b in combinations((*parents[v], v), 2):
            joined[a].add(b)
            joined[b].add(a)
    return joined


def is_separated(
    parents: Sequence[Sequence[int]],
    one: Iterable[int],
    two: AbstractSet[int],
    conditioning: AbstractSet[int],
) -> bool:
    """Return True if `conditioning` d-separates two sets of vertices, none of which is in two of the three.

    That is the case if every path between them passes through `conditioning` in the moral graph of all three and their
    ancestors.

    Examples
    --------
    >>> is_separated([[], [], [0, 1]], {0}, {1}, set()), is_separated([[], [], [0, 1]], {0}, {1}, {2})
    (True, False)
    """
    joined = moral_neighbours(parents, reached([*one, *two, *conditioning], parents))
    return not two & reached(one, joined, closed=conditioning)


def needed_families(parents: Sequence[Sequence[int]], target: int, observed: AbstractSet[int]) -> list[int]:
    """Return the vertices whose tables P(target | observed) depends on; all other tables are constant in the target.

    Examples
    --------
    In 0 -> 1 -> 2 -> 3, vertex 0 is not needed once 1 is observed, and 3 only matters once it is observed itself.

    >>> needed_families([[], [0], [1], [2]], target=2, observed={1})
    [2]
    >>> needed_families([[], [0], [1], [2]], target=2, observed={3})
    [0, 1, 2, 3]
    """
    relevant = reached([target, *observed], parents)
    open_ = reached([target], moral_neighbours(parents, relevant), closed=observed)
    return sorted(v for v in relevant if v in open_ or not open_.isdisjoint(parents[v]))


def compelled_parents(parents: Sequence[Iterable[int]], order: Iterable[int]) -> list[frozenset[int]]:
    """Return, for each vertex, the parents whose edge is compelled: it has this direction in every equivalent graph.

    The algorithm is that of Chickering (1995). `parents` has those of each vertex; `order` has parents before children.

    Examples
    --------
    In 0 -> 2 <- 1, 2 -> 3 all edges are compelled, in 0 -> 1 -> 2 none.

    >>> compelled_parents([[], [], [0, 1], [2]], order=[0, 1, 2, 3])
    [frozenset(), frozenset(), frozenset({0, 1}), frozenset({2})]
    >>> compelled_parents([[], [0], [1]], order=[0, 1, 2])
    [frozenset(), frozenset(), frozenset()]
    """
    rank = {v: i for i, v in enumerate(order)}
    compelled: list[frozenset[int]] = [frozenset()] * len(parents)
    # The paper labels one edge at a time, and of the edges into a child that of its last parent first. That label
    # decides all other edges into the child, so one step labels them all.
    for child in rank:
        mine = frozenset(parents[child])
        if not mine:
            continue
        last = max(mine, key=rank.__getitem__)
        inherited = compelled[last]  # of w -> last -> child: w -> child is compelled, or else last -> child
        collider = mine - {last} - frozenset(parents[last])  # z -> child <- last, with z and last not joined
        compelled[child] = mine if collider or not inherited <= mine else inherited
    return compelled
