"""Bayesian logistic regression against numerical integration, batch fits and simulations."""

from __future__ import annotations

import math
import time
import zlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from stream_bayes import BayesianLogistic, DriftAdaptive, Nominal, Numeric, Schema, SlidingWindow
from stream_bayes.errors import BadValue, NotSupported
from stream_bayes.learners.base.fourier_features import uniform_numbers
from stream_bayes.mail import SpamFilter
from stream_bayes.streams.served_models.corrections import unlearning_fault

Floats = NDArray[np.float64]

VALUES = {"sky": ["grey", "blue"], "day": ["sun", "mon", "tue"]}
SCHEMA = Schema({name: Nominal(values) for name, values in VALUES.items()}, classes=["dry", "rain"])
BIAS_VARIANCE = math.pi**2  # of the log-odds of a share ~ Beta(1/2, 1/2)


def names(rng: np.random.Generator, count: int) -> list[tuple[dict[str, Any], str]]:
    events = []
    for _ in range(count):
        x = {name: values[rng.integers(len(values))] for name, values in VALUES.items()}
        logit = 1.5 * (x["sky"] == "grey") - (x["day"] == "mon")
        events.append((x, "rain" if rng.random() < 1.0 / (1.0 + math.exp(-logit)) else "dry"))
    return events


def rows_of(numbers: Floats) -> list[dict[str, float]]:
    return [{f"x{k}": float(number) for k, number in enumerate(row)} for row in numbers]


def drawn(rng: np.random.Generator, count: int, classes: int) -> tuple[Floats, Floats]:
    """Return numbers, and the probabilities of classes by coefficients from the prior."""
    numbers = rng.normal(size=(count, 4))
    odds = numbers @ (rng.normal(size=(4, classes)) / math.sqrt(2.0))
    shares = np.exp(odds)
    return numbers, shares / shares.sum(axis=1, keepdims=True)


def loss(model: Any, rows: list[dict[str, float]], labels: list[int]) -> float:
    return -float(
        np.mean([math.log(model.predict_proba_one(x)[y]) for x, y in zip(rows, labels, strict=True)])
    )


def waves_of(indicators: Floats, columns: list[Any]) -> Floats:
    """Return the waves over indicators of values of two features, as the module's text states them."""
    angles = np.zeros(64)
    for indicator, column in zip(indicators, columns, strict=True):
        drawn = uniform_numbers([0, zlib.crc32(repr(column).encode())], 128)
        angles += indicator * np.sqrt(-2.0 * np.log(drawn[:64])) * np.cos(2.0 * math.pi * drawn[64:])
    waves: Floats = np.cos(angles / np.resize([0.5, 1.0, 2.0], 64) + 2.0 * math.pi * uniform_numbers([0], 64))
    return waves


@pytest.mark.parametrize("features", [None, "fourier"])
def test_two_classes_have_the_moments_of_each_tilted_posterior(features: str | None) -> None:
    rng = np.random.default_rng(1)
    columns = ["bias", *((name, value) for name, values in VALUES.items() for value in values)]
    size = len(columns) + (64 if features else 0)
    mean, covariance = np.zeros(size), np.diag([BIAS_VARIANCE] + [2.0] * (size - 1))
    model = BayesianLogistic(strength=0.5, features=features, schema=SCHEMA)
    grid = np.linspace(-60.0, 60.0, 120_001)
    for number, (x, y) in enumerate(names(rng, 40)):
        z = np.array([1.0, *(float(x[name] == value) for name, value in columns[1:])])
        if features:
            z = np.concatenate([z, waves_of(z[1:], columns[1:])])
        at, spread = z @ mean, z @ covariance @ z
        normal = np.exp(-0.5 * (grid - at) ** 2 / spread) / math.sqrt(2.0 * math.pi * spread)
        rain = normal / (1.0 + np.exp(-grid))
        share = rain.sum() * (grid[1] - grid[0])
        if number > 10:  # all values have come
            assert model.predict_proba_one(x)["rain"] == pytest.approx(share, rel=1e-6)
        weight = 2.0 if number == 7 else 1.0
        tilted = normal / (1.0 + np.exp(-grid if y == "rain" else grid)) ** weight
        tilted /= tilted.sum()
        moved = tilted @ grid
        left = tilted @ (grid - moved) ** 2
        gain = covariance @ z
        mean += gain * (moved - at) / spread
        covariance -= np.outer(gain, gain) * (spread - left) / spread**2
        model.learn_one(x, y, weight)
    coefficients = model.coefficients_["rain"]
    for k, name in enumerate(columns[1:], 1):
        assert 2.0 * coefficients[name].mean == pytest.approx(mean[k], rel=1e-6)
        assert 2.0 * coefficients[name].deviation == pytest.approx(math.sqrt(covariance[k, k]), rel=1e-6)


