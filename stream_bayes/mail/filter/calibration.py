"""Calibration of scores to probabilities, learned online from earlier messages.

The result is the mean, in log-odds, of two curves over the score, fitted to the most recent scores:

- a logistic curve (Platt 1999), under a prior that gives sensible probabilities from the first message on;
- an isotonic one, the monotone steps that fit best (pool adjacent violators), each step's share drawn towards the
  logistic curve as by a few messages, and its middle joined to the next by a line. It fits the tails, where a logistic
  curve that must also fit the middle is too cautious or too bold.

The logistic curve rises everywhere, so a higher score has a higher probability; what is far out is bent, not cut.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import scipy  # its submodules are imported on first use
from numpy.typing import NDArray

from stream_bayes.core.values.checks import expect

__all__ = ["Calibration"]

WINDOW: Final = 4_000  # scores
REFIT_EVERY: Final = 50  # scores; the first so many refit at each
SLOPE, SLOPE_STD, MIN_SLOPE = 0.5, 0.25, 0.05  # a normal prior, truncated
INTERCEPT_STD: Final = 2.0  # a normal prior around 0
SHRINKAGE: Final = 3.0  # pseudocount that draws a step towards the logistic curve
MAX_LOG_ODDS: Final = 34.0  # beyond, 1 - P rounds to 0
NEWTON_STEPS: Final = 25  # three or four suffice from a near start
MAX_TURN, MAX_SHIFT = 0.25, 1.0  # of slope and intercept in one Newton step, so that it does not overshoot

Array = NDArray[Any]


class Calibration:
    """A rising curve from scores to probabilities, fitted online.

    Examples
    --------
    >>> calibration = Calibration()
    >>> for score in range(100):
    ...     calibration.add(score / 50 - 1.0, score > 50)
    >>> calibration.probability(-1.0) < 0.25 < 0.75 < calibration.probability(1.0)
    True
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Drop all scores, and return to the prior."""
        self.slope, self.intercept = SLOPE, 0.0
        self.middles: list[float] = []  # of the isotonic steps, and their log-odds
        self.levels: list[float] = []
        self.seen = 0
        self.scores = np.zeros(WINDOW)
        self.labels = np.zeros(WINDOW)

    def log_odds(self, score: float) -> float:
        """Return the log-odds of label 1, bent so that every score has a probability of its own."""
        straight = self.slope * score + self.intercept
        if self.middles:
            straight = 0.5 * (straight + self._stepped(score))
        return straight / (1.0 + (straight / MAX_LOG_ODDS) ** 8) ** 0.125 if abs(straight) < 1e9 else straight

    def _stepped(self, score: float) -> float:
        """Return the log-odds of the isotonic curve."""
        middles, levels = self.middles, self.levels
        after = bisect_right(middles, score)
        if after == 0:
            return levels[0]
        if after == len(middles):
            return levels[-1]
        share = (score - middles[after - 1]) / (middles[after] - middles[after - 1])
        # Rounding must not lead past the end of the line.
        return min(levels[after - 1] + share * (levels[after] - levels[after - 1]), levels[after])

    def probability(self, score: float) -> float:
        """Return the probability of label 1."""
        x = self.log_odds(score)
        return 1.0 / (1.0 + math.exp(-x)) if x >= 0.0 else math.exp(x) / (1.0 + math.exp(x))

    def recent(self) -> list[tuple[float, bool]]:
        """Return the probability and the label of each recent score."""
        held = min(self.seen, WINDOW)
        scored = zip(self.scores[:held].tolist(), self.labels[:held].tolist(), strict=True)
        return [(self.probability(score), label == 1.0) for score, label in scored]

    def add(self, score: float, label: int) -> None:
        """Add the score of a message, given before it was learned, and its label."""
        place = self.seen % WINDOW
        self.scores[place], self.labels[place] = score, float(label)
        self.seen += 1
        if self.seen % REFIT_EVERY == 0 or self.seen <= REFIT_EVERY:
            held = min(self.seen, WINDOW)
            self._fit_logistic(self.scores[:held], self.labels[:held])
            self._fit_steps(self.scores[:held], self.labels[:held])

    def _fit_logistic(self, scores: Array, labels: Array) -> None:
        """Find the most probable slope and intercept, by Newton's method from the present ones."""
        slope, intercept = self.slope, self.intercept
        for _ in range(NEWTON_STEPS):
            x = np.clip(slope * scores + intercept, -MAX_LOG_ODDS, MAX_LOG_ODDS)
            p = 1.0 / (1.0 + np.exp(-x))
            error, weight = labels - p, p * (1.0 - p)
            # Of the log posterior: its gradient, and its curvature with the sign turned.
            down = float(error @ scores) - (slope - SLOPE) / SLOPE_STD**2
            across = float(error.sum()) - intercept / INTERCEPT_STD**2
            both, weighted = float(weight @ scores), weight * scores
            steep = float(weighted @ scores) + 1.0 / SLOPE_STD**2
            flat = float(weight.sum()) + 1.0 / INTERCEPT_STD**2
            area = steep * flat - both * both
            turn = min(max((flat * down - both * across) / area, -MAX_TURN), MAX_TURN)
            shift = min(max((steep * across - both * down) / area, -MAX_SHIFT), MAX_SHIFT)
            slope, intercept = max(slope + turn, MIN_SLOPE), intercept + shift
            if abs(turn) + abs(shift) < 1e-6:
                break
        self.slope, self.intercept = slope, intercept

    def _fit_steps(self, scores: Array, labels: Array) -> None:
        """Fit the best monotone steps, and draw each towards the logistic curve."""
        order = np.argsort(scores, kind="stable")
        scores, labels = scores[order], labels[order]
        starts = scipy.optimize.isotonic_regression(labels).blocks[:-1]
        sizes = np.diff(np.append(starts, len(scores)))
        middles = np.add.reduceat(scores, starts) / sizes
        ones = np.add.reduceat(labels, starts)
        straight = np.clip(self.slope * middles + self.intercept, -MAX_LOG_ODDS, MAX_LOG_ODDS)
        share = (ones + SHRINKAGE / (1.0 + np.exp(-straight))) / (sizes + SHRINKAGE)
        levels = np.maximum.accumulate(np.log(share / (1.0 - share)))
        # Equal scores may fall into two steps; a line needs two different places.
        apart = np.append(True, np.diff(middles) > 1e-9)
        self.middles, self.levels = middles[apart].tolist(), levels[apart].tolist()

    @property
    def memory_bytes(self) -> int:
        """The bytes of the scores kept."""
        return self.scores.nbytes + self.labels.nbytes

    def meta(self) -> dict[str, Any]:
        """Return the values that are no arrays, as JSON."""
        return {"slope": self.slope, "intercept": self.intercept, "seen": self.seen}

    def arrays(self) -> dict[str, Array]:
        """Return the recent scores, their labels, and the steps."""
        held = min(self.seen, WINDOW)
        return {
            "calibration_scores": self.scores[:held].copy(),
            "calibration_labels": self.labels[:held].copy(),
            "calibration_middles": np.array(self.middles, np.float64),
            "calibration_levels": np.array(self.levels, np.float64),
        }

    def load(self, meta: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Load what `meta` and `arrays` returned, with everything checked."""
        slope, intercept, seen = meta["slope"], meta["intercept"], meta["seen"]
        expect(
            type(slope) is float and math.isfinite(slope) and slope >= MIN_SLOPE,
            "its calibration has no slope",
        )
        expect(type(intercept) is float and math.isfinite(intercept), "its calibration has no intercept")
        expect(type(seen) is int and 0 <= seen < 2**62, "its calibration has seen no number of scores")
        held = min(seen, WINDOW)
        scores, labels = _numbers("scores", arrays), _numbers("labels", arrays)
        expect(scores.shape == labels.shape == (held,), "its calibration's scores do not fit")
        expect(bool(np.isin(labels, (0.0, 1.0)).all()), "a label of its calibration is neither 0 nor 1")
        middles, levels = _numbers("middles", arrays), _numbers("levels", arrays)
        expect(middles.shape == levels.shape and middles.ndim == 1, "its calibration's steps do not fit")
        expect(
            bool((np.diff(middles) > 0).all() and (np.diff(levels) >= 0).all()),
            "its calibration does not rise",
        )
        self.slope, self.intercept, self.seen = slope, intercept, seen
        self.scores[:held], self.labels[:held] = scores, labels
        self.middles, self.levels = middles.tolist(), levels.tolist()


def _numbers(name: str, arrays: Mapping[str, Array]) -> Array:
    array = arrays[f"calibration_{name}"]
    expect(
        isinstance(array, np.ndarray) and array.dtype == np.float64,
        f"its calibration's {name} are no numbers",
    )
    expect(bool(np.isfinite(array).all()), f"its calibration's {name} are not finite")
    return array
