"""A regressor that follows drift: it tests its forecasts for a change, tries a new one, and adopts it if it is better.

    stable --change--> trial --judged--> stable, with the better of both

A test of where targets fall in their forecasts reports and dates a change. A new regressor then learns the events since
it. Both predict and learn what comes; after `judge_after` events the new one is adopted if it gave the targets more
density beyond doubt. If not, the trial doubles, until it is refused. During a trial the forecasts of the new one are
tested: if they change, another begins with the newer change.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from stream_bayes.core.encoding._targets import read_target
from stream_bayes.core.values.checks import expect
from stream_bayes.drift.forecast_changes import VALUES, ForecastChanges
from stream_bayes.drift.log import DriftLog
from stream_bayes.drift.trial import Trial
from stream_bayes.errors import BadValue
from stream_bayes.learners.base.arguments import check_count, check_number
from stream_bayes.learners.base.regressor import BayesRegressor, X
from stream_bayes.learners.regressors.first_samples import FirstSample
from stream_bayes.learners.regressors.linear import BayesianRegression
from stream_bayes.learners.wrappers.wrapped_regressors import RegressorWrapper, check_regressor

__all__ = ["DriftAdaptiveRegression"]

LEAST_WINDOW = 64  # events, so that a change can be seen and dated in it
LARGEST_WINDOW = 20_000
MOST_GAIN = 10.0  # nats at one event, so that no event decides alone
PRESENT, CANDIDATE = "present", "candidate"


class DriftAdaptiveRegression(RegressorWrapper):
    """A regressor that is replaced by a new one when the world changes.

    Parameters
    ----------
    learner
        A regressor of this package but `AdaptiveRegression`, which follows drift itself. It is the template of every
        model and learns nothing itself.
    window
        The number of newest events that are kept, so that a new model can learn those since the change. 64 to 20,000.
    judge_after
        The number of events after which a new model is judged.
    trials
        The number of trials, each twice as long as the one before, after which a new model is refused.
    margin
        The nats per event by which its log density must be higher, beyond two standard errors.

    Notes
    -----
    A change is seen in the probability integral transforms of targets: in eight equal parts of their forecasts, the
    counts before and after some dates are compared by e-values. So units do not matter, and a task that becomes easier
    is seen as well. If forecasts do not depend on one another, a stream without change ever has one reported with a
    probability of at most 1 %; a false report costs a trial. Slow drift is better followed by `half_life`.

    Promises: the same events from the same state give the same answers. It cannot unlearn, or be merged. An event costs
    what the learner costs, twice that during a trial, and some 100 microseconds more. The state holds the newest
    `window` events. `log` has what happened, as that of `DriftAdaptive`.

    Examples
    --------
    >>> import random
    >>> rng, model = random.Random(1), DriftAdaptiveRegression(BayesianRegression())
    >>> for k in range(600):
    ...     wind = rng.uniform(0.0, 7.0)
    ...     model.learn_one({"wind": wind}, (2.0 if k < 400 else -1.0) * wind + rng.gauss(0.0, 1.0))
    >>> [entry["what"] for entry in model.log.entries], model.log.entries[0]["since"]
    (['drift', 'adopted'], 401)
    >>> round(model.predict_one({"wind": 6}))
    -6
    """

    def __init__(
        self,
        learner: BayesRegressor,
        window: int = 1000,
        judge_after: int = 25,
        trials: int = 6,
        margin: float = 0.0,
    ) -> None:
        self.learner = learner
        self.window = window
        self.judge_after = judge_after
        self.trials = trials
        self.margin = margin
        check_regressor(learner)
        for name, value in (("window", window), ("judge_after", judge_after), ("trials", trials)):
            check_count(name, value)
        if not LEAST_WINDOW <= window <= LARGEST_WINDOW:
            raise BadValue(f"window: {LEAST_WINDOW} to {LARGEST_WINDOW:,} events, not {window}")
        check_number("margin", margin)
        self._model = learner.clone()
        self._candidate: BayesRegressor | None = None
        self._trial: Trial | None = None
        self._changes = ForecastChanges(window)
        self._events: list[FirstSample] = []
        self._clock = self._generation = 0
        self._log = DriftLog()

    def learn_one(self, x: X, y: float, w: float = 1.0) -> None:
        """Learn a sample: all of it, or nothing if any part is refused."""
        target = read_target(y)
        forecast = self._model.predict_distribution_one(x)
        sample = FirstSample.of(x, target, 1.0, None, self._clock + 1)
        self._model.learn_one(x, y, w)
        if not w:
            return
        self._clock += 1
        self._events.append(sample._replace(w=float(w)))
        del self._events[: -self.window]
        loss = -forecast.log_density(target)
        if (
            self._candidate is not None and self._trial is not None
        ):  # its forecasts are those of the newer world
            forecast = self._candidate.predict_distribution_one(x)
            self._try(self._candidate, self._trial, self._events[-1], loss, -forecast.log_density(target))
        if math.isfinite(forecast.log_density(target)) and self._changes.shows(forecast.below(target)):
            self._respond()

    # -- drift --------------------------------------------------------------------------------------------------------

    def _respond(self) -> None:
        """Begin a trial of a new regressor that has learned the events since the change."""
        newest = self._changes.newest()
        since = self._clock - newest + 1
        self._record("drift", since=since, score=self._changes.extremes(newest))
        self._changes.begin_again()
        self._candidate = self.learner.clone()
        for sample in self._events:
            if sample.clock >= since:
                self._candidate.learn_one(sample.x, sample.y, sample.w)
        self._trial = Trial(self._clock, since, self._clock, self.judge_after, gains=(0.0,), squares=(0.0,))

    def _try(
        self, candidate: BayesRegressor, trial: Trial, sample: FirstSample, loss: float, its: float
    ) -> None:
        """Let the candidate learn an event, with the losses of the present model and its own; judge it once there were
        enough.
        """
        candidate.learn_one(sample.x, sample.y, sample.w)
        if not math.isfinite(loss):  # of the present one: targets that differ have not come yet
            loss = its if math.isfinite(its) else 0.0
        trial = trial.with_losses(loss, [min(max(its, loss - MOST_GAIN), loss + MOST_GAIN)])
        self._trial = trial
        if trial.events < trial.length:
            return
        outcome: dict[str, Any] = {"since": trial.since, "score": trial.score(0), "events": trial.events}
        if trial.is_better(0, self.margin):
            self._model = candidate
            self._events = [each for each in self._events if each.clock >= trial.since]
            self._generation += 1
            self._record("adopted", **outcome)
        elif trial.length < self.judge_after << (self.trials - 1):
            self._trial = trial.doubled()
            return
        else:
            self._record("refused", **outcome, why="it is no better")
            self._changes.begin_again()
        self._candidate = self._trial = None

    def _record(self, what: str, **fields: Any) -> None:
        signal, candidate = ("pit", None) if what == "drift" else ("log-loss", CANDIDATE)
        self._log.add(what, self._clock, signal=signal, candidate=candidate, **fields)

    # -- reading the state --------------------------------------------------------------------------------------------

    @property
    def model_(self) -> BayesRegressor:
        """The present model."""
        return self._model

    @property
    def trial_(self) -> Trial | None:
        """The trial of a new model; None without one."""
        return self._trial

    @property
    def generation(self) -> int:
        """The number of models that were adopted."""
        return self._generation

    @property
    def state_(self) -> str:
        """`"trial"` while a new regressor is tried, otherwise `"stable"`."""
        return "stable" if self._trial is None else "trial"

    @property
    def log(self) -> DriftLog:
        """The log of drifts."""
        return self._log

    @property
    def clock(self) -> int:
        """The number of events that were learned."""
        return self._clock

    @property
    def memory_bytes(self) -> int:
        """The bytes of the models, and of the numbers of the events kept; names are not counted."""
        return super().memory_bytes + 8 * sum(len(each.x) + 4 for each in self._events)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": BayesianRegression()}

    # -- saving -------------------------------------------------------------------------------------------------------

    def _regressors(self) -> dict[str, BayesRegressor]:
        models = {PRESENT: self._model}
        return models if self._candidate is None else {**models, CANDIDATE: self._candidate}

    def derived_state(self) -> dict[str, Any]:
        trial, changes = self._trial, self._changes
        return {
            "clock": self._clock,
            "generation": self._generation,
            "changes": [changes.tests, changes.since_test, list(changes.parts)],
            "events": [each.state() for each in self._events],
            "trial": None if trial is None else [*trial[:6], trial.gains[0], trial.squares[0]],
            "log": [[dict(entry) for entry in self._log.entries], dict(self._log.counts)],
        }

    def _take(self, regressors: Mapping[str, BayesRegressor], derived: Mapping[str, Any]) -> None:
        self._model = regressors[PRESENT]
        self._candidate = regressors.get(CANDIDATE)
        trial = derived["trial"]
        expect(
            (trial is None) == (self._candidate is None), "it has a trial without a candidate, or none of it"
        )
        if trial is not None:
            *counts, lost, gain, square = trial
            expect(len(counts) == 5 and all(type(each) is int for each in counts), "its trial is none")
            self._trial = Trial._make([*counts, float(lost), (float(gain),), (float(square),), 0.0])
        self._clock, self._generation = int(derived["clock"]), int(derived["generation"])
        tests, since_test, parts = derived["changes"]
        expect(all(type(each) is int and 0 <= each < VALUES for each in parts), "a target is in no part")
        expect(len(parts) <= self.window, "it holds more targets than its window")
        self._changes.tests, self._changes.since_test, self._changes.parts = (
            int(tests),
            int(since_test),
            parts,
        )
        self._events = [FirstSample.from_state(each) for each in derived["events"]]
        clocks = [each.clock for each in self._events]
        expect(clocks == sorted(clocks) and clocks[-1:] <= [self._clock], "its events are out of order")
        expect(len(clocks) <= self.window, "it holds more events than its window")
        entries, counts_of_kinds = derived["log"]
        self._log = DriftLog(entries, counts_of_kinds)