def test_three_classes_have_roughly_the_mean_of_a_posterior_that_few_events_made() -> None:
    grid = np.stack(np.meshgrid(np.linspace(-12.0, 12.0, 241), np.linspace(-12.0, 12.0, 241)), axis=-1)
    contrasts = np.array([[-1.0, -1.0], [1.0, -1.0], [0.0, 2.0]]) / np.array([2.0, math.sqrt(12.0)])
    model = BayesianLogistic(schema=Schema({"a": Nominal(["x"])}, classes=[0, 1, 2]))
    density = np.ones(grid.shape[:2])  # of the contrasts of the bias and the one value together
    density *= np.exp(-0.5 * (grid**2).sum(axis=-1) / (BIAS_VARIANCE + 1.0))
    shares = np.exp(grid @ contrasts.T)
    shares /= shares.sum(axis=-1, keepdims=True)
    for y in (0, 2, 2, 1, 2, 0, 2):
        model.learn_one({"a": "x"}, y)
        density *= shares[..., y]
    expected = (density[..., None] * shares).sum(axis=(0, 1)) / density.sum()
    answer = model.predict_proba_one({"a": "x"})
    assert [answer[y] for y in range(3)] == pytest.approx(expected.tolist(), abs=0.07)


def test_handwritten_digits_are_learned_though_classes_share_a_covariance() -> None:
    numbers, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    rows, labels = rows_of(numbers[order]), labels[order].tolist()
    model = BayesianLogistic()
    for x, y in zip(rows[:1200], labels[:1200], strict=True):
        model.learn_one(x, y)
    assert not model.is_joint_
    assert loss(model, rows[1200:], labels[1200:]) < 0.2


def test_each_class_is_moderated_by_its_own_variance_so_that_small_tables_are_answered_with_confidence() -> (
    None
):
    numbers, labels = load_wine(return_X_y=True)
    losses = []
    for seed in (2, 3):
        order = np.random.default_rng(seed).permutation(len(labels))
        model = BayesianLogistic()
        for x, y in zip(rows_of(numbers[order]), labels[order].tolist(), strict=True):
            share = model.predict_proba_one(x).get(y, 0.0)
            if len(model.classes_) > 1:
                losses.append(-math.log(max(share, 1e-4)))
            model.learn_one(x, y)
    assert np.mean(losses) < 0.23  # by the variance of each pair's difference it is above 0.26


def test_with_waves_a_border_that_no_line_draws_is_learned() -> None:
    rng = np.random.default_rng(3)
    curved, straight = BayesianLogistic(features="fourier"), BayesianLogistic()
    right = [0, 0]
    for number in range(1500):
        x = {name: float(rng.normal()) for name in "ab"}
        y = x["a"] * x["b"] > 0.0
        for k, model in enumerate((curved, straight)):
            right[k] += number >= 1000 and model.predict_one(x) == y
            model.learn_one(x, y)
    assert right[0] > 460 and right[1] < 300
    draws = [curved.draw(rng).predict_proba_one({"a": 1.0, "b": 1.0})[True] for _ in range(100)]
    assert np.mean(draws) == pytest.approx(curved.predict_proba_one({"a": 1.0, "b": 1.0})[True], abs=0.03)


def test_the_loss_of_one_pass_is_close_to_that_of_a_batch_fit() -> None:
    numbers, labels = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    numbers, labels = numbers[order][:, :10], labels[order].tolist()
    scaler = StandardScaler().fit(numbers[:300])
    batch = LogisticRegression().fit(scaler.transform(numbers[:300]), labels[:300])
    shares = batch.predict_proba(scaler.transform(numbers[300:]))
    of_batch = -float(np.mean(np.log(shares[np.arange(len(shares)), labels[300:]])))
    model, rows = BayesianLogistic(), rows_of(numbers)
    for x, y in zip(rows[:300], labels[:300], strict=True):
        model.learn_one(x, y)
    assert loss(model, rows[300:], labels[300:]) < of_batch + 0.01


