"""An event is read once, for all stores: what they learn and answer is as if each had read its names."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from stream_bayes import AdaptiveBayes, Nominal, Numeric, Schema
from stream_bayes.errors import BadValue, StreamBayesError
from stream_bayes.saving.river.model_state import model_state

EVENTS = 150


class ReadByNames(AdaptiveBayes):
    """Each store reads the names of each event."""

    def _new_panel(self) -> Any:
        panel = super()._new_panel()
        panel.encoding.by_name, panel.encoding.leader_of = True, list(range(len(self._stores)))
        return panel


def content_of(model: Any) -> tuple[list[Any], list[dict[str, bytes]]]:
    """Return all that the stores and the inputs of a model hold, in a form that compares."""
    states = [dict(model_state(member)) for member in model.members]
    arrays = [
        {name: np.asarray(array).tobytes() for name, array in state.pop("arrays").items()} for state in states
    ]
    return [*map(repr, states), repr(model._trends.moments.by_name()), list(model._newest.events)], arrays


class World:
    """Random events: few features or more than are paired, names and numbers, with gaps, some of them declared."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        count = self.rng.choice([3, 20, 45])
        self.kinds = {f"f{number}": self.rng.choice("nnvwi") for number in range(count)}
        self.classes = self.rng.choice([2, 8])
        self.gaps = self.rng.choice([0.0, 0.2])
        self.late = set(self.rng.sample(sorted(self.kinds), count // 3))
        self.arguments: dict[str, Any] = {
            "label_memory": self.rng.choice([0, 1, 3]),
            "memory_budget": self.rng.choice([2**20, 2**25]),
        }
        if seed % 3 == 0:
            declared = {
                name: Numeric() if kind == "n" else Nominal()
                for name, kind in self.kinds.items()
                if self.rng.random() < 0.9
            }
            self.arguments["schema"] = Schema(declared, unknown=self.rng.choice(["ignore", "refuse"]))

    def value(self, name: str, label: int, number: int) -> Any:
        rng, kind = self.rng, self.kinds[name]
        if kind == "n":
            drawn = rng.gauss(label, 1.0) + number / 20.0
            return rng.choice([drawn, drawn, np.float64(drawn), 3, float("nan")])
        if kind == "v":
            return rng.choice("abc")
        if kind == "w":
            return f"value {int(rng.expovariate(0.02))}"
        declared = getattr(self.arguments.get("schema"), "features", {})
        return rng.randrange(3) if name in declared else bool(rng.randrange(2))

    def events(self) -> Iterator[tuple[dict[str, Any], int]]:
        declared = getattr(self.arguments.get("schema"), "features", self.kinds)
        for number in range(EVENTS):
            label = self.rng.randrange(self.classes)
            shown = [name for name in self.kinds if number > 60 or name not in self.late]
            if getattr(self.arguments.get("schema"), "unknown", "") == "refuse":
                shown = [name for name in shown if name in declared]
            x = {name: self.value(name, label, number) for name in shown if self.rng.random() >= self.gaps}
            yield x, label


def outcome(call: Callable[..., Any], *arguments: Any) -> str:
    try:
        return repr(call(*arguments))
    except StreamBayesError as error:
        return repr(error)


@pytest.mark.parametrize("seed", range(12))
def test_reading_an_event_once_gives_what_reading_it_for_each_store_gives(seed: int) -> None:
    world = World(seed)
    models: list[Any] = [AdaptiveBayes(**world.arguments), ReadByNames(**world.arguments)]
    held: list[list[Any]] = []
    for x, y in world.events():
        step, weight = world.rng.random(), world.rng.choice([1.0, 1.0, 1.0, 0.5, 0.0])
        if step < 0.1:
            answers = [outcome(model.predict_interval_one, x) for model in models]
        elif step < 0.3:
            answers = [outcome(model.predict_proba_one, x) for model in models]
            for model in models:
                model.learn_one(x, y, weight)
        elif step < 0.4:
            held.append([*(model.hold(x) for model in models), y])
            answers = [repr(one) for one in held[-1][:2]]
        elif step < 0.5 and held:
            *events, y = held.pop(0)
            answers = [
                repr(model.predict_learn_one(one, y)) for model, one in zip(models, events, strict=True)
            ]
        elif step < 0.55:
            bad = {**x, next(iter(world.kinds)): world.rng.choice([[1], float("inf"), 1e200])}
            answers = [outcome(model.predict_learn_one, bad, y) for model in models]
        else:
            answers = [repr(model.predict_learn_one(x, y, weight)) for model in models]
        assert answers[0] == answers[1]
    assert models[0].left_out_ == models[1].left_out_
    assert content_of(models[0]) == content_of(models[1])


@pytest.mark.parametrize("number", [np.float64, np.float32, np.int64])
def test_numbers_of_arrays_are_followed_as_python_s_are(number: Any) -> None:
    rng = random.Random(3)
    plain, typed = AdaptiveBayes(), AdaptiveBayes()
    for step in range(200):
        x = {"level": float(number(step / 4.0 + rng.gauss(0.0, 2.0))), "beside": float(rng.randrange(5))}
        y = x["level"] > step / 4.0
        answer = plain.predict_learn_one(x, y)
        assert typed.predict_learn_one({name: number(value) for name, value in x.items()}, y) == answer


def test_numbers_that_are_declared_as_names_are_names_for_all_stores() -> None:
    schema = Schema({"floor": Nominal([1, 2, 3]), "height": Numeric()}, unknown="refuse")
    model, rng = AdaptiveBayes(schema=schema), random.Random(5)
    for _ in range(150):
        floor = rng.choice([1, 2, 3])
        model.learn_one({"floor": floor, "height": rng.gauss(0.0, 1.0)}, floor == 2)
    for member in model.members:
        assert "floor" in member.store.encoder.features
    assert model.predict_one({"floor": 2}) is True


def test_a_feature_named_like_a_last_label_is_counted_once() -> None:
    rng, models = random.Random(3), (AdaptiveBayes(), ReadByNames())
    for _ in range(60):
        y = rng.choice("ab")
        x = {"size": rng.gauss(y == "a", 1.0), "(last label 2)": rng.choice("ab")}
        one, other = [model.predict_learn_one(x, y) for model in models]
        assert one == other
    assert content_of(models[0]) == content_of(models[1])


def test_what_one_store_refuses_leaves_no_names_in_the_others() -> None:
    model = AdaptiveBayes()
    for number in range(20):
        model.learn_one({"size": float(number), "sky": "grey"}, number % 2)
    before = content_of(model)
    with pytest.raises(StreamBayesError):  # the departures of size have this name
        model.learn_one({"size": 1.0, "(trend) 'size'": "small", "wind": "north"}, "new")
    assert content_of(model) == before


def test_an_event_interrupted_between_stores_leaves_no_names(monkeypatch: Any) -> None:
    model = AdaptiveBayes()
    model.learn_one({"sky": "grey"}, "rain")
    before = content_of(model)

    def interrupted(*given: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(AdaptiveBayes, "_views", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.learn_one({"wind": "north"}, "sun")
    assert content_of(model) == before


def test_an_event_that_another_memory_held_is_refused() -> None:
    other, model = AdaptiveBayes(label_memory=1), AdaptiveBayes()
    for each in (other, model):
        each.learn_one({"sky": "grey"}, "rain")
    before, held = content_of(model), other.hold({"sky": "blue"})
    for call in (lambda: model.predict_proba_one(held), lambda: model.learn_one(held, "sun")):
        with pytest.raises(BadValue, match="last label 2"):
            call()
    for rows in ([{"sky": "grey"}, held], pd.DataFrame([held, held])):
        with pytest.raises(BadValue, match="last label 2"):
            model.learn_many(rows, ["rain", "sun"])
    assert content_of(model) == before


def test_a_number_beyond_all_that_is_used_leaves_a_model_that_can_be_saved() -> None:
    model = AdaptiveBayes()
    model.learn_one({"size": 1.0}, "small")
    for enormous in (1e200, 10**400):
        with contextlib.suppress(StreamBayesError):
            model.learn_one({"size": enormous, "new": enormous}, "large")
    assert model_state(model)


def test_batches_of_known_names_are_learned_and_predicted_in_the_loop_alone(monkeypatch: Any) -> None:
    rng = random.Random(8)
    samples = [
        ({"size": rng.gauss(label, 1.0), "sky": rng.choice("abc")}, label)
        for label in (rng.randrange(2) for _ in range(1200))
    ]
    single, many = AdaptiveBayes(), AdaptiveBayes()
    by_one: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        one = getattr(AdaptiveBayes, name)

        def call(*given: Any) -> Any:
            by_one.append(name)
            return one(*given)

        return call

    for name in ("predict_learn_one", "predict_proba_one"):
        monkeypatch.setattr(AdaptiveBayes, name, counted(name))
    many.learn_many(*map(list, zip(*samples[:600], strict=True)))
    assert len(by_one) < 20  # the first events, which bring the names
    by_one.clear()
    events, labels = map(list, zip(*samples[600:], strict=True))
    many.learn_many(events, labels)
    answers = many.predict_proba_many(events[:100])
    assert by_one == []
    for x, y in samples:
        single.learn_one(x, y)
    assert content_of(single) == content_of(many)
    assert answers == [single.predict_proba_one(x) for x in events[:100]]
    many.predict_proba_many([{"size": 0.0, "sky": "never seen"}])
    assert by_one[-1] == "predict_proba_one"
