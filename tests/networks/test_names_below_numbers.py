"""Names with numeric parents: they depend on the bins of the numbers, observed or missing, declared or found."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy

import stream_bayes
from stream_bayes import MixedNetwork, Nominal, Numeric, Schema
from stream_bayes.errors import BadValue, CannotMerge, NotSupported

GRAPH = {"a": [], "x": ["a"], "y": ["x"], "s": ["x", "a"], "t": ["y", "s"]}
CUTS = (-1.0, 0.5, 2.0)
DECLARED = Schema(
    {"a": Nominal(), "x": Numeric(CUTS), "y": Numeric([0.0, 3.0]), "s": Nominal(), "t": Nominal()}
)


def events(count: int, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        a = "uv"[rng.integers(2)]
        x = float(rng.normal() + 1.5 * (a == "u"))
        y = float(1.2 * x + 0.8 * rng.normal())
        s = "warm" if rng.random() < (0.9 if 0.0 < x < 2.0 else 0.2) else "cold"
        t = "high" if rng.random() < (0.8 if y > 1.0 else 0.3) else "low"
        rows.append({"a": a, "x": x, "y": y, "s": s, "t": t})
    return rows


def trained(count: int = 400, schema: Schema | None = DECLARED) -> MixedNetwork:
    model = MixedNetwork(GRAPH, schema=schema)
    model.learn_many(events(count))
    return model


@pytest.fixture(scope="module")
def model() -> MixedNetwork:
    return trained()


@pytest.mark.filterwarnings("ignore::stream_bayes.errors.FeaturesIgnored")
def test_a_name_has_the_share_of_its_bin_and_an_event_the_product(model: MixedNetwork) -> None:
    rows = events(400)
    event = {"a": "u", "x": 0.7, "y": 1.1, "s": "warm", "t": "low"}
    same = Counter(row["s"] for row in rows if row["a"] == "u" and 0.5 <= row["x"] < 2.0)
    share = (same["warm"] + 0.5) / (same.total() + 1.0)
    assert model.predict_proba_one({**event, "t": None}, "s")["warm"] == pytest.approx(share, rel=1e-12)
    numbers = MixedNetwork({v: GRAPH[v] for v in "axy"})
    numbers.learn_many(rows)
    later = Counter(row["t"] for row in rows if row["s"] == "warm" and 0.0 <= row["y"] < 3.0)
    expected = math.log(share) + math.log((later["low"] + 0.5) / (later.total() + 1.0))
    expected += numbers.log_density_one({v: event[v] for v in "axy"})
    assert model.log_density_one(event) == pytest.approx(expected, rel=1e-12)
    assert model.explain_one(event).total == pytest.approx(-expected, rel=1e-9)


def brute_force(model: MixedNetwork, evidence: dict[str, Any], of: str, at: Any) -> Any:
    """Return the joint density of evidence and a variable's values, summed on a grid over all that is missing."""
    families, counts = model.families, model.store
    grid = np.linspace(-7.0, 8.0, 901)
    total: Any = dict.fromkeys(at, 0.0) if of in "ast" else np.zeros(len(grid))
    for a, s, t in itertools.product("uv", ("cold", "warm"), ("high", "low")):
        if any(evidence.get(v, value) != value for v, value in (("a", a), ("s", s), ("t", t))):
            continue
        lines = [families.numeric(v, {"a": a}).linear() for v in "xy"]
        xs = np.array([evidence["x"]]) if "x" in evidence else grid
        ys = np.array([evidence["y"]]) if "y" in evidence else grid
        p_x = scipy.stats.norm.pdf(xs, lines[0].intercept, math.sqrt(lines[0].variance))
        mean = lines[1].intercept + lines[1].slopes[0] * xs
        p_y = scipy.stats.norm.pdf(ys[None, :], mean[:, None], math.sqrt(lines[1].variance))
        p_s = np.array([families.shares("s", {"a": a, "x": float(x)})[s] for x in xs])
        p_t = np.array([families.shares("t", {"s": s, "y": float(y)})[t] for y in ys])
        joint = families.shares("a", {})[a] * (p_x * p_s)[:, None] * p_y * p_t[None, :]
        if of in "ast":
            total[{"a": a, "s": s, "t": t}[of]] += float(joint.sum())
        else:
            total = total + joint.sum(axis=1 if of == "x" else 0)
    assert counts.cuts["x", "s"] == CUTS
    return total


