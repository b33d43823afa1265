"""The nearest of the newest events, which vote for their classes.

    squared distance = sum over numbers of ((x - x') / deviation)^2 + the values that differ
    votes of an event = 1 / (distance^2 + a tenth of the mean among the nearest)
    P(y | x) = (votes for y, as shares of n + share of y among the newest) / (n + 1)        n: events that vote

A number that an event lacks is one drawn anew: its squared distance is expected to be 2, and a value that it lacks
differs. A value that no event has is left out. Deviations fade as fast as the events go.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import exp, fabs, log, sqrt

if not cython.compiled:
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.readings._reading import Reading

# Squared distance of two numbers: what lies beyond counts as that.
FARTHEST = cython.declare(cython.double, 64.0)
UNKNOWN = cython.declare(cython.double, 2.0)  # squared distance of a number that is missing
# Deviation of a number, relative to its size: less is rounding.
CONSTANT = cython.declare(cython.double, 1e-9)
NEAR = cython.declare(cython.double, 0.1)  # of the mean distance: nearer events have no more votes
TINY = cython.declare(cython.double, 1e-9)
MOST_AGES = 4096  # of which the powers are kept
MISSING_CODE = -1
MISSING = cython.declare(cython.int, MISSING_CODE)  # the code of a value that is missing
FURTHER_THAN_ALL = cython.declare(cython.double, float("inf"))
IMPOSSIBLE = cython.declare(cython.double, float("-inf"))


# The loops over the kept events. Compilers make vector instructions of those without a branch.


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def add_apart(
    numbers: cython.double[:, ::1],
    slot: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    number: cython.double,
    factor: cython.double,
    distance: cython.double[::1],
) -> cython.void:
    """Add the squared distance of each kept event's number to one, in units of 1 / `factor`."""
    farthest: cython.double = FARTHEST
    unknown: cython.double = UNKNOWN
    for i in range(size):
        deviations = (numbers[slot, i] - number) * factor
        apart = deviations * deviations
        near = apart if apart < farthest else farthest
        distance[i] += near if apart == apart else unknown  # a number that is missing is not a number


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def has_code(
    codes: cython.int[:, ::1], slot: cython.Py_ssize_t, size: cython.Py_ssize_t, code: cython.longlong
) -> cython.bint:
    """Return True if a kept event has a value: one that none has says nothing about which of them is near."""
    for i in range(size):
        if codes[slot, i] == code:
            return True
    return False


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def add_different(
    codes: cython.int[:, ::1],
    slot: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    code: cython.int,
    distance: cython.double[::1],
) -> cython.void:
    """Add 1 to the squared distance of each kept event that has not a value."""
    for i in range(size):
        distance[i] += codes[slot, i] != code


