"""Taking back what a classifier of this package has learned, and learning it with another label."""

from __future__ import annotations

from typing import Any

from stream_bayes.core.values.payloads import Payload
from stream_bayes.errors import StreamBayesError
from stream_bayes.learners.classifier.base import BayesClassifier

__all__ = ["relabel", "take_back"]


def take_back(learner: BayesClassifier, content: Payload, y: Any, w: float, clock: int | None) -> None:
    """Take back a sample, which was learned when the clock stood at `clock`.

    Where samples fade, or only the newest are held, that one is meant and none like it.
    """
    by_moment = learner.half_life is not None or learner._store.window is not None
    learner.unlearn_one(content, y, w, clock if by_moment else None)


def relabel(
    learner: BayesClassifier, content: Payload, was: Any, y: Any, w: float, clock: int | None
) -> None:
    """Let a sample have another label; if that is refused, what was learned of it stays.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> model = NaiveBayes()
    >>> model.learn_one({"sky": "grey"}, "sun")
    >>> relabel(model, {"sky": "grey"}, "sun", "rain", 1.0, model.clock)
    >>> model.predict_proba_one({"sky": "grey"})
    {'rain': 1.0}
    """
    if learner._store.slides:  # first, else what is learned anew pushes another sample out
        take_back(learner, content, was, w, clock)
        try:
            learner.learn_one(content, y, w)
        except StreamBayesError:
            learner.learn_one(content, was, w)
            raise
        return
    learner.learn_one(content, y, w)
    try:
        take_back(learner, content, was, w, clock)
    except StreamBayesError:
        take_back(learner, content, y, w, learner.clock)
        raise
