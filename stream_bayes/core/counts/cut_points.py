"""Cut points of a numeric feature from the numbers seen so far: by quantiles, by widths, or by the classes.

The numbers are given in ascending order, with their weights and labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts._quantiles import edges_beyond, quantile_cuts

__all__ = [
    "METHODS",
    "bin_names",
    "cut_quantiles",
    "cut_supervised",
    "cut_widths",
    "outer_edges",
]

Floats = NDArray[np.float64]


def cut_quantiles(values: Floats, weights: Floats, labels: NDArray[np.int32], bins: int) -> list[float]:
    """Cuts that leave about equal weight between them, in the gaps between distinct values; one in every gap if there
    are few.

    Examples
    --------
    >>> import numpy as np
    >>> cut_quantiles(np.array([1.0, 2, 3, 4]), np.ones(4), np.zeros(4, np.int32), 2)
    [2.5]
    """
    return quantile_cuts(np.ascontiguousarray(values), np.ascontiguousarray(weights), bins)


def cut_widths(values: Floats, weights: Floats, labels: NDArray[np.int32], bins: int) -> list[float]:
    """Cuts at equal distances between the least and the greatest value; one in every gap if there are few.

    Examples
    --------
    >>> import numpy as np
    >>> cut_widths(np.array([0.0, 1, 2, 3, 8]), np.ones(5), np.zeros(5, np.int32), 4)
    [2.0, 4.0, 6.0]
    """
    distinct = values[_distinct_starts(values)]
    if len(distinct) <= bins:
        return [float(gap) for gap in _gaps(distinct)]
    inner = np.linspace(distinct[0], distinct[-1], bins + 1)[1:-1]
    return [float(cut) for cut in np.unique(inner)]


def cut_supervised(values: Floats, weights: Floats, labels: NDArray[np.int32], bins: int) -> list[float]:
    """Fayyad and Irani's cuts: the best split of the classes, again in both parts, as long as it pays its description.

    Examples
    --------
    >>> import numpy as np
    >>> values, labels = np.arange(20.0), np.repeat([0, 1], 10).astype(np.int32)
    >>> cut_supervised(values, np.ones(20), labels, 8)
    [9.5]
    """
    starts = _distinct_starts(values)
    gaps = _gaps(values[starts])
    counts = np.zeros((len(starts), int(labels.max(initial=0)) + 1))
    rank = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(values)))  # of each number's value
    np.add.at(counts, (rank, labels), weights)
    splits: list[tuple[float, int]] = []  # the total gain of the split, and its gap
    parts = [(0, len(starts))]
    while parts:
        first, last = parts.pop()
        split = _best_split(counts[first:last])
        if split is not None:
            gain, gap = split
            splits.append((gain, first + gap))
            parts += [(first, first + gap + 1), (first + gap + 1, last)]
    best = sorted(splits, key=lambda split: (-split[0], split[1]))[: bins - 1]
    return sorted(float(gaps[gap]) for _, gap in best)


def _best_split(counts: NDArray[np.float64]) -> tuple[float, int] | None:
    """Return the gain times the weight, and the gap, of the best split of ordered values; None if no split pays."""
    if len(counts) < 2:
        return None
    left = np.cumsum(counts, axis=0)[:-1]
    whole = counts.sum(axis=0)
    right = whole - left
    weight = whole.sum()
    inside = (left.sum(axis=1) * _entropy(left) + right.sum(axis=1) * _entropy(right)) / weight
    gap = int(inside.argmin())
    entropy = float(_entropy(whole[None])[0])
    gain = entropy - float(inside[gap])
    kinds = int((whole > 0).sum())
    parts = [(int((side[gap] > 0).sum()), float(_entropy(side[gap][None])[0])) for side in (left, right)]
    delta = math.log2(3.0**kinds - 2.0) - kinds * entropy + sum(k * e for k, e in parts)
    if weight < 2.0 or gain <= (math.log2(weight - 1.0) + delta) / weight:
        return None
    return gain * float(weight), gap


def _entropy(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entropy of each row, in bits."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    return -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1)


def _distinct_starts(values: Floats) -> NDArray[np.int64]:
    """Return the places at which ascending numbers change, the first included."""
    changes = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return np.flatnonzero(changes)


def _gaps(distinct: Floats) -> Floats:
    """Return the middles between neighbours; the upper neighbour if rounding puts a middle on the lower one."""
    middles: Floats = distinct[:-1] / 2.0 + distinct[1:] / 2.0
    return np.where(middles > distinct[:-1], middles, distinct[1:])


METHODS: Mapping[str, Callable[[Floats, Floats, NDArray[np.int32], int], list[float]]] = {
    "quantile": cut_quantiles,
    "equal-width": cut_widths,
    "mdl": cut_supervised,
}


def outer_edges(values: Floats, weights: Floats, cuts: Sequence[float]) -> tuple[float, float]:
    """Return the outer edges of the end bins, for reading between bins: their medians are their middles."""
    if not cuts:
        return float(values[0]), float(values[-1])
    return edges_beyond(np.ascontiguousarray(values), np.ascontiguousarray(weights), cuts[0], cuts[-1])


def bin_names(cuts: Sequence[float]) -> list[str]:
    """Return the names of the bins: `[low, high)`.

    Examples
    --------
    >>> bin_names([0.5, 2.0])
    ['(-inf, 0.5)', '[0.5, 2.0)', '[2.0, inf)']
    """
    edges = ["-inf", *[repr(float(cut)) for cut in cuts], "inf"]
    names = [f"[{low}, {high})" for low, high in pairwise(edges)]
    names[0] = "(" + names[0][1:]
    return names
