"""Scores of families over names and numbers, for `HillClimbing` and `BOSS`.

    marginal likelihood   names: Dirichlet, `strength` for each configuration; numbers: normal-inverse-Wishart, the
                          prior of `core.live_networks.mixed_families`; so a family's score is the log-probability of
                          the values that a network learns, each predicted from those before it
    BIC                   the log-likelihood at its maximum, less half the logarithm of the rows for each parameter

Numbers of a configuration are one Gaussian, so the score of a number given others is that of all less that of its
parents. It is the same for all structures over numbers with the same independences.

A number above a name is cut, where `edge_cuts` has it unless its cuts are declared. Found cuts cost what
`EdgeCuts` has.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts.edge_cuts import EdgeCuts, edge_cuts
from stream_bayes.core.live_networks._numeric_family import LIGHT
from stream_bayes.core.live_networks.family_sums import Cuts
from stream_bayes.core.live_networks.mixed_counts import Declared
from stream_bayes.core.networks.structure import Structure
from stream_bayes.core.search import _counting, _linear_scores
from stream_bayes.core.search.hill_climbing import HillClimbing
from stream_bayes.core.search.order_search import BOSS
from stream_bayes.core.search.search_result import SearchResult
from stream_bayes.core.values.values import Value, name_order

__all__ = ["MixedSample", "MixedScorer", "search_mixed"]

Floats = NDArray[np.float64]
GroupColumn = int | tuple[int, int]  # of a name; or of the bins of a number above a name
MOST_EMPTY = 256  # configurations; of more, those that occur are numbered
WEAKEST = 3  # parents, of which one is the last
# Part of the variance of the variable alone, for BIC: what follows from others has no likelihood at a maximum.
LEAST_VARIANCE = 1e-9


@dataclass(frozen=True)
class MixedSample:
    """Rows of events: `codes` of each nominal variable, `numbers` of the others, by column; of a column with gaps,
    `present` has the rows that it is in.

    Names that occur once share a code: of each alone nothing is learned, and apart they would seem to depend on
    whatever tells rows apart.

    `declared` has the cuts of numbers of which they are declared.
    """

    variables: tuple[Value, ...]
    codes: dict[int, NDArray[np.int64]]
    sizes: dict[int, int]
    numbers: dict[int, Floats]
    declared: dict[int, Cuts]
    present: dict[int, NDArray[np.bool_]]

    @classmethod
    def of(
        cls,
        rows: Sequence[Mapping[Value, Any]],
        kinds: Mapping[Value, bool],
        declared: Declared,
    ) -> Self:
        """Return the sample of rows over the variables of `kinds`, `{variable: True if numeric}`, which have values."""
        variables = tuple(sorted(kinds, key=name_order))
        columns: dict[int, list[Any]] = {}
        gaps: dict[int, NDArray[np.bool_]] = {}
        for k, v in enumerate(variables):
            columns[k] = [values[v] for values in rows if v in values]
            if len(columns[k]) < len(rows):
                gaps[k] = np.array([v in values for values in rows], bool)

        def among_gaps(k: int, values: list[Any], kind: type) -> NDArray[Any]:
            """Return a column with values in the rows that have it, and 0 in the others."""
            if k not in gaps:
                return np.array(values, kind)
            column: NDArray[Any] = np.zeros(len(rows), kind)
            column[gaps[k]] = values
            return column

        numbers = {k: among_gaps(k, columns[k], np.float64) for k, v in enumerate(variables) if kinds[v]}
        codes, sizes = {}, {}
        for k, v in enumerate(variables):
            if not kinds[v]:
                times = Counter(columns[k])
                named = {value for value in times if times[value] > 1} | {*declared.states.get(v, ())}
                code = {value: number for number, value in enumerate(sorted(named, key=name_order))}
                once = len(code)  # the code of all that occur once
                codes[k] = among_gaps(k, [code.get(value, once) for value in columns[k]], np.int64)
                sizes[k] = once + (len(named) < len({*named, *times}))
        cuts = {k: declared.cuts[v] for k, v in enumerate(variables) if v in declared.cuts}
        return cls(variables, codes, sizes, numbers, cuts, gaps)

    def part(self, columns: Iterable[int]) -> Self:
        """Return the sample of some columns, over the rows that have all of them."""
        columns = [*columns]
        rows = np.ones(len(self), bool)
        for k in columns:
            rows &= self.present.get(k, True)
        return replace(
            self,
            codes={k: self.codes[k][rows] for k in columns if k in self.codes},
            numbers={k: self.numbers[k][rows] for k in columns if k in self.numbers},
            present={},
        )

    def __len__(self) -> int:
        return len(next(iter((*self.codes.values(), *self.numbers.values())), ()))


class MixedScorer:
    """Scores of families of one mixed sample, each computed once. `strength` is the weight of the prior, in events; 0
    for BIC.

    A family with gaps has the score of its child alone over the rows that have it, and what its parents add, one after
    the other: each gain is that over the rows that have all so far, taken for as many as have the child. Of the orders
    the one with the least score counts, so that no parent is added for a gain over other rows than those it has. The
    last parent is one of the three that add the least to the others: of many parents, all orders are too many.
    """

    def __init__(self, sample: MixedSample, strength: float, whole: MixedScorer | None = None) -> None:
        self.sample = sample
        self.strength = strength
        self._whole = whole  # of which this scores some rows
        self.families = 0
        self._parts: dict[frozenset[int], MixedScorer] = {}
        self._scores: dict[tuple[int, frozenset[int]], float] = {}
        self._groups: dict[tuple[GroupColumn, ...], tuple[NDArray[np.int64], int]] = {}
        self._cuts: dict[tuple[int, int], EdgeCuts] = {}
        self._bins: dict[tuple[int, int], NDArray[np.int64]] = {}
        numbers = {k: _Scaled.of(column) for k, column in sample.numbers.items() if k not in sample.present}
        self._spread = {k: column.spread for k, column in numbers.items()}
        # Nothing depends on a number that does not differ; it would make up for the prior of the mean.
        self._constant = {k for k, column in numbers.items() if column.is_constant}
        self._scaled = (
            np.stack([column.values for column in numbers.values()]) if numbers else np.empty((0, 0))
        )
        self._line = {k: line for line, k in enumerate(numbers)}

    def score(self, child: int, parents: Sequence[int]) -> float:
        """Return the score of a child with these parents."""
        key = child, frozenset(parents)
        if key not in self._scores:
            self.families += 1
            if not self.sample.present.keys().isdisjoint((child, *parents)):
                self._scores[key] = self._over_gaps(child, parents)
                return self._scores[key]
            names = sorted(p for p in parents if p in self.sample.codes)
            numbers = sorted(p for p in parents if p in self.sample.numbers and p not in self._constant)
            if child in self.sample.codes:
                cost = math.fsum(self.cuts(p, child).cost for p in numbers)
                self._scores[key] = self._name(child, (*names, *((p, child) for p in numbers))) - cost
            else:
                self._scores[key] = self._number(child, tuple(names), numbers)
        return self._scores[key]

    def _over_gaps(self, child: int, parents: Sequence[int]) -> float:
        if not parents:
            alone = self._part([child])
            return alone.score(child, ()) if len(alone.sample) else 0.0
        part = self._part([child, *parents])
        if len(part.sample) < 2:
            return self.score(child, ())
        share = len(part.sample) / len(self._part([child]).sample)
        whole = part.score(child, parents)
        rests = [[p for p in sorted(parents) if p != each] for each in sorted(parents)]
        rests.sort(key=lambda rest: part.score(child, rest), reverse=True)
        return min(
            self.score(child, rest) + (whole - part.score(child, rest)) / share for rest in rests[:WEAKEST]
        )

    def _part(self, columns: Sequence[int]) -> MixedScorer:
        """Return the scorer over the rows that have some columns."""
        key = frozenset(columns)
        if key not in self._parts:
            self._parts[key] = MixedScorer(self.sample.part(sorted(key)), self.strength, self)
        return self._parts[key]

    def with_each(self, child: int, parents: Sequence[int], candidates: Sequence[int]) -> Floats:
        """Return the scores of a child with these parents and each candidate in turn."""
        return np.array([self.score(child, [*parents, candidate]) for candidate in candidates])

    def total(self, parents: Sequence[Sequence[int]]) -> float:
        """Return the score of a whole structure: each variable's parents."""
        return math.fsum(self.score(child, above) for child, above in enumerate(parents))

    def cuts(self, parent: int, child: int) -> EdgeCuts:
        """Return the cuts of a number above a name, over all rows that have both; declared ones cost nothing."""
        if self._whole is not None:
            return self._whole.cuts(parent, child)
        edge, sample = (parent, child), self.sample
        if parent in sample.declared:
            return EdgeCuts(sample.declared[parent], 0.0)
        if edge not in self._cuts:
            rows = sample.part(edge)
            numbers, codes, weights = rows.numbers[parent], rows.codes[child], np.ones(len(rows))
            self._cuts[edge] = edge_cuts(numbers, codes, weights, rows.sizes[child], self.strength or 1.0)
        return self._cuts[edge]

    def _coded(self, column: GroupColumn) -> tuple[NDArray[np.int64], int]:
        """Return the codes of a name, or of a number's bins above a name, and how many there are."""
        if isinstance(column, int):
            return self.sample.codes[column], self.sample.sizes[column]
        cuts = self.cuts(*column).cuts
        if column not in self._bins:
            self._bins[column] = np.searchsorted(cuts, self.sample.numbers[column[0]], side="right")
        return self._bins[column], len(cuts) + 1

    def _grouped(self, names: tuple[GroupColumn, ...]) -> tuple[NDArray[np.int64], int]:
        """Return the number of the configuration in each row, and how many there are; few of many may occur."""
        if names not in self._groups:
            if not names:
                return np.zeros(len(self.sample), np.int64), 1
            (number, many), (codes, size) = self._grouped(names[:-1]), self._coded(names[-1])
            number, many = number * size + codes, many * size
            if many > MOST_EMPTY:
                occurs = np.bincount(number, minlength=many) > 0
                number, many = (np.cumsum(occurs) - 1)[number], int(occurs.sum())
            self._groups[names] = number, many
        return self._groups[names]

    def _name(self, child: int, names: tuple[GroupColumn, ...]) -> float:
        number, many = self._grouped(names)
        values, rows = self.sample.sizes[child], len(self.sample)
        table = np.bincount(number * values + self.sample.codes[child], minlength=many * values)
        prior = self.strength / values, self.strength
        fit: float = _counting.score_family(table.astype(np.float64), 0, many, values, *prior)
        if self.strength:
            return fit
        configurations = math.prod(self._coded(p)[1] for p in names)
        return fit - 0.5 * math.log(rows) * configurations * (values - 1)

    def _number(self, child: int, names: tuple[int, ...], numbers: list[int]) -> float:
        number, many = self._grouped(names)
        rows, size = len(number), len(numbers) + 1
        members = np.array([self._line[k] for k in (*numbers, child)], np.longlong)
        room = np.zeros(many), np.zeros((many, size)), np.zeros((many, size, size))
        columns = self._scaled, members, number.astype(np.intc)
        units: float = rows * math.log(self._spread[child])
        if self.strength:
            prior = LIGHT * self.strength
            fit: float = _linear_scores.marginal_likelihood(*columns, prior, self.strength, *room)
            return fit - units
        parameters = math.prod(self.sample.sizes[p] for p in names) * (size + 1)
        fit = _linear_scores.greatest_likelihood(*columns, LEAST_VARIANCE, *room)
        return fit - 0.5 * math.log(rows) * parameters - units


