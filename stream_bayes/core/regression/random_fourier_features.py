"""Random Fourier features: waves over numbers, on which a linear regression is nearly a Gaussian process.

    column k of an event = sqrt(2 / K) cos(w_k z + phase_k)      z: its numbers, in deviations
    w_k ~ N(0, 1 / length^2)      phase_k ~ uniform over a turn

The expected product of an event's columns and another's is exp(-(z - z')^2 / (2 length^2)). A number that is missing is
one drawn from the standard normal distribution: its columns are their means over that, exp(-w^2 / 2) times the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import NDArray

from stream_bayes.core.encoding._targets import is_column
from stream_bayes.core.regression.gaussian_process import (
    FIRST_RATIO,
    GaussianKernel,
    ProcessPosterior,
    UncertainRows,
)
from stream_bayes.core.values.checks import expect
from stream_bayes.core.values.inputs import read_number
from stream_bayes.core.values.values import tagged, untagged

__all__ = ["Waves", "best_length", "is_derived", "is_wave", "wave_names"]

Floats = NDArray[np.float64]

LARGEST_NUMBER = 1e100  # of a feature
WAVE = "wave"  # begins the names of the columns
LENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0)  # that are compared, times the root of the number of features
RATIOS = (1.0, 10.0, 100.0, 1000.0, 10_000.0)


def is_wave(name: Any) -> bool:
    """Return True for the name of a column of waves."""
    return type(name) is tuple and len(name) == 2 and name[0] == WAVE and type(name[1]) is int


def wave_names(count: int) -> list[tuple[str, int]]:
    """Return the names of the columns of some waves."""
    return [(WAVE, k) for k in range(count)]


def is_derived(name: Any) -> bool:
    """Return True for the name of a column that is no feature: of a nominal value, or of a wave."""
    return bool(is_column(name)) or is_wave(name)


class Waves:
    """Waves over the numbers of an event. `scales` has, by feature, mean and deviation of its numbers. `length` is the
    distance, in deviations, over which the target changes. `drawn` has numbers between 0 and 1, drawn at random: a row
    for each wave, with its phase and a frequency for each feature.

    Examples
    --------
    >>> waves = Waves({"wind": (3.0, 2.0)}, 1.0, np.array([[0.0, 0.75], [0.5, 0.25]]))
    >>> {name: round(number, 3) for name, number in waves.columns({"wind": 4.0}).items()}
    {('wave', 0): 0.944, ('wave', 1): -0.944}
    """

    def __init__(self, scales: Mapping[Any, tuple[float, float]], length: float, drawn: Floats) -> None:
        self.scales = dict(scales)
        self.length = length
        self.names = wave_names(len(drawn))
        self._frequencies: Floats = scipy.special.ndtri(drawn[:, 1:]) / length
        self._phases: Floats = 2.0 * math.pi * drawn[:, 0]
        self._height = math.sqrt(2.0 / len(drawn))

    def columns(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return the waves of an event."""
        turns, gaps = self._turns(x)
        damping = np.square(self._frequencies[:, gaps]).sum(axis=1)
        heights = self._height * np.exp(-0.5 * damping) * np.cos(turns)
        return dict(zip(self.names, heights.tolist(), strict=True))

    def covariance(self, x: Mapping[Any, Any]) -> Floats | None:
        """Return the covariance of an event's waves over the numbers that it lacks; None if it lacks none."""
        turns, gaps = self._turns(x)
        if not gaps:
            return None
        frequencies = self._frequencies[:, gaps]
        shared = frequencies @ frequencies.T
        own = np.diag(shared)
        apart, damped = 0.5 * (own[:, None] + own[None, :]), np.exp(-0.5 * own) * np.cos(turns)
        same = np.cos(turns[:, None] - turns[None, :]) * np.exp(shared - apart)
        both = 0.5 * (same + np.cos(turns[:, None] + turns[None, :]) * np.exp(-shared - apart))
        return self._height**2 * (both - np.outer(damped, damped))

    def _turns(self, x: Mapping[Any, Any]) -> tuple[Floats, list[int]]:
        """Return the angles of the numbers that an event has, and the places of those that it lacks."""
        turns, gaps = self._phases.copy(), list[int]()
        for k, (name, (mean, deviation)) in enumerate(self.scales.items()):
            number = read_number(name, x.get(name), True)
            if abs(number) <= LARGEST_NUMBER:
                turns += self._frequencies[:, k] * ((number - mean) / deviation)
            else:  # missing, or about to be refused by the encoder
                gaps.append(k)
        return turns, gaps

    def state(self) -> dict[str, Any]:
        """Return the scales and the length as JSON values."""
        scales = [[tagged(name), *scale] for name, scale in self.scales.items()]
        return {"scales": scales, "length": self.length}

    @staticmethod
    def read_state(saved: Mapping[str, Any]) -> tuple[dict[Any, tuple[float, float]], float]:
        """Return the scales and the length that `state` saved; raise `BadState` for numbers that are none."""
        scales = {
            untagged(name): (float(mean), float(deviation)) for name, mean, deviation in saved["scales"]
        }
        length = float(saved["length"])
        positive = [length, *(deviation for _, deviation in scales.values())]
        expect(all(0.0 < each < math.inf for each in positive), "a scale of its waves is not above 0")
        return scales, length


def best_length(rows: Floats, targets: Floats, weights: Floats) -> float:
    """Return the length, in deviations, with the largest evidence of a Gaussian process with one length for all. `rows`
    are the numbers of some events, in deviations; NaN where they are missing. Two of the targets differ.
    """
    features = rows.shape[1]
    best, most = 1.0, -math.inf
    seen = UncertainRows(np.nan_to_num(rows), np.isnan(rows).astype(float))
    for length in LENGTHS:
        lengths = np.full(features, length * math.sqrt(features))
        kernel = GaussianKernel(np.zeros(features, bool), lengths).among(seen)
        for ratio in RATIOS:
            evidence = ProcessPosterior(kernel, targets, weights, ratio).log_evidence()
            evidence -= 0.5 * math.log2(length) ** 2 / 4.0 + 0.5 * math.log10(ratio / FIRST_RATIO) ** 2
            if evidence > most:
                best, most = float(lengths[0]), evidence
    return best
