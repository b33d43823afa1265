"""Learners whose shards can be summed, and the refusal of others by name."""

from __future__ import annotations

from typing import Any, TypeAlias

from stream_bayes.errors import CannotMerge
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.regressor import BayesRegressor, SummedRegressor
from stream_bayes.learners.classifiers.kdb import KDB
from stream_bayes.learners.classifiers.one_dependence import SPODE
from stream_bayes.learners.wrappers.deciding_classifier import DecidingClassifier
from stream_bayes.learners.wrappers.sliding_window import SlidingWindow

__all__ = ["SummedLearner", "check_summable", "learner_of"]

SummedLearner: TypeAlias = BayesClassifier | SummedRegressor

SUMMABLE = (
    "nb, lda, qda, the text learners, spode with a parent, aode, a2de, ode, tan, kdb with k=1, live-choice, and for "
    "numbers bayesian-regression"
)


def learner_of(model: Any) -> SummedLearner:
    """Return the learner of a model that can be summed.

    Raises
    ------
    CannotMerge
        If its shards cannot be summed; the message names the reason and what to use instead.

    Examples
    --------
    >>> from stream_bayes import AODE, KDB
    >>> learner_of(AODE(binning=None))
    AODE (...)
    >>> learner_of(KDB(k=2))
    Traceback (most recent call last):
        ...
    stream_bayes.errors.CannotMerge: [workers]: KDB with k=2 counts from a window ...; use k=1, or AODE
    """
    inner = model.classifier if isinstance(model, DecidingClassifier) else model
    check_summable(inner)
    assert isinstance(inner, SummedLearner)
    return inner


def check_summable(learner: Any) -> None:
    """Raise `CannotMerge` for a learner whose shards cannot be summed."""
    reason = _reason(learner)
    if reason is not None:
        raise CannotMerge(f"[workers]: {reason}")


def _reason(learner: Any) -> str | None:
    kind = type(learner).__name__
    if isinstance(learner, SlidingWindow):
        return f"{kind} holds the newest events, and shards have no order among them; use its learner without a window"
    if issubclass(type(learner), BayesRegressor) and not isinstance(learner, SummedRegressor):
        return f"shards of {kind} cannot be summed; use bayesian-regression, whose sums can"
    if not issubclass(type(learner), SummedLearner):
        return f"shards of {kind} cannot be summed; use one of {SUMMABLE}"
    if isinstance(learner, KDB) and learner.k >= 2:
        return f"KDB with k={learner.k} counts from a window of recent events; use k=1, or AODE"
    if isinstance(learner, SPODE) and learner.parent is None:
        return "SPODE without a parent chooses it by losses, which depend on the order of events; name the parent"
    if learner.half_life is not None and not isinstance(learner.half_life, str):
        return (
            f"half_life={learner.half_life:g} counts learned events, which differ among shards; give it in stream "
            'time, as half_life="7d"'
        )
    if learner.max_values is not None:
        return (
            f"max_values={learner.max_values}: which values share <other> depends on the order of events; "
            "leave it out, or declare the values in [schema.features]"
        )
    traits = learner.traits
    if isinstance(learner, SummedRegressor):
        return _reason_of_numbers(learner)
    if traits.learns_cut_points:
        return (
            f"{kind} finds the cut points of numbers in the stream, and each shard would find others; declare all "
            'features in [schema.features], numbers as wind = { kind = "numeric", cuts = [2.5, 7.0] } and others as '
            'sky = { kind = "nominal" }, or use nb, whose numbers are Gaussians'
        )
    if not traits.is_mergeable:
        return f"shards of {kind} cannot be summed; use one of {SUMMABLE}"
    return None


def _reason_of_numbers(learner: SummedRegressor) -> str | None:
    kind = type(learner).__name__
    if getattr(learner, "window", None) is not None:
        return f"{kind} with a window holds the newest events, and shards have no order among them; leave window out"
    if not learner.traits.is_mergeable:
        return (
            "the first events set the scales of Fourier features, and each shard would find others; declare them, as "
            "features = { scales = { wind = [3.0, 2.0] } }: the mean and the deviation of each number"
        )
    if learner.schema is None:
        return (
            f"{kind} learns which features are numbers from the stream, and shards could differ; declare all features "
            'in [schema.features], as wind = "numeric", sky = "nominal"'
        )
    return None
