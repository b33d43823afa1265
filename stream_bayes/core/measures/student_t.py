"""Student's t distribution of a number to come, with everything that is asked of a prediction."""

from __future__ import annotations

import math
from typing import NamedTuple

import scipy  # its submodules load on first use

__all__ = ["StudentT"]


class StudentT(NamedTuple):
    """Student's t distribution of a number.

    Examples
    --------
    >>> forecast = StudentT(20.0, 2.0, 9.0)
    >>> low, high = forecast.interval(0.9)
    >>> round(low, 3), round(high, 3), round(forecast.density(21.0), 4)
    (16.334, 23.666, 0.1692)
    >>> StudentT(20.0, 0.0, 0.0).interval(0.9)
    (-inf, inf)
    """

    location: float  # mean and median
    # 0 while nothing is known about the spread: then every interval is infinite and every density 0
    scale: float
    degrees: float  # of freedom; infinite ones make a Gaussian

    @property
    def mean(self) -> float:
        """The mean."""
        return self.location

    @property
    def median(self) -> float:
        """The median."""
        return self.location

    @property
    def standard_deviation(self) -> float:
        """The standard deviation; infinite with two degrees of freedom or fewer."""
        if self.degrees <= 2.0:
            return math.inf
        if self.degrees == math.inf:
            return self.scale
        return self.scale * math.sqrt(self.degrees / (self.degrees - 2.0))

    def quantile(self, p: float) -> float:
        """Return the number that the target is below with a probability."""
        if p == 0.5:
            return self.location
        if self.scale == 0.0:
            return -math.inf if p < 0.5 else math.inf
        return self.location + self.scale * self._standard_quantile(p)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval about the median that holds the target with a probability."""
        if self.scale == 0.0:
            return -math.inf, math.inf
        reach = self.scale * self._standard_quantile(0.5 + 0.5 * level)
        return self.location - reach, self.location + reach

    def below(self, y: float) -> float:
        """Return the probability that the target is below a number: the probability integral transform."""
        if self.scale == 0.0:
            return 0.5
        away = (y - self.location) / self.scale
        gaussian = self.degrees == math.inf
        return float(scipy.special.ndtr(away) if gaussian else scipy.special.stdtr(self.degrees, away))

    def _standard_quantile(self, p: float) -> float:
        gaussian = self.degrees == math.inf
        return float(scipy.special.ndtri(p) if gaussian else scipy.special.stdtrit(self.degrees, p))

    def log_density(self, y: float) -> float:
        """Return the logarithm of the density at a number."""
        if self.scale == 0.0:
            return -math.inf
        if self.degrees == math.inf:
            away = (y - self.location) / self.scale
            return -0.5 * (away * away + math.log(2.0 * math.pi)) - math.log(self.scale)
        half, root = 0.5 * self.degrees, math.sqrt(self.degrees)
        tail = (2.0 * half + 1.0) * math.log(math.hypot(1.0, (y - self.location) / self.scale / root))
        start = math.lgamma(half + 0.5) - math.lgamma(half)
        return start - 0.5 * math.log(math.pi * self.degrees) - math.log(self.scale) - tail

    def density(self, y: float) -> float:
        """Return the density at a number."""
        return math.exp(self.log_density(y))

    def crps(self, y: float) -> float:
        """Return the continuous ranked probability score of a number; infinite with one degree of freedom or fewer.

        Examples
        --------
        >>> round(StudentT(0.0, 1.0, 5.0).crps(0.0), 4), StudentT(0.0, 1.0, 1.0).crps(0.0)
        (0.257, inf)
        """
        if self.degrees <= 1.0:
            return math.inf
        more, z = self.degrees - 1.0, (y - self.location) / self.scale
        share = float(
            scipy.special.beta(0.5, self.degrees - 0.5) / scipy.special.beta(0.5, 0.5 * self.degrees) ** 2
        )
        apart = 2.0 * math.sqrt(self.degrees) / more * share
        near = 2.0 * self.scale * self.density(y) * (self.degrees + z * z) / more
        return self.scale * (z * (2.0 * self.below(y) - 1.0) + near - apart)
