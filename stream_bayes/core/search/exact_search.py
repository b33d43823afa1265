"""Exact search: the structure with the highest score of all, by dynamic programming over sets of variables.

    1. families     each child with each set of parents that may be in an optimal structure, small sets first
    2. best[c, S]   the best score of the child c with parents within S: from sets that lack one variable of S
    3. total[S]     the best score of a structure over S: its last variable c has its parents within S without c,
                    total[S] = max over c of total[S - c] + best[c, S - c]

The structure is read from total[all], backwards (Silander and Myllymaki 2006). Steps 2 and 3 take n^2 2^n operations.

A set of parents is left out, with all sets that contain it, if even the likelihood with all variables as parents would
not pay for its penalty: then a smaller set is at least as good (de Campos and Ji 2011).
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.climb import ClimbLimits
from stream_bayes.core.search.constraints import ROUNDING
from stream_bayes.core.search.family_scorer import FamilyScorer
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.score_search import ScoreSearch, Watching
from stream_bayes.core.search.scores import LogLikelihood
from stream_bayes.core.search.search_result import SearchResult, columns_of, steps_between

__all__ = ["ExactSearch"]

MOST_VARIABLES = 20  # 130 MB of scores; each further variable doubles them
MOST_FAMILIES = 60_000  # a second or two of counting
MOST_COUNTED = 2 * 10**9  # rows, over all families
KEPT_CELLS = 2**23  # of counted tables, 64 MB

Floats = NDArray[np.float64]
Masks = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class ExactSearch(ScoreSearch):
    """Find the structure with the highest score, for at most 20 variables.

    The result's `is_optimal` is True if no structure within the constraints has a higher score. Otherwise the families
    with many parents were too many to count, and hill climbing went on from the best structure with fewer parents. With
    more than 20 variables the search is `HillClimbing`.

    Of structures with the same score, the start is preferred, then fewer parents. Missing values are filled in first,
    as for `HillClimbing`; the result is then the best for the rows filled in, less the edges that rows with both
    variables do not bear out.

    Parameters
    ----------
    score
        The score to maximise.
    max_parents
        The most parents of a variable. The start and the required edges must keep to it. A limit makes the search fast;
        without one, a penalty that grows with the parents (`BIC`, `AIC`) bounds them.
    required, forbidden
        Edges, `(parent, child)`, that every structure must have, or must not have.
    tiers
        Groups of variables, the earliest first: no edge leads from a later group to an earlier one. Variables in no
        group may be joined to any.
    seed
        The seed of the values that are filled in, and of hill climbing.
    max_families
        The most families to count. Sets of one parent more are counted only if all of them fit. None: 60,000, fewer
        for many rows.

    Notes
    -----
    With at most 3 parents and 1,000 rows, 11 variables take some hundredths of a second, 18 about a second. Memory: 120
    bytes for each set of variables, 130 MB for 20.

    Examples
    --------
    >>> from stream_bayes.core.search.sample import Sample
    >>> columns = {"rain": [0, 1] * 50, "wet": [0, 1] * 50, "day": [0, 0, 1, 1] * 25}
    >>> found = ExactSearch().search(Sample(columns, {"rain": 2, "wet": 2, "day": 2}))
    >>> found.structure, found.is_optimal
    (Structure({'day': (), 'rain': ('wet',), 'wet': ()}), True)
    """

    def single_climb(self) -> HillClimbing:
        return HillClimbing.within(self).single_climb()

    def search_in_slices(
        self,
        scorer: FamilyScorer,
        start: Structure,
        limits: ClimbLimits,
        watching: Watching,
        rng: np.random.Generator | None,
    ) -> Generator[None, None, SearchResult]:
        names = start.variables
        hill = HillClimbing.within(self)
        if not 1 < len(names) <= MOST_VARIABLES:
            return (yield from hill.search_in_slices(scorer, start, limits, watching, rng))
        families = _ParentSets(scorer, limits, self._most_families(scorer), watching)
        yield from families.count()
        begin = columns_of(start, scorer)
        before = scorer.total(begin)
        parents = begin
        if not families.stopped:
            optimum = yield from families.optimum()
            if scorer.total(optimum) > before + ROUNDING * max(abs(before), 1.0):
                parents = optimum
        is_whole = not families.stopped
        result = steps_between(
            scorer,
            start,
            parents,
            families.counted,
            finished=is_whole,
            is_optimal=is_whole and not families.is_cut,
        )
        if result.is_optimal or families.stopped:
            return result
        left = None if self.max_families is None else max(self.max_families - families.counted, 0)
        rest = replace(limits, max_families=left)
        more = yield from hill.search_in_slices(scorer, result.structure, rest, watching, rng)
        return replace(
            more,
            start_score=before,
            path=result.path + more.path,
            difference=start.difference(more.structure),
            families=families.counted,
        )

    def _most_families(self, scorer: FamilyScorer) -> int:
        if self.max_families is not None:
            return self.max_families
        return min(MOST_FAMILIES, MOST_COUNTED // max(len(scorer.sample), 1))


class _ParentSets:
    """The families that an optimal structure may have, each with its score.

    Sets of variables are numbers: the sum of their bits. The set of a child's parents has no bit for the child, so that
    the bits above it move down by one. At most `most` families are counted. `watching` is the caller.
    """

    def __init__(self, scorer: FamilyScorer, limits: ClimbLimits, most: int, watching: Watching) -> None:
        self.scorer, self.watching, self.most = scorer, watching, most
        self.size = len(scorer.sample.variables)
        self.before = scorer.families
        self.required = [np.flatnonzero(limits.required[:, c]).tolist() for c in range(self.size)]
        self.open = [
            np.flatnonzero(limits.allowed[:, c] & ~limits.required[:, c]).tolist() for c in range(self.size)
        ]
        self.max_parents = self.size if limits.max_parents is None else limits.max_parents
        # By child: the sets of parents, and the score of each.
        self.scores: list[dict[int, float]] = [{} for _ in range(self.size)]
        self.stopped = False  # by the caller
        self.is_cut = False  # True if larger sets were too many
        self.rounding = ROUNDING

    @property
    def counted(self) -> int:
        """The number of families counted."""
        return self.scorer.families - self.before

    def count(self) -> Iterator[None]:
        """Count the families, those with few parents first; yield after each child."""
        bounds = self._bounds()
        # Sets of further parents that may be extended, in order of their members, with the best score within each.
        alive: list[dict[tuple[int, ...], float]] = []
        for c in range(self.size):
            score = self.scorer.score(c, self.required[c])
            self.scores[c][_bits(self.required[c])] = score
            alive.append({} if self._is_dead(c, (), score, bounds[c]) else {(): score})
        self.rounding = ROUNDING * max(abs(math.fsum(max(each.values()) for each in self.scores)), 1.0)
        while any(alive):
            plans = [list(self._plan(c, sets)) for c, sets in enumerate(alive)]
            coming = sum(len(further) for plan in plans for _, further in plan)
            if self.counted + coming > self.most:
                self.is_cut = True
                return
            for c, plan in enumerate(plans):
                if self.watching.should_stop():
                    self.stopped = True
                    return
                alive[c] = self._count_child(c, plan, alive[c], bounds[c])
                yield
            self.scorer.release_tables(KEPT_CELLS)
            self.watching.progress(self.counted, math.fsum(max(each.values()) for each in self.scores))

    def _plan(
        self, c: int, alive: dict[tuple[int, ...], float]
    ) -> Iterator[tuple[tuple[int, ...], list[int]]]:
        """Yield each set with the parents to add to it: those after its last whose sets with one less are alive."""
        for members in alive:
            if len(self.required[c]) + len(members) >= self.max_parents:
                continue
            last = members[-1] if members else -1
            further = [
                p
                for p in self.open[c]
                if p > last
                and all((*members[:k], *members[k + 1 :], p) in alive for k in range(len(members)))
            ]
            if further:
                yield members, further

    def _count_child(
        self,
        c: int,
        plan: Sequence[tuple[tuple[int, ...], list[int]]],
        before: dict[tuple[int, ...], float],
        bound: float,
    ) -> dict[tuple[int, ...], float]:
        """Count the planned sets of a child's parents; return those that may be extended."""
        alive: dict[tuple[int, ...], float] = {}
        scores, required = self.scores[c], self.required[c]
        base = _bits(required)
        for members, further in plan:
            mask = base | _bits(members)
            extended = self.scorer.with_each(c, [*required, *members], further).tolist()
            for p, score in zip(further, extended, strict=True):
                whole = (*members, p)
                best = max(before[(*whole[:k], *whole[k + 1 :])] for k in range(len(whole)))
                if score > best:
                    scores[mask | 1 << p] = best = score
                if not self._is_dead(c, whole, best, bound):
                    alive[whole] = best
        return alive

    def _bounds(self) -> list[float]:
        """Return what the score of each child cannot exceed before the penalty: its likelihood with all parents."""
        if any(self.scorer.how.prior(1.0, 1.0)):
            return [0.0] * self.size  # a marginal likelihood is a probability
        likelihood = FamilyScorer(self.scorer.sample, LogLikelihood())
        return [likelihood.score(c, [*self.required[c], *self.open[c]]) for c in range(self.size)]

    def _is_dead(self, c: int, members: Sequence[int], best: float, bound: float) -> bool:
        """Return True if no set that contains this one can be better than the best within it."""
        sample, how = self.scorer.sample, self.scorer.how
        configurations = math.prod(int(sample.sizes[p]) for p in (*self.required[c], *members))
        penalty = how.penalty(float(configurations) * (int(sample.sizes[c]) - 1), sample.weight)
        return best >= bound - penalty

    # -- dynamic programming ------------------------------------------------------------------------------------------

    def optimum(self) -> Generator[None, None, list[list[int]]]:
        """Return the parents of each variable in the best structure of the counted families."""
        size = self.size
        best, chosen = [], []
        for c in range(size):
            scores, sets = self._best_within(c)
            best.append(scores)
            chosen.append(sets)
            yield
        total, last = np.zeros(1 << size), np.zeros(1 << size, np.int8)
        masks = np.arange(1 << size, dtype=np.int32)
        many = np.zeros(1 << size, np.int8)
        for b in range(size):
            many += (masks >> b & 1).astype(np.int8)
        order = np.argsort(many, kind="stable").astype(np.int32)
        begin = np.searchsorted(many[order], np.arange(size + 2))
        for k in range(1, size + 1):
            sets = order[begin[k] : begin[k + 1]]
            score, sink = np.full(len(sets), -np.inf), np.zeros(len(sets), np.int8)
            for c in range(size):
                rows = np.flatnonzero(sets >> c & 1)
                rest = sets[rows] ^ np.int32(1 << c)
                here = total[rest] + best[c][_without(rest, c)]
                better = here > score[rows] + self.rounding
                score[rows[better]], sink[rows[better]] = here[better], c
            total[sets], last[sets] = score, sink
            yield
        parents: list[list[int]] = [[] for _ in range(size)]
        left = (1 << size) - 1
        while left:
            c = int(last[left])
            left ^= 1 << c
            parents[c] = [p for p in range(size) if int(chosen[c][_without(left, c)]) >> p & 1]
        return parents

    def _best_within(self, c: int) -> tuple[Floats, Masks]:
        """Return, for each set of other variables, the best score of a child with parents within it, and these."""
        scores = np.full(1 << (self.size - 1), -np.inf)
        sets = np.zeros(1 << (self.size - 1), np.int32)
        for mask, score in self.scores[c].items():
            subset = _without(mask, c)
            scores[subset], sets[subset] = score, mask
        for b in range(self.size - 1):
            halves, chosen = scores.reshape(-1, 2, 1 << b), sets.reshape(-1, 2, 1 << b)
            less, more = halves[:, 0], halves[:, 1]
            better = less >= more - self.rounding
            np.copyto(more, less, where=better)
            np.copyto(chosen[:, 1], chosen[:, 0], where=better)
        return scores, sets


def _bits(members: Sequence[int]) -> int:
    return sum(1 << member for member in members)


def _without(mask: Masks | int, c: int) -> NDArray[np.int32] | int:
    """Return a set without the bit of a variable that it lacks: the bits above move down."""
    low = (1 << c) - 1
    return (mask & low) | (mask >> 1 & ~low)
