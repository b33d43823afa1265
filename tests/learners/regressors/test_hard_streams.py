"""Streams that break regressions elsewhere, each on every regressor of the catalogue."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stream_bayes.errors import StreamBayesError
from stream_bayes.learners.catalogue import REGRESSORS, declaration_of
from stream_bayes.learners.factory import make_regressor

Sample = tuple[dict[str, Any], float]
EVENTS = 120
SETTLED = 12  # events after which a forecast stays near the targets that came


def made(name: str) -> Any:
    return make_regressor(name, declaration_of(name).example)


def usual(seed: int, count: int = EVENTS) -> Iterator[Sample]:
    rng = random.Random(seed)
    for _ in range(count):
        x: dict[str, Any] = {
            "a": rng.gauss(0.0, 1.0),
            "b": rng.gauss(5.0, 2.0),
            "sky": rng.choice(["grey", "blue"]),
        }
        yield x, 3.0 * x["a"] - x["b"] + 2.0 * (x["sky"] == "grey") + rng.gauss(0.0, 0.3)


def constant_target() -> Iterator[Sample]:
    return ((x, 7.0) for x, _ in usual(1))


def eight_equal_first_targets() -> Iterator[Sample]:
    return ((x, 7.0 if k < 8 else y) for k, (x, y) in enumerate(usual(2)))


def more_columns_than_events() -> Iterator[Sample]:
    rng = random.Random(3)
    return (({f"c{k}": rng.gauss(0.0, 1.0) for k in range(60)}, rng.gauss(0.0, 1.0)) for _ in range(40))


def collinear_constant_duplicate_and_missing_columns() -> Iterator[Sample]:
    for x, y in usual(4):
        a = x["a"]
        yield {**x, "twice": a, "sum": a + x["b"], "same": 4.0, "never": None, "nan": math.nan}, y


def enormous_numbers() -> Iterator[Sample]:
    for k, (x, y) in enumerate(usual(5)):
        yield {**x, "b": 1e99 if k % 9 == 4 else x["b"]}, y


def enormous_targets() -> Iterator[Sample]:
    return ((x, 1e99 if k % 9 == 4 else y) for k, (x, y) in enumerate(usual(6)))


def other_units() -> Iterator[Sample]:
    return ((x, y * (1e6 if k >= EVENTS // 2 else 1.0)) for k, (x, y) in enumerate(usual(7)))


def more_categories_than_events() -> Iterator[Sample]:
    return (({"id": f"n{k}", "other": f"m{k}", "a": x["a"]}, y) for k, (x, y) in enumerate(usual(8)))


STREAMS: list[Callable[[], Iterator[Sample]]] = [
    *(constant_target, eight_equal_first_targets, more_columns_than_events),
    *(collinear_constant_duplicate_and_missing_columns, enormous_numbers, enormous_targets),
    *(other_units, more_categories_than_events),
]


@pytest.mark.filterwarnings("ignore::stream_bayes.errors.TooManyValues")
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", REGRESSORS)
def test_no_forecast_is_nan_or_beyond_what_has_been_seen(
    name: str, stream: Callable[[], Iterator[Sample]]
) -> None:
    model, low, high = made(name), math.inf, -math.inf
    for k, (x, y) in enumerate(stream()):
        point = model.predict_one(x)
        assert math.isfinite(point)
        if k >= SETTLED:
            assert low - 10.0 * (high - low) <= point <= high + 10.0 * (high - low)
            interval = model.predict_interval_one(x, 0.9)
            assert interval is None or interval[0] <= interval[1], interval
        model.learn_one(x, y)
        low, high = min(low, y), max(high, y)


@pytest.mark.parametrize("target", [7.0, 0.0, 0.1, -1e6])
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_target_that_never_changed_has_an_interval_once_enough_equal_ones_came(
    name: str, target: float
) -> None:
    model, ahead = made(name), {"a": 0.3, "b": 4.0, "sky": "blue"}
    for k, (x, _) in enumerate(usual(12, 40), 1):
        model.learn_one(x, target)
        least = (k - 1) / (k + 1)  # the next of n equal numbers is the same so often, whatever they are
        for level in (0.5, 0.9, 0.95):
            low, high = model.predict_interval_one(ahead, level)
            assert (low, high) == ((target, target) if level <= least else (-math.inf, math.inf)), (k, level)
            assert model.quantile_one(ahead, 0.5 - 0.5 * level) == low <= model.predict_one(ahead) <= high
        forecast = model.predict_distribution_one(ahead)
        assert forecast.below(target) == 0.5
        assert (
            1.0 - forecast.below(target - 1.0) == pytest.approx(k / (k + 1)) == forecast.below(target + 1.0)
        )
    model.learn_one({"a": 1.0}, target + 1.0)
    low, high = model.predict_interval_one(ahead, 0.9)
    assert low <= target <= high and (high - low > 0.0 or math.isinf(low))


@pytest.mark.parametrize(
    "y", [None, math.nan, math.inf, -math.inf, 1e300, "3", [1.0], {"a": 1.0}, b"3"], ids=repr
)
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_target_that_is_no_number_is_refused_and_changes_nothing(name: str, y: Any) -> None:
    assert_refused_without_change(name, lambda model: model.learn_one({"a": 1.0, "b": 2.0, "sky": "grey"}, y))


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e300, [1.0]], ids=repr)
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_feature_that_is_no_number_of_use_is_refused_and_changes_nothing(name: str, value: Any) -> None:
    assert_refused_without_change(name, lambda model: model.learn_one({"a": value, "b": 2.0}, 1.0))


@pytest.mark.parametrize("w", [-1.0, math.nan, math.inf, "2"], ids=repr)
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_weight_that_is_none_is_refused_and_changes_nothing(name: str, w: Any) -> None:
    assert_refused_without_change(
        name, lambda model: model.learn_one({"a": 1.0, "b": 2.0, "sky": "grey"}, 1.0, w=w)
    )


def assert_refused_without_change(name: str, act: Callable[[Any], object]) -> None:
    model = made(name)
    for x, y in usual(9, 40):
        model.learn_one(x, y)
    twin = copy.deepcopy(model)
    with pytest.raises(StreamBayesError):
        act(model)
    for x, y in usual(10, 20):
        assert model.predict_one(x) == twin.predict_one(x)
        assert model.predict_interval_one(x, 0.8) == twin.predict_interval_one(x, 0.8)
        model.learn_one(x, y)
        twin.learn_one(x, y)


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_weight_of_zero_teaches_nothing_of_the_target(name: str) -> None:
    model = made(name)
    for x, y in usual(11, 40):
        model.learn_one(x, y)
    x = {"a": 0.5, "b": 5.0, "sky": "blue"}
    try:
        model.learn_one(x, 1e9, w=0.0)
    except StreamBayesError as error:
        assert "weight" in str(error)  # noqa: PT017  (either answer is right)
    assert abs(model.predict_one(x)) < 1e3


MOVING = ["adaptive-regression", "bayesian-tree"]  # beside those that have a window


@pytest.mark.parametrize("spikes", [(100,), (40, 150)])
@pytest.mark.parametrize("name", MOVING)
def test_a_target_that_is_an_error_spoils_no_later_forecast(name: str, spikes: tuple[int, ...]) -> None:
    model, errors = made(name), 0.0
    for k, (x, y) in enumerate(usual(21, 300)):
        if k >= 200:
            errors += abs(model.predict_one(x) - y) / 100
        model.learn_one(x, 5e6 if k in spikes else y)
    assert errors < 2.5  # the targets have a deviation of 3.8, and a noise of 0.3


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("name", MOVING)
def test_a_target_in_another_unit_is_learned_anew(name: str, shift: float) -> None:
    model, inside, errors = made(name), 0, 0.0
    unit = 1.0 if shift else 1e6
    for k, (x, y) in enumerate(usual(22, 400)):
        target = y if k < 200 else shift + unit * y
        if k >= 300:
            low, high = model.predict_interval_one(x, 0.9)
            inside += low <= target <= high
            errors += abs(model.predict_one(x) - target) / unit
        model.learn_one(x, target)
    assert inside >= 80
    assert errors < 100.0  # the targets have a deviation of 3.7