@pytest.mark.parametrize("classes", [3, 5])
def test_more_classes_are_learned_as_well_as_by_a_batch_fit(classes: int) -> None:
    rng = np.random.default_rng(classes)
    numbers, shares = drawn(rng, 1500, classes)
    labels = [int(rng.choice(classes, p=row)) for row in shares]
    batch = LogisticRegression(C=0.5).fit(numbers[:1000], labels[:1000])
    answers = batch.predict_proba(numbers[1000:])
    of_batch = -float(np.mean(np.log(answers[np.arange(500), labels[1000:]])))
    model, rows = BayesianLogistic(), rows_of(100.0 + 5.0 * numbers)
    for x, y in zip(rows[:1000], labels[:1000], strict=True):
        model.learn_one(x, y)
    assert model.is_joint_
    assert loss(model, rows[1000:], labels[1000:]) < of_batch + 0.01


@pytest.mark.parametrize(("classes", "events"), [(2, 100), (3, 100), (3, 400), (5, 100)])
def test_intervals_cover_the_probability_that_the_events_were_drawn_by(classes: int, events: int) -> None:
    hits, total = 0, 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        numbers, shares = drawn(rng, events + 10, classes)
        rows, model = rows_of(numbers), BayesianLogistic()
        for x, row in zip(rows[:events], shares[:events], strict=True):
            model.learn_one(x, int(rng.choice(classes, p=row)))
        for x, row in zip(rows[events:], shares[events:], strict=True):
            intervals = model.predict_interval_one(x, 0.9)
            hits += sum(low <= row[y] <= high for y, (low, high) in intervals.items())
            total += classes
    assert 0.85 < hits / total < 0.97


def test_among_many_classes_the_doubt_of_each_is_that_of_its_score_less_all_others() -> None:
    rng = np.random.default_rng(5)
    numbers, shares = drawn(rng, 200, 20)
    model, rows = BayesianLogistic(), rows_of(numbers)
    for x, row in zip(rows[:-1], shares, strict=False):
        model.learn_one(x, int(rng.choice(20, p=row)))
    answer = model.answer_with_spread(rows[-1])
    assert len(answer) > 16  # more have one covariance for all contrasts
    relative = []
    for y, (p, variance) in answer.items():
        squares = sum(q * q for x, (q, _) in answer.items() if x != y)
        relative.append(variance / (1.0 + squares / (1.0 - p) ** 2))
    assert relative == pytest.approx([relative[0]] * len(relative), rel=1e-9)


def test_units_and_offsets_of_numbers_change_nothing() -> None:
    rng = np.random.default_rng(4)
    numbers, shares = drawn(rng, 100, 2)
    labels = [int(rng.choice(2, p=row)) for row in shares]
    plain, scaled = BayesianLogistic(), BayesianLogistic()
    for x, other, y in zip(rows_of(numbers), rows_of(1e6 + 1e-3 * numbers), labels, strict=True):
        assert scaled.predict_proba_one(other) == pytest.approx(plain.predict_proba_one(x), abs=1e-6)
        plain.learn_one(x, y)
        scaled.learn_one(other, y)


def test_a_missing_feature_is_integrated_out() -> None:
    rng = np.random.default_rng(5)
    model = BayesianLogistic()
    for _ in range(400):
        wind, sky = rng.normal(5.0, 2.0), "grey" if rng.random() < 0.3 else "blue"
        rain = 1.0 / (1.0 + math.exp(-(2.0 * (wind - 5.0) + (2.0 if sky == "grey" else -1.0))))
        model.learn_one({"wind": wind, "sky": sky}, rng.random() < rain)
    draws = [
        model.predict_proba_one(
            {"wind": rng.normal(5.0, 2.0), "sky": "grey" if rng.random() < 0.3 else "blue"}
        )[True]
        for _ in range(4000)
    ]
    assert model.predict_proba_one({})[True] == pytest.approx(np.mean(draws), abs=0.03)
    windless = [
        model.predict_proba_one({"wind": rng.normal(5.0, 2.0), "sky": "grey"})[True] for _ in range(4000)
    ]
    assert model.predict_proba_one({"sky": "grey"})[True] == pytest.approx(np.mean(windless), abs=0.03)


