"""Discriminant analysis: a multivariate Gaussian for each class, with one covariance for all classes or one for each.

    log P(y, x) = log P(y) - (z z + log det + d log 2 pi) / 2        z solves L z = (x - mean of y) / deviations
    L L' = correlations                                             shrunk towards no correlation

Means and the prior are read from the counts as they are; deviations, correlations and their Cholesky factor are
derived, because a factor costs d^3. A missing number is integrated out: its row and column are left out, and the rest
is factored anew. Nominal features are independent of all others given the class.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log, sqrt

from stream_bayes.core.readings.schedule import next_check

if not cython.compiled:
    from stream_bayes.core.counts._moments import CoMoments, Gaussians
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._naive_bayes import ValueReading

LARGEST = cython.declare(cython.double, 1.7976931348623157e308)
TINIEST = cython.declare(cython.double, 1e-300)
LOG_TAU = cython.declare(cython.double, 1.8378770664093453)  # log(2 pi)
SINGULAR = cython.declare(
    cython.double, 1e-12
)  # share of a variance that the features before leave; less is rounding
FIRST_SHRINKAGE = cython.declare(
    cython.double, 1e-8
)  # of singular correlations, ten times as much at each trial
MORE_THAN_ONE = cython.declare(cython.double, 1.000000001)
GROWTH = cython.declare(cython.longlong, 100)  # derive again after a hundredth more events


@cython.cfunc
def cholesky(matrix: cython.double[::1], n: cython.Py_ssize_t, factor: cython.double[::1]) -> cython.bint:
    """Write the lower Cholesky factor of a matrix of n rows, the inverse of its diagonal on the diagonal.

    Return False if the matrix is singular but for rounding.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    total: cython.double
    for i in range(n):
        for j in range(i):
            total = matrix[i * n + j]
            for k in range(j):
                total -= factor[i * n + k] * factor[j * n + k]
            factor[i * n + j] = total * factor[j * n + j]
        total = matrix[i * n + i]
        for k in range(i):
            total -= factor[i * n + k] * factor[i * n + k]
        if not total > SINGULAR:
            return False
        factor[i * n + i] = 1.0 / sqrt(total)
    return True


