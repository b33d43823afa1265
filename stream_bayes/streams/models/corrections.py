"""Corrections of learned samples: unlearn one, or replace its label."""

from __future__ import annotations

from typing import Any

from stream_bayes.core.values.durations import MICROSECOND
from stream_bayes.core.values.payloads import Payload
from stream_bayes.errors import StreamBayesError
from stream_bayes.learners.classifier.base import BayesClassifier

__all__ = ["relabel", "unlearn"]


def unlearn(learner: BayesClassifier, content: Payload, y: Any, w: float, clock: int | None) -> None:
    """Unlearn a sample that was learned at `clock`.

    With fading or a window, exactly that sample is unlearned, not an equal one of another time.
    """
    if learner._store.tables.timed:
        learner._store.unlearn(content, y, w, clock)
        return
    by_moment = learner.half_life is not None or learner._store.window is not None
    learner.unlearn_one(content, y, w, clock if by_moment else None)


def relabel(
    learner: BayesClassifier, content: Payload, was: Any, y: Any, w: float, clock: int | None
) -> None:
    """Replace the label of a learned sample; if that is refused, keep the old one.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = NaiveBayes()
    >>> model.learn_one({"sky": "grey"}, "sun")
    >>> relabel(model, {"sky": "grey"}, "sun", "rain", 1.0, model.clock)
    >>> model.predict_proba_one({"sky": "grey"})
    {'rain': 1.0}
    """
    if learner._store.slides:  # first, else the new sample would evict another one
        unlearn(learner, content, was, w, clock)
        try:
            learner.learn_one(content, y, w)
        except StreamBayesError:
            learner.learn_one(content, was, w)
            raise
        return
    timed = learner._store.tables.timed  # its clock is the sample's own time
    learner.learn_one(content, y, w, clock * MICROSECOND if timed and clock is not None else None)
    try:
        unlearn(learner, content, was, w, clock)
    except StreamBayesError:
        unlearn(learner, content, y, w, clock if timed else learner.clock)
        raise
