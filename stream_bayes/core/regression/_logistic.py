"""Bayesian logistic regression by assumed-density filtering: a normal posterior of coefficients, event by event.

    P(y = k | z) = softmax(f)[k]     f = H u     u[a] = sum over columns j of coefficient[a, j] z[j]

    z   1, a number in its unit, an indicator of a value                      (columns j)
    H   the contrasts of classes: of class a + 1 with those before it         (Helmert, [class, contrast a])

H is scaled so that the log-odds of any two classes have coefficients ~ N(0, 1 / strength), and of two classes u is the
log-odds itself. An event moves the posterior N(m, V) to the normal one nearest to posterior times likelihood. With the
columns of the event, u ~ N(z m, S = z V z), so that only these few numbers are integrated over:

    two classes     mean and variance by the trapezoid rule          m += V z a     V -= V z b z V
    more            mode and curvature, by Newton's steps

A number's unit is set after 4 events, 8, 16, ..., to mean and deviation of those since the last time; the posterior is
written in the new unit, and the prior set to it.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, fabs, log, log1p, sqrt

if not cython.compiled:
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.counts._values import ValueCounts
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._reading import Reading

MOST_JOINT = cython.declare(cython.Py_ssize_t, 192)  # coefficients with a full covariance
MOST_CONTRASTS = cython.declare(cython.Py_ssize_t, 16)  # with a full covariance
FIRST_COUNT = cython.declare(cython.longlong, 4)  # events that give a number its first unit
FARTHEST = cython.declare(cython.double, 10.0)  # deviations: what lies beyond counts as that
CONSTANT = cython.declare(
    cython.double, 1e-12
)  # deviation of a number, relative to its size: less is rounding
EVEN_VARIANCE = cython.declare(cython.double, 9.869604401089358)  # of the log-odds of a Beta(1/2, 1/2): pi^2
ONE_ODDS = cython.declare(cython.double, 0.03648997397857652)  # the mean log of a Gamma(3/2): digamma(3/2)
ONE_VARIANCE = cython.declare(cython.double, 0.9348022005446793)  # its variance: trigamma(3/2)
MODERATION = cython.declare(cython.double, 0.39269908169872414)  # pi / 8
ROOT_TWO_PI = cython.declare(cython.double, 2.5066282746310002)
LOG_HALF = cython.declare(cython.double, -0.6931471805599453)
REACH = cython.declare(cython.double, 14.0)  # deviations within which the trapezoids lie
MOST_TRAPEZOIDS = cython.declare(cython.double, 256.0)
NEGLIGIBLE = cython.declare(cython.double, -37.0)  # log of what a double does not add to 1
MOST_STEPS = cython.declare(cython.int, 50)  # of Newton
NEAR = cython.declare(cython.double, 1e-10)
LEAST_LEFT = cython.declare(cython.double, 1e-3)  # of a precision, when the prior is taken out of it
OTHER_UNIT = cython.declare(cython.double, 30.0)  # times: what was learned of a number in such a unit is void
BIAS = cython.declare(cython.Py_ssize_t, 0)  # the column that is 1 in all events


_BY_COLUMN = (
    "slot",
    "code",
    "center",
    "unit",
    "count",
    "new_weight",
    "new_mean",
    "new_squares",
    "z",
    "there",
)


@cython.cfunc
@cython.exceptval(check=False)
def log_sigmoid(u: cython.double) -> cython.double:
    return -log1p(exp(-u)) if u > 0.0 else u - log1p(exp(u))


@cython.ccall
def is_joint(columns: cython.Py_ssize_t, contrasts: cython.Py_ssize_t) -> cython.bint:
    """Return True if so many coefficients have a covariance of all of them."""
    return columns * contrasts <= MOST_JOINT and contrasts <= MOST_CONTRASTS


@cython.cclass
class LogisticReading(Reading):
    """The posterior of a logistic regression on the numbers and values of a store.

    The counts of `tables` give missing values their shares. `strength` is the precision of the prior of a coefficient;
    a `half_life` of 0 never forgets.
    """

    def __init__(self, tables, labels, strength: cython.double, half_life: cython.double):
        Reading.__init__(self, tables, labels, strength)
        self.kept = 1.0 if half_life == 0.0 else 0.5 ** (1.0 / half_life)
        self.columns = 1
        self.contrasts = 0
        self.joint = True
        self.mean, self.covariance = np.zeros(0), np.zeros(0)
        self.column_of = {}
        self.slot, self.code = np.full(8, -1, np.longlong), np.full(8, -1, np.longlong)
        self.center, self.unit = np.zeros(8), np.zeros(8)
        self.count = np.zeros(8, np.longlong)
        self.new_weight, self.new_mean, self.new_squares = np.zeros(8), np.zeros(8), np.zeros(8)
        self.z, self.there = np.zeros(8), np.zeros(8, np.uint8)
        self.present = np.zeros(8, np.uint8)
        self.faded_at = 0
        self.turn = 0
        self.order = np.zeros(1, np.longlong)
        self.u, self.latent = np.zeros(0), np.zeros(1)
        self.extend(1, 0)
        self.make_room(labels.declared)

    # -- columns and contrasts ----------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.exceptval(check=False)
    def prior(self, j: cython.Py_ssize_t) -> cython.double:
        """Return the prior's precision of a column."""
        return 1.0 / EVEN_VARIANCE if j == BIAS else self.strength

    @cython.cfunc
    def add_column(self, slot: cython.Py_ssize_t, code: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Give the next column to a value, or with the code -1 to a number."""
        j: cython.Py_ssize_t = self.columns
        if j == self.slot.shape[0]:
            for name in _BY_COLUMN:
                old = np.asarray(getattr(self, name))
                setattr(self, name, np.concatenate([old, np.zeros(j, old.dtype)]))
        self.slot[j], self.code[j] = slot, code
        self.center[j] = self.unit[j] = 0.0
        self.count[j] = 0
        self.new_weight[j] = self.new_mean[j] = self.new_squares[j] = 0.0
        self.column_of[slot, code] = j
        self.extend(j + 1, self.contrasts)
        return j

    def arrange_columns(self):
        """Write to `order` the columns in an order that does not depend on which came first."""
        raise NotImplementedError

    def add_column_of(self, slot: cython.Py_ssize_t, code: cython.Py_ssize_t):
        """Give the next column to a value, or with the code -1 to a number, that a state holds."""
        self.add_column(slot, code)

    def restore(self, joint: cython.bint, mean, covariance):
        """Take over the posterior of a state."""
        self.joint = joint
        self.mean, self.covariance = mean, covariance
        self.make_buffers()

    @cython.ccall
    def make_room(self, classes: cython.Py_ssize_t):
        """Add contrasts up to a number of classes."""
        if classes - 1 > self.contrasts:
            before: cython.Py_ssize_t = self.contrasts
            self.extend(self.columns, classes - 1)
            a: cython.Py_ssize_t
            for a in range(before, self.contrasts):
                self.begin_contrast(a)

    @cython.cfunc
    def extend(self, columns: cython.Py_ssize_t, contrasts: cython.Py_ssize_t):
        """Extend the posterior to more columns and contrasts, which have the prior."""
        before: cython.Py_ssize_t = self.columns
        rows: cython.Py_ssize_t = self.contrasts
        mean = np.zeros((contrasts, columns))
        mean[:rows, :before] = np.asarray(self.mean).reshape(rows, before)
        variance = np.full((contrasts, columns), 1.0 / self.strength)
        variance[:, BIAS] = 1.0 / self.prior(BIAS)
        old = np.asarray(self.covariance)
        if self.joint and not is_joint(columns, contrasts):
            self.joint = False
            old = np.diagonal(old.reshape(rows * before, rows * before))
        if self.joint:
            covariance = np.diag(variance.ravel()).reshape(contrasts, columns, contrasts, columns)
            covariance[:rows, :before, :rows, :before] = old.reshape(rows, before, rows, before)
        else:
            covariance = variance
            covariance[:rows, :before] = old.reshape(rows, before)
        self.columns, self.contrasts = columns, contrasts
        self.mean, self.covariance = mean.ravel(), np.ascontiguousarray(covariance).ravel()
        self.make_buffers()

    @cython.cfunc
    def make_buffers(self):
        """Make room for what an event is projected to."""
        contrasts: cython.Py_ssize_t = self.contrasts
        self.projected = np.zeros(self.columns * contrasts * (contrasts if self.joint else 1))
        if self.u.shape[0] < contrasts or self.u.shape[0] == 0:
            most: cython.Py_ssize_t = 2 * contrasts + 2
            self.u, self.at, self.tried, self.gradient = (np.zeros(most) for _ in range(4))
            self.latent, self.share_at = np.zeros(most + 1), np.zeros(most + 1)
        square: cython.Py_ssize_t = contrasts * contrasts if self.joint else contrasts
        self.scatter, self.weight, self.noise = np.zeros(square), np.zeros(square), np.zeros(square)
        self.system = np.zeros(contrasts * (2 * contrasts + 1) if self.joint else contrasts)

    @cython.cfunc
    def begin_contrast(self, a: cython.Py_ssize_t):
        """Set the log-odds of a class that none of the events so far had, so that they are those of a
        Beta(1 + 1/2, events + 1/2) after the first event that has it: in its tail a normal moves by its variance.
        """
        tables: Tables = self.tables
        i: cython.Py_ssize_t = a * self.columns + BIAS
        y: cython.Py_ssize_t
        events: cython.double = 0.0
        total: cython.double = 0.0
        best: cython.double
        scale: cython.double = sqrt((a + 2.0) / (2.0 * (a + 1.0)))
        variance: cython.double
        for y in range(tables.labels):
            events += tables.class_weight[y] / tables.unit
        if events == 0.0:
            return
        for y in range(a):
            self.u[y] = self.mean[y * self.columns + BIAS]
        self.write_latent(self.u, a)
        best = self.latent[0]
        for y in range(1, a + 1):
            best = max(best, self.latent[y])
        for y in range(a + 1):
            total += exp(self.latent[y] - best)
        variance = ONE_VARIANCE + 1.0 / (events + 0.5)
        self.mean[i] = (ONE_ODDS - variance - log(events + 0.5) + best + log(total)) / scale
        variance /= scale * scale
        self.covariance[i * self.columns * self.contrasts + i if self.joint else i] = variance

    @cython.cfunc
    def write_latent(self, u: cython.double[::1], contrasts: cython.Py_ssize_t):
        """Write the score f = H u of each class."""
        a: cython.Py_ssize_t
        part: cython.double
        below: cython.double = 0.0
        for a in range(contrasts - 1, -1, -1):
            part = u[a] / sqrt(2.0 * (a + 1.0) * (a + 2.0))
            self.latent[a + 1] = (a + 1.0) * part - below
            below += part
        self.latent[0] = -below

    # -- an event -----------------------------------------------------------------------------------------------------

    @cython.cfunc
    def read_row(self, row: Row):
        """Write the columns of an event to `z`; which of them it has, to `there`."""
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        features: cython.Py_ssize_t = self.tables.values.layout.features
        if self.present.shape[0] < features:
            self.present = np.zeros(2 * features, np.uint8)
        for k in range(features):
            self.present[k] = 0
        for j in range(self.columns):
            self.z[j] = 0.0
            self.there[j] = 0
        self.z[BIAS], self.there[BIAS] = 1.0, 1
        for k in range(row.numbers):
            column = self.column_of.get((row.numeric_feature[k], -1))
            if column is not None:
                j = column
                self.there[j] = 1
                if self.unit[j] > 0.0:
                    self.z[j] = max(-FARTHEST, min(FARTHEST, (row.number[k] - self.center[j]) / self.unit[j]))
        for k in range(row.entries):
            column = self.column_of.get((row.feature[k], row.code[k]))
            if column is not None:
                j = column
                self.z[j] = 1.0
                self.present[row.feature[k]] = 1
        for j in range(1, self.columns):
            if self.code[j] >= 0:
                self.there[j] = self.present[self.slot[j]]
                if not self.there[j]:
                    self.z[j] = self.share_of(self.slot[j], self.code[j])

    @cython.cfunc
    def share_of(self, slot: cython.Py_ssize_t, code: cython.Py_ssize_t) -> cython.double:
        """Return the share of a value among the events that have its feature."""
        values: ValueCounts = self.tables.values
        y: cython.Py_ssize_t
        classes: cython.Py_ssize_t = values.layout.classes
        cell: cython.Py_ssize_t = (values.layout.start[slot] + code) * classes
        part: cython.double = 0.0
        whole: cython.double = 0.0
        for y in range(self.tables.labels):
            part += values.weight[cell + y]
            whole += values.present[slot * classes + y]
        return part / whole if whole > 0.0 else 0.0

    @cython.cfunc
    def project(self):
        """Write mean and covariance of `u`, and the covariance of `u` with the coefficients."""
        n: cython.Py_ssize_t = self.columns
        m: cython.Py_ssize_t = self.contrasts
        size: cython.Py_ssize_t = n * m
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        total: cython.double
        z: cython.double[::1] = self.z
        covariance: cython.double[::1] = self.covariance
        for a in range(m):
            total = 0.0
            for j in range(n):
                total += self.mean[a * n + j] * z[j]
            self.u[a] = total
        if self.joint:
            for i in range(size):
                for b in range(m):
                    total = 0.0
                    for j in range(n):
                        total += covariance[i * size + b * n + j] * z[j]
                    self.projected[i * m + b] = total
            for a in range(m):
                for b in range(m):
                    total = 0.0
                    for j in range(n):
                        total += self.projected[(a * n + j) * m + b] * z[j]
                    self.scatter[a * m + b] = total
        else:
            for a in range(m):
                total = 0.0
                for j in range(n):
                    self.projected[a * n + j] = covariance[a * n + j] * z[j]
                    total += self.projected[a * n + j] * z[j]
                self.scatter[a] = total
        self.add_noise()

    @cython.cfunc
    def add_noise(self):
        """Add to the covariance of `u` what the features add that the event lacks."""
        n: cython.Py_ssize_t = self.columns
        m: cython.Py_ssize_t = self.contrasts
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        j: cython.Py_ssize_t
        variance: cython.double
        for j in range(1, n):
            if self.there[j]:
                continue
            # Values of one feature are taken as independent of each other.
            variance = 1.0 if self.code[j] < 0 else self.z[j] * (1.0 - self.z[j])
            if self.code[j] < 0 and self.unit[j] == 0.0:
                continue
            for a in range(m):
                if not self.joint:
                    self.scatter[a] += variance * self.mean[a * n + j] * self.mean[a * n + j]
                    continue
                for b in range(m):
                    self.scatter[a * m + b] += variance * self.mean[a * n + j] * self.mean[b * n + j]

    # -- answers ------------------------------------------------------------------------------------------------------

    @cython.cfunc
    def score_row(self, row: Row) -> cython.bint:
        """Write the log of each class's probability, the mean over the posterior."""
        y: cython.Py_ssize_t
        x: cython.Py_ssize_t
        lower: cython.double
        total: cython.double = 0.0
        if self.begin() == 0:
            return False
        self.is_prior = False
        if self.contrasts == 0:
            return True
        self.read_row(row)
        self.project()
        if self.contrasts == 1:
            y = 0 if self.u[0] > 0.0 else 1
            self.tilt(-fabs(self.u[0]), self.scatter[0], 1.0)
            lower = min(LOG_HALF, self.log_evidence_of_tilt)
            self.score[y], self.score[1 - y] = lower, log1p(-exp(lower))
            return True
        self.write_latent(self.u, self.contrasts)
        for y in range(self.contrasts + 1):
            lower = 1.0
            for x in range(self.contrasts + 1):
                if x != y:
                    lower += exp(
                        min(
                            700.0,
                            (self.latent[x] - self.latent[y]) / sqrt(1.0 + MODERATION * self.variance(x, y)),
                        )
                    )
            self.score[y] = -log(lower)
            total += 1.0 / lower
        for y in range(self.contrasts + 1):
            self.score[y] -= log(total)
        return True

    @cython.cfunc
    @cython.exceptval(check=False)
    def contrast(self, y: cython.Py_ssize_t, a: cython.Py_ssize_t) -> cython.double:
        """Return H[y, a]."""
        if y > a + 1:
            return 0.0
        return (a + 1.0 if y == a + 1 else -1.0) / sqrt(2.0 * (a + 1.0) * (a + 2.0))

    @cython.cfunc
    def variance(self, x: cython.Py_ssize_t, y: cython.Py_ssize_t) -> cython.double:
        """Return the variance of the difference of two classes' scores."""
        m: cython.Py_ssize_t = self.contrasts
        a: cython.Py_ssize_t
        for a in range(m):
            self.at[a] = self.contrast(x, a) - self.contrast(y, a)
        return self.variance_along_at()

    @cython.cfunc
    def variance_along_at(self) -> cython.double:
        """Return the variance of the sum of `u`, each times `at`."""
        m: cython.Py_ssize_t = self.contrasts
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        total: cython.double = 0.0
        for a in range(m):
            if not self.joint:
                total += self.at[a] * self.at[a] * self.scatter[a]
                continue
            for b in range(m):
                total += self.at[a] * self.at[b] * self.scatter[a * m + b]
        return max(total, 0.0)

    @cython.cfunc
    def look_again(self, row: Row):
        """Write the variance of each class's log-odds: that of its score less the log of the sum of all others'."""
        m: cython.Py_ssize_t = self.contrasts
        y: cython.Py_ssize_t
        x: cython.Py_ssize_t
        a: cython.Py_ssize_t
        rest: cython.double
        self.normalise()
        for y in range(self.tables.labels):
            self.spread_of[y] = 0.0
            rest = 0.0
            for x in range(m + 1):
                if x != y:
                    rest += self.share[x]
            if rest <= 0.0:
                continue
            for a in range(m):
                self.at[a] = self.contrast(y, a)
            for x in range(m + 1):
                if x != y:
                    for a in range(m):
                        self.at[a] -= self.share[x] / rest * self.contrast(x, a)
            self.spread_of[y] = self.variance_along_at()

    # -- learning -----------------------------------------------------------------------------------------------------

    @cython.ccall
    def learn(self, row: Row):
        """Learn a row whose codes have room in the tables."""
        k: cython.Py_ssize_t
        j: cython.Py_ssize_t
        if row.weight > 0.0:
            columns: cython.Py_ssize_t = self.columns
            self.make_room(row.label + 1)
            for k in range(row.numbers):
                if (row.numeric_feature[k], -1) not in self.column_of:
                    self.add_column(row.numeric_feature[k], -1)
            for k in range(row.entries):
                if (row.feature[k], row.code[k]) not in self.column_of:
                    self.add_column(row.feature[k], row.code[k])
            if self.columns > columns:
                self.arrange_columns()
        self.tables.add(row)
        self.fade()
        if row.weight == 0.0:
            return
        if self.contrasts > 0:
            self.read_row(row)
            self.project()
            if self.contrasts == 1:
                self.learn_of_two(row)
            else:
                self.learn_of_more(row)
            self.take_over()
        for k in range(row.numbers):
            j = self.column_of[row.numeric_feature[k], -1]
            self.measure(j, row.number[k])

    @cython.cfunc
    def learn_of_two(self, row: Row):
        """Write by how much mean and covariance of the log-odds move: exact moments."""
        sign: cython.double = 1.0 if row.label == 1 else -1.0
        spread: cython.double = self.scatter[0]
        self.tilt(sign * self.u[0], spread, row.weight)
        self.gradient[0] = sign * (self.mean_of_tilt - sign * self.u[0]) / spread
        self.weight[0] = max(0.0, (spread - self.variance_of_tilt) / (spread * spread))

    @cython.cfunc
    def tilt(self, mean: cython.double, spread: cython.double, weight: cython.double):
        """Write integral, mean and variance of N(u; mean, spread) sigmoid(u)^weight."""
        mode: cython.double = mean
        step: cython.double
        share: cython.double
        value: cython.double
        top: cython.double
        u: cython.double
        k: cython.int
        away: cython.double
        zeroth: cython.double = 1.0
        first: cython.double = 0.0
        second: cython.double = 0.0
        width: cython.double
        deviation: cython.double = sqrt(spread)
        low: cython.double = mean
        high: cython.double = mean + weight * spread
        for _ in range(MOST_STEPS):
            share = 1.0 / (1.0 + exp(min(mode, 700.0)))  # that sigmoid leaves
            value = weight * share - (mode - mean) / spread
            if value > 0.0:
                low = mode
            else:
                high = mode
            step = value / (weight * share * (1.0 - share) + 1.0 / spread)
            mode += step
            if not low <= mode <= high:
                step = 0.5 * (low + high) - (mode - step)
                mode = 0.5 * (low + high)
            if fabs(step) <= 1e-6 * deviation:
                break
        share = 1.0 / (1.0 + exp(min(mode, 700.0)))
        width = 1.0 / sqrt(1.0 / spread + weight * share * (1.0 - share))
        width = max(0.7 * min(width, 1.0), REACH * deviation / MOST_TRAPEZOIDS)
        top = weight * log_sigmoid(mode) - 0.5 * (mode - mean) * (mode - mean) / spread
        for k in range(-1, 2, 2):
            u = mode
            away = 0.0
            while True:
                u += k * width
                away += k * width
                value = weight * log_sigmoid(u) - 0.5 * (u - mean) * (u - mean) / spread - top
                if value < NEGLIGIBLE:
                    break
                value = exp(value)
                zeroth += value
                first += value * away
                second += value * away * away
        first /= zeroth
        self.mean_of_tilt = mode + first
        self.variance_of_tilt = max(0.0, second / zeroth - first * first)
        self.log_evidence_of_tilt = log(zeroth * width / (ROOT_TWO_PI * deviation)) + top

    @cython.cfunc
    def learn_of_more(self, row: Row):
        """Write by how much mean and covariance of `u` move: to the mode, and to the curvature there."""
        m: cython.Py_ssize_t = self.contrasts
        a: cython.Py_ssize_t
        reached: cython.double
        value: cython.double
        share: cython.double
        change: cython.double
        for a in range(m):
            self.gradient[a] = 0.0  # u = mean + scatter gradient
        reached = self.objective(self.gradient, row)
        for _ in range(MOST_STEPS):
            self.write_weight(row)
            self.solve()  # the step goes to `tried`
            share = 1.0
            change = 0.0
            for a in range(m):
                self.tried[a] -= self.gradient[a]
                change = max(change, fabs(self.tried[a]))
            while True:
                for a in range(m):
                    self.gradient[a] += share * self.tried[a]
                value = self.objective(self.gradient, row)
                if value >= reached - 1e-12 * fabs(reached) or share < 1e-4:
                    break
                for a in range(m):
                    self.gradient[a] -= share * self.tried[a]
                share *= 0.5
            reached = value
            if change * share <= NEAR:
                break
        self.write_weight(row)
        self.moderate_weight()

    @cython.cfunc
    def objective(self, gradient: cython.double[::1], row: Row) -> cython.double:
        """Return the log of posterior times likelihood at u = mean + scatter gradient; write u to `at`, and the
        shares of the classes there.
        """
        m: cython.Py_ssize_t = self.contrasts
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        total: cython.double
        square: cython.double = 0.0
        best: cython.double
        for a in range(m):
            total = 0.0
            if self.joint:
                for b in range(m):
                    total += self.scatter[a * m + b] * gradient[b]
            else:
                total = self.scatter[a] * gradient[a]
            square += total * gradient[a]
            self.at[a] = self.u[a] + total
        self.write_latent(self.at, m)
        best = self.latent[0]
        for a in range(1, m + 1):
            best = max(best, self.latent[a])
        total = 0.0
        for a in range(m + 1):
            self.share_at[a] = exp(self.latent[a] - best)
            total += self.share_at[a]
        for a in range(m + 1):
            self.share_at[a] /= total
        return row.weight * (self.latent[row.label] - best - log(total)) - 0.5 * square

    @cython.cfunc
    def write_weight(self, row: Row):
        """Write the curvature of the likelihood at the shares of the classes, and the right side of Newton's step: the
        curvature times what u has moved by, and the slope.
        """
        m: cython.Py_ssize_t = self.contrasts
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        y: cython.Py_ssize_t
        total: cython.double
        for a in range(m):
            total = 0.0
            for y in range(min(a + 2, m + 1)):
                total += self.contrast(y, a) * self.share_at[y]
            self.noise[a] = total  # the mean of the contrasts
        for a in range(m):
            for b in range(a, -1, -1) if self.joint else range(a, a - 1, -1):
                total = 0.0
                for y in range(min(b + 2, m + 1)):
                    total += self.share_at[y] * self.contrast(y, a) * self.contrast(y, b)
                total = row.weight * (total - self.noise[a] * self.noise[b])
                if self.joint:
                    self.weight[a * m + b] = self.weight[b * m + a] = total
                else:
                    self.weight[a] = total
        for a in range(m):
            total = row.weight * (self.contrast(row.label, a) - self.noise[a])
            if self.joint:
                for b in range(m):
                    total += self.weight[a * m + b] * (self.at[b] - self.u[b])
            else:
                total += self.weight[a] * (self.at[a] - self.u[a])
            self.tried[a] = total

    @cython.cfunc
    def solve(self):
        """Solve (1 + weight scatter) x = tried, and write x to `tried`."""
        m: cython.Py_ssize_t = self.contrasts
        a: cython.Py_ssize_t
        if not self.joint:
            for a in range(m):
                self.tried[a] /= 1.0 + self.weight[a] * self.scatter[a]
            return
        self.write_system(1)
        for a in range(m):
            self.system[a * (m + 1) + m] = self.tried[a]
        self.eliminate(1)
        for a in range(m):
            self.tried[a] = self.system[a * (m + 1) + m]

    @cython.cfunc
    def moderate_weight(self):
        """Replace `weight` by (1 + weight scatter)^-1 weight."""
        m: cython.Py_ssize_t = self.contrasts
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        if not self.joint:
            for a in range(m):
                self.weight[a] /= 1.0 + self.weight[a] * self.scatter[a]
            return
        self.write_system(m)
        for a in range(m):
            for b in range(m):
                self.system[a * 2 * m + m + b] = self.weight[a * m + b]
        self.eliminate(m)
        for a in range(m):
            for b in range(m):
                self.weight[a * m + b] = self.system[a * 2 * m + m + b]

    @cython.cfunc
    def write_system(self, right: cython.Py_ssize_t):
        """Write 1 + weight scatter, with room for columns to its right."""
        m: cython.Py_ssize_t = self.contrasts
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        c: cython.Py_ssize_t
        total: cython.double
        for a in range(m):
            for b in range(m):
                total = 1.0 if a == b else 0.0
                for c in range(m):
                    total += self.weight[a * m + c] * self.scatter[c * m + b]
                self.system[a * (m + right) + b] = total

    @cython.cfunc
    def eliminate(self, right: cython.Py_ssize_t):
        """Solve the system for its columns on the right, which become the solutions."""
        m: cython.Py_ssize_t = self.contrasts
        width: cython.Py_ssize_t = m + right
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        c: cython.Py_ssize_t
        pivot: cython.Py_ssize_t
        factor: cython.double
        for a in range(m):
            pivot = a
            for b in range(a + 1, m):
                if fabs(self.system[b * width + a]) > fabs(self.system[pivot * width + a]):
                    pivot = b
            for c in range(a, width):
                factor = self.system[a * width + c]
                self.system[a * width + c] = self.system[pivot * width + c]
                self.system[pivot * width + c] = factor
            factor = 1.0 / self.system[a * width + a]
            for c in range(a, width):
                self.system[a * width + c] *= factor
            for b in range(m):
                if b == a:
                    continue
                factor = self.system[b * width + a]
                for c in range(a, width):
                    self.system[b * width + c] -= factor * self.system[a * width + c]

    @cython.cfunc
    def take_over(self):
        """Move mean and covariance of the coefficients by what those of `u` moved."""
        n: cython.Py_ssize_t = self.columns
        m: cython.Py_ssize_t = self.contrasts
        size: cython.Py_ssize_t = n * m
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        total: cython.double
        covariance: cython.double[::1] = self.covariance
        projected: cython.double[::1] = self.projected
        if not self.joint:
            for a in range(m):
                for i in range(a * n, a * n + n):
                    self.mean[i] += projected[i] * self.gradient[a]
                    covariance[i] -= projected[i] * projected[i] * self.weight[a]
            return
        for i in range(size):
            total = 0.0
            for a in range(m):
                total += projected[i * m + a] * self.gradient[a]
            self.mean[i] += total
            for b in range(m):
                total = 0.0
                for a in range(m):
                    total += projected[i * m + a] * self.weight[a * m + b]
                if total == 0.0:
                    continue
                for k in range(i + 1):
                    covariance[i * size + k] -= total * projected[k * m + b]
        self.mirror()

    @cython.cfunc
    def mirror(self):
        """Copy the lower triangle of the covariance to the upper one."""
        size: cython.Py_ssize_t = self.columns * self.contrasts
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        covariance: cython.double[::1] = self.covariance
        for i in range(size):
            for k in range(i):
                covariance[k * size + i] = covariance[i * size + k]

    # -- fading and units ---------------------------------------------------------------------------------------------

    @cython.ccall
    def fade(self):
        """Let all events fade up to the present clock; the prior does not."""
        events: cython.longlong = self.tables.clock - self.faded_at
        k: cython.Py_ssize_t
        some: cython.Py_ssize_t
        _: cython.Py_ssize_t
        left: cython.double
        self.faded_at = self.tables.clock
        if self.kept == 1.0 or events == 0 or self.contrasts == 0:
            return
        left = self.kept ** float(events)
        for k in range(self.covariance.shape[0]):
            self.covariance[k] = min(self.covariance[k] / left, 1e300) if left > 0.0 else 0.0
        if left <= 1e-12:
            self.forget_all()
            return
        # At one event, what the prior lost is given back to some columns, each in its turn.
        some = self.columns
        if events == 1:
            some = min(some, 1 + cython.cast(cython.Py_ssize_t, 4.0 * some * (1.0 - left)))
        for _ in range(some):
            self.give_back(self.order[self.turn], (1.0 - left) * self.columns / some)
            self.turn += 1
            if self.turn == self.columns:
                self.turn = 0

    @cython.cfunc
    def forget_all(self):
        """Return to the prior."""
        columns: cython.Py_ssize_t = self.columns
        contrasts: cython.Py_ssize_t = self.contrasts
        self.columns, self.contrasts = 1, 0
        self.mean, self.covariance, self.joint = np.zeros(0), np.zeros(0), True
        self.extend(columns, contrasts)

    @cython.cfunc
    def give_back(self, j: cython.Py_ssize_t, share: cython.double):
        """Add a share of the prior of a column."""
        a: cython.Py_ssize_t
        for a in range(self.contrasts):
            self.add_precision(a * self.columns + j, share * self.prior(j))

    @cython.cfunc
    def add_precision(self, i: cython.Py_ssize_t, precision: cython.double):
        """Learn that a coefficient is 0, with a precision; one below 0 takes that back."""
        size: cython.Py_ssize_t = self.columns * self.contrasts
        k: cython.Py_ssize_t
        p: cython.Py_ssize_t
        variance: cython.double = self.covariance[i * size + i if self.joint else i]
        factor: cython.double
        step: cython.double
        precision = max(precision, (LEAST_LEFT - 1.0) / variance)
        factor = precision / (1.0 + precision * variance)
        step = factor * self.mean[i]
        if not self.joint:
            self.covariance[i] = variance - variance * variance * factor
            self.mean[i] -= variance * step
            return
        for k in range(size):
            self.projected[k] = self.covariance[k * size + i]
        for k in range(size):
            self.mean[k] -= self.projected[k] * step
            for p in range(k + 1):
                self.covariance[k * size + p] -= factor * self.projected[k] * self.projected[p]
        self.mirror()

    @cython.cfunc
    def measure(self, j: cython.Py_ssize_t, number: cython.double):
        """Add a number to the moments of its column, and set its unit if it is time."""
        apart: cython.double
        if self.unit[j] > 0.0:  # a far number shall not make all others small
            apart = FARTHEST * self.unit[j]
            number = max(self.center[j] - apart, min(self.center[j] + apart, number))
        apart = number - self.new_mean[j]
        self.new_weight[j] += 1.0
        self.new_mean[j] += apart / self.new_weight[j]
        self.new_squares[j] += apart * (number - self.new_mean[j])
        self.count[j] += 1
        if self.count[j] >= FIRST_COUNT and not self.count[j] & (self.count[j] - 1):
            self.set_unit(j, self.new_mean[j], sqrt(self.new_squares[j] / self.new_weight[j]))
            self.new_weight[j] = self.new_mean[j] = self.new_squares[j] = 0.0

    @cython.cfunc
    def set_unit(self, j: cython.Py_ssize_t, mean: cython.double, deviation: cython.double):
        """Set the unit of a number, and write the posterior in it."""
        before: cython.double = self.unit[j]
        if not deviation > CONSTANT * fabs(mean):
            return
        if before > 0.0 and OTHER_UNIT * deviation > before and deviation < OTHER_UNIT * before:
            self.rescale(j, deviation / before, (mean - self.center[j]) / before)
        elif before > 0.0:
            self.begin_anew(j)
        self.center[j], self.unit[j] = mean, deviation

    @cython.cfunc
    def begin_anew(self, j: cython.Py_ssize_t):
        """Return the coefficients of a column to the prior."""
        n: cython.Py_ssize_t = self.columns
        size: cython.Py_ssize_t = n * self.contrasts
        a: cython.Py_ssize_t
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        for a in range(self.contrasts):
            i = a * n + j
            self.mean[i] = 0.0
            if not self.joint:
                self.covariance[i] = 1.0 / self.prior(j)
                continue
            for k in range(size):
                self.covariance[i * size + k] = self.covariance[k * size + i] = 0.0
            self.covariance[i * size + i] = 1.0 / self.prior(j)

    @cython.cfunc
    def rescale(self, j: cython.Py_ssize_t, factor: cython.double, shift: cython.double):
        """Write the posterior for z' in place of z = factor z' + shift."""
        n: cython.Py_ssize_t = self.columns
        size: cython.Py_ssize_t = n * self.contrasts
        a: cython.Py_ssize_t
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        bias: cython.Py_ssize_t
        for a in range(self.contrasts):
            i, bias = a * n + j, a * n + BIAS
            self.mean[bias] += shift * self.mean[i]
            self.mean[i] *= factor
            if self.joint:
                for k in range(size):
                    self.covariance[bias * size + k] += shift * self.covariance[i * size + k]
                    self.covariance[i * size + k] *= factor
                for k in range(size):
                    self.covariance[k * size + bias] += shift * self.covariance[k * size + i]
                    self.covariance[k * size + i] *= factor
            else:
                self.covariance[bias] += shift * shift * self.covariance[i]
                self.covariance[i] *= factor * factor
        for a in range(self.contrasts):
            self.add_precision(a * n + j, self.prior(j) * (1.0 - 1.0 / (factor * factor)))