class _Scaled(NamedTuple):
    """A column of numbers less their mean, in deviations."""

    values: Floats
    spread: float  # of numbers that do not differ, as `MixedCounts.marginal` has it; 1 of none
    is_constant: bool  # numbers do not differ, but for rounding, or there are none

    @classmethod
    def of(cls, column: Floats) -> Self:
        """Return the column of some numbers."""
        if not column.size:
            return cls(column, 1.0, True)
        mean = float(column.mean())
        away = column - mean
        spread = math.sqrt(float(away @ away) / column.size)
        if is_constant := spread <= 1e-9 * abs(mean):
            spread = 1e-3 * abs(mean) or 1.0
        return cls(away / spread, spread, is_constant)


def search_mixed(search: HillClimbing | BOSS, scorer: MixedScorer) -> SearchResult:
    """Search over names and numbers: first without numbers above names, then from there with them.

    A name above a number needs no cuts and generalises better; where its direction is ruled out, or is required to be
    the other one, a number may be above a name from the start.
    """
    names = scorer.sample.variables
    is_number = np.array([k in scorer.sample.numbers for k in range(len(names))])
    cut = is_number[:, None] & ~is_number[None, :]
    first = search.search_families(scorer, later=cut & search.allowed(names).T)
    second = search.single_climb().search_families(scorer, first.structure)
    return replace(
        second,
        start_score=first.start_score,
        path=(*first.path, *second.path),
        difference=Structure.from_edges(search.required, names).difference(second.structure),
        families=first.families + second.families,
    )
