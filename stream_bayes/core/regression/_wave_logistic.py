"""Logistic regression on waves: nearly a Gaussian process for classes, whose posterior all classes share in part.

    P(y = k | z) = softmax(W f)[k]      f = 1, waves cos(w z + phase) / sqrt(2), and z

    z   numbers in deviations from their fading mean, indicators of values; 0 where a feature is missing
    W   ~ N(m, C): a mean for each class, and one covariance C of the columns for all classes

An event moves the mean by the gradient of its log-likelihood, in the metric of C (assumed-density filtering with one
curvature for all classes):

    v = f C f      h = sum of p (1 - p) over the classes, by the degrees of freedom
    m[k] += C f (1{y = k} - p[k]) / (1 + h v)       C -= h C f f C / (1 + h v)

A covariance that all classes share costs the square of the columns, however many there are. An answer divides the
scores by sqrt(1 + pi v / 8), as they are uncertain by v (MacKay, 1992).
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import cos, exp, fabs, log, sqrt

if not cython.compiled:
    from stream_bayes.core.counts._tables import Tables
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._reading import Reading

WAVES = 64
LENGTHS = (0.5, 1.0, 2.0)  # of the waves, relative to the typical distance of two events
MOST_COLUMN_COUNT = 96  # of numbers and values: those that come later have none
MOST_COLUMNS = cython.declare(cython.Py_ssize_t, MOST_COLUMN_COUNT)
FARTHEST = cython.declare(cython.double, 8.0)  # deviations of a number: what lies beyond counts as that
CONSTANT = cython.declare(
    cython.double, 1e-9
)  # deviation of a number, relative to its size: less is rounding
LEFT = cython.declare(cython.double, 0.5 ** (1.0 / 500.0))  # of the weight of a number, after another
LEAST_CURVATURE = cython.declare(cython.double, 0.01)  # so that certain answers still tell of their columns
MODERATION = cython.declare(cython.double, 0.39269908169872414)  # pi / 8
HEIGHT = cython.declare(cython.double, 0.7071067811865476)  # of a wave
IMPOSSIBLE = cython.declare(cython.double, float("-inf"))


@cython.cclass
class WaveLogisticReading(Reading):
    """The posterior of a logistic regression on the numbers and values of a store, and on waves over them.

    `draw(slot, code)` returns how often each wave turns over a column; `code` is -1 for a number.
    """

    def __init__(self, tables, labels, half_life: cython.double, phases, draw):
        Reading.__init__(self, tables, labels)
        self.kept = 1.0 if half_life == 0.0 else 0.5 ** (1.0 / half_life)
        self.draw = draw
        self.phases = np.array(phases, np.float64)
        self.waves = len(phases)
        self.inverse_lengths = 1.0 / np.resize(np.array(LENGTHS), self.waves)
        self.columns = 0
        self.size = 1 + self.waves  # of the columns of an event: 1, the waves, then its numbers and values
        self.nominal_columns = 0
        self.nominal_features = set()
        self.column_of = {}
        self.classes = 0
        self.faded_at = 0
        self.slot, self.code = np.zeros(0, np.longlong), np.zeros(0, np.longlong)
        self.count, self.center, self.variance = np.zeros(0), np.zeros(0), np.zeros(0)
        self.frequencies, self.mean, self.covariance = np.zeros((0, self.waves)), np.zeros((0, 1)), np.eye(1)
        self.reserve(8)

    # -- columns and classes ------------------------------------------------------------------------------------------

    @cython.cfunc
    def reserve(self, columns: cython.Py_ssize_t):
        """Make room for numbers and values, keeping what there is."""
        n: cython.Py_ssize_t = self.columns
        size: cython.Py_ssize_t = 1 + self.waves + columns
        slot, code = np.zeros(columns, np.longlong), np.zeros(columns, np.longlong)
        count, center, variance = np.zeros(columns), np.zeros(columns), np.zeros(columns)
        frequencies = np.zeros((columns, self.waves))
        mean, covariance = np.zeros((self.classes, size)), np.eye(size)
        if n:
            slot[:n], code[:n] = self.slot[:n], self.code[:n]
            count[:n], center[:n], variance[:n] = self.count[:n], self.center[:n], self.variance[:n]
            frequencies[:n] = self.frequencies[:n]
        if self.classes:
            mean[:, : self.size] = self.mean[:, : self.size]
            covariance[: self.size, : self.size] = self.covariance[: self.size, : self.size]
        self.room = columns
        self.slot, self.code = slot, code
        self.count, self.center, self.variance = count, center, variance
        self.frequencies, self.mean, self.covariance = frequencies, mean, covariance
        self.z, self.f, self.moved, self.angle = (np.zeros(n) for n in (columns, size, size, self.waves))
        self.probability = np.zeros(max(self.classes, 2))

    @cython.ccall
    def add_column(self, slot: cython.Py_ssize_t, code: cython.Py_ssize_t):
        """Give the next column to a value, or with the code -1 to a number; it has the prior."""
        j: cython.Py_ssize_t = self.columns
        if j == self.room:
            self.reserve(2 * j)
        self.column_of[slot, code] = j
        self.slot[j], self.code[j] = slot, code
        np.asarray(self.frequencies)[j] = self.draw(slot, code)
        if code >= 0:
            self.nominal_columns += 1
            self.nominal_features.add(slot)
        self.columns += 1
        self.size += 1

    @cython.ccall
    def make_room(self, classes: cython.Py_ssize_t):
        """Add classes up to a number. One that comes late begins with the odds of one in all events before."""
        y: cython.Py_ssize_t
        total: cython.double
        tables: Tables = self.tables
        while self.classes < classes:
            row = np.zeros((1, 1 + self.waves + self.room))
            total = 0.0
            for y in range(self.classes):
                total += exp(self.mean[y, 0])
            if total > 0.0 and tables.clock > 1:
                row[0, 0] = log(total) - log(float(tables.clock))
            self.mean = np.concatenate([self.mean, row])
            self.classes += 1
            self.probability = np.zeros(max(self.classes, 2))

    # -- an event -----------------------------------------------------------------------------------------------------

    @cython.cfunc
    def write_columns(self, row: Row):
        """Write the columns of an event."""
        k: cython.Py_ssize_t
        j: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.columns
        deviation: cython.double
        turn: cython.double
        typical: cython.double
        z: cython.double[::1] = self.z
        f: cython.double[::1] = self.f
        angle: cython.double[::1] = self.angle
        for j in range(n):
            z[j] = 0.0
        for k in range(row.numbers):
            column = self.column_of.get((row.numeric_feature[k], -1))
            if column is not None:
                j = column
                deviation = sqrt(self.variance[j])
                if deviation > CONSTANT * fabs(self.center[j]):
                    z[j] = max(-FARTHEST, min(FARTHEST, (row.number[k] - self.center[j]) / deviation))
        for k in range(row.entries):
            column = self.column_of.get((row.feature[k], row.code[k]))
            if column is not None:
                j = column
                z[j] = 1.0
        # Two events differ by 2 in a number's squared distance, and by 1 where two values are equally frequent.
        typical = 1.0 / sqrt(max(1.0, n - self.nominal_columns + 0.5 * len(self.nominal_features)))
        for k in range(self.waves):
            angle[k] = 0.0
        for j in range(n):
            turn = z[j] * typical
            if turn != 0.0:
                for k in range(self.waves):
                    angle[k] += turn * self.frequencies[j, k]
        f[0] = 1.0
        for j in range(n):
            f[1 + self.waves + j] = z[j]
        for k in range(self.waves):
            f[1 + k] = HEIGHT * cos(angle[k] * self.inverse_lengths[k] + self.phases[k])

    @cython.cfunc
    def project(self) -> cython.double:
        """Write C f, and return f C f: the variance of each score."""
        size: cython.Py_ssize_t = self.size
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        part: cython.double
        total: cython.double = 0.0
        f: cython.double[::1] = self.f
        moved: cython.double[::1] = self.moved
        covariance: cython.double[:, ::1] = self.covariance
        for i in range(size):
            moved[i] = 0.0
        for j in range(size):
            part = f[j]
            if part != 0.0:
                for i in range(size):
                    moved[i] += part * covariance[j, i]
        for i in range(size):
            total += f[i] * moved[i]
        return max(total, 0.0)

    @cython.cfunc
    def write_probabilities(self, scale: cython.double):
        """Write the softmax of the scores of all classes that are live, divided by a scale."""
        y: cython.Py_ssize_t
        i: cython.Py_ssize_t
        score: cython.double
        best: cython.double = IMPOSSIBLE
        total: cython.double = 0.0
        probability: cython.double[::1] = self.probability
        for y in range(self.classes):
            score = IMPOSSIBLE
            if self.is_live(y):
                score = 0.0
                for i in range(self.size):
                    score += self.mean[y, i] * self.f[i]
                score /= scale
                best = max(best, score)
            probability[y] = score
        for y in range(self.classes):
            probability[y] = exp(probability[y] - best)
            total += probability[y]
        for y in range(self.classes):
            probability[y] /= total

    @cython.cfunc
    def score_row(self, row: Row) -> cython.bint:
        """Write the log of each class's probability, moderated by the uncertainty of the scores."""
        y: cython.Py_ssize_t
        if self.begin() == 0:
            return False
        self.is_prior = False
        self.make_room(self.labels.declared)
        self.write_columns(row)
        self.doubt = self.project()
        self.write_probabilities(sqrt(1.0 + MODERATION * self.doubt))
        for y in range(self.tables.labels):
            self.score[y] = IMPOSSIBLE
            if y < self.classes and self.is_live(y):
                self.score[y] = log(max(self.probability[y], 1e-300))
        return True

    @cython.cfunc
    def look_again(self, row: Row):
        """Write the variance of each class's log-odds: that of its score less the log of the sum of all others'."""
        y: cython.Py_ssize_t
        x: cython.Py_ssize_t
        rest: cython.double
        squares: cython.double
        self.normalise()
        for y in range(self.tables.labels):
            rest = squares = 0.0
            for x in range(self.tables.labels):
                if x != y:
                    rest += self.share[x]
                    squares += self.share[x] * self.share[x]
            self.spread_of[y] = 0.0 if rest < 1e-150 else self.doubt * (1.0 + squares / rest / rest)

    # -- learning -----------------------------------------------------------------------------------------------------

    @cython.ccall
    def learn(self, row: Row):
        """Learn a row whose codes have room in the tables."""
        if row.weight > 0.0:
            self.make_room(max(self.labels.declared, row.label + 1))
            self.add_columns(row)
        self.tables.add(row)
        if row.weight == 0.0:
            return
        self.write_columns(row)
        self.doubt = self.project()
        self.learn_projected(row)

    @cython.cfunc
    def add_columns(self, row: Row):
        """Give columns to what a row has for the first time, while there are any."""
        k: cython.Py_ssize_t
        for k in range(row.numbers):
            if self.columns < MOST_COLUMNS and (row.numeric_feature[k], -1) not in self.column_of:
                self.add_column(row.numeric_feature[k], -1)
        for k in range(row.entries):
            if self.columns < MOST_COLUMNS and (row.feature[k], row.code[k]) not in self.column_of:
                self.add_column(row.feature[k], row.code[k])

    @cython.cfunc
    def learn_scored(self, row: Row):
        """Learn a row that was scored just now: columns and projection are still there, unless it adds any."""
        columns: cython.Py_ssize_t = self.columns
        if row.weight == 0.0:
            self.tables.add(row)
            return
        self.make_room(max(self.labels.declared, row.label + 1))
        self.add_columns(row)
        if self.columns > columns or self.f[0] == 0.0:  # or it was the first, which is not scored
            self.learn(row)
            return
        self.tables.add(row)
        self.learn_projected(row)

    @cython.cfunc
    def learn_projected(self, row: Row):
        """Learn a row whose columns are written, and projected."""
        k: cython.Py_ssize_t
        j: cython.Py_ssize_t
        step: cython.double
        rate: cython.double
        self.move(row)
        for k in range(row.numbers):
            column = self.column_of.get((row.numeric_feature[k], -1))
            if column is not None:
                j = column
                self.count[j] = LEFT * self.count[j] + 1.0
                rate = 1.0 / self.count[j]
                step = row.number[k] - self.center[j]
                self.center[j] += rate * step
                self.variance[j] = (1.0 - rate) * (self.variance[j] + rate * step * step)

    @cython.cfunc
    def move(self, row: Row):
        """Let all events fade up to the present clock, and move mean and covariance by an event."""
        size: cython.Py_ssize_t = self.size
        y: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        live: cython.Py_ssize_t = 0
        part: cython.double
        across: cython.double
        step: cython.double
        curvature: cython.double = 0.0
        growth: cython.double = self.growth()
        doubt: cython.double = growth * self.doubt
        moved: cython.double[::1] = self.moved
        covariance: cython.double[:, ::1] = self.covariance
        self.write_probabilities(1.0)
        for y in range(self.classes):
            if self.is_live(y):
                live += 1
                curvature += self.probability[y] * (1.0 - self.probability[y])
        curvature = row.weight * max(LEAST_CURVATURE, curvature / max(2, live - 1))
        part = 1.0 / (1.0 + curvature * doubt)
        for i in range(size):
            moved[i] *= growth
        for y in range(self.classes):
            if self.is_live(y):
                step = row.weight * part * ((1.0 if y == row.label else 0.0) - self.probability[y])
                for i in range(size):
                    self.mean[y, i] += step * moved[i]
        part *= curvature
        for j in range(size):
            across = moved[j]
            for i in range(size):  # the product is the same for j, i and i, j: the covariance stays symmetric
                covariance[j, i] = growth * covariance[j, i] - part * (across * moved[i])
        self.faded_at = self.tables.clock

    @cython.cfunc
    def growth(self) -> cython.double:
        """Return the factor of the covariance up to the present clock, which keeps it below the prior's."""
        size: cython.Py_ssize_t = self.size
        events: cython.longlong = self.tables.clock - self.faded_at
        i: cython.Py_ssize_t
        trace: cython.double = 0.0
        left: cython.double
        if self.kept == 1.0 or events == 0:
            return 1.0
        for i in range(size):
            trace += self.covariance[i, i]
        left = self.kept ** float(events)
        return size / trace if left <= trace / size else 1.0 / left

    @cython.ccall
    def fade(self):
        """Let all events fade up to the present clock."""
        growth: cython.double = self.growth()
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        self.faded_at = self.tables.clock
        if growth != 1.0:
            for j in range(self.size):
                for i in range(self.size):
                    self.covariance[j, i] *= growth
