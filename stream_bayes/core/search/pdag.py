"""Partially directed acyclic graphs (PDAGs): graphs in which some edges have an arrow and others may point either way.

An arrow that would close a cycle of arrows, or that is not allowed, is never set, even if requests contradict each
other. So there is always a structure with the same edges and all arrows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

__all__ = ["PDAG"]

Flags = NDArray[np.bool_]


class PDAG:
    """A graph over the vertices 0, 1, ... whose edges may lack an arrow. `joined` is True for each pair of vertices
    that an edge joins, and symmetric. `allowed` is True for each direction in which an edge may point: at least one
    direction of each edge.

    Attributes
    ----------
    joined
        As given, without edges that the caller removes.
    arrows
        True for each edge with an arrow from the first vertex to the second.

    Examples
    --------
    >>> joined = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]], bool)
    >>> pattern = PDAG(joined, np.ones((4, 4), bool))
    >>> pattern.point([(0, 2), (1, 2)])
    True
    >>> pattern.complete()
    >>> np.argwhere(pattern.arrows).tolist()
    [[0, 2], [1, 2], [2, 3]]
    """

    def __init__(self, joined: Flags, allowed: Flags) -> None:
        self.joined = joined.copy()
        self.allowed = allowed
        self.arrows = np.zeros_like(joined)

    def leads(self, start: int, end: int) -> bool:
        """Return True if a path of arrows leads from one vertex to the other."""
        visited, ahead = {start}, [start]
        while ahead:
            for v in np.flatnonzero(self.arrows[ahead.pop()]).tolist():
                if v == end:
                    return True
                if v not in visited:
                    visited.add(v)
                    ahead.append(v)
        return False

    def point(self, edges: list[tuple[int, int]]) -> bool:
        """Set some arrows; return False and set none if one of them cannot be set."""
        before = self.arrows.copy()
        for a, b in edges:
            if self.arrows[b, a] or not self.allowed[a, b] or self.leads(b, a):
                self.arrows = before
                return False
            self.arrows[a, b] = True
        return True

    def complete(self) -> None:
        """Set all arrows that follow from the present ones by Meek's four rules (1995).

        They follow if there may be no cycle and no new collider (arrows into one vertex from two others that are not
        joined).
        """
        changed = True
        while changed:
            changed = False
            for a, b in np.argwhere(self._lines()).tolist():
                if self._lines()[a, b] and self._follows(a, b) and self.point([(a, b)]):
                    changed = True

    def _lines(self) -> Flags:
        """Return the edges without an arrow, in both directions."""
        return self.joined & ~self.arrows & ~self.arrows.T

    def _follows(self, a: int, b: int) -> bool:
        """Return True if the undirected edge between two vertices must point from the first to the second."""
        arrows, joined, lines = self.arrows, self.joined, self._lines()
        # 1. c -> a, with c and b not joined
        apart = ~joined[b]
        apart[b] = False
        if (arrows[:, a] & apart).any():
            return True
        # 2. a -> c -> b
        if (arrows[a] & arrows[:, b]).any():
            return True
        # 3. a - c -> b and a - d -> b, with c and d not joined
        between = np.flatnonzero(lines[a] & arrows[:, b]).tolist()
        if any(not joined[c, d] for c, d in combinations(between, 2)):
            return True
        # 4. a - c -> d -> b, with c and b not joined, and a and d joined
        beyond = np.flatnonzero(arrows[:, b] & joined[a])
        return bool((lines[a][:, None] & apart[:, None] & arrows[:, beyond]).any())

    def parents(self) -> list[list[int]]:
        """Return the parents of each vertex in a structure that extends this graph (Dor and Tarsi, 1992).

        The structure has no colliders beyond those of the graph, if such a structure exists. Free edges point from
        smaller numbers to larger ones.
        """
        left = np.ones(len(self.joined), bool)
        answer: list[list[int]] = [[] for _ in left]
        while left.any():
            # A vertex that no arrow leaves can come last. There is always one, as arrows form no cycle.
            last = [v for v in np.flatnonzero(left)[::-1].tolist() if not (self.arrows[v] & left).any()]
            v = next((v for v in last if self._is_simple(v, left)), last[0])
            answer[v] = np.flatnonzero(self.joined[v] & left).tolist()
            left[v] = False
        return answer

    def _is_simple(self, v: int, left: Flags) -> bool:
        """Return True if each vertex with an undirected edge to v is joined to all other neighbours of v."""
        neighbours = self.joined[v] & left
        for u in np.flatnonzero(self._lines()[v] & left).tolist():
            others = neighbours.copy()
            others[u] = False
            if (others & ~self.joined[u]).any():
                return False
        return True

    def unshielded(self) -> Iterator[tuple[int, int, int]]:
        """Yield each unshielded triple a, c, b: a and b both have an edge to c, and none to each other."""
        for a, b in combinations(range(len(self.joined)), 2):
            if not self.joined[a, b]:
                for c in np.flatnonzero(self.joined[a] & self.joined[b]).tolist():
                    yield a, c, b
