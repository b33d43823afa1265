"""Student's t distribution of a number that is known to lie between two others, as in a bin."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.measures.student_t import StudentT

__all__ = ["TruncatedStudent"]


class TruncatedStudent(NamedTuple):
    """Student's t distribution of a number between two bounds, of which one or both may be infinite.

    Examples
    --------
    >>> half = TruncatedStudent(StudentT(0.0, 1.0, math.inf), 0.0, math.inf)
    >>> round(half.mean, 4), round(half.standard_deviation, 4), round(half.quantile(0.5), 4)
    (0.7979, 0.6028, 0.6745)
    """

    whole: StudentT  # the distribution without the bounds; its scale is above 0, and its degrees are above 2
    low: float
    high: float

    @property
    def mass(self) -> float:
        """The probability of these bounds without them."""
        return self._beyond(self._near) - self._beyond(self._far)

    # Probabilities are those of the tail that the bounds lie in: of two that are close to 1 the difference would be 0.

    @property
    def _is_above(self) -> bool:
        return self.low > self.whole.location

    @property
    def _near(self) -> float:
        return self.low if self._is_above else self.high

    @property
    def _far(self) -> float:
        return self.high if self._is_above else self.low

    def _beyond(self, y: float) -> float:
        return self.whole.below(2.0 * self.whole.location - y if self._is_above else y)

    @property
    def mean(self) -> float:
        """The mean."""
        return self.whole.location + self.whole.scale * self._moments[0]

    @property
    def standard_deviation(self) -> float:
        """The standard deviation."""
        first, second = self._moments
        return self.whole.scale * math.sqrt(max(second - first * first, 0.0))

    @property
    def _moments(self) -> tuple[float, float]:
        """The means of the number and of its square, in units of the scale about the location."""
        degrees, mass = self.whole.degrees, self.mass
        ends = [(bound - self.whole.location) / self.whole.scale for bound in (self.low, self.high)]
        if mass <= 0.0:  # too far out for a probability: all lies at the nearer bound
            near = min(ends, key=abs)
            return near, near * near
        standard = StudentT(0.0, 1.0, degrees)
        if degrees == math.inf:
            heights = [0.0 if math.isinf(end) else standard.density(end) for end in ends]
            pulls = [
                0.0 if math.isinf(end) else end * height for end, height in zip(ends, heights, strict=True)
            ]
            return (heights[0] - heights[1]) / mass, 1.0 + (pulls[0] - pulls[1]) / mass
        heights = [
            0.0 if math.isinf(end) else standard.density(end) * (degrees + end * end) / (degrees - 1.0)
            for end in ends
        ]
        # The square times the density is a t density of two degrees fewer, less the density itself.
        wider = math.sqrt(degrees / (degrees - 2.0))
        fewer = TruncatedStudent(StudentT(0.0, wider, degrees - 2.0), *ends).mass
        second = degrees * ((degrees - 1.0) / (degrees - 2.0) * fewer / mass - 1.0)
        return (heights[0] - heights[1]) / mass, second

    def log_density(self, y: float) -> float:
        """Return the logarithm of the density at a number; -inf outside the bounds."""
        if not self.low <= y <= self.high or self.mass <= 0.0:
            return -math.inf
        return self.whole.log_density(y) - math.log(self.mass)

    def log_densities(self, ys: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithms of the densities at many numbers."""
        if (mass := self.mass) <= 0.0:
            return np.full(len(ys), -math.inf)
        is_inside = (self.low <= ys) & (ys <= self.high)
        return np.where(is_inside, self.whole.log_densities(ys) - math.log(mass), -math.inf)

    def below(self, y: float) -> float:
        """Return the probability that the number is below another one."""
        if y <= self.low or y >= self.high or self.mass <= 0.0:
            return float(y > self.low)
        part = TruncatedStudent(self.whole, self.low, y)
        if self._is_above:
            return part.mass / self.mass
        return (self.whole.below(y) - self.whole.below(self.low)) / self.mass

    def quantile(self, p: float) -> float:
        """Return the number that this one is below with a probability."""
        share = 1.0 - p if self._is_above else p
        beyond = self._beyond(self._far) + share * self.mass
        y = self.whole.quantile(min(beyond, 1.0))
        y = 2.0 * self.whole.location - y if self._is_above else y
        return min(max(y, self.low), self.high)
