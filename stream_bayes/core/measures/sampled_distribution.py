"""A distribution of a number, kept as its interval and 17 shares: its CRPS, log density and PIT at a label.

F stands at `POINTS`, in half widths from the middle of the interval. For the CRPS, the integral of (F(z) - [z >=
label])^2, F is taken for straight between the points, and for 0 and 1 beyond them. The density is the slope of a smooth
curve: the logit of F rises over asinh(z) nearly straight, in the tails of a t distribution exactly so, and monotone
cubic pieces join its points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["POINTS", "SampledDistribution", "points_of"]

POINTS = (-5.0, -2.6, -1.6, -1.0, -0.55, -0.35, -0.2, -0.08, 0.0, 0.08, 0.2, 0.35, 0.55, 1.0, 1.6, 2.6, 5.0)
STRETCHED = tuple(map(math.asinh, POINTS))
NEGLIGIBLE = 1e-12  # shares nearer to 0 or 1 are rounding, and the curve goes on straight from the next one


class SampledDistribution(NamedTuple):
    """The share of a distribution below each of `points_of(low, high)`.

    Examples
    --------
    >>> from stream_bayes.core.measures.student_t import StudentT
    >>> forecast = StudentT(3.0, 2.0, 10.0)
    >>> low, high = forecast.interval(0.9)
    >>> sampled = SampledDistribution(low, high, [forecast.below(z) for z in points_of(low, high)])
    >>> round(sampled.crps(4.0), 1), round(forecast.crps(4.0), 1)
    (0.7, 0.7)
    >>> log_density, share = sampled.log_density_and_share(9.0)
    >>> round(log_density, 2) == round(forecast.log_density(9.0), 2), abs(share - forecast.below(9.0)) < 0.001
    (True, True)
    """

    low: float
    high: float
    shares: Sequence[float]

    def crps(self, label: float) -> float:
        """Return the continuous ranked probability score of a label."""
        return _crps(points_of(self.low, self.high), self.shares, label)

    def log_density_and_share(self, label: float) -> tuple[float, float]:
        """Return the logarithm of the density at a label and the share below it, its probability integral transform.

        NaN if the distribution is a single number.
        """
        half = 0.5 * self.high - 0.5 * self.low
        curve = self._curve()
        if not half > 0.0 or len(curve) < 2:
            return math.nan, math.nan
        z = max(-1e150, min(1e150, (label - (0.5 * self.low + 0.5 * self.high)) / half))
        logit, slope = _at(curve, math.asinh(z))
        size = abs(logit)
        log_density = -size - 2.0 * math.log1p(math.exp(-size)) + math.log(slope)  # F (1 - F) times the slope
        log_density -= math.log(math.hypot(1.0, z)) + math.log(half)  # that of asinh(z)
        return log_density, 1.0 / (1.0 + math.exp(-logit)) if logit > -700.0 else 0.0

    def _curve(self) -> list[tuple[float, float]]:
        """Return the points (asinh(z), logit of F) that rise, without those whose shares are rounding."""
        curve: list[tuple[float, float]] = []
        highest = -math.inf
        for at, share in zip(STRETCHED, self.shares, strict=True):
            if NEGLIGIBLE < share < 1.0 - NEGLIGIBLE and (logit := math.log(share / (1.0 - share))) > highest:
                curve.append((at, logit))
                highest = logit
        return curve


def points_of(low: float, high: float) -> list[float]:
    """Return the numbers at which the distribution with an interval is sampled."""
    middle, half = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
    return [middle + point * half for point in POINTS]


def _at(curve: Sequence[tuple[float, float]], x: float) -> tuple[float, float]:
    """Return the value and the slope of the monotone cubic pieces through points; beyond the ends they are straight."""
    last = len(curve) - 2  # the last piece
    k = next((k for k in range(last) if x < curve[k + 1][0]), last)
    (start, low), (stop, high) = curve[k], curve[k + 1]
    step, rise = stop - start, (high - low) / (stop - start)
    first = rise if k == 0 else _slope(curve[k - 1], curve[k], curve[k + 1])
    second = rise if k == last else _slope(curve[k], curve[k + 1], curve[k + 2])
    if x <= start:
        return low + first * (x - start), first
    if x >= stop:
        return high + second * (x - stop), second
    t = (x - start) / step
    left = 1.0 - t
    value = low * (1.0 + 2.0 * t) * left * left + high * t * t * (3.0 - 2.0 * t)
    value += step * t * left * (first * left - second * t)
    return value, 6.0 * t * left * rise + first * left * (1.0 - 3.0 * t) + second * t * (3.0 * t - 2.0)


def _slope(before: tuple[float, float], at: tuple[float, float], after: tuple[float, float]) -> float:
    """Return the slope at a point: the harmonic mean of those beside it, weighted as Fritsch and Butland do."""
    first, second = at[0] - before[0], after[0] - at[0]
    rise, further = (at[1] - before[1]) / first, (after[1] - at[1]) / second
    return 3.0 * (first + second) / ((2.0 * second + first) / rise + (second + 2.0 * first) / further)


def _crps(points: Sequence[float], shares: Sequence[float], label: float) -> float:
    """Return the score of a label under a distribution that is straight between points.

    Examples
    --------
    >>> round(_crps([0.0, 1.0], [0.0, 1.0], 0.5), 6), round(_crps([0.0, 1.0], [0.0, 1.0], 3.0), 6)
    (0.083333, 2.333333)
    """
    total = max(points[0] - label, label - points[-1], 0.0)
    for k in range(len(points) - 1):
        start, stop, first, last = points[k], points[k + 1], shares[k], shares[k + 1]
        if label <= start:
            total += _squares(stop - start, 1.0 - first, 1.0 - last)
        elif label >= stop:
            total += _squares(stop - start, first, last)
        else:
            share = first + (last - first) * (label - start) / (stop - start)
            total += _squares(label - start, first, share) + _squares(stop - label, 1.0 - share, 1.0 - last)
    return total


def _squares(width: float, first: float, last: float) -> float:
    """Return the integral of the square of what goes straight from one number to another."""
    return width * (first * first + first * last + last * last) / 3.0
