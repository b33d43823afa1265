"""Graphs of which some edges have an arrow and others may point either way, and the structures they stand for.

No arrow is ever set that would close a cycle of arrows or that is not allowed, whatever contradictory things are asked:
so there always is a structure with the same edges and all the arrows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

__all__ = ["PDAG"]

Flags = NDArray[np.bool_]


class PDAG:
    """A graph over the numbers 0, 1, ... whose edges may lack an arrow.

    Parameters
    ----------
    joined
        Which vertices an edge joins; symmetric.
    allowed
        Whether an edge may point from one to the other; of the directions of an edge at least one.

    Attributes
    ----------
    joined
        As given.
    arrows
        Which edges have an arrow from one to the other.

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
        """Whether arrows lead from one vertex to the other."""
        found, ahead = {start}, [start]
        while ahead:
            for v in np.flatnonzero(self.arrows[ahead.pop()]).tolist():
                if v == end:
                    return True
                if v not in found:
                    found.add(v)
                    ahead.append(v)
        return False

    def point(self, edges: list[tuple[int, int]]) -> bool:
        """Set some arrows, or none of them where one cannot be; whether they are there now."""
        before = self.arrows.copy()
        for a, b in edges:
            if self.arrows[b, a] or not self.allowed[a, b] or self.leads(b, a):
                self.arrows = before
                return False
            self.arrows[a, b] = True
        return True

    def complete(self) -> None:
        """Set the arrows that follow from those that are there, by Meek's four rules (1995).

        They follow if there is to be no cycle, and no new collider: two arrows into one vertex from two others that
        are not joined.
        """
        changed = True
        while changed:
            changed = False
            for a, b in np.argwhere(self._lines()).tolist():
                if self._lines()[a, b] and self._follows(a, b) and self.point([(a, b)]):
                    changed = True

    def _lines(self) -> Flags:
        """The edges without an arrow, both ways."""
        return self.joined & ~self.arrows & ~self.arrows.T

    def _follows(self, a: int, b: int) -> bool:
        """Whether the line between two vertices has to point from the first to the second."""
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
        """The parents of each vertex in a structure with these edges and arrows (Dor and Tarsi, 1992).

        It has no two arrows from vertices that are not joined into a third that the pattern does not have, if such a
        structure exists; where there is a choice, arrows lead from smaller numbers to larger ones.
        """
        left = np.ones(len(self.joined), bool)
        answer: list[list[int]] = [[] for _ in left]
        while left.any():
            # One that no arrow leaves comes last. There is one always, for arrows make no cycle.
            last = [v for v in np.flatnonzero(left)[::-1].tolist() if self._may_end(v, left)]
            v = next((v for v in last if self._is_simple(v, left)), last[0])
            answer[v] = np.flatnonzero(self.joined[v] & left).tolist()
            left[v] = False
        return answer

    def _may_end(self, v: int, left: Flags) -> bool:
        return not (self.arrows[v] & left).any()

    def _is_simple(self, v: int, left: Flags) -> bool:
        """Whether all that is joined to a vertex by a line is joined to everything else beside it."""
        beside = self.joined[v] & left
        for u in np.flatnonzero(self._lines()[v] & left).tolist():
            others = beside.copy()
            others[u] = False
            if (others & ~self.joined[u]).any():
                return False
        return True

    def unshielded(self) -> Iterator[tuple[int, int, int]]:
        """Where two vertices that are not joined both have an edge to a third: the first, the third, the second."""
        for a, b in combinations(range(len(self.joined)), 2):
            if not self.joined[a, b]:
                for c in np.flatnonzero(self.joined[a] & self.joined[b]).tolist():
                    yield a, c, b
