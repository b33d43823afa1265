"""Search over orders of the variables: best order score search (BOSS; Andrews and others, 2023).

An order gives each variable its parents among those before it, so no structure has to be checked for cycles:

    grow     parents are added, the one with the largest gain first, as long as the score of the child rises; if there
             are not too many, pairs where no single one does
    shrink   parents are removed, likewise

A tree of each child keeps what was counted: a node is a set of parents, its branches are the variables that raise the
score, the best first. To look an order up, the first branch of each node that comes before the child is followed.

    1. hill climbing gives the first order
    2. each variable in turn goes to the position in the order that scores highest, until none moves
    3. single edges are changed, as in hill climbing; an improvement gives a new order, and 2. follows
    4. restarts: some variables of the best order go to drawn positions, and 2. and 3. follow
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.climb import Climb, ClimbLimits, Draws
from stream_bayes.core.search.constraints import ROUNDING
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.score_search import ScoreSearch, Watching
from stream_bayes.core.search.scored_families import ScoredFamilies
from stream_bayes.core.search.search_result import SearchResult, columns_of, steps_between, structure_of

__all__ = ["BOSS"]

MOST_PAIRS = 100_000  # families counted
MOVED_PART, LEAST_MOVED = 4, 3  # variables moved by a restart: every fourth, and at least so many

ParentLists = list[list[int]]  # of each variable, as columns


@dataclass(frozen=True, kw_only=True)
class BOSS(ScoreSearch):
    """Search for a structure with a high score over orders of the variables: best order score search.

    It begins with the result of `HillClimbing`, which it is never below, and leaves most of its local maxima: a
    variable that moves in the order changes many edges at once. It takes some ten times as long. Missing values are
    filled in first, as for `HillClimbing`.

    Parameters
    ----------
    score
        The score to maximise.
    max_parents
        The most parents of a variable. The start and the required edges must keep to it.
    required, forbidden
        Edges, `(parent, child)`, that every structure must have, or must not have.
    tiers
        Groups of variables, the earliest first: no edge leads from a later group to an earlier one. Variables in no
        group may be joined to any.
    restarts
        The number of further searches, each from the best order with some variables moved. What was counted is kept.
    seed
        The seed of the restarts, if `search` gets no `rng`, and of the values that are filled in.
    max_families
        The number of families after which the search takes no further step. It finishes counting the present step.

    Examples
    --------
    >>> from stream_bayes.core.search.sample import Sample
    >>> columns = {"rain": [0, 1] * 50, "wet": [0, 1] * 50, "day": [0, 0, 1, 1] * 25}
    >>> result = BOSS().search(Sample(columns, {"rain": 2, "wet": 2, "day": 2}))
    >>> len(result.structure.edges), round(result.score - result.start_score, 1)
    (1, 67.0)
    """

    restarts: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_whole("restarts", 0)

    def single_climb(self) -> HillClimbing:
        return HillClimbing.within(self).single_climb()

    def search_in_slices(
        self,
        scorer: ScoredFamilies,
        start: Structure,
        limits: ClimbLimits,
        watching: Watching,
        rng: np.random.Generator | None,
    ) -> Generator[None, None, SearchResult]:
        before = scorer.families
        draws = Draws(self.seed if rng is None else int(rng.integers(2**63)))
        climbed = yield from HillClimbing.within(self).search_in_slices(scorer, start, limits, watching, rng)
        best = columns_of(climbed.structure, scorer)
        search = _OrderSearch(scorer, limits, watching, before)
        order = search.order_of(best)
        for _ in range(self.restarts + 1):
            if search.must_end():
                break
            parents = yield from search.improved(order)
            if scorer.total(parents) > scorer.total(best) + search.rounding:
                best = parents
            order = search.moved(best, draws)
        return steps_between(scorer, start, best, scorer.families - before, finished=not search.ended)


class _OrderSearch:
    """Orders of the variables, each with the parents that the trees give. `watching` is the caller; `before` is the
    number of families that the scorer had counted for others.
    """

    def __init__(self, scorer: ScoredFamilies, limits: ClimbLimits, watching: Watching, before: int) -> None:
        self.scorer, self.limits, self.watching = scorer, limits, watching
        size = len(scorer.sample.variables)
        self.before = before
        self.trees = [_ParentTree(scorer, limits, child) for child in range(size)]
        self.above = [np.flatnonzero(limits.required[:, child]).tolist() for child in range(size)]
        self.below = [np.flatnonzero(limits.required[child]).tolist() for child in range(size)]
        self.rounding = ROUNDING * max(abs(scorer.total([[]] * size)), 1.0)
        self.ended = False

    @property
    def families(self) -> int:
        """The number of families that this search has counted."""
        return self.scorer.families - self.before

    def must_end(self) -> bool:
        """Return True once the caller stops the search, or its budget is spent."""
        most = self.limits.max_families
        self.ended = self.ended or (most is not None and self.families >= most) or self.watching.should_stop()
        return self.ended

    def order_of(self, parents: ParentLists) -> list[int]:
        """Return an order in which parents come before their children; of several, the first by name."""
        order: list[int] = []
        left = list(range(len(parents)))
        while left:
            ready = next(child for child in left if not set(parents[child]) & set(left))
            order.append(ready)
            left.remove(ready)
        return order

    def moved(self, parents: ParentLists, draws: Draws) -> list[int]:
        """Return an order of a structure in which some variables were moved to drawn positions."""
        order = self.order_of(parents)
        for child in draws.some(len(order), max(LEAST_MOVED, len(order) // MOVED_PART)):
            order.remove(child)
            first, last = self._room(order, child)
            order.insert(first + draws.below(last - first + 1), child)
        return order

    def _room(self, rest: Sequence[int], child: int) -> tuple[int, int]:
        """Return the first and last position among the others that the required edges leave to a variable."""
        position = {other: k for k, other in enumerate(rest)}
        first = max((position[parent] + 1 for parent in self.above[child]), default=0)
        return first, min((position[other] for other in self.below[child]), default=len(rest))

    def improved(self, order: list[int]) -> Generator[None, None, ParentLists]:
        """Return the best parents reached from an order, in slices of work."""
        scorer = self.scorer
        best: ParentLists | None = None
        while True:
            yield from self._sweeps(order)
            parents = self._parents(order)
            if not self.must_end():
                most = self.limits.max_families
                left = replace(self.limits, max_families=None if most is None else most - self.families)
                begin = structure_of(parents, scorer)
                climb = Climb(scorer, begin, left, self.watching.should_stop, self.watching.progress)
                yield from climb.run()
                parents = columns_of(climb.result().structure, scorer)
            if best is not None and scorer.total(parents) <= scorer.total(best) + self.rounding:
                return best
            best = parents
            if self.must_end():
                return best
            order = self.order_of(best)

    def _sweeps(self, order: list[int]) -> Generator[None, None, None]:
        """Move each variable in turn to its best position, until none moves."""
        has_moved = True
        while has_moved:
            has_moved = False
            for child in list(order):
                if self.must_end():
                    return
                has_moved = self._move(order, child) or has_moved
                self.watching.progress(self.families, self.scorer.total(self._parents(order)))
                yield

    def _move(self, order: list[int], child: int) -> bool:
        """Move a variable to its best position; return True if that is another one that scores higher."""
        now = order.index(child)
        rest = order[:now] + order[now + 1 :]
        first, last = self._room(rest, child)
        trees, bit = self.trees, 1 << child
        prefix, prefixes, alone, after = 0, [0], [], []
        for other in rest:
            alone.append(trees[other].score(prefix))
            after.append(trees[other].score(prefix | bit))
            prefix |= 1 << other
            prefixes.append(prefix)
        total = sum(after)
        totals = []
        for position in range(len(rest) + 1):
            if position:
                total += alone[position - 1] - after[position - 1]
            if first <= position <= last:
                totals.append(total + trees[child].score(prefixes[position]))
        best = max(totals)
        if totals[now - first] >= best - self.rounding:
            return False
        goal = first + next(k for k, each in enumerate(totals) if each >= best - self.rounding)
        order[:] = [*rest[:goal], child, *rest[goal:]]
        return True

    def _parents(self, order: Sequence[int]) -> ParentLists:
        """Return the parents of each variable."""
        parents: ParentLists = [[] for _ in order]
        prefix = 0
        for child in order:
            parents[child] = self.trees[child].parents(prefix)
            prefix |= 1 << child
        return parents


class _Node:
    """A set of parents of a child, with its score, and the parents that raise it: the best first, once counted."""

    __slots__ = ("branches", "parents", "score", "shrunk")

    def __init__(self, parents: tuple[int, ...], score: float) -> None:
        self.parents, self.score = parents, score
        self.branches: list[_Branch] | None = None
        self.shrunk: tuple[float, list[int]] | None = None  # what is left after parents were removed


class _Branch:
    """Further parents of a node, and the node with them once it was needed. `bits` has a bit for each."""

    __slots__ = ("added", "bits", "node", "score")

    def __init__(self, added: tuple[int, ...], score: float) -> None:
        self.added, self.score = added, score
        self.bits = sum(1 << parent for parent in added)
        self.node: _Node | None = None


class _ParentTree:
    """The grow-shrink tree of a child: its parents among any variables before it.

    Two parents may tell much together and nothing alone. Where no single one raises the score, pairs are tried, but
    only in nodes of few parents, so that there are at most `MOST_PAIRS` of them in all trees.
    """

    def __init__(self, scorer: ScoredFamilies, limits: ClimbLimits, child: int) -> None:
        self.scorer, self.child = scorer, child
        size = len(limits.required)
        self.required = np.flatnonzero(limits.required[:, child]).tolist()
        self.open = np.flatnonzero(limits.allowed[:, child] & ~limits.required[:, child]).tolist()
        self.most = size if limits.max_parents is None else limits.max_parents
        pairs = size**3 // 2
        self.most_before_pair = -1 if pairs > MOST_PAIRS else 0 if pairs * size > MOST_PAIRS else 1
        self.root = _Node(tuple(self.required), scorer.score(child, self.required))
        self.within = sum(1 << parent for parent in self.open)
        self.looked_up: dict[int, tuple[float, list[int]]] = {}

    def score(self, before: int) -> float:
        """Return the score of the child with the best parents among a set of variables, given as bits."""
        return self._look_up(before)[0]

    def parents(self, before: int) -> list[int]:
        """Return the best parents among a set of variables, given as bits."""
        return list(self._look_up(before)[1])

    def _look_up(self, before: int) -> tuple[float, list[int]]:
        key = before & self.within
        answer = self.looked_up.get(key)
        if answer is None:
            answer = self.looked_up[key] = self._grown(key)
        return answer

    def _grown(self, before: int) -> tuple[float, list[int]]:
        node = self.root
        while True:
            branches = self._branches(node)
            branch = next((branch for branch in branches if branch.bits & before == branch.bits), None)
            if branch is None:
                break
            if branch.node is None:
                branch.node = _Node((*node.parents, *branch.added), branch.score)
            node = branch.node
        if node.shrunk is None:
            node.shrunk = self._shrink(node)
        return node.shrunk

    def _branches(self, node: _Node) -> list[_Branch]:
        """Return the parents that raise the score of a node, the best first, then the pairs of others that do."""
        if node.branches is None:
            node.branches = self._single(node)
            left = len(node.parents) - len(self.required)
            if left <= self.most_before_pair and len(node.parents) + 2 <= self.most:
                node.branches += self._pairs(node, {branch.added[0] for branch in node.branches})
        return node.branches

    def _single(self, node: _Node) -> list[_Branch]:
        others = [parent for parent in self.open if parent not in node.parents]
        if not others or len(node.parents) >= self.most:
            return []
        scores = self.scorer.with_each(self.child, node.parents, others).tolist()
        return _rising(node, [_Branch((other,), score) for other, score in zip(others, scores, strict=True)])

    def _pairs(self, node: _Node, single: set[int]) -> list[_Branch]:
        others = [parent for parent in self.open if parent not in node.parents and parent not in single]
        pairs = []
        for k, first in enumerate(others[:-1]):
            scores = self.scorer.with_each(self.child, (*node.parents, first), others[k + 1 :]).tolist()
            pairs += [
                _Branch((first, second), score) for second, score in zip(others[k + 1 :], scores, strict=True)
            ]
        return _rising(node, pairs)

    def _shrink(self, node: _Node) -> tuple[float, list[int]]:
        """Remove parents, the one with the largest gain first, while that raises the score."""
        parents, score = list(node.parents), node.score
        while True:
            removable = [parent for parent in parents if parent not in self.required]
            without = [self.scorer.score(self.child, [p for p in parents if p != one]) for one in removable]
            best = max(without, default=score)
            if best <= score + ROUNDING * max(abs(score), 1.0):
                return score, sorted(parents)
            parents.remove(removable[without.index(best)])
            score = best


def _rising(node: _Node, branches: list[_Branch]) -> list[_Branch]:
    """Return the branches that score higher than a node, the best first; of equal ones the first by name."""
    least = node.score + ROUNDING * max(abs(node.score), 1.0)
    return sorted((branch for branch in branches if branch.score > least), key=lambda branch: -branch.score)
