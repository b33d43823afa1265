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
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.values.checks import expect
from stream_bayes.mail.filter._isotonic import step_starts

__all__ = ["ScoreCurve", "logistic"]

WINDOW: Final = 4_000  # scores
REFIT_EVERY: Final = 50  # scores between two fits; until then every score refits
SLOPE, SLOPE_STD, MIN_SLOPE = 0.5, 0.25, 0.05  # a normal prior, truncated
INTERCEPT_STD: Final = 2.0  # a normal prior around 0
SHRINKAGE: Final = 3.0  # pseudocount that draws a step towards the logistic curve
MAX_LOG_ODDS: Final = 34.0  # beyond, 1 - P rounds to 0
NEWTON_STEPS: Final = 25  # three or four suffice from a near start
MIN_WRONG: Final = 4  # labels that disagree with a clear score, before people are held to have made mistakes
PRIOR_LABELS: Final = 50.0  # pseudocount that draws the share of one label towards that of the other
MIN_LABELLED: Final = 50  # scores of a label, before the mistakes among them are estimated
MAX_WRONG: Final = 0.1  # of the labels
EVIDENCE: Final = 6.0  # of log-likelihood, before labels are held to be wrong
CORRECTIONS: Final = 20  # steps of expectation maximisation in a fit
MIN_BOUND: Final = 20  # scores of a label, before a bound is taken from them
HIDDEN: Final = 0.005  # share of mistakes that hides ham among the clearest spam
FIRST_STEPS: Final = 3  # of them, in which the curves move and the shares of wrong labels do not
MAX_TURN, MAX_SHIFT = 0.25, 1.0  # of slope and intercept in one Newton step, so that it does not overshoot

Array = NDArray[Any]
Rates = tuple[float, float]  # the shares of messages of true label 0 and 1 that have the other label
NO_RATES: Final[Rates] = (0.0, 0.0)


