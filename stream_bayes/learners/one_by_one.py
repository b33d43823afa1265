"""Many samples for learners of which each sample decides what becomes of the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stream_bayes.columns import CodedColumns
from stream_bayes.frames import Native, is_frame, iter_dicts, labels_of
from stream_bayes.learners.base import BayesClassifier
from stream_bayes.learners.batches import check_batch, row_weights

__all__ = ["samples_of"]


def samples_of(
    learner: BayesClassifier, xs: Native, ys: Native, ws: Native
) -> Iterator[tuple[Any, Any, float]]:
    """Each row as a sample, in order, once none is found that a learner would refuse.

    Examples
    --------
    >>> from stream_bayes import NaiveBayes
    >>> list(samples_of(NaiveBayes(), [{"sky": "grey"}, {"sky": "blue"}], ["rain", "sun"], None))
    [({'sky': 'grey'}, 'rain', 1.0), ({'sky': 'blue'}, 'sun', 1.0)]
    """
    check_batch(learner._store, xs, ys, ws)
    if isinstance(xs, CodedColumns):
        rows: Any = xs.to_dicts()
    else:
        rows = iter_dicts(xs) if is_frame(xs) else xs
    labels = xs.label_values() if ys is None and isinstance(xs, CodedColumns) else labels_of(ys)
    return zip(rows, labels, row_weights(ws, len(labels)).tolist(), strict=True)
