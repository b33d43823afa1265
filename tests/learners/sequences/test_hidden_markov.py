"""A hidden Markov model against enumeration of all paths, the filter that knows the truth, and bad input."""

from __future__ import annotations

import itertools
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stream_bayes
from stream_bayes import DynamicNetwork, HiddenMarkov, MarkovChain
from stream_bayes.core.live_networks.hidden_emissions import NameEmission
from stream_bayes.errors import BadState, BadValue, CannotMerge, KindChanged, UnknownFeature


def emitted(seed: int, events: int) -> tuple[list[dict[str, Any]], float]:
    """Return events of three hidden states, and the loss of the filter that knows them, over the last quarter."""
    rng = np.random.default_rng(seed)
    move = 0.8 * np.eye(3) + 0.2 * rng.dirichlet(np.ones(3), 3)
    show = [0.95 * rng.dirichlet(np.full(4, 0.4), 3) + 0.0125 for _ in range(2)]
    state, rows, losses, belief = 0, [], [], np.full(3, 1 / 3)
    for _ in range(events):
        state = int(rng.choice(3, p=move[state]))
        codes = [int(rng.choice(4, p=table[state])) for table in show]
        rows.append({"sound": f"s{codes[0]}", "light": codes[1]})
        joint = (belief @ move) * show[0][:, codes[0]] * show[1][:, codes[1]]
        losses.append(-math.log(joint.sum()))
        belief = joint / joint.sum()
    return rows, float(np.mean(losses[-events // 4 :]))


def test_it_predicts_nearly_as_the_filter_that_knows_the_truth() -> None:
    rows, best = emitted(1, 4_000)
    model = HiddenMarkov(["sound", "light"])
    losses = []
    for row in rows:
        losses.append(-model.log_likelihood_one(row))
        model.learn_one(row)
    assert np.mean(losses[-1_000:]) < best + 0.05


def test_the_number_of_states_is_chosen_by_prediction() -> None:
    rows, best = emitted(4, 3_000)
    model = HiddenMarkov(["sound", "light"], states="learn", restarts=2)
    losses = []
    for row in rows:
        losses.append(-model.log_likelihood_one(row))
        model.learn_one(row)
    assert (model.best_states, [*model.scores]) == (3, [1, 2, 3, 4, 5, 6])
    assert len(model.filter_one()) == len(model.transition_matrix()) == len(model.emissions("sound")) == 3
    assert np.mean(losses[-750:]) < best + 0.1
    rng = np.random.default_rng(1)
    alone = HiddenMarkov("sound", states=[3, 1, 2], restarts=2)
    alone.learn_many({"sound": "ab"[int(each)]} for each in rng.random(1_000) < 0.3)
    assert alone.best_states == 1
    for states in ([], [0], [2, 2], "lern", None):
        with pytest.raises(BadValue, match="states"):
            HiddenMarkov("sound", states=states)  # type: ignore[arg-type]  # wrong on purpose


def test_filter_smoother_path_and_forecast_are_those_of_enumerating_all_paths() -> None:
    rows, _ = emitted(2, 300)
    model = HiddenMarkov(["sound", "light"], key="id", lag=3)
    for row in rows:
        model.learn_one({"id": "long", **row})
    model.learn_many([{"id": "short", **row} for row in [rows[0], {}, rows[2], {"light": 1}]])
    move, light = np.array(model.transition_matrix()), model.emissions("light")
    sound, start = model.emissions("sound"), [*model.filter_one({"id": "new"}).values()]
    observed = [rows[0], {}, rows[2], {"light": 1}]
    weights: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(3), repeat=4):
        p = start[path[0]] * math.prod(move[i, j] for i, j in itertools.pairwise(path))
        for state, row in zip(path, observed, strict=True):
            p *= light[state][row["light"]] if "light" in row else 1.0
            p *= sound[state][row["sound"]] if "sound" in row else 1.0
        weights[path] = p
    total = sum(weights.values())
    for k, belief in enumerate(model.smooth_one({"id": "short"})):
        exact = [sum(p for path, p in weights.items() if path[k] == s) / total for s in range(3)]
        assert [*belief.values()] == pytest.approx(exact, abs=1e-9)
    assert [*model.filter_one({"id": "short"}).values()] == pytest.approx(exact, abs=1e-9)
    assert model.most_probable_states({"id": "short"}) == [*max(weights, key=weights.__getitem__)]
    ahead = np.array(exact) @ np.linalg.matrix_power(move, 5)
    forecast = model.forecast_one(5, {"id": "short"}, variable="light")
    assert forecast == pytest.approx({v: sum(ahead[s] * light[s][v] for s in range(3)) for v in light[0]})


def test_memory_is_bounded_and_no_input_makes_a_nan() -> None:
    model = HiddenMarkov("sound", states=2, key="id", lag=2, max_values=3, max_sequences=5)
    for k in range(400):
        model.learn_one({"id": k % 9, "sound": None if k % 3 else f"value {k}"})
    sizes = [len(last.memory[0].steps) for last in model.sequences._last.values()]
    assert (len(sizes), max(sizes) <= 4, len(model.predict_proba_one({"id": 0}))) == (5, True, 4)
    assert sum(model.predict_proba_one({"id": 0}).values()) == pytest.approx(1.0)
    single = HiddenMarkov("sound", states=1)
    assert (single.predict_one(), single.smooth_one(), single.most_probable_states()) == (None, [], [])
    for _ in range(3_000):
        single.learn_one({})
        single.learn_one({"sound": "tick"})
    assert single.predict_proba_one() == {"tick": 1.0}
    assert single.log_likelihood_one({"sound": "bang"}) == pytest.approx(math.log(0.5 / 3_000))


def test_a_sequence_that_ends_is_counted_whole() -> None:
    model = HiddenMarkov("sound", key="id", pause=60, lag=50, restarts=1, half_life=1e12)
    chain = model.store.chains[0]
    for at in (0, 10, 20):
        model.learn_one({"id": 1, "sound": "tick"}, at=at)
    shown = chain.emissions[0]
    assert isinstance(shown, NameEmission) and shown.shown.sum() == 0.0
    model.learn_one({"id": 1, "sound": "tick"}, at=1_000)
    # The three fade no more after they are counted: the event that ended them came before.
    assert shown.shown.sum() == pytest.approx(3.0)
    assert chain.moves.sum() == pytest.approx(2.0)


def test_bad_events_are_refused_before_anything_changes() -> None:
    model = HiddenMarkov(["sound", "light"], key="id")
    model.learn_one({"id": 1, "sound": "tick", "light": 0})
    before = pickle.dumps(model)
    for x in ({"sound": "tick"}, {"id": 1, "sound": "new", "light": 0.5}, {"id": 1, "sound": ["a"]}, "tick"):
        with pytest.raises((BadValue, KindChanged)):
            model.learn_one(x)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(UnknownFeature):
        model.predict_proba_one({"id": 1})
    with pytest.raises(CannotMerge):
        model.merge(pickle.loads(before))
    assert pickle.dumps(model) == before


def test_it_goes_on_from_a_file_as_if_nothing_had_happened(tmp_path: Path) -> None:
    rows, _ = emitted(3, 200)
    model = HiddenMarkov(["sound", "light"], states=[2, 3], max_values=3)
    model.learn_many(rows[:150])
    stream_bayes.save(model, tmp_path / "hidden.zip")
    loaded = stream_bayes.load(tmp_path / "hidden.zip")
    for each in (model, loaded):
        each.learn_many(rows[150:])
    assert loaded.state()["checksum"] == model.state()["checksum"]
    state = model.store.state()
    state["arrays"]["1_moves"][0, 0, 0] = math.nan
    with pytest.raises(BadState, match="not finite"):
        HiddenMarkov(["sound", "light"], states=[2, 3], max_values=3).store.load(state)
    other = model.store.state()
    other["meta"]["chains"][1]["values"][1].reverse()
    with pytest.raises(BadState, match="other values"):
        HiddenMarkov(["sound", "light"], states=[2, 3], max_values=3).store.load(other)


def test_a_reset_ends_the_sequences_of_its_keys_alone() -> None:
    model = HiddenMarkov("sound", states=2, key="id", restarts=1)
    for k in range(60):
        for name in ("a", "b"):
            model.learn_one({"id": name, "sound": "tick" if k % 5 < 3 else "tock"})
    belief = model.filter_one({"id": "b"})
    fresh = model.filter_one({"id": "new"})
    assert model.filter_one({"id": "a"}) == pytest.approx(belief, abs=1e-3) and belief[0] != pytest.approx(
        fresh[0], abs=0.1
    )
    model.reset("a")
    assert model.filter_one({"id": "a"}) == pytest.approx(fresh, abs=1e-3)
    assert model.filter_one({"id": "b"}) == pytest.approx(belief, abs=1e-3)
    model.reset()
    assert model.smooth_one({"id": "b"}) == []


def test_a_score_is_minus_the_log_likelihood_in_each_learner_of_sequences() -> None:
    models: list[MarkovChain | HiddenMarkov | DynamicNetwork] = [
        MarkovChain("sound", key="machine", step=60.0),
        HiddenMarkov(["sound"], states=2, key="machine", step=60.0),
        DynamicNetwork({"sound": [1]}, {"sound": ["sound@-1"]}, key="machine", step=60.0),
    ]
    for model in models:
        for k in range(60):
            model.learn_one({"machine": 7, "sound": "ab"[k % 2]}, at=60.0 * k)
        scores = {}
        for sound in "ab":
            x = {"machine": 7, "sound": sound}
            scores[sound] = model.score_one(x, at=3_600.0)
            assert scores[sound] == -model.log_likelihood_one(x, at=3_600.0)
        assert scores["a"] < 0.7 < scores["b"]
        assert model.score_one({"machine": 7}, at=3_600.0) == 0.0
