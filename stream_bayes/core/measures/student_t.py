"""Student's t distribution of a number to come, with everything that is asked of a prediction."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import NDArray

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

    After n equal numbers nothing is known about the spread, and the scale is 0. The next number lies between the least
    and the largest of n others with a probability of (n - 1) / (n + 1) at least, whatever their distribution:

    >>> StudentT(20.0, 0.0, 18.0).interval(0.9), StudentT(20.0, 0.0, 18.0).interval(0.91)
    ((20.0, 20.0), (-inf, inf))
    """

    location: float  # mean and median
    scale: float  # 0 while nothing is known about the spread: then every density is 0
    degrees: float  # of freedom; infinite ones make a Gaussian. With the scale 0: the equal numbers less 1

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
        """The standard deviation; infinite with two degrees of freedom or fewer, or while the spread is unknown."""
        if self.degrees <= 2.0 or self.scale == 0.0:
            return math.inf
        if self.degrees == math.inf:
            return self.scale
        return self.scale * math.sqrt(self.degrees / (self.degrees - 2.0))

    def quantile(self, p: float) -> float:
        """Return the number that the target is below with a probability."""
        if p == 0.5:
            return self.location
        if self.scale == 0.0:
            end = math.inf if abs(2.0 * p - 1.0) > self._least_coverage() else 0.0
            return self.location + math.copysign(end, p - 0.5)
        return self.location + self.scale * self._standard_quantile(p)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval about the median that holds the target with a probability."""
        if self.scale == 0.0:
            end = math.inf if level > self._least_coverage() else 0.0
            return self.location - end, self.location + end
        reach = self.scale * self._standard_quantile(0.5 + 0.5 * level)
        return self.location - reach, self.location + reach

    def below(self, y: float) -> float:
        """Return the probability that the target is below a number: the probability integral transform."""
        if self.scale == 0.0:
            return 0.5 + 0.5 * self._least_coverage() * ((y > self.location) - (y < self.location))
        away = (y - self.location) / self.scale
        gaussian = self.degrees == math.inf
        return float(scipy.special.ndtr(away) if gaussian else scipy.special.stdtr(self.degrees, away))

    def _least_coverage(self) -> float:
        """Return the least probability that the next number is the same as those before, which were equal."""
        return self.degrees / (self.degrees + 2.0)

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

    def log_densities(self, ys: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithms of the densities at many numbers."""
        if self.scale == 0.0:
            return np.full(len(ys), -math.inf)
        away, peak = (ys - self.location) / self.scale, self.log_density(self.location)
        if self.degrees == math.inf:
            return peak - 0.5 * away * away
        return peak - (self.degrees + 1.0) * np.log(np.hypot(1.0, away / math.sqrt(self.degrees)))

    def density(self, y: float) -> float:
        """Return the density at a number."""
        return math.exp(self.log_density(y))

    def crps(self, y: float) -> float:
        """Return the continuous ranked probability score of a number; infinite with one degree of freedom or fewer,
        or while the spread is unknown.

        Examples
        --------
        >>> round(StudentT(0.0, 1.0, 5.0).crps(0.0), 4), StudentT(0.0, 1.0, 1.0).crps(0.0)
        (0.257, inf)
        """
        if self.degrees <= 1.0 or self.scale == 0.0:
            return math.inf
        more, z = self.degrees - 1.0, (y - self.location) / self.scale
        share = float(
            scipy.special.beta(0.5, self.degrees - 0.5) / scipy.special.beta(0.5, 0.5 * self.degrees) ** 2
        )
        apart = 2.0 * math.sqrt(self.degrees) / more * share
        near = 2.0 * self.scale * self.density(y) * (self.degrees + z * z) / more
        return self.scale * (z * (2.0 * self.below(y) - 1.0) + near - apart)
