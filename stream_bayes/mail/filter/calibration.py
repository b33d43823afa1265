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
import scipy  # its parts are loaded when they are first asked for
from numpy.typing import NDArray

from stream_bayes.core.values.checks import expect

__all__ = ["Calibration"]

WINDOW: Final = 4_000  # scores
EVERY: Final = 50  # scores until the curves are fitted again; among the first so many, at each
SLOPE, SLOPE_SPREAD, LEAST_SLOPE = 0.5, 0.25, 0.05  # the prior: normal, and cut below
PLACE_SPREAD: Final = 2.0  # the place's prior: normal about 0
DRAWN: Final = 3.0  # messages by which a step is drawn to the logistic curve
FURTHEST: Final = 34.0  # log-odds that no probability passes: beyond, 1 - P is no number of its own
STEPS: Final = 25  # of Newton's method; three or four settle it, where it need not come from afar
MOST_TURN, MOST_SHIFT = 0.25, 1.0  # of slope and place in one step, so that it does not overshoot

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
        self.slope, self.place = SLOPE, 0.0
        self.middles: list[float] = []  # of the isotonic steps, and their log-odds
        self.levels: list[float] = []
        self.seen = 0
        self.scores = np.zeros(WINDOW)
        self.labels = np.zeros(WINDOW)

    def log_odds(self, score: float) -> float:
        """Return the log-odds of label 1, bent so that every score has a probability of its own."""
        straight = self.slope * score + self.place
        if self.middles:
            straight = 0.5 * (straight + self._stepped(score))
        return straight / (1.0 + (straight / FURTHEST) ** 8) ** 0.125 if abs(straight) < 1e9 else straight

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

    def add(self, score: float, label: int) -> None:
        """Add the score of a message, given before it was learned, and its label."""
        place = self.seen % WINDOW
        self.scores[place], self.labels[place] = score, float(label)
        self.seen += 1
        if self.seen % EVERY == 0 or self.seen <= EVERY:
            held = min(self.seen, WINDOW)
            self._fit_logistic(self.scores[:held], self.labels[:held])
            self._fit_steps(self.scores[:held], self.labels[:held])

    def _fit_logistic(self, scores: Array, labels: Array) -> None:
        """Find the most probable slope and place, by Newton's method from the present ones."""
        slope, place = self.slope, self.place
        for _ in range(STEPS):
            x = np.clip(slope * scores + place, -FURTHEST, FURTHEST)
            p = 1.0 / (1.0 + np.exp(-x))
            error, weight = labels - p, p * (1.0 - p)
            # Of the log posterior: its gradient, and its curvature with the sign turned.
            down = float(error @ scores) - (slope - SLOPE) / SLOPE_SPREAD**2
            across = float(error.sum()) - place / PLACE_SPREAD**2
            both, weighted = float(weight @ scores), weight * scores
            steep = float(weighted @ scores) + 1.0 / SLOPE_SPREAD**2
            flat = float(weight.sum()) + 1.0 / PLACE_SPREAD**2
            area = steep * flat - both * both
            turn = min(max((flat * down - both * across) / area, -MOST_TURN), MOST_TURN)
            shift = min(max((steep * across - both * down) / area, -MOST_SHIFT), MOST_SHIFT)
            slope, place = max(slope + turn, LEAST_SLOPE), place + shift
            if abs(turn) + abs(shift) < 1e-6:
                break
        self.slope, self.place = slope, place

    def _fit_steps(self, scores: Array, labels: Array) -> None:
        """Fit the best monotone steps, and draw each towards the logistic curve."""
        order = np.argsort(scores, kind="stable")
        scores, labels = scores[order], labels[order]
        starts = scipy.optimize.isotonic_regression(labels).blocks[:-1]
        sizes = np.diff(np.append(starts, len(scores)))
        middles = np.add.reduceat(scores, starts) / sizes
        ones = np.add.reduceat(labels, starts)
        straight = np.clip(self.slope * middles + self.place, -FURTHEST, FURTHEST)
        share = (ones + DRAWN / (1.0 + np.exp(-straight))) / (sizes + DRAWN)
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
        return {"slope": self.slope, "place": self.place, "seen": self.seen}

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
        slope, place, seen = meta["slope"], meta["place"], meta["seen"]
        expect(
            type(slope) is float and math.isfinite(slope) and slope >= LEAST_SLOPE,
            "its calibration has no slope",
        )
        expect(type(place) is float and math.isfinite(place), "its calibration has no place")
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
        self.slope, self.place, self.seen = slope, place, seen
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
