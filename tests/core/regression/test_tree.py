"""Regression trees over streams: the evidence that splits, what chance does not split, and how halves begin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from stream_bayes.core.regression._tree import BINS, MOST_LEAVES, RegressionTree

CUTS = np.array([[math.inf] * (BINS - 1), *([[-1.0, -0.6, -0.3, 0.0, 0.3, 0.6, 1.0]] * 3)])


def sample(rng: np.random.Generator, broken: bool) -> tuple[np.ndarray, float]:
    z = np.array([1.0, *rng.normal(size=3)])
    slope = -1.0 if broken and z[2] > 0.3 else 1.0
    return z, slope * z[1] + 0.3 * float(rng.normal())


def test_the_evidence_is_the_marginal_likelihood_of_the_targets() -> None:
    rng = np.random.default_rng(1)
    z, y = rng.normal(size=(9, 4)), rng.normal(size=9)
    tree = RegressionTree(CUTS, 0.0)
    columns = np.column_stack([z, y])
    sums = np.ascontiguousarray((columns.T @ columns)[np.tril_indices(5)])
    exact = stats.multivariate_t(np.zeros(9), 0.1 * (np.eye(9) + z @ z.T), df=2.0).logpdf(y)
    assert tree.evidence(sums, 9.0) - 4.5 * math.log(2.0 * math.pi) == pytest.approx(exact, rel=1e-9)


def test_one_line_is_hardly_ever_split_by_chance() -> None:
    split = 0
    for seed in range(20):
        rng, tree = np.random.default_rng(seed), RegressionTree(CUTS, 0.0)
        for _ in range(300):
            tree.learn(*sample(rng, broken=False), 1.0)
        split += tree.leaves > 1
    assert split <= 1


def test_a_broken_line_is_split_and_its_halves_are_the_regressions_of_their_samples() -> None:
    rng, tree, samples = np.random.default_rng(3), RegressionTree(CUTS, 0.0), []
    while tree.leaves == 1:
        samples.append(sample(rng, broken=True))
        tree.learn(*samples[-1], 1.0)
    assert (int(tree.column[0]), float(tree.cuts[2, tree.at[0]])) == (2, 0.3) and len(samples) < 200
    for x in (np.array([1.0, 1.0, -2.0, 0.0]), np.array([1.0, 1.0, 2.0, 0.0])):
        side = [(z, y) for z, y in samples if (z[2] <= 0.3) == (x[2] <= 0.3)]
        z, y = np.array([z for z, _ in side]), np.array([y for _, y in side])
        squares = z.T @ z + np.diag([1e-6, 1.0, 1.0, 1.0])
        tree.predict(x)
        assert tree.location == pytest.approx(float(x @ np.linalg.solve(squares, z.T @ y)), rel=1e-6)
        assert tree.leverage == pytest.approx(float(x @ np.linalg.solve(squares, x)), rel=1e-6)


def test_leaves_and_their_sums_are_bounded() -> None:
    rng, tree = np.random.default_rng(4), RegressionTree(CUTS, 0.0)
    for _ in range(4000):
        z = np.array([1.0, *rng.normal(size=3)])
        tree.learn(z, float(z[1] * z[2] + z[3] * z[3]), 1.0)
    assert tree.leaves == MOST_LEAVES and tree.nodes == 2 * MOST_LEAVES - 1
