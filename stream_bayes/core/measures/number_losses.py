"""Prequential losses of predicted numbers: each event is predicted, then scored, then learned; this module scores.

Sums of weighted squared errors, absolute errors, and intervals; over all events, over the newest, and fading. Beside
the model stand two baselines: the previous label, and the mean of all labels before.

CRPS, log density and PIT need the distribution of an answer. It is kept as 17 numbers, which wait with a sample for
its label; see `sampled_distribution`. The mean CRPS of a t distribution is right to 0.3 % then, that of a mixture to 4
%; of the first forecasts of a mixture, whose tails reach a thousand deviations, it is no more than rough. The mean log
density is right to 0.003, where a mixture has narrow peaks to 0.2.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.measures.sampled_distribution import POINTS, SampledDistribution, points_of
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.errors import BadValue

__all__ = ["SHARES", "NumberLosses", "NumberMeasures", "number_answer"]

Array = NDArray[Any]

WINDOW = 1000  # events of the windowed measures
HALF_LIFE = 1000.0  # events after which an event weighs half in the fading measures

# An event as it is scored, and its columns in a state.
COLUMNS = (
    "weight",
    "label",
    "error",
    "inside",
    "width",
    "no_change_error",
    "mean_error",
    "crps",
    "log_density",
    "below",
)
BINS = 10  # of the PIT
SUMS = (
    "weight",
    "square",
    "absolute",
    "inside",
    "finite",
    "width",
    "compared",
    "no_change",
    "mean",
    "ranked",
    "crps",
    "dense",
    "log_density",
    *(f"pit{k}" for k in range(BINS)),
)
SIGNED = (
    SUMS.index("log_density"),
    len(SUMS),
)  # the sums that may be below 0: that, and the mean of the labels

SHARES = tuple(f"below{point:+g}" for point in POINTS)  # their names in an answer


class NumberDistribution(Protocol):
    """The distribution of a number to come."""

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval that holds the number with a probability."""

    def below(self, y: float) -> float:
        """Return the probability that it is below a number."""


class NumberMeasures:
    """The measures of predicted numbers. What no event tells is NaN. `sums` are the weighted sums of `SUMS`.
    `target_mean` is the mean of the labels, `target_squares` the weighted sum of their squared distances from it.

    Attributes
    ----------
    weight
        The weight of the scored events.

    Examples
    --------
    >>> losses = NumberLosses(0.9)
    >>> losses.update(3.0, {"mean": 2.0, "low": 0.0, "high": 4.0})
    >>> losses.update(7.0, {"mean": 7.0, "low": 5.0, "high": 9.0})
    >>> losses.cumulative.as_dict()
    {'rmse': 0.707..., 'mae': 0.5, 'r2': 0.875, 'coverage': 1.0, 'width': 4.0, 'no_change_rmse': 4.0, 'mean_rmse': 4.0,
     'crps': nan, 'log_density': nan}
    """

    def __init__(self, sums: Array, target_mean: float, target_squares: float) -> None:
        self._sums = dict(zip(SUMS, sums.tolist(), strict=True))
        self._mean, self._squares = target_mean, target_squares
        self.weight: float = self._sums["weight"]

    @property
    def rmse(self) -> float:
        """The root of the mean squared error."""
        return math.sqrt(_share(self._sums["square"], self.weight))

    @property
    def mae(self) -> float:
        """The mean absolute error."""
        return _share(self._sums["absolute"], self.weight)

    @property
    def r2(self) -> float:
        """The explained share of the labels' variance: 1 minus the mean squared error over the variance."""
        return 1.0 - _share(self._sums["square"], self._squares)

    @property
    def coverage(self) -> float:
        """The share of labels in their intervals."""
        return _share(self._sums["inside"], self.weight)

    @property
    def width(self) -> float:
        """The mean width of the intervals that are finite."""
        return _share(self._sums["width"], self._sums["finite"])

    @property
    def crps(self) -> float:
        """The mean continuous ranked probability score, of the answers that hold their distribution."""
        return _share(self._sums["crps"], self._sums["ranked"])

    @property
    def log_density(self) -> float:
        """The mean logarithm of the density at the labels, of the answers that hold their distribution."""
        return _share(self._sums["log_density"], self._sums["dense"])

    @property
    def pit(self) -> list[float]:
        """The shares of the labels in the tenths of their distributions, lowest first: all 0.1 if these are right.
        Empty if no answer holds its distribution.
        """
        counts = [self._sums[f"pit{k}"] for k in range(BINS)]
        total = math.fsum(counts)
        return [count / total for count in counts] if total > 0.0 else []

    @property
    def no_change_rmse(self) -> float:
        """The RMSE of predicting the previous label."""
        return math.sqrt(_share(self._sums["no_change"], self._sums["compared"]))

    @property
    def mean_rmse(self) -> float:
        """The RMSE of predicting the mean of all labels before."""
        return math.sqrt(_share(self._sums["mean"], self._sums["compared"]))

    def as_dict(self) -> dict[str, float]:
        """Return the measures by name."""
        names = (
            "rmse",
            "mae",
            "r2",
            "coverage",
            "width",
            "no_change_rmse",
            "mean_rmse",
            "crps",
            "log_density",
        )
        return {name: getattr(self, name) for name in names}


