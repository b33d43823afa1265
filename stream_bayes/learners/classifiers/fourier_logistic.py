"""Logistic regression on random Fourier features."""

from __future__ import annotations

import math
import zlib
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.counts.memory_use import ReadingBytes
from stream_bayes.core.counts.store import CountStore
from stream_bayes.core.regression.wave_logistic import WAVES, WaveLogistic, wave_posterior_bytes
from stream_bayes.data.schema import Schema
from stream_bayes.learners.base.arguments import check_seed
from stream_bayes.learners.base.fourier_features import uniform_numbers
from stream_bayes.learners.classifiers.ordered import OrderedClassifier

__all__ = ["FourierLogistic"]


class FourierLogistic(OrderedClassifier):
    """Logistic regression on the features and on random waves over them: nearly a Gaussian process for classes.

    Boundaries may be curved, and numbers may need each other, such as for the sign of a product. Strings, bytes, bools
    and tuples are nominal.

    Parameters
    ----------
    half_life
        The number of learned events after which one weighs half; None never forgets. The prior never fades.
    seed
        The seed of the waves.
    schema
        The declared features and classes. Without one, all are learned when they first come.
    max_values
        The number of values of a nominal feature after which new ones are the same. Default: no limit.
    memory_budget
        The most bytes that counts, names and the posterior may take; a sample that needs more is refused. Default: no
        limit.

    Notes
    -----
    There are 64 waves, with lengths of half, one and two times the typical distance of two events, and a column for
    each number and each value, up to 96: those that come later have none. Coefficients ~ N(0, 1) before any event. An
    event moves their mean and one covariance that all classes share (assumed-density filtering), which costs the square
    of the number of columns. Numbers are in deviations from their mean, both with a half-life of 500 events.

    `BayesianLogistic` has the features alone, and intervals of each coefficient.

    Promises: the same events from the same state give the same answers. It can neither unlearn nor be merged.

    Examples
    --------
    >>> model = FourierLogistic()
    >>> for k in range(600):
    ...     a, b = k % 7 - 3, k // 7 % 7 - 3
    ...     model.learn_one({"a": a, "b": b}, "same sign" if a * b > 0 else "not")
    >>> model.predict_one({"a": 2, "b": 2}), model.predict_one({"a": -2, "b": 2}), model.predict_one({"a": -2, "b": -2})
    ('same sign', 'not', 'same sign')
    """

    _why: ClassVar[str] = "its posterior is fitted to each event and is no sum of them"
    _instead: ClassVar[str] = "QDA"
    _reading: WaveLogistic

    def __init__(
        self,
        half_life: float | None = None,
        seed: int = 0,
        schema: Schema | None = None,
        max_values: int | None = None,
        memory_budget: int | None = None,
    ) -> None:
        self.seed = seed
        check_seed(seed)
        super().__init__(half_life, schema, max_values, memory_budget)

    def _reading_bytes(self) -> ReadingBytes:
        return wave_posterior_bytes

    def _make_reading(self, store: CountStore, class_prior: str) -> WaveLogistic:
        half_life = 0.0 if self.half_life is None else float(self.half_life)
        encoder, seed = store.encoder, int(self.seed)

        def frequencies(slot: int, code: int) -> NDArray[np.float64]:
            """Return the frequencies of a column, which its name alone decides: not the order in which columns come."""
            if code < 0:
                name: Any = encoder.numeric[slot].name
            else:
                name = encoder.nominal[slot].name, encoder.nominal[slot].vocabulary.values[code]
            # Box and Muller's normal numbers, as scipy, which has others, takes long to load.
            drawn = uniform_numbers([seed, zlib.crc32(repr(name).encode())], 2 * WAVES)
            radius: NDArray[np.float64] = np.sqrt(-2.0 * np.log(drawn[:WAVES]))
            return radius * np.cos(2.0 * math.pi * drawn[WAVES:])

        phases = 2.0 * math.pi * uniform_numbers(seed, WAVES)
        return WaveLogistic(store.tables, store.encoder.labels, half_life, phases, frequencies)

    def advance(self, events: int) -> None:
        """Advance the clock by events that are not learned here: what was learned fades."""
        super().advance(events)
        self._reading.fade()
