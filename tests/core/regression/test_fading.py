"""Regressions over fading samples against ridge regression in numpy, and on sums that are hard."""

from __future__ import annotations

import numpy as np
import pytest

from stream_bayes.core.regression._fading import FadingRegression


def taught(columns: np.ndarray, y: np.ndarray, ridge: float, half_life: float) -> FadingRegression:
    model = FadingRegression(columns.shape[1], ridge, half_life)
    for row, target in zip(columns, y, strict=True):
        model.learn(row, target, 2.0)
    return model


@pytest.mark.parametrize("half_life", [0.0, 12.0])
def test_it_is_ridge_regression_whose_samples_fade(half_life: float) -> None:
    rng = np.random.default_rng(2)
    columns = np.column_stack([np.ones(90), rng.normal(size=(90, 4))])
    y = columns @ [3.0, 1.0, -2.0, 0.0, 0.5] + rng.normal(size=90)
    model, x = taught(columns, y, 1e-9, half_life), np.array([1.0, 0.5, 0.0, -1.0, 2.0])
    weights = np.full(90, 2.0) if half_life == 0.0 else 2.0 * 0.5 ** (np.arange(89, -1, -1) / half_life)
    squares = columns.T @ (weights[:, None] * columns)
    model.predict(x)
    expected = np.linalg.solve(squares, columns.T @ (weights * y))
    assert model.location == pytest.approx(x @ expected, rel=1e-6)
    assert model.leverage == pytest.approx(x @ np.linalg.solve(squares, x), rel=1e-6)
    coefficients = np.zeros(5)
    model.coefficients(coefficients)
    assert coefficients == pytest.approx(expected, rel=1e-5)


def test_the_ridge_does_not_fade() -> None:
    model = FadingRegression(3, 1.0, 20.0)
    for _ in range(3000):
        model.learn(np.array([1.0, 0.0, 0.0]), 5.0, 1.0)
    model.predict(np.array([0.0, 1.0, 0.0]))
    assert 0.8 < model.leverage < 1.25  # 1 / ridge: columns without samples stay as uncertain as they were


def test_columns_that_are_equal_and_a_target_far_away_leave_it_finite() -> None:
    model = FadingRegression(3, 1.0, 50.0)
    for k in range(500):
        model.learn(np.array([1.0, k % 5, k % 5]), 1e90 if k == 100 else 2.0 * (k % 5), 1.0)
    for k in range(7000):
        model.learn(np.array([1.0, k % 5, k % 5]), 2.0 * (k % 5), 1.0)
    model.predict(np.array([1.0, 3.0, 3.0]))
    assert np.isfinite([model.location, model.leverage]).all()
