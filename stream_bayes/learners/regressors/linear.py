"""Bayesian linear regression, and what it explains and draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy  # its submodules load on first use

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.encoding._rows import Row
from stream_bayes.core.encoding._targets import TargetEncoder, read_target
from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.regression._summed import RegressionReading
from stream_bayes.core.regression.random_fourier_features import Waves, is_derived, is_wave, wave_names
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.inputs import no_features
from stream_bayes.core.values.values import OTHER, is_missing, shown
from stream_bayes.data.frames import Native, labels_of
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, CannotMerge, NotLearned
from stream_bayes.learners.base.arguments import check_count, check_number
from stream_bayes.learners.base.explanation import Contributions
from stream_bayes.learners.base.fourier_features import FOURIER, FourierFeatures
from stream_bayes.learners.base.regressor import SummedRegressor, X
from stream_bayes.learners.base.traits import Traits
from stream_bayes.learners.regressors.first_samples import TIMES, FirstSample, scaled_waves

__all__ = ["BayesianRegression", "LinearFunction", "contributions"]

EVIDENCE = "evidence"
LARGEST_WINDOW = 100_000_000  # events: a forged state must not allocate a window beyond any memory


@dataclass(frozen=True)
class LinearFunction:
    """A linear function of an event, as a posterior draws it.

    Examples
    --------
    >>> line = LinearFunction(20.0, {"wind": (-2.0, 3.0)}, {"sky": {"grey": -1.5}}, 0.5)
    >>> line.predict_one({"wind": 4.0, "sky": "grey"})
    16.5
    """

    mean: float  # where every feature is missing
    # By numeric feature: the coefficient, and the number at which the feature contributes nothing.
    slopes: dict[Any, tuple[float, float]]
    effects: dict[Any, dict[Any, float]]  # by nominal feature: the contribution of each value
    noise: float  # the standard deviation of a target about the function
    # Returns what the features of an event become first, as `features=` says; None: they stay as they are.
    columns: Callable[[X], X] | None = None

    def predict_one(self, x: X) -> float:
        """Return the function's value for an event; what is missing or was never learned adds nothing."""
        parts = [self.mean]
        for name, value in (x if self.columns is None else self.columns(x)).items():
            if not is_missing(value) and name in self.slopes:
                slope, mean = self.slopes[name]
                parts.append(slope * (value - mean))
            elif not is_missing(value) and name in self.effects:
                values = self.effects[name]
                parts.append(values.get(value, values.get(OTHER, 0.0)))
        return math.fsum(parts)


