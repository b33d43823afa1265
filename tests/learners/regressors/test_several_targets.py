"""Several targets on one store of sums: each forecast is that of a regression alone, and they predict one another."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from river import base
from sklearn.multioutput import MultiOutputRegressor

from stream_bayes import BayesianRegression, MarkovChain, MultiTargetRegression, load, save
from stream_bayes.errors import BadLabel, BadValue, CannotMerge, NotLearned, NotSupported, StreamBayesError
from stream_bayes.sklearn import BayesianRegressor
from stream_bayes.testing import check_learner
from stream_bayes.testing.__main__ import main

Sample = tuple[dict[str, Any], dict[str, float]]


def samples(count: int, seed: int = 1, lacking: float = 0.2) -> list[Sample]:
    rng = random.Random(seed)
    made: list[Sample] = []
    for _ in range(count):
        wind, sky = rng.gauss(5.0, 2.0), rng.choice(["grey", "blue", "red"])
        x = {"wind": wind, "sky": sky, "noise": rng.random()}
        if rng.random() < lacking:
            del x["wind"]
        rain = 2.0 * wind - 3.0 * (sky == "grey") + rng.gauss(0.0, 0.5)
        made.append((x, {"rain": rain, "river": 1e4 + 3.0 * rain + rng.gauss(0.0, 0.1), "flat": 7.0}))
    return made


def taught(rows: list[Sample], **arguments: Any) -> MultiTargetRegression:
    model = MultiTargetRegression(**arguments)
    for x, y in rows:
        model.learn_one(x, y)
    return model


def figures(model: MultiTargetRegression, rows: list[Sample]) -> list[float]:
    found = []
    for x, y in rows:
        for targets in ({}, {"rain": y["rain"]}):
            for each in model.predict_distribution_one(x, targets).values():
                found += [each.mean, *each.interval(0.9)]
    return found


@pytest.mark.parametrize("arguments", [{}, {"strength": 2.0}, {"half_life": 30.0}, {"max_values": 2}])
def test_each_forecast_is_that_of_a_regression_of_its_target_alone(arguments: dict[str, Any]) -> None:
    rows = samples(150)
    model = taught(rows, **arguments)
    for name in ("rain", "river", "flat"):
        alone = BayesianRegression(**arguments)
        for x, y in rows:
            alone.learn_one(x, y[name])
        for x in (*(x for x, _ in rows[:20]), {}, {"sky": "green"}):
            ours, theirs = model.predict_distribution_one(x)[name], alone.predict_distribution_one(x)
            assert ours.mean == pytest.approx(theirs.mean, rel=1e-9) == model.predict_one(x)[name]
            assert ours.interval(0.9) == pytest.approx(theirs.interval(0.9), rel=1e-9)
            assert model.predict_interval_one(x, 0.9)[name] == ours.interval(0.9)


def test_a_target_that_is_there_predicts_the_others_as_a_feature_would() -> None:
    rows = samples(200, lacking=0.0)
    model, alone = taught(rows, strength=1.0), BayesianRegression(1.0)
    for x, y in rows:
        alone.learn_one({**x, "rain": y["rain"]}, y["river"])
    for x, y in samples(20, seed=9):
        answer = model.predict_distribution_one(x, {"rain": y["rain"]})
        assert set(answer) == {"river", "flat"}
        theirs = alone.predict_distribution_one({**x, "rain": y["rain"]})
        assert answer["river"].mean == pytest.approx(theirs.mean, rel=1e-9)
        assert answer["river"].scale == pytest.approx(theirs.scale, rel=1e-9)
        assert answer["river"].scale < 0.6 * model.predict_distribution_one(x)["river"].scale
        assert model.predict_one(x, {"rain": float("nan")}) == model.predict_one(x)


def test_unlearning_merging_and_order_change_nothing(tmp_path: Any) -> None:
    rows, tests = samples(120), samples(10, seed=3)
    whole = figures(taught(rows), tests)
    model = taught(rows)
    far = ({"wind": 1e8, "sky": "new"}, {"rain": -1e8, "river": 1e9, "flat": 1e7})
    model.learn_one(*far)
    assert figures(model, tests) != pytest.approx(whole, rel=1e-3)
    model.unlearn_one(*far)
    assert figures(model, tests) == pytest.approx(whole, rel=1e-9)
    parts = sum((taught(rows[k::4]) for k in range(4)), start=taught([]))
    assert figures(parts, tests) == pytest.approx(whole, rel=1e-9)
    turned = [(x, dict(reversed(y.items()))) for x, y in reversed(rows)]
    again = taught(turned)
    for x, _ in tests:
        assert again.predict_one(x) == pytest.approx(model.predict_one(x), rel=1e-9)
    save(parts, tmp_path / "m.zip")
    loaded = load(tmp_path / "m.zip")
    assert isinstance(loaded, MultiTargetRegression)
    assert loaded.state()["arrays"].keys() == parts.state()["arrays"].keys()
    assert figures(loaded, tests) == figures(parts, tests)
    loaded.learn_one(*far)
    parts.learn_one(*far)
    assert figures(loaded, tests) == figures(parts, tests)
    assert parts.clone().target_names == [] and parts.twin().target_names == ["rain", "river", "flat"]
    with pytest.raises(CannotMerge):
        taught(rows).merge(taught(rows, strength=2.0))


def test_it_is_a_regressor_of_several_targets_to_river_and_empty_at_first() -> None:
    model = MultiTargetRegression()
    assert isinstance(model, base.MultiTargetRegressor)
    assert model.predict_one({"a": 1.0}) == {} == model.predict_interval_one({"a": 1.0})
    with pytest.raises(NotLearned):
        model.log_evidence()
    model.learn_one({"a": 1.0}, {"y": 3.0, 2: 5})
    assert model.predict_one({"a": 2.0}) == {"y": 3.0, 2: 5.0}
    assert model.predict_interval_one({})["y"] == (-np.inf, np.inf)
    assert model.target_names == ["y", 2]


@pytest.mark.parametrize(
    ("x", "y", "error", "said"),
    [
        ({"a": 1.0}, {"y": 1.0}, BadLabel, "expected ['y', 'z']"),
        ({"a": 1.0}, {"y": 1.0, "z": 1.0, "w": 1.0}, BadLabel, "expected ['y', 'z']"),
        ({"a": 1.0}, {"y": 1.0, "z": None}, BadLabel, "a target is needed"),
        ({"a": 1.0}, {"y": 1.0, "z": float("inf")}, BadLabel, "finite number"),
        ({"a": 1.0}, {"y": 1.0, "z": "3"}, BadLabel, "finite number"),
        ({"a": 1.0}, 3.0, BadLabel, "of one: BayesianRegression"),
        ({"a": 1.0}, {}, BadLabel, "expected a dict"),
        ({"y": 1.0}, {"y": 1.0, "z": 1.0}, BadValue, "it is a target"),
        ([1.0], {"y": 1.0, "z": 1.0}, StreamBayesError, ""),
        ({"a": float("inf")}, {"y": 1.0, "z": 1.0}, StreamBayesError, ""),
    ],
)
def test_a_sample_that_does_not_fit_is_refused_and_changes_nothing(
    x: Any, y: Any, error: type[Exception], said: str
) -> None:
    model = taught([({"a": float(k % 5)}, {"y": k % 3, "z": float(k)}) for k in range(30)])
    before = model.state()["arrays"]
    predicted = model.predict_one({"a": 2.0})
    for verb in (model.learn_one, model.unlearn_one):
        with pytest.raises(error) as raised:
            verb(x, y)
        assert said in str(raised.value)
    assert model.predict_one({"a": 2.0}) == predicted and model.clock == 30
    after = model.state()["arrays"]
    assert all(np.array_equal(after[name], before[name]) for name in before)


def test_questions_about_targets_that_are_not_there_are_refused() -> None:
    model = taught(samples(30))
    for x, targets in (({}, {"mist": 1.0}), ({"rain": 1.0}, None), ({}, {"rain": "x"})):
        with pytest.raises(StreamBayesError):
            model.predict_one(x, targets)
    for arguments in ({"strength": "much"}, {"strength": 0.0}, {"half_life": -1.0}, {"max_values": 0}):
        with pytest.raises(BadValue):
            MultiTargetRegression(**arguments)


def test_scikit_learn_fits_one_regressor_for_each_target() -> None:
    numbers = np.random.default_rng(5).normal(size=(80, 2))
    targets = np.column_stack([numbers.sum(axis=1), 2.0 * numbers[:, 0]])
    with pytest.raises(ValueError, match="y should be a 1d array"):
        BayesianRegressor().fit(numbers, targets)
    several = MultiOutputRegressor(BayesianRegressor()).fit(numbers, targets)
    assert several.predict(numbers) == pytest.approx(targets, abs=0.05)


@pytest.mark.parametrize(
    "model", [MultiTargetRegression(), MarkovChain("wind")], ids=lambda each: type(each).__name__
)
def test_models_that_laws_are_not_about_are_refused_with_the_reason(
    model: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = f"{type(model).__name__}: the laws are about classifiers and about regressors of one number"
    with pytest.raises(NotSupported, match=reason):
        check_learner(model)
    with pytest.raises(SystemExit):
        main([type(model).__name__])
    assert reason in capsys.readouterr().err