@pytest.mark.parametrize(
    ("evidence", "of"),
    [
        ({"a": "u"}, "s"),
        ({"s": "warm"}, "a"),
        ({"s": "cold", "y": 1.3}, "a"),
        ({"t": "high"}, "s"),
        ({"t": "high", "s": "warm"}, "a"),
    ],
)
def test_names_given_missing_numbers_are_those_of_integrating_on_a_grid(
    model: MixedNetwork, evidence: dict[str, Any], of: str
) -> None:
    answer = model.query(of, evidence)
    weights = brute_force(model, evidence, of, [*answer])
    total = sum(weights.values())
    expected = {value: weight / total for value, weight in weights.items()}
    assert answer == pytest.approx(expected, abs=4e-3)  # the grid jumps over cuts


@pytest.mark.parametrize(
    ("evidence", "of"),
    [
        ({"s": "warm"}, "x"),
        ({"s": "cold", "y": -0.4}, "x"),
        ({"s": "cold"}, "y"),
        ({"t": "high", "s": "warm"}, "y"),
    ],
)
def test_numbers_given_names_below_them_are_those_of_integrating_on_a_grid(
    model: MixedNetwork, evidence: dict[str, Any], of: str
) -> None:
    weights = brute_force(model, evidence, of, ())
    grid, weights = np.linspace(-7.0, 8.0, 901), weights / weights.sum()
    forecast = model.query(of, evidence)
    assert forecast.mean == pytest.approx(float(grid @ weights), abs=0.01)
    spread = math.sqrt(float((grid - grid @ weights) ** 2 @ weights))
    assert forecast.standard_deviation == pytest.approx(spread, rel=0.01)
    below = np.cumsum(weights)
    assert [forecast.below(grid[k]) for k in (350, 430, 500, 560)] == pytest.approx(
        [below[k] for k in (350, 430, 500, 560)], abs=0.01
    )
    assert forecast.below(forecast.quantile(0.2)) == pytest.approx(0.2)


def test_the_parts_of_an_answer_add_up_whatever_is_missing(model: MixedNetwork) -> None:
    for observed in ({"s": "warm"}, {"y": 0.5, "s": "cold"}, {"t": "high", "a": "u"}):
        whole = sum(
            math.exp(model.log_density_one({**observed, v: value}))
            for v, values in (("a", "uv"), ("s", ("cold", "warm")))
            if v not in observed
            for value in values
        )
        parts = sum(v not in observed for v in ("a", "s"))
        assert whole / parts == pytest.approx(math.exp(model.log_density_one(observed)), rel=1e-9)


def test_cuts_are_found_where_they_tell_the_name_and_are_saved_with_the_events_they_rest_on(
    tmp_path: Path,
) -> None:
    model, rows = trained(230, schema=None), events(900, seed=5)
    low, high = model.store.cuts["x", "s"]
    assert (abs(low), abs(high - 2.0)) < (0.4, 0.4)
    stream_bayes.save(model, tmp_path / "cut.zip")
    loaded = stream_bayes.load(tmp_path / "cut.zip")
    for each in (model, loaded):
        for k, row in enumerate(rows):
            each.learn_one(row if k % 5 else {**row, "y": None}, w=1.0 + k % 2)
    assert loaded.state()["checksum"] == model.state()["checksum"]
    short = MixedNetwork(GRAPH, window=100)
    short.learn_many(rows)
    assert not short.store._to_cut
    assert sum(model.store.counts("s", ("u", k)).get("warm", 0.0) for k in range(9)) == pytest.approx(
        sum(row["s"] == "warm" and row["a"] == "u" for row in events(230))
        + sum((1.0 + k % 2) * (row["s"] == "warm" and row["a"] == "u") for k, row in enumerate(rows))
    )  # none is lost or counted twice when cuts change
    with pytest.raises(NotSupported, match=r"Numeric\(cuts"):
        model.unlearn_one(rows[1])
    with pytest.raises(CannotMerge, match=r"Numeric\(cuts"):
        model.merge(loaded)