class BayesianRegression(SummedRegressor):
    """Bayesian linear regression: a number from numbers and names, with its uncertainty.

    The posterior is normal-inverse-gamma, so a target to come has a Student's t distribution. Strings, bytes, bools and
    tuples are nominal: each value has an effect of its own. A missing value is integrated out: the prediction is that
    of the features an event has.

    Parameters
    ----------
    strength
        The prior's weight, in samples: coefficients of numbers are normal on the scale of their deviations, those of
        nominal values on that of an indicator, each with the variance of the noise divided by `strength`. By default
        the power of ten from 1e-6 to 1000 with the largest posterior, under a prior of a decade about 1, at every
        change. A number takes less time, and makes intervals too wide where the features explain nearly all.
    half_life
        The number of learned events after which a sample weighs half; None never forgets. The prior never fades. Or a
        duration in stream time, such as `"7d"`: a sample then weighs by its own time, `at`, and the order of samples
        changes nothing.
    schema
        The declared features, and no classes. Without one, every feature is learned when it first comes.
    max_values
        The number of values of a nominal feature after which new ones share one effect. Default: no limit. Which values
        share it depends on the order of events, so such learners do not merge.
    memory_budget
        The most bytes that sums and names may take; a sample that needs more is refused. Default: no limit.
    features
        What the regression is on. None: the features themselves. `"fourier"`, or a `FourierFeatures`: also random waves
        over all numbers, which makes it nearly a Gaussian process: bends, and how numbers act together, are learned. Or
        a function from an event, `{name: value}`, to the dict of what to learn in its place; such a learner is neither
        saved nor copied, as a file holds no code.
    window
        The number of newest events that count: each event that leaves the window is unlearned. An event of weight 0
        does not count. None: all count. Such learners do not merge, and only an event of the window can be unlearned.
        The scales of Fourier features must be declared.

    Notes
    -----
    With z the features less their means, in deviations, C and c their covariances with themselves and with the target,
    W the weight of all samples and D the strength, divided by the share of samples that have the feature:

        A = W C + D    b = A^-1 W c    s^2 = (W var(y) - W c b) / (W - 1)
        y ~ t(W - 1 degrees of freedom, mean(y) + z b, s^2 (1 + 1/W + z A^-1 z))

    The mean of the targets and the noise have the prior p(mean, noise) ~ 1 / noise^2. Where samples lack numbers,
    covariances are those of the samples that have both; they are shrunk until no direction has less variance, with the
    prior, than their errors explain. The noise is what the covariances leave before that, and what their errors hide.
    Gaps are taken as lost numbers, on which the target depends as on others: where a gap means that there is nothing to
    count, intervals of whole events are too narrow. `AdaptiveRegression` learns what gaps mean.

    With Fourier features, the first events set the scales of the waves unless these are declared, and are learned anew
    each time; until then, 8 events, the regression is on the features alone. Numbers that come later, or do not vary
    among the first events, are in no wave. A number that an event lacks is integrated out under a normal distribution.
    Waves know nothing beyond the numbers that were learned: there a forecast does not return to the mean at once.

    Promises: sums hold 159 bits, so coefficients, predictions and intervals are equal to 1e-9 of themselves in any
    order, split, merge, and after unlearning, also of a number of up to 1e18 times the deviation of the others. Scales
    of waves that the first 128 events set depend on their order, so such learners do not merge. With d columns (a
    number, a value of a nominal feature, or a wave), learning costs d^2, the first prediction after it d^3, the next
    ones d^2; memory is 24 bytes for each pair of columns, 96 where samples lack numbers or features are nominal.

    Examples
    --------
    >>> from stream_bayes import BayesianRegression
    >>> model = BayesianRegression()
    >>> for k in range(40):
    ...     sky, rest = ("grey", -5.0) if k % 2 else ("blue", 0.0)
    ...     model.learn_one({"wind": k % 7, "sky": sky}, 20.0 - 2.0 * (k % 7) + rest + k % 3 - 1.0)
    >>> x = {"wind": 3, "sky": "blue"}
    >>> round(model.predict_one(x), 1), [round(bound, 1) for bound in model.predict_interval_one(x, 0.9)]
    (14.0, [12.5, 15.5])
    >>> newest = BayesianRegression(window=2)
    >>> for y in [5.0, 1.0, 3.0]:
    ...     newest.learn_one({}, y)
    >>> newest.predict_one({})
    2.0
    """

    additive: ClassVar[bool] = True
    sliding_arguments: ClassVar[Mapping[str, Any] | None] = {}

    def __init__(
        self,
        strength: float | str = EVIDENCE,
        half_life: float | str | None = None,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
        features: str | FourierFeatures | Callable[[X], X] | None = None,
        window: int | None = None,
    ) -> None:
        self.strength = strength
        self.features = features
        self.window = window
        if features is not None and features != FOURIER and not isinstance(features, FourierFeatures):
            if not callable(features):
                raise BadValue(
                    f"features must be {FOURIER!r}, a FourierFeatures(...), a function of an event or None, not "
                    f"{shown(features)}"
                )
        self._fourier = FourierFeatures() if isinstance(features, str) else features
        self._waves: Waves | None = None
        self._first: list[FirstSample] | None = None  # until the scales of the waves are set
        if isinstance(self._fourier, FourierFeatures):
            self._waves = self._fourier.declared_waves()
            self._first = [] if self._waves is None else None
        if strength != EVIDENCE:
            if isinstance(strength, str):
                raise BadValue(f"strength must be {EVIDENCE!r} or a number above 0, not {shown(strength)}")
            check_number("strength", strength, above=True)
        if window is not None:
            self._check_window(window)
        super().__init__(half_life, schema, max_values, memory_budget)

    def _check_window(self, window: int) -> None:
        check_count("window", window)
        if window > LARGEST_WINDOW:
            raise BadValue(f"window: at most {LARGEST_WINDOW:,} events, not {shown(window)}")
        if self._sets_scales:
            raise BadValue(
                "window: the first events set the scales of the waves, and then leave it; declare the scales: "
                "features=FourierFeatures({'wind': (mean, deviation)})"
            )

    def _make_store(self) -> CountStore:
        store = super()._make_store()
        if self.window is not None:
            store.slide(self.window)
        return store

    def _make_reading(self, store: CountStore) -> RegressionReading:
        strength = 0.0 if self.strength == EVIDENCE else float(self.strength)
        return RegressionReading(store.tables, self._encoder, strength)

    # -- features -----------------------------------------------------------------------------------------------------

    @property
    def _sets_scales(self) -> bool:
        """True if the first events set the scales of waves."""
        return isinstance(self._fourier, FourierFeatures) and self._fourier.scales is None

    def _make_encoder(self) -> TargetEncoder:
        encoder = super()._make_encoder()
        if self.schema is not None and isinstance(self._fourier, FourierFeatures):
            for name in wave_names(self._fourier.count):
                encoder.add_feature(name, None)
        return encoder

    def _columns_of(self, x: X) -> X:
        if self._fourier is None:
            return x
        if not isinstance(x, Mapping):
            raise no_features(x)
        if not isinstance(self._fourier, FourierFeatures):
            columns = self._fourier(x)
            if not isinstance(columns, Mapping):
                raise BadValue(
                    f"features: expected the function to return a dict {{name: value}}, got {shown(columns)}"
                )
            return columns
        return x if self._waves is None else {**x, **self._waves.columns(x)}

    def _present_columns(self) -> Callable[[X], X] | None:
        """Return a function that does what `_columns_of` does, also after the scales of waves are set again."""
        if not isinstance(self._fourier, FourierFeatures):
            return self._fourier
        waves = self._waves
        return None if waves is None else lambda x: {**x, **waves.columns(x)}

    def _learn(self, row: Row, x: X, y: float, at: float | None) -> None:
        if self._first is None or row.weight == 0.0:
            self.reading.learn(row)
            if self.window is not None:
                window = self.store.window
                if window is not None and len(window) > self.window:
                    self.store.tables.forget_oldest()
            return
        samples = [*self._first, FirstSample.of(x, y, row.weight, at, self.clock + 1)]
        if len(samples) in TIMES:
            self._learn_scaled(samples)
        else:
            super()._learn(row, x, y, at)
            self._first = samples

    def _learn_rows(self, X: Native, y: Native, w: Native, at: Native) -> None:
        if self._first is None and self.window is None:
            super()._learn_rows(X, y, w, at)
            return
        samples = self._checked(X, y, w, at)
        times: list[Any] = [None] * len(samples) if at is None else [*labels_of(at)]
        for sample, moment in zip(samples, times, strict=True):
            self.learn_one(*sample, moment)

    def _unlearn(self, x: X, y: float, w: float, at: float | None) -> None:
        if self._first is None or w == 0.0:
            super()._unlearn(x, y, w, at)
            return
        self._encoder.lookup(self._columns_of(x))  # raises for what no event can be
        read_target(y)
        wanted = FirstSample.of(x, y, w, None, 0)
        times = [(at, each.at if self.store.tables.timed else each.clock) for each in self._first]
        matches = [
            number
            for number, each in enumerate(self._first)
            if each.is_of(wanted) and (at is None or times[number][0] == times[number][1])
        ]
        if not matches:
            raise NotLearned(
                f"the sample {shown(dict(x))} with the target {shown(y)} is not among those learned"
            )
        super()._unlearn(x, y, w, at)
        del self._first[matches[-1]]

    def _learn_scaled(self, samples: list[FirstSample]) -> None:
        """Set the scales of the waves from the first samples, and learn them anew."""
        assert isinstance(self._fourier, FourierFeatures)
        before = (self._encoder, self.store, self.reading, self._waves)
        tables = self.store.tables
        timed, newest = bool(tables.timed), int(tables.time)
        try:
            numeric = {feature.name for feature in self._encoder.numeric if not is_derived(feature.name)}
            self._waves = scaled_waves(samples, numeric, self._fourier)
            self._encoder = self._make_encoder()
            self.store = self._make_store()
            for sample in samples:
                if not timed:
                    self.store.advance(sample.clock - 1 - int(self.store.tables.clock))
                self.store.add(self.store.encode(self._columns_of(sample.x), sample.y, sample.w, sample.at))
            if timed:
                self.store.tables.advance_to(newest)
            self.reading = self._make_reading(self.store)
        except BaseException:
            self._encoder, self.store, self.reading, self._waves = before
            raise
        self._first = None if len(samples) == TIMES[-1] else samples

    def derived_state(self) -> dict[str, Any]:
        if not self._sets_scales:
            return {}
        first = None if self._first is None else [sample.state() for sample in self._first]
        return {"waves": None if self._waves is None else self._waves.state(), "first": first}

    def load_derived(self, derived: Mapping[str, Any]) -> None:
        if not self._sets_scales:
            super().load_derived(derived)
            return
        assert isinstance(self._fourier, FourierFeatures)
        expect(set(derived) == {"waves", "first"}, "it has no scales")
        waves, first = derived["waves"], derived["first"]
        if waves is not None:
            self._waves = self._fourier.waves(*Waves.read_state(waves))
        self._first = None if first is None else [FirstSample.from_state(each) for each in first]

    def merge(self, other: Self) -> Self:
        """Add the sums of another learner of the same class and settings, which stays unchanged.

        Raises `CannotMerge` if the two differ, or if the first events set the scales of waves.
        """
        if self._sets_scales:
            raise CannotMerge(
                "features: the first events set the scales of the waves, so that no two learners have the same; "
                "declare them: features=FourierFeatures({'wind': (mean, deviation)})"
            )
        if self.window is not None:
            raise CannotMerge("window: which events are the newest depends on their order; leave window out")
        return super().merge(other)

    @property
    def traits(self) -> Traits:
        """The abilities of this learner, which follow from its class and its arguments."""
        depends = self._sets_scales or self.window is not None
        return super().traits._replace(is_order_dependent=depends, is_mergeable=not depends)

    # -- the posterior ------------------------------------------------------------------------------------------------

    @property
    def strength_(self) -> float:
        """The strength in use: the argument, or the one with the largest evidence."""
        if self.strength == EVIDENCE:
            self.reading.posterior()
        return float(self.reading.strength)

    def log_evidence(self) -> float:
        """Return the log of the marginal likelihood of all targets learned, given their features.

        It compares models of the same targets. The prior of mean and noise, which all of them share, is improper.

        Raises
        ------
        NotLearned
            Before targets that differ have been learned.
        """
        evidence = self.reading.log_evidence()
        if evidence is None:
            raise _without_spread()
        return float(evidence)

    def predict_distribution_one(self, x: X) -> StudentT:
        """Return the distribution of an event's target, with its quantiles, density and score."""
        forecast = super().predict_distribution_one(x)
        covariance = None if self._waves is None else self._waves.covariance(x)
        if covariance is None or forecast.scale == 0.0:
            return forecast
        # The waves of a number that is missing are their means over it; the target varies with them.
        columns, _, deviation, factor, partial, *_ = self.reading.posterior_of(
            self._encoder.lookup(self._columns_of(x))
        )
        names = [self._encoder.numeric[slot].name for slot in columns.tolist()]
        at = [k for k, name in enumerate(names) if is_wave(name)]
        waves = [names[k][1] for k in at]
        slopes = (_solved(factor, partial, transposed=True) * deviation[-1] / deviation[:-1])[at]
        more = max(0.0, float(slopes @ covariance[np.ix_(waves, waves)] @ slopes))
        return forecast._replace(scale=math.sqrt(forecast.scale**2 + more))

    def explain_one(self, x: X) -> Contributions:
        """Return what each feature adds to a prediction, with its standard deviation."""
        scales = () if self._waves is None else self._waves.scales
        return contributions(self.reading, self._encoder, self._encoder.lookup(self._columns_of(x)), scales)

    def draw(self, rng: np.random.Generator) -> LinearFunction:
        """Draw a linear function from the posterior, as Thompson sampling needs it.

        Raises
        ------
        NotLearned
            Before targets that differ have been learned.

        Examples
        --------
        >>> import numpy as np
        >>> model = BayesianRegression()
        >>> for k in range(100):
        ...     model.learn_one({"a": k % 10}, 3.0 * (k % 10) + k % 3)
        >>> line = model.draw(np.random.default_rng(1))
        >>> round(line.slopes["a"][0], 1), round(line.predict_one({"a": 2}), 1)
        (3.0, 6.9)
        """
        posterior = self.reading.posterior()
        if posterior is None:
            raise _without_spread()
        columns, mean, deviation, factor, partial, variance, of_coefficients = posterior
        weight, degrees = self.reading.fresh_weight, self.reading.degrees
        noise = float(deviation[-1] * math.sqrt(variance * degrees / rng.chisquare(degrees)))
        drawn = _solved(
            factor,
            partial * deviation[-1]
            + noise * math.sqrt(of_coefficients / variance) * rng.standard_normal(len(columns)),
            transposed=True,
        )
        drawn /= deviation[:-1]
        center = float(mean[-1] + noise / math.sqrt(weight) * rng.standard_normal())
        slopes: dict[Any, tuple[float, float]] = {}
        effects: dict[Any, dict[Any, float]] = {}
        for name, at in columns_by_feature(self._encoder, columns).items():
            if self._encoder.base[columns[at[0]]] == columns[at[0]]:
                slopes[name] = (float(drawn[at[0]]), float(mean[at[0]]))
            else:
                average = float(drawn[at] @ mean[at])
                names = [self._encoder.numeric[columns[k]].name for k in at]
                values = [OTHER if len(each) > 3 else each[2] for each in names]
                effects[name] = {
                    value: float(drawn[k]) - average for value, k in zip(values, at, strict=True)
                }
        return LinearFunction(center, slopes, effects, noise, self._present_columns())


