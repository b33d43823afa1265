"""Test-then-train over the samples of a stream, as many at a time as come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stream_bayes.core._answers import AnswerTable
from stream_bayes.errors import StreamBayesError
from stream_bayes.learners.base import BayesClassifier

__all__ = ["take_samples"]


def take_samples(
    learner: BayesClassifier, xs: Sequence[Any], ys: Sequence[Any], ws: Sequence[float]
) -> tuple[AnswerTable, StreamBayesError | None]:
    """Answer and learn samples as `predict_learn_one` would, one after the other, up to one that is refused.

    Parameters
    ----------
    learner
        What answers and learns.
    xs, ys, ws
        The features, label and weight of each; a sample without label, None, is answered and not learned.

    Returns
    -------
    The answers to those that were taken, and why the next one was refused; None if all were taken.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> answers, refused = take_samples(NaiveBayes(), [{"sky": "grey"}] * 3, ["rain", "rain", 1j], [1.0] * 3)
    >>> answers.by_name(["rain"]), type(refused).__name__
    ([{}, {'rain': 1.0}], 'BadLabel')
    """
    store = learner._store
    answers = AnswerTable(len(xs), store.tables.labels)
    try:
        answers.take(store, learner._reading, xs, ys, ws)
    except StreamBayesError as error:
        return answers, error
    return answers, None
