"""A regression tree over a stream: its leaves are linear regressions, split where two halves explain targets better.

    node    column, cut | leaf        an event goes low where its column is at most the cut
    leaf    root of its regression; sums of (z, y)(z, y)' since it began, for each bin of each column

The evidence of a leaf is the marginal likelihood of its targets under a normal-inverse-gamma prior. That of two halves
over that of the whole is a Bayes factor, so its mean over all columns and cuts is an e-value against splitting by
chance: it exceeds 1 / LEVEL at any time with a probability of at most LEVEL if the leaf's regression holds.
"""

from __future__ import annotations

import math

import cython
import numpy as np
from cython.cimports.libc.math import exp, lgamma, log, sqrt

if not cython.compiled:
    from stream_bayes.core.regression._fading import FadingRegression

BINS = 8  # of a column
MOST_LEAVES = 12
EVERY = cython.declare(cython.longlong, 25)  # events of a leaf after which a split is sought
LEVEL = cython.declare(cython.double, 0.001)  # the chance of a split that chance makes, of a leaf
RIDGE = cython.declare(cython.double, 1.0)  # of coefficients, in samples; targets have a deviation of about 1
SHAPE_OF_NOISE, SPREAD_OF_NOISE = 1.0, 0.1  # of the inverse gamma prior of its square
SHAPE = cython.declare(cython.double, SHAPE_OF_NOISE)
SPREAD = cython.declare(cython.double, SPREAD_OF_NOISE)
IMPOSSIBLE = cython.declare(cython.double, float("-inf"))


