"""Naive Bayes over named features: tables of values, and a Gaussian for each numeric feature."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, log, log1p, sqrt

if not cython.compiled:
    from stream_bayes.core.counts._layout import Layout
    from stream_bayes.core.counts._moments import BLOCK, Gaussians
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.counts._values import ValueCounts
    from stream_bayes.core.encoding._bins import Bins
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._reading import Reading, log_of
    from stream_bayes.core.readings._student import log_gammas, rise_at_mean, rise_away

SMALL = cython.declare(cython.double, 1e-150)
LARGE = cython.declare(cython.double, 1e150)
MORE_THAN_ONE = cython.declare(cython.double, 1.000000001)  # sample: below, M2 / (W - 1) is rounding noise
LARGE_EXPONENT = cython.declare(cython.double, 200.0)  # its exponential leaves room for a weight and a scale
LARGEST = cython.declare(cython.double, 1.7976931348623157e308)
TINIEST = cython.declare(cython.double, 1e-300)
LOG_TAU = cython.declare(cython.double, 1.8378770664093453)  # log(2 pi)
LOG_PI = cython.declare(cython.double, 1.1447298858494002)
EQUAL = cython.declare(cython.double, 1e-40)  # of the square of the mean: numbers that differ vary by more
# "kappa_0": fresh samples that the prior of a class's mean weighs.
PRIOR_MEANS = cython.declare(cython.double, 0.1)
OUTLIERS = cython.declare(cython.double, 1.0)  # fresh samples of the prior predictive beside those of a class
# A number that a smaller share of the samples has is one of a sparse bag; any other is a column, perhaps with gaps.
SPARSE = cython.declare(cython.double, 0.5)


@cython.cfunc
@cython.exceptval(check=False)
def log_cauchy(away: cython.double, scale: cython.double) -> cython.double:
    """Return the log-density of Student's t with one degree of freedom, `away` from its centre.

    `scale` is the square of its scale.
    """
    square: cython.double = away * away / scale
    if square < LARGE:
        return -LOG_PI - 0.5 * log(scale) - log(1.0 + square)
    return -LOG_PI - 0.5 * log(scale) - log(min(square, LARGEST))


@cython.cfunc
@cython.exceptval(check=False)
def left_share(inside: cython.double, before: cython.longlong) -> cython.double:
    """Return the share of the left neighbour for a number `inside` its bin, with `before` bins to the left."""
    return 0.5 * (1.0 - inside) * (1.0 - inside) if before > 0 else 0.0


@cython.cfunc
@cython.exceptval(check=False)
def right_share(inside: cython.double, after: cython.longlong) -> cython.double:
    """Return the share of the right neighbour, with `after` bins to the right."""
    return 0.5 * inside * inside if after > 0 else 0.0


@cython.cclass
class ValueReading(Reading):
    """Naive Bayes over nominal and numeric features.

    P(v | y) = (n(y, v) + a) / (n(y, feature present) + a V), with a the smoothing a cell and V the values that hold
    samples now, or were declared. Numeric features are Gaussians, in one of two ways:

        plug-in     density of N(m, M2 / (n - ddof))
        student     (n t(x; n + 1, m_n, s_n (1 + 1 / k_n)) + t(x; 1, m_0, v_0 (1 + 1 / k_0))) / (n + 1)
                    k_n = k_0 + n       m_n = (k_0 m_0 + n m) / k_n
                    s_n = (v_0 + M2 + k_0 n (m - m_0)^2 / k_n) / (n + 1)

    with n, m, M2 the weight in fresh samples, mean and squared deviations of the class; m_0, v_0 the mean and variance
    over all classes; k_0 = 0.1. So mean and variance are integrated over a normal-inverse-gamma prior of v_0 with one
    degree of freedom, and one sample more is expected to come from the prior, whatever the class.

    Student: whether a number is there at all is evidence too, if fewer than half of the samples have it, as with a word
    in a bag. It is a Poisson variable for each class and number. Its rate has a Gamma prior of one sample around the
    share of samples with the number:

        rate        p (n(y, f) + 1) / (n(y) p + 1)      p = n(f) / n
        evidence    product over the row's sparse numbers of their rates * exp(-(n(y, sparse) + L) / (n(y) + 1))

    with L the sparse numbers of a sample on average. Rates are sums over blocks of features, so absent numbers cost no
    time each.

    `shared_variance` is 0 for a variance for each class and feature; 1: shared over classes; 2: over features; 3: over
    both. Plug-in: no variance is below `variance_floor`, a share of the feature's variance over all classes, and `ddof`
    is the degrees of freedom that the means take. `student` is True for Student's t. Of numbers that are counted both
    ways, `reads_moments` reads the moments, and not the bins.

    Notes
    -----
    `exponent` weighs features, by slot: P(v | y) to that power. Features beyond its end weigh 1.
    """

    def __init__(
        self,
        tables,
        labels,
        strength=1.0,
        prior_strength=1.0,
        spread=False,
        class_prior="counted",
        shared_variance: cython.int = 0,
        variance_floor: cython.double = 1e-9,
        ddof: cython.double = 1.0,
        student: cython.bint = False,
        reads_moments: cython.bint = False,
    ):
        Reading.__init__(self, tables, labels, strength, prior_strength, spread, class_prior)
        self.shared_variance = shared_variance
        self.variance_floor = variance_floor
        self.ddof = ddof
        self.student = student
        self.reads_moments = reads_moments
        self.exponent = np.zeros(0)
        self.mean, self.variance, self.freedom, self.distance = (
            np.zeros(2),
            np.zeros(2),
            np.zeros(2),
            np.zeros(2),
        )
        self.shared, self.shared_freedom = np.zeros(2), np.zeros(2)
        self.last_freedom, self.last_gammas = np.zeros(2), np.zeros(2)
        self.risen_freedom, self.risen_weight, self.last_rise = np.zeros(2), np.zeros(2), np.zeros(2)
        self.numbers_held = np.zeros(2)

    @cython.cfunc
    def add_evidence(self, row: Row):
        if row.entries:
            self.add_values(row)
        if self.tables.bins is None or self.reads_moments:
            if self.student and self.tables.gaussians.features and self.count_numbers():
                self.add_presence(row)
            if row.numbers and self.student:
                self.add_students(row)
            elif row.numbers:
                self.add_numbers(row)

    @cython.cfunc
    def add_values(self, row: Row):
        values: ValueCounts = self.tables.values
        layout: Layout = values.layout
        stride: cython.Py_ssize_t = layout.classes
        classes: cython.Py_ssize_t = self.tables.labels
        bins: Bins = self.tables.bins if self.reads_moments else None
        for y in range(classes):
            self.share[y] = 1.0
        for k in range(row.entries):
            f: cython.Py_ssize_t = row.feature[k]
            position: cython.Py_ssize_t = layout.start[f] + row.code[k]
            if not values.occupied[position]:
                continue
            if bins is not None and f < bins.count.shape[0] and bins.count[f] >= 0:
                continue  # a number
            power = self.exponent[f] if f < self.exponent.shape[0] else 1.0
            if power == 0.0:
                continue
            add = self.pseudocount(values.distinct[f])
            whole = add * values.distinct[f] + self.extra
            add += self.extra
            cell: cython.Py_ssize_t = position * stride
            left = right = 0.0
            if row.soft and row.inside[k] >= 0.0:
                left = left_share(row.inside[k], row.code[k])
                right = right_share(row.inside[k], layout.used[f] - 1 - row.code[k])
            for y in range(classes):
                below = values.present[f * stride + y] + whole
                if below <= 0.0:
                    continue  # 0/0 is no evidence
                count = values.weight[cell + y] * (1.0 - left - right)
                if left > 0.0:
                    count += values.weight[cell - stride + y] * left
                if right > 0.0:
                    count += values.weight[cell + stride + y] * right
                ratio: cython.double = (count + add) / below
                if power != 1.0:
                    ratio = ratio**power
                product: cython.double = self.share[y] * ratio
                if product < SMALL:
                    self.score[y] += log_of(self.share[y]) + log_of(ratio)
                    product = 1.0
                self.share[y] = product
        for y in range(classes):
            self.score[y] += log(self.share[y])

    @cython.cfunc
    def count_numbers(self) -> cython.bint:
        """Set `numbers_held` to the weight of each class's sparse numbers; return True if there are any."""
        numbers: Gaussians = self.tables.gaussians
        weight: cython.double[::1] = numbers.weight
        is_sparse: cython.bint = False
        if self.numbers_held.shape[0] < self.tables.labels:
            self.numbers_held = np.zeros(2 * self.tables.labels)
        by_class: cython.double[::1] = self.numbers_held
        self.weight_of_samples = 0.0
        self.weight_of_numbers = 0.0
        for y in range(self.tables.labels):
            by_class[y] = 0.0
            self.weight_of_samples += self.tables.class_weight[y]
        for block in range(numbers.blocks):
            if numbers.stale[block]:
                numbers.sum_block(block)
            if numbers.top[block] <= 0.0:
                continue
            if numbers.top[block] < SPARSE * self.weight_of_samples:
                is_sparse = True
                cell = block * numbers.classes
                for y in range(self.tables.labels):
                    by_class[y] += numbers.block_weight[cell + y]
                continue
            for f in range(block * BLOCK, min((block + 1) * BLOCK, numbers.features)):
                cell = f * numbers.classes
                measured = 0.0
                for y in range(self.tables.labels):
                    measured += weight[cell + y]
                if measured <= 0.0 or measured >= SPARSE * self.weight_of_samples:
                    continue
                is_sparse = True
                for y in range(self.tables.labels):
                    by_class[y] += weight[cell + y]
        for y in range(self.tables.labels):
            self.weight_of_numbers += by_class[y]
        return is_sparse

    @cython.cfunc
    def expected_length(self, y: cython.Py_ssize_t, numbers: cython.Py_ssize_t) -> cython.double:
        """Return the sparse numbers that a sample of a class has on average, after `count_numbers`.

        `numbers` is how many the row has, which counts itself in a second look.
        """
        average: cython.double = self.weight_of_numbers / self.weight_of_samples
        return (self.numbers_held[y] + self.tables.unit * average + self.extra * numbers) / (
            self.tables.class_weight[y] + self.tables.unit + self.extra
        )

    @cython.cfunc
    def share_with(self, feature: cython.Py_ssize_t) -> cython.double:
        """Return the share of samples that have a sparse number, 0 if none has; 1 for a number that is not sparse."""
        numbers: Gaussians = self.tables.gaussians
        cell: cython.Py_ssize_t = feature * numbers.classes
        measured: cython.double = 0.0
        for y in range(self.tables.labels):
            measured += numbers.weight[cell + y]
        return 1.0 if measured >= SPARSE * self.weight_of_samples else measured / self.weight_of_samples

    @cython.cfunc
    def add_presence(self, row: Row):
        """Add the evidence of which sparse numbers a row has, after `count_numbers`."""
        numbers: Gaussians = self.tables.gaussians
        unit: cython.double = self.tables.unit
        sparse: cython.Py_ssize_t = 0
        for y in range(self.tables.labels):
            self.share[y] = 1.0
        for k in range(row.numbers):
            share = self.share_with(row.numeric_feature[k])
            if share <= 0.0 or share >= 1.0:
                continue
            sparse += 1
            self.shift += log(share)
            cell = row.numeric_feature[k] * numbers.classes
            for y in range(self.tables.labels):
                ratio = (numbers.weight[cell + y] + unit + self.extra) / (
                    (self.tables.class_weight[y] + self.extra) * share + unit
                )
                product = self.share[y] * ratio
                if product < SMALL or product > LARGE:
                    self.score[y] += log(self.share[y]) + log(ratio)
                    product = 1.0
                self.share[y] = product
        for y in range(self.tables.labels):
            self.score[y] += log(self.share[y]) - self.expected_length(y, sparse)

    @cython.cfunc
    def overall(self, feature: cython.Py_ssize_t):
        """Set `mean_of_all` and `variance_of_all`: a feature's over all classes.

        Means are measured from `center`, the mean of one of the classes, so that a large offset costs no digits.
        """
        numbers: Gaussians = self.tables.gaussians
        cell: cython.Py_ssize_t = feature * numbers.classes
        weight: cython.double = 0.0
        mean: cython.double = 0.0
        m2: cython.double = 0.0
        self.center = 0.0
        for y in range(self.tables.labels):
            if numbers.weight[cell + y] > 0.0:
                numbers.settle(cell + y)
                if weight == 0.0:
                    self.center = numbers.mean[cell + y]
                weight += numbers.weight[cell + y]
                away = self.mean_from_center(cell + y) - mean
                mean += away * (numbers.weight[cell + y] / weight)
                m2 += numbers.m2[cell + y]
                m2 += numbers.weight[cell + y] * away * (self.mean_from_center(cell + y) - mean)
        self.weight_of_all = weight
        self.mean_of_all = mean
        self.variance_of_all = 0.0
        if weight > self.tables.unit * MORE_THAN_ONE:
            self.variance_of_all = m2 / (weight - self.tables.unit)
        elif m2 > 0.0:
            self.variance_of_all = (
                m2 / weight
            )  # little is left of samples that faded: their spread is still known
        mean += self.center
        self.constant = self.variance_of_all <= EQUAL * mean * mean
        if self.constant:
            # One value only: the scale is unknown. Its magnitude stands in, so that no other value is impossible.
            self.variance_of_all = mean * mean if mean * mean > TINIEST else 1.0

    @cython.cfunc
    @cython.exceptval(check=False)
    def mean_from_center(self, cell: cython.Py_ssize_t) -> cython.double:
        """Return the mean of a settled cell, from `center`."""
        numbers: Gaussians = self.tables.gaussians
        return (numbers.mean[cell] - self.center) + numbers.mean_rest[cell]

    @cython.cfunc
    def pool(self, first: cython.Py_ssize_t, step: cython.Py_ssize_t, cells: cython.Py_ssize_t):
        """Set `pooled` and `pooled_freedom`: the variance of a number of cells together, each about its own mean."""
        numbers: Gaussians = self.tables.gaussians
        cell: cython.Py_ssize_t = first
        m2: cython.double = 0.0
        freedom: cython.double = 0.0
        for _ in range(cells):
            if numbers.weight[cell] > self.ddof * self.tables.unit:
                numbers.settle(cell)
                m2 += numbers.m2[cell]
                freedom += numbers.weight[cell] - self.ddof * self.tables.unit
            cell += step
        self.pooled = m2 / freedom if freedom > 0.0 else -1.0
        self.pooled_freedom = freedom / self.tables.unit

    @cython.cfunc
    def share_variances(self):
        """Share variances over features, once for a prediction."""
        numbers: Gaussians = self.tables.gaussians
        for y in range(self.tables.labels):
            if self.shared_variance == 2:
                self.pool(y, numbers.classes, numbers.features)
            else:
                self.pool(0, 1, numbers.features * numbers.classes)
            self.shared[y] = self.pooled
            self.shared_freedom[y] = self.pooled_freedom

    @cython.cfunc
    def estimate(self, feature: cython.Py_ssize_t):
        """Set `mean`, from `center`, `variance` and `freedom` of each class for the density of a feature."""
        numbers: Gaussians = self.tables.gaussians
        classes: cython.Py_ssize_t = self.tables.labels
        unit: cython.double = self.tables.unit
        cell: cython.Py_ssize_t = feature * numbers.classes
        fallback: cython.bint = False
        self.overall(feature)
        for y in range(classes):
            self.mean[y] = self.mean_from_center(cell + y)
            if self.shared_variance >= 2 and self.shared[y] >= 0.0:
                self.variance[y] = self.shared[y]
                self.freedom[y] = self.shared_freedom[y]
            elif (
                self.shared_variance == 0
                and numbers.weight[cell + y] > 0.0
                and numbers.weight[cell + y] > self.ddof * unit * MORE_THAN_ONE
            ):
                self.variance[y] = numbers.m2[cell + y] / (numbers.weight[cell + y] - self.ddof * unit)
                self.freedom[y] = numbers.weight[cell + y] / unit - self.ddof
            else:
                if not fallback:
                    self.pool(cell, 1, classes)
                    fallback = True
                self.variance[y] = self.pooled if self.pooled >= 0.0 else self.variance_of_all
                self.freedom[y] = self.pooled_freedom
            if numbers.weight[cell + y] <= 0.0:
                self.mean[y] = self.mean_of_all  # no sample of the class has the feature: use all classes
            if numbers.weight[cell + y] <= 0.0 or (self.constant and self.shared_variance < 2):
                self.variance[y] = self.variance_of_all
            if self.variance[y] < self.variance_floor * self.variance_of_all:
                self.variance[y] = self.variance_floor * self.variance_of_all
            if self.variance[y] < TINIEST:
                self.variance[y] = TINIEST

    @cython.cfunc
    def reserve(self):
        """Make room for every class."""
        if self.mean.shape[0] < self.tables.labels:
            size = 2 * self.tables.labels
            self.mean, self.variance, self.freedom = np.zeros(size), np.zeros(size), np.zeros(size)
            self.distance, self.shared, self.shared_freedom = np.zeros(size), np.zeros(size), np.zeros(size)
            self.last_freedom, self.last_gammas = np.zeros(size), np.zeros(size)
            self.risen_freedom, self.risen_weight = np.zeros(size), np.zeros(size)
            self.last_rise = np.zeros(size)
        if self.shared_variance >= 2:
            self.share_variances()

    def gaussian(self, feature: cython.Py_ssize_t, label: cython.Py_ssize_t) -> tuple:
        """Return mean and variance of a class as plug-in predictions use them, the weight of the mean, and the
        variance's degrees of freedom.
        """
        numbers: Gaussians = self.tables.gaussians
        self.reserve()
        self.estimate(feature)
        weight = numbers.weight[feature * numbers.classes + label] / self.tables.unit
        return (
            float(self.center + self.mean[label]),
            float(self.variance[label]),
            float(weight),
            float(self.freedom[label]),
        )

    def number_posterior(self, feature: cython.Py_ssize_t, label: cython.Py_ssize_t) -> tuple:
        """Return the parameters of a number's normal-inverse-gamma posterior in a class: the location and the weight
        of its mean, the square of the scale of its variance, and its degrees of freedom.
        """
        numbers: Gaussians = self.tables.gaussians
        self.reserve()
        self.update(feature)
        weight = numbers.weight[feature * numbers.classes + label] / self.tables.unit
        if self.constant and weight > 0.0:
            weight = self.weight_of_all / self.tables.unit  # as in `add_students`
        return (
            float(self.center + self.mean[label]),
            float(PRIOR_MEANS + max(0.0, weight)),
            float(self.variance[label]),
            float(self.freedom[label]),
        )

    def number_posteriors(self):
        """Return the posteriors of all numbers in all classes, and what is beside them, as [what, feature, class].

        The four of `number_posterior`; the weight of the class's density against one sample of the prior; the location
        and the square of the scale of that sample's Cauchy density; the weight of the samples with the number.
        """
        numbers: Gaussians = self.tables.gaussians
        table = np.zeros((8, numbers.features, self.tables.labels))
        out: cython.double[:, :, ::1] = table
        self.reserve()
        for f in range(numbers.features):
            self.update(f)
            for y in range(self.tables.labels):
                present = max(0.0, numbers.weight[f * numbers.classes + y] / self.tables.unit)
                weight = present
                if self.constant and weight > 0.0:
                    weight = self.weight_of_all / self.tables.unit  # as in `add_students`
                out[0, f, y] = self.center + self.mean[y]
                out[1, f, y] = PRIOR_MEANS + weight
                out[2, f, y] = self.variance[y]
                out[3, f, y] = self.freedom[y]
                out[4, f, y] = weight
                out[5, f, y] = self.center + self.mean_of_all
                out[6, f, y] = max(TINIEST, self.variance_of_all) * (1.0 + 1.0 / PRIOR_MEANS)
                out[7, f, y] = present
        return table

    @cython.cfunc
    def add_numbers(self, row: Row):
        tables: Tables = self.tables
        classes: cython.Py_ssize_t = tables.labels
        self.reserve()
        score: cython.double[::1] = self.score
        share: cython.double[::1] = self.share
        mean: cython.double[::1] = self.mean
        variance: cython.double[::1] = self.variance
        distance: cython.double[::1] = self.distance
        for y in range(classes):
            share[y] = 1.0  # the product of variances
        for k in range(row.numbers):
            self.estimate(row.numeric_feature[k])
            if self.weight_of_all <= 0.0:
                continue  # no sample holds it
            number = row.number[k] - self.center
            nearest: cython.double = LARGEST
            for y in range(classes):
                away: cython.double = number - mean[y]
                square: cython.double = away * away / variance[y]
                if not square < LARGEST:
                    # Beyond the range of a double it stays finite, and in the order of its root.
                    away = abs(away / sqrt(variance[y]))
                    square = LARGEST * (1.0 - 0.5 * (1e154 / away if away < LARGEST else 0.0))
                distance[y] = square
                # A class without samples is left out, so that naming one does not change the rounding of the others.
                if square < nearest and self.is_live(y):
                    nearest = square
            # Only differences between classes go into the scores: a number far from all would drown the rest.
            self.shift -= 0.5 * (nearest + LOG_TAU)
            for y in range(classes):
                if self.extra > 0.0:
                    score[y] += (self.extra / tables.unit) * self.rise_of_number(
                        y,
                        number - mean[y],
                        self.freedom[y] + 1.0,
                        tables.gaussians.weight[row.numeric_feature[k] * tables.gaussians.classes + y],
                    )
                score[y] -= 0.5 * (distance[y] - nearest)
                product = share[y] * variance[y]
                if product < SMALL or product > LARGE:
                    score[y] -= 0.5 * (log(share[y]) + log(variance[y]))
                    product = 1.0
                share[y] = product
        for y in range(classes):
            score[y] -= 0.5 * log(share[y])

    @cython.cfunc
    @cython.exceptval(check=False)
    def rise_of_number(
        self, y: cython.Py_ssize_t, away: cython.double, freedom: cython.double, weight: cython.double
    ) -> cython.double:
        """Return by how much the log-density of a number rises in a class when it is learned once more.

        It is that of Student's t, of mean and variance under their prior, also for a plug-in density. Features of a
        class mostly have the same weight, for which the rise at the mean is kept.
        """
        behind: cython.double = PRIOR_MEANS + max(0.0, weight / self.tables.unit)
        if freedom != self.risen_freedom[y] or behind != self.risen_weight[y]:
            self.risen_freedom[y], self.risen_weight[y] = freedom, behind
            self.last_rise[y] = rise_at_mean(freedom, behind, 1)
        return self.last_rise[y] + rise_away(
            freedom, behind, away * away / (freedom * self.variance[y] * (1.0 + 1.0 / behind)), 1
        )

    @cython.cfunc
    def update(self, feature: cython.Py_ssize_t):
        """Set `mean`, from `center`, `variance` and `freedom` of each class to its posterior's; `overall` too."""
        numbers: Gaussians = self.tables.gaussians
        unit: cython.double = self.tables.unit
        cell: cython.Py_ssize_t = feature * numbers.classes
        self.overall(feature)
        if self.shared_variance == 1:
            self.pool(cell, 1, self.tables.labels)
        for y in range(self.tables.labels):
            weight = numbers.weight[cell + y] / unit
            away = self.mean_from_center(cell + y) - self.mean_of_all
            if weight <= 0.0:
                away = weight = 0.0
            squares = (
                numbers.m2[cell + y] / unit + PRIOR_MEANS * weight / (PRIOR_MEANS + weight) * away * away
            )
            freedom = weight
            if self.constant and weight > 0.0:
                freedom = self.weight_of_all / unit  # the same for all classes that have the feature
            elif self.shared_variance == 1 and self.pooled >= 0.0:
                squares, freedom = self.pooled * self.pooled_freedom, self.pooled_freedom
            elif self.shared_variance >= 2 and self.shared[y] >= 0.0:
                squares, freedom = self.shared[y] * self.shared_freedom[y], self.shared_freedom[y]
            self.mean[y] = self.mean_of_all + away * (weight / (PRIOR_MEANS + weight))
            self.variance[y] = (self.variance_of_all + squares) / (1.0 + freedom)
            self.freedom[y] = 1.0 + freedom
            if self.variance[y] < TINIEST:
                self.variance[y] = TINIEST

    @cython.cfunc
    def add_students(self, row: Row):
        """Add the log-densities of numbers by Student's t.

        A density is a factor of its class, relative to the prior's; a logarithm is taken only where factors come near
        the end of the range of a double. Features of a class mostly have the same degrees of freedom, whose gamma
        functions are kept.
        """
        numbers: Gaussians = self.tables.gaussians
        self.reserve()
        for y in range(self.tables.labels):
            self.share[y] = 1.0
        for k in range(row.numbers):
            feature: cython.Py_ssize_t = row.numeric_feature[k]
            self.update(feature)
            if self.weight_of_all <= 0.0:
                continue  # no sample holds it
            number = row.number[k] - self.center
            prior = log_cauchy(
                number - self.mean_of_all, max(TINIEST, self.variance_of_all) * (1.0 + 1.0 / PRIOR_MEANS)
            )
            self.shift += prior
            for y in range(self.tables.labels):
                weight = numbers.weight[feature * numbers.classes + y] / self.tables.unit
                if self.extra > 0.0:
                    self.score[y] += (self.extra / self.tables.unit) * self.rise_of_number(
                        y, number - self.mean[y], self.freedom[y], weight * self.tables.unit
                    )
                if weight <= 0.0:
                    continue  # the prior alone
                if self.constant:
                    weight = self.weight_of_all / self.tables.unit
                if self.freedom[y] != self.last_freedom[y]:
                    self.last_freedom[y] = self.freedom[y]
                    self.last_gammas[y] = log_gammas(0.5 * self.freedom[y]) - 0.5 * LOG_PI
                scale = self.freedom[y] * self.variance[y] * (1.0 + 1.0 / (PRIOR_MEANS + weight))
                away = number - self.mean[y]
                square = away * away / scale
                if not square < LARGEST:
                    square = LARGEST
                exponent = self.last_gammas[y] - 0.5 * (self.freedom[y] + 1.0) * log1p(square) - prior
                if exponent < LARGE_EXPONENT:
                    factor = (weight * exp(exponent) / sqrt(scale) + OUTLIERS) / (weight + OUTLIERS)
                    product = self.share[y] * factor
                    if product < SMALL or product > LARGE:
                        self.score[y] += log(self.share[y]) + log(factor)
                        product = 1.0
                    self.share[y] = product
                else:
                    self.score[y] += exponent - 0.5 * log(scale) - log1p(OUTLIERS / weight)
        for y in range(self.tables.labels):
            self.score[y] += log(self.share[y])
