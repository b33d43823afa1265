"""Evaluating regressors on a stream: errors and intervals, each target predicted before it is learned."""

from __future__ import annotations

import math
import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import pairwise
from os import PathLike
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from river import base
from river.stats import Var

from stream_bayes.core.encoding._targets import read_target
from stream_bayes.core.events.event import Event
from stream_bayes.core.measures.number_losses import BINS
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadLabel, BadValue
from stream_bayes.evaluation.steps import (
    FORGET,
    LEARN,
    PREDICT,
    Arrivals,
    EvaluationStep,
    Stream,
    check_delay,
    delayed,
)
from stream_bayes.learners.base.arguments import check_number
from stream_bayes.streams.sources.constructors import open_stream

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

__all__ = ["BASELINES", "NumberAnswer", "RegressionEvaluation", "RegressionFigures", "evaluate_regression"]

BASELINES = ("no change", "mean")  # the last target learned, and the mean of all
ONLY = "\0"  # stands for the name of the target where there is one
WIDTHS = 3  # parts of the events, by the width of their intervals
PERIODS = 10  # of the stream


class NumberAnswer(msgspec.Struct, frozen=True, gc=False):
    """A regressor's answer to one sample, given before the sample was learned.

    Parameters
    ----------
    number
        Number of the sample in the stream, from 0.
    x, target
        The sample and its target.
    prediction
        The mean, or whatever `predict_one` of the regressor returns.
    interval
        Low and high; None from a regressor without intervals.
    log_density
        The logarithm of the density of the target; None from a regressor without densities.
    event
        The event with the sample's key, time and position; None for a stream of pairs.

    Examples
    --------
    >>> from stream_bayes import BayesianRegression, streams
    >>> rows = [({"wind": k % 7}, 20.0 - 2 * (k % 7)) for k in range(100)]
    >>> answer = streams.evaluate_regression(rows, BayesianRegression()).answers["BayesianRegression"][-1]
    >>> answer.number, answer.target, round(answer.prediction)
    (99, 18.0, 18)
    """

    number: int
    x: Any
    target: float
    prediction: float
    interval: tuple[float, float] | None
    log_density: float | None
    event: Event | None


class RegressionFigures(msgspec.Struct, frozen=True):
    """The measures of one regressor. What it cannot be asked is NaN.

    Parameters
    ----------
    events
        The number of scored samples.
    rmse, mae
        The root of the mean square, and the mean, of the errors.
    r2
        The share of the targets' variance that is explained: 1 minus the mean square over that variance.
    coverage
        The share of targets in their intervals.
    width
        The median width of the intervals.
    log_density
        The mean logarithm of the density of the targets.
    crps
        The mean continuous ranked probability score: an absolute error, of the whole forecast instead of a point.
    microseconds
        The time of a prediction and of learning, for each event; intervals and densities are not in it.
    coverage_by_width
        The coverage in the third of the events with the narrowest intervals, in the middle one, and in that with the
        widest. They are equal if the width says how uncertain each event is. Empty from a regressor without intervals.
    coverage_over_time
        The coverage in each of ten parts of the stream, in its order.
    pit
        The share of the targets in each tenth of their forecasts, lowest first (probability integral transform): all
        0.1 if forecasts are right, high at both ends if they are too narrow. Empty from a regressor without
        distributions.

    Examples
    --------
    >>> from stream_bayes import BayesianRegression, streams
    >>> rows = [({"wind": k % 7}, 20.0 - 2 * (k % 7)) for k in range(100)]
    >>> figures = streams.evaluate_regression(rows, BayesianRegression(), level=0.5)["BayesianRegression"]
    >>> figures.events, figures.r2 > 0.98
    (99, True)
    """

    events: int
    rmse: float
    mae: float
    r2: float
    coverage: float
    width: float
    log_density: float
    crps: float
    microseconds: float
    coverage_by_width: Sequence[float]
    coverage_over_time: Sequence[float]
    pit: Sequence[float]


