"""Evaluating one learner on a stream: its measures, and its answer to each sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from stream_bayes.core.events.event import Event
from stream_bayes.core.measures.bootstrap import IntervalEstimate
from stream_bayes.core.values.values import shown
from stream_bayes.errors import BadValue
from stream_bayes.evaluation.checkpoints import Checkpoint, Figures
from stream_bayes.evaluation.comparison import Comparison, compare
from stream_bayes.evaluation.contestants import AnyLearner, Metric
from stream_bayes.evaluation.steps import EvaluationStep, Stream
from stream_bayes.learners.base.class_probabilities import most_probable

if TYPE_CHECKING:  # River's metrics load scipy's statistics
    from rich.console import Console, ConsoleOptions, RenderResult
    from river.metrics.base import Metrics as MetricsSum

__all__ = ["Answer", "Evaluation", "evaluate"]

EXAMPLES = 3  # wrong answers that a failed assertion shows


class Answer(msgspec.Struct, frozen=True, gc=False):
    """A learner's answer to one sample, given before the sample was learned.

    Parameters
    ----------
    number
        Number of the sample in the stream, from 0.
    x, label
        The sample and its true label.
    prediction
        The most probable label; None before anything is learned.
    probabilities
        `{label: probability}`.
    event
        The event with the sample's key, time and position; None for a stream of pairs.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes, streams
    >>> days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
    >>> answer = streams.evaluate(days, NaiveBayes()).answers[10]
    >>> answer.number, answer.label, answer.prediction
    (10, 'rain', 'rain')
    """

    number: int
    x: Any
    label: Any
    prediction: Any
    probabilities: Mapping[Any, float]
    event: Event | None

    @property
    def is_correct(self) -> bool:
        """True if the prediction is the label."""
        return bool(self.prediction == self.label)


class Evaluation:
    """The result of evaluating one learner. As text it is a table.

    Parameters
    ----------
    learner
        The learner, which has learned the stream.
    comparison
        The measures over time; see `Comparison`.
    answers
        The answers in the order in which they were scored; empty if they were not kept.

    Attributes
    ----------
    learner, answers
        As above.
    checkpoints
        The measures at each checkpoint, and at the end.
    skipped
        Number of records that could not be used, by reason.
    waiting
        Number of samples that were predicted, but whose label did not come.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes, streams
    >>> days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
    >>> result = streams.evaluate(days, NaiveBayes())
    >>> round(result.accuracy, 2), len(result.answers)
    (0.99, 100)
    """

    def __init__(self, learner: AnyLearner, comparison: Comparison, answers: Sequence[Answer]) -> None:
        self.learner = learner
        self.answers = list(answers)
        self.checkpoints = comparison.checkpoints
        self.skipped = comparison.skipped
        self.waiting = comparison.waiting
        self._comparison = comparison
        (self._name,) = comparison

    @property
    def final(self) -> Checkpoint:
        """The measures at the end of the stream, with time and memory."""
        return self._comparison[self._name]

    @property
    def events(self) -> int:
        """The number of scored samples."""
        return self.final.events

    @property
    def unanswered(self) -> int:
        """The number of samples without an answer, as before anything was learned; no measure includes them."""
        return self._comparison.losses[self._name].unanswered

    @property
    def cumulative(self) -> Figures:
        """The measures over all events: accuracy, log_loss, kappa, macro_f1, ..."""
        return self.final.cumulative

    @property
    def windowed(self) -> Figures:
        """The measures over the last events."""
        return self.final.windowed

    @property
    def fading(self) -> Figures:
        """The measures with exponential fading."""
        return self.final.fading

    @property
    def accuracy(self) -> float:
        """The share of correct predictions over all events; NaN if there were none."""
        return float("nan") if self.cumulative.accuracy is None else self.cumulative.accuracy

    @property
    def log_loss(self) -> float:
        """The logarithmic loss over all events; NaN if it is not defined."""
        return float("nan") if self.cumulative.log_loss is None else self.cumulative.log_loss

    def interval(self, measure: str = "accuracy", level: float = 0.95) -> IntervalEstimate:
        """Return a measure with its confidence interval, by bootstrap over blocks of events."""
        return self._comparison.interval(self._name, measure, level)

    def assert_accuracy(self, *, at_least: float) -> None:
        """Raise AssertionError if the accuracy over all events is lower.

        The message shows the interval, the confusions and the first wrong answers.

        Examples
        --------
        >>> from stream_bayes import NaiveBayes, streams
        >>> days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
        >>> streams.evaluate(days, NaiveBayes()).assert_accuracy(at_least=0.99)
        Traceback (most recent call last):
            ...
        AssertionError: expected an accuracy of at least 0.99, got 0.9899 over 100 events ...
        """
        _check_number("at_least", at_least)
        if not self.accuracy >= at_least:
            raise AssertionError(self._failure(f"expected an accuracy of at least {at_least:g}", "accuracy"))

    def assert_log_loss(self, *, at_most: float) -> None:
        """Raise AssertionError if the logarithmic loss over all events is higher."""
        _check_number("at_most", at_most)
        if not self.log_loss <= at_most:
            raise AssertionError(self._failure(f"expected a log-loss of at most {at_most:g}", "log_loss"))

    def write(self, path: str | PathLike[str]) -> None:
        """Write the checkpoints as JSON lines; `read_checkpoints` reads them."""
        self._comparison.write(path)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._comparison

    def __str__(self) -> str:
        return str(self._comparison)

    def _repr_html_(self) -> str:
        return self._comparison._repr_html_()

    def __repr__(self) -> str:
        return f"<Evaluation of {self._name} over {self.events:,} events: accuracy {self.accuracy:.4f}>"

    def _failure(self, expectation: str, measure: str) -> str:
        estimate = self.interval(measure) if self.events else None
        lines = [f"{expectation}, got {getattr(self, measure):.4g} over {self.events:,} events"]
        if estimate is not None and not np.isnan(estimate.low):
            lines[0] += f" (95 % interval {estimate.low:.4g} to {estimate.high:.4g})"
        if self.skipped:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(self.skipped.items()))
            lines.append(f"records that could not be used: {reasons}")
        if self.waiting:
            lines.append(f"samples whose label did not come: {self.waiting:,}")
        if self.unanswered:
            lines.append(f"samples without an answer, which are not scored: {self.unanswered:,}")
        wrong = [answer for answer in self.answers if not answer.is_correct and answer.prediction is not None]
        confusions = Counter((answer.label, answer.prediction) for answer in wrong)
        for (label, prediction), count in confusions.most_common(EXAMPLES):
            lines.append(f"{count:,} x {label!r} predicted as {prediction!r}")
        lines += [
            f"sample {answer.number}: {shown(answer.x)} is {answer.label!r}, got {answer.prediction!r}"
            for answer in wrong[:EXAMPLES]
        ]
        return "\n".join(lines)


def evaluate(
    stream: Stream | str | PathLike[str],
    learner: AnyLearner,
    *,
    target: str | None = None,
    ignore: Sequence[str] = (),
    delay: int | timedelta = 0,
    every: int = 1000,
    window: int = 1000,
    half_life: float = 1000.0,
    metrics: Sequence[Metric | MetricsSum] = (),
    keep_answers: bool = True,
    rng: np.random.Generator | None = None,
    on_checkpoint: Callable[[Checkpoint], None] | None = None,
    progress: Callable[[int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Evaluation:
    """Evaluate a learner prequentially: predict each sample of a stream, score the prediction, learn the sample.

    The learner learns the stream.

    Parameters
    ----------
    stream
        A path to a CSV or JSON lines file; pairs (x, y), or (x, y, weight); dicts, if a `target` is given; `Event`s; or
        a source, such as `from_csv` returns. One that grows, such as a topic, is read to the end that it has at the
        start.
    learner
        A learner of this package, a classifier of River's, or a pipeline that ends in one.
    target
        The field that holds the label, for a path and for dicts.
    ignore
        Fields that are no features, for a path and for dicts.
    keep_answers
        False to keep no answers, for streams that do not fit into memory.
    delay, every, window, half_life, metrics, rng, on_checkpoint, progress, should_stop
        As of `compare`.

    Raises
    ------
    BadValue
        If an argument is invalid, or the stream holds something else. Errors of the learner are raised with a note that
        names the sample.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes, streams
    >>> days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
    >>> result = streams.evaluate(days, NaiveBayes())
    >>> result.accuracy, result.events, result.answers[-1].prediction
    (0.98989898989899, 100, 'sun')
    """
    if isinstance(learner, (str, PathLike, Mapping)):
        raise BadValue(f"learner: expected a classifier after the stream, got {shown(learner)}")
    answers: list[Answer] = []

    def keep(name: str, step: EvaluationStep, probabilities: Mapping[Any, float], predicted: Any) -> None:
        label = most_probable(probabilities) if predicted is ... else predicted
        answers.append(Answer(step.number, step.x, step.y, label, dict(probabilities), step.event))

    comparison = compare(
        {type(learner).__name__: learner},
        stream,
        target=target,
        ignore=ignore,
        delay=delay,
        every=every,
        window=window,
        half_life=half_life,
        metrics=metrics,
        rng=rng,
        on_checkpoint=on_checkpoint,
        progress=progress,
        should_stop=should_stop,
        on_answer=keep if keep_answers else None,
    )
    return Evaluation(learner, comparison, answers)


def _check_number(name: str, given: object) -> None:
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise BadValue(f"{name}: expected a number, got {shown(given)}")