def contributions(
    reading: RegressionReading, encoder: TargetEncoder, row: Row, scales: Iterable[Any] = ()
) -> Contributions:
    """Return what each feature of a row adds to a prediction, with its standard deviation. `scales` are those of waves,
    which count as one feature.
    """
    reading.predict(row)
    _, _, slots, numbers = row.content()
    posterior = reading.posterior_of(row)
    if posterior is None:
        return Contributions(float(reading.location), {})
    columns, mean, deviation, factor, partial, _, of_coefficients = posterior
    values = dict(zip(slots, numbers, strict=True))
    away = np.array([values.get(slot, 0.0) for slot in columns]) - mean[:-1]
    away /= deviation[:-1]
    coefficients = _solved(factor, partial, transposed=True)
    noise = deviation[-1] * math.sqrt(of_coefficients)
    features: dict[Any, tuple[float, float]] = {}
    joined = dict(columns_by_feature(encoder, columns))
    waves = [at for name in list(joined) if is_wave(name) for at in joined.pop(name)]
    if waves:
        joined[f"waves over {', '.join(map(str, scales))}"] = waves
    for name, at in joined.items():
        contribution = np.zeros(len(columns))
        contribution[at] = away[at]
        spread = float(noise * np.linalg.norm(_solved(factor, contribution)))
        features[name] = (float(deviation[-1] * (contribution @ coefficients)), spread)
    return Contributions(float(mean[-1]), features)


def columns_by_feature(encoder: TargetEncoder, columns: Any) -> Mapping[Any, list[int]]:
    """Return the columns of each feature, by its name."""
    columns_of: dict[Any, list[int]] = {}
    for k, slot in enumerate(columns.tolist()):
        name = encoder.numeric[slot].name
        columns_of.setdefault(name if encoder.base[slot] == slot else name[1], []).append(k)
    return columns_of


def _solved(factor: Any, right: Any, *, transposed: bool = False) -> Any:
    """Return the solution with a lower triangular factor."""
    if not len(right):
        return np.zeros(0)
    return scipy.linalg.solve_triangular(factor, right, lower=True, trans=int(transposed))


def _without_spread() -> NotLearned:
    return NotLearned("targets that differ are needed first: learn more events")
