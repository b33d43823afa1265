"""The first samples of a learner whose Fourier features get their scales from them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_bayes.core.measures.student_t import StudentT
from stream_bayes.core.regression.random_fourier_features import Waves, best_length
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.inputs import is_number
from stream_bayes.core.values.payloads import tagged_payload, untagged_payload
from stream_bayes.core.values.values import canonical, is_missing, name_order
from stream_bayes.learners.base.fourier_features import FourierFeatures

__all__ = ["TIMES", "FirstSample", "first_forecast", "scaled_waves"]

TIMES = (8, 16, 32, 64, 128)  # numbers of samples at which scales are set


class FirstSample(NamedTuple):
    """One of the first samples, as it was learned."""

    x: dict[Any, Any]
    y: float
    w: float
    at: float | None
    clock: int  # of the learner, after it

    @classmethod
    def of(cls, x: Mapping[Any, Any], y: Any, w: float, at: float | None, clock: int) -> FirstSample:
        """Return a sample without what is missing."""
        plain = {name: canonical(value) for name, value in x.items() if not is_missing(value)}
        return cls(plain, float(y), float(w), at, clock)

    def is_of(self, other: FirstSample) -> bool:
        """Return True if the other sample is the same, whenever it was learned."""
        return (self.x, self.y, self.w) == (other.x, other.y, other.w)

    def state(self) -> list[Any]:
        """Return it as JSON values."""
        return [tagged_payload(self.x), self.y, self.w, self.at, self.clock]

    @classmethod
    def from_state(cls, saved: Any) -> FirstSample:
        """Return the sample that `state` saved."""
        x, y, w, at, clock = saved
        x = untagged_payload(x)
        expect(
            isinstance(x, dict) and all(map(is_number, (y, w))), "a first sample has no features or no target"
        )
        expect((at is None or is_number(at)) and type(clock) is int, "a first sample has no time")
        return cls(x, y, w, at, clock)


def first_forecast(targets: NDArray[np.float64]) -> StudentT:
    """Return the forecast from the first targets alone."""
    if not len(targets):
        return StudentT(0.0, 0.0, 0.0)
    degrees = float(len(targets) - 1)
    if (targets == targets[0]).all():
        return StudentT(float(targets[0]), 0.0, degrees)
    spread = float(np.std(targets)) * float(np.sqrt((degrees + 2.0) / degrees))
    return StudentT(float(np.mean(targets)), spread, degrees)


def scaled_waves(
    samples: Sequence[FirstSample], numeric: Container[Any], settings: FourierFeatures
) -> Waves | None:
    """Return waves with the scales of some samples; None while no number or no target varies.

    A number has a scale if it is of a numeric feature, and varies.
    """
    targets = np.array([sample.y for sample in samples])
    if not np.ptp(targets) > 0.0:
        return None
    names = {name for each in samples for name in each.x if name in numeric}
    columns: dict[Any, NDArray[np.float64]] = {}
    scales: dict[Any, tuple[float, float]] = {}
    for name in sorted(names, key=name_order):
        column = np.array([float(each.x.get(name, np.nan)) for each in samples])
        mean, deviation = float(np.nanmean(column)), float(np.nanstd(column))
        if deviation > 1e-12 * abs(mean):
            columns[name] = (column - mean) / deviation
            scales[name] = (mean, deviation)
    if not scales:
        return None
    length = settings.length
    if length is None:
        weights = np.array([sample.w for sample in samples])
        length = best_length(np.column_stack(list(columns.values())), targets / np.ptp(targets), weights)
    return settings.waves(scales, float(length))
