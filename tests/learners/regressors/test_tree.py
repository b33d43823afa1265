"""The Bayesian regression tree: lines that change at a cut, intervals that hold, hard input, and its state."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stream_bayes
from stream_bayes import BayesianRegression, BayesianTree
from stream_bayes.errors import BadState
from stream_bayes.learners.base.state import checksum, text_of


def events(count: int) -> list[tuple[dict[str, Any], float]]:
    rng, made = np.random.default_rng(5), []
    for _ in range(count):
        x: dict[str, Any] = {name: float(rng.normal(4.0, 3.0)) for name in "abc"}
        x["kind"] = "uvw"[rng.integers(3)]
        y = 2.0 * x["a"] if x["kind"] == "u" else -x["b"] if x["c"] > 4.0 else x["b"]
        made.append((x, y + float(rng.normal())))
    return made


def test_lines_that_change_at_a_name_and_at_a_number_are_learned_and_intervals_hold() -> None:
    tree, line = BayesianTree(), BayesianRegression()
    squares: list[list[float]] = []
    inside: list[bool] = []
    for number, (x, y) in enumerate(events(1200)):
        if number >= 600:
            low, high = tree.predict_interval_one(x, 0.9)
            inside.append(low <= y <= high)
            squares.append([(model.predict_one(x) - y) ** 2 for model in (tree, line)])
        tree.learn_one(x, y)
        line.learn_one(x, y)
    of_tree, of_line = np.mean(squares, axis=0)
    assert of_tree < 3.0 < 0.2 * of_line  # the noise has 1, and the cut is the nearest quantile
    assert 3 <= tree.leaves_ <= 12 and 0.86 < np.mean(inside) < 0.95
    why = tree.explain_one({"a": 10.0, "b": 4.0, "c": 4.0, "kind": "u"})
    assert why.features["a"][0] == pytest.approx(12.0, abs=1.5)
    added = why.mean + sum(part for part, _ in why.features.values())
    assert added == pytest.approx(tree.predict_one({"a": 10.0, "b": 4.0, "c": 4.0, "kind": "u"}))


def test_hard_columns_and_targets_leave_forecasts_finite() -> None:
    model = BayesianTree()
    for k in range(320):
        y = 7.0 if k < 300 else 1e100 if k == 310 else float(k)
        model.learn_one({"a": 1e100 if k % 9 == 0 else k % 5, "same": 3.0, "gap": None if k % 2 else 1.0}, y)
        low, high = model.predict_interval_one({"a": 2.0, "gap": 1e100, "new": "x"})
        assert not math.isnan(low) and not math.isnan(high)
    for k in range(300):
        model.learn_one({"a": k % 5, "same": 3.0}, float(k % 5))
    assert model.leaves_ > 0 and math.isfinite(model.predict_one({}))


def test_it_goes_on_from_a_file_and_a_state_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    model, stream = BayesianTree(), events(700)
    for x, y in stream[:600]:
        model.learn_one(x, y)
    assert model.leaves_ > 1
    stream_bayes.save(model, tmp_path / "model.zip")
    loaded = stream_bayes.load(tmp_path / "model.zip")
    state = model.state()
    for x, y in stream[600:]:
        assert loaded.predict_one(x) == model.predict_one(x)
        for each in (model, loaded):
            each.learn_one(x, y)
    assert loaded.state()["checksum"] == model.state()["checksum"]
    for name in ("low", "column", "roots", "units", "covariance"):
        arrays = {**state["arrays"], f"tree_{name}": np.full_like(state["arrays"][f"tree_{name}"], -7)}
        bad = {**state, "arrays": arrays}
        bad["checksum"] = checksum(text_of(bad), arrays)
        with pytest.raises(BadState):
            BayesianTree.from_state(bad)
