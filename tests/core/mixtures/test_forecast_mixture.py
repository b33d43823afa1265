"""Mixtures of t distributions against scipy, and the correction of their tails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from stream_bayes.core.mixtures._forecast_mixture import DEGREES, ForecastMixture
from stream_bayes.core.mixtures.forecast import Forecast

TAILS = (-2.0, -1.0, 1.0, 2.0)


@pytest.fixture
def mixture() -> ForecastMixture:
    made = ForecastMixture(2)
    made.take(np.array([-1.0, 3.0]), np.array([0.5, 0.0]))
    for y in (0.0, 2.5, 4.0, -1.5, 3.0):
        made.learn(y, 3.0, 1.0)
    return made


def test_it_is_the_mixture_of_its_parts(mixture: ForecastMixture) -> None:
    scales = np.sqrt(np.asarray(mixture.squares).reshape(2, 4) * [[1.5], [1.0]])
    parts = stats.t(np.resize(DEGREES, 4), np.array([[-1.0], [3.0]]), scales)
    weights = np.asarray(mixture.weights).reshape(2, 4)
    assert weights.sum() == pytest.approx(1.0)
    for y in (-40.0, -1.0, 0.3, 5.0, 12.0):
        assert mixture.below(y) == pytest.approx(float((weights * parts.cdf(y)).sum()), rel=1e-9, abs=1e-13)
        assert mixture.log_density(y) == pytest.approx(math.log((weights * parts.pdf(y)).sum()), rel=1e-9)


def test_what_an_event_lacks_widens_its_forecast_and_teaches_no_scale(mixture: ForecastMixture) -> None:
    scales = np.sqrt(np.asarray(mixture.squares).reshape(2, 4) * [[1.5], [1.0]] + 9.0)
    parts = stats.t(np.resize(DEGREES, 4), np.array([[-1.0], [3.0]]), scales)
    weights = np.asarray(mixture.weights).reshape(2, 4)
    mixture.take(np.array([-1.0, 3.0]), np.array([0.5, 0.0]), 9.0)
    assert mixture.below(-4.0) == pytest.approx(float((weights * parts.cdf(-4.0)).sum()), rel=1e-9)
    assert mixture.copy().log_density(5.0) == pytest.approx(
        math.log((weights * parts.pdf(5.0)).sum()), rel=1e-9
    )
    rng = np.random.default_rng(2)
    for _ in range(600):  # errors of 3 by what is lacking, of 1 otherwise
        mixture.take(np.zeros(2), np.zeros(2), 9.0)
        mixture.learn(float(rng.normal(0.0, math.sqrt(10.0))), 600.0, 1.0)
    assert np.median(mixture.squares) < 2.5


def test_weights_go_to_the_location_that_forecasts_and_come_back_to_another() -> None:
    mixture, rng = ForecastMixture(2), np.random.default_rng(1)
    for truth in (0, 1):
        for k in range(60):
            mixture.take(np.array([0.0, 2.0]), np.zeros(2))
            mixture.learn(2.0 * truth + 0.1 * rng.normal(), 60.0 * truth + k, 1.0)
        assert np.asarray(mixture.weights).reshape(2, 4).sum(axis=1)[truth] > 0.9


def test_scales_have_a_floor_where_targets_are_equal() -> None:
    mixture = ForecastMixture(1)
    mixture.take(np.zeros(1), np.zeros(1))
    for k in range(500):
        mixture.learn(0.0, k, 1.0)
    assert np.isfinite(mixture.log_density(0.0)) and np.isfinite(np.asarray(mixture.weights)).all()


def test_quantiles_are_found_in_tails_and_between_peaks(mixture: ForecastMixture) -> None:
    peaks = ForecastMixture(2)
    peaks.take(np.array([0.0, 1e6]), np.zeros(2))
    for _ in range(300):
        peaks.learn(0.0, 300.0, 1.0)  # to the least scale at one peak
    for each, exact in ((mixture, 1e-13), (peaks, 1e-9)):
        for p in (1e-13, 1e-6, 0.01, 0.4, 0.5, 0.7, 0.9999):
            assert each.below(each.quantile(p)) == pytest.approx(p, rel=1e-6, abs=exact)


def test_a_corrected_forecast_is_one_distribution(mixture: ForecastMixture) -> None:
    shifts = (-0.3, 0.4, -0.2, 2.0)  # the first two nearly turn back
    forecast = Forecast(mixture, 100.0, 4.0, TAILS, shifts)
    for p in (1e-6, 0.02, 0.3, 0.5, 0.841, 0.9999):
        assert forecast.below(forecast.quantile(p)) == pytest.approx(p, abs=1e-9)
    low, high = forecast.interval(0.6)
    inside, _ = integrate.quad(forecast.density, low, high, limit=200)
    assert inside == pytest.approx(0.6, abs=1e-6)
    for y in (50.0, 97.0, 101.0, 112.0, 1000.0):
        grid = np.concatenate(
            [
                np.linspace(-900.0, 60.0, 2000),
                np.linspace(60.0, 140.0, 4000),
                np.linspace(140.0, 2100.0, 2000),
            ]
        )
        grid = np.union1d(grid, [y - 1e-9, y])
        below = np.array([forecast.below(each) for each in grid]) - (grid >= y)
        assert forecast.crps(y) == pytest.approx(
            np.trapezoid(np.square(below), grid), abs=0.01 * forecast.scale
        )
    assert forecast == Forecast(mixture, 100.0, 4.0, TAILS, shifts)
    assert forecast != Forecast(mixture, 100.0, 5.0, TAILS, shifts)
