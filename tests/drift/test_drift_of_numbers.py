"""Networks over names and numbers follow drift family by family, as networks of names do."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes import DriftAdaptive, MixedNetwork
from stream_bayes.errors import BadLabel, BadValue, NotSupported, StreamBayesError
from stream_bayes.saving.river.model_state import model_state, restore_model
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.pipelines.pipeline import build

STRUCTURE: dict[str, list[str]] = {"kind": [], "size": ["kind"], "noise": [], "price": ["kind", "size"]}


def events(seed: int, count: int, slope: float = 2.0, spread: float = 1.0) -> Iterator[dict[str, Any]]:
    """Yield events of a world in which the price depends on the size with a slope."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        kind = "flat" if rng.random() < 0.4 else "house"
        size = float(rng.normal(2.0 if kind == "flat" else 0.0))
        price = slope * size + (3.0 if kind == "flat" else 0.0) + 0.5 * float(rng.normal())
        yield {"kind": kind, "size": size, "noise": 5.0 + spread * float(rng.normal()), "price": price}


def true_loss(x: dict[str, Any], slope: float = 2.0, spread: float = 1.0) -> float:
    """Return minus the log-density of an event in that world."""

    def loss(number: float, mean: float, deviation: float) -> float:
        return 0.5 * ((number - mean) / deviation) ** 2 + math.log(deviation * math.sqrt(2.0 * math.pi))

    is_flat = x["kind"] == "flat"
    price = loss(x["price"], slope * x["size"] + 3.0 * is_flat, 0.5)
    named = -math.log(0.4 if is_flat else 0.6)
    return named + loss(x["size"], 2.0 * is_flat, 1.0) + loss(x["noise"], 5.0, spread) + price


def network_of(model: DriftAdaptive) -> MixedNetwork:
    assert isinstance(model.model_, MixedNetwork)
    return model.model_


@pytest.mark.parametrize("given", [STRUCTURE, "learn"])
@pytest.mark.parametrize("seed", range(3))
def test_a_stationary_stream_has_no_family_reported(given: Any, seed: int) -> None:
    model = DriftAdaptive(MixedNetwork(given))
    for x in events(seed, 800):
        model.learn_one(x)
    assert model.log.entries == [] and model.generation == 0


def test_heavy_tails_are_no_change() -> None:
    rng = np.random.default_rng(1)
    model = DriftAdaptive(MixedNetwork({"a": [], "b": ["a"]}))
    for _ in range(1000):
        a = float(rng.standard_cauchy())
        model.learn_one({"a": a, "b": a + float(rng.standard_cauchy())})
    assert model.log.entries == []


@pytest.mark.parametrize("given", [STRUCTURE, "learn"])
def test_a_number_whose_slope_changed_is_counted_again_and_the_rest_stays(given: Any) -> None:
    model = DriftAdaptive(MixedNetwork(given))
    for x in events(1, 800):
        model.learn_one(x)
    after = events(2, 500, slope=-1.0)
    lost = [model.score_learn_one(x) - true_loss(x, slope=-1.0) for x in after]
    drift, adopted = model.log.entries[:2]
    assert "price" in drift["detector"]["families"] and drift["detector"]["numbers"]["log_evidence"] > 10
    assert 780 < drift["since"] <= 833 and drift["event"] < 900
    assert adopted["what"] == "adopted" and adopted["candidate"] == "families"
    assert sum(lost[300:]) / 200 < 0.15
    if given != "learn":
        store = network_of(model).store
        weights = {v: store.families[v].tables.clock for v in STRUCTURE}
        assert weights["kind"] == weights["noise"] == 1300 and weights["price"] < 540


def test_a_number_that_varies_less_has_new_units() -> None:
    model = DriftAdaptive(MixedNetwork(STRUCTURE))
    fresh = MixedNetwork(STRUCTURE)
    for x in events(1, 600):
        model.learn_one(x)
    lost = [model.score_learn_one(x) - fresh.score_learn_one(x) for x in events(2, 300, spread=0.01)]
    assert [entry["detector"]["families"] for entry in model.log.entries[:1]] == [["noise"]]
    assert sum(lost[150:]) / 150 < 0.05


def test_a_name_below_a_number_and_gaps_are_followed() -> None:
    rng = np.random.default_rng(3)
    model = DriftAdaptive(MixedNetwork({"wind": [], "sail": ["wind"]}, window=300))
    for number in range(1000):
        wind = float(rng.normal())
        sail = (wind > 0.0) == (number < 600)
        x = {"wind": wind, "sail": "up" if sail else "down"}
        model.learn_one({v: value for v, value in x.items() if rng.random() < 0.8})
    assert model.log.entries[0]["detector"]["families"] == ["sail"]
    assert 570 < model.log.entries[0]["since"] <= 640
    assert network_of(model).query("sail", {"wind": 2.0})["up"] < 0.1


