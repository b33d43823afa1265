"""Comparing learners on one stream: each event is predicted, scored, then learned, by each learner.

`compare` runs the learners. `Comparison` is the result: the measures of each learner over time, with confidence
intervals, and a table.
"""

from __future__ import annotations

import math
import time
from collections import UserList
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.measures.bootstrap import MEANS, Blocks, IntervalEstimate, Resampling
from stream_bayes.core.measures.losses import Losses
from stream_bayes.errors import BadValue
from stream_bayes.evaluation.checkpoints import Checkpoint, write_checkpoints
from stream_bayes.evaluation.comparison_table import ComparisonTable
from stream_bayes.evaluation.contestants import AnyLearner, Clock, Contestant, Metric, contestant
from stream_bayes.evaluation.steps import (
    Arrivals,
    EvaluationStep,
    Stream,
    check_delay,
    delayed,
    portions,
)
from stream_bayes.streams.sources.constructors import open_stream

if TYPE_CHECKING:  # River's metrics load scipy's statistics
    from river.metrics.base import Metrics as MetricsSum  # `Accuracy() + F1()`

__all__ = ["Comparison", "compare"]


class Comparison(ComparisonTable):
    """The results of several learners on one stream: a mapping `{name: last checkpoint}`, and more.

    As text it is a table, in the order of the learners; `rich` prints it in the width of the terminal.

    Parameters
    ----------
    checkpoints
        The measures over time: all learners at one moment, then at the next.
    losses
        The scores of each learner.
    metrics
        The additional metrics of each learner.
    rng
        Random generator for the blocks of the intervals.
    skipped
        Number of skipped records, by reason.
    waiting
        Number of samples that were predicted but not scored, because their labels did not come.
    stopped
        Learners that exceeded their memory budgets before the end, with the reasons.

    Attributes
    ----------
    checkpoints, losses, metrics, skipped, waiting, stopped
        As above.
    costs
        Mean cost of the decisions of each learner, if mistakes were given costs.
    expected_costs
        The mean cost that each learner expected of them, by its probabilities.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes, streams
    >>> days = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 50
    >>> result = streams.compare({"nb": NaiveBayes(), "uniform": NaiveBayes(class_prior="uniform")}, days)
    >>> [(name, round(last.cumulative.accuracy, 2)) for name, last in result.items()]
    [('nb', 0.99), ('uniform', 0.99)]
    """

    def __init__(
        self,
        checkpoints: Sequence[Checkpoint],
        losses: Mapping[str, Losses],
        metrics: Mapping[str, Sequence[Metric]],
        rng: np.random.Generator,
        skipped: Mapping[str, int],
        waiting: int,
        stopped: Mapping[str, str] | None = None,
    ) -> None:
        self.checkpoints = list(checkpoints)
        self.losses = dict(losses)
        self.metrics = {name: list(own) for name, own in metrics.items()}
        self.skipped = dict(skipped)
        self.waiting = waiting
        self.stopped = dict(stopped or {})
        self.costs: dict[str, float] = {}
        self.expected_costs: dict[str, float] = {}
        self._final = {checkpoint.learner: checkpoint for checkpoint in self.checkpoints}
        self._sums = {name: each.blocks.sums for name, each in losses.items() if each.blocks is not None}
        self._rng = rng.spawn(1)[0]  # its own, so that the caller's later draws do not change the intervals

    # -- as a mapping -------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Checkpoint:
        return self._final[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._final)

    def __len__(self) -> int:
        return len(self._final)

    # -- intervals ----------------------------------------------------------------------------------------------------

    def interval(self, name: str, measure: str = "accuracy", level: float = 0.95) -> IntervalEstimate:
        """Return a learner's mean over all events with a confidence interval, by bootstrap over blocks of events.

        Parameters
        ----------
        name
            Name of the learner.
        measure
            `"accuracy"`, `"log_loss"` or `"brier"`.
        level
            Confidence level.
        """
        return self._resampling.mean(self._sums_of(name, measure), measure, level)

    def difference(
        self, name: str, other: str, measure: str = "accuracy", level: float = 0.95
    ) -> IntervalEstimate:
        """Return the difference between two learners' means over the same blocks of events.

        Events that are hard for both cancel out, so the interval is often narrower than those of the means.
        """
        sums, others = self._sums_of(name, measure), self._sums_of(other, measure)
        return self._resampling.difference(sums, others, measure, level)

    @cached_property
    def _resampling(self) -> Resampling:
        return Resampling(max(map(len, self._sums.values()), default=0), self._rng)

    def _sums_of(self, name: str, measure: str) -> NDArray[np.float64]:
        if name not in self._final:
            raise BadValue(f"the learners are {list(self._final)!r}, not {name!r}")
        if name in self.stopped:  # its blocks are not those of the others
            return np.full_like(max(self._sums.values(), key=len), math.nan)
        if measure in MEANS and getattr(self[name].cumulative, measure) is None:  # it predicts labels only
            return np.full_like(self._sums[name], math.nan)
        return self._sums[name]

    # -- output -------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return all results at the end of the stream as JSON values; `None` if a value is not defined."""
        best = self.most_accurate
        learners = {}
        for name, checkpoint in self.items():
            learners[name] = msgspec.to_builtins(checkpoint)
            learners[name]["intervals"] = {
                measure: _as_json(self.interval(name, measure)[1:]) for measure in MEANS
            }
            learners[name]["minus_most_accurate"] = {
                measure: _as_json(self.difference(name, best, measure)) for measure in MEANS
            }
        return {
            "most_accurate": best,
            "learners": learners,
            "skipped": self.skipped,
            "waiting": self.waiting,
            "stopped": self.stopped,
            "costs": self.costs,
            "expected_costs": self.expected_costs,
        }

    def write(self, path: str | PathLike[str]) -> None:
        """Write the checkpoints as lines of JSON, one for each learner and moment; `read_checkpoints` reads them."""
        write_checkpoints(self.checkpoints, path)

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self)} over {max(c.events for c in self.values()):,} events>"


