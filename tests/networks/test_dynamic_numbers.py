"""Lagged copies of numbers: forecasts against closed forms and enumeration, scores against a network lagged by hand."""

from __future__ import annotations

import itertools
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stream_bayes
from stream_bayes import DynamicNetwork, MixedNetwork
from stream_bayes.errors import BadValue, CannotMerge, KindChanged, NotLearned, NotSupported, NoValueKnown
from stream_bayes.streams.served_models.events import ServedEvents

GRAPH = {"mode": ["mode@-1"], "load": ["mode", "load@-1"], "heat": ["load", "heat@-1"]}
LAGS = {"mode": [1], "load": [1], "heat": [1]}


def drawn(events: int, seed: int = 1, gaps: float = 0.0) -> list[dict[str, Any]]:
    """Return events of a machine that runs and idles: its load follows the mode, its heat the load, both slowly."""
    rng = np.random.default_rng(seed)
    mode, load, heat, rows = "idle", 10.0, 30.0, []
    for _ in range(events):
        if rng.random() < 0.1:
            mode = "idle" if mode == "run" else "run"
        load = 0.7 * load + (18.0 if mode == "run" else 3.0) + rng.normal()
        heat = 0.9 * heat + 0.2 * load + 0.3 * rng.normal()
        row = {"mode": mode, "load": load, "heat": heat}
        rows.append({name: value for name, value in row.items() if rng.random() >= gaps})
    return rows


def taught(rows: list[dict[str, Any]], structure: Any = GRAPH, **settings: Any) -> DynamicNetwork:
    model = DynamicNetwork(LAGS, structure, numbers=True, **settings)
    model.learn_many(rows)
    return model


