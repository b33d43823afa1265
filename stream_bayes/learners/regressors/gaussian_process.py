"""A Gaussian process over the newest events: exact, with lengths that the evidence chooses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.encoding._targets import read_target
from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.regression.gaussian_process import (
    GaussianKernel,
    ProcessPosterior,
    UncertainRows,
    Units,
    climb,
)
from stream_bayes.core.regression.missing_columns import POINTS, NormalColumns
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.values import name_order, shown, tagged, untagged
from stream_bayes.data.frames import Native
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, CannotMerge, NotLearned
from stream_bayes.learners.base.arguments import check_count
from stream_bayes.learners.base.explanation import Contributions
from stream_bayes.learners.base.regressor import BayesRegressor, X
from stream_bayes.learners.base.samples import rows_of
from stream_bayes.learners.base.traits import Promise
from stream_bayes.learners.regressors.first_samples import FirstSample

__all__ = ["GaussianProcess"]

LARGEST_WINDOW = 2000
LEAST_EVENTS = 256  # between two settings of the kernel, once there are as many
FIRST_TIME = 4  # events, after which the kernel is first set
NO_VALUE = -1.0  # code of a nominal value that is missing, or in no event of the window
CENTER, RATIO = 1.0, 1.0  # first lengths in octaves, of a single feature, and ratio in decades

Floats = NDArray[np.float64]


class GaussianProcess(BayesRegressor):
    """A Gaussian process over the newest events: any smooth dependence, and intervals that widen away from the events.

    Strings, bytes, bools and tuples are nominal. Each feature has a length of its own in the kernel, so one that tells
    nothing about the target is left out by a large length.

    Parameters
    ----------
    window
        The number of newest events that count, at most 2,000. A prediction after learning costs its cube: some
        milliseconds with 300.
    schema
        The declared features, and no classes. Without one, every feature is learned when it first comes.
    max_values
        The number of values of a nominal feature after which new ones share one name.
    memory_budget
        The most bytes that sums and names may take; a sample that needs more is refused. Default: no limit.

    Notes
    -----
    The kernel is the product over features of exp(-(z - z')^2 / (2 length^2)), with z in deviations, and of
    exp(-1 / length^2) for values that differ. Mean and noise have the prior p(mean, noise) ~ 1 / noise^2, so a target
    to come has a Student's t distribution. Lengths, the ratio of the process's variance to the noise's, and the unit of
    each number are set after 4 events, 8, 16, ..., and then whenever `window` events, or 256, have come: lengths and
    ratio are those with the largest posterior that a climb by octaves and half decades reaches from the present ones. A
    number that an event lacks is integrated out, under a normal distribution of numbers given those that it has, which
    is set with the lengths.

    Promises: the same events from the same state give the same answers. `unlearn_one` takes an event out of the window,
    as if it had left it; one that has left is refused, as is merging. For unlimited events on sums:
    `BayesianRegression(features="fourier")`.

    Examples
    --------
    >>> model = GaussianProcess(window=100)
    >>> for k in range(100):
    ...     model.learn_one({"wind": k % 10}, 20.0 - (k % 10 - 5) ** 2 + k % 3)
    >>> round(model.predict_one({"wind": 5.0})), round(model.predict_one({"wind": 2.0}))
    (21, 12)
    >>> low, high = model.predict_interval_one({"wind": 5.0}, 0.9)
    >>> far_low, far_high = model.predict_interval_one({"wind": 30.0}, 0.9)
    >>> far_high - far_low > 5.0 * (high - low)
    True
    """

    promises: ClassVar[frozenset[Promise]] = frozenset({Promise.ORDERED})
    counts_pairs: ClassVar[bool] = False
    sliding_arguments: ClassVar[Mapping[str, Any] | None] = {}

    def __init__(
        self,
        window: int = 300,
        schema: Schema | None = None,
        max_values: int | None = 1000,
        memory_budget: int | None = None,
    ) -> None:
        self.window = window
        check_count("window", window)
        if window > LARGEST_WINDOW:
            raise BadValue(
                f"window: at most {LARGEST_WINDOW:,} events, as a prediction costs their cube, not {shown(window)}; "
                'BayesianRegression(features="fourier") has no limit'
            )
        super().__init__(None, schema, max_values, memory_budget)
        self._events: list[FirstSample] = []
        self._settings: dict[
            Any, tuple[float, float, float]
        ] = {}  # by feature: mean, deviation, octaves of its length
        self._normal = NormalColumns(np.zeros(0), np.zeros((0, 0)))  # of the numbers, in the order of names
        self._ratio = RATIO
        self._rows: _WindowRows | None = None  # until the kernel is set again
        self._posterior: _WindowPosterior | None = None

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn_one(self, x: X, y: float, w: float = 1.0) -> None:
        """Learn a sample: all of it, or nothing if any part is refused.

        Parameters
        ----------
        x
            The features, `{name: value}`. An absent value, None or NaN is missing.
        y
            The target, a finite number.
        w
            The sample's weight; 2.0 is the same as learning it twice, but takes one place of the window.
        """
        row = self.store.encode(x, y, w)
        if row.weight == 0.0:
            return
        self.store.add(row)
        self._events.append(FirstSample.of(x, y, w, None, self.clock))
        if self._rows is not None:
            self._rows.append(self._events[-1].x)
        if len(self._events) > self.window:
            oldest = self._remove(0)
            self.store.unlearn(oldest.x, oldest.y, oldest.w)
        self._posterior = None
        if self._is_time():
            self._set_kernel()

    def unlearn_one(self, x: X, y: float, w: float = 1.0) -> None:
        """Take a sample out of the window. Lengths and units stay until they are set again.

        Raises
        ------
        NotLearned
            If it is not in the window.
        """
        self._encoder.lookup(x)  # raises for what no event can be
        wanted = FirstSample.of(x, read_target(y), w, None, 0)
        matches = [number for number, each in enumerate(self._events) if each.is_of(wanted)]
        if not matches:
            raise NotLearned(
                f"the sample {shown(dict(x))} with the target {shown(y)} is not among the newest {len(self._events):,} "
                "events: it was never learned, or has left the window"
            )
        self.store.unlearn(wanted.x, wanted.y, wanted.w)
        self._remove(matches[-1])
        self._posterior = None

    def _remove(self, number: int) -> FirstSample:
        """Take an event out of the window and return it."""
        if self._rows is not None:
            self._rows.remove(number)
        return self._events.pop(number)

    def merge(self, other: Self) -> Self:
        """Raise `CannotMerge`: the newest events of two streams are not those of one."""
        raise CannotMerge(
            "a GaussianProcess is not merged: which events are the newest depends on their order; take "
            "BayesianRegression with features=FourierFeatures({'wind': (mean, deviation)})"
        )

    # -- the kernel ---------------------------------------------------------------------------------------------------

    def _is_time(self) -> bool:
        clock = self.clock
        return clock >= FIRST_TIME and (
            clock & (clock - 1) == 0 or clock % max(self.window, LEAST_EVENTS) == 0
        )

    def _set_kernel(self) -> None:
        """Set units, lengths and ratio from the events of the window."""
        if not _has_spread(self._events):
            return
        features = self._encoder.features
        names = {name for each in self._events for name in each.x if name in features}
        center = CENTER + 0.5 * math.log2(max(1, len(names)))
        settings = {}
        for name in sorted(names, key=name_order):
            octaves = self._settings[name][2] if name in self._settings else center
            column = [each.x[name] for each in self._events if name in each.x]
            if not features[name].numeric:
                settings[name] = (0.0, 0.0, octaves)
            elif (deviation := float(np.std(column))) > 1e-12 * abs(mean := float(np.mean(column))):
                settings[name] = (mean, deviation, octaves)
        self._settings = settings
        self._normal = _normal_of(self._events, settings)
        window, targets = _WindowRows(self._events, settings, self._normal), _Targets(self._events)
        self._rows = None
        start = np.array([*(octaves for _, _, octaves in settings.values()), self._ratio])
        reached = climb(
            window.rows, window.kernel.is_nominal, targets.numbers, targets.weights, start
        ).tolist()
        self._ratio = reached.pop()
        self._settings = {
            name: (mean, deviation, octaves)
            for (name, (mean, deviation, _)), octaves in zip(settings.items(), reached, strict=True)
        }

    @property
    def lengths_(self) -> dict[Any, float]:
        """By feature, the distance in deviations over which the target changes."""
        return {name: 2.0**octaves for name, (_, _, octaves) in self._settings.items()}

    def _window(self) -> _WindowPosterior | None:
        """Return the posterior given the window; None until targets that differ have come."""
        if self._posterior is None and _has_spread(self._events):
            if self._rows is None:
                self._rows = _WindowRows(self._events, self._settings, self._normal)
            self._posterior = _WindowPosterior(self._rows, _Targets(self._events), 10.0**self._ratio)
        return self._posterior

    # -- predicting ---------------------------------------------------------------------------------------------------

    def predict_one(self, x: X, **kwargs: Any) -> float:
        """Return the mean of an event's target; 0.0 before any learning, as River's regressors do."""
        return self.predict_distribution_one(x).location

    def predict_distribution_one(self, x: X) -> StudentT:
        """Return the distribution of an event's target, with its quantiles, density and score."""
        self._encoder.lookup(x)  # raises for what no event can be
        window = self._window()
        if window is None:
            location = self._events[0].y if self._events else 0.0
            return StudentT(location, 0.0, max(0.0, len(self._events) - 1.0))
        return window.forecast(x)

    def explain_one(self, x: X) -> Contributions:
        """Return what each feature adds to a prediction, with its standard deviation.

        It is by how much the mean moves once the feature is no longer missing: the mean of that where the features
        before it in the order of names are there already, and where those after it are.
        """
        self._encoder.lookup(x)
        window = self._window()
        if window is None:
            return Contributions(self._events[0].y if self._events else 0.0, {})
        return window.contributions(x)

    def draw_many(self, X: Native, rng: np.random.Generator) -> Floats:
        """Return the values of a function at some events, drawn together from the posterior.

        Raises
        ------
        NotLearned
            Before targets that differ have been learned.

        Examples
        --------
        >>> model = GaussianProcess()
        >>> for k in range(60):
        ...     model.learn_one({"a": k % 10}, 3.0 * (k % 10) + k % 3)
        >>> values = model.draw_many([{"a": 2}, {"a": 7}], np.random.default_rng(1))
        >>> [round(value) for value in values]
        [7, 22]
        """
        window = self._window()
        if window is None:
            raise NotLearned("targets that differ are needed first: learn more events")
        return window.draw([*rows_of(X)], rng)

    # -- what it holds ------------------------------------------------------------------------------------------------

    @property
    def memory_bytes(self) -> int:
        """The bytes of sums, of the codes of names, and of the numbers of the window; names are not counted."""
        return super().memory_bytes + 8 * sum(len(each.x) + 3 for each in self._events)

    def derived_state(self) -> dict[str, Any]:
        settings = [[tagged(name), *each] for name, each in self._settings.items()]
        return {
            "events": [each.state() for each in self._events],
            "settings": settings,
            "normal": [self._normal.mean.tolist(), self._normal.covariance.tolist()],
            "ratio": self._ratio,
        }

    def load_derived(self, derived: Mapping[str, Any]) -> None:
        expect(set(derived) == {"events", "settings", "normal", "ratio"}, "it holds no window")
        self._events = [FirstSample.from_state(each) for each in derived["events"]]
        expect(len(self._events) <= self.window, "it holds more events than its window")
        self._settings = {
            untagged(name): (float(mean), float(deviation), float(octaves))
            for name, mean, deviation, octaves in derived["settings"]
        }
        mean, covariance = (np.array(each, float) for each in derived["normal"])
        numbers = sum(deviation > 0.0 for _, deviation, _ in self._settings.values())
        expect(covariance.size == numbers**2, "its numbers have other covariances")
        self._normal = NormalColumns.loaded(mean, covariance.reshape(numbers, numbers), numbers)
        self._ratio = float(derived["ratio"])
        self._rows = None


class _Targets:
    """The targets of a window in deviations, and their weights."""

    def __init__(self, events: list[FirstSample]) -> None:
        targets = np.array([each.y for each in events])
        self.mean = float(targets.mean())
        size = float(np.abs(targets - self.mean).max())  # squares of tiny numbers would be 0
        self.deviation = size * float(((targets - self.mean) / size).std())
        self.numbers: Floats = (targets - self.mean) / self.deviation
        self.weights = np.array([each.w for each in events])


class _WindowRows:
    """The events of a window as rows of numbers, and the kernel among them; events come and go one at a time."""

    def __init__(
        self,
        events: list[FirstSample],
        settings: Mapping[Any, tuple[float, float, float]],
        normal: NormalColumns,
    ) -> None:
        self._normal = normal
        self.names = list(settings)
        means, deviations, octaves = np.array([*settings.values()], float).reshape(-1, 3).T
        self._units = Units(means, deviations)
        self.kernel = GaussianKernel(deviations == 0.0, 2.0**octaves)
        self._codes: list[dict[Any, float] | None] = [None if deviation else {} for deviation in deviations]
        self.rows = self.filled(self.rows_of([each.x for each in events], adding=True))
        self._among: Floats | None = None

    def among(self) -> Floats:
        """Return the kernel among the events."""
        if self._among is None:
            self._among = self.kernel.among(self.rows)
        return self._among

    def append(self, x: Mapping[Any, Any]) -> None:
        """Add an event."""
        row = self.filled(self.rows_of([x], adding=True))
        if self._among is not None:
            count = len(self._among)
            among = np.ones((count + 1, count + 1))
            among[:count, :count] = self._among
            among[count, :count] = among[:count, count] = self.kernel.between(row, self.rows)[0]
            self._among = among
        self.rows = UncertainRows(*(np.concatenate(parts) for parts in zip(self.rows, row, strict=True)))

    def remove(self, number: int) -> None:
        """Remove an event."""
        self.rows = UncertainRows(*(np.delete(part, number, axis=0) for part in self.rows))
        if self._among is not None:
            self._among = np.delete(np.delete(self._among, number, axis=0), number, axis=1)

    def rows_of(self, xs: list[Mapping[Any, Any]], *, adding: bool = False) -> Floats:
        """Return events as rows, with numbers in deviations. New values of events to add get codes; of others, a value
        that is in no event of the window counts as missing.
        """
        rows = np.full((len(xs), len(self.names)), np.nan)
        for feature, (name, codes) in enumerate(zip(self.names, self._codes, strict=True)):
            for number, x in enumerate(xs):
                value = x.get(name)
                if codes is None:
                    rows[number, feature] = math.nan if value is None else value
                elif value is None:
                    rows[number, feature] = NO_VALUE
                elif adding:
                    rows[number, feature] = codes.setdefault(value, float(len(codes)))
                else:
                    code = codes.get(value, NO_VALUE)
                    is_there = bool((self.rows.means[:, feature] == code).any())
                    rows[number, feature] = code if is_there else NO_VALUE
        return self._units.apply(rows)

    def filled(self, rows: Floats) -> UncertainRows:
        """Return rows with what is expected of their missing numbers, given the rest, and its variance."""
        numbers = ~self.kernel.is_nominal
        means, variances = rows.copy(), np.zeros_like(rows)
        means[:, numbers], variances[:, numbers] = self._normal.filled(rows[:, numbers])
        return UncertainRows(means, variances)

    def has_gaps(self, row: Floats) -> bool:
        """Return True if a row lacks a number, or a name that others have."""
        return bool(np.isnan(row).any()) or bool(self._lacking(row))

    def _lacking(self, row: Floats) -> list[int]:
        """Return the nominal features that a row lacks, and that events of the window have."""
        lacking = np.flatnonzero(self.kernel.is_nominal & (row[0] == NO_VALUE)).tolist()
        return [feature for feature in lacking if (self.rows.means[:, feature] != NO_VALUE).any()]

    def _codes_there(self, feature: int) -> Floats:
        """Return the codes of a nominal feature that events have, in an order that depends on the values alone."""
        there = self.rows.means[:, feature]
        ordered = sorted((self._codes[feature] or {}).items(), key=lambda named: repr(named[0]))
        return np.concatenate([there[there == code] for _, code in ordered])

    def points(self, row: Floats) -> UncertainRows:
        """Return rows that stand for a row with gaps: of names, those of the window as often as they are there."""
        numbers = ~self.kernel.is_nominal
        points = np.repeat(row, POINTS, axis=0)
        points[:, numbers] = self._normal.points(row[0, numbers])
        for order, feature in enumerate(self._lacking(row)):
            codes = self._codes_there(feature)
            shuffled = np.arange(POINTS) * (2 * order + 1) % POINTS  # in another order for each name
            points[:, feature] = codes[shuffled * len(codes) // POINTS]
        return UncertainRows(points, np.zeros_like(points))


class _WindowPosterior:
    """The posterior of a process, given the events of a window."""

    def __init__(self, window: _WindowRows, targets: _Targets, ratio: float) -> None:
        self._window = window
        self._targets = targets
        self._process = ProcessPosterior(window.among(), targets.numbers, targets.weights, ratio)

    def _kernels(self, rows: UncertainRows) -> Floats:
        """Return the kernels of rows with the events."""
        return self._window.kernel.between(rows, self._window.rows)

    def forecast(self, x: Mapping[Any, Any]) -> StudentT:
        """Return the distribution of an event's target."""
        rows = self._window.rows_of([x])
        (location,), (scale,) = self._process.forecast(self._kernels(self._window.filled(rows)))
        if self._window.has_gaps(rows):
            locations, scales = self._process.forecast(self._kernels(self._window.points(rows)))
            scale = math.sqrt(float(np.mean(scales**2)) + float(np.var(locations)))
        return StudentT(
            self._targets.mean + self._targets.deviation * float(location),
            self._targets.deviation * float(scale),
            self._process.degrees,
        )

    def contributions(self, x: Mapping[Any, Any]) -> Contributions:
        """Return what each feature adds to the mean."""
        whole = self._window.rows_of([x])[0]
        empty = self._window.rows_of([{}])[0]
        present = [feature for feature, name in enumerate(self._window.names) if x.get(name) is not None]
        steps = [empty.copy() for _ in range(2 * len(present) + 2)]
        for number, feature in enumerate(
            present
        ):  # the first rows gain features from the front, others from the end
            for row in steps[number + 1 : len(present) + 1]:
                row[feature] = whole[feature]
            for row in steps[len(present) + 1 + len(present) - number :]:
                row[feature] = whole[feature]
        rows = self._window.filled(np.array(steps))
        kernels, among = self._kernels(rows), self._window.kernel.between(rows, rows)
        features = {}
        for number, feature in enumerate(present):
            shares = np.zeros(len(steps))
            shares[[number, number + 1]] = -0.5, 0.5
            last = len(present) + 1 + len(present) - number
            shares[[last - 1, last]] = -0.5, 0.5
            mean, deviation = self._process.combined(kernels, among, shares)
            features[self._window.names[feature]] = (
                self._targets.deviation * mean,
                self._targets.deviation * deviation,
            )
        return Contributions(self.forecast({}).location, features)

    def draw(self, xs: list[Mapping[Any, Any]], rng: np.random.Generator) -> Floats:
        """Return values of the process at some events, drawn together."""
        rows = self._window.filled(self._window.rows_of(xs))
        drawn = self._process.draw(self._kernels(rows), self._window.kernel.between(rows, rows), rng)
        return self._targets.mean + self._targets.deviation * drawn


def _normal_of(
    events: list[FirstSample], settings: Mapping[Any, tuple[float, float, float]]
) -> NormalColumns:
    """Return the normal distribution of the numbers of events."""
    numbers = {name: unit for name, unit in settings.items() if unit[1] > 0.0}
    values = np.array([[each.x.get(name, math.nan) for name in numbers] for each in events], float)
    means, deviations, _ = np.array([*numbers.values()], float).reshape(-1, 3).T
    return NormalColumns.fitted(Units(means, deviations).apply(values.reshape(len(events), -1)))


def _has_spread(events: list[FirstSample]) -> bool:
    return len({each.y for each in events}) > 1 and sum(each.w for each in events) > 1.0