class RegressionEvaluation(Mapping[str, RegressionFigures]):
    """The measures of regressors by name, those of two baselines last. As text it is a table. Of several targets each
    regressor has measures of each, by names such as `"MultiTargetRegression of rain"`.

    Parameters
    ----------
    figures
        The measures.
    answers
        By name, the answers in the order in which they were scored; empty if they were not kept.
    level
        The level of the intervals.
    skipped
        Number of records that could not be used, by reason.
    waiting
        Number of samples that were predicted, but whose target did not come.
    unanswered
        Number of samples that came before anything was learned; they are not scored.

    Examples
    --------
    >>> from stream_bayes import BayesianRegression, streams
    >>> rows = [({"wind": k % 7}, 20.0 - 2 * (k % 7) + k % 2) for k in range(200)]
    >>> result = streams.evaluate_regression(rows, BayesianRegression())
    >>> round(result["BayesianRegression"].rmse, 1), round(result["no change"].rmse, 1), result.unanswered
    (0.5, 5.0, 1)
    """

    def __init__(
        self,
        figures: Mapping[str, RegressionFigures],
        answers: Mapping[str, Sequence[NumberAnswer]],
        level: float,
        skipped: Counter[str],
        waiting: int,
        unanswered: int,
    ) -> None:
        self._figures = dict(figures)
        self.answers = dict(answers)
        self.level = level
        self.skipped = skipped
        self.waiting = waiting
        self.unanswered = unanswered

    def __getitem__(self, name: str) -> RegressionFigures:
        return self._figures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def __rich__(self) -> Group:
        from rich.console import Group

        tables = [self._measures()]
        if any(each.coverage_over_time or each.pit for each in self.values()):
            tables.append(self._calibration())
        tables[-1].caption = self._caption()
        return Group(*tables)

    def _measures(self) -> Table:
        from rich.table import Table

        table = Table(box=None, padding=(0, 1, 0, 0))  # it fits in 80 columns
        table.add_column("regressor", no_wrap=True, min_width=max(map(len, self), default=0))
        heads = (
            "RMSE",
            "MAE",
            "R2",
            f"in {100 * self.level:g} %",
            "width",
            "log density",
            "CRPS",
            "us each",
        )
        for head in heads:
            table.add_column(head, justify="right")
        for name, each in self.items():
            row = (each.rmse, each.mae, each.r2, 100 * each.coverage, each.width, each.log_density, each.crps)
            texts = ["-" if math.isnan(value) else _in_seven(value) for value in row]
            texts[2] = texts[2] if math.isnan(each.r2) or abs(each.r2) >= 10.0 else f"{each.r2:.4f}"
            table.add_row(name, *texts, f"{each.microseconds:.1f}")
        return table

    def _calibration(self) -> Table:
        """Return a table of where forecasts hold what they say, and where not; in percent."""
        from rich.table import Table

        table = Table(box=None, padding=(0, 1, 0, 0))
        table.add_column("regressor", no_wrap=True, min_width=max(map(len, self), default=0))
        for head in ("narrow", "middle", "wide", "worst tenth"):
            table.add_column(head, justify="right")
        table.add_column("tenths of forecasts (PIT), each 10")
        for name, each in self.items():
            if not each.coverage_over_time and not each.pit:
                continue
            shares = [*each.coverage_by_width, min(each.coverage_over_time, default=math.nan)]
            texts = [f"{100 * share:.1f}" for share in shares] if each.coverage_over_time else ["-"] * 4
            table.add_row(name, *texts, " ".join(f"{100 * share:.0f}" for share in each.pit) or "-")
        return table

    def _caption(self) -> str:
        events = max((each.events for each in self.values()), default=0)
        parts = [f"{events:,} events, each predicted before it was learned"]
        parts += [f"{count:,} skipped: {reason}" for reason, count in sorted(self.skipped.items())]
        for number, what in (
            (self.waiting, "targets did not come"),
            (self.unanswered, "not scored, as nothing was learned before"),
        ):
            parts += [f"{number:,} {what}"] if number else []
        return "; ".join(parts)

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=120, color_system=None)
        with console.capture() as captured:
            console.print(self)
        return captured.get().rstrip("\n")

    def __repr__(self) -> str:
        return f"<RegressionEvaluation of {', '.join(self)}>"


