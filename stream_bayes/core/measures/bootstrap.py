"""Confidence intervals of means over a stream: a bootstrap over blocks of consecutive events.

Neighbouring events are correlated, and so are the mistakes made on them. Resampling single events would treat them as
independent and give intervals that are too narrow; resampling blocks keeps correlated events together (Kuensch, 1989).
Two predictors scored on the same events are compared on the same blocks, so that events hard for both cancel.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import NDArray

from stream_bayes.core.measures.tally import Scored
from stream_bayes.errors import BadValue

__all__ = ["MEANS", "Blocks", "IntervalEstimate", "Resampling"]

Array = NDArray[Any]

MEANS = ("accuracy", "log_loss", "brier")  # the sums of each block, besides the weight
MOST_BLOCKS = 1024
RESAMPLES = 2000
FEWEST_BLOCKS = 8  # fewer do not show how blocks differ


class IntervalEstimate(NamedTuple):
    """A value with a confidence interval; NaN if the interval is unknown."""

    value: float
    low: float  # the ends of the interval
    high: float


class Blocks:
    """Sums over blocks of consecutive events.

    Memory: 32 kB, however long the stream. Instead of exceeding 1024 blocks, neighbouring blocks are merged and further
    blocks are twice as long. `length` is the initial number of events of a block.

    Attributes
    ----------
    length
        The present number of events of a block.
    """

    def __init__(self, length: int = 50) -> None:
        if isinstance(length, bool) or not isinstance(length, int) or length < 1:
            raise BadValue(f"a block holds a whole number of events, at least 1; got {length!r}")
        self.length = length
        self._events = 0
        self._sums = np.zeros((MOST_BLOCKS, 1 + len(MEANS)))

    def add(self, scored: Scored) -> None:
        """Append events."""
        weight = scored.weight
        terms = np.column_stack(
            [weight, weight * scored.right, weight * scored.log_loss, weight * scored.brier]
        )
        while len(terms):
            room = MOST_BLOCKS * self.length - self._events
            if not room:
                self._join_neighbours()
                continue
            # Never beyond the room, so that the sums are the same to the last bit however the events are batched.
            fitting, terms = terms[:room], terms[room:]
            blocks = (self._events + np.arange(len(fitting))) // self.length
            np.add.at(self._sums, blocks, fitting)
            self._events += len(fitting)

    def _join_neighbours(self) -> None:
        joined = self._sums[::2] + self._sums[1::2]
        self._sums = np.concatenate([joined, np.zeros_like(joined)])
        self.length *= 2

    @property
    def sums(self) -> Array:
        """A row for each block with events: its weight, and the weighted sums of `MEANS`."""
        return self._sums[: -(-self._events // self.length)].copy()


class Resampling:
    """Resamples of blocks, the same ones for all predictors compared.

    Examples
    --------
    Correct in two thirds of the blocks, never in the others:

    >>> import numpy as np
    >>> sums = np.zeros((300, 4))
    >>> sums[:, 0] = 50.0
    >>> sums[::3, 1] = sums[1::3, 1] = 50.0
    >>> accuracy = Resampling(300, np.random.default_rng(1)).mean(sums, "accuracy")
    >>> [round(number, 2) for number in accuracy]
    [0.67, 0.61, 0.72]
    """

    def __init__(self, blocks: int, rng: np.random.Generator, resamples: int = RESAMPLES) -> None:
        self._blocks = blocks
        # How often each block was drawn, a row for each resample; the first row is the original blocks.
        chances = np.full(blocks, 1.0 / max(blocks, 1))
        drawn = rng.multinomial(blocks, chances, size=resamples) if blocks else np.zeros((resamples, 0))
        self._drawn = np.vstack([np.ones(blocks), drawn])

    def mean(self, sums: Array, measure: str, level: float = 0.95) -> IntervalEstimate:
        """Return the mean of a measure over all events, with its interval. `sums` are `Blocks.sums`, `measure` is one
        of `MEANS`. `level` is the coverage of the interval.
        """
        return self._estimate(self._means(sums, measure), level)

    def difference(self, sums: Array, others: Array, measure: str, level: float = 0.95) -> IntervalEstimate:
        """Return the difference of a measure's means between two predictors of the same events, with its interval."""
        return self._estimate(self._means(sums, measure) - self._means(others, measure), level)

    def _means(self, sums: Array, measure: str) -> Array:
        """Return the mean over the original blocks, then over each resample."""
        if measure not in MEANS:
            raise BadValue(f"an interval is that of one of {MEANS!r}, not of {measure!r}")
        if len(sums) != self._blocks:
            raise BadValue(f"expected the sums of {self._blocks} blocks, got those of {len(sums)}")
        totals = self._drawn @ sums[:, [0, 1 + MEANS.index(measure)]]
        with np.errstate(invalid="ignore"):  # without any weight 0 / 0 is NaN, as intended
            means: Array = totals[:, 1] / totals[:, 0]
        return means

    def _estimate(self, means: Array, level: float) -> IntervalEstimate:
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
            raise BadValue(f"level lies between 0 and 1, not {level!r}")
        value, drawn = float(means[0]), means[1:]
        drawn = drawn[~np.isnan(drawn)]
        if self._blocks < FEWEST_BLOCKS or not len(drawn):
            return IntervalEstimate(value, math.nan, math.nan)
        # Percentiles of few blocks are too narrow, by the ratio of Student's t to the normal (Hesterberg, 2015).
        freedom = self._blocks - 1
        reach = math.sqrt(self._blocks / freedom) * scipy.special.stdtrit(freedom, (1.0 + level) / 2.0)
        outside = scipy.special.ndtr(-reach)
        low, high = np.quantile(drawn, [outside, 1.0 - outside])
        return IntervalEstimate(value, float(low), float(high))