def lagged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return events with the values of the event before as features."""
    before = [{}, *({f"{v}@-1": value for v, value in row.items()} for row in rows)]
    return [row | past for row, past in zip(rows, before, strict=False)]


def test_a_forecast_of_a_number_that_follows_itself_is_that_of_the_closed_form() -> None:
    rows = [{"x": row["heat"]} for row in drawn(300)]
    model = DynamicNetwork({"x": [1]}, {"x": ["x@-1"]}, numbers=True)
    model.learn_many(rows)
    by_hand = MixedNetwork({"x": ["x@-1"], "x@-1": []})
    by_hand.learn_many(lagged(rows))
    first = by_hand.query("x", {"x@-1": rows[-1]["x"]})
    assert model.forecast_one(1).mean == pytest.approx(first.mean, rel=1e-12)
    assert model.forecast_one(1).interval(0.9) == pytest.approx(first.interval(0.9), rel=1e-12)
    line = by_hand.families.numeric("x", {}).linear()
    mean, variance = rows[-1]["x"], 0.0
    for k in range(1, 31):
        mean = line.intercept + line.slopes[0] * mean
        variance = line.variance + line.slopes[0] ** 2 * variance
        forecast = model.forecast_one(k)
        assert forecast.mean == pytest.approx(mean, rel=1e-9)
        if k > 1:  # the next event is a Student's t, which doubts its coefficients
            wanted = -0.5 * math.log(2.0 * math.pi * variance) - 0.5 * (mean + 1.0 - mean) ** 2 / variance
            assert forecast.log_density(mean + 1.0) == pytest.approx(wanted, abs=1e-8)


def test_forecasts_sum_over_the_names_to_come_and_given_what_is_supposed_of_them() -> None:
    rows = drawn(400)
    model = taught(rows)
    by_hand = MixedNetwork(GRAPH | dict.fromkeys(("mode@-1", "load@-1", "heat@-1"), ()))
    by_hand.learn_many(lagged(rows))
    families, last = by_hand.families, rows[-1]
    for supposed in ({}, {"mode@+2": "run"}):
        mass = {"run": 0.0, "idle": 0.0}
        mean = total = 0.0
        for modes in itertools.product(("run", "idle"), repeat=3):
            if supposed and modes[1] != "run":
                continue
            share, load, before = 1.0, last["load"], last["mode"]
            for mode in modes:
                share *= families.shares("mode", {"mode@-1": before})[mode]
                line = families.numeric("load", {"mode": mode}).linear()
                load, before = line.intercept + line.slopes[0] * load, mode
            mass[modes[-1]] += share
            mean, total = mean + share * load, total + share
        shares = model.forecast_one(3, variable="mode", evidence=supposed)
        assert shares["run"] == pytest.approx(mass["run"] / total, abs=1e-9)
        forecast = model.forecast_one(3, variable="load", evidence=supposed)
        assert forecast.mean == pytest.approx(mean / total, rel=1e-9)
        assert forecast.below(forecast.quantile(0.3)) == pytest.approx(0.3, abs=1e-6)


def test_a_score_is_the_density_of_the_event_given_the_one_before_and_its_parts_add_up() -> None:
    rows = drawn(300)
    model, by_hand = taught(rows), MixedNetwork(GRAPH | dict.fromkeys(("mode@-1", "load@-1", "heat@-1"), ()))
    by_hand.learn_many(lagged(rows))
    past = {f"{v}@-1": value for v, value in rows[-1].items()}
    for event in ({"mode": "run", "load": 40.0, "heat": 60.0}, {"load": 400.0}, {"mode": "off", "load": 1.0}):
        wanted = by_hand.score_one(event | past) - by_hand.score_one(past)
        assert model.score_one(event) == pytest.approx(wanted, abs=1e-9)
        surprise = model.explain_one(event)
        assert surprise.keys() == event.keys() and surprise.total == pytest.approx(wanted, abs=1e-6)
    assert model.explain_one({"mode": "idle", "load": 400.0, "heat": 90.0}).oddest[0] == "load"
    assert model.predict_one({"mode": "run"}, "load") > model.predict_one({"mode": "idle"}, "load")
    interval = model.predict_interval_one({"mode": "run"}, "load", 0.9)
    assert interval is not None
    low, high = interval
    assert low < model.predict_one({"mode": "run"}, "load") < high
    assert model.kinds == {"mode": "nominal", "load": "numeric", "heat": "numeric"}


@pytest.mark.parametrize("seed", [5, 6])
def test_a_structure_that_grows_finds_what_the_past_tells_and_comes_near_the_truth(
    seed: int, tmp_path: Path
) -> None:
    rows = drawn(2_500, seed)
    lagged_model, alone, loss, loss_alone = DynamicNetwork(LAGS, numbers=True), MixedNetwork(), 0.0, 0.0
    truth = 0.5 * math.log(2.0 * math.pi * math.e) * 2.0 + math.log(0.3)  # of the two numbers
    truth -= 0.9 * math.log(0.9) + 0.1 * math.log(0.1)
    for k, row in enumerate(rows):
        if k >= 1_500:
            loss, loss_alone = loss + lagged_model.score_one(row), loss_alone + alone.score_one(row)
        lagged_model.learn_one(row)
        alone.learn_one(row)
    assert loss / 1_000 == pytest.approx(truth, abs=0.1) and loss_alone / 1_000 > truth + 1.0
    assert ("load@-1", "load") in lagged_model.structure.edges
    assert not [1 for edge in lagged_model.structure.edges if "@" in str(edge[1]) and "@" not in str(edge[0])]
    stream_bayes.save(lagged_model, tmp_path / "model")
    loaded = stream_bayes.load(tmp_path / "model")
    for each in (lagged_model, loaded):
        each.learn_many(drawn(200, 9))
    assert loaded.forecast_one(4, variable="heat").mean == lagged_model.forecast_one(4, variable="heat").mean
    assert loaded.structure == lagged_model.structure
    with pytest.raises(CannotMerge, match="give the structure"):
        lagged_model.merge(loaded)


def test_gaps_and_events_that_did_not_come_are_integrated_out() -> None:
    model = DynamicNetwork(LAGS, GRAPH, numbers=True, step="1min")
    rows = drawn(500, gaps=0.1)
    model.learn_many(rows, at=[60.0 * k for k in range(500)])
    late = model.forecast_one(1, at=60.0 * 502, variable="heat")  # due two minutes later than the next
    assert late.mean == pytest.approx(model.forecast_one(3, at=60.0 * 500, variable="heat").mean, rel=1e-9)
    assert math.isfinite(model.score_one({"heat": 50.0}, at=60.0 * 504))
    model.learn_one({"heat": 50.0}, at=60.0 * 504)
    assert model.missed_events == 4


def test_shards_merge_and_unlearned_events_leave_no_trace() -> None:
    rows = [row | {"unit": unit} for unit in "ab" for row in drawn(120, ord(unit))]
    whole = taught(rows, key="unit")
    parts = [taught([row for row in rows if row["unit"] == unit], key="unit") for unit in "ab"]
    event = {"unit": "a", "mode": "run", "load": 30.0, "heat": 40.0}
    assert (parts[0] + parts[1]).score_one(event) == pytest.approx(whole.score_one(event), abs=1e-9)
    before = whole.score_one(event)
    more = drawn(30, 3)
    whole.learn_many(row | {"unit": "c"} for row in more)
    whole.unlearn_many(row | {"unit": "c"} for row in more)
    assert whole.score_one(event) == pytest.approx(before, abs=1e-9)
    with pytest.raises(NotLearned):
        whole.unlearn_one({"unit": "a", "mode": "never"})


def test_bad_events_are_refused_before_anything_changes_and_constants_leave_finite_answers() -> None:
    model = taught(drawn(50))
    state = model.forecast_one(3, variable="heat").mean, model.clock
    for bad, error in (
        ({"load": math.inf}, BadValue),
        ({"load": 1e300}, BadValue),
        ({"load": "high"}, KindChanged),
        ({"mode": 3.5}, KindChanged),
        ({"load@-1": 1.0}, BadValue),
    ):
        with pytest.raises(error):
            model.learn_one(bad)
    assert (model.forecast_one(3, variable="heat").mean, model.clock) == state
    with pytest.raises(NotSupported, match="no tables of numbers"):
        model.cpt("load")
    with pytest.raises(NotSupported, match="no most probable path"):
        model.most_probable_path(2)
    with pytest.raises(BadValue, match="has numbers"):
        model.predict_proba_one({}, "load")
    with pytest.raises(BadValue, match="never learned"):
        model.forecast_one(2, variable="load", evidence={"mode@+1": "off"})
    with pytest.raises(BadValue, match="half_life"):
        DynamicNetwork(LAGS, GRAPH, numbers=True, half_life=100.0)
    with pytest.raises(BadValue, match="numbers must be True or False"):
        DynamicNetwork(LAGS, GRAPH, numbers=["load"])  # type: ignore[arg-type]  # a list
    with pytest.raises(NoValueKnown):
        DynamicNetwork({"x": [1]}, {"x": ["x@-1"]}, numbers=True).forecast_one(1)
    for structure in ("learn", {"x": ["x@-1"], "y": ["x", "y@-9"]}):  # a lag beyond the stream, and no change
        constant = DynamicNetwork({"x": [1], "y": [9]}, structure, numbers=True)
        for _ in range(8):
            constant.learn_one({"x": 5.0, "y": 1e99})
        assert constant.forecast_one(4, variable="x").mean == pytest.approx(5.0)
        assert math.isfinite(constant.score_one({"x": -1e99, "y": 0.0}))


def test_names_of_numbers_that_are_not_declared_point_to_the_argument() -> None:
    with pytest.raises(BadValue, match="numbers=True"):
        DynamicNetwork({"load": [1]}).learn_one({"load": 0.5})


def test_a_pipeline_predicts_and_forecasts_numbers_with_intervals() -> None:
    served = ServedEvents(DynamicNetwork(LAGS, numbers=True), ["load", "mode", "heat@+3"], level=0.8)
    rows = drawn(800)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers, refused = served.process(rows, [None] * 800, [1.0] * 800)
    assert refused is None
    named = answers.named(str)
    inside = [
        each["heat@+3"]["low"] <= row["heat"] <= each["heat@+3"]["high"]
        for each, row in zip(named[200:-3], rows[203:], strict=True)
    ]
    assert np.mean(inside) == pytest.approx(0.8, abs=0.08)
    assert {*named[-1]["mode"]} == {"run", "idle"} and named[-1]["load"]["low"] < named[-1]["load"]["high"]
    with pytest.raises(BadValue, match="predicts no numbers"):
        ServedEvents(DynamicNetwork({"sky": [1]}), ["sky"], level=0.8)
