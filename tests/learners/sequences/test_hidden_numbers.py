"""Hidden states that show numbers: enumeration of all paths, the filter that knows the truth, far-out and bad input."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import stream_bayes
from stream_bayes import HiddenMarkov
from stream_bayes.errors import BadState, BadValue, KindChanged
from stream_bayes.serve.event_model_answers import EventModelAnswers
from stream_bayes.streams.served_models.served import served


def emitted(seed: int, events: int, spread: float = 2.0) -> tuple[list[dict[str, Any]], float]:
    """Return events of three hidden states, and the loss of the filter that knows them, over the last quarter."""
    rng = np.random.default_rng(seed)
    move = 0.85 * np.eye(3) + 0.15 * rng.dirichlet(np.ones(3), 3)
    means, deviations = spread * rng.standard_normal(3), np.exp(0.5 * rng.standard_normal(3))
    show = 0.95 * rng.dirichlet(np.full(4, 0.5), 3) + 0.0125
    state, rows, losses, belief = 0, [], [], np.full(3, 1 / 3)
    for _ in range(events):
        state = int(rng.choice(3, p=move[state]))
        load, code = float(rng.normal(means[state], deviations[state])), int(rng.choice(4, p=show[state]))
        rows.append({"load": load, "sound": f"s{code}"})
        joint = (belief @ move) * show[:, code] * stats.norm.pdf(load, means, deviations)
        losses.append(-math.log(joint.sum()))
        belief = joint / joint.sum()
    return rows, float(np.mean(losses[-events // 4 :]))


def test_it_predicts_nearly_as_the_filter_that_knows_the_truth_and_finds_the_number_of_states() -> None:
    rows, best = emitted(7, 2_000)
    model = HiddenMarkov(["load", "sound"], states=[2, 3, 4], restarts=3)
    losses = []
    for row in rows:
        losses.append(-model.log_likelihood_one(row))
        model.learn_one(row)
    assert np.mean(losses[-500:]) < best + 0.05
    assert model.best_states == 3


def test_filter_smoother_path_score_and_forecast_are_those_of_enumerating_all_paths() -> None:
    rows, _ = emitted(2, 300)
    model = HiddenMarkov(["load", "sound"], key="id", lag=3)
    model.learn_many([{"id": "long", **row} for row in rows])
    observed: list[dict[str, Any]] = [rows[0], {}, {"load": 1.5}, rows[3]]
    last = {"id": "short", **observed[3]}
    model.learn_many([{"id": "short", **row} for row in observed[:3]])
    move, sound, load = np.array(model.transition_matrix()), model.emissions("sound"), model.emissions("load")
    start = [*model.filter_one({"id": "new"}).values()]
    weights: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(3), repeat=4):
        p = start[path[0]] * math.prod(move[i, j] for i, j in itertools.pairwise(path))
        for state, row in zip(path, observed, strict=True):
            p *= sound[state][row["sound"]] if "sound" in row else 1.0
            each = load[state]
            p *= stats.t.pdf(row["load"], each.degrees, each.location, each.scale) if "load" in row else 1.0
        weights[path] = p
    total = sum(weights.values())
    before = sum(
        p / (sound[path[3]][observed[3]["sound"]] * load[path[3]].density(observed[3]["load"]))
        for path, p in weights.items()
    )
    assert model.log_likelihood_one(last) == pytest.approx(math.log(total / before), abs=1e-9)
    model.learn_one(last)
    for k, belief in enumerate(model.smooth_one(last)):
        exact = [sum(p for path, p in weights.items() if path[k] == s) / total for s in range(3)]
        assert [*belief.values()] == pytest.approx(exact, abs=1e-9)
    assert [*model.filter_one(last).values()] == pytest.approx(exact, abs=1e-9)
    assert model.most_probable_states(last) == [*max(weights, key=weights.__getitem__)]
    ahead = np.array(exact) @ np.linalg.matrix_power(move, 5)
    forecast = model.forecast_one(5, last, variable="load")
    assert forecast.mean == pytest.approx(sum(ahead[s] * load[s].mean for s in range(3)))
    assert forecast.density(0.7) == pytest.approx(sum(ahead[s] * load[s].density(0.7) for s in range(3)))
    low, high = model.predict_interval_one(last, variable="load", level=0.8) or (0.0, 0.0)
    assert model.forecast_one(1, last, variable="load").below(high) == pytest.approx(0.9)
    assert low < model.predict_one(last, variable="load") < high


def test_the_farther_out_a_number_is_the_more_surprising_it_is_at_any_distance_and_offset() -> None:
    for offset in (0.0, 1e9):
        model = HiddenMarkov(["load", "heat"], states=2, restarts=2)
        for k in range(600):
            number = offset + k % 7 + 40.0 * (k // 20 % 2)
            model.learn_one({"load": number, "heat": number})
        scores = [
            -model.log_likelihood_one({"load": offset + x, "heat": offset + x})
            for x in (3.0, 60.0, 1e3, 1e6, 1e12, 1e50)
        ]
        assert scores == sorted(set(scores)) and all(map(math.isfinite, scores))
        assert sorted(round(each.mean - offset) for each in model.emissions("load")) == [3, 43]


def test_constants_gaps_huge_and_first_numbers_leave_finite_answers_and_bad_ones_change_nothing() -> None:
    model = HiddenMarkov(["load", "sound"], states="learn", restarts=2, key="id", numbers="load", lag=2)
    assert model.kinds == {"load": "numeric"}
    assert model.predict_interval_one({"id": 1}, variable="load") is None
    for k in range(300):
        load = (5, 5.0, None, 1e100, -1e100)[k // 60]
        model.learn_one({"id": k % 3, "load": load, "sound": None if k else "tick"})
        assert math.isfinite(model.log_likelihood_one({"id": k % 3, "load": 5.0, "sound": "new"}))
    before = model.state()["checksum"]
    bad: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"id": 1, "load": math.inf}, BadValue),
        ({"id": 1, "load": 1e101}, BadValue),
        ({"id": 1, "load": "high"}, KindChanged),
    ]
    for x, error in bad:
        with pytest.raises(error):
            model.learn_one(x)
        with pytest.raises(error):
            model.learn_many([{"id": 1, "load": 1.0}, x])
    single = HiddenMarkov("level", states=1)
    single.learn_many({"level": np.float32(k)} for k in (1.5, 2.5))
    assert single.kinds == {"level": "numeric"}
    named = HiddenMarkov("level")
    with pytest.raises(KindChanged, match=r"numbers=\['level'\]"):
        named.learn_many([{"level": 1}, {"level": 1.5}])  # the first value decides, and none is learned
    assert (named.clock, model.state()["checksum"]) == (0, before)
    with pytest.raises(BadValue, match="has numbers"):
        model.predict_proba_one({"id": 1}, variable="load")


def test_it_goes_on_from_a_file_as_if_nothing_had_happened(tmp_path: Path) -> None:
    rows, _ = emitted(3, 200)
    model = HiddenMarkov(["load", "sound"], states=[2, 3], lag=4)
    model.learn_many(rows[:145])
    stream_bayes.save(model, tmp_path / "hidden.zip")
    loaded = stream_bayes.load(tmp_path / "hidden.zip")
    for each in (model, loaded):
        each.learn_many(rows[145:])
    assert loaded.state()["checksum"] == model.state()["checksum"]
    for name, spoilt in (("1_squares_0", -1.0), ("0_prior_0", 0.0)):
        state = model.store.state()
        state["arrays"][name][...] = spoilt
        with pytest.raises(BadState, match="negative"):
            HiddenMarkov(["load", "sound"], states=[2, 3]).store.load(state)


def test_a_pipeline_forecasts_numbers_with_intervals_and_measures_their_errors() -> None:
    model = HiddenMarkov(["load", "sound"], states=2, restarts=2)
    pipeline: Any = served(model, predict=["load", "load@+2", "state"])
    rng = np.random.default_rng(5)
    events = [
        {"load": float(rng.normal(40.0 * (k // 25 % 2), 3.0)), "sound": "hum" if k // 25 % 2 else "tick"}
        for k in range(400)
    ]
    answers, refused = pipeline.process(events, [None] * 400, [1.0] * 400)
    assert refused is None
    last = answers.newest(1).named(str)[0]
    assert last["load"]["low"] < last["load"]["mean"] < last["load"]["high"]
    assert answers.decide(pipeline.decide)[-1]["load@+2"] == last["load@+2"]["mean"]
    numbers = [(name, answer, number) for row in answers._numbers[200:] for name, answer, number in row]
    assert {name for name, _, _ in numbers} == {"load"}
    within = [answer["low"] <= number <= answer["high"] for _, answer, number in numbers if answer]
    assert 0.85 < np.mean(within) < 0.98
    posterior = EventModelAnswers(model).query({}, ["load@+1"], 0.8)["posteriors"]["load@+1"]
    assert (posterior["low"], posterior["high"]) == model.predict_interval_one(variable="load", level=0.8)
    assert sum(posterior["probabilities"].values()) == pytest.approx(1.0)