def _as_json(numbers: Sequence[float]) -> list[float | None]:
    return [None if math.isnan(number) else number for number in numbers]


def compare(
    learners: Mapping[str, AnyLearner],
    stream: Stream | str | PathLike[str],
    *,
    target: str | None = None,
    ignore: Sequence[str] = (),
    delay: int | timedelta = 0,
    every: int = 1000,
    window: int = 1000,
    half_life: float = 1000.0,
    metrics: Sequence[Metric | MetricsSum] = (),
    rng: np.random.Generator | None = None,
    on_checkpoint: Callable[[Checkpoint], None] | None = None,
    progress: Callable[[int], None] | None = None,
    limit: int | None = None,
    should_stop: Callable[[], bool] | None = None,
    clock: Clock = time.perf_counter,
    on_answer: Callable[[str, EvaluationStep, Mapping[Any, float], Any], None] | None = None,
) -> Comparison:
    """Compare learners prequentially: each predicts, then learns, every event of a stream.

    Afterwards the learners have learned the stream. Each processes a hundred events, then the next one processes the
    same. Besides a learner's own calls and the 1.5 microseconds of `core.measures.losses.Losses`, an event costs about
    half a microsecond for each learner, and as much once for all of them.

    Parameters
    ----------
    learners
        `{name: learner}`: learners of this package, River's classifiers, and pipelines that end in one.
    stream
        A path to a CSV or JSON lines file; pairs (x, y), or (x, y, weight); dicts, if a `target` is given; `Event`s; or
        a source, such as `from_csv` returns. A file that is opened here is closed here. A source that grows, such as a
        topic, is read to the end that it has at the start. Samples of events and sources that have no label wait for
        the label of their key, together with their prediction. Corrections and tombstones are skipped, since most
        learners cannot unlearn.
    target
        The field that holds the label, for a path and for dicts.
    ignore
        Fields that are no features, for a path and for dicts.
    delay
        Delay of the labels: a number of events, or a `timedelta` of stream time. A sample is predicted when it comes.
        It is scored and learned right before the first sample that is so much later is predicted; so 0 and 1 events
        are no delay, as in River. At the end of the stream, the samples that still wait are scored.
    every
        Number of scored events between two checkpoints. There is also one at the end.
    window, half_life
        Events in the windowed measures; events after which an event weighs half in the fading ones.
    metrics
        River's classification metrics, in addition to the measures; each learner has its own copies.
    rng
        Random generator for the blocks of the confidence intervals; by default `numpy.random.default_rng(0)`.
    on_checkpoint
        Called with each checkpoint.
    progress
        Called with the number of samples scored so far, about every hundred.
    limit
        Maximum number of records to read.
    should_stop
        Called as often; once it returns True, no more of the stream is read.
    clock
        Function that returns the seconds by which learners are timed.
    on_answer
        Called for each scored sample with the learner's name, the step, the probabilities, and the predicted label or
        `...` for the most probable one.

    Raises
    ------
    BadValue
        If an argument is invalid, or the stream holds something else. Errors of a learner are raised with a note that
        names the learner and the sample.

    Examples
    --------
    >>> from river import tree
    >>> from stream_bayes import NaiveBayes
    >>> weather = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 100
    >>> result = compare({"ours": NaiveBayes(), "tree": tree.HoeffdingTreeClassifier()}, weather, delay=20)
    >>> result["ours"].cumulative.accuracy, result["ours"].events
    (1.0, 200)
    >>> result.most_accurate
    'ours'
    """
    check_delay(delay)
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise BadValue(f"every: expected a number of events of at least 1, got {every!r}")
    contestants = _contestants(learners, window, half_life, metrics, clock, on_answer)
    checkpoints: list[Checkpoint] = []
    scored = noted = 0

    def note() -> None:
        for each in contestants:
            checkpoints.append(each.checkpoint())
            if on_checkpoint is not None:
                on_checkpoint(checkpoints[-1])

    with open_stream(stream, target, ignore) as opened:
        arrivals = Arrivals(opened, limit)
        for steps in portions(delayed(arrivals, delay), every):
            for each in contestants:
                each.process(steps)
            scored = max(each.events for each in contestants)
            if all(each.stopped is not None for each in contestants):
                break
            if scored - noted >= every:
                note()
                noted = scored
            if progress is not None:
                progress(scored)
            if should_stop is not None and should_stop():
                break
    if scored > noted or not checkpoints:
        note()
    return Comparison(
        checkpoints,
        {each.name: each.losses for each in contestants},
        {each.name: each.metrics for each in contestants},
        np.random.default_rng(0) if rng is None else rng,
        arrivals.skipped,
        max(each.waiting for each in contestants),
        {each.name: each.stopped for each in contestants if each.stopped is not None},
    )


def _contestants(
    learners: Mapping[str, AnyLearner],
    window: int,
    half_life: float,
    metrics: Sequence[Metric | MetricsSum],
    clock: Clock,
    on_answer: Callable[[str, EvaluationStep, Mapping[Any, float], Any], None] | None,
) -> list[Contestant]:
    if not isinstance(learners, Mapping):
        raise BadValue(
            f"learners: expected {{name: learner}} as the first argument, got {type(learners).__name__}"
        )
    if not learners:
        raise BadValue("learners: expected {name: learner} with at least one, got none")
    if len({id(learner) for learner in learners.values()}) < len(learners):
        raise BadValue(
            "learners: two names share one learner, which would learn every event twice; make one for each name"
        )
    return [
        contestant(
            name,
            learner,
            Losses(window, half_life, blocks=Blocks()),
            _single(metrics),
            clock,
            None if on_answer is None else partial(on_answer, name),
        )
        for name, learner in learners.items()
    ]


def _single(metrics: Sequence[Metric | MetricsSum]) -> list[Metric]:
    """Return the metrics as a flat list."""
    return [single for metric in metrics for single in (metric if isinstance(metric, UserList) else [metric])]
