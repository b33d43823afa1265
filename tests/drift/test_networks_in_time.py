"""Networks in time follow drift family by family, given the events before."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_bayes import BayesNet, DriftAdaptive, DynamicNetwork, NaiveBayes
from stream_bayes.core.live_networks.family_counts import FamilyCounts
from stream_bayes.errors import BadValue, NotSupported
from stream_bayes.saving.river.model_state import model_state, restore_model
from stream_bayes.streams.pipelines.config import load_config
from stream_bayes.streams.pipelines.pipeline import build

LAGS = {"sky": [1], "road": [1]}
GRAPH: dict[str, list[str]] = {"sky": ["sky@-1"], "road": ["sky"], "noise": []}
BEFORE = np.array([[0.85, 0.1, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
AFTER = BEFORE[:, [2, 0, 1]]
ROADS = np.array([0.1, 0.7, 0.9])


def chain(seed: int, count: int, moves: Any = BEFORE) -> Iterator[tuple[dict[str, Any], float]]:
    """Yield events of a Markov chain that is shown by its road, and minus the log-probability of each."""
    rng, sky = np.random.default_rng(seed), 0
    for _ in range(count):
        before, sky = sky, int(rng.choice(3, p=moves[sky]))
        is_slick, is_loud = bool(rng.random() < ROADS[sky]), bool(rng.random() < 0.3)
        shares = moves[before, sky], ROADS[sky] if is_slick else 1 - ROADS[sky], 0.3 if is_loud else 0.7
        event = {"sky": "abc"[sky], "road": "dry slick".split()[is_slick], "noise": is_loud}
        yield event, -math.log(math.prod(shares))


def lasting(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Yield events without a change, whose values last: one of `light` depends on a lamp that seldom changes."""
    rng, wind, wave, lamp = np.random.default_rng(seed), 0, 0, 0
    for _ in range(count):
        wind = wind if rng.random() < 0.95 else int(rng.integers(3))
        wave = wave if rng.random() < 0.85 else (wind + int(rng.random() < 0.2)) % 3
        lamp = lamp if rng.random() < 0.98 else int(rng.integers(2))
        light = bool(rng.random() < (0.9 if lamp else 0.2))
        yield {"wind": "xyz"[wind], "wave": "xyz"[wave], "lamp": lamp, "light": light}


def machine(seed: int, count: int, gain: float = 0.5) -> Iterator[dict[str, Any]]:
    """Yield events of a machine whose heat follows its load, which lasts."""
    rng, load, heat, runs = np.random.default_rng(seed), 0.0, 0.0, False
    for _ in range(count):
        runs ^= bool(rng.random() < 0.05)
        load = 0.95 * load + (0.3 if runs else -0.3) + 0.5 * float(rng.normal())
        heat = 0.9 * heat + gain * load + 0.3 * float(rng.normal())
        yield {"runs": runs, "load": load, "heat": heat}


def network_of(model: DriftAdaptive) -> DynamicNetwork:
    assert isinstance(model.model_, DynamicNetwork)
    return model.model_


@pytest.mark.parametrize("given", [GRAPH, "learn"])
def test_after_a_change_of_transitions_the_gap_is_soon_that_of_a_network_begun_anew(given: Any) -> None:
    model, same, fresh = (
        DriftAdaptive(DynamicNetwork(LAGS, given)),
        DynamicNetwork(LAGS, given),
        DynamicNetwork(LAGS),
    )
    for x, _ in chain(1, 1500):
        model.learn_one(x)
        same.learn_one(x)
    gaps: list[list[float]] = []
    for x, true in chain(2, 2300, AFTER):
        gaps.append([each.score_learn_one(x) - true for each in (model, same, fresh)])
    at_500, at_2000 = (np.mean(gaps[first:last], axis=0) for first, last in ((350, 650), (1700, 2300)))
    assert at_500[0] < at_500[2] + 0.03 and at_2000[0] < at_2000[2] + 0.01
    assert at_500[1] > 0.5 and at_2000[1] > 0.2
    drift, adopted = model.log.entries[:2]
    assert "sky" in drift["detector"]["families"] and abs(drift["since"] - 1501) <= 32
    assert adopted["candidate"] == "families"
    if given is GRAPH:  # the others keep their counts, and the copy is counted anew with its variable
        store = network_of(model).store
        assert isinstance(store, FamilyCounts)
        counted = {v: store.family(v).table.sum() for v in ("sky", "road", "noise", "sky@-1")}
        after = 3800 - drift["since"] + 1
        assert counted == {"sky": after, "road": 3800, "noise": 3800, "sky@-1": after}


@pytest.mark.parametrize("seed", [2, 5, 6, 8])
def test_values_that_last_are_no_change(seed: int) -> None:
    model = DriftAdaptive(DynamicNetwork({"wind": [1], "wave": [1], "lamp": [1]}))
    for x in lasting(seed, 2000):
        model.learn_one(x)
    assert model.log.entries == []


def test_numbers_that_last_are_no_change_and_a_slope_that_changed_is_followed() -> None:
    lags = {"runs": [1], "load": [1], "heat": [1]}
    model, same = DriftAdaptive(DynamicNetwork(lags, numbers=True)), DynamicNetwork(lags, numbers=True)
    for x in machine(0, 1200):
        model.learn_one(x)
        same.learn_one(x)
    assert model.log.entries == []
    gains = [same.score_learn_one(x) - model.score_learn_one(x) for x in machine(1, 700, gain=-0.5)]
    assert "heat" in model.log.entries[0]["detector"]["families"]
    assert abs(model.log.entries[0]["since"] - 1201) <= 32
    assert sum(gains[300:]) / 400 > 0.5


