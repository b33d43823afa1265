"""Lagged copies as variables: against tables counted by hand, enumeration of all futures, and bad input."""

from __future__ import annotations

import itertools
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stream_bayes
from stream_bayes import DynamicNetwork, Nominal, Schema
from stream_bayes.errors import BadStructure, BadValue, CannotMerge, NotLearned, NotSupported, UnknownFeature

GRAPH = {"sky": ["sky@-1", "sky@-2"], "road": ["sky", "road@-1"]}
LAGS = {"sky": [1, 2], "road": [1]}


def drawn(events: int, seed: int = 3, gaps: float = 0.0) -> list[dict[str, Any]]:
    """Return events whose sky repeats the one two events before, and whose road stays slick for a while."""
    rng = np.random.default_rng(seed)
    skies, road, rows = ["wet", "dry"], "fine", []
    for _ in range(events):
        sky = skies[-2] if rng.random() < 0.85 else "wet" if skies[-2] == "dry" else "dry"
        slick = {("wet", "fine"): 0.8, ("wet", "slick"): 0.95, ("dry", "slick"): 0.4}.get((sky, road), 0.05)
        road = "slick" if rng.random() < slick else "fine"
        skies.append(sky)
        row = {"sky": sky, "road": road}
        rows.append({name: value for name, value in row.items() if rng.random() >= gaps})
    return rows


def forecast_by_enumeration(
    model: DynamicNetwork, past: list[tuple[str, str]], k: int, supposed: dict[tuple[str, int], str]
) -> float:
    """Return P(road k events ahead is slick) as a sum over all futures."""
    sky, road = model.cpt("sky"), model.cpt("road")
    total = {"slick": 0.0, "fine": 0.0}
    for future in itertools.product(itertools.product(("dry", "wet"), ("fine", "slick")), repeat=k):
        events = [*past, *future]
        p = 1.0
        for t in range(len(past), len(events)):
            p *= sky[events[t - 1][0], events[t - 2][0]][events[t][0]]
            p *= road[events[t][0], events[t - 1][1]][events[t][1]]
        fits = all(future[step - 1][0 if v == "sky" else 1] == value for (v, step), value in supposed.items())
        total[future[-1][1]] += p * fits
    return total["slick"] / sum(total.values())


def test_forecasts_sum_over_all_futures_and_given_what_is_supposed_of_them() -> None:
    rows = drawn(400)
    model = DynamicNetwork(LAGS, GRAPH)
    model.learn_many(rows)
    past = [(row["sky"], row["road"]) for row in rows[-2:]]
    for k in (1, 2, 4):
        wanted = forecast_by_enumeration(model, past, k, {})
        assert model.forecast_one(k, variable="road")["slick"] == pytest.approx(wanted, abs=1e-12)
    wanted = forecast_by_enumeration(model, past, 3, {("sky", 2): "wet"})
    supposed = model.forecast_one(3, variable="road", evidence={"sky@+2": "wet"})
    assert supposed["slick"] == pytest.approx(wanted, abs=1e-12)
    assert model.forecast_one(1, variable="sky") == pytest.approx(model.predict_proba_one({}, "sky"))
    path, log_probability = model.most_probable_path(2)
    ahead = [(event["sky"], event["road"]) for event in path]
    states, p = [*past, *ahead], 1.0
    for t in (2, 3):
        p *= model.cpt("sky")[states[t - 1][0], states[t - 2][0]][states[t][0]]
        p *= model.cpt("road")[states[t][0], states[t - 1][1]][states[t][1]]
    assert log_probability == pytest.approx(math.log(p), abs=1e-9)


def test_tables_are_the_counts_of_each_sequence_and_an_event_that_lacks_its_past_is_not_counted() -> None:
    model = DynamicNetwork({"sky": [1]}, {"sky": ["sky@-1"]}, key="city", strength=0)
    skies = ["dry", "wet", None, "wet", "dry", "wet"]
    for sky in skies:
        for city in ("Bonn", "Lima"):
            model.learn_one({"city": city, "sky": sky})
    # Pairs without a gap: dry-wet twice, wet-dry once.
    assert model.cpt("sky")["dry",] == {"dry": 0.0, "wet": 1.0}
    assert model.cpt("sky")["wet",] == {"dry": 1.0, "wet": 0.0}
    model.reset("Lima")
    model.learn_one({"city": "Lima", "sky": "wet"})  # follows nothing
    assert model.cpt("sky")["wet",] == {"dry": 1.0, "wet": 0.0}
    assert model.score_one({"city": "Bonn", "sky": "wet"}) == math.inf  # after wet
    with pytest.raises(BadValue, match="pause= needs the time"):
        DynamicNetwork({"sky": [1]}, pause="1h").learn_one({"sky": "dry"})


def test_scores_are_those_of_the_event_given_its_past() -> None:
    rows = drawn(300)
    model = DynamicNetwork(LAGS, GRAPH)
    model.learn_many(rows)
    (sky, road), (earlier, _) = ((rows[-k]["sky"], rows[-k]["road"]) for k in (1, 2))
    p = model.cpt("sky")[sky, earlier]["wet"] * model.cpt("road")["wet", road]["slick"]
    assert model.score_one({"sky": "wet", "road": "slick"}) == pytest.approx(-math.log(p), abs=1e-9)


