"""A distribution that is kept as 17 shares has nearly the CRPS, log density and PIT of the distribution itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

from stream_bayes.core.measures.number_losses import NumberLosses, number_answer
from stream_bayes.core.measures.sampled_distribution import SampledDistribution, points_of
from stream_bayes.core.measures.student_t import StudentT


class Peaks:
    """A mixture of normal distributions: (share, mean, deviation)."""

    def __init__(self, *parts: tuple[float, float, float]) -> None:
        self.parts = parts

    def below(self, y: float) -> float:
        return sum(share * float(scipy.stats.norm.cdf(y, at, spread)) for share, at, spread in self.parts)

    def log_density(self, y: float) -> float:
        return math.log(sum(share * scipy.stats.norm.pdf(y, at, spread) for share, at, spread in self.parts))

    def interval(self, level: float) -> tuple[float, float]:
        grid = np.linspace(-60.0, 60.0, 120_001)
        below = np.array([self.below(float(y)) for y in grid[::100]])
        low, high = (np.interp(p, below, grid[::100]) for p in (0.5 - level / 2.0, 0.5 + level / 2.0))
        return float(low), float(high)

    def draw(self, rng: np.random.Generator) -> float:
        _, at, spread = self.parts[rng.choice(len(self.parts), p=[part[0] for part in self.parts])]
        return float(rng.normal(at, spread))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("degrees", [1.5, 3.0, 10.0, 1e6])
def test_the_log_density_of_a_t_distribution_is_right(degrees: float, level: float) -> None:
    forecast = StudentT(1e3, 0.01, degrees)
    low, high = forecast.interval(level)
    sampled = SampledDistribution(low, high, [forecast.below(z) for z in points_of(low, high)])
    rng = np.random.default_rng(1)
    errors = []
    for y in (1e3 + 0.01 * rng.standard_t(degrees, 1000)).tolist():
        log_density, share = sampled.log_density_and_share(y)
        errors.append(log_density - forecast.log_density(y))
        assert share == pytest.approx(forecast.below(y), abs=0.02)
    assert abs(np.mean(errors)) < 0.006 and np.mean(np.abs(errors)) < 0.06


@pytest.mark.parametrize(
    ("parts", "error"),
    [(((0.7, 0.0, 1.0), (0.3, 2.0, 2.0)), 0.01), (((0.7, 0.0, 1.0), (0.3, 4.0, 0.3)), 0.2)],
)
def test_the_log_density_of_a_mixture_is_nearly_right(parts: Any, error: float) -> None:
    forecast, rng = Peaks(*parts), np.random.default_rng(2)
    low, high = forecast.interval(0.9)
    sampled = SampledDistribution(low, high, [forecast.below(z) for z in points_of(low, high)])
    drawn = [forecast.draw(rng) for _ in range(1000)]
    errors = [sampled.log_density_and_share(y)[0] - forecast.log_density(y) for y in drawn]
    assert abs(np.mean(errors)) < error


def test_shares_that_are_rounding_leave_finite_numbers() -> None:
    for shares in ([0.0] * 8 + [0.5] + [1.0] * 8, [0.5] * 17, [0.0] * 17, [k / 16 for k in range(17)]):
        for low, high in ((0.0, 1.0), (3.0, 3.0), (-1e308, 1e308), (0.0, 1e-308)):
            for label in (-1e300, 0.5, 1e300):
                log_density, share = SampledDistribution(low, high, shares).log_density_and_share(label)
                assert math.isnan(log_density) is math.isnan(share)
                assert math.isnan(share) or (math.isfinite(log_density) and 0.0 <= share <= 1.0)


def test_labels_of_right_forecasts_fall_evenly_and_those_of_narrow_ones_into_the_tails() -> None:
    rng, right, narrow = np.random.default_rng(3), NumberLosses(0.9), NumberLosses(0.9)
    exact = []
    for _ in range(4000):
        forecast = StudentT(float(rng.normal()), 2.0, 8.0)
        y = forecast.location + 2.0 * float(rng.standard_t(8.0))
        right.update(y, number_answer(forecast.location, forecast, 0.9))
        too_narrow = StudentT(forecast.location, 1.0, 8.0)
        narrow.update(y, number_answer(forecast.location, too_narrow, 0.9))
        exact.append(forecast.log_density(y))
    assert right.cumulative.log_density == pytest.approx(np.mean(exact), abs=0.003)
    assert max(abs(share - 0.1) for share in right.cumulative.pit) < 0.02
    assert min(narrow.cumulative.pit[0], narrow.cumulative.pit[-1]) > 0.17
    assert narrow.cumulative.log_density < right.cumulative.log_density
    assert sum(narrow.windowed.pit) == pytest.approx(1.0) == sum(narrow.fading.pit)


def test_labels_without_a_distribution_are_in_no_log_density() -> None:
    losses = NumberLosses(0.9)
    losses.update(4.0, {"mean": 3.0, "low": -math.inf, "high": math.inf})
    assert math.isnan(losses.cumulative.log_density) and losses.cumulative.pit == []
    forecast = StudentT(3.0, 1.0, 9.0)
    losses.update(4.0, number_answer(3.0, forecast, 0.9), weight=2.0)
    again = NumberLosses(0.9)
    again.load(losses.state())
    assert again.cumulative.log_density == losses.cumulative.log_density
    assert losses.cumulative.log_density == pytest.approx(forecast.log_density(4.0), abs=0.05)
    assert again.fading.pit == losses.fading.pit == [0.0] * 8 + [1.0, 0.0]
