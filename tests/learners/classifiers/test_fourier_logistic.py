"""Logistic regression on waves against its formulas in numpy, and on borders that no line draws."""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
import pytest

from stream_bayes import BayesianLogistic, FourierLogistic, Nominal, Numeric, Schema
from stream_bayes.learners.base.fourier_features import uniform_numbers

WAVES, LEFT = 64, 0.5 ** (1.0 / 500.0)


def events(count: int, classes: int = 2) -> list[tuple[dict[str, Any], int]]:
    rng = np.random.default_rng(2)
    made = []
    for _ in range(count):
        x: dict[str, Any] = {
            "a": float(rng.normal(3.0, 2.0)),
            "b": float(rng.normal()),
            "c": "xy"[rng.integers(2)],
        }
        made.append((x, int((x["a"] > 3.0) + (x["b"] > 0.0)) % classes))
    return made


class ByFormula:
    """The posterior as the module's text states it, for three features that always come."""

    def __init__(self, classes: int, half_life: float) -> None:
        self.columns: list[Any] = ["a", "b"]
        self.mean, self.covariance = np.zeros((classes, 3 + WAVES)), np.eye(3 + WAVES)
        self.kept = 0.5 ** (1.0 / half_life)
        self.moments = dict.fromkeys("ab", (0.0, 0.0, 0.0))

    def add(self, value: tuple[str, str]) -> None:
        at = 1 + len(self.columns)
        self.columns.append(value)
        self.mean = np.insert(self.mean, at, 0.0, axis=1)
        self.covariance = np.insert(np.insert(self.covariance, at, 0.0, axis=0), at, 0.0, axis=1)
        self.covariance[at, at] = 1.0

    def row(self, x: dict[str, Any]) -> Any:
        z, angle = [], np.zeros(WAVES)
        values = sum(type(column) is tuple for column in self.columns)
        typical = 1.0 / math.sqrt(len(self.columns) - values + 0.5 * bool(values))
        for column in self.columns:
            if type(column) is tuple:
                z.append(float(x[column[0]] == column[1]))
            else:
                _, center, variance = self.moments[column]
                deviation = math.sqrt(variance)
                far = (x[column] - center) / deviation if deviation > 0.0 else 0.0
                z.append(max(-8.0, min(8.0, far)))
            drawn = uniform_numbers([0, zlib.crc32(repr(column).encode())], 2 * WAVES)
            normal = np.sqrt(-2.0 * np.log(drawn[:WAVES])) * np.cos(2.0 * math.pi * drawn[WAVES:])
            angle += z[-1] * typical * normal
        angle /= np.resize([0.5, 1.0, 2.0], WAVES)
        phases = 2.0 * math.pi * uniform_numbers(0, WAVES)
        return np.array([1.0, *z, *(math.sqrt(0.5) * np.cos(angle + phases))])

    def probabilities(self, row: Any, scale: float) -> Any:
        shares = np.exp(self.mean @ row / scale)
        return shares / shares.sum()

    def predict(self, x: dict[str, Any]) -> Any:
        row = self.row(x)
        return self.probabilities(row, math.sqrt(1.0 + math.pi / 8.0 * (row @ self.covariance @ row)))

    def learn(self, x: dict[str, Any], y: int) -> None:
        if ("c", x["c"]) not in self.columns:
            self.add(("c", x["c"]))
        size = len(self.covariance)
        self.covariance *= min(1.0 / self.kept, size / np.trace(self.covariance))
        row = self.row(x)
        moved, p = self.covariance @ row, self.probabilities(row, 1.0)
        curvature = max(0.01, float((p * (1.0 - p)).sum()) / max(2, len(p) - 1))
        least = 1.0 + curvature * float(row @ moved)
        self.mean += np.outer((np.arange(len(p)) == y) - p, moved) / least
        self.covariance -= curvature / least * np.outer(moved, moved)
        for name, (count, center, variance) in self.moments.items():
            count = LEFT * count + 1.0
            step = x[name] - center
            self.moments[name] = (
                count,
                center + step / count,
                (1.0 - 1.0 / count) * (variance + step * step / count),
            )


@pytest.mark.parametrize("classes", [2, 3])
def test_the_posterior_moves_as_its_formulas_say(classes: int) -> None:
    stream = events(60, classes)
    schema = Schema({"a": Numeric(), "b": Numeric(), "c": Nominal(["x", "y"])}, classes=range(classes))
    model = FourierLogistic(half_life=80.0, schema=schema)
    oracle = ByFormula(classes, 80.0)
    for number, (x, y) in enumerate(stream):
        if number > 5:
            expected = dict(enumerate(oracle.predict(x).tolist()))
            assert model.predict_proba_one(x) == pytest.approx(expected, rel=1e-6)
        model.learn_one(x, y)
        oracle.learn(x, y)


def test_a_border_that_no_line_draws_is_learned() -> None:
    rng = np.random.default_rng(3)
    curved, straight = FourierLogistic(), BayesianLogistic()
    right = [0, 0]
    for number in range(2000):
        x = {name: float(rng.normal()) for name in "ab"}
        y = x["a"] * x["b"] > 0.0
        for k, model in enumerate((curved, straight)):
            right[k] += number >= 1000 and model.predict_one(x) == y
            model.learn_one(x, y)
    assert right[0] > 930 and right[1] < 600


def test_the_order_in_which_features_come_changes_nothing() -> None:
    one, other = FourierLogistic(), FourierLogistic()
    for x, y in events(200):
        one.learn_one(x, y)
        other.learn_one(dict(reversed(x.items())), y)
    assert one.predict_proba_one(x) == pytest.approx(other.predict_proba_one(x), rel=1e-9)


def test_a_class_that_comes_late_begins_rare_and_is_learned() -> None:
    model = FourierLogistic()
    for x, y in events(400):
        model.learn_one(x, y)
    far = {"a": 30.0, "b": 9.0, "c": "x"}
    model.learn_one(far, "late")
    assert model.predict_proba_one({"a": 3.0, "b": 0.5, "c": "y"})["late"] < 0.05
    for _ in range(5):
        model.learn_one(far, "late")
    assert model.predict_one(far) == "late"