@cython.cclass
class NeighbourReading(Reading):
    """The newest `window` events as rows, of which the `neighbours` nearest vote; the older ones less, unless
    `half_life` is 0.
    """

    def __init__(
        self,
        tables,
        labels,
        window: cython.Py_ssize_t,
        neighbours: cython.Py_ssize_t,
        half_life: cython.double,
    ):
        Reading.__init__(self, tables, labels)
        self.fading = log(0.5) / half_life if half_life else 0.0
        self.window = window
        self.neighbours = neighbours
        self.left = 0.5 ** (2.0 / window)  # of the weight of a number, after another
        self.events = 0  # that were learned with a weight
        self.numbers = np.full((0, window), np.nan)  # [slot, event]
        self.codes = np.full((0, window), MISSING, np.int32)  # [slot, event]
        self.label = np.zeros(window, np.int32)
        self.weight = np.zeros(window)
        self.learned_at = np.zeros(window, np.longlong)  # the clock
        self.fresh = np.array(  # what is left of a weight, by the events since
            [exp(self.fading * age) for age in range(min(2 * window, MOST_AGES))]
        )
        self.present = np.zeros(window)  # weight of each event as it is now
        self.count, self.center, self.variance = np.zeros(0), np.zeros(0), np.zeros(0)
        self.distance = np.zeros(window)
        self.nearest, self.at = np.zeros(neighbours), np.zeros(neighbours, np.longlong)
        self.votes, self.class_weight = np.zeros(2), np.zeros(2)  # of the nearest, and of all that are kept
        self.voters = 0.0

    @property
    def size(self):
        """The number of events that are kept."""
        return min(self.events, self.window)

    @cython.ccall
    def make_room(self, numbers: cython.Py_ssize_t, features: cython.Py_ssize_t, classes: cython.Py_ssize_t):
        """Make room for numeric features, nominal ones and classes."""
        if numbers > self.numbers.shape[0]:
            more = max(numbers, 2 * self.numbers.shape[0]) - self.numbers.shape[0]
            self.numbers = np.concatenate([self.numbers, np.full((more, self.window), np.nan)])
            self.count = np.append(self.count, np.zeros(more))
            self.center = np.append(self.center, np.zeros(more))
            self.variance = np.append(self.variance, np.zeros(more))
        if features > self.codes.shape[0]:
            more = max(features, 2 * self.codes.shape[0]) - self.codes.shape[0]
            self.codes = np.concatenate([self.codes, np.full((more, self.window), MISSING, np.int32)])
        if classes > self.votes.shape[0]:
            self.votes, self.class_weight = np.zeros(2 * classes), np.zeros(2 * classes)

    # -- answers ------------------------------------------------------------------------------------------------------

    @cython.cfunc
    def measure(self, row: Row):
        """Write the squared distance of each kept event to a row."""
        size: cython.Py_ssize_t = min(self.events, self.window)
        numbers: cython.double[:, ::1] = self.numbers
        codes: cython.int[:, ::1] = self.codes
        distance: cython.double[::1] = self.distance
        for i in range(size):
            distance[i] = 0.0
        for k in range(row.numbers):
            slot: cython.Py_ssize_t = row.numeric_feature[k]
            if slot >= numbers.shape[0]:
                continue
            deviation = sqrt(self.variance[slot])
            if deviation > CONSTANT * fabs(self.center[slot]):
                add_apart(numbers, slot, size, row.number[k], 1.0 / deviation, distance)
        for k in range(row.entries):
            slot = row.feature[k]
            if slot < codes.shape[0] and has_code(codes, slot, size, row.code[k]):
                add_different(codes, slot, size, row.code[k], distance)

    @cython.cfunc
    def weigh(self) -> cython.double:
        """Write the weight of each kept event as it is now, and their sums by class; return the sum of all."""
        clock: cython.longlong = self.tables.clock
        weight: cython.double[::1] = self.weight
        learned_at: cython.longlong[::1] = self.learned_at
        fresh: cython.double[::1] = self.fresh
        present: cython.double[::1] = self.present
        class_weight: cython.double[::1] = self.class_weight
        label: cython.int[::1] = self.label
        among: cython.double = 0.0
        for y in range(self.tables.labels):
            class_weight[y] = 0.0
        for k in range(min(self.events, self.window)):
            age = clock - learned_at[k]
            present[k] = weight[k] * (fresh[age] if 0 <= age < fresh.shape[0] else exp(self.fading * age))
        for k in range(min(self.events, self.window)):
            class_weight[label[k]] += present[k]
            among += present[k]
        return among

    @cython.cfunc
    def choose_nearest(self) -> cython.Py_ssize_t:
        """Write the nearest events and their distances, of equal ones the newest first; return how many."""
        size: cython.Py_ssize_t = min(self.events, self.window)
        newest: cython.Py_ssize_t = (self.events - 1) % self.window if self.events else 0
        distance: cython.double[::1] = self.distance
        nearest: cython.double[::1] = self.nearest
        at: cython.longlong[::1] = self.at
        chosen: cython.Py_ssize_t = 0
        limit: cython.double = FURTHER_THAN_ALL  # of the distances that come among the nearest
        for step in range(size):
            i = newest - step
            if i < 0:
                i += size
            if distance[i] >= limit:
                continue
            k = chosen if chosen < self.neighbours else chosen - 1
            chosen = k + 1
            while k > 0 and nearest[k - 1] > distance[i]:
                nearest[k], at[k] = nearest[k - 1], at[k - 1]
                k -= 1
            nearest[k], at[k] = distance[i], i
            if chosen == self.neighbours:
                limit = nearest[chosen - 1]
        return chosen

    @cython.cfunc
    def score_row(self, row: Row) -> cython.bint:
        """Write the log of each class's probability, by the votes of the nearest events."""
        k: cython.Py_ssize_t
        live: cython.Py_ssize_t = self.begin()
        least: cython.double = 0.0
        total: cython.double = 0.0
        if live == 0:
            return False
        self.is_prior = False
        self.make_room(0, 0, self.tables.labels)
        self.measure(row)
        chosen = self.choose_nearest()
        for y in range(self.tables.labels):
            self.votes[y] = 0.0
        among = self.weigh()
        self.voters = 0.0
        for k in range(chosen):
            least += self.nearest[k]
            self.voters += min(1.0, self.present[self.at[k]])
        least = NEAR * least / max(chosen, 1) + TINY
        for k in range(chosen):
            vote = self.present[self.at[k]] / (self.nearest[k] + least)
            self.votes[self.label[self.at[k]]] += vote
            total += vote
        for y in range(self.tables.labels):
            self.score[y] = IMPOSSIBLE
            if self.is_live(y):
                vote = self.voters * self.votes[y] / total if total > 0.0 else 0.0
                vote += (self.class_weight[y] + 1.0) / (among + live)
                self.score[y] = log(vote / (self.voters + 1.0))
        return True

    @cython.cfunc
    def look_again(self, row: Row):
        """Write the variance of each class's log-odds: that of a share among the events that vote, and one more."""
        self.normalise()
        for y in range(self.tables.labels):
            apart = self.share[y] * (1.0 - self.share[y])
            self.spread_of[y] = 1.0 / (apart * (self.voters + 2.0)) if apart > 0.0 else 0.0

    # -- learning -----------------------------------------------------------------------------------------------------

    @cython.ccall
    def learn(self, row: Row):
        """Learn a row whose codes have room in the tables."""
        self.tables.add(row)
        if row.weight > 0.0:
            self.keep(row)

    @cython.ccall
    def learn_asleep(self, row: Row):
        """Keep an event, so that those of the window are the newest after a sleep."""
        self.learn(row)

    @cython.ccall
    def keep(self, row: Row):
        """Keep an event in place of the oldest, and let its numbers set the deviations."""
        at: cython.Py_ssize_t = self.events % self.window
        numbers: cython.Py_ssize_t = 0
        features: cython.Py_ssize_t = 0
        for k in range(row.numbers):
            numbers = max(numbers, row.numeric_feature[k] + 1)
        for k in range(row.entries):
            features = max(features, row.feature[k] + 1)
        self.make_room(numbers, features, row.label + 1)
        for slot in range(self.numbers.shape[0]):
            self.numbers[slot, at] = float("nan")
        for slot in range(self.codes.shape[0]):
            self.codes[slot, at] = MISSING
        for k in range(row.numbers):
            slot = row.numeric_feature[k]
            self.numbers[slot, at] = row.number[k]
            self.count[slot] = self.left * self.count[slot] + 1.0
            rate = 1.0 / self.count[slot]
            step = row.number[k] - self.center[slot]
            self.center[slot] += rate * step
            self.variance[slot] = (1.0 - rate) * (self.variance[slot] + rate * step * step)
        for k in range(row.entries):
            self.codes[row.feature[k], at] = row.code[k]
        self.label[at], self.weight[at], self.learned_at[at] = row.label, row.weight, self.tables.clock
        self.events += 1