@cython.cclass
class DiscriminantReading(ValueReading):
    """LDA and QDA: one covariance for all classes (`shared`), or one for each class.

    Parameters
    ----------
    shared
        True for one covariance.
    shrinkage
        The share of the correlations that is replaced by none; negative: by the oracle approximating shrinkage (OAS,
        Chen et al., 2010), and a class's variances count one sample more of the variance pooled over classes.
    settings
        As `ValueReading` takes them; `ddof` is that of the covariances.

    Notes
    -----
    `slots` holds the features of the last derivation, `deviation` [group, feature] and `correlation`
    [group, feature, feature] what was derived; a group is a class, or all of them.
    """

    def __init__(self, tables, labels, shared: cython.bint, shrinkage: cython.double, **settings):
        ValueReading.__init__(self, tables, labels, **settings)
        self.shares_covariance = shared
        self.shrinkage = shrinkage
        self.due = 0
        self.slots = np.zeros(0, np.longlong)
        self.place_of = np.zeros(0, np.longlong)
        self.groups = 0
        self.deviation, self.correlation = np.zeros(0), np.zeros(0)
        self.factor, self.log_det = np.zeros(0), np.zeros(0)
        self.place, self.number = np.zeros(2, np.longlong), np.zeros(2)
        self.away, self.matrix, self.partial = np.zeros(2), np.zeros(4), np.zeros(4)

    # -- deriving -----------------------------------------------------------------------------------------------------

    @cython.cfunc
    def derive_if_due(self):
        if self.tables.clock >= self.due:
            self.derive()

    def derive(self):
        self.rederive()
        self.due = self.tables.clock + max(1, self.tables.clock // GROWTH)
        if self.tables.timed:
            self.due = next_check(self.tables, None)
        elif self.tables.half_life > 0.0:  # weights are at most a few half-lives old
            self.due = min(self.due, self.tables.clock + max(1, int(self.tables.half_life) // GROWTH))

    def rederive(self):
        """Derive deviations and correlations from the counts as they are now."""
        numbers: Gaussians = self.tables.gaussians
        n: cython.Py_ssize_t = 0
        f: cython.Py_ssize_t
        g: cython.Py_ssize_t
        y: cython.Py_ssize_t
        slots = np.zeros(numbers.features, np.longlong)
        found: cython.longlong[::1] = slots
        for f in range(numbers.features):
            for y in range(self.tables.labels):
                if numbers.weight[f * numbers.classes + y] > 0.0:
                    found[n] = f
                    n += 1
                    break
        self.reserve_groups(slots[:n].copy(), 1 if self.shares_covariance else self.tables.labels)
        for g in range(self.groups):
            self.derive_group(g)

    @cython.cfunc
    def reserve_groups(self, slots: cython.longlong[::1], groups: cython.Py_ssize_t):
        """Make room for the features and groups of a derivation."""
        n: cython.Py_ssize_t = slots.shape[0]
        k: cython.Py_ssize_t
        self.slots, self.groups = slots, groups
        if self.place_of.shape[0] < self.tables.gaussians.features:
            self.place_of = np.zeros(self.tables.gaussians.features, np.longlong)
        for k in range(self.place_of.shape[0]):
            self.place_of[k] = -1
        for k in range(n):
            self.place_of[slots[k]] = k
        if self.deviation.shape[0] != groups * n or self.log_det.shape[0] != groups:
            self.deviation, self.correlation = np.zeros(groups * n), np.zeros(groups * n * n)
            self.factor, self.log_det = np.zeros(groups * n * n), np.zeros(groups)
        if self.place.shape[0] < n:
            self.place, self.number, self.away = np.zeros(n, np.longlong), np.zeros(n), np.zeros(n)
            self.matrix, self.partial = np.zeros(n * n), np.zeros(n * n)

    def restore(self, slots, groups: cython.Py_ssize_t, deviation, correlation):
        """Continue from derived deviations and correlations."""
        g: cython.Py_ssize_t
        self.reserve_groups(slots, groups)
        self.deviation, self.correlation = deviation, correlation
        for g in range(groups):
            self.factorise(g)

    @cython.cfunc
    def derive_group(self, g: cython.Py_ssize_t):
        """Derive the deviations and the factor of one group."""
        n: cython.Py_ssize_t = self.slots.shape[0]
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        square: cython.double
        scale: cython.double
        share: cython.double
        for i in range(n):
            square = self.variance_of(g, self.slots[i])
            self.deviation[g * n + i] = sqrt(square)
            for j in range(i):
                scale = self.deviation[g * n + i] * self.deviation[g * n + j]
                square = self.covariance_of(g, self.slots[i], self.slots[j], scale) / scale
                square = max(-1.0, min(1.0, square))
                self.correlation[(g * n + i) * n + j] = self.correlation[(g * n + j) * n + i] = square
            self.correlation[(g * n + i) * n + i] = 1.0
        share = self.shrinkage if self.shrinkage >= 0.0 else self.oas(g)
        self.shrink(g, share)
        if not self.shares_covariance and self.shrinkage < 0.0:
            share = self.tables.unit / (self.tables.class_weight[g] + self.tables.unit)  # one sample
            for i in range(n):
                square = (1.0 - share) * self.deviation[g * n + i] * self.deviation[g * n + i]
                self.deviation[g * n + i] = sqrt(square + share * self.variance_of(-1, self.slots[i]))
        self.factorise(g)

    @cython.cfunc
    def variance_of(self, g: cython.Py_ssize_t, slot: cython.longlong) -> cython.double:
        """Return the variance of a feature in a group, or pooled over all classes (-1), at least the floor."""
        numbers: Gaussians = self.tables.gaussians
        cell: cython.longlong = slot * numbers.classes
        unit: cython.double = self.tables.unit
        y: cython.Py_ssize_t
        spare: cython.double
        squares: cython.double = 0.0
        freedom: cython.double = 0.0
        variance: cython.double
        self.overall(slot)
        if not self.shares_covariance and g >= 0 and numbers.weight[cell + g] > unit * MORE_THAN_ONE:
            squares, freedom = numbers.m2[cell + g], numbers.weight[cell + g] - self.ddof * unit
        if freedom <= 0.0:
            for y in range(self.tables.labels):
                spare = numbers.weight[cell + y] - self.ddof * unit
                if spare > 0.0:
                    squares += numbers.m2[cell + y]
                    freedom += spare
        variance = self.variance_of_all
        if freedom > 0.0 and not self.constant:
            variance = squares / freedom
        return max(TINIEST, variance, self.variance_floor * self.variance_of_all)

    @cython.cfunc
    def covariance_of(
        self, g: cython.Py_ssize_t, high: cython.longlong, low: cython.longlong, scale: cython.double
    ) -> cython.double:
        """Return the covariance of two features in a group, over the samples that have both; 0 without any.

        `scale` is the product of their deviations.
        """
        pairs: CoMoments = self.tables.co_moments
        numbers: Gaussians = self.tables.gaussians
        unit: cython.double = self.tables.unit
        y: cython.Py_ssize_t
        spare: cython.double
        product: cython.double = 0.0
        freedom: cython.double = 0.0
        if not self.shares_covariance and pairs.weight(high, low, g, numbers) > unit * MORE_THAN_ONE:
            spare = pairs.weight(high, low, g, numbers) - self.ddof * unit
            return pairs.product(high, low, g, numbers, scale) / spare
        for y in range(self.tables.labels):
            spare = pairs.weight(high, low, y, numbers) - self.ddof * unit
            if spare > 0.0:
                product += pairs.product(high, low, y, numbers, scale)
                freedom += spare
        return product / freedom if freedom > 0.0 else 0.0

    @cython.cfunc
    def oas(self, g: cython.Py_ssize_t) -> cython.double:
        """Return the oracle approximating shrinkage of a group's correlations."""
        n: cython.Py_ssize_t = self.slots.shape[0]
        i: cython.Py_ssize_t
        y: cython.Py_ssize_t
        weight: cython.double = 0.0
        alpha: cython.double = 0.0  # mean square of the correlations
        below: cython.double
        for y in range(self.tables.labels):
            if self.shares_covariance or y == g:
                weight += self.tables.class_weight[y] / self.tables.unit
        for i in range(g * n * n, (g + 1) * n * n):
            alpha += self.correlation[i] * self.correlation[i]
        if n == 0:
            return 0.0
        alpha /= n * n
        below = (weight + 1.0) * (alpha - 1.0 / n)
        return min(1.0, (alpha + 1.0) / below) if below > 0.0 else 1.0

    @cython.cfunc
    def shrink(self, g: cython.Py_ssize_t, share: cython.double):
        """Replace a share of a group's correlations by none."""
        n: cython.Py_ssize_t = self.slots.shape[0]
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        for i in range(n):
            for j in range(n):
                if i != j:
                    # Adding 0 makes a negative zero positive, which a state would not keep.
                    self.correlation[(g * n + i) * n + j] = (
                        self.correlation[(g * n + i) * n + j] * (1.0 - share) + 0.0
                    )

    @cython.cfunc
    def factorise(self, g: cython.Py_ssize_t):
        """Factor a group's correlations; shrink them first as much as it takes to make them regular."""
        n: cython.Py_ssize_t = self.slots.shape[0]
        i: cython.Py_ssize_t
        share: cython.double = FIRST_SHRINKAGE
        while not cholesky(
            self.correlation[g * n * n : (g + 1) * n * n], n, self.factor[g * n * n : (g + 1) * n * n]
        ):
            self.shrink(g, min(1.0, share))
            share *= 10.0
        self.log_det[g] = 0.0
        for i in range(n):
            self.log_det[g] += 2.0 * (log(self.deviation[g * n + i]) - log(self.factor[(g * n + i) * n + i]))

    # -- scoring ------------------------------------------------------------------------------------------------------

    @cython.cfunc
    def learn_scored(self, row: Row):
        self.learn(row)

    @cython.ccall
    def learn(self, row: Row):
        """Learn a row; a number of a feature that is not derived yet makes a derivation due."""
        self.tables.add(row)
        self.check_due(row)
        self.derive_if_due()

    @cython.cfunc
    def check_due(self, row: Row):
        k: cython.Py_ssize_t
        if self.groups < (1 if self.shares_covariance else self.tables.labels):
            self.due = self.tables.clock
        for k in range(row.numbers):
            if row.weight > 0.0 and (
                row.numeric_feature[k] >= self.place_of.shape[0] or self.place_of[row.numeric_feature[k]] < 0
            ):
                self.due = self.tables.clock

    @cython.cfunc
    def add_evidence(self, row: Row):
        if row.entries:
            self.add_values(row)
        if row.numbers:
            self.add_joint_numbers(row)

    @cython.cfunc
    def gather_numbers(self, row: Row) -> cython.Py_ssize_t:
        """Gather the numbers of features that were derived, in the order of their slots; return their number."""
        k: cython.Py_ssize_t
        m: cython.Py_ssize_t = 0
        for k in range(row.numbers):
            if row.numeric_feature[k] < self.place_of.shape[0] and self.place_of[row.numeric_feature[k]] >= 0:
                self.place[m] = self.place_of[row.numeric_feature[k]]
                self.number[m] = row.number[k]
                m += 1
        return m

    @cython.cfunc
    def add_joint_numbers(self, row: Row):
        """Add the log-density of the numbers, all together."""
        classes: cython.Py_ssize_t = self.tables.labels
        n: cython.Py_ssize_t = self.slots.shape[0]
        m: cython.Py_ssize_t = self.gather_numbers(row)
        g: cython.Py_ssize_t
        y: cython.Py_ssize_t
        log_det: cython.double = 0.0
        nearest: cython.double = LARGEST
        if m == 0:
            return
        self.reserve()
        for y in range(classes):
            g = 0 if self.shares_covariance else min(y, self.groups - 1)
            if m == n:
                log_det = self.log_det[g]
                self.variance[y] = self.square_of(y, g, m, self.factor[g * n * n : (g + 1) * n * n])
            else:
                if y == 0 or not self.shares_covariance:
                    log_det = self.factor_part(g, m)
                self.variance[y] = self.square_of(y, g, m, self.partial)
            self.distance[y] = log_det
            if self.variance[y] < nearest and self.is_live(y):
                nearest = self.variance[y]
        # Only differences between classes go into the scores: numbers far from all would drown the rest.
        self.shift -= 0.5 * (nearest + m * LOG_TAU)
        for y in range(classes):
            self.score[y] -= 0.5 * ((self.variance[y] - nearest) + self.distance[y])

    @cython.cfunc
    def factor_part(self, g: cython.Py_ssize_t, m: cython.Py_ssize_t) -> cython.double:
        """Factor the correlations of the gathered features into `partial`; return the log-determinant."""
        n: cython.Py_ssize_t = self.slots.shape[0]
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        log_det: cython.double = 0.0
        for i in range(m):
            for j in range(i + 1):
                self.matrix[i * m + j] = self.correlation[(g * n + self.place[i]) * n + self.place[j]]
        cholesky(self.matrix, m, self.partial)  # a part of regular correlations is regular
        for i in range(m):
            log_det += 2.0 * (log(self.deviation[g * n + self.place[i]]) - log(self.partial[i * m + i]))
        return log_det

    @cython.cfunc
    def square_of(
        self, y: cython.Py_ssize_t, g: cython.Py_ssize_t, m: cython.Py_ssize_t, factor: cython.double[::1]
    ) -> cython.double:
        """Return the squared distance of the gathered numbers from the means of a class, in deviations."""
        numbers: Gaussians = self.tables.gaussians
        n: cython.Py_ssize_t = self.slots.shape[0]
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        slot: cython.longlong
        cell: cython.longlong
        total: cython.double
        square: cython.double = 0.0
        for i in range(m):
            slot = self.slots[self.place[i]]
            cell = slot * numbers.classes + y
            if numbers.weight[cell] > 0.0:
                numbers.settle(cell)
                total = (self.number[i] - numbers.mean[cell]) - numbers.mean_rest[cell]
            else:
                self.overall(slot)  # no sample of the class has the feature: use all classes
                total = (self.number[i] - self.center) - self.mean_of_all
            total /= self.deviation[g * n + self.place[i]]
            total = max(-1e100, min(1e100, total))
            for j in range(i):
                total -= factor[i * m + j] * self.away[j]
            total *= factor[i * m + i]
            self.away[i] = total
            square += total * total
        return square if square < LARGEST else LARGEST