def test_a_class_that_comes_late_begins_with_its_share() -> None:
    rng = np.random.default_rng(6)
    model = BayesianLogistic()
    for _ in range(500):
        model.learn_one({"a": rng.normal()}, "usual")
    model.learn_one({"a": 0.0}, "rare")
    assert 0.0005 < model.predict_proba_one({"a": 0.0})["rare"] < 0.02
    model.learn_one({"a": 0.0}, "third")
    assert 0.0005 < model.predict_proba_one({"a": 0.0})["third"] < 0.02


def test_columns_past_those_with_covariances_are_still_learned() -> None:
    rng = np.random.default_rng(8)
    model = BayesianLogistic()
    weights = rng.normal(size=250) / 4.0
    hits = 0
    for number in range(1200):
        z = rng.normal(size=250)
        y = rng.random() < 1.0 / (1.0 + math.exp(-float(z @ weights)))
        x = {f"x{k}": float(value) for k, value in enumerate(z)}
        hits += number >= 900 and model.predict_one(x) == y
        model.learn_one(x, bool(y))
    assert not model.is_joint_
    assert hits > 0.75 * 300


@pytest.mark.parametrize("half_life", [3.0, 40.0])
def test_it_follows_a_change_and_forgets_up_to_the_prior(half_life: float) -> None:
    rng = np.random.default_rng(8)
    model = BayesianLogistic(half_life=half_life)
    for number in range(600):
        a = float(rng.normal())
        model.learn_one({"a": a, "b": float(rng.normal())}, (a > 0) == (number < 400))
    assert model.predict_proba_one({"a": 2.0})[False] > 0.7
    assert model.coefficients_[True]["b"].deviation < 1.0  # half of that of the log-odds
    model.advance(100_000)
    assert model.predict_proba_one({"a": 2.0})[False] == pytest.approx(0.5, abs=1e-3)


def test_numbers_of_any_size_leave_finite_answers() -> None:
    model = BayesianLogistic()
    for k in range(40):
        model.learn_one(
            {"a": 1e100 if k == 20 else float(k % 5), "b": 1e-300 * k, "c": 7.0},
            f"y{k % 3}",
            1e6 if k == 30 else 1.0,
        )
    for x in ({"a": 1e100}, {"a": -1e100, "b": 1e100, "c": -3}, {}):
        answer = model.predict_proba_one(x)
        assert sum(answer.values()) == pytest.approx(1.0)
        assert min(answer.values()) > 0.0
        assert all(low <= answer[y] <= high for y, (low, high) in model.predict_interval_one(x).items())


@pytest.mark.parametrize("half_life", [None, 500.0])
@pytest.mark.parametrize("features", [None, "fourier"])
def test_no_coefficient_is_known_less_than_by_the_prior(
    features: str | None, half_life: float | None
) -> None:
    rng = np.random.default_rng(3)
    model = BayesianLogistic(features=features, half_life=half_life, strength=0.1)
    for number in range(70):  # mostly 0, and each unit is smaller or larger than the one before
        sizes = rng.lognormal(0.0, 3.0, 57) * (rng.random(57) < 0.3)
        x = {f"n{k}": float(size) for k, size in enumerate(sizes)}
        answer = model.predict_proba_one(x)
        if number > 4:
            assert 1e-6 < answer["spam"] < 1.0 - 1e-6
        model.learn_one(x, "spam" if number % 3 else "ham")
        triangle = np.array(model.state()["reading"]["covariance"])
        variances = triangle[np.cumsum(np.arange(1, math.isqrt(2 * triangle.size) + 1)) - 1]
        assert (variances > 0.0).all() and (variances[1:] <= 10.0 / 0.75).all()  # a quarter may have faded


@pytest.mark.parametrize("spike", [0, 20])
def test_a_far_number_does_not_spoil_those_after_it(spike: int) -> None:
    rng = np.random.default_rng(11)
    plain, spiked = BayesianLogistic(), BayesianLogistic()
    for number in range(300):
        a = float(rng.normal())
        label = rng.random() < 1.0 / (1.0 + math.exp(-2.0 * a))
        plain.learn_one({"a": a}, label)
        spiked.learn_one({"a": 1e8 if number == spike else a}, label)
    for a in (-1.0, 0.5, 2.0):
        assert spiked.predict_proba_one({"a": a})[True] == pytest.approx(
            plain.predict_proba_one({"a": a})[True], abs=0.1
        )


