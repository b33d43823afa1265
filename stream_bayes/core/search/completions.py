"""Samples without gaps: missing values are drawn given the values that a row has, several times, and stacked.

    1. each missing value is drawn by how often its variable has each value
    2. a graph with many edges, by AIC, is found in the rows as they are filled in now
    3. Gibbs sampling: each missing value is drawn again given its Markov blanket, by the tables of that graph,
       which are counted again after each sweep                                            2. and 3. three times
    4. some of the last sweeps are kept; together they are the sample

So families of all sizes are counted over the same rows: each over its own complete rows, a family would win or lose for
the rows that it has. The graph has to be rich, as an association that it lacks is diluted by what is drawn. Values have
to be missing at random: the chance that one is missing may depend on values that are there, not on itself.

Filled-in values repeat what the others show. An association that chance makes in the rows with both variables looks as
sure as if all rows had them. `without_unsure` weighs each edge by the rows that have both, and drops it if that is not
enough.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.networks.equivalence import Edge
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search.climb import GAMMA, MASK, Climb, ClimbLimits, finished
from stream_bayes.core.search.family_scorer import FamilyScorer
from stream_bayes.core.search.sample import Sample
from stream_bayes.core.search.scores import AIC
from stream_bayes.core.search.search_result import Move, SearchResult

__all__ = ["completed", "completing", "without_unsure"]

ROUNDS = 3  # graphs found, each with its sweeps
SWEEPS = 8  # until the values that are filled in follow the graph
BETWEEN = 2  # sweeps between two that are kept
KEPT = 5  # at least: completions that are stacked
MANY_ROWS = 20_000  # smaller samples are filled in several times at once, so that the tables are more exact
MOST_AT_ONCE = 10
MOST_CELLS = 2**20  # probabilities computed at a time
SMOOTHING = 1.0  # samples in each row of a table, as the variable's values are distributed

Configurations64 = NDArray[np.int64]
Floats = NDArray[np.float64]


def completed(sample: Sample, seed: int = 0) -> Sample:
    """Return a sample without gaps; the sample itself if it has none. Values are missing at random. `seed` is that of
    the values that are filled in.

    Examples
    --------
    >>> gappy = Sample({"a": [0, 1, 0, -1] * 50, "b": [0, 1, -1, 1] * 50}, {"a": 2, "b": 2})
    >>> whole = completed(gappy)
    >>> len(whole) // len(gappy), whole.has_gaps, round(whole.weight, 6)
    (10, False, 200.0)
    """
    return finished(completing(sample, seed))


def completing(sample: Sample, seed: int = 0) -> Generator[None, None, Sample]:
    """Return what `completed` returns as the value of a generator; yield after each slice of work."""
    if not sample.has_gaps:
        return sample
    filled = _Filling(sample, _Uniforms(seed))
    for number in range(ROUNDS):
        yield from filled.find_graph()
        for _ in range(SWEEPS):
            yield from filled.sweep()
        if number < ROUNDS - 1:
            continue
        draws = []
        for _ in range(-(-KEPT // filled.times)):
            for _ in range(BETWEEN):
                yield from filled.sweep()
            draws.append(filled.codes.astype(sample.codes.dtype))
    weights = np.tile(filled.weights / len(draws), len(draws))
    return sample.replaced(np.ascontiguousarray(np.concatenate(draws)), weights)


class _Filling:
    """Rows whose missing values are filled in, and the graph by which they are drawn."""

    def __init__(self, sample: Sample, uniforms: _Uniforms) -> None:
        self.sample, self.uniforms = sample, uniforms
        self.sizes: list[int] = sample.sizes.tolist()
        self.times = min(max(-(-MANY_ROWS // len(sample)), 1), MOST_AT_ONCE)
        self.weights = np.tile(sample.weights / self.times, self.times)
        self.codes: Configurations64 = np.tile(sample.codes.astype(np.int64), (self.times, 1))
        self.gaps = [np.flatnonzero(self.codes[:, v] >= size) for v, size in enumerate(self.sizes)]
        self.parents: list[list[int]] = [[] for _ in self.sizes]
        self.children: list[list[int]] = [[] for _ in self.sizes]
        for v, size in enumerate(self.sizes):
            self.codes[self.gaps[v], v] = 0
            there = np.ones(len(self.codes), bool)
            there[self.gaps[v]] = False
            shares = np.bincount(self.codes[there, v], self.weights[there], size)
            shares = shares / shares.sum() if shares.sum() > 0.0 else np.full(size, 1.0 / size)
            drawn = np.searchsorted(shares.cumsum(), uniforms.draw(len(self.gaps[v])), "right")
            self.codes[self.gaps[v], v] = np.minimum(drawn, size - 1)

    def find_graph(self) -> Generator[None, None, None]:
        """Find a graph with many edges in the rows as they are filled in now."""
        rows = self.sample.replaced(self.codes.astype(self.sample.codes.dtype), self.weights)
        names, size = rows.variables, len(rows.variables)
        limits = ClimbLimits(~np.eye(size, dtype=bool), np.zeros((size, size), bool))
        climb = Climb(FamilyScorer(rows, AIC()), Structure.from_edges((), names), limits)
        yield from climb.run()
        self.parents = [np.flatnonzero(climb.has[:, v]).tolist() for v in range(size)]
        self.children = [np.flatnonzero(climb.has[v]).tolist() for v in range(size)]

    def sweep(self) -> Generator[None, None, None]:
        """Draw each missing value again; yield after each variable."""
        needed = {v for v, rows in enumerate(self.gaps) if len(rows)}
        tables = {v: self._table(v) for v in {child for v in needed for child in (v, *self.children[v])}}
        for v in sorted(needed):
            most = max(MOST_CELLS // self.sizes[v], 1)
            for first in range(0, len(self.gaps[v]), most):
                self._draw(v, self.gaps[v][first : first + most], tables)
            yield

    def _table(self, v: int) -> Floats:
        """Return log P(variable | parents): a row for each configuration of the parents, a column for each value."""
        size = self.sizes[v]
        rows = self._configuration(v, slice(None))
        count = int(np.prod([self.sizes[p] for p in self.parents[v]], dtype=np.int64))
        table = np.bincount(rows * size + self.codes[:, v], self.weights, count * size).reshape(count, size)
        alone = table.sum(axis=0) + 1.0 / size
        table = table + SMOOTHING * alone / alone.sum()
        return np.log(table / table.sum(axis=1, keepdims=True))

    def _configuration(self, v: int, rows: NDArray[np.intp] | slice, without: int = -1) -> Configurations64:
        """Return the number of the parents' configuration in some rows, with the value 0 of one of them."""
        numbers = np.zeros(len(self.codes[rows]), np.int64)
        for p in self.parents[v]:
            numbers *= self.sizes[p]
            if p != without:
                numbers += self.codes[rows, p]
        return numbers

    def _draw(self, v: int, rows: NDArray[np.intp], tables: dict[int, Floats]) -> None:
        """Draw a variable's value in some rows given all other variables."""
        logs = tables[v][self._configuration(v, rows)]
        for child in self.children[v]:
            after = self.parents[child][self.parents[child].index(v) + 1 :]
            step = int(np.prod([self.sizes[p] for p in after], dtype=np.int64))
            first, value = self._configuration(child, rows, v), self.codes[rows, child]
            for code in range(self.sizes[v]):
                logs[:, code] += tables[child][first + step * code, value]
        shares = np.exp(logs - logs.max(axis=1, keepdims=True)).cumsum(axis=1)
        drawn = self.uniforms.draw(len(rows)) * shares[:, -1]
        self.codes[rows, v] = np.minimum((drawn[:, None] >= shares).sum(axis=1), self.sizes[v] - 1)


