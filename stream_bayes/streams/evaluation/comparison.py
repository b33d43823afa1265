"""Several learners side by side on one stream: each event is predicted, scored, then learned, by each of them."""

from __future__ import annotations

import time
from collections import UserList
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from stream_bayes.core.measures.bootstrap import Blocks
from stream_bayes.core.measures.losses import Losses
from stream_bayes.errors import BadValue
from stream_bayes.streams.evaluation.checkpoints import Checkpoint
from stream_bayes.streams.evaluation.contestants import Clock, Contestant, Learner, Metric, contestant
from stream_bayes.streams.evaluation.result import Evaluation
from stream_bayes.streams.evaluation.steps import Arrivals, Stream, check_delay, delayed, portions

if TYPE_CHECKING:  # River's metrics load scipy's statistics
    from river.metrics.base import Metrics as Several  # `Accuracy() + F1()`

__all__ = ["compare"]


def compare(
    learners: Mapping[str, Learner],
    stream: Stream,
    *,
    delay: int | timedelta = 0,
    every: int = 1000,
    window: int = 1000,
    half_life: float = 1000.0,
    metrics: Sequence[Metric | Several] = (),
    rng: np.random.Generator | None = None,
    on_checkpoint: Callable[[Checkpoint], None] | None = None,
    progress: Callable[[int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    clock: Clock = time.perf_counter,
) -> Evaluation:
    """Let learners predict, then learn, every event of a stream, and say how good they were.

    The learners learn: what is given here has learned the stream afterwards. Each takes a hundred events, then the
    next one takes the same. Beside a learner's own calls and the 1.5 microseconds that `core.losses.Losses` takes, an
    event costs about half a microsecond for each learner, and as much once for all of them.

    Parameters
    ----------
    learners
        `{name: learner}`: learners of this package, River's classifiers, and pipelines that end in one.
    stream
        Pairs (x, y), or (x, y, weight); `Event`s; or a source that is polled until it is exhausted. Of events and
        sources, samples without a label wait for the label of their key, their prediction being kept; corrections and
        tombstones are passed over, since most learners could not take back what they have learned.
    delay
        How late labels come: a number of events, or a `timedelta` of stream time. A sample is learned, and the
        prediction made when it came is scored, right before the first sample that is so much later is predicted; so
        0 and 1 events are no delay, as in River. What still waits when the stream ends is scored then.
    every
        After how many scored events each learner's standing is noted. It is also noted at the end.
    window, half_life
        How many events the windowed measures look back; after how many an event weighs half in the fading ones.
    metrics
        River's classification metrics, to be kept beside the measures; each learner has copies of its own.
    rng
        What draws the blocks of the confidence intervals; `numpy.random.default_rng(0)` if not given.
    on_checkpoint
        Called with each learner's standing when it is noted.
    progress
        Called with the number of samples scored so far, about every hundred.
    should_stop
        Asked as often; once it says so, the rest of the stream is left alone.
    clock
        The seconds that learners are timed by.

    Raises
    ------
    BadValue
        If an argument is none, or the stream holds what is no sample. What a learner raises is passed on, with a note
        of which learner it was and at which sample.

    Examples
    --------
    >>> from river import tree
    >>> from stream_bayes import NaiveBayes
    >>> weather = [({"sky": "grey"}, "rain"), ({"sky": "blue"}, "sun")] * 100
    >>> result = compare({"ours": NaiveBayes(), "tree": tree.HoeffdingTreeClassifier()}, weather, delay=20)
    >>> result["ours"].cumulative.accuracy, result["ours"].events
    (0.9, 200)
    >>> result.most_accurate
    'ours'
    """
    check_delay(delay)
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise BadValue(f"every is a number of events, at least 1; got {every!r}")
    contestants = _contestants(learners, window, half_life, metrics, clock)
    arrivals = Arrivals(stream)
    checkpoints: list[Checkpoint] = []
    scored = noted = 0

    def note() -> None:
        for each in contestants:
            checkpoints.append(each.checkpoint())
            if on_checkpoint is not None:
                on_checkpoint(checkpoints[-1])

    for steps in portions(delayed(arrivals, delay), every):
        for each in contestants:
            each.process(steps)
        scored = contestants[0].events
        if scored - noted >= every:
            note()
            noted = scored
        if progress is not None:
            progress(scored)
        if should_stop is not None and should_stop():
            break
    if scored > noted or not checkpoints:
        note()
    return Evaluation(
        checkpoints,
        {each.name: each.losses for each in contestants},
        {each.name: each.metrics for each in contestants},
        np.random.default_rng(0) if rng is None else rng,
        arrivals.skipped,
        contestants[0].waiting,
    )


def _contestants(
    learners: Mapping[str, Learner],
    window: int,
    half_life: float,
    metrics: Sequence[Metric | Several],
    clock: Clock,
) -> list[Contestant]:
    if not isinstance(learners, Mapping):
        raise BadValue(
            f"learners comes first, as {{name: learner}}, and then the stream; got {type(learners).__name__}"
        )
    if not learners:
        raise BadValue("there is nobody to compare: learners is {name: learner}, with at least one")
    if len({id(learner) for learner in learners.values()}) < len(learners):
        raise BadValue("a learner was given under two names; it would learn every event twice")
    return [
        contestant(name, learner, Losses(window, half_life, blocks=Blocks()), _single(metrics), clock)
        for name, learner in learners.items()
    ]


def _single(metrics: Sequence[Metric | Several]) -> list[Metric]:
    """The metrics one by one."""
    return [single for metric in metrics for single in (metric if isinstance(metric, UserList) else [metric])]
