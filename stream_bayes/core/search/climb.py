"""A climb over structures: the present structure, the gain of each change, and the best structure so far.

    gains[q, c]   the gain of adding q -> c, or of removing it if it exists

A change of c's parents changes column c alone, so each step counts the families of one child, or of two for a reversal.
The gain of a reversal is the sum of two entries: removing the edge, and adding the opposite one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search import _climbing
from stream_bayes.core.search.constraints import ROUNDING, edge_matrix
from stream_bayes.core.search.scored_families import ScoredFamilies
from stream_bayes.core.search.search_result import Move, SearchResult

__all__ = ["GAMMA", "MASK", "Climb", "ClimbLimits", "Draws", "finished"]

MASK = 2**64 - 1
GAMMA = 0x9E3779B97F4A7C15  # the step of SplitMix64
DISTURBED_PART, LEAST_DISTURBED = 5, 4  # variables disturbed by a restart: every fifth, and at least so many
ADD, REMOVE, REVERSE = range(3)  # kinds of changes, as `_climbing` numbers them
KINDS: tuple[Literal["add", "remove", "reverse"], ...] = ("add", "remove", "reverse")

ByteTable = NDArray[np.uint8]
T = TypeVar("T")


@dataclass(frozen=True)
class ClimbLimits:
    """The limits of a climb, as `HillClimbing` takes them.

    `allowed` and `required` are True at [parent, child] of the edges that may exist, and of those that must.
    """

    allowed: NDArray[np.bool_]
    required: NDArray[np.bool_]
    max_parents: int | None = None
    tabu: int = 0
    patience: int = 20
    disturbance: int | None = None
    max_families: int | None = None


class Climb:
    """The state of one search: the present structure, and the best one so far."""

    def __init__(
        self,
        scorer: ScoredFamilies,
        start: Structure,
        limits: ClimbLimits,
        should_stop: Callable[[], bool] = lambda: False,
        progress: Callable[[int, float], None] = lambda families, score: None,
    ) -> None:
        self.settings, self.sample, self.scorer = limits, scorer.sample, scorer
        self.should_stop, self.progress = should_stop, progress
        self.known_before = scorer.families
        size = len(self.sample.variables)
        self.required, self.allowed = limits.required.view(np.uint8), limits.allowed.view(np.uint8)
        self.start = start
        self.most = size if limits.max_parents is None else limits.max_parents
        self.gains = np.zeros((size, size))
        self.reach = np.zeros((size, size), np.uint8)
        self.room = np.empty((2, size), np.longlong)
        self.bits = [1 << number for number in range(size)]
        # By child, the score and the gains with each set of parents: the sum of their bits.
        self.family_scores: list[dict[int, float]] = [{} for _ in range(size)]
        self.columns: list[dict[int, NDArray[np.float64]]] = [{} for _ in range(size)]
        self._stand(edge_matrix(start.edges, self.sample.variables).view(np.uint8))
        self.start_score = self.best = self.now
        self.best_has = self.has.copy()
        self.path: list[Move] = []
        self.best_path: list[Move] = []
        self.no_tabu = np.zeros((size, size), np.uint8)
        # By pair of variables, the step until which a change of their edge is tabu.
        self.tabu_until: dict[tuple[int, int], int] = {}
        self.ended = False
        self.counted = False

    def _stand(self, has: ByteTable) -> None:
        """Make a structure the present one. The caller updates the gains."""
        self.has = has
        self.many = has.sum(axis=0, dtype=np.longlong)
        self.keys = [0] * len(has)
        for parent, child in np.argwhere(has).tolist():
            self.keys[child] |= self.bits[parent]
        self.reach_holds = False  # reachability is computed when it is needed
        self.scores = [self._score(child) for child in range(len(has))]
        self.now = float(sum(self.scores))

    def _parents(self, child: int) -> list[int]:
        return np.flatnonzero(self.has[:, child]).tolist()

    def _score(self, child: int) -> float:
        family_scores, key = self.family_scores[child], self.keys[child]
        if key not in family_scores:
            family_scores[key] = self.scorer.score(child, self._parents(child))
        return family_scores[key]

    # -- climbing -----------------------------------------------------------------------------------------------------

    def run(self) -> Iterator[None]:
        """Climb to a local maximum; with tabu, continue until `patience` steps bring no improvement.

        Yields after each slice of work.
        """
        if not self.counted:
            for child in range(len(self.sample.variables)):
                if self._must_end():
                    return
                self._count(child)
                yield
            self.counted = True
        idle = step = 0
        while not self._must_end():
            move = self._best_move(step)
            if move is None:
                return
            kind, parent, child, gain = move
            if gain <= self._rounding() and (not self.settings.tabu or idle >= self.settings.patience):
                return
            self._make(kind, parent, child)
            step += 1
            if self.settings.tabu:
                self.tabu_until[min(parent, child), max(parent, child)] = step + self.settings.tabu
            idle = 0 if self._note_best() else idle + 1
            self.progress(self.families, self.best)
            yield

    @property
    def families(self) -> int:
        """The number of families that this search has counted."""
        return self.scorer.families - self.known_before

    def _must_end(self) -> bool:
        most = self.settings.max_families
        if (most is not None and self.families >= most) or self.should_stop():
            self.ended = True
        return self.ended

    def _rounding(self) -> float:
        return ROUNDING * max(abs(self.now), 1.0)

    def _count(self, child: int) -> None:
        """Update the gain of each change of a child's parents."""
        columns, key = self.columns[child], self.keys[child]
        if key not in columns:
            columns[key] = self._column(child)
        self.gains[:, child] = columns[key]

    def _column(self, child: int) -> NDArray[np.float64]:
        """Return the gain of each change of a child's parents."""
        parents = self._parents(child)
        now = self.scores[child]
        others = np.flatnonzero(self.allowed[:, child] > self.has[:, child]).tolist()
        column = np.zeros(len(self.has))
        if others and len(parents) < self.most:
            column[others] = self.scorer.with_each(child, parents, others) - now
        for parent in parents:
            rest = [other for other in parents if other != parent]
            column[parent] = self.scorer.score(child, rest) - now
        return column

    def _best_move(self, step: int) -> tuple[int, int, int, float] | None:
        """Return the change with the largest gain; the first of equal ones."""
        if not self.reach_holds:
            _climbing.find_reach(self.has, self.reach, *self.room)
            self.reach_holds = True
        change = np.zeros(3, np.longlong)
        # A tabu change is allowed if it leads to a better structure than all before.
        above = self.best - self.now + self._rounding()
        gain = _climbing.best_change(
            self.gains,
            self.has,
            self.reach,
            self.allowed,
            self.required,
            self._tabu(step),
            self.many,
            self.most,
            above,
            self._rounding(),
            change,
        )
        kind, parent, child = change.tolist()
        return None if gain == -np.inf else (kind, parent, child, gain)

    def _tabu(self, step: int) -> ByteTable:
        if not self.tabu_until:
            return self.no_tabu
        tabu = np.zeros_like(self.has)
        for (a, b), until in self.tabu_until.items():
            tabu[a, b] = tabu[b, a] = until > step
        return tabu

    def _make(self, kind: int, parent: int, child: int) -> None:
        self._change(kind, parent, child)
        self._count(child)
        if kind == REVERSE:
            self._count(parent)

    def _change(self, kind: int, parent: int, child: int) -> None:
        """Change an edge and record the step; the caller updates the gains."""
        self._set(parent, child, kind == ADD)
        if kind == REVERSE:
            self._set(child, parent, True)
        if kind == ADD and self.reach_holds:
            _climbing.extend_reach(self.reach, parent, child)
        else:
            self.reach_holds = False
        before = self.now
        self.now = float(sum(self.scores))
        names = self.sample.variables
        self.path.append(Move(KINDS[kind], names[parent], names[child], self.now - before))

    def _set(self, parent: int, child: int, joined: bool) -> None:
        """Set whether an edge exists, and update its child's score."""
        self.has[parent, child] = joined
        self.keys[child] ^= self.bits[parent]
        self.many[child] += 1 if joined else -1
        self.scores[child] = self._score(child)

    def _note_best(self) -> bool:
        if self.now <= self.best + self._rounding():
            return False
        self.best, self.best_has, self.best_path = self.now, self.has.copy(), list(self.path)
        return True

    def restart(self, draws: Draws) -> Iterator[None]:
        """Return to the best structure, turn some edges within its equivalence class, and remove the edges of some
        variables. Yields after each slice of work.
        """
        counted = self.has.copy()
        if self.now < self.best - self._rounding():  # other structures of the best score are as good
            self._stand(self.best_has.copy())
            self.path = list(self.best_path)
        self.tabu_until = {}
        size = len(self.sample.variables)
        disturbance = self.settings.disturbance or max(LEAST_DISTURBED, size // DISTURBED_PART)
        for _ in range(disturbance if self.has.any() else 0):
            self._turn(draws)
        lost = np.zeros(size, bool)
        lost[draws.some(size, disturbance)] = True
        gone = (self.has > self.required) & (lost[:, None] | lost)
        for parent, child in np.argwhere(gone).tolist():
            self._change(REMOVE, parent, child)
        for child in np.flatnonzero((self.has != counted).any(axis=0)).tolist():
            self._count(child)
            yield

    def _turn(self, draws: Draws) -> None:
        """Reverse a random covered edge: one whose ends have all other parents in common (Chickering, 1995).

        The structure stays in its equivalence class, and every structure of the class can be reached so. Without it,
        ties would lead to the same maximum again.
        """
        edges = np.empty((int(self.many.sum()), 2), np.longlong)
        count = _climbing.covered_edges(self.has, self.allowed, self.required, self.many, self.most, edges)
        if count:
            self._change(REVERSE, *edges[draws.below(count)].tolist())

    # -- the end ------------------------------------------------------------------------------------------------------

    def result(self) -> SearchResult:
        """Return the best structure and the steps to it."""
        names = self.sample.variables
        edges = [(names[a], names[b]) for a, b in np.argwhere(self.best_has).tolist()]
        structure = Structure.from_edges(edges, names)
        return SearchResult(
            structure,
            self.best,
            self.start_score,
            tuple(self.best_path),
            self.start.difference(structure),
            self.families,
            not self.ended,
        )


class Draws:
    """Pseudo-random draws from a seed, for restarts: the same on every machine.

    The generator is SplitMix64 (Steele, Lea and Flood 2014). `seed` is a whole number of at least 0.
    """

    def __init__(self, seed: int) -> None:
        self._state = seed & MASK

    def below(self, limit: int) -> int:
        """Draw one of the numbers 0 to limit - 1."""
        self._state = (self._state + GAMMA) & MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return (z ^ (z >> 31)) * limit >> 64

    def some(self, limit: int, number: int) -> list[int]:
        """Draw different ones of the numbers 0 to limit - 1."""
        drawn: dict[int, None] = {}
        while len(drawn) < min(number, limit):
            drawn[self.below(limit)] = None
        return list(drawn)


def finished(slices: Generator[None, None, T]) -> T:
    """Run a generator of slices of work to its end, and return what it returns."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            return end.value
