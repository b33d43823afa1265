"""Predictions: the most probable label, losses, and the answers for many rows in the kind of the input."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.values.values import Value, name_order
from stream_bayes.data.columns import CodedColumns, SparseCounts
from stream_bayes.data.frames import Native, is_frame, like_frame, like_series

__all__ = [
    "LEAST_PROBABILITY",
    "Probabilities",
    "labels_like",
    "log_loss",
    "most_probable",
    "probabilities_like",
]

LEAST_PROBABILITY = 1e-12  # a smaller one counts as this in a loss: no single event may decide for good


class Probabilities(NamedTuple):
    """Probabilities of many rows of coded columns: a row per event, a column per class, zeros for an empty answer."""

    labels: tuple[Value, ...]
    values: NDArray[np.float64]


def most_probable(probabilities: Mapping[Any, float]) -> Any:
    """Return the most probable label; of equal ones the first by name; None if there is no label.

    Examples
    --------
    >>> most_probable({"rain": 0.4, "fog": 0.4, "sun": 0.2})
    'fog'
    """
    best, top = None, -1.0
    for label, p in probabilities.items():
        if p > top:
            best, top = label, p
        elif p == top and name_order(label) < name_order(best):
            best = label
    return best


def log_loss(answer: Mapping[Any, float], y: Any) -> float:
    """Return minus the logarithm of the probability that an answer gives a label, in nats.

    Examples
    --------
    >>> log_loss({"rain": 1.0}, "rain"), round(log_loss({}, "rain"), 2)
    (-0.0, 27.63)
    """
    return -math.log(max(answer.get(y, 0.0), LEAST_PROBABILITY))


def labels_like(xs: Native, values: NDArray[np.float64], labels: Sequence[Value]) -> Any:
    """Return the most probable label of each row: a series for a data frame, a list for anything else. `xs` are the
    rows that were predicted; `values` are their probabilities, a column per label.
    """
    order = sorted(range(len(labels)), key=lambda code: name_order(labels[code]))
    if not labels or not values.any():
        predicted: list[Any] = [None] * len(values)
    else:
        predicted = [labels[order[number]] for number in values[:, order].argmax(axis=1)]
    return like_series(xs, predicted) if is_frame(xs) else predicted


def probabilities_like(xs: Native, values: NDArray[np.float64], labels: Mapping[int, Value]) -> Any:
    """Return the probabilities of many rows in the kind of the rows. `xs` are the rows that were predicted: a data
    frame, `CodedColumns`, `SparseCounts`, or a list of dicts. `values` are their probabilities, a column per code of a
    label. `labels` are those to answer with, by code.

    Examples
    --------
    >>> probabilities_like([{}, {}], np.array([[0.0, 0.0], [0.25, 0.75]]), {0: "rain", 1: "sun"})
    [{}, {'rain': 0.25, 'sun': 0.75}]
    """
    if not values.any():
        labels = {}
    codes, names = list(labels), list(labels.values())
    if isinstance(xs, (CodedColumns, SparseCounts)):
        return Probabilities(tuple(names), np.ascontiguousarray(values[:, codes]))
    if is_frame(xs):
        return like_frame(xs, {name: values[:, code] for code, name in labels.items()})
    answered = (values > 0.0).max(axis=1, initial=False).tolist()
    rows = zip(values[:, codes].tolist(), answered, strict=True)
    return [dict(zip(names, row)) if has_answer else {} for row, has_answer in rows]  # noqa: B905  # strict doubles its time
