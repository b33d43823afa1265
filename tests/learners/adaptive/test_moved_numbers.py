"""Numbers that change their level or unit: the default learner counts them in new bins, and is soon right again."""

from __future__ import annotations

import random
from typing import Any

import pytest

import stream_bayes
from stream_bayes import AODE, AdaptiveBayes, Binning
from stream_bayes.core.counts.store import CountStore
from stream_bayes.learners.adaptive.moved_numbers import moved_numbers
from stream_bayes.saving.river.model_state import model_state, restore_model


def event(source: random.Random, shift: float, scale: float) -> tuple[dict[str, Any], str]:
    z = [source.gauss(0.0, 1.0) for _ in range(4)]
    x = {f"n{k}": value * scale + shift for k, value in enumerate(z)}
    return x, "same" if z[0] * z[1] > 0.0 else "different"


@pytest.mark.skipif(
    not stream_bayes.compiled, reason="two thousand events take the uncompiled build a minute"
)
@pytest.mark.parametrize(("shift", "scale"), [(10.0, 1.0), (0.0, 0.01)])
def test_after_numbers_have_moved_it_is_soon_right_again_and_a_loaded_model_goes_on_alike(
    shift: float, scale: float
) -> None:
    source, model = random.Random(1), AdaptiveBayes(label_memory=0)
    for _ in range(1500):
        model.learn_one(*event(source, 0.0, 1.0))
    events = 0
    while not model._moved:
        model.learn_one(*event(source, shift, scale))
        events += 1
        assert events < 200
    again = restore_model(AdaptiveBayes(label_memory=0), model_state(model))
    right = 0
    for number in range(900):
        x, y = event(source, shift, scale)
        answer = model.predict_learn_one(x, y)
        if number < 20:
            assert again.predict_learn_one(x, y) == answer
        right += number >= 600 and max(answer, key=answer.__getitem__) == y
    assert right > 250


@pytest.mark.skipif(
    not stream_bayes.compiled, reason="four thousand events take the uncompiled build a minute"
)
@pytest.mark.parametrize("label_memory", [0, 2])
def test_a_mean_that_wanders_off_is_followed(label_memory: int) -> None:
    source, model, right = random.Random(3), AdaptiveBayes(label_memory=label_memory), 0
    for number in range(3500):
        x, y = event(source, max(0, number - 1500) / 200.0, 1.0)
        answer = model.predict_learn_one(x, y)
        right += number >= 3000 and max(answer, key=answer.__getitem__) == y
    assert right > 425  # of 500: with the numbers in bins alone, half of them


def test_what_is_held_for_a_late_label_is_what_was_predicted_also_without_label_memory() -> None:
    source, model = random.Random(4), AdaptiveBayes(label_memory=0)
    for number in range(300):
        model.learn_one(*event(source, number / 50.0, 1.0))
    x, y = event(source, 6.0, 1.0)
    answer, waiting = model.predict_proba_one(x), model.hold(x)
    assert model.hold(waiting) is waiting
    assert model.features_of(waiting) == x
    for number in range(100):
        model._trends.add(event(source, 6.0 + number / 50.0, 1.0)[0], {})  # what comes before the label
    assert model.predict_proba_one(waiting) == answer != model.predict_proba_one(x)
    model.learn_one(waiting, y)
    names = {"sky": "grey"}
    assert model.hold(names) is names  # nothing of it changes meanwhile


def test_numbers_that_always_come_in_crowds_have_not_moved() -> None:
    source = random.Random(2)
    model = AODE(binning=Binning(bins=10, after=20, window=40))
    events = []
    for number in range(660):
        level = 10.0 if number >= 630 else 0.0
        x = {
            "moved": source.gauss(level, 1.0),
            "steady": source.gauss(0.0, 1.0),
            "waves": source.gauss(5.0 * (number // 100), 0.1),
        }
        events.append(x)
        model.learn_one(x, "ab"[number % 2])
    assert isinstance(model.store, CountStore)
    assert moved_numbers(model.store, events, 30) == ["moved"]
    assert moved_numbers(model.store, events[-100:], 30) == []
