"""The regressor that needs no choice: regressions, neighbours and recent targets, mixed by how well they predict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from stream_bayes.core.encoding._targets import MARK
from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.mixtures._interval_correction import NORMAL_TAILS
from stream_bayes.core.mixtures.forecast import Forecast
from stream_bayes.core.values.checks import expect, refusing_bad_state
from stream_bayes.core.values.inputs import no_features
from stream_bayes.core.values.values import shown
from stream_bayes.data.schema import Schema
from stream_bayes.errors import BadValue, CannotMerge
from stream_bayes.learners.adaptive._regression_experts import (
    HINGED,
    KEPT,
    LINEAR,
    MEANS,
    MULTIPLIED,
    NEAR,
    STACKED,
    WAVED,
    RegressionPanel,
)
from stream_bayes.learners.adaptive.regression_columns import follow_units
from stream_bayes.learners.adaptive.regression_state import PREFIX, load_panel, panel_arrays, panel_values
from stream_bayes.learners.base.arguments import check_count, check_seed
from stream_bayes.learners.base.regressor import BayesRegressor, X
from stream_bayes.learners.base.state import LearnerContent, saved_parameter
from stream_bayes.learners.base.traits import Promise
from stream_bayes.learners.regressors.first_samples import first_forecast

__all__ = ["AdaptiveRegression", "PointOpinion"]

MOST_LAGS = 20
MEMORY = (MARK, "memory")  # holds the targets that an event saw; no feature begins with this mark


class PointOpinion(NamedTuple):
    """An expert's part in a forecast: its weight, and the number it predicts."""

    weight: float
    prediction: float