def test_a_number_gets_new_parents_from_the_events_after_a_change() -> None:
    rng = np.random.default_rng(4)
    model = DriftAdaptive(MixedNetwork())
    for number in range(1300):
        a, b, noise = rng.normal(size=3).tolist()
        model.learn_one({"a": a, "b": b, "sum": (a if number < 800 else b) + 0.3 * noise})
    edges = {frozenset(edge) for edge in network_of(model).structure.edges}
    assert frozenset(("b", "sum")) in edges and frozenset(("a", "sum")) not in edges


def test_a_restart_at_any_event_changes_nothing() -> None:
    stream = [*events(1, 200), *events(2, 150, slope=-1.0)]

    def make() -> DriftAdaptive:
        return DriftAdaptive(MixedNetwork(window=150), window=200)

    whole, parts = make(), make()
    for number, x in enumerate(stream):
        assert whole.score_learn_one(x) == parts.score_learn_one(x)
        if number % 61 == 0 or 250 < number < 253:
            parts = restore_model(make(), model_state(parts))
    assert parts.log.entries == whole.log.entries
    assert [entry["candidate"] for entry in whole.log.entries[:2]] == [None, "families"]


PIPELINE = """
name = "homes"
batch = 50
source = { kind = "jsonl", path = "events.jsonl" }
model = { kind = "mixed-network", structure = "structure.json", predict = ["price"] }
drift = { log = "drifts.jsonl" }
predictions = { kind = "jsonl", path = "answers.jsonl" }
snapshots = { directory = "state", every_events = 100 }
"""


def test_a_pipeline_follows_drift_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    rows = [*events(1, 200), *events(2, 100, slope=-1.0)]
    answers = []
    for name, limits in (("whole", [None]), ("parts", [120, 110, None])):
        directory = tmp_path / name
        directory.mkdir()
        (directory / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (directory / "structure.json").write_text(json.dumps(STRUCTURE))
        (directory / "homes.toml").write_text(PIPELINE)
        for limit in limits:
            build(load_config(directory / "homes.toml"), directory).run(limit)
        log = [json.loads(line) for line in (directory / "drifts.jsonl").read_text().splitlines()]
        assert [entry["what"] for entry in log[:2]] == ["drift", "adopted"]
        assert log[0]["source"] == "homes" and 200 < int(str(log[0]["event"])) < 260
        answers.append((directory / "answers.jsonl").read_text())
    assert answers[0] == answers[1] and answers[0].count("\n") == 300


def test_an_event_that_is_refused_changes_nothing() -> None:
    model = DriftAdaptive(MixedNetwork(STRUCTURE))
    model.learn_many(events(1, 40))
    state = model_state(model)
    for bad in ({"size": math.inf}, {"price": 1e300}, {"kind": 3.5}, {"size": "large"}):
        with pytest.raises(StreamBayesError):
            model.learn_one(bad)
    with pytest.raises(BadLabel, match="MixedNetwork has no class"):
        model.learn_one({"size": 1.0}, "label")
    with pytest.raises(NotSupported):
        model.predict_learn_one({"size": 1.0}, "label")
    assert str(model_state(model)) == str(state)


def test_what_does_not_fit_is_refused() -> None:
    for settings, text in (
        ({"detector": "kswin"}, "leave detector and signal out"),
        ({"signal": "log-loss"}, "leave detector and signal out"),
        ({"policy": "search"}, "searches its structure itself"),
    ):
        with pytest.raises(BadValue, match=text):
            DriftAdaptive(MixedNetwork(), **settings)  # type: ignore[arg-type]  # as a table of a file has them
    for network in (MixedNetwork(transform="ranks"), MixedNetwork(missing="window-em")):
        with pytest.raises(BadValue, match="cannot be replaced after a drift"):
            DriftAdaptive(network)


def test_constant_collinear_and_huge_numbers_and_single_rows_leave_finite_answers() -> None:
    model = DriftAdaptive(
        MixedNetwork({"k": [], "c": ["k"], "p": [], "q": ["p"], "r": ["p", "q"]}), window=100
    )
    for number in range(200):
        p = float(number % 7)
        c = 5.0 if number < 120 else 1e99
        x = {"k": f"row {number}" if number % 9 == 0 else "usual", "c": c, "p": p, "q": 2 * p, "r": 3 * p}
        del x["kcpqr"[number % 5]]  # gaps in every row
        assert math.isfinite(model.score_learn_one(x))
    assert len(model._succession.recent) == 100 and math.isfinite(model.score_one({"c": 1e100, "r": -1e100}))
