"""One learner of a comparison: its predictions, their scores, its time and memory.

The methods of a learner decide how it is called:

    predict_learn_one       one call for both: learners of this package
    predict_proba_one       then learn_one: River's classifiers and pipelines. The prediction is the most probable
                            label, the first of equals, unless the classifier has a predict_one of its own
    predict_one             then learn_one: no probabilities, so measures that need them are not defined

Only these calls are timed.
"""

from __future__ import annotations

import copy
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

from river import base, compose

from stream_bayes.core.measures.classification_measures import Measures
from stream_bayes.core.measures.losses import Losses
from stream_bayes.core.networks.dot import spelled
from stream_bayes.errors import BadValue, BudgetExceeded, TooManyLabels
from stream_bayes.evaluation.checkpoints import Checkpoint, Figures
from stream_bayes.evaluation.steps import FORGET, LEARN, PREDICT, EvaluationStep
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.class_probabilities import most_probable
from stream_bayes.learners.catalogue import UNLABELLED

if TYPE_CHECKING:  # it loads scipy's statistics
    from river.metrics.base import ClassificationMetric

__all__ = ["AnyLearner", "Clock", "Contestant", "Metric", "OnAnswer", "contestant"]

AnyLearner: TypeAlias = Any  # ours, or River's classifiers and pipelines
Clock: TypeAlias = Callable[[], float]
Metric: TypeAlias = "ClassificationMetric"
# Probabilities and the label; `...` for the most probable one.
AnswerAndDecision: TypeAlias = tuple[Mapping[Any, float], Any]

OnAnswer: TypeAlias = Callable[[EvaluationStep, Mapping[Any, float], Any], None]

OF_PROBABILITIES = ("log_loss", "brier", "roc_auc", "calibration_error")
NO_PROBABILITIES = base.Classifier.predict_proba_one
GIGABYTE = 1e9
HOUR = 3600.0


class Contestant(ABC):
    """A learner with its scores, time and memory. The learner learns. Each contestant has its own `metrics`, River's,
    in addition to `losses`. `clock` returns seconds. `on_answer` is called with each scored step, its probabilities,
    and its label or `...` for the most probable one.
    """

    probabilistic = True

    def __init__(
        self,
        name: str,
        learner: AnyLearner,
        losses: Losses,
        metrics: Sequence[Metric],
        clock: Clock,
        on_answer: OnAnswer | None = None,
    ) -> None:
        self.name = name
        self.learner = learner
        self.losses = losses
        self.metrics = metrics
        self.events = 0
        self.seconds = 0.0
        self.ram_hours = 0.0
        self._clock = clock
        self._on_answer = on_answer
        self._weighed = 0.0  # its seconds when its memory was last measured
        self._waiting: dict[int, AnswerAndDecision] = {}  # answers to samples that wait for their labels
        self.stopped: str | None = None  # the reason why it learns no more

    # -- what a subclass writes ---------------------------------------------------------------------------------------

    @abstractmethod
    def _predict(self, x: Mapping[Any, Any]) -> AnswerAndDecision:
        """Predict, and measure the time."""

    # -- processing steps ---------------------------------------------------------------------------------------------

    def process(self, steps: Sequence[EvaluationStep]) -> None:
        """Process steps in their order. A learner that exceeds its memory budget is stopped."""
        for step in steps:
            if self.stopped is not None:
                return
            try:
                if step.kind is PREDICT:
                    self._waiting[step.number] = self._predict(step.x)
                elif step.kind is LEARN:
                    self._score(step, self._waiting.pop(step.number))
                    self._learn(step)
                elif step.kind is FORGET:
                    del self._waiting[step.number]
                else:
                    self._predict_and_learn(step)
            except BudgetExceeded as error:
                self.stopped = str(error)
                self._waiting.clear()
            except Exception as error:
                error.add_note(f"{self.name!r} raised this at sample {step.number} of the stream, from 0")
                raise

    def _predict_and_learn(self, step: EvaluationStep) -> None:
        self._score(step, self._predict(step.x))
        self._learn(step)

    def _learn(self, step: EvaluationStep) -> None:
        learn, clock = self.learner.learn_one, self._clock
        if step.weight == 1.0:  # not every classifier of River's takes a weight
            start = clock()
            learn(step.x, step.y)
        else:
            start = clock()
            learn(step.x, step.y, w=step.weight)
        self.seconds += clock() - start

    def _score(self, step: EvaluationStep, answer: AnswerAndDecision) -> None:
        probabilities, predicted = answer
        self.losses.update(step.y, probabilities, predicted, step.weight)
        self.events += 1
        if self._on_answer is not None:
            self._on_answer(step, probabilities, predicted)
        if self.metrics:
            self._update_metrics(step, probabilities, predicted)

    def _update_metrics(
        self, step: EvaluationStep, probabilities: Mapping[Any, float], predicted: Any
    ) -> None:
        """Update the metrics if there is an answer, as River's own evaluation does."""
        if not probabilities:
            return
        label = most_probable(probabilities) if predicted is ... else predicted
        weight = () if step.weight == 1.0 else (step.weight,)
        for metric in self.metrics:
            metric.update(step.y, label if metric.requires_labels else probabilities, *weight)

    @property
    def waiting(self) -> int:
        """Number of samples that were predicted and wait for their labels."""
        return len(self._waiting)

    # -- results -----------------------------------------------------------------------------------------------------

    def checkpoint(self) -> Checkpoint:
        """Return the measures as they are now."""
        if self.losses.has_further_labels:
            warnings.warn(
                f"there are more than {self.losses.max_labels:,} labels: F1 and ROC AUC count further ones as "
                "one, <other>; accuracy, log-loss and Brier score are of all labels",
                TooManyLabels,
                stacklevel=2,
            )
        size = memory_of(self.learner)
        self.ram_hours += (size or 0) / GIGABYTE * (self.seconds - self._weighed) / HOUR
        self._weighed = self.seconds
        return Checkpoint(
            learner=self.name,
            events=self.events,
            cumulative=self._figures(self.losses.cumulative),
            windowed=self._figures(self.losses.windowed),
            fading=self._figures(self.losses.fading),
            seconds=self.seconds,
            memory_bytes=size,
            ram_hours=None if size is None else self.ram_hours,
            metrics=dict(zip(names_of(self.metrics), map(_figure, self.metrics), strict=True)),
        )

    def _figures(self, measures: Measures) -> Figures:
        figures = measures.as_dict()
        if not self.probabilistic:
            figures |= dict.fromkeys(OF_PROBABILITIES)
        f1 = measures.f1
        return Figures(**figures, f1=dict(zip(spelled(list(f1)), f1.values(), strict=True)))


