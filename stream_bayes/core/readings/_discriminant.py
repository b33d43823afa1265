"""Discriminant analysis: a multivariate Gaussian for each class, with one covariance for all classes or one for each.

    log P(y, x) = log P(y) - (z z + log det + d log 2 pi) / 2        z solves U' z = (x - mean of y) / deviations
    U' U = correlations                                             shrunk towards no correlation

That is the plug-in answer, sure of the covariance it has. Student's t (`_student`) integrates mean and covariance over
their posterior, under a normal-inverse-Wishart prior. With n and S_y the weight of a class and the squared deviations
about its mean, in fresh samples, those of the mean about m_0 with them; m_0, v_0 the means and variances over all
classes, k_0 = 0.1:

    LDA     C = (v_0 + sum of S_y) / (1 + N), its correlations shrunk           1 + N degrees of freedom
    QDA     C_y = (d C + S_y) / (d + n)                                         d + n
    mean    (k_0 m_0 + n m) / k        of the weight k = k_0 + n: differences are divided by sqrt(1 + 1 / k)

So a class of QDA begins with the covariance of all classes, worth a sample for each number.

Means and the prior are read from the counts as they are; deviations, correlations and their Cholesky factor are
derived, because a factor costs d^3. A missing number is integrated out: its row and column are left out, and the rest
is factored anew. Nominal features are independent of all others given the class.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import log, log1p, sqrt

from stream_bayes.core.structures.deriving_schedule import next_check

if not cython.compiled:
    from stream_bayes.core.counts._moments import CoMoments, Gaussians
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._naive_bayes import PRIOR_MEANS, ValueReading
    from stream_bayes.core.readings._student import log_gammas_of, student_rise

LARGEST = cython.declare(cython.double, 1.7976931348623157e308)
LARGE = cython.declare(cython.double, 1e150)
TINIEST = cython.declare(cython.double, 1e-300)
LOG_TAU = cython.declare(cython.double, 1.8378770664093453)  # log(2 pi)
# Share of a variance that the features before leave; less is rounding.
SINGULAR = cython.declare(cython.double, 1e-12)
# Ridge of singular correlations, ten times as much at each trial.
FIRST_SHRINKAGE = cython.declare(cython.double, 1e-8)
MORE_THAN_ONE = cython.declare(cython.double, 1.000000001)
GROWTH = cython.declare(cython.longlong, 100)  # derive again after a hundredth more events


@cython.cfunc
def cholesky(matrix: cython.double[::1], n: cython.Py_ssize_t, factor: cython.double[::1]) -> cython.bint:
    """Write the upper Cholesky factor of a symmetric matrix of n rows, the inverse of its diagonal on the diagonal.

    Return False if the matrix is singular but for rounding. What rows before take from a row is taken from all of its
    cells at once: sums that do not wait for each other.
    """
    for i in range(n):
        for k in range(i, n):
            factor[i * n + k] = matrix[i * n + k]
        for j in range(i):
            above = factor[j * n + i]
            for k in range(i, n):
                factor[i * n + k] -= above * factor[j * n + k]
        if not factor[i * n + i] > SINGULAR:
            return False
        inverse = 1.0 / sqrt(factor[i * n + i])
        factor[i * n + i] = inverse
        for k in range(i + 1, n):
            factor[i * n + k] *= inverse
    return True


@cython.cclass
class DiscriminantReading(ValueReading):
    """LDA and QDA: one covariance for all classes (`shared`), or one for each class.

    `shrinkage` is the share of the correlations that is replaced by none; negative: by the oracle approximating
    shrinkage (OAS, Chen et al., 2010). Plug-in: a class's variances then count one sample more of the variance pooled
    over classes. Student: correlations pooled over classes are shrunk, those of QDA's classes are not. `settings` are
    as `ValueReading` takes them; `ddof` is that of the plug-in's covariances.

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
        self.index_of = np.zeros(0, np.longlong)
        self.groups = 0
        self.deviation, self.correlation = np.zeros(0), np.zeros(0)
        self.factor, self.log_det = np.zeros(0), np.zeros(0)
        self.index, self.number = np.zeros(2, np.longlong), np.zeros(2)
        self.away, self.matrix, self.partial = np.zeros(2), np.zeros(4), np.zeros(4)
        self.products, self.pooled, self.weights = np.zeros(2), np.zeros(2), np.zeros(2)
        self.offset, self.prior_variance, self.is_constant = np.zeros(0), np.zeros(0), np.zeros(0, np.uint8)
        self.center_of, self.prior_mean, self.behind = np.zeros(2), np.zeros(2), np.zeros(2)

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
        slots = np.zeros(numbers.features, np.longlong)
        measured: cython.longlong[::1] = slots
        for f in range(numbers.features):
            for y in range(self.tables.labels):
                if numbers.weight[f * numbers.classes + y] > 0.0:
                    measured[n] = f
                    n += 1
                    break
        self.reserve_groups(slots[:n].copy(), 1 if self.shares_covariance else self.tables.labels)
        if self.student:
            self.derive_students()
        else:
            for g in range(self.groups):
                self.derive_group(g)

    @cython.cfunc
    def reserve_groups(self, slots: cython.longlong[::1], groups: cython.Py_ssize_t):
        """Make room for the features and groups of a derivation."""
        n: cython.Py_ssize_t = slots.shape[0]
        self.slots, self.groups = slots, groups
        if self.index_of.shape[0] < self.tables.gaussians.features:
            self.index_of = np.zeros(self.tables.gaussians.features, np.longlong)
        for k in range(self.index_of.shape[0]):
            self.index_of[k] = -1
        for k in range(n):
            self.index_of[slots[k]] = k
        if self.deviation.shape[0] != groups * n or self.log_det.shape[0] != groups:
            self.deviation, self.correlation = np.zeros(groups * n), np.zeros(groups * n * n)
            self.factor, self.log_det = np.zeros(groups * n * n), np.zeros(groups)
        if self.index.shape[0] < n:
            self.index, self.number, self.away = np.zeros(n, np.longlong), np.zeros(n), np.zeros(n)
            self.center_of, self.prior_mean = np.zeros(n), np.zeros(n)
            self.matrix, self.partial = np.zeros(n * n), np.zeros(n * n)
            self.products, self.pooled, self.weights = np.zeros(n), np.zeros(n), np.zeros(n)

    def restore(self, slots, groups: cython.Py_ssize_t, deviation, correlation):
        """Continue from derived deviations and correlations."""
        self.reserve_groups(slots, groups)
        self.deviation, self.correlation = deviation, correlation
        for g in range(groups):
            self.factorise(g)

    @cython.cfunc
    def derive_group(self, g: cython.Py_ssize_t):
        """Derive the deviations and the factor of one group."""
        n: cython.Py_ssize_t = self.slots.shape[0]
        for i in range(n):
            square = self.variance_of(g, self.slots[i])
            self.deviation[g * n + i] = sqrt(square)
            for j in range(i):
                scale = self.deviation[g * n + i] * self.deviation[g * n + j]
                square = self.covariance_of(g, self.slots[i], self.slots[j], scale) / scale
                square = max(-1.0, min(1.0, square))
                self.correlation[(g * n + i) * n + j] = self.correlation[(g * n + j) * n + i] = square
            self.correlation[(g * n + i) * n + i] = 1.0
        self.shrink(self.correlation, g * n * n, self.share_shrunk(self.correlation, g * n * n, g))
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
        squares: cython.double = 0.0
        freedom: cython.double = 0.0
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
    def share_shrunk(
        self, correlation: cython.double[::1], first: cython.Py_ssize_t, g: cython.Py_ssize_t
    ) -> cython.double:
        """Return the share of the correlations, which begin at `first`, that is replaced by none.

        The oracle approximating shrinkage takes them as those of a class, or of all classes (-1).
        """
        n: cython.Py_ssize_t = self.slots.shape[0]
        weight: cython.double = 0.0
        alpha: cython.double = 0.0  # mean square of the correlations
        if self.shrinkage >= 0.0 or n == 0:
            return max(0.0, self.shrinkage)
        for y in range(self.tables.labels):
            if self.shares_covariance or y == g or g < 0:
                weight += self.tables.class_weight[y] / self.tables.unit
        for i in range(first, first + n * n):
            alpha += correlation[i] * correlation[i]
        alpha /= n * n
        below = (weight + 1.0) * (alpha - 1.0 / n)
        return min(1.0, (alpha + 1.0) / below) if below > 0.0 else 1.0

    @cython.cfunc
    def shrink(self, correlation: cython.double[::1], first: cython.Py_ssize_t, share: cython.double):
        """Replace a share of the correlations that begin at `first` by none."""
        n: cython.Py_ssize_t = self.slots.shape[0]
        for i in range(n):
            for j in range(n):
                if i != j:
                    # Adding 0 makes a negative zero positive, which a state would not keep.
                    correlation[first + i * n + j] = correlation[first + i * n + j] * (1.0 - share) + 0.0

    # -- deriving for Student's t -------------------------------------------------------------------------------------

    @cython.cfunc
    def derive_students(self):
        """Derive the covariance of all classes together, and from it that of each where they differ."""
        n: cython.Py_ssize_t = self.slots.shape[0]
        deviation: cython.double[::1] = self.deviation
        correlation: cython.double[::1] = self.correlation
        if self.groups == 0:
            return
        if not self.shares_covariance:
            deviation, correlation = np.zeros(n), np.zeros(n * n)
        self.find_offsets()
        self.pool_deviations(deviation, correlation)
        self.shrink(correlation, 0, self.share_shrunk(correlation, 0, -1))
        for g in range(self.groups):
            if not self.shares_covariance:
                self.update_group(g, deviation, correlation)
            self.factorise(g)

    @cython.cfunc
    def find_offsets(self):
        """Set `offset` to each feature's mean in each class, from that over all classes, and `prior_variance`."""
        numbers: Gaussians = self.tables.gaussians
        n: cython.Py_ssize_t = self.slots.shape[0]
        classes: cython.Py_ssize_t = self.tables.labels
        if self.offset.shape[0] < n * classes:
            self.offset = np.zeros(2 * n * classes)
        if self.prior_variance.shape[0] < n:
            self.prior_variance, self.is_constant = np.zeros(2 * n), np.zeros(2 * n, np.uint8)
        for i in range(n):
            self.overall(self.slots[i])
            self.prior_variance[i] = max(TINIEST, self.variance_of_all)
            self.is_constant[i] = self.constant
            for y in range(classes):
                cell = self.slots[i] * numbers.classes + y
                self.offset[i * classes + y] = 0.0
                if numbers.weight[cell] > 0.0 and not self.constant:
                    self.offset[i * classes + y] = self.mean_from_center(cell) - self.mean_of_all

    @cython.cfunc
    @cython.exceptval(check=False)
    def squares_of(
        self, i: cython.Py_ssize_t, y: cython.Py_ssize_t, weight: cython.double, j: cython.Py_ssize_t
    ) -> cython.double:
        """Return what the means of two features in a class add to the squared deviations, in fresh samples."""
        classes: cython.Py_ssize_t = self.tables.labels
        share: cython.double = PRIOR_MEANS * weight / (PRIOR_MEANS + weight)
        return share * self.offset[i * classes + y] * self.offset[j * classes + y]

    @cython.cfunc
    def pool_deviations(self, deviation: cython.double[::1], correlation: cython.double[::1]):
        """Write the deviations and correlations of all classes together."""
        numbers: Gaussians = self.tables.gaussians
        pairs: CoMoments = self.tables.co_moments
        unit: cython.double = self.tables.unit
        n: cython.Py_ssize_t = self.slots.shape[0]
        products: cython.double[::1] = self.products
        pooled: cython.double[::1] = self.pooled
        weights: cython.double[::1] = self.weights
        for i in range(n):
            squares, total = self.prior_variance[i], 1.0
            for y in range(self.tables.labels):
                cell = self.slots[i] * numbers.classes + y
                weight = numbers.weight[cell] / unit
                if weight > 0.0:
                    total += weight
                    squares += numbers.m2[cell] / unit + self.squares_of(i, y, weight, i)
            deviation[i] = sqrt(max(TINIEST, squares / total, self.variance_floor * self.prior_variance[i]))
            for j in range(i):
                pooled[j], weights[j] = 0.0, 1.0
            for y in range(self.tables.labels):
                pairs.write_products(self.slots[i], self.slots, i, y, numbers, deviation, products)
                for j in range(i):
                    weight = pairs.weight(self.slots[i], self.slots[j], y, numbers) / unit
                    if weight > 0.0:
                        weights[j] += weight
                        pooled[j] += products[j] / unit
                        pooled[j] += self.squares_of(i, y, weight, j)
            for j in range(i):
                squares = max(-1.0, min(1.0, pooled[j] / weights[j] / (deviation[i] * deviation[j])))
                correlation[i * n + j] = correlation[j * n + i] = squares
            correlation[i * n + i] = 1.0

    @cython.cfunc
    def update_group(
        self, g: cython.Py_ssize_t, deviation: cython.double[::1], correlation: cython.double[::1]
    ):
        """Write the deviations and correlations of a class, whose prior are those of all classes together."""
        numbers: Gaussians = self.tables.gaussians
        pairs: CoMoments = self.tables.co_moments
        unit: cython.double = self.tables.unit
        n: cython.Py_ssize_t = self.slots.shape[0]
        first: cython.Py_ssize_t = g * n * n
        for i in range(n):
            cell = self.slots[i] * numbers.classes + g
            # The scale of a constant is not known, so it is the same for all classes.
            weight = 0.0 if self.is_constant[i] else max(0.0, numbers.weight[cell] / unit)
            squares = n * deviation[i] * deviation[i]
            if weight > 0.0:
                squares += numbers.m2[cell] / unit + self.squares_of(i, g, weight, i)
            squares /= n + weight
            self.deviation[g * n + i] = sqrt(
                max(TINIEST, squares, self.variance_floor * self.prior_variance[i])
            )
            for j in range(i):
                scale = self.deviation[g * n + i] * self.deviation[g * n + j]
                weight = max(0.0, pairs.weight(self.slots[i], self.slots[j], g, numbers) / unit)
                squares = n * correlation[i * n + j] * (deviation[i] * deviation[j] / scale)
                if weight > 0.0:
                    squares += pairs.product(self.slots[i], self.slots[j], g, numbers, scale) / unit / scale
                    squares += self.squares_of(i, g, weight, j) / scale
                squares = max(-1.0, min(1.0, squares / (n + weight)))
                self.correlation[first + i * n + j] = self.correlation[first + j * n + i] = squares
            self.correlation[first + i * n + i] = 1.0

    @cython.cfunc
    def factorise(self, g: cython.Py_ssize_t):
        """Factor a group's correlations; shrink them first as much as it takes to make them regular."""
        n: cython.Py_ssize_t = self.slots.shape[0]
        share: cython.double = FIRST_SHRINKAGE
        while not cholesky(
            self.correlation[g * n * n : (g + 1) * n * n], n, self.factor[g * n * n : (g + 1) * n * n]
        ):
            self.shrink(self.correlation, g * n * n, min(1.0, share))
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
        if self.groups < (1 if self.shares_covariance else self.tables.labels):
            self.due = self.tables.clock
        for k in range(row.numbers):
            if row.weight > 0.0 and (
                row.numeric_feature[k] >= self.index_of.shape[0] or self.index_of[row.numeric_feature[k]] < 0
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
        m: cython.Py_ssize_t = 0
        for k in range(row.numbers):
            if row.numeric_feature[k] < self.index_of.shape[0] and self.index_of[row.numeric_feature[k]] >= 0:
                self.index[m] = self.index_of[row.numeric_feature[k]]
                self.number[m] = row.number[k]
                m += 1
        return m

    @cython.cfunc
    def add_joint_numbers(self, row: Row):
        """Add the log-density of the numbers, all together."""
        classes: cython.Py_ssize_t = self.tables.labels
        n: cython.Py_ssize_t = self.slots.shape[0]
        m: cython.Py_ssize_t = self.gather_numbers(row)
        log_det: cython.double = 0.0
        nearest: cython.double = LARGEST
        if m == 0:
            return
        self.reserve()
        if self.student or self.extra > 0.0:
            self.find_weights(m)
        for y in range(classes):
            g = 0 if self.shares_covariance else min(y, self.groups - 1)
            if m == n:
                log_det = self.log_det[g]
                self.variance[y] = self.square_of(y, g, m, self.factor[g * n * n : (g + 1) * n * n])
            else:
                if y == 0 or not self.shares_covariance:
                    log_det = self.factor_part(g, m)
                self.variance[y] = self.square_of(y, g, m, self.partial)
            self.distance[y] = log_det + self.stretch
            if self.variance[y] < nearest and self.is_live(y):
                nearest = self.variance[y]
        if self.extra > 0.0:
            self.add_rises(m)
        if self.student:
            self.add_densities(m)
            return
        # Only differences between classes go into the scores: numbers far from all would drown the rest.
        self.shift -= 0.5 * (nearest + m * LOG_TAU)
        for y in range(classes):
            self.score[y] -= 0.5 * ((self.variance[y] - nearest) + self.distance[y])

    @cython.cfunc
    def find_weights(self, m: cython.Py_ssize_t):
        """Set `freedom` of each class and `behind`, the weight of its scarcest number, and for each gathered number its
        mean over all classes, from `center_of`.
        """
        numbers: Gaussians = self.tables.gaussians
        unit: cython.double = self.tables.unit
        least: cython.double = LARGEST  # of all classes: the weight behind the scarcest number
        if self.behind.shape[0] < self.tables.labels:
            self.behind = np.zeros(2 * self.tables.labels)
        for y in range(self.tables.labels):
            self.behind[y] = LARGEST
        for i in range(m):
            self.overall(self.slots[self.index[i]])
            self.center_of[i], self.prior_mean[i] = self.center, self.mean_of_all
            cell = self.slots[self.index[i]] * numbers.classes
            total = 0.0
            for y in range(self.tables.labels):
                total += max(0.0, numbers.weight[cell + y] / unit)
                self.behind[y] = min(self.behind[y], max(0.0, numbers.weight[cell + y] / unit))
            least = min(least, total)
        for y in range(self.tables.labels):
            if self.shares_covariance:
                self.freedom[y] = 1.0 + least
            else:
                self.freedom[y] = self.slots.shape[0] + self.behind[y]

    @cython.cfunc
    def add_densities(self, m: cython.Py_ssize_t):
        """Add Student's log-densities of m numbers; `variance` and `distance` hold distances and determinants."""
        gammas: cython.double = 0.0
        self.shift -= 0.5 * m * LOG_TAU
        for y in range(self.tables.labels):
            if y == 0 or self.freedom[y] != self.freedom[y - 1]:
                gammas = log_gammas_of(self.freedom[y], m)
            self.score[y] += gammas - 0.5 * self.distance[y]
            self.score[y] -= 0.5 * (self.freedom[y] + m) * log1p(self.variance[y] / self.freedom[y])

    @cython.cfunc
    def add_rises(self, m: cython.Py_ssize_t):
        """Add the rise of Student's log-densities when the numbers are learned once more, also for plug-in ones.

        For a part of an event it is that part of the rise.
        """
        for y in range(self.tables.labels):
            weight = PRIOR_MEANS + self.behind[y]
            distance = self.variance[y] / self.freedom[y]
            if not self.student:  # Student's distance has the doubt about the mean in it
                distance *= weight / (weight + 1.0)
            self.score[y] += (self.extra / self.tables.unit) * student_rise(
                self.freedom[y], weight, distance, m
            )

    @cython.cfunc
    def factor_part(self, g: cython.Py_ssize_t, m: cython.Py_ssize_t) -> cython.double:
        """Factor the correlations of the gathered features into `partial`; return the log-determinant."""
        n: cython.Py_ssize_t = self.slots.shape[0]
        log_det: cython.double = 0.0
        for i in range(m):
            for j in range(i, m):
                self.matrix[i * m + j] = self.correlation[(g * n + self.index[i]) * n + self.index[j]]
        cholesky(self.matrix, m, self.partial)  # a part of regular correlations is regular
        for i in range(m):
            log_det += 2.0 * (log(self.deviation[g * n + self.index[i]]) - log(self.partial[i * m + i]))
        return log_det

    @cython.cfunc
    def square_of(
        self, y: cython.Py_ssize_t, g: cython.Py_ssize_t, m: cython.Py_ssize_t, factor: cython.double[::1]
    ) -> cython.double:
        """Return the squared distance of the gathered numbers from the means of a class, in deviations.

        Student: from the posterior means, in deviations stretched by the doubt about these; `stretch` is the logarithm
        of what that adds to the determinant.
        """
        numbers: Gaussians = self.tables.gaussians
        n: cython.Py_ssize_t = self.slots.shape[0]
        weight: cython.double = -1.0
        stretch: cython.double = 1.0
        product: cython.double = 1.0
        square: cython.double = 0.0
        away: cython.double[::1] = self.away
        self.stretch = 0.0
        for i in range(m):
            slot = self.slots[self.index[i]]
            cell = slot * numbers.classes + y
            if numbers.weight[cell] > 0.0:
                numbers.settle(cell)
                total = (self.number[i] - numbers.mean[cell]) - numbers.mean_rest[cell]
            elif self.student:
                total = (self.number[i] - self.center_of[i]) - self.prior_mean[i]
            else:
                self.overall(slot)  # no sample of the class has the feature: use all classes
                total = (self.number[i] - self.center) - self.mean_of_all
            if self.student:
                before = weight
                weight = max(0.0, numbers.weight[cell] / self.tables.unit)
                if weight > 0.0:
                    # The posterior mean lies a little towards that of all classes.
                    total += (
                        ((self.number[i] - self.center_of[i]) - self.prior_mean[i] - total)
                        * PRIOR_MEANS
                        / (PRIOR_MEANS + weight)
                    )
                if weight != before:  # as a rule they are all the same
                    stretch = 1.0 + 1.0 / (PRIOR_MEANS + weight)
                    self.root = sqrt(stretch)
                product *= stretch
                if product > LARGE:
                    self.stretch += log(product)
                    product = 1.0
                total /= self.root
            total /= self.deviation[g * n + self.index[i]]
            away[i] = max(-1e100, min(1e100, total))
        for i in range(m):
            away[i] *= factor[i * m + i]
            total = away[i]
            square += total * total
            for j in range(i + 1, m):
                away[j] -= factor[i * m + j] * total
        self.stretch += log(product)
        return square if square < LARGEST else LARGEST
