"""Log-probabilities of events read from the counts are those of inference, wherever they are read at all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stream_bayes.networks import BayesNet, DiscreteNetwork, Inference, Structure

STRUCTURE = Structure({"a": [], "b": ["a"], "c": ["a", "b"], "d": ["c"], "e": []})
GIVEN = DiscreteNetwork(
    STRUCTURE,
    {"a": ["0", "1"], "b": ["0", "1", "2"], "c": ["0", "1"], "d": ["0", "1", "2"], "e": ["0", "1"]},
    {
        "a": [0.3, 0.7],
        "b": [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]],
        "c": [[[0.1, 0.9], [0.5, 0.5], [0.8, 0.2]], [[0.3, 0.7], [0.6, 0.4], [1.0, 0.0]]],
        "d": [[0.1, 0.2, 0.7], [0.4, 0.4, 0.2]],
        "e": [0.25, 0.75],
    },
)


def events(count: int, seed: int) -> list[dict[str, Any]]:
    columns = Inference(GIVEN).sample(count, np.random.default_rng(seed))
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"strength": 0.0},
        {"prior": "laplace", "half_life": 40.0},
        {"missing": "stepwise-em"},
        {"network": GIVEN, "network_weight": 3.0},
        {"network": GIVEN, "network_weight": 3.0, "strength": 0.0},
    ],
    ids=str,
)
def test_what_is_read_from_the_counts_is_what_inference_finds(settings: dict[str, Any]) -> None:
    model, rng, read = (
        BayesNet(None if "network" in settings else STRUCTURE, **settings),
        np.random.default_rng(1),
        0,
    )
    for number, event in enumerate(events(150, 2)):
        x = {name: value for name, value in event.items() if rng.random() < 0.9}
        if number > 5 and x:
            reading = model.live.joint_reading()
            assert reading is not None
            found = reading.log_probability(model.store.encoder.lookup(x))
            if not math.isnan(found):
                network = model.live.network()
                codes = network.codes_of(model.store.encoder.lookup(x))
                expected = float(model.live.engine().log_likelihoods(codes)[0])
                assert found == pytest.approx(expected, abs=1e-9)
                read += 1
        model.learn_one(x)
    assert read > 70


def test_an_event_that_lacks_a_parent_or_has_a_new_value_is_not_read() -> None:
    model = BayesNet(STRUCTURE)
    for event in events(100, 3):
        model.learn_one(event)
    reading, encoder = model.live.joint_reading(), model.store.encoder
    assert reading is not None
    whole = events(1, 4)[0]
    for change, is_read in [({}, True), ({"d": None}, True), ({"c": None}, False), ({"a": None}, False)]:
        found = reading.log_probability(encoder.lookup(whole | change))
        assert math.isnan(found) is not is_read, change
    encoder.encode(whole | {"c": "new"}, "event", 1.0)  # it has a code now, and no sample
    assert math.isnan(reading.log_probability(encoder.lookup(whole | {"c": "new"})))


def test_a_prediction_is_the_same_from_the_counts_as_by_inference() -> None:
    model = BayesNet(STRUCTURE)
    for event in events(200, 5):
        model.learn_one(event)
    for event in events(20, 6):
        for variable in STRUCTURE.variables:
            rest = {name: value for name, value in event.items() if name != variable}
            assert model.predict_proba_one(event, variable) == pytest.approx(
                dict(model.query(variable, rest)), abs=1e-9
            )
            del rest["a" if variable != "a" else "c"]
            assert model.predict_proba_one(rest, variable) == pytest.approx(
                dict(model.query(variable, rest)), abs=1e-9
            )