class _Uniforms:
    """Numbers from 0 to below 1 from a seed, the same on every machine: SplitMix64, as `Draws`, many at a time."""

    def __init__(self, seed: int) -> None:
        self._state = np.array([seed & MASK], np.uint64)

    def draw(self, number: int) -> Floats:
        """Draw a number of numbers."""
        steps = self._state + np.arange(1, number + 1, dtype=np.uint64) * np.uint64(GAMMA)
        self._state = self._state + np.array([number], np.uint64) * np.uint64(GAMMA)
        z = (steps ^ (steps >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def without_unsure(
    result: SearchResult, start: Structure, scorer: FamilyScorer, required: Iterable[Edge] = ()
) -> SearchResult:
    """Return a result without the edges that the rows with both of their variables do not bear out.

    The worst edge goes first, until each that is left raises the score of its child when all rows together weigh as
    much as those with both variables. Required edges stay. `start` is the structure from which the search began.
    """
    sample = scorer.sample
    both = sample.both_present
    if both is None:
        return result
    names, fixed = sample.variables, set(required)
    parents = {v: [sample.place(p) for p in result.structure.parents(name)] for v, name in enumerate(names)}
    scorers: dict[float, FamilyScorer] = {}

    def gain(child: int, parent: int) -> float:
        share = float(both[child, parent])
        if share not in scorers:
            scorers[share] = FamilyScorer(sample.weighed(sample.weights * share), scorer.how)
        rest = [p for p in parents[child] if p != parent]
        return scorers[share].score(child, parents[child]) - scorers[share].score(child, rest)

    path, score = list(result.path), result.score
    gains = {(p, v): gain(v, p) for v in parents for p in parents[v] if (names[p], names[v]) not in fixed}
    while gains and min(gains.values()) <= 0.0:
        parent, child = min(gains, key=lambda edge: (gains[edge], edge))
        before = scorer.score(child, parents[child])
        parents[child].remove(parent)
        lost = scorer.score(child, parents[child]) - before
        path.append(Move("remove", names[parent], names[child], lost))
        score += lost
        del gains[parent, child]
        gains.update({(p, child): gain(child, p) for p in parents[child] if (p, child) in gains})
    if len(path) == len(result.path):
        return result
    structure = Structure({names[v]: [names[p] for p in above] for v, above in parents.items()})
    return replace(
        result,
        structure=structure,
        score=score,
        path=tuple(path),
        difference=start.difference(structure),
    )