def test_draws_have_the_answer_as_their_mean() -> None:
    model, rng = BayesianLogistic(), np.random.default_rng(9)
    for x, y in names(rng, 60):
        model.learn_one({**x, "wind": float(rng.normal())}, y)
    full = {"sky": "grey", "day": "mon", "wind": 1.5}
    draws = [model.draw(rng) for _ in range(1500)]
    for x in (full, {"day": "mon"}, {"wind": 1.5, "sky": "never learned"}, {}):
        shares = [draw.predict_proba_one(x)["rain"] for draw in draws]
        assert np.mean(shares) == pytest.approx(model.predict_proba_one(x)["rain"], abs=0.015)
    low, high = model.predict_interval_one(full, 0.8)["rain"]
    inside = [low <= draw.predict_proba_one(full)["rain"] <= high for draw in draws]
    assert np.mean(inside) == pytest.approx(0.8, abs=0.06)


def test_explanations_add_up_to_the_log_of_the_answer() -> None:
    model = BayesianLogistic(schema=Schema({"wind": Numeric(), "sky": Nominal()}, classes=["dry", "rain"]))
    for k in range(60):
        model.learn_one({"wind": k % 7, "sky": "grey" if k % 3 else "blue"}, "rain" if k % 7 > 3 else "dry")
    x = {"wind": 6, "sky": "grey"}
    why = model.explain_one(x)
    added = why.baseline["rain"] + sum(each["rain"] for each in why.evidence.values())
    assert added == pytest.approx(math.log(model.predict_proba_one(x)["rain"]))
    assert why.contrast()[2][0][0] == "wind"


def test_what_takes_events_out_refuses_it_by_name() -> None:
    model = BayesianLogistic()
    with pytest.raises(NotSupported, match="BayesianLogistic cannot unlearn"):
        SlidingWindow(model, 50)
    with pytest.raises(NotSupported, match="BayesianLogistic cannot unlearn"):
        SpamFilter(learner=model)
    assert (
        unlearning_fault(model, is_read_again=False)
        == "a BayesianLogistic cannot unlearn: it is no sum of what it learned"
    )
    with pytest.raises(BadValue, match="cannot fade by their own time"):
        BayesianLogistic(half_life="7d")  # type: ignore[arg-type]  # wrong on purpose


def test_after_a_drift_no_events_are_taken_out_of_the_posterior() -> None:
    rng = np.random.default_rng(10)
    model = DriftAdaptive(BayesianLogistic())
    for number in range(1500):
        a = float(rng.normal())
        model.learn_one({"a": a, "sky": "grey" if rng.random() < 0.5 else "blue"}, (a > 0) == (number < 700))
    assert model.predict_proba_one({"a": 2.0, "sky": "grey"})[False] > 0.9


def test_an_event_takes_time_in_proportion_to_the_classes() -> None:
    def seconds(classes: int) -> float:
        model, least = BayesianLogistic(), math.inf
        for k in range(2 * classes):
            model.learn_one({"a": f"v{k % 5}", "b": float(k % 7)}, f"c{k % classes}")
        for k in range(6):
            start = time.process_time()
            for each in range(10):
                model.learn_one({"a": f"v{k % 5}", "b": float(each)}, f"c{each}")
            least = min(least, time.process_time() - start)
        return least

    assert seconds(500) < 40.0 * seconds(50)  # 10 times as many; it was the square


def test_intervals_of_ten_classes_hold_their_probabilities_after_many_events() -> None:
    rng, classes, numbers = np.random.default_rng(0), 10, 12
    coefficients = 0.7 * rng.normal(size=(classes, numbers + 1))

    def drawn() -> tuple[dict[str, float], Floats]:
        z = rng.normal(size=numbers)
        scores = np.exp(coefficients @ np.append(1.0, z))
        return {f"n{k}": float(value) for k, value in enumerate(z)}, scores / scores.sum()

    model = BayesianLogistic()
    for _ in range(2_000):
        x, shares = drawn()
        model.learn_one(x, str(rng.choice(classes, p=shares)))
    assert model.is_joint_
    held = []
    for _ in range(60):
        x, shares = drawn()
        intervals = model.predict_interval_one(x, 0.9)
        held += [low <= shares[int(label)] <= high for label, (low, high) in intervals.items()]
    assert np.mean(held) >= 0.91  # .87 with a covariance that the classes share