class AdaptiveRegression(BayesRegressor):
    """The regressor to use when you do not know which: some twenty experts, mixed by how well they predict.

    The experts are linear regressions over all events or the newest, also with bent or waved features, or with products
    of two; neighbours among the newest events; recent means, and the last target; and a tree of linear regressions.
    Most also see the last targets. A forecast is a distribution whose intervals are corrected by how often targets fell
    outside.

    Parameters
    ----------
    lags
        The number of last targets that the experts see, at most 20; 0: none do, and no expert repeats the last target.
        Leave them out where targets come much later than their events, or the order of events means nothing: intervals
        are those of the event after the last target, and too narrow for events long after it.
    seed
        The seed of the waves.
    schema
        The declared features, and no classes. Without one, every feature is learned when it first comes.
    max_values
        The number of values of a nominal feature after which new ones share one effect.
    memory_budget
        The most bytes that sums and names may take; a sample that needs more is refused. Default: no limit.

    Notes
    -----
    The point forecast is a mean of the experts, of regressions on them, of their median and of their mixture's mean,
    weighted by fading squared errors. What lies farther from the point with the least error than that error counts as
    that far. Intervals of 90 % and more reach to the forecast where it lies outside of them. The distribution is a
    mixture of t distributions about all of them (`ForecastMixture`), weighted by fading likelihood; each tail is then
    moved by a small step after every target, so that intervals hold their level under drift.

    The units of features and targets are set after 4 events, 8, ..., 1,024. Later they are set from the newest 1,024
    events once new features have come, 256 events after the last time at the earliest, and from 8 events that lie 30
    deviations away: a new unit. The experts then learn these events again, and nothing that came before. A single
    target farther than 200 deviations away, as of a sensor's error, counts as that far, and as 30 in what is kept for
    long.

    Promises: the same events from the same state give the same answers. It cannot unlearn, or be merged: its weights
    depend on the order of events. Beside sums, it keeps the newest 1,024 events. The experts see at most 60 columns, a
    number or a value of a nominal feature each, those that vary most with the target; `left_out_` names the others.
    A sample's weight above 1 counts in the regressions; experts and tails are weighed by events.

    Examples
    --------
    >>> model = AdaptiveRegression()
    >>> for k in range(200):
    ...     model.learn_one({"wind": k % 7}, 20.0 - (k % 7) ** 2 + k % 3)
    >>> x = {"wind": 3}
    >>> round(model.predict_one(x)), [round(bound) for bound in model.predict_interval_one(x, 0.9)]
    (12, [11, 14])
    """

    promises: ClassVar[frozenset[Promise]] = frozenset({Promise.ORDERED})
    counts_pairs: ClassVar[bool] = False
    can_be_within: ClassVar[bool] = False

    def __init__(
        self,
        lags: int = 3,
        seed: int = 0,
        schema: Schema | None = None,
        max_values: int | None = 1000,
        memory_budget: int | None = None,
    ) -> None:
        self.lags = lags
        self.seed = seed
        if lags != 0:
            check_count("lags", lags)
            if lags > MOST_LAGS:
                raise BadValue(f"lags: at most {MOST_LAGS} last targets, not {lags}")
        check_seed(seed)
        super().__init__(None, schema, max_values, memory_budget)
        self._panel = RegressionPanel(int(lags), int(seed))

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
            The sample's weight.
        """
        x, memory = self._recalled(x)
        row = self.store.encode(x, y, w)
        if row.weight > 0.0:
            self._panel.learn(row, float(row.number[0]), memory)
            self.store.add(row)
            follow_units(self._panel, self._encoder)

    def hold(self, x: X) -> X:
        """Return an event with the last targets and recent means as they are now, to be learned when its target comes.

        What is learned is then what was predicted, whatever targets have come in between.

        Examples
        --------
        >>> model = AdaptiveRegression()
        >>> for k in range(100):
        ...     model.learn_one({"wind": k % 7}, float(k))
        >>> event = model.hold({"wind": 2})
        >>> before = model.predict_one(event)
        >>> model.learn_one({"wind": 3}, -50.0)
        >>> abs(model.predict_one(event) - before) < abs(model.predict_one({"wind": 2}) - before)
        True
        """
        if type(x) is not dict and not isinstance(x, Mapping):
            raise no_features(x)
        return x if MEMORY in x else {**x, MEMORY: self._panel.memory()}

    def features_of(self, x: X) -> X:
        """Return the features of an event that may be held, without what `hold` added."""
        return self._recalled(x)[0]

    def _columns_of(self, x: X) -> X:
        return self._recalled(x)[0]

    def _recalled(self, x: X) -> tuple[X, tuple[float, ...] | None]:
        """Return the features of an event, and the targets that it saw if it was held."""
        if type(x) is not dict or MEMORY not in x:
            return x, None
        memory = x[MEMORY]
        size = int(self.lags) + len(MEANS) + 2
        is_sound = type(memory) is tuple and len(memory) == size
        if not is_sound or any(type(each) is not float or math.isinf(each) for each in memory):
            raise BadValue(f"feature {shown(MEMORY)}: expected what `hold` added, got {shown(memory)}")
        return {name: value for name, value in x.items() if name != MEMORY}, memory

    def merge(self, other: Self) -> Self:
        """Raise `CannotMerge`: weights depend on the order of events."""
        raise CannotMerge(
            "an AdaptiveRegression is not merged: the weights of its experts depend on the order of events; take "
            "BayesianRegression"
        )

    # -- predicting ---------------------------------------------------------------------------------------------------

    def predict_one(self, x: X, **kwargs: Any) -> float:
        """Return the point forecast of an event's target, for the least squared error; 0.0 before any learning."""
        return self._point() if self._ask(x) else self._first_forecast().location

    def predict_distribution_one(self, x: X) -> StudentT | Forecast:
        """Return the distribution of an event's target, with its quantiles and density."""
        if not self._ask(x):
            return self._first_forecast()
        panel = self._panel
        return Forecast(
            panel.mixture.copy(),
            float(panel.target_mean),
            float(panel.target_deviation),
            NORMAL_TAILS,
            np.asarray(panel.correction.shifts).tolist(),
            self._point(),
        )

    def _point(self) -> float:
        """Return the point forecast of the event that was asked for last."""
        return float(self._panel.target_mean + self._panel.target_deviation * self._panel.point)

    def _ask(self, x: X) -> bool:
        """Let the experts predict an event; return False if targets that differ have not set the units yet."""
        x, memory = self._recalled(x)
        row = self._encoder.lookup(x)
        if self._panel.is_ready:
            self._panel.predict(row, memory)
        return bool(self._panel.is_ready)

    def _first_forecast(self) -> StudentT:
        """Return the forecast before targets that differ have set the units."""
        targets = np.asarray(self._panel.kept_targets)[: min(self.clock, KEPT)]
        return first_forecast(targets)

    def explain_one(self, x: X) -> dict[str, PointOpinion]:
        """Return each expert's weight and prediction, the weightiest first; empty until targets that differ came."""
        panel = self._panel
        if not self._ask(x):
            return {}
        weights = np.asarray(panel.mixture.weights).reshape(len(self.experts_), -1).sum(axis=1)
        numbers = panel.target_mean + panel.target_deviation * np.asarray(panel.locations)
        opinions = {
            name: PointOpinion(weight, number)
            for name, weight, number in zip(self.experts_, weights.tolist(), numbers.tolist(), strict=True)
        }
        return dict(sorted(opinions.items(), key=lambda opinion: -opinion[1].weight))

    # -- what it holds ------------------------------------------------------------------------------------------------

    @property
    def experts_(self) -> tuple[str, ...]:
        """The names of the experts."""
        return _EXPERTS

    @property
    def left_out_(self) -> tuple[Any, ...]:
        """The features that no expert sees at present, or not all values of: they did not fit, or came after the units
        were set.
        """
        columns, base = set(np.asarray(self._panel.slots).tolist()), self._encoder.base
        left: dict[Any, None] = {}
        for slot, feature in enumerate(self._encoder.numeric):
            if base[slot] >= 0 and slot not in columns:
                left[feature.name if base[slot] == slot else feature.name[1]] = None
        return tuple(left)

    @property
    def last_target_correlation_(self) -> float:
        """The correlation of the newest targets with the one before each; 0.0 if the experts see no last targets.

        Where it is high, forecasts are of the event after the last target: those of later events are worse than their
        intervals say.
        """
        count = min(self.clock, KEPT)
        if not self.lags or not self._panel.is_ready:
            return 0.0
        targets = np.asarray(self._panel.kept_targets)[:count]
        before = np.asarray(self._panel.kept_lags)[:count, 0]
        is_there = np.isfinite(before)
        both = np.stack([targets[is_there], before[is_there]])
        if both.shape[1] < 2 or not np.ptp(both, axis=1).all():
            return 0.0
        return float(np.corrcoef(both / np.abs(both).max())[0, 1])

    @property
    def clock(self) -> int:
        """The number of events that were learned."""
        return int(self._panel.events)

    @property
    def memory_bytes(self) -> int:
        """The bytes of the tables, of the codes of names, and of the experts."""
        arrays = panel_arrays(self._panel)
        return super().memory_bytes + sum(array.nbytes for array in arrays.values())

    def content(self) -> LearnerContent:
        """Return a copy of all that the learner holds, at the cost of a copy of its arrays."""
        store = self.store.content()
        with_panel = store._replace(arrays=store.arrays | panel_arrays(self._panel))
        parameters = {name: saved_parameter(value) for name, value in self._get_params().items()}
        return LearnerContent(type(self).__name__, parameters, with_panel, self.derived_state())

    def derived_state(self) -> dict[str, Any]:
        return panel_values(self._panel)

    def load_parts(self, store: Mapping[str, Any], derived: Mapping[str, Any]) -> None:
        with refusing_bad_state():
            ours = {name: array for name, array in store["arrays"].items() if name.startswith(PREFIX)}
            rest = {name: array for name, array in store["arrays"].items() if name not in ours}
            self.store.load({**store, "arrays": rest})
            self._panel = RegressionPanel(int(self.lags), int(self.seed))
            base = np.asarray(self._encoder.base)[: len(self._encoder.numeric)]
            load_panel(self._panel, derived, ours, base)
            expect(self.store.tables.clock <= self.clock, "its sums hold more events than its experts")


def _life(half_life: float) -> str:
    return f"the newest {half_life:g}" if half_life else "all"


_EXPERTS = (
    *(f"linear over {_life(half_life)}" for half_life in LINEAR),
    *(f"bent over {_life(half_life)}" for half_life in HINGED),
    *(f"waved over {_life(half_life)}" for half_life in WAVED),
    *(f"with products over {_life(half_life)}" for half_life in MULTIPLIED),
    *(f"{name} of {count} neighbours" for count in NEAR for name in ("mean", "linear and errors")),
    "best and errors of 8 weighed neighbours",
    *(f"mean over {_life(half_life)}" for half_life in MEANS),
    "last target",
    "linear and the last error",
    "tree",
    *(f"experts over {_life(half_life)}" for half_life in STACKED),
    "median of the experts",
)