class _Scores:
    """The sums of one regressor's measures."""

    def __init__(self) -> None:
        self.events = self.densities = self.ranked = 0
        self.square = self.absolute = self.log_density = self.crps = 0.0
        self.widths = array("d")  # 8 bytes for each event: a median that is updated would not be exact
        self.is_inside = array("b")  # 1 for each event whose target its interval held
        self.tenths = [0] * BINS

    def add(
        self,
        target: float,
        prediction: float,
        interval: tuple[float, float] | None = None,
        log_density: float | None = None,
        crps: float | None = None,
        below: float | None = None,
    ) -> None:
        """Score a prediction; `below` is the share of its distribution below the target."""
        error = prediction - target
        self.events += 1
        self.square += error * error
        self.absolute += abs(error)
        if interval is not None:
            self.is_inside.append(interval[0] <= target <= interval[1])
            self.widths.append(interval[1] - interval[0])
        if log_density is not None:
            self.densities += 1
            self.log_density += log_density
        if crps is not None:
            self.ranked += 1
            self.crps += crps
        if below is not None:
            self.tenths[min(int(BINS * below), BINS - 1)] += 1

    def figures(self, variance: float, seconds: float) -> RegressionFigures:
        """Return the measures; `variance` is that of the targets, `seconds` the time of an event."""
        square = _share(self.square, self.events)
        return RegressionFigures(
            self.events,
            math.sqrt(square),
            _share(self.absolute, self.events),
            1.0 - square / variance if variance > 0.0 else math.nan,
            _share(sum(self.is_inside), len(self.is_inside)),
            median(self.widths) if self.widths else math.nan,
            _share(self.log_density, self.densities),
            _share(self.crps, self.ranked),
            1e6 * seconds,
            _shares([self.is_inside[k] for k in np.argsort(self.widths, kind="stable")], WIDTHS),
            _shares(self.is_inside, PERIODS),
            [count / total for count in self.tenths] if (total := sum(self.tenths)) else [],
        )


class _Forecast(NamedTuple):
    """A prediction, and what a regressor can be asked besides."""

    prediction: float
    interval: tuple[float, float] | None
    distribution: Any


class _Regressor:
    """One regressor on the stream: it answers, is scored, and learns."""

    def __init__(self, name: str, model: Any, level: float, *, keeps_answers: bool) -> None:
        self.name, self.model, self.level = name, model, level
        self.keeps_answers = keeps_answers
        self.answers: defaultdict[Any, list[NumberAnswer]] = defaultdict(list)  # by target
        self.scores: defaultdict[Any, _Scores] = defaultdict(_Scores)  # by target
        self.seconds = 0.0
        self.waiting: dict[int, Any] = {}  # samples as their predictions saw them, by number
        self._holds = hasattr(model, "hold")
        last = [*model.steps.values()][-1] if hasattr(model, "steps") else model
        self._has_intervals = hasattr(model, "predict_interval_one")
        self._has_densities = hasattr(model, "predict_distribution_one")
        if not isinstance(last, base.Regressor | base.MultiTargetRegressor):
            raise BadValue(f"{name}: expected a regressor, got a {type(last).__name__}")
        self.has_targets = isinstance(last, base.MultiTargetRegressor)

    def answer(self, step: EvaluationStep) -> dict[Any, _Forecast]:
        """Predict a sample: a forecast of each target."""
        begin = time.perf_counter()
        prediction = self.model.predict_one(step.x)
        self.seconds += time.perf_counter() - begin
        interval = self.model.predict_interval_one(step.x, self.level) if self._has_intervals else None
        distribution = self.model.predict_distribution_one(step.x) if self._has_densities else None
        if self._holds and step.kind is PREDICT:
            self.waiting[step.number] = self.model.hold(step.x)
        if not self.has_targets:
            return {ONLY: _Forecast(float(prediction or 0.0), interval, distribution)}
        intervals, distributions = interval or {}, distribution or {}
        return {
            name: _Forecast(float(number or 0.0), intervals.get(name), distributions.get(name))
            for name, number in (prediction or {}).items()
        }

    def score(self, step: EvaluationStep, name: Any, target: float, answer: _Forecast) -> None:
        """Score an answer about a target."""
        prediction, interval, distribution = answer
        log_density = None if distribution is None else float(distribution.log_density(target))
        if log_density is not None and not math.isfinite(log_density):
            log_density = None  # before two targets that differ, there is no density
        crps = (
            None
            if log_density is None or not hasattr(distribution, "crps")
            else float(distribution.crps(target))
        )
        if crps is not None and not math.isfinite(crps):
            crps = None  # of a forecast without a mean
        below = None
        if log_density is not None and hasattr(distribution, "below"):
            below = float(distribution.below(target))
        self.scores[name].add(target, prediction, interval, log_density, crps, below)
        if self.keeps_answers:
            self.answers[name].append(
                NumberAnswer(step.number, step.x, target, prediction, interval, log_density, step.event)
            )

    def learn(self, step: EvaluationStep, targets: dict[Any, float]) -> None:
        """Learn a sample."""
        target: Any = targets if self.has_targets else targets[ONLY]
        x = self.waiting.pop(step.number, step.x)
        begin = time.perf_counter()
        if step.weight == 1.0:
            self.model.learn_one(x, target)
        else:
            self.model.learn_one(x, target, w=step.weight)
        self.seconds += time.perf_counter() - begin