class ScoreCurve:
    """A rising curve from scores to probabilities, fitted online. `window` is the number of recent scores that it is
    fitted to.

    Examples
    --------
    >>> calibration = ScoreCurve()
    >>> for score in range(100):
    ...     calibration.add(score / 50 - 1.0, score > 50)
    >>> calibration.probability(-1.0) < 0.25 < 0.75 < calibration.probability(1.0)
    True
    """

    def __init__(self, window: int = WINDOW) -> None:
        self.window = window
        self.clear()

    @property
    def recent_count(self) -> int:
        """The number of scores held."""
        return min(self.seen, self.window)

    @property
    def ones(self) -> int:
        """The number of scores held whose label is 1."""
        return int(self.labels[: self.recent_count].sum())

    def clear(self) -> None:
        """Drop all scores, and return to the prior."""
        self.slope, self.intercept = SLOPE, 0.0
        self.middles: list[float] = []  # of the isotonic steps, and their log-odds
        self.levels: list[float] = []
        self.wrong = NO_RATES
        self.seen = 0
        self.scores = np.zeros(self.window)
        self.labels = np.zeros(self.window)
        self._low: dict[float, float | None] = {}  # a cache of `low_score`

    @property
    def doubt(self) -> float:
        """The share of labels held to be wrong, mean of both labels'."""
        return 0.5 * sum(self.wrong)

    def log_odds(self, score: float) -> float:
        """Return the log-odds of label 1, bent so that every score has a probability of its own.

        Where messages of label 1 are labelled 0, a message of label 0 that looks like label 1 is taken for one more
        mistake. So label 0 is held to be up to twice as probable among the highest scores.
        """
        straight = self.slope * score + self.intercept
        if self.middles:
            straight = 0.5 * (straight + self._stepped(score))
        if self.wrong[1] and straight > 0.0:
            straight -= math.log1p(self.wrong[1] / (self.wrong[1] + HIDDEN)) * math.tanh(0.5 * straight)
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
        return logistic(self.log_odds(score))

    def recent(self) -> list[tuple[float, bool]]:
        """Return each recent score, and True for label 1."""
        count = self.recent_count
        scored = zip(self.scores[:count].tolist(), self.labels[:count].tolist(), strict=True)
        return [(score, label == 1.0) for score, label in scored]

    def add(self, score: float, label: int) -> None:
        """Add the score of a message, given before it was learned, and its label."""
        self._put(score, label)
        if self.seen % REFIT_EVERY == 0 or self.seen <= REFIT_EVERY:
            self._fit()

    def refit(self, scored: Sequence[tuple[float, int]]) -> None:
        """Replace all scores and their labels, and fit the curves to them alone."""
        self.clear()
        for score, label in scored:
            self._put(score, label)
        if scored:
            self._fit()

    def _put(self, score: float, label: int) -> None:
        slot = self.seen % self.window
        if label or self.labels[slot]:
            self._low.clear()
        self.scores[slot], self.labels[slot] = score, float(label)
        self.seen += 1

    def _fit(self) -> None:
        """Fit the curves to the scores held, and to the shares of wrong labels among them."""
        count = self.recent_count
        scores, labels = self.scores[:count], self.labels[:count]
        self._low.clear()
        self._fit_logistic(scores, labels)
        self.wrong = self._explain(scores, labels, wrong_label_rates(scores, labels))
        if any(self.wrong):
            for step in range(CORRECTIONS):
                truth = _true_labels(self._straight(scores), labels, self.wrong)
                self.wrong = _rates(truth, labels, self.wrong, step)
                self._fit_logistic(scores, truth)
                self._fit_steps(scores, truth)
        else:
            self._fit_steps(scores, labels)

    def low_score(self, share: float) -> float | None:
        """Return a score of label 1 that at most this share of its messages is below; None for fewer than 20 of them.

        Where a share of labels is wrong, a message counts as far as its label is probably right.
        The next message of label 1 is one of n + 1, of which each is as likely to be among the lowest.
        """
        if share not in self._low:
            self._low[share] = self._find_low_score(share)
        return self._low[share]

    def _find_low_score(self, share: float) -> float | None:
        ones = np.sort(self.scores[: self.recent_count][self.labels[: self.recent_count] == 1.0])
        if len(ones) < MIN_BOUND:
            return None
        right = np.cumsum(_true_labels(self._straight(ones), np.ones(len(ones)), self.wrong))
        rank = int(np.searchsorted(right, max(int(share * (right[-1] + 1.0)), 1) - 1e-6))
        return float(ones[min(rank, len(ones) - 1)])

    def _straight(self, scores: Array) -> Array:
        """Return the log-odds of both curves, or of the logistic one before there are steps."""
        straight: Array = self.slope * scores + self.intercept
        return 0.5 * (straight + np.interp(scores, self.middles, self.levels)) if self.middles else straight

    def _explain(self, scores: Array, labels: Array, wrong: Rates) -> Rates:
        """Return the shares of wrong labels if they explain the labels much better than a less steep curve, else zeros.

        Fit the logistic curve to what the labels should have been, and the shares with it: among the clearest scores
        there are too few mistakes to estimate them closely. Keep the curve if wrong labels explain the labels, and the
        present one if not.
        """
        if not any(wrong):
            return NO_RATES
        before = self.slope, self.intercept
        plain = _log_likelihood(self.slope * scores + self.intercept, labels, NO_RATES)
        for step in range(CORRECTIONS):
            truth = _true_labels(self.slope * scores + self.intercept, labels, wrong)
            wrong = _rates(truth, labels, wrong, step)
            self._fit_logistic(scores, truth)
        corrected = _log_likelihood(self.slope * scores + self.intercept, labels, wrong)
        if corrected - plain < EVIDENCE:
            self.slope, self.intercept = before
            return NO_RATES
        return wrong

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
        starts = step_starts(labels)
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
        return {
            "slope": self.slope,
            "intercept": self.intercept,
            "seen": self.seen,
            "wrong": list(self.wrong),
        }

    def arrays(self) -> dict[str, Array]:
        """Return the recent scores, their labels, and the steps."""
        count = self.recent_count
        return {
            "calibration_scores": self.scores[:count].copy(),
            "calibration_labels": self.labels[:count].copy(),
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
        wrong = meta["wrong"]
        expect(
            type(wrong) is list and len(wrong) == 2 and all(type(share) is float for share in wrong),
            "its calibration has no shares of wrong labels",
        )
        expect(all(0.0 <= share <= MAX_WRONG for share in wrong), "a share of wrong labels is out of range")
        count = min(seen, self.window)
        scores, labels = _numbers("scores", arrays), _numbers("labels", arrays)
        expect(scores.shape == labels.shape == (count,), "its calibration's scores do not fit")
        expect(bool(np.isin(labels, (0.0, 1.0)).all()), "a label of its calibration is neither 0 nor 1")
        middles, levels = _numbers("middles", arrays), _numbers("levels", arrays)
        expect(middles.shape == levels.shape and middles.ndim == 1, "its calibration's steps do not fit")
        expect(
            bool((np.diff(middles) > 0).all() and (np.diff(levels) >= 0).all()),
            "its calibration does not rise",
        )
        self.slope, self.intercept, self.seen = slope, intercept, seen
        self.wrong = (wrong[0], wrong[1])
        self.scores[:count], self.labels[:count] = scores, labels
        self._low.clear()
        self.middles, self.levels = middles.tolist(), levels.tolist()


def logistic(x: float) -> float:
    """Return the probability of these log-odds."""
    low = math.exp(-abs(x))
    return 1.0 / (1.0 + low) if x >= 0.0 else low / (1.0 + low)


def _true_labels(straight: Array, labels: Array, wrong: Rates) -> Array:
    """Return the probability that each true label is 1: a step of expectation maximisation. `straight` are the log-odds
    of label 1, of curves fitted before; `labels` those given. `wrong` are the shares of wrong labels, of
    `wrong_label_rates`.
    """
    share = _probabilities(straight)
    as_one = np.where(labels == 1.0, 1.0 - wrong[1], wrong[1]) * share
    as_zero = np.where(labels == 1.0, wrong[0], 1.0 - wrong[0]) * (1.0 - share)
    return as_one / (as_one + as_zero)


def _rates(truth: Array, labels: Array, wrong: Rates, step: int) -> Rates:
    """Return the shares of wrong labels, given how probable it is that each true label is 1; the old ones at first."""
    if step < FIRST_STEPS:
        return wrong
    zeros, ones = (1.0 - truth) @ labels, truth @ (1.0 - labels)
    many = float(truth.sum())
    return min(float(zeros) / (len(truth) - many), MAX_WRONG), min(float(ones) / many, MAX_WRONG)


def _log_likelihood(straight: Array, labels: Array, wrong: Rates) -> float:
    share = wrong[0] + (1.0 - wrong[0] - wrong[1]) * _probabilities(straight)
    return float(np.log(np.where(labels == 1.0, share, 1.0 - share)).sum())


def _probabilities(straight: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-np.clip(straight, -MAX_LOG_ODDS, MAX_LOG_ODDS)))