def test_a_structure_that_grows_follows_time_and_goes_on_from_a_file(tmp_path: Path) -> None:
    rows = drawn(1_500, gaps=0.05)
    model = DynamicNetwork({"sky": [1, 2], "road": [1]})
    model.learn_many(rows[:1_000])
    stream_bayes.save(model, tmp_path / "model")
    again = stream_bayes.load(tmp_path / "model")
    for each in (model, again):
        each.learn_many(rows[1_000:])
    assert again.structure == model.structure
    assert again.forecast_one(3, variable="road") == model.forecast_one(3, variable="road")
    assert ("sky@-2", "sky") in model.structure.edges
    assert "sky" in model.structure.parents("road")
    ages: dict[Any, int] = {"sky@-2": 2, "sky@-1": 1, "road@-1": 1, "sky": 0, "road": 0}
    assert all(ages[parent] >= ages[child] for parent, child in model.structure.edges)
    with pytest.raises(CannotMerge):
        model.merge(again)


def test_shards_merge_and_a_value_that_has_come_only_in_the_newest_event_is_forecast_from() -> None:
    rows = drawn(200)
    whole, one, two = (DynamicNetwork(LAGS, GRAPH, key="city") for _ in range(3))
    for k, row in enumerate(rows):
        city = k % 2
        for each in (whole, (one, two)[city]):
            each.learn_one({**row, "city": city})
    both = one + two
    assert both.cpt("road").to_frame().equals(whole.cpt("road").to_frame())
    assert both.forecast_one(2, {"city": 1}, variable="sky") == whole.forecast_one(
        2, {"city": 1}, variable="sky"
    )
    whole.learn_one({"sky": "snow", "road": "slick", "city": 0})
    ahead = whole.forecast_one(1, {"city": 0}, variable="sky")
    assert sum(ahead.values()) == pytest.approx(1.0)
    assert ahead == pytest.approx(whole.predict_proba_one({"city": 0}, "sky"))


def test_bad_lags_structures_and_events_are_refused_by_name() -> None:
    bad_lags: list[tuple[Any, str]] = [
        ({}, "at least one variable"),
        ({"sky": [0]}, "at least 1"),
        ({"sky": 2}, "list of whole numbers"),
        ({"sky": range(1, 100)}, "at most 64"),
    ]
    for lags, fault in bad_lags:
        with pytest.raises(BadValue, match=fault):
            DynamicNetwork(lags)
    for graph, fault in [
        ({"sky": ["sky@-3"]}, "which lags does not"),
        ({"sky@-1": ["sky"], "sky": []}, "back in time"),
        ({"road": []}, "which the structure has not"),
    ]:
        with pytest.raises(BadStructure, match=fault):
            DynamicNetwork({"sky": [1]}, graph)
    model = DynamicNetwork(
        {"sky": [1]}, {"sky": ["sky@-1"]}, key="city", schema=Schema({"sky": Nominal(["dry", "wet"])})
    )
    with pytest.raises(BadValue, match="names of lagged copies"):
        model.learn_one({"city": 1, "sky": "dry", "sky@-1": "dry"})
    with pytest.raises(BadValue, match="the key of its sequence"):
        model.learn_one({"sky": "dry"})
    assert model.clock == 0
    assert model.forecast_one(2, {"city": 1}, variable="sky") == {"dry": 0.5, "wet": 0.5}  # before any event
    for variable in ("rain", "sky@-1"):
        with pytest.raises(UnknownFeature):
            model.forecast_one(1, {"city": 1}, variable=variable)
    with pytest.raises(UnknownFeature, match="evidence"):
        model.forecast_one(1, {"city": 1}, variable="sky", evidence={"sky@+2": "dry"})
    with pytest.raises(BadValue, match="got 'hail'"):
        model.forecast_one(2, {"city": 1}, variable="sky", evidence={"sky@+1": "hail"})


def test_lags_longer_than_the_stream_are_variables_that_never_came() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DynamicNetwork({"sky": [50]}, max_parents=1)
        model.learn_many({"sky": "dry" if k % 3 else "wet"} for k in range(20))
    assert model.forecast_one(60, variable="sky")["dry"] == pytest.approx(0.65, abs=0.05)


def test_an_event_is_explained_given_its_past() -> None:
    rows = drawn(300)
    model = DynamicNetwork(LAGS, GRAPH)
    model.learn_many(rows)
    past = rows[-2:]
    for x in ({"sky": "wet", "road": "fine"}, {"road": "slick"}, {"sky": "hail", "road": "fine"}, {}):
        why = model.explain_one(x)
        assert why.total == pytest.approx(model.score_one(x), abs=1e-9)
        assert set(why) == set(x)
    shares = model.cpt("sky")[past[-1]["sky"], past[-2]["sky"]]
    assert model.explain_one(rows[0])["sky"] == pytest.approx(-math.log(shares[rows[0]["sky"]]))
    answer = model.query("road", {"sky": "wet", "road@-1": "fine"})
    assert answer == pytest.approx(model.cpt("road")["wet", "fine"])


def test_unlearning_leaves_the_counts_of_the_other_events() -> None:
    rows = [{"city": city, **row} for row in drawn(60, gaps=0.1) for city in ("Bonn", "Lima")]
    more = [{"city": "Oslo", **row} for row in drawn(40, seed=5, gaps=0.1)]
    model, rest = (DynamicNetwork(LAGS, GRAPH, key="city") for _ in range(2))
    model.learn_many([*rows, *more])
    rest.learn_many(rows)
    model.unlearn_many(more)
    for v in ("sky", "road", "sky@-1"):
        assert model.cpt(v) == rest.cpt(v)
    model.unlearn_one(rows[7], after=rows[3:7:2])
    assert model.cpt("sky") != rest.cpt("sky")
    before = model.state()["checksum"]
    with pytest.raises(NotLearned):
        model.unlearn_many([{"city": "Oslo", "sky": "wet", "road": "slick"}] * 500)
    assert model.state()["checksum"] == before
    with pytest.raises(NotSupported, match="half_life"):
        DynamicNetwork(LAGS, GRAPH, half_life=9).unlearn_many([{}])