@cython.cclass
class RegressionTree:
    """A tree over a fixed number of columns, the first of which is 1. `cuts` has for each column the ends of its bins,
    rising; infinite ones where it has fewer. After `half_life` learned samples of a leaf one weighs half in its
    regression; 0 never forgets.

    Attributes
    ----------
    location, leverage
        Those of the leaf that the last event was predicted by.
    left, samples
        The squares that this leaf's regression leaves, and the weight of its samples.
    """

    def __init__(self, cuts, half_life: cython.double):
        self.cuts = np.array(cuts, np.float64)
        self.half_life = half_life
        self.columns = self.cuts.shape[0]
        size: cython.Py_ssize_t = self.columns + 1
        self.cells = size * (size + 1) // 2
        nodes: cython.Py_ssize_t = 2 * MOST_LEAVES - 1
        self.column, self.at = np.full(nodes, -1, np.longlong), np.zeros(nodes, np.longlong)
        self.low, self.high = np.zeros(nodes, np.longlong), np.zeros(nodes, np.longlong)
        self.nodes = self.leaves = 1
        self.regressions = [FadingRegression(self.columns, RIDGE, half_life)]
        self.count, self.heft = np.zeros(MOST_LEAVES, np.longlong), np.zeros(MOST_LEAVES)
        self.left = self.samples = 0.0
        self.weight = np.zeros((MOST_LEAVES, self.columns, BINS))
        self.sums = np.zeros((1, self.columns, BINS, self.cells))
        self.work, self.solved = np.zeros(self.cells), np.zeros(self.cells)
        self.before, self.all = np.zeros(self.cells), np.zeros(self.cells)
        self.location = self.leverage = 0.0

    def set_leaves(self, leaves: cython.Py_ssize_t):
        """Make room for the leaves of a state."""
        self.leaves, self.nodes = leaves, 2 * leaves - 1
        self.sums = np.zeros((leaves, self.columns, BINS, self.cells))
        self.regressions = [FadingRegression(self.columns, RIDGE, self.half_life) for _ in range(leaves)]

    @cython.ccall
    def find(self, z: cython.double[::1]) -> cython.Py_ssize_t:
        """Return the leaf of an event."""
        node: cython.Py_ssize_t = 0
        while self.column[node] >= 0:
            if z[self.column[node]] <= self.cuts[self.column[node], self.at[node]]:
                node = self.low[node]
            else:
                node = self.high[node]
        return self.low[node]

    @cython.ccall
    def predict(self, z: cython.double[::1]):
        """Write the location and the leverage that an event's leaf gives."""
        leaf: cython.Py_ssize_t = self.find(z)
        regression: FadingRegression = self.regressions[leaf]
        regression.predict(z)
        self.location, self.leverage = regression.location, regression.leverage
        self.left = regression.root[regression.root.shape[0] - 1] ** 2
        self.samples = self.heft[leaf]

    @cython.ccall
    def learn(self, z: cython.double[::1], y: cython.double, weight: cython.double):
        """Learn a sample, and split its leaf if that explains the targets better."""
        leaf: cython.Py_ssize_t = self.find(z)
        regression: FadingRegression = self.regressions[leaf]
        n: cython.Py_ssize_t = self.columns
        k: cython.Py_ssize_t = 0
        product: cython.double[::1] = self.work
        regression.learn(z, y, weight)
        self.heft[leaf] = self.heft[leaf] * regression.kept * regression.kept + weight
        if self.leaves == MOST_LEAVES:
            return
        for i in range(n + 1):
            part = weight * (z[i] if i < n else y)
            for j in range(i + 1):
                product[k] = part * (z[j] if j < n else y)
                k += 1
        for c in range(1, n):
            b: cython.Py_ssize_t = 0
            while b < BINS - 1 and z[c] > self.cuts[c, b]:
                b += 1
            sums = self.sums[leaf, c, b]
            for k in range(self.cells):
                sums[k] += product[k]
            self.weight[leaf, c, b] += weight
        self.count[leaf] += 1
        if self.count[leaf] % EVERY == 0:
            self.split(leaf)

    @cython.cfunc
    def split(self, leaf: cython.Py_ssize_t):
        """Split a leaf in two if the evidence of halves is large enough."""
        n: cython.Py_ssize_t = self.columns
        b: cython.Py_ssize_t
        best: cython.double = IMPOSSIBLE
        total: cython.double = 0.0
        candidates: cython.Py_ssize_t = 0
        at_column: cython.Py_ssize_t = -1
        at: cython.Py_ssize_t = -1
        if n < 2:
            return
        weight: cython.double = 0.0
        for k in range(self.cells):
            self.all[k] = 0.0
        for b in range(BINS):
            weight += self.weight[leaf, 1, b]
            for k in range(self.cells):
                self.all[k] += self.sums[leaf, 1, b, k]
        whole = self.evidence(self.all, weight)
        gains: list = []
        for c in range(1, n):
            below: cython.double = 0.0
            for k in range(self.cells):
                self.before[k] = 0.0
            for b in range(BINS - 1):
                if self.cuts[c, b] == math.inf:
                    break
                below += self.weight[leaf, c, b]
                for k in range(self.cells):
                    self.before[k] += self.sums[leaf, c, b, k]
                candidates += 1
                if below <= 0.0 or below >= weight:
                    gains.append(0.0)  # one half is empty: the other explains as much
                    continue
                gain: cython.double = self.evidence(self.before, below) - whole
                for k in range(self.cells):
                    self.work[k] = self.all[k] - self.before[k]
                gain += self.evidence(self.work, weight - below)
                gains.append(gain)
                if gain > best:
                    best, at_column, at = gain, c, b
        if at_column < 0:
            return
        for gain in gains:
            total += exp(gain - best)
        if best + log(total / candidates) <= -log(LEVEL):
            return
        self.halve(leaf, at_column, at)

    @cython.cfunc
    def halve(self, leaf: cython.Py_ssize_t, column: cython.Py_ssize_t, at: cython.Py_ssize_t):
        """Replace a leaf by two; the upper one is new, and both begin with the sums of their bins."""
        b: cython.Py_ssize_t
        node: cython.Py_ssize_t = 0
        new: cython.Py_ssize_t = self.leaves
        sums = np.asarray(self.sums)
        halves = sums[leaf, column, : at + 1].sum(axis=0), sums[leaf, column, at + 1 :].sum(axis=0)
        while self.column[node] >= 0 or self.low[node] != leaf:
            node += 1
        self.column[node], self.at[node] = column, at
        self.low[node], self.high[node] = self.nodes, self.nodes + 1
        self.low[self.nodes], self.low[self.nodes + 1] = leaf, new
        self.nodes += 2
        self.leaves += 1
        weight = np.asarray(self.weight)[leaf, column]
        self.heft[leaf], self.heft[new] = weight[: at + 1].sum(), weight[at + 1 :].sum()
        self.regressions[leaf] = self.regression_of(halves[0])
        self.regressions.append(self.regression_of(halves[1]))
        if self.leaves > sums.shape[0]:
            self.sums = np.concatenate([sums, np.zeros_like(sums)])
        self.count[leaf] = 0
        for b in range(BINS):
            for column in range(self.columns):
                self.weight[leaf, column, b] = 0.0
        np.asarray(self.sums)[leaf] = 0.0

    def regression_of(self, cells) -> FadingRegression:
        """Return the regression with some sums."""
        made: FadingRegression = FadingRegression(self.columns, RIDGE, self.half_life)
        size: cython.Py_ssize_t = self.columns + 1
        matrix = np.zeros((size, size))
        matrix[np.tril_indices(size)] = cells
        matrix += np.tril(matrix, -1).T
        prior = np.asarray(made.root).reshape(size, size)
        matrix += prior.T @ prior
        matrix[size - 1, size - 1] += 1e-9  # rounding
        made.root = np.ascontiguousarray(np.linalg.cholesky(matrix).T).ravel()
        return made

    @cython.ccall
    def evidence(self, sums: cython.double[::1], weight: cython.double) -> cython.double:
        """Return the logarithm of the marginal likelihood of targets with some sums, but for the factor of 2 pi."""
        n: cython.Py_ssize_t = self.columns
        rest: cython.double = 0.0
        total: cython.double = 0.0
        solved: cython.double[::1] = self.solved
        for i in range(n + 1):  # the factor of Cholesky, its last row that of the targets
            row = i * (i + 1) // 2
            for j in range(i + 1):
                other = j * (j + 1) // 2
                value = sums[row + j]
                if i == j and i < n:
                    value += RIDGE
                for k in range(j):
                    value -= solved[row + k] * solved[other + k]
                if i == n and j == n:
                    rest = max(value, 0.0)
                elif i == j:
                    value = sqrt(max(value, 1e-12))
                    total -= log(value)
                    solved[row + j] = value
                else:
                    solved[row + j] = value / solved[other + j]
        total += lgamma(SHAPE + 0.5 * weight) - lgamma(SHAPE) + SHAPE * log(SPREAD)
        return total - (SHAPE + 0.5 * weight) * log(SPREAD + 0.5 * rest)
