"""How sure a mean over a stream is: a bootstrap over blocks of consecutive events.

Neighbouring events are alike, and so are the mistakes made in them. Drawing single events again would take them for
independent and say too much; drawing blocks keeps what is alike together (Kuensch, 1989). Two predictors that were
scored on the same events are compared on the same blocks, so that what is hard for both cancels.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are first asked for
from numpy.typing import NDArray

from stream_bayes.core.measures.tally import Scored
from stream_bayes.errors import BadValue

__all__ = ["MEANS", "Blocks", "Estimate", "Resampling"]

Array = NDArray[Any]

MEANS = ("accuracy", "log_loss", "brier")  # what is summed in each block, beside the weight
MOST_BLOCKS = 1024
RESAMPLES = 2000
FEWEST_BLOCKS = 8  # fewer say nothing of how blocks differ


class Estimate(NamedTuple):
    """A number, and between which it lies; NaN where that cannot be told.

    Parameters
    ----------
    value
        What was measured.
    low, high
        The ends of the interval.
    """

    value: float
    low: float
    high: float


class Blocks:
    """Sums over blocks of consecutive events.

    Memory: 32 kB, however long the stream. Where there would be more than 1024 blocks, neighbours become one, and
    blocks are twice as long from there on.

    Parameters
    ----------
    length
        How many events a block holds at first.

    Attributes
    ----------
    length
        How many it holds now.
    """

    def __init__(self, length: int = 50) -> None:
        if isinstance(length, bool) or not isinstance(length, int) or length < 1:
            raise BadValue(f"a block holds a whole number of events, at least 1; got {length!r}")
        self.length = length
        self._events = 0
        self._sums = np.zeros((MOST_BLOCKS, 1 + len(MEANS)))

    def add(self, scored: Scored) -> None:
        """Add events, after those before."""
        weight = scored.weight
        terms = np.column_stack(
            [weight, weight * scored.right, weight * scored.log_loss, weight * scored.brier]
        )
        while len(terms):
            room = MOST_BLOCKS * self.length - self._events
            if not room:
                self._join_neighbours()
                continue
            # Never past the room: sums are the same to the last bit, in whatever portions the events come.
            fitting, terms = terms[:room], terms[room:]
            places = (self._events + np.arange(len(fitting))) // self.length
            np.add.at(self._sums, places, fitting)
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
    """Blocks drawn again and again, the same ones for all that are compared.

    Parameters
    ----------
    blocks
        How many there are.
    rng
        What draws them.
    resamples
        How many times as many are drawn.

    Examples
    --------
    Right in two thirds of the blocks, never in the others:

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
        # How often each block was drawn, a row a resample; the first row is the blocks as they are.
        chances = np.full(blocks, 1.0 / max(blocks, 1))
        drawn = rng.multinomial(blocks, chances, size=resamples) if blocks else np.zeros((resamples, 0))
        self._drawn = np.vstack([np.ones(blocks), drawn])

    def mean(self, sums: Array, measure: str, level: float = 0.95) -> Estimate:
        """Return a mean over all events.

        Parameters
        ----------
        sums
            `Blocks.sums`.
        measure
            One of `MEANS`.
        level
            How often such an interval holds the truth.
        """
        return self._estimate(self._means(sums, measure), level)

    def difference(self, sums: Array, others: Array, measure: str, level: float = 0.95) -> Estimate:
        """Return by how much a mean is larger than that of another predictor of the same events."""
        return self._estimate(self._means(sums, measure) - self._means(others, measure), level)

    def _means(self, sums: Array, measure: str) -> Array:
        """Return the mean over the blocks as they are, then over each time they were drawn."""
        if measure not in MEANS:
            raise BadValue(f"an interval is that of one of {MEANS!r}, not of {measure!r}")
        if len(sums) != self._blocks:
            raise BadValue(f"expected the sums of {self._blocks} blocks, got those of {len(sums)}")
        totals = self._drawn @ sums[:, [0, 1 + MEANS.index(measure)]]
        with np.errstate(invalid="ignore"):  # no weight at all: 0 / 0 is NaN, as it should be
            means: Array = totals[:, 1] / totals[:, 0]
        return means

    def _estimate(self, means: Array, level: float) -> Estimate:
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
            raise BadValue(f"level lies between 0 and 1, not {level!r}")
        value, drawn = float(means[0]), means[1:]
        drawn = drawn[~np.isnan(drawn)]
        if self._blocks < FEWEST_BLOCKS or not len(drawn):
            return Estimate(value, math.nan, math.nan)
        # The percentiles of few blocks are too narrow, by what Student's t has over the normal (Hesterberg, 2015).
        freedom = self._blocks - 1
        reach = math.sqrt(self._blocks / freedom) * scipy.special.stdtrit(freedom, (1.0 + level) / 2.0)
        outside = scipy.special.ndtr(-reach)
        low, high = np.quantile(drawn, [outside, 1.0 - outside])
        return Estimate(value, float(low), float(high))