def test_declared_cuts_keep_counts_that_merge_and_unlearn() -> None:
    rows = events(80)
    whole, one, other = (MixedNetwork(GRAPH, schema=DECLARED) for _ in range(3))
    whole.learn_many(rows)
    one.learn_many(rows[:30])
    other.learn_many(rows[30:])
    event = {"a": "u", "x": 0.7, "s": "warm"}
    assert (one + other).log_density_one(event) == pytest.approx(whole.log_density_one(event), rel=1e-9)
    for row in rows[30:]:
        whole.unlearn_one(row)
    assert one.log_density_one(event) == pytest.approx(whole.log_density_one(event), rel=1e-9)


def test_a_growing_network_cuts_by_what_its_window_tells(tmp_path: Path) -> None:
    model = MixedNetwork(window=300)
    rng = np.random.default_rng(3)
    rows = [{"x": float(x), "s": "in" if abs(x) < 1.0 else "out"} for x in rng.uniform(-3.0, 3.0, 600)]
    model.learn_many(rows)
    assert model.structure.parents("s") == ("x",)
    assert model.predict_one({"x": 0.5}, "s") == "in"
    assert model.predict_one({"x": -2.5}, "s") == "out"
    stream_bayes.save(model, tmp_path / "grown.zip")
    loaded = stream_bayes.load(tmp_path / "grown.zip")
    for each in (model, loaded):
        each.learn_many(rows[:150])
    assert loaded.state()["checksum"] == model.state()["checksum"]


def test_many_missing_numbers_above_names_are_scored_in_bounded_time_and_drawn_in_questions() -> None:
    numbers = [f"x{k}" for k in range(6)]
    graph = {v: numbers[max(k - 1, 0) : k] for k, v in enumerate(numbers)} | {f"s{v}": [v] for v in numbers}
    model = MixedNetwork(graph, schema=Schema({v: Numeric([-1.0, 0.0, 1.0]) for v in numbers}))
    rng = np.random.default_rng(1)
    for _ in range(100):
        row = dict(zip(numbers, rng.normal(size=6).tolist(), strict=True))
        model.learn_one(row | {f"s{v}": "pos" if row[v] > 0.0 else "neg" for v in numbers})
    event = {f"s{v}": "pos" for v in numbers} | {"x5": 1.0}
    assert math.isfinite(model.score_one(event))
    assert math.isfinite(model.explain_one(event).total)
    with pytest.raises(stream_bayes.errors.BudgetExceeded, match="5 numbers above names"):
        model.query("x0", event, samples=0)
    for target in ("x0", "x3"):
        answer = model.query(target, event, samples=300)
        assert answer.method == "likelihood-weighting" and answer.sampled.effective > 5.0
        assert answer.below(0.0) < 0.15  # the name below it says that it is above 0


def test_a_schema_that_closes_or_limits_names_is_kept_to() -> None:
    model = MixedNetwork(
        {"a": [], "b": []}, schema=Schema({"a": Nominal(["u", "v"], closed=True), "b": Nominal(max_values=2)})
    )
    with pytest.raises(BadValue, match="not among the declared"):
        model.learn_one({"a": "w", "b": "one"})
    model.learn_many({"a": "u", "b": b} for b in ("one", "two", "three", "four"))
    assert model.query("b") == pytest.approx({"<other>": 7 / 15, "one": 4 / 15, "two": 4 / 15})


def test_a_schema_that_refuses_other_features_is_kept_to() -> None:
    schema = Schema({"a": Nominal(), "x": Numeric()}, unknown="refuse")
    for model in (MixedNetwork({"a": [], "x": ["a"]}, schema=schema), MixedNetwork(schema=schema)):
        model.learn_one({"a": "u", "x": 1.0})
        for event in ({"a": "u", "windd": 2.0}, {"x": 1.0, "b": "v"}):
            with pytest.raises(stream_bayes.errors.UnknownFeature, match="not declared"):
                model.learn_one(event)
        assert model.clock == 1


def test_a_sample_has_the_names_of_its_numbers() -> None:
    drawn = trained(600).sample(1_500, np.random.default_rng(2))
    inside = [row["s"] == "warm" for row in drawn if 0.5 <= row["x"] < 2.0]
    assert np.mean(inside) == pytest.approx(0.9, abs=0.05)