class _Tally:
    """Weighted sums of events; `fade` is the share that is left of them after each further event."""

    def __init__(self, fade: float = 1.0) -> None:
        self.fade = fade
        self.sums = np.zeros(len(SUMS))
        self.mean = self.squares = 0.0  # of the labels

    def add(self, event: tuple[float, ...]) -> None:
        weight, label, error, inside, width, no_change, mean, crps, log_density, below = event
        is_finite, is_compared, is_ranked = width < math.inf, no_change == no_change, math.isfinite(crps)
        is_dense = math.isfinite(log_density)
        bins = [0.0] * BINS
        if below == below:
            bins[min(int(BINS * below), BINS - 1)] = weight
        new = (
            weight,
            weight * error * error,
            weight * abs(error),
            weight * inside,
            weight * is_finite,
            weight * width if is_finite else 0.0,
            weight * is_compared,
            weight * no_change * no_change if is_compared else 0.0,
            weight * mean * mean if is_compared else 0.0,
            weight * is_ranked,
            weight * crps if is_ranked else 0.0,
            weight * is_dense,
            weight * log_density if is_dense else 0.0,
            *bins,
        )
        self.sums *= self.fade
        self.sums += new
        self.squares *= self.fade
        total = float(self.sums[0])
        if total > 0.0:
            apart = label - self.mean
            self.mean += apart * (weight / total)
            self.squares += weight * apart * (label - self.mean)

    def measures(self) -> NumberMeasures:
        return NumberMeasures(self.sums.copy(), self.mean, self.squares)

    def state(self) -> Array:
        return np.array([*self.sums, self.mean, self.squares])

    def load(self, state: Array) -> None:
        expect(state.shape == (len(SUMS) + 2,), f"it has sums of the shape {state.shape}")
        expect(
            not np.isnan(state).any() and bool((np.delete(state, SIGNED) >= 0.0).all()), "a sum is below 0"
        )
        self.sums = np.array(state[:-2], np.float64)
        self.mean, self.squares = float(state[-2]), float(state[-1])