class _Answers(NamedTuple):
    """Answers given when a sample came."""

    of_regressors: list[dict[Any, _Forecast]]
    of_baselines: dict[Any, tuple[float, float]]


class _RegressionRun:
    """All regressors and the baselines on the stream."""

    def __init__(self, regressors: list[_Regressor]) -> None:
        self.regressors = regressors
        self.baselines: dict[str, defaultdict[Any, _Scores]] = {
            name: defaultdict(_Scores) for name in BASELINES
        }
        self.waiting: dict[int, _Answers | None] = {}
        self.targets: defaultdict[Any, Var] = defaultdict(lambda: Var(ddof=0))
        self.learned = self.scored = self.unanswered = 0
        self.last: dict[Any, float] = {}
        self.totals: defaultdict[Any, float] = defaultdict(float)

    def take(self, step: EvaluationStep) -> None:
        """Do what a step says."""
        if step.kind is FORGET:
            self.waiting.pop(step.number, None)
            for each in self.regressors:
                each.waiting.pop(step.number, None)
            return
        if step.kind is not LEARN:
            self.waiting[step.number] = self._answers(step) if self.learned else None
            if step.kind is PREDICT:
                return
        targets = self._targets_of(step)
        answers = self.waiting.pop(step.number)
        if answers is None:
            self.unanswered += 1
        else:
            self.scored += 1
            for name, target in targets.items():
                self._score(step, name, target, answers)
        for each in self.regressors:
            with _noting(each, step):
                each.learn(step, targets)
        self.learned += 1
        self.last = targets
        for name, target in targets.items():
            self.totals[name] += target

    def _score(self, step: EvaluationStep, name: Any, target: float, answers: _Answers) -> None:
        """Score the answers about a target. A regressor that did not predict it is not scored."""
        self.targets[name].update(target)
        for each, forecasts in zip(self.regressors, answers.of_regressors, strict=True):
            if name in forecasts:
                each.score(step, name, target, forecasts[name])
        if name in answers.of_baselines:
            for baseline, prediction in zip(BASELINES, answers.of_baselines[name], strict=True):
                self.baselines[baseline][name].add(target, prediction)

    def _targets_of(self, step: EvaluationStep) -> dict[Any, float]:
        """Return the targets of a sample by name. Raise `BadValue` if they are not those that all regressors learn."""
        several = isinstance(step.y, Mapping | tuple)  # a tuple of pairs where they came as an event
        for each in self.regressors:
            if each.has_targets is not several:
                raise BadValue(
                    f"{each.name}: learns {'several targets' if each.has_targets else 'one target'}, and sample "
                    f"{step.number} of the stream has {'several' if several else 'one'}"
                )
        if not several:
            return {ONLY: _number_of(step, step.y)}
        return {name: _number_of(step, y) for name, y in dict(step.y).items()}

    def figures(self) -> dict[str, RegressionFigures]:
        """Return the measures of the regressors and the baselines, by name and target."""
        everyone = [(each.name, each.scores, each.seconds) for each in self.regressors]
        everyone += [(name, scores, 0.0) for name, scores in self.baselines.items()]
        return {
            _named(name, target): scores[target].figures(
                self.targets[target].get(), _share(seconds, self.learned)
            )
            for name, scores, seconds in everyone
            for target in self.targets or [ONLY]
        }

    def _answers(self, step: EvaluationStep) -> _Answers:
        answers = []
        for each in self.regressors:
            with _noting(each, step):
                answers.append(each.answer(step))
        means = {name: total / self.learned for name, total in self.totals.items()}
        return _Answers(answers, {name: (last, means[name]) for name, last in self.last.items()})


@contextmanager
def _noting(regressor: _Regressor, step: EvaluationStep) -> Iterator[None]:
    """Note on an error which regressor raised it, and at which sample."""
    try:
        yield
    except Exception as error:
        error.add_note(f"{regressor.name!r} raised this at sample {step.number} of the stream, from 0")
        raise


