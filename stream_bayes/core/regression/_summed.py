"""Bayesian linear regression, read from sums of products.

    y = a + b z + noise        z: a number less its mean, in deviations; an indicator less its mean
    b ~ N(0, noise^2 / ridge)  ridge: `strength`, divided by the share of samples that have the feature; of a wave,
                               which counts as it is and not in deviations, also by its variance
    p(a, noise) ~ 1 / noise^2

    M = | W C + ridge   W c |    C, c: covariances of z with z and with y, in deviations; W: the weight of all samples
        | W c'          W   |

One Cholesky factor L of M has everything. Its last row u and its last pivot, the squares that are left, give

    y(x) ~ Student t with W - 1 degrees of freedom about  mean + u v deviations  with  v solving  L v = z(x)
    scale^2 = squares left / (W - 1) (1 + 1 / W + v v)

A prediction for an event that lacks numbers leaves out their rows and columns. Covariances are those of the samples
that have both; where some lack one, they need not fit together, and are shrunk until every direction has, with the
prior, at least the variance that their errors explain. Without the prior, columns that say nearly the same would be
shrunk apart.

What is left of the targets is read from the covariances as they are, for what is taken away of them is no noise. They
fit themselves, so it is more than they say. With b the coefficients, and l the share of samples that lack a column,

    v = sum of  b^2 l / (1 - l)                  what the gaps of a sample hide, at most
    noise = (squares left + 5 p v) / (W - 1)     p: the number of coefficients that the prior leaves free
    noise >= 2 v sqrt(W) / (W - 1)
    scale^2 = noise (1 + 1 / W) + (noise + v) (v(x) v(x))
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import lgamma, log, sqrt

from stream_bayes.core.regression.random_fourier_features import is_wave

if not cython.compiled:
    from stream_bayes.core.counts._moments import CoMoments, Gaussians
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.encoding._features import Feature
    from stream_bayes.core.encoding._rows import Batch, Row
    from stream_bayes.core.encoding._targets import TargetEncoder

FARTHEST = cython.declare(cython.double, 1e100)  # deviations
# Standard errors of a covariance of pairs: the least variance of any direction.
ERRORS = cython.declare(cython.double, 0.3)
FIRST_SHRINKAGE = cython.declare(cython.double, 1e-12)  # of covariances that rounding made singular
SINGULAR = cython.declare(cython.double, 1e-14)  # share of a variance that is left: less is rounding
LEAST_DECADE = cython.declare(cython.Py_ssize_t, -6)  # of the strengths that are compared: 1e-6 to 1e3
# The mean of their prior, which has a deviation of a decade.
FIRST_DECADE = cython.declare(cython.Py_ssize_t, 0)
LARGEST_DECADE = cython.declare(cython.Py_ssize_t, 3)
# What is left of the targets is more than covariances of pairs say, by so many times what their gaps hide, for each
# free coefficient; and at least so many times what they hide, in standard errors.
FITTED = cython.declare(cython.double, 5.0)
LEAST_LEFT = cython.declare(cython.double, 2.0)
LEAST_SHARES = cython.declare(cython.double, 1e-100)  # a product that is still far from underflow
LOG_PI = cython.declare(cython.double, 1.1447298858494002)


@cython.cclass
class RegressionReading:
    """The posterior of a linear regression on the numbers and indicators of a store of sums. The encoder has the
    columns that the sums are of. `strength` is the ridge, in samples; 0 to choose the one with the largest evidence.
    `target` is the slot of the number that is predicted; `others` are slots that predict it only where an event has
    them.

    Notes
    -----
    Everything is a function of the sums. It is derived at the first prediction after `changed`, or for another set of
    features. A prediction writes `location`, `scale` and `degrees`.
    """

    def __init__(
        self,
        tables: Tables,
        encoder: TargetEncoder,
        strength: cython.double,
        target: cython.Py_ssize_t = 0,
        others=(),
    ):
        self.tables = tables
        self.target = target
        self.is_aside = np.zeros(max(target, max(others, default=0)) + 1, np.uint8)
        self.is_aside[target] = True
        for slot in others:
            self.is_aside[slot] = True
        self.encoder = encoder
        self.given_strength = strength
        self.strength = strength
        self.is_fresh = False
        self.is_chosen = False
        self.columns = 0
        self.slots = np.zeros(0, np.longlong)
        self.candidates = np.zeros(0, np.longlong)
        self.seen = np.zeros(0, np.uint8)
        self.number = np.zeros(0)
        self.mean, self.deviation, self.ridge, self.partial = (np.zeros(1) for _ in range(4))
        self.products, self.lacking = np.zeros(1), np.zeros(1)
        self.all_slots = np.zeros(0, np.longlong)
        self.all_mean, self.all_deviation, self.all_ridge, self.all_matrix = (np.zeros(1) for _ in range(4))
        self.per_deviation = np.zeros(1)
        self.all_columns = 0
        self.is_built = self.fits = False
        self.matrix, self.part, self.factor, self.spare, self.away = (np.zeros(1) for _ in range(5))
        self.location = self.scale = self.degrees = 0.0
        self.noise = self.coefficient_noise = 0.0

    @cython.ccall
    def changed(self):
        """Derive everything anew before the next prediction."""
        self.is_fresh = self.is_chosen = self.is_built = False

    @cython.ccall
    def learn(self, row: Row):
        """Learn a row, whose codes have room in the tables."""
        self.tables.add(row)
        self.changed()

    def learn_batch(self, batch: Batch):
        """Learn many rows, whose codes have room in the tables."""
        row: Row = Row()
        for r in range(batch.rows):
            batch.load(r, row)
            self.tables.add(row)
        self.changed()

    # -- the columns --------------------------------------------------------------------------------------------------

    @cython.cfunc
    def reserve(self):
        """Make room for all features."""
        n: cython.Py_ssize_t = self.tables.gaussians.features
        if self.seen.shape[0] >= n:
            return
        self.seen, self.number = np.zeros(2 * n, np.uint8), np.zeros(2 * n)
        self.slots, self.all_slots = np.zeros(2 * n, np.longlong), np.zeros(2 * n, np.longlong)
        self.candidates = np.zeros(2 * n, np.longlong)
        self.is_fresh = self.is_built = False

    @cython.cfunc
    def is_predictor(self, slot: cython.Py_ssize_t) -> cython.bint:
        """Return True for a number or an indicator that is not the same in all samples."""
        numbers: Gaussians = self.tables.gaussians
        base: cython.Py_ssize_t = self.encoder.base[slot]
        weight: cython.double = numbers.weight[slot * numbers.classes]
        if base < 0 or weight <= 0.0:
            return False
        if base != slot:
            return weight < numbers.weight[base * numbers.classes]
        if numbers.unsettled[slot * numbers.classes]:
            numbers.settle(slot * numbers.classes)
        return numbers.m2[slot * numbers.classes] > 0.0

    @cython.cfunc
    def is_wave(self, slot: cython.Py_ssize_t) -> cython.bint:
        """Return True for the column of a wave."""
        name = cython.cast(Feature, self.encoder.numeric[slot]).name
        return type(name) is tuple and is_wave(name)

    @cython.cfunc
    def choose_columns(self, everything: cython.bint) -> cython.Py_ssize_t:
        """Write which of all columns are predictors of the event, or of every event; return their number."""
        n: cython.Py_ssize_t = 0
        if not self.is_built:
            self.build()
        for k in range(self.all_columns):
            slot: cython.Py_ssize_t = self.all_slots[k]
            if everything:
                if slot < self.is_aside.shape[0] and self.is_aside[slot]:
                    continue
            elif not self.seen[self.encoder.base[slot]]:
                continue
            self.candidates[n] = k
            n += 1
        return n

    @cython.cfunc
    def derive(self, everything: cython.bint):
        """Derive the factor of the predictors of the event, or of all."""
        if self.given_strength == 0.0 and not self.is_chosen:
            self.is_chosen = True
            self.choose_strength()
        n = self.choose_columns(everything)
        if self.is_fresh and n == self.columns:
            for k in range(n):
                if self.slots[k] != self.all_slots[self.candidates[k]]:
                    break
            else:
                return
        self.take(n)
        self.factorise()
        self.set_noise()
        self.is_fresh = True

    @cython.cfunc
    def choose_strength(self):
        """Climb from 1 to the strength with the largest posterior, in decades; of equal ones to that nearest to 1."""
        decade: cython.Py_ssize_t = FIRST_DECADE
        step: cython.Py_ssize_t
        self.strength = 10.0**decade
        self.take(self.choose_columns(True))
        most = self.evidence_of(decade)
        self.factor, self.spare = self.spare, self.factor
        for step in (-1, 1):
            moved: cython.bint = True
            while moved and LEAST_DECADE <= decade + step <= LARGEST_DECADE:
                if step < 0 and not self.fits_with(10.0 ** (decade + step)):
                    break
                evidence = self.evidence_of(decade + step)
                moved = evidence > most
                if moved:
                    decade, most = decade + step, evidence
                    self.factor, self.spare = self.spare, self.factor
            if decade < FIRST_DECADE:
                break
        self.strength = 10.0**decade
        self.factor, self.spare = self.spare, self.factor
        self.read_factor()
        self.set_noise()
        self.is_fresh = True

    @cython.cfunc
    def evidence_of(self, decade: cython.Py_ssize_t) -> cython.double:
        """Return the log of the evidence of the strength 10^decade, times its prior, and take it."""
        self.strength = 10.0**decade
        self.factorise()
        return self.evidence() - 0.5 * decade * decade

    # -- covariances --------------------------------------------------------------------------------------------------

    @cython.cfunc
    def covariance(
        self, high: cython.Py_ssize_t, low: cython.Py_ssize_t, scale: cython.double
    ) -> cython.double:
        """Return the covariance of two columns over the samples that have both; 0 without any.

        `scale` is the product of their deviations.
        """
        numbers: Gaussians = self.tables.gaussians
        pairs: CoMoments = self.tables.co_moments
        high_base: cython.Py_ssize_t = self.encoder.base[high]
        low_base: cython.Py_ssize_t = self.encoder.base[low] if low > 0 else 0  # the slot 0 has no feature
        product: cython.double = 0.0
        if high_base == high and low_base == low:
            weight = self.weight(high, low)
            product = pairs.product(high, low, 0, numbers, scale)
        elif high_base == low_base:  # two values of one feature exclude one another
            weight = numbers.weight[high_base * numbers.classes]
            product = -(
                numbers.weight[high * numbers.classes] * (numbers.weight[low * numbers.classes] / weight)
            )
        elif high_base != high and low_base != low:
            weight = self.weight(high_base, low_base)
            if weight > 0.0:
                mean = self.weight(high, low_base) / weight
                product = self.weight(high, low) - mean * self.weight(high_base, low)
        else:
            if high_base != high:
                high, high_base, low = low, low, high
                low_base = self.encoder.base[low]
            weight = self.weight(high, low_base)
            both = self.weight(high, low)
            if both > 0.0:
                product = both * (self.mean_beside(high, low) - self.mean_beside(high, low_base))
        return product / weight if weight > 0.0 else 0.0

    @cython.cfunc
    def weight(self, one: cython.Py_ssize_t, other: cython.Py_ssize_t) -> cython.double:
        """Return the weight of the samples that have both columns."""
        return self.tables.co_moments.weight(max(one, other), min(one, other), 0, self.tables.gaussians)

    @cython.cfunc
    def mean_beside(self, slot: cython.Py_ssize_t, other: cython.Py_ssize_t) -> cython.double:
        """Return the mean of a column over the samples that have another one, too."""
        pairs: CoMoments = self.tables.co_moments
        pairs.product(max(slot, other), min(slot, other), 0, self.tables.gaussians, 0.0)
        return pairs.mean_high if slot > other else pairs.mean_low

    @cython.cfunc
    def build(self):
        """Write the matrix of all columns that could predict; the target comes last."""
        numbers: Gaussians = self.tables.gaussians
        pairs: CoMoments = self.tables.co_moments
        stride: cython.Py_ssize_t = numbers.classes
        target: cython.Py_ssize_t = self.target
        n: cython.Py_ssize_t = 0
        slot: cython.Py_ssize_t
        plain: cython.bint = pairs.beside is None
        all_samples: cython.double = numbers.weight[target * stride]
        for slot in range(1, min(numbers.features, len(self.encoder.numeric))):
            if slot != target and self.is_predictor(slot):
                self.all_slots[n] = slot
                n += 1
        m = n + 1
        self.all_slots[n] = target
        self.all_columns = n
        if self.all_mean.shape[0] < m:
            self.all_mean, self.all_deviation, self.per_deviation = (np.zeros(2 * m) for _ in range(3))
            self.all_ridge = np.zeros(2 * m)
            self.mean, self.deviation, self.ridge, self.partial = (np.zeros(2 * m) for _ in range(4))
            self.products, self.lacking, self.away = (np.zeros(2 * m) for _ in range(3))
            self.all_matrix, self.factor, self.spare = (np.zeros(4 * m * m) for _ in range(3))
        numbers.settle(target * stride)
        self.fresh_weight = all_samples / self.tables.unit
        self.degrees = self.fresh_weight - 1.0
        for i in range(m):
            slot = self.all_slots[i]
            base = self.encoder.base[slot] if i < n else target
            value = numbers.weight[slot * stride]
            if base == slot:
                numbers.settle(slot * stride)
                self.all_mean[i] = numbers.mean[slot * stride]
                self.all_deviation[i] = sqrt(numbers.m2[slot * stride] / value)
                self.all_matrix[i * m + i] = self.fresh_weight
            else:
                plain = False
                value /= numbers.weight[base * stride]
                self.all_mean[i], self.all_deviation[i] = value, 1.0
                self.all_matrix[i * m + i] = self.fresh_weight * value * (1.0 - value)
            self.per_deviation[i] = 1.0 / self.all_deviation[i]
            self.all_ridge[i] = all_samples / numbers.weight[base * stride] if i < n else 0.0
            self.lacking[i] = 1.0 - numbers.weight[base * stride] / all_samples
            if i < n and base == slot and self.is_wave(slot):
                self.all_ridge[i] /= self.all_deviation[i] * self.all_deviation[i]
        for i in range(m):
            high: cython.Py_ssize_t = self.all_slots[i]
            share = self.fresh_weight * self.per_deviation[i]
            if plain:
                pairs.write_products(high, self.all_slots, i, 0, numbers, self.all_deviation, self.products)
                share /= all_samples  # products, not covariances
            for j in range(i):
                if not plain:
                    slot = self.all_slots[j]
                    self.products[j] = self.covariance(
                        max(high, slot), min(high, slot), self.all_deviation[i] * self.all_deviation[j]
                    )
                value = self.products[j] * share * self.per_deviation[j]
                self.all_matrix[j * m + i] = max(-self.fresh_weight, min(self.fresh_weight, value))
        self.is_built, self.fits = True, False

    @cython.cfunc
    def take(self, n: cython.Py_ssize_t):
        """Take the candidates out of the matrix of all columns; set how much of their covariances fits together."""
        m: cython.Py_ssize_t = n + 1
        whole: cython.Py_ssize_t = self.all_columns + 1
        lacking: cython.double = 0.0
        self.candidates[n] = self.all_columns
        self.columns = n
        for i in range(m):
            k: cython.Py_ssize_t = self.candidates[i]
            if i < n:
                self.slots[i] = self.all_slots[k]
                lacking += self.lacking[k]
            self.mean[i], self.deviation[i], self.ridge[i] = (
                self.all_mean[k],
                self.all_deviation[k],
                self.all_ridge[k],
            )
        if m == whole:
            self.matrix = self.all_matrix
        else:
            if self.part.shape[0] < m * m:
                self.part = np.zeros(2 * m * m)
            self.matrix = self.part
            for i in range(m):
                k = self.candidates[i] * whole
                for j in range(i, m):
                    self.part[i * m + j] = self.all_matrix[k + self.candidates[j]]
        self.least_variance = self.shrinkage = 0.0
        if lacking > 0.0:
            self.least_variance = min(0.5, ERRORS * sqrt(lacking / self.fresh_weight))
            if not self.fits:  # what is taken out of columns that fit together does so too
                self.fit_together()
                self.fits = m == whole and self.shrinkage == 0.0

    # -- the factor ---------------------------------------------------------------------------------------------------

    @cython.cfunc
    def fit_together(self):
        """Set the share of the covariances to take away, so that every direction has the least variance, with the
        weakest prior that shrunk ones may have: they have no likelihood that could speak for a weaker one.
        """
        more: cython.double = self.least_variance
        strength: cython.double = self.given_strength if self.given_strength > 0.0 else 10.0**FIRST_DECADE
        while self.shrinkage < 1.0 and not self.has_factor(self.shrinkage, self.least_variance, strength):
            self.shrinkage = min(1.0, self.shrinkage + more)
            more *= 1.5

    @cython.cfunc
    def fits_with(self, strength: cython.double) -> cython.bint:
        """Return True if no covariance has to be shrunk with a prior of this strength."""
        if self.least_variance == 0.0:
            return True
        return self.shrinkage == 0.0 and self.has_factor(0.0, self.least_variance, strength)

    @cython.cfunc
    def factorise(self):
        """Factor the matrix; shrink its covariances further if rounding made it singular."""
        share: cython.double = self.shrinkage
        more: cython.double = max(self.least_variance, FIRST_SHRINKAGE)
        while not self.has_factor(share, 0.0, self.strength):
            share = min(1.0, share + more)
            more *= 10.0
        self.read_factor()

    @cython.cfunc
    def read_factor(self):
        """Set what the factor's last row and pivot say."""
        n: cython.Py_ssize_t = self.columns
        m: cython.Py_ssize_t = n + 1
        for i in range(m):
            self.partial[i] = self.factor[i * m + n]
        self.left = max(self.factor[n * m + n], SINGULAR * self.fresh_weight)

    @cython.cfunc
    def set_noise(self):
        """Set the variance of a target about the line, and that which coefficients have by the samples' errors."""
        n: cython.Py_ssize_t = self.columns
        m: cython.Py_ssize_t = n + 1
        matrix: cython.double[::1] = self.matrix
        hidden: cython.double = 0.0
        left: cython.double = 0.0
        self.noise = self.coefficient_noise = self.left / self.degrees
        if self.least_variance == 0.0:
            return
        line: cython.double[::1] = self.away
        for i in range(n - 1, -1, -1):
            value = self.partial[i]
            for k in range(i + 1, n):
                value -= self.factor[i * m + k] * line[k]
            line[i] = value * self.factor[i * m + i]
        left = matrix[n * m + n]
        for i in range(n):
            value = line[i] * line[i]
            lacking = self.lacking[self.candidates[i]]
            hidden += value * matrix[i * m + i] / self.fresh_weight * lacking / (1.0 - lacking)
            left += value * (matrix[i * m + i] + self.strength * self.ridge[i])
            value = -matrix[i * m + n]
            for k in range(i + 1, n):
                value += line[k] * matrix[i * m + k]
            left += 2.0 * line[i] * value
        if self.shrinkage == 0.0:
            left = self.left
        left = max(
            left + FITTED * self.free_coefficients() * hidden, LEAST_LEFT * hidden * sqrt(self.fresh_weight)
        )
        self.noise = max(left, SINGULAR * self.fresh_weight) / self.degrees
        self.coefficient_noise = self.noise + hidden

    @cython.cfunc
    def free_coefficients(self) -> cython.double:
        """Return the number of coefficients, less the share of each that the prior and what was shrunk decide."""
        n: cython.Py_ssize_t = self.columns
        m: cython.Py_ssize_t = n + 1
        free: cython.double = n
        column: cython.double[::1] = self.away
        for j in range(n):
            square: cython.double = 0.0
            column[j] = 1.0
            for i in range(j + 1, n):
                column[i] = 0.0
            for i in range(j, n):
                value = column[i] * self.factor[i * m + i]
                square += value * value
                for k in range(i + 1, n):
                    column[k] -= value * self.factor[i * m + k]
            prior = self.strength * self.ridge[j] + self.shrinkage * self.matrix[j * m + j]
            free -= prior * square
        return max(0.0, free)

    @cython.cfunc
    def has_factor(self, share: cython.double, least: cython.double, strength: cython.double) -> cython.bint:
        """Factor the matrix with a share of the covariances replaced by none, a share of the variances taken away, and
        the ridge of a strength added; return False if it is singular. The factor has the inverse of its diagonal on the
        diagonal, and the target's pivot as it is.
        """
        n: cython.Py_ssize_t = self.columns
        m: cython.Py_ssize_t = n + 1
        matrix: cython.double[::1] = self.matrix
        factor: cython.double[::1] = self.factor
        for k in range(m):
            for i in range(k * m + k, k * m + m):
                factor[i] = matrix[i] * (1.0 - share)
        for k in range(m):
            row = k * m
            factor[row + k] = matrix[row + k] * (1.0 - least) + strength * self.ridge[k]
            for j in range(0, k - 3, 4):  # four rows at a time: each number is read and written once
                first, second = factor[j * m + k], factor[(j + 1) * m + k]
                third, fourth = factor[(j + 2) * m + k], factor[(j + 3) * m + k]
                for i in range(k, m):
                    factor[row + i] = (
                        factor[row + i]
                        - first * factor[j * m + i]
                        - second * factor[(j + 1) * m + i]
                        - third * factor[(j + 2) * m + i]
                        - fourth * factor[(j + 3) * m + i]
                    )
            for j in range(k - k % 4, k):
                first = factor[j * m + k]
                for i in range(k, m):
                    factor[row + i] -= first * factor[j * m + i]
            if k < n:
                pivot = factor[row + k]
                if not pivot > SINGULAR * matrix[row + k]:
                    return False
                pivot = 1.0 / sqrt(pivot)
                factor[row + k] = pivot
                for i in range(row + k + 1, row + m):
                    factor[i] *= pivot
        return factor[n * m + n] > -SINGULAR * matrix[n * m + n]

    @cython.cfunc
    def evidence(self) -> cython.double:
        """Return the log of the marginal likelihood of the targets, given the features and the present columns."""
        n: cython.Py_ssize_t = self.columns
        half: cython.double = 0.5 * self.degrees
        total: cython.double = lgamma(half) - half * (LOG_PI + log(self.left)) - 0.5 * log(self.fresh_weight)
        shares: cython.double = 1.0  # of each column's pivot, that of the ridge: a logarithm for many of them
        for i in range(n):
            share = (
                self.strength * self.ridge[i] * self.factor[i * (n + 1) + i] * self.factor[i * (n + 1) + i]
            )
            if shares < LEAST_SHARES:
                total += 0.5 * log(shares)
                shares = 1.0
            shares *= share
        return total + 0.5 * log(shares) - self.degrees * log(self.deviation[n])

    # -- predicting ---------------------------------------------------------------------------------------------------

    @cython.ccall
    def has_spread(self) -> cython.bint:
        """Return True once targets that differ, of a weight of more than 1, have been learned."""
        numbers: Gaussians = self.tables.gaussians
        at: cython.Py_ssize_t = self.target * numbers.classes
        if numbers.features <= self.target or numbers.weight[at] <= self.tables.unit:
            return False
        numbers.settle(at)
        return numbers.m2[at] > 0.0

    @cython.ccall
    def predict(self, row: Row) -> cython.bint:
        """Write the location and the scale of an event's target; return False if its scale is not known yet."""
        numbers: Gaussians = self.tables.gaussians
        if not self.has_spread():
            self.location = self.scale = self.degrees = 0.0
            if numbers.features > self.target:
                slot = self.target * numbers.classes
                numbers.settle(slot)
                self.location = numbers.mean[slot] + numbers.mean_rest[slot]  # of equal targets, that number
                self.degrees = max(0.0, numbers.weight[slot] / self.tables.unit - 1.0)
            return False
        self.reserve()
        for k in range(row.numbers):
            slot = row.numeric_feature[k]
            if slot < numbers.features and numbers.weight[slot * numbers.classes] > 0.0:
                self.seen[slot], self.number[slot] = True, row.number[k]
        for k in range(row.numbers):  # a value that no sample has any more counts as missing
            slot = row.numeric_feature[k]
            if slot < numbers.features and not self.seen[slot] and self.encoder.base[slot] >= 0:
                self.seen[self.encoder.base[slot]] = False
        self.derive(False)
        self.solve()
        for k in range(row.numbers):
            slot = row.numeric_feature[k]
            if slot < numbers.features:
                self.seen[slot], self.number[slot] = False, 0.0
        return True

    @cython.cfunc
    def solve(self):
        """Solve L v = z for the event; write its location and scale."""
        n: cython.Py_ssize_t = self.columns
        m: cython.Py_ssize_t = n + 1
        away: cython.double[::1] = self.away_from_means()
        total: cython.double = 0.0
        square: cython.double = 0.0
        for i in range(n):
            value = away[i] * self.factor[i * m + i]
            for k in range(i + 1, n):
                away[k] -= value * self.factor[i * m + k]
            total += value * self.partial[i]
            square += value * value
        self.location = self.mean[n] + self.deviation[n] * total
        square = self.noise * (1.0 + 1.0 / self.fresh_weight) + self.coefficient_noise * square
        self.scale = self.deviation[n] * sqrt(square)

    @cython.cfunc
    def away_from_means(self) -> cython.double[::1]:
        """Return the event's columns less their means, in deviations."""
        numbers: Gaussians = self.tables.gaussians
        for i in range(self.columns):
            slot: cython.Py_ssize_t = self.slots[i]
            value = self.number[slot] - self.mean[i]
            if self.encoder.base[slot] == slot:
                value = (value - numbers.mean_rest[slot * numbers.classes]) / self.deviation[i]
            self.away[i] = max(-FARTHEST, min(FARTHEST, value))
        return self.away

    def posterior(self):
        """Return the posterior of the coefficients on all predictors, as `parts`; None while there is no spread."""
        if not self.has_spread():
            return None
        self.reserve()
        self.derive(True)
        return self.parts()

    def posterior_of(self, row: Row):
        """Return the posterior of the coefficients on what an event has, after predicting it; as `posterior` does."""
        return self.parts() if self.predict(row) else None

    def parts(self):
        """Return the predictors' slots, means and deviations with the target's last, L, u, the noise and that of
        coefficients.
        """
        n: cython.Py_ssize_t = self.columns
        m: cython.Py_ssize_t = n + 1
        factor = np.tril(np.asarray(self.factor[: m * m]).reshape(m, m).T[:n, :n])
        np.fill_diagonal(factor, 1.0 / np.diag(factor))
        mean, deviation = np.array(self.mean[:m]), np.array(self.deviation[:m])
        return (
            np.array(self.slots[:n]),
            mean,
            deviation,
            factor,
            np.array(self.partial[:n]),
            float(self.noise),
            float(self.coefficient_noise),
        )

    def log_evidence(self):
        """Return the log of the marginal likelihood of the targets on all predictors; None while there is no spread."""
        if not self.has_spread():
            return None
        self.reserve()
        self.derive(True)
        return self.evidence()
