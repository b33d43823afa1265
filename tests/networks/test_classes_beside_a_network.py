"""`MixedNetwork(classes=...)`: events scored by the mean of two densities, of a network and of latent classes."""

from __future__ import annotations

import math
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

import stream_bayes
from stream_bayes import DriftAdaptive, LatentClass, MixedNetwork, Nominal, Numeric, Schema
from stream_bayes.errors import BadState, BadValue, BadWeight, CannotMerge, NotSupported
from stream_bayes.streams.served_models.events import ServedEvents

pytestmark = pytest.mark.filterwarnings("ignore::stream_bayes.errors.FeaturesIgnored")

SCHEMA = Schema({"kind": Nominal(), "size": Numeric(), "price": Numeric(), "floor": Nominal()})


def houses(number: int, seed: int = 1) -> list[dict[str, Any]]:
    """Return houses whose price follows from size and kind, some without a size; floors are names."""
    rng = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for _ in range(number):
        kind = rng.choice(["flat", "house"])
        size = rng.gauss(70.0 if kind == "flat" else 130.0, 12.0)
        row = {
            "kind": kind,
            "size": size,
            "price": (3.0 if kind == "flat" else 2.0) * size + rng.gauss(0.0, 6.0),
            "floor": rng.randrange(6),
        }
        rows.append(row if rng.random() > 0.05 else {**row, "size": None})
    return rows


def learned(rows: list[dict[str, Any]], **settings: Any) -> MixedNetwork:
    model = MixedNetwork(**{"classes": "learn", **settings})
    model.learn_many(rows)
    return model


@pytest.mark.parametrize("settings", [{}, {"schema": SCHEMA}, {"transform": "ranks"}, {"classes": [1, 3]}])
def test_the_density_is_the_mean_of_both(settings: dict[str, Any]) -> None:
    rows = houses(150)
    both = learned(rows, **settings)
    network = learned(rows, **settings | {"classes": None})
    names = ["kind", "floor"] if "schema" in settings else []
    classes = LatentClass(classes=settings.get("classes", "learn"), names=names)
    classes.learn_many({v: x[v] for v in sorted(x)} for x in rows)  # as the network has its variables
    odd = {"kind": "castle", "size": 4_000.0, "price": 1.0, "floor": 2}
    for x in [*houses(20, seed=2), odd, {"price": 300.0}, {}]:
        densities = [math.exp(model.log_density_one(x)) for model in (network, classes)]
        assert math.exp(both.log_density_one(x)) == pytest.approx(sum(densities) / 2.0, rel=1e-9, abs=1e-300)
        least = min(network.score_one(x), classes.score_one(x))
        assert least <= both.score_one(x) <= least + math.log(2.0)  # what one of them explains is usual
        assert both.explain_one(x).total == pytest.approx(both.score_one(x), abs=1e-9)
    assert both.score_one(odd) > max(map(both.score_one, rows))
    assert both.explain_one(odd).oddest[0] in ("size", "price") and both.explain_one(odd).novel == ("kind",)
    assert both.query("kind", {"price": 200.0}) == network.query("kind", {"price": 200.0})


@pytest.mark.parametrize(("classes", "number"), [(None, 100), (None, 1_000), ("learn", 1_000)])
def test_p_values_of_new_events_are_what_they_say(classes: Any, number: int) -> None:
    """Events that were learned score lower than new ones: without leaving each out, .1 of new events are below .05."""
    hits, small, events = 0, 0, 0
    for seed in range(4):
        model = MixedNetwork(classes=classes)
        model.learn_many(houses(number, seed=seed))
        state = model.state()
        p_values = [model.p_value_one(x) for x in houses(250, seed=seed + 10) if x["size"] is not None]
        assert str(model.state()) == str(state)
        hits, events = hits + sum(p <= 0.05 for p in p_values), events + len(p_values)
        small += sum(p <= 0.005 for p in p_values)
    assert hits / events == pytest.approx(0.05, abs=0.03)
    assert small / events <= 0.012


def test_what_is_saved_goes_on_with_equal_bytes(tmp_path: Path) -> None:
    for settings in ({}, {"structure": {"size": [], "price": ["size"]}}, {"schema": SCHEMA}):
        for number in (0, 15, 70):
            model = learned(houses(number), **settings)
            stream_bayes.save(model, tmp_path / "both.zip")
            copies = [stream_bayes.load(tmp_path / "both.zip"), pickle.loads(pickle.dumps(model))]
            for each in (model, *copies):
                each.learn_many(houses(40, seed=5))
                assert each.state()["checksum"] == model.state()["checksum"]
                assert each.score_one(houses(1)[0]) == model.score_one(houses(1)[0])
    assert model.memory_bytes > learned(houses(1), classes=None).memory_bytes
    assert model.clone().clock == 0


def test_states_of_something_else_are_refused() -> None:
    state, alone = learned(houses(60)).state(), learned(houses(60), classes=None).state()
    with pytest.raises(BadState):
        MixedNetwork(classes="learn").load_parts(
            {"meta": alone["store"], "arrays": alone["arrays"]}, alone["reading"]
        )
    for store in ({**state["store"], "third": {}}, {"network": state["store"]["network"]}):
        with pytest.raises(BadState):
            MixedNetwork(classes="learn").load_parts(
                {"meta": store, "arrays": state["arrays"]}, state["reading"]
            )
    with pytest.raises(BadState):
        MixedNetwork().load_parts({"meta": state["store"], "arrays": state["arrays"]}, state["reading"])


def test_what_latent_classes_cannot_do_is_refused_and_changes_nothing() -> None:
    model = learned(houses(60), structure={"size": [], "price": ["size"]})
    before = model.state()["checksum"]
    with pytest.raises(BadWeight, match=r"weight 2\.0"):
        model.learn_one(houses(1)[0], 2.0)
    with pytest.raises(BadValue):
        model.learn_one({"size": math.inf})
    with pytest.raises(NotSupported, match="latent classes"):
        model.unlearn_one(houses(1)[0])
    with pytest.raises(CannotMerge, match="latent classes"):
        model.merge(learned(houses(60), structure={"size": [], "price": ["size"]}))
    assert model.state()["checksum"] == before
    with pytest.raises(BadValue, match="latent classes"):
        DriftAdaptive(model)
    with pytest.raises(BadValue, match="classes"):
        MixedNetwork(classes=0)


def test_a_pipeline_scores_events_by_both() -> None:
    rows, alone = houses(120), MixedNetwork(classes="learn")
    served = ServedEvents(MixedNetwork(classes="learn"), predict=["price"])
    answers, refused = served.process(rows, [None] * len(rows), [1.0] * len(rows))
    assert refused is None
    assert answers.scores == [alone.score_learn_one(x) for x in rows]