def evaluate_regression(
    stream: Stream | str | PathLike[str],
    regressors: Any,
    *,
    target: str | Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    delay: int | timedelta = 0,
    level: float = 0.9,
    keep_answers: bool = True,
    progress: Callable[[int], None] | None = None,
    limit: int | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> RegressionEvaluation:
    """Evaluate regressors prequentially: predict each sample of a stream, score the prediction, learn the sample.

    Beside them stand two baselines: the last target learned, and the mean of all. The regressors learn the stream.

    Parameters
    ----------
    stream
        As of `evaluate`. Targets are numbers, or texts that are numbers, as in a CSV file.
    regressors
        A regressor of this package or of River's, a pipeline that ends in one, or `{name: regressor}`. Regressors of
        several targets learn samples whose target is `{name: number}`.
    target
        The field that holds the target, for a path and for dicts; a list of fields for several targets.
    ignore
        Fields that are no features, for a path and for dicts.
    delay
        Delay of the targets, as of `compare`.
    level
        The level of the intervals, between 0 and 1.
    keep_answers
        False to keep no answers, for streams that do not fit into memory.
    progress
        Called with the number of samples scored so far, every hundred.
    limit
        Maximum number of records to read.
    should_stop
        Called for each sample; once it returns True, no more of the stream is read.

    Raises
    ------
    BadValue
        If an argument is invalid, or the stream holds something else.
    BadLabel
        If a target is no number.

    Examples
    --------
    >>> from river import linear_model
    >>> from stream_bayes import AdaptiveRegression, streams
    >>> rows = [({"wind": k % 7}, 20.0 - 2 * (k % 7) + k % 2) for k in range(300)]
    >>> result = streams.evaluate_regression(
    ...     rows, {"ours": AdaptiveRegression(), "SGD": linear_model.LinearRegression()}
    ... )
    >>> min(result, key=lambda name: result[name].rmse), 0.8 < result["ours"].coverage <= 1.0
    ('ours', True)
    """
    check_delay(delay)
    check_number("level", level, above=True)
    if level >= 1.0:
        raise BadValue(f"level lies between 0 and 1, not {level!r}")
    if isinstance(regressors, (str, PathLike)):
        raise BadValue(f"regressors: expected a regressor after the stream, got {shown(regressors)}")
    named = regressors if isinstance(regressors, Mapping) else {type(regressors).__name__: regressors}
    if taken := named.keys() & set(BASELINES):
        raise BadValue(f"regressors: {shown(min(taken))} is the name of a baseline; give it another one")
    run = _RegressionRun(
        [_Regressor(str(name), model, level, keeps_answers=keep_answers) for name, model in named.items()]
    )
    if not run.regressors:
        raise BadValue("regressors: expected at least one, got none")
    with open_stream(stream, target, ignore, "regression") as opened:
        arrivals = Arrivals(opened, limit)
        for step in delayed(arrivals, delay):
            if step is not None:
                run.take(step)
                if progress is not None and run.scored % 100 == 0:
                    progress(run.scored)
            if should_stop is not None and should_stop():
                break
    answers = {
        _named(each.name, target): each.answers[target]
        for each in run.regressors
        for target in run.targets or [ONLY]
    }
    return RegressionEvaluation(
        run.figures(),
        answers,
        level,
        arrivals.skipped,
        len(run.waiting),
        run.unanswered,
    )


def _named(name: str, target: Any) -> str:
    """Return the name of a regressor's measures of a target."""
    return name if target == ONLY else f"{name} of {target}"


def _number_of(step: EvaluationStep, y: Any) -> float:
    """Return a target of a sample; a text that is a number is one."""
    if isinstance(y, str):
        with suppress(ValueError):
            y = float(y)
    try:
        return float(read_target(y))
    except BadLabel as error:
        error.add_note(f"sample {step.number} of the stream, from 0")
        raise


def _shares(is_inside: Sequence[int], parts: int) -> list[float]:
    """Return the share in each of some parts of equal length; fewer parts of fewer events."""
    parts = min(parts, len(is_inside))
    ends = [len(is_inside) * k // parts for k in range(parts + 1)] if parts else []
    return [sum(is_inside[first:last]) / (last - first) for first, last in pairwise(ends)]


def _share(total: float, number: int) -> float:
    return total / number if number else math.nan


def _in_seven(value: float) -> str:
    """Return a number in at most seven characters: a column cuts off more, and with it the exponent.

    Examples
    --------
    >>> [_in_seven(value) for value in (0.25, 12_143.6, 1_234_567.8, 1.6654e-4, -3.5e12)]
    ['0.25', '12144', '1234568', '1.7e-4', '-3.5e12']
    """
    text = f"{value:.4g}"
    if len(text) <= 7:
        return text
    if 1e4 <= abs(value) < 9_999_999.5:
        return f"{value:.0f}"
    digits, _, exponent = f"{value:.1e}".partition("e")
    return f"{digits}e{int(exponent)}"