class NumberLosses:
    """Losses of a stream of predicted numbers: cumulative, over the newest events, and fading.

    An event takes about forty microseconds. An event without an answer, as of a learner that has learned nothing yet,
    is in no measure; `unanswered` counts these. The state depends on the sequence of events alone. `level` is that of
    the intervals that are scored.

    Attributes
    ----------
    unanswered
        The number of events without an answer, which were not scored.

    Examples
    --------
    >>> losses = NumberLosses(0.9)
    >>> losses.update(3.0, {})
    >>> losses.update(4.0, {"mean": 3.0, "low": 2.0, "high": 3.5}, weight=2.0)
    >>> losses.unanswered, losses.windowed.rmse, losses.windowed.coverage, losses.fading.no_change_rmse
    (1, 1.0, 0.0, 1.0)
    """

    def __init__(self, level: float) -> None:
        if not 0.0 < level < 1.0:
            raise BadValue(f"level lies between 0 and 1, not {level!r}")
        self.level = level
        self.unanswered = 0
        self._cumulative = _Tally()
        self._fading = _Tally(0.5 ** (1.0 / HALF_LIFE))
        self._recent: deque[tuple[float, ...]] = deque(maxlen=WINDOW)
        self._last = self._mean = math.nan  # the previous label, and the mean of all
        self._weight = 0.0  # of all labels, answered or not

    def update(
        self, label: float, answer: Mapping[Any, Any], predicted: object = ..., weight: float = 1.0
    ) -> None:
        """Score one prediction. `answer` is as of `number_answer`, or its mean and interval alone; empty
        for an event that was not answered. `predicted` is not used: the mean is the prediction. The event counts as
        `weight` events.
        """
        if answer:
            low, high = answer["low"], answer["high"]
            event = (
                float(weight),
                label,
                answer["mean"] - label,
                float(low <= label <= high),
                high - low,
                self._last - label,
                self._mean - label,
                *self._scores(label, answer),
            )
            self._cumulative.add(event)
            self._fading.add(event)
            self._recent.append(event)
        else:
            self.unanswered += 1
        self._weight += weight
        if self._weight > 0.0:
            mean = 0.0 if math.isnan(self._mean) else self._mean
            self._mean = mean + (label - mean) * (weight / self._weight)
        self._last = label

    @staticmethod
    def _scores(label: float, answer: Mapping[Any, Any]) -> tuple[float, float, float]:
        """Return CRPS, log density and PIT of a label; NaN from an answer without its distribution."""
        if SHARES[0] not in answer:
            return math.nan, math.nan, math.nan
        sampled = SampledDistribution(answer["low"], answer["high"], [answer[name] for name in SHARES])
        return sampled.crps(label), *sampled.log_density_and_share(label)

    @property
    def cumulative(self) -> NumberMeasures:
        """The measures over all events."""
        return self._cumulative.measures()

    @property
    def windowed(self) -> NumberMeasures:
        """The measures over the newest 1,000 events."""
        tally = _Tally()
        for event in self._recent:
            tally.add(event)
        return tally.measures()

    @property
    def fading(self) -> NumberMeasures:
        """The measures over all events, where an event weighs half after 1,000 further ones."""
        return self._fading.measures()

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return the state: JSON values, and arrays under "arrays". `load` is the inverse."""
        recent = np.array(self._recent, np.float64).reshape(len(self._recent), len(COLUMNS))
        return {
            "level": self.level,
            "unanswered": self.unanswered,
            "arrays": {
                "cumulative": self._cumulative.state(),
                "fading": self._fading.state(),
                "recent": recent,
                "labels": np.array([self._last, self._mean, self._weight]),
            },
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Load the state of losses of the same level; raise `BadState` if it is not valid."""
        with refusing_bad_state():
            expect(state["level"] == self.level, f"its intervals have the level {state['level']!r}")
            loaded: NumberLosses = type(self)(self.level)
            arrays = state["arrays"]
            unanswered = state["unanswered"]
            expect(type(unanswered) is int and 0 <= unanswered < 2**62, f"unanswered is {unanswered!r}")
            loaded._cumulative.load(arrays["cumulative"])
            loaded._fading.load(arrays["fading"])
            recent, labels = arrays["recent"], arrays["labels"]
            expect(
                recent.ndim == 2 and recent.shape[1] == len(COLUMNS) and len(recent) <= WINDOW,
                f"it has recent events of the shape {recent.shape}",
            )
            expect(not np.isnan(recent[:, :5]).any(), "a recent event has no label")
            expect(labels.shape == (3,) and 0.0 <= labels[2] < math.inf, f"its labels are {labels!r}")
            loaded._recent.extend(map(tuple, recent.tolist()))
            loaded._last, loaded._mean, loaded._weight = labels.tolist()
            loaded.unanswered = unanswered
        self.__dict__.update(loaded.__dict__)


def number_answer(mean: float, forecast: NumberDistribution, level: float) -> dict[str, float]:
    """Return the answer of a distribution: with what its CRPS needs, if its interval is finite.

    Examples
    --------
    >>> from stream_bayes.core.measures.student_t import StudentT
    >>> answer = number_answer(3.0, StudentT(3.0, 2.0, 10.0), 0.9)
    >>> round(answer["high"], 2), answer["below+0"], round(answer["below+1"], 2)
    (6.62, 0.5, 0.95)
    """
    low, high = forecast.interval(level)
    answer = {"mean": mean, "low": low, "high": high}
    if high - low < math.inf:
        answer |= zip(SHARES, map(forecast.below, points_of(low, high)), strict=True)
    return answer


def _share(total: float, whole: float) -> float:
    return total / whole if whole > 0.0 else math.nan
