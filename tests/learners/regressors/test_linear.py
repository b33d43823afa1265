"""Bayesian linear regression against closed forms in numpy, on hard data and bad input."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from river import compose, ensemble, metrics, preprocessing
from scipy.special import gammaln

import stream_bayes
from stream_bayes import (
    AdaptiveRegression,
    BayesianRegression,
    BayesianTree,
    FourierFeatures,
    GaussianProcess,
    Nominal,
    Numeric,
    Schema,
    SlidingWindow,
)
from stream_bayes.errors import BadState, BadValue, CannotMerge, NotLearned, SchemaError
from stream_bayes.learners.base.state import checksum, text_of
from stream_bayes.workers.summable import check_summable

Array = NDArray[np.float64]


def rows(numbers: Array) -> list[dict[str, float]]:
    return [{f"x{k}": float(number) for k, number in enumerate(row)} for row in numbers]


def taught(model: BayesianRegression, xs: list[Any], ys: Any) -> BayesianRegression:
    for x, y in zip(xs, ys, strict=True):
        model.learn_one(x, float(y))
    return model


def closed_form(
    z: Array, y: Array, ridge: Array, at: Array, weights: Array | None = None
) -> tuple[float, float, float]:
    """Return location, scale and log evidence of a regression with a flat prior of the mean; columns are scaled."""
    w = np.ones(len(y)) if weights is None else weights
    total, center, mean = w.sum(), w @ z / w.sum(), w @ y / w.sum()
    z, y = z - center, y - mean
    gram = z.T @ (w[:, None] * z) + np.diag(ridge)
    coefficients = np.linalg.solve(gram, z.T @ (w * y))
    left = w @ y**2 - (z.T @ (w * y)) @ coefficients
    away = at - center
    spread = left / (total - 1) * (1 + 1 / total + away @ np.linalg.solve(gram, away))
    half = (total - 1) / 2
    evidence = gammaln(half) - half * math.log(math.pi * left) - 0.5 * math.log(total)
    evidence += 0.5 * np.log(ridge).sum() - 0.5 * np.linalg.slogdet(gram)[1]
    return float(mean + away @ coefficients), math.sqrt(spread), float(evidence)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_numbers_and_weights_have_the_closed_form(rng: np.random.Generator) -> None:
    numbers = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + [0.0, 1e6, -3.0, 50.0]
    y, weights = numbers @ [1.0, -2.0, 0.5, 3.0] + rng.normal(size=60), rng.integers(1, 4, 60) / 2.0
    model = BayesianRegression(strength=2.5)
    for x, target, w in zip(rows(numbers), y, weights, strict=True):
        model.learn_one(x, float(target), float(w))
    deviation = np.sqrt(np.cov(numbers.T, aweights=weights, ddof=0).diagonal())
    at = numbers[0] + 1.0
    location, scale, evidence = closed_form(numbers / deviation, y, np.full(4, 2.5), at / deviation, weights)
    forecast = model.predict_distribution_one(rows(at[None])[0])
    assert forecast.location == pytest.approx(location, abs=1e-7 * scale)
    assert forecast.scale == pytest.approx(scale, rel=1e-7)
    assert forecast.degrees == weights.sum() - 1
    assert model.log_evidence() == pytest.approx(evidence, rel=1e-8)


def test_values_of_nominal_features_are_ridged_indicators(rng: np.random.Generator) -> None:
    sky, wet, size = rng.integers(3, size=80), rng.integers(2, size=80), rng.normal(size=80)
    y = 2.0 * sky - wet + size + rng.normal(size=80)
    xs = [{"sky": "abc"[a], "size": float(b), "wet": bool(c)} for a, b, c in zip(sky, size, wet, strict=True)]
    model = taught(BayesianRegression(strength=1.0), xs, y)
    z = np.column_stack([sky == 0, sky == 1, sky == 2, wet == 0, wet == 1, size / size.std()]).astype(float)
    location, scale, evidence = closed_form(z, y, np.ones(6), z[5])
    forecast = model.predict_distribution_one(xs[5])
    assert (forecast.location, forecast.scale) == pytest.approx((location, scale), rel=1e-9)
    assert model.log_evidence() == pytest.approx(evidence, rel=1e-9)


def test_what_an_event_lacks_is_integrated_out(rng: np.random.Generator) -> None:
    numbers = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3))
    y = numbers.sum(1) + rng.normal(size=50)
    model = taught(BayesianRegression(strength=1.0), rows(numbers), y)
    other = taught(
        BayesianRegression(strength=1.0), [{"x0": x["x0"], "x2": x["x2"]} for x in rows(numbers)], y
    )
    for x in ({"x0": 1.0, "x2": -1.0}, {"x2": 0.5, "never met": 3.0}, {"x0": 1.0, "x1": None, "x2": 2.0}):
        kept = {name: value for name, value in x.items() if name in ("x0", "x2")}
        mine, theirs = model.predict_distribution_one(x), other.predict_distribution_one(kept)
        assert tuple(mine) == pytest.approx(tuple(theirs), rel=1e-12)


@pytest.mark.parametrize(("columns", "samples"), [(5, 300), (10, 3000), (20, 100)])
def test_samples_with_gaps_teach_more_than_imputed_ones(
    columns: int, samples: int, rng: np.random.Generator
) -> None:
    numbers = rng.normal(size=(samples + 200, 3)) @ rng.normal(size=(3, columns))
    numbers += 0.1 * rng.normal(size=numbers.shape)
    y = numbers @ rng.normal(size=columns)
    y += 0.2 * y.std() * rng.normal(size=len(y))
    gaps = rng.random(numbers.shape) < 0.3
    xs = [
        {name: value for (name, value), gap in zip(row.items(), each, strict=True) if not gap}
        for row, each in zip(rows(numbers), gaps, strict=True)
    ]
    model = taught(BayesianRegression(), xs[:samples], y[:samples])
    errors = [model.predict_one(x) - target for x, target in zip(xs[samples:], y[samples:], strict=True)]
    filled = np.where(gaps, np.nan, numbers)
    filled = np.where(gaps, np.nanmean(filled[:samples], axis=0), filled)
    design = np.column_stack([np.ones(len(y)), filled])
    imputed = design[samples:] @ np.linalg.lstsq(design[:samples], y[:samples], rcond=None)[0]
    assert np.mean(np.square(errors)) < 0.9 * np.mean((imputed - y[samples:]) ** 2)


def test_a_far_sample_that_is_unlearned_leaves_nothing(rng: np.random.Generator) -> None:
    numbers = rng.normal(size=(400, 3))
    xs, y = rows(numbers), numbers.sum(1) + rng.normal(size=400)
    model, twin = taught(BayesianRegression(), xs, y), taught(BayesianRegression(), xs, y)
    far = {"x0": 1e8, "x1": 1e8, "x2": -1e8, "new": "value"}
    model.learn_one(far, 1e8)
    model.unlearn_one(far, 1e8)
    for x in xs[:20]:
        assert tuple(model.predict_distribution_one(x)) == pytest.approx(
            tuple(twin.predict_distribution_one(x)), rel=1e-9
        )
    with pytest.raises(NotLearned, match=r"the target 5\.0"):
        taught(BayesianRegression(), [{}], [3.0]).unlearn_one({}, 5.0)


def test_intervals_hold_as_many_targets_as_they_say(rng: np.random.Generator) -> None:
    inside = {0.5: 0, 0.9: 0}
    for samples in (12, 30, 100):
        for _ in range(300):
            numbers = rng.normal(size=(samples + 1, 3))
            y = numbers @ rng.normal(size=3) + rng.normal(size=samples + 1)
            model = BayesianRegression()
            model.learn_many(rows(numbers[:-1]), y[:-1])
            for level in inside:
                low, high = model.predict_interval_one(rows(numbers[-1:])[0], level)
                inside[level] += low < y[-1] < high
    assert abs(inside[0.9] / 900 - 0.9) < 0.03 and abs(inside[0.5] / 900 - 0.5) < 0.05


def test_an_explanation_adds_up_and_draws_are_those_of_the_posterior(rng: np.random.Generator) -> None:
    numbers, sky = rng.normal(size=(60, 2)) + 5.0, rng.integers(3, size=60)
    xs = [{**x, "sky": "abc"[value]} for x, value in zip(rows(numbers), sky, strict=True)]
    model = taught(BayesianRegression(), xs, numbers.sum(1) + sky + rng.normal(size=60))
    why = model.explain_one(xs[3])
    assert set(why.features) == {"x0", "x1", "sky"} and "(prediction)" in str(why)
    assert why.prediction == pytest.approx(model.predict_one(xs[3]), rel=1e-12)
    drawn = [model.draw(rng) for _ in range(3000)]
    values = np.array([line.predict_one(xs[3]) for line in drawn])
    assert values.mean() == pytest.approx(why.prediction, abs=5 * values.std() / math.sqrt(3000))
    forecast = model.predict_distribution_one(xs[3])
    noise = np.mean([line.noise**2 for line in drawn])
    assert values.var() + noise == pytest.approx(forecast.standard_deviation**2, rel=0.1)
    slope, mean = drawn[0].slopes["x0"]
    assert mean == pytest.approx(numbers[:, 0].mean()) and slope == pytest.approx(1.0, abs=1.0)


def test_evidence_takes_a_strong_prior_for_noise_and_a_weak_one_for_a_line(rng: np.random.Generator) -> None:
    numbers = rng.normal(size=(100, 10))
    noise = taught(BayesianRegression("evidence"), rows(numbers), rng.normal(size=100))
    line = taught(BayesianRegression("evidence"), rows(numbers), numbers.sum(1) + 0.1 * rng.normal(size=100))
    assert noise.strength_ >= 10.0 and line.strength_ <= 0.1
    evidence = {d: taught(BayesianRegression(10.0**d), rows(numbers), numbers.sum(1)) for d in range(-6, 4)}
    best = max(evidence, key=lambda decade: evidence[decade].log_evidence() - 0.5 * decade**2)
    assert taught(BayesianRegression(), rows(numbers), numbers.sum(1)).strength_ == 10.0**best
    fixed = taught(BayesianRegression(line.strength_), rows(numbers), numbers.sum(1))
    assert fixed.strength_ == line.strength_


# --- other features ---


def test_with_waves_it_is_nearly_a_gaussian_process(rng: np.random.Generator) -> None:
    numbers, at = rng.uniform(-2.0, 2.0, (50, 2)), rng.uniform(-2.0, 2.0, (20, 2))
    y = 3.0 * np.sin(2.0 * numbers[:, 0]) * numbers[:, 1] + 0.3 * rng.normal(size=50) + 7.0
    features = FourierFeatures({"x0": (0.5, 1.0), "x1": (0.0, 2.0)}, length=0.8, count=300)
    model = taught(BayesianRegression(strength=0.5, features=features), rows(numbers), y)
    z, center = (np.vstack([numbers, at]) - [0.5, 0.0]) / [1.0, 2.0], numbers.mean(0)
    lines = (np.vstack([numbers, at]) - center) / numbers.std(0)
    apart = np.square(z[:, None] - z[None, :]).sum(2)
    kernel = (np.exp(-apart / (2 * 0.8**2)) + lines @ lines.T) / 0.5
    inverse = np.linalg.inv(np.eye(50) + kernel[:50, :50])
    ones = inverse.sum()
    mean = inverse.sum(0) @ y / ones
    left = (y - mean) @ inverse @ (y - mean)
    away = []
    for k, x in enumerate(rows(at), start=50):
        location = mean + kernel[k, :50] @ inverse @ (y - mean)
        rest = 1 - kernel[k, :50] @ inverse.sum(0)
        square = 1 + kernel[k, k] - kernel[k, :50] @ inverse @ kernel[:50, k] + rest**2 / ones
        forecast = model.predict_distribution_one(x)
        assert forecast.scale == pytest.approx(math.sqrt(left / 49 * square), rel=0.1)
        away.append((forecast.location - location) / forecast.scale)
    assert math.sqrt(np.mean(np.square(away))) < 0.2


def test_waves_learn_what_no_line_can_and_unlearn_it(rng: np.random.Generator) -> None:
    numbers = rng.uniform(0.0, 1.0, (700, 3)) * [1.0, 1e3, 1.0] + [0.0, 1e6, 0.0]
    y = 10.0 * np.sin(3.0 * numbers[:, 0] * (numbers[:, 1] - 1e6) / 1e3) + 0.5 * rng.normal(size=700)
    xs: list[Any] = [{**x, "sky": "grey"} for x in rows(numbers)]
    for x in xs[680:]:
        x["x1"] = None
    model, line = (taught(BayesianRegression(features=each), xs[:500], y[:500]) for each in ("fourier", None))
    errors = [
        math.sqrt(
            np.mean([(each.predict_one(x) - t) ** 2 for x, t in zip(xs[500:680], y[500:680], strict=True)])
        )
        for each in (model, line)
    ]
    assert errors[0] < 0.6 * errors[1]
    inside = [
        low < t < high
        for x, t in zip(xs[500:], y[500:], strict=True)
        for low, high in [model.predict_interval_one(x, 0.9)]
    ]
    assert 0.8 < np.mean(inside) < 0.97
    before = [model.predict_distribution_one(x) for x in xs[670:690]]
    model.learn_many([*xs[500:520], {"x0": 1e8}], [*y[500:520], -1e8])
    for x, target in zip([{"x0": 1e8}, *xs[500:520]], [-1e8, *y[500:520]], strict=True):
        model.unlearn_one(x, target)
    for x, forecast in zip(xs[670:690], before, strict=True):
        assert tuple(model.predict_distribution_one(x)) == pytest.approx(tuple(forecast), rel=1e-9)
    why, line_drawn = model.explain_one(xs[1]), model.draw(rng)
    assert set(why.features) == {"x0", "x1", "x2", "waves over x0, x1, x2"}
    assert why.prediction == pytest.approx(model.predict_one(xs[1]), rel=1e-9)
    assert abs(line_drawn.predict_one(xs[1]) - model.predict_one(xs[1])) < 3.0
    assert model.feature_names == ["x0", "x1", "x2", "sky"]


@pytest.mark.parametrize("half_life", [None, 50.0, "2h"])
def test_the_first_events_set_the_scales_and_are_learned_anew(
    half_life: Any, rng: np.random.Generator
) -> None:
    timed = isinstance(half_life, str)
    numbers = rng.normal(size=(140, 2))
    y = np.sin(2.0 * numbers.sum(1))
    model = BayesianRegression(strength=0.1, half_life=half_life, features=FourierFeatures(count=20))
    extra: tuple[Any, float] = ({"x0": 0.5, "x1": 9.0}, 77.0)
    for k, (x, target) in enumerate(zip(rows(numbers), y, strict=True)):
        if k == 20:  # among the first: what is unlearned has no part in the scales to come
            model.learn_one(*extra, at=60.0 * k if timed else None)
            model.unlearn_one(
                *extra, **({"at": 60.0 * k} if timed else {"at": model.clock} if half_life else {})
            )
            with pytest.raises(NotLearned, match="not among those learned"):
                model.unlearn_one(*extra, at=60.0 * k if timed else None)
        if k == 50:
            model = type(model).from_state(model.state())
            if not timed:
                model.advance(3)
        model.learn_one(x, target, at=60.0 * k if timed else None)
    scales = model.derived_state()["waves"]
    assert model.derived_state()["first"] is None and [name for name, *_ in scales["scales"]] == ["x0", "x1"]
    assert scales["scales"][0][1:] == pytest.approx([numbers[:128, 0].mean(), numbers[:128, 0].std()])
    declared = {name: (mean, deviation) for name, mean, deviation in scales["scales"]}
    other = BayesianRegression(
        strength=0.1, half_life=half_life, features=FourierFeatures(declared, scales["length"], 20)
    )
    for k, (x, target) in enumerate(zip(rows(numbers), y, strict=True)):
        if not timed:
            other.advance({20: 1, 50: 3}.get(k, 0))
        other.learn_one(x, target, at=60.0 * k if timed else None)
    for x in rows(numbers[:5]):
        assert tuple(model.predict_distribution_one(x)) == pytest.approx(
            tuple(other.predict_distribution_one(x)), rel=1e-9
        )
    with pytest.raises(CannotMerge, match="declare them"):
        model.merge(model)


def test_waves_are_over_the_numeric_features_of_the_schema_alone() -> None:
    schema = Schema({"a": Numeric(), "code": Nominal([1, 2, 3])})
    model = BayesianRegression(features=FourierFeatures(count=8), schema=schema)
    for k in range(10):
        model.learn_one({"a": float(k), "code": 1 + k % 3, "ignored": float(k)}, float(k % 4))
    assert [name for name, *_ in model.derived_state()["waves"]["scales"]] == ["a"]
    assert math.isfinite(model.predict_one({"a": 2.0, "code": 3, "ignored": "x"}))


def test_a_function_says_what_is_learned(rng: np.random.Generator) -> None:
    model = BayesianRegression(features=lambda x: {"square": x["a"] ** 2, "sky": x["sky"]})
    for k in range(60):
        model.learn_one({"a": float(k % 9), "sky": "xy"[k % 2], "id": f"{k}"}, (k % 9) ** 2 + k % 2)
    assert model.predict_one({"a": 20.0, "sky": "x"}) == pytest.approx(400.0, rel=0.01)
    assert model.draw(rng).predict_one({"a": 20.0, "sky": "x"}) == pytest.approx(400.0, rel=0.01)
    with pytest.raises(BadState, match="a file holds no code"):
        model.state()
    for bad in ("waves", 3, FourierFeatures):
        with pytest.raises(BadValue):
            BayesianRegression(features=bad).learn_one({"a": 1.0}, 1.0)  # type: ignore[arg-type]  # wrong on purpose


# --- hard data ---


def test_without_a_spread_of_targets_nothing_is_claimed() -> None:
    model = BayesianRegression()
    assert model.predict_one({"a": 1.0}) == 0.0 and model.predict_interval_one({}) == (-math.inf, math.inf)
    for k in range(8):
        model.learn_one({"a": float(k), "b": "x"}, 5.0)
        assert model.predict_one({"a": 1.0}) == 5.0
        assert model.predict_interval_one({"a": 1.0}) == (-math.inf, math.inf)
        assert model.predict_density_one({"a": 1.0}, 5.0) == 0.0
    for refused in (model.log_evidence, lambda: model.draw(np.random.default_rng(1))):
        with pytest.raises(NotLearned, match="targets that differ"):
            refused()
    model.learn_one({"a": 8.0}, 5.001)
    low, high = model.predict_interval_one({"a": 1.0})
    assert 4.9 < low < 5.0 < high < 5.1


@pytest.mark.parametrize("strength", [1e-6, 1.0, "evidence"])
def test_hard_columns_make_no_prediction_diverge(strength: Any, rng: np.random.Generator) -> None:
    model = BayesianRegression(strength)
    for k in range(150):
        a = float(rng.normal())
        x = {"a": a, "twice": a, "times": 3.0 * a, "constant": 1e6, "gone": None, "id": f"event {k}"}
        x |= {f"wide {j}": float(rng.normal(1e9, 1e-3)) for j in range(40)}
        low, high = model.predict_interval_one(x, 0.9)
        assert low < high or not math.isfinite(low)
        if k > 100:
            assert abs(model.predict_one(x) - 2.0 * a) < 3.0
        model.learn_one(x, 2.0 * a + 0.1 * float(rng.normal()))
    for extreme in ({"a": 1e100}, {"a": -1e100, "constant": 0.0, "twice": 1e100}):
        assert math.isfinite(model.predict_one(extreme))
        assert math.isfinite(model.predict_density_one(extreme, 1e100))
    assert abs(model.predict_one({"a": 1.0}) - 2.0) < 0.5


def test_targets_that_jump_by_a_million_are_followed_with_a_half_life(rng: np.random.Generator) -> None:
    model = BayesianRegression(half_life=20.0)
    for k in range(600):
        a = float(rng.normal())
        model.learn_one({"a": a}, (a + 0.01 * float(rng.normal())) * (1.0 if k < 300 else 1e6))
    assert model.predict_one({"a": 1.0}) == pytest.approx(1e6, rel=0.05)


def test_a_value_that_no_sample_has_any_more_counts_as_missing() -> None:
    xs = [{"a": float(k), "sky": "grey" if k % 2 else "blue"} for k in range(10)]
    model = taught(BayesianRegression(), xs, range(10))
    model.learn_one({"a": 3.0, "sky": "pink"}, 50.0)
    assert model.predict_one({"a": 3.0, "sky": "pink"}) > model.predict_one({"a": 3.0})
    model.unlearn_one({"a": 3.0, "sky": "pink"}, 50.0)
    assert model.predict_one({"a": 3.0, "sky": "pink"}) == model.predict_one({"a": 3.0})


def test_names_of_columns_cannot_be_those_of_features() -> None:
    model = taught(BayesianRegression(), [{"sky": "grey"}, {"sky": "blue"}], [1.0, 2.0])
    for name in (("\0",), ("\0", "sky"), ("\0", "sky", "grey"), ("\0", "new")):
        with pytest.raises(BadValue, match="rename the feature"):
            model.learn_one({name: 1.0}, 1.0)
    with pytest.raises(SchemaError, match="take a classifier"):
        BayesianRegression(schema=Schema({"a": Numeric()}, classes=["x"]))


def test_a_state_with_columns_of_no_feature_is_refused() -> None:
    state = taught(BayesianRegression(), [{"sky": "grey", "a": 1.0}] * 2, [1.0, 2.0]).state()
    for other in ("cloud", "a"):
        store = dict(state["store"])
        # The names of columns are tuples, which stand there as tables.
        store["features"] = [
            each if isinstance(each, str) else json.loads(json.dumps(each).replace("sky", other))
            for each in store["features"]
        ]
        bad = {**state, "store": store}
        bad["checksum"] = checksum(text_of(bad), bad["arrays"])
        with pytest.raises(BadState, match="not declared"):
            BayesianRegression.from_state(bad)


# --- everywhere ---


def test_it_works_in_rivers_pipelines_frames_and_files(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "sky": ["x", "y", "x", "y"]})
    model = BayesianRegression()
    model.learn_many(frame, pd.Series([2.0, 4.5, 6.0, 8.5]))
    predicted = model.predict_many(frame)
    assert list(predicted.index) == [0, 1, 2, 3] and predicted[3] > predicted[0]
    stream_bayes.save(model, tmp_path / "model.zip")
    assert stream_bayes.load(tmp_path / "model.zip").predict_many(frame).equals(predicted)
    scaled: Any = preprocessing.StandardScaler() | BayesianRegression()
    pipeline = preprocessing.TargetStandardScaler(scaled)
    mae = metrics.MAE()
    for k in range(200):
        x, y = {"a": float(k % 10)}, 1000.0 + 5.0 * (k % 10)
        mae.update(y, pipeline.predict_one(x))
        pipeline.learn_one(x, y)
    assert mae.get() < 20.0


@pytest.mark.parametrize("made", [AdaptiveRegression, BayesianRegression, BayesianTree, GaussianProcess])
@pytest.mark.parametrize(
    "wrapped",
    [
        lambda model: compose.TargetTransformRegressor(model, math.log, math.exp),
        lambda model: preprocessing.TargetStandardScaler(model),
        lambda model: ensemble.BaggingRegressor(model, n_models=2, seed=1),
    ],
    ids=["logarithm", "deviations", "bagging"],
)
def test_it_works_in_rivers_wrappers(wrapped: Callable[[Any], Any], made: type[Any]) -> None:
    rng, model, error, mean = random.Random(8), wrapped(made()), metrics.RMSE(), metrics.RMSE()
    for k in range(120):
        x: dict[str, Any] = {"a": rng.gauss(0.0, 1.0), "sky": rng.choice(["grey", "blue"])}
        y = math.exp(0.3 * x["a"] + (x["sky"] == "grey") + rng.gauss(0.0, 0.05))
        if k >= 40:
            error.update(y, model.predict_one(x))
            mean.update(y, 2.0)
        model.learn_one(x, y)
    assert error.get() < 0.6 * mean.get()


def test_declared_values_that_were_never_learned_count_as_missing() -> None:
    model = BayesianRegression(schema=Schema({"sky": Nominal(["grey", "blue", "pink"]), "a": Numeric()}))
    taught(
        model, [{"sky": "grey", "a": 1.0}, {"sky": "blue", "a": 2.0}, {"sky": "blue", "a": 4.0}], [1, 2, 3]
    )
    assert model.predict_one({"sky": "pink", "a": 2.0}) == model.predict_one({"a": 2.0})
    assert type(model).from_state(model.state()).predict_one({"a": 2.0}) == model.predict_one({"a": 2.0})


def test_times_of_another_number_than_rows_are_refused_before_any_is_learned() -> None:
    model = BayesianRegression(features="fourier", half_life="7d")
    rows, targets = [{"a": float(k)} for k in range(6)], [float(k) for k in range(6)]
    with pytest.raises(SchemaError, match="6 rows, but 2 times"):
        model.learn_many(rows, targets, at=[1.0, 2.0])
    assert model.clock == 0


def _with_gaps(rows: int) -> list[tuple[dict[str, Any], float, float]]:
    rng = np.random.default_rng(7)
    samples = []
    for number in range(rows):
        x: dict[str, Any] = {"a": float(rng.normal()), "c": "pqr"[rng.integers(3)]}
        x |= {"b": float(rng.normal())} if rng.random() < 0.7 else {}
        samples.append(
            (x, 1e6 * float(rng.normal()) if number == 3 else float(rng.normal()), 1.0 + number % 2)
        )
    return samples


@pytest.mark.parametrize("features", [None, FourierFeatures({"a": (0.0, 1.0)}, count=6)])
@pytest.mark.parametrize("in_batches", [False, True])
def test_a_window_is_what_its_events_alone_give(features: Any, in_batches: bool) -> None:
    samples = _with_gaps(90)
    learner: Any = BayesianRegression(features=features)
    model: Any = SlidingWindow(learner, 25)
    assert isinstance(model, BayesianRegression) and model.window == 25
    if in_batches:
        model.learn_many(*([sample[part] for sample in samples] for part in range(3)))
    else:
        for sample in samples:
            model.learn_one(*sample)
    model.learn_one(samples[0][0], 5.0, 0.0)  # without weight it takes no place
    alone = BayesianRegression(features=features)
    for sample in samples[-25:]:
        alone.learn_one(*sample)
    for x, _, _ in samples[:10]:
        mine, theirs = model.predict_distribution_one(x), alone.predict_distribution_one(x)
        assert mine == pytest.approx(theirs, rel=1e-9)
    model.unlearn_one(*samples[-1])
    with pytest.raises(NotLearned):
        model.unlearn_one(*samples[0])


def test_a_window_is_refused_where_it_cannot_be() -> None:
    with pytest.raises(BadValue, match="declare the scales"):
        BayesianRegression(features="fourier", window=10)
    with pytest.raises(BadValue, match="stream time"):
        BayesianRegression(half_life="7d", window=10)
    with pytest.raises(CannotMerge, match="leave window out"):
        BayesianRegression(window=10).merge(BayesianRegression(window=10))
    with pytest.raises(CannotMerge, match="leave window out"):
        check_summable(BayesianRegression(window=10, schema=Schema({"a": Numeric()})))
    with pytest.raises(BadValue, match="predicts numbers"):
        SlidingWindow(AdaptiveRegression(), 10)  # type: ignore[arg-type]  # that is the test


def test_the_covariance_of_waves_with_gaps_is_that_of_numbers_drawn_for_them() -> None:
    rng = np.random.default_rng(4)
    waves = FourierFeatures({"a": (1.0, 2.0), "b": (0.0, 1.0)}, count=5).waves(
        {"a": (1.0, 2.0), "b": (0.0, 1.0)}, 1.5
    )
    assert waves.covariance({"a": 3.0, "b": 1.0}) is None
    for x in ({"a": 3.0}, {"b": None, "a": math.nan}):
        drawn = np.array(
            [
                [*waves.columns({"a": 3.0 if "b" not in x else 1.0 + 2.0 * a, "b": b}).values()]
                for a, b in rng.normal(size=(20_000, 2))
            ]
        )
        covariance = waves.covariance(x)
        assert covariance is not None and np.allclose(covariance, np.cov(drawn.T), atol=0.01)
        assert np.allclose([*waves.columns(x).values()], drawn.mean(axis=0), atol=0.015)


def test_intervals_of_waves_are_wide_enough_where_a_number_is_missing() -> None:
    rng = random.Random(3)
    model, held = BayesianRegression(features="fourier"), dict[bool, list[bool]]({True: [], False: []})
    widths = dict[bool, list[float]]({True: [], False: []})
    for k in range(500):
        x = {"a": rng.gauss(0.0, 1.0)}
        y = math.sin(2.0 * x["a"]) + rng.gauss(0.0, 0.1)
        if has_gap := rng.random() < 0.1:
            del x["a"]
        if k >= 250:
            low, high = model.predict_interval_one(x, 0.9)
            held[has_gap].append(low <= y <= high)
            widths[has_gap].append(high - low)
        model.learn_one(x, y)
    for each in held.values():
        assert sum(each) / len(each) > 0.85  # less than half of those with a gap, if they count as known
    assert np.mean(widths[True]) > 1.1 * np.mean(widths[False])
