"""The experts of `AdaptiveRegression`, on one event after the other.

    row -> columns      1 | numbers and indicators, standardised | which numbers are missing | last targets
                          | hinges max(0, z - knot)   or   waves cos(w z + b)   or   products of two
    columns -> experts  regressions on columns, with hinges, with waves, with products; neighbours; recent means;
                        the last target; a tree of regressions
    experts -> point    experts, regressions on what the experts give (stackers), their median, and the mixture's mean:
                        their mean, weighed by fading squared errors, near the one with the least
    experts -> forecast `ForecastMixture` of all these but the last, with an `IntervalCorrection`

What an event lacks is `unknown`, a variance of its forecast, as far as events with gaps have been off by more.

Everything is in deviations of the target from its mean. Units, knots and waves are set anew after 4 events, 8, ...,
1,024, from the events since the unit of targets or numbers last changed; the experts then learn these events again.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import cos, exp, fabs, isnan, log, sqrt

if not cython.compiled:
    from stream_bayes.core.encoding._rows import Row
    from stream_bayes.core.mixtures._forecast_mixture import ForecastMixture
    from stream_bayes.core.mixtures._interval_correction import IntervalCorrection
    from stream_bayes.core.regression._fading import FadingRegression
    from stream_bayes.core.regression._tree import RegressionTree

from stream_bayes.core.regression._tree import BINS
from stream_bayes.core.regression.tree import FAR_TARGET

KEPT = 1024  # newest events that are kept
MOST_COLUMNS = 60  # of numbers, indicators, missing numbers and last targets
MOST_SLOTS = 512  # numbers and indicators of an event that are kept
MOST_HINGES = 48
MOST_PRODUCTS = 6  # of two columns
WAVES = 64
WAVE_LENGTHS = (0.5, 1.0, 2.0)  # relative to the typical distance of two events
FIRST_SETTING = 4  # events after which units are set; again after twice as many, up to `KEPT`
LINEAR = (20.0, 60.0, 200.0, 600.0, 0.0)  # half-lives; 0 never forgets
HINGED = (200.0, 0.0)
WAVED = (300.0, 0.0)
MULTIPLIED = (0.0,)  # with products of columns
STACKED = (50.0, 400.0)
FIRST_HINGED = cython.declare(cython.Py_ssize_t, len(LINEAR))
FIRST_WAVED = cython.declare(cython.Py_ssize_t, len(LINEAR) + len(HINGED))
FIRST_MULTIPLIED = cython.declare(cython.Py_ssize_t, len(LINEAR) + len(HINGED) + len(WAVED))
REGRESSIONS = cython.declare(cython.Py_ssize_t, len(LINEAR) + len(HINGED) + len(WAVED) + len(MULTIPLIED))
# The expert that the residuals of neighbours are of.
STEADY = cython.declare(cython.Py_ssize_t, len(LINEAR) - 1)
NEAR = (4, 16)  # numbers of neighbours
MOST_NEAR = cython.declare(cython.Py_ssize_t, 16)
WEIGHED = cython.declare(cython.Py_ssize_t, 8)  # neighbours by the features that matter
MEANS = (20.0, 140.0)  # half-lives of the recent means
EXPERTS = cython.declare(cython.Py_ssize_t, REGRESSIONS + 2 * len(NEAR) + 1 + len(MEANS) + 3)
TREE_LIFE = 0.0  # half-life of the regressions in its leaves; 0 never forgets
LOCATIONS = cython.declare(cython.Py_ssize_t, EXPERTS + len(STACKED) + 1)  # of the forecast
POINTS = cython.declare(cython.Py_ssize_t, LOCATIONS + 1)  # to choose from
FARTHEST = cython.declare(cython.double, 30.0)  # deviations of a number: farther ones count as that far
# Deviations of an expert from the median, for the stackers.
FARTHEST_APART = cython.declare(cython.double, 10.0)
# Of a target: farther ones count as that far. A regression bends to one of them, and forgets it with the others.
FARTHEST_TARGET = cython.declare(cython.double, FAR_TARGET)
# Squared, of a point; and as many times the least of an event.
LARGEST_ERROR = cython.declare(cython.double, 25.0)
BEYOND = cython.declare(cython.double, 0.5)  # of the range of targets: no location lies farther outside
ERROR_RATE = cython.declare(cython.double, 0.005)
SHARPNESS = cython.declare(
    cython.double, 0.25
)  # of the weights of points: by so many of the events, ratios of errors
EVERY = cython.declare(cython.Py_ssize_t, 50)  # events after which it is estimated which features matter
LEAST_MATTER = cython.declare(cython.double, 0.05)
LEAST_TO_FILL = cython.declare(cython.Py_ssize_t, 10)  # events, before columns are estimated from others
# Before an event lacked numbers, they count as if so many such had been off by all that these would add.
AS_IF_HIDDEN = cython.declare(cython.double, 2.0)
LACKING_RATE = cython.declare(cython.double, 0.01)  # at which such events fade
MOST_HIDDEN = cython.declare(cython.double, 4.0)  # times what the numbers would add by the regression
FARTHEST_HIDDEN = cython.declare(cython.double, 16.0)  # of a squared error, in its variance
FEW_BLANKS = 10  # kept events without a name; from so many on, their effect is learned


@cython.cclass
class RegressionPanel:
    """The experts, the newest events, and what is made of them. `lags` is the number of last targets that experts see,
    `seed` that of the waves.

    Attributes
    ----------
    is_ready
        True once targets that differ have set the units.
    point
        The point forecast of the last event that was predicted.
    """

    def __init__(self, lags: cython.Py_ssize_t, seed: cython.longlong):
        self.lags, self.seed = lags, seed
        self.width = 8
        self.kept_values = np.full((KEPT, 8), np.nan)
        self.kept_targets, self.kept_weights = np.zeros(KEPT), np.zeros(KEPT)
        self.kept_lags = np.full((KEPT, lags), np.nan)
        self.newest_targets = np.full(lags, np.nan)
        self.seen_targets, self.seen_means = np.full(lags, np.nan), np.zeros(len(MEANS))
        self.seen_last = self.seen_error = 0.0
        self.hidden = self.excess = self.lacked = 0.0
        self.is_recalled = False
        self.events = self.since = self.set_at = self.considered = 0
        self.far_targets = self.far_numbers = 0
        self.lowest, self.highest = 0.0, 0.0
        self.is_ready = self.is_fresh = False
        self.target_mean, self.target_deviation = 0.0, 1.0
        self.mixture, self.correction = ForecastMixture(LOCATIONS), IntervalCorrection()
        self.errors = np.ones(POINTS)
        self.points, self.locations, self.leverages = (
            np.zeros(POINTS),
            np.zeros(LOCATIONS),
            np.zeros(LOCATIONS),
        )
        self.apart, self.sorted = np.zeros(EXPERTS + 1), np.zeros(EXPERTS)
        self.near_at, self.near_distance = np.zeros(MOST_NEAR, np.longlong), np.zeros(MOST_NEAR)
        self.distance = np.zeros(KEPT)
        self.stackers = [FadingRegression(EXPERTS + 1, 1.0, life) for life in STACKED]
        self.point = 0.0
        none = np.zeros(0, np.longlong)
        self.set_columns(
            none, none, none.astype(np.uint8), np.zeros(0), np.zeros(0), none, none, np.zeros(0), none, none
        )
        self.set_waves(np.zeros((0, 0)), np.zeros(0))
        self.set_tree(none, np.zeros((1, BINS - 1)))

    # -- the columns --------------------------------------------------------------------------------------------------

    def set_columns(self, base, slots, is_nominal, mean, deviation, flagged, hinged, knots, firsts, seconds):
        """Set what the columns are, and make experts for them that have learned nothing.

        Of each number or indicator, `slots` is the slot in a row, `is_nominal` True for an indicator, `mean` and
        `deviation` the unit; `base` is the slot without which an event lacks it. `flagged` are the numbers with a
        column that is 1 where they are missing, by their index in `slots`. `hinged` and `knots` are the column of each
        hinge, and the number of deviations where it begins; `firsts` and `seconds` the columns of each product.
        """
        k: cython.Py_ssize_t
        self.base, self.slots, self.is_nominal = base, slots, is_nominal
        self.mean, self.deviation = mean, deviation
        self.flagged, self.hinged, self.knots = flagged, hinged, knots
        self.firsts, self.seconds = firsts, seconds
        self.features = len(slots) + len(flagged)
        self.size = 1 + self.features + self.lags
        self.column_of = np.full(max(slots, default=0) + 1, -1, np.int32)
        self.flag_of = np.zeros(len(slots), np.int32)
        self.written = np.zeros(len(self.column_of), np.longlong)
        self.turn = 0
        self.unknown = 0.0
        blank = np.zeros(self.size)
        blank[0] = 1.0
        for k in range(len(slots)):
            self.column_of[slots[k]] = k
            if is_nominal[k]:
                blank[1 + k] = -mean[k]
        for k in range(len(flagged)):
            self.flag_of[flagged[k]] = 1 + len(slots) + k
            blank[1 + len(slots) + k] = 1.0
        self.blank = blank
        hinges: cython.Py_ssize_t = len(hinged)
        products: cython.Py_ssize_t = len(firsts)
        self.linear, self.with_hinges = np.zeros(self.size), np.zeros(self.size + hinges)
        self.with_waves, self.before = np.zeros(self.size + WAVES), np.full(self.size, np.nan)
        self.experts = [FadingRegression(self.size, 1.0, life) for life in LINEAR]
        self.experts += [FadingRegression(self.size + hinges, 1.0, life) for life in HINGED]
        self.experts += [FadingRegression(self.size + WAVES, 1.0, life) for life in WAVED]
        self.with_products = np.zeros(self.size + products)
        self.experts += [FadingRegression(self.size + products, 1.0, life) for life in MULTIPLIED]
        self.near = 0
        self.next_near = 0
        self.near_columns = np.zeros((self.features, KEPT))
        self.near_targets, self.near_steady, self.near_best = np.zeros(KEPT), np.zeros(KEPT), np.zeros(KEPT)
        self.matter, self.coefficient = np.ones(self.features), np.zeros(self.size)
        self.means, self.last, self.last_error = np.zeros(len(MEANS)), 0.0, 0.0
        self.steady = self.best = 0.0
        self.is_fresh = False

    def set_waves(self, directions, phases):
        """Set direction and phase of each wave."""
        self.directions, self.phases = directions, phases

    def set_tree(self, columns, cuts):
        """Make a tree over some columns, whose bins have these cuts; the first of the cuts are those of the 1."""
        self.tree_columns = columns
        self.tree = RegressionTree(cuts, TREE_LIFE)
        self.in_tree = np.ones(len(columns) + 1)

    @cython.cfunc
    def write_columns(self, row: Row):
        """Write the columns of a row to `linear`."""
        k: cython.Py_ssize_t
        at: cython.Py_ssize_t
        slot: cython.Py_ssize_t
        slots: cython.Py_ssize_t = self.column_of.shape[0]
        z: cython.double[::1] = self.linear
        before: cython.double = self.unknown
        lacks_rare: cython.bint = False
        lacks_flagged: cython.bint = False
        self.turn += 1
        for k in range(self.size):
            z[k] = self.blank[k]
        for k in range(row.numbers):
            slot = row.numeric_feature[k]
            if slot >= slots:
                continue
            self.written[slot] = self.turn
            at = self.column_of[slot]
            if at >= 0:
                self.write_number(at, row.number[k])
        self.write_lags(self.seen_targets)
        self.unknown = self.hidden = 0.0
        if self.near >= LEAST_TO_FILL:
            for k in range(self.slots.shape[0]):
                if self.written[self.base[k]] != self.turn:
                    lacks_rare = lacks_rare or self.flag_of[k] == 0
                    lacks_flagged = lacks_flagged or self.flag_of[k] > 0
        if lacks_rare or lacks_flagged:
            steady: FadingRegression = self.experts[STEADY]
            steady.coefficients(self.coefficient)
        if lacks_rare:
            self.fill()
        if lacks_flagged or self.hidden > 0.0:
            self.hide()
        if self.unknown != before:
            self.is_fresh = False

    def fill(self):
        """Write what the other columns say of those that the event lacks, though they have hardly ever been lacking.
        What these may add to the target, beyond its noise, is `unknown`: a variance.
        """
        kept = np.asarray(self.kept_values)[: min(self.events, KEPT)]
        columns_of: dict = {}  # that the event lacks, by feature
        for k in range(len(self.slots)):
            if self.flag_of[k] == 0 and self.written[self.base[k]] != self.turn:
                columns_of.setdefault(self.base[k], []).append(1 + k)
        often = {
            base: of_name
            for base, of_name in columns_of.items()
            if self.is_nominal[of_name[0] - 1] and np.isnan(kept[:, base]).sum() >= FEW_BLANKS
        }
        if often:
            self.hide_names(list(often.values()))
        lacking = np.array(
            [column for base, of_name in columns_of.items() if base not in often for column in of_name],
            np.int64,
        )
        if not len(lacking):
            return
        steady: FadingRegression = self.experts[STEADY]
        root = np.asarray(steady.root).reshape(self.size + 1, self.size + 1)
        sums = root.T @ root
        there = np.setdiff1d(np.arange(self.size), lacking)
        slopes = np.linalg.solve(sums[np.ix_(there, there)], sums[np.ix_(there, lacking)])
        left = sums[np.ix_(lacking, lacking)] - sums[np.ix_(lacking, there)] @ slopes
        columns = np.asarray(self.linear)
        columns[lacking] = np.clip(slopes.T @ columns[there], -FARTHEST, FARTHEST)
        multiplied: FadingRegression = self.experts[FIRST_MULTIPLIED]
        coefficients = np.zeros(self.size + len(self.firsts))
        multiplied.coefficients(coefficients)
        effects, of_products = coefficients[: self.size], coefficients[self.size :]
        np.add.at(effects, np.asarray(self.firsts), of_products * columns[np.asarray(self.seconds)])
        np.add.at(effects, np.asarray(self.seconds), of_products * columns[np.asarray(self.firsts)])
        effects = effects[lacking]
        self.unknown = max(0.0, float(effects @ left @ effects)) / max(1.0, float(sums[0, 0]))

    def hide_names(self, columns_of):
        """Add to `hidden` the variance of what the names that the event lacks would add to the target."""
        for columns in columns_of:
            effects = np.asarray(self.coefficient)[columns]
            shares = np.asarray(self.mean)[np.array(columns) - 1]
            self.hidden += max(0.0, float(shares @ effects**2 - (shares @ effects) ** 2))

    @cython.cfunc
    def hide(self):
        """Add to `unknown` what the features that the event lacks would add to the target, as far as such events have
        been farther from their forecasts than others: that one is missing may say all that it would have said.
        """
        k: cython.Py_ssize_t
        for k in range(self.slots.shape[0]):
            if self.flag_of[k] > 0 and self.written[self.base[k]] != self.turn:
                self.hidden += self.coefficient[1 + k] * self.coefficient[1 + k]
        if self.hidden > 0.0:
            before: cython.double = AS_IF_HIDDEN * self.hidden
            share: cython.double = (before + self.excess) / (before + self.lacked)
            self.unknown += self.hidden * max(0.0, min(MOST_HIDDEN, share))

    @cython.cfunc
    def write_kept(self, index: cython.Py_ssize_t):
        """Write the columns of a kept event to `linear`."""
        k: cython.Py_ssize_t
        number: cython.double
        for k in range(self.size):
            self.linear[k] = self.blank[k]
        for k in range(self.slots.shape[0]):
            number = self.kept_values[index, self.slots[k]]
            if not isnan(number):
                self.write_number(k, number)
        self.write_lags(self.kept_lags[index])

    @cython.cfunc
    def write_number(self, at: cython.Py_ssize_t, number: cython.double):
        number = (number - self.mean[at]) / self.deviation[at]
        self.linear[1 + at] = max(-FARTHEST, min(FARTHEST, number))
        if self.flag_of[at] > 0:
            self.linear[self.flag_of[at]] = 0.0

    @cython.cfunc
    def write_lags(self, targets: cython.double[::1]):
        k: cython.Py_ssize_t
        for k in range(self.lags):
            self.linear[1 + self.features + k] = self.in_units(targets[k])

    @cython.cfunc
    def write_hinges_and_waves(self):
        k: cython.Py_ssize_t
        j: cython.Py_ssize_t
        angle: cython.double
        product: cython.double
        z: cython.double[::1] = self.linear
        for k in range(self.size):
            self.with_hinges[k] = self.with_waves[k] = self.with_products[k] = z[k]
        for k in range(self.hinged.shape[0]):
            self.with_hinges[self.size + k] = max(0.0, z[self.hinged[k]] - self.knots[k])
        for k in range(self.firsts.shape[0]):
            product = z[self.firsts[k]] * z[self.seconds[k]]
            self.with_products[self.size + k] = max(-FARTHEST, min(FARTHEST, product))
        for k in range(WAVES):
            angle = self.phases[k]
            for j in range(self.features):
                angle += self.directions[k, j] * z[1 + j]
            self.with_waves[self.size + k] = 0.5 * cos(angle)

    # -- predicting ---------------------------------------------------------------------------------------------------

    def memory(self) -> tuple:
        """Return what an event sees of the targets before it, in their own units: `recall` is the inverse.

        These are the last targets, the recent means, the last target and its error.
        """
        k: cython.Py_ssize_t
        missing: cython.double = float("nan")
        seen: list = [float(self.newest_targets[k]) for k in range(self.lags)]
        for k in range(len(MEANS)):
            seen.append(
                self.target_mean + self.target_deviation * self.means[k] if self.is_ready else missing
            )
        seen.append(self.target_mean + self.target_deviation * self.last if self.is_ready else missing)
        seen.append(self.target_deviation * self.last_error if self.is_ready else missing)
        return tuple([float(target) for target in seen])

    @cython.cfunc
    def recall(self, memory):
        """See the targets before an event as they were in its memory; without one, as they are now."""
        k: cython.Py_ssize_t
        if memory is None:
            if self.is_recalled:
                self.is_fresh = False
            for k in range(self.lags):
                self.seen_targets[k] = self.newest_targets[k]
            for k in range(len(MEANS)):
                self.seen_means[k] = self.means[k]
            self.seen_last, self.seen_error = self.last, self.last_error
        else:
            self.is_fresh = False
            for k in range(self.lags):
                self.seen_targets[k] = memory[k]
            for k in range(len(MEANS)):
                self.seen_means[k] = self.in_units(memory[self.lags + k])
            self.seen_last = self.in_units(memory[self.lags + len(MEANS)])
            self.seen_error = memory[self.lags + len(MEANS) + 1] / self.target_deviation
            if isnan(self.seen_error):
                self.seen_error = 0.0
            self.seen_error = max(-2.0 * FARTHEST_TARGET, min(2.0 * FARTHEST_TARGET, self.seen_error))
        self.is_recalled = memory is not None

    @cython.cfunc
    @cython.exceptval(check=False)
    def in_units(self, target: cython.double) -> cython.double:
        """Return a target in deviations from the mean, at most the farthest; 0 for one that was not there."""
        if isnan(target):
            return 0.0
        target = (target - self.target_mean) / self.target_deviation
        return max(-FARTHEST_TARGET, min(FARTHEST_TARGET, target))

    @cython.ccall
    def predict(self, row: Row, memory=None):
        """Write the points of an event, and its forecast to the mixture; the units are set."""
        k: cython.Py_ssize_t
        self.recall(memory)
        self.write_columns(row)
        if self.is_fresh:
            for k in range(self.size):
                if self.linear[k] != self.before[k]:
                    break
            else:
                return
        self.ask_experts()
        self.stack()
        for k in range(self.size):
            self.before[k] = self.linear[k]
        self.is_fresh = True
        self.mixture.take(self.locations, self.leverages, self.unknown)
        for k in range(LOCATIONS):
            self.points[k] = self.locations[k]
        self.points[LOCATIONS] = self.mixture.mean()
        self.point = self.mean_point()

    @cython.cfunc
    @cython.exceptval(check=False)
    def mean_point(self) -> cython.double:
        """Return the mean of the points, weighed by their squared errors as if these were of normal errors, but fewer.
        A point farther from that with the least error than such errors counts as that far.
        """
        k: cython.Py_ssize_t
        best: cython.Py_ssize_t = 0
        power: cython.double = SHARPNESS * min(cython.cast(cython.double, self.since), 1.0 / ERROR_RATE)
        weight: cython.double
        total: cython.double = 0.0
        apart: cython.double = 0.0
        for k in range(POINTS):
            if self.errors[k] <= self.errors[best]:
                best = k
        farthest: cython.double = sqrt(self.errors[best])
        if farthest == 0.0:
            return self.points[best]
        for k in range(POINTS):
            weight = exp(power * log(self.errors[best] / self.errors[k]))
            total += weight
            apart += weight * max(-farthest, min(farthest, self.points[k] - self.points[best]))
        return self.points[best] + apart / total

    @cython.cfunc
    def ask_experts(self):
        """Write the location and the leverage that each expert gives."""
        k: cython.Py_ssize_t
        n: cython.Py_ssize_t = REGRESSIONS
        expert: FadingRegression
        columns: cython.double[::1]
        best: cython.Py_ssize_t = 0
        self.write_hinges_and_waves()
        for k in range(REGRESSIONS):
            expert = self.experts[k]
            columns = self.linear
            if k >= FIRST_HINGED:
                columns = self.with_hinges if k < FIRST_WAVED else self.with_waves
            if k >= FIRST_MULTIPLIED:
                columns = self.with_products
            expert.predict(columns)
            self.locations[k], self.leverages[k] = expert.location, expert.leverage
            if self.errors[k] < self.errors[best]:
                best = k
        self.steady, self.best = self.locations[STEADY], self.locations[best]
        self.measure(False)
        self.choose_near(MOST_NEAR)
        for k in range(len(NEAR)):
            self.average(n, NEAR[k], self.near_targets, 0.0)
            self.average(n + 1, NEAR[k], self.near_steady, self.steady)
            n += 2
        self.measure(True)
        self.choose_near(WEIGHED)
        self.average(n, WEIGHED, self.near_best, self.best)
        self.locations[n + 1], self.leverages[n + 1] = self.seen_means[0], 0.035
        self.locations[n + 2], self.leverages[n + 2] = self.seen_means[1], 0.005
        self.locations[n + 3] = self.seen_last if self.lags else self.seen_means[1]
        self.locations[n + 4] = self.steady + (self.seen_error if self.lags else 0.0)
        self.leverages[n + 3] = self.leverages[n + 4] = 0.0
        for k in range(self.tree_columns.shape[0]):
            self.in_tree[1 + k] = self.linear[self.tree_columns[k]]
        self.tree.predict(self.in_tree)
        self.locations[n + 5], self.leverages[n + 5] = self.tree.location, self.tree.leverage
        for k in range(EXPERTS):
            self.locations[k] = self.confine(self.locations[k])

    @cython.cfunc
    @cython.exceptval(check=False)
    def confine(self, location: cython.double) -> cython.double:
        """Return the nearest location that is not far outside the range of targets."""
        beyond: cython.double = BEYOND * (self.highest - self.lowest)
        return max(self.lowest - beyond, min(self.highest + beyond, location))

    @cython.cfunc
    def stack(self):
        """Write the locations of the stackers, and the median of all experts."""
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        value: cython.double
        expert: FadingRegression
        for k in range(EXPERTS):
            value = self.locations[k]
            i = k
            while i > 0 and self.sorted[i - 1] > value:
                self.sorted[i] = self.sorted[i - 1]
                i -= 1
            self.sorted[i] = value
        value = 0.5 * (self.sorted[(EXPERTS - 1) // 2] + self.sorted[EXPERTS // 2])
        self.apart[0] = 1.0
        for k in range(EXPERTS):
            self.apart[k + 1] = max(-FARTHEST_APART, min(FARTHEST_APART, self.locations[k] - value))
        for k in range(len(STACKED)):
            expert = self.stackers[k]
            expert.predict(self.apart)
            self.locations[EXPERTS + k] = self.confine(value + expert.location)
            self.leverages[EXPERTS + k] = expert.leverage
        self.locations[LOCATIONS - 1], self.leverages[LOCATIONS - 1] = value, 0.0

    # -- neighbours ---------------------------------------------------------------------------------------------------

    @cython.cfunc
    def measure(self, weighed: cython.bint):
        """Write the squared distance of each kept event, by all features alike or by those that matter."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        apart: cython.double
        factor: cython.double
        here: cython.double
        column: cython.double[::1]
        distance: cython.double[::1] = self.distance
        for i in range(self.near):
            distance[i] = 0.0
        for j in range(self.features):
            column = self.near_columns[j]
            here = self.linear[1 + j]
            factor = self.matter[j] if weighed else 1.0
            for i in range(self.near):
                apart = column[i] - here
                distance[i] += factor * (apart * apart)

    @cython.cfunc
    def choose_near(self, count: cython.Py_ssize_t):
        """Write the nearest events and their distances, the nearest first."""
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        n: cython.Py_ssize_t = 0
        for i in range(self.near):
            if n == count and self.distance[i] >= self.near_distance[n - 1]:
                continue
            k = n if n < count else n - 1
            n = k + 1
            while k > 0 and self.near_distance[k - 1] > self.distance[i]:
                self.near_distance[k], self.near_at[k] = self.near_distance[k - 1], self.near_at[k - 1]
                k -= 1
            self.near_distance[k], self.near_at[k] = self.distance[i], i

    @cython.cfunc
    def average(
        self,
        at: cython.Py_ssize_t,
        count: cython.Py_ssize_t,
        values: cython.double[::1],
        start: cython.double,
    ):
        """Write a location: the mean of the nearest events' values, weighed by the inverse of their distance."""
        k: cython.Py_ssize_t
        n: cython.Py_ssize_t = min(count, self.near)
        least: cython.double = 0.0
        weight: cython.double
        total: cython.double = 0.0
        mean: cython.double = 0.0
        squares: cython.double = 0.0
        if n == 0:
            self.locations[at], self.leverages[at] = start, 1.0
            return
        for k in range(n):
            least += self.near_distance[k]
        least = 1e-3 * least / n + 1e-12
        for k in range(n):
            weight = 1.0 / (self.near_distance[k] + least)
            total += weight
            squares += weight * weight
            mean += weight * values[self.near_at[k]]
        self.locations[at], self.leverages[at] = start + mean / total, squares / (total * total)

    # -- learning -----------------------------------------------------------------------------------------------------

    @cython.ccall
    def learn(self, row: Row, target: cython.double, memory=None):
        """Learn an event with its target and the weight of the row, which is above 0."""
        y: cython.double
        self.events += 1
        self.since += 1
        if self.is_ready:
            self.predict(row, memory)
            y = self.in_units(target)
            self.score(y, min(1.0, row.weight))
            self.teach_experts(y, row.weight)
            self.far_targets = self.far_targets + 1 if fabs(y) >= FARTHEST else 0
            self.far_numbers = self.far_numbers + 1 if self.has_far_number() else 0
        else:
            self.recall(memory)
        self.keep(row, target)

    @cython.cfunc
    def has_far_number(self) -> cython.bint:
        k: cython.Py_ssize_t
        for k in range(self.slots.shape[0]):
            if fabs(self.linear[1 + k]) >= FARTHEST and not self.is_nominal[k]:
                return True
        return False

    @cython.cfunc
    def score(self, y: cython.double, weight: cython.double):
        """Weigh experts and points by a target, and correct intervals; `weight` is the event's weight, at most 1."""
        k: cython.Py_ssize_t
        error: cython.double
        least: cython.double
        rate: cython.double = weight * max(ERROR_RATE, 1.0 / self.since)
        expert: FadingRegression
        median: cython.double = self.locations[LOCATIONS - 1]
        if self.hidden > 0.0:
            noise: cython.double = self.mixture.noise()
            error = (y - self.points[LOCATIONS]) * (y - self.points[LOCATIONS])
            error = min(error, FARTHEST_HIDDEN * (noise + self.hidden))
            self.excess += weight * (error - noise) - LACKING_RATE * self.excess
            self.lacked += weight * self.hidden - LACKING_RATE * self.lacked
        self.correction.learn(self.mixture.below(y), self.since, weight)
        self.mixture.learn(y, self.since - 1, weight)
        least = (y - self.points[0]) * (y - self.points[0])
        for k in range(1, POINTS):
            least = min(least, (y - self.points[k]) * (y - self.points[k]))
        for k in range(POINTS):
            error = (y - self.points[k]) * (y - self.points[k])
            self.errors[k] += rate * (min(error, LARGEST_ERROR * (1.0 + least)) - self.errors[k])
        for k in range(len(STACKED)):
            expert = self.stackers[k]
            expert.learn(self.apart, max(-FARTHEST_APART, min(FARTHEST_APART, y - median)), weight)

    @cython.cfunc
    def teach_experts(self, y: cython.double, weight: cython.double):
        """Let the experts learn the event that they were asked for. Those that keep it for long learn a near target,
        those of the last targets the target itself: it may be an error, or the first of others like it.
        """
        k: cython.Py_ssize_t
        at: cython.Py_ssize_t = self.next_near
        is_first: cython.bint = self.near == 0
        near: cython.double = max(-FARTHEST, min(FARTHEST, y))
        expert: FadingRegression
        most: cython.double = 0.0
        for k in range(REGRESSIONS):
            expert = self.experts[k]
            if k < FIRST_HINGED:
                expert.learn(self.linear, near, weight)
            elif k < FIRST_WAVED:
                expert.learn(self.with_hinges, near, weight)
            elif k < FIRST_MULTIPLIED:
                expert.learn(self.with_waves, near, weight)
            else:
                expert.learn(self.with_products, near, weight)
        self.tree.learn(self.in_tree, near, weight)
        for k in range(self.features):
            self.near_columns[k, at] = self.linear[1 + k]
        self.near_targets[at], self.near_steady[at] = near, near - self.steady
        self.near_best[at] = near - self.best
        self.next_near = (at + 1) % KEPT
        self.near = min(KEPT, self.near + 1)
        self.lowest = y if is_first else min(self.lowest, y)
        self.highest = y if is_first else max(self.highest, y)
        for k in range(len(MEANS)):
            self.means[k] += (1.0 - 0.5 ** (1.0 / MEANS[k])) * (y - self.means[k])
        self.last, self.last_error = y, y - self.steady
        if self.near == 1 or self.next_near % EVERY == 0:
            expert = self.experts[STEADY]
            expert.coefficients(self.coefficient)
            for k in range(self.features):
                most = max(most, fabs(self.coefficient[1 + k]))
            for k in range(self.features):
                self.matter[k] = LEAST_MATTER + fabs(self.coefficient[1 + k]) / (most + 1e-9)
        self.is_fresh = False

    @cython.cfunc
    def keep(self, row: Row, target: cython.double):
        """Keep an event among the newest."""
        k: cython.Py_ssize_t
        slot: cython.Py_ssize_t
        index: cython.Py_ssize_t = (self.events - 1) % KEPT
        for k in range(row.numbers):
            slot = row.numeric_feature[k]
            if slot >= self.width and slot < MOST_SLOTS:
                more = np.full((KEPT, 2 * slot + 8 - self.width), np.nan)
                self.kept_values = np.concatenate([self.kept_values, more], axis=1)
                self.width = 2 * slot + 8
        for k in range(self.width):
            self.kept_values[index, k] = float("nan")
        for k in range(row.numbers):
            slot = row.numeric_feature[k]
            if slot < self.width:
                self.kept_values[index, slot] = row.number[k]
        self.kept_targets[index], self.kept_weights[index] = target, row.weight
        for k in range(self.lags):
            self.kept_lags[index, k] = self.seen_targets[k]
        for k in range(self.lags - 1, 0, -1):
            self.newest_targets[k] = self.newest_targets[k - 1]
        if self.lags:
            self.newest_targets[0] = target
        self.is_fresh = False

    def relearn(self, indices):
        """Let experts that have learned nothing learn kept events."""
        index: cython.Py_ssize_t
        for index in indices:
            self.write_kept(index)
            self.ask_experts()
            self.teach_experts(
                self.in_units(self.kept_targets[index]),
                self.kept_weights[index],
            )
