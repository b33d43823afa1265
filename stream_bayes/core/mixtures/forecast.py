"""The forecast of a mixture of t distributions, in units of the target, with its tails corrected."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import scipy  # its submodules load on first use

from stream_bayes.core.mixtures._forecast_mixture import ForecastMixture

__all__ = ["Forecast"]

LEAST_SLOPE = 1e-3  # of the correction: it never turns back
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(20)  # of each piece of an integral
NEAR = 5.0  # scales
WIDE = 0.9  # level of the intervals that hold the point
LEAST_SHARE = 1e-13  # of the mixture below or above a quantile


class Forecast:
    """The distribution of a number to come: a mixture, corrected by how often targets fell into its tails. The mixture,
    of an event, stays as it is. A target is mean + deviation * number. `tails` are standard normal quantiles, rising;
    `shifts` by how much each is to be shifted to have the right share of the targets below it. `point` is the forecast
    for the least squared error, where that is another one than the mixture's.

    Examples
    --------
    >>> import numpy as np
    >>> mixture = ForecastMixture(1)
    >>> mixture.take(np.zeros(1), np.zeros(1))
    >>> forecast = Forecast(mixture, 20.0, 2.0, [-1.0, 1.0], [0.0, 0.0])
    >>> low, high = forecast.interval(0.9)
    >>> round(low, 1), round(forecast.median, 2), round(high, 1), round(forecast.below(high), 3)
    (16.2, 20.0, 23.8, 0.95)
    """

    def __init__(
        self,
        mixture: ForecastMixture,
        mean: float,
        deviation: float,
        tails: Sequence[float],
        shifts: Sequence[float],
        point: float | None = None,
    ) -> None:
        self._point = point
        self._mixture = mixture
        self._mean, self._deviation = mean, deviation
        self._right = list(tails)
        self._raw = [tails[0] + shifts[0]]
        for k in range(1, len(self._right)):
            step = tails[k] - tails[k - 1]
            self._raw.append(self._raw[-1] + max(step + (shifts[k] - shifts[k - 1]), LEAST_SLOPE * step))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Forecast):
            return NotImplemented
        parts, others = (
            (m.location, m.spread, m.weights, m.squares) for m in (self._mixture, other._mixture)
        )
        return self._units() == other._units() and all(
            np.array_equal(a, b) for a, b in zip(parts, others, strict=True)
        )

    def _units(self) -> tuple[float, float, float, float | None, list[float], list[float]]:
        return self._mean, self._deviation, self._mixture.unknown, self._point, self._raw, self._right

    __hash__ = None  # type: ignore[assignment]  # equal by value

    def __repr__(self) -> str:
        low, high = self.interval(0.9)
        return f"Forecast(median={self.median:.6g}, 90 % from {low:.6g} to {high:.6g})"

    @property
    def scale(self) -> float:
        """Half the width of the interval of 68.3 %, which is the deviation of a normal distribution."""
        low, high = self.interval(0.6826894921370859)
        return 0.5 * (high - low)

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the mixture, whose tails are not corrected."""
        mixture = self._mixture
        degrees = np.asarray(mixture.degrees)
        weights = np.asarray(mixture.weights).reshape(-1, len(degrees))
        squares = np.asarray(mixture.squares).reshape(-1, len(degrees)) * np.asarray(mixture.spread)[:, None]
        squares = squares + mixture.unknown
        apart = np.asarray(mixture.location) - mixture.mean()
        total = (weights * (squares * degrees / (degrees - 2.0) + np.square(apart)[:, None])).sum()
        return self._deviation * math.sqrt(float(total))

    @property
    def median(self) -> float:
        """The median."""
        return self.quantile(0.5)

    def quantile(self, p: float) -> float:
        """Return the number that the target is below with a probability."""
        share = min(1.0 - LEAST_SHARE, max(LEAST_SHARE, self._share(p)))
        return self._mean + self._deviation * float(self._mixture.quantile(share))

    def _share(self, p: float) -> float:
        """Return the share of the mixture that is below the quantile of a probability."""
        return float(scipy.special.ndtr(_mapped(float(scipy.special.ndtri(p)), self._right, self._raw)[0]))

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval that holds the target with a probability, with equal tails; a wide one also has the
        point.
        """
        low, high = self.quantile(0.5 - 0.5 * level), self.quantile(0.5 + 0.5 * level)
        high = max(low, high)  # both are rounded, to the deviation of targets
        if self._point is None or level < WIDE:
            return low, high
        return min(low, self._point), max(high, self._point)

    def below(self, y: float) -> float:
        """Return the probability that the target is below a number: the probability integral transform."""
        return float(scipy.special.ndtr(self._score(y)[1]))

    def _score(self, y: float) -> tuple[float, float, float]:
        """Return a number's normal quantile in the mixture, the corrected one, and the slope of the correction."""
        raw = float(scipy.special.ndtri(self._mixture.below((y - self._mean) / self._deviation)))
        return raw, *_mapped(raw, self._raw, self._right)

    def log_density(self, y: float) -> float:
        """Return the logarithm of the density at a number."""
        raw, right, slope = self._score(y)
        density = self._mixture.log_density((y - self._mean) / self._deviation) - math.log(self._deviation)
        return float(density + 0.5 * (raw * raw - right * right) + math.log(slope))

    def density(self, y: float) -> float:
        """Return the density at a number."""
        return math.exp(self.log_density(y))

    def crps(self, y: float) -> float:
        """Return the continuous ranked probability score of a number: the integral of squared errors of `below`.

        It is integrated numerically, to about a hundredth of the forecast's scale.

        Examples
        --------
        >>> mixture = ForecastMixture(1)
        >>> mixture.take(np.zeros(1), np.zeros(1))
        >>> forecast = Forecast(mixture, 20.0, 2.0, [-1.0, 1.0], [0.0, 0.0])
        >>> forecast.crps(20.0) < forecast.crps(21.0) < forecast.crps(30.0) < 10.0
        True
        """
        middle, scale = self.median, self.scale
        first, last = min(middle, y), max(middle, y)
        near = middle + math.copysign(
            min(NEAR * scale, abs(y - middle)), y - middle
        )  # the steep part of `below`
        total = 0.0
        for node, weight in zip(0.5 * (NODES + 1.0), 0.5 * NODE_WEIGHTS, strict=True):
            away, stretch = scale * node / (1.0 - node), scale / (1.0 - node) ** 2
            total += weight * stretch * (self.below(first - away) ** 2 + (1.0 - self.below(last + away)) ** 2)
            for start, stop in ((middle, near), (near, y)) if y != near else ((middle, y),):
                share = self.below(start + (stop - start) * node)
                total += weight * abs(stop - start) * (share * share if y > middle else (1.0 - share) ** 2)
        return float(total)


def _mapped(value: float, knots: list[float], images: list[float]) -> tuple[float, float]:
    """Return the image of a number and the slope there: straight between the knots, of slope 1 beyond them."""
    if value <= knots[0]:
        return images[0] + value - knots[0], 1.0
    if value >= knots[-1]:
        return images[-1] + value - knots[-1], 1.0
    at = bisect_right(knots, value)
    slope = (images[at] - images[at - 1]) / (knots[at] - knots[at - 1])
    return images[at - 1] + slope * (value - knots[at - 1]), slope
