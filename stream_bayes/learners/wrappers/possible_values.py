"""The values that a feature may have, each with the measure by which P(y, x, value) is summed.

Names are enumerated. The joint density of a number is integrated by Gauss and Legendre's rule over pieces that end
where a class has its mean, some deviations away from it, and where the best decision changes; the outer pieces reach
to infinity. A number in bins is uniform within its bin; between bins predictions are read, so these are pieces, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.values.values import shown
from stream_bayes.errors import NotLearned, NotSupported

__all__ = ["weighed_values"]

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(10)
NODES, WEIGHTS = (0.5 * (_POINTS + 1.0)).tolist(), (0.5 * _WEIGHTS).tolist()
DEVIATIONS = (0.7, 1.5, 2.5, 4.0, 7.0, 15.0, 40.0)  # from a mean, where pieces end
HALVINGS = 50  # until a decision's border is as exact as a double
MOST_PIECES = 20_000
EXACT = 1e-6  # relative, of what an integral misses of P(y, x)

ScoreValue = Callable[[Any], NDArray[np.float64]]  # log P(y, x, value) of each class
DecideValue = Callable[[Any], Hashable]  # the best decision after a value


class _Piece(NamedTuple):
    """Numbers from `low` on, at `u` in (0, 1): up to `low + width`; or, where `is_open`, without end."""

    low: float
    width: float
    is_open: bool
    is_bin: bool  # of measure 1, and not of its width

    def at(self, u: float) -> float:
        return self.low + self.width * (u / (1.0 - u) if self.is_open else u)

    def measure(self, u: float) -> float:
        if self.is_bin:
            return 1.0
        return abs(self.width) / ((1.0 - u) ** 2 if self.is_open else 1.0)

    def nodes(self, decide: DecideValue) -> Iterator[tuple[float, float]]:
        """Yield numbers with their measures, by a rule for each part with one decision."""
        tried = [0.0, *NODES, 1.0 - 1e-12]
        decisions = [decide(self.at(u)) for u in tried]
        borders = [0.0, 1.0]
        for (low, before), (high, after) in pairwise(zip(tried, decisions, strict=True)):
            if before != after:
                borders.append(self._border(low, high, before, decide))
        for low, high in pairwise(sorted(borders)):
            for node, weight in zip(NODES, WEIGHTS, strict=True):
                u = low + node * (high - low)
                yield self.at(u), weight * (high - low) * self.measure(u)

    def _border(self, low: float, high: float, before: Hashable, decide: DecideValue) -> float:
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if decide(self.at(middle)) == before:
                low = middle
            else:
                high = middle
        return high


def weighed_values(
    model: Any, x: Mapping[Any, Any], feature: Any, score: ScoreValue, decide: DecideValue
) -> list[tuple[Any, float]]:
    """Return the values of a feature that is known to a classifier with P(y, x), each with its measure.

    Raises
    ------
    NotLearned
        If no value of it holds samples, or its cut points are not set yet.
    NotSupported
        If the integral of P(y, x, number) is not P(y, x).
    """
    store = model.store
    entry = store.encoder.features[feature]
    if not entry.measured:
        return [(value, 1.0) for value in _occupied(model, entry, entry.vocabulary.values)]
    if store.encoder.bins is not None:
        return _binned(model, entry, decide)
    expected = np.array(list(model.joint_log_likelihood(x).values()))
    pieces, is_sparse = _pieces(model, entry)
    while True:
        values = [each for piece in pieces for each in piece.nodes(decide)]
        # That a number which most events lack is there is evidence, so that its density does not sum to P(y, x).
        if is_sparse or _is_whole(expected, score, values):
            return values
        # Given other numbers that go with this one, its density may be far narrower than any class.
        pieces = [part for piece in pieces for part in _halves(piece)]
        if len(pieces) > MOST_PIECES:
            raise NotSupported(
                f"{shown(feature)} is all but given by the other numbers: its density is too narrow to be integrated"
            )


def _occupied(model: Any, entry: Any, values: Any) -> list[Any]:
    tables = model.store.tables.values
    occupied = np.asarray(tables.occupied)[tables.layout.start[entry.slot] :]
    there = [value for code, value in enumerate(values) if occupied[code]]
    if not there:
        raise NotLearned(f"no value of {shown(entry.name)} holds samples")
    return there


def _binned(model: Any, entry: Any, decide: DecideValue) -> list[tuple[float, float]]:
    bins = model.store.encoder.bins
    cuts, edges = bins.cuts.get(entry.slot), bins.edges.get(entry.slot)
    if cuts is None:
        raise NotLearned(
            f"the cut points of {shown(entry.name)} are not set yet: learn more events, or declare them in a schema, "
            "Numeric(cuts=[...])"
        )
    if edges is None:  # read as they were counted: any number of a bin is like all others
        before_all = math.nextafter(cuts[0], -math.inf) if cuts else 0.0
        return [(number, 1.0) for number in _occupied(model, entry, [before_all, *cuts])]
    ends = [edges[0], *cuts, edges[1]]
    pieces = [_Piece(low, max(high - low, 0.0), False, True) for low, high in pairwise(ends)]
    return [each for piece in _occupied(model, entry, pieces) for each in piece.nodes(decide)]


def _pieces(model: Any, entry: Any) -> tuple[list[_Piece], bool]:
    """Return pieces of the line around the numbers of each class, and whether most events have none."""
    tables = model.store.tables
    numbers, unit = tables.gaussians, tables.unit
    numbers.settle_all()
    cells = [entry.slot * numbers.classes + label for label in range(tables.labels)]
    moments = [
        (numbers.weight[cell] / unit, numbers.mean[cell], max(0.0, numbers.m2[cell] / unit))
        for cell in cells
        if numbers.weight[cell] > 0.0
    ]
    if not moments:
        raise NotLearned(f"no value of {shown(entry.name)} holds samples")
    total = math.fsum(weight for weight, _, _ in moments)
    center = math.fsum(weight * mean for weight, mean, _ in moments) / total
    spread = math.fsum(m2 + weight * (mean - center) ** 2 for weight, mean, m2 in moments) / total
    ends = set()
    for weight, mean, m2 in [*moments, (total, center, spread * total)]:
        # Of the class, and of its posterior, which are alike but for few events, or equal ones.
        variances = {m2 / weight, (spread + m2) / (weight + 1.0)}
        if max(variances) < 2.0 * min(variances):
            variances.pop()
        for variance in variances:
            ends |= {mean + side * away * math.sqrt(variance) for away in DEVIATIONS for side in (-1.0, 1.0)}
    line = sorted(ends | {mean for _, mean, _ in moments})
    width = max(line[-1] - line[0], abs(center) * 1e-9, 1e-290)
    inner = [_Piece(low, high - low, False, False) for low, high in pairwise(line)]
    is_sparse = tables.co_moments is None and 2.0 * total < math.fsum(tables.class_weight) / unit
    return [_Piece(line[0], -width, True, False), *inner, _Piece(line[-1], width, True, False)], is_sparse


def _halves(piece: _Piece) -> list[_Piece]:
    if piece.is_open:
        return [piece]
    half = 0.5 * piece.width
    return [piece._replace(width=half), piece._replace(low=piece.low + half, width=half)]


def _is_whole(expected: NDArray[np.float64], score: ScoreValue, values: list[tuple[float, float]]) -> bool:
    """Return True if the densities sum to P(y, x), as far as that matters."""
    best = expected.max()
    summed = sum(measure * np.exp(score(number) - best) for number, measure in values)
    return bool(np.abs(summed - np.exp(expected - best)).max() <= EXACT)
