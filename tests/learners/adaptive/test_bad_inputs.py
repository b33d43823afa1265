"""The default learner and values that no stream should have: each is learned or refused by name, and breaks nothing."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import random
from decimal import Decimal
from typing import Any

import pytest

from stream_bayes import AdaptiveBayes
from stream_bayes.errors import StreamBayesError
from stream_bayes.saving.river.model_state import model_state, restore_model

VALUES: list[Any] = [
    *(math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, 10**30, -(10**400), 2**63, 0, -0.0),
    *(True, False, None, "", " ", "a" * 100_000, "\x00", "\ud800", b"bytes", bytearray(b"x")),
    *(dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12), dt.timedelta(1), Decimal("1.5"), 1j),
    *([1, 2], {"a": 1}, {1, 2}, (1, "a"), frozenset("a"), object(), int, ...),
]


def state_bytes(model: AdaptiveBayes) -> tuple[str, dict[str, bytes]]:
    state = dict(model_state(model))
    arrays = state.pop("arrays")
    return repr(state), {name: array.tobytes() for name, array in arrays.items()}


def learned(events: int) -> AdaptiveBayes:
    model = AdaptiveBayes()
    for n in range(events):
        model.learn_one(
            {"size": n % 9 + n / 100, "sky": "grey" if n % 3 else "blue"}, "yes" if n % 2 else "no"
        )
    return model


def demand_probabilities(answer: dict[Any, float]) -> None:
    assert all(0.0 <= p <= 1.0 for p in answer.values())
    assert math.fsum(answer.values()) == pytest.approx(1.0)


def demand_sound(model: AdaptiveBayes) -> None:
    """Demand probabilities, and a state that loads to equal bytes and answers."""
    x = {"size": 3.5, "sky": "grey"}
    answer = model.predict_proba_one(x)
    demand_probabilities(answer)
    again = restore_model(AdaptiveBayes(model.label_memory), model_state(model))
    assert state_bytes(again) == state_bytes(model) and again.predict_proba_one(x) == answer


@pytest.mark.parametrize("column", ["size", "sky", "new"])
def test_any_value_of_a_feature_is_learned_or_refused_and_breaks_nothing(column: str) -> None:
    model = learned(30)
    outcomes, before = set(), state_bytes(model)
    for number, value in enumerate(VALUES):
        x = {"size": 1.5, "sky": "grey"} | {f"new {number}" if column == "new" else column: value}
        try:
            model.learn_one(x, "yes")
            outcomes.add("learned")
            before = state_bytes(model)
        except StreamBayesError:
            assert state_bytes(model) == before, value
            outcomes.add("refused")
        with contextlib.suppress(StreamBayesError):
            demand_probabilities(model.predict_proba_one(x))
    assert outcomes == {"learned", "refused"}
    demand_sound(model)


def test_any_label_is_learned_or_refused_and_breaks_nothing() -> None:
    model = learned(30)
    outcomes = set()
    for value in VALUES:
        before = state_bytes(model)
        try:
            model.learn_one({"size": 1.5, "sky": "grey"}, value)
            outcomes.add("learned")
        except StreamBayesError:
            assert state_bytes(model) == before, value
            outcomes.add("refused")
    assert outcomes == {"learned", "refused"}
    demand_sound(model)


def event_of(rng: random.Random, label: str) -> dict[str, Any]:
    return {"size": rng.gauss(0.0 if label == "no" else 2.0, 1.0), "sky": "blue" if label == "no" else "grey"}


def test_events_without_any_feature_break_nothing_and_what_was_learned_before_is_known_after() -> None:
    rng, model = random.Random(3), AdaptiveBayes(label_memory=0)
    for number in range(400):
        label = "no" if number % 2 else "yes"
        model.learn_one(event_of(rng, label), label)
    for number in range(1_500):
        demand_probabilities(
            model.predict_learn_one({"size": None} if number % 2 else {}, rng.choice(["no", "yes"]))
        )
    answers = [model.predict_one(event_of(rng, label)) == label for label in ["no", "yes"] * 50]
    assert sum(answers) >= 90
    demand_sound(model)


def test_a_class_that_disappears_for_long_is_known_when_it_comes_again() -> None:
    rng, model = random.Random(4), AdaptiveBayes()
    for number in range(300):
        label = ("no", "yes", "gone")[number % 3]
        model.learn_one(event_of(rng, label) | {"mark": label == "gone"}, label)
    for number in range(1_500):
        label = ("no", "yes")[number % 2]
        demand_probabilities(model.predict_learn_one(event_of(rng, label) | {"mark": False}, label))
    right = 0
    for _ in range(30):
        answer = model.predict_learn_one(event_of(rng, "gone") | {"mark": True}, "gone")
        right += max(answer, key=lambda label: answer[label]) == "gone"
    assert right >= 25
    demand_sound(model)


def test_a_class_of_one_in_thousands_of_events_is_expected_as_seldom() -> None:
    rng, model, mean, events = random.Random(5), AdaptiveBayes(), 0.0, 4_000
    rare = {1_000, 2_500}
    for number in range(events):
        label = "fraud" if number in rare else "fair"
        answer = model.predict_learn_one({"size": rng.gauss(0.0, 1.0), "sky": rng.choice("ab")}, label)
        demand_probabilities(answer or {"fair": 1.0})
        mean += answer.get("fraud", 0.0) / events
    assert mean < 20 * len(rare) / events
    assert model.predict_one({"size": 0.0, "sky": "a"}) == "fair"
    demand_sound(model)


@pytest.mark.parametrize("seed", range(6))
def test_a_model_that_is_saved_and_loaded_on_the_way_is_the_one_that_was_not(seed: int) -> None:
    rng = random.Random(seed)
    classes, names, numbers = rng.choice([2, 3, 12]), rng.randrange(5), rng.randrange(5)
    moved, lacking, weights = rng.choice([0.0, 10.0]), rng.choice([0.0, 0.2]), rng.choice([[1.0], [0.5, 2.0]])
    label_memory = rng.randrange(3)
    model, loaded = AdaptiveBayes(label_memory), AdaptiveBayes(label_memory)
    for number in range(160):
        label = rng.randrange(classes)
        x: dict[str, Any] = {
            f"n{k}": rng.gauss(label * (k == 0), 1.0) + moved * (number > 80) for k in range(numbers)
        }
        x |= {f"s{k}": f"v{rng.randrange(4) if k else label}" for k in range(names)}
        x = {name: value for name, value in x.items() if rng.random() >= lacking}
        if number == 120:
            x["late"] = 1.5
        w = rng.choice(weights)
        assert loaded.predict_learn_one(x, f"c{label}", w) == model.predict_learn_one(x, f"c{label}", w)
        if number % 50 == 49:
            assert state_bytes(loaded) == state_bytes(model)
            loaded = restore_model(AdaptiveBayes(label_memory), model_state(loaded))
            assert state_bytes(loaded) == state_bytes(model)
