"""Bayesian logistic regression, and the functions that its posterior draws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts.memory_use import ReadingBytes
from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.regression._logistic import wave_scale
from stream_bayes.core.regression.logistic import WAVES, Coefficients, Logistic, posterior_bytes
from stream_bayes.core.values.values import OTHER, is_missing, shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, NotLearned
from stream_bayes.learners.base.arguments import check_number, check_seed
from stream_bayes.learners.base.base import X
from stream_bayes.learners.base.class_probabilities import most_probable
from stream_bayes.learners.base.fourier_features import FOURIER, uniform_numbers
from stream_bayes.learners.classifiers.ordered import OrderedClassifier

__all__ = ["BayesianLogistic", "Coefficient", "LogisticFunction"]


class Coefficient(NamedTuple):
    """Addition of one unit of a number, or of a value, to the score of a class: mean and deviation of its posterior."""

    mean: float
    deviation: float


class DrawnWaves(NamedTuple):
    """Waves over numbers in their units and values, with a coefficient of each for every class."""

    phases: NDArray[np.float64]
    frequencies: dict[Any, NDArray[np.float64]]  # by a number's name, or that of a feature and a value
    scores: dict[Any, NDArray[np.float64]]


@dataclass(frozen=True)
class LogisticFunction:
    """A function from an event to the probabilities of classes, as a posterior draws it.

    Examples
    --------
    >>> function = LogisticFunction({"rain": 1.0, "dry": -1.0}, {"wind": (3.0, 2.0, {"rain": 0.5, "dry": -0.5})}, {})
    >>> round(function.predict_proba_one({"wind": 1.0})["rain"], 3)
    0.731
    """

    start: dict[Any, float]  # the score of each class where every feature is missing, before waves
    # Of each numeric feature: where it adds nothing, the deviation that is one unit, and by class what a unit adds.
    slopes: dict[Any, tuple[float, float, dict[Any, float]]]
    effects: dict[Any, dict[Any, dict[Any, float]]]  # what each value of a nominal feature adds to each class
    waves: DrawnWaves | None = None
    shares: dict[Any, dict[Any, float]] = field(default_factory=dict)  # of the values of each nominal feature

    def predict_proba_one(self, x: X) -> dict[Any, float]:
        """Return the probability of each class. A missing number adds nothing, a missing name what its values add by
        their shares; a value that was never learned is missing.
        """
        parts = {label: [score] for label, score in self.start.items()}
        angles = np.zeros(0) if self.waves is None else self.waves.phases.copy()
        for size, added, column in self._columns(x):
            for label, slope in added.items():
                parts[label].append(size * slope)
            if self.waves is not None and column in self.waves.frequencies:
                angles += size * self.waves.frequencies[column]
        if self.waves is not None:
            heights = np.cos(angles)
            for label, score in self.waves.scores.items():
                parts[label].append(float(score @ heights))
        scores = {label: math.fsum(part) for label, part in parts.items()}
        best = max(scores.values())
        weights = {label: math.exp(score - best) for label, score in scores.items()}
        total = math.fsum(weights.values())
        return {label: weight / total for label, weight in weights.items()}

    def _columns(self, x: X) -> Iterator[tuple[float, dict[Any, float], Any]]:
        """Yield the size of each column of an event, what one unit of it adds to each class, and its name."""
        for name, (center, unit, added) in self.slopes.items():
            number: Any = x.get(name)
            if not is_missing(number):
                yield max(-FARTHEST, min(FARTHEST, (number - center) / unit)), added, name
        for name, values in self.effects.items():
            value = x.get(name)
            if not is_missing(value) and (value in values or OTHER in values):
                value = value if value in values else OTHER
                yield 1.0, values[value], (name, value)
            else:
                for value, share in self.shares.get(name, {}).items():
                    yield share, values[value], (name, value)

    def predict_one(self, x: X) -> Any:
        """Return the most probable class; of equal ones the first by name."""
        return most_probable(self.predict_proba_one(x))


FARTHEST = 10.0  # deviations, as the learner counts numbers


class BayesianLogistic(OrderedClassifier):
    """Bayesian logistic regression of two classes or more: assumed-density filtering, one event at a time.

    Where naive Bayes and LDA model the features of each class, this models the class given the features alone:
    features that say the same are not counted twice, and probabilities stay calibrated. The posterior of the
    coefficients is kept as a normal distribution, and a prediction is nearly the mean over it: far from what was
    learned it is less certain than the plug-in of a maximum a posteriori fit.

    Strings, bytes, bools and tuples are nominal: each value has a coefficient. A missing feature is integrated out, as
    if it were independent of the others. With `features="fourier"` there are also random waves over the features: it is
    then nearly a Gaussian process for classes, whose borders may be curved, and numbers may need each other, such as
    for the sign of a product.

    Parameters
    ----------
    strength
        The precision of the prior: the log-odds of any two classes have coefficients ~ N(0, 1 / strength), for a number
        those of its deviation. Of two classes it is 1 / C of scikit-learn's `LogisticRegression` on standardised
        numbers, of more 1 / 2C.
    features
        None: the features as they are. `"fourier"`: also 64 waves over them.
    seed
        The seed of the waves.
    half_life
        The number of learned events after which one weighs half; None never forgets. The prior does not fade for good:
        it is given back to a coefficient each time half of it has.
    schema
        The declared features and classes. Without one, all are learned when they first come.
    max_values
        The number of values of a nominal feature after which new ones share one coefficient. Default: no limit.
    memory_budget
        The most bytes that counts, names and the posterior may take; a sample that needs more is refused. Default: no
        limit.

    Notes
    -----
    With z the features in their units, and u = m z the log-odds, whose variance is S = z V z:

        two classes    u -> mean and variance of N(u, S) times sigmoid(+-u)        m += V z a,  V -= V z b z V
        more           u -> mode and curvature of N(u, S) times softmax(u)

    An answer of two classes is the mean over the posterior. Of more it is softmax of each class's score over
    sqrt(1 + pi / 8 its variance): sharper than the mean while few events were learned, by up to 0.06 of three classes
    and 7 events, and closer to the truth on tables.

    a and b are the moves of mean and variance of u by S and S^2. The posterior is an approximation that depends on the
    order of events: in one pass it is close to that of all of them together.

    A number's unit is set after 4 events, 8, 16, ..., to mean and deviation of those since the last time. The posterior
    is written in each new unit without loss, unless it is more than 30 times as large or as small: then the coefficient
    begins anew. Until the first unit a number adds nothing. What lies beyond 10 deviations counts as 10. A class that
    comes after others begins with the log-odds of its share.

    Up to 192 coefficients (those of a class less the first: columns times classes less one) and 17 classes, V is the
    whole covariance, and an event costs its size, times the classes less one. Beyond (`is_joint_` is False), one
    covariance of the columns holds for every class less the first, and an event costs the square of the columns. Past
    192 columns, those that come last are independent of all others.

    Waves have lengths of half, one and two times the typical distance of two events. They are over the first 96 numbers
    and values that come; a missing feature stands there at its mean.

    Promises: the same events from the same state give the same answers. It cannot unlearn, or be merged: a normal
    distribution that was fitted to an event is no sum. `LDA` has linear boundaries, and does.

    Examples
    --------
    >>> model = BayesianLogistic()
    >>> for k in range(200):
    ...     model.learn_one({"wind": k % 10, "sky": "grey" if k % 3 else "blue"}, "rain" if k % 10 > 4 else "dry")
    >>> round(model.predict_proba_one({"wind": 9})["rain"], 2), round(model.predict_proba_one({"wind": 5})["rain"], 2)
    (1.0, 0.69)
    >>> low, high = model.predict_interval_one({"wind": 5}, 0.9)["rain"]
    >>> low < 0.69 < high
    True
    """

    _grows_by_value: ClassVar[bool] = True
    _why: ClassVar[str] = "its posterior is fitted to each event and is no sum of them"
    _instead: ClassVar[str] = "LDA"
    reading: Logistic

    def __init__(
        self,
        strength: float = 1.0,
        features: str | None = None,
        seed: int = 0,
        half_life: float | None = None,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
    ) -> None:
        self.strength = strength
        self.features = features
        self.seed = seed
        check_number("strength", strength, above=True)
        check_seed(seed)
        if features not in (None, FOURIER):
            raise BadValue(f"features: expected None or {FOURIER!r}, got {shown(features)}")
        super().__init__(half_life, schema, max_values, memory_budget)

    def _reading_bytes(self) -> ReadingBytes:
        waves = 0 if self.features is None else WAVES
        return partial(posterior_bytes, waves=waves)

    def _make_reading(self, store: CountStore, class_prior: str) -> Logistic:
        half_life = 0.0 if self.half_life is None else float(self.half_life)
        seed = None if self.features is None else int(self.seed)
        return Logistic(store.tables, store.encoder, float(self.strength), half_life, seed, uniform_numbers)

    # -- learning -----------------------------------------------------------------------------------------------------

    def advance(self, events: int) -> None:
        """Advance the clock by events that are not learned here: what was learned fades."""
        super().advance(events)
        self.reading.fade()

    # -- the posterior ------------------------------------------------------------------------------------------------

    @property
    def is_joint_(self) -> bool:
        """True while the covariance of all coefficients is kept, False once classes share it."""
        return bool(self.reading.joint)

    @property
    def coefficients_(self) -> dict[Any, dict[Any, Coefficient]]:
        """By class: the coefficient of each numeric feature, in units of its deviation, and as `(feature, value)` that
        of each value. Over the classes they add up to 0.

        Examples
        --------
        >>> model = BayesianLogistic()
        >>> for k in range(100):
        ...     model.learn_one({"wind": k % 10}, "rain" if (k % 10) + (k % 7) > 7 else "dry")
        >>> [round(number, 1) for number in model.coefficients_["rain"]["wind"]]
        [1.1, 0.2]
        """
        posterior = self._posterior()
        if posterior is None:
            return {}
        deviations = posterior.deviations()
        return {
            label: {
                self.reading.name_of(slot, code): Coefficient(
                    float(posterior.mean[y, j]), float(deviations[y, j])
                )
                for j, (slot, code) in enumerate(posterior.columns)
                if code >= 0 or posterior.units[j, 1] > 0.0
            }
            for y, label in enumerate(self.classes_)
        }

    def draw(self, rng: np.random.Generator) -> LogisticFunction:  # type: ignore[override]  # it has no tables
        """Return a function drawn from the posterior.

        Features alone say nothing of the coefficients, so all draws weigh the same. Of two classes and an event that
        lacks no number, the mean of the draws' answers is the answer. Of more classes the answer differs from it by up
        to 0.06 while few events were learned, as it is no mean, and without a number by the doubt about that number.

        Raises
        ------
        NotLearned
            Before two classes have been learned or declared.

        Examples
        --------
        >>> model = BayesianLogistic()
        >>> for k in range(100):
        ...     model.learn_one({"wind": k % 10}, "rain" if k % 10 > 4 else "dry")
        >>> rng = np.random.default_rng(1)
        >>> sorted(round(model.draw(rng).predict_proba_one({"wind": 5})["rain"], 1) for _ in range(3))
        [0.6, 0.6, 0.7]
        """
        posterior = self._posterior()
        if posterior is None:
            raise NotLearned("two classes are needed first: learn more events")
        scores = posterior.drawn(rng)
        labels, encoder, first = self.classes_, self.store.encoder, 1 + int(self.reading.waves)
        slopes: dict[Any, tuple[float, float, dict[Any, float]]] = {}
        effects: dict[Any, dict[Any, dict[Any, float]]] = {}
        shares: dict[Any, dict[Any, float]] = {}
        for j, (slot, code) in enumerate(posterior.columns):
            by_class = dict(zip(labels, scores[:, j].tolist(), strict=True))
            if j == 0:
                start = by_class
            elif j < first:
                continue
            elif code >= 0:
                feature = encoder.nominal[slot]
                value = feature.vocabulary.values[code]
                effects.setdefault(feature.name, {})[value] = by_class
                shares.setdefault(feature.name, {})[value] = self.reading.share_of(slot, code)
            elif posterior.units[j, 1] > 0.0:
                center, unit = posterior.units[j].tolist()
                slopes[encoder.numeric[slot].name] = (center, unit, by_class)
        waves = self._drawn_waves(dict(zip(labels, scores[:, 1:first], strict=True))) if first > 1 else None
        return LogisticFunction(start, slopes, effects, waves, shares)

    def _drawn_waves(self, scores: dict[Any, NDArray[np.float64]]) -> DrawnWaves:
        """Return the waves, with a coefficient of each by class."""
        reading = self.reading
        scale = wave_scale(reading.waved_numbers, len(reading.waved_features))
        turns = scale * np.asarray(reading.frequencies) * np.asarray(reading.inverse_lengths)
        first = 1 + int(reading.waves)
        columns = [(int(reading.slot[j]), int(reading.code[j])) for j in range(first, first + len(turns))]
        frequencies = {reading.name_of(*column): turns[k] for k, column in enumerate(columns)}
        return DrawnWaves(np.array(reading.phases), frequencies, scores)

    def draw_given(self, x: X, rng: np.random.Generator) -> LogisticFunction:  # type: ignore[override]  # as `draw`
        return self.draw(rng)  # the features alone say nothing of the weights

    def _posterior(self) -> Coefficients | None:
        """Return the posterior; None before two classes."""
        return self.reading.coefficients() if self.reading.contrasts else None
