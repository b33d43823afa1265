"""Regressors measured on a stream: as the definitions say, whatever comes late, is missing or is no number."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from river import compose, dummy, linear_model, preprocessing, stats

from stream_bayes import (
    AdaptiveRegression,
    BayesianRegression,
    MarkovChain,
    MixedNetwork,
    NaiveBayes,
    streams,
)
from stream_bayes.errors import BadLabel, BadValue


def rows(count: int) -> list[tuple[dict[str, Any], float]]:
    rng = random.Random(4)
    made = []
    for _ in range(count):
        wind, sky = rng.random(), rng.choice(["grey", "blue"])
        made.append(({"wind": wind, "sky": sky}, 3.0 * wind - 2.0 * (sky == "grey") + rng.gauss(0.0, 0.3)))
    return made


def test_measures_are_those_of_their_definitions() -> None:
    samples, model = rows(120), BayesianRegression()
    result = streams.evaluate_regression(samples, BayesianRegression(), level=0.8)
    predicted, lows, highs, densities, ranked = [], [], [], [], []
    for x, y in samples:
        predicted.append(model.predict_one(x))
        low, high = model.predict_interval_one(x, 0.8)
        lows.append(low)
        highs.append(high)
        densities.append(model.predict_density_one(x, y))
        forecast = model.predict_distribution_one(x)
        ranked.append(forecast.crps(y) if forecast.scale else math.inf)
        model.learn_one(x, y)
    targets = np.array([y for _, y in samples])[1:]
    errors = np.array(predicted)[1:] - targets
    measured = result["BayesianRegression"]
    assert (measured.events, result.unanswered) == (119, 1)
    assert measured.rmse == pytest.approx(math.sqrt(np.mean(errors**2)))
    assert measured.mae == pytest.approx(np.mean(abs(errors)))
    assert measured.r2 == pytest.approx(1.0 - np.mean(errors**2) / np.var(targets))
    assert measured.coverage == np.mean((np.array(lows)[1:] <= targets) & (targets <= np.array(highs)[1:]))
    assert measured.width == pytest.approx(np.median(np.subtract(highs, lows)[1:]))
    assert measured.log_density == pytest.approx(np.mean([math.log(d) for d in densities if d > 0.0]))
    assert measured.crps == pytest.approx(np.mean([each for each in ranked if math.isfinite(each)]))
    assert [each.prediction for each in result.answers["BayesianRegression"]] == predicted[1:]
    assert result["no change"].mae == pytest.approx(np.mean(abs(np.diff([y for _, y in samples]))))
    means = np.cumsum([y for _, y in samples])[:-1] / np.arange(1, 120)
    assert result["mean"].rmse == pytest.approx(math.sqrt(np.mean((means - targets) ** 2)))


def test_regressors_of_river_and_pipelines_stand_beside_ours() -> None:
    scaled = compose.SelectType(float) | preprocessing.StandardScaler() | linear_model.LinearRegression()
    result = streams.evaluate_regression(rows(300), {"ours": AdaptiveRegression(), "SGD": scaled})
    assert list(result) == ["ours", "SGD", "no change", "mean"]
    assert result["ours"].rmse < result["SGD"].rmse
    assert math.isnan(result["SGD"].coverage) and 0.8 < result["ours"].coverage <= 1.0
    text = str(result)
    assert "SGD" in text and "299 events" in text and "1 not scored" in text


def test_late_targets_are_predicted_when_their_sample_comes() -> None:
    model = dummy.StatisticRegressor(stats.Shift(0))
    result = streams.evaluate_regression([({}, float(k)) for k in range(30)], {"last": model}, delay=5)
    assert result["last"].mae == 5.0  # the newest target known is five events old
    assert result["no change"].mae == 5.0
    assert result.unanswered == 5


def test_a_file_of_numbers_is_read_and_what_is_no_number_is_told_with_its_sample(tmp_path: Path) -> None:
    lines = [f"{x['wind']},{x['sky']},{y}" for x, y in rows(60)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["wind,sky,rent", *lines]))
    assert streams.evaluate_regression(path, AdaptiveRegression(), target="rent")["mean"].events == 59
    path.write_text("\n".join(["wind,sky,rent", *lines, "1.0,grey,much"]))
    with pytest.raises(BadLabel, match="much") as caught:
        streams.evaluate_regression(path, AdaptiveRegression(), target="rent")
    assert "sample 60" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("model", "settings", "said"),
    [
        (NaiveBayes(), {}, "expected a regressor, got a NaiveBayes"),
        ({}, {}, "at least one"),
        ({"mean": AdaptiveRegression()}, {}, "name of a baseline"),
        (AdaptiveRegression(), {"level": 1.0}, "between 0 and 1"),
        (AdaptiveRegression(), {"delay": -1}, "delay"),
        ("table.csv", {}, "expected a regressor after the stream"),
    ],
)
def test_bad_arguments_are_refused(model: Any, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(BadValue, match=said):
        streams.evaluate_regression(rows(3), model, **settings)


def test_models_without_a_label_are_refused_by_name() -> None:
    for model in (MixedNetwork(), MarkovChain("sky")):
        with pytest.raises(BadValue, match="expected a classifier, got a M"):
            streams.evaluate([({"sky": "grey"}, "rain")], model)


def test_measuring_a_regressor_by_classes_is_refused_and_leads_on() -> None:
    for model in (AdaptiveRegression(), preprocessing.StandardScaler() | BayesianRegression()):
        with pytest.raises(BadValue, match="evaluate_regression"):
            streams.evaluate(rows(3), model)


def test_coverage_by_width_and_over_time_and_pit_are_those_of_loops_by_hand() -> None:
    samples = [(x, y * (1.0 + 9.0 * (k > 150))) for k, (x, y) in enumerate(rows(204))]
    result = streams.evaluate_regression(
        samples, {"ours": BayesianRegression(), "SGD": dummy.StatisticRegressor(stats.Mean())}
    )
    model = BayesianRegression()
    held, widths, shares = [], [], []
    for k, (x, y) in enumerate(samples):
        if k:
            low, high = model.predict_interval_one(x, 0.9)
            held.append(low <= y <= high)
            widths.append(high - low)
        if k > 1:
            shares.append(model.predict_distribution_one(x).below(y))
        model.learn_one(x, y)
    ours, other = result["ours"], result["SGD"]
    assert (other.coverage_by_width, other.coverage_over_time, other.pit) == ([], [], [])
    ordered = np.array(held)[np.argsort(widths, kind="stable")]
    thirds = [ordered[:67], ordered[67:135], ordered[135:]]
    assert ours.coverage_by_width == pytest.approx([np.mean(third) for third in thirds])
    assert ours.coverage_over_time[0] == np.mean(held[:20]) and ours.coverage_over_time[9] == np.mean(
        held[182:]
    )
    assert min(ours.coverage_over_time) < 0.6 < min(ours.coverage_over_time[:7])  # the units change
    assert ours.pit == [count / len(shares) for count in np.histogram(shares, 10, (0.0, 1.0))[0]]
    assert math.fsum(ours.pit) == pytest.approx(1.0)
    text = str(result)
    assert "worst tenth" in text and "SGD" not in text[text.index("worst tenth") :]
    assert "worst tenth" not in str(
        streams.evaluate_regression(samples, {"SGD": dummy.StatisticRegressor(stats.Mean())})
    )
