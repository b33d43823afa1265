"""Numbers beyond the outer cuts of a network of bins: the farther out one is, the more surprising it is in its bin.

Within an outer bin a number has the density of Student's t with four degrees of freedom, with the mean and the variance
of the variable's numbers so far; each cut counts as one number, as it tells where numbers are expected. Divided by the
largest density of the bin that is a factor of at most 1:

    f(x) = t(x) / t(peak of the bin)        far out it falls by the fifth power of the distance

Inner bins have a factor of 1. So the score of an event is minus the logarithm of a density, in which the unit of a
number is the width of its bin.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from stream_bayes.core.live_networks.family_counts import FamilyCounts
from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.measures.truncated_student import TruncatedStudent
from stream_bayes.core.values.inputs import read_number
from stream_bayes.core.values.values import Value, is_missing

__all__ = ["Tails", "log_tails", "tails_of"]

DEGREES = 4.0  # the fewest of which variance and mean surprise are finite, and whole
POINTS = [(0.5 + 0.5 * x, 0.5 * w) for x, w in zip(*np.polynomial.legendre.leggauss(16), strict=True)]


class Tails(NamedTuple):
    """The two outer bins of a variable.

    Examples
    --------
    >>> tails = Tails(StudentT(0.0, 1.0, DEGREES), -1.0, 1.0)
    >>> [round(tails.log_factor(x), 2) for x in (0.0, 1.0, 2.0, 20.0, -200.0)]
    [0.0, 0.0, -1.18, -10.98, -22.47]
    """

    whole: StudentT  # of the variable's numbers and cuts
    low: float  # the first cut
    high: float  # the last cut

    def log_factor(self, number: float) -> float:
        """Return the logarithm of the density of a number relative to the peak of its bin; 0 in inner bins."""
        if self.low <= number < self.high:
            return 0.0
        peak = (
            min(self.whole.location, self.low) if number < self.low else max(self.whole.location, self.high)
        )
        return self.whole.log_density(number) - self.whole.log_density(peak)

    def expected(self, below: float, above: float) -> float:
        """Return the mean of minus the logarithm, where the outer bins have these probabilities."""
        parts = (below, -math.inf, self.low), (above, self.high, math.inf)
        total = 0.0
        for share, low, high in parts:
            part = TruncatedStudent(self.whole, low, high)
            if share > 0.0 and part.mass > 0.0:
                total -= share * math.fsum(
                    weight * self.log_factor(min(part.quantile(p), math.nextafter(high, -math.inf)))
                    for p, weight in POINTS
                )
        return total


def tails_of(counts: FamilyCounts, variable: Value) -> Tails | None:
    """Return the outer bins of a variable; None if it has names, or no cuts."""
    cuts = _cuts_of(counts, variable)
    if not cuts:
        return None
    numbers, unit = counts.tables.gaussians, counts.tables.unit
    numbers.settle_all()
    cell = counts.slot_of(variable) * numbers.classes
    weight, mean = float(numbers.weight[cell]) / unit, float(numbers.mean[cell])
    squares = max(float(numbers.m2[cell]), 0.0) / unit
    middle = math.fsum(cuts) / len(cuts)
    total = weight + len(cuts)
    squares += math.fsum((cut - middle) ** 2 for cut in cuts)
    squares += weight * len(cuts) / total * (mean - middle) ** 2
    location = (weight * mean + len(cuts) * middle) / total
    # Numbers that are all the only cut tell nothing of their spread.
    scale = math.sqrt(squares / total * (DEGREES - 2.0) / DEGREES) or 1e-3 * abs(location) or 1.0
    return Tails(StudentT(location, scale, DEGREES), cuts[0], cuts[-1])


def log_tails(counts: FamilyCounts, x: Mapping[Any, Any]) -> dict[Value, float]:
    """Return the logarithm of the factor of each number of an event that lies beyond the outer cuts."""
    if counts.tables.bins is None:
        return {}
    logs = {}
    for v, value in x.items():
        if v not in counts.structure or isinstance(value, Mapping) or is_missing(value):
            continue
        cuts = _cuts_of(counts, v)
        if cuts and not cuts[0] <= (number := read_number(v, value, True)) < cuts[-1]:
            tails = tails_of(counts, v)
            assert tails is not None
            logs[v] = tails.log_factor(number)
    return logs


def _cuts_of(counts: FamilyCounts, v: Value) -> tuple[float, ...]:
    feature, bins = counts.encoder.features[v], counts.tables.bins
    return bins.cuts.get(feature.slot, ()) if bins is not None and feature.measured else ()
