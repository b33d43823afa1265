"""Of several half-lives the one that predicts best answers, and a drift changes which one that is."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest

from stream_bayes import AODE, HalfLifeChoice, NaiveBayes, SlidingWindow
from stream_bayes.errors import BadLabel, BadValue, OtherConfiguration
from stream_bayes.learners.base.class_probabilities import LEAST_PROBABILITY
from stream_bayes.saving.river.model_state import model_state, restore_model
from stream_bayes.streams.served_models.served import served

Event = tuple[dict[str, str], int]
HALF_LIVES = (None, 200.0, 20.0)


def drifting(seed: int, lengths: tuple[int, ...] = (1500, 300)) -> list[Event]:
    """A class that follows one feature, and after each length its opposite."""
    rng, stream = np.random.default_rng(seed), list[Event]()
    for turn, length in enumerate(lengths):
        for _ in range(length):
            a, b = (int(rng.random() < 0.5) for _ in range(2))
            stream.append(({"a": str(a), "b": str(b)}, (a + turn + int(rng.random() < 0.1)) % 2))
    return stream


def test_the_answers_and_losses_are_those_of_separate_learners() -> None:
    for combine in ("best", "mixture"):
        model = HalfLifeChoice(AODE(min_count=1.0), HALF_LIVES, combine, loss_half_life=50.0, rate=0.2)
        alone: list[Any] = [AODE(min_count=1.0, half_life=half_life) for half_life in HALF_LIVES]
        losses = [0.0] * 3
        for x, y in drifting(1, (200, 100)):
            given = [one.predict_proba_one(x) for one in alone]
            leader = losses.index(min(losses))
            weights = [math.exp(0.2 * (min(losses) - loss)) for loss in losses]
            if combine == "best":
                weights = [float(place == leader) for place in range(3)]
            expected = {
                label: sum(w * answer[label] for w, answer in zip(weights, given, strict=True)) / sum(weights)
                for label in given[0]
            }
            assert model.predict_proba_one(x) == pytest.approx(expected, abs=1e-12)
            assert model.predict_learn_one(x, y, 2.0) == pytest.approx(expected, abs=1e-12)
            for place, (one, answer) in enumerate(zip(alone, given, strict=True)):
                one.learn_one(x, y, 2.0)
                loss = -math.log(max(answer.get(y, 0.0), LEAST_PROBABILITY))
                losses[place] = losses[place] * 2 ** (-1 / 50) + 2.0 * loss
        assert list(model.losses_.values()) == pytest.approx(losses)


@pytest.mark.parametrize("combine", ["best", "mixture"])
def test_after_a_drift_it_loses_little_more_than_the_best_half_life_would_have(combine: str) -> None:
    for seed in range(3):
        stream = drifting(seed)
        models: dict[Any, Any] = {half_life: NaiveBayes(half_life=half_life) for half_life in HALF_LIVES}
        models["choice"] = HalfLifeChoice(NaiveBayes(), HALF_LIVES, combine, loss_half_life=100.0)
        lost = dict.fromkeys(models, 0.0)
        for number, (x, y) in enumerate(stream):
            for name, model in models.items():
                answer = model.predict_learn_one(x, y)
                lost[name] += -math.log(max(answer.get(y, 0.0), LEAST_PROBABILITY)) if number >= 1500 else 0.0
        best = min(lost[half_life] for half_life in HALF_LIVES)
        assert lost["choice"] < 1.15 * best
        assert lost["choice"] < 0.6 * lost[None]


def test_the_leader_changes_with_the_world_and_says_since_when() -> None:
    model = HalfLifeChoice(NaiveBayes(), HALF_LIVES, loss_half_life=100.0)
    stream = drifting(0)
    for x, y in stream[:1500]:
        model.learn_one(x, y)
    assert model.leader_.half_life in (None, 200.0)
    for x, y in stream[1500:]:
        model.learn_one(x, y)
    assert model.leader_.half_life == 20.0
    assert 1500 < model.leader_.since <= model.clock == 1800


def test_a_refused_sample_is_learned_by_none() -> None:
    model = HalfLifeChoice(SlidingWindow(NaiveBayes(), 100), HALF_LIVES)
    model.learn_one({"a": "x"}, "yes")
    before = repr(model_state(model))
    with pytest.raises(BadLabel):
        model.learn_one({"b": "new"}, 1j)
    assert repr(model_state(model)) == before


def test_it_serves_in_a_pipeline_and_goes_on_from_its_state() -> None:
    one, other = (served(HalfLifeChoice(AODE(min_count=1.0), HALF_LIVES, "mixture")) for _ in range(2))
    stream = drifting(2, (100, 100))
    for x, y in stream[:120]:
        one.predict_then_learn(x, y, 1.0)
    other.load(one.freeze()())
    for x, y in stream[120:]:
        assert one.predict_then_learn(x, y, 1.0) == other.predict_then_learn(x, y, 1.0)
    assert repr(one.freeze()()) == repr(other.freeze()())


def test_a_state_of_other_half_lives_is_refused() -> None:
    state = model_state(HalfLifeChoice(NaiveBayes(), (None, 5.0)))
    with pytest.raises(OtherConfiguration):
        restore_model(HalfLifeChoice(NaiveBayes(), (None, 6.0)), state)


def test_bad_arguments_are_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {"learner": "nb"},
        {"learner": NaiveBayes(half_life=5.0)},
        {"half_lives": ()},
        {"half_lives": (5.0, 5.0)},
        {"half_lives": 5.0},
        {"half_lives": (None, 0.0)},
        {"half_lives": ([1.0],)},
        {"half_lives": (None, math.nan)},
        {"combine": "worst"},
        {"loss_half_life": 0.0},
        {"rate": -1.0},
    ]
    for arguments in wrong:
        with pytest.raises(BadValue):
            HalfLifeChoice(**({"learner": NaiveBayes()} | arguments))


@pytest.mark.parametrize("combine", ["best", "mixture"])
def test_many_rows_are_answered_as_one_by_one_in_every_form(combine: str) -> None:
    model = HalfLifeChoice(AODE(min_count=1), [None, 20.0, 5.0], combine=combine)
    rng = random.Random(5)
    rows = [({"a": rng.choice("xy"), "b": rng.random()}, rng.choice("uv")) for _ in range(120)]
    for x, y in rows:
        model.learn_one(x, y)
    xs = [x for x, _ in rows[:30]]
    for one, many in zip(map(model.predict_proba_one, xs), model.predict_proba_many(xs), strict=True):
        assert many == pytest.approx(one, abs=1e-12)
    assert model.predict_many(xs) == [model.predict_one(x) for x in xs]
    frame = model.predict_proba_many(pd.DataFrame(xs))
    assert frame["u"].tolist() == pytest.approx([model.predict_proba_one(x)["u"] for x in xs], abs=1e-12)
    assert model.predict_many(pd.DataFrame(xs)).tolist() == model.predict_many(xs)
    assert set(model.classes_) == {"u", "v"} and model.memory_bytes > 3 * 1000


def test_explanations_and_intervals_are_those_of_the_half_life_that_leads() -> None:
    model = HalfLifeChoice(NaiveBayes(), [None, 10.0])
    assert str(model.explain_one({"sky": "grey"})).startswith("nothing has been learned")
    for number in range(60):
        model.learn_one({"sky": "grey"}, "rain" if number < 40 else "sun")
    why = model.explain_one({"sky": "grey"})
    p = model.predict_proba_one({"sky": "grey"})
    assert why.log_odds("sun") == pytest.approx(math.log(p["sun"] / p["rain"]))
    low, high = model.predict_interval_one({"sky": "grey"})["sun"]
    assert low < p["sun"] < high
    assert HalfLifeChoice(NaiveBayes(), combine="mixture").predict_interval_one({}) == {}


def test_a_certain_answer_of_a_mixture_is_1_and_no_more_and_within_its_interval() -> None:
    model, rng = HalfLifeChoice(NaiveBayes(), [None, 100.0, 10.0], combine="mixture"), random.Random(3)
    samples = [({f"n{k}": rng.gauss(60.0 * (y == "b"), 1.0) for k in range(9)}, y) for y in "ab" * 50]
    for x, y in samples:
        model.learn_one(x, y)
    for _ in range(100):  # weights of three half-lives add up to a little less than 1, or to more
        model._losses = [rng.random() for _ in model._losses]
        x, y = rng.choice(samples)
        answer, intervals = model.predict_proba_one(x), model.predict_interval_one(x)
        assert answer[y] == pytest.approx(1.0, abs=1e-15)
        for label, share in answer.items():
            assert 0.0 <= intervals[label][0] <= share <= intervals[label][1] <= 1.0
        assert model.predict_proba_many([x])[0][y] <= 1.0
