"""Regression trees: the cuts of their bins, and their state as arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.regression._tree import BINS, MOST_LEAVES, RegressionTree
from stream_bayes.core.values.checks import expect

__all__ = [
    "FAR_IN_ROW",
    "FAR_TARGET",
    "MOST_IN_TREE",
    "cuts_of",
    "deviation_of",
    "load_tree",
    "most_correlated",
    "tree_arrays",
    "unit_of",
]

CONSTANT = 1e-12  # deviation of a number, relative to its size: less is rounding
# Deviations of the other targets: one that lies farther away counts as that far, and has no part in their unit.
FAR_TARGET = 200.0
# Of so many targets one may be an error; of a quarter as many as well, of fewer none.
ERRORS_AMONG = 64
FAR_IN_ROW = 8  # events that lie far away before their unit counts as a new one
MOST_IN_TREE = 14  # columns beside the 1: an event costs their square, and at times their cube

Floats = NDArray[np.float64]
Array = NDArray[Any]

_OF_NODES = ("column", "at", "low", "high")
_OF_LEAVES = ("count", "heft", "weight", "sums")


def deviation_of(values: Floats) -> float:
    """Return the deviation of values, 0.0 if it is within their rounding."""
    deviation, size = float(np.std(values)), float(np.max(np.abs(values)))
    return deviation if deviation > CONSTANT * size else 0.0


def unit_of(targets: Floats) -> tuple[float, float]:
    """Return mean and deviation of targets, but for a few that lie far from all others.

    Examples
    --------
    >>> unit_of(np.array([1.0, 3.0] * 20 + [1e9]))
    (2.0, 1.0)
    """
    errors = max(len(targets) // ERRORS_AMONG, int(len(targets) >= ERRORS_AMONG // 4))
    apart = np.abs(targets - np.median(targets))
    others = targets[np.argsort(apart, kind="stable")[: len(targets) - errors]]
    deviation = deviation_of(others)
    if deviation > 0.0:
        targets = targets[np.abs(targets - np.mean(others)) <= FAR_TARGET * deviation]
    return float(np.mean(targets)), deviation_of(targets)


def most_correlated(columns: Floats, targets: Floats, count: int) -> list[int]:
    """Return the columns that vary most with the target, at most so many, in the order that they are in."""
    if columns.shape[1] <= count:
        return [*range(columns.shape[1])]
    apart = columns - columns.mean(axis=0)
    size = np.sqrt((apart**2).sum(axis=0))
    strength = np.abs((targets - targets.mean()) @ apart) / np.where(size > 0.0, size, np.inf)
    return sorted(np.argsort(-strength, kind="stable")[:count].tolist())


def cuts_of(columns: Floats) -> Floats:
    """Return the ends of bins for a 1 and some columns: between their values, or at quantiles if they have more."""
    cuts = np.full((1 + columns.shape[1], BINS - 1), math.inf)
    for k, column in enumerate(columns.T, 1):
        distinct = np.unique(column)
        ends = 0.5 * (distinct[1:] + distinct[:-1])
        if len(ends) >= BINS:
            ends = np.unique(np.quantile(column, np.arange(1, BINS) / BINS))
        cuts[k, : len(ends)] = ends
    return cuts


def tree_arrays(tree: RegressionTree) -> dict[str, Array]:
    """Return copies of a tree's arrays, by name."""
    size = tree.columns + 1
    upper = np.triu_indices(size)
    roots = [np.asarray(each.root).reshape(size, size)[upper] for each in tree.regressions]
    arrays = {"tree_cuts": np.array(tree.cuts), "tree_roots": np.array(roots)}
    arrays |= {f"tree_{name}": np.array(getattr(tree, name)[: tree.nodes]) for name in _OF_NODES}
    arrays |= {f"tree_{name}": np.array(getattr(tree, name)[: tree.leaves]) for name in _OF_LEAVES}
    # One object for each type, as the bytes of a pickle depend on which are the same.
    return {name: _of_one_type(array) for name, array in arrays.items()}


def _of_one_type(array: Array) -> Array:
    made: Array = np.empty(array.shape, np.int64 if array.dtype.kind == "i" else np.float64)
    made[...] = array
    return made


def load_tree(saved: Mapping[str, Array], columns: int, half_life: float) -> RegressionTree:
    """Return the tree over some columns, the 1 included, whose arrays `tree_arrays` returned.

    Raises
    ------
    BadState
        If they do not fit together, or hold what no tree can have.
    """
    cuts = saved["tree_cuts"]
    expect(cuts.shape == (columns, BINS - 1), "the cuts of the tree are of other columns")
    expect(bool((cuts[:, 1:] >= cuts[:, :-1]).all()), "cuts of the tree fall")
    tree = RegressionTree(cuts, half_life)
    nodes, leaves = len(saved["tree_column"]), len(saved["tree_count"])
    expect(1 <= leaves <= MOST_LEAVES and nodes == 2 * leaves - 1, "its nodes do not make a tree")
    tree.set_leaves(leaves)
    for name, count in (*((name, nodes) for name in _OF_NODES), *((name, leaves) for name in _OF_LEAVES)):
        values, whole = saved[f"tree_{name}"], np.asarray(getattr(tree, name))
        expect(values.shape == (count, *whole.shape[1:]), f"tree_{name} has the shape {values.shape}")
        expect(bool(np.isfinite(values).all()), f"tree_{name} is not finite")
        whole[:count] = values
    for name in ("count", "heft", "weight"):
        expect(bool((saved[f"tree_{name}"] >= 0).all()), f"tree_{name} is below 0")
    _check_nodes(saved, nodes, leaves, columns)
    size = columns + 1
    roots = saved["tree_roots"]
    expect(roots.shape == (leaves, size * (size + 1) // 2), "its leaves have other columns")
    for root, regression in zip(roots, tree.regressions, strict=True):
        whole = np.zeros((size, size))
        whole[np.triu_indices(size)] = root
        is_sound = np.isfinite(whole).all() and (np.diag(whole)[:-1] > 0.0).all()
        expect(bool(is_sound), "the root of a leaf is singular")
        regression.root = whole.ravel()
    return tree


def _check_nodes(saved: Mapping[str, Array], nodes: int, leaves: int, columns: int) -> None:
    """Raise `BadState` unless each node but the first has one parent, before it, and each leaf one node."""
    children: list[int] = []
    ends: list[int] = []
    for node, (column, at, low, high) in enumerate(
        zip(*(saved[f"tree_{name}"].tolist() for name in _OF_NODES), strict=True)
    ):
        if column < 0:
            ends.append(low)
            continue
        expect(1 <= column < columns and 0 <= at < BINS - 1, "a node of the tree has no cut")
        expect(node < low and node < high, "a node of the tree comes before its parent")
        children += [low, high]
    expect(sorted(children) == [*range(1, nodes)], "a node of the tree has no parent, or two")
    expect(sorted(ends) == [*range(leaves)], "a leaf of the tree has no node, or two")
