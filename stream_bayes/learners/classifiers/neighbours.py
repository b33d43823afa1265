"""The nearest of the newest events."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from stream_bayes.core.counts.memory_use import ReadingBytes
from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.readings.neighbours import Neighbours, window_bytes
from stream_bayes.data.schema import Schema
from stream_bayes.learners.base.arguments import check_count
from stream_bayes.learners.classifiers.ordered import OrderedClassifier

__all__ = ["NearestNeighbours"]


class NearestNeighbours(OrderedClassifier):
    """The newest events, of which the nearest vote for their classes.

    Boundaries of any form, which follow the stream as fast as the window goes. Numbers are compared in deviations, and
    values of nominal features, which are strings, bytes, bools and tuples, differ by 1.

    Parameters
    ----------
    window
        The number of events that are kept.
    neighbours
        The number of those that vote.
    half_life
        The number of learned events after which an event's vote weighs half; None: all that are kept weigh the same.
    schema
        The declared features and classes. Without one, all are learned when they first come.
    max_values
        The number of values of a nominal feature after which new ones are the same. Default: no limit.
    memory_budget
        The most bytes that counts, names and the window may take; a sample that needs more is refused. Default: no
        limit.

    Notes
    -----
    An event votes with the inverse of its squared distance, to which a tenth of the mean among the nearest is added.
    The votes count as n shares, and the shares of the classes in the window as one more:

        P(y | x) = (n votes[y] + share[y]) / (n + 1)

    A number that one of two events lacks counts as a squared distance of 2, which is that of two numbers drawn anew.
    Deviations are those of the newest numbers, with a half-life of half a window.

    A prediction costs window times features. Promises: the same events from the same state give the same answers. It
    can neither unlearn nor be merged.

    Examples
    --------
    >>> model = NearestNeighbours()
    >>> for k in range(200):
    ...     a, b = k % 10, k // 10 % 10
    ...     model.learn_one({"a": a, "b": b}, "alike" if abs(a - b) < 3 else "apart")
    >>> model.predict_one({"a": 4, "b": 5}), model.predict_one({"a": 8, "b": 1})
    ('alike', 'apart')
    """

    _why: ClassVar[str] = "it keeps only the newest events"
    _instead: ClassVar[str] = "NaiveBayes"
    reading: Neighbours

    def __init__(
        self,
        window: int = 1000,
        neighbours: int = 12,
        half_life: float | None = None,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
    ) -> None:
        self.window = window
        self.neighbours = neighbours
        check_count("window", window)
        check_count("neighbours", neighbours)
        super().__init__(half_life, schema, max_values, memory_budget)

    def _reading_bytes(self) -> ReadingBytes:
        return partial(_bytes, int(self.window))

    def _make_reading(self, store: CountStore, class_prior: str) -> Neighbours:
        half_life = 0.0 if self.half_life is None else float(self.half_life)
        return Neighbours(
            store.tables, store.encoder.labels, int(self.window), int(self.neighbours), half_life
        )


def _bytes(window: int, features: int, columns: int, labels: int) -> int:
    return window_bytes(window, features)
