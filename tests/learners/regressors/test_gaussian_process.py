"""Gaussian processes against closed forms in numpy, and over windows, gaps, and hard columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stream_bayes import BayesianRegression, GaussianProcess
from stream_bayes.core.regression.gaussian_process import GaussianKernel, UncertainRows
from stream_bayes.errors import BadValue, CannotMerge, NotLearned

Array = NDArray[np.float64]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def taught(model: GaussianProcess, xs: list[Any], ys: Any) -> GaussianProcess:
    for x, y in zip(xs, ys, strict=True):
        model.learn_one(x, float(y))
    return model


def test_forecasts_explanations_and_draws_are_those_of_the_closed_form(rng: np.random.Generator) -> None:
    numbers, y = rng.normal(size=(40, 2)) * [1.0, 50.0] + [0.0, 1e5], rng.normal(size=40)
    y += 1e4 + 5.0 * np.sin(numbers[:, 0]) * (numbers[:, 1] - 1e5) / 50.0
    xs = [{"a": float(a), "b": float(b)} for a, b in numbers]
    weights = rng.integers(1, 4, 40) / 2.0
    model = GaussianProcess()
    for x, target, w in zip(xs, y, weights, strict=True):
        model.learn_one(x, float(target), float(w))
    settings, ratio = model._settings, 10.0**model._ratio
    mean_of, deviation_of = (np.array([settings[name][k] for name in "ab"]) for k in (0, 1))
    unit = deviation_of * [model.lengths_[name] for name in "ab"]
    z = (numbers - mean_of) / unit
    at = z[:3] + 0.3
    events = [dict(zip("ab", row.tolist(), strict=True)) for row in mean_of + unit * at]

    def kernel(one: Array, other: Array) -> Array:
        return np.asarray(ratio * np.exp(-0.5 * np.square(one[:, None] - other[None, :]).sum(2)))

    inverse = np.linalg.inv(kernel(z, z) + np.diag(1.0 / weights))
    mean = inverse.sum(0) @ y / inverse.sum()
    left = (y - mean) @ inverse @ (y - mean)
    between = kernel(at, z)
    location = mean + between @ inverse @ (y - mean)
    rest = 1.0 - between @ inverse.sum(0)
    covariance = kernel(at, at) - between @ inverse @ between.T + np.outer(rest, rest) / inverse.sum()
    degrees = weights.sum() - 1.0
    for k, x in enumerate(events):
        forecast = model.predict_distribution_one(x)
        assert forecast.location == pytest.approx(location[k], rel=1e-9)
        assert forecast.scale == pytest.approx(math.sqrt(left / degrees * (1.0 + covariance[k, k])), rel=1e-6)
        assert forecast.degrees == degrees
        assert model.explain_one(x).prediction == pytest.approx(forecast.location, rel=1e-9)
    drawn = np.array([model.draw_many(events, rng) for _ in range(400)])
    assert drawn.mean(0) == pytest.approx(location, abs=0.3)
    expected = covariance * left / (degrees - 2.0)
    assert np.cov(drawn.T) == pytest.approx(expected, abs=0.3 * float(expected.max()))


def test_it_learns_bends_leaves_noise_out_and_its_intervals_hold(rng: np.random.Generator) -> None:
    numbers = rng.uniform(-3.0, 3.0, (420, 4))
    y = np.sin(2.0 * numbers[:, 0]) + 0.1 * rng.normal(size=420)
    xs = [
        {**{f"x{k}": float(v) for k, v in enumerate(row)}, "sky": "ab"[n % 2]}
        for n, row in enumerate(numbers)
    ]
    y += np.array([n % 2 for n in range(420)])
    model, line = GaussianProcess(window=120), BayesianRegression()
    inside, errors = [], []
    for n, (x, target) in enumerate(zip(xs, y, strict=True)):
        if n >= 300:
            low, high = model.predict_interval_one(x, 0.9)
            inside.append(low < target < high)
            errors.append((model.predict_one(x) - target, line.predict_one(x) - target))
        model.learn_one(x, float(target))
        line.learn_one(x, float(target))
    ours, theirs = np.sqrt(np.mean(np.square(errors), axis=0))
    assert ours < 0.2 and ours < 0.4 * theirs and 0.83 < np.mean(inside) < 0.97
    assert min(model.lengths_[f"x{k}"] for k in (1, 2, 3)) > 4.0 * model.lengths_["x0"]
    assert model.clock == 420 and len(model._events) == 120


def test_what_is_missing_is_integrated_out(rng: np.random.Generator) -> None:
    kernel = GaussianKernel(np.array([False]), np.array([0.7]))
    drawn = rng.standard_normal((200_000, 1))
    gap, number = UncertainRows(np.array([[0.0]]), np.array([[1.0]])), np.array([[0.4]])
    sure = UncertainRows(number, np.zeros_like(number))
    assert kernel.between(gap, sure)[0, 0] == pytest.approx(
        float(kernel.between(UncertainRows(drawn, np.zeros_like(drawn)), sure).mean()), abs=0.005
    )
    pairs = np.exp(-np.square(drawn[::2] - drawn[1::2]) / (2 * 0.7**2))
    assert kernel.between(gap, gap)[0, 0] == pytest.approx(float(pairs.mean()), abs=0.005)
    model = taught(
        GaussianProcess(),
        [{"a": float(k % 10)} if k % 3 else {} for k in range(90)],
        [k % 10 for k in range(90)],
    )
    low, high = model.predict_interval_one({})
    assert high - low > 3.0 and abs(model.predict_one({"a": 3.0}) - 3.0) < 1.0 < abs(
        model.predict_one({}) - 8.0
    )


def test_a_sample_leaves_the_window_by_unlearning_or_by_age(rng: np.random.Generator) -> None:
    xs: list[Any] = [{"a": float(value), "sky": "xy"[k % 2]} for k, value in enumerate(rng.normal(size=70))]
    model = taught(GaussianProcess(window=50), xs, range(70))
    model.learn_one({"a": 1e8, "sky": "far"}, -1e8)
    for gone in (xs[0], xs[19], {"a": 0.0}):
        with pytest.raises(NotLearned, match="newest 50 events"):
            model.unlearn_one(gone, float(xs.index(gone)) if gone in xs else 0.0)
    model.unlearn_one({"a": 1e8, "sky": "far"}, -1e8)
    again = type(model).from_state(model.state())
    assert again.predict_distribution_one(xs[60]) == model.predict_distribution_one(xs[60])
    assert abs(model.predict_one(xs[60]) - 45.0) < 30.0 and len(model._events) == 49
    with pytest.raises(CannotMerge, match="is not merged"):
        model.merge(again)
    with pytest.raises(BadValue, match="at most 2,000"):
        GaussianProcess(window=3000)


def test_hard_columns_and_targets_make_no_forecast_diverge(rng: np.random.Generator) -> None:
    model = GaussianProcess(window=40)
    for k in range(100):
        a = float(rng.normal())
        x = {
            "a": a,
            "twice": a,
            "constant": 1e6,
            "gone": None,
            "id": f"event {k}",
            "huge": 1e100 if k % 9 else 0.0,
        }
        low, high = model.predict_interval_one(x, 0.9)
        assert low < high and not math.isnan(model.predict_one(x))
        model.learn_one(x, 2.0 * a * (1e6 if k > 60 else 1.0), [1.0, 0.0, 2.0**52, 1e-12][k % 4])
    for extreme in ({"a": 1e100}, {"a": -1e100, "constant": 0.0}, {"new": 3.0}, {}):
        assert math.isfinite(model.predict_one(extreme)) and math.isfinite(
            model.predict_density_one(extreme, 1e100)
        )
    same = taught(GaussianProcess(), [{"a": float(k)} for k in range(20)], [5.0] * 20)
    assert same.predict_one({"a": 3.0}) == 5.0 and same.predict_interval_one({}) == (-math.inf, math.inf)


def test_targets_whose_squares_are_no_doubles_are_learned() -> None:
    model = GaussianProcess(window=30)
    for k in range(30):
        model.learn_one({"a": k % 5}, 1e-300 * (k % 5 + 0.1 * (k % 3)))
        assert math.isfinite(model.predict_one({"a": 3}))
    assert model.predict_one({"a": 3}) == pytest.approx(3.1e-300, rel=0.1)


def test_a_process_over_gaps_goes_on_from_its_state_to_the_last_digit(rng: np.random.Generator) -> None:
    model = GaussianProcess(window=50)
    for k in range(90):
        numbers = zip("abcdefg", rng.normal(size=7).tolist(), strict=True)
        x = {name: number for name, number in numbers if rng.random() < 0.9}
        if k > 30 and k % 5 == 0:
            again = GaussianProcess.from_state(model.state())
            assert model.predict_interval_one(x, 0.9) == again.predict_interval_one(x, 0.9)
        model.predict_one(x)
        model.learn_one(x, x.get("a", 0.0) - x.get("b", 0.0) + rng.normal())


def test_a_window_that_moved_event_by_event_forecasts_as_one_read_from_its_state() -> None:
    rng = np.random.default_rng(4)
    model = GaussianProcess(window=20)
    for k in range(120):
        # "early" leaves the window, and counts as missing then; the kernel was last set after 100 events
        sky = "early" if k < 85 and k % 3 == 0 else ["grey", "blue"][k % 2]
        x = {
            name: number
            for name, number in zip("ab", rng.normal(size=2).tolist(), strict=True)
            if rng.random() < 0.8
        }
        y = x.get("a", 0.0) + rng.normal()
        model.predict_one(x | {"sky": sky})
        model.learn_one(x | {"sky": sky}, y)
        if k == 115:
            model.unlearn_one(x | {"sky": sky}, y)
    again = GaussianProcess.from_state(model.state())
    for sky in ("early", "grey", "blue", "new"):
        for x in ({"a": 0.5, "b": -1.0}, {"a": 0.5}, {}):
            event = {**x, "sky": sky}
            assert np.allclose(
                model.predict_interval_one(event, 0.9), again.predict_interval_one(event, 0.9), rtol=1e-12
            )
    early, unseen = ({"a": 0.5, "sky": sky} for sky in ("early", "new"))
    assert model.predict_one(early) == model.predict_one(unseen)


@pytest.mark.parametrize("shown", [{}, {"sky": "never seen"}], ids=["lost", "new"])
def test_a_name_that_is_lost_makes_an_interval_as_wide_as_the_names_differ(shown: dict[str, str]) -> None:
    rng = np.random.default_rng(4)

    def event() -> tuple[dict[str, Any], float]:
        x: dict[str, Any] = {
            "size": float(rng.normal()),
            "sky": ("red", "green", "blue")[int(rng.integers(3))],
        }
        return x, 2.0 * x["size"] + 5.0 * (x["sky"] == "red") + 0.5 * float(rng.normal())

    model = GaussianProcess(window=200)
    for number in range(300):
        x, y = event()
        model.learn_one({"size": x["size"]} if number % 7 == 0 else x, y)
    inside = []
    for _ in range(100):
        x, y = event()
        low, high = model.predict_interval_one({"size": x["size"], **shown}, 0.9)
        inside.append(low <= y <= high)
    assert np.mean(inside) > 0.85  # .47, where only the errors of rows counted
