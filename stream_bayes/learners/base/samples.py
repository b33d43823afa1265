"""Samples of a stream, many at a time: test-then-train up to one that is refused, and rows as single samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from stream_bayes.core.readings._reading import AnswerTable
from stream_bayes.data.columns import CodedColumns
from stream_bayes.data.frames import Native, events_in, labels_of
from stream_bayes.errors import StreamBayesError
from stream_bayes.learners.base.base import BayesClassifier
from stream_bayes.learners.base.batches import check_batch, row_count, row_weights
from stream_bayes.learners.base.class_probabilities import probabilities_like
from stream_bayes.learners.base.credible_intervals import Intervals

__all__ = ["intervals_of_rows", "process_samples", "rows_of", "samples_of"]


def process_samples(
    learner: BayesClassifier,
    xs: Sequence[Any],
    ys: Sequence[Any],
    ws: Sequence[float],
    moments: Sequence[int] | None = None,
) -> tuple[AnswerTable, StreamBayesError | None]:
    """Predict and learn samples as `predict_learn_one` would, sequentially, up to one that is refused. A sample without
    label, None, is predicted and not learned. `moments` are the times in microseconds, if samples fade by their time.

    Returns
    -------
    The answers to the samples before the refused one, and its error; None if all were processed.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> answers, refused = process_samples(NaiveBayes(), [{"sky": "grey"}] * 3, ["rain", "rain", 1j], [1.0] * 3)
    >>> answers.by_name(["rain"]), type(refused).__name__
    ([{}, {'rain': 1.0}], 'BadLabel')
    """
    store = learner.store
    answers = AnswerTable.empty(len(xs), store.tables.labels)
    try:
        learner.reading.test_then_train(store.sample_rows(xs, ys, ws, moments), answers)
    except StreamBayesError as error:
        return answers, error
    return answers, None


def rows_of(xs: Native) -> Iterable[Any]:
    """Return many rows of any kind as dicts.

    Examples
    --------
    >>> import pandas as pd
    >>> list(rows_of(pd.DataFrame({"sky": ["grey", "blue"]})))
    [{'sky': 'grey'}, {'sky': 'blue'}]
    """
    return xs.to_dicts() if isinstance(xs, CodedColumns) else events_in(xs)


def intervals_of_rows(model: Any, xs: Native, level: float) -> Intervals:
    """Return the intervals of many rows, by a model's `predict_interval_one`."""
    labels: tuple[Any, ...] = model.classes_
    ends = np.zeros((2, row_count(xs), max(len(labels), 1)))
    for row, x in enumerate(rows_of(xs)):
        intervals = model.predict_interval_one(x, level)
        for code, label in enumerate(labels):
            if label in intervals:
                ends[:, row, code] = intervals[label]
    return Intervals(*(probabilities_like(xs, side, dict(enumerate(labels))) for side in ends))


def samples_of(
    learner: BayesClassifier, xs: Native, ys: Native, ws: Native
) -> Iterator[tuple[Any, Any, float]]:
    """Return the rows as samples, in order; raise if a learner would refuse one.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> list(samples_of(NaiveBayes(), [{"sky": "grey"}, {"sky": "blue"}], ["rain", "sun"], None))
    [({'sky': 'grey'}, 'rain', 1.0), ({'sky': 'blue'}, 'sun', 1.0)]
    """
    check_batch(learner.store, xs, ys, ws)
    rows = rows_of(xs)
    labels = xs.label_values() if ys is None and isinstance(xs, CodedColumns) else labels_of(ys)
    return zip(rows, labels, row_weights(ws, len(labels)).tolist(), strict=True)
