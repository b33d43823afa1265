"""Corrections of learned samples: unlearn one, or replace its label."""

from __future__ import annotations

from typing import Any

from stream_bayes.core.values.durations import MICROSECOND
from stream_bayes.core.values.payloads import Payload
from stream_bayes.errors import StreamBayesError
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.wrappers.model_per_key import ModelPerKey

__all__ = ["Correctable", "relabel", "unlearn", "unlearning_fault"]

Correctable = BayesClassifier | ModelPerKey  # their samples can be unlearned, most of them


def unlearning_fault(model: Any, *, is_read_again: bool) -> str | None:
    """Return the reason why a model cannot unlearn samples exactly; None if it can. The model may be a learner or
    anything else. `is_read_again` is True for samples that are read again from the log: when each was learned is not
    known.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> unlearning_fault(NaiveBayes(half_life=100), is_read_again=False)
    >>> unlearning_fault(NaiveBayes(half_life=100), is_read_again=True)
    'a NaiveBayes with half_life or window unlearns a sample by the moment at which it was learned, which only ...'
    """
    if not isinstance(model, Correctable):
        return f"{type(model).__name__} cannot unlearn"
    if not model.unlearns:
        return f"a {type(model).__name__} cannot unlearn: it is no sum of what it learned"
    if model.store.cuts_move:
        return f"a {type(model).__name__} whose cuts move, by Binning(moving=True), cannot unlearn"
    if is_read_again and (model.half_life is not None or model.store.window is not None):
        return (
            f"a {type(model).__name__} with half_life or window unlearns a sample by the moment at which it was "
            "learned, which only remembered samples have; raise labels.most_correctable and correct_within"
        )
    return None


def unlearn(learner: Correctable, content: Payload, y: Any, w: float, clock: int | None) -> None:
    """Unlearn a sample that was learned at `clock`.

    With fading or a window, exactly that sample is unlearned, not an equal one of another time.
    """
    if learner.store.tables.timed:
        learner.store.unlearn(content, y, w, clock)
        return
    by_moment = learner.half_life is not None or learner.store.window is not None
    if by_moment and isinstance(learner, BayesClassifier):  # a model per key does not fade
        learner.unlearn_one(content, y, w, clock)
    else:
        learner.unlearn_one(content, y, w)


def relabel(learner: Correctable, content: Payload, was: Any, y: Any, w: float, clock: int | None) -> None:
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
    if learner.store.slides:  # first, else the new sample would evict another one
        unlearn(learner, content, was, w, clock)
        try:
            learner.learn_one(content, y, w)
        except StreamBayesError:
            learner.learn_one(content, was, w)
            raise
        return
    timed = learner.store.tables.timed  # its clock is the sample's own time
    if timed and clock is not None and isinstance(learner, BayesClassifier):
        learner.learn_one(content, y, w, clock * MICROSECOND)
    else:
        learner.learn_one(content, y, w)
    try:
        unlearn(learner, content, was, w, clock)
    except StreamBayesError:
        unlearn(learner, content, y, w, clock if timed else learner.clock)
        raise
