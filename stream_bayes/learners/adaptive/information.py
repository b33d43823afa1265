"""Information of features about the label: the order in which they are kept where not all have room."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.values.values import name_order

__all__ = ["information_about_labels"]

Floats = NDArray[np.float64]
LEAST_VARIANCE = 1e-300


def information_about_labels(store: CountStore) -> dict[Any, float]:
    """Return each feature's information about the label, in nats, the most telling first; of equal ones the first by
    name.

    That of names is from their counts, that of numbers as if each class had a Gaussian of the same variance. What
    chance makes of it is subtracted.
    """
    encoder, tables = store.encoder, store.tables
    layout, numbers, labels = tables.values.layout, tables.gaussians, len(encoder.labels)
    weight = np.asarray(tables.values.weight).reshape(-1, layout.classes)[:, :labels]
    of_names = _of_names(weight, np.asarray(layout.start), np.asarray(layout.room))
    numbers.settle_all()
    of_numbers = _of_numbers(
        *(
            np.asarray(table).reshape(-1, numbers.classes)[:, :labels]
            for table in (numbers.weight, numbers.mean, numbers.m2)
        )
    )
    information = {
        name: float((of_numbers if feature.measured else of_names)[feature.slot])
        for name, feature in encoder.features.items()
    }
    return dict(sorted(information.items(), key=lambda item: (-item[1], name_order(item[0]))))


def _of_names(weight: Floats, start: NDArray[np.int64], room: NDArray[np.int64]) -> Floats:
    """Return I(value; label) of each run of rows, a row for each value, in nats."""
    information = np.zeros(len(room))
    runs = np.flatnonzero(room)
    if not len(runs):
        return information
    first = start[runs]
    of_values, of_labels = weight.sum(axis=1), np.add.reduceat(weight, first)
    total = np.add.reduceat(of_values, first)
    within = np.add.reduceat(_times_log(weight).sum(axis=1) - _times_log(of_values), first)
    chance = (np.add.reduceat((of_values > 0.0).astype(float), first) - 1.0) * (
        np.count_nonzero(of_labels, axis=1) - 1.0
    )
    information[runs] = (
        within - _times_log(of_labels).sum(axis=1) + _times_log(total) - chance / 2.0
    ) / np.maximum(total, 1.0)
    return np.where(np.isin(np.arange(len(room)), runs[total > 0.0]), information, 0.0)


def _times_log(numbers: Floats) -> Floats:
    """Return x log x of each number, 0 of 0."""
    return numbers * np.log(np.where(numbers > 0.0, numbers, 1.0))


def _of_numbers(weight: Floats, mean: Floats, m2: Floats) -> Floats:
    """Return half the logarithm of each number's variance over that within the classes, at most that of the classes."""
    total = weight.sum(axis=1)
    counted = np.maximum(total, 1.0)
    centre = (weight * mean).sum(axis=1) / counted
    between = (weight * (mean - centre[:, None]) ** 2).sum(axis=1)
    within = np.maximum(m2.sum(axis=1), LEAST_VARIANCE)
    present = np.count_nonzero(weight, axis=1)
    ratio = np.log(between + within) - np.log(within)  # a quotient overflows where all classes are points
    information = np.minimum(0.5 * ratio, np.log(np.maximum(present, 1)))
    information -= np.maximum(present - 1, 0) / (2.0 * counted)
    return np.where(total > 0.0, information, 0.0)