class _AtOnce(Contestant):
    """Predicts and learns in one call."""

    def _predict_and_learn(self, step: EvaluationStep) -> None:
        predict_learn, clock = self.learner.predict_learn_one, self._clock
        start = clock()
        probabilities = predict_learn(step.x, step.y, step.weight)
        self.seconds += clock() - start
        self._score(step, (probabilities, ...))

    def _predict(self, x: Mapping[Any, Any]) -> AnswerAndDecision:
        start = self._clock()
        probabilities = self.learner.predict_proba_one(x)
        self.seconds += self._clock() - start
        return probabilities, ...


class _OneByOne(Contestant):
    """Predicts probabilities; the first of the most probable labels is its answer."""

    def _predict(self, x: Mapping[Any, Any]) -> AnswerAndDecision:
        predict, clock = self.learner.predict_proba_one, self._clock
        start = clock()
        probabilities = predict(x)
        self.seconds += clock() - start
        # A copy, since the classifier may change its own before it is read.
        return dict(probabilities), max(probabilities, key=probabilities.get, default=None)


class _OneByOneByName(_OneByOne):
    """A learner of this package behind transformers: of equally probable labels, it predicts the first by name."""

    def _predict(self, x: Mapping[Any, Any]) -> AnswerAndDecision:
        probabilities, _ = super()._predict(x)
        return probabilities, ...


class _DecidingContestant(Contestant):
    """Predicts probabilities, and decides on a label by a predict_one of its own."""

    def _predict(self, x: Mapping[Any, Any]) -> AnswerAndDecision:
        start = self._clock()
        probabilities = self.learner.predict_proba_one(x)
        predicted = self.learner.predict_one(x)
        self.seconds += self._clock() - start
        return dict(probabilities), predicted


class _Labelling(Contestant):
    """Predicts labels only."""

    probabilistic = False

    def _predict(self, x: Mapping[Any, Any]) -> AnswerAndDecision:
        start = self._clock()
        predicted = self.learner.predict_one(x)
        self.seconds += self._clock() - start
        return {} if predicted is None else {predicted: 1.0}, predicted


def contestant(
    name: str,
    learner: AnyLearner,
    losses: Losses,
    metrics: Sequence[Metric],
    clock: Clock,
    on_answer: OnAnswer | None = None,
) -> Contestant:
    """Return a learner as a contestant; its methods decide the kind."""
    kind = _kind_of(name, learner)
    for metric in metrics:
        measure = type(metric).__name__
        if not metric.works_with(learner):
            raise BadValue(f"the metric {measure} does not work with {name!r}, a {type(learner).__name__}")
        if not kind.probabilistic and not metric.requires_labels:
            raise BadValue(f"the metric {measure} needs probabilities, and {name!r} predicts labels only")
    # Not by `clone`: the clone of a rolling metric does not roll.
    return kind(name, learner, losses, copy.deepcopy(list(metrics)), clock, on_answer)


def _kind_of(name: str, learner: AnyLearner) -> type[Contestant]:
    if not hasattr(learner, "learn_one") or not hasattr(learner, "predict_one"):
        raise BadValue(
            f"{name!r}: expected a learner with learn_one and predict_one, got a {type(learner).__name__}"
        )
    last = learner
    while isinstance(last, compose.Pipeline):
        last = list(last.steps.values())[-1]
    if type(last).__name__ in UNLABELLED:
        raise BadValue(
            f"{name!r} learns events without a label: expected a classifier, got a {type(last).__name__}"
        )
    if isinstance(last, base.Regressor):
        raise BadValue(f"{name!r} is a regressor: streams.evaluate_regression measures learners of numbers")
    if hasattr(learner, "predict_learn_one"):
        return _AtOnce
    if getattr(type(last), "predict_proba_one", NO_PROBABILITIES) is NO_PROBABILITIES:
        return _Labelling
    decides = type(last).predict_one
    if decides is BayesClassifier.predict_one:
        return _OneByOneByName
    return _OneByOne if decides is base.Classifier.predict_one else _DecidingContestant


def memory_of(learner: AnyLearner) -> int | None:
    """Return a learner's size in bytes; None if it does not report one."""
    size = getattr(learner, "memory_bytes", None)
    if size is None:
        size = getattr(learner, "_raw_memory_usage", None)
    return None if size is None else int(size)


def names_of(metrics: Sequence[Metric]) -> list[str]:
    """Return the names of metrics: their classes, numbered if two are of one class."""
    names = [type(getattr(metric, "obj", metric)).__name__ for metric in metrics]  # `obj`: what rolls
    return [
        name if names.count(name) == 1 else f"{name} {names[: number + 1].count(name)}"
        for number, name in enumerate(names)
    ]


def _figure(metric: Metric) -> float | None:
    value = metric.get()
    return float(value) if isinstance(value, Real) and math.isfinite(value) else None
