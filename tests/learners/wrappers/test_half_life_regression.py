"""A choice of half-life for numbers: the best leads, and all members go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stream_bayes
from stream_bayes import BayesianRegression, GaussianProcess, HalfLifeChoice, HalfLifeRegression, NaiveBayes
from stream_bayes.errors import BadState, BadValue


def taught(model: Any, events: int, change: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    for number in range(events):
        a = float(rng.normal())
        model.learn_one({"a": a}, (3.0 if number < change else -3.0) * a + float(rng.normal()))
    return model


def test_the_half_life_that_predicts_best_leads() -> None:
    steady = taught(HalfLifeRegression(BayesianRegression(), [None, 20.0]), 600, 600)
    moved = taught(HalfLifeRegression(BayesianRegression(), [None, 20.0]), 700, 600)
    assert steady.leader_.half_life is None
    assert moved.leader_.half_life == 20.0 and 600 < moved.leader_.since < 640
    assert moved.losses_[20.0] < moved.losses_[None]


def test_members_are_those_of_the_half_lives_and_the_leader_answers() -> None:
    model = taught(HalfLifeRegression(BayesianRegression(), [None, 30.0]), 300, 200)
    alone = taught(BayesianRegression(half_life=30.0), 300, 200)
    assert model.leader_.half_life == 30.0
    assert model.predict_distribution_one({"a": 1.0}) == alone.predict_distribution_one({"a": 1.0})
    assert model.explain_one({"a": 1.0}) == alone.explain_one({"a": 1.0})


def test_no_single_event_decides() -> None:
    model = taught(HalfLifeRegression(BayesianRegression(), [None, 5.0]), 400, 400)
    model.learn_one({"a": 0.0}, 1e12)
    assert max(model.losses_.values()) - min(model.losses_.values()) < 200.0


def test_it_loads_without_a_model(tmp_path: Path) -> None:
    model = taught(HalfLifeRegression(BayesianRegression(), (None, 30.0)), 250, 200)
    stream_bayes.save(model, tmp_path / "model.zip")
    loaded = stream_bayes.load(tmp_path / "model.zip")
    assert loaded.leader_ == model.leader_ and loaded.losses_ == model.losses_
    assert loaded.state()["checksum"] == model.state()["checksum"]


@pytest.mark.parametrize(("name", "value"), [("leader", 2), ("since", 10**6), ("losses", [1.0])])
def test_a_state_that_does_not_fit_is_refused(name: str, value: Any) -> None:
    model = taught(HalfLifeRegression(BayesianRegression(), [None, 30.0]), 50, 50)
    store = {"meta": model.state()["store"], "arrays": model.state()["arrays"]}
    with pytest.raises(BadState):
        model.clone().load_parts(store, model.derived_state() | {name: value})


@pytest.mark.parametrize(
    ("learner", "text"),
    [
        (NaiveBayes(), "must be a regressor"),
        (GaussianProcess(), "has no half_life"),
        (BayesianRegression(half_life=5.0), "no half_life of its own"),
        (HalfLifeRegression(BayesianRegression()), "must not be a HalfLifeRegression"),
    ],
)
def test_what_has_no_half_life_is_refused(learner: Any, text: str) -> None:
    with pytest.raises(BadValue, match=text):
        HalfLifeRegression(learner)


def test_the_choice_for_classes_names_this_one() -> None:
    with pytest.raises(BadValue, match="HalfLifeRegression"):
        HalfLifeChoice(BayesianRegression())  # type: ignore[arg-type]  # that is the test
