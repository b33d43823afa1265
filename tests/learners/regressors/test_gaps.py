"""Gaps are integrated out given what an event has: forecasts use it, and intervals widen by what they hide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_bayes import BayesianRegression, BayesianTree, GaussianProcess
from stream_bayes.core.regression.missing_columns import POINTS, NormalColumns, normal_points
from stream_bayes.learners.base.regressor import BayesRegressor

MAKERS = [
    lambda: BayesianRegression(),
    lambda: BayesianTree(),
    lambda: GaussianProcess(window=150),
]


def events(rng: np.random.Generator, count: int) -> list[tuple[dict[str, Any], float]]:
    """Return events of which `b` tells most of `a`, and nothing tells `c`; the target needs all."""
    a = rng.normal(size=count)
    b, c = a + 0.3 * rng.normal(size=count), rng.normal(size=count)
    sky = ["grey" if each < 0.0 else "blue" for each in b]
    y = 2.0 * a + 2.0 * c + 0.3 * rng.normal(size=count)
    rows = np.stack([100.0 + a, 1e4 * b, c], axis=1).tolist()
    return [
        ({**dict(zip("abc", row, strict=True)), "sky": name}, target)
        for row, name, target in zip(rows, sky, y.tolist(), strict=True)
    ]


@pytest.mark.parametrize("make", MAKERS, ids=["line", "tree", "process"])
@pytest.mark.parametrize("lacking", ["a", "c"])
def test_a_feature_that_only_events_to_come_lack_is_taken_from_the_others_and_widens_intervals(
    make: Any, lacking: str
) -> None:
    rng = np.random.default_rng(5)
    model: BayesRegressor = make()
    for x, y in events(rng, 200):
        model.learn_one(x, y)
    inside, squares = [], []
    for x, y in events(rng, 150):
        del x[lacking]
        low, high = model.predict_interval_one(x, 0.9)
        inside.append(low <= y <= high)
        squares.append((model.predict_one(x) - y) ** 2)
    assert 0.84 <= np.mean(inside) <= 0.98
    assert np.sqrt(np.mean(squares)) < (
        0.9 if lacking == "a" else 2.4
    )  # without b to tell a, as without c: 2.1


@pytest.mark.parametrize(("features", "widest"), [(None, 2.0), ("fourier", 2.5)])
def test_gaps_in_columns_that_say_nearly_the_same_are_no_noise_of_targets(
    features: Any, widest: float
) -> None:
    widths: list[list[float]] = [[], []]
    inside: list[bool] = []
    for seed in (1, 2, 3):
        rng = np.random.default_rng(seed)
        level = rng.normal(size=260)
        numbers = level[:, None] + 0.1 * rng.normal(size=(260, 6))
        targets = (2.0 * numbers.mean(axis=1) + 0.1 * rng.normal(size=260)).tolist()
        rows = [dict(zip("abcdef", row, strict=True)) for row in numbers.tolist()]
        whole, gappy = BayesianRegression(features=features), BayesianRegression(features=features)
        for x, y in zip(rows[:200], targets[:200], strict=True):
            whole.learn_one(x, y)
            gappy.learn_one({name: number for name, number in x.items() if rng.random() > 0.1}, y)
        for x, y in zip(rows[200:], targets[200:], strict=True):
            for model, each in zip((whole, gappy), widths, strict=True):
                low, high = model.predict_interval_one(x, 0.9)
                each.append(high - low)
            inside.append(low <= y <= high)
    assert np.mean(widths[1]) < widest * np.mean(widths[0])
    assert np.mean(inside) > 0.85


def test_the_points_of_a_row_have_the_mean_and_the_covariance_of_what_its_gaps_hide() -> None:
    rng = np.random.default_rng(3)
    mixing = rng.normal(size=(5, 5))
    whole = rng.normal(size=(4000, 5)) @ mixing.T
    covariance = np.cov(whole.T)
    gappy = np.where(rng.random(whole.shape) < 0.2, np.nan, whole)
    columns = NormalColumns.fitted(gappy)
    assert columns.covariance == pytest.approx(covariance, abs=0.1 * float(covariance.max()))
    row = np.array([0.3, np.nan, -0.5, np.nan, np.nan])
    gaps, has = np.isnan(row), ~np.isnan(row)
    lines = np.linalg.solve(columns.covariance[np.ix_(has, has)], columns.covariance[np.ix_(has, gaps)])
    mean = columns.mean[gaps] + (row[has] - columns.mean[has]) @ lines
    hidden = columns.covariance[np.ix_(gaps, gaps)] - columns.covariance[np.ix_(gaps, has)] @ lines
    points = columns.points(row)
    assert points.shape == (POINTS, 5) and (points[:, has] == row[has]).all()
    assert points[:, gaps].mean(axis=0) == pytest.approx(mean)
    assert np.cov(points[:, gaps].T, bias=True) == pytest.approx(hidden)
    filled, variances = columns.filled(row[None, :])
    assert filled[0][gaps] == pytest.approx(mean) and variances[0][gaps] == pytest.approx(np.diag(hidden))
    assert (filled[0][has] == row[has]).all() and not variances[0][has].any()


def test_more_gaps_than_points_hide_as_much_as_they_do() -> None:
    points = normal_points(3 * POINTS)
    assert points.mean(axis=0) == pytest.approx(0.0, abs=1e-12) and points.std(axis=0) == pytest.approx(1.0)
    sums = [
        float(np.var(points @ signs)) for signs in np.random.default_rng(1).choice([-1.0, 1.0], (200, 96))
    ]
    assert np.mean(sums) == pytest.approx(96.0, rel=0.2)


@pytest.mark.parametrize("lacking", [0.02, 0.6])
@pytest.mark.parametrize("strength", ["evidence", 1.0])
def test_forecasts_with_other_gaps_are_the_same_whatever_was_asked_before(
    strength: Any, lacking: float
) -> None:
    rng = np.random.default_rng(8)
    model = BayesianRegression(strength=strength)
    asked = []
    for x, y in events(rng, 120):
        present = {name: value for name, value in x.items() if rng.random() > lacking}
        model.learn_one(present, y)
        asked.append(present)
    together = [model.predict_interval_one(x, 0.9) for x in asked]
    alone = []
    for x in asked:
        model.reading.changed()
        alone.append(model.predict_interval_one(x, 0.9))
    assert len({tuple(x) for x in asked}) > 5
    assert np.allclose(together, alone, rtol=1e-12, atol=0.0)