@pytest.mark.parametrize("seed", [0, 3])
def test_few_events_of_before_the_change_spoil_no_lines(seed: int) -> None:
    lags = {"load": [1], "heat": [1]}
    graph = {"load": ["load@-1"], "heat": ["heat@-1", "load"]}
    model, fresh = (DynamicNetwork(lags, graph, numbers=True) for _ in range(2))
    adaptive = DriftAdaptive(model, policy="refit")
    rng, load, heat, gaps = np.random.default_rng(seed), 0.0, 0.0, []
    for k in range(1250):  # the change is amid a block of 32 events
        load = 0.95 * load + 0.5 * float(rng.normal())
        heat = 0.9 * heat + (0.5 if k < 1002 else -0.5) * load + 0.3 * float(rng.normal())
        x = {"load": load, "heat": heat}
        if k < 1002:
            adaptive.learn_one(x)
        else:
            gaps.append(adaptive.score_learn_one(x) - fresh.score_learn_one(x))
    assert abs(adaptive.log.entries[0]["since"] - 1003) <= 32
    assert sum(gaps[100:]) / len(gaps[100:]) < 0.1


def test_a_model_that_takes_over_goes_on_with_the_sequences() -> None:
    model = DriftAdaptive(
        DynamicNetwork({"sky": [1]}, {"sky": ["sky@-1"]}, key="city", pause="1h", step="1min")
    )
    plain = DynamicNetwork({"sky": [1]}, {"sky": ["sky@-1"]}, key="city", pause="1h", step="1min")
    for number in range(900):
        moves = number % 2 if number < 500 else number // 2 % 2
        for city in ("Bonn", "Lima"):
            for net in (model, plain):
                net.learn_one({"city": city, "sky": "ab"[moves]}, at=60.0 * number)
    assert model.generation > 0
    present = network_of(model)
    assert present.derived_state()["sequences"] == plain.derived_state()["sequences"]
    now = 60.0 * 900
    assert present.forecast_one(1, {"city": "Bonn"}, now)["a"] == pytest.approx(0.5, abs=0.1)
    x = {"city": "Bonn", "sky": "a"}
    assert model.score_one(x, now) == pytest.approx(present.score_one(x, now))
    assert model.explain_one(x, now).total == pytest.approx(model.score_one(x, now))
    model.reset("Bonn")
    assert "Bonn" not in str(network_of(model).derived_state()["sequences"])


def test_a_restart_at_any_event_changes_nothing() -> None:
    stream = [x for x, _ in chain(1, 400)] + [x for x, _ in chain(2, 300, AFTER)]

    def make() -> DriftAdaptive:
        return DriftAdaptive(DynamicNetwork(LAGS, window=300), window=400)

    whole, parts = make(), make()
    for number, x in enumerate(stream):
        assert whole.score_learn_one(x) == parts.score_learn_one(x)
        if number % 61 == 0 or 430 < number < 436:
            parts = restore_model(make(), model_state(parts))
    assert parts.log.entries == whole.log.entries
    assert [entry["candidate"] for entry in whole.log.entries[:2]] == [None, "families"]


def test_what_does_not_fit_is_refused_by_name() -> None:
    learner = DynamicNetwork(LAGS)
    with pytest.raises(BadValue, match="families of a DynamicNetwork are tested by their own events"):
        DriftAdaptive(learner, detector="kswin")
    with pytest.raises(BadValue, match="a DynamicNetwork searches its structure itself"):
        DriftAdaptive(learner, policy="search")
    for model in (DriftAdaptive(NaiveBayes()), DriftAdaptive(BayesNet({"sky": []}))):
        with pytest.raises(BadValue, match="at= is for a DynamicNetwork"):
            model.learn_one({"sky": "a"}, "dry" if isinstance(model.learner, NaiveBayes) else None, at=1.0)
        with pytest.raises(BadValue, match="at= is for a DynamicNetwork"):
            model.learn_many([{"sky": "a"}], at=[1.0])
        with pytest.raises(NotSupported, match="no sequences"):
            model.reset()
    timed = DriftAdaptive(DynamicNetwork(LAGS, pause=60.0))
    with pytest.raises(BadValue, match="give at="):
        timed.learn_one({"sky": "a"})
    timed.learn_many([{"sky": "a"}, {"sky": "b"}], at=[1.0, 2.0])
    assert timed.clock == 2


PIPELINE = """
name = "skies"
batch = 50
source = { kind = "jsonl", path = "events.jsonl", time = "at" }
model = { kind = "dynamic-network", predict = ["sky", "sky@+1"], arguments = { lags = { sky = [1] }, pause = "1h" } }
drift = { log = "drifts.jsonl" }
predictions = { kind = "jsonl", path = "answers.jsonl" }
snapshots = { directory = "state", every_events = 100 }
"""


def test_a_pipeline_follows_drift_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    rows = [x for x, _ in chain(1, 400)] + [x for x, _ in chain(2, 200, AFTER)]
    answers = []
    for name, limits in (("whole", [None]), ("parts", [420, 110, None])):
        directory = tmp_path / name
        directory.mkdir()
        (directory / "events.jsonl").write_text(
            "".join(f"{json.dumps({**x, 'at': 1e9 + 60.0 * k})}\n" for k, x in enumerate(rows))
        )
        (directory / "pipeline.toml").write_text(PIPELINE)
        for limit in limits:
            build(load_config(directory / "pipeline.toml"), directory).run(limit)
        answers.append((directory / "answers.jsonl").read_text())
        drifts = [json.loads(line) for line in (directory / "drifts.jsonl").read_text().splitlines()]
        assert [entry["what"] for entry in drifts[:2]] == ["drift", "adopted"]
    assert answers[0] == answers[1]