def wrong_label_rates(scores: Array, labels: Array) -> Rates:
    """Return the estimated shares of messages of true label 0 and 1 that have the other label.

    Mistakes of people fall on messages of any score, those of the filter on scores in the middle. So among the half of
    each label with the clearest scores, the labels that disagree are mistakes of people, as far as they are as frequent
    among the clearest quarter. Fewer than four prove nothing, and of a rare label nothing is estimated. Where only
    one label is proved to have mistakes, the share of the other is drawn to that one.

    Examples
    --------
    >>> scores = np.arange(1000.0)
    >>> wrong_label_rates(scores, (scores >= 500) * 1.0)
    (0.0, 0.0)
    >>> labels = np.where(scores % 20 == 7, scores < 500, scores >= 500) * 1.0
    >>> [round(rate, 3) for rate in wrong_label_rates(scores, labels)]
    [0.049, 0.046]
    """
    turned = 1.0 - labels
    zeros, ones = _disagreement(-scores, turned), _disagreement(scores, labels)
    if zeros and not ones:
        ones = _disagreement(scores, labels, zeros)
    elif ones and not zeros:
        zeros = _disagreement(-scores, turned, ones)
    return zeros, ones


def _disagreement(scores: Array, labels: Array, prior: float | None = None) -> float:
    """Return the share of zeros among the highest scores of ones, drawn towards a prior if there is one."""
    ones = np.sort(scores[labels == 1.0])
    if len(ones) < MIN_LABELLED:
        return 0.0
    rates = []
    for rank in (len(ones) // 2, 3 * len(ones) // 4):
        clear = labels[scores >= ones[rank]]
        wrong = float(len(clear) - clear.sum())
        if prior is not None:
            rates.append((wrong + PRIOR_LABELS * prior) / (len(clear) + PRIOR_LABELS))
        else:
            rates.append(wrong / len(clear) if wrong >= MIN_WRONG else 0.0)
    return min(*rates, MAX_WRONG)


def _numbers(name: str, arrays: Mapping[str, Array]) -> Array:
    array = arrays[f"calibration_{name}"]
    expect(
        isinstance(array, np.ndarray) and array.dtype == np.float64,
        f"its calibration's {name} are no numbers",
    )
    expect(bool(np.isfinite(array).all()), f"its calibration's {name} are not finite")
    return array
