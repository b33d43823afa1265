"""Bayesian logistic regression by assumed-density filtering: a normal posterior of coefficients, event by event.

    P(y = k | z) = softmax(f)[k]     f = H u     u[a] = sum over columns j of coefficient[a, j] z[j]

    z   1, waves cos(w x + phase) if there are any, a number x in its unit, an indicator of a value       (columns j)
    H   the contrasts of classes: of class a + 1 with those before it                  (Helmert, [class, contrast a])

H is scaled so that the log-odds of any two classes have coefficients ~ N(0, 1 / strength), and of two classes u is the
log-odds itself. An event moves the posterior N(m, V) to the normal one nearest to posterior times likelihood. With the
columns of the event, u ~ N(z m, S = z V z), so that only these few numbers are integrated over:

    two classes     mean and variance by the trapezoid rule          m += V z a     V -= V z b z V
    more            mode by Newton's steps, from there to the mean by third derivatives, and the curvature there

While there are few coefficients, V has all of them (`joint`):     a block of [contrast, column] squared
with more, all contrasts share that of their columns:              a block of [column] squared, moved by the mean over
                                                                   the contrasts; of late columns variances alone

As events fade, V grows by a factor that is kept beside its numbers (`inflation`): an event reads and writes them once.

A number's unit is set after 4 events, 8, 16, ..., to mean and deviation of those since the last time; the posterior is
written in the new unit, and the prior set to it. Waves are over the numbers in their units and the indicators, so that
the regression is nearly a Gaussian process.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import cos, exp, fabs, log, log1p, sqrt

if not cython.compiled:
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.counts._values import ValueCounts
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._reading import Reading

WAVES = 64
LENGTHS = (0.5, 1.0, 2.0)  # of the waves, relative to the typical distance of two events
# Numbers and values that waves are over, the first that come.
MOST_WAVED = cython.declare(cython.Py_ssize_t, 96)
MOST_JOINT = 192  # coefficients with a covariance of all
MOST_CONTRASTS = cython.declare(cython.Py_ssize_t, 16)  # with a covariance of all coefficients
MOST_SHARED = cython.declare(cython.Py_ssize_t, 192)  # columns with a covariance that contrasts share
FIRST_COUNT = cython.declare(cython.longlong, 4)  # events that give a number its first unit
FARTHEST = cython.declare(cython.double, 10.0)  # deviations: what lies beyond counts as that
# Deviation of a number, relative to its size: less is rounding.
CONSTANT = cython.declare(cython.double, 1e-12)
EVEN_VARIANCE = cython.declare(cython.double, 9.869604401089358)  # of the log-odds of a Beta(1/2, 1/2): pi^2
ONE_ODDS = cython.declare(cython.double, 0.03648997397857652)  # the mean log of a Gamma(3/2): digamma(3/2)
ONE_VARIANCE = cython.declare(cython.double, 0.9348022005446793)  # its variance: trigamma(3/2)
MODERATION = cython.declare(cython.double, 0.39269908169872414)  # pi / 8
ROOT_TWO_PI = cython.declare(cython.double, 2.5066282746310002)
LEAST_SCORE = cython.declare(cython.double, -1e308)
LEAST_LOG = cython.declare(cython.double, -700.0)  # of a probability, so that none is 0
LOG_HALF = cython.declare(cython.double, -0.6931471805599453)
REACH = cython.declare(cython.double, 14.0)  # deviations within which the trapezoids lie
MOST_TRAPEZOIDS = cython.declare(cython.double, 256.0)
NEGLIGIBLE = cython.declare(cython.double, -37.0)  # log of what a double does not add to 1
MOST_STEPS = cython.declare(cython.int, 50)  # of Newton
NEAR = cython.declare(cython.double, 1e-10)
# Curvature for a shared covariance, so that certain answers still tell of their columns.
LEAST_CURVATURE = cython.declare(cython.double, 0.02)
OTHER_UNIT = cython.declare(cython.double, 30.0)  # times: what was learned of a number in such a unit is void
OWED = cython.declare(cython.double, 0.5)  # of the prior: what fades of a column before it is given back
MOST_INFLATION = cython.declare(cython.double, 4.0)  # of a covariance before its numbers are written anew
BIAS = cython.declare(cython.Py_ssize_t, 0)  # the column that is 1 in all events
WAVE = cython.declare(cython.longlong, -2)  # the code of a wave; that of a number is -1


_BY_COLUMN = (
    "slot",
    "code",
    "center",
    "unit",
    "count",
    "new_weight",
    "new_mean",
    "new_squares",
    "settled",
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


@cython.ccall
def wave_scale(numbers: cython.Py_ssize_t, features: cython.Py_ssize_t) -> cython.double:
    """Return the inverse of the typical distance of two events, over a root of 2: they differ by 2 in the squared
    distance of a number, and by 1 in that of a nominal feature with two values that are equally frequent.
    """
    return 1.0 / sqrt(max(1.0, numbers + 0.5 * features))


def block_columns(columns: int, contrasts: int) -> int:
    """Return the number of columns with covariances."""
    return columns if is_joint(columns, contrasts) else min(columns, MOST_SHARED)


@cython.cclass
class LogisticReading(Reading):
    """The posterior of a logistic regression on the numbers and values of a store, and on waves over them.

    The counts of `tables` give missing values their shares. `strength` is the precision of the prior of a coefficient;
    a `half_life` of 0 never forgets. There is a wave for each of `phases`; `draw(slot, code)` returns how often each
    turns over a column. `most_joint` is the most coefficients with a covariance of all.
    """

    def __init__(self, tables, labels, strength: cython.double, half_life: cython.double, phases, draw):
        Reading.__init__(self, tables, labels, strength)
        self.kept = 1.0 if half_life == 0.0 else 0.5 ** (1.0 / half_life)
        self.phases, self.draw = np.array(phases, np.float64), draw
        self.waves = len(phases)
        self.inverse_lengths = 1.0 / np.resize(np.array(LENGTHS), self.waves)
        self.frequencies, self.angle = np.zeros((0, self.waves)), np.zeros(self.waves)
        self.waved_numbers, self.waved_features = 0, set()
        self.columns = 1
        self.contrasts = 0
        self.most_joint = MOST_JOINT
        self.joint, self.groups, self.dense, self.inflation = True, 0, 1, 1.0
        self.mean, self.covariance, self.tail = np.zeros(0), np.zeros(0), np.zeros(0)
        self.value_column = {}  # by slot and code
        self.number_column = np.zeros(0, np.longlong)  # by slot; 0: none
        self.slot, self.code = np.full(8, -1, np.longlong), np.full(8, -1, np.longlong)
        self.center, self.unit = np.zeros(8), np.zeros(8)
        self.count = np.zeros(8, np.longlong)
        self.new_weight, self.new_mean, self.new_squares = np.zeros(8), np.zeros(8), np.zeros(8)
        self.settled = np.zeros(8, np.longlong)  # when the prior of a column was last whole
        self.z, self.there = np.zeros(8), np.zeros(8, np.uint8)
        self.present = np.zeros(8, np.uint8)
        self.active = np.zeros(8, np.longlong)  # the columns that an event is not 0 in
        self.faded_at = 0
        self.turn = 0
        self.is_projected = self.is_noisy = False
        self.u, self.latent = np.zeros(0), np.zeros(1)
        self.add_columns([(k, WAVE) for k in range(self.waves)])
        self.make_room(labels.declared)

    # -- columns and contrasts ----------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.exceptval(check=False)
    def prior(self, j: cython.Py_ssize_t) -> cython.double:
        """Return the prior's precision of a column."""
        return 1.0 / EVEN_VARIANCE if j == BIAS else self.strength

    @cython.ccall
    def add_columns(self, added: list):
        """Give the next columns to values, numbers (code -1) or waves, as pairs of slot and code, with the prior."""
        j: cython.Py_ssize_t = self.columns
        waved: cython.Py_ssize_t = self.frequencies.shape[0]
        if j + len(added) > self.slot.shape[0]:
            more: cython.Py_ssize_t = len(added) + j
            for name in _BY_COLUMN:
                old = np.asarray(getattr(self, name))
                setattr(self, name, np.concatenate([old, np.zeros(more, old.dtype)]))
        drawn = []
        for slot, code in added:
            self.slot[j], self.code[j], self.settled[j] = slot, code, self.faded_at
            j += 1
            if code == WAVE:
                continue
            if code >= 0:
                self.value_column[slot, code] = j - 1
            else:
                if slot >= self.number_column.shape[0]:
                    self.number_column = np.append(self.number_column, np.zeros(slot + 1, np.longlong))
                self.number_column[slot] = j - 1
            if self.waves and waved + len(drawn) < MOST_WAVED:
                drawn.append(self.draw(slot, code))
                if code >= 0:
                    self.waved_features.add(slot)
                else:
                    self.waved_numbers += 1
        if drawn:
            self.frequencies = np.concatenate([self.frequencies, np.array(drawn)])
        self.extend(j, self.contrasts)

    def in_order(self, added: list) -> list:
        """Return columns that come with one event in an order that does not depend on that of its features."""
        raise NotImplementedError

    def restore(self, joint: cython.bint, mean, covariance, tail, inflation: cython.double):
        """Take over the posterior of a state."""
        self.joint, self.inflation = joint, inflation
        self.mean, self.covariance, self.tail = mean, covariance, tail
        self.dense = self.columns if joint else min(self.columns, MOST_SHARED)
        self.groups = self.contrasts if joint else 1
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
        self.inflate()
        before: cython.Py_ssize_t = self.columns
        rows: cython.Py_ssize_t = self.contrasts
        mean = np.zeros((contrasts, columns))
        mean[:rows, :before] = np.asarray(self.mean).reshape(rows, before)
        variance = np.full(columns, 1.0 / self.strength)
        variance[BIAS] = 1.0 / self.prior(BIAS)
        block = np.asarray(self.covariance)
        tail: cython.Py_ssize_t = self.tail.shape[0]
        kept: cython.Py_ssize_t = self.dense
        was_joint: cython.bint = self.joint
        if rows == 0:
            self.settled[:columns] = self.faded_at
        self.joint = is_joint(columns, contrasts) and columns * contrasts <= self.most_joint
        self.joint = self.joint and (was_joint or rows == 0)
        self.dense = columns if self.joint else min(columns, MOST_SHARED)
        self.groups = contrasts if self.joint else 1
        if self.joint:
            covariance = np.diag(np.tile(variance, contrasts)).reshape(contrasts, columns, contrasts, columns)
            covariance[:rows, :before, :rows, :before] = block.reshape(rows, before, rows, before)
        else:
            covariance = np.diag(variance[: self.dense])
            if rows:
                if was_joint:  # the mean over the contrasts is shared by them
                    block = np.einsum("ajak->jk", block.reshape(rows, before, rows, before)) / rows
                covariance[:kept, :kept] = block.reshape(kept, kept)
            variance = variance[self.dense :].copy()
            variance[:tail] = self.tail
        self.tail = np.zeros(0) if self.joint else variance
        self.columns, self.contrasts = columns, contrasts
        self.mean, self.covariance = mean.ravel(), np.ascontiguousarray(covariance).ravel()
        self.make_buffers()

    @cython.cfunc
    def make_buffers(self):
        """Make room for what an event is projected to."""
        contrasts: cython.Py_ssize_t = self.contrasts
        groups: cython.Py_ssize_t = self.groups
        self.is_projected = False
        if self.active.shape[0] < self.columns:
            self.active = np.zeros(self.z.shape[0], np.longlong)
        self.projected, self.moved = np.zeros(groups * groups * self.dense), np.zeros(self.tail.shape[0])
        if self.u.shape[0] < contrasts or self.u.shape[0] == 0:
            most: cython.Py_ssize_t = 2 * contrasts + 2
            self.u, self.at, self.tried, self.gradient = (np.zeros(most) for _ in range(4))
            self.latent, self.share_at = np.zeros(most + 1), np.zeros(most + 1)
        square: cython.Py_ssize_t = max(contrasts, groups * groups)
        self.scatter, self.left = np.zeros(groups * groups), np.zeros(square)
        self.weight, self.noise = np.zeros(square), np.zeros(square)
        self.system = np.zeros(contrasts * (2 * contrasts + 1) if self.joint else contrasts)

    @cython.cfunc
    def begin_contrast(self, a: cython.Py_ssize_t):
        """Set the log-odds of a class that none of the events so far had, so that they are those of a
        Beta(1 + 1/2, events + 1/2) after the first event that has it: in its tail a normal moves by its variance. Where
        contrasts share their covariance, it begins with that one.
        """
        tables: Tables = self.tables
        i: cython.Py_ssize_t = a * self.columns + BIAS
        events: cython.double = 0.0
        total: cython.double = 0.0
        scale: cython.double = sqrt((a + 2.0) / (2.0 * (a + 1.0)))
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
        if self.joint:
            variance /= scale * scale * self.inflation
            self.covariance[i * self.columns * self.contrasts + i] = variance

    @cython.cfunc
    def write_latent(self, u: cython.double[::1], contrasts: cython.Py_ssize_t):
        """Write the score f = H u of each class."""
        below: cython.double = 0.0
        for a in range(contrasts - 1, -1, -1):
            part = u[a] / sqrt(2.0 * (a + 1.0) * (a + 2.0))
            self.latent[a + 1] = (a + 1.0) * part - below
            below += part
        self.latent[0] = -below

    @cython.cfunc
    @cython.exceptval(check=False)
    def column_of_number(self, slot: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return the column of a number; 0: none yet."""
        return self.number_column[slot] if slot < self.number_column.shape[0] else 0

    # -- an event -----------------------------------------------------------------------------------------------------

    @cython.cfunc
    def read_row(self, row: Row):
        """Write the columns of an event to `z`; which of them it has, to `there`."""
        j: cython.Py_ssize_t
        features: cython.Py_ssize_t = self.tables.values.layout.features
        if self.present.shape[0] < features:
            self.present = np.zeros(2 * features, np.uint8)
        for k in range(features):
            self.present[k] = 0
        for j in range(self.columns):
            self.z[j] = 0.0
            self.there[j] = 0
        self.z[BIAS] = 1.0
        for j in range(1 + self.waves):
            self.there[j] = 1
        for k in range(row.numbers):
            j = self.column_of_number(row.numeric_feature[k])
            if j > 0:
                self.there[j] = 1
                if self.unit[j] > 0.0:
                    self.z[j] = max(-FARTHEST, min(FARTHEST, (row.number[k] - self.center[j]) / self.unit[j]))
        for k in range(row.entries):
            column = self.value_column.get((row.feature[k], row.code[k]))
            if column is not None:
                j = column
                self.z[j] = 1.0
                self.present[row.feature[k]] = 1
        for j in range(1 + self.waves, self.columns):
            if self.code[j] >= 0:
                self.there[j] = self.present[self.slot[j]]
                if not self.there[j]:
                    self.z[j] = self.share_of(self.slot[j], self.code[j])
        if self.waves:
            self.write_waves()

    @cython.cfunc
    def write_waves(self):
        """Write the waves over the numbers and values that are written."""
        scale: cython.double = wave_scale(self.waved_numbers, len(self.waved_features))
        angle: cython.double[::1] = self.angle
        for k in range(self.waves):
            angle[k] = 0.0
        for j in range(self.frequencies.shape[0]):
            turn = scale * self.z[1 + self.waves + j]
            if turn != 0.0:
                for k in range(self.waves):
                    angle[k] += turn * self.frequencies[j, k]
        for k in range(self.waves):
            self.z[1 + k] = cos(angle[k] * self.inverse_lengths[k] + self.phases[k])

    @cython.ccall
    def share_of(self, slot: cython.Py_ssize_t, code: cython.Py_ssize_t) -> cython.double:
        """Return the share of a value among the events that have its feature."""
        values: ValueCounts = self.tables.values
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
        dense: cython.Py_ssize_t = self.dense
        groups: cython.Py_ssize_t = self.groups
        size: cython.Py_ssize_t = dense * groups
        z: cython.double[::1] = self.z
        covariance: cython.double[::1] = self.covariance
        projected: cython.double[::1] = self.projected
        active: cython.longlong[::1] = self.active
        count: cython.Py_ssize_t = 0
        shared: cython.Py_ssize_t = 0
        for j in range(n):
            if z[j] != 0.0:
                active[count] = j
                count += 1
                if j < dense:
                    shared = count
        for a in range(self.contrasts):
            total = 0.0
            for e in range(count):
                total += self.mean[a * n + active[e]] * z[active[e]]
            self.u[a] = total
        for i in range(size * groups):
            projected[i] = 0.0
        fours = shared - shared % 4
        for b in range(groups):
            at = b * size
            first_row = b * dense * size
            for e in range(0, fours, 4):  # rows are added in their order, four in a pass
                one, first = z[active[e]] * self.inflation, first_row + active[e] * size
                two, second = z[active[e + 1]] * self.inflation, first_row + active[e + 1] * size
                three, third = z[active[e + 2]] * self.inflation, first_row + active[e + 2] * size
                four, fourth = z[active[e + 3]] * self.inflation, first_row + active[e + 3] * size
                for i in range(size):
                    total = projected[at + i] + one * covariance[first + i]
                    total += two * covariance[second + i]
                    total += three * covariance[third + i]
                    projected[at + i] = total + four * covariance[fourth + i]
            for e in range(fours, shared):
                one, first = z[active[e]] * self.inflation, first_row + active[e] * size
                for i in range(size):
                    projected[at + i] += one * covariance[first + i]
        for a in range(groups):
            for b in range(groups):
                total = 0.0
                for e in range(shared):
                    total += projected[b * size + a * dense + active[e]] * z[active[e]]
                self.scatter[a * groups + b] = total
        for j in range(dense, n):
            self.moved[j - dense] = self.inflation * self.tail[j - dense] * z[j]
            self.scatter[0] += self.moved[j - dense] * z[j]
        self.add_noise()

    @cython.cfunc
    def add_noise(self):
        """Add to the covariance of `u` what the features add that the event lacks; waves take them at their means."""
        n: cython.Py_ssize_t = self.columns
        m: cython.Py_ssize_t = self.contrasts
        self.is_noisy = False
        for j in range(1 + self.waves, n):
            if self.there[j]:
                continue
            self.is_noisy = True
            # Values of one feature are taken as independent of each other.
            variance = 1.0 if self.code[j] < 0 else self.z[j] * (1.0 - self.z[j])
            if self.code[j] < 0 and self.unit[j] == 0.0:
                continue
            for a in range(m):
                if not self.joint:
                    self.scatter[0] += variance * self.mean[a * n + j] * self.mean[a * n + j] / m
                    continue
                for b in range(m):
                    self.scatter[a * m + b] += variance * self.mean[a * n + j] * self.mean[b * n + j]

    # -- answers ------------------------------------------------------------------------------------------------------

    @cython.cfunc
    def score_row(self, row: Row) -> cython.bint:
        """Write the log of each class's probability, the mean over the posterior: of more than two classes nearly, with
        each score brought closer to the mean of all by its own variance.
        """
        total: cython.double = 0.0
        best: cython.double = LEAST_SCORE
        if self.begin() == 0:
            return False
        self.is_prior = False
        if self.contrasts == 0:
            return True
        self.read_row(row)
        self.project()
        self.is_projected = True
        if self.contrasts == 1:
            y = 0 if self.u[0] > 0.0 else 1
            self.tilt(-fabs(self.u[0]), self.scatter[0], 1.0)
            lower = min(LOG_HALF, self.log_evidence_of_tilt)
            self.score[y], self.score[1 - y] = lower, log1p(-exp(lower))
            return True
        self.write_latent(self.u, self.contrasts)
        for y in range(self.contrasts + 1):
            if self.joint:
                for a in range(self.contrasts):
                    self.at[a] = self.contrast(y, a)
                total = self.variance_along_at()
            else:  # the squares of a class's contrasts have the same sum for all
                total = 0.5 * self.contrasts / (self.contrasts + 1.0) * self.scatter[0]
            self.score[y] = self.latent[y] / sqrt(1.0 + MODERATION * total)
            best = max(best, self.score[y])
        total = 0.0
        for y in range(self.contrasts + 1):
            total += exp(self.score[y] - best)
        for y in range(self.contrasts + 1):
            self.score[y] = max(self.score[y] - best - log(total), LEAST_LOG)
        return True

    @cython.cfunc
    @cython.exceptval(check=False)
    def contrast(self, y: cython.Py_ssize_t, a: cython.Py_ssize_t) -> cython.double:
        """Return H[y, a]."""
        if y > a + 1:
            return 0.0
        return (a + 1.0 if y == a + 1 else -1.0) / sqrt(2.0 * (a + 1.0) * (a + 2.0))

    @cython.cfunc
    def variance_along_at(self) -> cython.double:
        """Return the variance of the sum of `u`, each times `at`."""
        m: cython.Py_ssize_t = self.contrasts
        total: cython.double = 0.0
        for a in range(m):
            if not self.joint:
                total += self.at[a] * self.at[a] * self.scatter[0]
                continue
            for b in range(m):
                total += self.at[a] * self.at[b] * self.scatter[a * m + b]
        return max(total, 0.0)

    @cython.cfunc
    def look_again(self, row: Row):
        """Write the variance of each class's log-odds: that of its score less the log of the sum of all others'."""
        m: cython.Py_ssize_t = self.contrasts
        self.normalise()
        for y in range(self.tables.labels):
            self.spread_of[y] = 0.0
            rest = 0.0
            for x in range(m + 1):
                if x != y:
                    rest += self.share[x]
            if rest <= 0.0:
                continue
            below = 0.0  # the shares of the other classes up to a, which share H[., a]
            for a in range(m):
                if a != y:
                    below += self.share[a]
                others = -below if a + 1 == y else (a + 1.0) * self.share[a + 1] - below
                self.at[a] = self.contrast(y, a) - others / (rest * sqrt(2.0 * (a + 1.0) * (a + 2.0)))
            self.spread_of[y] = self.variance_along_at()

    # -- learning -----------------------------------------------------------------------------------------------------

    @cython.ccall
    def learn(self, row: Row):
        """Learn a row whose codes have room in the tables: to the bit as `learn_scored` does after it was scored."""
        self.is_projected = False
        if row.weight > 0.0 and self.contrasts > 0 and self.begin() > 0:
            self.read_row(row)
            self.project()
            self.is_projected = True
        self.learn_scored(row)

    @cython.ccall
    def learn_asleep(self, row: Row):
        """Learn the counts, and make room for the class of a row: after a sleep all have coefficients."""
        if row.weight > 0.0:
            self.make_room(row.label + 1)
        self.tables.add(row)

    @cython.cfunc
    def learn_predicted(self, row: Row):
        self.learn_scored(row)

    @cython.cfunc
    def learn_scored(self, row: Row):
        """Learn a row. If it was scored just now, it is projected already, unless it adds columns or events fade."""
        if row.weight > 0.0:
            self.make_room(row.label + 1)
            added: list = []
            for k in range(row.numbers):
                if self.column_of_number(row.numeric_feature[k]) == 0:
                    added.append((row.numeric_feature[k], -1))
            for k in range(row.entries):
                if (row.feature[k], row.code[k]) not in self.value_column:
                    added.append((row.feature[k], row.code[k]))
            if added:
                self.add_columns(self.in_order(added))
            if self.contrasts > 0 and not self.is_projected:
                self.read_row(row)
        self.tables.add(row)
        if self.kept < 1.0:
            self.fade()
        self.faded_at = self.tables.clock
        if row.weight == 0.0:
            return
        if self.contrasts > 0:
            if not self.is_projected:
                self.project()
            if self.contrasts == 1:
                self.learn_of_two(row)
            else:
                self.learn_of_more(row)
            self.take_over()
        self.is_projected = False
        for k in range(row.numbers):
            self.measure(self.number_column[row.numeric_feature[k]], row.number[k])

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
        k: cython.int
        zeroth: cython.double = 1.0
        first: cython.double = 0.0
        second: cython.double = 0.0
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
            # A step to an end of the bracket may lead back to the other one for ever.
            if not low < mode < high:
                step = 0.5 * (low + high) - (mode - step)
                mode = 0.5 * (low + high)
            if fabs(step) <= 1e-6 * deviation:
                break
        share = 1.0 / (1.0 + exp(min(mode, 700.0)))
        width = 1.0 / sqrt(1.0 / spread + weight * share * (1.0 - share))
        reach = REACH * deviation
        if mode > max(0.0, mean):  # where the sigmoid ends and the normal alone falls
            reach = min(reach, -NEGLIGIBLE * spread / (mode - mean))
        width = max(0.7 * min(width, 1.0), reach / MOST_TRAPEZOIDS)
        top = weight * log_sigmoid(mode) - 0.5 * (mode - mean) * (mode - mean) / spread
        for k in range(-1, 2, 2):
            u = mode
            away = 0.0
            while True:
                u += k * width
                away += k * width
                value = weight * log_sigmoid(u) - 0.5 * (u - mean) * (u - mean) / spread - top
                if not value >= NEGLIGIBLE:
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
        """Write by how much mean and covariance of `u` move."""
        m: cython.Py_ssize_t = self.contrasts
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
        self.move_to_mean(row)
        self.moderate_weight()

    @cython.cfunc
    def move_to_mean(self, row: Row):
        """Move u from the mode by half the third derivatives times the covariance that is left there, as the mean is
        nearly, but by no more than a deviation; write the curvature at that point.
        """
        m: cython.Py_ssize_t = self.contrasts
        mean: cython.double = 0.0
        before: cython.double = 0.0
        after: cython.double = 0.0
        self.write_weight(row)
        self.write_left()
        if not self.joint:
            for a in range(m):  # of the contrasts that come after the first class
                scale = self.contrast(0, a) - self.noise[a]
                after += self.left[a] * scale * scale
        for y in range(m + 1):  # the variance of each class's score less the mean over the classes
            if self.joint:
                total = 0.0
                for a in range(m):
                    self.tried[a] = self.contrast(y, a) - self.noise[a]
                for a in range(m):
                    for b in range(m):
                        total += self.tried[a] * self.left[a * m + b] * self.tried[b]
            else:
                total = before + after
                if y > 0:  # of the contrast that the class begins
                    scale = self.contrast(y, y - 1) - self.noise[y - 1]
                    total += self.left[y - 1] * scale * scale
                    before += self.left[y - 1] * self.noise[y - 1] * self.noise[y - 1]
                if y < m:
                    scale = self.contrast(0, y) - self.noise[y]
                    after = max(0.0, after - self.left[y] * scale * scale)
            self.latent[y] = total
            mean += self.share_at[y] * total
        after = 0.0
        for a in range(m):
            after += self.share_at[a] * (self.latent[a] - mean)
            total = (a + 1.0) * self.share_at[a + 1] * (self.latent[a + 1] - mean) - after
            self.tried[a] = 0.5 * row.weight * self.contrast(0, a) * total
        total = 1.0
        for a in range(m):
            if self.joint:
                for b in range(m):
                    total += self.tried[a] * self.left[a * m + b] * self.tried[b]
            else:
                total += self.left[a] * self.tried[a] * self.tried[a]
        for a in range(m):
            self.tried[a] /= sqrt(total)
        self.solve()
        for a in range(m):
            self.gradient[a] += self.tried[a]
        self.objective(self.gradient, row)
        self.write_weight(row)

    @cython.cfunc
    def write_left(self):
        """Write the covariance of u that the event leaves: scatter (1 + weight scatter)^-1."""
        m: cython.Py_ssize_t = self.contrasts
        if not self.joint:
            for a in range(m):
                self.left[a] = self.scatter[0] / (1.0 + self.weight[a] * self.scatter[0])
            return
        self.write_system(m)
        for a in range(m):
            for b in range(m):
                self.system[a * 2 * m + m + b] = 1.0 if a == b else 0.0
        self.eliminate(m)
        for a in range(m):
            for b in range(m):
                total = 0.0
                for c in range(m):
                    total += self.scatter[a * m + c] * self.system[c * 2 * m + m + b]
                self.left[a * m + b] = total

    @cython.cfunc
    def objective(self, gradient: cython.double[::1], row: Row) -> cython.double:
        """Return the log of posterior times likelihood at u = mean + scatter gradient; write u to `at`, and the
        shares of the classes there.
        """
        m: cython.Py_ssize_t = self.contrasts
        square: cython.double = 0.0
        for a in range(m):
            total = 0.0
            if self.joint:
                for b in range(m):
                    total += self.scatter[a * m + b] * gradient[b]
            else:
                total = self.scatter[0] * gradient[a]
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
        below: cython.double = 0.0  # the shares of the classes that have the same H[., a], which is -scale
        for a in range(m):
            scale = -self.contrast(0, a)
            below += self.share_at[a]
            self.noise[a] = scale * ((a + 1.0) * self.share_at[a + 1] - below)  # the mean of the contrasts
            total = scale * scale * ((a + 1.0) * (a + 1.0) * self.share_at[a + 1] + below)
            total = row.weight * (total - self.noise[a] * self.noise[a])
            if not self.joint:
                self.weight[a] = total
                continue
            self.weight[a * m + a] = total
            for b in range(a):  # all classes with H[., b] have the same H[., a]
                total = -row.weight * (scale + self.noise[a]) * self.noise[b]
                self.weight[a * m + b] = self.weight[b * m + a] = total
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
        if not self.joint:
            for a in range(m):
                self.tried[a] /= 1.0 + self.weight[a] * self.scatter[0]
            return
        self.write_system(1)
        for a in range(m):
            self.system[a * (m + 1) + m] = self.tried[a]
        self.eliminate(1)
        for a in range(m):
            self.tried[a] = self.system[a * (m + 1) + m]

    @cython.cfunc
    def moderate_weight(self):
        """Replace `weight` by (1 + weight scatter)^-1 weight; where the covariance is shared, by the mean of that."""
        m: cython.Py_ssize_t = self.contrasts
        total: cython.double = 0.0
        if not self.joint:
            for a in range(m):
                total += self.weight[a] / (1.0 + self.weight[a] * self.scatter[0])
            total = max(total / m, LEAST_CURVATURE / (1.0 + LEAST_CURVATURE * self.scatter[0]))
            self.weight[0] = total
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
        dense: cython.Py_ssize_t = self.dense
        size: cython.Py_ssize_t = dense * self.groups
        covariance: cython.double[::1] = self.covariance
        projected: cython.double[::1] = self.projected
        if self.groups == 1:
            for a in range(m):
                for i in range(dense):
                    self.mean[a * n + i] += projected[i] * self.gradient[a]
                for i in range(dense, n):
                    self.mean[a * n + i] += self.moved[i - dense] * self.gradient[a]
            self.narrow(self.weight[0])
            for i in range(n - dense):
                self.tail[i] -= self.weight[0] / self.inflation * self.moved[i] * self.moved[i]
            return
        for i in range(size):
            total = 0.0
            for a in range(m):
                total += projected[a * size + i] * self.gradient[a]
            self.mean[i] += total
            for b in range(m):
                total = 0.0
                for a in range(m):
                    total += projected[a * size + i] * self.weight[a * m + b]
                if total == 0.0:
                    continue
                total /= self.inflation
                for k in range(i + 1):
                    covariance[i * size + k] -= total * projected[b * size + k]
            for k in range(i):
                covariance[k * size + i] = covariance[i * size + k]

    @cython.cfunc
    def narrow(self, factor: cython.double):
        """Take a multiple of the square of the first row of `projected` from the covariance."""
        size: cython.Py_ssize_t = self.dense * self.groups
        covariance: cython.double[::1] = self.covariance
        projected: cython.double[::1] = self.projected
        factor /= self.inflation
        for i in range(size):
            part = projected[i]
            if part != 0.0:
                # The product is the same for i, k and k, i: the covariance stays symmetric.
                for k in range(size):
                    covariance[i * size + k] -= factor * (part * projected[k])

    @cython.cfunc
    def mirror(self, i: cython.Py_ssize_t):
        """Write what the covariance's lower triangle has of a coefficient to the upper one."""
        size: cython.Py_ssize_t = self.dense * self.groups
        covariance: cython.double[::1] = self.covariance
        for k in range(i):
            covariance[k * size + i] = covariance[i * size + k]
        for k in range(i + 1, size):
            covariance[i * size + k] = covariance[k * size + i]

    # -- fading and units ---------------------------------------------------------------------------------------------

    @cython.ccall
    def fade(self):
        """Let all events fade up to the present clock; the prior does not. What is projected stays so."""
        events: cython.longlong = self.tables.clock - self.faded_at
        self.faded_at = self.tables.clock
        if self.kept == 1.0 or events == 0 or self.contrasts == 0:
            return
        left: cython.double = self.kept ** float(events)
        if left <= 1e-12:
            self.forget_all()
            return
        self.inflation /= left
        if self.inflation > MOST_INFLATION:
            self.inflate()
        if self.is_noisy:  # not all of it has faded
            self.is_projected = False
        elif self.is_projected:
            for k in range(self.projected.shape[0]):
                self.projected[k] /= left
            for k in range(self.moved.shape[0]):
                self.moved[k] /= left
            for k in range(self.groups * self.groups):
                self.scatter[k] /= left
        # At one event, what the prior lost is given back to some columns, each in its turn.
        some = self.columns
        if events == 1:
            some = min(some, 1 + cython.cast(cython.Py_ssize_t, some * (1.0 - left) / OWED))
        while some > 0 and (events > 1 or self.is_owed(self.turn)):
            self.settle(self.turn)
            self.turn += 1
            if self.turn == self.columns:
                self.turn = 0
            some -= 1

    @cython.cfunc
    def inflate(self):
        """Write the covariance anew, so that its factor is 1."""
        k: cython.Py_ssize_t
        if self.inflation == 1.0:
            return
        for k in range(self.covariance.shape[0]):
            self.covariance[k] *= self.inflation
        for k in range(self.tail.shape[0]):
            self.tail[k] *= self.inflation
        self.inflation = 1.0

    @cython.cfunc
    @cython.exceptval(check=False)
    def is_owed(self, j: cython.Py_ssize_t) -> cython.bint:
        """Return True if much of a column's prior has faded since it was last whole."""
        return (self.faded_at - self.settled[j]) * (1.0 - self.kept) >= OWED

    @cython.cfunc
    def settle(self, j: cython.Py_ssize_t):
        """Give a column the part of the prior back that faded since the last time."""
        faded: cython.double = 1.0 - self.kept ** float(self.faded_at - self.settled[j])
        self.settled[j] = self.faded_at
        if faded > 0.0:
            self.is_projected = False
            self.add_precision(j, faded * self.prior(j))

    @cython.cfunc
    def forget_all(self):
        """Return to the prior."""
        columns: cython.Py_ssize_t = self.columns
        contrasts: cython.Py_ssize_t = self.contrasts
        self.columns, self.contrasts, self.dense = 1, 0, 1
        self.mean, self.covariance, self.tail = np.zeros(0), np.zeros(0), np.zeros(0)
        self.extend(columns, contrasts)

    @cython.cfunc
    def add_precision(self, j: cython.Py_ssize_t, precision: cython.double):
        """Learn that the coefficients of a column are 0, with a precision; one below 0 takes that back, but leaves
        the prior.
        """
        n: cython.Py_ssize_t = self.columns
        dense: cython.Py_ssize_t = self.dense
        size: cython.Py_ssize_t = dense * self.groups
        if j >= dense:
            variance = self.inflation * self.tail[j - dense]
            factor = 1.0 / (1.0 + self.at_least_prior(j, precision, variance) * variance)
            self.tail[j - dense] *= factor
            for a in range(self.contrasts):
                self.mean[a * n + j] *= factor
            return
        for g in range(self.groups):
            i = g * dense + j
            variance = self.inflation * self.covariance[i * size + i]
            factor = self.at_least_prior(j, precision, variance)
            factor /= 1.0 + factor * variance
            for k in range(size):
                self.projected[k] = self.inflation * self.covariance[i * size + k]
            for a in range(self.contrasts if self.groups == 1 else 1):
                step = factor * self.mean[a * n + i]
                for k in range(size):
                    self.mean[a * n + k] -= self.projected[k] * step
            self.narrow(factor)

    @cython.cfunc
    @cython.exceptval(check=False)
    def at_least_prior(
        self, j: cython.Py_ssize_t, precision: cython.double, variance: cython.double
    ) -> cython.double:
        """Return what may be added to the precision of a column of that variance, so that the prior is left."""
        return precision if precision >= 0.0 else max(precision, self.prior(j) - 1.0 / variance)

    @cython.cfunc
    def measure(self, j: cython.Py_ssize_t, number: cython.double):
        """Add a number to the moments of its column, and set its unit if it is time."""
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
        size: cython.Py_ssize_t = self.dense * self.groups
        self.settled[j] = self.faded_at
        for a in range(self.contrasts):
            self.mean[a * self.columns + j] = 0.0
        if j >= self.dense:
            self.tail[j - self.dense] = 1.0 / (self.prior(j) * self.inflation)
            return
        for a in range(self.groups):
            i = a * self.dense + j
            for k in range(size):
                self.covariance[i * size + k] = self.covariance[k * size + i] = 0.0
            self.covariance[i * size + i] = 1.0 / (self.prior(j) * self.inflation)

    @cython.cfunc
    def rescale(self, j: cython.Py_ssize_t, factor: cython.double, shift: cython.double):
        """Write the posterior for z' in place of z = factor z' + shift."""
        n: cython.Py_ssize_t = self.columns
        size: cython.Py_ssize_t = self.dense * self.groups
        self.settle(j)  # of a prior that fades, more would be taken back below than is left
        for a in range(self.contrasts):
            self.mean[a * n + BIAS] += shift * self.mean[a * n + j]
            self.mean[a * n + j] *= factor
        if j >= self.dense:
            self.covariance[BIAS * size + BIAS] += shift * shift * self.tail[j - self.dense]
            self.tail[j - self.dense] *= factor * factor
        for a in range(self.groups if j < self.dense else 0):
            i, bias = a * self.dense + j, a * self.dense + BIAS
            for k in range(size):
                self.covariance[bias * size + k] += shift * self.covariance[i * size + k]
                self.covariance[i * size + k] *= factor
            for k in range(size):
                self.covariance[k * size + bias] += shift * self.covariance[k * size + i]
                self.covariance[k * size + i] *= factor
            # An asymmetry that rounding leaves would grow while events fade.
            self.mirror(bias)
            self.mirror(i)
        self.add_precision(j, self.prior(j) * (1.0 - 1.0 / (factor * factor)))
